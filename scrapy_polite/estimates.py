"""What the queue expects of a request before the store has booked it: how long it will keep each of its keys busy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scrapy import Request

    from scrapy_polite.limits.plan import Charge
    from scrapy_polite.planning import Sort
    from scrapy_polite.politeness import Politeness

__all__ = ["Estimates"]

MOST: Final = 10_000
"""Sorts of requests (by keys, kind and cost) whose estimate is remembered."""


class Estimates:
    """By the planner of ``politeness``."""

    def __init__(self, politeness: Politeness) -> None:
        self._politeness = politeness
        self._known: dict[Sort, Mapping[str, float]] = {}

    def of(self, request: Request, site: str) -> Mapping[str, float]:
        """Seconds that the request will take of each key. Remembered: it is asked for each request, and is mostly the same."""
        keys = self._politeness.keys_of(site)
        if keys is None:
            return {}
        sort = self._politeness.planner.sort_of(request, keys)
        found = self._known.get(sort)
        if found is None:
            if len(self._known) > MOST:
                self._known.clear()
            charges = self._politeness.planner.plan(request, site, keys)[1]
            # An origin has its first pace only when it is planned for.
            found = self._known[sort._replace(pace=charges[-1].pace)] = self.by(charges)
        return found

    def by(self, charges: Iterable[Charge]) -> dict[str, float]:
        """Seconds that these charges take of each key."""
        width = self._politeness.config.width
        return {charge.key: charge.increment(width) / 1e6 for charge in charges}

    def limits(self, site: str, keys: tuple[str, ...]) -> tuple[dict[str, int], dict[str, float]]:
        """Requests in flight of each key, at most; and how many seconds sooner than due a key may go that has a burst."""
        config, planner = self._politeness.config, self._politeness.planner
        caps = {key: cap for key in keys if (cap := config.cap_of(key))}
        if any(key.startswith("probe:") for key in keys):
            caps[site] = 1  # Its first answer may tell that it shares its origin: what comes next waits for that.
        slack = {
            charge.key: charge.tolerance(config.width) / 1e6
            for charge in planner.charges(site, keys, "robots", bucket=planner.bucket_among(keys))
            if charge.bursts
        }
        return caps, slack

    def forget(self) -> None:
        """A Crawl-delay may have come; until it is asked anew its site's estimates are too short."""
        self._known.clear()
