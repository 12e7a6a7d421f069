"""What every store promises about requests that were put off."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from scrapy_polite.stores.base import Store, StoreError, open_store
from scrapy_polite.stores.deferring import Deferred
from scrapy_polite.stores.looking import LookOnly

if TYPE_CHECKING:
    from pathlib import Path

    from anystore import Clock
    from postgres import Database

MINE = "project/spider"


def row(name: str, clock: Clock, *, owner: str = MINE, key: str = "site:a", priority: int = 0, wait: float = 0.0) -> Deferred:
    text = '{"url":"http://a/\\u0000\\"\\ud83d"}'
    why = ("rate_limited", "429, Retry-After: 5 \u00e9'\\")
    now = clock.wall()
    return Deferred(owner, name, key, f"http://a/{name}", "POST", "parse", "", *why, priority, now + wait, now, text)


def names(rows: list[Deferred]) -> list[str]:
    return [row.fingerprint for row in rows]


def test_what_is_put_off_is_told_as_it_was_given(store: Store, other: Store, clock: Clock) -> None:
    kept = [row("1", clock, priority=-3, wait=60), row("2", clock, key="site:b")]
    store.defer(kept)
    assert other.deferred() == kept
    assert store.deferred(key="site:b") == kept[1:]
    assert store.deferred("project/another") == []
    assert store.deferred(most=1) == kept[:1]
    assert other.count_deferred() == {"site:a": 1, "site:b": 1}
    store.defer([])


def test_one_that_is_put_off_again_is_there_once_and_free(store: Store, clock: Clock) -> None:
    store.defer([row("1", clock), row("1", clock, owner="project/another")])
    assert names(store.take_deferred(MINE, "run", 9, 60)) == ["1"]
    later = replace(row("1", clock), reason="again", not_before=clock.wall() + 5)
    store.defer([later])
    assert store.deferred(MINE) == [later]
    assert len(store.deferred()) == 2


def test_they_are_taken_by_priority_and_age_and_no_one_is_taken_twice(store: Store, other: Store, clock: Clock) -> None:
    store.defer([row("old", clock)])
    clock.forward(1)
    store.defer([row("young", clock), row("first", clock, priority=7), row("theirs", clock, owner="project/another")])
    assert names(store.take_deferred(MINE, "run", 2, 60)) == ["first", "old"]
    assert names(other.take_deferred(MINE, "other", 9, 60)) == ["young"]
    assert store.take_deferred(MINE, "run", 9, 60) == []
    assert {(one.fingerprint, one.run) for one in store.deferred(MINE)} == {
        ("first", "run"),
        ("old", "run"),
        ("young", "other"),
    }


def test_none_is_taken_while_its_hold_is_far_from_its_end_unless_a_person_has_ended_it(store: Store, clock: Clock) -> None:
    store.defer([row("1", clock, wait=100), row("2", clock, key="site:b", wait=100)])
    assert store.take_deferred(MINE, "run", 9, 60, 99) == []
    assert store.hasten_deferred("site:b") == 1
    assert names(store.take_deferred(MINE, "run", 9, 60)) == ["2"]
    clock.forward(1)
    assert names(store.take_deferred(MINE, "run", 9, 60, 99)) == ["1"]


def test_what_a_run_has_taken_that_died_is_free_again_and_what_is_done_is_gone(store: Store, clock: Clock) -> None:
    store.defer([row(name, clock) for name in "123"])
    store.take_deferred(MINE, "dead", 9, 60)
    assert store.done_deferred(MINE, ["1", "nothing"], "dead") == 1
    assert store.done_deferred(MINE, ["2"], "somebody") == 0
    clock.forward(30)
    assert store.renew_deferred("dead", 60) == 2
    clock.forward(59)
    assert store.take_deferred(MINE, "next", 9, 60) == []
    clock.forward(1)
    assert names(store.take_deferred(MINE, "next", 9, 60)) == ["2", "3"]
    # Too late: it is the other's by now.
    assert store.done_deferred(MINE, ["2"], "dead") == 0
    assert store.done_deferred(MINE, ["2", "3"], "next") == 2
    assert store.deferred() == []


def test_a_clock_that_was_far_ahead_keeps_none_for_itself(store: Store, clock: Clock) -> None:
    clock.forward(90_000)
    store.defer([row("taken", clock), row("waits", clock, wait=600)])
    assert names(store.take_deferred(MINE, "dead", 9, 60)) == ["taken"]
    clock.forward(-1_800)
    assert store.take_deferred(MINE, "next", 9, 60) == []
    clock.forward(-80_000)
    assert names(store.take_deferred(MINE, "next", 9, 60)) == ["taken", "waits"]


def test_they_are_dropped_by_owner_and_key(store: Store, clock: Clock) -> None:
    store.defer([row("1", clock), row("2", clock, key="site:b"), row("3", clock, owner="project/another")])
    store.take_deferred(MINE, "run", 1, 60)
    assert store.drop_deferred(MINE, "site:a") == 1
    assert store.drop_deferred("project/another") == 1
    assert names(store.deferred()) == ["2"]
    assert store.drop_deferred() == 1


def test_purging_keys_and_hosts_forgets_none(store: Store, clock: Clock) -> None:
    store.defer([row("1", clock)])
    clock.forward(100 * 86_400)
    store.purge(0.0)
    store.forget_hosts(0.0)
    assert names(store.deferred()) == ["1"]


def test_who_only_looks_sees_them_and_takes_none(store: Store, clock: Clock) -> None:
    store.defer([row("1", clock)])
    looked = LookOnly(store)
    assert names(looked.deferred()) == ["1"]
    assert looked.take_deferred(MINE, "run", 9, 60) == []
    looked.drop_deferred()
    looked.defer([row("2", clock)])
    assert (looked.hasten_deferred("site:a"), looked.renew_deferred("run", 9), looked.done_deferred(MINE, ["1"], "")) == (
        0,
        0,
        0,
    )
    assert names(store.deferred()) == ["1"]


def test_a_store_that_was_closed_says_so(store: Store, clock: Clock) -> None:
    store.close()
    for ask in (store.deferred, store.drop_deferred, lambda: store.defer([row("1", clock)])):
        with pytest.raises(StoreError):
            ask()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_many_take_at_once_and_each_is_taken_once(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, clock: Clock
) -> None:
    database: Database | None = request.getfixturevalue("database") if kind == "postgres" else None
    url = database.url if database is not None else f"sqlite:{tmp_path}/store.sqlite"
    first = open_store(url)
    first.defer([row(f"{n:04}", clock) for n in range(400)])
    taken: dict[str, list[str]] = {}

    def take(run: str) -> None:
        store = open_store(url)
        taken[run] = []
        while rows := store.take_deferred(MINE, run, 10, 60):
            taken[run] += names(rows)
        store.close()

    threads = [threading.Thread(target=take, args=(f"run {n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = [name for names in taken.values() for name in names]
    assert len(everything) == len(set(everything)) == 400
    first.close()
