"""What people have said about origins, obeyed by one crawl: rulings, and limits by the names that origins had."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from scrapy_polite.origins.rulings import Rulings
from scrapy_polite.stores.obeying import undo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_polite.booker import Booker
    from scrapy_polite.limits.plan import Limits
    from scrapy_polite.origins.rulings import Ruling

__all__ = ["Obeying"]

logger = logging.getLogger(__name__)


class Obeying:
    """One per crawl. Its methods raise ``StoreError`` as the store has it."""

    def __init__(self, booker: Booker, limits: Limits) -> None:
        self._booker = booker
        self._store = booker.store
        self.limits = limits
        self.rulings = Rulings()
        self._taken = False

    async def take(self) -> None:
        """Obey the rulings that are in force, and undo in the store those that have run out, unless somebody else has. What is
        ruled or taken back while the crawl runs is said in its log."""
        new, gone = self.rulings.replace(await self._booker.call(self._store.rulings))
        if self._taken:
            for ruling in new:
                logger.info("By hand: %s", ruling.act)
            _say_gone(gone)
        self._taken = True
        self._undo(await self._booker.call(self._store.lapsed))
        await self._follow_names()

    async def look(self, now: float) -> None:
        """Let go what has run out at `now` (unix seconds), and follow the names that people have written down."""
        gone = self.rulings.expire(now)
        _say_gone(gone)
        self._undo(gone)
        await self._follow_names()

    def _undo(self, rulings: Iterable[Ruling]) -> None:
        for ruling in rulings:
            self._booker.owe(partial(undo, self._store, ruling))

    async def _follow_names(self) -> None:
        names = {*self.rulings.origins, *self.limits.origins}
        if names:
            standing = await self._booker.call(self._store.standing, sorted(names))
            self.rulings.stand(standing)
            self.limits.stand(standing)


def _say_gone(rulings: Iterable[Ruling]) -> None:
    for ruling in rulings:
        logger.info("No longer in force: %s", ruling.act)
