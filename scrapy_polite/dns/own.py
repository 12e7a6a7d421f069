"""Which addresses are this machine's own: no table of ranges holds a public one that an interface has.

Nobody is asked but the kernel, and no packet is sent: a UDP socket is "connected" to the address, and an address of this
machine is spoken to from itself (RFC 6724 section 5 rule 1 for IPv6; every system does so for IPv4). That also finds what
no list of interfaces shows, such as local routes to whole networks, holds on every platform, and needs no re-reading: it
is true of this moment. What a router in front of the machine translates to it (NAT) nobody here can know.
"""

from __future__ import annotations

import errno
import socket
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from scrapy_polite.guard.embedded import embedded_ipv4

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_polite.dns.answers import Answer
    from scrapy_polite.naming.hosts import IPAddress

__all__ = ["OwnAddresses", "is_own"]

#: Seconds that the finding for a host is used: an address may come to an interface later. One question takes about 10 us.
KEPT: Final = 10.0

#: Hosts that are remembered.
CAPACITY: Final = 20_000


def is_own(address: IPAddress) -> bool:
    """Whether this machine itself answers at the address. False also where the kernel knows no way to it.
    OSError if it cannot be asked."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        probe = socket.socket(family, socket.SOCK_DGRAM)
    except OSError as error:
        if error.errno == errno.EAFNOSUPPORT:
            return False
        raise  # No descriptor left, for one: then nobody knows, and nothing may be dialled.
    with probe:
        try:
            probe.connect((str(address), 9))
        except OSError:
            return False
        own: str = probe.getsockname()[0]
    return own == str(address)


class OwnAddresses:
    """Asks :func:`is_own` for the addresses of an answer, and for the IPv4 ones inside them, and remembers it for a while."""

    def __init__(self, clock: Callable[[], float], asks: Callable[[IPAddress], bool] = is_own) -> None:
        self._clock = clock
        self._asks = asks
        self._found: OrderedDict[str, tuple[float, tuple[IPAddress, ...], frozenset[IPAddress]]] = OrderedDict()

    def among(self, answer: Answer) -> frozenset[IPAddress]:
        """Those that are this machine's own."""
        now = self._clock()
        until, addresses, found = self._found.get(answer.host, (now, (), frozenset()))
        if until <= now or addresses != answer.addresses:
            inside = [carried for one in answer.addresses if one.version == 6 for carried in embedded_ipv4(one)]
            found = frozenset(one for one in (*answer.addresses, *inside) if self._asks(one))
            self._found[answer.host] = (now + KEPT, answer.addresses, found)
            if len(self._found) > CAPACITY:
                self._found.popitem(last=False)
        return found
