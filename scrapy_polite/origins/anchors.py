"""From evidence to anchors: what a host points at, as the judge sees it. Pure.

An anchor is something that servers have, written ``kind:value``. *Strong* ones place a host by themselves: ``cname:`` (a
name in somebody else's domain that the host is a CNAME for) and ``address:``. *Weak* ones count in company only: ``pointer:``
(the domain of the machine's operator), ``certificate:`` and ``network:`` (each with a marker), ``marker:``. Three more are
there to be counted: ``router:`` (an address behind a self-service platform's name), ``platform:`` (a marker of a self-service
site) and ``domain:``.

Nothing that belongs to an edge is an anchor, except the name that one customer has there.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, Final, NamedTuple

from scrapy_polite.naming.domains import registrable_domain
from scrapy_polite.origins.edges import KNOWN
from scrapy_polite.origins.evidence import standing
from scrapy_polite.origins.pointers import operator_domain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_polite.origins.edges import Edge, EdgeTable
    from scrapy_polite.origins.evidence import Evidence

__all__ = ["Pointing", "pointing"]

#: Anchors of a kind a host has at most: enough to be met again, and a bound on what one host can weld together.
MOST_CNAMES: Final = 3
MOST_ADDRESSES: Final = 8
MOST_MARKERS: Final = 3
MOST_POINTERS: Final = 2

#: Networks that hosters give out as one: neighbours in them are joined by a marker in common, never alone. Some give every
#: site an IPv6 address of its own inside one /64, so a /64 says no more than a /24.
NETWORK_V6: Final = 64

_SEEN: Final = 1 << 32
"""Makes the hash of a look that was seen differ from 0, which is "no response yet"."""


class Pointing(NamedTuple):
    """What a host points at.

    `beside` says which of the weak anchors was seen at which address. `configuration` and `product` are stable hashes of its
    last page's look (0: no page yet), `tells` how much they say. `edge` is the edge in front of it. `peer` is the anchor of
    the address that really answered. `expires` is the time, in unix seconds, at which the first of its facts runs out: then it
    is to be made again.
    """

    strong: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()
    configuration: int = 0
    product: int = 0
    tells: int = 0
    edge: Edge | None = None
    peer: str | None = None
    expires: float = float("inf")

    @property
    def empty(self) -> bool:
        """Whether nothing that tells where the host is counts any more."""
        return not self.strong and self.edge is None and not any(anchor.startswith("router:") for anchor in self.weak)


def pointing(evidence: Evidence, now: float, table: EdgeTable = KNOWN) -> Pointing:
    """What the facts that count at `now` make a host point at."""
    host = evidence.host
    own = registrable_domain(host)
    facts, expires = standing(evidence.facts, now)
    values: dict[str, list[str]] = {}
    for fact in facts:
        values.setdefault(fact.kind, []).append(fact.value)
    chain, found, peers = values.get("cname", []), values.get("address", []), values.get("peer", [])[:1]
    ours = table.row_of_name(host) is None
    names, tenant, behind = _names(chain, own, not ours, table)
    answer = [fact.value for fact in facts if fact.kind == "address" and not fact.absent] or peers
    rows = {address: table.row_of_address(address) for address in (*peers, *found)}
    served = [row for row in rows.values() if row is not None]
    tenant = tenant or "tenant" in [row.unit for row in served]
    hidden = behind or (bool(served) and all(rows[address] is not None for address in answer))
    edge = table.edge_of(host, chain, answer) if hidden else None
    markers = values.get("marker", [])[:MOST_MARKERS]
    weak: list[str] = []
    anchors: dict[str, str] = {}
    beside: list[tuple[str, str]] = []
    if behind or tenant:
        # The addresses are the edge's, whether or not it publishes them. What older answers had may be the site's own. Only
        # of a platform's name do they speak against the address: some edges give their customers names that lead to any
        # address, and three of those would else take a stranger's crowd apart.
        if tenant:
            weak += [f"router:{address}" for address in answer[:MOST_ADDRESSES] if rows[address] is None]
    else:
        anchors = dict([(address, f"address:{address}") for address, row in rows.items() if row is None][:MOST_ADDRESSES])
        if anchors:
            beside += _operators(values.get("pointer", ()), anchors, own)
            if markers:
                beside += _neighbours(anchors, markers)
                beside += _certified(values.get("certificate", [])[:1], anchors, markers[0])
            weak += dict.fromkeys([anchor for anchor, _ in beside])
    # What self-service sites show is their platform's.
    kind = "platform" if tenant else "marker"
    weak += [f"{kind}:{marker}" for marker in markers]
    # An edge's own names have its domain in common and nothing else.
    weak.append(f"domain:{own if ours else host}")
    return Pointing(
        (*[f"cname:{name}" for name in names], *sorted(anchors.values())),
        tuple(weak),
        tuple(beside),
        _look(values, "configuration"),
        _look(values, "product"),
        _number(values["tells"][0], 10) if "tells" in values else 0,
        edge,
        anchors.get(peers[0]) if peers else None,
        expires,
    )


def _names(chain: Sequence[str], own: str, behind: bool, table: EdgeTable) -> tuple[list[str], bool, bool]:
    """The names that place, whether one of the chain is a self-service platform's, and whether one is any edge's; `behind`
    says whether the host's own name is."""
    names: list[str] = []
    tenant = False
    for name in chain:
        row = table.row_of_name(name)
        # What is no edge's own and yet behind one is how the edge is made: a front end, a point of presence.
        mine = not behind if row is None else row.unit == "customer"
        if mine and registrable_domain(name) != own:
            names.append(name)
        if row is not None:
            behind = True
            tenant = tenant or row.unit == "tenant"
    # The deeper a name lies, the more share it.
    return names[-MOST_CNAMES:], tenant, behind


def _operators(pointers: Sequence[str], anchors: Mapping[str, str], own: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for value in pointers:
        address, _, name = value.partition(" ")
        if address in anchors and (domain := operator_domain(name, address, own)) is not None:
            found.append((f"pointer:{domain}", anchors[address]))
    return sorted(set(found))[:MOST_POINTERS]


def _neighbours(anchors: Mapping[str, str], markers: Sequence[str]) -> list[tuple[str, str]]:
    network = _network(next(iter(anchors)))
    inside = [anchor for address, anchor in anchors.items() if _network(address) == network]
    return [(f"network:{network}/{marker}", anchor) for marker in markers for anchor in inside]


def _certified(certificates: Sequence[str], anchors: Mapping[str, str], marker: str) -> list[tuple[str, str]]:
    for value in certificates:
        fingerprint, _, rest = value.partition(" ")
        if not rest.startswith("0 "):
            return [(f"certificate:{fingerprint}/{marker}", anchor) for anchor in anchors.values()]
    return []


@lru_cache(maxsize=4096)
def _network(address: str) -> str:
    if ":" not in address:
        return address.rpartition(".")[0] + ".0"
    return str(IPv6Address(int(IPv6Address(address)) >> (128 - NETWORK_V6) << (128 - NETWORK_V6)))


def _look(values: dict[str, list[str]], kind: str) -> int:
    return _number(values[kind][0], 16) | _SEEN if kind in values else 0


def _number(text: str, base: int) -> int:
    try:
        return int(text, base)
    except ValueError:  # from a store that somebody else has written to
        return 0
