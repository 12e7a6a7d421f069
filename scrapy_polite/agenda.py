"""The agenda: one per crawler, it decides whose turn it is, for the scheduler's queues and for all that bypasses them.

The scheduler *pulls*: :class:`~scrapy_polite.queue.OriginQueue` asks :meth:`Agenda.turn_of` and answers None while nothing is
due. Images, robots.txt and callers of ``engine.download_async`` are *pushed*: they await :meth:`Agenda.turn` before they enter
the downloader, where waiting would cost a place. A site is not poppable before it was resolved, placed, and its robots.txt
read. The choice itself is :class:`~scrapy_polite.limits.workbench.Workbench`; here are the timer, the futures and the engine.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from scrapy_polite.dns.resolver import NoAnswer
from scrapy_polite.errors import NotNow
from scrapy_polite.guard.policy import Refused
from scrapy_polite.limits.workbench import Choice, Workbench

if TYPE_CHECKING:
    from collections.abc import Hashable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_polite.limits.gcra import Wait
    from scrapy_polite.politeness import Placed, Politeness
    from scrapy_polite.ticket import Ticket

__all__ = ["Agenda"]

logger = logging.getLogger(__name__)

LEAD: Final = 0.5
"""Seconds before its due time that a request is let go: time for a look-up, a connection and a handshake."""

OPENINGS: Final = 16
"""Sites that are resolved and asked for their robots.txt at the same time."""

ENTER_WITHIN: Final = 5.0
"""Seconds in which somebody whose turn has come must have entered the downloader; later the turn is given back."""

PRUNE_EVERY: Final = 60.0

BYPASSES: Final = "polite_bypasses_scheduler"
"""Request meta of what is fetched past the scheduler. The engine would send a request that a middleware returns for it at once,
so whoever fetches it is told by an exception instead, and awaits its turn again."""

_TURNS: Final = "turns"
"""The source that stands in the workbench for the futures of :meth:`Agenda.turn`."""


class Robots(Protocol):
    """Who reads robots.txt."""

    def knows(self, request: Request) -> bool:
        """Whether the rules that judge ``request`` were read."""
        ...

    async def read(self, request: Request, site: str) -> None:
        """Read them, in a turn of :meth:`Agenda.robots_turn`."""
        ...


class Agenda:
    """See the module. ``robots`` stays None where ROBOTSTXT_OBEY is off."""

    def __init__(self, crawler: Crawler, politeness: Politeness) -> None:
        self._crawler = crawler
        self._politeness = politeness
        self._bench = Workbench(LEAD)
        self._waiting: dict[str, deque[tuple[asyncio.Future[None], Request]]] = {}
        self._entered: dict[Hashable, float] = {}
        self._open: dict[str, asyncio.Future[None]] = {}
        self._openings = asyncio.Semaphore(OPENINGS)
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._pruned = time.monotonic()
        self._closing = False
        self.robots: Robots | None = None
        politeness.agenda = self

    # -- the scheduler's side

    def site(self, request: Request) -> str:
        """What the request waits under."""
        return self._politeness.site_of(request.url)

    def stand(self, site: str, request: Request, source: Hashable) -> None:
        """``source`` holds ``request`` (and perhaps more) for the site."""
        self._ensure_open(site, request)
        self._bench.stand(site, source)

    def leave(self, site: str, source: Hashable) -> None:
        """``source`` holds nothing more for the site."""
        self._bench.leave(site, source)

    def turn_of(self, source: Hashable) -> str | None:
        """The site whose next request ``source`` should hand out now, or None: nothing is due, or it is another's turn.
        When nothing is due the engine will be woken as soon as something is."""
        choice = self._choose()
        return choice.site if choice is not None and choice.source is source else None

    def taken(self, site: str, request: Request, source: Hashable) -> None:
        """``source`` hands out ``request``, of ``site``."""
        self._take(site, request, source)

    # -- what bypasses the scheduler

    async def turn(self, request: Request) -> None:
        """Wait until the request may enter the downloader, which it must then do at once. :class:`NotNow` at shutdown, and
        from the downloader when it was not served and must await its turn again."""
        request.meta[BYPASSES] = True
        site = self._politeness.site_of(request.url)
        await self.opened(request)
        await self._stand_for_turn(site, request)

    async def robots_turn(self, request: Request, site: str) -> None:
        """The turn of a robots.txt, for which its gated site waits."""
        await self._stand_for_turn(site, request)

    async def opened(self, request: Request) -> None:
        """Wait until the request's site is placed and its robots.txt known."""
        site = self._politeness.site_of(request.url)
        self._ensure_open(site, request)
        while (opening := self._open.get(site)) is not None:
            await asyncio.shield(opening)

    async def _stand_for_turn(self, site: str, request: Request) -> None:
        if self._closing:
            raise NotNow("the spider is closing")
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(site, deque()).append((future, request))
        self._bench.stand(site, _TURNS, early=True)
        self._soon()
        await future

    # -- opening a site

    def _ensure_open(self, site: str, request: Request) -> None:
        """Open a site that is new, or that has another scheme or port whose robots.txt was not read."""
        new = self._bench.add(site)
        if site in self._open or self._closing:
            return
        if not new and (self.robots is None or self.robots.knows(request) or request.meta.get("dont_obey_robotstxt")):
            return
        self._bench.gate(site)
        loop = asyncio.get_running_loop()
        self._open[site] = loop.create_future()
        task = loop.create_task(self._open_site(site, request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _open_site(self, site: str, request: Request) -> None:
        """Resolve, place, read robots.txt; then let everything pass. Where that fails the site opens all the same: the
        handler refuses what may not be reached, and the error goes to the request that it belongs to."""
        try:
            async with self._openings:
                found = await self._politeness.admit(request.url)
                if isinstance(found, (Refused, NoAnswer)):
                    return
                self.placed(site, found[1])
                if self.robots is not None and not request.meta.get("dont_obey_robotstxt"):
                    await self.robots.read(request, site)
        except NotNow:
            pass
        except Exception:
            logger.exception("Could not open %s; its requests will meet the same error one by one", site)
        finally:
            self._bench.open(site)
            future = self._open.pop(site, None)
            if future is not None and not future.done():
                future.set_result(None)
            self._soon()

    def placed(self, site: str, placed: Placed) -> None:
        """The site's keys are known, or have changed; holds of earlier runs and of other processes are learned."""
        config = self._politeness.config
        self._bench.place(site, placed.keys, {key: cap for key in placed.keys if (cap := config.cap_of(key))})
        for key, seconds in self._politeness.holds_of(placed.keys).items():
            self.held(key, seconds)

    # -- what the wire tells

    def booked(self, ticket: Ticket) -> None:
        width = self._politeness.config.width
        charged = {charge.key: charge.increment(width) / 1e6 for charge in ticket.charges}
        self._bench.booked(ticket.request, charged, time.monotonic())
        self._soon()

    def learn(self, wait: Wait) -> None:
        """Another process or a hold has moved a key."""
        now = time.monotonic()
        self._bench.learn(wait.key, now + wait.micros / 1e6, now)

    def held(self, key: str, seconds: float) -> None:
        now = time.monotonic()
        self._bench.learn(key, now + seconds, now)

    def closing(self) -> None:
        """The spider closes: everybody who waits for a turn is told so."""
        self._closing = True
        for line in self._waiting.values():
            for future, _ in line:
                if not future.done():
                    future.set_exception(NotNow("the spider is closing"))
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def stop(self) -> None:
        """End what is still being opened: nobody waits for it any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def next_due(self) -> float | None:
        """Seconds until somebody who waits may go; None when nobody waits for time alone."""
        choice = self._bench.choose(time.monotonic())
        return 0.0 if isinstance(choice, Choice) else choice

    @property
    def sites_waiting(self) -> int:
        return self._bench.sites

    @property
    def turns_waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    # -- inside

    def _choose(self) -> Choice | None:
        """Serve pushed turns as long as theirs come first; then the queue's turn, or None with the timer set."""
        now = time.monotonic()
        self._sweep(now)
        while True:
            choice = self._bench.choose(now)
            if not isinstance(choice, Choice):
                if choice is not None:
                    self._wake_in(choice)
                return None
            if choice.source is not _TURNS:
                return choice
            if not self._has_room():
                return None  # The engine asks again when something has left the downloader.
            self._serve_turn(choice.site)

    def _serve_turn(self, site: str) -> None:
        line = self._waiting[site]
        future, request = line.popleft()
        if not future.done():
            self._take(site, request, _TURNS)
            self._entered[request] = time.monotonic()
            future.set_result(None)
        if not line:
            del self._waiting[site]
            self._bench.leave(site, _TURNS)

    def _take(self, site: str, request: Request, source: Hashable) -> None:
        now = time.monotonic()
        keys = self._politeness.keys_of(site)
        lent: dict[str, float] = {}
        if keys is not None:
            _, charges = self._politeness.plan(request, site, keys)
            width = self._politeness.config.width
            lent = {charge.key: charge.increment(width) / 1e6 for charge in charges}
        self._bench.take(site, source, request, lent, now)

    def _has_room(self) -> bool:
        engine = self._crawler.engine
        if engine.paused:
            return False
        most = engine.downloader.total_concurrency
        return not most or len(engine.downloader.active) + len(self._entered) < most

    def _sweep(self, now: float) -> None:
        """Give back what left the downloader without having been sent: a cache answered, a middleware dropped it."""
        active = self._crawler.engine.downloader.active
        for loan in self._bench.loans:
            if loan in active:
                self._entered.pop(loan, None)
            elif now - self._entered.get(loan, 0.0) > ENTER_WITHIN:
                self._entered.pop(loan, None)
                self._bench.left(loan, now)
        if now - self._pruned > PRUNE_EVERY:
            self._pruned = now
            self._bench.prune(now)

    def _wake_in(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        at = loop.time() + seconds
        if self._timer is not None:
            if self._timer.when() <= at + 1e-4:
                return
            self._timer.cancel()
        self._timer = loop.call_at(at, self._wake)

    def _soon(self) -> None:
        if not self._closing:
            self._wake_in(0.0)

    def _wake(self) -> None:
        self._timer = None
        if not self._closing and self._choose() is not None:
            wake_engine(self._crawler)


def wake_engine(crawler: Crawler) -> None:
    """Make the engine ask its scheduler again in the next iteration. There is no public way; the names are the same in
    Scrapy 2.16 to 2.19, and a test holds them."""
    engine = crawler.engine
    slot = getattr(engine, "_slot", None)
    if slot is not None and slot.closing is None:
        slot.nextcall.schedule()
