"""robots.txt, read before a site's first page and outside the downloader: a page must not sit there while it is fetched.

What an answer means, and for how long, is RFC 9309's (:mod:`scrapy_polite.backoff.robotstxt`); asking is
:mod:`scrapy_polite.robotsfetch`, and what other processes have heard :mod:`scrapy_polite.robotscopies`. Parsing is Scrapy's
(``ROBOTSTXT_PARSER``) for what may be fetched, and Protego's for ``Crawl-delay`` and ``Request-rate``.

Where it cannot be read nothing may be fetched, and nothing is forbidden either: the site is held until the file is to be asked
for again, in the store, like for any refusal. Its requests wait, or are put off. So whoever ends that hold has it asked for.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from protego import Protego
from scrapy import Request, signals
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.utils.misc import build_from_crawler, load_object

from scrapy_polite.backoff.robotstxt import DISALLOW_ALL, Known, after, asked_in, interval, obeyed, text_of
from scrapy_polite.dns.resolver import NoAnswer
from scrapy_polite.errors import NotNow
from scrapy_polite.guard.policy import Refused
from scrapy_polite.naming.hosts import Invalid, parse
from scrapy_polite.politeness import Politeness
from scrapy_polite.queue import agenda_of
from scrapy_polite.remembering import Remembering
from scrapy_polite.robotscopies import Copies
from scrapy_polite.robotsfetch import Fetched, Fetching
from scrapy_polite.stores.base import Cause

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser

__all__ = ["PoliteRobotsTxtMiddleware"]

logger = logging.getLogger(__name__)

UNREADABLE: Final = "robots"
"""The kind of the hold of a site whose robots.txt cannot be read."""

REMEMBERED: Final = 50_000
"""Files of which something is kept in memory; the oldest goes first, and is read again if its site comes back."""

LARGEST: Final = 32 * 1024 * 1024
"""Characters of all files together whose rules are kept in memory, so that no domain with any number of names fills it; what
was parsed takes up to ten bytes for each. The oldest goes first: it is in the store."""


ANOTHER: Final = "another process has tried"
"""Why, where that process has not said it."""


class _Rules(NamedTuple):
    known: Known
    parser: RobotParser | None
    """Of the copy, or one that forbids everything; None: there is no copy, and the site is held for that."""

    def size(self) -> int:
        return len(self.known.text or "")


class PoliteRobotsTxtMiddleware(RobotsTxtMiddleware):
    """Takes the place of Scrapy's. For requests from the scheduler the rules are known when they arrive."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._politeness = Politeness.require(crawler)
        self._agenda = agenda_of(crawler)
        self._fetching = Fetching(crawler, self._agenda, self.DOWNLOAD_PRIORITY)
        self._copies = Copies(self._politeness.booker)
        self._rules: dict[str, _Rules] = Remembering(REMEMBERED, LARGEST, _Rules.size)
        self._asked: dict[str, bool] = Remembering(REMEMBERED)
        """Those that this process has asked for itself."""
        self._grown_old: dict[str, float] = Remembering(REMEMBERED)
        """When the first of a site's files is to be asked for again, on the wall clock."""
        self._said: dict[str, str] = Remembering(REMEMBERED)
        """What the log says of them."""
        self._readable: dict[str, str] = Remembering(REMEMBERED)
        """By site, the last of its files that could be read."""
        self._reading: dict[str, asyncio.Future[None]] = {}
        self._parser_class: type[RobotParser] = load_object(crawler.settings["ROBOTSTXT_PARSER"])
        self._nothing: RobotParser = build_from_crawler(self._parser_class, crawler, DISALLOW_ALL.encode())
        self._agenda.robots = self

    async def robot_parser(self, request: Request) -> RobotParser | None:
        """The rules that judge ``request``; None where the guard does not let its host be asked. :class:`NotNow` where they
        cannot be read: it waits for that where its site does."""
        netloc = netloc_of(request.url)
        found = self._standing(netloc)
        if found is None and not (self._cannot_be_read(netloc) and self._agenda.handed_out(request)):
            await self._agenda.opened_inside(request)
            found = self._standing(netloc)
        if found is None:
            if self._agenda.is_closing:
                raise NotNow("the spider is closing, and robots.txt was not read", request)
            if self._cannot_be_read(netloc):
                raise NotNow("its site is held, since robots.txt cannot be read", request)
            if not isinstance(await self._politeness.admit(request.url), (Refused, NoAnswer)):
                return self._nothing
        return found

    # -- what the agenda asks

    def knows(self, request: Request) -> bool:
        return self._is_fresh(netloc_of(request.url))

    def grown_old(self, site: str) -> bool:
        if time.time() < self._grown_old.get(site, math.inf):
            return False
        del self._grown_old[site]  # Until it is read again; who comes meanwhile is judged by the age of the copy.
        return True

    async def recall(self, request: Request, site: str) -> bool:
        netloc = netloc_of(request.url)
        if self._is_fresh(netloc):
            return True
        known = await self._copies.get(netloc)
        # That it could not be read is what its site is held for: when that has ended, by time or by hand, it is asked for.
        if known is None or asked_in(known, time.time()) <= 0 or not _obeys_a_copy(known):
            return False
        await self._obey(request, site, known, just_told=False)
        return True

    async def read(self, request: Request, site: str) -> None:
        """One fetch at a time and host."""
        netloc = netloc_of(request.url)
        if self._is_fresh(netloc):
            return
        reading = self._reading.get(netloc)
        if reading is not None:
            await asyncio.shield(reading)
            return
        self._reading[netloc] = asyncio.get_running_loop().create_future()
        try:
            await self._read(request, netloc, site)
        finally:
            self._reading.pop(netloc).set_result(None)

    # -- inside

    async def _read(self, request: Request, netloc: str, site: str) -> None:
        lease = self._copies.lease(netloc)
        try:
            try:
                heard = await self._fetching.fetch(netloc, site, lease, anew=netloc in self._asked)
            except NotNow:
                raise
            except Exception as error:
                logger.exception("%s/robots.txt could not be asked for", netloc)
                heard = Fetched("unreachable", why=type(error).__name__)
            if isinstance(heard, Known):
                await self._obey(request, site, heard, just_told=False)
                return
            self._asked[netloc] = True
            before = self._rules[netloc].known if netloc in self._rules else await self._copies.get(netloc)
            known = after(before, heard.outcome, text_of(heard.body), time.time())
            await self._obey(request, site, known, just_told=True, why=heard.why)
            await self._copies.keep(netloc, known)
        finally:
            lease.give_back()

    async def _obey(self, request: Request, site: str, known: Known, *, just_told: bool, why: str = "") -> None:
        netloc, now = netloc_of(request.url), time.time()
        self._say(netloc, known, why)
        parser: RobotParser | None = self._nothing
        asked = asked_in(known, now)
        if not _obeys_a_copy(known):
            if not self._reads_another(site, netloc):
                parser, asked = None, 0.0  # Whoever's turn comes has it asked for, as its hold has ended.
                await self._hold(site, netloc, known, why)
        elif known.text is not None:
            self._readable[site] = netloc
            try:
                parser = build_from_crawler(self._parser_class, self.crawler, known.text.encode())
                self._obey_delay(netloc, site, parser, known.text, just_told)
            except Exception:  # The project's parser may be anything.
                logger.exception("%s/robots.txt cannot be parsed: nothing of the site is fetched", netloc)
                parser = self._nothing
        self._rules[netloc] = _Rules(known, parser)
        others = self._grown_old.get(site, math.inf)
        self._grown_old[site] = min(others if others > now else math.inf, now + asked)
        if parser is not None and hasattr(signals, "robots_parsed"):  # Scrapy 2.18 and newer.
            await self.crawler.signals.send_catch_log_async(signal=signals.robots_parsed, robotparser=parser, request=request)

    async def _hold(self, site: str, netloc: str, known: Known, why: str) -> None:
        """Until it is to be asked for again. By maximum, as every hold: what others have begun is not cut short."""
        reason = f"{netloc}/robots.txt cannot be read ({why or ANOTHER})"
        await self._politeness.hold(site, max(0.0, asked_in(known, time.time())), Cause(UNREADABLE, reason))

    def _reads_another(self, site: str, netloc: str) -> bool:
        """Whether the site is read by another scheme or port: it is not held for one that nobody can reach."""
        other = self._readable.get(site, netloc)
        return other != netloc and self._standing(other) is not None

    def _obey_delay(self, netloc: str, site: str, parser: RobotParser, text: str, just_told: bool) -> None:
        agent = self._robotstxt_useragent or self._default_useragent
        parsed = getattr(parser, "rp", None)
        rules = parsed if isinstance(parsed, Protego) else Protego.parse(text)
        rate = rules.request_rate(agent)
        if rate is not None and (rate.start_time is not None or rate.end_time is not None):
            logger.info("%s/robots.txt: Request-rate is obeyed at all times of the day, and not only at those it names", netloc)
        least = interval(rules.crawl_delay(agent), rate.requests if rate else 0, rate.seconds if rate else 0)
        self._politeness.obey_delay(site, least, f"the delay that {netloc}/robots.txt asks for", just_told=just_told)

    def _say(self, netloc: str, known: Known, why: str) -> None:
        """Once, when it begins and when it ends."""
        said = self._said.get(netloc, "read")
        state = "read" if not known.failures else "kept" if _obeys_a_copy(known) else "unreachable"
        if state == said:
            return
        self._said[netloc] = state
        why = why or ANOTHER
        if state == "read":
            logger.info("%s/robots.txt can be read again", netloc)
        elif state == "kept":
            logger.info("%s/robots.txt cannot be read (%s): its last copy is obeyed until that is a day old", netloc, why)
        else:
            waits = "nothing of the site is fetched until it can be (RFC 9309), and what waits for that is kept"
            logger.warning("%s/robots.txt cannot be read (%s): %s", netloc, why, waits)

    def _is_fresh(self, netloc: str) -> bool:
        found = self._rules.get(netloc)
        return self._standing(netloc) is not None and found is not None and asked_in(found.known, time.time()) > 0

    def _standing(self, netloc: str) -> RobotParser | None:
        """The rules that stand now, though they may have to be read again; None where they must be read first."""
        found = self._rules.get(netloc)
        if found is None or obeyed(found.known, time.time()) is None:
            return None
        # A copy whose day has ended since is none: the file is read first.
        return found.parser if found.known.text is None or _obeys_a_copy(found.known) else None

    def _cannot_be_read(self, netloc: str) -> bool:
        found = self._rules.get(netloc)
        return found is not None and found.parser is None


def _obeys_a_copy(known: Known) -> bool:
    return known.text is not None and obeyed(known, time.time()) == known.text


def netloc_of(url: str) -> str:
    """Scheme, host and port: what one robots.txt speaks for (RFC 9309 section 2.3), however the host is spelled. No user: it
    goes into the store."""
    target = parse(url)
    parts = urlsplit(url if isinstance(target, Invalid) else target.url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}"
