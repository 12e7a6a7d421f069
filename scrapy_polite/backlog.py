"""How many bytes of images may lie in memory between their download and their store."""

from __future__ import annotations

import asyncio

__all__ = ["Backlog"]


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
