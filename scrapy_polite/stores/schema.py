"""The tables of the SQLite store, their version, and what a reboot does to them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from . import sqlitedeferred

if TYPE_CHECKING:
    import sqlite3

APPLICATION_ID = 0x504F4C49
"""Stands in the file's header (SQLite file format, 1.3.17), so that no other program's database is taken for ours."""

VERSION = 2
"""Of the tables below. A file with a higher one is not touched, one with a lower one is brought up to it."""

SCHEMA = (
    (
        # until: microseconds of the boot's clock. wall, span: the same end on the wall clock, and how long the hold was,
        # for the next boot.
        """CREATE TABLE hold (
            key TEXT PRIMARY KEY, until INTEGER NOT NULL, wall INTEGER NOT NULL, span INTEGER NOT NULL,
            kind TEXT NOT NULL, reason TEXT NOT NULL, stated INTEGER NOT NULL) WITHOUT ROWID""",
        # age: the lower, the older. alias: the name that this one stands for.
        "CREATE TABLE origin (age INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, alias TEXT)",
        "CREATE TABLE anchor (anchor TEXT PRIMARY KEY, name TEXT NOT NULL) WITHOUT ROWID",
        "CREATE INDEX anchor_name ON anchor (name)",
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    ),
    (
        # seen, in all of these: seconds of the wall clock, by which what nobody uses is forgotten.
        # root: the name that stands; itself never an alias.
        "CREATE TABLE alias (name TEXT PRIMARY KEY, root TEXT NOT NULL, seen INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE INDEX alias_root ON alias (root)",
        "CREATE INDEX alias_seen ON alias (seen)",
        "INSERT INTO alias SELECT name, alias, strftime('%s', 'now') FROM origin WHERE alias IS NOT NULL",
        # number: the lower, the older; AUTOINCREMENT, so that none is given twice.
        "ALTER TABLE anchor RENAME TO anchor_of_1",
        """CREATE TABLE anchor (
            number INTEGER PRIMARY KEY AUTOINCREMENT, anchor TEXT NOT NULL UNIQUE, seen INTEGER NOT NULL)""",
        "CREATE INDEX anchor_seen ON anchor (seen)",
        # The anchor that named its origin comes first, so that it goes on to.
        """INSERT INTO anchor (anchor, seen) SELECT anchor, strftime('%s', 'now') FROM anchor_of_1 JOIN origin USING (name)
            ORDER BY age, name <> 'origin:' || substr(anchor, instr(anchor, ':') + 1), anchor""",
        "DROP TABLE anchor_of_1",
        "DROP TABLE origin",
        # number: in the order of coming. anchors: their numbers, since names take four times the room. facts: JSON.
        """CREATE TABLE host (
            number INTEGER PRIMARY KEY, host TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, seen INTEGER NOT NULL,
            origin TEXT NOT NULL, confidence REAL NOT NULL, anchors TEXT NOT NULL, facts TEXT NOT NULL)""",
        "CREATE INDEX host_version ON host (version)",
        "CREATE INDEX host_origin ON host (origin)",
        "CREATE TABLE pointer (anchor INTEGER NOT NULL, host INTEGER NOT NULL, PRIMARY KEY (anchor, host)) WITHOUT ROWID",
        # made, until: seconds of the wall clock.
        """CREATE TABLE ruling (
            subject TEXT PRIMARY KEY, verb TEXT NOT NULL, origin TEXT NOT NULL, author TEXT NOT NULL, reason TEXT NOT NULL,
            made REAL NOT NULL, until REAL) WITHOUT ROWID""",
        # What was learned of a key. text: JSON.
        """CREATE TABLE note (
            subject TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL, seen INTEGER NOT NULL,
            PRIMARY KEY (subject, kind)) WITHOUT ROWID""",
        "CREATE INDEX note_seen ON note (seen)",
        # One row: the newest version, and the one of the newest ruling.
        "CREATE TABLE counter (version INTEGER NOT NULL, ruled INTEGER NOT NULL)",
        "INSERT INTO counter VALUES (0, 0)",
        *sqlitedeferred.TABLES,
    ),
)
"""What each version adds to the one before it: a new file goes through all of them, too."""

SLOTS = """CREATE TABLE IF NOT EXISTS slots.slot (
    key TEXT PRIMARY KEY, due INTEGER NOT NULL, last INTEGER NOT NULL) WITHOUT ROWID"""

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""A random number that the Linux kernel draws at boot (proc(5))."""


def boot_id() -> str:
    """What names this boot of the machine; the same for all its processes and containers."""
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        # Sandboxes without that file. To the minute, because this is worked out from two clocks that drift.
        return f"about:{round((time.time() - time.monotonic()) / 60)}"


def same_boot(one: str, other: str) -> bool:
    """Whether two answers of `boot_id` name the same boot."""
    about = "about:"
    if one.startswith(about) and other.startswith(about):
        return abs(int(one.removeprefix(about)) - int(other.removeprefix(about))) <= 1
    return one == other


def rebase(db: sqlite3.Connection, now: int, wall: int) -> None:
    """Put the holds of an earlier boot onto this boot's clock (`now`), by the wall clock; all in microseconds.

    A hold is never longer than it was when it began, whatever the wall clock did in between.
    """
    db.execute("UPDATE hold SET until = ? + max(0, min(span, wall - ?))", (now, wall))
