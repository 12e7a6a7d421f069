"""What the events of a ledger say of each key: what was charged to it, what was given back, its holds and its missed slots.

Two things move a charge to where it belongs. A refund undoes one: that request was answered by an edge, and never came to what
the key stands for. And from a merge on, what is charged to the one name is charged to the other.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .events import Event, HeldEvent, Merged, Missed, Refunded, Sent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_polite.limits.plan import Charge

__all__ = ["Account", "Accounts", "accounts"]


@dataclass(slots=True)
class Account:
    """One key, in the order of time. `refunded`: places in `sent` that were given back; `missed`: slots."""

    sent: list[tuple[Sent, Charge]] = field(default_factory=list)
    refunded: set[int] = field(default_factory=set)
    missed: set[int] = field(default_factory=set)
    held: list[HeldEvent] = field(default_factory=list)

    @property
    def kept(self) -> list[tuple[Sent, Charge]]:
        """What was charged and not given back."""
        return [one for place, one in enumerate(self.sent) if place not in self.refunded] if self.refunded else self.sent


@dataclass(frozen=True, slots=True)
class Accounts:
    """`start` and `end`: the first and the last time that is told of (microseconds); `requests` that were sent."""

    of: dict[str, Account]
    start: int
    end: int
    requests: int


def accounts(events: Iterable[Event]) -> Accounts:
    """The accounts of all keys, from events of one boot in any order."""
    found: defaultdict[str, Account] = defaultdict(Account)
    alias: dict[str, str] = {}
    charged: defaultdict[tuple[str, int, float], list[tuple[Account, int]]] = defaultdict(list)
    refunds: list[Refunded] = []
    times: list[int] = []
    requests = 0
    for event in sorted(events, key=lambda event: event.at):
        times.append(event.at)
        if isinstance(event, Sent):
            requests += 1
            for charge in event.charges:
                account = found[alias.get(charge.key, charge.key)]
                if charge.refundable:
                    charged[charge.key, event.slot, charge.cost].append((account, len(account.sent)))
                account.sent.append((event, charge))
        elif isinstance(event, Missed):
            found[alias.get(event.key, event.key)].missed.add(event.slot)
        elif isinstance(event, HeldEvent):
            found[alias.get(event.key, event.key)].held.append(event)
        elif isinstance(event, Refunded):
            refunds.append(event)
        else:
            _merge(alias, event)
    # At the end, since stamps of several processes may be out of order by a little: a refund belongs to its slot.
    for refund in refunds:
        places = charged.get((refund.key, refund.slot, refund.cost))
        if places:
            account, place = places.pop()
            account.refunded.add(place)
    return Accounts(dict(found), times[0] if times else 0, times[-1] if times else 0, requests)


def _merge(alias: dict[str, str], event: Merged) -> None:
    """Every alias points at the name that stands, in one step."""
    if event.name == event.into:
        alias.pop(event.name, None)
        return
    root = alias.get(event.into, event.into)
    if root == event.name:
        return
    for name, target in alias.items():
        if target == event.name:
            alias[name] = root
    alias[event.name] = root
