"""How the store is asked, with stores that fail, and ones that take their time."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

from scrapy_polite.booker import AHEAD, JUDGED, RETRY, Booker
from scrapy_polite.limits.gcra import Booked, Demand, Wait, Want
from scrapy_polite.stores.base import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

WANT: Want = (Demand("site:a", 10, 0), Demand("origin:o", 5, 0))


class Far:
    """A store across a network: remembers what it was asked, and from which thread."""

    blocking = True

    def __init__(self) -> None:
        self.calls: list[list[Want]] = []
        self.threads: set[str] = set()
        self.gate = threading.Event()
        self.gate.set()
        self.broken = False
        self.told: list[str] = []
        self.aheads: list[int] = []

    def book(self, wants: Sequence[Want], ahead: int = 0) -> list[Booked | Wait]:
        self.aheads.append(ahead)
        self.gate.wait(10)
        if self.broken:
            raise StoreError("no route")
        self.calls.append(list(wants))
        self.threads.add(threading.current_thread().name)
        return [Booked(1_000_000, 1_000_000)] * len(wants)

    def tell(self, what: str) -> None:
        if self.broken:
            raise StoreError("no route")
        self.told.append(what)

    def close(self) -> None:
        self.told.append("closed")


class Near(Far):
    blocking = False

    def book(self, wants: Sequence[Want], ahead: int = 0) -> list[Booked | Wait]:
        assert ahead == 0
        if self.broken:
            raise StoreError("disk full")
        return [Booked(7, 7)] * len(wants)

    def now(self) -> int:
        return 42


def booker(store: Any) -> Booker:
    return Booker(store, 50_000)


def test_a_local_store_answers_in_the_same_call() -> None:
    answers: list[Booked | Wait] = []
    asked = booker(Near())
    asked.book(WANT, answers.append)
    assert answers == [Booked(7, 7)]
    assert asked.now() == 42


def test_a_store_that_goes_on_to_fail_is_said_again_every_minute(caplog: Any) -> None:
    now = [0.0]
    store = Near()
    store.broken = True
    asked = Booker(store, 50_000, lambda: now[0])  # type: ignore[arg-type]
    for now[0] in range(181):
        asked.book(WANT, lambda answer: None)
    assert [record.levelname for record in caplog.records] == ["ERROR"] * 4
    assert "cannot answer for 3 min now" in caplog.records[-1].getMessage()
    store.broken = False
    asked.book(WANT, lambda answer: None)
    store.broken = True
    asked.book(WANT, lambda answer: None)
    assert "until it does" in caplog.records[-1].getMessage(), "another time that it fails"
    now[0] += 3600
    asked.trouble(StoreError("no route"))
    assert "until it does" in caplog.records[-1].getMessage(), "and so is one of which nobody has seen the end"


def test_a_store_that_fails_means_not_now_and_is_said_once(caplog: Any) -> None:
    store = Near()
    asked = booker(store)
    store.broken = True
    answers: list[Booked | Wait] = []
    for _ in range(3):
        asked.book(WANT, answers.append)
    assert answers == [Wait(RETRY, "origin:o")] * 3
    assert caplog.text.count("cannot answer") == 1
    store.broken = False
    asked.book(WANT, answers.append)
    assert answers[-1] == Booked(7, 7)


def test_what_is_owed_is_told_before_anything_is_booked_again() -> None:
    store = Near()
    asked = booker(store)
    store.broken = True
    asked.owe(lambda: store.tell("hold"))
    answers: list[Booked | Wait] = []
    asked.book(WANT, answers.append)
    assert isinstance(answers[0], Wait)
    store.broken = False
    asked.book(WANT, answers.append)
    assert store.told[0] == "hold"
    assert isinstance(answers[1], Booked)


def test_what_is_asked_while_an_answer_is_under_way_goes_together() -> None:
    async def run() -> Far:
        store = Far()
        asked = booker(store)
        answers: list[Booked | Wait] = []
        store.gate.clear()
        for _ in range(8):
            asked.book(WANT, answers.append)
        await asyncio.sleep(0)
        assert answers == []
        store.gate.set()
        while len(answers) < 8:
            await asyncio.sleep(0.001)
        asked.close()
        return store

    store = asyncio.run(asyncio.wait_for(run(), 20))
    assert [len(call) for call in store.calls] == [1, 7]
    assert store.aheads == [0, AHEAD]
    assert all(name.startswith("polite-store") for name in store.threads)
    assert store.told == ["closed"]


def test_an_answer_that_cannot_be_used_keeps_no_other_back(caplog: Any) -> None:
    async def run() -> list[Booked | Wait]:
        store = Far()
        asked = booker(store)
        answers: list[Booked | Wait] = []
        store.gate.clear()
        asked.book(WANT, lambda answer: [].pop())  # Too late for the reactor's glance: a thread answers.
        asked.book(WANT, lambda answer: [].pop())
        asked.book(WANT, answers.append)
        store.gate.set()
        while not answers:
            await asyncio.sleep(0.001)
        asked.close()
        return answers

    assert len(asyncio.run(asyncio.wait_for(run(), 20))) == 1
    assert caplog.text.count("could not be used") == 2


def test_a_store_that_is_near_answers_in_the_same_call_though_a_thread_asks() -> None:
    async def run() -> None:
        store = Far()
        asked = booker(store)
        answers: list[Booked | Wait] = []
        asked.book(WANT, answers.append)
        asked.book(WANT, answers.append)
        assert answers == [Booked(1_000_000, 1_000_000)] * 2
        assert store.aheads == [0, 0]
        assert all(name.startswith("polite-store") for name in store.threads)
        asked.close()

    asyncio.run(asyncio.wait_for(run(), 20))


def test_a_store_that_was_slow_is_not_glanced_at_again_at_once() -> None:
    async def run() -> None:
        store = Far()
        asked = booker(store)
        answers: list[Booked | Wait] = []
        store.gate.clear()
        asked.book(WANT, answers.append)
        store.gate.set()
        while not answers:
            await asyncio.sleep(0.001)
        asked.book(WANT, answers.append)
        assert len(answers) == 1
        while len(answers) < 2:
            await asyncio.sleep(0.001)
        assert store.aheads == [0, AHEAD]
        asked.close()

    asyncio.run(asyncio.wait_for(run(), 20))


def test_a_store_farther_away_than_a_slot_is_wide_is_told_of_once(caplog: Any) -> None:
    class Moon(Far):
        def book(self, wants: Sequence[Want], ahead: int = 0) -> list[Booked | Wait]:
            time.sleep(0.002)
            return super().book(wants, ahead)

    async def run() -> None:
        asked = Booker(Moon(), 1_000)
        for _ in range(3 * JUDGED):
            got: asyncio.Future[Booked | Wait] = asyncio.get_running_loop().create_future()
            asked.book(WANT, got.set_result)
            await got
        asked.close()

    asyncio.run(asyncio.wait_for(run(), 20))
    assert caplog.text.count("Bring the store nearer") == 1


def test_the_clock_of_a_far_store_is_carried_on() -> None:
    async def run() -> None:
        asked = booker(Far())
        got: asyncio.Future[Booked | Wait] = asyncio.get_running_loop().create_future()
        before = time.monotonic_ns() // 1000
        asked.book(WANT, got.set_result)
        await got
        after = time.monotonic_ns() // 1000
        assert 1_000_000 <= asked.now() <= 1_000_000 + (time.monotonic_ns() // 1000 - before) + 1
        assert asked.now() - 1_000_000 >= 0
        assert after >= before
        asked.close()

    asyncio.run(asyncio.wait_for(run(), 20))


def test_a_far_store_that_fails_is_told_later_without_spinning() -> None:
    async def run() -> Far:
        store = Far()
        asked = booker(store)
        store.broken = True
        asked.owe(lambda: store.tell("hold"))
        got: asyncio.Future[Booked | Wait] = asyncio.get_running_loop().create_future()
        asked.book(WANT, got.set_result)
        assert isinstance(await got, Wait)
        store.broken = False
        while not store.told:
            await asyncio.sleep(0.01)
        asked.close()
        return store

    store = asyncio.run(asyncio.wait_for(run(), 20))
    assert store.told[0] == "hold"


class Refunding(Near):
    def settle(self, key: str, micros: int) -> None:
        self.tell(f"{key} {micros}")


class FarRefunding(Far):
    def settle(self, key: str, micros: int) -> None:
        self.gate.wait(10)
        self.tell(f"{key} {micros}")


REFUNDS = [("site:a", 10), ("origin:o", 5)]


def test_a_refund_is_given_back_in_the_same_call_by_a_local_store() -> None:
    store, given = Refunding(), list[str]()
    booker(store).give_back(REFUNDS, lambda: given.append("given"))
    assert store.told == ["site:a -10", "origin:o -5"]
    assert given == ["given"]


def test_a_refund_that_the_store_cannot_take_is_lost_and_never_tried_again() -> None:
    store, given = Refunding(), list[str]()
    asked = booker(store)
    store.broken = True
    asked.give_back(REFUNDS, lambda: given.append("given"))
    store.broken = False
    asked.pay()
    asked.book(WANT, lambda _: None)
    assert (store.told, given) == ([], [])


async def given_back(store: FarRefunding) -> list[str]:
    given: list[str] = []
    asked = booker(store)
    asked.give_back(REFUNDS, lambda: given.append(threading.current_thread().name))
    assert given == []
    store.gate.set()
    for _ in range(100):
        if given:
            break
        await asyncio.sleep(0.01)
    asked.close()
    asked.give_back(REFUNDS, lambda: given.append("after the end"))
    return given


def test_nobody_waits_for_a_refund_across_a_network_and_the_reactors_thread_is_told() -> None:
    store = FarRefunding()
    store.gate.clear()
    assert asyncio.run(given_back(store)) == [threading.current_thread().name]
    assert store.told == ["site:a -10", "origin:o -5", "closed"]
