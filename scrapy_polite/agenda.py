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

from scrapy import Request

from scrapy_polite.dns.resolver import NoAnswer
from scrapy_polite.errors import NotNow
from scrapy_polite.guard.policy import Refused
from scrapy_polite.limits.workbench import Choice, Workbench

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from scrapy.crawler import Crawler

    from scrapy_polite.limits.gcra import Wait
    from scrapy_polite.limits.plan import Charge
    from scrapy_polite.politeness import Placed, Politeness
    from scrapy_polite.ticket import Ticket

__all__ = ["Agenda"]

logger = logging.getLogger(__name__)

LEAD: Final = 0.5
"""Seconds before its due time that a request is let go: time for a look-up, a connection and a handshake."""

OPENINGS: Final = 16
"""Sites that are resolved and placed at the same time."""

ENTER_WITHIN: Final = 5.0
"""Seconds in which somebody whose turn has come must have entered the downloader; later the turn is given back."""

PRUNE_EVERY: Final = 60.0

LENTS: Final = 10_000
"""Sorts of requests (by keys, kind and cost) whose estimate is remembered."""

UNSWEPT: Final = 64
"""Requests that have left the downloader and may be counted as in it, as long as somebody is due anyway."""

BYPASSES: Final = "polite_bypasses_scheduler"
"""Request meta of what is fetched past the scheduler. The engine would send a request that a middleware returns for it at once,
so whoever fetches it is told by an exception instead, and awaits its turn again."""

_TURNS: Final = "turns"
"""The source that stands in the workbench for the futures of :meth:`Agenda.turn`."""

_ROBOTS: Final = "robots"
"""The source that stands there for a site whose robots.txt is to be read when its turn comes."""


class Robots(Protocol):
    """Who reads robots.txt."""

    def knows(self, request: Request) -> bool:
        """Whether the rules that judge ``request`` were read."""
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


class Agenda:
    """See the module. ``robots`` stays None where ROBOTSTXT_OBEY is off."""

    def __init__(self, crawler: Crawler, politeness: Politeness) -> None:
        self._crawler = crawler
        self._politeness = politeness
        self._bench = Workbench(LEAD)
        self._waiting: dict[str, deque[tuple[asyncio.Future[None], Request]]] = {}
        self._entered: dict[Hashable, float] = {}
        self._opening: dict[str, Request | Source] = {}
        """Sites that wait to be opened, or are being opened: with a request, or with whom to ask for one. A hundred thousand
        may wait here, so each is but an entry."""
        self._to_open: deque[str] = deque()
        self._awaited: dict[str, asyncio.Future[None]] = {}
        """Sites whose opening somebody awaits."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        """Sites that are being placed, at most OPENINGS."""
        self._reading: dict[str, asyncio.Task[None]] = {}
        """Sites whose robots.txt is being read."""
        self._granted: dict[str, object] = {}
        """Sites whose robots.txt has its turn, and has not entered the downloader; and the name of the loan."""
        self._lents: dict[tuple[object, ...], Mapping[str, float]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._pruned = time.monotonic()
        self._closing = False
        self.robots: Robots | None = None
        politeness.agenda = self

    # -- the scheduler's side

    def site(self, request: Request) -> str:
        """What the request waits under."""
        return self._politeness.site_of(request.url)

    def stand(self, site: str, source: Source, request: Request | None = None) -> None:
        """``source`` holds requests for the site, ``request`` among them."""
        self._ensure_open(site, request, source)
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
        """The turn of a robots.txt, for which its gated site waits. The first was had before anybody began to read."""
        grant = self._granted.pop(site, None)
        if grant is not None:
            self._give_back(grant)
            self._enter(site, request, _ROBOTS)
            return
        await self._stand_for_turn(site, request)

    async def opened(self, request: Request) -> None:
        """Wait until the request's site is placed and its robots.txt known. :class:`NotNow` at shutdown."""
        site = self._politeness.site_of(request.url)
        self._ensure_open(site, request)
        while site in self._opening:
            if self._closing:
                raise NotNow("the spider is closing")
            future = self._awaited.get(site)
            if future is None:
                future = self._awaited[site] = asyncio.get_running_loop().create_future()
                self._to_open.appendleft(site)  # Before those that nobody awaits; it stands there twice.
                self._open_more()
            await asyncio.shield(future)

    async def _stand_for_turn(self, site: str, request: Request) -> None:
        if self._closing:
            raise NotNow("the spider is closing")
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(site, deque()).append((future, request))
        self._bench.stand(site, _TURNS, early=True)
        self._soon()
        await future

    # -- opening a site

    def _ensure_open(self, site: str, request: Request | None, source: Source | None = None) -> None:
        """Open a site that is new, or that has another scheme or port whose robots.txt was not read."""
        new = self._bench.add(site)
        if site in self._opening or self._closing:
            return
        if not new and (request is None or self.robots is None or self.robots.knows(request) or disobeys(request)):
            return
        what = source if new and source is not None else request
        assert what is not None
        self._bench.gate(site)
        self._opening[site] = what
        self._to_open.append(site)
        self._open_more()

    def _open_more(self) -> None:
        loop = asyncio.get_running_loop()
        while self._to_open and len(self._tasks) < OPENINGS and not self._closing:
            site = self._to_open.popleft()
            if site in self._opening and site not in self._tasks:
                self._tasks[site] = loop.create_task(self._open_site(site))

    async def _open_site(self, site: str) -> None:
        """Resolve and place; then its robots.txt is to be read, or everything may pass. Where that fails the site opens all the
        same: the handler refuses what may not be reached, and the error goes to the request that it belongs to."""
        gated = False
        try:
            request = self._first_of(site)
            if request is None:
                return  # Nothing waits any more.
            found = await self._politeness.admit(request.url)
            if isinstance(found, (Refused, NoAnswer)):
                return
            await self.placed(site, found[1])
            if self.robots is not None and not disobeys(request) and not self.robots.knows(request):
                gated = True
                # No task waits for the turn: of a hundred thousand sites with one origin most wait for hours.
                self._bench.stand(site, _ROBOTS, early=True)
        except Exception:
            logger.exception("Could not open %s; its requests will meet the same error one by one", site)
        finally:
            del self._tasks[site]
            if not gated:
                self._opened(site)
            self._open_more()
            self._soon()

    async def _read_robots(self, site: str) -> None:
        try:
            request = self._first_of(site)
            if request is not None and self.robots is not None:
                await self.robots.read(request, site)
        except NotNow:
            pass
        except Exception:
            logger.exception("Could not read the robots.txt of %s; its requests will meet the same error one by one", site)
        finally:
            del self._reading[site]
            grant = self._granted.pop(site, None)
            if grant is not None:
                self._give_back(grant)
            self._opened(site)
            self._soon()

    def _first_of(self, site: str) -> Request | None:
        what = self._opening[site]
        return what if isinstance(what, Request) else what.head(site)

    def _opened(self, site: str) -> None:
        self._bench.open(site)
        self._opening.pop(site, None)
        future = self._awaited.pop(site, None)
        if future is not None and not future.done():
            future.set_result(None)

    async def placed(self, site: str, placed: Placed) -> None:
        """The site's keys are known, or have changed; holds of earlier runs and of other processes are learned."""
        config = self._politeness.config
        self._bench.place(site, placed.keys, {key: cap for key in placed.keys if (cap := config.cap_of(key))})
        for key, seconds in (await self._politeness.holds_of(placed.keys)).items():
            self.held(key, seconds)

    # -- what the wire tells

    def booked(self, ticket: Ticket) -> None:
        self._bench.booked(ticket.request, self._lent(ticket.charges), time.monotonic())
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
        for future in self._awaited.values():
            if not future.done():
                future.set_exception(NotNow("the spider is closing"))
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def stop(self) -> None:
        """End what is still being opened: nobody waits for it any more."""
        tasks = [*self._tasks.values(), *self._reading.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

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
        if len(self._bench.loans) > 2 * len(self._crawler.engine.downloader.active) + UNSWEPT:
            self._sweep(now)
        while True:
            choice = self._bench.choose(now)
            if not isinstance(choice, Choice):
                # What is given back only makes somebody due sooner: it is looked for when nobody is.
                if self._sweep(now):
                    continue
                if choice is not None:
                    self._wake_in(choice)
                return None
            if choice.source is not _TURNS and choice.source is not _ROBOTS:
                return choice
            if not self._has_room():
                return None  # The engine asks again when something has left the downloader.
            if choice.source is _TURNS:
                self._serve_turn(choice.site)
            else:
                self._serve_robots(choice.site)

    def _serve_turn(self, site: str) -> None:
        line = self._waiting[site]
        future, request = line.popleft()
        if not future.done():
            self._enter(site, request, _TURNS)
            future.set_result(None)
        if not line:
            del self._waiting[site]
            self._bench.leave(site, _TURNS)

    def _serve_robots(self, site: str) -> None:
        self._bench.leave(site, _ROBOTS)
        grant = self._granted[site] = object()
        keys = self._politeness.keys_of(site)
        charges = self._politeness.charges(site, keys, "robots") if keys is not None else ()
        self._bench.take(site, _ROBOTS, grant, self._lent(charges), time.monotonic())
        self._entered[grant] = time.monotonic()
        self._reading[site] = asyncio.get_running_loop().create_task(self._read_robots(site))

    def _enter(self, site: str, request: Request, source: Hashable) -> None:
        self._take(site, request, source)
        self._entered[request] = time.monotonic()

    def _give_back(self, loan: object) -> None:
        self._entered.pop(loan, None)
        self._bench.left(loan, time.monotonic())

    def _take(self, site: str, request: Request, source: Hashable) -> None:
        self._bench.take(site, source, request, self._lent_to(request, site), time.monotonic())

    def _lent_to(self, request: Request, site: str) -> Mapping[str, float]:
        """Seconds that the request will take of each key. Remembered: it is asked for each request, and is mostly the same."""
        keys = self._politeness.keys_of(site)
        if keys is None:
            return {}
        meta = request.meta
        kind = meta.get("polite_kind") or self._politeness.config.kinds.of(request.url)
        sort = (keys, kind, meta.get("polite_cost"))
        lent = self._lents.get(sort)
        if lent is None:
            if len(self._lents) > LENTS:
                self._lents.clear()
            lent = self._lents[sort] = self._lent(self._politeness.plan(request, site, keys)[1])
        return lent

    def _lent(self, charges: Iterable[Charge]) -> dict[str, float]:
        width = self._politeness.config.width
        return {charge.key: charge.increment(width) / 1e6 for charge in charges}

    def _has_room(self) -> bool:
        engine = self._crawler.engine
        if engine.paused:
            return False
        most = engine.downloader.total_concurrency
        return not most or len(engine.downloader.active) + len(self._entered) < most

    def _sweep(self, now: float) -> bool:
        """Give back what left the downloader without having been sent: a cache answered, a middleware dropped it. Answers
        whether there was any."""
        active = self._crawler.engine.downloader.active
        gone = []
        for loan in self._bench.loans:
            if loan in active:
                self._entered.pop(loan, None)
            elif now - self._entered.get(loan, 0.0) > ENTER_WITHIN:
                gone.append(loan)
        for loan in gone:
            self._give_back(loan)
        if now - self._pruned > PRUNE_EVERY:
            self._pruned = now
            self._lents.clear()  # A Crawl-delay may have come; until then its site's estimates are too short.
            self._bench.prune(now)
        return bool(gone)

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


def disobeys(request: Request) -> bool:
    return bool(request.meta.get("dont_obey_robotstxt"))


def wake_engine(crawler: Crawler) -> None:
    """Make the engine ask its scheduler again in the next iteration. There is no public way; the names are the same in
    Scrapy 2.16 to 2.19, and a test holds them."""
    engine = crawler.engine
    slot = getattr(engine, "_slot", None)
    if slot is not None and slot.closing is None:
        slot.nextcall.schedule()
