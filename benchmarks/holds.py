"""Holds of four crawls with one store: is anything sent inside one, and do keys that were refused together come back together?

    python -m benchmarks.holds [--short] [--json FILE] [--keys 100]

Real Scrapy crawlers, each a process of its own, and a server on loopback that refuses; with SQLite and with Postgres. The same
with stock Scrapy, with and without AutoThrottle.

inside       requests that came between a refusal with `Retry-After: 5`, or a date in five seconds, and that time; but for those
             that came until 0.1 s after the store had the hold (stock Scrapy: after the refusal), which were on the wire.
             `left`: requests that had not been made when it was refused
back         from the end of that time to the next request
fullest      of the keys that were refused together, the most that came back in any one second
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, TypeVar

from benchmarks.databases import postgres
from benchmarks.holdcases import (
    FORMS,
    OURS,
    STATED,
    STOCK,
    THROTTLE,
    Back,
    ByHand,
    Inside,
    Longer,
    by_hand,
    come_back,
    inside,
    longer,
    told,
)
from benchmarks.reporting import Aim, Report, arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")
WAITS: dict[str, tuple[int, dict[str, str], int]] = {
    "5 s stated": (429, {"retry-after": "5"}, 1),
    "3600 s stated": (429, {"retry-after": "3600"}, 1),
    "30 s rung": (500, {}, 3),
    "120 s rung": (429, {}, 1),
}
"""What is told to keys without a crawl: the answer, and how often."""


def aims(insides: list[Inside], longers: list[Longer], backs: list[Back], hands: list[ByHand]) -> Iterator[Aim]:
    for one in insides:
        if one.crawl == OURS:
            yield Aim(f"{one.store}, {one.form}: inside", "0", str(one.inside), one.inside == 0)
    for hold in longers:
        stays = hold.later == 0 and hold.hold_s > 3_580 and hold.cause.endswith("3600")
        yield Aim(f"{hold.store}: 3600 s, then 2 s", "stays 3600 s", f"{hold.hold_s:.0f} s left: {hold.cause}", stays)
    for back in backs:
        if back.how != STOCK:
            most = back.fullest / back.keys
            aim = f"{back.store}, {back.wait}, {back.how}: fullest second"
            yield Aim(aim, "5 %", f"{most:.0%}", most <= 0.05 and not back.early)
    for hand in hands:
        yield Aim(f"{hand.store}: retry, last process", "1,000 ms", f"{max(hand.ms):.0f} ms", max(hand.ms) <= 1_000)


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--keys", type=int, default=100)
    options = parser.parse_args()
    report = Report("holds", options)
    insides: list[Inside] = []
    longers: list[Longer] = []
    backs: list[Back] = []
    hands: list[ByHand] = []
    with postgres() as database:
        stores = ["sqlite"] if options.short or database is None else ["sqlite", "postgres"]
        for form in FORMS[:1] if options.short else FORMS:
            others = (STOCK,) if options.short else (STOCK, THROTTLE)
            insides += [said(inside(crawl, "", form, None, 40)) for crawl in others]
            insides += [said(inside(OURS, store, form, database, 40)) for store in stores]
        for store in stores:
            if not options.short:
                longers.append(said(longer(store, database)))
                hands.append(said(by_hand(store, database)))
            for wait, (status, headers, times) in list(WAITS.items())[: 1 if options.short else None]:
                backs.append(said(told(store, database, options.keys, wait, (status, headers), times)))
        if not options.short:
            backs.append(said(come_back(STOCK, "", None, options.keys)))
            backs += [said(come_back(OURS, store, database, options.keys)) for store in stores]
    report.table(
        ["crawl", "store", "form", "left", "heard after ms", "on the wire", "inside", "back after s"],
        [(i.crawl, i.store, i.form, i.left, i.heard_ms, i.on_the_wire, i.inside, i.back_s) for i in insides],
    )
    if longers:
        report.table(
            ["store", "refused", "later", "hold s", "cause"],
            [(h.store, h.refused, h.later, h.hold_s, h.cause) for h in longers],
        )
    report.table(
        ["how", "store", "wait", "keys", "refused in s", "fullest second", "first s", "last s", "early"],
        [(b.how, b.store, b.wait, b.keys, f"{b.refused_in_s:.2f}", b.fullest, b.first_s, b.last_s, b.early) for b in backs],
    )
    if hands:
        report.table(["store", "retry: ms of each process"], [(h.store, ", ".join(f"{ms:.0f}" for ms in h.ms)) for h in hands])
    results = {
        "stated_s": STATED,
        "inside": [asdict(one) for one in insides],
        "longer": [asdict(one) for one in longers],
        "back": [asdict(one) for one in backs],
        "by_hand": [asdict(one) for one in hands],
    }
    report.finish(results, list(aims(insides, longers, backs, hands)))
    return 0


def said(found: T) -> T:
    sys.stderr.write(f"ran {found}\n")
    return found


if __name__ == "__main__":
    sys.exit(main())
