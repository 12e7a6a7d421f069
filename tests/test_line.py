"""The line at the wire, with a clock that the test turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_polite.limits.gcra import Wait
from scrapy_polite.line import Line

if TYPE_CHECKING:
    from collections.abc import Callable


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
        self.clock.timers.remove(self)


class Wire:
    """A key that lets one request go every ``interval`` seconds, and what was sent when."""

    def __init__(self, interval: float) -> None:
        self.clock = Clock()
        self.line = Line("origin:o", self.clock.later, lambda: self.clock.now)
        self.interval = interval
        self.due = 0.0
        self.asked = 0
        self.sent: list[tuple[str, float]] = []

    def join(self, name: str, own_due: float = 0.0) -> Callable[[], Wait | None]:
        def attempt() -> Wait | None:
            self.asked += 1
            late = max(self.due, own_due) - self.clock.now
            if late > 1e-9:
                return Wait(round(late * 1e6), "origin:o" if self.due >= own_due else f"site:{name}")
            self.due = self.clock.now + self.interval
            self.sent.append((name, self.clock.now))
            return None

        self.line.join(attempt)
        return attempt


def test_the_first_goes_at_once_and_the_others_in_order_and_on_time() -> None:
    wire = Wire(0.2)
    for name in "abc":
        wire.join(name)
    assert wire.sent == [("a", 0.0)]
    wire.clock.advance(1.0)
    assert [name for name, _ in wire.sent] == ["a", "b", "c"]
    assert [round(at, 6) for _, at in wire.sent] == [0.0, 0.2, 0.4]


def test_only_the_head_is_asked_while_the_shared_key_makes_it_wait() -> None:
    wire = Wire(1.0)
    for number in range(50):
        wire.join(str(number))
    wire.clock.advance(10.5)
    assert len(wire.sent) == 11
    assert wire.asked <= 3 * 11 + 50, "one refusal and one booking a request, not fifty"


def test_who_waits_for_a_key_of_its_own_does_not_hold_up_those_behind() -> None:
    wire = Wire(0.1)
    wire.join("slow", own_due=5.0)
    wire.join("quick")
    wire.clock.advance(1.0)
    assert [name for name, _ in wire.sent] == ["quick"]
    wire.clock.advance(5.0)
    assert wire.sent[-1] == ("slow", 5.0)


def test_who_leaves_is_not_asked_again_and_nobody_waits_for_it() -> None:
    wire = Wire(0.5)
    wire.join("a")
    second = wire.join("b")
    wire.join("c")
    wire.line.leave(second)
    wire.clock.advance(2.0)
    assert [name for name, _ in wire.sent] == ["a", "c"]


def test_an_empty_line_has_no_timer() -> None:
    wire = Wire(0.5)
    wire.join("a")
    last = wire.join("b")
    assert wire.clock.timers
    wire.line.leave(last)
    assert not wire.clock.timers
    assert not len(wire.line)
