"""The deferred requests of the SQLite store; in PATH, and on the disk before they are said to be kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from .deferring import AHEAD, COLUMNS, Deferred, by_turn

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

TABLES: Final = (
    # not_before, made, until: seconds of the wall clock.
    """CREATE TABLE deferred (
        owner TEXT NOT NULL, fingerprint TEXT NOT NULL, key TEXT NOT NULL, url TEXT NOT NULL, method TEXT NOT NULL,
        callback TEXT NOT NULL, errback TEXT NOT NULL, kind TEXT NOT NULL, reason TEXT NOT NULL, priority INTEGER NOT NULL,
        not_before REAL NOT NULL, made REAL NOT NULL, request TEXT NOT NULL, run TEXT NOT NULL, until REAL NOT NULL,
        PRIMARY KEY (owner, fingerprint))""",
    "CREATE INDEX deferred_turn ON deferred (owner, priority DESC, made, fingerprint)",
    "CREATE INDEX deferred_key ON deferred (key)",
    "CREATE INDEX deferred_run ON deferred (run) WHERE run <> ''",
)
"""Of version 2."""

INSERT: Final = "INSERT OR REPLACE INTO deferred VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', 0)"
TAKE: Final = """
SELECT * FROM deferred WHERE owner = ? AND (until <= ? OR until > ?) AND (not_before <= ? OR made > ?)
ORDER BY priority DESC, made, fingerprint LIMIT ?
"""
LISTED: Final = """
SELECT * FROM deferred WHERE (? IS NULL OR owner = ?) AND (? IS NULL OR key = ?) ORDER BY owner, key, made, fingerprint LIMIT ?
"""
DROP: Final = "DELETE FROM deferred WHERE (? IS NULL OR owner = ?) AND (? IS NULL OR key = ?)"


class SQLiteDeferred:
    """The part of `SQLiteStore` that is about deferred requests."""

    _durably: AbstractContextManager[sqlite3.Connection]
    _alone: AbstractContextManager[sqlite3.Connection]
    _reading: AbstractContextManager[sqlite3.Connection]
    _wall: Callable[[], float]

    def defer(self, rows: Sequence[Deferred]) -> None:
        values = [[getattr(row, name) for name in COLUMNS[:-2]] for row in rows]
        with self._durably as db:
            db.executemany(INSERT, values)

    def take_deferred(self, owner: str, run: str, most: int, lease: float, within: float = 0.0) -> list[Deferred]:
        with self._durably as db:
            now = self._wall()
            rows = db.execute(TAKE, (owner, now, now + lease + AHEAD, now + within, now + AHEAD, max(0, most))).fetchall()
            taken = [replace(Deferred(*row), run=run, until=now + lease) for row in rows]
            marks = [(row.run, row.until, row.owner, row.fingerprint) for row in taken]
            db.executemany("UPDATE deferred SET run = ?, until = ? WHERE owner = ? AND fingerprint = ?", marks)
            return sorted(taken, key=by_turn)

    def renew_deferred(self, run: str, lease: float) -> int:
        with self._alone as db:
            return db.execute("UPDATE deferred SET until = ? WHERE run = ?", (self._wall() + lease, run)).rowcount

    def done_deferred(self, owner: str, fingerprints: Sequence[str], run: str) -> int:
        with self._alone as db:
            mine = [(owner, fingerprint, run) for fingerprint in fingerprints]
            return db.executemany("DELETE FROM deferred WHERE owner = ? AND fingerprint = ? AND run = ?", mine).rowcount

    def hasten_deferred(self, key: str) -> int:
        with self._durably as db:
            return db.execute("UPDATE deferred SET not_before = 0 WHERE key = ?", (key,)).rowcount

    def deferred(self, owner: str | None = None, key: str | None = None, most: int = 10_000) -> list[Deferred]:
        with self._reading as db:
            return [Deferred(*row) for row in db.execute(LISTED, (owner, owner, key, key, max(0, most)))]

    def count_deferred(self) -> dict[str, int]:
        with self._reading as db:
            return dict(db.execute("SELECT key, count(*) FROM deferred GROUP BY key ORDER BY key").fetchall())

    def drop_deferred(self, owner: str | None = None, key: str | None = None) -> int:
        with self._durably as db:
            return db.execute(DROP, (owner, owner, key, key)).rowcount
