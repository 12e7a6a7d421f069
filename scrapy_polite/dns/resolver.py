"""The resolver: addresses and CNAME chain of a host, by dnspython on the running asyncio loop.

It never blocks the loop, asks nothing of ``/etc/hosts`` or nsswitch, and keeps no state outside the instance. What it
answers is what is judged, placed and dialled: nobody resolves a second time.
"""

from __future__ import annotations

import asyncio
import math
import time
from ipaddress import IPv4Address
from typing import TYPE_CHECKING, Final

import dns.rdatatype

from scrapy_polite.dns.answers import CEILING, REFUSAL_FLOOR, Answer, Cache, NoAnswer, Pointer, lifetime, refusal_lifetime
from scrapy_polite.dns.pointers import Pointers
from scrapy_polite.dns.questions import Failed, Found, ask
from scrapy_polite.dns.servers import make_stub
from scrapy_polite.guard.nat64 import IPV4_ONLY, prefixes_in
from scrapy_polite.naming.hosts import canonical_host, literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from ipaddress import IPv6Network

    from scrapy_polite.naming.hosts import IPAddress

__all__ = ["Answer", "NoAnswer", "Resolver"]

#: Hosts that are looked up at the same time; each takes two sockets, and resolvers drop what comes in floods.
PARALLEL: Final = 128

#: Reasons of a look-up for which no name server has said a word.
UNHEARD: Final = ("timeout", "unreachable")

#: Seconds after which a look-up that nobody has answered says nothing of now any more.
MUTE_FOR: Final = 60.0

#: Seconds for which it is known at least that this network has no NAT64: most have none.
NAT64_FLOOR: Final = 300.0


class Resolver:
    """Looks hosts up, once for all who ask at the same time, and remembers the answers.

    `servers` are name servers (``"127.0.0.1:5300"``, ``"[::1]:53"``, ``"127.0.0.1"``), None the system's; `timeout` is
    in seconds for a whole look-up; `clock` is what `expires` is on; `capacity` is the number of hosts remembered.
    ValueError names the setting that a wrong value came from. Use one instance from one loop.
    """

    def __init__(
        self,
        servers: Sequence[str] | None = None,
        timeout: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
        capacity: int = 20_000,
    ) -> None:
        self._stub = make_stub(servers, timeout)
        self._clock = clock
        self._cache: Cache[str, Answer | NoAnswer] = Cache(capacity, clock)
        self._pointers = Pointers(self._stub, clock)
        self._flights: dict[str, asyncio.Task[Answer | NoAnswer]] = {}
        self._nat64: tuple[float, tuple[IPv6Network, ...]] = (clock(), ())
        self._nat64_told = False
        self._gate = asyncio.Semaphore(PARALLEL)
        self._closed = False
        self._heard = -math.inf
        self._mute: tuple[float, float] | None = None
        """Since no server has answered for any name: when the first look-up began that was not answered, and the last ended."""

    async def resolve(self, host: str) -> Answer | NoAnswer:
        """The answer for a canonical host, from the cache or from DNS; address literals and localhost without either.

        A and AAAA are asked together and both awaited, since one bad address refuses a host. Cancelling the caller does
        not cancel the look-up: others may wait for it.
        """
        found = self.cached(host)
        if found is not None:
            return found
        if self._closed:
            return self._failed(host, "unreachable", "The resolver is closed.")
        flight = self._flights.get(host)
        if flight is None:
            if canonical_host(host) != host:
                return self._failed(host, "malformed", f"{host[:100]!a} is no canonical host name.")
            flight = self._flights[host] = asyncio.ensure_future(self._look_up(host))
            flight.add_done_callback(lambda _: self._flights.pop(host, None))
        await asyncio.wait((flight,))
        return self._failed(host, "unreachable", "The resolver was closed.") if flight.cancelled() else flight.result()

    @property
    def silent_for(self) -> float:
        """Seconds for which no name server has answered any question; 0: one has answered the last ones, or none was asked."""
        return self._clock() - self._mute[0] if self._mute is not None else 0.0

    def cached(self, host: str) -> Answer | NoAnswer | None:
        """What can be answered without asking anybody; None if DNS must be asked."""
        found = self._cache.get(host)
        if found is not None:
            return found
        address = literal(host)
        if address is None and (host == "localhost" or host.endswith(".localhost")):
            # RFC 6761 section 6.3: DNS must not be asked. Only IPv4, as that is where test servers listen.
            address = IPv4Address("127.0.0.1")
        return None if address is None else Answer(host, (address,), (), self._clock() + CEILING)

    async def pointer(self, address: IPAddress) -> Pointer:
        """The names of an address (PTR), from the cache or from DNS, a few questions a second at most; no request waits for
        it."""
        return await self._pointers.pointer(address)

    async def nat64_prefixes(self) -> tuple[IPv6Network, ...]:
        """The NAT64 prefixes of this network (RFC 7050): one question in a while, if anybody wants to know."""
        until, prefixes = self._nat64
        if until <= self._clock():
            found = await self.resolve(IPV4_ONLY)
            if not self._nat64_told:
                # That no answer came does not say that there is none: what was known stands, and it is asked again soon.
                self._nat64 = (self._clock() + REFUSAL_FLOOR, prefixes)
                return prefixes
            prefixes = prefixes_in(found.addresses) if isinstance(found, Answer) else ()
            self._nat64 = (max(found.expires, self._clock() + NAT64_FLOOR), prefixes)
        return prefixes

    async def close(self) -> None:
        """Give up what is under way; whoever waits for it gets a `NoAnswer`. Nothing is asked from then on."""
        self._closed = True
        await self._pointers.close()
        flights = list(self._flights.values())
        for flight in flights:
            flight.cancel()
        if flights:
            await asyncio.wait(flights)

    async def _look_up(self, host: str) -> Answer | NoAnswer:
        async with self._gate:
            began = self._clock()
            ipv4, ipv6 = await asyncio.gather(ask(self._stub, host, dns.rdatatype.A), ask(self._stub, host, dns.rdatatype.AAAA))
        self._listen(began, ipv4, ipv6)
        entry = self._joined(host, ipv4, ipv6)
        if host == IPV4_ONLY:
            self._nat64_told = isinstance(ipv6, Found) or ipv6.reason == "nxdomain"
            if not self._nat64_told:
                return entry  # Its IPv4 addresses are known to everybody, and would hide that the others are missing.
        self._cache.put(host, entry)
        return entry

    def _listen(self, began: float, *parts: Found | Failed) -> None:
        """One answer for any name shows that there are name servers."""
        now = self._clock()
        if any(isinstance(part, Found) or part.reason not in UNHEARD for part in parts):
            self._heard, self._mute = now, None
        elif self._heard < began:
            since = self._mute[0] if self._mute is not None and began - self._mute[1] < MUTE_FOR else began
            self._mute = (since, now)

    def _joined(self, host: str, ipv4: Found | Failed, ipv6: Found | Failed) -> Answer | NoAnswer:
        """Both answers as one. One that failed does not spoil the other: what was not seen will not be dialled."""
        with_addresses = [part for part in (ipv4, ipv6) if isinstance(part, Found) and part.addresses]
        if with_addresses:
            addresses = dict.fromkeys(address for part in with_addresses for address in part.addresses)
            ttl = min(part.ttl for part in with_addresses)
            return Answer(host, tuple(addresses), _merged(with_addresses), self._clock() + lifetime(ttl))
        failed = [part for part in (ipv4, ipv6) if isinstance(part, Failed)]
        if failed:
            # That a name does not exist is true of all its types (RFC 8020).
            worst = min(failed, key=lambda part: part.reason != "nxdomain")
            return self._failed(host, worst.reason, worst.detail, worst.ttl)
        ttl = min(part.ttl for part in (ipv4, ipv6) if isinstance(part, Found))
        return self._failed(host, "no_addresses", f"{host} has neither A nor AAAA records.", ttl)

    def _failed(self, host: str, reason: str, detail: str, ttl: float = 0.0) -> NoAnswer:
        return NoAnswer(host, reason, detail, self._clock() + refusal_lifetime(ttl))


def _merged(parts: Sequence[Found]) -> tuple[str, ...]:
    """One chain of both answers. They are the same but for broken zones; then every name is kept, since each is judged,
    and the first answer's stand last, since the last name is what a host is placed by."""
    first, *others = (part.chain for part in parts)
    return tuple(name for chain in others for name in chain if name not in first) + first
