"""What the judge keeps of a host, and which hosts an anchor has. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_polite.origins.edges import Edge
    from scrapy_polite.origins.links import Anchor

__all__ = ["Host", "add_host", "drop_host", "hosts_at", "look_of", "looks_like"]


class Host:
    """What is kept of a host."""

    __slots__ = ("beside", "domain", "edge", "look", "name", "peer", "strong", "weak")

    def __init__(
        self,
        name: str,
        domain: str,
        strong: tuple[Anchor, ...],
        weak: tuple[Anchor, ...],
        look: int,
        edge: Edge | None,
        peer: Anchor | None,
        beside: tuple[Anchor, ...],
    ) -> None:
        self.name = name
        self.domain = domain
        self.strong = strong
        self.weak = weak
        self.look = look
        """Configuration, product and what they tell in one number; 0 before the first page."""
        self.edge = edge
        self.peer = peer
        self.beside = beside
        """Addresses, each followed by the weak anchor that was seen there."""

    def same_as(self, other: Host) -> bool:
        return (
            self.strong == other.strong
            and self.weak == other.weak
            and self.beside == other.beside
            and self.look == other.look
            and self.edge == other.edge
            and self.peer is other.peer
            and self.domain == other.domain
        )

    def seat(self) -> Anchor | None:
        """The anchor by which it is located for those that cannot be: the address that answered, if that is known.

        An IPv4 address before an IPv6 one: some hosters give every site one of these for itself.
        """
        if self.edge is not None:
            return None
        best = None
        best_rank = 0
        for anchor in self.strong:
            if not anchor.void:
                rank = 1 if not anchor.is_address else 2 if ":" in anchor.value else 4
                rank += anchor is self.peer
                if rank > best_rank:
                    best, best_rank = anchor, rank
        return best


def add_host(anchor: Anchor, host: Host) -> None:
    """Count a host among those of an anchor. Most anchors have one host, and pay for no set."""
    if anchor.hosts is None:
        anchor.hosts = host
    elif isinstance(anchor.hosts, set):
        anchor.hosts.add(host)
    else:
        anchor.hosts = {anchor.hosts, host}


def drop_host(anchor: Anchor, host: Host) -> None:
    """Take a host out again."""
    if anchor.hosts is host:
        anchor.hosts = None
    elif isinstance(anchor.hosts, set):
        anchor.hosts.discard(host)


def hosts_at(anchor: Anchor) -> list[Host]:
    """The hosts of an anchor, in no order."""
    if anchor.hosts is None:
        return []
    return list(anchor.hosts) if isinstance(anchor.hosts, set) else [anchor.hosts]


# A look is one number: configuration, product and how much they tell, in 40, 40 and 8 bits.
def look_of(configuration: int, product: int, tells: int) -> int:
    """One number for a look; 0 before the first page."""
    if not configuration:
        return 0
    return (configuration & _HASH) << 48 | (product & _HASH) << 8 | min(max(tells, 0), 255)


def looks_like(one: int, other: int) -> bool:
    """Whether two looks have the same configuration or the same product: tenants switch single headers on and off, and
    updates of the software add some."""
    return bool(one and other) and (one >> 48 == other >> 48 or (one >> 8) & _HASH == (other >> 8) & _HASH)


_HASH = (1 << 40) - 1
