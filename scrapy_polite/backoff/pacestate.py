"""What the law of pace keeps of one kind of page on one key: fourteen plain numbers, which a store keeps as they are.

All processes of a crawl share one row. Two rows that are averaged, or of which the last writer wins, let requests through
that are refused: so a store reads the row, observes, and writes it back in one transaction.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSION = 1
"""First number of a row. It changes with the meaning of the others."""

PACE_MAX = 16.0
"""The greatest pace. With every rate that a crawl has, a key is still heard often enough at a sixteenth to recover."""

FASTEST, SLOWEST = 1e-4, 86_400.0
"""Seconds: latencies are taken as no shorter and no longer than these."""

FIRST_ANSWERS = 8
"""Answers that make the first baseline."""

SEEN_MIN, SEEN_MAX = -1.5, math.log(16)
"""Within these the logarithm of one answer's latency over the baseline is taken: one page that takes a minute is one page."""

SCATTER_MAX = 2.0
"""The same for how far one answer lies from the fast average."""

LN2 = math.log(2)


class State(NamedTuple):
    """One kind of page on one key. Times are seconds of the store's clock, all else natural logarithms and counts."""

    slow: float
    """The slow part of ln pace."""
    base: float | None = None
    """ln of the latency (seconds to the first byte) at low load; None: not yet heard."""
    scatter: float = 0.3
    """How far answers lie from their average: mean absolute deviation of ln latency."""
    answers: int = 0
    """Good answers, counted up to FIRST_ANSWERS."""
    ratio: float = 0.0
    """Fast average of ln(latency) - base."""
    over: float = -LN2
    """The ratio, less the threshold above which it slows the key down."""
    at: float | None = None
    """Time of the newest observation."""
    knee: float | None = None
    """The slow part when the ratio last rose over the threshold: near it, it moves carefully."""
    wall: float = 0.0
    """The slow part stays above this for a while after a hold."""
    walls: int = 0
    """Holds since the wall was last down."""
    probed: float = 0.0
    """End of the last probe."""
    probing: float | None = None
    """Set while a probe runs: answers to requests that started after this time count for it."""
    probe_sum: float = 0.0
    """Of ln(latency) - base, over the answers of the probe."""
    probe_answers: int = 0

    @property
    def careful(self) -> float:
        """ln pace as it would be without a ceiling, probes aside: what two states are compared by."""
        return self.slow + max(0.0, self.over)


def as_row(state: State) -> tuple[float | None, ...]:
    """The numbers to be stored, in a fixed order, the version first."""
    return (VERSION, *state)


def from_row(row: Sequence[object]) -> State | None:
    """The state of a stored row; None for a row of another version or with impossible numbers: the key starts anew."""
    if len(row) != 1 + len(State._fields) or row[0] != VERSION:
        return None
    numbers: dict[str, float | None] = {}
    for name, value in zip(State._fields, row[1:], strict=True):
        if value is None and name in _MAY_BE_NONE:
            numbers[name] = None
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        least, most = _RANGES.get(name, _ANY)
        if not least <= value <= most:
            return None
        numbers[name] = int(value) if name in _COUNTS else float(value)
    return State(**numbers)  # type: ignore[arg-type]  # each was checked for its own field


def merged(one: State, other: State) -> State:
    """The more careful of the states of two keys that turn out to be one: its pace is no less than that of either.

    The order does not matter. Its baseline is the winner's own: averaged over two servers it would be that of neither,
    and a probe mends it if it does not fit.
    """
    best = max(one, other, key=_rank)
    wall = max(one.wall, other.wall)
    return best._replace(wall=wall, walls=max(one.walls, other.walls), slow=max(best.slow, wall))


def parted(whole: State) -> State:
    """The state of what was a part of another key and stands by itself now: no faster than the whole was, for a while.

    What was measured of the whole is not true of the part: it learns its own baseline. How much slower it goes meanwhile
    comes back over minutes, as after a hold; nothing was heard of it yet (`at`).
    """
    slow = min(_SLOW[1], max(whole.wall, whole.careful))
    return State(slow, wall=slow, walls=max(1, whole.walls) if slow else 0)


def _rank(state: State) -> tuple[float, ...]:
    # What follows the first two only makes the choice the same whichever comes first.
    return (state.careful, state.answers, *(-math.inf if value is None else value for value in state))


_MAY_BE_NONE = {"base", "at", "knee", "probing"}
_COUNTS = {"answers", "walls", "probe_answers"}
_SLOW = (0.0, math.log(PACE_MAX))
# A probe may move the baseline, and with it the ratio, by as much as one answer can differ from it.
_RATIO = (2 * SEEN_MIN - SCATTER_MAX, 2 * SEEN_MAX + SCATTER_MAX)
_ANY = (-1e12, 1e12)
_RANGES = {
    "slow": _SLOW,
    "base": (math.log(FASTEST) + SEEN_MIN, math.log(SLOWEST) + SEEN_MAX),
    "scatter": (0.0, SCATTER_MAX),
    "answers": (0, FIRST_ANSWERS),
    "ratio": _RATIO,
    "over": (2 * _RATIO[0], _RATIO[1]),
    "knee": _SLOW,
    "wall": _SLOW,
    "walls": (0, 1_000_000),
    "probe_answers": (0, 1_000),
}
