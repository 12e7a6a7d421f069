"""The record of what was booked and sent: one SQLite file that all crawls of a project append to.

A crawl never waits for it. `record` puts the event into a queue; a thread of its own writes what has come, in one commit at
most every half second. What cannot be written is counted (`lost`) and said once in the log, and the crawl goes on: the
ledger proves politeness, it does not make it. At `kill -9` the last half second is missing.

Events carry the store's clock, which starts anew at each boot. So every run notes its boot and where the wall clock stood
against that clock, and what is read together is of one boot.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
import time
from collections import deque
from functools import lru_cache
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from scrapy_polite.limits.plan import Charge
from scrapy_polite.stores.memory import monotonic_micros
from scrapy_polite.stores.schema import boot_id

from .events import Event, HeldEvent, Merged, Missed, Refunded, Sent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["Event", "HeldEvent", "Ledger", "Merged", "Missed", "Refunded", "Sent"]

logger = logging.getLogger(__name__)

EVERY = 0.5
"""Seconds between two commits at least: what a kill can lose, against what a commit costs."""

BACKLOG = 200_000
"""Events that may wait for a slow disk, some 100 MB. Beyond it they are lost, not kept in memory without end."""

IN_MEMORY = 1_000_000
"""Events that a ledger without a file keeps; the oldest go first."""

KEPT = 30 * 86_400.0
"""Seconds after its start that a run stays in the file."""

PATIENCE = 10.0
"""Seconds that `flush` and `close` wait for the disk, and the writer for another process."""

APPLICATION_ID = 0x504F4C4C
VERSION = 2
"""2: refunds and merges, which a reader of 1 would take for something else. A file of 1 is read as it is, and is 2 as soon as
it is written to."""
SCHEMA = (
    # offset: microseconds to add to an event's time to get the wall clock's (since 1970).
    """CREATE TABLE run (id INTEGER PRIMARY KEY, name TEXT NOT NULL, boot TEXT NOT NULL, offset INTEGER NOT NULL,
        started REAL NOT NULL)""",
    "CREATE TABLE event (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, at INTEGER NOT NULL, body TEXT NOT NULL)",
)
EVENTS = """
SELECT event.at, event.body FROM event JOIN run ON run.id = event.run
WHERE run.boot = ? AND (? IS NULL OR run.name = ?) AND (? IS NULL OR event.at + run.offset >= ?)
ORDER BY event.at, event.id
"""


class Ledger:
    """The ledger of one run (a name, e.g. the job's) in the file at `path`, or in memory alone (None).

    Never raises for the sake of a disk. Use it from any thread; `close` it at the end.
    """

    def __init__(self, path: Path | None, run: str) -> None:
        self._path, self._run = path, run
        self._memory: deque[Event] = deque(maxlen=IN_MEMORY)
        self._queue: SimpleQueue[Event | threading.Event | None] = SimpleQueue()
        self._hurry = threading.Event()
        self._closed = False
        self._lost = 0
        self._writer: threading.Thread | None = None
        if path is not None:
            self._writer = threading.Thread(target=self._write_all, name="polite-ledger", daemon=True)
            self._writer.start()

    @property
    def lost(self) -> int:
        """Events that were recorded and are not in the file."""
        return self._lost

    def record(self, event: Event) -> None:
        """Take down one event; a few microseconds, whatever the disk does."""
        if self._path is None:
            self._memory.append(event)
        elif self._closed or self._queue.qsize() >= BACKLOG:
            self._lost += 1
        else:
            self._queue.put(event)

    def flush(self) -> None:
        """Return when all that was recorded before is in the file, or lost, or the disk has taken `PATIENCE` over it."""
        if self._writer is not None and not self._closed:
            written = threading.Event()
            self._queue.put(written)
            self._hurry.set()
            written.wait(PATIENCE)

    def close(self) -> None:
        """Write what is left and end the writer. Safe to call twice."""
        if self._writer is not None and not self._closed:
            self._closed = True
            self._queue.put(None)
            self._hurry.set()
            self._writer.join(PATIENCE)
            if self._lost:
                logger.warning("Ledger %s: %d events of this run are not in it", self._path, self._lost)

    def events(self) -> Iterator[Event]:
        """What this run has recorded, in time order."""
        if self._path is None:
            return iter(sorted(self._memory, key=lambda event: event.at))
        self.flush()
        return self.read(self._path, run=self._run)

    @classmethod
    def read(cls, path: Path, since_wall: float | None = None, run: str | None = None) -> Iterator[Event]:
        """Events in time order, all of one boot: the latest that there is a run of.

        Args:
            path: the file. `ValueError` that names it, if there is no ledger.
            since_wall: only what happened at or after this time (seconds since 1970).
            run: only the runs of this name.
        """
        if not path.is_file():
            raise ValueError(f"no ledger at {path}: crawl first, or name the file that a crawl has written")
        db = sqlite3.connect(path, timeout=PATIENCE)
        try:
            _recognise(db)
            latest = db.execute(
                "SELECT boot FROM run WHERE ? IS NULL OR name = ? ORDER BY started DESC LIMIT 1", (run, run)
            ).fetchone()
        except sqlite3.Error as error:
            raise ValueError(f"no ledger at {path}: {error}") from error
        finally:
            db.close()
        return _events(path, latest[0] if latest else "", None if since_wall is None else int(since_wall * 1e6), run)

    def _write_all(self) -> None:
        """The writer thread: alone in using the connection."""
        db: sqlite3.Connection | None = None
        number, told, stop = 0, False, False
        while not stop:
            batch: list[Event] = []
            marks: list[threading.Event] = []
            item = self._queue.get()
            # Gather for a while, so that the crawl's thread is not disturbed for every single row.
            if item is not None and not isinstance(item, threading.Event):
                self._hurry.wait(EVERY)
            self._hurry.clear()
            while True:
                if item is None:
                    stop = True
                elif isinstance(item, threading.Event):
                    marks.append(item)
                else:
                    batch.append(item)
                try:
                    item = self._queue.get_nowait()
                except Empty:
                    break
            if batch:
                try:
                    if db is None:
                        db, number = self._open()
                    _write(db, number, batch)
                except (sqlite3.Error, OSError) as error:
                    self._lost += len(batch)
                    if db is not None:
                        db.close()
                        db = None
                    if not told:
                        told = True
                        logger.error(
                            "The ledger %s cannot be written: %s. The crawl goes on; what is lost is counted",
                            self._path,
                            error,
                        )
            for mark in marks:
                mark.set()
        if db is not None:
            db.close()

    def _open(self) -> tuple[sqlite3.Connection, int]:
        """The connection, and the number of this run in the file."""
        assert self._path is not None
        db = sqlite3.connect(self._path, timeout=PATIENCE, isolation_level=None)
        try:
            _recognise(db)
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("BEGIN IMMEDIATE")
            if not db.execute("PRAGMA application_id").fetchone()[0]:
                for statement in SCHEMA:
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {VERSION}")
            wall = time.time()
            old = db.execute("SELECT id FROM run WHERE started < ?", (wall - KEPT,)).fetchall()
            db.executemany("DELETE FROM event WHERE run = ?", old)
            db.executemany("DELETE FROM run WHERE id = ?", old)
            offset = int(wall * 1e6) - monotonic_micros()
            row = (self._run, boot_id(), offset, wall)
            number = db.execute("INSERT INTO run (name, boot, offset, started) VALUES (?, ?, ?, ?)", row).lastrowid
            db.execute("COMMIT")
        except BaseException:
            db.close()
            raise
        return db, number or 0


def _recognise(db: sqlite3.Connection) -> None:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application != APPLICATION_ID and tables:
        raise sqlite3.DatabaseError("it is the database of another program")
    if application == APPLICATION_ID and version > VERSION:
        raise sqlite3.DatabaseError(f"its version is {version}, and this scrapy_polite knows {VERSION}: update it")


def _write(db: sqlite3.Connection, number: int, batch: list[Event]) -> None:
    rows = [(number, event.at, _encode(event)) for event in batch]
    db.execute("BEGIN IMMEDIATE")
    try:
        db.executemany("INSERT INTO event (run, at, body) VALUES (?, ?, ?)", rows)
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


def _events(path: Path, boot: str, since: int | None, run: str | None) -> Iterator[Event]:
    db = sqlite3.connect(path, timeout=PATIENCE)
    try:
        for at, body in db.execute(EVENTS, (boot, run, run, since, since)):
            yield _decode(at, body)
    finally:
        db.close()


def _encode(event: Event) -> str:
    if isinstance(event, Sent):
        charges = [[one.key, one.cost, one.rate, one.burst, one.least, *_rarely(one)] for one in event.charges]
        return json.dumps(["sent", event.slot, event.width, event.site, event.kind, event.url, charges])
    if isinstance(event, Missed):
        return json.dumps(["missed", event.slot, event.key])
    if isinstance(event, Refunded):
        return json.dumps(["refunded", event.key, event.slot, event.cost])
    if isinstance(event, Merged):
        return json.dumps(["merged", event.name, event.into])
    return json.dumps(["held", event.key, event.until, event.kind, event.reason])


def _rarely(charge: Charge) -> list[object]:
    if charge.pace != 1:
        return [charge.refundable, charge.pace]
    return [True] if charge.refundable else []


def _decode(at: int, body: str) -> Event:
    what, *rest = json.loads(body)
    if what == "sent":
        slot, width, site, kind, url, charges = rest
        return Sent(at, slot, width, site, kind, url, tuple(_charge(*charge) for charge in charges))
    return _KINDS[what](at, *rest)


_KINDS: dict[str, Callable[..., Event]] = {
    "missed": Missed,
    "held": HeldEvent,
    "refunded": Refunded,
    "merged": Merged,
}

# The charges of a site are the same again and again: one object for all of them keeps a long ledger small.
_charge = lru_cache(maxsize=10_000)(Charge)
