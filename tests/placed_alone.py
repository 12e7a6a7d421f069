"""One host judged by DNS alone: what it points at, and where that places it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_polite.origins.anchors import pointing
from scrapy_polite.origins.edges import KNOWN
from scrapy_polite.origins.evidence import Evidence, Lookup, looked_up
from scrapy_polite.origins.judge import Judge

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_polite.naming.hosts import IPAddress
    from scrapy_polite.origins.anchors import Pointing
    from scrapy_polite.origins.edges import EdgeTable
    from scrapy_polite.origins.judge import Placement

NOW = 1_800_000_000.0


def points(host: str, chain: Sequence[str], addresses: Iterable[IPAddress | str], table: EdgeTable = KNOWN) -> Pointing:
    lookup = Lookup(tuple(chain), tuple(map(str, addresses)), 300.0, NOW)
    return pointing(looked_up(Evidence(host), lookup), NOW, table)


def place(host: str, chain: Sequence[str], addresses: Iterable[IPAddress | str], table: EdgeTable = KNOWN) -> Placement:
    """As the first and only host that is known."""
    judge, found = Judge(), points(host, chain, addresses, table)
    anchors = [*found.strong, *found.weak]
    judge.learn(host, found, {anchor: age for age, anchor in enumerate(anchors)})
    return judge.place(host)
