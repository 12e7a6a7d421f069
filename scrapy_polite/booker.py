"""How the store is asked: at once where it answers at once, from a thread where it is across a network.

Any thread may ask. What is asked while an answer is under way goes together in the next call: a busy crawl needs few round
trips. The answers come in the thread that asked the store, or in the reactor's, which glances for a few milliseconds at what it
has asked for itself: a server that is near has answered by then, where the reactor's queue would hold the answer up behind
every callback that is ready. A server that is far, busy or hung costs the reactor one such glance a second.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from scrapy_polite.limits.gcra import Booked, Wait
from scrapy_polite.stores.base import StoreError
from scrapy_polite.wording import span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_polite.limits.gcra import Want
    from scrapy_polite.stores.base import Store

__all__ = ["RETRY", "Booker"]

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

SAY_AGAIN: Final = 60.0
"""Seconds after which it is said again that the store cannot answer, as long as it is asked."""

BLUR: Final = 3_000
"""Microseconds. The store's clock is known to half a round trip at worst, and usually much better."""

JUDGED: Final = 20
"""Answers after which a store is called too far away."""


class Booker:
    """One per crawl, around its store, made in the reactor's thread. ``width`` of a slot, in microseconds. That the store
    cannot answer is said at once and then every minute, that it answers again once. ``clock``: seconds, monotonic."""

    def __init__(self, store: Store, width: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.store = store
        self._width = width
        self.blocking = bool(getattr(store, "blocking", False))
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="polite-store") if self.blocking else None
        self._reactor = threading.get_ident()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = threading.Lock()
        """Around ``_pending`` and ``_under_way``."""
        self._pending: list[tuple[Want, Answered]] = []
        self._under_way = False
        self._clock = clock
        self._troubled: float | None = None
        """Since when the store cannot answer."""
        self._trouble_at = self._said_at = 0.0
        self._owed: deque[Callable[[], object]] = deque()
        self._one_at_a_time = threading.RLock()
        """Around the store's ``book`` and what is owed."""
        self._offset = 0
        self._best_trip = 0
        self._last_trip = 0
        self._trips = 0
        self._glance_at = 0.0
        self._retry: asyncio.TimerHandle | None = None
        self._closed = False

    def book(self, want: Want, answered: Answered) -> None:
        """One slot on all keys of ``want``; answered in this call, or in another thread. A store that cannot answer means: not
        now."""
        if self._pool is None:
            answered(self._ask([want], 0)[0])
            return
        with self._turn:
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
        self.note(write)
        self.pay()

    def note(self, write: Callable[[], object]) -> None:
        """The same from any thread: in time for the next booking, and told by the next :meth:`pay`."""
        self._owed.append(write)

    def give_back(self, refunds: Sequence[tuple[str, int]], given: Callable[[], None]) -> None:
        """Refund so many microseconds of each key, and then call ``given``, in the reactor's thread: at once, or when a store
        across a network has answered, for which nobody waits. Never tried twice, for that could give back twice: what the
        store cannot take is lost, which is safe."""
        if self._pool is None:
            if self._give_back(refunds):
                given()
            return
        loop = asyncio.get_running_loop()

        def away() -> None:
            if self._give_back(refunds):
                with suppress(RuntimeError):  # The loop was closed.
                    loop.call_soon_threadsafe(given)

        with suppress(RuntimeError):  # The pool was shut down: the crawl has ended.
            self._pool.submit(away)

    def _give_back(self, refunds: Sequence[tuple[str, int]]) -> bool:
        try:
            for key, micros in refunds:
                self.store.settle(key, -micros)
        except StoreError as error:
            self.trouble(error)
            return False
        return True

    def pay(self) -> None:
        """Tell what is owed now, or as soon as the store answers again. In the reactor's thread."""
        with suppress(RuntimeError):  # A command, or the end of one.
            self._loop = asyncio.get_running_loop()
        if self._pool is not None:
            self._send()
        elif self._owed:
            try:
                self._pay()
            except StoreError as error:
                self.trouble(error)
                self._pay_later()

    def now(self) -> int:
        """The store's clock, in microseconds; of a store across a network what it was at the quickest of the last answers,
        carried on."""
        return time.monotonic_ns() // 1000 + self._offset if self.blocking else self.store.now()

    @property
    def blur(self) -> int:
        """Microseconds by which :meth:`now` is off, or less; not more than would matter to the distance of two requests."""
        return min(self._best_trip // 2, BLUR)

    def close(self) -> None:
        """Pay what is owed, and close the store."""
        self._closed = True
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
        """The store could not answer, whoever has asked."""
        now, since = self._clock(), self._troubled
        # That it was well between is learned by a booking, and there may have been none.
        if since is None or now - self._trouble_at > SAY_AGAIN:
            self._troubled = self._said_at = now
            logger.error("The store cannot answer, nothing is sent until it does: %s", error)
        elif now - self._said_at >= SAY_AGAIN:
            self._said_at = now
            logger.error("The store cannot answer for %s now, nothing is sent: %s", span(now - since), error)
        self._trouble_at = now

    def _well(self) -> None:
        if self._troubled is not None:
            self._troubled = None
            logger.info("The store answers again: requests go on")

    def _ask(self, wants: list[Want], ahead: int) -> list[Booked | Wait]:
        with self._one_at_a_time:
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
        with self._one_at_a_time:
            while self._owed:
                self._owed[0]()
                self._owed.popleft()

    def _read_clock(self, answers: list[Booked | Wait], began: int, ended: int) -> None:
        trip = ended - began
        self._trips += 1
        near = not self._best_trip or trip <= 2 * self._best_trip
        self._best_trip, self._last_trip = min(self._best_trip or trip, trip), trip
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
        while (batch := self._next_batch()) is not None and self._pool is not None:
            wants = [want for want, _ in batch]
            # One whose answer is here at once is asked for a slot that is now, as a local store is.
            future = self._pool.submit(self._ask, wants, 0 if self._last_trip < GLANCE * 1e6 else AHEAD)
            if not (wants and self._glance(future)):
                future.add_done_callback(partial(self._came_back, batch))
                return
            if not self._answer(batch, future):
                return

    def _glance(self, future: Future[list[Booked | Wait]]) -> bool:
        """Whether the answer is here, and this is the reactor's thread."""
        if threading.get_ident() != self._reactor or time.monotonic() < self._glance_at:
            return False
        with suppress(NotYet):
            future.result(GLANCE)
            return True
        self._glance_at = time.monotonic() + GLANCE_AGAIN
        return False

    def _next_batch(self) -> list[tuple[Want, Answered]] | None:
        with self._turn:
            if self._under_way or not (self._pending or self._owed):
                return None
            self._under_way = True
            batch, self._pending = self._pending, []
            return batch

    def _came_back(self, batch: list[tuple[Want, Answered]], future: Future[list[Booked | Wait]]) -> None:
        if not future.cancelled() and self._answer(batch, future):
            self._send()

    def _answer(self, batch: list[tuple[Want, Answered]], future: Future[list[Booked | Wait]]) -> bool:
        """Tell the answers; whether the store is well, and can be asked more."""
        self._under_way = False
        well = self._troubled is None
        for (_, answered), answer in zip(batch, future.result(), strict=True):
            try:
                answered(answer)
            except Exception:
                # Whatever it was, the others get their answers, and what was asked meanwhile is sent.
                logger.exception("An answer of the store could not be used")
        if not well:
            self._pay_later()
        return well

    def _pay_later(self) -> None:
        """Lines ask again by themselves; but what is owed must be told, whether anybody waits or not."""
        if self._loop is None or self._closed:
            return
        if threading.get_ident() != self._reactor:
            with suppress(RuntimeError):  # It was closed.
                self._loop.call_soon_threadsafe(self._pay_later)
        elif self._retry is None:
            self._retry = self._loop.call_later(RETRY / 1e6, self._pay_again)

    def _pay_again(self) -> None:
        self._retry = None
        self.pay()
