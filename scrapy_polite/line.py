"""The line at the wire: requests that stand ready on a live connection and wait for the slot of a key that they share.

Only the one at the head books, so at most one booking is under way per line. When the shared key makes it wait, nobody behind
it is asked; when it waits for a key of its own (its site's Crawl-delay), those behind it may pass. One timer; nothing polls.

A local store answers at once, and the request goes in the same call. A store across a network answers a round trip later, with
a slot that may lie a little ahead: the request goes inside of that slot, or the slot is lost and it books again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from scrapy_polite.limits.gcra import Booked, Wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_polite.limits.gcra import Want

    Answered = Callable[[Booked | Wait], None]

__all__ = ["Entry", "Line"]

MICROSECONDS: Final = 1e-6


class Timer(Protocol):
    def cancel(self) -> object: ...


class Entry(Protocol):
    """A request that stands in line."""

    @property
    def want(self) -> Want:
        """What is to be booked for it."""
        ...

    def ready(self) -> bool:
        """Whether it could be sent in this moment. False: it leaves the line, and has seen to what comes next."""
        ...

    def go(self, slot: Booked) -> None:
        """Send it, now."""
        ...

    def gives_up(self, wait: Wait) -> bool:
        """Whether it leaves the line rather than wait so long, and has seen to what comes next."""
        ...

    def lost(self, slot: Booked) -> None:
        """It was not sent in this slot, which is gone. It stays in line if it was ready."""
        ...


class Line:
    """``shared``: the key that all in this line share. ``book`` answers a want, at once or later; ``later(seconds, function)``
    starts a timer, ``clock`` tells seconds; ``width`` of a slot, in seconds."""

    def __init__(
        self,
        shared: str,
        book: Callable[[Want, Answered], None],
        later: Callable[[float, Callable[[], None]], Timer],
        clock: Callable[[], float],
        width: float,
    ) -> None:
        self._shared = shared
        self._book = book
        self._later = later
        self._clock = clock
        self._width = width
        self._standing: dict[Entry, float] = {}
        """Entry -> the time before which it need not be asked."""
        self._blocked_until = 0.0
        """Nobody need be asked before: the shared key makes everybody wait."""
        self._asking: Entry | None = None
        """Whose booking is under way, or has a slot that has not come yet."""
        self._serving = False
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._standing)

    def join(self, entry: Entry) -> None:
        """Stand at the end; asked at once unless somebody else must be asked first."""
        self._standing[entry] = 0.0
        self._serve()

    def leave(self, entry: Entry) -> None:
        """Give the place up: a timeout, a cancellation, shutdown."""
        self._standing.pop(entry, None)
        if not self._standing:
            self._disarm()

    def wake(self) -> None:
        """The shared key, or one of those that wait for a key of their own, may be due sooner than was said."""
        self._blocked_until = 0.0
        for entry in self._standing:
            self._standing[entry] = 0.0
        self._serve()

    def _serve(self) -> None:
        """Ask those at the head, one after the other, until somebody must wait."""
        if self._serving or self._asking is not None:
            return
        self._serving = True
        try:
            while self._asking is None and (entry := self._next()) is not None:
                if not entry.ready():
                    self._standing.pop(entry, None)
                    continue
                self._asking = entry
                self._book(entry.want, partial(self._answered, entry, self._clock()))
        finally:
            self._serving = False
        self._arm()

    def _next(self) -> Entry | None:
        now = self._clock()
        if now < self._blocked_until:
            return None
        return next((entry for entry, not_before in self._standing.items() if not_before <= now), None)

    def _answered(self, entry: Entry, asked: float, answer: Booked | Wait) -> None:
        self._asking = None
        now = self._clock()
        if isinstance(answer, Wait):
            self._refused(entry, answer, now)
        else:
            # The store's clock was read between `asked` and now: the window that is right for both readings.
            ahead = (answer.slot - answer.now) * MICROSECONDS
            opens, closes = now + ahead, asked + ahead + self._width
            if ahead > 0:
                self._asking = entry
                self._later(ahead, partial(self._slot_opens, entry, answer, closes))
                return
            self._send(entry, answer, opens, closes)
        self._serve()

    def _refused(self, entry: Entry, wait: Wait, now: float) -> None:
        until = now + wait.micros * MICROSECONDS
        if wait.key == self._shared:
            self._blocked_until = until
        if entry not in self._standing:
            return
        if entry.gives_up(wait):
            self._standing.pop(entry, None)
        elif wait.key != self._shared:
            self._standing[entry] = until

    def _slot_opens(self, entry: Entry, slot: Booked, closes: float) -> None:
        self._asking = None
        self._send(entry, slot, self._clock(), closes)
        self._serve()

    def _send(self, entry: Entry, slot: Booked, now: float, closes: float) -> None:
        if entry not in self._standing or now >= closes:
            entry.lost(slot)
        elif not entry.ready():
            self._standing.pop(entry, None)
            entry.lost(slot)
        else:
            self._standing.pop(entry, None)
            entry.go(slot)

    def _arm(self) -> None:
        self._disarm()
        if self._asking is not None or not self._standing:
            return
        soonest = max(self._blocked_until, min(self._standing.values()))
        self._timer = self._later(max(0.0, soonest - self._clock()), self._expired)

    def _expired(self) -> None:
        self._timer = None
        self._serve()

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
