"""Stores that version 1 has written, opened by this one: `data/stores` has the tables and functions of that time."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from anystore import SECOND, Clock, want

from scrapy_polite.limits.gcra import Booked, Wait
from scrapy_polite.stores import pgschema, schema
from scrapy_polite.stores.base import Cause, Held, Store, open_store
from scrapy_polite.stores.sqlite import SQLiteStore

if TYPE_CHECKING:
    from postgres import Database, Server

OLD = Path(__file__).parent / "data" / "stores"
ORIGINS = (
    ("origin:sites.test", ("address:203.0.113.7", "cname:sites.test")),
    ("origin:203.0.113.9", ("address:203.0.113.9", "address:203.0.113.10")),
    ("origin:new.test", ("cname:a.test",)),
)
"""By age, each with its anchors."""

OLDEST_FIRST = ["cname:sites.test", "address:203.0.113.7", "address:203.0.113.9", "address:203.0.113.10", "cname:a.test"]
LIMITED = Cause("rate_limited", "429, Retry-After: 30", stated=True)


def numbered(store: Store) -> list[str]:
    ages = store.ages([*sorted(OLDEST_FIRST), "cname:made.since"])
    assert ages.pop("cname:made.since") > max(ages.values())
    return sorted(ages, key=lambda anchor: ages[anchor])


def old_file(path: Path, clock: Clock) -> None:
    """A store of version 1 with a live hold, origins, and an alias; the boot is this one."""
    made = SQLiteStore(path, clock)
    made.book([want("origin:sites.test", increment=9 * SECOND)])
    made.close()
    path.unlink()
    db = sqlite3.connect(path)
    db.executescript((OLD / "sqlite-1.sql").read_text())
    db.execute("INSERT INTO meta VALUES ('boot', ?)", (schema.boot_id(),))
    until = clock.micros + 60 * SECOND
    db.execute("INSERT INTO hold VALUES ('origin:sites.test', ?, ?, ?, 'rate_limited', ?, 1)", (until, 0, 1, LIMITED.reason))
    for name, anchors in ORIGINS:
        db.execute("INSERT INTO origin (name) VALUES (?)", (name,))
        db.executemany("INSERT INTO anchor VALUES (?, ?)", [(anchor, name) for anchor in anchors])
    db.execute("INSERT INTO origin (name, alias) VALUES ('origin:young.test', 'origin:sites.test')")
    db.commit()
    db.close()


def version_of(path: Path) -> int:
    db = sqlite3.connect(path)
    try:
        return int(db.execute("PRAGMA user_version").fetchone()[0])
    finally:
        db.close()


class TestSQLite:
    def test_holds_aliases_due_times_and_the_age_of_anchors_are_kept(self, tmp_path: Path) -> None:
        path, clock = tmp_path / "store.sqlite", Clock()
        old_file(path, clock)
        for _ in range(2):
            store = SQLiteStore(path, clock)
            assert store.held() == [Held("origin:sites.test", 60, LIMITED)]
            assert store.standing(["origin:young.test"]) == {"origin:young.test": "origin:sites.test"}
            assert store.book([want("origin:young.test")]) == [Wait(60 * SECOND, "origin:young.test")]
            assert store.peek(["origin:young.test"])["origin:young.test"].due_in == 9
            assert numbered(store) == OLDEST_FIRST
            assert store.origins() == []
            assert store.news(0).version == 0
            store.close()
        assert version_of(path) == schema.VERSION

    def test_one_that_is_made_anew_is_the_same_as_one_that_was_brought_up(self, tmp_path: Path) -> None:
        old_file(tmp_path / "old", Clock())
        tables = []
        for name in ("old", "new"):
            SQLiteStore(tmp_path / name).close()
            db = sqlite3.connect(tmp_path / name)
            tables.append({name: str(sql).split() for name, sql in db.execute("SELECT name, sql FROM sqlite_master")})
            db.close()
        assert tables[0] == tables[1]

    def test_what_cannot_be_brought_up_is_left_as_it_was(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path, clock = tmp_path / "store.sqlite", Clock()
        old_file(path, clock)
        with monkeypatch.context() as patch:
            patch.setattr("scrapy_polite.stores.files.SCHEMA", (*schema.SCHEMA, ("CREATE TABLE hold (again)",)))
            with pytest.raises(ValueError, match=r"POLITE_STORE.*hold already exists"):
                SQLiteStore(path, clock)
        assert version_of(path) == 1
        store = SQLiteStore(path, clock)
        assert numbered(store) == OLDEST_FIRST
        store.close()

    def test_several_may_open_it_at_once(self, tmp_path: Path) -> None:
        from test_store_processes import finish, start

        path = tmp_path / "store.sqlite"
        old_file(path, Clock())
        workers = [start(OPENS, f"sqlite:{path}") for _ in range(4)]
        assert {tuple(finish(worker)) for worker in workers} == {(f"{OLDEST_FIRST}",)}


OPENS = f"""
import sys
from scrapy_polite.stores.base import open_store
store = open_store(sys.argv[1])
ages = store.ages({sorted(OLDEST_FIRST)})
print(sorted(ages, key=lambda anchor: ages[anchor]))
store.close()
"""


def old_database(database: Database) -> None:
    database.execute("CREATE SCHEMA polite")
    database.execute((OLD / "postgres-1.sql").read_text())
    for statement in (
        "INSERT INTO polite.meta VALUES (1)",
        f"""INSERT INTO polite.slot (key, due, last, hold, kind, reason, stated) SELECT 'origin:sites.test',
            polite.clock() + 9000000, 1, polite.clock() + 60000000, 'rate_limited', '{LIMITED.reason}', true""",
        "INSERT INTO polite.slot (key, alias) VALUES ('origin:young.test', 'origin:sites.test')",
        *(f"INSERT INTO polite.origin (name) VALUES ('{name}')" for name, _ in ORIGINS),
        *(f"INSERT INTO polite.anchor VALUES ('{anchor}', '{name}')" for name, anchors in ORIGINS for anchor in anchors),
    ):
        database.execute(statement)


# Without what depends on how a table came to be: the order of its columns, and the names of what was renamed.
CATALOG = """
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity::text, x.collname, c.reloptions
FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_collation x ON x.oid = a.attcollation
WHERE c.relnamespace = 'polite'::regnamespace ORDER BY 1, 2
"""
FUNCTIONS = """
SELECT p.proname, pg_get_function_identity_arguments(p.oid), p.prosrc, p.provolatile::text FROM pg_proc p
WHERE p.pronamespace = 'polite'::regnamespace ORDER BY 1, 2
"""


class TestPostgres:
    def test_holds_aliases_due_times_and_the_age_of_anchors_are_kept(self, database: Database) -> None:
        old_database(database)
        for _ in range(2):
            store = open_store(database.url)
            (held,) = store.held()
            assert (held.key, held.cause) == ("origin:sites.test", LIMITED)
            assert 50 < held.seconds <= 60
            assert store.standing(["origin:young.test"]) == {"origin:young.test": "origin:sites.test"}
            (answer,) = store.book([want("origin:young.test")])
            assert isinstance(answer, Wait)
            assert 3 < store.peek(["origin:young.test"])["origin:young.test"].due_in <= 9
            assert numbered(store) == OLDEST_FIRST
            assert store.origins() == []
            store.close()
        assert database.execute("SELECT version FROM polite.meta") == [(pgschema.VERSION,)]

    def test_one_that_is_made_anew_is_the_same_as_one_that_was_brought_up(self, own_server: Server) -> None:
        old, new = own_server.database(), own_server.database()
        old_database(old)
        for database in (old, new):
            open_store(database.url).close()
        assert old.execute(CATALOG) == new.execute(CATALOG)
        assert old.execute(FUNCTIONS) == new.execute(FUNCTIONS)

    def test_several_may_open_it_at_once(self, database: Database) -> None:
        old_database(database)
        stores: list[Store] = []
        threads = [threading.Thread(target=lambda: stores.append(open_store(database.url))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(stores) == 6
        for store in stores:
            assert numbered(store) == OLDEST_FIRST
            store.close()

    def test_it_is_brought_up_by_whoever_made_it_and_who_could_use_it_still_can(self, own_server: Server) -> None:
        from test_postgres import everything

        database = own_server.database()
        name = database.execute("SELECT current_database()")[0][0]
        for statement in ("CREATE ROLE maker LOGIN", "CREATE ROLE crawler LOGIN", f"GRANT CREATE ON DATABASE {name} TO maker"):
            database.execute(statement)
        as_maker = type(database)(own_server.url(str(name), "maker"))
        old_database(as_maker)
        as_maker.execute("GRANT USAGE ON SCHEMA polite TO crawler")
        as_maker.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA polite TO crawler")
        with pytest.raises(ValueError, match=r"POLITE_STORE.*must be owner"):
            open_store(own_server.url(str(name), "crawler"))
        assert database.execute("SELECT version FROM polite.meta") == [(1,)]
        open_store(as_maker.url).close()
        store = open_store(own_server.url(str(name), "crawler"))
        store.release("origin:sites.test")
        everything(store)
        store.close()

    def test_who_had_it_open_goes_on_booking_until_it_asks_for_what_is_gone(self, database: Database) -> None:
        """Both are of the old version's calls: what they need of the new tables is there."""
        old_database(database)
        with database.connect() as old:
            open_store(database.url).close()
            answer = old.execute("SELECT polite.book_one('site:a', 1000000, 0, 0)").fetchall()[0][0]
            assert isinstance(answer, list)
            assert answer[0] == answer[1]
        store = open_store(database.url)
        assert isinstance(store.book([want("site:b")])[0], Booked)
        assert isinstance(store.book([want("site:a")])[0], Wait)
        store.close()
