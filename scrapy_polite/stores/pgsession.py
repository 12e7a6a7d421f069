"""The one connection of a Postgres store: opened when it is needed, given up when it is broken, opened again."""

from __future__ import annotations

import os
from threading import Lock
from typing import TYPE_CHECKING

from .base import ACCEPTED, StoreError, StoreTooNewError
from .memory import monotonic_micros
from .pglink import Link, SilentServerError
from .pgschema import NotOursError, prepare

if TYPE_CHECKING:
    from .pglink import Connection, Rows

STILL_GOOD = ("40001", "40P01", "55P03", "57014")
"""Serialization failure, deadlock, lock not available, query cancelled (PostgreSQL, Appendix A): the session goes on."""


class Session:
    """Statements go to the server at `url`, one at a time; safe to use from several threads.

    Raises `ValueError`, `StoreTooNewError` and `NothingThereError` as `PostgresStore` does, when it is made. Afterwards every
    trouble is a `StoreError`, and the next call tries anew.
    """

    def __init__(self, url: str, *, make: bool = True) -> None:
        self._link = Link(url)
        self._make = make
        self._lock = Lock()
        self._process = os.getpid()
        self._open = True
        self._db: Connection | None = None
        self.back: int | None = None
        """When a connection that was lost came back (microseconds of our monotonic clock); None: none was lost."""
        wrong = self._connect()
        if wrong:
            raise ValueError(
                f"POLITE_STORE: no store can be had at {self.shown}: {wrong}. Give the URL of a server that runs, and of "
                f"a database in which this role may use or make the schema polite; accepted: {ACCEPTED}"
            )

    @property
    def shown(self) -> str:
        """The URL as it may be shown."""
        return self._link.shown

    def connected(self) -> None:
        """There is a connection afterwards; `back` says since when, if one was lost."""
        if self._db is None:
            with self._lock:
                self._reconnect()

    def ask(self, query: str, values: tuple[object, ...] = (), *, connect: bool = True) -> list[Rows]:
        """The rows of one prepared statement. `connect` False: an error, rather than a new connection for it."""
        with self._lock:
            if self._db is None:
                if not connect:
                    raise StoreError(f"POLITE_STORE: the connection to {self.shown} was lost")
                self._reconnect()
            self.check()
            try:
                self._cursor.execute(query, values, prepare=True)
                return self._cursor.fetchall()
            except (self._link.errors, SilentServerError, OSError) as error:
                wrong = self._link.scrubbed(error)
                if getattr(error, "sqlstate", None) not in STILL_GOOD:
                    self._give_up()
            # Out of the handler: psycopg's error knows the connection, and with it the password.
            raise StoreError(f"POLITE_STORE: {self.shown} cannot answer: {wrong}")

    def check(self) -> None:
        """`StoreError` after `close`, and in another process."""
        if not self._open:
            raise StoreError("the store was closed")
        if self._process != os.getpid():
            raise StoreError(f"{self.shown} was opened by another process, before a fork: open it again in this one")

    def close(self) -> None:
        with self._lock:
            self._open = False
            # After a fork the connection is the other process's: not even a farewell may be sent on it.
            if self._process == os.getpid():
                self._give_up()

    def _connect(self) -> str:
        """What went wrong, "" for nothing. A newer schema is no passing trouble, and raises."""
        try:
            db = self._link.open()
            try:
                prepare(db, self.shown, make=self._make)
            except BaseException:
                db.close()
                raise
        except StoreTooNewError:
            raise
        except (self._link.errors, NotOursError, SilentServerError, OSError) as error:
            return self._link.scrubbed(error)
        self._db = db
        self._cursor = db.cursor()
        return ""

    def _reconnect(self) -> None:
        self.check()
        if self._db is None:
            wrong = self._connect()
            if wrong:
                raise StoreError(f"POLITE_STORE: {self.shown} cannot be reached: {wrong}")
            self.back = monotonic_micros()

    def _give_up(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            db.close()
