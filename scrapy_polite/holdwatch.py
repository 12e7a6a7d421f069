"""What a crawl looks for once a second: holds that a person has ended, keys that are parked, and whether nothing but held
requests is left. What it finds it says in the log; and once a minute what all wait for, where nothing is sent.

A spider whose every request waits for a hold that ends in an hour would idle for an hour. It closes instead, and what waits is
put off (:mod:`scrapy_polite.puttingoff`), unless somebody answers ``spider_idle`` by ``DontCloseSpider``, as a spider does that
gets its work from outside.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sized
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final

from scrapy import signals
from scrapy.exceptions import CloseSpider, DontCloseSpider
from twisted.python.failure import Failure

from scrapy_polite.puttingoff import ALL_HELD
from scrapy_polite.stores.acts import ENDS, acts
from scrapy_polite.stores.base import StoreError
from scrapy_polite.wording import plural, span

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_polite.agenda import Agenda
    from scrapy_polite.deferring import Deferring
    from scrapy_polite.politeness import Politeness
    from scrapy_polite.stores.acts import Act

__all__ = ["HoldWatch"]

logger = logging.getLogger(__name__)

EVERY: Final = 0.5
"""Seconds between two looks: what a person does is obeyed within a second."""

TAKE_EVERY: Final = 15.0
"""Seconds between two looks for requests that were put off and have become free: a quarter of their lease."""

TAKE_AGAIN: Final = 2.0
"""The same after a person has ended a hold: what waits for it is freed a moment later."""

SAY_EVERY: Final = 60.0
"""Seconds in which nothing was sent, after which the log says what is waited for; and again."""

SIGNED_WITHIN: Final = 2.0
"""Seconds after the end of a hold in which it is written down who has ended it."""

ASKED: Final = 1_000
"""Keys that are asked for in one look; of more, the others in the next."""

ASK_AGAIN: Final = 10.0
"""Seconds until it is asked again whether all is held, after it was not, or somebody wanted the spider open."""


class HoldWatch:
    """One per crawler, from :meth:`start` to :meth:`stop`."""

    def __init__(self, crawler: Crawler, politeness: Politeness, deferring: Deferring) -> None:
        self._crawler = crawler
        self._politeness = politeness
        self._deferring = deferring
        self._task: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._asked: set[str] = set()
        self._still = False
        self._ask_at = 0.0
        self._said_at = time.monotonic()
        self._ended: dict[str, float] = {}
        """Keys whose hold a person has ended, and when that was found, until it is said by whom."""
        self._signed: set[Act] = set()
        """What was done by hand before."""

    def start(self) -> None:
        agenda = self._politeness.agenda
        if agenda is not None:
            agenda.on_taken = self._deferring.handed_out
        self._task = asyncio.get_running_loop().create_task(self._watch())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _watch(self) -> None:
        take_at, ended = time.monotonic() + TAKE_EVERY, False
        with suppress(StoreError):
            self._signed = set(await self._acts())
        while True:
            await asyncio.sleep(EVERY)
            agenda = self._politeness.agenda
            try:
                if agenda is not None:
                    if await self._hear_of_releases(agenda):
                        take_at, ended = 0.0, True
                    await self._say_who_has_ended()
                    await self._close_if_all_is_held(agenda)
                    await self._say_what_waits(agenda)
                await self._deferring.settle()
            except StoreError as error:
                self._still = False
                self._politeness.booker.trouble(error)
                continue
            if time.monotonic() > take_at or self._deferring.look_at <= 0:
                await self._deferring.look()
                take_at = time.monotonic() + (TAKE_AGAIN if ended else TAKE_EVERY)
                ended = False

    async def _hear_of_releases(self, agenda: Agenda) -> bool:
        """Ask the store about the keys that we believe to be held. Whether a hold was ended. What waits for one that is parked
        is put off."""
        now, told = time.monotonic(), agenda.told
        for key in [key for key, until in told.items() if until <= now]:
            del told[key]
        self._asked.intersection_update(told)
        if len(self._asked) == len(told):
            self._asked.clear()
        some = list(islice((key for key in told if key not in self._asked), ASKED))
        if not some:
            return False
        self._asked.update(some)
        booker = self._politeness.booker
        asked_at, found = time.monotonic(), set[str]()
        peeks = await booker.call(booker.store.peek, some)
        after = self._politeness.config.defer_after
        parked = [key for key, peek in peeks.items() if peek.cause and peek.cause.kind == "parked" and peek.hold_in > after]
        if parked:
            await self._deferring.put_off_parked(parked)
        for key, peek in peeks.items():
            if peek.cause is not None:
                self._politeness.holds.met(key, peek.hold_in, peek.cause)
            due = asked_at + max(peek.due_in, peek.hold_in)
            if key in told and due + 1.0 < told[key]:
                self._politeness.released(key, due - time.monotonic())
                found.add(key)
        self._ended |= dict.fromkeys(found, asked_at)
        return bool(found)

    async def _acts(self) -> list[Act]:
        booker = self._politeness.booker
        return await booker.call(acts, booker.store)

    async def _say_who_has_ended(self) -> None:
        """One line for each hold that a person has ended. He signs for it a moment later."""
        if not self._ended:
            return
        done = await self._acts()
        for act in done:
            if act not in self._signed and act.verb in ENDS and self._ended.pop(act.key, None) is not None:
                logger.info("By hand: %s", act.sentence())
        self._signed = set(done)
        for key in [key for key, at in self._ended.items() if time.monotonic() - at > SIGNED_WITHIN]:
            del self._ended[key]
            logger.info("Hold ended by hand: %s", key)

    async def _say_what_waits(self, agenda: Agenda) -> None:
        """Once a minute in which nothing was sent."""
        now, engine = time.monotonic(), self._crawler.engine
        slot = engine._slot if engine is not None else None
        if now - max(self._said_at, self._politeness.sent_at or 0.0) < SAY_EVERY or engine is None or slot is None:
            return
        found = agenda.next_site
        if found is None or found[1] <= 1.0 or engine.downloader.active or engine.paused or slot.closing is not None:
            return
        site, due = found
        keys = self._politeness.keys_of(site) or (site,)
        peeks = await self._politeness.booker.call(self._politeness.booker.store.peek, keys)
        by = max(keys, key=lambda key: peeks[key].hold_in)
        cause = peeks[by].cause
        why = f"{cause.kind}: {cause.reason}" if cause is not None else "its rate"
        requests = agenda.turns_waiting + (len(slot.scheduler) if isinstance(slot.scheduler, Sized) else 0)
        self._said_at = now
        logger.info(
            "Waiting: %s of %s; next %s in %s, at %s (%s%s)",
            plural(requests, "request"),
            plural(agenda.sites_waiting, "site"),
            site,
            span(due),
            time.strftime("%H:%M:%S", time.localtime(time.time() + due)),
            f"{by} is held, " if cause is not None and by != site else "",
            why,
        )

    async def _close_if_all_is_held(self, agenda: Agenda) -> None:
        """Twice in a row, so that nothing is on its way from one place to another."""
        if not self._seems_held(agenda):
            self._still = False
            return
        if not self._still:
            self._still = True
            return
        if time.monotonic() < self._ask_at:
            return
        self._ask_at = time.monotonic() + ASK_AGAIN
        engine = self._crawler.engine
        assert engine is not None
        if not await self._is_held(agenda) or not self._seems_held(agenda):
            return
        why = self._closes_for()
        if why is not None:
            logger.info("All that is left is held for more than %g s: the spider closes", self._politeness.config.defer_after)
            # Not awaited: what ends with the spider waits for the end of this.
            self._closing = asyncio.get_running_loop().create_task(engine.close_spider_async(reason=why))

    def _seems_held(self, agenda: Agenda) -> bool:
        engine = self._crawler.engine
        slot = engine._slot if engine is not None else None
        if engine is None or slot is None or slot.closing is not None or engine.paused or not engine.running:
            return False
        scraper = engine.scraper.slot
        # Pages whose images wait are in the scraper; they go on when these are told.
        at_rest = scraper is None or scraper.is_idle() or agenda.turns_waiting > 0
        if engine._start is not None or engine.downloader.active or agenda.is_opening or not at_rest:
            return False
        due = agenda.next_due
        return due is not None and due > self._politeness.config.defer_after

    async def _is_held(self, agenda: Agenda) -> bool:
        """Whether a hold is what every site waits for, and not a slow rate."""
        booker, after = self._politeness.booker, self._politeness.config.defer_after
        sites = agenda.waiting_sites()
        for start in range(0, len(sites), ASKED):
            some = {site: self._politeness.keys_of(site) or (site,) for site in sites[start : start + ASKED]}
            peeks = await booker.call(booker.store.peek, {key for keys in some.values() for key in keys})
            if any(max(peeks[key].hold_in for key in keys) <= after for keys in some.values()):
                return False
        return True

    def _closes_for(self) -> str | None:
        """The reason to close for; None: somebody wants the spider open."""
        self._politeness.all_held = True
        try:
            answers = self._crawler.signals.send_catch_log(
                signals.spider_idle, spider=self._crawler.spider, dont_log=(DontCloseSpider, CloseSpider)
            )
        finally:
            self._politeness.all_held = False
        errors = [answer.value for _, answer in answers if isinstance(answer, Failure)]
        if any(isinstance(error, DontCloseSpider) for error in errors):
            return None
        return next((error.reason for error in errors if isinstance(error, CloseSpider)), ALL_HELD)
