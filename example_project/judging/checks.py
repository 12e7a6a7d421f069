"""The criteria of the proof: lists in, a verdict and its numbers out. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from judging.arrivals import Arrival, holds, stretches, tightest_gap, unfinished, worst_window
from judging.harvest import Images, left_in, missing_listings
from judging.origins import NOT_CRAWLED, SITE_RATE
from scrapy_polite.telemetry.events import Sent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from judging.origins import Origin
    from scrapy_polite.telemetry.events import Event

OVER: Final = 1.05
"""Of what is allowed in 10 s: the most that may arrive, as one request may begin just before the window ends."""
STAMPS: Final = 0.005
"""Seconds that a stamp of the town may be late by."""
KEPT: Final = 0.95
"""Of the platform's rate, at least, while it had work."""
ENOUGH: Final = 10.0
"""Seconds that a stretch must last to be judged: in less, one request is a large share of it."""


@dataclass(frozen=True, slots=True)
class Check:
    """One criterion: what it is about, whether it is met, and the numbers."""

    name: str
    passed: bool
    said: str


def ended(ended: str) -> Check:
    return Check("the crawl ended by itself", ended == "finished", ended)


def complete(arrivals: Iterable[Arrival], items: Iterable[Mapping[str, Any]], sites: Sequence[Mapping[str, Any]]) -> Check:
    """Every search page and listing was answered, and every listing became an item."""
    pages, listings = unfinished(arrivals, sites), missing_listings(items, sites)
    short = {**pages, **listings}
    said = f"{len(sites) - len(short)} of {len(sites)}"
    if short:
        told = [f"{host} ({pages.get(host, 0)} pages, {listings.get(host, 0)} items missing)" for host in sorted(short)]
        said += f"; not {_some(told)}"
    return Check("sites crawled to their end", not short, said)


def untrapped(arrivals: Iterable[Arrival], tripwire: Sequence[Mapping[str, Any]]) -> Check:
    """Nobody went where nobody may go: the town's traps saw nobody, and the crawl's process tried nothing else."""
    hits = [f"{arrival.host or 'a connection'}{arrival.path}" for arrival in arrivals if arrival.server == "trap"]
    tries = [f"{line['address']}:{line['port']}" for line in tripwire]
    said = f"{len(hits)} at the town's traps, {len(tries)} tried by the crawler's process"
    if hits or tries:
        said += f": {_some([*hits, *tries])}"
    return Check("trap hits", not hits and not tries, said)


def holds_kept(arrivals: Iterable[Arrival], by_ledger: int) -> Check:
    """Nothing arrived while a server had asked to be left alone, and nothing was sent inside a hold of the crawler's own."""
    of: dict[str, list[Arrival]] = defaultdict(list)
    for arrival in arrivals:
        of[arrival.server].append(arrival)
    found = [hold for several in of.values() for hold in holds(several)]
    inside = sum(hold.inside for hold in found)
    said = f"{inside} by the town ({len(found)} stated holds), {by_ledger} by the ledger"
    return Check("requests inside a hold", not inside and not by_ledger, said)


def window_kept(arrivals: Sequence[Arrival], rate: float) -> Check:
    worst, allowed = worst_window(arrivals, 10), rate * 10
    said = f"{worst:g} units, {worst / allowed:.3f} of the {allowed:g} allowed (at most {OVER:g})"
    return Check("worst 10 s at the platform", worst <= OVER * allowed, said)


def floor_kept(arrivals: Sequence[Arrival], rate: float, width: float) -> Check:
    gap = tightest_gap(arrivals, rate)
    if gap is None:
        return Check("smallest gap at the platform", True, "there were no two requests")
    said = f"{gap.seconds * 1e3:.1f} ms where the floor is {gap.floor * 1e3:.1f} ms"
    said += f" (no less than floor - {width * 1e3:g} ms of a slot - {STAMPS * 1e3:g} ms)"
    return Check("smallest gap at the platform", gap.slack >= -width - STAMPS, said)


def rate_kept(arrivals: Sequence[Arrival], rate: float, site_rate: float) -> Check:
    """See the module for what counts as time with work."""
    name = "rate kept at the platform"
    found = stretches(arrivals, rate, site_rate)
    longest = max(found, key=lambda stretch: stretch.seconds, default=None)
    if longest is None or longest.seconds < ENOUGH:
        return Check(name, True, f"not judged: its sites never wanted the whole rate for {ENOUGH:g} s")
    units = sum(arrival.cost for arrival in arrivals)
    said = f"{longest.kept:.1%} of {rate:g} units/s in the {longest.seconds:.1f} s in which there was always work"
    said += f" ({longest.units:g} of all {units:g} units; at least {KEPT:.0%})"
    return Check(name, longest.kept >= KEPT, said)


def not_overloaded(arrivals: Iterable[Arrival]) -> Check:
    refused = sum(arrival.status == 503 for arrival in arrivals)
    return Check("503s caused at the platform", not refused, str(refused))


def not_driven_over(arrivals: Sequence[Arrival], capacity: float) -> Check:
    """Nothing was refused by the server with a knee, which can do less for a while than its owner has said."""
    refused = sum(arrival.status == 503 for arrival in arrivals)
    longest = max((arrival.latency for arrival in arrivals), default=0.0)
    said = f"{refused} of {len(arrivals)}; it can take {capacity:g} units/s, half for a while; longest answer {longest:.1f} s"
    return Check("503s caused at the server with a knee", not refused, said)


def not_slowed(arrivals: Sequence[Arrival], rate: float) -> Check:
    """A server whose answers take long by nature is asked as often as any other."""
    kept = max(stretches(arrivals, rate, rate), key=lambda stretch: stretch.seconds, default=None)
    name = "rate kept at the slow server"
    if kept is None or kept.seconds < ENOUGH:
        return Check(name, True, f"not judged: it never had work for {ENOUGH:g} s")
    median = sorted(arrival.latency for arrival in arrivals)[len(arrivals) // 2]
    said = f"{kept.kept:.1%} of {rate:g} units/s, with answers of {median:.1f} s (at least {KEPT:.0%})"
    return Check(name, kept.kept >= KEPT, said)


def nothing_left(items: Sequence[Mapping[str, Any]], truth: Mapping[str, Sequence[Mapping[str, str]]]) -> Check:
    keys = left_in(items, (entry["value"] for entry in truth["keys"]))
    personal = left_in(items, (entry["value"] for entry in truth["personal"]))
    said = f"{len(keys)} keys and {len(personal)} addresses and numbers, of "
    said += f"{len({e['value'] for e in truth['keys']})} and {len({e['value'] for e in truth['personal']})} on the pages"
    if keys or personal:
        left = {*keys, *personal}
        kinds = Counter(entry["kind"] for several in truth.values() for entry in several if entry["value"] in left)
        said += f": {', '.join(sorted(kinds))}"
    return Check("left in items", not keys and not personal, said)


def images_made(images: Images) -> Check:
    said = f"{images.made} of {images.wanted} in all sizes; {images.files} files, {images.bytes / 1e6:.1f} MB"
    return Check("images made", images.made >= images.wanted, said)


def all_booked(arrivals: Iterable[Arrival], events: Iterable[Event]) -> Check:
    """Nothing arrived that the ledger does not know of."""
    saw = Counter(arrival.host for arrival in arrivals if arrival.server not in NOT_CRAWLED)
    wrote = Counter(urlsplit(event.url).hostname or "" for event in events if isinstance(event, Sent))
    unknown = saw - wrote
    said = f"{unknown.total()} of {saw.total()}"
    if unknown:
        said += f": {_some([f'{count} at {host}' for host, count in sorted(unknown.items())])}"
    return Check("arrived without a slot", not unknown, said)


def one_key(platform: Origin | None, rate: float) -> Check:
    """All of the platform's sites were limited by one key, at the rate that the settings give it."""
    name = "the platform's sites share one key"
    if platform is None or platform.ledger is None:
        return Check(name, False, "the ledger knows of none")
    alike = abs(platform.allowed - min(rate, platform.sites * SITE_RATE)) < 1e-6
    whole = platform.ledger.requests == platform.town.requests
    said = f"{platform.key}: {platform.ledger.requests} of {platform.town.requests} requests, {platform.allowed:g} units/s"
    return Check(name, alike and whole, said)


def promises_kept(violations: Sequence[str]) -> Check:
    return Check("promises broken by the ledger", not violations, _some(list(violations)) if violations else "0")


def _some(sentences: Sequence[str], most: int = 5) -> str:
    rest = len(sentences) - most
    return ", ".join(sentences[:most]) + (f" and {rest} more" if rest > 0 else "")
