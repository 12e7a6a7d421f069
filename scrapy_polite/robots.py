"""robots.txt, read before a site's first page and outside the downloader: a page must not sit there while it is fetched.

Parsing is Scrapy's (``ROBOTSTXT_PARSER``) for what may be fetched, and Protego's for ``Crawl-delay``. An answer is judged by
RFC 9309 section 2.3.1: 2xx is read, 4xx means no rules, 5xx or no answer at all means that nothing may be fetched.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from protego import Protego
from scrapy import Request
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.misc import build_from_crawler, load_object

from scrapy_polite.agenda import BYPASSES
from scrapy_polite.errors import NotNow, RequestRefused
from scrapy_polite.politeness import Politeness
from scrapy_polite.queue import agenda_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser

__all__ = ["PoliteRobotsTxtMiddleware"]

logger = logging.getLogger(__name__)

REMEMBERED: Final = 50_000
"""Files whose rules are kept in memory; the oldest goes first, and is read again if its site comes back."""

MAX_SIZE: Final = 500 * 1024
"""Bytes that are read at least (RFC 9309 section 2.5); what is beyond is not."""

TURNS: Final = 10
"""How often robots.txt is asked for again after a hold, before its site counts as unreachable."""

DISALLOW_ALL: Final = b"User-agent: *\nDisallow: /\n"


class PoliteRobotsTxtMiddleware(RobotsTxtMiddleware):
    """Takes the place of Scrapy's. For requests from the scheduler the rules are known when they arrive."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._agenda = agenda_of(crawler)
        self._rules: OrderedDict[str, RobotParser] = OrderedDict()
        self._reading: dict[str, asyncio.Future[None]] = {}
        self._parser_class: type[RobotParser] = load_object(crawler.settings["ROBOTSTXT_PARSER"])
        self._agenda.robots = self

    async def robot_parser(self, request: Request) -> RobotParser | None:
        """The rules that judge ``request``; None where the guard does not let its host be asked."""
        if not self.knows(request):
            await self._agenda.opened_inside(request)
            if self._agenda.is_closing and not self.knows(request):
                raise NotNow("the spider is closing, and robots.txt was not read", request)
        return self._rules.get(netloc_of(request.url))

    def knows(self, request: Request) -> bool:
        """Whether the rules for ``request`` were read."""
        return netloc_of(request.url) in self._rules

    async def read(self, request: Request, site: str) -> None:
        """Make the rules for ``request`` known. One fetch at a time and host."""
        netloc = netloc_of(request.url)
        while netloc not in self._rules:
            reading = self._reading.get(netloc)
            if reading is not None:
                await asyncio.shield(reading)
                if netloc not in self._rules:
                    return
                continue
            self._reading[netloc] = asyncio.get_running_loop().create_future()
            try:
                try:
                    body = await self._fetch(netloc, site)
                except NotNow:
                    raise
                except Exception:
                    logger.exception("%s/robots.txt could not be asked for: nothing of the site is fetched (RFC 9309)", netloc)
                    body = DISALLOW_ALL
                self._keep(netloc, site, body)
            finally:
                self._reading.pop(netloc).set_result(None)

    async def _fetch(self, netloc: str, site: str) -> bytes:
        """The body that is to be obeyed."""
        assert self.crawler.engine is not None
        self._count("robotstxt/request_count")
        why = "it was held each time"
        for _ in range(TURNS):
            request = Request(
                f"{netloc}/robots.txt",
                callback=NO_CALLBACK,
                priority=self.DOWNLOAD_PRIORITY,
                meta={"dont_obey_robotstxt": True, "allow_offsite": True, BYPASSES: True, "polite_kind": "robots"},
            )
            await self._agenda.robots_turn(request, site)
            try:
                response = await self.crawler.engine.download_async(request)
            except NotNow:
                continue
            except RequestRefused as refused:
                # Its own host: the guard refuses each page as well. Or where it was redirected to: nobody can read it.
                why = refused.reason
                break
            except IgnoreRequest:
                return b""  # A middleware of the project's does not want it asked for.
            except Exception as error:
                why = str(error) or type(error).__name__
                self._count(f"robotstxt/exception_count/{type(error)}")
                break
            self._count("robotstxt/response_count")
            self._count(f"robotstxt/response_status_count/{response.status}")
            if response.status < 300:
                return response.body[:MAX_SIZE]
            if response.status < 500:
                return b""
            why = f"status {response.status}"
            break
        logger.warning("%s/robots.txt cannot be read (%s): nothing of the site is fetched (RFC 9309)", netloc, why)
        return DISALLOW_ALL

    def _count(self, stat: str) -> None:
        self.crawler.stats.inc_value(stat)

    def _keep(self, netloc: str, site: str, body: bytes) -> None:
        self._rules[netloc] = build_from_crawler(self._parser_class, self.crawler, body)
        if len(self._rules) > REMEMBERED:
            self._rules.popitem(last=False)
        agent = self._robotstxt_useragent or self._default_useragent
        rules = Protego.parse(body.decode("utf-8", "replace"))
        delay = rules.crawl_delay(agent)
        if delay:
            Politeness.require(self.crawler).obey_delay(site, float(delay), "Crawl-delay")


def netloc_of(url: str) -> str:
    """Scheme, host and port: what one robots.txt speaks for (RFC 9309 section 2.3)."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
