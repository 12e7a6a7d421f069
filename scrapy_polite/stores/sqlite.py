"""The store of one machine: one SQLite file (and its companions) that all processes on it share.

Beside PATH there are `PATH-slots`, the due times, and `PATH-lock`. Two databases, because they need two kinds of care:

* holds, origins and evidence (PATH) must outlive everything. Holds and rulings are committed with `synchronous=FULL`: they
  are on the disk before `hold` returns. The rest may lose the last moments at a power cut, never its consistency (`NORMAL`).
* due times (PATH-slots) are worth nothing after a reboot, since their clock starts anew. They are written with
  `synchronous=OFF`, in a few microseconds, and are thrown away as a whole when the machine was booted anew.

The clock is CLOCK_MONOTONIC: all processes of a boot read the same, and a wall clock that jumps changes nothing. The
boot's id is kept; on another boot the holds are put onto the new clock by means of the wall clock, never longer than
they were.

`flock` on PATH-lock around each transaction: the kernel wakes the next process in line, where SQLite's own busy handler
sleeps blindly and leaves single callers waiting for a second. It ends with the process that has it, however that ends.
A file system that several machines share (NFS) is not supported: its locks are not, and its clocks are several.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING

from scrapy_polite.limits.gcra import Booked, Row, Wait, decide, settled, take

from .base import MICRO, Cause, Held, Peek, StoreError, hold_micros, settle_micros
from .files import Files
from .memory import follow, monotonic_micros
from .sqlitedeferred import SQLiteDeferred
from .sqliteorigins import CHUNK, SQLiteOrigins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path
    from types import TracebackType

    from scrapy_polite.limits.gcra import Want

TROUBLE = (sqlite3.Error, OSError)
"""What becomes a `StoreError`."""

LOGGED = 1_000
"""Pages in the log (PATH-wal) after which they are put into the file; SQLite's own default."""

FIND = """
WITH asked(key) AS (VALUES {places})
SELECT asked.key, coalesce(alias.root, asked.key), coalesce(slot.due, 0), coalesce(slot.last, 0), coalesce(hold.until, 0),
    hold.kind, hold.reason, hold.stated
FROM asked LEFT JOIN alias ON alias.name = asked.key
    LEFT JOIN slots.slot AS slot ON slot.key = coalesce(alias.root, asked.key)
    LEFT JOIN hold ON hold.key = coalesce(alias.root, asked.key)
"""
FIND_ONE = FIND.format(places="(?)")
MOVE = """
INSERT INTO slots.slot (key, due, last) VALUES (?, ?, ?)
ON CONFLICT (key) DO UPDATE SET due = excluded.due, last = excluded.last
"""
HOLD = """
INSERT INTO hold (key, until, wall, span, kind, reason, stated) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET until = excluded.until, wall = excluded.wall, span = excluded.span,
    kind = excluded.kind, reason = excluded.reason, stated = excluded.stated
"""
IDLE = """
SELECT key FROM (SELECT key, max(due, last) AS busy FROM slots.slot UNION ALL SELECT key, until FROM hold)
GROUP BY key HAVING max(busy) < ? LIMIT ?
"""


class SQLiteStore(SQLiteOrigins, SQLiteDeferred):
    """A `Store` in the SQLite file at `path`, made if it is not there, and brought up to this version if it is older.
    `clock`: microseconds, one for all processes; `wall`: seconds of the wall clock.

    Raises `ValueError` that names POLITE_STORE, the path and what to do when there can be no store at that path;
    nothing is left behind then. Raises `StoreTooNewError` for a file of a newer version, and leaves it as it is.
    A store belongs to the process that opened it: after a fork it raises `StoreError`.
    """

    blocking = False

    def __init__(self, path: Path, clock: Callable[[], int] = monotonic_micros, wall: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._wall = wall
        self._lock = Lock()
        self._files = Files(path)
        self._db = self._files.open(clock())
        # Kept, since each connection.execute makes a new one.
        self._steps = self._db.cursor()
        self._alone = _Transaction(self)
        self._durably = _Transaction(self, durable=True)
        self._reading = _Transaction(self, alone=False)
        self._filling = _Transaction(self, large=True)
        self._process = os.getpid()
        self._open = True

    @property
    def path(self) -> Path:
        """The file, as an absolute path."""
        return self._files.path

    def now(self) -> int:
        self._check()
        return self._clock()

    def book(self, wants: Sequence[Want], ahead: int = 0) -> list[Booked | Wait]:
        with self._alone as db:
            if len(wants) == 1 and len(wants[0]) == 1:
                # The same, without what only several need.
                (demand,) = wants[0]
                _, key, due, last, hold, *_ = self._steps.execute(FIND_ONE, (demand.key,)).fetchone()
                answer = take(demand, row := Row(due, last, hold), self._clock(), ahead)
                if isinstance(answer, Booked):
                    self._steps.execute(MOVE, (key, row.due, row.last))
                return [answer]
            answers: list[Booked | Wait] = []
            moved: dict[str, Row] = {}
            found = _find(db, {demand.key for want in wants for demand in want})
            rows, alias = found.rows, found.alias
            now = self._clock()
            for want in wants:
                followed, asked = follow(want, alias) if alias else (want, {})
                outcome = decide(followed, rows, now, ahead)
                if isinstance(outcome, Wait):
                    answers.append(Wait(outcome.micros, asked.get(outcome.key, outcome.key)))
                else:
                    answers.append(outcome[0])
                    rows.update(outcome[1])
                    moved.update(outcome[1])
            # A refusal writes nothing: most answers of a busy crawl are refusals.
            if moved:
                db.executemany(MOVE, [(key, row.due, row.last) for key, row in moved.items()])
            return answers

    def hold(self, key: str, seconds: float, cause: Cause) -> float:
        micros = hold_micros(seconds)
        with self._durably as db:
            found = _find(db, {key})
            key, now = found.alias.get(key, key), self._clock()
            until = found.rows[key].hold
            if now + micros > max(until, now):
                until = now + micros
                wall = time.time_ns() // 1000 + micros
                db.execute(HOLD, (key, until, wall, micros, cause.kind, cause.reason, cause.stated))
            return max(0, until - now) / MICRO

    def release(self, key: str) -> bool:
        with self._durably as db:
            found = _find(db, {key})
            key = found.alias.get(key, key)
            db.execute("DELETE FROM hold WHERE key = ?", (key,))
            return found.rows[key].hold > self._clock()

    def settle(self, key: str, micros: int) -> None:
        with self._alone as db:
            found = _find(db, {key})
            key = found.alias.get(key, key)
            before = found.rows[key]
            row = settled(before, settle_micros(micros))
            # A key that is only held has no due time to move.
            if row != before and before.last:
                db.execute(MOVE, (key, row.due, row.last))

    def peek(self, keys: Iterable[str]) -> dict[str, Peek]:
        seen = {}
        wanted = list(dict.fromkeys(keys))
        with self._alone as db:
            found = _find(db, wanted)
            now = self._clock()
        for asked in wanted:
            key = found.alias.get(asked, asked)
            row = found.rows[key]
            cause = found.causes.get(key) if row.hold > now else None
            seen[asked] = Peek(max(0, row.due - now, row.last - now) / MICRO, max(0, row.hold - now) / MICRO, cause)
        return seen

    def held(self) -> list[Held]:
        with self._alone as db:
            now = self._clock()
            live = db.execute("SELECT key, until, kind, reason, stated FROM hold WHERE until > ? ORDER BY key", (now,))
            return [
                Held(key, (until - now) / MICRO, Cause(kind, reason, bool(stated))) for key, until, kind, reason, stated in live
            ]

    def purge(self, idle: float, limit: int = 1000) -> int:
        with self._alone as db:
            before = self._clock() - hold_micros(idle)
            gone = db.execute(IDLE, (before, max(0, limit))).fetchall()
            db.executemany("DELETE FROM hold WHERE key = ?", gone)
            db.executemany("DELETE FROM slots.slot WHERE key = ?", gone)
            return len(gone)

    def close(self) -> None:
        with self._lock:
            if self._open and self._process == os.getpid():
                self._open = False
                self._steps.close()
                self._db.close()
                self._files.close()

    def _file_pages(self) -> None:
        self._db.execute(f"PRAGMA wal_autocheckpoint = {LOGGED}")
        if self._written >= LOGGED:
            self._written = 0
            # Others may be reading, or at the same: then some pages stay for the next time.
            with suppress(sqlite3.Error):
                self._db.execute("PRAGMA main.wal_checkpoint(PASSIVE)").fetchall()

    def _check(self) -> None:
        if not self._open:
            raise StoreError("the store was closed")
        if self._process != os.getpid():
            raise StoreError(f"{self.path} was opened by another process, before a fork: open it again in this one")

    def _trouble(self, error: BaseException) -> StoreError:
        return StoreError(f"POLITE_STORE: {self.path} cannot answer: {error}")


class _Transaction:
    """`with` it: one transaction that no other process or thread of ours overlaps. `durable`: on the disk when it is left.
    Not `alone`: it only reads, and other processes may go on. `large`: it writes many pages, which go from the log to the file
    when the others have had their turn: that waits for the disk, and the lock is theirs meanwhile.

    A class of its own, made once: `contextmanager` would take an eighth of a booking's time.
    """

    __slots__ = ("_alone", "_durable", "_large", "_store")

    def __init__(self, store: SQLiteStore, *, durable: bool = False, alone: bool = True, large: bool = False) -> None:
        self._store = store
        self._durable = durable
        self._alone = alone
        self._large = large

    def __enter__(self) -> sqlite3.Connection:
        store = self._store
        store._lock.acquire()
        try:
            store._check()
            if self._alone:
                store._files.take()
            try:
                if self._durable:
                    store._db.execute("PRAGMA main.synchronous = FULL")
                if self._large:
                    store._db.execute("PRAGMA wal_autocheckpoint = 0")
                # Deferred: who only reads locks nothing. Safe, since the lock's file keeps other writers out.
                store._steps.execute("BEGIN")
            except BaseException:
                self._leave()
                raise
        except BaseException as error:
            store._lock.release()
            if isinstance(error, TROUBLE):
                raise store._trouble(error) from error
            raise
        return store._db

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        store = self._store
        try:
            try:
                if error is None:
                    store._steps.execute("COMMIT")
            finally:
                self._leave()
        except TROUBLE as late:
            error = late
        finally:
            store._lock.release()
        if isinstance(error, TROUBLE):
            raise store._trouble(error) from error

    def _leave(self) -> None:
        """What was not committed is undone, and the next process has its turn."""
        db = self._store._db
        try:
            if db.in_transaction:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
            if self._durable:
                db.execute("PRAGMA main.synchronous = NORMAL")
        finally:
            if self._alone:
                self._store._files.give()
            if self._large:
                self._store._file_pages()


class _Found:
    """What is known of some keys: rows by the names that stand, and the aliases among the names asked for."""

    __slots__ = ("alias", "causes", "rows")

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.causes: dict[str, Cause] = {}
        self.alias: dict[str, str] = {}


def _find(db: sqlite3.Connection, keys: Iterable[str]) -> _Found:
    found, wanted = _Found(), list(keys)
    for start in range(0, len(wanted), CHUNK):
        chunk = wanted[start : start + CHUNK]
        for asked, key, due, last, hold, kind, reason, stated in db.execute(_find_query(len(chunk)), chunk):
            found.rows[key] = Row(due, last, hold)
            if key != asked:
                found.alias[asked] = key
            if kind is not None:
                found.causes[key] = Cause(kind, reason, bool(stated))
    return found


@lru_cache(maxsize=CHUNK)
def _find_query(keys: int) -> str:
    return FIND.format(places=", ".join(["(?)"] * keys))
