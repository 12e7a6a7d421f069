"""A crawl in a process of its own, for `test_protection.py`: `job.json` of the working directory in, `result-NAME.json` out.

job.json: {"how": a process or runner of Scrapy's, "crawls": [{"name", "settings", "custom_settings", "attributes", "requests":
[{"url", ..., "after": seconds from when all before it have ended, "later": seconds}], "items": by the URL of the page that
has them, "meddle": what is done to the reactor after the first page}]}. All crawls run in one process, with the settings of
the first. "class:module.Name" in a setting stands for the class itself. "connects" of a result are all addresses to which a
TCP socket of the process was connected.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import own_parts
from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess, AsyncCrawlerRunner, CrawlerProcess, CrawlerRunner
from scrapy.http import TextResponse
from scrapy.settings import Settings
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.log import configure_logging
from scrapy.utils.misc import load_object
from scrapy.utils.reactor import install_reactor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

CONNECTS: list[list[Any]] = []


def record(event: str, args: tuple[Any, ...]) -> None:
    """Below everything that could be wrapped: every `connect` of a TCP socket in this process, by whatever library. That of a
    UDP socket sends nothing; the guard asks the kernel by it which addresses are its own."""
    if event == "socket.connect" and args[0].type == socket.SOCK_STREAM and isinstance(args[1], tuple):
        CONNECTS.append(list(args[1][:2]))


REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"


class Walker(Spider):
    """Makes the requests of its job, and follows every link on what they bring."""

    name = "walker"
    job: dict[str, Any]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pages: list[dict[str, Any]] = []
        self.failed: list[dict[str, str]] = []
        self.unmade: list[str] = []
        self.given = self.kept = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Walker:
        spider: Walker = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.through, signals.item_scraped)
        return spider

    def through(self) -> None:
        self.kept += 1

    async def start(self) -> AsyncIterator[Any]:
        first, *others = self.job["requests"]
        yield Request(**first, callback=self.met if "meddle" in self.job else self.parse, errback=self.lost, dont_filter=True)
        if "meddle" not in self.job:
            for number, one in enumerate(others, 1):
                if "after" in one:
                    await self.ended(number)
                    await asyncio.sleep(one.pop("after"))
                await asyncio.sleep(one.pop("later", 0))
                for request in self.requests([one]):
                    yield request

    async def ended(self, number: int) -> None:
        """So many requests have, and all items have been through the pipelines."""
        while len(self.pages) + len(self.failed) + len(self.unmade) < number or self.given > self.kept:
            await asyncio.sleep(0.05)

    def met(self, response: Response) -> Iterator[Request]:
        """The first page is there: now somebody takes a layer away."""
        own_parts.meddle(self.job["meddle"])
        yield from self.parse(response)
        yield from self.requests(self.job["requests"][1:])

    def requests(self, described: list[dict[str, Any]]) -> Iterator[Request]:
        for one in described:
            try:
                yield Request(**one, callback=self.parse, errback=self.lost, dont_filter=True)
            except ValueError:
                self.unmade.append(one["url"])

    def parse(self, response: Response) -> Iterator[Any]:
        body = response.text if isinstance(response, TextResponse) else ""
        page = {"url": response.url, "status": response.status, "flags": response.flags, "body": body[:100]}
        polite = response.meta.get("polite")
        title = response.css("title::text").get() if body else None
        self.pages.append({**page, "title": title, "polite": polite, "pinned": (polite or {}).get("pinned")})
        if response.url in self.job.get("items", {}):
            self.given += 1
            yield self.job["items"][response.url]
        if not body:
            return
        for link in response.css("a::attr(href)").getall():
            try:
                yield response.follow(link, callback=self.parse, errback=self.lost, dont_filter=True)
            except ValueError:
                self.unmade.append(link)

    def lost(self, failure: Any) -> None:
        self.failed.append({"url": failure.request.url, "error": type(failure.value).__name__, "why": str(failure.value)})

    def closed(self, reason: str) -> None:
        stats = {key: value for key, value in self.crawler.stats.get_stats().items() if isinstance(value, int | str)}
        found = {"pages": self.pages, "failed": self.failed, "unmade": self.unmade, "reason": reason, "stats": stats}
        Path(f"result-{self.job['name']}.json").write_text(json.dumps({**found, "connects": CONNECTS}))


def meant(value: Any) -> Any:
    if isinstance(value, dict):
        return {meant(key): meant(item) for key, item in value.items()}
    if isinstance(value, str) and value.startswith("class:"):
        return load_object(value.removeprefix("class:"))
    return value


def settings_of(job: dict[str, Any]) -> Settings:
    settings = Settings()
    settings.setdict(meant(job["settings"]), priority="project")
    return settings


def spider_of(job: dict[str, Any]) -> type[Spider]:
    body = {"job": job, "custom_settings": meant(job.get("custom_settings")), **job.get("attributes", {})}
    return type("Walker", (Walker,), body)


def main() -> int:
    sys.addaudithook(record)
    whole = json.loads(Path("job.json").read_text())
    how, jobs = whole["how"], whole["crawls"]
    settings = settings_of(jobs[0])
    if how in ("AsyncCrawlerProcess", "CrawlerProcess"):
        process = {"AsyncCrawlerProcess": AsyncCrawlerProcess, "CrawlerProcess": CrawlerProcess}[how](settings)
        for job in jobs:
            process.crawl(spider_of(job))
        process.start()
        return int(process.bootstrap_failed)
    install_reactor(settings.get("TWISTED_REACTOR", REACTOR))
    configure_logging(settings)
    from twisted.internet.defer import gatherResults
    from twisted.internet.task import react

    if how == "CrawlerRunner":
        runner = CrawlerRunner(settings)
        react(lambda _: gatherResults([runner.crawl(spider_of(job)) for job in jobs], consumeErrors=True))
    else:
        async_runner = AsyncCrawlerRunner(settings)

        async def crawl() -> None:
            await asyncio.gather(*(async_runner.crawl(spider_of(job)) for job in jobs))

        react(lambda _: deferred_from_coro(crawl()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
