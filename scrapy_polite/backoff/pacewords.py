"""What the law of pace makes of a kind of page at an origin, in words for people."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

from .pace import pace
from .pacestate import FIRST_ANSWERS

if TYPE_CHECKING:
    from .pacestate import State

__all__ = ["because"]


def because(state: State, rate: float) -> str:
    """Why the pace is what it is: the clause after "since"."""
    if state.base is None or state.answers < FIRST_ANSWERS:
        return f"{state.answers} of the {FIRST_ANSWERS} answers are here that tell what its servers can do"
    usual = f"{_seconds(exp(state.base))} at low load"
    taken = f"answers take about {_seconds(exp(state.base + state.ratio))}, and {usual}"
    if state.over > 0:
        return taken
    if state.probing is not None:
        return f"{taken}; it goes slower for a moment to see what they take then"
    if state.wall > 0 and state.slow <= state.wall:
        return f"{taken}; but it was held, and comes back over minutes"
    if pace(state, rate) > 1:
        return f"{taken}; it is on its way back"
    return taken


def _seconds(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
