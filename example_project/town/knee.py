"""Servers with a known knee: workers, places to wait, 503 beyond. What the town, the benchmarks and the tests queue by.

Below its capacity a queue in front of workers is short. Above it the queue grows, so that answers become slow before one is
refused: that is the knee. Pure; `now` is an argument, and what waits for how long is known when it arrives.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from town.capacity import Overloaded, Served

if TYPE_CHECKING:
    from collections.abc import Callable

AT_ONCE: Final = 0.002
"""Seconds that a refusal takes."""


class Takes(Protocol):
    """What may stand in front of a server's pages."""

    def arrive(self, now: float, cost: float) -> Served | Overloaded: ...


class Line:
    """Workers, and a queue in the order of arrival. Whoever finds all places taken is not let in."""

    def __init__(self, workers: int, waiting: int) -> None:
        if workers < 1 or waiting < 0:
            raise ValueError(f"workers is {workers}, waiting is {waiting}: one worker at least, and no less than 0 places")
        self._waiting = waiting
        self._free = [0.0] * workers
        self._begins: deque[float] = deque()

    def take(self, now: float, done: Callable[[float], float]) -> float | None:
        """When the work of a request that arrives at `now` ends; None: it finds no place. `done`: its end, by its beginning."""
        while self._begins and self._begins[0] <= now:
            self._begins.popleft()
        if self._free[0] > now and len(self._begins) >= self._waiting:
            return None
        begin = max(now, self._free[0])
        if begin > now:
            self._begins.append(begin)
        end = done(begin)
        heapq.heapreplace(self._free, end)
        return end

    def lose(self, workers: int, until: float) -> None:
        """So many workers are gone until then, each after what it has to do."""
        for _ in range(workers):
            heapq.heapreplace(self._free, max(self._free[0], until))


class Spell(NamedTuple):
    """A time in which a server is `factor` times slower: seconds since its first visit."""

    since: float
    until: float
    factor: float


class Knee:
    """`workers` of `seconds` a cost unit, `waiting` places, and maybe a spell of slowness. See `Takes`.

    With places for everybody it is a server that is slow by nature: its answers take long, but never longer.
    """

    def __init__(self, workers: int, seconds: float, waiting: int, spell: Spell | None = None) -> None:
        if not seconds > 0:
            raise ValueError(f"seconds is {seconds!r}: a unit takes some time")
        self.capacity = workers / seconds
        self.spell = spell
        self._seconds = seconds
        self._line = Line(workers, waiting)
        self._first: float | None = None
        self._last = -math.inf

    def arrive(self, now: float, cost: float = 1.0) -> Served | Overloaded:
        """A request of `cost` units arrives at `now`; a time before the last one counts as the last one."""
        now = self._last = max(now, self._last)
        first = self._first = now if self._first is None else self._first
        end = self._line.take(now, lambda begin: begin + cost * self._seconds * self._slowness(begin - first))
        return Overloaded(AT_ONCE) if end is None else Served(end - now)

    def _slowness(self, since: float) -> float:
        spell = self.spell
        return spell.factor if spell is not None and spell.since <= since < spell.until else 1.0


def small_host(patience: float) -> Knee:
    """The town's server with a knee, before anybody came: it can take 8 units/s, and half of that while it makes its backup."""
    return Knee(2, 0.25, 8, Spell(6 * patience, 16 * patience, 2))


def knee_of(server: str, patience: float) -> Knee | None:
    """What stands in front of the pages of a server of that name; None: nothing."""
    if server == "knee":
        return small_host(patience)
    # By nature, and for as many as come.
    return Knee(16, 0.75, 64) if server == "slow" else None
