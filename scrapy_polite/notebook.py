"""What is learned of keys and outlives the process: read and written in the store, as long as that answers.

A crawl goes on without: what could not be read or written is learned again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_polite.stores.base import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_polite.booker import Booker

__all__ = ["Notebook"]


class Notebook:
    """One per crawl."""

    def __init__(self, booker: Booker) -> None:
        self._booker = booker

    async def read(self, subject: str) -> dict[str, str] | None:
        """What is noted of the subject, by kind; None where the store cannot tell now."""
        try:
            return (await self._booker.call(self._booker.store.notes, [subject])).get(subject, {})
        except StoreError as error:
            self._booker.trouble(error)
            return None

    async def write(self, subject: str, kind: str, text: str) -> None:
        """Note it, in place of what was noted of that kind."""
        try:
            await self._booker.call(self._booker.store.note, subject, kind, text)
        except StoreError as error:
            self._booker.trouble(error)

    async def amend(self, subject: str, kind: str, change: Callable[[str | None], str]) -> str | None:
        """Note what ``change`` makes of what is noted, as nobody else changes it meanwhile. What is noted then; None where the
        store cannot tell now. ``change`` may be called more than once, and from another thread."""
        try:
            return await self._booker.call(self._booker.store.amend, subject, kind, change)
        except StoreError as error:
            self._booker.trouble(error)
            return None
