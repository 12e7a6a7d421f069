"""Pipelines for `images_crawl.py`, by full name: ours and Scrapy's own, watched or in trouble. The stats say what was seen.

watched/held: the most bytes of bodies that were downloaded and not yet stored; watched/peak: kB of memory at most;
watched/md5: calls of MD5.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import signals
from scrapy.pipelines.images import ImagesPipeline
from scrapy.utils.defer import deferred_from_coro

from scrapy_polite.media import PoliteImagesPipeline

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred

BODY = 4 * 1024 * 1024
"""Bytes of every body for the slow store. What Scrapy's pipeline stores is not what it was given, and has another length."""
BODIES = 44


class ByItem:
    """Originals and sizes are called what the item calls them."""

    def file_path(self, request: Request, response: Any = None, info: Any = None, *, item: Any = None) -> str:
        return f"{item['id']}/original.img"

    def thumb_path(self, request: Request, thumb_id: str, response: Any = None, info: Any = None, *, item: Any = None) -> str:
        return f"{item['id']}/{thumb_id}.jpg"


class PoliteByItem(ByItem, PoliteImagesPipeline): ...


class Weighed(PoliteImagesPipeline):
    def close_spider(self) -> None:
        lines = Path("/proc/self/status").read_text().splitlines()
        peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
        self.crawler.stats.set_value("watched/peak", peak)
        super().close_spider()


class SlowStore:
    """As one far away, it takes in all that it is given, and has nothing done until no more can come or no more does."""

    now: ClassVar[SlowStore]
    quiet = 1.5
    """Seconds without a download after which it moves again."""

    def __init__(self, basedir: str) -> None:
        self.received = self.stored = self.most = 0
        self.last = time.monotonic()
        SlowStore.now = self

    def heard(self, response: Response) -> None:
        if response.url.startswith("http"):
            self.received += len(response.body)
            self.most = max(self.most, self.received - self.stored)
            self.last = time.monotonic()

    def stat_file(self, path: str, info: Any) -> Deferred[dict[str, Any]]:
        async def nothing() -> dict[str, Any]:
            return {}

        return deferred_from_coro(nothing())

    def persist_file(self, path: str, buf: Any, info: Any, meta: Any = None, headers: Any = None) -> Deferred[None]:
        async def store() -> None:
            while self.received < BODIES * BODY and time.monotonic() - self.last < self.quiet:
                await asyncio.sleep(0.05)
            if path.startswith("full/"):
                self.stored += BODY

        return deferred_from_coro(store())


class Slow:
    STORE_SCHEMES: ClassVar[dict[str, Any]] = {**ImagesPipeline.STORE_SCHEMES, "slow": SlowStore}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        pipeline = super().from_crawler(crawler)  # type: ignore[misc]
        crawler.signals.connect(SlowStore.now.heard, signals.response_received)
        return pipeline

    def close_spider(self) -> None:
        self.crawler.stats.set_value("watched/held", SlowStore.now.most)  # type: ignore[attr-defined]
        getattr(super(), "close_spider", lambda: None)()


class PoliteSlow(Slow, PoliteImagesPipeline): ...


class StockSlow(Slow, ImagesPipeline):
    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        pipeline = super().from_crawler(crawler)
        SlowStore.now.quiet = 20  # It asks for all there is, however long a busy machine takes for it.
        return pipeline


class WithoutMD5:
    """As on a machine in FIPS mode, where OpenSSL has no MD5."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        real = hashlib.new

        def md5(*_: object, **__: object) -> Any:
            crawler.stats.inc_value("watched/md5")
            raise ValueError("[digital envelope routines] unsupported")

        def new(name: str, *args: Any, **options: Any) -> Any:
            return md5() if name.lower() == "md5" else real(name, *args, **options)

        hashlib.md5, hashlib.new = md5, new  # type: ignore[assignment]
        return super().from_crawler(crawler)  # type: ignore[misc]


class PoliteWithoutMD5(WithoutMD5, PoliteImagesPipeline): ...


class StockWithoutMD5(WithoutMD5, ImagesPipeline): ...
