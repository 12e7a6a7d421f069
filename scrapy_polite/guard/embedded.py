"""IPv4 addresses carried inside IPv6 ones: by every form that a host, a router or a translator may unwrap.

A packet to ``64:ff9b::a9fe:a9fe`` ends at 169.254.169.254 wherever a translator stands. So an address is judged by what
it carries as well. Only one layer is unwrapped: what comes out is IPv4.
"""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ipaddress import IPv6Address

__all__ = ["around_u", "embedded_ipv4", "embedded_numbers", "is_isatap"]

# How far the first of the four octets of the IPv4 address is from the end, for prefixes of 48, 56 and 64 bits: RFC 6052
# section 2.2. Octet 8 ("u") is jumped over, and need not be zero, since an attacker need not set it so. The local-use
# prefix 64:ff9b:1::/48 (RFC 8215) leaves the length to the network, so every length that fits is read.
_BEFORE_U: Final = (2, 1, 0)

# The upper half of an ISATAP interface identifier, whose "universal" bit may be set: RFC 5214 section 6.1.
_ISATAP: Final = 0x0000_5EFE
_ISATAP_MASK: Final = 0xFDFF_FFFF

#: The upper 96 bits of the forms that carry the address in the lower 32.
_HEADS: Final = frozenset(
    {
        0xFFFF,  # ::ffff:a.b.c.d, mapped: RFC 4291 section 2.5.5.2
        0xFFFF_0000,  # ::ffff:0:a.b.c.d, translated: RFC 2765 section 2.1
        0x0064_FF9B << 64,  # 64:ff9b::a.b.c.d, NAT64: RFC 6052 section 2.1
    }
)
_NAT64_LOCAL: Final = 0x0064_FF9B_0001  # 64:ff9b:1::/48, RFC 8215
_6TO4: Final = 0x2002  # 2002:aabb:ccdd::, RFC 3056 section 2
_TEREDO: Final = 0x2001_0000  # the server, and the client with all bits turned at the end: RFC 4380 section 4
_LOW: Final = 0xFFFF_FFFF


def embedded_ipv4(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that an IPv6 address carries, by form; empty for an ordinary one."""
    return tuple(map(IPv4Address, embedded_numbers(int(address))))


def embedded_numbers(number: int) -> tuple[int, ...]:
    """The same, from number to numbers."""
    low, head = number & _LOW, number >> 32
    if head in _HEADS or (not head and low > 1):  # ::a.b.c.d is IPv4-compatible; :: and ::1 are not
        return (low,)
    if number >> 112 == _6TO4:
        router = number >> 80 & _LOW
        return (router, low) if is_isatap(number) else (router,)
    if number >> 96 == _TEREDO:
        return (number >> 64 & _LOW, low ^ _LOW)
    if number >> 80 == _NAT64_LOCAL:
        return (*(around_u(number, before) for before in _BEFORE_U), low)
    return (low,) if is_isatap(number) else ()


def around_u(number: int, before: int) -> int:
    """The IPv4 address that has so many octets before octet 8, and the others behind it."""
    behind = 4 - before
    left = number >> 64 & (1 << 8 * before) - 1
    right = number >> 8 * (7 - behind) & (1 << 8 * behind) - 1
    return left << 8 * behind | right


def is_isatap(number: int) -> bool:
    """Whether the interface identifier of an IPv6 address is one of ISATAP, under any prefix: no network lists those."""
    return number >> 32 & _ISATAP_MASK == _ISATAP
