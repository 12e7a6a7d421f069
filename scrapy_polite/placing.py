"""Which origin each host has: what DNS and responses tell, judged, and kept in the store for every process.

The judge (:mod:`scrapy_polite.origins.judge`) is pure and in memory. Here it is fed: with a host's own evidence, with that of
the hosts that share an anchor with it, which is loaded from the store when the anchor is first met, and with what other
processes have written since. What it changes about names goes back to the store, where `book` follows it in every process.
"""

from __future__ import annotations

import asyncio
import logging
import time
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar
from weakref import WeakValueDictionary

from scrapy_polite.addressnames import AddressNames
from scrapy_polite.booker import RETRY
from scrapy_polite.errors import NotNow
from scrapy_polite.obeying import Obeying
from scrapy_polite.origins.anchors import pointing
from scrapy_polite.origins.evidence import REPLY_LIVES, Evidence, Lookup, joined, looked_up, moving, pointed, replied
from scrapy_polite.origins.judge import Judge, Placement
from scrapy_polite.origins.links import origin_name
from scrapy_polite.origins.referrers import Referrers
from scrapy_polite.recalling import Expiring, Met, Recalling
from scrapy_polite.remembering import Remembering
from scrapy_polite.stores.base import Kept, StoreError
from scrapy_polite.telemetry.events import Merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_polite.addressnames import Said
    from scrapy_polite.booker import Booker
    from scrapy_polite.dns.resolver import Answer, Resolver
    from scrapy_polite.limits.plan import Limits
    from scrapy_polite.origins.edges import EdgeTable
    from scrapy_polite.origins.evidence import Reply
    from scrapy_polite.origins.names import Change
    from scrapy_polite.telemetry.ledger import Ledger

__all__ = ["Placing"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

CROWD: Final = 500
"""Hosts that are loaded with an anchor, the first that came first: a sample of that size tells what the crowd is like."""

NEIGHBOURS: Final = 5_000
"""Hosts that are loaded at most for one that is new, its neighbours' neighbours among them."""

BREATH: Final = 100
"""Hosts that are learned before the loop breathes."""

MOST: Final = 200_000
"""Hosts in memory, at about half a kilobyte each. When there are more it begins anew, and loads from the store who is met."""

MOST_ANCHORS: Final = 5 * MOST
"""Anchors that were met, likewise: a host whose addresses change with every answer leaves a name behind with each."""

PAGES: Final = 3
"""Responses of a host that are read in full; then one in a while is."""

READ_AGAIN: Final = 60.0
"""Seconds after which another response is read."""

WRITE_AGAIN: Final = 1_800.0
"""Seconds after which evidence is written that says the same as before, only later: half of the shortest life of a fact."""


class Placing(Recalling):
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
        self._booker = booker
        self._store = booker.store
        self._table = table
        self._threshold = threshold
        self._ledger = ledger
        self._wall = wall
        self._hosts: dict[str, Met] = Remembering(MOST)
        self._names = AddressNames(resolver, wall, self._named)
        self._version: int | None = None
        self._referrers = Referrers()
        self._obeying = Obeying(booker, limits)
        self._rulings = self._obeying.rulings
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._resets = 0
        self._begin()
        self.closing = False

    def _begin(self) -> None:
        self._judge = Judge(self._threshold)
        self._loaded: set[str] = set()
        self._expiring = Expiring()
        self._strayed: set[str] = set()
        self._resets += 1

    @property
    def generation(self) -> tuple[int, ...]:
        """Another one than before: placements may have changed."""
        return self._resets, self._judge.generation, self._rulings.generation, self._obeying.limits.generation

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
        if known is None:
            return False
        return self._wall() - known.read < REPLY_LIVES or any(fact.source != "dns" for fact in known.evidence.facts)

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

    async def _ask(self, function: Callable[..., T], *arguments: object) -> T:
        return await self._booker.call(function, *arguments)

    async def _ages(self, anchors: Sequence[str]) -> dict[str, int]:
        """Their row numbers in the store. A name is asked for before the addresses behind it, so that the older of them is the
        one that tells a person more."""
        names = [anchor for anchor in anchors if anchor.startswith("cname:")]
        ages = await self._ask(self._store.ages, names) if names else {}
        return ages | await self._ask(self._store.ages, [anchor for anchor in anchors if anchor not in ages])

    async def _known(self, host: str) -> Met:
        known = self._hosts.get(host)
        if known is None:
            kept = (await self._ask(self._store.kept, [host])).get(host)
            found = Evidence(host, ()) if kept is None else Evidence.from_json(host, kept.facts)
            known = self._hosts.setdefault(host, Met(found))
        return known

    async def _learn(self, host: str, known: Met) -> None:
        """Judge the host anew where its evidence says something else than before, or has not for long, and write it down."""
        # One at a time, or what is older could be judged, or written, after what is newer.
        async with self._turns.setdefault(host, asyncio.Lock()):
            try:
                await self._learn_in_turn(host, known)
            finally:
                # Also where the store could not keep it: here the host has moved, and is charged under its new name.
                self._settle()

    async def _learn_in_turn(self, host: str, known: Met) -> None:
        while True:
            now, evidence = self._wall(), known.evidence
            points = pointing(evidence, now, self._table)
            if points.empty and known.placement is not None:
                # The machine slept, or its clock has jumped: where the host is stands until DNS is asked again, as if it were
                # met.
                self._judge.forget(host)
                known.judged = ()
                return
            said = (points.strong, points.weak, points.configuration, points.product, points.edge, points.peer, self._resets)
            if said == known.judged and now - known.written < WRITE_AGAIN:
                return
            anchors = (*points.strong, *points.weak)
            await self._load(anchors)
            ages = await self._ages(anchors)
            if known.evidence == evidence:
                break
        self._judge.learn(host, points, ages)
        self._expiring.note(host, points.expires)
        # By the evidence alone: a ruling is kept apart, and goes when it has run out.
        placed = self._judge.place(host)
        # Before what follows from it: whoever finds an alias finds the evidence for it.
        await self._ask(self._store.keep, [Kept(host, placed.origin, placed.confidence, anchors, evidence.as_json())])
        known.judged, known.written, known.kept = said, now, placed.origin

    async def _load(self, anchors: Iterable[str]) -> None:
        """Learn the hosts that share an anchor with a new one, and those that share one with them."""
        if len(self._judge) > MOST or len(self._loaded) > MOST_ANCHORS:
            self._begin()
        todo = [anchor for anchor in anchors if anchor not in self._loaded]
        room, batch = NEIGHBOURS, len(todo)
        while todo and room > 0:
            some, todo = todo[:batch], todo[batch:]
            self._loaded.update(some)
            rows = [
                row
                for row in (await self._ask(self._store.pointing_at, some, CROWD)).values()
                if not self._judge.knows(row.host)
            ]
            room -= len(rows)
            # A neighbour may name many crowds: so few at once that all of their hosts have room.
            batch = max(1, room // CROWD)
            found = await self._learn_rows(rows)
            todo = [anchor for anchor in dict.fromkeys((*todo, *found)) if anchor not in self._loaded] if found else todo

    async def _learn_rows(self, rows: Sequence[Kept]) -> list[str]:
        """The strong anchors of what was learned."""
        strong = list[str]()
        for start in range(0, len(rows), BREATH):
            strong += await self._learn_some(rows[start : start + BREATH])
            await asyncio.sleep(0)
        return strong

    async def _learn_some(self, rows: Sequence[Kept]) -> list[str]:
        now, strong = self._wall(), list[str]()
        made = []
        for row in rows:
            evidence = Evidence.from_json(row.host, row.facts)
            known = self._hosts.get(row.host)
            if known is not None:
                evidence = joined(known.evidence, evidence)
                if evidence != known.evidence:
                    known.evidence, known.judged = evidence, ()
            points = pointing(evidence, now, self._table)
            strong += points.strong
            made.append((evidence, points))
        anchors = list(dict.fromkeys(anchor for _, points in made for anchor in (*points.strong, *points.weak)))
        ages = await self._ages(anchors)
        names = await self._ask(self._store.standing, [origin_name(anchor) for anchor in anchors])
        # Of the others, which nobody was ever told, no store need know what they stand for.
        used = {row.origin for row in rows}
        names = {name: root for name, root in names.items() if root != name or name in used}
        for evidence, points in made:
            known = self._hosts.get(evidence.host)
            # Of whom more was learned while the store was asked, here or by a look-up, that stands.
            if known is None or known.evidence == evidence:
                self._judge.learn(evidence.host, points, ages)
                self._expiring.note(evidence.host, points.expires)
        self._judge.stand(self._rulings.without(names))
        return strong

    def _concerns(self, row: Kept) -> bool:
        return row.host in self._hosts or self._judge.knows(row.host) or not self._loaded.isdisjoint(row.anchors)

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
            # It may have been written, or forgotten, while the others were.
            if known.kept in standing and self._judge.knows(host) and standing[known.kept] != self._judge.place(host).origin:
                known.written = 0.0
                await self._learn(host, known)

    def _settle(self) -> None:
        """Tell the store what has changed about names, before anything is booked again."""
        for change in self._judge.changes():
            self._tell(change)

    def _tell(self, change: Change) -> None:
        store, name, into = self._store, change.name, change.into
        if change.kind == "merge":
            self._booker.owe(lambda: store.merge(name, into))
            self._obeying.limits.merge(name, into)
            if self._ledger is not None:
                self._ledger.record(Merged(self._booker.now(), name, into))
        elif not self._rulings.joins(name, into):
            self._booker.owe(lambda: store.split(name, into))
            if self._ledger is not None:
                self._ledger.record(Merged(self._booker.now(), name, name))
        logger.info("Origins: %s: %s: %s", change.kind, f"{name} and {into}", change.because)

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
