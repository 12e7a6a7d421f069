"""One way to make three sizes of images, in a process of its own.

    python -m benchmarks.imaging.making WAY FORMAT COUNT FILE ...

Takes the files in turns. The answer, as JSON: "cpu" and "wall", ms of each image, the first WARM left out; "base" and "peak",
MB after the imports and at most; "bytes" of the sizes of the last image.
"""

from __future__ import annotations

import io
import itertools
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.imaging import memory
from benchmarks.imaging.bombs import jpeg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Made = dict[str, int]
    """The bytes of what was made, by the names of the sizes."""

SIDES = (200, 600, 1600)
QUALITY = 75
"""What Scrapy's images have: Pillow's own."""
WARM = 2


def ours(kind: str) -> Callable[[bytes], Made]:
    from scrapy_polite.images import Picture, images_from
    from scrapy_polite.images.convert import convert, load

    load()
    sizes = {str(side): {"width": side, "height": side, "format": kind, "quality": QUALITY} for side in SIDES}
    config = images_from({"sizes": sizes})

    def make(data: bytes) -> Made:
        picture = convert(data, config)
        assert isinstance(picture, Picture), picture
        return {variant.size: len(variant.data) for variant in picture.variants}

    return make


def scrapy(kind: str) -> Callable[[bytes], Made]:
    """`ImagesPipeline.get_images`, without its MD5 and its writes. It makes JPEGs only, and the original anew."""
    from scrapy import Request
    from scrapy.http import Response
    from scrapy.pipelines.images import ImagesPipeline
    from scrapy.utils.test import get_crawler

    assert kind == "jpeg"
    thumbs = {str(side): (side, side) for side in SIDES}
    settings = {"IMAGES_STORE": tempfile.gettempdir(), "IMAGES_THUMBS": thumbs}
    pipeline = ImagesPipeline.from_crawler(get_crawler(settings_dict=settings))
    request = Request("http://127.0.0.1/photo.jpg")

    def make(data: bytes) -> Made:
        response = Response(request.url, body=data)
        found = pipeline.get_images(response, request, None)  # type: ignore[arg-type]
        return {path: len(buffer.getvalue()) for path, _, buffer in found}

    return make


def pillow(kind: str) -> Callable[[bytes], Made]:
    """As one writes it: decoded once, a copy for each size."""
    from PIL import Image

    def make(data: bytes) -> Made:
        made = {}
        with Image.open(io.BytesIO(data)) as image:
            image.load()
            for side in SIDES:
                small = image.copy()
                small.thumbnail((side, side), Image.Resampling.LANCZOS)
                made[str(side)] = _saved(small, kind)
        return made

    return make


def draft(kind: str) -> Callable[[bytes], Made]:
    """As well as it goes: a JPEG is decoded at a part of its size, and each size is made of the next larger one."""
    from PIL import Image

    def make(data: bytes) -> Made:
        made = {}
        with Image.open(io.BytesIO(data)) as image:
            shrunk = SIDES[-1] / max(image.size)
            image.draft("RGB", (round(image.width * shrunk), round(image.height * shrunk)))
            for side in reversed(SIDES):
                image.thumbnail((side, side), Image.Resampling.LANCZOS)
                made[str(side)] = _saved(image, kind)
        return made

    return make


def _saved(image: object, kind: str) -> int:
    buffer = io.BytesIO()
    image.save(buffer, kind, quality=QUALITY)  # type: ignore[attr-defined]
    return len(buffer.getvalue())


WAYS = {"ours": ours, "scrapy": scrapy, "pillow": pillow, "draft": draft}


def measure(way: str, kind: str, count: int, paths: Sequence[str]) -> dict[str, object]:
    datas = [Path(path).read_bytes() for path in paths]
    make = WAYS[way](kind)
    make(jpeg(64))  # What is imported with the first image belongs to the imports.
    base = memory.resident()
    cpu, wall, made = [], [], {}
    for data in itertools.islice(itertools.cycle(datas), count + WARM):
        since, at = time.process_time(), time.perf_counter()
        made = make(data)
        cpu.append((time.process_time() - since) * 1e3)
        wall.append((time.perf_counter() - at) * 1e3)
    return {"cpu": cpu[WARM:], "wall": wall[WARM:], "base": base, "peak": memory.peak(), "bytes": made}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])))
