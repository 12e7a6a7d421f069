"""A judge at work on a made-up world: the evidence of each site as it was seen, and where it is placed then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_polite.origins.anchors import Pointing, pointing
from scrapy_polite.origins.edges import KNOWN, EdgeTable
from scrapy_polite.origins.evidence import Evidence, looked_up, pointed, replied
from scrapy_polite.origins.judge import Judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.worlds import Site, World
    from scrapy_polite.origins.judge import Placement

POINTER_TTL = 86_400.0


def evidence_of(site: Site) -> Evidence:
    """Everything that was seen of a site: look-ups and responses by their time, PTR names after the look-up they belong to."""
    known = Evidence(site.host, ())
    events: list[tuple[float, int]] = [(lookup.at, number) for number, lookup in enumerate(site.lookups)]
    events += [(reply.at, number + len(site.lookups)) for number, reply in enumerate(site.replies)]
    for at, number in sorted(events):
        if number < len(site.lookups):
            known = looked_up(known, site.lookups[number])
            for address in site.lookups[number].addresses:
                known = pointed(known, address, site.pointers.get(address, ()), at, POINTER_TTL)
        else:
            known = replied(known, site.replies[number - len(site.lookups)])
    return known


class Bench:
    """One judge with the rows of one store: anchors are numbered as they come, as a store does it."""

    def __init__(self) -> None:
        self.judge = Judge()
        self._ages: dict[str, int] = {}

    def learn(self, host: str, seen: Pointing) -> None:
        self.judge.learn(host, seen, self.aged(seen))

    def aged(self, seen: Pointing) -> dict[str, int]:
        anchors = dict.fromkeys((*seen.strong, *seen.weak))
        if seen.peer is not None:
            anchors[seen.peer] = None
        return {anchor: self._ages.setdefault(anchor, len(self._ages) + 1) for anchor in anchors}

    def place(self, host: str) -> Placement:
        return self.judge.place(host)


def pointings(world: World, table: EdgeTable = KNOWN) -> dict[str, Pointing]:
    return {site.host: pointing(evidence_of(site), world.now, table) for site in world.sites}


def judged(hosts: Sequence[str], seen: dict[str, Pointing]) -> dict[str, str]:
    """The origin of each host after all have been learned, in the order of `hosts`."""
    bench = Bench()
    for host in hosts:
        bench.learn(host, seen[host])
    return {host: bench.place(host).origin for host in hosts}
