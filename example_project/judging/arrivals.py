"""Judgements on what arrived at a server: windows, gaps, holds, and how much of its rate was used. Pure; seconds and units."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ON_ITS_WAY: Final = 0.02
"""Seconds after an answer left in which a request may still arrive that was sent before the answer came."""


TOUCHING: Final = 0.001
"""Seconds between two spans that are no break: what a stamp may be off by."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request as the town saw it. `t`: monotonic seconds of its first bytes; `hold_until`: what the answer asked for."""

    t: float
    server: str
    host: str
    path: str
    kind: str
    cost: float
    status: int = 200
    latency: float = 0.01
    hold_until: float | None = None

    @property
    def answered(self) -> float:
        return self.t + self.latency


FIELDS: Final = ("t", "server", "host", "path", "kind", "cost", "status", "latency", "hold_until")


def arrivals_from(entries: Iterable[Mapping[str, Any]]) -> list[Arrival]:
    """The lines of the town's log, in order of arrival."""
    return sorted((Arrival(*(entry[name] for name in FIELDS)) for entry in entries), key=lambda arrival: arrival.t)


def worst_window(arrivals: Sequence[Arrival], seconds: float) -> float:
    """The most units in any half-open window [t, t + seconds). The fullest window starts at an arrival."""
    worst = inside = 0.0
    first = 0
    for arrival in arrivals:
        inside += arrival.cost
        while arrival.t - arrivals[first].t >= seconds:
            inside -= arrivals[first].cost
            first += 1
        worst = max(worst, inside)
    return worst


@dataclass(frozen=True, slots=True)
class Gap:
    """Two arrivals one after the other: how far apart, and how far they had to be (cost of the first / rate)."""

    seconds: float
    floor: float

    @property
    def slack(self) -> float:
        """Negative: closer than the floor."""
        return self.seconds - self.floor


def tightest_gap(arrivals: Sequence[Arrival], rate: float, least: float = 0.0) -> Gap | None:
    """The two that came closest to their floor, or furthest below it; `least`: seconds between any two (Crawl-delay)."""
    gaps = [Gap(after.t - before.t, max(before.cost / rate, least)) for before, after in pairwise(arrivals)]
    return min(gaps, key=lambda gap: gap.slack, default=None)


@dataclass(frozen=True, slots=True)
class Hold:
    """A server asked to be left alone: from when its first answer saying so had left, until when."""

    since: float
    until: float
    inside: int
    """Requests that arrived all the same."""


def holds(arrivals: Sequence[Arrival]) -> list[Hold]:
    """The holds that one server stated, those that overlap as one, and what arrived inside each.

    A request that was on its way when the answer left is not counted: nobody could have stopped it.
    """
    spans: list[tuple[float, float]] = []
    stating = [arrival for arrival in arrivals if arrival.hold_until is not None]
    for arrival in sorted(stating, key=lambda arrival: arrival.answered):
        until = arrival.hold_until or 0.0
        if spans and arrival.answered <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], until))
        elif until > arrival.answered:
            spans.append((arrival.answered, until))
    return [Hold(since, until, sum(since + ON_ITS_WAY < arrival.t < until for arrival in arrivals)) for since, until in spans]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which a server had work without a break: somebody waited for it, or it was being spared after a request.

    `earned`: seconds of it that its requests paid for (cost / rate of each). `units`: what they cost.
    """

    since: float
    until: float
    earned: float
    units: float

    @property
    def seconds(self) -> float:
        return self.until - self.since

    @property
    def kept(self) -> float:
        """Share of the rate that was used; 1 is all of it."""
        return self.earned / self.seconds if self.seconds else 0.0


def stretches(arrivals: Sequence[Arrival], rate: float, site_rate: float, least: float = 0.0) -> list[Stretch]:
    """When a server had work, and how much of its rate was used then.

    Work is what a site could have sent: a site waits from the moment when its own rate lets its next request go (cost of
    its last / `site_rate`, or `least` seconds after it, and not before its last was answered) until that request
    arrives. Every site waits for its first request from the very first arrival on. A request keeps the server busy for
    its cost / `rate`. Times in which neither is true are nobody's fault and not counted: sites at one unit a second
    that have run out of neighbours cannot use up a platform's twenty. A time that a server asked to be left alone is
    not counted either.
    """
    if not arrivals:
        return []
    start = arrivals[0].t
    asked = [(hold.since, hold.until) for hold in holds(arrivals)]
    ready: dict[str, float] = defaultdict(lambda: start)
    spans: list[tuple[float, float]] = []
    for arrival in arrivals:
        since = ready[arrival.host]
        if since < arrival.t:
            spans += without((since, arrival.t), asked)
        spans.append((arrival.t, arrival.t + max(arrival.cost / rate, least)))
        ready[arrival.host] = max(arrival.t + max(arrival.cost / site_rate, least), arrival.answered)
    found = []
    rest = list(arrivals)
    for since, until in merged(spans):
        inside = [arrival for arrival in rest if since <= arrival.t < until]
        rest = rest[len(inside) :]
        earned = sum(max(arrival.cost / rate, least) for arrival in inside)
        found.append(Stretch(since, until, earned, sum(arrival.cost for arrival in inside)))
    return found


def merged(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The same times in as few spans as can be."""
    whole: list[tuple[float, float]] = []
    for since, until in sorted(spans):
        if whole and since <= whole[-1][1] + TOUCHING:
            whole[-1] = (whole[-1][0], max(whole[-1][1], until))
        else:
            whole.append((since, until))
    return whole


def without(span: tuple[float, float], gone: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """What is left of a span when others, in order, are taken out of it."""
    left = []
    since, until = span
    for start, end in gone:
        if start > since:
            left.append((since, min(start, until)))
        since = max(since, end)
        if since >= until:
            return left
    return [*left, (since, until)]


def unfinished(arrivals: Iterable[Arrival], sites: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Sites that were not crawled to their end: host -> search pages and listings that were never answered with 200."""
    seen: defaultdict[str, set[str]] = defaultdict(set)
    for arrival in arrivals:
        if arrival.status == 200 and arrival.kind in ("search", "page") and arrival.server != "cdn-origin":
            seen[arrival.host].add(arrival.path)
    return {site["host"]: left for site in sites if (left := site["pages"] - len(seen[site["host"]])) > 0}
