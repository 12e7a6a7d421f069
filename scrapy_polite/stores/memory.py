"""The store of one process: everything in dictionaries, gone when the process ends."""

from __future__ import annotations

import copy
import time
from threading import Lock
from typing import TYPE_CHECKING

from scrapy_polite.limits.gcra import NEW, Booked, Demand, Row, Wait, decide, settled, take

from .base import MICRO, Cause, Held, Peek, StoreError, hold_micros, settle_micros

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_polite.limits.gcra import Want


def monotonic_micros() -> int:
    """CLOCK_MONOTONIC in microseconds: no wall clock moves it, and all processes of a machine read the same."""
    return time.monotonic_ns() // 1000


class MemoryStore:
    """A `Store` in memory. `clock` answers microseconds and never goes back."""

    blocking = False

    def __init__(self, clock: Callable[[], int] = monotonic_micros) -> None:
        self._clock = clock
        self._lock = Lock()
        self._open = True
        self._rows: dict[str, Row] = {}
        self._causes: dict[str, Cause] = {}
        self._alias: dict[str, str] = {}
        # Names in order of age, each with its anchors; and the other way round.
        self._anchors: dict[str, list[str]] = {}
        self._named: dict[str, str] = {}

    def now(self) -> int:
        self._check()
        return self._clock()

    def book(self, wants: Sequence[Want], ahead: int = 0) -> list[Booked | Wait]:
        with self._lock:
            if not self._open:
                self._check()
            now, rows = self._clock(), self._rows
            if len(wants) == 1 and len(wants[0]) == 1 and not self._alias:
                # The same, without what only several need: twice as fast.
                (demand,) = wants[0]
                row = rows.get(demand.key)
                if row is None:
                    row = rows[demand.key] = Row(0, 0)
                return [take(demand, row, now, ahead)]
            answers: list[Booked | Wait] = []
            for want in wants:
                followed, asked = follow(want, self._alias) if self._alias else (want, {})
                outcome = decide(followed, rows, now, ahead)
                if isinstance(outcome, Wait):
                    answers.append(Wait(outcome.micros, asked.get(outcome.key, outcome.key)))
                else:
                    answers.append(outcome[0])
                    rows.update(outcome[1])
            return answers

    def hold(self, key: str, seconds: float, cause: Cause) -> float:
        micros = hold_micros(seconds)
        with self._lock:
            self._check()
            key, now = self._alias.get(key, key), self._clock()
            row = self._rows.get(key, NEW)
            if now + micros > max(row.hold, now):
                row = self._rows[key] = Row(row.due, row.last, now + micros)
                self._causes[key] = cause
            return max(0, row.hold - now) / MICRO

    def release(self, key: str) -> bool:
        with self._lock:
            self._check()
            key = self._alias.get(key, key)
            row = self._rows.get(key, NEW)
            self._causes.pop(key, None)
            if row.hold <= self._clock():
                return False
            self._rows[key] = Row(row.due, row.last)
            return True

    def settle(self, key: str, micros: int) -> None:
        with self._lock:
            self._check()
            key = self._alias.get(key, key)
            row = self._rows.get(key, NEW)
            # A key that is only held has no due time to move.
            if row.last:
                self._rows[key] = settled(row, settle_micros(micros))

    def peek(self, keys: Iterable[str]) -> dict[str, Peek]:
        with self._lock:
            self._check()
            now = self._clock()
            seen = {}
            for asked in keys:
                key = self._alias.get(asked, asked)
                row = self._rows.get(key, NEW)
                cause = self._causes.get(key) if row.hold > now else None
                seen[asked] = Peek(max(0, row.due - now, row.last - now) / MICRO, max(0, row.hold - now) / MICRO, cause)
            return seen

    def held(self) -> list[Held]:
        with self._lock:
            self._check()
            now = self._clock()
            return [
                Held(key, (self._rows[key].hold - now) / MICRO, cause)
                for key, cause in sorted(self._causes.items())
                if self._rows[key].hold > now
            ]

    def origin(self, anchors: Sequence[str], name: str) -> str:
        with self._lock:
            self._check()
            met = {self._named[anchor] for anchor in anchors if anchor in self._named}
            age = {known: position for position, known in enumerate(self._anchors)} if len(met) > 1 else {}
            oldest, *younger = sorted(met, key=lambda known: age.get(known, 0)) or [self._alias.get(name, name)]
            for other in younger:
                self._absorb(other, oldest)
            known = self._anchors.setdefault(oldest, []) if anchors else []
            for anchor in anchors:
                if anchor not in self._named:
                    self._named[anchor] = oldest
                    known.append(anchor)
            return oldest

    def _absorb(self, younger: str, older: str) -> None:
        for anchor in self._anchors[younger]:
            self._named[anchor] = older
        self._anchors[older] += self._anchors.pop(younger)
        for alias, target in self._alias.items():
            if target == younger:
                self._alias[alias] = older
        self._alias[younger] = older
        one, two = self._rows.get(older, NEW), self._rows.pop(younger, NEW)
        cause = self._causes.pop(younger, None)
        if cause is not None and two.hold > one.hold:
            self._causes[older] = cause
        self._rows[older] = Row(max(one.due, two.due), max(one.last, two.last), max(one.hold, two.hold))

    def origins(self) -> dict[str, list[str]]:
        with self._lock:
            self._check()
            return {name: sorted(anchors) for name, anchors in self._anchors.items()}

    def purge(self, idle: float, limit: int = 1000) -> int:
        with self._lock:
            self._check()
            before = self._clock() - hold_micros(idle)
            gone = [key for key, row in self._rows.items() if max(row.due, row.last, row.hold) < before][: max(0, limit)]
            for key in gone:
                del self._rows[key]
                self._causes.pop(key, None)
            return len(gone)

    def opened_again(self) -> MemoryStore:
        """The same rows, holds and origins under another name, which is closed for itself."""
        other = copy.copy(self)
        other._open = True
        return other

    def close(self) -> None:
        self._open = False

    def _check(self) -> None:
        if not self._open:
            raise StoreError("the store was closed")


OF_THIS_PROCESS = MemoryStore()
"""Two crawls in one process, one after the other or at once, are to a server what one is."""


def follow(want: Want, alias: dict[str, str]) -> tuple[Want, dict[str, str]]:
    """The want with every alias replaced by the name it stands for, and what each replaced key was called."""
    asked = {alias[demand.key]: demand.key for demand in want if demand.key in alias}
    if not asked:
        return want, asked
    return tuple(Demand(alias.get(d.key, d.key), d.increment, d.tolerance) for d in want), asked
