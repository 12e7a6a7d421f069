"""Stores that are only looked at; and what rulings do to names in a store, on every kind of store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from anystore import SECOND, Clock, want

from scrapy_polite.limits.gcra import Booked
from scrapy_polite.stores.base import Cause, Kept, Ruling, Store, StoreError, open_existing, open_store
from scrapy_polite.stores.looking import YOUNGEST, LookOnly
from scrapy_polite.stores.obeying import enact, name_for, undo, undo_lapsed

if TYPE_CHECKING:
    from pathlib import Path

    from postgres import Database

HELD = Cause("rate_limited", "429", stated=True)


def kept(host: str, origin: str, *anchors: str) -> Kept:
    return Kept(host, origin, 0.9, anchors, "[]")


def split_off(clock: Clock, host: str, origin: str, until: float | None = None) -> Ruling:
    return Ruling(host, "split", origin, "ann", "their own", clock.wall(), until)


def join(clock: Clock, subject: str, origin: str, until: float | None = None) -> Ruling:
    return Ruling(subject, "join", origin, "ann", "one company", clock.wall(), until)


# -- what is read for people


def test_the_other_names_of_origins_are_told(store: Store) -> None:
    for name in ("origin:c", "origin:b"):
        store.merge(name, "origin:a")
    store.merge("origin:y", "origin:z")
    asked = ["origin:a", "origin:b", "origin:z", "origin:nobody"]
    assert store.aliases_of(asked) == {"origin:a": ["origin:b", "origin:c"], "origin:z": ["origin:y"]}
    assert store.aliases_of(["origin:a"], 1) == {"origin:a": ["origin:b"]}
    store.split("origin:b", "origin:a")
    assert store.aliases_of(["origin:a"]) == {"origin:a": ["origin:c"]}


def test_ages_may_be_asked_for_without_being_made(store: Store) -> None:
    ages = store.ages(["cname:a.test"])
    assert store.ages(["cname:a.test", "address:203.0.113.7"], allot=False) == ages
    assert store.ages(["address:203.0.113.7"], allot=False) == {}


def test_rulings_that_ran_out_are_told_apart_until_they_are_taken_back(store: Store, clock: Clock) -> None:
    short, long = join(clock, "a.test", "origin:x", clock.wall() + 10), join(clock, "b.test", "origin:x", clock.wall() + 100)
    store.rule(short)
    store.rule(long)
    store.rule(join(clock, "c.test", "origin:x"))
    assert store.lapsed() == []
    clock.forward(10)
    assert store.lapsed() == [short]
    assert [ruling.subject for ruling in store.rulings()] == ["b.test", "c.test"]
    store.unrule("a.test")
    assert store.lapsed() == []


# -- only looking


def test_looking_reads_all_and_leaves_no_trace(store: Store, clock: Clock) -> None:
    store.keep([kept("a.test", "origin:a", "cname:p.test"), kept("b.test", "origin:b", "cname:p.test")])
    store.merge("origin:b", "origin:a")
    store.hold("origin:a", 60.0, HELD)
    store.rule(join(clock, "a.test", "origin:a"))
    store.note("origin:a", "cost", "1")
    looked = LookOnly(store)
    before = (store.news(0), store.rulings(), store.held(), store.origins())

    looked.keep([kept("c.test", "origin:c", "cname:new.test")])
    looked.merge("origin:a", "origin:z")
    looked.split("origin:b", "origin:a")
    looked.rule(join(clock, "b.test", "origin:z"))
    looked.unrule("a.test")
    looked.note("origin:a", "cost", "2")
    assert looked.amend("origin:a", "cost", lambda before: f"{before}0") == "10"
    assert looked.hold("origin:z", 5.0, HELD) == 5.0
    assert looked.release("origin:a")
    looked.settle("origin:a", 10 * SECOND)
    assert looked.forget_hosts(0.0) == looked.purge(0.0) == 0
    with pytest.raises(StoreError, match="only looked at"):
        looked.book([want("origin:a")])

    assert (store.news(0), store.rulings(), store.held(), store.origins()) == before
    assert looked.standing(["origin:b"]) == {"origin:b": "origin:a"}
    assert looked.aliases_of(["origin:a"]) == {"origin:a": ["origin:b"]}
    assert list(looked.pointing_at(["cname:p.test"], 9)) == ["a.test", "b.test"]
    assert looked.hosts_of("origin:a") == store.hosts_of("origin:a")
    assert looked.peek(["origin:b"])["origin:b"].hold_in == 60.0
    assert looked.kept(["c.test"]) == {}
    assert looked.notes(["origin:a"]) == store.notes(["origin:a"]) == {"origin:a": {"cost": "1"}}


def test_anchors_that_only_the_onlooker_knows_are_younger_than_all_others_and_keep_their_numbers(store: Store) -> None:
    known = store.ages(["cname:old.test"])
    looked = LookOnly(store)
    ages = looked.ages(["address:198.51.100.7", "cname:old.test", "cname:new.test"])
    assert ages["cname:old.test"] == known["cname:old.test"]
    assert YOUNGEST <= ages["address:198.51.100.7"] < ages["cname:new.test"]
    assert looked.ages(["cname:new.test", "cname:newer.test"])["cname:new.test"] == ages["cname:new.test"]
    assert store.ages(["cname:new.test", "address:198.51.100.7"], allot=False) == {}


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path, database: Database) -> None:
    assert open_existing(f"sqlite:{tmp_path}/none.sqlite") is None
    assert list(tmp_path.iterdir()) == []
    assert open_existing("memory:") is None
    assert open_existing(database.url) is None
    assert database.execute("SELECT to_regnamespace('polite')") == [(None,)]
    for url in (f"sqlite:{tmp_path}/one.sqlite", database.url):
        open_store(url).close()
        found = open_existing(url)
        assert found is not None
        assert found.held() == []
        found.close()


# -- what rulings do to names


def test_a_host_that_is_split_off_starts_from_due_time_and_hold_of_what_it_leaves(store: Store, clock: Clock) -> None:
    store.keep([kept("a.test", "origin:x"), kept("b.test", "origin:x")])
    assert isinstance(store.book([want("origin:x", increment=10 * SECOND)])[0], Booked)
    store.hold("origin:x", 30.0, HELD)
    own = name_for(store, "a.test", "origin:x")
    assert own == "origin:a.test"
    enact(store, split_off(clock, "a.test", own), "origin:x")
    assert store.standing([own, "origin:x"]) == {own: own, "origin:x": "origin:x"}
    peeks = store.peek([own, "origin:x"])
    assert peeks[own] == peeks["origin:x"]
    assert peeks[own].due_in == pytest.approx(10.0)
    assert peeks[own].hold_in == pytest.approx(30.0)


def test_a_name_that_others_have_is_not_the_name_of_a_host_that_is_split_off(store: Store) -> None:
    store.keep([kept("a.test", "origin:a.test"), kept("www.a.test", "origin:a.test")])
    assert name_for(store, "a.test", "origin:a.test") == "origin:hand/a.test", "its domain is called so"
    store.keep([kept("c.test", "origin:b.test"), kept("b.test", "origin:x")])
    assert name_for(store, "b.test", "origin:x") == "origin:hand/b.test", "a platform is called so"
    store.merge("origin:d.test", "origin:x")
    assert name_for(store, "d.test", "origin:y") == "origin:hand/d.test", "it is another name of something else"
    assert name_for(store, "d.test", "origin:x") == "origin:d.test"


def test_a_split_that_ends_goes_back_to_the_evidence_and_before_neither_is_due(store: Store, clock: Clock) -> None:
    store.keep([kept("a.test", "origin:x")])
    ruling = split_off(clock, "a.test", "origin:a.test", clock.wall() + 60)
    enact(store, ruling, "origin:x")
    store.book([want("origin:a.test", increment=90 * SECOND)])
    clock.forward(60)
    assert undo_lapsed(store) == [ruling]
    assert undo_lapsed(store) == []
    assert store.standing(["origin:a.test"]) == {"origin:a.test": "origin:x"}
    assert store.peek(["origin:x"])["origin:x"].due_in == pytest.approx(30.0)
    again = name_for(store, "a.test", "origin:x")
    enact(store, split_off(clock, "a.test", again), "origin:x")
    assert store.standing([again]) == {"origin:a.test": "origin:a.test"}, "and may be split off again"


def test_two_origins_are_one_by_hand_and_come_apart_when_it_ends(store: Store, clock: Clock) -> None:
    store.hold("origin:b", 600.0, HELD)
    ruling = join(clock, "origin:b", "origin:a", clock.wall() + 60)
    enact(store, ruling, "origin:b")
    assert store.standing(["origin:b"]) == {"origin:b": "origin:a"}
    assert store.peek(["origin:a"])["origin:a"].hold_in == pytest.approx(600.0)
    clock.forward(60)
    undo(store, ruling)
    undo(store, ruling)
    assert store.standing(["origin:b"]) == {"origin:b": "origin:b"}
    holds = {key: peek.hold_in for key, peek in store.peek(["origin:a", "origin:b"]).items()}
    assert holds == {"origin:a": pytest.approx(540.0), "origin:b": pytest.approx(540.0)}, "held on both sides"


def test_a_ruling_that_was_replaced_is_not_undone_by_whoever_knew_the_one_before(store: Store, clock: Clock) -> None:
    old = join(clock, "origin:b", "origin:a", clock.wall() + 60)
    enact(store, old, "origin:b")
    new = join(clock, "origin:b", "origin:a")
    enact(store, new, "origin:b")
    undo(store, old)
    assert store.rulings() == [new]
    assert store.standing(["origin:b"]) == {"origin:b": "origin:a"}
