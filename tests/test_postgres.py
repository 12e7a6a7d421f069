"""What the Postgres store promises beyond every store's promises: many machines, a server that fails, and its secrets."""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import defaultdict
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from anystore import SECOND, want

from scrapy_polite.limits.gcra import Booked, Demand, Wait
from scrapy_polite.stores.base import Cause, Kept, Ruling, Store, StoreError, StoreTooNewError, open_store
from scrapy_polite.stores.deferring import Deferred
from scrapy_polite.stores.pglink import ANSWER_TIMEOUT, STATEMENT_TIMEOUT
from scrapy_polite.stores.pgschema import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from postgres import Database, Server

VARIABLE = "POLITE_TEST_DATABASE_URL"
LIMITED = Cause("rate_limited", "429, Retry-After: 30", stated=True)
LONG = 3_600 * SECOND


@contextmanager
def opened(url: str) -> Iterator[Store]:
    store = open_store(url)
    try:
        yield store
    finally:
        store.close()


@pytest.fixture
def store(database: Database) -> Iterator[Store]:
    with opened(database.url) as store:
        yield store


class TestOneRateForAll:
    def test_two_stores_share_due_times_holds_and_origins(self, database: Database, store: Store) -> None:
        with opened(database.url.replace("postgresql://", "postgres://")) as other:
            assert isinstance(store.book([want("site:a", increment=LONG)])[0], Booked)
            assert isinstance(other.book([want("site:a")])[0], Wait)
            store.hold("site:b", 30, LIMITED)
            (held,) = other.held()
            assert (held.key, held.cause) == ("site:b", LIMITED)
            assert 29 < held.seconds <= 30
            store.merge("origin:young", "origin:o")
            assert other.standing(["origin:young"]) == {"origin:young": "origin:o"}

    def test_it_says_that_it_belongs_in_a_thread(self, store: Store) -> None:
        assert store.blocking is True

    def test_an_alias_that_another_process_made_is_followed_at_once(self, database: Database, store: Store) -> None:
        with opened(database.url) as other:
            store.book([want("origin:young", increment=10)])
            other.merge("origin:young", "origin:old")
            other.book([want("origin:old", increment=LONG)])
            for wants in ([want("origin:young")], [want("origin:young", "site:a")], [want("origin:young")] * 2):
                answers = store.book(wants)
                assert all(isinstance(answer, Wait) and answer.key == "origin:young" for answer in answers)
            other.merge("origin:old", "origin:oldest")
            other.hold("origin:young", 7_200, LIMITED)
            (answer,) = store.book([want("origin:young", "site:a")])
            assert isinstance(answer, Wait)
            assert answer.micros > 1.9 * LONG
            assert [held.key for held in store.held()] == ["origin:oldest"]

    @pytest.mark.parametrize("others", [[], [want("site:b")]])
    def test_a_split_that_another_process_made_is_followed_at_once(
        self, database: Database, store: Store, others: list[tuple[Demand, ...]]
    ) -> None:
        """What this one has learnt of aliases is looked at again where it books: nobody is charged in another's place."""
        with opened(database.url) as other:
            other.merge("origin:young", "origin:old")
            wants = [want("origin:young", increment=10), *others]
            assert isinstance(store.book(wants)[0], Booked)
            other.split("origin:young", "origin:old")
            other.hold("origin:old", 60, LIMITED)
            assert isinstance(store.book(wants)[0], Booked)
            assert isinstance(store.book([want("origin:old")])[0], Wait)
            # And the other way: it knows the name by itself, and it is an alias again.
            other.merge("origin:young", "origin:old")
            assert isinstance(store.book(wants)[0], Wait)

    def test_a_split_waits_for_whoever_is_booking_and_hands_that_on(self, database: Database, store: Store) -> None:
        store.merge("origin:young", "origin:old")
        store.book([want("origin:old", increment=1)])
        with database.connect() as db:
            db.execute("BEGIN")
            db.execute("UPDATE polite.slot SET due = due + 3600000000 WHERE key = 'origin:old'")
            thread = threading.Thread(target=store.split, args=("origin:young", "origin:old"))
            thread.start()
            thread.join(0.3)
            assert thread.is_alive()
            db.execute("COMMIT")
            thread.join()
        assert store.peek(["origin:young"])["origin:young"].due_in > 3_000

    def test_a_booking_that_waited_for_a_split_is_charged_to_the_name_itself(self, database: Database, store: Store) -> None:
        """It had followed the alias before it waited; the lock that it got is of a key that is another's by now."""
        with opened(database.url) as other:
            store.merge("origin:young", "origin:old")
            assert isinstance(other.book([want("origin:young", increment=1)])[0], Booked)
            with database.connect() as db:
                db.execute("BEGIN")
                db.execute("SELECT polite.split('origin:young', 'origin:old')")
                answers: list[Booked | Wait] = []
                thread = threading.Thread(target=lambda: answers.extend(other.book([want("origin:young", increment=LONG)])))
                thread.start()
                thread.join(0.3)
                assert thread.is_alive()
                db.execute("COMMIT")
                thread.join()
        assert isinstance(answers[0], Booked)
        peeks = store.peek(["origin:young", "origin:old"])
        assert peeks["origin:young"].due_in > 3_000
        assert peeks["origin:old"].due_in < 1

    def test_a_hold_that_waited_for_a_split_is_of_the_name_itself(self, database: Database, store: Store) -> None:
        store.merge("origin:young", "origin:old")
        store.book([want("origin:old", increment=1)])
        with database.connect() as db:
            db.execute("BEGIN")
            db.execute("SELECT polite.split('origin:young', 'origin:old')")
            thread = threading.Thread(target=store.hold, args=("origin:young", 60, LIMITED))
            thread.start()
            thread.join(0.3)
            assert thread.is_alive()
            db.execute("COMMIT")
            thread.join()
        assert [held.key for held in store.held()] == ["origin:young"]

    @pytest.mark.parametrize(
        "how", ["SELECT 1 FROM polite.slot WHERE key = 'site:a' FOR UPDATE", "UPDATE polite.slot SET hold = hold"]
    )
    @pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
    @pytest.mark.parametrize("wants", [[want("site:a")], [want("origin:o", "site:a")], [want("site:a"), want("site:b")]])
    def test_a_slot_is_never_before_the_lock_that_it_waited_for(
        self, database: Database, store: Store, how: str, end: str, wants: list[tuple[Demand, ...]]
    ) -> None:
        store.book([want("site:a", "site:b", "origin:o", increment=1)])
        with database.connect() as db:
            db.execute("BEGIN")
            db.execute(how.encode())
            released: list[int] = []

            def release() -> None:
                released.append(int(str(db.execute("SELECT polite.clock()").fetchall()[0][0])))
                db.execute(end.encode())

            timer = threading.Timer(0.5, release)
            timer.start()
            answers = store.book(wants)
            timer.join()
        for answer in answers:
            assert isinstance(answer, Booked)
            assert answer.slot >= answer.now >= released[0]
        # What was charged is what was answered.
        (row,) = database.execute("SELECT due, last FROM polite.slot WHERE key = 'site:a'")
        assert row == (answers[0].slot + SECOND, answers[0].slot)

    def test_a_refusal_writes_nothing_and_locks_nothing(self, database: Database, store: Store) -> None:
        store.book([want("site:a", increment=LONG)])
        store.book([want("site:b"), want("site:c")])
        state = "SELECT ctid, xmin, xmax, key, due, last, hold FROM polite.slot ORDER BY key"
        lsn = "SELECT pg_current_wal_insert_lsn() - '0/0'"
        before, written = database.execute(state), database.execute(lsn)[0][0]
        for _ in range(334):
            answers = store.book([want("site:a")]) + store.book([want("site:a", "site:new", "origin:new")])
            answers += store.book([want("site:a"), want("site:other", "site:a")])
            assert all(isinstance(answer, Wait) for answer in answers)
        assert database.execute(state) == before
        # Another server than ours may have other work. Of ours something of its own may be in between; a thousand locks would
        # be more than 50,000 bytes.
        if VARIABLE not in os.environ:
            assert int(str(database.execute(lsn)[0][0])) - int(str(written)) < 20_000

    def test_keys_in_any_order_never_deadlock(self, database: Database) -> None:
        troubles: list[StoreError] = []
        end = time.monotonic() + 2

        def work(number: int) -> None:
            chance = random.Random(number)
            with opened(database.url) as store:
                while time.monotonic() < end:
                    keys = [f"site:{chance.randrange(6)}", f"site:new{chance.randrange(400)}", f"origin:{chance.randrange(3)}"]
                    chance.shuffle(keys)
                    try:
                        store.book([want(*keys, increment=1)] * chance.choice([1, 1, 2]), ahead=LONG)
                        if not chance.randrange(20):
                            store.purge(0, 50)
                    except StoreError as error:
                        troubles.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert troubles == []
        assert database.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == [(0,)]

    @pytest.mark.parametrize("shift", [-3_600, 3_600])
    def test_what_a_clients_wall_clock_says_does_not_matter(
        self, database: Database, store: Store, shift: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        right = store.now()
        now, now_ns = time.time, time.time_ns
        monkeypatch.setattr(time, "time", lambda: now() + shift)
        monkeypatch.setattr(time, "time_ns", lambda: now_ns() + shift * 10**9)
        with opened(database.url) as other:
            (booked,) = other.book([want("site:a", increment=LONG)])
            assert isinstance(booked, Booked)
            assert right <= booked.slot < right + 10 * SECOND
            (waits,) = store.book([want("site:a")])
            assert isinstance(waits, Wait)
            assert LONG - 10 * SECOND < waits.micros <= LONG
            assert other.hold("site:b", 30, LIMITED) == 30

    def test_purge_leaves_what_somebody_works_on(self, database: Database, store: Store) -> None:
        store.book([want(f"site:{number}", increment=1) for number in range(2_500)])
        with database.connect() as db, db.transaction():
            db.execute("SELECT 1 FROM polite.slot WHERE key = 'site:7' FOR UPDATE")
            assert store.purge(0, limit=10_000) == 2_499
        assert store.purge(0, limit=10_000) == 1

    def test_a_hundred_thousand_bookings_do_not_bloat_the_table(self, database: Database) -> None:
        size = "SELECT pg_table_size('polite.slot')"
        with opened(database.url) as store:
            keys = [f"site:{number}.example" for number in range(10_000)]
            rounds = 11
            for turn in range(rounds):
                for start in range(0, len(keys), 100):
                    answers = store.book([want(key, increment=1) for key in keys[start : start + 100]], ahead=SECOND)
                    assert all(isinstance(answer, Booked) for answer in answers)
                if turn == 0:
                    before = int(str(database.execute(size)[0][0]))
        after = int(str(database.execute(size)[0][0]))
        assert after < 2 * before
        end = time.monotonic() + 10
        updates = hot = 0
        while updates < 100_000 and time.monotonic() < end:
            # A session tells the statistics when it ends, which is a moment after `close` returns.
            ((updates, hot),) = database.execute(
                "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'slot'"
            )  # type: ignore[assignment]
        assert hot > 0.95 * updates >= 95_000


class TestKills:
    @pytest.mark.parametrize(("workers", "enough"), [(8, 20_000), (32, 5_000)])
    def test_bookings_of_several_keys_replayed_while_clients_and_backends_are_killed(
        self, database: Database, tmp_path: Path, workers: int, enough: int
    ) -> None:
        open_store(database.url).close()
        script = subprocess.run(
            [sys.executable, "-W", "error", "-c", REPLAY, database.url, str(tmp_path), str(workers), str(enough)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert script.returncode == 0, script.stderr
        killed, terminated = map(int, script.stdout.split())
        assert killed >= 20
        assert terminated >= 20
        slots: dict[str, list[tuple[int, int]]] = defaultdict(list)
        several, slowest = 0, 0
        for file in tmp_path.iterdir():
            for line in file.read_text().splitlines():
                slot, took, *pairs = map(int, line.split())
                several += len(pairs) > 2
                slowest = max(slowest, took)
                for key, cost in zip(pairs[::2], pairs[1::2], strict=True):
                    slots[str(key)].append((slot, cost * UNIT))
        assert several >= enough
        violations = 0
        for key, booked in slots.items():
            due = 0
            # Slots of one time are sorted by cost: which of them was booked first is not known.
            for slot, increment in sorted(booked):
                violations += slot < due - TOLERANCES[int(key)]
                due = max(due, slot) + increment
            if not TOLERANCES[int(key)]:
                violations += sum(one == two for (one, _), (two, _) in pairwise(sorted(booked)))
        assert violations == 0
        # 32 wait for two processors and five keys.
        assert slowest < (2 if workers == 8 else 5) * SECOND


UNIT = 100
TOLERANCES = (0, 0, 5 * UNIT, 20 * UNIT, 0)
REPLAY = f"""
import os, random, signal, sys, time, traceback
import psycopg
from scrapy_polite.limits.gcra import Booked, Demand
from scrapy_polite.stores.base import StoreError, open_store

url, directory, WORKERS, ENOUGH = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
UNIT, TOLERANCES, AT_MOST = {UNIT}, {TOLERANCES}, 60.0
PARENT = os.getpid()

def work(number):
    chance = random.Random(number)
    log = os.open(f"{{directory}}/{{number}}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    store = None
    # Nobody may be left to hammer on when the script has failed.
    while os.getppid() == PARENT:
        if store is None:
            try:
                store = open_store(url)
            except ValueError:
                continue  # Terminated while it connected.
        keys = chance.sample(range(5), chance.choice([1, 2, 2, 3]))
        pairs = [(key, chance.choice([1, 1, 1, 2, 5])) for key in keys]
        want = tuple(Demand(f"key:{{key}}", cost * UNIT, TOLERANCES[key]) for key, cost in pairs)
        wants = [want] * chance.choice([1, 1, 1, 3])
        begin = time.monotonic_ns()
        try:
            answers = store.book(wants, ahead=20_000)
        except StoreError:
            continue
        took = (time.monotonic_ns() - begin) // 1000
        for answer in answers:
            if isinstance(answer, Booked):
                os.write(log, (" ".join(map(str, [answer.slot, took, *(n for pair in pairs for n in pair)])) + "\\n").encode())
            else:
                time.sleep(min(answer.micros / 1e6, 0.01))

def start(number):
    child = os.fork()
    if child == 0:
        try:
            work(number)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    return child

def several():
    count = 0
    for name in os.listdir(directory):
        with open(os.path.join(directory, name)) as log:
            # slot, took, and a key and a cost for each key.
            count += sum(line.count(" ") > 3 for line in log)
    return count

chance = random.Random(1)
workers = {{number: start(number) for number in range(WORKERS)}}
killed = terminated = 0
end = time.monotonic() + AT_MOST
with psycopg.connect(url, autocommit=True) as db:
    while time.monotonic() < end:
        time.sleep(0.15)
        number = chance.choice(list(workers))
        os.kill(workers[number], signal.SIGKILL)
        assert os.waitpid(workers.pop(number), 0)[1] == signal.SIGKILL, "a worker ended by itself"
        killed += 1
        workers[number] = start(WORKERS + killed)
        terminated += len(db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_type = 'client backend' ORDER BY random() LIMIT 1").fetchall())
        if killed >= 20 and several() > 1.02 * ENOUGH:
            break
for child in workers.values():
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
print(killed, terminated)
"""


class TestFailure:
    def test_a_restart_is_an_error_now_and_works_again_later(self, own_server: Server) -> None:
        with opened(own_server.database().url) as store:
            store.book([want("site:a", increment=LONG)])
            store.hold("site:b", 60, LIMITED)
            own_server.stop()
            for _ in range(2):
                with pytest.raises(StoreError, match="POLITE_STORE"):
                    store.book([want("site:a")])
            own_server.start()
            (answer,) = store.book([want("site:a")])
            assert isinstance(answer, Wait)
            (held,) = store.held()
            assert held.cause == LIMITED

    def test_after_a_lost_connection_every_key_counts_as_booked_for_one_interval(self, own_server: Server) -> None:
        with opened(own_server.database().url) as store:
            assert isinstance(store.book([want("site:before", increment=1)])[0], Booked)
            own_server.stop(signal.SIGKILL)
            with pytest.raises(StoreError):
                store.book([want("site:a")])
            own_server.start()
            wants = [want("site:a", "origin:o", increment=SECOND), want("bucket:b", increment=SECOND, tolerance=10 * SECOND)]
            waits, booked = store.book(wants)
            assert isinstance(waits, Wait)
            assert 0.5 * SECOND < waits.micros <= SECOND
            assert isinstance(booked, Booked)
            time.sleep(waits.micros / SECOND)
            assert isinstance(store.book(wants)[0], Booked)

    def test_a_hold_survives_kill_9_of_the_server(self, own_server: Server) -> None:
        url = own_server.database().url
        with opened(url) as store, opened(url) as other:
            for number in range(20):
                store.hold(f"site:{number}", 3_600, LIMITED)
            store.release("site:0")
            store.merge("origin:young", "origin:o")
            version = store.keep([Kept("a.test", "origin:o", 0.5, ("anchor",), "[]")])
            ages = store.ages(["other"])
            own_server.stop(signal.SIGKILL)
            own_server.start()
            with pytest.raises(StoreError):
                other.held()
            assert sorted(held.key for held in other.held()) == sorted(f"site:{number}" for number in range(1, 20))
            assert other.standing(["origin:young"]) == {"origin:young": "origin:o"}
            assert other.origins() == [("origin:o", 1)]
            assert other.news(0).version == version
            assert other.ages(["other"]) == ages

    def test_a_hung_server_is_an_error_in_time_and_the_store_goes_on_when_it_does(self, own_server: Server) -> None:
        with opened(own_server.database().url) as store:
            store.book([want("site:a", increment=LONG)])
            own_server.signal_all(signal.SIGSTOP)
            # The connection that it had, and then a new one that nobody answers.
            for _ in range(2):
                begin = time.monotonic()
                with pytest.raises(StoreError, match=r"no answer for|timeout"):
                    store.book([want("site:a")])
                assert time.monotonic() - begin < ANSWER_TIMEOUT + 3
            own_server.signal_all(signal.SIGCONT)
            assert isinstance(store.book([want("site:a")])[0], Wait)

    def test_a_lock_that_somebody_keeps_is_an_error_in_time(self, database: Database, store: Store) -> None:
        store.book([want("site:a", increment=1)])
        with database.connect() as db, db.transaction():
            db.execute("SELECT 1 FROM polite.slot FOR UPDATE")
            begin = time.monotonic()
            with pytest.raises(StoreError, match="statement timeout"):
                store.book([want("site:a")])
            assert time.monotonic() - begin < STATEMENT_TIMEOUT + 1
        # The connection was not lost: nothing counts as booked.
        assert isinstance(store.book([want("site:a")])[0], Booked)

    def test_an_ended_session_costs_one_call(self, database: Database, store: Store) -> None:
        database.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'scrapy_polite'")
        with pytest.raises(StoreError, match="POLITE_STORE"):
            store.hold("site:a", 5, LIMITED)
        assert store.hold("site:a", 5, LIMITED) == 5

    def test_tables_that_went_away_are_made_again(self, database: Database, store: Store) -> None:
        store.book([want("site:a")])
        database.execute("DROP SCHEMA polite CASCADE")
        with pytest.raises(StoreError, match="POLITE_STORE"):
            store.book([want("site:a")])
        store.hold("site:a", 5, LIMITED)
        assert [held.key for held in store.held()] == ["site:a"]

    def test_a_store_does_not_go_with_a_fork(self, database: Database) -> None:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", FORK, database.url], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.stdout.split("\n"), done.stderr) == (["open it again", "parent booked", ""], "")


FORK = """
import os, sys
from scrapy_polite.stores.base import StoreError, open_store
store = open_store(sys.argv[1])
child = os.fork()
if child == 0:
    try:
        store.held()
    except StoreError as error:
        print("open it again" if "open it again" in str(error) else error, flush=True)
    store.close()
    os._exit(0)
os.waitpid(child, 0)
assert store.held() == []
print("parent booked")
store.close()
"""


class TestSchema:
    def test_a_newer_version_is_named_with_both_and_left_as_it_is(self, database: Database) -> None:
        open_store(database.url).close()
        database.execute(f"UPDATE polite.meta SET version = {VERSION + 1}")
        with pytest.raises(
            StoreTooNewError, match=rf"POLITE_STORE.*version is {VERSION + 1}, this one knows {VERSION}\b"
        ) as error:
            open_store(database.url)
        assert isinstance(error.value, ValueError)
        assert database.execute("SELECT version FROM polite.meta") == [(VERSION + 1,)]

    def test_another_programs_schema_is_left_as_it_is(self, database: Database) -> None:
        database.execute("CREATE SCHEMA polite")
        database.execute("CREATE TABLE polite.diary (page text)")
        with pytest.raises(ValueError, match=r"POLITE_STORE.*belongs to another program"):
            open_store(database.url)
        assert database.execute("SELECT relname FROM pg_class WHERE relnamespace = 'polite'::regnamespace") == [("diary",)]

    def test_an_empty_schema_that_the_administrator_made_is_used(self, database: Database) -> None:
        database.execute("CREATE SCHEMA polite")
        with opened(database.url) as store:
            assert store.hold("site:a", 5, LIMITED) == 5

    def test_several_may_make_it_at_once(self, database: Database) -> None:
        stores: list[Store] = []
        threads = [threading.Thread(target=lambda: stores.append(open_store(database.url))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(stores) == 6
        for store in stores:
            assert store.held() == []
            store.close()
        assert database.execute("SELECT version FROM polite.meta") == [(VERSION,)]

    def test_a_role_that_is_no_superuser_makes_it_and_another_only_uses_it(self, own_server: Server) -> None:
        database = own_server.database()
        name = database.execute("SELECT current_database()")[0][0]
        for statement in (
            f"REVOKE ALL ON DATABASE {name} FROM public",
            "CREATE ROLE maker LOGIN",
            "CREATE ROLE crawler LOGIN",
            "CREATE ROLE nobody_knows LOGIN",
            f"GRANT CONNECT ON DATABASE {name} TO maker, crawler, nobody_knows",
            f"GRANT CREATE ON DATABASE {name} TO maker",
        ):
            database.execute(statement)
        url = {role: own_server.url(str(name), role) for role in ("maker", "crawler", "nobody_knows")}
        with pytest.raises(ValueError, match=r"POLITE_STORE.*permission denied for database"):
            open_store(url["crawler"])
        with opened(url["maker"]) as store:
            everything(store)
        with pytest.raises(ValueError, match=r"POLITE_STORE.*permission denied"):
            open_store(url["nobody_knows"])
        database.execute("GRANT USAGE ON SCHEMA polite TO crawler")
        database.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA polite TO crawler")
        with opened(url["crawler"]) as store:
            everything(store)


def everything(store: Store) -> None:
    """Every method once, and twice what makes something new."""
    name = f"{store.now()}"
    store.book([want(f"{name}:a"), want(f"{name}:a", f"{name}:b")])
    store.book([want(f"{name}:c", f"{name}:d")])
    store.book([want(f"{name}:e")])
    assert store.hold(f"{name}:a", 60, LIMITED) == 60
    store.settle(f"{name}:a", 5)
    assert store.release(f"{name}:a") is True
    store.peek([f"{name}:a"])
    assert store.held() == []
    store.merge(f"{name}:one", f"{name}:two")
    store.merge(f"{name}:two", f"{name}:three")
    store.split(f"{name}:one", f"{name}:three")
    assert store.standing([f"{name}:two"]) == {f"{name}:two": f"{name}:three"}
    assert store.ages([f"{name}:anchor"])[f"{name}:anchor"] > 0
    kept = Kept(f"{name}.test", f"{name}:two", 0.97, (f"{name}:anchor", f"{name}:new"), "[]")
    version = store.keep([kept])
    assert store.keep([kept]) > version
    assert store.kept([kept.host]) == store.pointing_at([f"{name}:new"], 1) == {kept.host: kept}
    assert store.news(version).hosts == store.hosts_of(f"{name}:three") == [kept]
    assert store.origins() == [(f"{name}:three", 1)]
    store.rule(Ruling(name, "join", "origin:o", "me", "", 0.0, None))
    assert [ruling.subject for ruling in store.rulings()] == [name]
    assert store.unrule(name) is True
    store.note(name, "cost", "{}")
    assert store.notes([name]) == {name: {"cost": "{}"}}
    assert store.forget_hosts(0) == 1
    store.purge(0)
    text = f"http://{name}.test/"
    row = Deferred("project/spider", name, name, text, "GET", "", "", "parked", "", 0, 0.0, 1.0, "{}")
    for _ in range(2):
        store.defer([row])
    assert store.deferred("project/spider", name) == [row]
    assert store.count_deferred()[name] == store.hasten_deferred(name) == 1
    assert [taken.fingerprint for taken in store.take_deferred("project/spider", name, 1, 60.0)] == [name]
    assert store.renew_deferred(name, 60.0) == store.done_deferred("project/spider", [name], name) == 1
    assert store.drop_deferred("project/spider", name) == 0


def shown(thing: object, depth: int = 4) -> object:
    """What a debugger's view shows of our objects: all attributes, and theirs."""
    if not depth or not type(thing).__module__.startswith("scrapy_polite.stores"):
        return repr(thing)
    return {name: shown(value, depth - 1) for name, value in vars(thing).items()}


class TestSecrets:
    def test_the_password_of_a_url_or_of_the_environment_opens_it(
        self, own_server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from postgres import PASSWORD

        with opened(own_server.url(password=PASSWORD)) as store:
            assert store.held() == []
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        with opened(f"postgresql://postgres@127.0.0.1:{own_server.port}/postgres") as store:
            assert store.held() == []

    def test_it_is_in_no_message_no_log_and_no_repr(self, own_server: Server, caplog: pytest.LogCaptureFixture) -> None:
        from postgres import PASSWORD

        secret = "s3cr3t-%s"
        caplog.set_level(logging.DEBUG)
        said: list[str] = []

        def tell(call: Callable[[], object]) -> None:
            try:
                call()
            except (ValueError, StoreError) as error:
                said.append("".join(traceback.format_exception(error)) + repr(error))
            else:
                pytest.fail("no error")

        tell(lambda: open_store(own_server.url(password=secret)))
        assert "password authentication failed" in said[0]
        tell(lambda: open_store(f"postgresql://me:{secret}@host.invalid:99999999/db"))
        tell(lambda: open_store(f"postgresql://me:half@{secret}@127.0.0.1/db"))
        tell(lambda: open_store(f"postgresql://me:half/{secret}@127.0.0.1/db"))
        tell(lambda: open_store(f"postgresql://me:{secret}"))
        tell(lambda: open_store(f"postgresql://me@127.0.0.1/db?password={secret}&no_such={secret}"))
        tell(lambda: open_store(f"postgresql://me@127.0.0.1:1/db?password={secret}"))
        store = open_store(own_server.url(password=PASSWORD))
        said.append(repr(store) + repr(shown(store)))
        own_server.stop()
        tell(store.held)
        tell(store.held)
        store.close()
        for text in (*said, caplog.text):
            for word in ("s3cr3t", PASSWORD, "with%3A", "%40ll"):
                assert word not in text
        assert len(said) == 10

    @pytest.mark.parametrize(
        ("url", "named"),
        [
            ("postgresql://127.0.0.1:1/db", "refused"),
            ("postgresql://127.0.0.1/db?no_such_thing=1", "libpq"),
            ("postgresql://127.0.0.1:port/db", "special character"),
        ],
    )
    def test_a_url_that_leads_nowhere_names_the_setting_and_the_form(self, url: str, named: str) -> None:
        with pytest.raises(ValueError, match=r"POLITE_STORE.*postgresql://USER@HOST") as error:
            open_store(url)
        assert named in str(error.value)

    def test_without_psycopg_the_extra_is_named(self) -> None:
        code = "import sys; sys.modules['psycopg'] = None; from scrapy_polite.stores import base; base.open_store(sys.argv[1])"
        done = subprocess.run(
            [sys.executable, "-c", code, "postgresql://me:s3cr3t@127.0.0.1/db"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=os.environ | {"PYTHONWARNINGS": "error"},
        )
        assert "ValueError: POLITE_STORE: postgresql://me:***@127.0.0.1/db needs psycopg" in done.stderr
        assert "pip install 'scrapy-polite[postgres]'" in done.stderr
        assert "s3cr3t" not in done.stderr
