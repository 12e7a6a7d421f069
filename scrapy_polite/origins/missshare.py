"""How much of what is asked of an edge its origin has to answer lately: for people, and decided by nothing.

An estimate is what a limit must not rest on: when a hit rate falls, it says for a while what was true before, and in that while
the origin gets too much (1.2 of its rate in the worst ten seconds, where a charge ahead keeps within 1.05).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

__all__ = ["MissShares"]

WEIGHT: Final = 0.05
"""Of the newest answer: about the last forty count."""

REMEMBERED: Final = 10_000
"""Edge keys; who was not heard of for longest goes first."""


class MissShares:
    """Exponentially weighted shares of misses by key, 0 to 1; the first answers count as many as there are."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._shares: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def heard(self, key: str, hit: bool) -> None:
        """One answer of the edge."""
        count, share = self._shares.pop(key, (0, 0.0))
        count += 1
        self._shares[key] = (count, share + max(WEIGHT, 1 / count) * ((not hit) - share))
        if len(self._shares) > self._most:
            self._shares.popitem(last=False)

    def of(self, key: str) -> float | None:
        """Its share of misses; None where nothing was heard."""
        known = self._shares.get(key)
        return None if known is None else known[1]
