"""IPv4 addresses carried inside IPv6 ones: by every form that a host, a router or a translator may unwrap.

A packet to ``64:ff9b::a9fe:a9fe`` ends at 169.254.169.254 wherever a translator stands. So an address is judged by what
it carries as well. Only one layer is unwrapped: what comes out is IPv4.
"""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ipaddress import IPv6Address

__all__ = ["embedded_ipv4", "is_isatap"]

# Where the four octets of the IPv4 address lie for prefixes of 48, 56, 64 and 96 bits: RFC 6052 section 2.2. Octet 8
# ("u") is jumped over, and need not be zero, since an attacker need not set it so. The local-use prefix 64:ff9b:1::/48
# (RFC 8215) leaves the length to the network, so every length that fits is read.
_LOCAL_USE: Final = ((6, 7, 9, 10), (7, 9, 10, 11), (9, 10, 11, 12), (12, 13, 14, 15))

# The upper half of an ISATAP interface identifier, whose "universal" bit may be set: RFC 5214 section 6.1.
_ISATAP: Final = 0x0000_5EFE
_ISATAP_MASK: Final = 0xFDFF_FFFF

_ZEROS: Final = bytes(12)
_MAPPED: Final = bytes(10) + b"\xff\xff"  # ::ffff:a.b.c.d, RFC 4291 section 2.5.5.2
_TRANSLATED: Final = bytes(8) + b"\xff\xff\x00\x00"  # ::ffff:0:a.b.c.d, RFC 2765 section 2.1
_NAT64: Final = b"\x00\x64\xff\x9b" + bytes(8)  # 64:ff9b::a.b.c.d, RFC 6052 section 2.1
_NAT64_LOCAL: Final = b"\x00\x64\xff\x9b\x00\x01"  # 64:ff9b:1::/48, RFC 8215
_6TO4: Final = b"\x20\x02"  # 2002:aabb:ccdd::, RFC 3056 section 2
_TEREDO: Final = b"\x20\x01\x00\x00"  # server in octets 4-7, client in 12-15 with all bits turned: RFC 4380 section 4


def embedded_ipv4(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that an IPv6 address carries, by form; empty for an ordinary one."""
    octets = address.packed
    head = octets[:12]
    if head in (_MAPPED, _TRANSLATED, _NAT64) or (head == _ZEROS and octets[12:] > b"\x00\x00\x00\x01"):
        return (IPv4Address(octets[12:]),)
    if octets[:2] == _6TO4:
        router = IPv4Address(octets[2:6])
        return (router, IPv4Address(octets[12:])) if is_isatap(address) else (router,)
    if octets[:4] == _TEREDO:
        client = bytes(octet ^ 0xFF for octet in octets[12:])
        return (IPv4Address(octets[4:8]), IPv4Address(client))
    if octets[:6] == _NAT64_LOCAL:
        return tuple(IPv4Address(bytes(octets[place] for place in places)) for places in _LOCAL_USE)
    return (IPv4Address(octets[12:]),) if is_isatap(address) else ()


def is_isatap(address: IPv6Address) -> bool:
    """Whether the interface identifier is one of ISATAP, under any prefix: no network lists those."""
    return (int(address) >> 32) & _ISATAP_MASK == _ISATAP
