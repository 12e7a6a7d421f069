"""Writes down once a second how the crawl is getting on, for whoever wants to show it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from scrapy_polite.politeness import Politeness

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

EVERY: Final = 1.0


class Progress:
    """An extension: keeps PROGRESS_FILE up to date, a small JSON object that is always whole."""

    def __init__(self, crawler: Crawler, path: Path) -> None:
        self.crawler = crawler
        self.path = path
        self.loop = create_looping_call(self.write)
        crawler.signals.connect(self.opened, signals.spider_opened)
        crawler.signals.connect(self.closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Progress:
        path = crawler.settings.get("PROGRESS_FILE")
        if not path:
            raise NotConfigured
        return cls(crawler, Path(path))

    def opened(self) -> None:
        self.loop.start(EVERY, now=True)

    def closed(self, reason: str) -> None:
        if self.loop.running:
            self.loop.stop()
        self.write(reason)

    def write(self, reason: str | None = None) -> None:
        stats = self.crawler.stats
        politeness = Politeness.of(self.crawler)
        agenda = politeness.agenda if politeness is not None else None
        status = {
            "requests": stats.get_value("downloader/request_count", 0) if stats else 0,
            "items": stats.get_value("item_scraped_count", 0) if stats else 0,
            "sites_waiting": agenda.sites_waiting if agenda else None,
            "turns_waiting": agenda.turns_waiting if agenda else None,
            "next_due": agenda.next_due if agenda else None,
            "finished": reason,
        }
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(status), encoding="utf-8")
        part.replace(self.path)
