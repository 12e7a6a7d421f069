"""A store of each kind for one test, with a clock that the test moves: `store` and `clock` are fixtures.
`place` is one for processes: the URL of a store on disk or in a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scrapy_polite.limits.gcra import Demand
from scrapy_polite.stores.base import Store, open_store
from scrapy_polite.stores.memory import MemoryStore
from scrapy_polite.stores.sqlite import SQLiteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from postgres import Database

SECOND = 1_000_000


class Clock:
    """Microseconds, moved by hand; on the wall it is as late."""

    def __init__(self) -> None:
        self.micros = 1_000 * SECOND
        self.tell: Callable[[int], object] = lambda _: None

    def __call__(self) -> int:
        return self.micros

    def wall(self) -> float:
        return self.micros / SECOND

    def forward(self, seconds: float) -> None:
        self.micros += round(seconds * SECOND)
        self.tell(self.micros)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[Store]:
    if request.param == "postgres":
        yield from store_in(request.getfixturevalue("database"), clock)
        return
    store: Store = (
        MemoryStore(clock, clock.wall)
        if request.param == "memory"
        else SQLiteStore(tmp_path / "store.sqlite", clock, clock.wall)
    )
    yield store
    store.close()


@pytest.fixture
def other(store: Store, request: pytest.FixtureRequest, clock: Clock) -> Iterator[Store]:
    """The same store once more, as another process has it."""
    if isinstance(store, MemoryStore):
        other: Store = store.opened_again()
    elif isinstance(store, SQLiteStore):
        other = SQLiteStore(store.path, clock, clock.wall)
    else:
        other = open_store(request.getfixturevalue("database").url)
    yield other
    other.close()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a store that processes can share."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path}/limits.sqlite"
    database: Database = request.getfixturevalue("database")
    return database.url


def store_in(database: Database, clock: Clock) -> Iterator[Store]:
    """A Postgres store whose server reads the time from `clock`."""
    store = open_store(database.url)
    with database.connect() as db:
        db.execute("CREATE TABLE public.time AS SELECT %s::bigint AS micros", (clock.micros,))
        db.execute("CREATE OR REPLACE FUNCTION polite.clock() RETURNS bigint LANGUAGE sql AS 'SELECT micros FROM public.time'")
        clock.tell = lambda micros: db.execute("UPDATE public.time SET micros = %s", (micros,))
        yield store
    store.close()


def want(*keys: str, increment: int = SECOND, tolerance: int = 0) -> tuple[Demand, ...]:
    return tuple(Demand(key, increment, tolerance) for key in keys)
