"""How much of what waits may lie in memory: images between their download and their store, and pages for their images."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

__all__ = ["Backlog", "bound_pages"]

PAGES: Final = 2_000
"""Pages that may wait for the images of their items. Each takes some 100 KB beside its body and 5 KB for each image, as Scrapy
makes CONCURRENT_ITEMS (100) tasks for it and keeps them; it counts the body alone, and 1 KB of that if it is shorter."""


def bound_pages(crawler: Crawler) -> None:
    """See to it that no more than so many are in the scraper, whatever the limit on their bytes: beyond it the engine takes no
    further request until some have left."""
    scraper = getattr(crawler.engine, "scraper", None)
    slot = getattr(scraper, "slot", None)
    if slot is not None:
        slot.MIN_RESPONSE_SIZE = max(slot.MIN_RESPONSE_SIZE, slot.max_active_size // PAGES)


class Backlog:
    """Bytes of bodies between download and store, and a gate that is shut while they are too many."""

    def __init__(self, limit: int) -> None:
        self._bytes, self._limit, self._open = 0, limit, asyncio.Event()
        self._open.set()

    @property
    def has_room(self) -> bool:
        return self._open.is_set()

    async def room(self) -> None:
        await self._open.wait()

    def add(self, count: int) -> None:
        self._bytes += count
        (self._open.clear if self._bytes >= self._limit else self._open.set)()
