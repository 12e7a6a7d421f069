"""Ladders: how long a key is left alone after a refusal, longer each time that it refuses again.

Every kind of refusal has its own list of waits, its rungs. The first refusal waits for the first rung, the next one for
the second, and so on; the last rung is the ceiling. What a time that the server states does to this: it is waited in
full instead of the rung, and the rung is used up all the same.

**One step a block window.** When a server begins to refuse, everything that is in flight is refused. These are one
event and not sixteen: a refusal climbs only if its request *started* after the last hold had ended. An earlier one can
make the hold longer, by a time that the server states, and never shorter.

**Each kind counts for itself.** A challenge after three 429s is the first challenge.

**Success clears**, if its request started after the hold: the next refusal begins at the first rung.

**The spread only lengthens.** Keys that were refused together must not come back together, and nobody comes back before
the time that was stated, or the rung: `spread` says how.

**A chance error is no refusal.** A bare 5xx, or a download that failed, begins a hold only as part of a `Run`: 3 in a row,
or 5 of the last 10 answers. A hold of 30 s for every single one would stop a crawl with 5 % chance errors nearly for good.

**What a state is.** Numbers, which a store keeps as a row. Where two processes have gone on from one row, what they know
together is the higher rung of each kind, and the later end.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .spread import JITTER, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

DEFAULT_RUNGS: dict[str, tuple[float, ...]] = {
    # -- What a server answered.
    # Often passes by itself; asked again too soon, it stays.
    "challenge": (60, 180, 480, 900, 1800),
    # A limit's window is mostly a minute or a few: the first rung outlasts the usual one.
    "rate_limited": (120, 300, 900, 1800),
    # A decision about us. It is rarely taken back soon.
    "denied": (300, 900, 1800, 3600),
    # A deploy or a restart takes half a minute; a real outage is seen by the third rung.
    "error": (30, 120, 300),
    # -- What a download failed at, before there was an answer.
    # Resolvers keep a failure for up to 5 minutes (RFC 2308, 7.1; RFC 9520, 3.2): asked again before, they answer from
    # memory. The second rung outlasts that. A name that is broken for longer waits for a person.
    "dns": (60, 300, 900, 3600),
    # Nobody listens: a restart (first rung), or an address that was banned. Bans are often 10 minutes, the default of
    # fail2ban's `bantime`, and asking during one may renew it.
    "connect": (30, 120, 600, 1800),
    # A certificate or a protocol: nothing of that passes by itself, and handshakes are dear for the server.
    "tls": (120, 600, 1800, 3600),
    # The server is likely still at work on what we no longer wait for: the next request would come on top.
    "timeout": (60, 180, 600, 1800),
    # A process that died, or a box in between that lost its state. Mostly over with the restart.
    "reset": (30, 120, 300, 900),
}
"""Default of POLITE_LADDERS: seconds."""

IN_A_ROW = 3
OF_LAST = (5, 10)
"""When failures are a run: so many in a row, or (so many, of so many answers). Simulated at 2 requests a second, with
5 % chance errors: 0.3 and 3 false runs in 100,000 requests. A server that refuses everything is noticed after 3.
"""

HELD_UNTIL = "held_until"
"""The column of a row that is no kind."""

MOST_STEPS = 1_000_000
"""Steps that are counted at most. It is beyond every ceiling and every POLITE_PARK_AFTER."""

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

    def merged(self, other: State) -> State:
        """What two processes know of one key together: never lower on a ladder than one of them, and held as long as the
        one says that holds it longer. The order does not matter, and once is as good as twice.
        """
        mine, theirs = dict(self.counts), dict(other.counts)
        counts = {kind: max(mine.get(kind, 0), theirs.get(kind, 0)) for kind in sorted(mine | theirs)}
        return State(tuple(counts.items()), max(self.held_until, other.held_until))

    def as_row(self) -> dict[str, float]:
        """The state as numbers by name: `held_until`, and the steps of each kind that has climbed. Fit for JSON."""
        return {HELD_UNTIL: self.held_until, **dict(self.counts)}

    @classmethod
    def from_row(cls, row: Mapping[str, object]) -> State:
        """The state that `as_row` gave. A value that is no such number (a damaged row) is left out, the others count."""
        counts = (
            (kind, int(min(steps, MOST_STEPS)))
            for kind, value in row.items()
            if kind != HELD_UNTIL and (steps := _number(value)) is not None and steps >= 1
        )
        return cls(tuple(counts), max(0.0, _number(row.get(HELD_UNTIL)) or 0.0))


class Ladders:
    """The ladders of a crawl, from POLITE_LADDERS (`rungs`, seconds by kind) and POLITE_LADDER_JITTER.

    `jitter`: the part of a wait by which it may be lengthened. Kinds that `rungs` does not name keep their default.
    Wrong values are `ValueError`s that name the setting, the value and the accepted form.
    """

    def __init__(self, rungs: Mapping[str, Sequence[float]] | None = None, jitter: float = JITTER) -> None:
        self.rungs = DEFAULT_RUNGS | {kind: _checked(kind, waits) for kind, waits in (rungs or {}).items()}
        if isinstance(jitter, bool) or not isinstance(jitter, int | float) or not 0 <= jitter <= 1:
            raise ValueError(f"POLITE_LADDER_JITTER: {jitter!r} is no part of a wait. Give a number from 0 to 1, e.g. 0.15")
        self.jitter = jitter

    def rung(self, kind: str, count: int) -> float:
        """Seconds of the rung after `count` steps: the first for 0, the ceiling for every number beyond the ladder."""
        rungs = self.rungs.get(kind, self.rungs["error"])
        return rungs[min(count, len(rungs) - 1)]

    def place(self, state: State, kind: str) -> tuple[int, int] | None:
        """The rung that the last refusal of `kind` waits for, counted from 1, and how many its ladder has; None: it has not
        climbed."""
        steps, rungs = state.count(kind), len(self.rungs.get(kind, self.rungs["error"]))
        return (min(steps, rungs), rungs) if steps else None

    def sets(
        self, state: State | None, kind: str, started: float, now: float, stated: float | None = None, *, rung: bool = True
    ) -> float | None:
        """Seconds that a refusal asks for, before anything is added, if it climbs or makes the hold longer; None: it changes
        nothing. Arguments as of `step`."""
        state = state or State()
        climbs = self._climbs(state, kind, started, rung)
        least = self.rung(kind, state.count(kind)) if stated is None else stated
        return least if climbs or (stated is not None and now + least > state.held_until) else None

    def step(
        self,
        state: State | None,
        kind: str,
        started: float,
        now: float,
        random: Callable[[], float],
        stated: float | None = None,
        *,
        rung: bool = True,
        place: int = 0,
    ) -> tuple[State, float]:
        """A refusal was heard: the new state, and the seconds from `now` for which the key is to be held.

        Args:
            state: where the key stood; None: no refusal since the last success.
            kind: of the refusal.
            started: when its request went onto the wire.
            now: the same clock, seconds.
            random: a number in [0, 1), drawn only when a wait is set.
            stated: seconds that the server named.
            rung: whether it uses up a rung. False for a quota that is spent (`RateLimit` with r=0): the server said so
                before it had to refuse, and the time that it states is all there is to it.
            place: of the key among those whose waits end with its own (`spread.take`).
        """
        least = self.sets(state, kind, started, now, stated, rung=rung)
        state = state or State()
        counts, until = state.counts, state.held_until
        if self._climbs(state, kind, started, rung):
            steps = min(state.count(kind) + 1, MOST_STEPS)
            counts = (*((other, taken) for other, taken in counts if other != kind), (kind, steps))
        if least is not None:
            until = max(until, now + wait_for(least, stated, place, random(), self.jitter))
        return State(counts, until), max(0.0, until - now)

    @staticmethod
    def _climbs(state: State, kind: str, started: float, rung: bool) -> bool:
        # The first of its kind climbs in any case: it is news, also in the middle of another kind's hold.
        return rung and (state.count(kind) == 0 or started >= state.held_until)


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

    @classmethod
    def of(cls, bits: int) -> Run:
        """The run that a store kept as `bits`."""
        return cls(bits & _WINDOW)

    def heard(self, failed: bool) -> Run:
        """The run after one more answer."""
        return Run((self.bits << 1 | failed) & _WINDOW)

    @property
    def broken(self) -> bool:
        """Whether the failures are a run, and the newest answer is one of them."""
        bits = self.bits
        return bool(bits & 1) and (bits & _ROW == _ROW or bits.bit_count() >= OF_LAST[0])


def _number(value: object) -> float | None:
    """A finite number that is no truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _checked(kind: object, waits: object) -> tuple[float, ...]:
    wrong = (
        f"POLITE_LADDERS: {kind!r}: {waits!r} is no ladder. Give by kind a list of seconds, each above 0 and none "
        'shorter than the one before it, e.g. {"error": [30, 120, 300]}'
    )
    if kind not in DEFAULT_RUNGS:
        near = difflib.get_close_matches(str(kind), DEFAULT_RUNGS, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else "."
        raise ValueError(f"POLITE_LADDERS: {kind!r} is no kind of refusal{meant} Kinds: {', '.join(DEFAULT_RUNGS)}")
    if not isinstance(waits, list | tuple) or not waits:
        raise ValueError(wrong)
    checked: list[float] = []
    for wait in waits:
        if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 < wait < math.inf:
            raise ValueError(wrong)
        if checked and wait < checked[-1]:
            raise ValueError(wrong)
        checked.append(wait)
    return tuple(checked)
