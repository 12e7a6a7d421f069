"""Addresses that look like an edge which no table knows, from all that a store has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scrapy_polite.origins.anchors import pointing
from scrapy_polite.origins.evidence import Evidence
from scrapy_polite.origins.judge import Judge

if TYPE_CHECKING:
    from scrapy_polite.origins.edges import EdgeTable
    from scrapy_polite.origins.suspects import Suspect
    from scrapy_polite.stores.base import Store

__all__ = ["MOST", "suspected"]

PAGE: Final = 1_000
"""Hosts that are read at once."""

MOST: Final = 500_000
"""Hosts that are looked at, the first that come: a quarter of a gigabyte of them."""


def suspected(store: Store, table: EdgeTable, threshold: float, now: float) -> tuple[int, list[Suspect]]:
    """How many hosts were looked at, and what is suspected. ``store``: one that is only looked at."""
    judge = Judge(threshold)
    number, version = 0, 0
    while number < MOST:
        news = store.news(version, PAGE)
        version = news.version
        if not news.hosts:
            break
        points = {kept.host: pointing(Evidence.from_json(kept.host, kept.facts), now, table) for kept in news.hosts}
        ages = store.ages({anchor for found in points.values() for anchor in (*found.strong, *found.weak)})
        for host, found in points.items():
            judge.learn(host, found, ages)
        number += len(points)
    return number, judge.suspected_edges()
