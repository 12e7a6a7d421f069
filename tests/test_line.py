"""The line at the wire, with a clock that the test turns and a store that it plays."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from scrapy_polite.limits.gcra import Booked, Demand, Wait
from scrapy_polite.line import Line

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_polite.limits.gcra import Want

WIDTH = 0.05


class Clock:
    """Timers that fire when the test lets time pass."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[Timer] = []

    def later(self, seconds: float, function: Callable[[], None]) -> Timer:
        timer = Timer(self, self.now + seconds, function)
        self.timers.append(timer)
        return timer

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [timer for timer in self.timers if timer.at <= end + 1e-9]:
            first = min(due, key=lambda timer: timer.at)
            self.timers.remove(first)
            self.now = max(self.now, first.at)
            first.function()
        self.now = end


class Timer:
    def __init__(self, clock: Clock, at: float, function: Callable[[], None]) -> None:
        self.clock, self.at, self.function = clock, at, function

    def cancel(self) -> None:
        with suppress(ValueError):
            self.clock.timers.remove(self)


class Request:
    """Stands in line; remembers what became of it."""

    def __init__(self, wire: Wire, name: str, own_due: float = 0.0, patience: float = 60.0) -> None:
        self.wire, self.name, self.own_due, self.patience = wire, name, own_due, patience
        self.site = f"site:{name}"
        self.alive = True
        self.sealable, self.sealed = True, False
        self.fate: list[str] = []

    @property
    def want(self) -> Want:
        return Demand(self.site, round(self.own_due * 1e6), 0), Demand("origin:o", 0, 0)

    def seal(self) -> None:
        self.sealed = self.sealable

    def ready(self) -> bool:
        assert self.sealed or self.wire.place.reactor
        if not self.alive:
            self.fate.append("dead")
        return self.alive

    def go(self, slot: Booked) -> None:
        self.wire.sent.append((self.name, self.wire.clock.now))

    def gives_up(self, wait: Wait) -> bool:
        if wait.micros <= self.patience * 1e6:
            return False
        self.fate.append("gave up")
        return True

    def lost(self, slot: Booked) -> None:
        self.wire.lost.append((self.name, self.wire.clock.now))


class Place:
    """The reactor's thread, unless the test says otherwise; what is to be done there waits until the test is in it again."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.book = wire.book
        self.reactor = True
        self.put_off: list[Callable[[], None]] = []

    def later(self, seconds: float, function: Callable[[], None]) -> Timer:
        return self.wire.clock.later(seconds, function)

    def clock(self) -> float:
        return self.wire.clock.now

    def is_reactor(self) -> bool:
        return self.reactor

    def in_reactor(self, function: Callable[[], None]) -> None:
        self.put_off.append(function)


class Wire:
    """A key that lets one request go every ``interval`` seconds. ``trip``: seconds that an answer of the store takes, half of
    them on the way; ``ahead``: how far ahead it books."""

    def __init__(self, interval: float, trip: float | None = None, ahead: float = 0.0) -> None:
        self.clock = Clock()
        self.trip, self.ahead = trip, ahead
        self.place = Place(self)
        self.line = Line("origin:o", self.place, WIDTH)
        self.interval = interval
        self.due = 0.0
        self.asked = 0
        self.under_way = 0
        self.sent: list[tuple[str, float]] = []
        self.lost: list[tuple[str, float]] = []

    def book(self, want: Want, answered: Callable[[Booked | Wait], None]) -> None:
        if self.trip is None:
            answered(self.decide(want))
            return
        self.under_way += 1
        assert self.under_way == 1, "one booking at a time"
        trip = self.trip

        def at_the_store() -> None:
            answer = self.decide(want)

            def back() -> None:
                self.under_way -= 1
                answered(answer)

            self.clock.later(trip / 2, back)

        self.clock.later(trip / 2, at_the_store)

    def decide(self, want: Want) -> Booked | Wait:
        self.asked += 1
        own, now = want[0], self.clock.now
        slot = max(now, self.due, own.increment / 1e6)
        if slot > now + self.ahead + 1e-9:
            key = "origin:o" if self.due >= own.increment / 1e6 else own.key
            return Wait(max(1, round((slot - now) * 1e6)), key)
        self.due = slot + self.interval
        return Booked(round(slot * 1e6), round(now * 1e6))

    def join(self, name: str, own_due: float = 0.0, patience: float = 60.0) -> Request:
        request = Request(self, name, own_due, patience)
        self.line.join(request)
        return request

    def names(self) -> list[str]:
        return [name for name, _ in self.sent]

    def times(self) -> list[float]:
        return [round(at, 6) for _, at in self.sent]


def test_the_first_goes_at_once_and_the_others_in_order_and_on_time() -> None:
    wire = Wire(0.2)
    for name in "abc":
        wire.join(name)
    assert wire.sent == [("a", 0.0)]
    wire.clock.advance(1.0)
    assert wire.names() == ["a", "b", "c"]
    assert wire.times() == [0.0, 0.2, 0.4]


def test_only_the_head_is_asked_while_the_shared_key_makes_it_wait() -> None:
    wire = Wire(1.0)
    for number in range(50):
        wire.join(str(number))
    wire.clock.advance(10.5)
    assert len(wire.sent) == 11
    assert wire.asked <= 2 * 11 + 1, "one booking and one refusal a request, not fifty"


def test_who_waits_for_a_key_of_its_own_does_not_hold_up_those_behind() -> None:
    wire = Wire(0.1)
    wire.join("slow", own_due=5.0)
    wire.join("quick")
    wire.clock.advance(1.0)
    assert wire.names() == ["quick"]
    wire.clock.advance(5.0)
    assert wire.sent[-1] == ("slow", 5.0)


def test_who_leaves_is_not_asked_again_and_nobody_waits_for_it() -> None:
    wire = Wire(0.5)
    wire.join("a")
    second = wire.join("b")
    wire.join("c")
    wire.line.leave(second)
    wire.clock.advance(2.0)
    assert wire.names() == ["a", "c"]


def test_an_empty_line_has_no_timer() -> None:
    wire = Wire(0.5)
    wire.join("a")
    last = wire.join("b")
    assert wire.clock.timers
    wire.line.leave(last)
    assert not wire.clock.timers
    assert not len(wire.line)


def test_a_timer_that_fires_though_it_was_cancelled_leaves_no_second_one_behind() -> None:
    wire = Wire(0.5)
    wire.join("a")
    wire.join("b")
    (first,) = wire.clock.timers
    wire.join("c")
    first.function()  # Another thread had it in its hands.
    assert len(wire.clock.timers) == 1
    wire.clock.advance(2.0)
    assert wire.times() == [0.0, 0.5, 1.0]


def test_who_will_not_wait_so_long_leaves_and_the_next_is_asked() -> None:
    wire = Wire(0.1)
    patient = wire.join("held", own_due=30.0, patience=10.0)
    wire.join("next")
    wire.clock.advance(1.0)
    assert patient.fate == ["gave up"]
    assert wire.names() == ["next"]


def test_all_who_need_a_key_are_told_when_it_is_held_for_longer_than_they_wait() -> None:
    wire = Wire(0.1)
    wire.join("a")
    waiting = [wire.join(name, patience=10.0) for name in "bc"]
    patient = wire.join("d")
    wire.due = 30.0
    wire.clock.advance(0.2)
    assert [request.fate for request in waiting] == [["gave up"], ["gave up"]]
    assert len(wire.line) == 1
    wire.clock.advance(30.0)
    assert patient.fate == []
    assert wire.sent == [("a", 0.0), ("d", 30.0)]


def test_a_connection_that_is_dead_books_nothing() -> None:
    wire = Wire(0.5)
    wire.join("a")
    second = wire.join("b")
    second.alive = False
    wire.join("c")
    asked = wire.asked
    wire.clock.advance(0.6)
    assert second.fate == ["dead"]
    assert wire.times() == [0.0, 0.5]
    assert wire.asked <= asked + 3


def test_waking_asks_again_before_the_time_that_was_said() -> None:
    wire = Wire(60.0)
    wire.join("a")
    wire.join("b")
    wire.clock.advance(1.0)
    wire.due = 0.0
    wire.line.wake(["origin:o"])
    assert wire.times() == [0.0, 1.0]


@pytest.mark.parametrize("trip", [0.002, 0.015])
def test_across_a_network_the_rate_and_the_spacing_are_kept(trip: float) -> None:
    wire = Wire(0.2, trip=trip, ahead=0.02)
    for number in range(20):
        wire.join(str(number))
    wire.clock.advance(10.0)
    assert wire.names() == [str(number) for number in range(20)]
    assert wire.lost == []
    gaps = [later - earlier for earlier, later in zip(wire.times(), wire.times()[1:], strict=False)]
    assert min(gaps) >= 0.2 - WIDTH
    assert sum(gaps) <= 19 * 0.2 * 1.2


def test_an_answer_that_comes_after_its_slot_is_lost_and_booked_again() -> None:
    wire = Wire(0.2, trip=0.004, ahead=0.02)
    wire.trip = 0.2
    wire.join("late")
    wire.clock.advance(0.25)
    assert wire.sent == []
    assert [name for name, _ in wire.lost] == ["late"]
    wire.trip = 0.004
    wire.clock.advance(2.0)
    assert wire.names() == ["late"]


def test_a_connection_that_dies_during_the_round_trip_loses_the_slot_and_leaves() -> None:
    wire = Wire(0.2, trip=0.01, ahead=0.02)
    request = wire.join("dying")
    request.alive = True
    wire.clock.advance(0.004)
    request.alive = False
    wire.clock.advance(0.1)
    assert wire.sent == []
    assert [name for name, _ in wire.lost] == ["dying"]
    assert not len(wire.line)


def test_who_leaves_during_the_round_trip_gives_the_slot_back() -> None:
    wire = Wire(0.2, trip=0.01, ahead=0.02)
    request = wire.join("cancelled")
    wire.line.leave(request)
    wire.clock.advance(0.1)
    assert wire.sent == []
    assert [name for name, _ in wire.lost] == ["cancelled"]


def test_who_waits_is_sealed_and_goes_in_time_though_the_reactor_is_busy() -> None:
    wire = Wire(0.2)
    requests = [wire.join(name) for name in "abcd"]
    assert [request.sealed for request in requests] == [False, True, True, True]
    wire.place.reactor = False
    wire.clock.advance(1.0)
    assert wire.times() == [0.0, 0.2, 0.4, 0.6]
    assert wire.place.put_off == []


def test_who_cannot_be_sealed_waits_for_the_reactor_and_nobody_passes() -> None:
    wire = Wire(0.2)
    wire.join("a")
    body = Request(wire, "body")
    body.sealable = False
    wire.line.join(body)
    wire.join("b")
    wire.place.reactor = False
    wire.clock.advance(0.35)
    assert wire.names() == ["a"]
    wire.place.reactor = True
    for function in wire.place.put_off:
        function()
    assert wire.sent[1:] == [("body", 0.35)]
    wire.place.reactor = False
    wire.clock.advance(1.0)
    assert (wire.names()[2:], wire.times()[2:]) == (["b"], [0.55])


def test_a_slot_ahead_of_one_who_is_not_sealed_is_used_by_the_reactor_or_lost() -> None:
    for late, sent, lost in ((0.01, 1, 0), (0.1, 0, 1)):
        wire = Wire(0.2, trip=0.01, ahead=0.02)
        wire.due = 0.02
        request = Request(wire, "body")
        request.sealable = False
        wire.line.join(request)
        wire.clock.advance(0.0101)
        wire.place.reactor = False
        wire.clock.advance(0.0099 + late)
        assert wire.sent == []
        wire.place.reactor = True
        (function,) = wire.place.put_off
        function()
        assert (len(wire.sent), len(wire.lost)) == (sent, lost)


def test_lines_of_several_processes_take_turns_though_one_is_always_quicker() -> None:
    wire = Wire(0.2)
    lines = [Line("origin:o", Place(wire), WIDTH) for _ in range(3)]
    for number in range(100):
        for name, line in zip("abc", lines, strict=True):
            line.join(Request(wire, name if number else f"{name} first"))
    wire.clock.advance(60 * 0.2)
    shares = [wire.names()[-30:].count(name) for name in "abc"]
    assert min(shares) >= 8
    assert wire.times()[-1] >= (len(wire.sent) - 1) * 0.2 - 1e-6
    assert len(wire.sent) >= 0.93 * 60, "the courtesy costs no more than a part of a slot's width"


def test_who_is_alone_waits_for_nobody() -> None:
    wire = Wire(0.2)
    for number in range(50):
        wire.join(str(number))
    wire.clock.advance(60 * 0.2)
    assert wire.times()[-1] <= 49 * 0.2 + 49 / 8 * WIDTH / 2


def test_who_waits_for_a_key_that_others_wait_for_too_is_not_passed_by_them() -> None:
    wire = Wire(0.0)
    for number in range(10):
        request = Request(wire, str(number), own_due=1.0)
        request.site = "site:one"
        wire.line.join(request)
        wire.clock.advance(0.01)
    assert wire.asked == 1, "nobody else is asked for a key that is not due"
    wire.clock.advance(2.0)
    assert wire.names() == [str(number) for number in range(10)]


def test_waking_a_key_leaves_others_waiting() -> None:
    wire = Wire(60.0)
    wire.join("a")
    wire.join("b")
    wire.clock.advance(1.0)
    wire.due = 0.0
    wire.line.wake(["site:b", "origin:other"])
    assert wire.times() == [0.0]
