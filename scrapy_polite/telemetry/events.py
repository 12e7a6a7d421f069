"""What the ledger records. All times are microseconds of the store's clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_polite.limits.plan import Charge


@dataclass(frozen=True, slots=True)
class Sent:
    """A request went onto the wire in its slot, [slot, slot + width). `at` is read just after the flush."""

    at: int
    slot: int
    width: int
    site: str
    kind: str
    url: str
    charges: tuple[Charge, ...]


@dataclass(frozen=True, slots=True)
class Missed:
    """The request of this slot was not on the wire in time."""

    at: int
    slot: int
    key: str


@dataclass(frozen=True, slots=True)
class HeldEvent:
    """From `at` on nothing more was to be booked on `key` before `until`; at or before `at`: its hold was ended then.

    `at` is read after the store has answered, so that what another process booked meanwhile is before it.
    """

    at: int
    key: str
    until: int
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class Refunded:
    """A proven hit of the edge in front: the request that left in `slot` never came to what `key` stands for, and `cost` units
    were given back to it."""

    at: int
    key: str
    slot: int
    cost: float


@dataclass(frozen=True, slots=True)
class Merged:
    """From `at` on what is charged to `name` is charged to `into`. Both the same: `name` stands by itself again."""

    at: int
    name: str
    into: str


Event = Sent | Missed | HeldEvent | Refunded | Merged
