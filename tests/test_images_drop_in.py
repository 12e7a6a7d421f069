"""The pipeline in place of Scrapy's: what a project overrides has the same name, the same arguments, and is called."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from image_crawls import Crawl, Server, encode
from PIL import Image
from scrapy.pipelines.images import ImagesPipeline
from scrapy.utils.test import get_crawler

from scrapy_polite.media import PoliteImagesPipeline

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.pipelines.media import MediaPipeline

NOT_CALLED = {"get_images", "convert_image"}
"""Which decode with Pillow; the log says so where a project overrides them."""

PUBLIC = sorted(name for name in dir(ImagesPipeline) if not name.startswith("_") and callable(getattr(ImagesPipeline, name)))


def overridden() -> list[str]:
    """What is ours of Scrapy's methods, public or not."""
    ours: set[str] = set()
    for cls in PoliteImagesPipeline.__mro__:
        if cls.__module__.startswith("scrapy_polite."):
            ours |= {name for name, value in vars(cls).items() if inspect.isfunction(value) and hasattr(ImagesPipeline, name)}
    return sorted(ours)


@pytest.mark.parametrize("name", sorted({*PUBLIC, *overridden()} - {"SpiderInfo"}))
def test_every_method_has_the_arguments_of_scrapys(name: str) -> None:
    if name.startswith("__"):
        return
    theirs, ours = (inspect.signature(getattr(cls, name)) for cls in (ImagesPipeline, PoliteImagesPipeline))
    as_called = [
        [(each.name, each.kind, each.default) for each in signature.parameters.values()] for signature in (ours, theirs)
    ]
    assert as_called[0] == as_called[1]


def test_what_has_to_be_overridden_is_seen() -> None:
    assert {"file_path", "thumb_path", "get_media_requests", "media_to_download", "media_downloaded"} <= set(overridden())
    assert {"process_item", "item_completed", "media_failed", "file_downloaded", "image_downloaded"} <= set(PUBLIC)


def test_what_comes_of_an_item_has_all_that_scrapy_tells(tmp_path: Path, server: Server) -> None:
    photo = encode(Image.effect_noise((60, 40), 60).convert("RGB"), "jpeg")
    links = [server.put("/1.jpg", photo), server.put("/2.jpg", photo)]
    entries = []
    for folder, pipeline in (("theirs", "scrapy.pipelines.images.ImagesPipeline"), ("ours", "Far")):
        settings = {"IMAGES_STORE": "far://bucket/" if folder == "ours" else str(tmp_path / "store")}
        crawl = Crawl(tmp_path / folder, [{"image_urls": links}], settings, pipeline=pipeline)
        entries.append(crawl.items[0]["images"])
        assert crawl.stats["file_count"] == crawl.stats["file_status_count/downloaded"] == 2
    theirs, ours = entries
    for before, now in zip(theirs, ours, strict=True):
        assert set(before) < set(now)
        # Scrapy's checksum is MD5.
        assert {key: now[key] for key in before if key != "checksum"} == {
            key: before[key] for key in before if key != "checksum"
        }


HOOKS = sorted({*PUBLIC, "_process_request"} - NOT_CALLED - {"SpiderInfo", "from_crawler", "get_images"})


def test_every_method_that_a_project_may_override_is_called(tmp_path: Path, server: Server) -> None:
    photo = encode(Image.effect_noise((60, 40), 60).convert("RGB"), "jpeg")
    links = [server.put("/1.jpg", photo), f"http://127.0.0.1:{server.server_port}/gone", "http://127.0.0.1:1/"]
    settings = {"IMAGES_STORE": str(tmp_path / "store"), "IMAGES_THUMBS": {"small": [20, 20]}}
    Crawl(tmp_path / "run", [{"image_urls": links}], settings, pipeline="Watched", hooks=HOOKS)
    called = json.loads((tmp_path / "run/called.json").read_text())
    assert sorted(called) == HOOKS


def test_settings_of_a_class_and_its_attributes_count_as_in_scrapy(tmp_path: Path) -> None:
    names = ["images_urls_field", "images_result_field", "expires", "min_width", "min_height", "thumbs", "allow_redirects"]
    settings: dict[str, Any] = {
        "IMAGES_STORE": str(tmp_path),
        "IMAGES_EXPIRES": 7,
        "IMAGES_MIN_WIDTH": "50",
        "MINE_IMAGES_EXPIRES": 3,
        "MINE_IMAGES_RESULT_FIELD": "found",
        "MINE_IMAGES_THUMBS": {"a": (1, 2)},
        "MINE_MEDIA_ALLOW_REDIRECTS": True,
    }
    attributes = {"IMAGES_URLS_FIELD": "pictures", "MIN_HEIGHT": 9, "EXPIRES": 1}
    found = []
    for base in (ImagesPipeline, PoliteImagesPipeline):
        for name in ("Mine", "Other"):
            cls: type[MediaPipeline] = type(name, (base,), attributes)
            pipeline = cls.from_crawler(get_crawler(settings_dict=settings))
            found.append({key: getattr(pipeline, key) for key in names})
    assert found[:2] == found[2:]
    assert found[0] != found[1]


def test_a_project_that_makes_its_own_images_is_told_that_nobody_asks_for_them(tmp_path: Path) -> None:
    code = """
import logging, sys
logging.basicConfig()
from scrapy.utils.test import get_crawler
from scrapy_polite.media import PoliteImagesPipeline
class Mine(PoliteImagesPipeline):
    def convert_image(self, *args, **kwargs): ...
Mine.from_crawler(get_crawler(settings_dict={"IMAGES_STORE": sys.argv[1]}))
"""
    run = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, timeout=60)
    assert "Mine.convert_image() is not called: POLITE_IMAGES says what is made" in run.stderr
