"""A crawl of images in a process of its own, for `test_images_pipeline.py`: a folder with `job.json` in, files out.

job.json: {"settings": {...}, "items": [{"image_urls": [...]}, ...], "pipeline": the class's name here or a full path}.
Out: items.json (as they left the pipelines), stats.json, log.txt, calls.json (what the store below was asked).
"""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
from scrapy import Field, Item, Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.pipelines.images import ImageException
from scrapy.utils.trackref import live_refs
from twisted.internet.defer import Deferred, fail, succeed

from scrapy_polite.errors import NotNow
from scrapy_polite.media import PoliteImagesPipeline
from scrapy_polite.media.memory import Results

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

FOLDER = Path(sys.argv[1])
JOB = json.loads((FOLDER / "job.json").read_text())
CALLS: list[list[str]] = []
CALLED: set[str] = set()


@dataclasses.dataclass
class Dataclass:
    photos: list[str]
    found: list[Any] | None = None


@attrs.define
class Attrs:
    photos: list[str]
    found: list[Any] | None = None


class Scraped(Item):
    photos = Field()
    found = Field()


KINDS: dict[str, Any] = {"dict": dict, "dataclass": Dataclass, "attrs": Attrs, "item": Scraped}


class Pages(Spider):
    name = "pages"
    lag = 0.0

    async def start(self) -> AsyncIterator[Any]:
        self.ticking = asyncio.ensure_future(self.tick())
        yield Request("data:,", callback=self.parse)

    def parse(self, response: Response) -> Iterator[Any]:
        for item in JOB["items"]:
            yield KINDS[JOB.get("kind", "dict")](**item)

    async def tick(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            self.lag = max(self.lag, time.perf_counter() - before)

    def closed(self, reason: str) -> None:
        self.ticking.cancel()
        stats = {key: value for key, value in self.crawler.stats.get_stats().items() if isinstance(value, int | str)}
        (FOLDER / "stats.json").write_text(json.dumps({**stats, "reason": reason, "lag": self.lag}))


class NamedByItem(PoliteImagesPipeline):
    """What users override: which requests, under which names, and what becomes of the item."""

    def get_media_requests(self, item: Any, info: Any) -> list[Request]:
        return [Request(url, meta={"place": n}) for n, url in enumerate(item["photos"])]

    def file_path(self, request: Request, response: Any = None, info: Any = None, *, item: Any = None) -> str:
        return f"{item['agent']}/{request.meta['place']}.img"

    def item_completed(self, results: Any, item: Any, info: Any) -> Any:
        item["files"] = [result["path"] for ok, result in results if ok]
        item["failed"] = [str(result.value) for ok, result in results if not ok]
        return item


class Misnamed(PoliteImagesPipeline):
    """Names its files wrongly, each in the way that its URL says."""

    def file_path(self, request: Request, response: Any = None, info: Any = None, *, item: Any = None) -> Any:
        match request.url.rpartition("/")[2]:
            case "none":
                return None
            case "bytes":
                return b"a.jpg"
            case "raises":
                raise KeyError("name")
        return super().file_path(request, response, info, item=item)


class FarStore:
    """A store that is no folder, as S3: it answers Deferreds, and keeps what it is given in memory."""

    def __init__(self, basedir: str) -> None: ...

    def stat_file(self, path: str, info: Any) -> Deferred[dict[str, Any]]:
        CALLS.append(["stat", path])
        fresh = {"last_modified": time.time(), "checksum": "an-etag"}
        return succeed(fresh if path in JOB.get("stored", []) else {})

    def persist_file(self, path: str, buf: Any, info: Any, meta: Any = None, headers: Any = None) -> Deferred[None]:
        if JOB.get("broken"):
            return fail(ConnectionError("the store is away"))
        CALLS.append(["put", path, headers["Content-Type"], f"{meta['width']}x{meta['height']}"])
        return succeed(None)


class Far(PoliteImagesPipeline):
    STORE_SCHEMES: ClassVar[dict[str, Any]] = {**PoliteImagesPipeline.STORE_SCHEMES, "far": FarStore}


class Blurred(ImageException):
    """A project's own."""


class Choosy(PoliteImagesPipeline):
    async def image_downloaded(self, response: Response, request: Request, info: Any, *, item: Any = None) -> str:
        if "blurred" in request.url:
            raise Blurred("too blurred")
        if "bug" in request.url:
            raise KeyError("bug")
        return await super().image_downloaded(response, request, info, item=item)

    def item_completed(self, results: Any, item: Any, info: Any) -> Any:
        item["failed"] = [f"{type(result.value).__name__}: {result.value}" for ok, result in results if not ok]
        return super().item_completed(results, item, info)


class Chosen(PoliteImagesPipeline):
    """One for which there are settings of its own."""


class Watched(PoliteImagesPipeline):
    """Notes which of its methods are called."""

    def __getattribute__(self, name: str) -> Any:
        if name in JOB.get("hooks", ()):
            CALLED.add(name)
        return super().__getattribute__(name)


class Few(PoliteImagesPipeline):
    """Remembers few images, and says at the end what it holds: objects of Scrapy's are counted by Scrapy."""

    class SpiderInfo(PoliteImagesPipeline.SpiderInfo):
        def __init__(self, spider: Spider) -> None:
            super().__init__(spider)
            self.downloaded = Results(JOB["remembers"])

    most = 0

    def item_completed(self, results: Any, item: Any, info: Any) -> Any:
        self.most = max(self.most, len(info.downloaded))
        return super().item_completed(results, item, info)

    def close_spider(self) -> None:
        info = self.spiderinfo
        held = {"most": self.most, "downloading": len(info.downloading), "waiting": len(info.waiting)}
        held["pictures"] = len(self._pictures)
        gc.collect()
        for cls, alive in live_refs.items():
            held[cls.__name__] = len(alive)
        (FOLDER / "held.json").write_text(json.dumps(held))
        super().close_spider()


class SayNotNow:
    """A downloader middleware that lets no image through, as the add-on's does when the crawl closes."""

    def process_request(self, request: Request) -> None:
        if not request.url.startswith("data:"):
            raise NotNow("closing")


if __name__ == "__main__":
    pipeline = JOB.get("pipeline", "scrapy_polite.media.PoliteImagesPipeline")
    process = AsyncCrawlerProcess(
        {
            "ITEM_PIPELINES": {pipeline if "." in pipeline else globals()[pipeline]: 1},
            "LOG_FILE": str(FOLDER / "log.txt"),
            "FEEDS": {str(FOLDER / "items.json"): {"format": "json", "overwrite": True}},
            "TELNETCONSOLE_ENABLED": False,
            "DNS_TIMEOUT": 5,
            "DOWNLOAD_TIMEOUT": 20,
            "RETRY_ENABLED": False,
            **JOB["settings"],
            **({"DOWNLOADER_MIDDLEWARES": {SayNotNow: 500}} if JOB.get("not_now") else {}),
        }
    )
    process.crawl(Pages)
    process.start()
    (FOLDER / "calls.json").write_text(json.dumps(CALLS))
    (FOLDER / "called.json").write_text(json.dumps(sorted(CALLED)))
