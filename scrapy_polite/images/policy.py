"""What `POLITE_IMAGES` asks for: which images are kept, judged by their header, and which sizes are wanted.

Pure: nothing is decoded here and no library is loaded. Answers that say no are values (`Rejected`), wrong settings are
`ValueError`s.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from scrapy_polite.images.signature import FORMATS

OUTCOMES = (
    "ok",
    "too_many_pixels",
    "too_many_frames",
    "too_many_bytes",
    "too_small",
    "truncated",
    "unsupported",
    "not_an_image",
    "encode_failed",
)
FITS = ("inside", "cover", "fill")
ANIMATIONS = ("first", "reject")
# The longest side that WebP can hold (RFC 9649 section 2.5: 14 bits, less one), the least of the five formats.
LONGEST_SIDE = 16383


@dataclass(frozen=True, slots=True)
class Size:
    """One size to be made of every image; a picture is never made larger than it is.

    width, height in pixels (with fit "inside" one of them may be None: no bound). fit: "inside" keeps the proportions
    within the box (what CSS `object-fit` calls "contain"), "cover" fills the box and cuts off what juts out on both
    sides, "fill" stretches. format "keep" is the original's. quality, 1 to 100, is for jpeg, webp and avif.
    """

    name: str
    width: int | None
    height: int | None
    fit: str = "inside"
    format: str = "keep"
    quality: int = 80


@dataclass(frozen=True, slots=True)
class ImagesConfig:
    """`POLITE_IMAGES`, validated. Pixels and bytes, not mega.

    The limits on pixels follow what decoding costs: what is decoded as a stream (baseline JPEG, plain PNG, WebP, GIF)
    needs little memory whatever its height; what is not (progressive JPEG, interlaced PNG, AVIF) needs up to 15 bytes a
    pixel at once. 50 megapixels and one frame are also imgproxy's defaults.
    """

    sizes: tuple[Size, ...] = ()
    max_pixels: int = 50_000_000
    max_pixels_unstreamable: int = 25_000_000
    max_frames: int = 1
    max_bytes: int = 64 * 1024 * 1024
    min_width: int = 0
    min_height: int = 0
    formats: frozenset[str] = frozenset(FORMATS)
    background: tuple[int, int, int] = (255, 255, 255)
    animation: str = "first"


@dataclass(frozen=True, slots=True)
class Header:
    """What an image says about itself before it is decoded; width and height as shown, EXIF orientation applied.

    streamable: can be decoded line by line. foreign: its colours are not yet 8 bits of sRGB or grey.
    """

    format: str
    width: int
    height: int
    frames: int
    streamable: bool
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class Rejected:
    """An image that is not kept: outcome is one of `OUTCOMES`, detail a sentence for the log."""

    outcome: str
    detail: str


@dataclass(frozen=True, slots=True)
class Variant:
    """One size of an image, encoded."""

    size: str
    width: int
    height: int
    format: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that is kept: what it is, the SHA-256 of its untouched bytes in hex, and the sizes made of it."""

    header: Header
    sha256: str
    variants: tuple[Variant, ...]


def judge(header: Header, length: int, config: ImagesConfig) -> Rejected | None:
    """None if an image of this header and length in bytes may be decoded, else why not.

    Pixels are counted for one frame: never more than the first is decoded.
    """
    width, height = header.width, header.height
    if header.format not in config.formats:
        return Rejected("unsupported", f"{header.format} is not among POLITE_IMAGES['formats']")
    if length > config.max_bytes:
        return Rejected("too_many_bytes", f"{length} bytes, {config.max_bytes} are allowed")
    if header.frames > config.max_frames or (header.frames > 1 and config.animation == "reject"):
        allowed = 1 if config.animation == "reject" else config.max_frames
        return Rejected("too_many_frames", f"{header.frames} frames, {allowed} allowed")
    limit = config.max_pixels if header.streamable else min(config.max_pixels, config.max_pixels_unstreamable)
    if width * height > limit:
        how = "" if header.streamable else " that cannot be decoded as a stream"
        return Rejected("too_many_pixels", f"{width}x{height} {header.format}{how}, {limit} pixels are allowed")
    if width < config.min_width or height < config.min_height:
        return Rejected("too_small", f"{width}x{height}, at least {config.min_width}x{config.min_height} is wanted")
    return None


def images_from(value: object) -> ImagesConfig:
    """The value of `POLITE_IMAGES` (a mapping, its JSON text, or None for the defaults: originals only), validated.

    Raises ValueError that names the setting, the place in it, the value and what is accepted.
    """
    where = "POLITE_IMAGES"
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise _wrong(where, value, 'a dict, or a JSON object such as {"sizes": {...}}') from None
    if value is None:
        return ImagesConfig()
    given = _mapping(where, value, _PARSERS)
    fields = {_PARSERS[key][0]: _PARSERS[key][1](f"{where}[{key!r}]", item) for key, item in given.items()}
    return ImagesConfig(**fields)  # type: ignore[arg-type]  # each parser answers its own field's type


def _size(where: str, name: str, value: object) -> Size:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
        raise _wrong(where, name, "a size's name: 1 to 64 letters, digits, '-' and '_', as it becomes a folder")
    where = f"{where}[{name!r}]"
    given = _mapping(where, value, ("width", "height", "fit", "format", "quality"))

    def take(key: str, default: object, parse: Callable[[str, object], object]) -> object:
        return parse(f"{where}[{key!r}]", given[key]) if key in given else default

    side = _whole(1, LONGEST_SIDE, "pixels")
    width, height = take("width", None, side), take("height", None, side)
    fit = take("fit", "inside", _one_of(FITS))
    if width is None and height is None:
        raise _wrong(where, value, "a size with a 'width', a 'height' or both")
    if fit != "inside" and (width is None or height is None):
        raise _wrong(where, value, f"a size with both 'width' and 'height', which fit {fit!r} needs")
    format_ = take("format", "keep", _one_of(("keep", "jpeg", "webp", "avif", "png")))
    quality = take("quality", 80, _whole(1, 100, "quality"))
    return Size(name, width, height, fit, format_, quality)  # type: ignore[arg-type]


def _sizes(where: str, value: object) -> tuple[Size, ...]:
    return tuple(_size(where, name, item) for name, item in _mapping(where, value, None).items())


def _mapping(where: str, value: object, known: Iterable[str] | None) -> Mapping[str, object]:
    accepted = "a dict" if known is None else f"a dict with keys among {', '.join(map(repr, known))}"
    # Scrapy turns dicts in settings into BaseSettings, which is a mapping as well.
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise _wrong(where, value, accepted)
    for key in value:
        if known is not None and key not in known:
            raise _wrong(f"{where}[{key!r}]", value[key], f"known: {where} is {accepted}")
    return value


def _whole(least: int, most: int, unit: str) -> Callable[[str, object], int]:
    def parse(where: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise _wrong(where, value, f"a whole number from {least} to {most} ({unit})")
        return value

    return parse


def _megapixels(where: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 10_000:
        raise _wrong(where, value, "a number above 0, up to 10000 (millions of pixels)")
    return max(1, int(value * 1_000_000))


def _one_of(accepted: tuple[str, ...]) -> Callable[[str, object], str]:
    def parse(where: str, value: object) -> str:
        if not isinstance(value, str) or value not in accepted:
            raise _wrong(where, value, f"one of {', '.join(map(repr, accepted))}")
        return value

    return parse


def _formats(where: str, value: object) -> frozenset[str]:
    if isinstance(value, list | tuple | set | frozenset) and value and all(item in FORMATS for item in value):
        return frozenset(value)
    raise _wrong(where, value, f"a list with at least one of {', '.join(map(repr, FORMATS))}")


def _colour(where: str, value: object) -> tuple[int, int, int]:
    if not isinstance(value, str) or not re.fullmatch(r"#[0-9A-Fa-f]{6}", value):
        raise _wrong(where, value, "a colour as '#rrggbb'")
    red, green, blue = bytes.fromhex(value[1:])
    return red, green, blue


_PARSERS: dict[str, tuple[str, Callable[[str, object], object]]] = {
    "sizes": ("sizes", _sizes),
    "max_megapixels": ("max_pixels", _megapixels),
    "max_megapixels_unstreamable": ("max_pixels_unstreamable", _megapixels),
    "max_frames": ("max_frames", _whole(1, 100_000, "frames")),
    "max_bytes": ("max_bytes", _whole(1, 2**31 - 1, "bytes")),
    "min_width": ("min_width", _whole(0, LONGEST_SIDE, "pixels")),
    "min_height": ("min_height", _whole(0, LONGEST_SIDE, "pixels")),
    "formats": ("formats", _formats),
    "background": ("background", _colour),
    "animation": ("animation", _one_of(ANIMATIONS)),
}


def _wrong(where: str, value: object, accepted: str) -> ValueError:
    text = repr(value)
    shown = text if len(text) <= 200 else f"{text[:200]}..."
    return ValueError(f"{where}: {shown} is not {accepted}")
