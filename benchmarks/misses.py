"""What an edge lets through to its origin, in virtual time: at any hit rate, and when it falls.

    python -m benchmarks.misses [--short] [--json FILE] [--rates 1 2 5 10 20] [--in-flight 8 32] [--cost 1]

GCRA, plans, the store's rows and the line at the wire are the package's own, on a clock that jumps from event to event.
Modelled are the edge (a hit after 30 ms, a miss after 300 ms, times 0.7 to 1.6) and a crawler that always has something to
send, to as many requests in flight as are given. R is the rate of the origin, 10 R that of the edge; a request costs one unit.

worst 10 s    units that came to the origin in its fullest half-open ten seconds, of R * 10
possible      requests that were answered, of what could be: min(10 R, R / (1 - hit rate)), and in flight / mean latency where
              that is less

The rules: *refund*, the package's: the whole cost is charged ahead to the miss budget, and a hit gives it back. *expected
share*: with the same rate and burst, cost * share of misses is charged, by an exponentially weighted average over about forty
answers, and nothing is given back. *no charge*: only the edge has a limit.
"""

from __future__ import annotations

import heapq
import itertools
import random
import sys
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from benchmarks.reporting import Aim, Report, arguments
from scrapy_polite.limits.plan import MISS_BURST, MISS_RATE, Charge, Limits, plan
from scrapy_polite.line import Line
from scrapy_polite.origins.missshare import MissShares
from scrapy_polite.stores.memory import MemoryStore

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable

    from scrapy_polite.limits.gcra import Booked, Wait, Want

WIDTH: Final = 50_000
"""Microseconds: POLITE_SLOT_WIDTH."""
START: Final = 1_000.0
"""Seconds on the virtual clock as it begins: a row that was never seen is due at 0."""
HIT, MISS, SPREAD = 0.03, 0.3, (0.7, 1.6)
EDGE: Final = 10
KEYS: Final = ("site:a.test", "edge:bunny/a.test", "origin:a.test")
VANISH: Final = 300.0

PROFILES: Final[dict[str, Callable[[float], float]]] = {
    "0": lambda _: 0.0,
    ".5": lambda _: 0.5,
    ".9": lambda _: 0.9,
    ".99": lambda _: 0.99,
    ".99 -> 0 each 60 s": lambda at: 0.99 if at % 120 < 60 else 0.0,
    ".9 -> 0 each 30 s": lambda at: 0.9 if at % 60 < 30 else 0.0,
    "purge, 5 s each 60": lambda at: 0.99 if at % 60 < 55 else 0.0,
    "headers vanish": lambda at: 0.9 if at < VANISH else 0.0,
}
"""The hit rate after so many seconds. Where the headers vanish the cache does, too: nothing is said from then on."""
STEADY: Final = ("0", ".5", ".9", ".99")
RULES: Final = ("refund", "expected share", "no charge")


class Clock:
    """Virtual time, and the place of a line."""

    def __init__(self) -> None:
        self.now = START
        self.store = MemoryStore(lambda: round(self.now * 1e6))
        self._events: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()

    def run(self, until: float) -> None:
        while self._events and self._events[0][0] < until:
            self.now, _, timer = heapq.heappop(self._events)
            if timer.function is not None:
                timer.function()
        self.now = until

    def later(self, seconds: float, function: Callable[[], None]) -> Timer:
        timer = Timer(function)
        heapq.heappush(self._events, (self.now + max(0.0, seconds), next(self._order), timer))
        return timer

    def clock(self) -> float:
        return self.now

    def book(self, want: Want, answered: Callable[[Booked | Wait], None]) -> None:
        answered(self.store.book([want])[0])

    def is_reactor(self) -> bool:
        return True

    def in_reactor(self, function: Callable[[], None]) -> None:
        function()


class Timer:
    def __init__(self, function: Callable[[], None]) -> None:
        self.function: Callable[[], None] | None = function

    def cancel(self) -> None:
        self.function = None


class Crawler:
    """So many requests at once, each of which stands in line again as soon as it is answered."""

    def __init__(self, rule: str, rate: float, cost: float, profile: str, in_flight: int, seed: int) -> None:
        self.rule, self.rate, self.cost = rule, rate, cost
        self.hit_rate = PROFILES[profile]
        self.silent_from = VANISH if profile == "headers vanish" else None
        self.world = Clock()
        self.dice = random.Random(seed)
        self.line = Line(KEYS[-1], self.world, WIDTH / 1e6)
        self.charges = plan(KEYS, cost, Limits(site=rate, origin=rate, edge=EDGE * rate))
        self.shares = MissShares()
        self.answered = 0
        self.arrivals: list[float] = []
        for _ in range(in_flight):
            self.world.later(self.dice.random() / 100, partial(self.line.join, Standing(self)))

    def planned(self) -> tuple[Charge, ...]:
        if self.rule == "refund":
            return self.charges
        edge = self.charges[1]
        if self.rule == "no charge":
            return (edge,)
        share = self.shares.of(edge.key)
        expected = max(0.01, self.cost * (1.0 if share is None else share))
        return (edge, Charge(KEYS[-1], expected, MISS_RATE * self.rate, MISS_BURST * self.rate))

    def sent(self, charges: tuple[Charge, ...], entry: Standing) -> None:
        at = self.world.now
        hit = self.dice.random() < self.hit_rate(at - START)
        if not hit:
            self.arrivals.append(at)
        latency = (HIT if hit else MISS) * self.dice.uniform(*SPREAD)
        self.world.later(latency, partial(self.heard, charges, hit, entry))

    def heard(self, charges: tuple[Charge, ...], hit: bool, entry: Standing) -> None:
        self.answered += 1
        if self.silent_from is not None and self.world.now - START >= self.silent_from:
            hit = False
        self.shares.heard(KEYS[1], hit)
        given = [charge for charge in charges if charge.refundable] if hit else []
        for charge in given:
            self.world.store.settle(charge.key, -charge.increment(WIDTH))
        if given:
            self.line.wake([charge.key for charge in given])
        entry.plan()
        self.line.join(entry)


class Standing:
    """A request at the wire."""

    sealed = True

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.plan()

    def plan(self) -> None:
        self._charges = self._crawler.planned()
        self.want: Want = tuple(charge.demand(WIDTH) for charge in self._charges)

    def seal(self) -> None:
        pass

    def ready(self) -> bool:
        return True

    def go(self, slot: Booked) -> None:
        self._crawler.sent(self._charges, self)

    def gives_up(self, wait: Wait) -> bool:
        return False

    def lost(self, slot: Booked) -> None:
        raise AssertionError("a local store's slot is now")


@dataclass(frozen=True)
class Figure:
    rule: str
    rate: float
    cost: float
    in_flight: int
    profile: str
    worst_10s: float
    of_possible: float
    requests_per_s: float
    misses_per_s: float


def worst(arrivals: Iterable[float], seconds: float = 10.0) -> int:
    """The most of them in [t, t + seconds)."""
    most, inside = 0, list[float]()
    first = 0
    for at in arrivals:
        inside.append(at)
        while at - inside[first] >= seconds:
            first += 1
        most = max(most, len(inside) - first)
    return most


def possible(figure: Crawler, in_flight: int, seconds: int) -> float:
    """Requests that could have been answered."""
    mean = sum(SPREAD) / 2
    total = 0.0
    for second in range(seconds):
        hits = figure.hit_rate(second)
        limits = [EDGE * figure.rate / figure.cost, in_flight / (mean * (HIT * hits + MISS * (1 - hits)))]
        total += min(*limits, figure.rate / figure.cost / (1 - hits))
    return total


def measure(rule: str, rate: float, cost: float, in_flight: int, profile: str, seconds: int, seed: int) -> Figure:
    crawler = Crawler(rule, rate, cost, profile, in_flight, seed)
    crawler.world.run(START + seconds)
    return Figure(
        rule,
        rate,
        cost,
        in_flight,
        profile,
        round(worst(crawler.arrivals) * cost / (rate * 10), 3),
        round(crawler.answered / possible(crawler, in_flight, seconds), 3),
        round(crawler.answered / seconds, 2),
        round(len(crawler.arrivals) / seconds, 2),
    )


def aims(found: list[Figure]) -> list[Aim]:
    ours = [figure for figure in found if figure.rule == "refund"]
    judged = [figure for figure in ours if figure.rate >= 2]
    most = max((figure.worst_10s for figure in judged), default=0.0)
    least = min((figure.of_possible for figure in judged), default=0.0)
    rises = True
    for rate, in_flight in itertools.product({figure.rate for figure in ours}, {figure.in_flight for figure in ours}):
        steady = {f.profile: f.requests_per_s for f in ours if (f.rate, f.in_flight) == (rate, in_flight)}
        rising = [steady[profile] for profile in STEADY if profile in steady]
        rises = rises and rising == sorted(rising)
    return [
        Aim("worst 10 s at the origin, R >= 2", "<= 1.05", f"{most:.3f}", most <= 1.05),
        Aim("requests of the possible, R >= 2", ">= 0.75", f"{least:.3f}", least >= 0.75),
        Aim("requests rise with the hit rate", "always", "always" if rises else "not always", rises),
    ]


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--rates", type=float, nargs="+", default=[1, 2, 5, 10, 20])
    parser.add_argument("--in-flight", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--cost", type=float, default=1)
    parser.add_argument("--seconds", type=int, default=480)
    parser.add_argument("--seeds", type=int, default=2, help="runs of each cell: the worst of them counts")
    options = parser.parse_args()
    report = Report("misses", options)
    found = list(figures(options))
    names = list(dict.fromkeys(figure.profile for figure in found))
    rows = []
    for (rule, rate, in_flight), cells in itertools.groupby(found, lambda f: (f.rule, f.rate, f.in_flight)):
        by_name = {cell.profile: cell for cell in cells}
        rows.append([rule, f"{rate:g}", in_flight, *(_cell(by_name.get(name)) for name in names)])
    report.table(["rule", "R", "in flight", *names], rows)
    report.finish({"figures": [asdict(figure) for figure in found]}, aims(found))
    return 0


def figures(options: argparse.Namespace) -> Iterable[Figure]:
    """Ours for all rates, the others beside it for one."""
    rates, in_flight, seconds, seeds = options.rates, options.in_flight, options.seconds, options.seeds
    if options.short:
        rates, in_flight, seconds, seeds = [2], [8], 330, 1
    for rule in RULES:
        for rate, number in itertools.product(rates, in_flight):
            if rule != "refund" and (rate, number) != (rates[len(rates) // 3], in_flight[0]):
                continue
            for profile in PROFILES:
                runs = [measure(rule, rate, options.cost, number, profile, seconds, seed) for seed in range(seeds)]
                yield Figure(
                    *(rule, rate, options.cost, number, profile),
                    max(run.worst_10s for run in runs),
                    min(run.of_possible for run in runs),
                    min(run.requests_per_s for run in runs),
                    max(run.misses_per_s for run in runs),
                )


def _cell(figure: Figure | None) -> str:
    return "-" if figure is None else f"{figure.worst_10s:.2f} / {figure.of_possible:.2f}"


if __name__ == "__main__":
    sys.exit(main())
