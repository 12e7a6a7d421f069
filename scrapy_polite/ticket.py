"""A ticket: one request's right to the wire, from its plan to the moment its first byte has left."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy import Request

    from scrapy_polite.limits.gcra import Booked, Wait, Want
    from scrapy_polite.limits.plan import Charge
    from scrapy_polite.origins.edges import Edge
    from scrapy_polite.politeness import Politeness

__all__ = ["Ticket"]


class Cancelled(Protocol):
    def cancel(self) -> None: ...


class Timer(Cancelled, Protocol):
    def active(self) -> bool: ...


@dataclass(slots=True, eq=False)
class Ticket:
    """``charges``: narrowest key first; the last is the key that sites share, whose line the request stands in."""

    politeness: Politeness
    request: Request | None
    """Until it is on the wire."""
    url: str
    site: str
    kind: str
    charges: tuple[Charge, ...]
    edge: Edge | None = None
    """What stands in front of the host: whose word on its cache is believed."""
    made: float = field(default_factory=time.monotonic)
    sent: float | None = None
    """When its last byte had been given to the kernel, on the monotonic clock: latency is measured from here."""
    answered: float = 0.0
    """When the first byte of its answer was there, on the same clock."""
    timeout: float = 180.0
    """Seconds that its download may take from then on: the wait for the slot does not count."""
    expiry: Timer | None = None
    expired: bool = False
    peer: str | None = None
    """The address that answered, where neither a proxy nor a browser stands between."""
    trip: float | None = None
    """Seconds in which a connection to it came about, if one was made for this request."""
    company: int | None = None
    """While it is on its way: what tells at its end whether it was alone at its origin."""
    alone: bool = False
    direct: bool = False
    """Whether its latency is that of the servers: no browser is between, and no proxy that resolves by itself."""
    meta: Mapping[str, object] = field(default_factory=dict)
    """Of the request that is sent: whether its answer has begun."""
    lateness: Cancelled | None = None
    """What tells that no answer has come, for so long."""
    _want: Want | None = None
    _booked: int | None = None
    """The slot that it left in, as long as what was charged for it may be given back."""

    @property
    def shared(self) -> str:
        return self.charges[-1].key

    @property
    def host(self) -> str:
        """The host of its site; "" where it is a bucket's, or an image service's."""
        family, _, host = self.site.partition(":")
        return host if family == "site" else ""

    @property
    def want(self) -> Want:
        """What is booked for it: all of its keys, or none."""
        want = self._want  # Asked at every try.
        if want is None:
            width = self.politeness.config.width
            want = self._want = tuple(charge.demand(width) for charge in self.charges)
        return want

    def left(self, slot: Booked) -> int:
        """The request is on the wire: called just after the flush, in any thread. When that was, on the store's clock."""
        self.sent = time.monotonic()
        return self.politeness.left(self, slot)

    def departed(self, slot: Booked, at: int) -> None:
        """It left at ``at``. To be told after :meth:`left`, in the reactor's thread."""
        self._booked = slot.slot
        self.politeness.departed(self, slot, at)

    def missed(self, slot: Booked) -> None:
        """The slot passed, and nothing was sent in it."""
        self.politeness.missed(self, slot)

    def refund(self) -> tuple[int, tuple[Charge, ...]] | None:
        """The slot that it left in, and the charges that a proven hit gives back; once. None where nothing was booked or is
        left: a slot that was missed stays paid, and so does one whose answer was lost."""
        slot, self._booked = self._booked, None
        charges = tuple(charge for charge in self.charges if charge.refundable)
        return (slot, charges) if slot is not None and charges else None

    def finish(self) -> None:
        """Its download has ended, one way or another."""
        if self.expiry is not None and self.expiry.active():
            self.expiry.cancel()
        self.politeness.learning.ended(self)
        self.politeness.pacing.ended(self)

    @property
    def has_begun(self) -> bool:
        """Whether the first byte of its answer is there."""
        return self.answered > 0 or self.meta.get("download_latency") is not None

    def plan_again(self) -> None:
        """It was told to wait, and nothing is booked for it: it is charged at the pace of now."""
        charges = self.politeness.pacing.paced(self.kind, self.charges)
        if charges is not self.charges:
            self.charges, self._want = charges, None

    def too_long(self, wait: Wait) -> bool:
        """Whether waiting so long would keep the request in the downloader beyond ``POLITE_MAX_WAIT``."""
        return time.monotonic() - self.made + wait.micros / 1e6 > self.politeness.config.max_wait
