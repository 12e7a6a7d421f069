"""What a crawl remembers of its images: no more at its end than after an hour."""

from __future__ import annotations

import json
import tracemalloc
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import pytest
from image_crawls import Crawl, encode
from PIL import Image
from scrapy.pipelines.images import ImageException
from twisted.python.failure import Failure

from scrapy_polite.media.info import ImageRejected, describe
from scrapy_polite.media.memory import REMEMBERED, Results

if TYPE_CHECKING:
    from pathlib import Path

HELD = 100


def data_url(n: int) -> str:
    picture = encode(Image.new("RGB", (4, 4), (n % 256, n // 256, 0)), "png")
    return f"data:image/png;base64,{b64encode(picture).decode()}"


def test_thousands_of_images_leave_no_more_behind_than_hundreds_and_those_that_were_forgotten_are_found(tmp_path: Path) -> None:
    good = [data_url(n) for n in range(400)]
    bad = [f"data:,{n}" for n in range(2_000)]
    items: list[dict[str, Any]] = [{"image_urls": good[:20]}]
    items += [{"image_urls": [*good[n : n + 20], *bad[5 * n : 5 * n + 100]]} for n in range(20, 400, 20)]
    settings = {"IMAGES_STORE": str(tmp_path / "store"), "LOG_LEVEL": "ERROR", "CONCURRENT_ITEMS": 1}
    crawl = Crawl(tmp_path / "run", [*items, items[0]], settings, pipeline="Few", remembers=HELD)
    assert len(crawl.items) == 21
    assert crawl.outcomes == {"ok": 400, "not_an_image": 1_900}
    statuses = [[image["status"] for image in item["images"]] for item in crawl.items]
    assert statuses == [["downloaded"] * 20] * 20 + [["uptodate"] * 20]
    held = json.loads((tmp_path / "run/held.json").read_text())
    assert held.pop("most") == HELD
    assert {name: count for name, count in held.items() if count > 10} == {}, held


def told(n: int = 0) -> Any:
    found: Any = {"url": f"http://127.0.0.1/{n}.jpg", "path": f"full/{n:040}.jpg", "checksum": "5" * 64, "status": "downloaded"}
    size: Any = {
        "path": f"thumbs/s/{n:040}.jpg",
        "width": 1000 + n,
        "height": 600,
        "format": "jpeg",
        "bytes": 1000 + n,
        "frames": 1,
    }
    return describe(found, None, 20_000 + n, {"s": size})


def test_what_one_item_does_to_its_result_no_other_sees() -> None:
    results = Results()
    first = told()
    results[b"a"] = first
    first["variants"]["s"]["path"] = "changed"
    again: Any = results[b"a"]
    again["url"] = "changed"
    assert results[b"a"] == told()


def test_those_are_forgotten_that_nobody_has_asked_for() -> None:
    results = Results(3)
    for name in (b"a", b"b", b"c"):
        results[name] = told()
    assert b"a" in results
    results[b"d"] = told()
    assert [name for name in (b"a", b"b", b"c", b"d") if name in results] == [b"a", b"c", b"d"]


class Named(ImageException):
    """A project's own."""


class UnmadeError(Exception):
    def __init__(self, a: object, b: object) -> None:
        super().__init__("unmade")


def failed(error: Exception) -> Failure:
    body = bytearray(1_000)
    try:
        try:
            raise ValueError(body)
        except ValueError as cause:
            raise error from cause
    except Exception:
        return Failure()


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (ImageRejected("too_small", "3x3"), ImageRejected, "too_small: 3x3"),
        (Named("mine"), Named, "mine"),
        (UnmadeError(1, 2), ImageRejected, "failed: UnmadeError: unmade"),
    ],
)
def test_of_a_failure_is_kept_what_it_says(error: Exception, kind: type[Exception], said: str) -> None:
    results = Results()
    results[b"a"] = failed(error)
    for _ in range(2):
        assert b"a" in results
        again = results[b"a"]
        assert isinstance(again, Failure)
        assert (type(again.value), str(again.value)) == (kind, said)
        with pytest.raises(kind):
            again.raiseException()
        kept = dict.__getitem__(results, b"a")
        assert getattr(kept, "__traceback__", None) is getattr(kept, "__cause__", None) is None


def test_what_is_remembered_of_a_crawl_has_a_size() -> None:
    results = Results()
    tracemalloc.start()
    for n in range(REMEMBERED + 1_000):
        results[n.to_bytes(20, "big")] = told(n)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(results) == REMEMBERED
    assert taken < 25_000_000
