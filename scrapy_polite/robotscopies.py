"""What is known of each robots.txt, shared through the store: of many processes one asks, and the others read its note."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from scrapy_polite.backoff.robotstxt import asked_in
from scrapy_polite.limits.gcra import Demand, Wait
from scrapy_polite.stores import robotsnotes
from scrapy_polite.stores.base import StoreError

if TYPE_CHECKING:
    from scrapy_polite.backoff.robotstxt import Known
    from scrapy_polite.booker import Booker

__all__ = ["Copies", "Lease"]

LEASE: Final = 30_000_000
"""Microseconds for which nobody else asks. Whoever has asked gives back what is left of them; one that was killed cannot."""

GLANCE: Final = 0.5
"""Seconds after which it is looked again for what another process is asking for."""


class Copies:
    """By ``netloc``: scheme, host and port. While the store is away every process asks for itself."""

    def __init__(self, booker: Booker) -> None:
        self._booker = booker

    async def get(self, netloc: str) -> Known | None:
        """What is known, by whoever has asked last."""
        try:
            return await self._booker.call(robotsnotes.known, self._booker.store, netloc)
        except StoreError as error:
            self._booker.trouble(error)
            return None

    async def keep(self, netloc: str, known: Known) -> None:
        try:
            await self._booker.call(robotsnotes.keep, self._booker.store, netloc, known)
        except StoreError as error:
            self._booker.trouble(error)

    def lease(self, netloc: str) -> Lease:
        return Lease(self, self._booker, netloc)


class Lease:
    """Of several processes that want to ask for one robots.txt the right to do so."""

    def __init__(self, copies: Copies, booker: Booker, netloc: str) -> None:
        self._copies = copies
        self._booker = booker
        self._netloc = netloc
        self._ends: float | None = None

    async def take(self) -> Known | None:
        """Wait until this process is the one to ask; None then. Or what another has heard meanwhile."""
        before: Known | None = None
        waited = False
        while not self.is_ours:
            # A slot of a key that nothing is sent for: the store gives it to one only, also across machines, and it passes by
            # itself where that one was killed.
            want = (Demand(robotsnotes.subject(self._netloc), LEASE, 0),)
            ends = time.monotonic() + LEASE / 1e6
            try:
                (answer,) = await self._booker.call(self._booker.store.book, [want])
            except StoreError as error:
                self._booker.trouble(error)
                return None
            if not isinstance(answer, Wait):
                self._ends = ends
                return None
            if not waited:
                before, waited = await self._copies.get(self._netloc), True
            await asyncio.sleep(min(GLANCE, answer.micros / 1e6))
            known = await self._copies.get(self._netloc)
            # An old failure is what both ask again after, where a person has ended the hold for it.
            if known is not None and asked_in(known, time.time()) > 0 and not (known.failures and known == before):
                return known
        return None

    @property
    def is_ours(self) -> bool:
        return self._ends is not None and time.monotonic() < self._ends

    def give_back(self) -> None:
        """Nobody has to wait for its end. Of one that has ended there is nothing to give back: another may have it."""
        if self.is_ours:
            self._booker.give_back([(robotsnotes.subject(self._netloc), LEASE)], lambda: None)
        self._ends = None
