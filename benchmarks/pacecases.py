"""The servers that benchmarks/pace.py sends crawlers to, and what it measures of a crawl."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.modelcrawlers import Ours, Trace, always, pages
from benchmarks.modelservers import (
    Answers,
    Server,
    Shared,
    between,
    by_kind,
    exponential,
    gamma,
    lognormal,
    pareto,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

REFUSED = (429, 503)
WINDOW = 10.0
"""Seconds over which a rate is taken."""


@dataclass(frozen=True)
class Case:
    """A server, and what a crawler asks of it. `make`: the server, by a seed. Times are seconds."""

    name: str
    make: Callable[[int], Answers]
    rate: float
    """Requests a second that the crawler may send."""
    seconds: float = 900
    settled: float = 300
    """From then on its rate is measured."""
    trouble: tuple[float, float] | None = None
    """From, until."""
    window: float = WINDOW
    """Over which its rate is taken; not below 20 of its answers."""
    kind: Callable[[float, random.Random], str] = pages
    awake: Callable[[float], bool] = always

    def ours(self, seed: int, **more: bool | float) -> Trace:
        return Ours(self.make(seed), self.rate, kind=self.kind, awake=self.awake, seed=seed, **more).crawl(self.seconds)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------------- servers

ASKED_FOR_MORE = [
    Case("4 workers of 0.2 s, 20 may wait", lambda seed: Server(gamma(0.2), seed=seed), 40),
    Case("the same, twice as much", lambda seed: Server(gamma(0.2), seed=seed), 80),
    Case("M/M/1, 50 ms, 40 may wait", lambda seed: Server(exponential(0.05), 1, 40, seed=seed), 40),
    Case("log-normal, sigma 1.5, 40 may wait", lambda seed: Server(lognormal(0.2, 1.5), 4, 40, seed=seed), 40),
    Case(
        "half of it taken by other visitors",
        lambda seed: Server(gamma(0.2), visitors=lambda _: 10.0, seed=seed),
        40,
    ),
    Case("2 s a page, 20 may wait", lambda seed: Server(gamma(2.0), seed=seed), 4, 2_400, 900, window=40),
]
"""Each can serve 20 requests a second, the last one 2."""

NOT_BUSY = [
    Case("slow by nature: 2 s a page", lambda seed: Server(gamma(2.0), 8, seed=seed), 1, 1_800, 300),
    Case("log-normal, sigma 1.5, a third busy", lambda seed: Server(lognormal(0.2, 1.5), 4, seed=seed), 6, 1_800, 300),
    Case("Pareto, alpha 1.5, a tenth busy", lambda seed: Server(pareto(0.2, 1.5), 4, seed=seed), 2, 1_800, 300),
    Case("M/M/1, a third busy", lambda seed: Server(exponential(0.05), 1, seed=seed), 6, 1_800, 300),
    Case(
        "30 % of the answers are 500s",
        lambda seed: Server(gamma(0.2), errors=0.3, seed=seed),
        8,
        1_800,
        300,
    ),
    Case(
        "a cold cache: 5 times slower, over in a minute",
        lambda seed: Server(gamma(0.2), slowness=lambda now: 1 + 4 * math.exp(-now / 60), seed=seed),
        3,
        1_800,
        600,
    ),
    Case(
        "a deploy after 10 minutes: 3 times slower for good",
        lambda seed: Server(gamma(0.2), slowness=between(600, math.inf, 3), seed=seed),
        3,
        3_600,
        2_400,
    ),
    Case(
        "a request in 10 s, 8 times slower for an hour",
        lambda seed: Server(gamma(0.2), 1, slowness=between(3_600, 7_200, 8), seed=seed),
        0.1,
        14_400,
        8_000,
        window=200,
    ),
]
"""None of them is loaded by what is asked of it, so all of the rate ought to be kept."""


def half_busy(waiting: int, factor: float = 2, errors: float = 0.0, until: float = 600, workers: int = 4) -> Case:
    """Asked for 80 % of what it can; after five minutes every answer takes `factor` times as long."""
    return Case(
        f"{factor:g} times slower for {until - 300:g} s, {waiting} may wait",
        lambda seed: Server(gamma(0.05 * workers), workers, waiting, between(300, until, factor), errors=errors, seed=seed),
        16,
        until + 300,
        60,
        (300, until),
    )


SMALL = Case(
    "2 workers of 0.1 s, 12 may wait, twice as slow for 5 min",
    lambda seed: Server(gamma(0.1), 2, 12, between(300, 600, 2), seed=seed),
    16,
    900,
    60,
    (300, 600),
)
"""Fewer places than stock Scrapy has requests in flight, and one that slows down before it refuses: the picture's."""

LOST = Case(
    "half of the workers lost for 5 min, 20 may wait",
    lambda seed: Server(gamma(0.2), 4, 20, outages=((300, 600, 2),), seed=seed),
    16,
    900,
    60,
    (300, 600),
)

BESIDE_SCRAPY = [
    Case("4 workers of 0.2 s, 20 may wait", lambda seed: Server(gamma(0.2), 4, 20, seed=seed), 40),
    Case("8 may wait", lambda seed: Server(gamma(0.2), 4, 8, seed=seed), 40),
    Case("4 may wait", lambda seed: Server(gamma(0.2), 4, 4, seed=seed), 40),
    SMALL,
    Case("M/M/1, 50 ms, 8 may wait", lambda seed: Server(exponential(0.05), 1, 8, seed=seed), 40),
    Case("8 workers of 0.2 s, none may wait", lambda seed: Server(gamma(0.2), 8, 0, seed=seed), 80),
    Case("a limiter: 5/s, burst 10", lambda seed: Server(gamma(0.2), 4, 20, limit=(5, 10), seed=seed), 20),
]

REFUSING = [
    Case("a limiter: 5/s, burst 10", lambda seed: Server(gamma(0.2), 4, 20, limit=(5, 10), seed=seed), 20, 7_200),
    Case("4 workers of 0.2 s, 4 may wait", lambda seed: Server(gamma(0.2), 4, 4, seed=seed), 40, 7_200),
    Case("8 may wait", lambda seed: Server(gamma(0.2), 4, 8, seed=seed), 40, 7_200),
]


def in_phases(now: float, draw: random.Random) -> str:
    """Five minutes mostly pages, five minutes mostly searches."""
    return "search" if draw.random() < (0.1 if int(now / 300) % 2 else 0.7) else "page"


def a_fifth_searches(_: float, draw: random.Random) -> str:
    return "search" if draw.random() < 0.2 else "page"


KINDS = Case(
    "pages of 0.1 s and searches of 0.8 s, in changing shares",
    lambda seed: Server(by_kind({"page": 0.1, "search": 0.8}), 8, seed=seed),
    5,
    3_600,
    600,
    kind=in_phases,
)

SEARCH_SLOW = Case(
    "only the searches' backend 6 times slower for 10 min",
    lambda seed: Shared(
        {
            "page": Server(gamma(0.1), 8, seed=seed),
            "search": Server(gamma(0.8), 4, 20, between(600, 1_200, 6), seed=seed + 100),
        }
    ),
    10,
    1_800,
    300,
    (600, 1_200),
    kind=a_fifth_searches,
)

RESTING = Case(
    "ten minutes without requests, then twice what it can",
    lambda seed: Server(gamma(0.2), seed=seed),
    40,
    1_500,
    1_200,
    awake=lambda now: not 300 <= now < 900,
)

CHANCE_503 = Case(
    "5 % chance 503s, without Retry-After",
    lambda seed: Server(gamma(0.2), errors=0.05, error=503, seed=seed),
    2,
    3_600,
    300,
)

STALL = Case(
    "stands still for 5 s, 20 may wait",
    lambda seed: Server(gamma(0.2), 4, 20, stalls=((300, 305),), seed=seed),
    16,
    600,
    60,
    (300, 305),
)

# ------------------------------------------------------------------------------------------------------------ measures


def refused(trace: Trace, since: float = 0.0, until: float = math.inf) -> int:
    return sum(status in REFUSED for at, status in trace.sent if since <= at < until)


def served(trace: Trace, since: float, until: float) -> float:
    """Answers a second that were no refusals."""
    return sum(status not in REFUSED for at, status in trace.sent if since <= at < until) / (until - since)


def rates(trace: Trace, since: float, until: float, window: float = WINDOW) -> list[float]:
    """Requests a second, window by window."""
    counts = [0] * int((until - since) / window)
    for at, _ in trace.sent:
        place = int((at - since) / window)
        if at >= since and place < len(counts):
            counts[place] += 1
    return [count / window for count in counts]


def swing(trace: Trace, since: float, until: float, window: float = WINDOW) -> float:
    """Half of the way from the 5th to the 95th percentile of the rate in a window, over its mean."""
    found = sorted(rates(trace, since, until, window))
    low, high = (found[int(len(found) * part)] for part in (0.05, 0.95))
    return (high - low) / 2 / (sum(found) / len(found))


@dataclass(frozen=True)
class Course:
    """How a crawl met a trouble: seconds from its start to half the rate and to the first refusal, from its end to 90 %."""

    halved: float | None
    first_refused: float | None
    before_halved: int
    refused: int
    back: float | None

    @property
    def in_time(self) -> bool:
        """The rate was at half before anything was refused."""
        return self.halved is not None and (self.first_refused is None or self.halved < self.first_refused)


def course(case: Case, trace: Trace) -> Course:
    """By the pace of every booking, against its mean over the minute before the trouble."""
    assert case.trouble is not None
    start, end = case.trouble
    before = [pace for at, pace in trace.paces if start - 60 <= at < start]
    usual = sum(before) / len(before)
    halved = next((at for at, pace in trace.paces if at >= start and pace >= 2 * usual), None)
    first = next((at for at, status in trace.sent if at >= start and status in REFUSED), None)
    back = next((at for at, pace in trace.paces if at >= end and pace <= usual / 0.9), None)
    return Course(
        None if halved is None else halved - start,
        None if first is None else first - start,
        refused(trace, start, math.inf if halved is None else halved),
        refused(trace, start),
        None if back is None else back - end,
    )


def sustainable(case: Case, seconds: float = 600, seed: int = 1) -> float:
    """The best constant rate: under 0.1 % refused, and mean ln latency at most ln 2 over that at a tenth of the load."""

    def run(rate: float) -> tuple[float, float]:
        trace = Ours(case.make(seed), rate, paced=False, seed=seed).crawl(seconds)
        return refused(trace) / len(trace.sent), sum(map(math.log, trace.latencies)) / len(trace.latencies)

    low, high = case.rate / 40, case.rate
    usual = run(low * 2)[1]

    def too_much(rate: float) -> bool:
        share, latency = run(rate)
        return share >= 0.001 or latency > usual + math.log(2)

    candidates = [low * math.exp(math.log(high / low) * step / 1_000) for step in range(1_001)]
    # Sorted by whether they are too much: no, then yes.
    return candidates[bisect_left(candidates, True, key=too_much) - 1]
