"""What follows from what a site answers: it is held, its origin perhaps too, and where it stands is noted for all processes.

Where a site stands on its ladders is what was noted last, whoever did it: a refusal is a step from there. So processes that are
refused together take one step together, and whoever comes later goes on where the others were. And all of them count together
which sites come back at one time, and so keep those apart.
"""

from __future__ import annotations

import asyncio
import random
import time
from functools import partial
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from scrapy_polite.backoff import spread
from scrapy_polite.backoff.ladders import State
from scrapy_polite.backoff.ladderwords import standing
from scrapy_polite.hearing import Hearing
from scrapy_polite.raised import Raises
from scrapy_polite.stores.base import Cause

if TYPE_CHECKING:
    from scrapy_polite.backoff.refusals import Refusal
    from scrapy_polite.hearing import Hold
    from scrapy_polite.notebook import Notebook
    from scrapy_polite.politeness import Politeness

__all__ = ["LADDERS", "Holding"]

LADDERS: Final = "ladders"
"""The kind of note on a site."""

TOGETHER: Final = "holds"
SPREAD: Final = "spread"
"""The subject and the kind of the note on which holds end together."""

PARKED_FOR: Final = 7 * 86_400.0
"""Seconds for which a key is parked that refuses for ever: a crawl that runs every night asks once more after a week."""


class Holding:
    """One per crawl, in the reactor's thread."""

    def __init__(self, politeness: Politeness, notebook: Notebook) -> None:
        self._politeness = politeness
        self._notebook = notebook
        self._hearing = Hearing(politeness.config.ladders, random.random)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Answers of one site are heard one after the other: what the first begins the others find in the store."""
        self._places: spread.Places = ()
        """What stands for the note on the spread while the store cannot tell."""
        self.raises = Raises(politeness, notebook)

    async def heard(self, site: str, url: str, refusal: Refusal | None, started: float, now: float) -> Hold | None:
        """One answer or failure of the site, of a request that ``started`` then (monotonic). The hold that it begins, or is a
        part of; None where there is none."""
        wall = time.time()
        turn = self._turns.setdefault(site, asyncio.Lock())
        async with turn:
            hold = await self._heard(site, url, refusal, started, now)
            if self._hearing.has_news(site):
                text = await self._notebook.amend(site, LADDERS, self._hearing.noting(site, now, wall))
                if text is not None:
                    self._hearing.noted(site, text, now, wall)
            return hold

    async def _heard(self, site: str, url: str, refusal: Refusal | None, started: float, now: float) -> Hold | None:
        hearing = self._hearing
        if not hearing.knows(site):
            await self._recall(site, now)
        if not hearing.acts(site, url, refusal, started) or refusal is None:
            return None
        await self._recall(site, now)
        asked = hearing.asks(site, refusal, started, now)
        hold = hearing.step(site, refusal, started, now, 0 if asked is None else await self._place(site, asked))
        self._politeness.count(f"backoff/{refusal.kind}")
        # The hold of another answer of the burst stands as it is, with its first cause, unless somebody has lifted it.
        if hold.begins or (hold.seconds > 0 and not await self._held(site)):
            config, state = self._politeness.config, hearing.state_of(site) or State()
            stands = standing(config.ladders.place(state, refusal.kind), state.refusals, config.park_after)
            await self._politeness.hold(site, hold.seconds, hold.cause, partial(self._politeness.holds.began, stands=stands))
        if hold.begins:
            await self.raises.began(site, hold)
            await self._park(site, hold)
        return hold

    async def _place(self, site: str, seconds: float) -> int:
        """The site's place among those whose holds end in so many seconds."""
        if not self._politeness.config.ladders.jitter:
            return 0
        now = self._politeness.booker.now() / 1e6
        places, place = spread.take(self._places, site, now + seconds, now)

        def change(text: str | None) -> str:
            nonlocal places, place
            places, place = spread.take(spread.from_text(text or ""), site, now + seconds, now)
            return spread.as_text(places)

        await self._notebook.amend(TOGETHER, SPREAD, change)
        self._places = places
        return place

    def forget(self, site: str) -> None:
        """A person has ended its hold, and the note on its ladders: it begins anew."""
        self._hearing.forget(site)

    async def _park(self, site: str, hold: Hold) -> None:
        """A site that refuses for ever is left to a person. Once: what was in flight then is refused, too."""
        refusals, enough = self._hearing.refusals(site), self._politeness.config.park_after
        if refusals < enough or hold.seconds >= PARKED_FOR / 2:
            return
        kind, stated = hold.refusal.kind, hold.refusal.stated
        rung = self._hearing.rung(site, kind)
        if stated is not None and stated < rung and refusals < 2 * enough:
            # Ten times `Retry-After: 1` are over in seconds, and may be a restart.
            why = f"{refusals} refusals though the times that it states were waited, the last: {hold.cause.reason}"
            await self._politeness.hold(site, rung, Cause(kind, why))
        else:
            why = f"{refusals} refusals with no good answer between, the last: {hold.cause.reason}"
            cause = Cause("parked", why, hold.cause.stated)
            self._politeness.count(f"backoff/{cause.kind}")
            await self._politeness.hold(site, PARKED_FOR, cause, self._politeness.holds.parked)

    async def _recall(self, site: str, now: float) -> None:
        before = self._hearing.state_of(site)
        text = (await self._notebook.read(site) or {}).get(LADDERS)
        if text is None:
            return
        held = await self._held(site)
        if self._hearing.state_of(site) is before:  # Nobody else of this process has gone on meanwhile.
            self._hearing.recall(site, text, held, now, time.time())

    async def _held(self, site: str) -> float:
        """Seconds that are left of its hold in the store."""
        return (await self._politeness.holds_of((site,))).get(site, 0.0)
