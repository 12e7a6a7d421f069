"""What the platform's servers can take: a queue with a capacity in cost units per second.

Pure; `now` is an argument.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

WINDOW: Final = 2.0
"""Seconds over which load is felt."""
QUEUE: Final = 1.0
"""Seconds of work that may wait; what would wait longer gets a 503."""
TOP: Final = 0.97
"""Load at which the slow-down stops growing, so that latency stays bounded."""


@dataclass(frozen=True, slots=True)
class Served:
    """The request is taken; the answer is ready after `latency` seconds."""

    latency: float


@dataclass(frozen=True, slots=True)
class Overloaded:
    """The request is not taken (503), told after `latency` seconds."""

    latency: float


class Servers:
    """Servers that share one queue. Latency is ``base / (1 - load)`` plus the time that waiting work takes.

    `load` is the work of the last seconds (exponentially weighted over `WINDOW`) over capacity; the queue drains at
    `capacity` units a second. Work that is refused costs nothing, but is felt as load.
    """

    def __init__(self, capacity: float, base: float = 0.02) -> None:
        if not capacity > 0:
            raise ValueError(f"capacity is {capacity!r}: it must be a positive number of cost units per second")
        self.capacity = capacity
        self.base = base
        self._at = -math.inf
        self._waiting = 0.0
        self._felt = 0.0

    def _pass(self, now: float) -> None:
        passed = now - self._at
        if passed > 0:
            self._waiting = max(0.0, self._waiting - passed * self.capacity)
            self._felt *= math.exp(-passed / WINDOW)
            self._at = now

    def load(self, now: float) -> float:
        """Offered work over capacity as felt at `now`; 1 means: as much as the servers can do."""
        self._pass(now)
        return self._felt / (WINDOW * self.capacity)

    def arrive(self, now: float, cost: float) -> Served | Overloaded:
        """A request of `cost` units arrives at `now`; a time before the last one counts as the last one."""
        load = self.load(now)
        self._felt += cost
        slowed = self.base / (1.0 - min(load, TOP))
        if self._waiting + cost > QUEUE * self.capacity and self._waiting > 0:
            return Overloaded(slowed)
        latency = slowed + self._waiting / self.capacity
        self._waiting += cost
        return Served(latency)
