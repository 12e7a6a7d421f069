"""What must happen at the start and the end of a crawl: the layers stand before the first request, and nobody who waits keeps
the spider from closing."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scrapy import signals, version_info
from scrapy.utils.asyncio import is_asyncio_available

from scrapy_polite.breathing import Collector
from scrapy_polite.deferring import Deferring
from scrapy_polite.diskqueue import forget_unqueued
from scrapy_polite.errors import said_at_start
from scrapy_polite.handlers import HANDLERS, UNPROTECTED
from scrapy_polite.holdwatch import HoldWatch
from scrapy_polite.media import PoliteImagesPipeline
from scrapy_polite.media.putoff import PutOff
from scrapy_polite.politeness import Politeness
from scrapy_polite.queue import OriginQueue
from scrapy_polite.resolver import UNVETTED, install_layers, layers_in_place
from scrapy_polite.seen import keep_what_was_seen
from scrapy_polite.takeover import forget_half_written

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

__all__ = ["PoliteExtension", "names_contact"]

logger = logging.getLogger(__name__)

NOBODYS: Final = ("scrapy.org", "yourdomain.com")
"""Sites in the ``USER_AGENT`` of Scrapy's own settings and of ``scrapy startproject``."""

HIGH: Final = 1000
"""What Scrapy's own limits are set to where ours take over."""


class PoliteExtension:
    """Built before the engine: whatever is wrong with the settings or the store stops the crawl here, before a request."""

    def __init__(self, crawler: Crawler) -> None:
        if not is_asyncio_available():
            raise ValueError(
                f"TWISTED_REACTOR = {crawler.settings.get('TWISTED_REACTOR')!r}: names are resolved on asyncio. Accepted is "
                "'twisted.internet.asyncioreactor.AsyncioSelectorReactor', Scrapy's default."
            )
        self._crawler = crawler
        self._collector = Collector()
        self._politeness = Politeness.require(crawler)
        UNVETTED.arm(self._politeness.config.policy.allow)
        self._install()
        self._deferring = Deferring(crawler, self._politeness)
        self._watch = HoldWatch(crawler, self._politeness, self._deferring)
        if crawler.settings["JOBDIR"]:
            # Before Scrapy's duplicate filter reads its file.
            recover(Path(crawler.settings["JOBDIR"]))
        self._put_off = PutOff(crawler, PoliteImagesPipeline)
        crawler.signals.connect(self.engine_started, signals.engine_started)
        crawler.signals.connect(self.spider_opened, signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signals.spider_closed)
        crawler.signals.connect(self.engine_stopped, signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PoliteExtension:
        with said_at_start():
            return cls(crawler)

    def engine_started(self) -> None:
        """Whoever has put a resolver of their own into the reactor since: ours again."""
        self._install()

    async def spider_opened(self, spider: Spider) -> None:
        """Hook the closing, for which Scrapy has no signal; and stop a crawl that would not be protected."""
        engine = self._crawler.engine
        assert engine is not None
        slot = engine._slot
        assert slot is not None
        close = slot.close

        async def polite_close() -> None:
            self._politeness.closing()
            await self._put_off.finish()
            await close()

        slot.close = polite_close  # type: ignore[method-assign]
        if isinstance(getattr(slot.scheduler, "dqs", None), OriginQueue):
            keep_what_was_seen(slot.scheduler)
        if version_info < (2, 18):
            set_attributes_aside(spider)
        # A CrawlerProcess whose ADDONS is in custom_settings has installed a resolver of its own after this object was built.
        self._install()
        missing = self._missing(engine)
        if missing:
            logger.critical("The crawl is not protected and stops: %s", missing)
            await engine.close_spider_async(reason=UNPROTECTED)
            return
        agent = getattr(spider, "user_agent", None) or self._crawler.settings["USER_AGENT"]
        if not names_contact(agent):
            logger.warning(
                "USER_AGENT = %r names nobody: whoever is troubled by this crawl can only block it. Give a page or an address "
                'in it, such as "mybot (+https://example.org/bot)" or "mybot (bot@example.org)"',
                agent,
            )
        await self._politeness.watch()
        self._watch.start()
        self._collector.spare()

    def spider_closed(self) -> None:
        """Say what only a person can decide, and would not look for."""
        refused, stats = self._politeness.last_refused, self._crawler.stats
        answered = stats is not None and stats.get_value("response_received_count")
        if refused is not None and self._politeness.sent_at is None and not answered:
            why, url = refused
            logger.warning(
                "Guard: nothing was fetched, as every request was refused; the last (%s): <%s>: %s. `scrapy polite explain "
                "URL` says what of a URL is refused, and how it is allowed",
                why.reason,
                url,
                why.detail.rstrip("."),
            )
        found, where = self._politeness.placing.suspected(), "`scrapy polite origins --suspected` shows them"
        if self._politeness.config.store == "memory:":
            where = f"with a store that outlives the crawl (POLITE_STORE) {where}"
        if found:
            logger.info(
                "Origins: %d address%s may be an edge that no table knows, whose sites share one rate for now: %s, with the "
                "setting that confirms it",
                found,
                "es" * (found != 1),
                where,
            )

    async def engine_stopped(self) -> None:
        self._collector.look_again()
        await self._watch.stop()
        await self._politeness.close()

    def _install(self) -> None:
        from twisted.internet import reactor

        install_layers(reactor)

    def _missing(self, engine: Any) -> str | None:
        from twisted.internet import reactor

        if not layers_in_place(reactor):
            return "the reactor's resolver or its connectTCP is not the guard's"
        downloader_handlers = engine.downloader.handlers
        for scheme, ours in HANDLERS.items():
            if scheme not in downloader_handlers._schemes:
                continue  # The project has none for it: nothing can be fetched.
            handler = downloader_handlers._handlers.get(scheme)
            why = downloader_handlers._notconfigured.get(scheme, f"it is {type(handler).__name__}")
            if not isinstance(handler, ours):
                return f"the download handler for {scheme} is not the guard's ({why})"
        return None


def names_contact(user_agent: object) -> bool:
    """Whether a ``USER_AGENT`` tells a page or an address of whoever runs the crawl. Those of Scrapy's default and of its
    project template are nobody's."""
    if not isinstance(user_agent, str) or any(site in user_agent for site in NOBODYS):
        return False
    return any(sign in user_agent for sign in ("http", "@", "+"))


def recover(job: Path) -> None:
    """Take up a ``JOBDIR`` whose last run died. Raises ``ValueError`` for one that another crawl uses, or that cannot be
    written."""
    try:
        surplus = forget_unqueued(job)
        forget_half_written(job / "requests.queue")
    except (sqlite3.Error, OSError) as error:
        raise ValueError(
            f"JOBDIR: {str(job)!r} cannot be used: {error}. Give it room, and this user the right to write"
        ) from None
    if surplus:
        logger.info(
            "The last run of this JOBDIR died: %d bytes of requests.seen, whose requests were not queued, forgotten", surplus
        )


def set_attributes_aside(spider: Spider) -> None:
    """Until 2.17 Scrapy reads these off the spider itself for every new slot; the add-on has taken them over."""
    for name, value in (("download_delay", 0), ("max_concurrent_requests", HIGH)):
        if hasattr(spider, name):
            setattr(spider, name, value)
