"""Holds of sites, raised to their origin. The rule is :mod:`scrapy_polite.backoff.raising`; here it is fed and obeyed."""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Final

from scrapy_polite.backoff import raising
from scrapy_polite.stores.base import Cause, StoreError
from scrapy_polite.wording import span

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_polite.hearing import Hold
    from scrapy_polite.notebook import Notebook
    from scrapy_polite.origins.placements import Placement
    from scrapy_polite.politeness import Politeness

__all__ = ["Raises", "is_weak"]

logger = logging.getLogger(__name__)

REFUSALS: Final = "refusals"
"""The kind of note on an origin: the holds of its sites, as all processes remember them."""

STRONG: Final = {"peer", "cname", "address", "join", "split"}
"""Kinds of reasons that place a site by themselves: strong anchors, and a person's word."""


class Raises:
    """See the module. In the reactor's thread."""

    def __init__(self, politeness: Politeness, notebook: Notebook) -> None:
        self._politeness = politeness
        self._notebook = notebook
        self.wall: Callable[[], float] = time.time
        """Unix seconds: notes outlive processes and reboots."""

    async def began(self, site: str, hold: Hold) -> None:
        """A hold of the site has begun, or become longer: hold its origin as well, if it is the origin's."""
        placed = self._politeness.placed_of(site)
        origin = placed.origin if placed is not None else None
        if placed is None or origin is None or not raising.may_be_origins(hold.refusal, behind_edge=placed.edge is not None):
            return
        at, refusal = self.wall(), hold.refusal
        begun = raising.Begun(site, refusal.kind, at, at + hold.seconds, refusal.reason, refusal.partition)
        sites, weak = await self._sites_at(origin), is_weak(placed.placement)
        found: list[raising.Raised | None] = []

        def change(noted: str | None) -> str:
            memory, raised = raising.heard(raising.from_text(noted or ""), begun, sites=sites, weak=weak)
            found.append(raised)
            return raising.as_text(memory)

        # One step in the store: two processes may hear two sites of one origin in the same moment.
        if await self._notebook.amend(origin, REFUSALS, change) is None:
            change(None)
        raised = found[-1]
        if raised is None:
            return
        if raised.news:
            self._politeness.count(f"raised/{raised.kind}")
        reason = f"{raised.reason}; raised from {', '.join(raised.sites)}: {raised.why}"
        cause = Cause(raised.kind, reason, bool(refusal.partition) and refusal.stated is not None)
        await self._politeness.hold(origin, raised.until - at, cause, partial(self._say, raised) if raised.news else None)

    def _say(self, raised: raising.Raised, origin: str, seconds: float, cause: Cause) -> None:
        logger.warning("%s", raised.sentence(origin, span(seconds)))
        self._politeness.holds.know(origin, seconds, cause)

    async def _sites_at(self, origin: str) -> int:
        """As many as matter. While the store cannot tell it is taken for one of many, whose holds are raised with more care."""
        booker = self._politeness.booker
        try:
            return len(await booker.call(booker.store.hosts_of, origin, raising.MANY_SITES))
        except StoreError as error:
            booker.trouble(error)
            return raising.MANY_SITES


def is_weak(placement: Placement | None) -> bool:
    """Whether only weak anchors, or nothing, place a site at its origin."""
    return placement is None or STRONG.isdisjoint(reason.kind for reason in placement.because)
