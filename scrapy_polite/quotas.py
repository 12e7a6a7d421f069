"""What is left of a quota is used up evenly: while a server tells of one, the requests to its site keep the distance at which
that lasts. Never closer than they would be without, and only until the quota's window ends."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from scrapy_polite.backoff import ratelimit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_polite.politeness import Politeness

__all__ = ["Quotas"]

WHY: Final = "RateLimit"
"""Who wishes the delay."""

ALIKE: Final = 0.1
"""The part by which a distance may differ from the one that is kept: each answer tells of a little less."""


class Quotas:
    """One per crawl, in the reactor's thread."""

    def __init__(self, politeness: Politeness) -> None:
        self._politeness = politeness
        self._kept: dict[str, tuple[float, asyncio.TimerHandle]] = {}

    def heard(self, site: str, headers: Mapping[str, Sequence[str]]) -> None:
        """An answer of the site. One that tells of no quota changes nothing."""
        quota = ratelimit.read(headers, time.time())
        if quota is None or quota.interval is None or quota.lasts is None:
            return
        planner, most = self._politeness.planner, self._politeness.config.max_crawl_delay
        wanted = min(quota.interval, most)
        # Where the site's own rate is slower it is left as it is, with its burst.
        (own,) = planner.charges(site, (site,), "robots")
        kept, timer = self._kept.pop(site, (0.0, None))
        if timer is not None:
            timer.cancel()
        if wanted <= own.cost / own.rate:
            if kept:
                self._politeness.obey_delay(site, 0.0, WHY)
            return
        if abs(wanted - kept) > ALIKE * kept:
            # The request that has told of it was charged for its own rate: only the ones that follow keep the distance.
            self._politeness.obey_delay(site, wanted, WHY, just_told=False)
            kept = wanted
        loop = asyncio.get_running_loop()
        self._kept[site] = kept, loop.call_later(quota.lasts, self._over, site)

    def close(self) -> None:
        for _, timer in self._kept.values():
            timer.cancel()
        self._kept.clear()

    def _over(self, site: str) -> None:
        del self._kept[site]
        self._politeness.obey_delay(site, 0.0, WHY)
