"""Model servers in virtual time, for benchmarks/pace.py: how long an answer takes, and when one is refused.

A server is a queue in front of workers: a request that finds all workers busy waits for one, in the order of arrival, and
one that finds all waiting places taken is refused at once with 503. What can happen to it besides: it becomes slower, loses
workers, stands still, has other visitors, answers some requests with a chance error, or has a limiter in front.
"""

from __future__ import annotations

import math
import random
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from town.knee import AT_ONCE, Line

from scrapy_polite.limits.gcra import Booked, Demand, Row, take

if TYPE_CHECKING:
    from collections.abc import Callable

MICRO = 1_000_000
TRIP = 0.02
"""Seconds of a round trip."""


class Answers(Protocol):
    """What a crawler knows of a server."""

    def ask(self, now: float, kind: str) -> tuple[int, float]:
        """The status of the answer to a request that is sent now, and when its first byte is there. In order of time."""


@dataclass
class Server:
    """`waiting`: places in the queue. Times are seconds of the virtual clock, which begins at 0."""

    service: Callable[[random.Random, str], float]
    workers: int = 4
    waiting: int = 20
    slowness: Callable[[float], float] = lambda _: 1.0
    """By what the work of a request that begins now is multiplied."""
    outages: tuple[tuple[float, float, int], ...] = ()
    """From, until, workers that are missing."""
    stalls: tuple[tuple[float, float], ...] = ()
    """From, until: nothing goes on."""
    visitors: Callable[[float], float] | None = None
    """Requests a second of other people, who come as they like."""
    errors: float = 0.0
    """The part of the answers that is a chance error."""
    error: int = 500
    """Its status."""
    limit: tuple[float, float] | None = None
    """Requests a second and burst, beyond which 429 is answered, without any sign before."""
    seed: int = 1
    others_refused: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._draw = random.Random(self.seed * 7919 + 13)
        self._line = Line(self.workers, self.waiting)
        self._next_visitor = 0.0 if self.visitors else math.inf
        self._limiter = Row(0, 0)
        self._outages = deque(self.outages)

    def ask(self, now: float, kind: str) -> tuple[int, float]:
        self._visit(now)
        if self.limit is not None:
            rate, burst = self.limit
            demand = Demand("", round(MICRO / rate), round(MICRO * burst / rate))
            if not isinstance(take(demand, self._limiter, round(now * MICRO), 0), Booked):
                return 429, now + TRIP + AT_ONCE
        ready = self._accept(now + TRIP / 2, kind)
        if ready is None:
            return 503, now + TRIP + AT_ONCE
        failed = self.errors and self._draw.random() < self.errors
        return self.error if failed else 200, ready + TRIP / 2

    def _visit(self, now: float) -> None:
        while self.visitors is not None and self._next_visitor <= now:
            came = self._next_visitor
            rate = self.visitors(came)
            if rate > 0 and self._accept(came, "page") is None:
                self.others_refused += 1
            self._next_visitor = came + (self._draw.expovariate(rate) if rate > 0 else 1.0)

    def _accept(self, now: float, kind: str) -> float | None:
        """When the answer to a request that arrives now is ready; None: it is refused."""
        while self._outages and self._outages[0][0] <= now:
            _, until, missing = self._outages.popleft()
            self._line.lose(missing, until)

        def done(begin: float) -> float:
            end = begin + self.service(self._draw, kind) * self.slowness(begin)
            for since, until in self.stalls:
                if begin < until and since < end:
                    end += until - max(begin, since)
            return end

        return self._line.take(now, done)


@dataclass
class Shared:
    """One front, and a backend of its own for each kind of page."""

    backends: dict[str, Server]

    def ask(self, now: float, kind: str) -> tuple[int, float]:
        return self.backends[kind].ask(now, kind)


def gamma(mean: float, variation: float = 0.3) -> Callable[[random.Random, str], float]:
    """Seconds that scatter by `variation` (the deviation over the mean)."""
    shape = 1 / variation**2
    return lambda draw, _: draw.gammavariate(shape, mean / shape)


def by_kind(means: dict[str, float], variation: float = 0.3) -> Callable[[random.Random, str], float]:
    shape = 1 / variation**2
    return lambda draw, kind: draw.gammavariate(shape, means[kind] / shape)


def exponential(mean: float) -> Callable[[random.Random, str], float]:
    return lambda draw, _: draw.expovariate(1 / mean)


def lognormal(mean: float, sigma: float) -> Callable[[random.Random, str], float]:
    mu = math.log(mean) - sigma**2 / 2
    return lambda draw, _: draw.lognormvariate(mu, sigma)


def pareto(mean: float, alpha: float) -> Callable[[random.Random, str], float]:
    least = mean * (alpha - 1) / alpha
    return lambda draw, _: min(60.0, least * draw.paretovariate(alpha))


def between(start: float, end: float, factor: float) -> Callable[[float], float]:
    """`factor` from start to end, 1 before and after."""
    return lambda now: factor if start <= now < end else 1.0
