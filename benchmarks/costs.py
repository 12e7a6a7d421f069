"""What learned costs come to at a server whose work is known, in simulated time.

    python -m benchmarks.costs [--short] [--json FILE] [--hours 4] [--seeds 11 12 13]

A server of 4 workers and one queue; the true work is 200, 100 and 50 ms for a search, a page and an image (lognormal, sigma
0.5), so 4 : 2 : 1; the round trip is 60 ms. Others load it with pages, searches and images (6 : 1 : 3, Poisson). The crawl asks
six of its sites in turn, once a second, for a search, a page, an image. The server's answers go through the very code that a
crawl learns with; nothing else is real.

estimate     what the newest answers would make of the weights, unbounded, where a page is 2; the mean over the seeds
raw          the same if the round trip were not taken off
charged      the costs in force at the end, with bounds and steps; the least and the most of the seeds
"""

from __future__ import annotations

import heapq
import math
import random
import sys
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from benchmarks.reporting import Aim, Report, arguments
from scrapy_polite.limits.kinds import DEFAULT_COSTS, Kinds
from scrapy_polite.origins.costs import Company, Costs, Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

WORK = {"search": 0.2, "page": 0.1, "image": 0.05}
OTHERS = ("page",) * 6 + ("search",) + ("image",) * 3
WORKERS = 4
SIGMA = 0.5
TRIP = 0.06
SITES = 6
CACHED = 0.001
ORIGIN, ADDRESS = "origin:server.test", "203.0.113.7"


@dataclass(frozen=True)
class World:
    """``load``: the share of the workers that others keep busy. ``cached``: the share of images that cost nearly nothing.
    ``jitter``: seconds at most by which the crawl's own process sees things late."""

    name: str
    load: float = 0.0
    cached: float = 0.0
    jitter: float = 0.0


WORLDS = (
    World("no other load"),
    World("half loaded by others", load=0.5),
    World("80 % loaded", load=0.8),
    World("95 % loaded", load=0.95),
    World("images cached 80 %", cached=0.8),
    World("100 ms of reactor jitter", jitter=0.1),
)


class Server:
    """Workers that take what came first."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self._world, self._chance = world, chance
        self._free = [0.0] * WORKERS
        self._every = fmean(WORK[kind] for kind in OTHERS) / (world.load * WORKERS) if world.load else math.inf
        self._next = self._pause()

    def answered(self, at: float, kind: str) -> float:
        """When the answer to a request that arrives then begins; what others have asked until then stands before it."""
        while self._next < at:
            self._take(self._next, self._chance.choice(OTHERS))
            self._next += self._pause()
        return self._take(at, kind)

    def _pause(self) -> float:
        return self._chance.expovariate(1 / self._every) if self._every < math.inf else math.inf

    def _take(self, at: float, kind: str) -> float:
        end = max(at, self._free[0]) + self._work(kind)
        heapq.heapreplace(self._free, end)
        return end

    def _work(self, kind: str) -> float:
        if kind == "image" and self._chance.random() < self._world.cached:
            return CACHED
        return self._chance.lognormvariate(math.log(WORK[kind]) - SIGMA**2 / 2, SIGMA)


def crawl(world: World, seed: int, seconds: int) -> tuple[Costs, Costs]:
    """A crawl of so many seconds; what it has learned, and what it would have if round trips took no time."""
    chance = random.Random(seed)
    server = Server(world, chance)
    learned, raw = Costs(Kinds().cost), Costs(Kinds().cost)
    company = Company()
    under_way: list[tuple[float, int, Sample]] = []
    kinds = tuple(WORK)

    def late() -> float:
        return chance.uniform(0, world.jitter)

    def end_until(at: float) -> None:
        while under_way and under_way[0][0] <= at:
            ended, mark, sample = heapq.heappop(under_way)
            heard = replace(sample, alone=company.ended(ORIGIN, mark))
            for costs in (learned, raw):
                if costs.heard(heard, ended):
                    costs.step(ORIGIN, heard.kind, ended, ended)

    for number in range(seconds):
        sent, site, kind = float(number), f"site:{number % SITES}.test", kinds[number // SITES % len(kinds)]
        end_until(sent)
        if number % 10 == 0:  # a new connection now and then
            learned.connected(ADDRESS, TRIP + late())
            raw.connected(ADDRESS, 0.0)
        begun = server.answered(sent + TRIP / 2, kind) + TRIP / 2 + late()
        mark = company.sent(ORIGIN)
        sample = Sample(ORIGIN, site, kind, ADDRESS, begun - sent, 200, None, edge=False, alone=False)
        heapq.heappush(under_way, (begun, mark, sample))
    end_until(math.inf)
    return learned, raw


def weights(found: Sequence[Costs]) -> list[float | None]:
    """The mean estimate per kind; a page is what it is."""
    means: list[float | None] = []
    for kind in WORK:
        estimates = [estimate for costs in found if (estimate := costs.estimate(ORIGIN, kind)) is not None]
        means.append(fmean(estimates) if estimates else None)
    return means


def shown(values: Sequence[float | None]) -> str:
    return " : ".join("-" if value is None else f"{value:.2f}" for value in values)


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--hours", type=float, default=4.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12, 13])
    options = parser.parse_args()
    if options.short:
        options.hours, options.seeds = 0.25, [11]
    report = Report("costs", options)
    rows: list[dict[str, Any]] = []
    for world in WORLDS:
        found = [crawl(world, seed, round(options.hours * 3600)) for seed in options.seeds]
        learned = [costs for costs, _ in found]
        charged = [[costs.cost(ORIGIN, kind) for costs in learned] for kind in WORK]
        rows.append(
            {
                "world": world.name,
                "estimate": weights(learned),
                "raw": weights([raw for _, raw in found]),
                "least": [min(costs) for costs in charged],
                "most": [max(costs) for costs in charged],
                "samples": [one.samples for one in learned[0].learned(ORIGIN)],
            }
        )
    report.table(
        ["search : page : image", "estimate", "raw", "charged, least", "charged, most"],
        [
            (row["world"], shown(row["estimate"]), shown(row["raw"]), *(shown(row[key]) for key in ("least", "most")))
            for row in rows
        ],
    )
    off = [abs((value or 0.0) / DEFAULT_COSTS[kind] - 1) for kind, value in zip(WORK, rows[0]["estimate"], strict=True)]
    bounded = all(
        max(1, DEFAULT_COSTS[kind] / 2) <= cost <= DEFAULT_COSTS[kind] * 2
        for row in rows
        for end in ("least", "most")
        for kind, cost in zip(WORK, row[end], strict=True)
    )
    report.finish(
        {"hours": options.hours, "seeds": options.seeds, "worlds": rows},
        [
            Aim("estimates of a server without other load", "within 15 %", f"{max(off):.0%}", max(off) <= 0.15),
            Aim("costs within half and twice the default, from 1 on", "all", "all" if bounded else "not all", bounded),
        ],
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
