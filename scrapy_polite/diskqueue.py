"""The queue on disk: one SQLite file for all sites of a ``JOBDIR``, from which a kill at any moment takes nothing.

A row is a request that *waits*, or that is *out*: the engine has it. It is deleted only when it is :meth:`~DiskQueue.done`, so
a run that died leaves behind what it had out, and the next one makes it wait again: every request is served at least once,
and exactly once unless a run died.

Changes are made in one open transaction, which :meth:`~DiskQueue.commit` ends, many times a second. Pushes, and the end of the
request that they came from, are in their order, so each commit is a state that the crawl was in. What a kill takes is what was
done since the last: the requests that were out then are out again, and make it anew.

``journal_mode=WAL`` with ``synchronous=NORMAL``: a commit is a write without an fsync. At the death of the process nothing of
it is lost, since it is the kernel's by then. At the death of the machine (a power cut) the file is as it was some commits ago,
which is a state of the crawl, too; so that costs requests that are made twice, and loses none. Checkpoints, which wait for
the disk, run in a thread.

``requests.seen``, the fingerprints of Scrapy's duplicate filter, must not know more than this file: a request that is seen and
not here would never be made. So each commit keeps the length that it had then, and :func:`forget_unqueued` cuts it off there
after a run that died. Open files: at most six, however many sites.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DiskQueue", "Row", "forget_unqueued"]

VERSION: Final = 1

SCHEMA: Final = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS site (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS request (
    id INTEGER PRIMARY KEY, site INTEGER NOT NULL, place INTEGER NOT NULL, rank INTEGER NOT NULL,
    out INTEGER NOT NULL DEFAULT 0, data BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS waiting ON request (site, place, rank) WHERE NOT out;
CREATE INDEX IF NOT EXISTS busy ON request (out) WHERE out;
CREATE TABLE IF NOT EXISTS note (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
PRAGMA user_version = {VERSION};
COMMIT;
"""
# The lowest `place` goes first, and in it the lowest `rank`.
NEXT: Final = "SELECT id, data FROM request WHERE NOT out AND site = ? ORDER BY place, rank LIMIT 1"
INSERT: Final = "INSERT INTO request (id, site, place, rank, data) VALUES (?, ?, ?, ?, ?)"
TAKE: Final = "UPDATE request SET out = 1 WHERE id = ?"
DELETE: Final = "DELETE FROM request WHERE id = ?"
NOTE: Final = "INSERT INTO note VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"

CHECKPOINT_AT: Final = 16 * 1024 * 1024
"""Bytes of the write-ahead log at which it is copied into the file."""

CACHE: Final = 16 * 1024
"""KiB of pages that are kept in memory: the inner pages of the index of millions of requests."""

SEEN: Final = "requests.seen"
"""The file of Scrapy's duplicate filter, beside the queue's directory."""


class Row(NamedTuple):
    """``number`` is what :meth:`DiskQueue.done` and :meth:`DiskQueue.set_aside` is told."""

    number: int
    data: bytes


@dataclass(slots=True)
class _Site:
    number: int
    waiting: int = 0


class DiskQueue:
    """The queue in the file ``requests.sqlite`` of ``directory``, made if it is not there.

    Raises ``ValueError`` for a directory that another process uses, and for a file of a newer version; ``sqlite3.Error`` when
    the disk fails. When it has failed, on a full disk for example, what is pushed or done is kept in memory, and nothing is
    taken out, until :meth:`commit` has succeeded: so nothing is lost, and little comes on top.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._path = directory / "requests.sqlite"
        self._lock = _lock(directory)
        try:
            self._db = _open(self._path)
            self._db.executescript(SCHEMA)
        except BaseException:
            os.close(self._lock)
            raise
        self._wal = Path(f"{self._path}-wal")
        self._seen = directory.parent / SEEN
        self._changes: list[tuple[str, tuple[object, ...]]] = []
        self._behind = False
        """The disk has failed: not all changes are in a transaction."""
        self._new_sites: dict[str, int] = {}
        """Those of the changes."""
        self._checkpoint: threading.Thread | None = None
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("UPDATE request SET out = 0 WHERE out")
        self._db.execute("DELETE FROM site WHERE id NOT IN (SELECT site FROM request)")
        self._db.execute(NOTE, ("clean", 0))
        self._db.execute("COMMIT")
        self._last: int = self._db.execute("SELECT coalesce(max(id), 0) FROM request").fetchone()[0]
        self._last_site: int = self._db.execute("SELECT coalesce(max(id), 0) FROM site").fetchone()[0]
        waiting = self._db.execute(
            "SELECT name, site.id, waiting FROM site JOIN"
            " (SELECT site AS id, count(*) AS waiting FROM request WHERE NOT out GROUP BY site) AS counted USING (id)"
        )
        self._sites = {name: _Site(number, count) for name, number, count in waiting}
        self._length = sum(site.waiting for site in self._sites.values())

    def push(self, site: str, place: int, fifo: bool, data: bytes) -> None:
        """Wait. The lowest ``place`` of a site goes first, and in it the first come or the last, as ``fifo`` says."""
        found = self._sites.get(site) or self._site(site)
        number = self._last + 1
        self._record(INSERT, (number, found.number, place, number if fifo else -number, data))
        self._last = number
        self._sites[site] = found
        found.waiting += 1
        self._length += 1

    def pop(self, site: str) -> Row | None:
        """The next of the site, which is out from now on."""
        row = self.peek(site)
        if row is not None:
            self._change(TAKE, (row.number,))
            found = self._sites[site]
            found.waiting -= 1
            self._length -= 1
            if not found.waiting:
                del self._sites[site]
        return row

    def peek(self, site: str) -> Row | None:
        """The next of the site."""
        found = self._sites.get(site)
        if found is None:
            return None
        self._look()
        return Row(*self._db.execute(NEXT, (found.number,)).fetchone())

    def done(self, number: int) -> None:
        """The request that was out is served: forget it."""
        self._record(DELETE, (number,))

    def commit(self) -> None:
        """From now on a kill takes nothing that was done before. Costs a write, and no wait for the disk."""
        if not self._changes and not self._behind:
            return
        self._behind = False
        self._execute(NOTE, ("seen", _size(self._seen)))
        self._execute("COMMIT", ())
        self._changes.clear()
        self._new_sites.clear()
        if _size(self._wal) > CHECKPOINT_AT and (self._checkpoint is None or not self._checkpoint.is_alive()):
            self._checkpoint = threading.Thread(target=_checkpoint, args=(self._path,), name="polite-queue")
            self._checkpoint.start()

    def close(self) -> None:
        """Commit, and give the files back. What is out stays, and waits in the next run. Whatever still comes of it, and is
        seen by the duplicate filter, is too late for this file: then the end is not a clean one."""
        try:
            self._behind = False  # It is tried once more.
            self._look()
            if self._db.execute("SELECT 1 FROM request WHERE out LIMIT 1").fetchone() is None:
                self._change(NOTE, ("clean", 1))
            self.commit()
        finally:
            if self._checkpoint is not None:
                self._checkpoint.join()
            self._db.close()
            os.close(self._lock)

    def __len__(self) -> int:
        """Requests that wait."""
        return self._length

    def __contains__(self, site: str) -> bool:
        return site in self._sites

    def waiting(self, site: str) -> int:
        """Requests of the site that wait."""
        found = self._sites.get(site)
        return found.waiting if found is not None else 0

    def sites(self) -> Iterator[str]:
        """Sites for which a request waits."""
        return iter(list(self._sites))

    def note(self, name: str) -> object:
        """What :meth:`write_note` has written, or None."""
        self._look()
        found = self._db.execute("SELECT value FROM note WHERE name = ?", (name,)).fetchone()
        return found[0] if found else None

    def write_note(self, name: str, value: str) -> None:
        self._record(NOTE, (name, value))

    def _site(self, name: str) -> _Site:
        """One that nothing waits for: its row may be there from before."""
        if name in self._new_sites:
            return _Site(self._new_sites[name])
        known = self._db.execute("SELECT id FROM site WHERE name = ?", (name,)).fetchone()
        if known is not None:
            return _Site(known[0])
        self._record("INSERT INTO site (id, name) VALUES (?, ?)", (self._last_site + 1, name))
        self._last_site += 1
        self._new_sites[name] = self._last_site
        return _Site(self._last_site)

    def _change(self, statement: str, values: tuple[object, ...]) -> None:
        """Make a change, or raise and change nothing."""
        self._execute(statement, values)
        self._changes.append((statement, values))

    def _record(self, statement: str, values: tuple[object, ...]) -> None:
        """Make a change; if the disk fails, make it when it does not."""
        with suppress(sqlite3.OperationalError):
            if not self._behind:
                self._execute(statement, values)
        self._changes.append((statement, values))

    def _look(self) -> None:
        """See what was changed, also where SQLite has taken it back."""
        if self._changes or self._behind:
            self._execute("SELECT 1", ())

    def _execute(self, statement: str, values: tuple[object, ...]) -> None:
        """In the transaction that has all changes. SQLite takes one back by itself when the disk fails; it is made anew."""
        if self._behind:
            raise sqlite3.OperationalError("the disk has failed, and was not tried again since")
        try:
            if not self._db.in_transaction:
                self._db.execute("BEGIN IMMEDIATE")
                for earlier in self._changes:
                    self._db.execute(*earlier)
            self._db.execute(statement, values)
        except sqlite3.OperationalError:
            self._behind = True
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise


def forget_unqueued(job: Path) -> int:
    """After a run that died: cut the fingerprints off ``requests.seen`` whose requests had not come into the queue's file.

    To be called before Scrapy's duplicate filter reads it. Answers the bytes that were cut off. Raises as
    :class:`DiskQueue`.
    """
    directory = job / "requests.queue"
    path, seen = directory / "requests.sqlite", job / SEEN
    if not path.exists():
        return 0
    lock = _lock(directory)
    try:
        with closing(_open(path)) as database:
            database.executescript(SCHEMA)
            notes = dict(database.execute("SELECT name, value FROM note"))
        surplus = _size(seen) - int(notes.get("seen", 0))
        if notes.get("clean", 1) or surplus <= 0:
            return 0
        os.truncate(seen, int(notes.get("seen", 0)))
        return surplus
    finally:
        os.close(lock)


def _lock(directory: Path) -> int:
    """Held as long as the process lives, however it ends."""
    handle = os.open(directory / "requests.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise ValueError(
            f"JOBDIR: {str(directory.parent)!r} is used by another crawl that is running. Each crawl needs a JOBDIR of its "
            "own; wait for the other to end, or give this one another directory."
        ) from None
    return handle


def _open(path: Path) -> sqlite3.Connection:
    # Requests may carry passwords and cookies: the file is its owner's.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    database = sqlite3.connect(path, isolation_level=None, timeout=1.0)
    try:
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise ValueError(
                f"JOBDIR: {str(path)!r} has version {version}, written by a newer scrapy_polite; this one reads up to "
                f"{VERSION}. Upgrade scrapy_polite, or give the crawl another directory."
            )
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "wal_autocheckpoint = 0", f"cache_size = -{CACHE}"):
            database.execute(f"PRAGMA {pragma}")
    except BaseException:
        database.close()
        raise
    return database


def _checkpoint(path: Path) -> None:
    """Copy the write-ahead log into the file. In a thread: this is what waits for the disk."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=10.0)) as database:
        database.execute("PRAGMA wal_checkpoint(PASSIVE)")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
