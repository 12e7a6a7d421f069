"""Edges that no table knows, as far as they can be suspected. Pure.

An unknown edge looks like this: many sites on few addresses, each made differently, and one brand in front of all. A branded
shared host behind a cache looks much the same. So this is reported, and a person decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scrapy_polite.origins.hosts import hosts_at
from scrapy_polite.origins.links import MARKER
from scrapy_polite.origins.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_polite.origins.hosts import Host
    from scrapy_polite.origins.links import Anchor

__all__ = ["Suspect", "suspects_among"]

#: Sites with a page that an address must have, the percent of them that must show the brand, and the percent that may
#: look alike.
SITES: Final = 8
BRANDED: Final = 70
LOOK_ALIKE: Final = 30

#: Of a crowd, so many are looked at.
SAMPLE: Final = 1000

_NOT_A_WORD: Final = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Suspect:
    """Perhaps an edge: `sites` sites on these addresses look unlike each other and show the same `brand`. `line` is the
    setting that would confirm it."""

    addresses: tuple[str, ...]
    sites: int
    brand: str
    line: str


def suspects_among(anchors: Iterable[Anchor]) -> list[Suspect]:
    """The suspects among these anchors, the largest first."""
    brands: dict[Anchor, list[Anchor]] = {}
    for anchor in anchors:
        if anchor.is_address and anchor.n >= SITES:
            brand = _brand(sorted(hosts_at(anchor), key=lambda host: host.name)[:SAMPLE])
            if brand is not None:
                brands.setdefault(brand, []).append(anchor)
    found = [_suspect(brand, addresses) for brand, addresses in brands.items()]
    return sorted(found, key=lambda suspect: (-suspect.sites, suspect.brand))


def _brand(hosts: list[Host]) -> Anchor | None:
    seen = [host for host in hosts if host.look]
    if len(seen) < SITES:
        return None
    looks: Tally[int] = Tally()
    markers: Tally[Anchor] = Tally()
    for host in seen:
        looks.add(host.look, 1)
        for anchor in host.weak:
            if anchor.role == MARKER:
                markers.add(anchor, 1)
    if 100 * markers.most < BRANDED * len(seen) or 100 * looks.most > LOOK_ALIKE * len(seen):
        return None
    return min((anchor for anchor, count in markers.counts.items() if count == markers.most), key=lambda anchor: anchor.order)


def _suspect(brand: Anchor, at: list[Anchor]) -> Suspect:
    addresses = sorted(anchor.value for anchor in at)
    sites = {host for anchor in at for host in hosts_at(anchor)}
    networks = ", ".join(f'"{address}"' for address in addresses)
    provider = _NOT_A_WORD.sub("-", brand.value.rpartition(":")[2].removeprefix("x-")).strip("-") or "unnamed"
    line = f'POLITE_EDGES = {{"{provider}": {{"networks": [{networks}], "unit": "shared"}}}}'
    return Suspect(tuple(addresses), len(sites), brand.value, line)
