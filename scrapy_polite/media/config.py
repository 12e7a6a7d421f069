"""Which of Scrapy's settings and of `POLITE_IMAGES` an images pipeline goes by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy_polite.images.policy import ImagesConfig, Size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.pipelines.images import ImagesPipeline
    from scrapy.settings import Settings

__all__ = ["read_scrapy_settings", "stand_in", "with_scrapys"]


def read_scrapy_settings(pipeline: ImagesPipeline, settings: Settings) -> None:
    """Set the attributes that Scrapy's own constructor sets, which insists on Pillow: from the settings, those for the
    pipeline's class first, or else from the class's attributes."""

    def setting(name: str, default: object) -> Any:
        key = pipeline._key_for_pipe(name, base_class_name="ImagesPipeline", settings=settings)
        value = settings.get(key)
        return default if value is None else value

    def number(name: str, default: int, unit: str) -> int:
        value = setting(name, default)
        try:
            return int(value)
        except (TypeError, ValueError):
            raise ValueError(f"{name}: {value!r} is not a whole number ({unit})") from None

    urls = getattr(pipeline, "IMAGES_URLS_FIELD", pipeline.DEFAULT_IMAGES_URLS_FIELD)
    result = getattr(pipeline, "IMAGES_RESULT_FIELD", pipeline.DEFAULT_IMAGES_RESULT_FIELD)
    pipeline.images_urls_field, pipeline.IMAGES_URLS_FIELD = setting("IMAGES_URLS_FIELD", urls), urls
    pipeline.images_result_field, pipeline.IMAGES_RESULT_FIELD = setting("IMAGES_RESULT_FIELD", result), result
    pipeline.expires = number("IMAGES_EXPIRES", pipeline.EXPIRES, "days")
    pipeline.min_width = number("IMAGES_MIN_WIDTH", pipeline.MIN_WIDTH, "pixels")
    pipeline.min_height = number("IMAGES_MIN_HEIGHT", pipeline.MIN_HEIGHT, "pixels")
    pipeline.thumbs = setting("IMAGES_THUMBS", pipeline.THUMBS)


def with_scrapys(config: ImagesConfig, pipeline: ImagesPipeline) -> ImagesConfig:
    """`POLITE_IMAGES` with the thumbnails and least sides that Scrapy's settings ask for, where it says nothing of them."""
    sizes = {size.name: size for size in (*_thumbnails(pipeline.thumbs), *config.sizes)}
    return replace(
        config,
        sizes=tuple(sizes.values()),
        min_width=config.min_width or pipeline.min_width,
        min_height=config.min_height or pipeline.min_height,
    )


def stand_in(config: ImagesConfig) -> Size | None:
    """The size that stands for an image whose original is not stored: the largest, and of those the first; None where it is."""
    if config.original != "none" or not config.sizes:
        return None
    return max(config.sizes, key=lambda size: (size.width or size.height or 0) * (size.height or size.width or 0))


def _thumbnails(thumbs: Mapping[str, tuple[int, int]]) -> list[Size]:
    try:
        return [Size(name, int(width), int(height), format="jpeg") for name, (width, height) in thumbs.items()]
    except (AttributeError, TypeError, ValueError):
        raise ValueError(
            f"IMAGES_THUMBS: {thumbs!r} is not a dict such as {{'small': (50, 50)}}, in pixels. Give one in settings.py or "
            "custom_settings, or name the size in POLITE_IMAGES['sizes']"
        ) from None
