"""The files of the SQLite store: whether they can be there, how they are opened, and the lock around them."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import time
from contextlib import suppress
from itertools import chain
from pathlib import Path

from .base import ACCEPTED, StoreError, StoreTooNewError
from .schema import APPLICATION_ID, SCHEMA, SLOTS, VERSION, boot_id, rebase, same_boot

BUSY = 1.0
"""Seconds. Only a foreign program (a shell on the file) can make us wait for SQLite's own lock: then for so long."""

PATIENCE = 0.5
"""Seconds that the lock is waited for. Who has it gives it back after some 20 microseconds, unless its process was stopped."""


class _Turn(threading.Thread):
    """Stands in the kernel's line for the lock, with a descriptor of its own: whoever waits for it can stop waiting, which
    nobody can who sits in flock() himself. Served in the order of coming, as everybody."""

    def __init__(self, path: Path) -> None:
        super().__init__(name="polite-lock", daemon=True)
        self.got = threading.Event()
        self.descriptor = -1
        self._path = path
        self._mutex = threading.Lock()
        self._given_up = False

    def run(self) -> None:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with self._mutex:
            if self._given_up:
                os.close(descriptor)
            else:
                self.descriptor = descriptor
                self.got.set()

    def wait(self, seconds: float) -> bool:
        """Whether the lock was had in that time; if not, it is not taken any more."""
        if not self.got.wait(seconds):
            with self._mutex:
                self._given_up = not self.got.is_set()
        return not self._given_up


class Files:
    """PATH, PATH-slots and PATH-lock. `open` once, `take` and `give` around every transaction, `close` at the end."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.abspath(path.expanduser()))  # noqa: PTH100 (resolve() would follow links)
        self._name = str(self.path)
        self._slots = self._beside("-slots")
        self._lock_path = self._beside("-lock")
        self._lock = -1
        self._inode = 0
        self._turn: _Turn | None = None

    def open(self, now: int) -> sqlite3.Connection:
        """The connection to both databases, made or brought up to this boot (`now`: microseconds of its clock)."""
        self._check()
        files = [self.path, self._slots]
        before = {file for file in (*files, self._lock_path) if file.exists()}
        db = None
        try:
            self._take_lock()
            try:
                # Requests that are put off may carry passwords and cookies: a new file is its owner's, as are those beside it.
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
                db = sqlite3.connect(self.path, timeout=BUSY, isolation_level=None, check_same_thread=False)
                self._prepare(db, now)
            except BaseException:
                if db is not None:
                    db.close()
                for file in files:
                    if file not in before:
                        for end in ("", "-wal", "-shm", "-journal"):
                            Path(f"{file}{end}").unlink(missing_ok=True)
                if self._lock_path not in before:
                    self._lock_path.unlink(missing_ok=True)
                self.close()
                raise
            fcntl.flock(self._lock, fcntl.LOCK_UN)
        except (sqlite3.Error, OSError) as error:
            raise ValueError(
                f"POLITE_STORE: no store can be made of {self.path}: {error}. Give a file of this package or a path "
                f"where there is none yet, on a local disk with room; accepted: {ACCEPTED}"
            ) from error
        self._inode = self.path.stat().st_ino
        return db

    def take(self) -> None:
        """From now on alone among the processes that use the store; they take turns in the order in which they came."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._wait()
        try:
            # Two processes with two files under one name would have two rates.
            if os.stat(self._name).st_ino != self._inode:  # noqa: PTH116 (a Path takes twice as long, each time)
                raise StoreError(f"POLITE_STORE: {self.path} was replaced while it was in use: start the crawl again")
        except FileNotFoundError:
            self.give()
            # Not made anew: the holds that were in it would be forgotten, and nobody would know.
            raise StoreError(
                f"POLITE_STORE: {self.path} was deleted while it was in use: put it back, or start the crawl again"
            ) from None
        except BaseException:
            self.give()
            raise

    def _wait(self) -> None:
        turn = self._turn
        if turn is not None and turn.is_alive():
            raise StoreError(self._held)  # The last one that was given up still waits.
        turn = self._turn = _Turn(self._lock_path)
        turn.start()
        if not turn.wait(PATIENCE):
            raise StoreError(self._held)
        os.close(self._lock)
        self._lock = turn.descriptor

    @property
    def _held(self) -> str:
        return f"{self._lock_path} is held by another process, which may be stopped"

    def give(self) -> None:
        """To the next in line."""
        fcntl.flock(self._lock, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give back the lock's file."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _beside(self, end: str) -> Path:
        return self.path.with_name(self.path.name + end)

    def _check(self) -> None:
        """`ValueError` when it can be seen beforehand that no store can be here: so nothing is written."""
        directory = self.path.parent
        if not directory.is_dir():
            wrong = f"the directory {directory} does not exist. Make it (mkdir -p {directory}) or name another"
        elif not _may(directory, os.W_OK | os.X_OK):
            wrong = f"the directory {directory} cannot be written to. Give this user the right to, or name another"
        elif self.path.is_dir():
            wrong = "it is a directory. Name a file in it"
        else:
            own = [file for file in (self.path, self._slots, self._lock_path) if file.exists()]
            locked = [str(file) for file in own if not _may(file, os.R_OK | os.W_OK)]
            if not locked:
                return
            wrong = f"{', '.join(locked)} cannot be written to. Give this user the right to, or name another path"
        raise ValueError(f"POLITE_STORE: no store can be made of {self.path}: {wrong}; accepted: {ACCEPTED}")

    def _take_lock(self) -> None:
        while True:
            self._lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if os.fstat(self._lock).st_ino == self._lock_path.stat().st_ino:
                    return
            os.close(self._lock)

    def _prepare(self, db: sqlite3.Connection, now: int) -> None:
        self._recognise(db)
        db.execute("PRAGMA main.journal_mode = WAL")
        db.execute("PRAGMA main.synchronous = NORMAL")
        db.execute("BEGIN IMMEDIATE")
        # In the transaction, so that whoever is killed on the way leaves the version that was there.
        version = _integer(db, "PRAGMA main.user_version") if _integer(db, "PRAGMA main.application_id") else 0
        for statement in chain.from_iterable(SCHEMA[version:]):
            db.execute(statement)
        if version < VERSION:
            db.execute(f"PRAGMA main.application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA main.user_version = {VERSION}")
        boot = boot_id()
        known = db.execute("SELECT value FROM meta WHERE name = 'boot'").fetchone()
        if known is None or not same_boot(known[0], boot):
            # Nobody has them open: no process lives through a boot. After a power cut they may be half-written, too.
            for end in ("", "-wal", "-shm"):
                Path(f"{self._slots}{end}").unlink(missing_ok=True)
            rebase(db, now, time.time_ns() // 1000)
        # Written each time: SQLite opens a file that it may not write as one to read, and tells at the first write.
        db.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('boot', ?)", (boot,))
        db.execute("COMMIT")
        db.execute("ATTACH DATABASE ? AS slots", (str(self._slots),))
        # Each key that is booked has its page written, with a checksum over all of it.
        db.execute("PRAGMA slots.page_size = 1024")
        db.execute("PRAGMA slots.journal_mode = WAL")
        db.execute("PRAGMA slots.synchronous = OFF")
        db.execute(SLOTS)

    def _recognise(self, db: sqlite3.Connection) -> None:
        """Ours, or new; everything else is an error, and is left as it is."""
        ours = _integer(db, "PRAGMA main.application_id") == APPLICATION_ID
        version = _integer(db, "PRAGMA main.user_version")
        if ours and version > VERSION:
            raise StoreTooNewError(
                f"POLITE_STORE: {self.path} was written by a newer scrapy_polite: its version is {version}, this "
                f"one knows {VERSION}. Update the package here (pip install -U scrapy-polite), or name another file"
            )
        if not ours and _integer(db, "SELECT count(*) FROM main.sqlite_master"):
            raise sqlite3.DatabaseError("it is the database of another program")


def _may(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _integer(db: sqlite3.Connection, query: str) -> int:
    return int(db.execute(query).fetchone()[0])
