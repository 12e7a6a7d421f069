"""What a store promises of origins to several processes at once, which may be killed: SQLite and Postgres."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from scrapy_polite.stores.base import Store, open_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from postgres import Database

    Rows = list[tuple[object, ...]]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:{tmp_path}/store.sqlite"
    database: Database = request.getfixturevalue("database")
    return database.url


@pytest.fixture
def look(url: str, request: pytest.FixtureRequest) -> Callable[[str], Rows]:
    """Asks the database itself. Aliases are in different tables: `ALIAS` stands for what has `name` and `root`."""
    if url.startswith("sqlite:"):

        def ask(query: str) -> Rows:
            db = sqlite3.connect(url.removeprefix("sqlite:"))
            try:
                return db.execute(query.replace("ALIAS", "alias").replace("polite.", "")).fetchall()
            finally:
                db.close()

        return ask
    database: Database = request.getfixturevalue("database")
    return lambda query: database.execute(
        query.replace("ALIAS", "(SELECT key AS name, alias AS root FROM polite.slot WHERE alias IS NOT NULL)")
    )


def start(script: str, url: str, number: int = 0) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-W", "error", "-c", script, url, str(number)], stdout=subprocess.PIPE, text=True)


def finish(worker: subprocess.Popen[str]) -> list[str]:
    out, _ = worker.communicate(timeout=60)
    assert worker.returncode == 0
    return out.splitlines()


PRELUDE = """
import json, random, sys
from scrapy_polite.limits.gcra import Demand
from scrapy_polite.stores.base import Cause, Kept, StoreError, open_store
store, number = open_store(sys.argv[1]), int(sys.argv[2])
chance = random.Random(number)
"""
AGES = (
    PRELUDE
    + """
anchors = [f"address:203.0.113.{n}" for n in range(200)]
chance.shuffle(anchors)
told = {}
for start in range(0, 200, 10):
    told |= store.ages(anchors[start:start + 10])
    store.keep([Kept(f"{number}.{start}.test", "origin:o", 0.9, tuple(anchors[start:start + 10]), "[]")])
print(json.dumps(told))
store.close()
"""
)


def test_all_processes_give_an_anchor_the_same_number(url: str) -> None:
    open_store(url).close()
    told = [json.loads("".join(finish(worker))) for worker in [start(AGES, url, number) for number in range(5)]]
    assert all(one == told[0] for one in told)
    assert len(set(told[0].values())) == len(told[0]) == 200
    store = open_store(url)
    assert store.ages(told[0]) == told[0]
    assert len(store.pointing_at(told[0], 1_000)) == 100
    store.close()


NEWS = (
    PRELUDE
    + """
for turn in range(150):
    hosts = [f"{chance.randrange(40)}.test" for _ in range(chance.choice([1, 3, 8]))]
    store.keep([Kept(host, "origin:o", 0.9, (f"address:{chance.randrange(9)}",), f"[{number}, {turn}]") for host in hosts])
store.close()
"""
)


def test_who_follows_the_news_misses_nothing_that_several_write(url: str) -> None:
    """Versions become visible in their order: otherwise one that is written first and seen last would be passed over."""
    store = open_store(url)
    workers = [start(NEWS, url, number) for number in range(4)]
    seen: dict[str, str] = {}
    since = 0
    while True:
        ended = all(worker.poll() is not None for worker in workers)
        news = store.news(since, 7)
        assert news.version >= since
        since = news.version
        seen |= {kept.host: kept.facts for kept in news.hosts}
        if ended and not news.hosts:
            break
    assert all(finish(worker) == [] for worker in workers)
    kept = store.kept([f"{number}.test" for number in range(40)])
    assert seen == {host: one.facts for host, one in kept.items()}
    assert len(seen) == 40
    store.close()


NAMES = [f"origin:{number}" for number in range(6)]
HAMMER = (
    PRELUDE
    + f"""
names = {NAMES}
while True:
    one, other = chance.choice(names), chance.choice(names)
    try:
        what = chance.choice(["merge", "split", "book", "book", "keep", "hold"])
        if what == "merge":
            store.merge(one, other)
        elif what == "split":
            store.split(one, other)
        elif what == "keep":
            store.keep([Kept(f"{{chance.randrange(9)}}.test", one, 0.9, (f"address:{{chance.randrange(9)}}", "all"), "[]")])
        elif what == "hold":
            store.hold(one, 60 * chance.random(), Cause("error", one))
        else:
            store.book([(Demand(one, 10_000_000, 0), Demand(other, 10_000_000, 0))], ahead=10**15)
    except StoreError as error:
        if "changed 10 times" not in str(error):
            raise
"""
)


def due(store: Store) -> dict[str, tuple[int, int]]:
    """Between which moments each name is due, for certain: what the store's clock says lies on both sides of the answer."""
    before = store.now()
    peeks = store.peek(NAMES)
    after = store.now()
    return {name: (before + round(peek.due_in * 1e6), after + round(peek.due_in * 1e6)) for name, peek in peeks.items()}


def test_names_stay_whole_and_due_times_never_go_back_while_who_merges_splits_and_books_is_killed(
    url: str, look: Callable[[str], Rows]
) -> None:
    store = open_store(url)
    chance = random.Random(1)
    workers = [start(HAMMER, url, number) for number in range(4)]
    last = due(store)
    moved = killed = 0
    end = time.monotonic() + 40
    try:
        # The machine may be slow: until enough of them were killed while they worked.
        while (killed < 12 or moved < 50) and time.monotonic() < end:
            step = time.monotonic() + 0.25
            while time.monotonic() < step:
                now = due(store)
                assert all(now[name][1] >= last[name][0] for name in NAMES)
                moved += sum(now[name][0] > last[name][1] for name in NAMES)
                last = now
                standing = store.standing(NAMES)
                assert all(standing[root] == root for root in standing.values())
            victim = workers.pop(chance.randrange(4))
            victim.kill()
            assert victim.wait() == -signal.SIGKILL, "it ended by itself"
            assert victim.stdout is not None
            victim.stdout.close()
            killed += 1
            workers.append(start(HAMMER, url, 3 + killed))
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
    assert killed >= 12
    assert moved >= 50
    assert look("SELECT a.name FROM ALIAS a WHERE a.name = a.root") == []
    assert look("SELECT a.name FROM ALIAS a JOIN ALIAS b ON b.name = a.root") == []
    # A hold or a booking under an alias would be one that nobody obeys.
    assert {held.key for held in store.held()} <= set(store.standing(NAMES).values())
    # Pointers and hosts tell the same.
    for kept in store.kept([f"{host}.test" for host in range(9)]).values():
        assert all(kept.host in store.pointing_at([anchor], 100) for anchor in kept.anchors)
        assert [kept.host in store.pointing_at([f"address:{n}"], 100) for n in range(9)].count(True) == 1
    (hosts,), (pointers,) = look("SELECT count(*) FROM polite.host"), look("SELECT count(*) FROM polite.pointer")
    assert int(str(pointers[0])) == 2 * int(str(hosts[0])) > 0
    store.close()
