"""The deferred requests of the store of one process."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from .deferring import AHEAD, Deferred, by_turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from threading import Lock


class MemoryDeferred:
    """The part of `MemoryStore` that is about deferred requests."""

    _lock: Lock
    _wall: Callable[[], float]
    _check: Callable[[], None]
    _shelved: dict[tuple[str, str], Deferred]

    def defer(self, rows: Sequence[Deferred]) -> None:
        with self._lock:
            self._check()
            for row in rows:
                self._put(replace(row, run="", until=0.0))

    def take_deferred(self, owner: str, run: str, most: int, lease: float, within: float = 0.0) -> list[Deferred]:
        with self._lock:
            self._check()
            now = self._wall()
            free = [
                row
                for row in self._chosen(owner, None)
                if not now < row.until <= now + lease + AHEAD and (row.not_before <= now + within or row.made > now + AHEAD)
            ]
            taken = [replace(row, run=run, until=now + lease) for row in sorted(free, key=by_turn)[: max(0, most)]]
            for row in taken:
                self._put(row)
            return taken

    def renew_deferred(self, run: str, lease: float) -> int:
        with self._lock:
            self._check()
            mine = [row for row in self._shelved.values() if row.run == run]
            for row in mine:
                self._put(replace(row, until=self._wall() + lease))
            return len(mine)

    def done_deferred(self, owner: str, fingerprints: Sequence[str], run: str) -> int:
        with self._lock:
            self._check()
            named = [(owner, fingerprint) for fingerprint in dict.fromkeys(fingerprints)]
            mine = [name for name in named if name in self._shelved and self._shelved[name].run == run]
            for name in mine:
                del self._shelved[name]
            return len(mine)

    def hasten_deferred(self, key: str) -> int:
        with self._lock:
            self._check()
            waiting = self._chosen(None, key)
            for row in waiting:
                self._put(replace(row, not_before=0.0))
            return len(waiting)

    def deferred(self, owner: str | None = None, key: str | None = None, most: int = 10_000) -> list[Deferred]:
        with self._lock:
            self._check()
            found = sorted(self._chosen(owner, key), key=lambda row: (row.owner, row.key, row.made, row.fingerprint))
            return found[: max(0, most)]

    def count_deferred(self) -> dict[str, int]:
        with self._lock:
            self._check()
            return dict(sorted(Counter(row.key for row in self._shelved.values()).items()))

    def drop_deferred(self, owner: str | None = None, key: str | None = None) -> int:
        with self._lock:
            self._check()
            gone = self._chosen(owner, key)
            for row in gone:
                del self._shelved[row.owner, row.fingerprint]
            return len(gone)

    def _put(self, row: Deferred) -> None:
        self._shelved[row.owner, row.fingerprint] = row

    def _chosen(self, owner: str | None, key: str | None) -> list[Deferred]:
        return [row for row in self._shelved.values() if owner in (None, row.owner) and key in (None, row.key)]
