"""The proof at the end of the demo: what was promised, what the ledger says, what the town saw, and whether they agree.

Two witnesses. The ledger is what the crawler wrote down about itself; the town's log is what arrived. The town knows
nothing of the crawler, and its stamps are taken by another process. Every number below is given by both where both can
know it, and every criterion is judged by the town where the town can know it.

**Kept, while it had work.** A platform's servers can only be used to their full rate while somebody wants something of
them. So time counts while a site was *waiting* (its own rate, one unit a second, let its next request go, and it had not
arrived yet; for its first request every site waits from the first arrival on), and while the servers were *being spared*
(cost / rate after each request). The longest stretch of such time without a break is judged: the units that arrived in
it, over what the rate allows in it. Near the end, when few sites are left, one unit a second each cannot use up the rate
any more; those times fall out of the stretch, and the proof says how much of all units it covers.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from judging import checks
from judging.harvest import images_of
from judging.origins import SITE_RATE, Origin, origins
from judging.table import aligned

from scrapy_polite.telemetry.events import Sent
from scrapy_polite.telemetry.proof import prove

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from judging.arrivals import Arrival
    from judging.checks import Check
    from judging.origins import Side

    from scrapy_polite.telemetry.events import Event

SHARE: Final = 2 / 3
"""Of the capacity that the platform's owner states: what the settings allow."""
WIDTH: Final = 0.05
"""Seconds of a slot, if the ledger has none to tell."""
PLATFORM, KNEE, SLOW = "platform", "knee", "slow"

HEAD: Final = (
    *("origin", "witness", "seen", "units", "allowed", "kept", "share"),
    *("in 1 s", "in 10 s", "gap", "floor", "slots", "missed", "holds", "inside", "503"),
)
LEGEND: Final = (
    "allowed: units/s of the origin, or of its sites together where that is less; +burst. kept: units/s while it had work,",
    "that is while a site waited whose own rate let it go, or the origin was being spared after a request; share: of what is",
    "allowed. in 1 s, in 10 s: the most units in any such window. gap, floor: seconds between the two requests that came",
    "closest to their floor (cost of the first / rate). holds: honoured, of those that there were. inside: requests in a hold.",
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known after a crawl. `tripwire`: what the crawl's own process tried to reach outside the town."""

    facts: Mapping[str, Any]
    truth: Mapping[str, Sequence[Mapping[str, str]]]
    arrivals: Sequence[Arrival]
    events: Sequence[Event]
    tripwire: Sequence[Mapping[str, Any]]
    items: Sequence[Mapping[str, Any]]
    stored: Mapping[str, int]
    ended: str = "finished"
    """How the crawl ended: Scrapy's reason, or that it was stopped."""


@dataclass(frozen=True, slots=True)
class Report:
    origins: tuple[Origin, ...]
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    def as_json(self) -> dict[str, object]:
        """All of it as what `json.dumps` takes."""
        return {"passed": self.passed, **asdict(self)}

    def as_text(self) -> str:
        """The table, the criteria, and at the end PASS or what failed."""
        rows: list[tuple[str, ...]] = [HEAD]
        for origin in self.origins:
            whose = f"{origin.server}, {origin.sites} site{'s' * (origin.sites != 1)}" if origin.sites else origin.server
            allowed = f"{origin.allowed:g}{f' +{origin.burst:g}' if origin.burst else ''}"
            rows.append((origin.key, "ledger", *_cells(origin.ledger, allowed)))
            rows.append((f"  {whose}", "town", *_cells(origin.town, allowed)))
        lines = [*aligned(rows, left=2), ""]
        lines += [*LEGEND, ""]
        width = max(len(check.name) for check in self.checks)
        lines += [f"{'ok  ' if check.passed else 'FAIL'}  {check.name.ljust(width)}  {check.said}" for check in self.checks]
        failed = [check.name for check in self.checks if not check.passed]
        lines += ["", f"FAIL: {', '.join(failed)}" if failed else "PASS"]
        return "\n".join(lines)


def judge(evidence: Evidence) -> Report:
    """What the evidence proves."""
    ledger = prove(evidence.events)
    rows = tuple(origins(evidence.arrivals, evidence.events, {key.key: key for key in ledger.keys}))
    rate = evidence.facts["platform"]["capacity"] * SHARE
    at = {name: [arrival for arrival in evidence.arrivals if arrival.server == name] for name in (PLATFORM, KNEE, SLOW)}
    arrivals = at[PLATFORM]
    widths = [event.width / 1e6 for event in evidence.events if isinstance(event, Sent)]
    images = images_of(evidence.items, evidence.stored, evidence.facts["sites"])
    verdicts = (
        checks.ended(evidence.ended),
        checks.complete(evidence.arrivals, evidence.items, evidence.facts["sites"]),
        checks.untrapped(evidence.arrivals, evidence.tripwire),
        checks.holds_kept(evidence.arrivals, sum(key.inside for key in ledger.keys)),
        checks.window_kept(arrivals, rate),
        checks.floor_kept(arrivals, rate, max(widths, default=WIDTH)),
        checks.rate_kept(arrivals, rate, SITE_RATE),
        checks.not_overloaded(arrivals),
        checks.not_driven_over(at[KNEE], evidence.facts["knee"]["capacity"]),
        checks.not_slowed(at[SLOW], SITE_RATE),
        checks.nothing_left(evidence.items, evidence.truth),
        checks.images_made(images),
        checks.all_booked(evidence.arrivals, evidence.events),
        checks.one_key(next((origin for origin in rows if origin.server == PLATFORM), None), rate),
        checks.promises_kept(ledger.violations),
    )
    return Report(rows, verdicts)


def _cells(side: Side | None, allowed: str) -> tuple[str, ...]:
    if side is None:
        return ("-",) * 14
    return (
        str(side.requests),
        f"{side.units:g}",
        allowed,
        "-" if side.kept is None else f"{side.kept:.2f}",
        "-" if side.share is None else f"{side.share:.1%}",
        f"{side.worst_1:g}",
        f"{side.worst_10:g}",
        "-" if side.gap is None else f"{side.gap:.3f}",
        "-" if side.floor is None else f"{side.floor:.3f}",
        "-" if side.booked is None else str(side.booked),
        "-" if side.missed is None else str(side.missed),
        f"{side.honoured} of {side.holds}" if side.holds else "-",
        str(side.inside),
        "-" if side.refused is None else str(side.refused),
    )
