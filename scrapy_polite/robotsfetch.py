"""One robots.txt is asked for: in turns, through redirects, and no farther than it is parsed."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urljoin
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest, StopDownload
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

from scrapy_polite.agenda import BYPASSES
from scrapy_polite.backoff.robotstxt import HOPS, MOST, Outcome, outcome
from scrapy_polite.errors import NotNow, RequestRefused

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_polite.agenda import Agenda
    from scrapy_polite.backoff.robotstxt import Known
    from scrapy_polite.robotscopies import Lease

__all__ = ["Fetched", "Fetching"]

TURNS: Final = 10
"""How often a robots.txt is asked for again after a hold, before its site counts as unreachable."""

STATED: Final = 3
"""How often so after a 5xx that says when to come back."""

LARGEST: Final = 32 * 1024 * 1024
"""Bytes that an answer may say that it has: it is cut off at :data:`MOST`, but not by every handler that there may be."""

LONG: Final = 1.0
"""Seconds of waiting for a turn after which another process may have read it."""

AT_ONCE: Final = 0.1
"""Seconds in which any store answers that is not in trouble."""

REDIRECTS: Final = (301, 302, 303, 307, 308)

IS_ROBOTS: Final = "polite_robots"
"""Request meta of what is cut off."""


class Fetched(NamedTuple):
    """What came of it, the body where it was read, and why where it was not."""

    outcome: Outcome
    body: bytes = b""
    why: str = ""


class Fetching:
    """One per crawler."""

    def __init__(self, crawler: Crawler, agenda: Agenda, priority: int) -> None:
        self._crawler = crawler
        self._agenda = agenda
        self._priority = priority
        self._received: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        crawler.signals.connect(self._bytes_received, signals.bytes_received)

    async def fetch(self, netloc: str, site: str, lease: Lease, *, anew: bool) -> Fetched | Known:
        """Ask for the robots.txt of ``netloc``, for ``site``, which waits for it; or what another process has heard of it
        meanwhile. ``anew``: a cache of the project's is passed by. :class:`NotNow` at shutdown."""
        known = await self._leased(lease, site)
        if known is not None:
            return known
        self._count("robotstxt/request_count")
        url = f"{netloc}/robots.txt"
        redirects = 0
        while True:
            response = await self._ask(url, site, lease, anew)
            if not isinstance(response, Response):
                return response
            location = response.headers.get("Location") if response.status in REDIRECTS else None
            if location is None or redirects == HOPS:
                break
            redirects += 1
            there = _joined(url, location)
            if there is None:
                return Fetched("unreachable", why="it was redirected to what is no http or https URL")
            url = there
        self._count("robotstxt/response_count")
        self._count(f"robotstxt/response_status_count/{response.status}")
        return Fetched(outcome(response.status, redirects), response.body, f"status {response.status}")

    async def _ask(self, url: str, site: str, lease: Lease, anew: bool) -> Response | Fetched | Known:
        assert self._crawler.engine is not None
        stated = 0
        for turn in range(TURNS):
            request = self._request(url, anew)
            began = time.monotonic()
            await self._agenda.robots_turn(request, site)
            if turn or time.monotonic() - began > LONG:
                # All who have waited for the end of a hold, or for a slow site, may go now: one of them is enough.
                known = await lease.take()
                if known is not None:
                    self._agenda.give_back(request)
                    return known
            try:
                response: Response = await self._crawler.engine.download_async(request)
            except NotNow as held:
                lease.give_back()
                if isinstance(held.after, Exception):
                    return Fetched("unreachable", why=str(held.after) or type(held.after).__name__)
                if held.after is not None and held.after.status >= 500:
                    stated += "Retry-After" in held.after.headers
                    if not 0 < stated < STATED:
                        return Fetched("unreachable", why=f"status {held.after.status}")
                continue
            except RequestRefused as refused:
                # Its own host: the guard refuses each page as well. Or where it was redirected to: nobody can read it.
                return Fetched("unreachable", why=refused.reason)
            except IgnoreRequest as ignored:
                if self._received.get(request):
                    return Fetched("unreachable", why=str(ignored))  # An answer that cannot be unpacked, as it never ends.
                return Fetched("none")  # A middleware of the project's does not want it asked for.
            except Exception as error:
                self._count(f"robotstxt/exception_count/{type(error)}")
                return Fetched("unreachable", why=str(error) or type(error).__name__)
            return response
        return Fetched("unreachable", why="it was held each time")

    async def _leased(self, lease: Lease, site: str) -> Known | None:
        """Who has to wait for another process does not keep the turn that he has had."""
        taking = asyncio.ensure_future(lease.take())
        try:
            await asyncio.wait([taking], timeout=AT_ONCE)
            if not taking.done():
                self._agenda.give_up_grant(site)
            return await taking
        finally:
            taking.cancel()

    def _request(self, url: str, anew: bool) -> Request:
        return Request(
            url,
            callback=NO_CALLBACK,
            priority=self._priority,
            # What is cut off in the middle can be read only if it is not packed.
            headers={"Accept-Encoding": "identity"},
            meta={
                "dont_obey_robotstxt": True,
                "allow_offsite": True,
                "dont_redirect": True,  # They are followed here: each has its turn, and no setting makes them fewer.
                "dont_cache": anew,
                "download_maxsize": LARGEST,
                "download_warnsize": 0,
                "polite_kind": "robots",
                BYPASSES: True,
                IS_ROBOTS: True,
            },
        )

    def _bytes_received(self, data: bytes, request: Request) -> None:
        if IS_ROBOTS in request.meta:
            received = self._received[request] = self._received.get(request, 0) + len(data)
            if received > MOST:
                raise StopDownload(fail=False)

    def _count(self, stat: str) -> None:
        self._crawler.stats.inc_value(stat)


def _joined(url: str, location: bytes) -> str | None:
    """Where a redirect leads; None where that cannot be asked for."""
    try:
        # Latin-1, as bytes that are no URL are escaped in it, and ASCII is itself.
        there = Request(urljoin(url, location.decode("latin-1"))).url
    except ValueError:
        return None
    return there if there.lower().startswith(("http://", "https://")) else None
