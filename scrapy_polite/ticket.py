"""A ticket: one request's right to the wire, from its plan to the moment its first byte has left."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy_polite.limits.gcra import Booked, Wait

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_polite.limits.plan import Charge
    from scrapy_polite.politeness import Politeness

__all__ = ["Ticket"]


@dataclass(slots=True, eq=False)
class Ticket:
    """``charges``: narrowest key first; the last is the key that sites share, whose line the request stands in."""

    politeness: Politeness
    request: Request
    site: str
    kind: str
    charges: tuple[Charge, ...]
    made: float = field(default_factory=time.monotonic)
    slot: Booked | None = None
    sent: float | None = None
    """When its last byte had been given to the kernel, on the monotonic clock: latency is measured from here."""
    answered: float = 0.0
    """When the first byte of its answer was there, on the same clock."""

    @property
    def shared(self) -> str:
        return self.charges[-1].key

    def book(self) -> Booked | Wait:
        """One booking on all keys. A ``Wait`` has changed nothing."""
        answer = self.politeness.book(self)
        if isinstance(answer, Booked):
            self.slot = answer
        return answer

    def departed(self) -> None:
        """The request is on the wire: called in the tick of the booking, just after the flush."""
        self.sent = time.monotonic()
        self.politeness.departed(self)

    def too_long(self, wait: Wait) -> bool:
        """Whether waiting so long would keep the request in the downloader beyond ``POLITE_MAX_WAIT``."""
        return time.monotonic() - self.made + wait.micros / 1e6 > self.politeness.config.max_wait
