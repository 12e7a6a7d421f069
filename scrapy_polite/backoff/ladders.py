"""Ladders: how long a key is left alone after a refusal, longer each time that it refuses again.

Every kind of refusal has its own list of waits, its rungs. The first refusal waits for the first rung, the next one for
the second, and so on; the last rung is the ceiling. What a time that the server states does to this: it is waited in
full instead of the rung, and the rung is used up all the same.

**One step a block window.** When a server begins to refuse, everything that is in flight is refused. These are one
event and not sixteen: a refusal climbs only if its request *started* after the last hold had ended. An earlier one can
make the hold longer, by a time that the server states, and never shorter.

**Each kind counts for itself.** A challenge after three 429s is the first challenge.

**Success clears**, if its request started after the hold: the next refusal begins at the first rung.

**Jitter only lengthens.** Keys that were refused together must not come back together, and nobody comes back before the
time that was stated.

**A chance error is no refusal.** A bare 5xx begins a hold only as part of a `Run`: 3 in a row, or 5 of the last 10
answers. A hold of 30 s for every single one would stop a crawl with 5 % chance errors nearly for good.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

DEFAULT_RUNGS: dict[str, tuple[float, ...]] = {
    # Often passes by itself; asked again too soon, it stays.
    "challenge": (60, 180, 480, 900, 1800),
    # A limit's window is mostly a minute or a few: the first rung outlasts the usual one.
    "rate_limited": (120, 300, 900, 1800),
    # A decision about us. It is rarely taken back soon.
    "denied": (300, 900, 1800, 3600),
    # A deploy or a restart takes half a minute; a real outage is seen by the third rung.
    "error": (30, 120, 300),
}
"""Default of POLITE_LADDERS: seconds."""

IN_A_ROW = 3
OF_LAST = (5, 10)
"""When failures are a run: so many in a row, or (so many, of so many answers). Simulated at 2 requests a second, with
5 % chance errors: 0.3 and 3 false runs in 100,000 requests. A server that refuses everything is noticed after 3.
"""

_WINDOW = (1 << OF_LAST[1]) - 1
_ROW = (1 << IN_A_ROW) - 1


@dataclass(frozen=True, slots=True)
class State:
    """Where one key stands: refusals climbed by kind, and when its hold ends (the caller's clock, seconds)."""

    counts: tuple[tuple[str, int], ...] = ()
    held_until: float = 0.0

    def count(self, kind: str) -> int:
        """Steps taken on the ladder of `kind` since the last success."""
        return dict(self.counts).get(kind, 0)

    @property
    def refusals(self) -> int:
        """Steps taken on all ladders since the last success."""
        return sum(count for _, count in self.counts)


class Ladders:
    """The ladders of a crawl, from POLITE_LADDERS (`rungs`, seconds by kind) and POLITE_LADDER_JITTER.

    `jitter`: the part of a wait by which it may be lengthened at random. A kind without a ladder has that of "error".
    Wrong values are `ValueError`s that name the setting, the value and the accepted form.
    """

    def __init__(self, rungs: Mapping[str, Sequence[float]] | None = None, jitter: float = 0.15) -> None:
        self.rungs = DEFAULT_RUNGS | {kind: _checked(kind, waits) for kind, waits in (rungs or {}).items()}
        if isinstance(jitter, bool) or not isinstance(jitter, int | float) or not 0 <= jitter <= 1:
            raise ValueError(f"POLITE_LADDER_JITTER: {jitter!r} is no part of a wait. Give a number from 0 to 1, e.g. 0.15")
        self.jitter = jitter

    def step(
        self,
        state: State | None,
        kind: str,
        started: float,
        now: float,
        random: Callable[[], float],
        stated: float | None = None,
    ) -> tuple[State, float]:
        """A refusal was heard: the new state, and the seconds from `now` for which the key is to be held.

        Args:
            state: where the key stood; None: no refusal since the last success.
            kind: of the refusal.
            started: when its request went onto the wire.
            now: the same clock, seconds.
            random: a number in [0, 1), drawn only when a wait is set.
            stated: seconds that the server named.
        """
        state = state or State()
        count = state.count(kind)
        # The first of its kind climbs in any case: it is news, also in the middle of another kind's hold.
        climbs = count == 0 or started >= state.held_until
        counts, until = state.counts, state.held_until
        if climbs:
            counts = (*((other, steps) for other, steps in counts if other != kind), (kind, count + 1))
        if climbs or stated is not None:
            rungs = self.rungs.get(kind, self.rungs["error"])
            wait = stated if stated is not None else rungs[min(count, len(rungs) - 1)]
            if now + wait > until or climbs:
                until = max(until, now + wait + wait * self.jitter * random())
        return State(counts, until), max(0.0, until - now)


def success(state: State | None, started: float | None = None) -> State | None:
    """A good answer was heard: None, everything is forgotten; unless its request `started` before the hold ended.

    Such an answer was under way when the refusal came, and says nothing about what the server thinks since.
    """
    if state is None or started is None or started >= state.held_until:
        return None
    return state


@dataclass(frozen=True, slots=True)
class Run:
    """The last answers of a site as a 10-bit number, the newest in the lowest bit; 1: it failed."""

    bits: int = 0

    def heard(self, failed: bool) -> Run:
        """The run after one more answer."""
        return Run((self.bits << 1 | failed) & _WINDOW)

    @property
    def broken(self) -> bool:
        """Whether the failures are a run, and the newest answer is one of them."""
        bits = self.bits
        return bool(bits & 1) and (bits & _ROW == _ROW or bits.bit_count() >= OF_LAST[0])


def _checked(kind: object, waits: object) -> tuple[float, ...]:
    wrong = (
        f"POLITE_LADDERS: {kind!r}: {waits!r} is no ladder. Give by kind a list of seconds, each above 0 and none "
        'shorter than the one before it, e.g. {"error": [30, 120, 300]}'
    )
    if not isinstance(kind, str) or not kind or not isinstance(waits, list | tuple) or not waits:
        raise ValueError(wrong)
    checked: list[float] = []
    for wait in waits:
        if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 < wait < math.inf:
            raise ValueError(wrong)
        if checked and wait < checked[-1]:
            raise ValueError(wrong)
        checked.append(wait)
    return tuple(checked)
