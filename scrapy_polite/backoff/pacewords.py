"""What the law of pace makes of a kind of page at an origin, in words for people."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

from .pace import REFUSED_TIMES, pace
from .pacestate import FIRST_ANSWERS

if TYPE_CHECKING:
    from .pacestate import State

__all__ = ["HELD", "because", "is_first_contact", "one_of"]

HELD = "it was held"
"""Where nobody knows any more by what."""


def one_of(kind: str) -> str:
    """One page of a kind, in words."""
    if kind == "robots":
        return "robots.txt"
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"


def is_first_contact(state: State) -> bool:
    """Whether it is slow for no other reason than that nothing is known of it yet."""
    return not _is_known(state) and state.wall <= 0 and state.over <= 0


def because(state: State, rate: float, held: str = HELD) -> str:
    """Why the pace is what it is: the clause after "since". ``held``: what has held it last, where that is known."""
    if state.base is None or not _is_known(state):
        heard = f"{state.answers} of the {FIRST_ANSWERS} answers are here that tell what its servers can do"
        if state.wall > 0:
            return f"{held}, and comes back over minutes; {heard}"
        return f"a 429, a 503 or a time-out was heard; {heard}" if state.over > 0 else heard
    usual = f"{_seconds(exp(state.base))} at low load"
    taken = f"answers take about {_seconds(exp(state.base + state.ratio))}, and {usual}"
    if state.over > 0:
        return f"{held}; {taken} (a 429 or 503 counts as {REFUSED_TIMES} times that)" if state.wall > 0 else taken
    if state.probing is not None:
        return f"{taken}; it goes slower for a moment to see what they take then"
    if state.wall > 0 and state.slow <= state.wall:
        return f"{taken}; but {held}, and comes back over minutes"
    if pace(state, rate) > 1:
        return f"{taken}; it is on its way back"
    return taken


def _is_known(state: State) -> bool:
    return state.base is not None and state.answers >= FIRST_ANSWERS


def _seconds(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
