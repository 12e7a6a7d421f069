"""Small webs for the tests of origins: hosts with what DNS and their pages show, and a judge that has seen them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_polite.origins.anchors import pointing
from scrapy_polite.origins.evidence import Certificate, Evidence, Lookup, Reply, looked_up, pointed, replied
from scrapy_polite.origins.judge import Judge

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scrapy_polite.origins.judge import Placement

NOW = 1_800_000_000.0
TTL = 300.0
EDGE_ADDRESS = "104.16.1.1"  # Cloudflare's
OTHER_EDGE_ADDRESS = "151.101.1.1"  # Fastly's
PLATFORM = {"x-acme-version": "4", "x-frame-options": "DENY", "referrer-policy": "origin"}
"""Headers of one platform's pages: a marker, and two settings."""


def seen(
    host: str,
    addresses: Sequence[str] = (),
    chain: Sequence[str] = (),
    *,
    headers: Mapping[str, str] | None = None,
    peer: str | None = None,
    pointers: Mapping[str, str] | None = None,
    certificate: Certificate | None = None,
    at: float = NOW,
    ttl: float = TTL,
    known: Evidence | None = None,
) -> Evidence:
    """The evidence of a host after one look-up and, if there are headers or a peer, one page."""
    evidence = looked_up(known or Evidence(host), Lookup(tuple(chain), tuple(addresses), ttl, at))
    for address, name in (pointers or {}).items():
        evidence = pointed(evidence, address, [name], at, 86400.0)
    if headers is not None or peer is not None or certificate is not None:
        lists = {name: [value] for name, value in (headers or {}).items()}
        evidence = replied(evidence, Reply(peer, 200, "page", lists, certificate, at))
    return evidence


class Court:
    """A judge, and the row numbers that a store would give: the first writer's, in order."""

    def __init__(self, ages: dict[str, int] | None = None) -> None:
        self.judge = Judge()
        self.ages = {} if ages is None else ages

    def hear(self, evidence: Evidence | Iterable[Evidence], now: float = NOW) -> None:
        for each in (evidence,) if isinstance(evidence, Evidence) else evidence:
            points = pointing(each, now)
            for anchor in (*points.strong, *points.weak):
                self.ages.setdefault(anchor, len(self.ages) + 1)
            self.judge.learn(each.host, points, self.ages)

    def place(self, host: str) -> Placement:
        return self.judge.place(host)

    def origins(self, hosts: Iterable[str]) -> set[str]:
        return {self.judge.place(host).origin for host in hosts}

    def changes(self) -> list[tuple[str, str, str]]:
        return [(change.kind, change.name, change.into) for change in self.judge.changes()]
