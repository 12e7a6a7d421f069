"""The line at the wire: requests that stand ready on a live connection and wait for the slot of a key that they share.

Only those at the head book. When the shared key makes one wait, nobody behind it is asked; when it waits for a key of its own
(its site's Crawl-delay), those behind it may pass. One timer per line; nothing polls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from scrapy_polite.limits.gcra import Wait

__all__ = ["Line"]

Attempt = Callable[[], Wait | None]
"""Books and sends in one go: None when that is done (or the request gave up its place), else how long to wait."""

MICROSECONDS: Final = 1e-6


class Timer(Protocol):
    def cancel(self) -> object: ...


class Line:
    """``shared``: the key that all in this line share. ``later(seconds, function)`` starts a timer, ``clock`` tells seconds."""

    def __init__(self, shared: str, later: Callable[[float, Callable[[], None]], Timer], clock: Callable[[], float]) -> None:
        self._shared = shared
        self._later = later
        self._clock = clock
        self._standing: dict[Attempt, float] = {}
        self._timer: Timer | None = None
        self._serving = False
        self._blocked = False
        """The shared key makes everybody wait, until the timer."""

    def __len__(self) -> int:
        return len(self._standing)

    def join(self, attempt: Attempt) -> None:
        """Stand at the end; asked at once unless the shared key makes everybody wait."""
        self._standing[attempt] = 0.0
        if not self._blocked:
            self.serve()

    def leave(self, attempt: Attempt) -> None:
        """Give the place up: a timeout, a cancellation, shutdown."""
        self._standing.pop(attempt, None)
        if not self._standing:
            self._blocked = False
            self._disarm()

    def serve(self) -> None:
        """Ask those at the head until somebody must wait for the shared key."""
        if self._serving:
            return
        self._serving = True
        self._disarm()
        try:
            soonest = self._ask()
        finally:
            self._serving = False
        if soonest is not None and self._standing:
            self._timer = self._later(max(0.0, soonest - self._clock()), self._expired)

    def _ask(self) -> float | None:
        """The time at which to ask again, if anybody is left."""
        soonest: float | None = None
        self._blocked = False
        for attempt, not_before in list(self._standing.items()):
            if attempt not in self._standing:
                continue
            if not_before <= self._clock():
                wait = attempt()
                if wait is None:
                    self._standing.pop(attempt, None)
                    continue
                not_before = self._clock() + wait.micros * MICROSECONDS
                if attempt in self._standing and wait.key != self._shared:
                    self._standing[attempt] = not_before
                elif attempt in self._standing:
                    self._blocked = True
                    return not_before if soonest is None else min(soonest, not_before)
                else:
                    continue
            soonest = not_before if soonest is None else min(soonest, not_before)
        return soonest

    def _expired(self) -> None:
        self._timer = None
        self.serve()

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
