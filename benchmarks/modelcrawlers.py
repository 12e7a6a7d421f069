"""Crawlers in virtual time, for benchmarks/pace.py: ours, by its own law, limiter, runs of failures and ladders; and Scrapy's.

None of them ever runs out of requests, unless it is told to rest.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.modelservers import MICRO
from scrapy_polite.backoff import pace as law
from scrapy_polite.backoff.ladders import DEFAULT_RUNGS, Run
from scrapy_polite.backoff.refusals import recognise
from scrapy_polite.backoff.spread import wait_for
from scrapy_polite.limits.gcra import Demand, Row, Wait, take

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.modelservers import Answers

TIMEOUT = 30.0
"""Seconds."""


@dataclass
class Trace:
    """What a crawl did: (time, status) of every request, (time, pace) of every booking, (from, until) of every hold."""

    sent: list[tuple[float, int]] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    paces: list[tuple[float, float]] = field(default_factory=list)
    holds: list[tuple[float, float]] = field(default_factory=list)
    states: dict[str, law.State] = field(default_factory=dict)


class Clock:
    """Virtual time, from event to event."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def at(self, time: float, function: Callable[[], None]) -> None:
        heapq.heappush(self._events, (max(time, self.now), next(self._order), function))

    def run(self, until: float) -> None:
        while self._events and self._events[0][0] < until:
            self.now, _, function = heapq.heappop(self._events)
            function()


def always(_: float) -> bool:
    return True


def pages(_: float, __: random.Random) -> str:
    return "page"


class Ours:
    """One origin at `rate` requests a second: the limiter books, the law stretches what is booked.

    Args:
        paced: whether the law is on.
        holds: whether refusals hold the key. `walls`: whether a hold is told to the law.
        late: how long after it was heard an observation is written into the row (seconds): other processes' share.
    """

    def __init__(
        self,
        server: Answers,
        rate: float,
        *,
        kind: Callable[[float, random.Random], str] = pages,
        awake: Callable[[float], bool] = always,
        paced: bool = True,
        holds: bool = False,
        walls: bool = True,
        late: float = 0.0,
        seed: int = 1,
    ) -> None:
        self.clock, self.trace = Clock(), Trace()
        self._server, self._rate, self._kind, self._awake = server, rate, kind, awake
        self._paced, self._holds, self._walls, self._late = paced, holds, walls, late
        self._draw = random.Random(seed)
        self._row = Row(0, 0)
        self._run, self._steps = Run(), 0
        self._jitter = random.Random(self._draw.random())

    def crawl(self, seconds: float) -> Trace:
        self.clock.at(0.0, self._turn)
        self.clock.run(seconds)
        return self.trace

    def _state(self, kind: str) -> law.State:
        return self.trace.states.setdefault(kind, law.first(self._rate))

    def _turn(self) -> None:
        now = self.clock.now
        if not self._awake(now):
            self.clock.at(now + 1.0, self._turn)
            return
        kind = self._kind(now, self._draw)
        pace = law.pace(self._state(kind), self._rate) if self._paced else 1.0
        booked = take(Demand("origin", round(MICRO / self._rate * pace), 0), self._row, round(now * MICRO), 0)
        if isinstance(booked, Wait):
            self.clock.at(now + booked.micros / MICRO, self._turn)
            return
        self.trace.paces.append((now, pace))
        self._send(kind)
        self.clock.at(self._row.due / MICRO, self._turn)

    def _send(self, kind: str) -> None:
        now = self.clock.now
        status, heard = self._server.ask(now, kind)
        self.trace.sent.append((now, status))
        self.trace.kinds.append(kind)
        self.trace.latencies.append(heard - now)
        outcome = law.outcome_of(status)
        if heard > now + TIMEOUT:
            heard, outcome = now + TIMEOUT, "timeout"
        self.clock.at(heard, lambda: self._heard(kind, now, status, outcome))
        patience = law.late_after(self._state(kind))
        if patience is not None and now + patience < heard:
            self.clock.at(now + patience, lambda: self._observe(kind, "late", now))

    def _heard(self, kind: str, started: float, status: int, outcome: law.Outcome | None) -> None:
        if outcome is not None:
            self._observe(kind, outcome, started)
        if self._holds:
            self._listen(started, status)

    def _observe(self, kind: str, outcome: law.Outcome, started: float) -> None:
        now = self.clock.now

        def write() -> None:
            states = self.trace.states
            states[kind] = law.observe(self._state(kind), outcome, now - started, started, now, self._rate)

        if self._late:
            self.clock.at(now + self._late * self._draw.random(), write)
        else:
            write()

    def _listen(self, started: float, status: int) -> None:
        now, until = self.clock.now, self._row.hold / MICRO
        refusal = recognise(status, {})
        self._run = self._run.heard(refusal is not None and refusal.run)
        if refusal is None:
            self._steps = 0 if started >= until else self._steps
        elif (self._run.broken or not refusal.run) and started >= until:
            rungs = DEFAULT_RUNGS[refusal.kind]
            wait = wait_for(rungs[min(self._steps, len(rungs) - 1)], None, 0, self._jitter.random())
            self._steps += 1
            self._row.hold = round((now + wait) * MICRO)
            self.trace.holds.append((now, now + wait))
            if self._walls:
                for kind, state in self.trace.states.items():
                    self.trace.states[kind] = law.held(state, self._rate)


class Throttle:
    """AutoThrottle, as scrapy/extensions/throttle.py has it: the delay of one site, moved by every answer."""

    START, MOST = 5.0, 60.0
    """AUTOTHROTTLE_START_DELAY, AUTOTHROTTLE_MAX_DELAY."""
    CONCURRENCY = 1.0
    """AUTOTHROTTLE_TARGET_CONCURRENCY."""

    def __init__(self) -> None:
        self.delay = self.START

    def heard(self, latency: float, status: int) -> None:
        target = latency / self.CONCURRENCY
        delay = min(max(target, (self.delay + target) / 2), self.MOST)
        if status == 200 or delay > self.delay:
            self.delay = delay


class Scrapy:
    """Scrapy's downloader: 8 requests in flight a site (CONCURRENT_REQUESTS_PER_DOMAIN) and 16 in all.

    `throttled`: with AutoThrottle. The delay is drawn from half to one and a half (RANDOMIZE_DOWNLOAD_DELAY).
    """

    A_SITE, IN_ALL = 8, 16
    TURN = 0.0005
    """Seconds between an answer and the next request in its place."""
    AutoThrottle = Throttle

    def __init__(self, server: Answers, sites: int, *, throttled: bool, seed: int = 1) -> None:
        self.clock, self.trace = Clock(), Trace()
        self._server, self._draw = server, random.Random(seed)
        self._throttles = [Throttle() for _ in range(sites)] if throttled else None
        self._flying, self._in_all = [0] * sites, 0
        self._free_at = [0.0] * sites
        self._blocked: deque[int] = deque()

    def crawl(self, seconds: float) -> Trace:
        for site in range(len(self._flying)):
            for _ in range(1 if self._throttles else self.A_SITE):
                self._blocked.append(site)
        self._blocked = deque(sorted(self._blocked, key=lambda _: self._draw.random()))
        self._fill()
        self.clock.run(seconds)
        return self.trace

    def _fill(self) -> None:
        while self._blocked and self._in_all < self.IN_ALL:
            self._send(self._blocked.popleft())

    def _send(self, site: int) -> None:
        now = self.clock.now
        status, heard = self._server.ask(now, "page")
        self.trace.sent.append((now, status))
        self._flying[site] += 1
        self._in_all += 1
        self.clock.at(heard, lambda: self._heard(site, now, status))
        if self._throttles:
            # The next one of the site, one delay after this one; if eight are in flight by then, after one of them.
            delay = self._throttles[site].delay * self._draw.uniform(0.5, 1.5)
            self._free_at[site] = now + delay
            self.clock.at(now + delay, lambda: self._due(site))

    def _due(self, site: int) -> None:
        if self._flying[site] < self.A_SITE:
            self._free_at[site] = 0.0
            self._blocked.append(site)
            self._fill()

    def _heard(self, site: int, started: float, status: int) -> None:
        full = self._flying[site] >= self.A_SITE
        self._flying[site] -= 1
        self._in_all -= 1
        if self._throttles:
            self._throttles[site].heard(self.clock.now - started, status)
            if full and self._free_at[site] <= self.clock.now:
                self._blocked.append(site)
        else:
            self._blocked.append(site)
        self.clock.at(self.clock.now + self.TURN, self._fill)
