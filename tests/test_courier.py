"""Appointments are kept beside a busy interpreter. Times are told by order, and by events, not by the clock."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from scrapy_polite.courier import IDLE, Courier

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 20.0


@pytest.fixture
def courier() -> Iterator[Courier]:
    courier = Courier()
    yield courier
    courier.stop()


def test_appointments_are_kept_in_their_order_in_a_thread_of_its_own(courier: Courier) -> None:
    kept: list[tuple[int, str]] = []
    done = threading.Event()
    for number, seconds in ((3, 0.06), (1, 0.02), (2, 0.02), (0, 0.0)):
        courier.later(seconds, lambda number=number: kept.append((number, threading.current_thread().name)))
    courier.later(0.08, done.set)
    assert done.wait(PATIENCE)
    assert [number for number, _ in kept] == [0, 1, 2, 3]
    assert {name for _, name in kept} == {"polite-courier"}


def test_an_appointment_is_kept_while_python_is_busy(courier: Courier) -> None:
    kept = threading.Event()
    courier.later(0.01, kept.set)
    busy = time.monotonic() + PATIENCE
    while not kept.is_set() and time.monotonic() < busy:
        pass
    assert kept.is_set()


def test_a_cancelled_appointment_is_not_kept(courier: Courier) -> None:
    kept: list[str] = []
    done = threading.Event()
    first = courier.later(0.01, lambda: kept.append("cancelled"))
    first.cancel()
    first.cancel()
    courier.later(0.02, done.set)
    assert done.wait(PATIENCE)
    assert kept == []


def test_one_that_fails_keeps_no_other_from_being_kept(courier: Courier, caplog: pytest.LogCaptureFixture) -> None:
    done = threading.Event()
    courier.later(0.0, lambda: [].pop())
    courier.later(0.01, done.set)
    assert done.wait(PATIENCE)
    assert caplog.text.count("An appointment at the wire failed") == 1


def test_an_appointment_can_make_the_next(courier: Courier) -> None:
    done = threading.Event()
    courier.later(0.0, lambda: courier.later(0.0, done.set) and None)
    assert done.wait(PATIENCE)


def test_what_was_cancelled_does_not_fill_the_book(courier: Courier) -> None:
    for _ in range(100 * IDLE):
        courier.later(1000.0, lambda: None).cancel()
    assert len(courier._book) <= IDLE + 1


def test_after_the_stop_nothing_is_kept_and_no_thread_is_left(courier: Courier) -> None:
    kept: list[str] = []
    courier.later(0.05, lambda: kept.append("late"))
    courier.stop()
    assert courier._thread is not None
    assert not courier._thread.is_alive()
    courier.later(0.0, lambda: kept.append("later"))
    assert kept == []
