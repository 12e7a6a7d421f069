"""A thread that keeps appointments while the reactor is busy.

A callback that parses for a tenth of a second keeps the reactor's timers waiting for as long, and a slot with them. The
courier's timers fire beside it: the interpreter gives a thread its turn within a switch interval, also in the middle of a
callback (but not in the middle of one call of a C library that keeps the interpreter for itself).

Python's default interval of 5 ms is as long as a slot may be late, and whoever asks a store gives the interpreter away several
times. So it is set to half a millisecond, for the process, when the first appointment is made. With 5 ms, 90 to 99 % of a rate
were kept beside a busy reactor in an experiment, with 0.5 ms more than 99 %, and the work of the reactor did not slow.
"""

from __future__ import annotations

import logging
import sys
import time
from heapq import heapify, heappop, heappush
from itertools import count
from threading import Condition, Thread
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Courier"]

logger = logging.getLogger(__name__)

SWITCH: Final = 0.0005
"""Seconds. See the module."""

STOP_WITHIN: Final = 1.0
"""Seconds that the end of an errand is waited for."""

IDLE: Final = 64
"""Cancelled appointments that may be left in the book beside as many again as are alive."""


class Appointment:
    """What is to be done, and when; :meth:`cancel` it once or more, before or after."""

    __slots__ = ("at", "function", "number")

    def __init__(self, at: float, number: int, function: Callable[[], None]) -> None:
        self.at = at
        self.number = number
        self.function: Callable[[], None] | None = function

    def __lt__(self, other: Appointment) -> bool:
        return (self.at, self.number) < (other.at, other.number)

    def cancel(self) -> None:
        """It is not begun any more. One that has begun goes on."""
        self.function = None


class Courier:
    """One per crawler. Its thread starts with the first appointment."""

    def __init__(self) -> None:
        self._book: list[Appointment] = []
        self._numbers = count()
        self._turn = Condition()
        self._thread: Thread | None = None
        self._stopped = False

    def later(self, seconds: float, function: Callable[[], None]) -> Appointment:
        """Call ``function`` in the courier's thread, ``seconds`` from now. From any thread; after :meth:`stop` nothing is
        called."""
        with self._turn:
            appointment = Appointment(time.monotonic() + seconds, next(self._numbers), function)
            if len(self._book) > IDLE:
                alive = [one for one in self._book if one.function is not None]
                if 2 * len(alive) < len(self._book):
                    heapify(alive)
                    self._book = alive
            heappush(self._book, appointment)
            if self._thread is None and not self._stopped:
                sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH))
                self._thread = Thread(target=self._run, name="polite-courier", daemon=True)
                self._thread.start()
            elif self._book[0] is appointment:
                self._turn.notify()
        return appointment

    def stop(self) -> None:
        """End the thread. What it is doing is waited for, not for ever."""
        with self._turn:
            self._stopped = True
            self._turn.notify()
        if self._thread is not None:
            self._thread.join(STOP_WITHIN)

    def _run(self) -> None:
        while (function := self._next()) is not None:
            try:
                function()
            except Exception:
                # Whatever it was, the other appointments are kept.
                logger.exception("An appointment at the wire failed")

    def _next(self) -> Callable[[], None] | None:
        """Wait for the next appointment that was not cancelled; None: no more."""
        with self._turn:
            while not self._stopped:
                wait = self._book[0].at - time.monotonic() if self._book else None
                if wait is not None and wait <= 0:
                    function = heappop(self._book).function
                    if function is not None:
                        return function
                else:
                    self._turn.wait(wait)
            return None
