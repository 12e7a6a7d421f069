"""Copies of robots.txt files in the store: also long ones, and of many who want one at once one asks."""

from __future__ import annotations

import asyncio
import random
import string
import time
from typing import TYPE_CHECKING

import pytest

from scrapy_polite.backoff.robotstxt import MOST, Known
from scrapy_polite.booker import Booker
from scrapy_polite.robotscopies import Copies
from scrapy_polite.stores import robotsnotes
from scrapy_polite.stores.base import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from anystore import Clock
    from postgres import Database

    from scrapy_polite.stores.base import Store

HOST = "https://a.example"
MANY = 50


def long_copy(seed: int, read: float) -> Known:
    """Of 500 KiB that cannot be packed."""
    chance = random.Random(seed)
    return Known("".join(chance.choices(string.ascii_letters + string.digits + "-_", k=MOST)), read)


def test_a_copy_of_any_length_is_there_for_every_process(store: Store, other: Store, clock: Clock) -> None:
    long, longer, short = long_copy(1, clock.wall()), long_copy(2, clock.wall()), Known("User-agent: *\n", clock.wall())
    assert robotsnotes.known(store, HOST) is None
    for copy in (long, longer, short, long):
        robotsnotes.keep(store, HOST, copy)
        assert robotsnotes.known(other, HOST) == copy
    assert robotsnotes.known(other, "https://b.example") is None


def test_a_short_copy_leaves_no_room_to_the_long_one_before(store: Store, clock: Clock) -> None:
    robotsnotes.keep(store, HOST, long_copy(1, clock.wall()))
    robotsnotes.keep(store, HOST, Known("", clock.wall()))
    notes = store.notes([robotsnotes.subject(HOST)])[robotsnotes.subject(HOST)]
    assert sum(map(len, notes.values())) < 200


def test_of_a_copy_that_was_half_written_nothing_is_known(store: Store, clock: Clock) -> None:
    robotsnotes.keep(store, HOST, long_copy(1, clock.wall()))
    store.note(robotsnotes.subject(HOST), "robots:3", long_copy(2, clock.wall()).notes()[3])
    assert robotsnotes.known(store, HOST) is None
    robotsnotes.keep(store, HOST, long_copy(2, clock.wall()))
    assert robotsnotes.known(store, HOST) == long_copy(2, clock.wall())


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_of_fifty_who_want_it_at_once_one_asks_and_the_others_have_its_copy(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Each with a connection of its own, as processes have."""
    database: Database | None = request.getfixturevalue("database") if kind == "postgres" else None
    url = database.url if database is not None else f"sqlite:{tmp_path}/limits.sqlite"
    many = 16 if database is not None else MANY  # Of connections a server has not so many.
    read = long_copy(1, time.time())

    async def one(copies: Copies) -> Known | None:
        lease = copies.lease(HOST)
        try:
            found = await lease.take()
            if found is None:
                await asyncio.sleep(0.2)  # It is fetched.
                await copies.keep(HOST, read)
            return found
        finally:
            lease.give_back()

    async def all_of_them() -> list[Known | None]:
        bookers = [Booker(open_store(url), 100_000) for _ in range(many)]
        try:
            return await asyncio.gather(*(one(Copies(booker)) for booker in bookers))
        finally:
            for booker in bookers:
                booker.close()

    found = asyncio.run(all_of_them())
    assert found.count(None) == 1
    assert found.count(read) == many - 1
