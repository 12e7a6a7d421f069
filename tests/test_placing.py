"""Placing over a store that takes its time: whatever is learned meanwhile stands."""

from __future__ import annotations

import asyncio
import threading
import time
from ipaddress import ip_address
from typing import TYPE_CHECKING

from scrapy_polite.booker import Booker
from scrapy_polite.dns.resolver import Answer, Resolver
from scrapy_polite.limits.plan import Limits
from scrapy_polite.origins.edges import KNOWN
from scrapy_polite.origins.evidence import Reply
from scrapy_polite.placing import Placing
from scrapy_polite.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterable

EDGE = "dualstack.tenants.sni.global.fastly.net"
PLATFORM = {
    "x-acme-version": ["7.1"],
    "set-cookie": ["_acme_session=0123456789abcdef; path=/"],
    "strict-transport-security": ["max-age=31536000"],
    "x-frame-options": ["SAMEORIGIN"],
    "x-content-type-options": ["nosniff"],
}


class Slow(MemoryStore):
    """Answers what names stand for when it is told to."""

    blocking = True

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()

    def standing(self, names: Iterable[str]) -> dict[str, str]:
        self.asked.set()
        assert self.go_on.wait(10)
        return super().standing(names)


def found(host: str) -> Answer:
    return Answer(host, (ip_address("127.0.0.1"),), (EDGE,), time.monotonic() + 300)


def reply() -> Reply:
    return Reply("127.0.0.1", 200, "page", PLATFORM, None, time.time())


def test_what_a_response_tells_while_the_store_tells_what_was_known_before_is_not_lost() -> None:
    async def main() -> None:
        store = Slow()
        resolver = Resolver(["127.0.0.1:9"])
        placing = Placing(Booker(store, 50_000), resolver, KNOWN, 0.8, Limits())
        shops = [f"www.shop{n}.example" for n in range(4)]
        for shop in shops:
            await placing.place(shop, found(shop))
        for shop in shops[:3]:
            await placing.heard(shop, reply())
        origins = {placing.of(shop).origin for shop in shops[:3]}
        assert len(origins) == 1
        assert placing.of(shops[3]).origin == "origin:shop3.example"
        store.asked.clear()
        store.go_on.clear()
        looking = asyncio.ensure_future(placing.look_around())
        await asyncio.to_thread(store.asked.wait, 10)
        await placing.heard(shops[3], reply())
        assert {placing.of(shops[3]).origin} == origins
        store.go_on.set()
        while not looking.done():  # All the time: what is lost would be found again by the next look at what is new.
            assert {placing.of(shops[3]).origin} == origins
            await asyncio.sleep(0)
        await looking
        await placing.close()
        await resolver.close()

    asyncio.run(main())
