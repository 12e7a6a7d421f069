"""The judge's memory in step with the store: a host is judged among all that share an anchor with it, whoever has met them.

An anchor's crowd is loaded when the anchor is first met. What the judge says of a host is written down, and what it changes
about names is told to the store before anything is booked again.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, TypeVar
from weakref import WeakValueDictionary

from scrapy_polite.obeying import Obeying
from scrapy_polite.origins.anchors import pointing
from scrapy_polite.origins.evidence import Evidence, joined
from scrapy_polite.origins.judge import Judge
from scrapy_polite.origins.links import origin_name
from scrapy_polite.recalling import Expiring, Met, Recalling
from scrapy_polite.remembering import Remembering
from scrapy_polite.stores.base import Kept
from scrapy_polite.stores.paces import merge, split
from scrapy_polite.telemetry.events import Merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_polite.booker import Booker
    from scrapy_polite.limits.plan import Limits
    from scrapy_polite.origins.edges import EdgeTable
    from scrapy_polite.origins.names import Change
    from scrapy_polite.telemetry.ledger import Ledger

__all__ = ["CROWD", "Crowds"]

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

WRITE_AGAIN: Final = 1_800.0
"""Seconds after which evidence is written that says the same as before, only later: half of the shortest life of a fact."""


class Crowds(Recalling):
    """What :class:`~scrapy_polite.placing.Placing` stands on. Its methods raise ``StoreError`` as the store has it."""

    def __init__(
        self,
        booker: Booker,
        table: EdgeTable,
        threshold: float,
        limits: Limits,
        ledger: Ledger | None,
        wall: Callable[[], float],
    ) -> None:
        self._booker = booker
        self._store = booker.store
        self._table = table
        self._threshold = threshold
        self._ledger = ledger
        self._wall = wall
        self._hosts: dict[str, Met] = Remembering(MOST)
        self._obeying = Obeying(booker, limits)
        self._rulings = self._obeying.rulings
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._resets = 0
        self._begin()

    def _begin(self) -> None:
        self._judge = Judge(self._threshold)
        self._loaded: set[str] = set()
        self._expiring = Expiring()
        self._strayed: set[str] = set()
        self._resets += 1

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

    def _settle(self) -> None:
        """Tell the store what has changed about names, before anything is booked again."""
        for change in self._judge.changes():
            self._tell(change)

    def _tell(self, change: Change) -> None:
        store, name, into = self._store, change.name, change.into
        if change.kind == "merge":
            self._booker.owe(lambda: merge(store, name, into))
            self._obeying.limits.merge(name, into)
            if self._ledger is not None:
                self._ledger.record(Merged(self._booker.now(), name, into))
        elif change.kind == "part":
            # For a moment one: so it starts from the due time and the hold of what it was a part of.
            self._booker.owe(lambda: store.merge(name, into))
            self._booker.owe(lambda: split(store, name, into))
        elif not self._rulings.joins(name, into):
            self._booker.owe(lambda: split(store, name, into))
            if self._ledger is not None:
                self._ledger.record(Merged(self._booker.now(), name, name))
        logger.info("Origins: %s: %s: %s", change.kind, f"{name} and {into}", change.because)
