"""Room for everybody else while a spider's ``start()`` yields: a slot at the wire that comes in that time must not be missed.

While the downloader is full, Scrapy's engine takes one item after the other from ``start()`` without ever coming back to the
event loop: 20,000 plain requests hold it up for about a second. And as they pile up Python collects garbage among all objects
that there are, time and again; half of those are the libraries'.
"""

from __future__ import annotations

import asyncio
import gc
import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["BreathingMiddleware", "Collector"]

BREATH_AFTER: Final = 0.005
"""Seconds of work after which the loop has its turn."""


class BreathingMiddleware:
    """A spider middleware; nothing is changed, left out or put in another order."""

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        breath = time.monotonic() + BREATH_AFTER
        async for item in start:
            yield item
            # The engine has queued it by now.
            if time.monotonic() > breath:
                await asyncio.sleep(0)
                breath = time.monotonic() + BREATH_AFTER


class Collector:
    """Python's garbage collector, which need not look at what was there before the first request: most of it stays, and what
    does not is looked for when the crawl has ended. Nothing is done where it is off, or somebody else has frozen something."""

    def __init__(self) -> None:
        self._frozen = False

    def spare(self) -> None:
        if gc.isenabled() and not gc.get_freeze_count():
            gc.collect()
            gc.freeze()
            self._frozen = True

    def look_again(self) -> None:
        if self._frozen:
            self._frozen = False
            gc.unfreeze()
