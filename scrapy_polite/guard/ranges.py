"""Every address range that no public web server lives in, with the reason and the source of each row.

IPv4 is refused by row. IPv6 is the other way round: only 2000::/3, all that IANA has opened for global unicast, may
hold a server; the rows outside it exist to say why. Rows may lie inside each other: the narrowest one speaks.

Sources: IANA special-purpose address registries, https://www.iana.org/assignments/iana-ipv4-special-registry and
https://www.iana.org/assignments/iana-ipv6-special-registry (as of October 2025), and the IPv6 address space registry,
https://www.iana.org/assignments/ipv6-address-space . Rows that IANA calls globally reachable (AS112, AMT, anycast
services, ORCHIDv2, DETs, NAT64) are refused all the same: none of them serves pages.
"""

from __future__ import annotations

from bisect import bisect_right
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_polite.naming.hosts import IPAddress

__all__ = ["IPV4_ROWS", "IPV6_ROWS", "ROWS", "Network", "Row", "RowIndex", "Spans", "builtin_row"]

Network = IPv4Network | IPv6Network


class Row(NamedTuple):
    """One refused range. `reason` is the code for the stats, `name` is for people, `source` says who defines it."""

    network: Network
    reason: str
    name: str
    source: str


def _rows(*rows: tuple[str, str, str, str]) -> tuple[Row, ...]:
    return tuple(Row(ip_network(network), reason, name, source) for network, reason, name, source in rows)


IPV4_ROWS: Final = _rows(
    # Linux connects 0.0.0.0 to the machine itself.
    ("0.0.0.0/8", "unspecified", "this network", "RFC 791 section 3.2"),
    ("10.0.0.0/8", "private", "private use", "RFC 1918"),
    ("100.64.0.0/10", "shared", "carrier-grade NAT", "RFC 6598"),
    ("127.0.0.0/8", "loopback", "loopback", "RFC 1122 section 3.2.1.3"),
    # An ordinary public address, which every table of private ranges misses.
    ("168.63.129.16/32", "metadata", "Azure WireServer", "Microsoft: What is IP address 168.63.129.16?"),
    ("169.254.0.0/16", "link_local", "link local", "RFC 3927"),
    ("172.16.0.0/12", "private", "private use", "RFC 1918"),
    ("192.0.0.0/24", "protocol", "IETF protocol assignments", "RFC 6890 section 2.1"),
    ("192.0.2.0/24", "documentation", "documentation (TEST-NET-1)", "RFC 5737"),
    ("192.31.196.0/24", "sink", "AS112 version 4", "RFC 7535"),
    ("192.52.193.0/24", "relay", "automatic multicast tunnelling", "RFC 7450"),
    ("192.88.99.0/24", "relay", "6to4 relay anycast (deprecated)", "RFC 7526"),
    ("192.168.0.0/16", "private", "private use", "RFC 1918"),
    ("192.175.48.0/24", "sink", "AS112 direct delegation", "RFC 7534"),
    ("198.18.0.0/15", "benchmarking", "benchmarking", "RFC 2544"),
    ("198.51.100.0/24", "documentation", "documentation (TEST-NET-2)", "RFC 5737"),
    ("203.0.113.0/24", "documentation", "documentation (TEST-NET-3)", "RFC 5737"),
    ("224.0.0.0/4", "multicast", "multicast", "RFC 5771"),
    ("240.0.0.0/4", "reserved", "reserved for future use, and broadcast", "RFC 1112 section 4"),
)

IPV6_ROWS: Final = _rows(
    # Everything outside 2000::/3. What it holds by name stands below, and is the narrower row.
    ("::/3", "unallocated", "outside global unicast", "IANA IPv6 address space"),
    ("4000::/2", "unallocated", "outside global unicast", "IANA IPv6 address space"),
    ("8000::/1", "unallocated", "outside global unicast", "IANA IPv6 address space"),
    ("::/128", "unspecified", "unspecified", "RFC 4291 section 2.5.2"),
    ("::1/128", "loopback", "loopback", "RFC 4291 section 2.5.3"),
    ("::/96", "embedded", "IPv4-compatible (deprecated)", "RFC 4291 section 2.5.5.1"),
    ("::ffff:0:0/96", "embedded", "IPv4-mapped", "RFC 4291 section 2.5.5.2"),
    ("::ffff:0:0:0/96", "embedded", "IPv4-translated", "RFC 2765 section 2.1"),
    ("64:ff9b::/96", "embedded", "NAT64, well-known prefix", "RFC 6052 section 2.1"),
    ("64:ff9b:1::/48", "embedded", "NAT64, local use", "RFC 8215"),
    ("100::/64", "discard", "discard only", "RFC 6666"),
    ("100:0:0:1::/64", "discard", "dummy prefix", "RFC 9780"),
    ("5f00::/16", "protocol", "segment routing identifiers", "RFC 9602"),
    ("fc00::/7", "private", "unique local", "RFC 4193"),
    ("fe80::/10", "link_local", "link local", "RFC 4291 section 2.5.6"),
    ("fec0::/10", "private", "site local (deprecated)", "RFC 3879"),
    ("ff00::/8", "multicast", "multicast", "RFC 4291 section 2.7"),
    # Inside 2000::/3. 2001::/23 holds the next nine.
    ("2001::/23", "protocol", "IETF protocol assignments", "RFC 2928"),
    ("2001::/32", "embedded", "Teredo", "RFC 4380"),
    ("2001:1::1/128", "protocol", "port control protocol anycast", "RFC 7723"),
    ("2001:1::2/128", "protocol", "TURN anycast", "RFC 8155"),
    ("2001:1::3/128", "protocol", "DNS-SD service registration anycast", "RFC 9665"),
    ("2001:2::/48", "benchmarking", "benchmarking", "RFC 5180"),
    ("2001:3::/32", "relay", "automatic multicast tunnelling", "RFC 7450"),
    ("2001:4:112::/48", "sink", "AS112 version 6", "RFC 7535"),
    ("2001:10::/28", "protocol", "ORCHID (deprecated)", "RFC 4843"),
    ("2001:20::/28", "protocol", "ORCHID version 2", "RFC 7343"),
    ("2001:30::/28", "protocol", "drone remote identification", "RFC 9374"),
    ("2001:db8::/32", "documentation", "documentation", "RFC 3849"),
    ("2002::/16", "embedded", "6to4", "RFC 3056"),
    ("2620:4f:8000::/48", "sink", "AS112 direct delegation", "RFC 7534"),
    ("3fff::/20", "documentation", "documentation", "RFC 9637"),
)


class Spans:
    """A set of networks of one IP version that answers "is this address in it?" by one binary search."""

    __slots__ = ("edges",)

    def __init__(self, networks: Iterable[Network]) -> None:
        edges: list[int] = []
        for first, last in sorted((int(n.network_address), int(n.broadcast_address)) for n in networks):
            if edges and first <= edges[-1]:  # touches or overlaps the span before it
                edges[-1] = max(edges[-1], last + 1)
            else:
                edges += (first, last + 1)
        self.edges = edges
        """First numbers of the spans, and of the gaps behind them, in turn."""

    def __contains__(self, number: int) -> bool:
        # Starts stand at even places and ends at odd ones, so an odd count of edges at or below means "inside".
        return bisect_right(self.edges, number) % 2 == 1


class HasNetwork(Protocol):
    @property
    def network(self) -> Network: ...


R = TypeVar("R", bound=HasNetwork)


class RowIndex(Generic[R]):
    """Rows of one IP version that may lie inside each other; `find` answers the narrowest one around an address."""

    __slots__ = ("_rows", "starts")

    def __init__(self, rows: Iterable[R]) -> None:
        starts: list[int] = [0]
        speaking: list[R | None] = [None]
        around: list[tuple[int, R]] = []  # open rows and where they end, the narrowest last
        for row in sorted(rows, key=lambda row: (int(row.network.network_address), row.network.prefixlen)):
            first, end = int(row.network.network_address), int(row.network.broadcast_address) + 1
            self._leave(around, first, starts, speaking)
            starts.append(first)
            speaking.append(row)
            around.append((end, row))
        self._leave(around, 1 << 129, starts, speaking)
        self.starts, self._rows = starts, speaking

    @staticmethod
    def _leave(around: list[tuple[int, R]], until: int, starts: list[int], speaking: list[R | None]) -> None:
        """Close the rows that end at or before `until`; the row around each speaks again from there."""
        while around and around[-1][0] <= until:
            end, _ = around.pop()
            starts.append(end)
            speaking.append(around[-1][1] if around else None)

    def find(self, number: int) -> R | None:
        return self._rows[bisect_right(self.starts, number) - 1]


ROWS: Final = {4: RowIndex(IPV4_ROWS), 6: RowIndex(IPV6_ROWS)}
"""The built-in rows by IP version."""


def builtin_row(address: IPAddress) -> Row | None:
    """The narrowest built-in row that holds an address, or None: then a public server may live there."""
    return ROWS[address.version].find(int(address))
