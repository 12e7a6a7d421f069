"""The line at the wire: requests that stand ready on a live connection and wait for the slot of a key that they share.

Only the one at the head books, so at most one booking is under way per line. When the shared key makes it wait, nobody behind
it is asked; when it waits for a key of its own (its site's Crawl-delay), those behind it may pass that do not have that key.
One timer; nothing polls.

A local store answers at once, and the request goes in the same call. A store across a network answers a round trip later, with
a slot that may lie a little ahead: the request goes inside of that slot, or the slot is lost and it books again.

Timers fire in the courier's thread (:mod:`scrapy_polite.courier`), so that a busy reactor delays nobody who is *sealed*:
written out before, with nothing left to do but to give bytes to the kernel. Whoever is not sealed is served by the reactor. All
of a line's state is behind its lock, which nobody holds while he asks the store.
"""

from __future__ import annotations

from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Final, Protocol

from scrapy_polite.limits.gcra import Booked, Wait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy_polite.limits.gcra import Want

    Answered = Callable[[Booked | Wait], None]

__all__ = ["Entry", "Line", "Place"]

MICROSECONDS: Final = 1e-6

COURTESY: Final = 0.5
"""Of a slot's width: how much later than others somebody asks who has had the last slot. It comes out of the tolerance that a
key has anyway, so no rate is lost."""

MEMORY: Final = 8
"""Slots over which it is averaged how many others take turns. Who has had so many in a row lets others go first once: one who
is always the quickest would never learn that there are any."""


KEYS: Final = 1_000
"""Of them it is remembered who takes turns there, and until when they are not due."""


class Timer(Protocol):
    def cancel(self) -> object:
        """It does not fire, unless it has, or is just about to."""
        ...


class Entry(Protocol):
    """A request that stands in line."""

    @property
    def want(self) -> Want:
        """What is to be booked for it."""
        ...

    @property
    def sealed(self) -> bool:
        """Whether all that follows may be called in any thread; otherwise only in the reactor's."""
        ...

    def seal(self) -> None:
        """It will have to wait: do all that can be done before its slot. Called in the reactor's thread, once or more."""
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


class Place(Protocol):
    """Where a line is: its clock, its timers, and the reactor."""

    def book(self, want: Want, answered: Answered) -> None:
        """Ask the store, from any thread; the answer comes in the same call or later, in the same thread."""
        ...

    def later(self, seconds: float, function: Callable[[], None]) -> Timer:
        """Call ``function`` later, in whatever thread."""
        ...

    def clock(self) -> float:
        """Seconds."""
        ...

    def is_reactor(self) -> bool:
        """Whether this is the reactor's thread."""
        ...

    def in_reactor(self, function: Callable[[], None]) -> None:
        """Call ``function`` soon, in the reactor's thread."""
        ...


class _Booking:
    """One that is under way. ``direct``: whoever asked is still in the call."""

    __slots__ = ("asked", "direct", "entry", "want")

    def __init__(self, entry: Entry, asked: float) -> None:
        self.entry, self.want, self.asked, self.direct = entry, entry.want, asked, True


class _Key:
    """A key that has made somebody wait: since when it may be asked for again, and who else takes turns at it, in other
    processes. ``turns``: how many slots go by from one of ours to the next, on average; 1: nobody else wants any. ``passed``:
    those that others have had since ours."""

    __slots__ = ("due", "expects", "in_a_row", "passed", "turns")

    def __init__(self) -> None:
        self.due = 0.0
        self.turns = 1.0
        self.passed = 0
        self.in_a_row = 0
        self.expects = False
        """It was to be due: if it is not, somebody else has had the slot."""

    def refused(self, until: float, width: float) -> None:
        """It is due at ``until``; may be asked for then, or a little later, since others go first whose last slot is longer
        ago. Or whoever is quickest would have all, and the others none."""
        self.passed += self.expects
        self.expects = True
        behind = max(0.0, 1 - (self.passed + 1) / self.turns)
        if self.in_a_row >= MEMORY:
            self.in_a_row, behind = 0, 1.0
        self.due = until + width * COURTESY * behind

    def sooner(self) -> None:
        """It may be asked for at once; and if it is not due, that is not for somebody else's slot."""
        self.due, self.expects = 0.0, False

    def had(self) -> None:
        if self.expects:
            self.turns += (self.passed + 1 - self.turns) / MEMORY
            self.in_a_row = 0 if self.passed else self.in_a_row + 1
        self.passed, self.expects = 0, False


class Line:
    """``shared``: the key that all in this line share. ``width`` of a slot, in seconds."""

    def __init__(self, shared: str, place: Place, width: float) -> None:
        self._shared = shared
        self._place = place
        self._width = width
        self._lock = RLock()
        self._standing: dict[Entry, None] = {}
        self._keys: dict[str, _Key] = {}
        self._asking: Entry | None = None
        """Whose booking is under way, or has a slot that has not come yet."""
        self._timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._standing)

    def join(self, entry: Entry) -> None:
        """Stand at the end; asked at once unless somebody else must be asked first."""
        with self._lock:
            self._standing[entry] = None
        self._serve()
        with self._lock:
            if entry in self._standing:
                entry.seal()

    def leave(self, entry: Entry) -> None:
        """Give the place up: a timeout, a cancellation, shutdown."""
        with self._lock:
            self._standing.pop(entry, None)
            if not self._standing:
                self._disarm()

    def wake(self, keys: Iterable[str]) -> None:
        """These keys may be due sooner than was said: a hold was lifted, a charge given back. From any thread."""
        with self._lock:
            for known in filter(None, map(self._keys.get, keys)):
                known.sooner()
        self._serve()

    def _serve(self) -> None:
        """Ask those at the head, one after the other, until somebody must wait, or is to be served by the reactor."""
        while (booking := self._begin()) is not None:
            self._place.book(booking.want, partial(self._answered, booking))
            booking.direct = False

    def _begin(self) -> _Booking | None:
        with self._lock:
            while self._asking is None:
                entry = self._next()
                if entry is None:
                    self._arm()
                    return None
                if not (entry.sealed or self._place.is_reactor()):
                    self._place.in_reactor(self._serve)
                    return None
                if entry.ready():
                    self._asking = entry
                    return _Booking(entry, self._place.clock())
                self._standing.pop(entry, None)
            return None

    def _next(self) -> Entry | None:
        now = self._place.clock()
        if self._due(self._shared) > now:
            return None
        return next((entry for entry in self._standing if self._may_ask(entry) <= now), None)

    def _due(self, key: str) -> float:
        known = self._keys.get(key)
        return known.due if known is not None else 0.0

    def _may_ask(self, entry: Entry) -> float:
        return max((self._due(demand.key) for demand in entry.want), default=0.0)

    def _answered(self, booking: _Booking, answer: Booked | Wait) -> None:
        with self._lock:
            self._asking = None
            entry, now = booking.entry, self._place.clock()
            if isinstance(answer, Wait):
                self._refused(entry, answer, now)
            else:
                for demand in booking.want:
                    if demand.key in self._keys:
                        self._keys[demand.key].had()
                # The store's clock was read between `asked` and now: the window that is right for both readings.
                ahead = (answer.slot - answer.now) * MICROSECONDS
                closes = booking.asked + ahead + self._width
                self._asking = entry
                if ahead > 0:
                    self._place.later(ahead, partial(self._slot_opens, entry, answer, closes))
                    return
                if not self._use(entry, answer, closes, ready=booking.direct):
                    return
        if not booking.direct:
            self._serve()

    def _refused(self, entry: Entry, wait: Wait, now: float) -> None:
        if len(self._keys) > KEYS:
            self._keys = {key: known for key, known in self._keys.items() if known.due > now}
        self._keys.setdefault(wait.key, _Key()).refused(now + wait.micros * MICROSECONDS, self._width)
        if entry in self._standing:
            if entry.gives_up(wait):
                self._standing.pop(entry, None)
                self._give_up_behind(wait)
            elif self._place.is_reactor():
                entry.seal()

    def _give_up_behind(self, wait: Wait) -> None:
        """Nobody who needs the key will be asked before it is due: those who will not wait so long are told now."""
        for entry in [one for one in self._standing if any(demand.key == wait.key for demand in one.want)]:
            if entry.gives_up(wait):
                self._standing.pop(entry, None)

    def _slot_opens(self, entry: Entry, slot: Booked, closes: float) -> None:
        with self._lock:
            if not self._use(entry, slot, closes):
                return
        self._serve()

    def _use(self, entry: Entry, slot: Booked, closes: float, ready: bool = False) -> bool:
        """Send in a slot that has begun, or lose it. False: that is left to the reactor. ``ready``: it was so just now."""
        stands = entry in self._standing
        if stands and not (entry.sealed or self._place.is_reactor()):
            self._place.in_reactor(partial(self._slot_opens, entry, slot, closes))
            return False
        self._asking = None
        if not stands or self._place.clock() >= closes:
            entry.lost(slot)
        else:
            ready = ready or entry.ready()
            self._standing.pop(entry, None)
            if ready:
                entry.go(slot)
            else:
                entry.lost(slot)
        return True

    def _arm(self) -> None:
        self._disarm()
        if self._asking is None and self._standing:
            soonest = max(self._due(self._shared), min(map(self._may_ask, self._standing)))
            self._timer = self._place.later(max(0.0, soonest - self._place.clock()), self._serve)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
