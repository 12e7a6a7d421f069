"""What a proven hit gives back: behind an edge every request is charged to its site and its origin as if it were a miss, ahead,
and a hit never came to them.

A hit is believed of the edge that the host is known to be behind, in its own dialect, and nobody else; whatever is not said
keeps its charge. So when an edge falls silent, or its cache is emptied, the origin's rate holds from the next request on, with
nothing to be learned first.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from scrapy_polite.origins.cachestatus import cache_status
from scrapy_polite.origins.missshare import MissShares
from scrapy_polite.telemetry.events import Refunded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_polite.limits.plan import Charge
    from scrapy_polite.politeness import Politeness
    from scrapy_polite.ticket import Ticket

__all__ = ["Refunds"]

logger = logging.getLogger(__name__)

SERVERS_FAULT: Final = 500
"""A status from here on is never a hit: an edge's own error page says so of itself after the origin was asked in vain. One
below is, whatever it is: a redirect or a 404 out of a cache has left the origin alone like any page."""


class Refunds:
    """See the module. In the reactor's thread."""

    def __init__(self, politeness: Politeness) -> None:
        self._politeness = politeness
        self.shares = MissShares()
        """Of the answers of each edge key lately, for people: nothing is decided by it."""

    def heard(self, ticket: Ticket, status: int, headers: Mapping[str, Sequence[str]], refused: bool) -> None:
        """An answer of a host behind an edge. ``refused``: it is a refusal, after which less is to be sent, not more."""
        if ticket.edge is None:
            return
        said = cache_status(headers, ticket.edge.provider)
        hit = said.verdict == "hit" and status < SERVERS_FAULT and not refused
        cached = "hit" if hit else "miss"
        self._politeness.count(f"edge/{cached}")
        for charge in ticket.charges:
            if charge.key.startswith("edge:"):
                self.shares.heard(charge.key, hit)
        logger.debug("%s: %s: %s", ticket.url, ticket.edge.label, said.because)
        refund = ticket.refund() if hit else None
        if refund is not None:
            slot, charges = refund
            width = self._politeness.config.width
            given = partial(self._given, ticket.shared, slot, charges)
            self._politeness.booker.give_back([(charge.key, charge.increment(width)) for charge in charges], given)

    def _given(self, shared: str, slot: int, charges: Sequence[Charge]) -> None:
        """The store has it: whoever waits for these keys may go sooner."""
        politeness = self._politeness
        if politeness.ledger is not None:
            at = politeness.booker.now()
            for charge in charges:
                politeness.ledger.record(Refunded(at, charge.key, slot, charge.cost))
        if politeness.agenda is not None:
            politeness.agenda.refunded(charges)
        if politeness.lines is not None:
            politeness.lines.refunded(shared, [charge.key for charge in charges])
