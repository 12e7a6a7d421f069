"""The agenda: one per crawler, it decides whose turn it is, for the scheduler's queues and for all that bypasses them.

The scheduler *pulls*: :class:`~scrapy_polite.queue.OriginQueue` asks :meth:`Agenda.turn_of` and answers None while nothing is
due. Images, robots.txt and callers of ``engine.download_async`` are *pushed*: they await :meth:`Agenda.turn` before they enter
the downloader, where waiting would cost a place. A site is not poppable before it was resolved, placed, and its robots.txt
read. The choice itself is :class:`~scrapy_polite.limits.workbench.Workbench`; here are the timer, the futures and the engine.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Final

from scrapy_polite.errors import NotNow
from scrapy_polite.estimates import Estimates
from scrapy_polite.limits.workbench import Choice, Workbench
from scrapy_polite.opening import ROBOTS, Openings

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_polite.limits.gcra import Wait
    from scrapy_polite.limits.plan import Charge
    from scrapy_polite.opening import Robots, Source
    from scrapy_polite.politeness import Placed, Politeness

__all__ = ["Agenda", "wake_engine"]

LEAD: Final = 0.5
"""Seconds before its due time that a request is let go: time for a look-up, a connection and a handshake."""

ENTER_WITHIN: Final = 5.0
"""Seconds in which somebody whose turn has come must have entered the downloader; later the turn is given back."""

PRUNE_EVERY: Final = 60.0

HEARD_WITHIN: Final = 1.0
"""Seconds within which it is learned that a person has ended a hold: shorter ones end by themselves as soon."""

UNSWEPT: Final = 64
"""Requests that have left the downloader and may be counted as in it, as long as somebody is due anyway."""

BYPASSES: Final = "polite_bypasses_scheduler"
"""Request meta of what is fetched past the scheduler. The engine would send a request that a middleware returns for it at once,
so whoever fetches it is told by an exception instead, and awaits its turn again."""

_TURNS: Final = "turns"
"""The source that stands in the workbench for the futures of :meth:`Agenda.turn`."""


class Agenda:
    """See the module. ``robots`` stays None where ROBOTSTXT_OBEY is off."""

    def __init__(self, crawler: Crawler, politeness: Politeness) -> None:
        self._crawler = crawler
        self._politeness = politeness
        self._bench = Workbench(LEAD)
        self._waiting: dict[str, deque[tuple[asyncio.Future[None], Request]]] = {}
        self._entered: dict[Hashable, float] = {}
        self._openings = Openings(self, politeness, self._bench)
        self._granted: dict[str, object] = {}
        """Sites whose robots.txt has its turn, and has not entered the downloader; and the name of the loan."""
        self._estimates = Estimates(politeness)
        self._timer: asyncio.TimerHandle | None = None
        self._inside = 0
        self._pruned = time.monotonic()
        self._closing = False
        self.robots: Robots | None = None
        self.told: dict[str, float] = {}
        """Keys that a hold or another process has moved, and until when: a person may have ended that since."""
        self.on_taken: Callable[[Request], None] | None = None
        """Told of each request that a queue hands out."""
        politeness.agenda = self

    # -- the scheduler's side

    def site(self, request: Request) -> str:
        """What the request waits under."""
        return self._politeness.site_of(request.url)

    def stand(self, site: str, source: Source, request: Request | None = None) -> None:
        """``source`` holds requests for the site, ``request`` among them."""
        self._openings.ensure(site, request, source)
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
        if self.on_taken is not None:
            self.on_taken(request)

    # -- what bypasses the scheduler

    async def turn(self, request: Request) -> None:
        """Wait until the request may enter the downloader, which it must then do at once. :class:`NotNow` at shutdown, and
        from the downloader when it was not served and must await its turn again."""
        request.meta[BYPASSES] = True
        site = self._politeness.site_of(request.url)
        await self.opened(request)
        await self._stand_for_turn(site, request)

    async def robots_turn(self, request: Request, site: str) -> None:
        """The turn of a robots.txt, for which its gated ``site`` waits. The first was had before anybody began to read. A
        request for another site was redirected there: it has its turn there, and need not wait for the rules of that site."""
        at = self._politeness.site_of(request.url)
        if at != site:
            self.give_up_grant(site)
            self._openings.ensure(at, request)
        grant = self._granted.pop(site, None)
        if grant is not None:
            self.give_back(grant)
            self._enter(site, request, ROBOTS)
            return
        await self._stand_for_turn(at, request)

    async def opened(self, request: Request) -> None:
        """Wait until the request's site is placed and its robots.txt known. :class:`NotNow` at shutdown."""
        site = self._politeness.site_of(request.url)
        self._openings.ensure(site, request)
        await self._openings.wait(site)

    async def opened_inside(self, request: Request) -> None:
        """The same for a request that came past the agenda, or too late, and waits inside the downloader. It takes nobody's
        room, and no place at its site: the robots.txt that it waits for needs both."""
        had_turn, site = self.handed_out(request), self._politeness.site_of(request.url)
        self._inside += 1
        self.give_back(request)
        try:
            await self.opened(request)
            if had_turn and self._bench.has_site(site):
                self._take(site, request, None)
        finally:
            self._inside -= 1

    def handed_out(self, request: Request) -> bool:
        """Whether the request had a turn and is in the downloader for it."""
        return self._bench.has_loan(request)

    async def turn_inside(self, request: Request) -> None:
        """As :meth:`turn`, for one that is inside the downloader and has to wait there, as nobody outside knows of turns."""
        self._inside += 1
        try:
            await self._stand_for_turn(self._politeness.site_of(request.url), request)
        finally:
            self._inside -= 1

    @property
    def is_closing(self) -> bool:
        return self._closing

    async def _stand_for_turn(self, site: str, request: Request) -> None:
        if self._closing:
            raise NotNow("the spider is closing")
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(site, deque()).append((future, request))
        self._bench.stand(site, _TURNS, early=True)
        self.soon()
        await future

    # -- what opening a site tells

    async def placed(self, site: str, placed: Placed) -> None:
        """The site's keys are known, or have changed; holds of earlier runs and of other processes are learned."""
        self.limit(site, placed.keys)
        for key, seconds in (await self._politeness.holds_of(placed.keys)).items():
            self.held(key, seconds)

    def limit(self, site: str, keys: tuple[str, ...]) -> None:
        """These limit the site: how many may be in flight, and how much sooner than due where a key has a burst."""
        self._bench.place(site, keys, *self._estimates.limits(site, keys))

    def give_back(self, loan: Hashable) -> None:
        """Who has had a turn does not go after all, or has gone."""
        self._entered.pop(loan, None)
        self._bench.left(loan, time.monotonic())

    def give_up_grant(self, site: str) -> None:
        """The turn of the site's robots.txt, in case that it was not used."""
        grant = self._granted.pop(site, None)
        if grant is not None:
            self.give_back(grant)

    def soon(self) -> None:
        """Somebody may be due."""
        if not self._closing:
            self._wake_in(0.0)

    # -- what the wire tells

    def booked(self, request: Request, charges: Iterable[Charge]) -> None:
        self._entered.pop(request, None)
        self._bench.booked(request, self._estimates.by(charges), time.monotonic())
        self.soon()

    def refunded(self, charges: Iterable[Charge]) -> None:
        """What was charged for these was given back."""
        now = time.monotonic()
        for key, seconds in self._estimates.by(charges).items():
            self._bench.refunded(key, seconds, now)
        self.soon()

    def learn(self, wait: Wait) -> None:
        """Another process or a hold has moved a key."""
        self.held(wait.key, wait.micros / 1e6)

    def held(self, key: str, seconds: float) -> None:
        now = time.monotonic()
        self._bench.learn(key, now + seconds, now)
        if seconds > HEARD_WITHIN:
            self.told[key] = max(now + seconds, self.told.get(key, 0.0))

    def later(self, site: str, seconds: float) -> None:
        """The site is not due for so many seconds, by what this machine lacks: no hold, and nothing of it is in the store."""
        now = time.monotonic()
        self._bench.learn(site, now + seconds, now)

    def sooner(self, key: str, seconds: float) -> None:
        """A person has ended the hold of the key: it is due in so many seconds."""
        now = time.monotonic()
        self.told.pop(key, None)
        self._bench.forgive(key, now)
        self.held(key, seconds)
        self.soon()

    def closing(self) -> None:
        """The spider closes: everybody who waits for a turn is told so."""
        self._closing = True
        for line in self._waiting.values():
            for future, _ in line:
                if not future.done():
                    future.set_exception(NotNow("the spider is closing"))
        self._waiting.clear()
        self._openings.closing()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def stop(self) -> None:
        """End what is still being opened: nobody waits for it any more."""
        await self._openings.stop()

    @property
    def next_due(self) -> float | None:
        """Seconds until somebody who waits may go; None when nobody waits for time alone."""
        choice = self._bench.choose(time.monotonic())
        return 0.0 if isinstance(choice, Choice) else choice

    @property
    def next_site(self) -> tuple[str, float] | None:
        """The site that may go first, and in how many seconds; None when nobody waits for time alone."""
        due, site = self.next_due, self._bench.first()
        return (site, due) if due is not None and site is not None else None

    @property
    def is_opening(self) -> bool:
        """Whether a site is being placed."""
        return self._openings.is_placing

    @property
    def sites_waiting(self) -> int:
        return self._bench.sites

    def waiting_sites(self) -> list[str]:
        """Sites that something waits for."""
        return self._bench.waiting_sites()

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
            choice = self._bench.choose_early(now) if self._is_full() else self._bench.choose(now)
            if not isinstance(choice, Choice):
                # What is given back only makes somebody due sooner: it is looked for when nobody is.
                if self._sweep(now):
                    continue
                if choice is not None:
                    self._wake_in(choice)
                return None
            if choice.source is not _TURNS and choice.source is not ROBOTS:
                if self._openings.again(choice.site, choice.source):
                    continue
                return choice
            if not self._has_room():
                self._sweep(now)
                if not self._has_room():
                    # The engine asks again when something has left the downloader; but not for what never entered it.
                    self._wake_in(ENTER_WITHIN)
                    return None
            if choice.source is _TURNS:
                self._serve_turn(choice.site)
            else:
                self._serve_robots(choice.site)

    def _serve_turn(self, site: str) -> None:
        line = self._waiting[site]
        future, request = line[0]
        if not future.done():
            self._enter(site, request, _TURNS)
            future.set_result(None)
        line.popleft()
        if not line:
            del self._waiting[site]
            self._bench.leave(site, _TURNS)

    def _serve_robots(self, site: str) -> None:
        self._bench.leave(site, ROBOTS)
        grant = self._granted[site] = object()
        keys = self._politeness.keys_of(site)
        charges = self._politeness.planner.charges(site, keys, "robots") if keys is not None else ()
        self._bench.take(site, ROBOTS, grant, self._estimates.by(charges), time.monotonic())
        self._entered[grant] = time.monotonic()
        self._openings.read_robots(site)

    def _enter(self, site: str, request: Request, source: Hashable) -> None:
        self._take(site, request, source)
        self._entered[request] = time.monotonic()

    def _take(self, site: str, request: Request, source: Hashable) -> None:
        self._bench.take(site, source, request, self._estimates.of(request, site), time.monotonic())

    def _is_full(self) -> bool:
        """Whether the engine takes nothing from the scheduler before pages have left the scraper, which may wait for images."""
        slot = self._crawler.engine.scraper.slot
        return slot is not None and slot.needs_backout()

    def _has_room(self) -> bool:
        engine = self._crawler.engine
        if engine.paused:
            return False
        most = engine.downloader.total_concurrency
        return not most or len(engine.downloader.active) - self._inside + len(self._entered) < most

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
            self.give_back(loan)
        if now - self._pruned > PRUNE_EVERY:
            self._pruned = now
            self._estimates.forget()
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

    def _wake(self) -> None:
        self._timer = None
        if not self._closing and self._choose() is not None:
            wake_engine(self._crawler)
            if self._waiting:
                self._wake_in(ENTER_WITHIN)  # The engine may have become full, and not ask.


def wake_engine(crawler: Crawler) -> None:
    """Make the engine ask its scheduler again in the next iteration. There is no public way; the names are the same in
    Scrapy 2.16 to 2.19, and a test holds them."""
    engine = crawler.engine
    slot = getattr(engine, "_slot", None)
    if slot is not None and slot.closing is None:
        slot.nextcall.schedule()
