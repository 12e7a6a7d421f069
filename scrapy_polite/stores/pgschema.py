"""The schema of the Postgres store: made, migrated and recognised; one process at a time.

Everything is in a schema of its own, `polite`, so that it can live in a database beside other things. Making it needs a
role that may create a schema in the database, no superuser:

    GRANT CREATE ON DATABASE crawl TO maker;

Afterwards a role that only crawls needs no more than this (functions can be called by whoever may use the schema):

    GRANT USAGE ON SCHEMA polite TO crawler;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA polite TO crawler;

Sequences need no grant: they belong to identity columns. A newer version is migrated to by the role that made the schema;
whoever could use `polite.slot` may do the same with the tables that are new then.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from .base import NothingThereError, StoreTooNewError

if TYPE_CHECKING:
    from .pglink import Connection

STEPS = ("pgschema.sql", "pgschema2.sql")
"""What each version adds to the tables of the one before it: a new schema goes through all of them, too."""

FUNCTIONS = ("pgbooking.sql", "pgorigins.sql", "pgdeferred.sql")
"""In place of those that are there, after the tables; with what each needs of tables of its own."""

VERSION = len(STEPS)
"""Of the tables and functions. A database with a higher one is not touched, one with a lower one is brought up to it."""

LOCK = (1347373129, 1)
"""The advisory lock ("POLI", 1) under which the schema is made and migrated; ("POLI", 2) is for names that become one."""

PATIENCE = 60.0
"""Seconds that making the schema, or waiting for whoever makes it, may take."""


class NotOursError(Exception):
    """The schema `polite` is there, and another program made it."""


def prepare(db: Connection, shown: str, *, make: bool = True) -> None:
    """Make the schema or bring it up to `VERSION`. `shown`: what the database is called in messages.

    Raises `NothingThereError` where there is none and none is to be made; `StoreTooNewError` for a newer one and
    `NotOursError` for another program's, which are left as they are.
    """
    found = _version(db, shown)
    if found == VERSION:
        return
    if not found and not make:
        raise NothingThereError(shown)
    patience, db.patience = db.patience, PATIENCE
    try:
        with db.transaction():
            db.execute("SELECT set_config('statement_timeout', %s, true)", (f"{PATIENCE:.0f}s",))
            db.execute("SELECT pg_advisory_xact_lock(%s, %s)", LOCK)
            # Somebody may have made it while we waited.
            found = _version(db, shown)
            if found < VERSION:
                migrate(db, found)
    finally:
        db.patience = patience


def migrate(db: Connection, found: int) -> None:
    """From version `found` (0: nothing is there) to `VERSION`, inside the transaction that is open."""
    if found == 0:
        db.execute("CREATE SCHEMA IF NOT EXISTS polite")
    for file in (*STEPS[found:], *FUNCTIONS):
        db.execute(files(__package__).joinpath(file).read_bytes())
    db.execute("DELETE FROM polite.meta")
    db.execute("INSERT INTO polite.meta (version) VALUES (%s)", (VERSION,))


def _version(db: Connection, shown: str) -> int:
    """The version that is there; 0: none."""
    (ours, others) = db.execute(
        "SELECT to_regclass('polite.meta') IS NOT NULL,"
        " EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('polite'))"
    ).fetchall()[0]
    if not ours:
        if others:
            raise NotOursError(
                "the schema polite in it belongs to another program. Name another database (CREATE DATABASE crawl), or rename "
                "that schema (ALTER SCHEMA polite RENAME TO ...)"
            )
        return 0
    ((found,),) = db.execute("SELECT version FROM polite.meta").fetchall()
    if not isinstance(found, int):
        raise NotOursError("the table polite.meta in it belongs to another program. Name another database")
    if found > VERSION:
        raise StoreTooNewError(
            f"POLITE_STORE: {shown} was made by a newer scrapy_polite: its version is {found}, this one knows {VERSION}. "
            "Update the package here (pip install -U scrapy-polite), or name another database"
        )
    return found
