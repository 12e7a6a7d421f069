"""Side by side: what the ledger says about an origin, and what arrived at its servers in the town."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from judging.arrivals import Arrival, holds, stretches, tightest_gap, worst_window
from scrapy_polite.telemetry.events import Sent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from scrapy_polite.telemetry.events import Event
    from scrapy_polite.telemetry.proof import KeyProof

SITE_RATE: Final = 1.0
"""Units a second of one site (POLITE_SITE_RATE)."""

NOT_CRAWLED: Final = frozenset({"trap", "rebind", "cdn-origin"})
"""Servers in the town's log that a crawler either must not reach, or does not reach itself."""


@dataclass(frozen=True, slots=True)
class Side:
    """What one witness says about one origin; None: it cannot know, or there is nothing to say. Seconds and units.

    kept: units a second while it had work, and `share`: that over what is allowed. gap and floor: of the two requests
    that came closest to their floor.
    """

    requests: int
    units: float
    kept: float | None
    share: float | None
    worst_1: float
    worst_10: float
    gap: float | None
    floor: float | None
    holds: int
    honoured: int
    inside: int
    booked: int | None = None
    missed: int | None = None
    refused: int | None = None
    """Answers with status 503."""


@dataclass(frozen=True, slots=True)
class Origin:
    """One server of the town, and the key that the crawler limited it by."""

    key: str
    server: str
    sites: int
    allowed: float
    burst: float
    ledger: Side | None
    town: Side


def origins(everywhere: Iterable[Arrival], events: Iterable[Event], keys: Mapping[str, KeyProof]) -> Iterator[Origin]:
    """A line for every server that was crawled. `keys`: what the ledger proves, by key."""
    at: dict[str, list[Arrival]] = defaultdict(list)
    for arrival in everywhere:
        if arrival.server not in NOT_CRAWLED:
            at[arrival.server].append(arrival)
    shared: dict[str, Counter[str]] = defaultdict(Counter)
    least: dict[str, float] = defaultdict(float)
    members: dict[str, set[str]] = defaultdict(set)
    for event in events:
        if isinstance(event, Sent) and event.charges:
            host = urlsplit(event.url).hostname or ""
            shared[host][event.charges[-1].key] += 1
            members[event.charges[-1].key] |= {charge.key for charge in event.charges if charge.key.startswith("site:")}
            least[host] = max(least[host], *(charge.least for charge in event.charges))
    for server, arrivals in sorted(at.items(), key=lambda entry: -len({arrival.host for arrival in entry[1]})):
        hosts = {arrival.host for arrival in arrivals}
        votes: Counter[str] = sum((shared[host] for host in hosts), Counter())
        key = votes.most_common(1)[0][0] if votes else "no key in the ledger"
        proof = keys.get(key)
        sites = [keys[site] for site in sorted(members[key]) if site.removeprefix("site:") in hosts]
        rates = [rate for rate in (proof.rate if proof else 0.0, sum(site.rate for site in sites)) if rate]
        allowed, burst = min(rates, default=SITE_RATE), proof.burst if proof else 0.0
        delay = max((least[host] for host in hosts), default=0.0)
        # Of one site alone its own limit is the one that is felt, and the ledger's line is the site's.
        told = sites[0] if proof and len(sites) == 1 and sites[0].rate < proof.rate else proof
        worked = bool(sites) and not burst
        # robots.txt of an image service or of an object store is charged to its host, the images to the service.
        mine = arrivals if sites else [arrival for arrival in arrivals if arrival.kind != "robots"]
        yield Origin(
            key=key,
            server=server,
            sites=len(sites),
            allowed=allowed,
            burst=burst,
            ledger=_by_ledger(told, worked) if told else None,
            town=_by_town(mine, allowed, delay, worked=worked, spaced=not burst),
        )


def _by_ledger(key: KeyProof, worked: bool) -> Side:
    one, ten = key.windows
    return Side(
        requests=key.requests,
        units=key.units,
        kept=key.units / key.busy if worked and key.busy else None,
        share=key.kept if worked else None,
        worst_1=one.units,
        worst_10=ten.units,
        gap=key.gap,
        floor=key.floor,
        holds=key.holds,
        honoured=key.honoured,
        inside=key.inside,
        booked=key.booked,
        missed=key.missed,
    )


def _by_town(arrivals: Sequence[Arrival], rate: float, least: float, *, worked: bool, spaced: bool) -> Side:
    gap = tightest_gap(arrivals, rate, least) if spaced else None
    found = stretches(arrivals, rate, SITE_RATE, least) if worked else []
    seconds, units = sum(stretch.seconds for stretch in found), sum(arrival.cost for arrival in arrivals)
    stated = holds(arrivals)
    return Side(
        requests=len(arrivals),
        units=units,
        kept=units / seconds if seconds else None,
        share=sum(stretch.earned for stretch in found) / seconds if seconds else None,
        worst_1=worst_window(arrivals, 1),
        worst_10=worst_window(arrivals, 10),
        gap=gap.seconds if gap else None,
        floor=gap.floor if gap else None,
        holds=len(stated),
        honoured=sum(not hold.inside for hold in stated),
        inside=sum(hold.inside for hold in stated),
        refused=sum(arrival.status == 503 for arrival in arrivals),
    )
