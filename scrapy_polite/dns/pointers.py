"""Names of addresses (PTR): evidence of whose an address is, asked for lazily and seldom.

No request needs one. Zones of addresses are often slow or broken, and a crawl meets many addresses: so they are asked one
after the other, a few a second at most, and what does not exist is remembered for minutes. An owner of an address may name
it as he likes: a name is a hint, and a proof only if it has the address in turn.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from scrapy_polite.dns.answers import CEILING, Cache, Pointer
from scrapy_polite.dns.questions import Failed, ask_names
from scrapy_polite.guard.ranges import builtin_row
from scrapy_polite.naming.hosts import canonical_host, literal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import dns.asyncresolver

    from scrapy_polite.naming.hosts import IPAddress

__all__ = ["Pointers"]

#: Seconds between two questions.
INTERVAL: Final = 0.5

#: Seconds that a question waits for its turn at most: ten of them may wait.
PATIENCE: Final = 5.0

#: Seconds that any finding lives at least.
FLOOR: Final = 300.0

#: Names of one address that are kept; servers of many sites have hundreds.
NAMES: Final = 8


class Pointers:
    """Looks names of addresses up and remembers them. Use one instance from one loop; `sleep` is ``asyncio.sleep``."""

    def __init__(
        self,
        stub: dns.asyncresolver.Resolver,
        clock: Callable[[], float],
        capacity: int = 20_000,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._stub = stub
        self._clock = clock
        self._sleep = sleep
        self._cache: Cache[IPAddress, Pointer] = Cache(capacity, clock)
        self._flights: dict[IPAddress, asyncio.Task[Pointer]] = {}
        self._next = clock()
        self._closed = False

    async def pointer(self, address: IPAddress) -> Pointer:
        """The names of an address, from the cache or from DNS, or why there is none. Never raises.

        Only public addresses are asked about: the others' names are known inside their network, if anywhere.
        """
        found = self._cache.get(address)
        if found is not None:
            return found
        now = self._clock()
        if builtin_row(address) is not None:
            return Pointer(address, (), "not_public", now + CEILING)
        flight = self._flights.get(address)
        if flight is None:
            wait = max(0.0, self._next - now)
            if wait > PATIENCE or self._closed:
                return Pointer(address, (), "busy", now)
            self._next = now + wait + INTERVAL
            flight = self._flights[address] = asyncio.ensure_future(self._ask(address, wait))
            flight.add_done_callback(lambda _: self._flights.pop(address, None))
        await asyncio.wait((flight,))
        return Pointer(address, (), "busy", self._clock()) if flight.cancelled() else flight.result()

    async def close(self) -> None:
        """Give up what is under way, and answer ``busy`` from then on."""
        self._closed = True
        flights = list(self._flights.values())
        for flight in flights:
            flight.cancel()
        if flights:
            await asyncio.wait(flights)

    async def _ask(self, address: IPAddress, wait: float) -> Pointer:
        if wait:
            await self._sleep(wait)
        said = await ask_names(self._stub, address)
        expires = self._clock() + min(max(said.ttl, FLOOR), CEILING)
        if isinstance(said, Failed):
            found = Pointer(address, (), said.reason, expires)
        else:
            # What is no host name would be asked about, and shown, by somebody later.
            names = [name for name in said.chain if canonical_host(name) == name and literal(name) is None]
            found = Pointer(address, tuple(names[:NAMES]), "" if names else "no_names", expires)
        self._cache.put(address, found)
        return found
