"""What a request of a kind costs an origin's servers, learned from how long they take to begin their answer.

The time between the last byte of a request and the first byte of its answer is a round trip, the server's work, and its queue.
The round trip is known: a connection takes one to come about, and no answer was quicker. The queue is not: so only answers to
requests that were alone at the origin are samples, and of those the quickest fifth speaks. The work of a kind beside the work
of a page, which always costs what it costs by default, makes the estimate.

An estimate is no measurement. Whoever else loads the server makes all kinds look alike (measured: at 95 % load 1.95 : 2 : 2.00
for work that is 4 : 2 : 1), a cache in the server makes a kind look free, a tarpit makes it look dear. So a cost never leaves
half to twice its default, never falls below one unit, and moves slowly: up at once, down only when several estimates agree.

Others learn of the same origin in processes of their own. What counts is what they have noted last: a step is made from there,
and not before the time since it has passed.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Final

from scrapy_polite.origins.notes import NotedCost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Company", "Costs", "Learned", "Sample", "tells"]

ANCHOR: Final = "page"
"""The kind that the others are weighed against. Without samples of it nothing is learned."""

QUANTILE: Final = 0.2
"""The share of the samples that is quicker than what counts: of the tried ones the least disturbed by queues and jitter."""

ENOUGH: Final = 20
"""Samples of a kind at an origin before it is estimated, and new ones before it is estimated again."""

OF_A_SITE: Final = 5
"""Samples of a site before it has a say: a quantile of less is whatever came first."""

# These three are judgement, not measured: a wrong cost for ten minutes is half a unit wrong.
STEP: Final = 0.5
PATIENCE: Final = 600.0
AGREEING: Final = 3
"""A cost moves by one step in so many seconds at most, and down only after so many estimates in a row that are below it."""

LEAST: Final = 1.0
"""Units that a request costs at least, whatever was learned."""

SHORTEST: Final = 0.005
"""Seconds of work on a page below which nothing is told: they are those of this process, or of a server that sends its headers
before it begins to work."""

ORIGINS: Final = 1000
KINDS: Final = 16
SITES: Final = 8
OF_A_RING: Final = 24
"""What is kept: the newest samples per site, sites per kind, kinds per origin, origins. 3 kB a kind at most."""

SILENT: Final = 600.0
"""Seconds after which a site gives its place to another: of hundreds of sites each would be pushed out before it has a say."""

ADDRESSES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer. ``seconds``: from the last byte of the request on the wire to the first byte of the answer. ``hit``: whether
    a cache said that it had the answer; None: nothing was said. ``edge``: whether one stands in front. ``alone``: no other
    request of ours was at the origin."""

    origin: str
    site: str
    kind: str
    address: str
    seconds: float
    status: int
    hit: bool | None
    edge: bool
    alone: bool


def tells(sample: Sample) -> bool:
    """Whether the time of an answer tells what it cost. Errors and redirects are quick whatever they stand for; a hit is the
    work of the cache; behind an edge that does not say what its cache did it may be one."""
    worked = sample.hit is False if sample.edge else not sample.hit
    return sample.alone and sample.status == 200 and worked and sample.seconds >= 0


@dataclass(frozen=True, slots=True)
class Learned:
    """The cost of a kind at an origin, in units, and the reason of its last step. ``samples``: of the kind, as kept;
    ``noted``: the last step, in whichever process it was made; None: there was none."""

    origin: str
    kind: str
    cost: float
    default: float
    samples: int
    because: str
    noted: NotedCost | None


class Company:
    """Which requests were alone at their origin: none of ours was there when they were sent, and none was sent until they were
    over."""

    def __init__(self) -> None:
        self._inside: dict[str, list[int]] = {}

    def sent(self, origin: str) -> int:
        """A request goes to the origin. What :meth:`ended` is to be told."""
        inside = self._inside.setdefault(origin, [0, 0])
        inside[0] += 1
        inside[1] += 1
        return inside[1] if inside[0] == 1 else -1

    def ended(self, origin: str, sent: int) -> bool:
        """It is over; whether it was alone."""
        inside = self._inside[origin]
        inside[0] -= 1
        if not inside[0]:
            del self._inside[origin]
        return inside[1] == sent


@dataclass(slots=True)
class _Trip:
    """An upper bound of the round trip to an address, in seconds: the least that was seen."""

    least: float


@dataclass(slots=True)
class _Site:
    heard: float
    ring: deque[tuple[float, _Trip]] = field(default_factory=lambda: deque(maxlen=OF_A_RING))

    def work(self) -> float:
        """Seconds of the server's, at the quantile."""
        ordered = sorted(max(0.0, seconds - trip.least) for seconds, trip in self.ring)
        return ordered[int(QUANTILE * len(ordered))]


@dataclass(slots=True)
class _Kind:
    cost: float
    sites: dict[str, _Site] = field(default_factory=dict)
    fresh: int = 0
    agreeing: int = 0
    stepped: float | None = None
    because: str = ""
    noted: NotedCost | None = None

    def samples(self) -> int:
        return sum(len(site.ring) for site in self.sites.values())

    def telling(self) -> list[_Site]:
        return [site for site in self.sites.values() if len(site.ring) >= OF_A_SITE]

    def work(self) -> float | None:
        """Seconds of the server's for the kind: the median of the sites, so that one heavy tenant is one of many."""
        telling = self.telling()
        if sum(len(site.ring) for site in telling) < ENOUGH:
            return None
        return median(site.work() for site in telling)

    def place(self, name: str, now: float) -> _Site | None:
        """The site's; None where others have all places."""
        site = self.sites.get(name)
        if site is None:
            if len(self.sites) >= SITES:
                oldest = min(self.sites, key=lambda one: self.sites[one].heard)
                if now - self.sites[oldest].heard < SILENT:
                    return None
                del self.sites[oldest]
            site = self.sites[name] = _Site(now)
        site.heard = now
        return site


class Costs:
    """``default``: units of a kind where nothing was learned. Bounded in memory; an origin that was not heard of for longest is
    forgotten, and has the defaults until it is recalled."""

    def __init__(self, default: Callable[[str], float]) -> None:
        self._default = default
        self._origins: OrderedDict[str, dict[str, _Kind]] = OrderedDict()
        self._trips: OrderedDict[str, _Trip] = OrderedDict()

    def cost(self, origin: str, kind: str) -> float:
        """Units that a request of the kind costs at the origin."""
        found = self._origins.get(origin, {}).get(kind)
        return found.cost if found is not None else self._default(kind)

    def connected(self, address: str, seconds: float) -> None:
        """A connection to the address came about in so many seconds: the round trip is not longer."""
        trip = self._trips.get(address)
        if trip is None:
            trip = self._trips[address] = _Trip(seconds)
            if len(self._trips) > ADDRESSES:
                self._trips.popitem(last=False)
        trip.least = min(trip.least, seconds)

    def knows(self, origin: str) -> bool:
        """Whether anything was heard of the origin, or recalled."""
        return origin in self._origins

    def recall(self, origin: str, name: str, noted: NotedCost, now: float, wall: float) -> None:
        """What was noted last of a kind, by whomever: it is what the next step is made from. ``wall``: unix seconds."""
        kind = self._kind(origin, name) if name != ANCHOR else None
        if kind is None or noted == kind.noted:
            return
        low, high = self._bounds(name)
        kind.cost, kind.because, kind.noted, kind.agreeing = min(max(noted.cost, low), high), noted.because, noted, 0
        # A note from the future is by a clock that is wrong: as if it were of now.
        kind.stepped = now - max(0.0, wall - noted.at)

    def heard(self, sample: Sample, now: float, *, paced: bool = False) -> bool:
        """An answer has come; whether there is enough now for a :meth:`step`, before which what others have noted meanwhile is
        to be recalled. ``now`` in seconds of a clock that only runs on. ``paced``: the origin is slowed down for its latency,
        so it has a queue, and nothing is learned until it has none."""
        if paced or not tells(sample):
            return False
        # No answer is quicker than a round trip; a connection that the reactor saw late is longer.
        self.connected(sample.address, sample.seconds)
        kind = self._kind(sample.origin, sample.kind)
        site = kind.place(sample.site, now) if kind is not None else None
        if kind is None or site is None:
            return False
        site.ring.append((sample.seconds, self._trips[sample.address]))
        kind.fresh += 1
        if kind.fresh < ENOUGH or sample.kind == ANCHOR or self.estimate(sample.origin, sample.kind) is None:
            return False
        kind.fresh = 0
        return True

    def estimate(self, origin: str, kind: str) -> float | None:
        """What a request of the kind seems to cost at the origin, in units, unbounded; None where too little tells of it."""
        page, work = self._work(origin, ANCHOR), self._work(origin, kind)
        if page is None or work is None or page < SHORTEST:
            return None
        return self._default(ANCHOR) * work / page

    def learned(self, origin: str) -> tuple[Learned, ...]:
        """The kinds of which something was heard at the origin, by name."""
        kinds = self._origins.get(origin, {})
        return tuple(self._learned(origin, name, kinds[name]) for name in sorted(kinds))

    def all_of(self, kind: str) -> Iterator[float]:
        """The cost of the kind at every origin where it was estimated."""
        return (kinds[kind].cost for kinds in self._origins.values() if kind in kinds and kinds[kind].because)

    def _work(self, origin: str, kind: str) -> float | None:
        found = self._origins.get(origin, {}).get(kind)
        return found.work() if found is not None else None

    def _kind(self, origin: str, name: str) -> _Kind | None:
        kinds = self._origins.setdefault(origin, {})
        self._origins.move_to_end(origin)
        if len(self._origins) > ORIGINS:
            self._origins.popitem(last=False)
        if name not in kinds and len(kinds) < KINDS:
            kinds[name] = _Kind(self._default(name))
        return kinds.get(name)

    def step(self, origin: str, name: str, now: float, wall: float) -> Learned | None:
        """The new cost of a kind, if its estimate is far enough from the old one, and the time for a step has come."""
        kind, estimate = self._origins.get(origin, {}).get(name), self.estimate(origin, name)
        if kind is None or estimate is None:
            return None
        before, (low, high) = kind.cost, self._bounds(name)
        aim = min(max(round(estimate / STEP) * STEP, low), high)
        kind.agreeing = kind.agreeing + 1 if aim < before else 0
        rested = kind.stepped is None or now - kind.stepped >= PATIENCE
        if rested and aim > before:
            kind.cost = min(before + STEP, aim)
        elif rested and kind.agreeing >= AGREEING:
            kind.cost = max(before - STEP, aim)
        seconds, page = self._work(origin, name) or 0.0, self._work(origin, ANCHOR) or 0.0
        measured = f"the server takes {seconds * 1e3:.0f} ms, and {page * 1e3:.0f} ms for a page, which makes {estimate:.2f}"
        if kind.cost == before:
            kind.because = kind.because or f"{measured}: no step yet from {before:g}"
            return None
        kind.agreeing, kind.stepped = 0, now
        kind.because = f"{measured}: from {before:g} to {kind.cost:g}, in bounds of {low:g} to {high:g}"
        pages = self._origins[origin][ANCHOR].samples()
        kind.noted = NotedCost(kind.cost, wall, kind.samples(), pages, kind.because)
        return self._learned(origin, name, kind)

    def _bounds(self, name: str) -> tuple[float, float]:
        default = self._default(name)
        low = max(LEAST, default / 2)
        return low, max(low, default * 2)

    def _learned(self, origin: str, name: str, kind: _Kind) -> Learned:
        because = kind.because or ("the others are weighed against it" if name == ANCHOR else "too few samples yet")
        return Learned(origin, name, kind.cost, self._default(name), kind.samples(), because, kind.noted)
