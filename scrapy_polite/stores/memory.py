"""The store of one process: everything in dictionaries, gone when the process ends."""

from __future__ import annotations

import copy
import time
from threading import Lock
from typing import TYPE_CHECKING

from scrapy_polite.limits.gcra import NEW, Booked, Demand, Row, Wait, decide, settled, take

from .base import MICRO, Cause, Held, Peek, StoreError, checked, checked_note, hold_micros, settle_micros
from .memorydeferred import MemoryDeferred
from .memoryorigins import Known

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_polite.limits.gcra import Want

    from .base import Kept, News, Ruling


def monotonic_micros() -> int:
    """CLOCK_MONOTONIC in microseconds: no wall clock moves it, and all processes of a machine read the same."""
    return time.monotonic_ns() // 1000


class MemoryStore(MemoryDeferred):
    """A `Store` in memory. `clock` answers microseconds and never goes back; `wall` the seconds of the wall clock."""

    blocking = False

    def __init__(self, clock: Callable[[], int] = monotonic_micros, wall: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._wall = wall
        self._lock = Lock()
        self._open = True
        self._rows: dict[str, Row] = {}
        self._causes: dict[str, Cause] = {}
        self._alias: dict[str, str] = {}
        # When each alias was last asked for.
        self._asked: dict[str, float] = {}
        self._known = Known()
        self._shelved = {}

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

    def merge(self, name: str, into: str) -> None:
        with self._lock:
            self._check()
            younger, older = self._alias.get(name, name), self._alias.get(into, into)
            if younger == older:
                return
            asked = self._wall()
            for alias in (younger, *self._names_of(younger)):
                self._alias[alias] = older
                self._asked[alias] = asked
            self._hand_on(younger, older)
            self._rows.pop(younger, None)
            self._causes.pop(younger, None)
            self._known.unnote(younger)

    def split(self, name: str, of: str) -> None:
        with self._lock:
            self._check()
            root = self._alias.get(name, name)
            if root != self._alias.get(of, of) or (name == root and of == root):
                return
            if name != root:
                self._unalias(name)
                self._hand_on(root, name)
                return
            # The name that stands leaves: what is one with it stays with `of`.
            self._unalias(of)
            for alias in self._names_of(name):
                self._alias[alias] = of
            self._hand_on(name, of)

    def _names_of(self, root: str) -> list[str]:
        return sorted(alias for alias, target in self._alias.items() if target == root)

    def _unalias(self, name: str) -> None:
        del self._alias[name], self._asked[name]

    def _hand_on(self, one: str, other: str) -> None:
        """`other` is due no earlier than `one`, and held as long, for the reason of whichever hold is later."""
        given, had = self._rows.get(one), self._rows.get(other, NEW)
        if given is None:
            return
        if one in self._causes and given.hold > had.hold:
            self._causes[other] = self._causes[one]
        self._rows[other] = Row(max(given.due, had.due), max(given.last, had.last), max(given.hold, had.hold))

    def standing(self, names: Iterable[str]) -> dict[str, str]:
        with self._lock:
            self._check()
            now, found = self._wall(), {}
            for name in names:
                found[name] = self._alias.get(name, name)
                if name in self._asked:
                    self._asked[name] = now
            return found

    def aliases_of(self, origins: Iterable[str], most: int = 100) -> dict[str, list[str]]:
        with self._lock:
            self._check()
            found = {origin: self._names_of(origin)[: max(0, most)] for origin in origins}
            return {origin: names for origin, names in found.items() if names}

    def ages(self, anchors: Iterable[str], *, allot: bool = True) -> dict[str, int]:
        with self._lock:
            self._check()
            return self._known.ages(anchors, self._wall() if allot else None)

    def keep(self, hosts: Sequence[Kept]) -> int:
        with self._lock:
            self._check()
            return self._known.keep(hosts, self._wall())

    def kept(self, hosts: Iterable[str]) -> dict[str, Kept]:
        with self._lock:
            self._check()
            return self._known.kept(hosts)

    def pointing_at(self, anchors: Iterable[str], most: int) -> dict[str, Kept]:
        with self._lock:
            self._check()
            return self._known.pointing_at(anchors, most)

    def news(self, since: int, most: int = 1000) -> News:
        with self._lock:
            self._check()
            return self._known.news(since, most)

    def origins(self, most: int = 10_000) -> list[tuple[str, int]]:
        with self._lock:
            self._check()
            return self._known.origins(self._alias, most)

    def hosts_of(self, origin: str, most: int = 1000) -> list[Kept]:
        with self._lock:
            self._check()
            root = self._alias.get(origin, origin)
            return self._known.hosts_of([root, *self._names_of(root)], most)

    def rule(self, ruling: Ruling) -> None:
        checked(ruling)
        with self._lock:
            self._check()
            self._known.rule(ruling)

    def unrule(self, subject: str) -> bool:
        with self._lock:
            self._check()
            return self._known.unrule(subject, self._wall())

    def rulings(self) -> list[Ruling]:
        with self._lock:
            self._check()
            return self._known.rulings(self._wall())

    def lapsed(self) -> list[Ruling]:
        with self._lock:
            self._check()
            return self._known.lapsed(self._wall())

    def note(self, subject: str, kind: str, text: str) -> None:
        values = checked_note(subject, kind, text)
        with self._lock:
            self._check()
            self._known.note(*values, self._wall())

    def amend(self, subject: str, kind: str, change: Callable[[str | None], str]) -> str:
        with self._lock:
            self._check()
            now = self._wall()
            found = self._known.notes([subject], now).get(subject, {}).get(kind)
            values = checked_note(subject, kind, change(found))
            self._known.note(*values, now)
            return values[2]

    def notes(self, subjects: Iterable[str]) -> dict[str, dict[str, str]]:
        with self._lock:
            self._check()
            return self._known.notes(subjects, self._wall())

    def forget_hosts(self, idle: float, limit: int = 1000) -> int:
        with self._lock:
            self._check()
            now = self._wall()
            gone = self._known.forget(now - idle, limit)
            for name in [name for name, asked in self._asked.items() if asked < now - idle][: max(0, limit)]:
                if self._known.names(name):
                    self._asked[name] = now
                else:
                    self._unalias(name)
            return gone

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
