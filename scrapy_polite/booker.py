"""How the store is asked: at once where it answers at once, from a thread where it is across a network.

What is asked while an answer is under way goes together in the next call: a busy crawl needs few round trips.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from scrapy_polite.limits.gcra import Booked, Wait
from scrapy_polite.stores.base import StoreError

if TYPE_CHECKING:
    from scrapy_polite.limits.gcra import Want
    from scrapy_polite.stores.base import Store

__all__ = ["Booker"]

logger = logging.getLogger(__name__)

Answered = Callable[[Booked | Wait], None]
T = TypeVar("T")

RETRY: Final = 1_000_000
"""Microseconds after which a store that could not answer is asked again."""

AHEAD: Final = 20_000
"""Microseconds that a slot may lie ahead, in a store across a network: about the slowest usual round trip. Booking further
ahead would leave holes in keys that sites share (142 of 3,000 slots used with no limit, 2,940 with this one)."""


class Booker:
    """One per crawl, around its store. That the store cannot answer, and that it answers again, is said once each."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.blocking = bool(getattr(store, "blocking", False))
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="polite-store") if self.blocking else None
        self._pending: list[tuple[Want, Answered]] = []
        self._under_way = False
        self._troubled = False
        self._owed: deque[Callable[[], object]] = deque()
        self._offset = 0
        self._best_trip = 0

    def book(self, want: Want, answered: Answered) -> None:
        """One slot on all keys of ``want``. A store that cannot answer means: not now."""
        if self._pool is None:
            answered(self._ask([want])[0])
            return
        self._pending.append((want, answered))
        self._send()

    async def call(self, function: Callable[..., T], *arguments: object) -> T:
        """Anything else that the store is asked. Raises ``StoreError`` as it does."""
        if self._pool is None:
            return function(*arguments)
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(function, *arguments))

    def owe(self, write: Callable[[], object]) -> None:
        """What the store is to be told before it is asked for a slot again, such as a hold. Tried until it is done, and perhaps
        done twice, since a lost connection does not say what it did: only what lengthens a wait is owed."""
        self._owed.append(write)
        if self._pool is None:
            try:
                self._pay()
            except StoreError as error:
                self.trouble(error)
        else:
            self._send()

    def now(self) -> int:
        """The store's clock, in microseconds; of a store across a network what it was at the quickest of the last answers,
        carried on."""
        return time.monotonic_ns() // 1000 + self._offset if self.blocking else self.store.now()

    def close(self) -> None:
        """Pay what is owed, and close the store."""
        try:
            self._pay()
        except StoreError as error:
            self.trouble(error)
        self.store.close()
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def trouble(self, error: StoreError) -> None:
        if not self._troubled:
            self._troubled = True
            logger.error("The store cannot answer, nothing is sent until it does: %s", error)

    def _well(self) -> None:
        if self._troubled:
            self._troubled = False
            logger.info("The store answers again: requests go on")

    def _ask(self, wants: list[Want]) -> list[Booked | Wait]:
        began = time.monotonic_ns() // 1000
        try:
            self._pay()
            answers = self.store.book(wants, AHEAD if self.blocking else 0) if wants else []
        except StoreError as error:
            self.trouble(error)
            return [Wait(RETRY, want[-1].key) for want in wants]
        self._well()
        if self.blocking and wants:
            self._read_clock(answers, began, time.monotonic_ns() // 1000)
        return answers

    def _pay(self) -> None:
        while self._owed:
            self._owed[0]()
            self._owed.popleft()

    def _read_clock(self, answers: list[Booked | Wait], began: int, ended: int) -> None:
        booked = next((answer for answer in answers if isinstance(answer, Booked)), None)
        if booked is not None and (not self._best_trip or ended - began <= 2 * self._best_trip):
            self._best_trip = min(self._best_trip or ended - began, ended - began)
            self._offset = booked.now - (began + ended) // 2

    def _send(self) -> None:
        if self._under_way or not (self._pending or self._owed):
            return
        self._under_way = True
        batch, self._pending = self._pending, []
        future = asyncio.get_running_loop().run_in_executor(self._pool, self._ask, [want for want, _ in batch])
        future.add_done_callback(partial(self._came_back, batch))

    def _came_back(self, batch: list[tuple[Want, Answered]], future: asyncio.Future[list[Booked | Wait]]) -> None:
        self._under_way = False
        if future.cancelled():
            return
        for (_, answered), answer in zip(batch, future.result(), strict=True):
            answered(answer)
        if self._troubled:
            asyncio.get_running_loop().call_later(RETRY / 1e6, self._send)
        else:
            self._send()
