"""Learned costs in a crawl (``POLITE_COSTS = "auto"``): which answers tell something, and what is said of it."""

from __future__ import annotations

import logging
import time
from statistics import fmean
from typing import TYPE_CHECKING

from scrapy_polite.origins.cachestatus import cache_status
from scrapy_polite.origins.costs import Company, Costs, Sample
from scrapy_polite.origins.watching import account_among

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy.statscollectors import StatsCollector

    from scrapy_polite.ticket import Ticket

__all__ = ["Learning"]

logger = logging.getLogger(__name__)


class Learning:
    """Told of every request that goes onto the wire, that it is over, and of its answer. ``costs``: None where they are stated,
    and nothing is to be learned."""

    def __init__(self, costs: Costs | None, stats: StatsCollector | None) -> None:
        self.costs = costs
        self._stats = stats
        self._company = Company()

    def departed(self, ticket: Ticket) -> None:
        if self.costs is not None:
            ticket.company = self._company.sent(ticket.shared)

    def ended(self, ticket: Ticket) -> None:
        """Its download has ended, whatever came of it."""
        if ticket.company is not None:
            ticket.alone = self._company.ended(ticket.shared, ticket.company)
            ticket.company = None

    def heard(self, ticket: Ticket, status: int, headers: Mapping[str, Sequence[str]]) -> None:
        """Learn from an answer. Not from one that came through a proxy or to a browser; nor of a request that was charged other
        than its kind: somebody has said what it costs, or the cost has changed meanwhile."""
        origin = ticket.shared
        if self.costs is None or ticket.peer is None or ticket.sent is None or not origin.startswith("origin:"):
            return
        if ticket.trip is not None:
            self.costs.connected(ticket.peer, ticket.trip)
        if ticket.charges[-1].cost != self.costs.cost(origin, ticket.kind):
            return
        seconds = ticket.answered - ticket.sent
        if account_among(charge.key for charge in ticket.charges) is not None:
            return  # Resizing is no work of the origin's.
        edge = ticket.edge
        said = cache_status(headers, edge.provider if edge is not None else None).verdict
        hit = None if said is None else said == "hit"
        sample = Sample(origin, ticket.site, ticket.kind, ticket.peer, seconds, status, hit, edge is not None, ticket.alone)
        step = self.costs.heard(sample, time.monotonic())
        if step is not None:
            logger.info("Cost of a %s at %s: %s", step.kind, step.origin, step.because)
        if self._stats is not None and (found := list(self.costs.all_of(ticket.kind))):
            self._stats.set_value(f"polite/costs/{ticket.kind}", round(fmean(found), 2))
