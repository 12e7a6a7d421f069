"""The tables of the SQLite store, their version, and what a reboot does to them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

APPLICATION_ID = 0x504F4C49
"""Stands in the file's header (SQLite file format, 1.3.17), so that no other program's database is taken for ours."""

VERSION = 1
"""Of the tables below. A file with a higher one is not touched."""

SCHEMA = (
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
)
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
