"""A resolver for stock Scrapy that asks the town's name server. It judges nothing: what it is told it passes on.

Numbers are read as the system's own resolver reads them, in all their spellings, and `localhost` is this machine, as it is
in every /etc/hosts. Remembering answers and timing out is Scrapy's, from the class below it.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import dns.resolver
from agents.facts import town
from scrapy.resolver import CachingThreadedResolver, dnscache
from twisted.internet.defer import succeed
from twisted.internet.error import DNSLookupError
from twisted.internet.threads import deferToThreadPool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twisted.internet.defer import Deferred


class TownResolver(CachingThreadedResolver):
    """TWISTED_DNS_RESOLVER of the stock crawls in compare.py."""

    def getHostByName(self, name: str, timeout: Sequence[int] = ()) -> Deferred[str]:  # noqa: N802 - Twisted's name
        if name in dnscache:
            return succeed(dnscache[name])
        reactor: Any = self.reactor
        found: Deferred[str] = deferToThreadPool(reactor, reactor.getThreadPool(), look_up, name, self.timeout)
        return found.addCallback(self._cache_result, name)


def look_up(name: str, timeout: float) -> str:
    """The first IPv4 address of a name, as `socket.gethostbyname` answers it. Blocks."""
    try:
        return socket.inet_ntoa(socket.inet_aton(name))
    except OSError:
        pass
    if name.rstrip(".").lower() == "localhost":
        return "127.0.0.1"
    facts = town()
    if facts is None:
        raise DNSLookupError("TOWN names no town")
    host, _, port = facts["dns"].rpartition(":")
    resolver = dns.resolver.Resolver(configure=False)
    resolver.nameservers, resolver.port = [host], int(port)
    try:
        return str(resolver.resolve(name, "A", lifetime=timeout)[0])
    except Exception as error:
        raise DNSLookupError(f"{name}: {error}") from None
