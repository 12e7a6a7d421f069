"""What is missing or stale for a tenth of the sites, as a crawl finds it: nothing here changes the truth, only what is seen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from benchmarks.worlds.building import DAY, HOUR, Draft
from benchmarks.worlds.software import toggled

if TYPE_CHECKING:
    from benchmarks.worlds.building import Builder

SHARE: Final = 0.10
TWICE: Final = 0.10
"""Of the faulty, how many have a second fault."""

LEFT: Final = ("shared_host", "hoster_machine", "family", "parked", "address_platform")
"""Where sites move away from, while others stay there."""

FAULTS: Final = {
    "no response": 2.0,
    "error page": 1.5,
    "stale DNS": 2.0,
    "no pointers": 1.0,
    "robots only": 1.5,
    "security toggled": 2.0,
    "no cookies": 1.5,
    "redirect": 1.0,
    "bot wall": 0.7,
    "headers stripped": 0.8,
}
"""Each fault, and how often it is the one."""


def spoil(b: Builder) -> None:
    """Puts faults into a tenth of the drafts of every kind."""
    places = [draft.addresses for draft in b.drafts if draft.kind in LEFT]
    for draft in b.drafts:
        if b.random.random() < SHARE:
            count = 2 if b.random.random() < TWICE else 1
            names = dict.fromkeys(b.random.choices(tuple(FAULTS), tuple(FAULTS.values()), k=count))
            for name in names:
                _put(b, draft, name, places)
            draft.fault = " + ".join(names)


def _put(b: Builder, draft: Draft, fault: str, places: list[tuple[str, ...]]) -> None:
    random = b.random
    match fault:
        case "no response":
            draft.kinds = ("nothing",)
        case "error page":
            draft.statuses = (random.choice((404, 500, 503)),)
        case "stale DNS":
            _stale(b, draft, places)
        case "no pointers":
            draft.pointed = False
        case "robots only":
            draft.kinds = ("robots",)
        case "security toggled":
            draft.look = toggled(random, draft.look)
        case "no cookies":
            draft.look = replace(draft.look, cookies=())
        case "redirect":
            draft.statuses = (301,)
        case "bot wall":
            draft.statuses = (403,) if random.random() < 0.7 else (429,)
        case _:
            # An owner or a proxy has taken out whatever tells about the software.
            draft.look = replace(draft.look, product=(), security=(), varying=(), server="")


def _stale(b: Builder, draft: Draft, places: list[tuple[str, ...]]) -> None:
    """Looked up long ago, at two to hundreds of its TTLs; a third has moved since. Half of them have answered lately."""
    random = b.random
    draft.asked = min(30 * DAY, draft.ttl * 10 ** random.uniform(0.3, 2.6))
    draft.seen = random.uniform(1.0, HOUR) if random.random() < 0.5 else draft.asked
    if draft.history is None and random.random() < 1 / 3:
        now, moved = draft.addresses, draft.asked * random.uniform(0.1, 0.9)
        before: tuple[str, ...] = (b.address(),)
        if random.random() < 0.7:
            # An IPv6 address there was its own, as likely as not; those who have stayed have theirs.
            before = tuple(address for address in random.choice(places) if ":" not in address)
        draft.peer = ""
        draft.history = lambda age: before if age > moved else now
