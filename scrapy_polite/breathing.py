"""Room for everybody else while a spider's ``start()`` yields: a slot at the wire that comes in that time must not be missed.

While the downloader is full, Scrapy's engine takes one item after the other from ``start()`` without ever coming back to the
event loop: 20,000 plain requests hold it up for about a second.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["BreathingMiddleware"]

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
