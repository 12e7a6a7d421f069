"""One download for an image that items name by several URLs."""

from __future__ import annotations

import asyncio
import hashlib
import time
from typing import TYPE_CHECKING, Any

import pytest
from image_crawls import Crawl, Server, encode, files
from PIL import Image
from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from scrapy_polite.media.samesource import AT_MOST, REMEMBERED, TRIED, SameSource, largest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from scrapy.pipelines.media import FileInfo

IMGIX = "https://hearth.imgix.net/1.jpg"


def images(url: str) -> list[Request]:
    return [Request(f"{url}?w={width}", callback=NO_CALLBACK) for width in (100, 1600, 400)]


class Fetching:
    """Asks for nothing: answers by URL, once for each, as the pipeline does."""

    def __init__(self, *failing: str) -> None:
        self.asked: list[str] = []
        self._failing = failing

    async def __call__(self, request: Request) -> FileInfo:
        if request.url not in self.asked:
            self.asked.append(request.url)
        await asyncio.sleep(0)
        if request.url in self._failing:
            raise ValueError(request.url)
        return {"url": request.url, "path": f"full/{request.url[-4:]}", "checksum": "c", "status": "downloaded"}


def entries(same: SameSource, requests: list[Request], fetching: Callable[[Request], Awaitable[FileInfo]]) -> list[Any]:
    """What an item is told of its images."""

    async def run() -> list[Any]:
        shown = same.shown(requests)
        assert None not in shown
        pairs = [(request, one) for request, one in zip(requests, shown, strict=True) if one is not None]
        beside = largest((request.url, one) for request, one in pairs)
        return await asyncio.gather(
            *(same.fetch(request, one, beside[one.picture], fetching) for request, one in pairs), return_exceptions=True
        )

    return asyncio.run(run())


def test_of_an_items_urls_the_largest_is_asked_for_and_each_has_its_entry() -> None:
    fetching = Fetching()
    found = entries(SameSource(), images(IMGIX), fetching)
    assert fetching.asked == [f"{IMGIX}?w=1600"]
    assert [(told["url"], told["status"], asked) for told, asked in found] == [
        (f"{IMGIX}?w=100", "cached", f"{IMGIX}?w=1600"),
        (f"{IMGIX}?w=1600", "downloaded", f"{IMGIX}?w=1600"),
        (f"{IMGIX}?w=400", "cached", f"{IMGIX}?w=1600"),
    ]
    assert {told["path"] for told, _ in found} == {"full/1600"}


def test_of_several_items_the_first_serves_those_who_ask_for_no_more() -> None:
    same, fetching = SameSource(), Fetching()
    for width in (400, 100, 800, 400):
        entries(same, [Request(f"{IMGIX}?w={width}")], fetching)
    assert fetching.asked == [f"{IMGIX}?w=400", f"{IMGIX}?w=800"]


def test_where_the_largest_fails_the_next_is_asked_for_and_where_all_fail_each_fails_for_itself() -> None:
    fetching = Fetching(f"{IMGIX}?w=1600")
    found = entries(SameSource(), images(IMGIX), fetching)
    assert fetching.asked == [f"{IMGIX}?w=1600", f"{IMGIX}?w=400"]
    assert {told["path"] for told, _ in found} == {"full/=400"}

    everything = [request.url for request in images(IMGIX)]
    same = SameSource()
    found = entries(same, images(IMGIX), Fetching(*everything))
    assert [str(error) for error in found] == everything
    # What has failed is not asked for again for another item.
    fetching = Fetching()
    entries(same, [Request(f"{IMGIX}?w=50")], fetching)
    assert fetching.asked == [f"{IMGIX}?w=50"]


@pytest.mark.parametrize(
    "own",
    [
        {"headers": {"Referer": "https://shop.example/"}},
        {"meta": {"place": 1}},
        {"cookies": {"a": "b"}},
        {"method": "POST"},
        {"errback": print},
        {"cb_kwargs": {"a": 1}},
    ],
)
def test_a_request_into_which_the_project_has_put_something_is_made_for_itself(own: dict[str, Any]) -> None:
    assert SameSource().shown([Request(IMGIX, **own), Request("http://a b/")]) == [None, None]


def test_of_thousands_of_urls_of_one_picture_each_is_compared_with_few() -> None:
    requests = [Request(f"https://hearth.imgix.net/1.jpg?w={width}", callback=NO_CALLBACK) for width in range(1, 2001)]
    fetching = Fetching()
    before = time.process_time()
    found = entries(SameSource(), requests, fetching)
    assert time.process_time() - before < 1  # 3 s, and 75 s for 10 000
    assert fetching.asked == [requests[-1].url]
    assert [entry[0]["url"] for entry in found] == [request.url for request in requests]
    broken = Fetching(*(request.url for request in requests))
    tries = 0

    async def ask(request: Request) -> FileInfo:
        nonlocal tries
        tries += 1
        return await broken(request)

    entries(SameSource(), requests, ask)
    assert tries <= len(requests) * (TRIED + AT_MOST + 1)


def test_what_is_remembered_of_pictures_does_not_grow_with_the_crawl() -> None:
    same, fetching = SameSource(), Fetching()

    async def many() -> None:
        for n in range(REMEMBERED + 500):
            request = Request(f"https://hearth.imgix.net/{n}.jpg")
            (shown,) = same.shown([request])
            assert shown is not None
            fetching.asked.clear()
            await same.fetch(request, shown, [], fetching)
        for width in range(1, 50):
            request = Request(f"{IMGIX}?w={width}")
            (shown,) = same.shown([request])
            assert shown is not None
            await same.fetch(request, shown, [], fetching)

    asyncio.run(many())
    assert len(same._asked) == REMEMBERED
    assert len(next(reversed(same._asked.values()))) == AT_MOST


# -- crawls


@pytest.fixture
def resizer(server: Server) -> Server:
    """Next.js on loopback: what is asked for smaller is smaller."""
    for width in (100, 300, 600):
        photo = encode(Image.effect_noise((width, width // 2), 60).convert("RGB"), "jpeg")
        server.put(f"/_next/image?url=%2Fphoto.jpg&w={width}&q=75", photo)
    return server


def link(server: Server, width: int) -> str:
    return f"http://127.0.0.1:{server.server_port}/_next/image?url=%2Fphoto.jpg&w={width}&q=75"


def name(url: str) -> str:
    return f"full/{hashlib.sha1(url.encode()).hexdigest()}.jpg"


def test_one_item_costs_one_download_now_and_none_in_the_next_crawl(tmp_path: Path, resizer: Server) -> None:
    links = [link(resizer, width) for width in (100, 600, 300)]
    settings = {"IMAGES_STORE": str(tmp_path / "store"), "POLITE_IMAGES": {"sizes": {"s": {"width": 50}}}}
    crawl = Crawl(tmp_path / "run", [{"image_urls": links}], settings)
    assert len(resizer.asked) == 1
    assert [(image["url"], image["status"]) for image in crawl.items[0]["images"]] == [
        (links[0], "cached"),
        (links[1], "downloaded"),
        (links[2], "cached"),
    ]
    assert {(image["path"], image["width"]) for image in crawl.items[0]["images"]} == {(name(links[1]), 600)}
    assert crawl.outcomes == {"ok": 1, "same_source": 2}

    again = Crawl(tmp_path / "run", [{"image_urls": links}], settings)
    assert [image["status"] for image in again.items[0]["images"]] == ["uptodate"] * 3
    # Alone, as another page names it, and before the one that was fetched.
    alone = Crawl(tmp_path / "run", [{"image_urls": [links[2]]}, {"image_urls": [links[0]]}], settings)
    assert [item["images"][0]["status"] for item in alone.items] == ["uptodate"] * 2
    assert len(resizer.asked) == 1


def test_where_it_is_switched_off_or_the_project_names_the_files_each_url_is_fetched(tmp_path: Path, resizer: Server) -> None:
    links = [link(resizer, width) for width in (100, 600)]
    settings = {"IMAGES_STORE": str(tmp_path / "store"), "POLITE_IMAGES": {"same_source": False}}
    crawl = Crawl(tmp_path / "run", [{"image_urls": links}], settings)
    assert [image["path"] for image in crawl.items[0]["images"]] == [name(url) for url in links]
    assert len(resizer.asked) == 2

    store = tmp_path / "own"
    Crawl(tmp_path / "run2", [{"agent": "ash", "photos": links}], {"IMAGES_STORE": str(store)}, pipeline="NamedByItem")
    assert {path for path in files(store) if not path.startswith("kept/")} == {"ash/0.img", "ash/1.img"}
    assert len(resizer.asked) == 4


def test_a_url_that_fails_is_replaced_by_the_next(tmp_path: Path, resizer: Server) -> None:
    links = [link(resizer, width) for width in (100, 300, 1200)]
    crawl = Crawl(tmp_path / "run", [{"image_urls": links}], {"IMAGES_STORE": str(tmp_path / "store")})
    assert len(resizer.asked) == 2
    assert {(image["path"], image["width"]) for image in crawl.items[0]["images"]} == {(name(links[1]), 300)}
    assert crawl.outcomes == {"http_error": 1, "ok": 1, "same_source": 2}
    assert crawl.log.count("Image not kept (http_error)") == 1
    assert "Traceback" not in crawl.log
