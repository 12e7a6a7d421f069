"""How the store is asked: at once where it answers at once, from a thread where it is across a network.

A thread asks, and the reactor glances at it for a few milliseconds: a server that is near has answered by then, and the request
goes in the same call, as with a local store. What had to go back through the reactor's queue would wait there behind every
callback that is ready, and often longer than its slot is wide. A server that is far, busy or hung costs the reactor one such
glance a second. What is asked while an answer is under way goes together in the next call: a busy crawl needs few round trips.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
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


GLANCE: Final = 0.005
"""Seconds that the reactor waits for an answer itself. A Postgres in the same network answers in 0.1 to 2 ms."""

GLANCE_AGAIN: Final = 1.0
"""Seconds without a glance after one that saw no answer."""

JUDGED: Final = 20
"""Answers after which a store is called too far away."""


class Booker:
    """One per crawl, around its store. ``width`` of a slot, in microseconds. That the store cannot answer, and that it answers
    again, is said once each."""

    def __init__(self, store: Store, width: int) -> None:
        self.store = store
        self._width = width
        self.blocking = bool(getattr(store, "blocking", False))
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="polite-store") if self.blocking else None
        self._pending: list[tuple[Want, Answered]] = []
        self._under_way = False
        self._troubled = False
        self._owed: deque[Callable[[], object]] = deque()
        self._offset = 0
        self._best_trip = 0
        self._trips = 0
        self._glance_at = 0.0
        self._retry: asyncio.TimerHandle | None = None

    def book(self, want: Want, answered: Answered) -> None:
        """One slot on all keys of ``want``. A store that cannot answer means: not now."""
        if self._pool is None:
            answered(self._ask([want], 0)[0])
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

    @property
    def blur(self) -> int:
        """Microseconds by which :meth:`now` may be off."""
        return self._best_trip

    def close(self) -> None:
        """Pay what is owed, and close the store."""
        if self._retry is not None:
            self._retry.cancel()
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

    def _ask(self, wants: list[Want], ahead: int) -> list[Booked | Wait]:
        began = time.monotonic_ns() // 1000
        try:
            self._pay()
            answers = self.store.book(wants, ahead) if wants else []
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
        trip = ended - began
        self._trips += 1
        near = not self._best_trip or trip <= 2 * self._best_trip
        self._best_trip = min(self._best_trip or trip, trip)
        booked = next((answer for answer in answers if isinstance(answer, Booked)), None)
        if booked is not None and (near or not self._offset):
            self._offset = booked.now - (began + ended) // 2
        if self._trips == JUDGED and self._best_trip > self._width:
            logger.warning(
                "The quickest of %d answers of the store took %.0f ms, longer than POLITE_SLOT_WIDTH (%.0f ms): many slots "
                "have passed when their answer is here, and their part of the rate is lost. Bring the store nearer, or make "
                "the slots wider",
                JUDGED,
                self._best_trip / 1e3,
                self._width / 1e3,
            )

    def _send(self) -> None:
        while not self._under_way and (self._pending or self._owed):
            assert self._pool is not None
            batch, self._pending = self._pending, []
            glance = bool(batch) and time.monotonic() >= self._glance_at
            # Who glances has the answer at once: the slot can be now, as with a local store.
            future = self._pool.submit(self._ask, [want for want, _ in batch], 0 if glance else AHEAD)
            if glance:
                try:
                    answers = future.result(GLANCE)
                except NotYet:
                    self._glance_at = time.monotonic() + GLANCE_AGAIN
                else:
                    self._answer(batch, answers)
                    if self._troubled:
                        self._send_later()
                        return
                    continue
            self._under_way = True
            asyncio.wrap_future(future).add_done_callback(partial(self._came_back, batch))

    def _came_back(self, batch: list[tuple[Want, Answered]], future: asyncio.Future[list[Booked | Wait]]) -> None:
        self._under_way = False
        if future.cancelled():
            return
        self._answer(batch, future.result())
        if self._troubled:
            self._send_later()
        else:
            self._send()

    def _send_later(self) -> None:
        if self._retry is None:
            self._retry = asyncio.get_running_loop().call_later(RETRY / 1e6, self._send_again)

    def _send_again(self) -> None:
        self._retry = None
        self._send()

    @staticmethod
    def _answer(batch: list[tuple[Want, Answered]], answers: list[Booked | Wait]) -> None:
        for (_, answered), answer in zip(batch, answers, strict=True):
            answered(answer)
