"""Opening sites: each is resolved and placed, and its robots.txt read, before anything of it may be popped.

A hundred thousand sites may wait here, most of them for hours when they share an origin, so one that waits is an entry and not
a task: tasks resolve and place a few at a time, and a robots.txt gets one when its turn has come.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol, cast

from scrapy import Request

from scrapy_polite.dns.resolver import NoAnswer
from scrapy_polite.errors import NotNow
from scrapy_polite.guard.policy import Refused

if TYPE_CHECKING:
    from collections.abc import Hashable

    from scrapy_polite.limits.workbench import Workbench
    from scrapy_polite.politeness import Placed, Politeness

__all__ = ["ROBOTS", "Openings", "Robots", "Source"]

logger = logging.getLogger(__name__)

OPENINGS: Final = 16
"""Sites that are resolved and placed at the same time."""

ROBOTS: Final = "robots"
"""The source that stands in the workbench for a site whose robots.txt is to be read when its turn comes."""


class Robots(Protocol):
    """Who reads robots.txt."""

    def knows(self, request: Request) -> bool:
        """Whether the rules that judge ``request`` were read, not too long ago."""
        ...

    def grown_old(self, site: str) -> bool:
        """Whether rules of the site are to be read again; no more than once for each time that they are."""
        ...

    async def recall(self, request: Request, site: str) -> bool:
        """Whether they are known by what somebody has read before: then nothing needs to be asked for."""
        ...

    async def read(self, request: Request, site: str) -> None:
        """Read them, in a turn of :meth:`Agenda.robots_turn`."""
        ...


class Source(Protocol):
    """Who holds requests for the scheduler."""

    def __hash__(self) -> int: ...

    def head(self, site: str) -> Request | None:
        """The next request of the site."""
        ...


class Opener(Protocol):
    """The agenda, as far as it is needed here."""

    robots: Robots | None

    async def placed(self, site: str, placed: Placed) -> None: ...

    def give_up_grant(self, site: str) -> None:
        """The turn of the site's robots.txt, in case that it was not used."""
        ...

    def soon(self) -> None:
        """Somebody may be due."""
        ...


class Openings:
    """See the module. A site's robots.txt stands in ``bench`` as :data:`ROBOTS`; when it is chosen :meth:`read_robots` is to be
    called."""

    def __init__(self, opener: Opener, politeness: Politeness, bench: Workbench) -> None:
        self._opener = opener
        self._politeness = politeness
        self._bench = bench
        self._opening: dict[str, Request | Source] = {}
        """Sites that wait to be opened, or are being opened: with a request, or with whom to ask for one."""
        self._to_place: deque[str] = deque()
        self._awaited: dict[str, asyncio.Future[None]] = {}
        self._placing: dict[str, asyncio.Task[None]] = {}
        self._reading: dict[str, asyncio.Task[None]] = {}
        self._placed: set[str] = set()
        """Sites whose robots.txt waits for its turn, or is being read."""
        self._closing = False

    def __len__(self) -> int:
        return len(self._opening)

    @property
    def is_placing(self) -> bool:
        """Whether a site is being resolved and placed; those that wait for the turn of their robots.txt are."""
        return bool(self._placing)

    def ensure(self, site: str, request: Request | None, source: Source | None = None) -> None:
        """Open a site that is new, or that has another scheme or port whose robots.txt was not read."""
        new = self._bench.add(site)
        if site in self._opening or self._closing:
            return
        robots = self._opener.robots
        if not new and (request is None or robots is None or robots.knows(request) or disobeys(request)):
            return
        what = source if new and source is not None else request
        assert what is not None
        self._open(site, what)

    def again(self, site: str, source: Hashable) -> bool:
        """Whether the site, whose turn has come, must wait since its rules have grown old: it is gated, and opened anew."""
        robots = self._opener.robots
        if robots is None or not robots.grown_old(site):
            return False
        request = cast("Source", source).head(site)
        if request is None or disobeys(request) or robots.knows(request):
            return False
        self._open(site, request)
        return True

    def _open(self, site: str, what: Request | Source) -> None:
        self._bench.gate(site)
        self._opening[site] = what
        self._to_place.append(site)
        self._place_more()

    async def wait(self, site: str) -> None:
        """Until the site is open. :class:`NotNow` at shutdown."""
        while site in self._opening:
            if self._closing:
                raise NotNow("the spider is closing")
            future = self._awaited.get(site)
            if future is None:
                future = self._awaited[site] = asyncio.get_running_loop().create_future()
                self._to_place.appendleft(site)  # Before those that nobody awaits; it stands there twice.
                self._place_more()
            await asyncio.shield(future)

    def read_robots(self, site: str) -> None:
        """Its turn has come."""
        self._reading[site] = asyncio.get_running_loop().create_task(self._read(site))

    def closing(self) -> None:
        """Nothing is opened any more, and whoever awaits it is told so."""
        self._closing = True
        for future in self._awaited.values():
            if not future.done():
                future.set_exception(NotNow("the spider is closing"))

    async def stop(self) -> None:
        """End what is still being opened: nobody waits for it."""
        tasks = [*self._placing.values(), *self._reading.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _place_more(self) -> None:
        while self._to_place and len(self._placing) < OPENINGS and not self._closing:
            site = self._to_place.popleft()
            if site in self._opening and site not in self._placing and site not in self._placed:
                self._placing[site] = asyncio.get_running_loop().create_task(self._place(site))

    async def _place(self, site: str) -> None:
        """Where that fails the site opens all the same: the handler refuses what may not be reached, and the error goes to the
        request that it belongs to."""
        opened = True
        try:
            request = self._first_of(site)
            if request is None:
                return  # Nothing waits any more.
            found = await self._politeness.admit(request.url)
            if isinstance(found, (Refused, NoAnswer)):
                return
            await self._opener.placed(site, found[1])
            robots = self._opener.robots
            if robots is not None and not disobeys(request) and not await robots.recall(request, site):
                opened = False
                self._placed.add(site)
                self._bench.stand(site, ROBOTS, early=True)
        except NotNow:
            pass  # The spider closes.
        except Exception:
            logger.exception("Could not open %s; its requests will meet the same error one by one", site)
        finally:
            del self._placing[site]
            if opened:
                self._opened(site)
            self._place_more()
            self._opener.soon()

    async def _read(self, site: str) -> None:
        try:
            request, robots = self._first_of(site), self._opener.robots
            if request is not None and robots is not None:
                await robots.read(request, site)
        except NotNow:
            pass
        except Exception:
            logger.exception("Could not read the robots.txt of %s; its requests will meet the same error one by one", site)
        finally:
            del self._reading[site]
            self._placed.discard(site)
            self._opener.give_up_grant(site)
            self._opened(site)
            self._opener.soon()

    def _first_of(self, site: str) -> Request | None:
        what = self._opening[site]
        return what if isinstance(what, Request) else what.head(site)

    def _opened(self, site: str) -> None:
        self._bench.open(site)
        self._opening.pop(site, None)
        future = self._awaited.pop(site, None)
        if future is not None and not future.done():
            future.set_result(None)


def disobeys(request: Request) -> bool:
    return bool(request.meta.get("dont_obey_robotstxt"))
