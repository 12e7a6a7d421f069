"""Learned costs in a crawl (``POLITE_COSTS = "auto"``): which answers tell something, and what is said of it."""

from __future__ import annotations

import logging
import time
from statistics import fmean
from typing import TYPE_CHECKING, Final

from scrapy_polite.origins.cachestatus import cache_status
from scrapy_polite.origins.costs import Company, Costs, Sample
from scrapy_polite.origins.notes import COST, NotedCost
from scrapy_polite.origins.watching import account_among
from scrapy_polite.remembering import Remembering

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy.statscollectors import StatsCollector

    from scrapy_polite.notebook import Notebook
    from scrapy_polite.ticket import Ticket

__all__ = ["Learning"]

logger = logging.getLogger(__name__)

REMEMBERED: Final = 50_000
"""Origins of which it is known whether earlier crawls have noted anything; the oldest goes first."""


class Learning:
    """Told of every request that goes onto the wire, that it is over, and of its answer. ``costs``: None where they are stated,
    and nothing is to be learned."""

    def __init__(self, costs: Costs | None, notebook: Notebook, stats: StatsCollector | None) -> None:
        self.costs = costs
        self._notebook = notebook
        self._stats = stats
        self._company = Company()
        self._met: dict[str, bool] = Remembering(REMEMBERED)
        """Whether something was noted of it."""

    async def met(self, key: str) -> None:
        """Requests are about to be charged to the key: if it is an origin, from what earlier crawls have learned of it."""
        costs = self.costs
        if costs is None or not key.startswith("origin:") or self._met.get(key) is False or costs.knows(key):
            return
        noted = await self._noted(key)
        if noted is not None:
            self._met[key] = bool(noted)
            for kind, cost in noted.items():
                costs.recall(key, kind, cost, time.monotonic(), time.time())

    def departed(self, ticket: Ticket) -> None:
        if self.costs is not None:
            ticket.company = self._company.sent(ticket.shared)

    def ended(self, ticket: Ticket) -> None:
        """Its download has ended, whatever came of it."""
        if ticket.company is not None:
            ticket.alone = self._company.ended(ticket.shared, ticket.company)
            ticket.company = None

    async def heard(self, ticket: Ticket, status: int, headers: Mapping[str, Sequence[str]]) -> None:
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
        if self.costs.heard(sample, time.monotonic()):
            await self._step(self.costs, origin, ticket.kind)
        if self._stats is not None and (found := list(self.costs.all_of(ticket.kind))):
            self._stats.set_value(f"polite/costs/{ticket.kind}", round(fmean(found), 2))

    async def _step(self, costs: Costs, origin: str, kind: str) -> None:
        """Perhaps a step, from what has been noted last: of all processes one makes it, since the others find its note."""
        noted = await self._noted(origin)
        if noted is None:
            return  # What cannot be noted is not done.
        now, wall = time.monotonic(), time.time()
        if kind in noted:
            costs.recall(origin, kind, noted[kind], now, wall)
        step = costs.step(origin, kind, now, wall)
        if step is not None and step.noted is not None:
            self._met[origin] = True
            logger.info("Cost of a %s at %s: %s", kind, origin, step.because)
            await self._notebook.write(origin, COST + kind, step.noted.as_text())

    async def _noted(self, origin: str) -> dict[str, NotedCost] | None:
        """What is noted of the costs at an origin, by kind; None where the store cannot tell now."""
        found = await self._notebook.read(origin)
        if found is None:
            return None
        costs = {kind.removeprefix(COST): NotedCost.from_text(text) for kind, text in found.items() if kind.startswith(COST)}
        return {kind: cost for kind, cost in costs.items() if cost is not None}
