"""The operator of a machine, from the PTR names of its address. Pure.

``web07.acme.net`` names an operator. ``static.7.113.0.203.clients.hoster.example`` only spells the address out: whoever rents
a machine gets such a name, and it says nothing about who rents it.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from ipaddress import IPv6Address
from typing import Final

from scrapy_polite.naming.domains import registrable_domain
from scrapy_polite.origins.known import is_generic_pointer

__all__ = ["operator_domain", "spells"]

#: Numbers of an IPv4 address that a name must show to spell it: some names leave the first one out.
NUMBERS_SPELT: Final = 3

_NUMBERS: Final = re.compile(r"[0-9]+")
_NOT_HEX: Final = re.compile(r"[^0-9a-f]+")


def operator_domain(name: str, address: str, own: str) -> str | None:
    """The registrable domain of whoever runs the machine at `address`; None if its PTR name does not say.

    `own` is the registrable domain of the host in question: a machine named after its one site joins it to nobody.
    """
    name = name.rstrip(".").lower()
    if "." not in name or is_generic_pointer(name) or spells(name, address):
        return None
    domain = registrable_domain(name)
    return None if domain == own else domain


@lru_cache(maxsize=4096)  # a crowd of sites has one address
def spells(name: str, address: str) -> bool:
    """Whether a PTR name spells its address: in decimal, forwards or backwards, padded or not, in hex, or as one number;
    of IPv6 in groups or in nibbles."""
    squeezed = name.replace(".", "").replace("-", "")
    if ":" not in address:
        octets = address.split(".")
        numbers = [number.lstrip("0") or "0" for number in _NUMBERS.findall(name)]
        spelt = sum(min(octets.count(octet), numbers.count(octet)) for octet in set(octets))
        packed = bytes(map(int, octets))
        if spelt >= NUMBERS_SPELT or str(int.from_bytes(packed, "big")) in numbers:
            return True
        padded = [octet.rjust(3, "0") for octet in octets]
        ways = ("".join(padded), "".join(reversed(padded)), packed.hex(), packed[::-1].hex())
        return any(way in squeezed for way in ways)
    ip = IPv6Address(address)
    nibbles = f"{int(ip):032x}"
    if nibbles in squeezed or nibbles[::-1][:16] in squeezed or nibbles[16:] in squeezed:
        return True
    groups = Counter(group.lstrip("0") for group in ip.exploded.split(":") if group.lstrip("0"))
    shown = Counter(part.lstrip("0") for part in _NOT_HEX.split(name) if part.lstrip("0"))
    return sum((groups & shown).values()) >= min(NUMBERS_SPELT, sum(groups.values()))
