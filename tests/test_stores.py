"""What every store promises, on each store; and what one file promises to several processes."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from anystore import SECOND, Clock, want
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scrapy_polite.limits.gcra import Booked, Demand, Row, Wait, Want, decide, settled
from scrapy_polite.stores.base import (
    LONGEST_HOLD,
    Cause,
    Held,
    Peek,
    Store,
    StoreError,
    StoreTooNewError,
    hold_micros,
    open_store,
    redacted_url,
    scratch_store,
)
from scrapy_polite.stores.memory import MemoryStore
from scrapy_polite.stores.schema import VERSION, boot_id, same_boot
from scrapy_polite.stores.sqlite import SQLiteStore

if TYPE_CHECKING:
    from collections.abc import Iterator


LIMITED = Cause("rate_limited", "429, Retry-After: 30", stated=True)
ERROR = Cause("error", "503")


class TestEveryStore:
    def test_now_is_the_stores_own_clock(self, store: Store, clock: Clock) -> None:
        assert store.now() == clock.micros

    def test_a_key_is_booked_once_an_increment(self, store: Store, clock: Clock) -> None:
        assert store.book([want("site:a")]) == [Booked(clock.micros, clock.micros)]
        assert store.book([want("site:a")]) == [Wait(SECOND, "site:a")]
        clock.forward(0.25)
        assert store.book([want("site:a")]) == [Wait(750_000, "site:a")]
        clock.forward(0.75)
        assert store.book([want("site:a")]) == [Booked(clock.micros, clock.micros)]

    def test_a_want_is_booked_on_all_keys_or_on_none(self, store: Store) -> None:
        store.book([want("site:a")])
        before = store.peek(["site:a", "origin:o", "edge:e"])
        assert store.book([want("origin:o", "site:a", "edge:e")]) == [Wait(SECOND, "site:a")]
        assert store.peek(["site:a", "origin:o", "edge:e"]) == before

    def test_a_batch_is_answered_in_order_and_each_want_sees_the_ones_before_it(self, store: Store, clock: Clock) -> None:
        booked = Booked(clock.micros, clock.micros)
        answers = store.book([want("site:a", "origin:o"), want("site:b", "origin:o"), want("site:c"), ()])
        assert answers == [booked, Wait(SECOND, "origin:o"), booked, booked]
        assert store.book([]) == []

    def test_a_slot_may_lie_ahead_as_far_as_was_asked(self, store: Store, clock: Clock) -> None:
        now = clock.micros
        assert store.book([want("site:a")] * 3, ahead=SECOND) == [
            Booked(now, now),
            Booked(now + SECOND, now),
            Wait(2 * SECOND, "site:a"),
        ]

    def test_peek_tells_when_a_key_is_due_and_changes_nothing(self, store: Store, clock: Clock) -> None:
        store.book([want("site:a", increment=3 * SECOND)])
        clock.forward(1)
        for _ in range(2):
            assert store.peek(["site:a", "site:new"]) == {"site:a": Peek(2, 0, None), "site:new": Peek(0, 0, None)}
        assert store.peek([]) == {}

    def test_peek_takes_thousands_of_keys(self, store: Store) -> None:
        keys = [f"site:{number}" for number in range(2_500)]
        store.book([want(key) for key in keys])
        assert list(store.peek(keys).values()) == [Peek(1, 0, None)] * 2_500

    def test_a_hold_blocks_every_want_with_its_key_until_it_ends(self, store: Store, clock: Clock) -> None:
        assert store.hold("origin:o", 30, LIMITED) == 30
        assert store.book([want("site:a", "origin:o"), want("site:a")]) == [
            Wait(30 * SECOND, "origin:o"),
            Booked(clock.micros, clock.micros),
        ]
        assert store.peek(["origin:o"]) == {"origin:o": Peek(0, 30, LIMITED)}
        assert store.held() == [Held("origin:o", 30, LIMITED)]
        clock.forward(30)
        assert store.held() == []
        assert store.peek(["origin:o"]) == {"origin:o": Peek(0, 0, None)}
        assert store.book([want("origin:o")]) == [Booked(clock.micros, clock.micros)]

    def test_a_shorter_hold_neither_shortens_nor_renames_the_one_in_force(self, store: Store, clock: Clock) -> None:
        store.hold("site:a", 30, LIMITED)
        clock.forward(10)
        assert store.hold("site:a", 5, ERROR) == 20
        assert store.hold("site:a", 20, ERROR) == 20
        assert store.held() == [Held("site:a", 20, LIMITED)]

    def test_a_longer_hold_lengthens_and_tells_its_own_cause(self, store: Store) -> None:
        store.hold("site:a", 30, LIMITED)
        assert store.hold("site:a", 60, ERROR) == 60
        assert store.held() == [Held("site:a", 60, ERROR)]

    def test_a_new_hold_after_the_old_one_has_ended_has_its_own_cause(self, store: Store, clock: Clock) -> None:
        store.hold("site:a", 30, LIMITED)
        clock.forward(31)
        assert store.hold("site:a", 1, ERROR) == 1
        assert store.held() == [Held("site:a", 1, ERROR)]

    @pytest.mark.parametrize("seconds", [0.0, -5.0, float("-inf")])
    def test_a_hold_that_is_over_is_none(self, store: Store, seconds: float) -> None:
        assert store.hold("site:a", seconds, ERROR) == 0
        assert store.held() == []

    def test_a_hold_may_be_for_ever_and_is_never_of_no_length(self, store: Store) -> None:
        assert store.hold("site:a", float("inf"), ERROR) == LONGEST_HOLD
        with pytest.raises(ValueError, match="give a number"):
            store.hold("site:a", float("nan"), ERROR)

    def test_held_lists_by_key(self, store: Store) -> None:
        for key in ("site:c", "site:a", "site:b"):
            store.hold(key, 5, ERROR)
        assert [held.key for held in store.held()] == ["site:a", "site:b", "site:c"]

    def test_release_ends_the_hold_and_gives_back_nothing_that_was_spent(self, store: Store) -> None:
        store.book([want("site:a")])
        store.hold("site:a", 30, ERROR)
        assert store.release("site:a") is True
        assert store.held() == []
        assert store.book([want("site:a")]) == [Wait(SECOND, "site:a")]
        assert store.release("site:a") is False
        assert store.release("site:never seen") is False

    def test_release_after_the_end_of_a_hold_says_that_there_was_none(self, store: Store, clock: Clock) -> None:
        store.hold("site:a", 1, ERROR)
        clock.forward(1)
        assert store.release("site:a") is False

    def test_a_booking_keeps_the_hold_that_begins_after_it(self, store: Store, clock: Clock) -> None:
        store.book([want("site:a", increment=10)])
        store.hold("site:a", 30, ERROR)
        clock.forward(30)
        assert store.book([want("site:a", increment=10)]) == [Booked(clock.micros, clock.micros)]

    def test_purge_forgets_idle_keys_and_no_live_hold(self, store: Store, clock: Clock) -> None:
        store.book([want("site:idle"), want("site:held"), want("site:late", increment=90 * SECOND)])
        store.hold("site:held", 1_000, LIMITED)
        store.hold("site:was held", 5, LIMITED)
        clock.forward(100)
        store.book([want("site:busy")])
        assert store.purge(50) == 2
        assert store.purge(50) == 0
        assert store.held() == [Held("site:held", 900, LIMITED)]
        assert store.peek(["site:busy"])["site:busy"].due_in == 1

    def test_purge_takes_small_steps(self, store: Store, clock: Clock) -> None:
        store.book([want(f"site:{number}") for number in range(10)])
        clock.forward(100)
        assert [store.purge(1, limit=4) for _ in range(4)] == [4, 4, 2, 0]

    def test_settle_moves_the_due_time_by_a_cost_known_afterwards(self, store: Store, clock: Clock) -> None:
        store.book([want("site:a", "origin:o")])
        store.settle("site:a", 3 * SECOND)
        assert store.peek(["site:a", "origin:o"]) == {"site:a": Peek(4, 0, None), "origin:o": Peek(1, 0, None)}
        store.settle("site:a", -2 * SECOND)
        assert store.book([want("site:a")]) == [Wait(2 * SECOND, "site:a")]
        clock.forward(2)
        assert store.book([want("site:a")]) == [Booked(clock.micros, clock.micros)]

    def test_a_refund_undoes_no_slot_that_was_handed_out(self, store: Store, clock: Clock) -> None:
        first, second = store.book([want("site:a")] * 2, ahead=SECOND)
        assert isinstance(first, Booked)
        assert isinstance(second, Booked)
        store.settle("site:a", -(10**18))
        assert store.book([want("site:a")]) == [Wait(SECOND, "site:a")]
        assert store.book([want("site:a")], ahead=SECOND) == [Booked(second.slot, clock.micros)]

    def test_a_cost_afterwards_is_paid_by_the_time_that_a_key_was_idle(self, store: Store, clock: Clock) -> None:
        store.book([want("site:a")])
        clock.forward(10)
        store.settle("site:a", 5 * SECOND)
        assert store.book([want("site:a")]) == [Booked(clock.micros, clock.micros)]

    def test_settle_keeps_holds_and_makes_no_key(self, store: Store, clock: Clock) -> None:
        store.hold("site:a", 30, LIMITED)
        store.settle("site:a", 10**18)
        store.settle("site:new", 10**18)
        assert store.peek(["site:a", "site:new"]) == {"site:a": Peek(0, 30, LIMITED), "site:new": Peek(0, 0, None)}
        clock.forward(30)
        assert store.book([want("site:a", "site:new")]) == [Booked(clock.micros, clock.micros)]

    def test_a_cost_may_be_more_than_a_century(self, store: Store) -> None:
        store.book([want("site:a")])
        store.settle("site:a", 10**30)
        assert store.peek(["site:a"])["site:a"].due_in == LONGEST_HOLD + 1

    def test_a_key_may_be_of_any_characters(self, store: Store, clock: Clock) -> None:
        keys = [
            'site:"quoted"',
            "site:back\\slash",
            "site:{1,2}",
            "site:%s",
            "site:bücher.example",
            "site:",
            "site:a b\n",
            "NULL",
        ]
        assert store.book([want(*keys), want(*keys)]) == [
            Booked(clock.micros, clock.micros),
            Wait(SECOND, min(keys, key=keys.index)),
        ]
        assert store.peek(keys) == dict.fromkeys(keys, Peek(1, 0, None))
        for key in keys:
            assert store.hold(key, 5, Cause("error", key)) == 5
            store.merge(f"{key} alias", key)
        assert {held.key: held.cause.reason for held in store.held()} == {key: key for key in keys}
        assert store.standing(f"{key} alias" for key in keys) == {f"{key} alias": key for key in keys}

    def test_a_new_key_in_the_middle_of_a_batch_is_only_made_when_it_is_booked(self, store: Store, clock: Clock) -> None:
        store.hold("site:held", 30, ERROR)
        booked = Booked(clock.micros, clock.micros)
        answers = store.book([want("site:b", "site:held"), want("site:a", "origin:o"), want("site:b"), want("site:b")])
        assert answers == [Wait(30 * SECOND, "site:held"), booked, booked, Wait(SECOND, "site:b")]

    def test_it_does_what_the_reference_does(self, store: Store, clock: Clock, request: pytest.FixtureRequest) -> None:
        """Bookings, batches, costs known afterwards, refunds, holds and releases, against decide() over plain rows."""
        number = 0

        @settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow], database=None)
        @given(st.lists(steps, max_size=25))
        def play(sequence: list[Step]) -> None:
            nonlocal number
            number += 1
            rows: dict[str, Row] = {}
            for kind, key, amount, batch, ahead in sequence:
                name = f"{number}:{key}"
                now = clock.micros
                if kind == "book":
                    wants = [tuple(Demand(f"{number}:{one}", by, TOLERANCE[one]) for one, by in pairs) for pairs in batch]
                    assert store.book(wants, ahead) == expected(wants, rows, now, ahead)
                elif kind == "settle":
                    store.settle(name, amount)
                    if name in rows and rows[name].last:
                        rows[name] = settled(rows[name], amount)
                elif kind == "hold":
                    store.hold(name, amount / SECOND, ERROR)
                    row = rows.get(name, Row(0, 0))
                    if now + hold_micros(amount / SECOND) > max(now, row.hold):
                        rows[name] = replace(row, hold=now + hold_micros(amount / SECOND))
                elif kind == "release":
                    assert store.release(name) == (rows.get(name, Row(0, 0)).hold > now)
                    rows[name] = replace(rows.get(name, Row(0, 0)), hold=0)
                else:
                    clock.forward(abs(amount) / SECOND)
                names = [f"{number}:{one}" for one in TOLERANCE]
                for one, seen in store.peek(names).items():
                    row = rows.get(one, Row(0, 0))
                    assert round(seen.due_in * SECOND) == max(0, row.due - clock.micros)
                    assert round(seen.hold_in * SECOND) == max(0, row.hold - clock.micros)

        play()

    def test_after_closing_every_answer_is_an_error(self, store: Store) -> None:
        store.close()
        store.close()
        for call in (
            store.now,
            store.held,
            lambda: store.book([want("site:a")]),
            lambda: store.hold("site:a", 1, ERROR),
            lambda: store.release("site:a"),
            lambda: store.settle("site:a", 1),
            lambda: store.peek(["site:a"]),
            lambda: store.purge(1),
        ):
            with pytest.raises(StoreError, match="closed"):
                call()

    def test_threads_share_it_and_no_increment_is_spent_twice(self, store: Store) -> None:
        booked: list[Booked] = []

        def work() -> None:
            for _ in range(50):
                for answer in store.book([want("site:a", "origin:o")], ahead=10**12):
                    assert isinstance(answer, Booked)
                    booked.append(answer)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        slots = sorted(answer.slot for answer in booked)
        assert len(slots) == 200
        assert all(after - before == SECOND for before, after in pairwise(slots))


TOLERANCE = {"site:a": 50, "site:b": 50, "origin:o": 300, "bucket:s3/x": 2_000}
pairs = st.lists(st.tuples(st.sampled_from(sorted(TOLERANCE)), st.integers(1, 1_000)), max_size=4)
Step = tuple[str, str, int, list[list[tuple[str, int]]], int]
steps = st.tuples(
    st.sampled_from(["book", "book", "book", "settle", "hold", "release", "forward"]),
    st.sampled_from(sorted(TOLERANCE)),
    st.integers(-1_500, 1_500),
    st.lists(pairs, min_size=1, max_size=4),
    st.sampled_from([0, 0, 700]),
)


def expected(wants: list[Want], rows: dict[str, Row], now: int, ahead: int) -> list[Booked | Wait]:
    """What the reference answers, one want after the other; `rows` is what it leaves."""
    answers: list[Booked | Wait] = []
    for one in wants:
        outcome = decide(one, rows, now, ahead)
        if isinstance(outcome, Wait):
            answers.append(outcome)
        else:
            answers.append(outcome[0])
            rows.update(outcome[1])
    return answers


class TestOpening:
    def test_every_form_of_the_setting(self, tmp_path: Path) -> None:
        memory = open_store("memory:")
        assert isinstance(memory, MemoryStore)
        memory.close()
        store = open_store(f"sqlite:{tmp_path}/a store.sqlite")
        assert isinstance(store, SQLiteStore)
        assert store.path == tmp_path / "a store.sqlite"
        store.close()

    @pytest.mark.parametrize(
        ("url", "shown"),
        [
            ("postgresql://me@db.example/crawl", "postgresql://me@db.example/crawl"),
            ("postgresql://me:s3cr3t@db.example:5432/crawl", "postgresql://me:***@db.example:5432/crawl"),
            ("postgresql://:s3cr3t@/crawl", "postgresql://:***@/crawl"),
            ("postgresql://me:half@s3cr3t@db.example/crawl", "postgresql://me:***@db.example/crawl"),
            ("postgresql://me:s3/cr3t@db.example/crawl", "postgresql://me:***@db.example/crawl"),
            ("postgresql://me:s3?cr3t@db.example/crawl", "postgresql://me:***@db.example/crawl"),
            ("postgresql://me:s3cr3t", "postgresql://me:***"),
            ("postgresql://[::1]:5432,db.example:5433/crawl", "postgresql://[::1]:5432,db.example:5433/crawl"),
            (
                "postgresql:///crawl?host=/run&password=s3cr3t&pasword=s3cr3t&sslmode=require",
                "postgresql:///crawl?host=/run&password=***&pasword=***&sslmode=require",
            ),
            ("redis://:s3cr3t@localhost", "redis://:***@localhost"),
            ("sqlite:a:b@c", "sqlite:a:b@c"),
        ],
    )
    def test_what_is_shown_of_a_url_has_no_password(self, url: str, shown: str) -> None:
        assert redacted_url(url) == shown

    def test_an_unknown_url_is_shown_without_its_password(self) -> None:
        with pytest.raises(ValueError, match=r"'redis://:\*\*\*@localhost' is no store"):
            open_store("redis://:s3cr3t@localhost")

    def test_in_memory_is_one_store_for_a_process_and_each_that_opened_it_closes_its_own(self) -> None:
        one, other = open_store("memory:"), open_store("memory:")
        one.hold("site:in-memory", 60, LIMITED)
        one.close()
        assert "site:in-memory" in [held.key for held in other.held()]
        with pytest.raises(StoreError):
            one.held()
        assert "site:in-memory" not in [held.key for held in scratch_store().held()]
        assert other.release("site:in-memory")
        other.close()

    def test_only_a_store_across_the_network_needs_a_thread(self, tmp_path: Path) -> None:
        for url in ("memory:", f"sqlite:{tmp_path}/store.sqlite"):
            store = open_store(url)
            assert store.blocking is False
            store.close()

    @pytest.mark.parametrize(
        "url", ["", "sqlite", "sqlite:", "sqlite::memory:", "sqlite:a\0b", "redis://localhost", "memory", None, 5]
    )
    def test_anything_else_names_the_setting_and_the_forms(self, url: str) -> None:
        with pytest.raises(ValueError, match=r'POLITE_STORE.*"memory:".*"sqlite:PATH"') as error:
            open_store(url)
        assert repr(url) in str(error.value)

    def test_a_missing_directory_is_named_and_not_made(self, tmp_path: Path) -> None:
        path = tmp_path / "missing" / "store.sqlite"
        with pytest.raises(ValueError, match=r"POLITE_STORE.*does not exist.*mkdir -p") as error:
            open_store(f"sqlite:{path}")
        assert str(path) in str(error.value)
        assert list(tmp_path.iterdir()) == []

    def test_a_directory_in_the_place_of_the_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"POLITE_STORE.*is a directory"):
            open_store(f"sqlite:{tmp_path}")
        assert list(tmp_path.iterdir()) == []

    def test_a_new_file_is_its_owners_since_requests_may_carry_passwords(self, tmp_path: Path) -> None:
        path = tmp_path / "store.sqlite"
        store = open_store(f"sqlite:{path}")
        store.hold("site:a", 60, Cause("error", "503"))
        assert {file.name: oct(file.stat().st_mode & 0o777) for file in (path, tmp_path / "store.sqlite-wal")} == {
            "store.sqlite": "0o600",
            "store.sqlite-wal": "0o600",
        }
        store.close()
        path.chmod(0o660)
        open_store(f"sqlite:{path}").close()
        assert path.stat().st_mode & 0o777 == 0o660

    def test_a_read_only_directory_is_named_and_stays_empty(self, common_user: Path) -> None:
        common_user.chmod(0o555)
        with pytest.raises(ValueError, match=r"POLITE_STORE.*cannot be written to") as error:
            open_store(f"sqlite:{common_user}/store.sqlite")
        assert f"{common_user}/store.sqlite" in str(error.value)
        assert list(common_user.iterdir()) == []

    def test_a_read_only_file_is_named_and_left_as_it_is(self, common_user: Path) -> None:
        path = common_user / "store.sqlite"
        open_store(f"sqlite:{path}").close()
        path.chmod(0o444)
        before = {file.name: file.read_bytes() for file in common_user.iterdir()}
        with pytest.raises(ValueError, match=r"POLITE_STORE.*cannot be written to"):
            open_store(f"sqlite:{path}")
        assert {file.name: file.read_bytes() for file in common_user.iterdir()} == before

    def test_a_file_of_a_newer_version_is_named_with_both_and_left_as_it_is(self, tmp_path: Path) -> None:
        path = tmp_path / "store.sqlite"
        open_store(f"sqlite:{path}").close()
        execute(path, f"PRAGMA user_version = {VERSION + 1}")
        before = path.read_bytes()
        with pytest.raises(StoreTooNewError, match=rf"version is {VERSION + 1}, this one knows {VERSION}\b") as error:
            open_store(f"sqlite:{path}")
        assert isinstance(error.value, ValueError)
        assert isinstance(error.value, StoreError)
        assert path.read_bytes() == before

    def test_what_is_no_database_is_left_as_it_is(self, tmp_path: Path) -> None:
        path = tmp_path / "store.sqlite"
        path.write_text("dear diary, " * 500)
        with pytest.raises(ValueError, match=r"POLITE_STORE.*not a database"):
            open_store(f"sqlite:{path}")
        assert path.read_text() == "dear diary, " * 500
        assert list(tmp_path.iterdir()) == [path]

    def test_another_programs_database_is_left_as_it_is(self, tmp_path: Path) -> None:
        path = tmp_path / "store.sqlite"
        execute(path, "CREATE TABLE diary (page TEXT)")
        before = path.read_bytes()
        with pytest.raises(ValueError, match=r"POLITE_STORE.*another program"):
            open_store(f"sqlite:{path}")
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]

    def test_an_empty_file_becomes_a_store(self, tmp_path: Path) -> None:
        path = tmp_path / "store.sqlite"
        path.touch()
        store = open_store(f"sqlite:{path}")
        assert store.hold("site:a", 5, ERROR) == 5
        store.close()

    def test_a_relative_path_stays_the_same_file_when_the_directory_changes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        store = open_store("sqlite:store.sqlite")
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert store.hold("site:a", 5, ERROR) == 5
        store.close()
        assert list((tmp_path / "elsewhere").iterdir()) == []


class TestOneFile:
    def test_what_one_connection_writes_the_other_sees(self, tmp_path: Path) -> None:
        clock = Clock()
        one, two = (SQLiteStore(tmp_path / "store.sqlite", clock) for _ in range(2))
        one.book([want("site:a")])
        one.hold("site:b", 30, LIMITED)
        one.merge("origin:young", "origin:o")
        assert two.book([want("site:a")]) == [Wait(SECOND, "site:a")]
        assert two.held() == [Held("site:b", 30, LIMITED)]
        assert two.standing(["origin:young"]) == {"origin:young": "origin:o"}
        one.close()
        two.close()

    def test_it_is_all_there_when_it_is_opened_again(self, tmp_path: Path) -> None:
        clock = Clock()
        store = SQLiteStore(tmp_path / "store.sqlite", clock)
        store.book([want("site:a")])
        store.hold("site:b", 30, LIMITED)
        store.close()
        assert not list(tmp_path.glob("*-wal"))
        store = SQLiteStore(tmp_path / "store.sqlite", clock)
        assert store.book([want("site:a")]) == [Wait(SECOND, "site:a")]
        assert store.held() == [Held("site:b", 30, LIMITED)]
        store.close()

    def test_a_refusal_writes_nothing(self, tmp_path: Path) -> None:
        store = SQLiteStore(tmp_path / "store.sqlite", Clock())
        store.book([want("site:a")])
        before = {file.name: file.read_bytes() for file in tmp_path.iterdir() if not file.name.endswith("-shm")}
        for _ in range(100):
            assert isinstance(store.book([want("site:a", "origin:o")])[0], Wait)
            store.peek(["site:a"])
        after = {file.name: file.read_bytes() for file in tmp_path.iterdir() if not file.name.endswith("-shm")}
        assert after == before
        store.close()

    def test_another_boot_forgets_due_times_and_keeps_holds_by_the_wall_clock(self, tmp_path: Path) -> None:
        path, clock = tmp_path / "store.sqlite", Clock()
        store = SQLiteStore(path, clock)
        store.book([want("site:a", increment=10**12)])
        store.hold("site:live", 3_600, LIMITED)
        store.hold("site:over", 60, ERROR)
        store.hold("site:clock set back", 60, ERROR)
        store.close()
        # As if the machine had been down for 600 seconds, and then its wall clock lost a day for one of them.
        execute(path, "UPDATE meta SET value = 'an earlier boot' WHERE name = 'boot'")
        execute(path, f"UPDATE hold SET wall = wall - {600 * SECOND}")
        execute(path, f"UPDATE hold SET wall = wall + {86_400 * SECOND} WHERE key = 'site:clock set back'")
        clock.micros = 5 * SECOND
        store = SQLiteStore(path, clock)
        assert store.book([want("site:a")]) == [Booked(clock.micros, clock.micros)]
        held = {one.key: one for one in store.held()}
        assert set(held) == {"site:live", "site:clock set back"}
        assert held["site:live"].cause == LIMITED
        # The wall clock is real here: what the test itself took is missing.
        assert 2_900 < held["site:live"].seconds <= 3_000
        assert held["site:clock set back"].seconds == 60
        store.close()
        # Once: on this boot nothing more is moved.
        clock.forward(10)
        store = SQLiteStore(path, clock)
        assert {one.key: one.seconds for one in store.held()}["site:clock set back"] == 50
        store.close()

    @pytest.mark.parametrize("shift", [-3_600, 3_600])
    def test_a_wall_clock_that_jumps_changes_nothing(self, tmp_path: Path, shift: int, monkeypatch: pytest.MonkeyPatch) -> None:
        one = SQLiteStore(tmp_path / "store.sqlite")
        one.hold("site:held", 30, ERROR)
        (booked,) = one.book([want("site:a", increment=10_000_000)])
        assert isinstance(booked, Booked)
        now, now_ns = time.time, time.time_ns
        monkeypatch.setattr(time, "time", lambda: now() + shift)
        monkeypatch.setattr(time, "time_ns", lambda: now_ns() + shift * 10**9)
        other = SQLiteStore(tmp_path / "store.sqlite")
        for store in (one, other):
            (waits,) = store.book([want("site:a", increment=10_000_000)])
            assert isinstance(waits, Wait)
            assert 0 < waits.micros <= 10_000_000
            assert 29 < store.peek(["site:held"])["site:held"].hold_in <= 30
            store.close()

    def test_a_half_written_file_of_due_times_does_not_outlive_a_boot(self, tmp_path: Path) -> None:
        path = tmp_path / "store.sqlite"
        SQLiteStore(path).close()
        execute(path, "UPDATE meta SET value = 'an earlier boot' WHERE name = 'boot'")
        (tmp_path / "store.sqlite-slots").write_bytes(b"\xff" * 5_000)
        store = SQLiteStore(path)
        assert isinstance(store.book([want("site:a")])[0], Booked)
        store.close()

    def test_a_file_that_is_replaced_under_it_is_an_error(self, tmp_path: Path) -> None:
        path = tmp_path / "store.sqlite"
        store = SQLiteStore(path)
        shutil.copy(path, tmp_path / "copy")
        (tmp_path / "copy").replace(path)
        with pytest.raises(StoreError, match=r"POLITE_STORE.*was replaced"):
            store.book([want("site:a")])
        path.unlink()
        with pytest.raises(StoreError, match=r"POLITE_STORE.*store\.sqlite"):
            store.hold("site:a", 5, ERROR)
        store.close()

    def test_a_boot_has_one_name(self) -> None:
        assert same_boot(boot_id(), boot_id())
        assert not same_boot(boot_id(), "another")
        assert same_boot("about:100", "about:101")
        assert not same_boot("about:100", "about:160")


class TestProcesses:
    def test_several_processes_on_one_file_keep_one_rate(self, tmp_path: Path) -> None:
        workers = [start(HAMMER, tmp_path / "store.sqlite", 150) for _ in range(8)]
        slots = sorted(int(line) for worker in workers for line in finish(worker))
        assert len(slots) == 1200
        assert min(after - before for before, after in pairwise(slots)) >= 400

    def test_kill_9_loses_no_hold_and_leaves_no_lock(self, tmp_path: Path) -> None:
        path = tmp_path / "store.sqlite"
        for number in range(5):
            worker = start(HOLD_AND_HAMMER, path, number)
            assert worker.stdout is not None
            assert worker.stdout.readline() == "held\n"
            worker.kill()
            worker.wait()
            worker.stdout.close()
            assert worker.returncode == -signal.SIGKILL
            store = SQLiteStore(path)
            assert [held.key for held in store.held()] == [f"site:{one}" for one in range(number + 1)]
            assert isinstance(store.book([want(f"site:new{number}")])[0], Booked)
            store.close()
        for file in (path, Path(f"{path}-slots")):
            assert execute(file, "PRAGMA integrity_check") == [("ok",)]

    def test_several_processes_may_make_the_file_at_once(self, tmp_path: Path) -> None:
        workers = [start(HAMMER, tmp_path / "store.sqlite", 1) for _ in range(4)]
        assert sorted(len(finish(worker)) for worker in workers) == [1, 1, 1, 1]

    def test_where_there_is_no_room_nothing_is_left_behind(self, tmp_path: Path) -> None:
        for number in (0, 5_000, 20_000):
            (said,) = finish(start(NO_ROOM, tmp_path / "store.sqlite", number))
            assert said.startswith(f"POLITE_STORE: no store can be made of {tmp_path}/store.sqlite: ")
            assert list(tmp_path.iterdir()) == []

    def test_a_disk_that_fills_up_is_an_error_until_there_is_room_again(self, tmp_path: Path) -> None:
        said = finish(start(FILLS_UP, tmp_path / "store.sqlite", 0))
        assert [line.partition(":")[0] for line in said] == ["POLITE_STORE", "POLITE_STORE", "booked", "held"]

    def test_a_store_does_not_go_with_a_fork(self, tmp_path: Path) -> None:
        assert finish(start(FORK, tmp_path / "store.sqlite", 0)) == ["open it again", "parent booked"]


PRELUDE = """
import os, sys, time
from pathlib import Path
from scrapy_polite.limits.gcra import Booked, Demand
from scrapy_polite.stores.base import Cause, StoreError
from scrapy_polite.stores.sqlite import SQLiteStore
store, number = SQLiteStore(Path(sys.argv[1])), int(sys.argv[2])
want = (Demand("origin:o", 500, 100), Demand("bucket:s3/x", 10, 1000))
def book():
    while True:
        answer = store.book([want])[0]
        if isinstance(answer, Booked):
            return answer.slot
        time.sleep(answer.micros / 1e6)
"""
HAMMER = PRELUDE + "for _ in range(number): print(book())\nstore.close()\n"
HOLD_AND_HAMMER = (
    PRELUDE + "store.hold(f'site:{number}', 3600, Cause('error', '503'))\nprint('held', flush=True)\nwhile True: book()\n"
)
FORK = (
    PRELUDE
    + """
child = os.fork()
if child == 0:
    try:
        store.book([want])
    except StoreError as error:
        print("open it again" if "open it again" in str(error) else error, flush=True)
    store.close()
    os._exit(0)
os.waitpid(child, 0)
book()
print("parent booked")
store.close()
"""
)

# A limit on the size of files is what a full disk is like.
NO_ROOM = """
import resource, sys
from scrapy_polite.stores.base import open_store
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    open_store("sqlite:" + sys.argv[1])
except ValueError as error:
    print(error)
"""
FILLS_UP = (
    PRELUDE
    + """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
for call in (book, lambda: store.hold("site:a", 5, Cause("error", "503"))):
    try:
        call()
    except StoreError as error:
        print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
book()
print("booked:")
store.hold("site:a", 5, Cause("error", "503"))
print("held:", store.held())
store.close()
"""
)


def start(script: str, path: Path, number: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script, str(path), str(number)], stdout=subprocess.PIPE, text=True
    )


def finish(worker: subprocess.Popen[str]) -> list[str]:
    out, _ = worker.communicate(timeout=60)
    assert worker.returncode == 0
    return out.splitlines()


def execute(path: Path, statement: str) -> list[tuple[object, ...]]:
    db = sqlite3.connect(path)
    try:
        rows = db.execute(statement).fetchall()
        db.commit()
    finally:
        db.close()
    return rows


@pytest.fixture
def common_user() -> Iterator[Path]:
    """A directory of its own, as somebody for whom rights count: root may write everywhere."""
    directory = Path(tempfile.mkdtemp())
    was = os.geteuid()
    try:
        if was == 0:
            os.chown(directory, 65534, -1)
            os.seteuid(65534)
        yield directory
    finally:
        os.seteuid(was)
        directory.chmod(0o700)
        shutil.rmtree(directory)


def test_a_process_that_was_stopped_with_the_lock_makes_the_store_say_so_and_stops_nobody_for_long(tmp_path: Path) -> None:
    store = open_store(f"sqlite:{tmp_path}/limits.sqlite")
    want = (Demand("site:a", 10, 0),)
    with (tmp_path / "limits.sqlite-lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for _ in range(2):
            with pytest.raises(StoreError, match="held by another process"):
                store.book([want])
        fcntl.flock(lock, fcntl.LOCK_UN)
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            (answer,) = store.book([want])
            break
        except StoreError:
            time.sleep(0.01)
    assert isinstance(answer, Booked)
    store.close()
