"""Requests that are put off: what waits in memory when a spider closes goes into the store, and what waits for a key that is
parked goes there while the spider runs, so that a kill does not take it. With a ``JOBDIR`` the queue on disk keeps what waits
in it, and only what did not fit there comes here, where it fits no better: its errback is told.

A spider that is stopped, or that closes because all that is left is held, puts off everything. One that closes for a reason of
its own (``CLOSESPIDER_ITEMCOUNT``, ``CloseSpider``) was not to make the rest: then only what is held is put off, which it would
have made otherwise, and what an earlier run had put off.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from twisted.python.failure import Failure

from scrapy_polite.errors import NotNow
from scrapy_polite.plainrequest import TAKEN_UP, PlainRequests
from scrapy_polite.queue import OriginQueue
from scrapy_polite.stores.base import StoreError
from scrapy_polite.stores.deferring import Deferred

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_polite.politeness import Politeness
    from scrapy_polite.stores.base import Peek

__all__ = ["ALL_HELD", "FIRST", "PuttingOff", "images_of", "owner_of", "steps_of"]

logger = logging.getLogger(__name__)

ALL_HELD: Final = "polite_deferred"
"""The reason for which a spider closes when all that is left is held for long."""

KEEPS_ALL: Final = frozenset(("shutdown", ALL_HELD, "start_error", "polite_unprotected"))
"""Reasons that nobody has chosen in order to have the rest not made."""

FIRST: Final = 100
"""Added to the priority of what is taken up."""

AT_ONCE: Final = 500
"""Requests that are written in one step, and keys that are asked for."""

MOST_LETTERS: Final = 32 * 1024 * 1024
"""Characters of the requests that are written in one step, but for one that is longer alone. A spider may carry whole pages in
meta, and Postgres takes no statement of a gigabyte."""

PATIENCE: Final = 30.0
"""Seconds for which a store that cannot answer is asked again when the spider closes."""

AGAIN: Final = 1.0

MOST_PRIORITY: Final = 2**62
"""That is kept of a request's, in either direction: a store has 64 bits for it."""

UNHELD: Final = "closed"
"""The kind of what nothing held: the spider closed before its turn came."""

SEARCH_EVERY: Final = 5.0
"""Seconds after which it is looked again which of all sites wait for an origin that is parked."""


@dataclass(frozen=True, slots=True)
class _Why:
    key: str
    kind: str
    reason: str
    seconds: float
    """Until the hold ends; 0: there is none."""


class PuttingOff:
    """One per crawler."""

    def __init__(self, crawler: Crawler, politeness: Politeness, plain: PlainRequests) -> None:
        self._crawler = crawler
        self._politeness = politeness
        self._plain = plain
        self.images: list[Request] = []
        """Images that are to be fetched by the next run: nothing is called back for them, and their items have gone on."""
        self._early: dict[str, tuple[str, str]] = {}
        """What this run has put off and not taken up again, by fingerprint: kind and key."""
        self._moving: list[Request] = []
        """Out of the queue, and not in the store yet."""
        self._unfit: WeakSet[Request] = WeakSet()
        self._search_at = 0.0
        self._turn = asyncio.Lock()

    @property
    def owner(self) -> str:
        """Whose requests these are."""
        spider = self._crawler.spider
        return owner_of(self._crawler.settings["BOT_NAME"], spider.name if spider is not None else "")

    @property
    def is_moving(self) -> bool:
        return bool(self._moving)

    @property
    def has_put_off(self) -> bool:
        """Whether requests of this run wait in the store while it goes on."""
        return bool(self._early)

    def taken_up(self, fingerprints: Iterable[str]) -> None:
        """They are in the store no more, but for as long as they are under way."""
        for fingerprint in fingerprints:
            self._early.pop(fingerprint, None)

    async def put_off_now(self, keys: Collection[str]) -> dict[Request, str]:
        """What waits in memory for keys that are parked, though the spider goes on; by what names they are in the store now.
        What does not fit stays where it is. Raises ``StoreError``: then all of it does."""
        queues = self._queues()
        queue = queues[0]
        if not isinstance(queue, OriginQueue) or queues[1] is not None:
            return {}
        sites = [site for site in self._sites_of(keys) if site in queue]
        found: dict[Request, str] = {}
        async with self._turn:
            some = list(queue.drain(sites))
            self._moving = [request for request in some if request not in self._unfit]
            stays = [request for request in some if request in self._unfit]
            try:
                for start in range(0, len(self._moving), AT_ONCE):
                    part = self._moving[start : start + AT_ONCE]
                    whys = await self._politeness.booker.call(self._whys, part)
                    part = [request for request in part if self._politeness.site_of(request.url) in whys]  # Still.
                    rows, unfit = self._rows(self.owner, part, whys, "")
                    self._unfit.update(unfit)
                    stays += unfit
                    for _, step in steps_of(list(rows.values())):
                        await self._politeness.booker.call(self._write, step)
                    self._early |= {name: (row.kind, row.key) for name, row in rows.items()}
                    found |= dict(zip(_but(part, unfit), rows, strict=True))
            finally:
                # The spider may have begun to close meanwhile, and nobody looks into the queue twice.
                left = [request for request in self._moving if request not in found and request not in self._unfit]
                for request in (*stays, *left):
                    queue.push(request)
                self._moving = []
        return found

    def _queues(self) -> list[Any]:
        """In memory, and on disk."""
        slot = self._crawler.engine._slot if self._crawler.engine is not None else None
        return [getattr(getattr(slot, "scheduler", None), name, None) for name in ("mqs", "dqs")]

    def _sites_of(self, keys: Collection[str]) -> Collection[str]:
        """Of a site that is parked itself, and of the many that wait for an origin."""
        agenda = self._politeness.agenda
        wide = {key for key in keys if key.startswith("origin:")}
        if not wide or agenda is None or time.monotonic() < self._search_at:
            return keys
        self._search_at = time.monotonic() + SEARCH_EVERY
        return {*keys, *(site for site in agenda.waiting_sites() if not wide.isdisjoint(self._politeness.keys_of(site) or ()))}

    async def close(self, reason: str, taken: Collection[str], never: Sequence[Deferred]) -> Collection[str] | None:
        """Put off what waits, and say how much. Answers the fingerprints that were written; None if the store cannot answer.

        ``taken``: fingerprints of what was taken up and is not done. ``never``: rows of what was taken up and never came into a
        queue, which go back as they are.
        """
        async with self._turn:
            return await self._close(reason, taken, never)

    async def _close(self, reason: str, taken: Collection[str], never: Sequence[Deferred]) -> Collection[str] | None:
        queues = self._queues()
        requests = list(queues[0].drain()) if isinstance(queues[0], OriginQueue) else []
        in_queue, sites = _left(queues[1])
        if in_queue:
            logger.info("In the JOBDIR: %d requests of %d sites wait for the next run", in_queue, sites)
        if not requests and not never and not self.images:
            self._say([], 0)
            return ()
        end = time.monotonic() + PATIENCE
        whys = await self._patiently(end, partial(self._whys, [*requests, *self.images])) or {}
        kept = [
            request
            for request in requests
            if reason in KEEPS_ALL or request.meta.get(TAKEN_UP) in taken or self._why(request, whys, reason).seconds
        ]
        found, unfit = self._rows(self.owner, kept, whys, reason)
        images, _ = self._rows(images_of(self.owner), self.images, whys, reason)
        kept = _but(kept, unfit)
        self._fail(unfit, "it cannot be written down, so it was not put off")
        rows = [*found.values(), *images.values()]
        written = [*rows, *never]
        for start, some in steps_of(written):
            if not await self._patiently(end, partial(self._write, some)):
                lost = [request for request in kept[start:] if request.meta.get(TAKEN_UP) not in taken]
                logger.error("The store cannot answer: %d requests are not put off, their errbacks are called", len(lost))
                self._fail(lost, "the store cannot answer, so it was not put off")
                return None
        self._say(rows, len(requests) - len(kept))
        return {row.fingerprint for row in written}

    async def _patiently(self, end: float, ask: Callable[[], Any]) -> Any:
        """The store's answer, as soon as there is one; None: not before ``end``."""
        booker = self._politeness.booker
        while True:
            try:
                return await booker.call(ask)
            except StoreError as error:
                booker.trouble(error)
            if time.monotonic() > end:
                return None
            await asyncio.sleep(AGAIN)

    def _write(self, rows: Sequence[Deferred]) -> bool:
        self._politeness.booker.store.defer(rows)
        return True

    def _whys(self, requests: Iterable[Request]) -> dict[str, _Why]:
        """By site, what holds it for longest."""
        politeness = self._politeness
        keys = {site: politeness.keys_of(site) or (site,) for site in {politeness.site_of(one.url) for one in requests}}
        asked = list(dict.fromkeys(key for some in keys.values() for key in some))
        peeks: dict[str, Peek] = {}
        for start in range(0, len(asked), AT_ONCE):
            peeks |= politeness.booker.store.peek(asked[start : start + AT_ONCE])
        found = {}
        for site, some in keys.items():
            key = max(some, key=lambda key: peeks[key].hold_in)
            cause = peeks[key].cause
            if cause is not None:
                found[site] = _Why(key, cause.kind, cause.reason, peeks[key].hold_in)
        return found

    def _why(self, request: Request, whys: dict[str, _Why], reason: str) -> _Why:
        site = self._politeness.site_of(request.url)
        return whys.get(site) or _Why(site, UNHELD, f"the spider closed ({reason})", 0.0)

    def _rows(
        self, owner: str, requests: Sequence[Request], whys: dict[str, _Why], reason: str
    ) -> tuple[dict[str, Deferred], list[Request]]:
        """By their names, in the order of the requests; and what does not fit."""
        rows: dict[str, Deferred] = {}
        unfit, now = [], time.time()
        for request in requests:
            try:
                text, fingerprint = self._plain.text(request), self._plain.fingerprint(request)
                if not request.method.isascii() or not request.method.isprintable():
                    raise ValueError(f"{request.method!r} is no method")
            except ValueError as error:
                logger.warning("Cannot be put off: %s: %s", request, error)
                unfit.append(request)
                continue
            why = self._why(request, whys, reason)
            ordinal, name = 1, fingerprint
            while name in rows or name in self._early:  # Twice the same, and both are to be made.
                ordinal += 1
                name = f"{fingerprint}.{ordinal}"
            priority = request.priority - (FIRST if TAKEN_UP in request.meta else 0)
            rows[name] = Deferred(
                owner,
                name,
                why.key,
                request.url,
                request.method,
                _name_of(request.callback),
                _name_of(request.errback),
                why.kind,
                why.reason,
                max(-MOST_PRIORITY, min(MOST_PRIORITY, priority)),
                now + why.seconds if why.seconds else 0.0,
                now,
                text,
            )
        return rows, unfit

    def _fail(self, requests: Iterable[Request], why: str) -> None:
        """Nobody takes what an errback yields any more."""
        for request in requests:
            self._politeness.count("deferred/failed")
            if request.errback is not None:
                failure = Failure(NotNow(why, request))
                failure.request = request  # type: ignore[attr-defined]
                try:
                    request.errback(failure)
                except Exception:
                    logger.exception("The errback of %s", request)

    def _say(self, rows: Sequence[Deferred], dropped: int) -> None:
        whys = [*((row.kind, row.key) for row in rows), *self._early.values()]
        if whys:
            if self._crawler.stats is not None:
                self._crawler.stats.inc_value("polite/deferred", len(whys))
            told = _told(Counter(kind for kind, _ in whys))
            where = "the next run of the spider takes them up, `scrapy polite deferred` lists them"
            if self._politeness.config.store == "memory:":
                where = "POLITE_STORE is memory:, so the end of this process forgets them"
            logger.info("Put off: %d request%s (%s); %s", len(whys), "s" * (len(whys) != 1), told, where)
        if dropped:
            logger.info("Not put off, since the spider was to close and nothing held them: %d requests", dropped)


def steps_of(rows: Sequence[Deferred]) -> Iterator[tuple[int, Sequence[Deferred]]]:
    """The rows in parts that a store takes at once, each with the place where it begins."""
    start = letters = 0
    for place, row in enumerate(rows):
        letters += len(row.request)
        if place > start and (place - start == AT_ONCE or letters > MOST_LETTERS):
            yield start, rows[start:place]
            start, letters = place, len(row.request)
    if rows:
        yield start, rows[start:]


def _told(kinds: Counter[str]) -> str:
    """What the requests wait for, by the kinds of the holds."""
    unheld = kinds[UNHELD]
    holds = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common() if kind != UNHELD)
    parts = [f"held: {holds}"] if holds else []
    if unheld:
        parts.append(f"{unheld} {'was' if unheld == 1 else 'were'} only not reached")
    return "; ".join(parts)


def owner_of(project: str, spider: str) -> str:
    """ "project/spider"."""
    return f"{project}/{spider}"


def images_of(owner: str) -> str:
    """Under what the images are put off whose items have gone on."""
    return f"{owner} images"


def _but(requests: Iterable[Request], those: Collection[Request]) -> list[Request]:
    without = set(those)
    return [request for request in requests if request not in without]


def _name_of(method: Any) -> str:
    return getattr(method, "__name__", "") if method is not None else ""


def _left(queue: Any) -> tuple[int, int]:
    """Requests that wait in a queue on disk, and their sites. It is closed by now, and still knows."""
    return (len(queue), queue.sites) if isinstance(queue, OriginQueue) else (0, 0)
