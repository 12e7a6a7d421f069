"""Who stands in line for a slot, and all lines of one crawler."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred

from scrapy_polite.courier import Courier
from scrapy_polite.errors import NotNow
from scrapy_polite.line import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy_polite.courier import Appointment
    from scrapy_polite.limits.gcra import Booked, Wait, Want
    from scrapy_polite.politeness import Politeness
    from scrapy_polite.ticket import Ticket

__all__ = ["AtTheDoor", "Lines", "Standing"]


class Standing(ABC):
    """A request in line (an :class:`~scrapy_polite.line.Entry`). ``outcome`` fires when it was sent, when it cannot be sent
    here any more, or with :class:`NotNow`; always in the reactor's thread."""

    def __init__(self, ticket: Ticket, lines: Lines) -> None:
        self.ticket = ticket
        self.lines = lines
        self.outcome: Deferred[Any] = Deferred()

    @property
    def want(self) -> Want:
        return self.ticket.want

    @property
    @abstractmethod
    def sealed(self) -> bool:
        """Whether it was written out, so that any thread may send it."""

    @abstractmethod
    def seal(self) -> None:
        """Write it out, if that can be done before its slot."""

    def ready(self) -> bool:
        return not self.outcome.called

    @abstractmethod
    def go(self, slot: Booked) -> None:
        """Send it, now."""

    def gives_up(self, wait: Wait) -> bool:
        if not self.ticket.too_long(wait):
            self.ticket.plan_again()
            return False
        self.lines.in_reactor(partial(self.ticket.politeness.learn, wait))
        self.lines.in_reactor(partial(self.end, NotNow(f"{wait.key} is due in {wait.micros / 1e6:.1f} s")))
        return True

    def lost(self, slot: Booked) -> None:
        self.lines.in_reactor(partial(self.ticket.missed, slot))

    def end(self, why: Exception) -> None:
        """It is not to be sent; unless that has happened already."""
        if not self.outcome.called:
            self.outcome.errback(why)


class AtTheDoor(Standing):
    """Before somebody whose wire cannot be reached, a browser. ``outcome``: None, when he is to be asked at once."""

    sealed = False

    def seal(self) -> None:
        """There is nothing to write out."""

    def go(self, slot: Booked) -> None:
        self.ticket.departed(slot, self.ticket.left(slot))
        self.outcome.callback(None)


class Lines:
    """The lines at the wire of one crawler, by the key that is shared; and their place (a :class:`~scrapy_polite.line.Place`):
    the courier's timers, the store behind the booker, the reactor. Made in the reactor's thread."""

    def __init__(self, reactor: Any, politeness: Politeness) -> None:
        self._reactor = reactor
        self.call_later = reactor.callLater
        self.book = politeness.booker.book
        self._width = politeness.config.width / 1e6
        self._courier = Courier()
        self._lines: dict[str, Line] = {}
        self._standing: set[Standing] = set()
        self._waiting: set[Deferred[Any]] = set()
        self._thread = threading.get_ident()

    def __len__(self) -> int:
        return len(self._standing)

    def join(self, entry: Standing) -> None:
        key = entry.ticket.shared
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = Line(key, self, self._width)
        self._standing.add(entry)
        line.join(entry)

    def leave(self, entry: Standing) -> None:
        self._standing.discard(entry)
        line = self._lines.get(entry.ticket.shared)
        if line is not None:
            line.leave(entry)
            if not len(line):
                del self._lines[entry.ticket.shared]

    def refunded(self, shared: str, keys: Iterable[str]) -> None:
        """What was charged to these keys was given back; ``shared`` is the one in whose line their requests stand."""
        line = self._lines.get(shared)
        if line is not None:
            line.wake(keys)

    def moved(self, site: str) -> None:
        """What stands in line for the site was planned by what it was charged before: it goes back, and is planned anew."""
        why = NotNow(f"{site} is charged otherwise from now on")
        for entry in list(self._standing):
            if entry.ticket.site == site:
                entry.end(why)

    def sooner(self, key: str) -> None:
        """The key may be due sooner than was said: its hold was ended."""
        for line in list(self._lines.values()):
            line.wake([key])

    def wait(self, waiter: Deferred[Any]) -> None:
        """Somebody waits for something else before joining."""
        self._waiting.add(waiter)

    def waited(self, waiter: Deferred[Any]) -> None:
        self._waiting.discard(waiter)

    def closing(self) -> None:
        """Everybody who waits is told so, and goes back to where waiting costs nothing."""
        why = NotNow("the spider is closing")
        for entry in list(self._standing):
            entry.end(why)
        for waiter in list(self._waiting):
            if not waiter.called:
                waiter.errback(why)

    def stop(self) -> None:
        """End the courier's thread."""
        self._courier.stop()

    # -- the place

    def later(self, seconds: float, function: Callable[[], None]) -> Appointment:
        return self._courier.later(seconds, function)

    def clock(self) -> float:
        return time.monotonic()

    def is_reactor(self) -> bool:
        return threading.get_ident() == self._thread

    def in_reactor(self, function: Callable[[], None]) -> None:
        """At once, if this is its thread."""
        if self.is_reactor():
            function()
        else:
            self._reactor.callFromThread(function)
