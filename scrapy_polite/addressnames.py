"""Names of the addresses that hosts are placed with (PTR): asked in the background, told to whoever has such an address."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from scrapy_polite.remembering import Remembering

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy_polite.dns.resolver import Resolver
    from scrapy_polite.naming.hosts import IPAddress

__all__ = ["AddressNames", "Said"]

KNOWN: Final = 20_000
"""Addresses whose names are remembered."""

HOSTS: Final = 64
"""Hosts at one address that are told when its name comes; those that are placed later find it."""


class Said(NamedTuple):
    """The names of an address; when they were told, in unix seconds; for how many seconds they hold."""

    names: tuple[str, ...]
    at: float
    ttl: float


class AddressNames:
    """One per crawl. ``told`` is called for each host that was placed before the name of its address came."""

    def __init__(
        self, resolver: Resolver, wall: Callable[[], float], told: Callable[[str, str, Said], Awaitable[None]]
    ) -> None:
        self._resolver = resolver
        self._wall = wall
        self._told = told
        self._known: dict[str, Said] = Remembering(KNOWN)
        self._waiting: dict[str, list[str]] = Remembering(KNOWN)
        self._asking: set[asyncio.Task[None]] = set()
        self._closed = False

    def of(self, address: str) -> Said | None:
        """What was told of an address."""
        return self._known.get(address)

    def ask(self, host: str, address: IPAddress) -> None:
        """For the names of a host's address, unless they are known. Nobody waits for them: a request needs none."""
        text = str(address)
        if text in self._known or self._closed:
            return
        hosts = self._waiting.get(text)
        if hosts is None:
            self._waiting[text] = [host]
            task = asyncio.ensure_future(self._ask(address))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
        elif len(hosts) < HOSTS and host not in hosts:
            hosts.append(host)

    async def asked(self) -> None:
        """When all that was asked for is there."""
        await asyncio.gather(*self._asking, return_exceptions=True)

    async def close(self) -> None:
        self._closed = True
        for task in self._asking:
            task.cancel()
        await self.asked()

    async def _ask(self, address: IPAddress) -> None:
        text, now = str(address), self._wall()
        pointer = await self._resolver.pointer(address)
        hosts = self._waiting.pop(text, [])
        if pointer.names:
            said = self._known[text] = Said(pointer.names, now, max(1.0, pointer.expires - time.monotonic()))
            for host in hosts:
                await self._told(host, text, said)
