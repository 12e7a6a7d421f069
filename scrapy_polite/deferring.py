"""Requests that were put off, taken up again: before all others, in the next run of their spider, and each by one process.

A request that was taken up stays in the store until it is done: its callback or errback has run, and what it yielded was
queued. A run that dies leaves it there as taken, and another takes it a minute later. So it is made at least once, and exactly
once unless a run dies. What puts requests off is :mod:`scrapy_polite.puttingoff`.
"""

from __future__ import annotations

import logging
import math
import os
import secrets
import socket
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from scrapy import signals
from scrapy.exceptions import CloseSpider, DontCloseSpider

from scrapy_polite import requestjson
from scrapy_polite.agenda import wake_engine
from scrapy_polite.plainrequest import TAKEN_UP, PlainRequests
from scrapy_polite.puttingoff import ALL_HELD, FIRST, PuttingOff, images_of
from scrapy_polite.stores.base import StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterable

    from scrapy import Request
    from scrapy.core.engine import _Slot
    from scrapy.crawler import Crawler

    from scrapy_polite.politeness import Politeness
    from scrapy_polite.stores.deferring import Deferred

__all__ = ["LEASE", "Deferring"]

logger = logging.getLogger(__name__)


LEASE: Final = 60.0
"""Seconds after which what a run has taken, and not said that it still has, is another's to take."""

LATE: Final = 1.0
"""Seconds by which the clock of a store may be behind this machine's, and is usually not."""

AT_ONCE: Final = 500
"""Requests that are taken in one step."""

PARK_EVERY: Final = 2.0
"""Seconds between two writes of what waits for parked keys: each is on the disk before it ends."""


class Deferring:
    """One per crawler, made before its engine."""

    def __init__(self, crawler: Crawler, politeness: Politeness) -> None:
        self._crawler = crawler
        self._politeness = politeness
        self._plain = PlainRequests(crawler)
        self._putting_off = PuttingOff(crawler, politeness, self._plain)
        self._run = f"{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(4)}"
        self._rows: dict[str, Deferred] = {}
        """What was taken and is not done, by fingerprint."""
        self._has_taken = False
        self._others: tuple[float, float] | None = None
        """Where another run had taken requests when this one began: when it was last heard of, and when they are free (unix
        seconds)."""
        self._park_at = 0.0
        self._said_parked = False
        self._queued: dict[Request, str] = {}
        self._out: dict[Request, str] = {}
        politeness.deferring = self
        crawler.signals.connect(self._scheduled, signals.request_scheduled)
        crawler.signals.connect(self._closed, signals.spider_closed)
        crawler.signals.connect(self._idle, signals.spider_idle)

    async def first(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """What was put off, and then what ``start`` has, but for the same requests."""
        twins: Counter[str] = Counter()
        urls = set()
        while requests := await self._take():
            logger.info("Taken up: %d requests that were put off", len(requests))
            for request in requests:
                self._mark_seen(request)
                urls.add(request.url)
                twins[self._twin(request)] += 1
                yield request
        await self._look_for_others()
        async for item in start:
            twin = self._twin(item) if getattr(item, "url", None) in urls else ""
            if twin and twins[twin] > 0:
                twins[twin] -= 1  # What a spider yields again later is to be made again.
                logger.debug("Not made twice: %s was put off, and is taken up", item)
            else:
                yield item

    @property
    def look_at(self) -> float:
        """Seconds until what another run has taken is free, if it died; infinite: there is no such run."""
        return self._others[1] + LATE - time.time() if self._others is not None else math.inf

    async def look(self) -> None:
        """Keep what was taken, and take up what has become free since: by its time, by a person, by the death of a run."""
        if self._has_taken:
            await self._tell("renew_deferred", self._run, LEASE)
        engine = self._crawler.engine
        if engine is None or engine.paused or not self._is_open():
            return
        taken = await self._take()
        if self._others is not None:
            await self._hear_of_others()
        for request in taken:
            if self._is_open():  # Otherwise it is put back, with what else was never queued.
                engine.crawl(request)

    async def put_off_parked(self, keys: Collection[str]) -> None:
        """These keys are parked: what waits for them in memory waits in the store, where a kill does not take it. Raises
        ``StoreError``."""
        if not self._is_open() or time.monotonic() < self._park_at:
            return
        self._park_at = time.monotonic() + PARK_EVERY
        moved = await self._putting_off.put_off_now(keys)
        if moved:
            level = logging.DEBUG if self._said_parked else logging.INFO
            logger.log(level, "Parked: what waits for %s waits in the store, %d requests for now", _some(keys), len(moved))
            self._said_parked = True
        names, gone = set(moved.values()), []
        for request in moved:
            before = self._queued.pop(request, None)
            if before in names:
                self._rows.pop(before, None)  # It is there again, and nobody's.
            elif before is not None:
                gone.append(before)
        await self._done(gone)
        if moved:
            wake_engine(self._crawler)  # There may be nothing left to do.

    def handed_out(self, request: Request) -> None:
        """The engine has it now."""
        fingerprint = self._queued.pop(request, None)
        if fingerprint is not None:
            self._out[request] = fingerprint

    # -- images whose items have gone on

    def put_off_image(self, image: Request) -> None:
        """Keep it for the next run. Raises ``ValueError`` for what would not come back as it was."""
        self._plain.text(image)
        self._putting_off.images.append(image)

    async def take_images(self, most: int) -> list[tuple[str, Request]]:
        """What was put off so and may be fetched now, each with what :meth:`image_done` is told."""
        owner = images_of(self._putting_off.owner)
        return [(row.fingerprint, request) for row, request in await self._read(owner, most)]

    async def image_done(self, fingerprint: str) -> None:
        """It was fetched, will never be, or was put off once more."""
        await self._tell("done_deferred", images_of(self._putting_off.owner), [fingerprint], self._run)

    # -- inside

    def _idle(self) -> None:
        """Where all is held, whoever asks knows that, and what to close for."""
        if self._politeness.all_held:
            return
        if self._putting_off.is_moving:
            raise DontCloseSpider
        # Not after a start that has failed: Scrapy closes then, whatever waits.
        if self._others is not None and not getattr(self._crawler.engine, "_start_error", False):
            raise DontCloseSpider
        if self._putting_off.has_put_off and not getattr(self._crawler.engine, "_start_error", False):
            raise CloseSpider(ALL_HELD)

    async def _taken_by_others(self) -> tuple[int, float]:
        """How many requests another run has taken that this one would take, and when the last of them is free (unix time)."""
        booker, now = self._politeness.booker, time.time()
        within = now + self._politeness.config.defer_after
        try:
            rows = await booker.call(booker.store.deferred, self._putting_off.owner)
        except StoreError as error:
            booker.trouble(error)
            return 0, 0.0
        ends = [row.until for row in rows if row.run not in ("", self._run) and row.until > now and row.not_before <= within]
        return len(ends), max(ends, default=0.0)

    async def _look_for_others(self) -> None:
        """Whether a run that is dead, or that goes on beside this one, has what this one would take up."""
        count, free = await self._taken_by_others()
        if count:
            now = time.time()
            self._others = (free - LEASE, free)
            told = "Not taken up: %d requests, still marked as taken by a run that was last heard of %.0f s ago; free in %.0f s"
            logger.info(f"{told}, unless it lives", count, now - free + LEASE, free - now)

    async def _hear_of_others(self) -> None:
        """Nobody is waited for who has been heard of since, nor longer than until what a dead one had was there to take."""
        assert self._others is not None
        count, free = await self._taken_by_others()
        if not count or free - LEASE > self._others[0] + 1.0 or self.look_at <= 0:
            self._others = None

    async def _take(self) -> list[Request]:
        found = []
        for row, request in await self._read(self._putting_off.owner, AT_ONCE):
            self._rows[row.fingerprint] = row
            found.append(request.replace(priority=row.priority + FIRST, dont_filter=True))
            found[-1].meta.update({TAKEN_UP: row.fingerprint, "is_start_request": False})
        self._putting_off.taken_up(self._rows)
        return found

    async def _read(self, owner: str, most: int) -> list[tuple[Deferred, Request]]:
        politeness, spider = self._politeness, self._crawler.spider
        take = politeness.booker.store.take_deferred
        within = politeness.config.defer_after
        found: list[tuple[Deferred, Request]] = []
        rows: list[Deferred] | None = None
        while rows is None or (rows and not found):  # Behind those that cannot be read there may be others.
            try:
                rows = await politeness.booker.call(take, owner, self._run, most, LEASE, within)
            except StoreError as error:
                politeness.booker.trouble(error)
                return []
            for row in rows:
                self._has_taken = True
                try:
                    found.append((row, requestjson.read(row.request.encode(), spider)))
                except Exception as error:  # Whatever the class of the request raises.
                    logger.error("A request that was put off cannot be read, and stays where it is: <%s>: %s", row.url, error)
        if found:
            politeness.count("deferred/taken_up", len(found))
        return found

    def _scheduled(self, request: Request) -> None:
        fingerprint = request.meta.get(TAKEN_UP)
        if fingerprint in self._rows:
            self._queued[request] = fingerprint

    def _slot(self) -> _Slot | None:
        return self._crawler.engine._slot if self._crawler.engine is not None else None

    def _is_open(self) -> bool:
        slot = self._slot()
        return slot is not None and slot.closing is None

    def _twin(self, item: Any) -> str:
        """ "": it has none that could have been put off."""
        try:
            return self._plain.twin(item)
        except ValueError:
            return ""

    def _mark_seen(self, request: Request) -> None:
        """It is not filtered, and yet the duplicate filter is to know of it, as pages may link to it."""
        duplicates = getattr(getattr(self._slot(), "scheduler", None), "df", None)
        if duplicates is not None:
            duplicates.request_seen(request)

    async def settle(self) -> None:
        """Forget what the engine has finished with, as the queue on disk does; there is no signal for it."""
        slot = self._slot()
        if slot is not None and self._out:
            over = [request for request in self._out if request not in slot.inprogress]
            gone = {self._out.pop(request) for request in over}
            # A retry or a redirect was queued before the request that it came from was done with.
            await self._done(gone.difference(self._queued.values(), self._out.values()))

    async def _done(self, fingerprints: Iterable[str]) -> None:
        gone = [name for name in fingerprints if self._rows.pop(name, None) is not None]
        if gone:
            await self._tell("done_deferred", self._putting_off.owner, gone, self._run)

    async def _tell(self, method: str, *arguments: object) -> None:
        """What the store cannot take now costs a request that is made twice, and loses none."""
        booker = self._politeness.booker
        try:
            await booker.call(getattr(booker.store, method), *arguments)
        except StoreError as error:
            booker.trouble(error)

    async def _closed(self, reason: str) -> None:
        await self.settle()
        queued = set(self._queued.values())
        # What was taken and never queued, because a middleware of the project's dropped it, or the spider closed before.
        never = [row for name, row in self._rows.items() if name not in queued]
        kept = await self._putting_off.close(reason, self._rows, never)
        if kept is not None:
            # What waits in a JOBDIR is the queue's by now; and what was put off anew may have another fingerprint.
            await self._done([name for name in self._rows if name in queued and name not in kept])


def _some(keys: Collection[str]) -> str:
    first = min(keys)
    return first if len(keys) == 1 else f"{first} and {len(keys) - 1} other keys"
