"""One booking over all keys of a request: the generic cell rate algorithm with two numbers a key.

The algorithm is the *virtual scheduling* form of GCRA (ITU-T I.371; ATM Forum, Traffic Management 4.1): per key the
time at which its next slot starts (`due`, there the "theoretical arrival time"), moved on by an *increment* with every
slot, and a *tolerance* by which a slot may start earlier than that.

Two things differ from the text book, both because one request moves several keys at once:

* `last`, the newest slot that was handed out. Another key may have pushed a slot of this key into the future; without
  `last` a tolerance would let a later booking be placed before it, and sorted by time the slots would break the bound.
* the answer to "not yet" is a wait, and changes nothing. Nobody stands in line inside a row, so a slow site never keeps
  the origin that it shares with others from being used.

A cost above the burst is admitted, and pays in time: it moves `due` by its whole increment, however long that is. There
is no cost that could never pass.

All times are integer microseconds of one clock, the store's. What holds for the slots of a key, for any sequence of
calls: the increments of the slots in a span of length L add up to at most L + tolerance + the last increment; without
burst (tolerance = slot width) two slots are never closer than the first one's increment less the width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

# What is made for every booking is not frozen, which would take four times as long to make.


@dataclass(slots=True)
class Row:
    """What is kept per key (microseconds of the store's clock). A key that was never seen is `NEW`, which nobody changes."""

    due: int
    """When the next slot starts, tolerance aside."""
    last: int
    """Start of the newest slot that was handed out."""
    hold: int = 0
    """No slot starts before this. Kept apart from `due`, so that releasing a hold gives back nothing that was spent."""


NEW = Row(0, 0)


class Demand(NamedTuple):
    """What one request asks of one key: to move it by `increment`, at most `tolerance` before it is due (us)."""

    key: str
    increment: int
    tolerance: int


Want = tuple[Demand, ...]
"""All demands of one request: booked together or not at all."""


@dataclass(slots=True)
class Booked:
    """The request may go onto the wire in [slot, slot + width). `now` is the clock's reading behind the decision."""

    slot: int
    now: int


@dataclass(slots=True)
class Wait:
    """Not yet: ask again after `micros`. Nothing was changed. `key` is the one that comes free last."""

    micros: int
    key: str


def merged(want: Want) -> Want:
    """The same want with every key once: increments add up, and the stricter tolerance stands."""
    by_key: dict[str, Demand] = {}
    for demand in want:
        known = by_key.get(demand.key)
        by_key[demand.key] = (
            demand
            if known is None
            else Demand(demand.key, known.increment + demand.increment, min(known.tolerance, demand.tolerance))
        )
    return tuple(by_key.values())


def decide(want: Want, rows: Mapping[str, Row], now: int, ahead: int) -> tuple[Booked, dict[str, Row]] | Wait:
    """Book one slot on all keys of `want`, or say how long to wait.

    Args:
        want: the demands of one request. An empty want is booked at once.
        rows: what is known of the keys; one that is missing is new.
        now: the clock, read once, and after whatever protects the rows was taken.
        ahead: how far beyond `now` the slot may lie (microseconds). 0 binds late: the slot is now.

    Returns:
        `Booked` and the new rows of exactly the wanted keys, to be written together; or `Wait`, with nothing to write.
        The same want at `now + micros` is booked, if no other booking and no hold came between.
    """
    slot, slowest = now, ""
    for demand in want:
        row = rows.get(demand.key, NEW)
        free = max(row.due - demand.tolerance, row.last, row.hold)
        if free > slot:
            slot, slowest = free, demand.key
    if slot > now + ahead:
        return Wait(slot - now, slowest)
    moved = {}
    for demand in want:
        row = rows.get(demand.key, NEW)
        moved[demand.key] = Row(max(row.due, slot) + demand.increment, slot, row.hold)
    if len(moved) < len(want):
        # A key stands there twice. Its stricter tolerance was kept; that it pays twice is left to do.
        return decide(merged(want), rows, now, ahead)
    return Booked(slot, now), moved


def take(demand: Demand, row: Row, now: int, ahead: int) -> Booked | Wait:
    """:func:`decide` for a want of one key, made for speed: nothing is looked up, and `row` itself is moved."""
    due = row.due
    slot = due - demand.tolerance
    if row.last > slot:
        slot = row.last
    if row.hold > slot:
        slot = row.hold
    if slot < now:
        slot = now
    if slot > now + ahead:
        return Wait(slot - now, demand.key)
    row.due = max(slot, due) + demand.increment
    row.last = slot
    return Booked(slot, now)


def settled(row: Row, micros: int) -> Row:
    """The row with its `due` moved by a cost that was known only afterwards (microseconds; negative: a refund).

    Never below `last`: no slot that was handed out is undone, and the next one does not start before it.
    """
    return Row(max(row.last, row.due + micros), row.last, row.hold)
