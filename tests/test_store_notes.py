"""What every store promises of notes, on each store: small texts of what was learned, by subject and kind."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from scrapy_polite.stores.base import DAY, LONGEST_NOTE, Kept

if TYPE_CHECKING:
    from anystore import Clock

    from scrapy_polite.stores.base import Store

ONE, TWO = "origin:one", "origin:two"


def test_a_note_is_there_for_every_process_and_replaces_the_one_before(store: Store, other: Store) -> None:
    store.note(ONE, "cost:search", '{"cost": 4.5}')
    store.note(ONE, "cost:image", "{}")
    store.note(TWO, "cost:search", "{}")
    other.note(ONE, "cost:search", '{"cost": 5}')
    for one in (store, other):
        assert one.notes([ONE, "origin:none", ONE]) == {ONE: {"cost:search": '{"cost": 5}', "cost:image": "{}"}}
    assert store.notes([]) == {}
    assert store.notes(f"origin:{n}" for n in range(2000)) == {}


@pytest.mark.parametrize("text", ["", "\\\"'{},%s", "ü\n\u2028", "x" * LONGEST_NOTE])
def test_text_comes_back_as_it_was(store: Store, text: str) -> None:
    store.note('a"b\\', "{kind}", text)
    assert store.notes(['a"b\\']) == {'a"b\\': {"{kind}": text}}


def test_what_is_too_long_is_refused_and_leaves_what_was_there(store: Store) -> None:
    store.note(ONE, "cost", "short")
    with pytest.raises(ValueError, match=f"32769 characters. Give at most {LONGEST_NOTE}"):
        store.note(ONE, "cost", "x" * (LONGEST_NOTE + 1))
    assert store.notes([ONE]) == {ONE: {"cost": "short"}}


def test_a_note_is_amended_from_what_is_there_whoever_wrote_it(store: Store, other: Store) -> None:
    assert store.amend(ONE, "pace", lambda before: f"{before}, 1") == "None, 1"
    assert other.amend(ONE, "pace", lambda before: f"{before}, 2") == "None, 1, 2"
    assert store.notes([ONE]) == {ONE: {"pace": "None, 1, 2"}}
    with pytest.raises(ValueError, match="32769 characters"):
        store.amend(ONE, "pace", lambda before: "x" * (LONGEST_NOTE + 1))

    def wrong(before: str | None) -> str:
        raise LookupError(before)

    with pytest.raises(LookupError):
        store.amend(ONE, "pace", wrong)
    assert other.amend(ONE, "pace", lambda before: str(before)) == "None, 1, 2"


def test_no_change_is_lost_where_several_amend_one_note(store: Store, other: Store) -> None:
    def count(one: Store) -> None:
        for _ in range(25):
            one.amend(ONE, "pace", lambda before: str(int(before or 0) + 1))

    threads = [threading.Thread(target=count, args=(one,)) for one in (store, other, store, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.notes([ONE]) == {ONE: {"pace": "100"}}


def test_at_a_merge_the_figures_of_the_one_that_goes_are_dropped(store: Store) -> None:
    store.note(ONE, "cost", "1")
    store.note(ONE, "other", "1")
    store.note(TWO, "cost", "2")
    store.note("origin:three", "cost", "3")
    store.merge(ONE, TWO)
    store.merge(ONE, TWO)
    names = [ONE, TWO, "origin:three"]
    assert store.notes(names) == {TWO: {"cost": "2"}, "origin:three": {"cost": "3"}}
    # By the names that stand, whatever they were called.
    store.merge(ONE, "origin:three")
    assert store.notes(names) == {"origin:three": {"cost": "3"}}


def test_notes_that_nobody_made_or_asked_for_in_that_time_are_forgotten(store: Store, clock: Clock) -> None:
    names = [f"origin:{name}" for name in "abcd"]
    for name in names:
        store.note(name, "cost", "old")
    clock.forward(2 * DAY)
    store.note("origin:b", "cost", "new")
    store.notes(["origin:a"])
    store.keep([Kept("a.test", "origin:c", 0.9, (), "[]")])
    assert store.forget_hosts(DAY) == 0
    assert store.notes(names) == {"origin:a": {"cost": "old"}, "origin:b": {"cost": "new"}}


def test_so_many_are_forgotten_at_once(store: Store, clock: Clock) -> None:
    for number in range(5):
        store.note(f"origin:{number}", "cost", "")
    clock.forward(2 * DAY)
    for _ in range(2):
        store.forget_hosts(DAY, limit=2)
    assert len(store.notes(f"origin:{number}" for number in range(5))) == 1


def test_notes_merges_and_forgetting_at_once_harm_nobody(store: Store, other: Store) -> None:
    wrong: list[BaseException] = []

    def write(one: Store) -> None:
        try:
            for number in range(20):
                one.note(f"origin:{number % 4}", f"kind{number % 3}", str(number))
                one.merge(f"origin:{number % 4}", "origin:last")
                one.forget_hosts(-1)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=write, args=(one,)) for one in (store, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
