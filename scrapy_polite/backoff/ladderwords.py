"""Where a key stands on its ladders, in words for people."""

from __future__ import annotations

__all__ = ["standing"]


def standing(place: tuple[int, int] | None, refusals: int, park_after: int) -> str:
    """Where a key stands that was refused so often with no good answer between: how often, on which rung it waits, and when it
    is parked. `place`: as `Ladders.place` answers it; "" where that is None."""
    if place is None:
        return ""
    rung, rungs = place
    parked = f"; parked at the {_ordinal(park_after)}" if refusals < park_after else ""
    return f"{_ordinal(refusals)} in a row, rung {rung} of {rungs}{parked}"


def _ordinal(number: int) -> str:
    ending = "th" if 10 < number % 100 < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
