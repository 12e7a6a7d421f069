"""NAT64 prefixes of a network's own: how they are recognised, and which IPv4 address lies behind an address in one.

The well-known prefix is in the table. A network may use another (RFC 6052 section 2.2), which looks like any public one, and
whose translator may well lead into private ranges: section 3.1 forbids that for the well-known prefix only. A resolver that
makes such addresses up (DNS64) gives the prefix away when it is asked for the addresses of ``ipv4only.arpa``, which has no
IPv6 ones of its own (RFC 7050).
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network
from typing import TYPE_CHECKING, Final

from scrapy_polite.guard.embedded import around_u

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_polite.naming.hosts import IPAddress

__all__ = ["IPV4_ONLY", "behind", "prefixes_in"]

#: The name, and its two IPv4 addresses: RFC 7050 section 8.
IPV4_ONLY: Final = "ipv4only.arpa"
_KNOWN: Final = frozenset(int(IPv4Address(text)) for text in ("192.0.0.170", "192.0.0.171"))

#: Length of a prefix -> how many octets of the IPv4 address stand before octet 8: RFC 6052 section 2.2. 96: all at the end.
_BEFORE_U: Final = {32: 4, 40: 3, 48: 2, 56: 1, 64: 0}
_LENGTHS: Final = (*_BEFORE_U, 96)


def prefixes_in(addresses: Iterable[IPAddress]) -> tuple[IPv6Network, ...]:
    """The prefixes that a DNS64 resolver uses, read off the addresses that it has for :data:`IPV4_ONLY`; none without one."""
    found = {
        IPv6Network((int(address), length), strict=False)
        for address in addresses
        if isinstance(address, IPv6Address)
        for length in _LENGTHS
        if _carried(address, length) in _KNOWN
    }
    return tuple(sorted(found))


def behind(address: IPAddress, prefixes: Sequence[IPv6Network]) -> list[IPv4Address]:
    """The IPv4 addresses to which a translator with one of the prefixes would send what goes to an address."""
    if isinstance(address, IPv4Address):
        return []
    return [IPv4Address(_carried(address, prefix.prefixlen)) for prefix in prefixes if address in prefix]


def _carried(address: IPv6Address, length: int) -> int:
    number = int(address)
    return number & 0xFFFF_FFFF if length == 96 else around_u(number, _BEFORE_U[length])
