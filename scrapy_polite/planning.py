"""What a request costs each of its keys: its kind, its cost, and the least interval of its site."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Final, NamedTuple

from scrapy_polite.limits.plan import Charge, plan
from scrapy_polite.naming.hosts import Invalid, parse
from scrapy_polite.origins.costs import Costs
from scrapy_polite.origins.watching import Watching, account_among, folder_of
from scrapy_polite.remembering import Remembering

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_polite.config import Config
    from scrapy_polite.origins.costs import Learned
    from scrapy_polite.pacing import Pacing

__all__ = ["Planner", "Sort"]

logger = logging.getLogger(__name__)

PLANS: Final = 10_000
"""Plans that are remembered; when there are more, it begins anew. Those of a site's requests are nearly all the same."""


class Sort(NamedTuple):
    """What is charged alike: the kind and the cost of a request, the keys that it is charged to, the account among them that
    behaves as a bucket, or of which a part does, and the pace of its origin."""

    kind: str
    cost: float
    keys: tuple[str, ...]
    bucket: str | None
    pace: float = 1.0


class Planner:
    """Plans by the settings, the pace of origins, and the delays that sites have asked for; remembers ``most`` of those."""

    def __init__(self, config: Config, most: int, pacing: Pacing | None = None) -> None:
        self._config = config
        self._pacing = pacing
        self.watching = Watching()
        self.costs = Costs(config.kinds.cost) if config.learns_costs else None
        self._wishes: dict[str, dict[str, float]] = Remembering(most)
        self._least: dict[str, float] = Remembering(most)
        """The longest wish of each site."""
        self._told: dict[str, float] = Remembering(most)
        """Delays that the log has told, and who asks for them."""
        self._complaints: dict[str, bool] = Remembering(most)
        self._plans: dict[tuple[object, ...], tuple[Charge, ...]] = {}

    def obey_delay(self, site: str, seconds: float, why: str) -> int:
        """At least so long between two starts at the site, by maximum with what others wish; ``why`` names who wishes it, and
        takes the place of what he wished before. Microseconds by which this lengthens the interval after the request that told
        of it, which was charged without; 0 if it does not."""
        most = self._config.max_crawl_delay
        if seconds > most:
            logger.warning("%s: %s is %g s, obeyed up to POLITE_MAX_CRAWL_DELAY = %g s", site, why, seconds, most)
            seconds = most
        elif seconds > 0:
            self._say_delay(site, seconds, why)
        before = self._least.get(site, 0.0)
        wishes = self._wishes.get(site, {})
        if seconds > 0:
            self._wishes[site] = {**wishes, why: seconds}
            self._least[site] = max(self._wishes[site].values())
        elif wishes.pop(why, None) is not None:
            self._least[site] = max(wishes.values(), default=0.0)
        if self._least.get(site, 0.0) <= before:
            return 0
        (told,) = self.charges(site, (site,), "robots")
        return max(0, told.increment(self._config.width) - round(told.cost / told.rate * 1e6))

    def charges(
        self, site: str, keys: tuple[str, ...], kind: str, cost: float | None = None, bucket: str | None = None
    ) -> tuple[Charge, ...]:
        """What a request of ``kind`` to ``site`` is charged on each of ``keys``; ``cost``: other than that of its kind;
        ``bucket``: as in :func:`~scrapy_polite.limits.plan.plan`."""
        least = max(self._least.get(site, 0.0), self._config.least_of(site))
        cost, limits = self.cost(kind, keys) if cost is None else cost, self._config.limits
        asked = (keys, cost, least, bucket, limits.generation)
        charges = self._plans.get(asked)
        if charges is None:
            if len(self._plans) >= PLANS:
                self._plans.clear()
            charges = self._plans[asked] = plan(keys, cost, limits, least, bucket)
        return charges if self._pacing is None else self._pacing.plan(kind, charges)

    def cost(self, kind: str, keys: tuple[str, ...]) -> float:
        """Units that a request of the kind costs: by the settings, or as was learned at the origin among the keys."""
        if self.costs is None or not keys[-1].startswith("origin:"):
            return self._config.kinds.cost(kind)
        return self.costs.cost(keys[-1], kind)

    def learned(self, origin: str) -> tuple[Learned, ...]:
        """What was learned of the costs at an origin, by kind, and why."""
        return self.costs.learned(origin) if self.costs is not None else ()

    def bucket_among(self, keys: tuple[str, ...]) -> str | None:
        """The account of an image service among these keys, if it, or a part of it, behaves as a bucket."""
        account = account_among(keys)
        return account if account is not None and self.watching.some_bucket(account) else None

    def plan(self, request: Request, site: str, keys: tuple[str, ...]) -> tuple[str, tuple[Charge, ...]]:
        """The kind and the charges of one request: ``meta["polite_kind"]`` and ``meta["polite_cost"]`` win."""
        sort = self.sort_of(request, keys)
        return sort.kind, self.charges(site, sort.keys, sort.kind, sort.cost, sort.bucket)

    def sort_of(self, request: Request, keys: tuple[str, ...]) -> Sort:
        """Whatever its plan depends on. Its cost is the one that its meta states, unless that is no cost, which is told; else
        that of its kind at the time."""
        meta = request.meta
        kind = str(meta.get("polite_kind") or self._config.kinds.of(request.url))
        cost = meta.get("polite_cost")
        if cost is not None and not (isinstance(cost, int | float) and 0 < cost < math.inf):
            self._complain(f'meta["polite_cost"] = {cost!r} is not a number above 0: the cost of the kind {kind!r} is charged')
            cost = None
        cost = self.cost(kind, keys) if cost is None else cost
        keys, bucket = self.charged(keys, request.url)
        return Sort(kind, cost, keys, bucket, self._pacing.of(kind, keys[-1]) if self._pacing is not None else 1.0)

    def charged(self, keys: tuple[str, ...], url: str) -> tuple[tuple[str, ...], str | None]:
        """Which of the keys of its site a request is charged to, and which of them behaves as a bucket: what an image service
        has of its own costs nobody behind it anything."""
        account = account_among(keys)
        target = parse(url) if account is not None else None
        if account is None or target is None or isinstance(target, Invalid):
            return keys, None
        if self.watching.behaviour(account, folder_of(account, target.path)) == "bucket":
            keys = keys[: keys.index(account) + 1]
        return keys, self.bucket_among(keys)

    def _say_delay(self, site: str, seconds: float, why: str) -> None:
        """When a site has asked for a delay first, and for twice or half of it later: a quota tells of another each time."""
        told = self._told.get(f"{site} {why}")
        if told is None or not told / 2 < seconds < told * 2:
            self._told[f"{site} {why}"] = seconds
            logger.info("Delay: %s: at least %g s between two requests (%s)", site, round(seconds, 3), why)

    def _complain(self, what: str) -> None:
        """Say what is wrong with a request, once."""
        if what not in self._complaints:
            self._complaints[what] = True
            logger.warning("%s", what)
