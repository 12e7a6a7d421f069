"""Images that wait for their turn: they starve no page, and the next run takes them up."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Answer, Arrival, Crawl, Server, crawl, ports
from PIL import Image

from scrapy_polite.stores.base import open_store

if TYPE_CHECKING:
    from pathlib import Path

PAGES, EACH = 200, 5

SPIDER = """
import asyncio
class Spider(TestSpider):
    most = pages = 0
    async def start(self):
        for n in range({pages}):
            yield scrapy.Request("{site}/" + str(n))
        self.looking = asyncio.ensure_future(self.look())
    async def look(self):
        # All of the images are never fetched: what is asked here is what becomes of the pages.
        while self.pages < {pages}:
            active = [request.url for request in self.crawler.engine.downloader.active]
            self.most = max(self.most, sum(".png" in url for url in active))
            await asyncio.sleep(0.005)
        self.crawler.stats.set_value("most_images", self.most)
        await self.crawler.engine.close_spider_async(reason="enough")
    def parse(self, response):
        self.pages += 1
        n = response.url.rpartition("/")[2]
        yield {{"n": n, "image_urls": ["{images}/" + n + "-" + str(m) + ".png" for m in range({each})]}}
"""


def picture() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(buffer, "PNG")
    return buffer.getvalue()


def answering(arrival: Arrival) -> Answer:
    # A page as long as pages are: 20 MB of them are four times what Scrapy lets the scraper hold.
    return Answer(picture()) if "png" in arrival.path else Answer(b"<p>" + b"a" * 100_000)


def crawl_of(folder: Path, each: int) -> tuple[Crawl, float, list[Any]]:
    """The crawl, the seconds from its first page to its last, and its items."""
    folder.mkdir()
    with Server(answering, address="0.0.0.0") as server:
        site, images = (f"http://127.0.0.{n}:{server.port}" for n in (1, 2))
        settings: dict[str, Any] = ports(server) | {
            "IMAGES_STORE": str(folder / "images"),
            "FEEDS": {str(folder / "items.json"): {"format": "jsonlines"}},
            "POLITE_SITE_RATE": 400,
            "POLITE_ORIGIN_RATE": 400,
            "POLITE_LIMITS": {"site:127.0.0.2": {"rate": 5}},
        }
        done = crawl(SPIDER.format(pages=PAGES, each=each, site=site, images=images), folder, **settings)
        pages = [arrival.at for arrival in server.pages() if "png" not in arrival.path]
    assert len(pages) == PAGES, done.log
    return done, max(pages) - min(pages), [json.loads(line) for line in (folder / "items.json").read_text().splitlines()]


def test_a_thousand_images_that_wait_delay_no_page_and_take_no_room_in_the_downloader(tmp_path: Path) -> None:
    _, alone, _ = crawl_of(tmp_path / "alone", 0)
    done, beside, items = crawl_of(tmp_path / "beside", EACH)
    assert beside < 2 * alone + 0.5
    assert done.stats["most_images"] <= 5
    # No item is lost, and none without all of its images.
    assert len(items) == PAGES
    statuses = [image["status"] for item in items for image in item["images"]]
    assert len(statuses) == PAGES * EACH
    assert statuses.count("deferred") > PAGES * EACH * 0.9
    assert done.stats["polite/images/deferred"] == statuses.count("deferred")


CLOSES = """
import asyncio, os
from scrapy_polite.media import PoliteImagesPipeline

class NamedByItem(PoliteImagesPipeline):
    def file_path(self, request, response=None, info=None, *, item=None):
        return item["name"] + "/" + super().file_path(request, response, info, item=item)

class Spider(TestSpider):
    async def start(self):
        if not os.path.exists("first.done"):
            open("first.done", "w").close()
            yield scrapy.Request("{url}/page")
    def parse(self, response):
        for n in range(4):
            yield {{"name": str(n), "image_urls": ["{url}/" + str(n) + str(m) + ".png" for m in range(3)] + {more}}}
        asyncio.get_running_loop().call_later(1.0, self.end)
    def end(self):
        asyncio.ensure_future(self.crawler.engine.close_spider_async(reason="enough"))
"""


def gone(arrival: Arrival) -> Answer:
    if arrival.path == "/gone.png":
        return Answer(status=404)
    return Answer(picture()) if "png" in arrival.path else Answer()


@pytest.mark.parametrize(("kept", "how"), [("sqlite", "plain"), ("postgres", "no originals"), ("JOBDIR", "named by item")])
def test_what_waits_when_the_spider_closes_is_where_its_item_says_after_the_next_run(
    kept: str, how: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with Server(gone) as server:
        again = f"{server.url}/_next/image?url=%2Fagain.png&w="
        # Last in the last item, so that they wait until the end.
        more = f"([] if n < 3 else [{server.url + '/gone.png'!r}, {again + '9'!r}, {again + '90'!r}])"
        settings: dict[str, Any] = ports(server) | {
            "IMAGES_STORE": str(tmp_path / "images"),
            "FEEDS": {str(tmp_path / "items.json"): {"format": "jsonlines"}},
            "POLITE_SITE_RATE": 4,
            "POLITE_ORIGIN_RATE": 4,
        }
        if kept == "postgres":
            settings["POLITE_STORE"] = request.getfixturevalue("database").url
        if kept == "JOBDIR":
            settings["JOBDIR"] = str(tmp_path / "job")
        if how == "named by item":
            settings["ITEM_PIPELINES"] = {"__main__.NamedByItem": 1}
        if how == "no originals":
            settings["POLITE_IMAGES"] = {"original": "none", "sizes": {"small": {"width": 20}, "tiny": {"width": 5}}}
        spider = CLOSES.format(url=server.url, more=more)
        first = crawl(spider, tmp_path, **settings)
        items = [json.loads(line) for line in (tmp_path / "items.json").read_text().splitlines()]
        images = [image for item in items for image in item["images"]]
        assert len(items) == 4, first.log
        assert len(images) == 15
        deferred = {image["path"] for image in images if image["status"] == "deferred"}
        assert 5 < len(deferred) < 15
        assert not any((tmp_path / "images" / path).exists() for path in deferred)
        if how == "no originals":
            assert all(path.startswith("thumbs/small/") for path in deferred)
        asked = [arrival.path for arrival in server.arrivals]

        second = crawl(spider, tmp_path, **settings | {"POLITE_SITE_RATE": 50, "POLITE_ORIGIN_RATE": 50})
        assert second.stats["finish_reason"] == "finished", second.log
        asked += [arrival.path for arrival in server.arrivals[len(asked) :]]
    missing = [image["url"] for image in images if not (tmp_path / "images" / image["path"]).exists()]
    assert missing == [f"{server.url}/gone.png"], second.log
    # Two URLs of one picture are one image; where the project names the files they are two.
    pictures = {"/_next/image?url=%2Fagain.png&w=90"} | ({"/_next/image?url=%2Fagain.png&w=9"} if "named" in how else set())
    wanted = {"/gone.png", *pictures, *(f"/{n}{m}.png" for n in range(4) for m in range(3))}
    assert sorted(path for path in asked if "png" in path) == sorted(wanted)
    assert second.log.count("Image not kept (http_error)") == 1
    assert "Traceback" not in first.log + second.log

    if kept != "JOBDIR":
        store = open_store(settings.get("POLITE_STORE", f"sqlite:{tmp_path}/limits.sqlite"))
        assert store.deferred() == []
        store.close()


SLOW = """
import asyncio, io
from twisted.internet.defer import ensureDeferred, Deferred
from scrapy_polite.media.backlog import Backlog
from scrapy_polite.media import PoliteImagesPipeline

class SlowStore:
    def __init__(self, basedir): ...
    def stat_file(self, path, info): return {{}}
    def persist_file(self, path, buf, info, meta=None, headers=None):
        return Deferred.fromFuture(asyncio.ensure_future(asyncio.sleep(0.3)))

class Counted(Backlog):
    most = 0
    def add(self, count):
        super().add(count)
        self.most = max(self.most, self._bytes)

class Slow(PoliteImagesPipeline):
    STORE_SCHEMES = {{**PoliteImagesPipeline.STORE_SCHEMES, "slow": SlowStore}}
    def open_spider(self, spider=None):
        super().open_spider()
        self._backlog = Counted(400_000)
    def close_spider(self):
        self.crawler.stats.set_value("most", self._backlog.most)

class Spider(TestSpider):
    async def start(self):
        yield scrapy.Request("{url}/page")
    def parse(self, response):
        yield {{"image_urls": ["{url}/" + str(n) + ".png" for n in range(30)]}}
"""


def test_a_slow_store_lets_no_more_come_than_there_is_room_for(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    Image.effect_noise((330, 330), 80).save(buffer, "PNG")
    body = buffer.getvalue()
    assert 90_000 < len(body) < 130_000
    with Server(lambda arrival: Answer(body) if "png" in arrival.path else Answer()) as server:
        done = crawl(
            SLOW.format(url=server.url),
            tmp_path,
            **ports(server),
            ITEM_PIPELINES={"__main__.Slow": 1},
            IMAGES_STORE="slow://store/",
            POLITE_SITE_RATE=100,
            POLITE_ORIGIN_RATE=100,
            CONCURRENT_REQUESTS=3,
        )
    assert done.stats["polite/images/ok"] == 30, done.log
    # Those that were in the downloader when there was no room any more have come as well.
    assert done.stats["most"] <= 400_000 + 3 * len(body)
    assert "Traceback" not in done.log


MANY = """
import asyncio
from scrapy_polite.media import backlog
backlog.PAGES = 20
class Spider(TestSpider):
    most = 0
    async def start(self):
        self.looking = asyncio.ensure_future(self.look())
        for n in range(60):
            yield scrapy.Request("{url}/" + str(n))
    async def look(self):
        while True:
            slot = self.crawler.engine.scraper.slot
            self.most = max(self.most, len(slot.active) + len(slot.queue))
            await asyncio.sleep(0.005)
    def parse(self, response):
        yield {{"image_urls": [response.url + str(m) + ".png" for m in range(2)]}}
    def closed(self, reason):
        self.looking.cancel()
        self.crawler.stats.set_value("most", self.most)
"""


def test_no_more_pages_wait_for_their_images_than_there_is_memory_for_however_short_they_are(tmp_path: Path) -> None:
    with Server(lambda arrival: Answer(picture()) if "png" in arrival.path else Answer()) as server:
        settings: dict[str, Any] = ports(server) | {
            "IMAGES_STORE": str(tmp_path / "images"),
            "POLITE_SITE_RATE": 200,
            "POLITE_ORIGIN_RATE": 200,
            "POLITE_COSTS": {"image": 4, "page": 1},
            "CONCURRENT_REQUESTS": 4,
        }
        done = crawl(MANY.format(url=server.url), tmp_path, **settings)
    assert done.stats["item_scraped_count"] == 60, done.log
    assert done.stats["polite/images/ok"] == 120
    # Those that were in the downloader when the last came that there was room for.
    assert 10 < done.stats["most"] <= 21 + 4


NAMELESS = """
class Spider(TestSpider):
    async def start(self):
        yield scrapy.Request("{url}/page")
    def parse(self, response):
        yield {{"image_urls": ["{url}/" + name for name in ("photo?png=1", "a.png", "png/search?q=1")]}}
"""


def test_an_image_is_planned_as_one_whatever_its_url_is_called(tmp_path: Path) -> None:
    def answer(arrival: Arrival) -> Answer:
        return Answer(picture()) if "png" in arrival.path else Answer()

    with Server(answer) as server:
        settings: dict[str, Any] = ports(server) | {
            "IMAGES_STORE": str(tmp_path / "images"),
            "POLITE_KINDS": [["search", r"/search\?"]],
            "POLITE_SITE_RATE": 50,
            "POLITE_ORIGIN_RATE": 50,
        }
        done = crawl(NAMELESS.format(url=server.url), tmp_path, **settings)
    kinds = {key.rpartition("/")[2]: count for key, count in done.stats.items() if key.startswith("polite/requests/")}
    assert kinds == {"page": 1, "image": 2, "search": 1}, done.log
