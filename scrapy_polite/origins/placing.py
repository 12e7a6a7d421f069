"""Where a host is placed, from what DNS says about it: before the first request, with reasons a person can read.

The confidences are those of a study on made-up worlds of ten thousand sites: a shared CNAME target is right in 97 of
100 cases, a shared address in 93, and what agrees adds up as independent witnesses do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scrapy_polite.naming.domains import registrable_domain
from scrapy_polite.naming.hosts import literal
from scrapy_polite.origins.edges import KNOWN, EdgeTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_polite.naming.hosts import IPAddress

__all__ = ["Placement", "place"]

_BY_CNAME: Final = 0.97
_BY_ADDRESS: Final = 0.93
_BY_DOMAIN: Final = 0.5

#: Addresses of one host that may join it to others, the lowest first. A zone with hundreds of addresses is a pool, of
#: which these are enough to be met again; and nobody makes the store keep thousands of rows for one name.
MOST_ADDRESSES: Final = 64


@dataclass(frozen=True, slots=True)
class Placement:
    """What a host shares servers by.

    `edge` is its edge key if one stands in front. `anchors` join hosts to one origin, the strongest first:
    ``cname:<name>``, ``address:<address>``. `name` is the origin's name if no anchor is known yet. `evidence` are
    sentences; `confidence` is between 0 and 1.
    """

    edge: str | None
    anchors: tuple[str, ...]
    name: str
    evidence: tuple[str, ...]
    confidence: float


def place(host: str, chain: Sequence[str], addresses: Sequence[IPAddress], edges: EdgeTable = KNOWN) -> Placement:
    """The placement of a canonical host with this CNAME chain and these addresses, by what is known of `edges`.

    Behind an edge addresses are nobody's; a CNAME target that is not the edge's still places: a platform's own name
    (``sites.platform.test``) leads there, whatever stands between.
    """
    edge = edges.edge_of(host, chain, addresses)
    target = next((name for name in reversed(chain) if edges.row_of_name(name) is None), None)
    anchors: list[str] = []
    evidence: list[str] = []
    doubt = 1.0
    if target is not None:
        anchors.append(f"cname:{target}")
        evidence.append(f"{host} is a CNAME for {target}")
        doubt *= 1 - _BY_CNAME
    lowest = sorted(set(addresses), key=lambda address: (address.version, int(address)))
    if edge is not None:
        evidence.append(edge.because)
    elif lowest:
        anchors += (f"address:{address}" for address in lowest[:MOST_ADDRESSES])
        evidence.append(_at(host, lowest))
        doubt *= 1 - _BY_ADDRESS
    if target is not None:
        name = target
    elif edge is None and lowest:
        name = str(lowest[0])
    else:
        name = registrable_domain(host)
        evidence.append(f"nothing tells the servers of {host}: taken as those of {name}")
        doubt = 1 - _BY_DOMAIN
    return Placement(
        edge=f"edge:{edge.provider}/{host}" if edge else None,
        anchors=tuple(anchors),
        name=f"origin:{name}",
        evidence=tuple(evidence),
        confidence=round(1 - doubt, 4),
    )


def _at(host: str, addresses: Sequence[IPAddress]) -> str:
    if literal(host) is not None:
        return f"{host} is an address"
    shown = ", ".join(map(str, addresses[:4]))
    more = len(addresses) - 4
    return f"{host} has the address{'es' if len(addresses) > 1 else ''} {shown}" + (f" and {more} more" if more > 0 else "")
