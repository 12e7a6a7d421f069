"""What it takes to say no to one image, or to make it, in a process of its own.

    python -m benchmarks.imaging.refusing WAY FILE

The answer, as JSON: "ms", "mb" more than before, and what came of it: an outcome of ours, "made", or the name of an exception.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.imaging import memory
from benchmarks.imaging.bombs import jpeg

if TYPE_CHECKING:
    from collections.abc import Callable

SIDE = 200
"""One size, as small as they come."""


def ours() -> Callable[[bytes], str]:
    from scrapy_polite.images import Rejected, images_from
    from scrapy_polite.images.convert import convert, load

    load()
    config = images_from({"sizes": {"small": {"width": SIDE, "height": SIDE, "format": "jpeg"}}})

    def judge(data: bytes) -> str:
        answer = convert(data, config)
        return answer.outcome if isinstance(answer, Rejected) else "made"

    return judge


def pillow() -> Callable[[bytes], str]:
    from PIL import Image

    def judge(data: bytes) -> str:
        with Image.open(io.BytesIO(data)) as image:
            image.thumbnail((SIDE, SIDE))
            image.convert("RGB").save(io.BytesIO(), "jpeg")
        return "made"

    return judge


def scrapy() -> Callable[[bytes], str]:
    from scrapy import Request
    from scrapy.http import Response
    from scrapy.pipelines.images import ImagesPipeline
    from scrapy.utils.test import get_crawler

    settings = {"IMAGES_STORE": tempfile.gettempdir(), "IMAGES_THUMBS": {"small": (SIDE, SIDE)}}
    pipeline = ImagesPipeline.from_crawler(get_crawler(settings_dict=settings))
    request = Request("http://127.0.0.1/image.jpg")

    def judge(data: bytes) -> str:
        for _ in pipeline.get_images(Response(request.url, body=data), request, None):  # type: ignore[arg-type]
            pass
        return "made"

    return judge


WAYS = {"ours": ours, "pillow": pillow, "scrapy": scrapy}


def measure(way: str, path: str) -> dict[str, object]:
    data = Path(path).read_bytes()
    judge = WAYS[way]()
    warnings.simplefilter("ignore")  # Pillow warns of a bomb, and goes on.
    judge(jpeg(64))
    base, at = memory.resident(), time.perf_counter()
    try:
        said = judge(data)
    except Exception as error:  # whatever it is, it is what came of it
        said = type(error).__name__
    taken = (time.perf_counter() - at) * 1e3
    return {"ms": taken, "mb": max(0.0, memory.peak() - base), "said": said}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], sys.argv[2])))
