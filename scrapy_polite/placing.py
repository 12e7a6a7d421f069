"""Which origin each host has: what DNS and responses tell, judged, and kept in the store for every process.

The judge (:mod:`scrapy_polite.origins.judge`) is pure and in memory. Here it is fed: with a host's own evidence, with that of
the hosts that share an anchor with it, which is loaded from the store when the anchor is first met, and with what other
processes have written since. What it changes about names goes back to the store, where `book` follows it in every process.
"""

from __future__ import annotations

import asyncio
import time
from itertools import islice
from typing import TYPE_CHECKING, Final

from scrapy_polite.addressnames import AddressNames
from scrapy_polite.booker import RETRY
from scrapy_polite.crowds import CROWD, Crowds
from scrapy_polite.errors import NotNow
from scrapy_polite.origins.evidence import REPLY_LIVES, Lookup, looked_up, moving, pointed, replied
from scrapy_polite.origins.referrers import Referrers
from scrapy_polite.stores.base import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_polite.addressnames import Said
    from scrapy_polite.booker import Booker
    from scrapy_polite.dns.resolver import Answer, Resolver
    from scrapy_polite.limits.plan import Limits
    from scrapy_polite.origins.edges import EdgeTable
    from scrapy_polite.origins.evidence import Reply
    from scrapy_polite.origins.judge import Placement
    from scrapy_polite.telemetry.ledger import Ledger

__all__ = ["Placing"]

PAGES: Final = 3
"""Responses of a host that are read in full; then one in a while is."""

READ_AGAIN: Final = 60.0
"""Seconds after which another response is read."""


class Placing(Crowds):
    """One per crawl. ``wall`` answers unix seconds: evidence outlives processes and reboots."""

    def __init__(
        self,
        booker: Booker,
        resolver: Resolver,
        table: EdgeTable,
        threshold: float,
        limits: Limits,
        ledger: Ledger | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(booker, table, threshold, limits, ledger, wall)
        self._names = AddressNames(resolver, wall, self._named)
        self._referrers = Referrers()
        self._version: int | None = None
        self.closing = False

    @property
    def generation(self) -> tuple[int, ...]:
        """Another one than before: placements may have changed."""
        learned = self._judge.generation, self._referrers.generation
        return self._resets, *learned, self._rulings.generation, self._obeying.limits.generation

    # -- placing

    async def place(self, host: str, answer: Answer) -> Placement:
        """The host's placement, with what DNS has just answered. While the store is away this waits: under a name of its own
        the host would have a rate of its own, and keep it. :class:`NotNow` at shutdown."""
        now = self._wall()
        lookup = Lookup(answer.chain, tuple(map(str, answer.addresses)), max(1.0, answer.expires - time.monotonic()), now)
        while True:
            try:
                await self._begin_to_follow()
                known = await self._known(host)
                known.evidence = looked_up(known.evidence, lookup)
                for address in lookup.addresses:
                    if (said := self._names.of(address)) is not None:
                        known.evidence = pointed(known.evidence, address, *said)
                await self._learn(host, known)
                break
            except StoreError as error:
                self._booker.trouble(error)
            await asyncio.sleep(RETRY / 1e6)
            if self.closing:
                raise NotNow("the spider is closing")
        placement = self.of(host)
        if placement.edge is None:
            self._names.ask(host, answer.addresses[0])
        return placement

    async def recall(self, host: str) -> Placement | None:
        """The host's placement by what the store has of it, without DNS; None if it has nothing. May raise ``StoreError``."""
        await self._begin_to_follow()
        if host not in await self._ask(self._store.kept, [host]):
            return None
        await self._learn(host, await self._known(host))
        return self.of(host)

    def of(self, host: str) -> Placement:
        """The host's placement as things stand. Only for a host that was placed."""
        known = self._hosts.get(host)
        if self._judge.knows(host):
            placement = self._judge.place(host)
            if known is not None:
                known.placement = placement
                if known.kept != placement.origin:
                    self._strayed.add(host)
        else:
            # It began anew since; the last one stands until the host is placed again.
            assert known is not None
            assert known.placement is not None
            placement = known.placement
        return self._rulings.over(self._referrers.over(placement))

    def referred(self, host: str, page: str, by: str) -> None:
        """A page of the host ``by`` refers to a host: that may tell whose a name is that an edge has given."""
        met = self._hosts.get(by)
        if self._table.row_of_name(host) is not None and by != host and met is not None and met.placement is not None:
            self._referrers.heard(host, page, self.of(by).origin)

    def has_answered(self, host: str) -> bool:
        """Whether any response of the host has told what it is, here or in an earlier crawl, for as long as that counts."""
        known = self._hosts.get(host)
        lately = known is not None and self._wall() - known.read < REPLY_LIVES
        return lately or (known is not None and any(fact.source != "dns" for fact in known.evidence.facts))

    # -- what responses tell

    def listens(self, host: str, peer: str | None) -> bool:
        """Whether a response from the address ``peer`` should be told to :meth:`heard`: nearly always it would tell nothing
        new."""
        known = self._hosts.get(host)
        if known is None:
            return False
        if known.pages < PAGES or self._wall() - known.read > READ_AGAIN:
            return True
        return peer is not None and moving(known.evidence, peer)

    async def heard(self, host: str, reply: Reply) -> None:
        """Learn from a response. What the store cannot take now is told with the next one."""
        known = self._hosts.get(host)
        if known is None:
            return
        known.read = reply.at
        known.pages += reply.status == 200 and reply.kind != "robots"
        known.evidence = replied(known.evidence, reply)
        try:
            await self._learn(host, known)
        except StoreError as error:
            self._booker.trouble(error)

    # -- what others tell

    async def look_around(self) -> None:
        """Learn what other processes have written, let expired evidence go, and obey new rulings. ``StoreError`` as the
        store has it."""
        await self._begin_to_follow()
        try:
            while True:
                news = await self._ask(self._store.news, self._version or 0)
                if news.ruled:
                    await self._obeying.take()
                await self._learn_rows([row for row in news.hosts if self._concerns(row)])
                self._version = news.version
                if not news.hosts:
                    break
                await asyncio.sleep(0)
            await self._let_go()
        finally:
            self._settle()
        await self._write_strayed()
        await self._obeying.look(self._wall())

    def trouble(self, error: StoreError) -> None:
        """The store could not answer: that is said once, whoever has asked."""
        self._booker.trouble(error)

    async def tidy(self, idle: float) -> None:
        """Let the store forget some of what has not been met for so many seconds. ``StoreError`` as the store has it."""
        await self._ask(self._store.purge, idle)
        await self._ask(self._store.forget_hosts, idle)

    async def close(self) -> None:
        self.closing = True
        await self._names.close()

    # -- inside

    async def _begin_to_follow(self) -> None:
        """Before the first host is placed: what people have ruled, and from where on there is news."""
        if self._version is None:
            version = await self._ask(self._store.keep, [])
            await self._obeying.take()
            self._version = version

    async def _let_go(self) -> None:
        """Judge those anew whose first fact has run out; of neighbours only the store knows what is left."""
        now = self._wall()
        neighbours: list[str] = []
        while len(neighbours) < CROWD and (host := self._expiring.over(now)) is not None:
            if host not in self._hosts:
                neighbours.append(host)
            elif self._judge.knows(host):
                # Written down in any case, and so entered for the next time.
                self._hosts[host].written = 0.0
                await self._learn(host, self._hosts[host])
                await asyncio.sleep(0)
        if neighbours:
            rows = await self._ask(self._store.kept, neighbours)
            for host in neighbours:
                if host not in rows:
                    self._judge.forget(host)
            await self._learn_rows(list(rows.values()))

    async def _write_strayed(self) -> None:
        """Keep those anew that others have moved: the store has them where they were, and no alias leads here from there."""
        some = set(islice(self._strayed, CROWD))
        self._strayed -= some
        moved = {host: known for host in some if (known := self._hosts.get(host)) and self._judge.knows(host)}
        standing = await self._ask(self._store.standing, {known.kept for known in moved.values()}) if moved else {}
        for host, known in moved.items():
            if known.kept in standing and self._judge.knows(host) and standing[known.kept] != self._judge.place(host).origin:
                known.written = 0.0
                await self._learn(host, known)

    async def _named(self, host: str, address: str, said: Said) -> None:
        """One of the host's addresses has names."""
        known = self._hosts.get(host)
        if known is None:
            return
        known.evidence = pointed(known.evidence, address, *said)
        try:
            await self._learn(host, known)
        except StoreError as error:
            self._booker.trouble(error)
