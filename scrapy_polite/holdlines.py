"""What the log says of holds: each once, whoever has begun it, and never once a request."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from scrapy_polite.remembering import Remembering
from scrapy_polite.wording import lasting, span

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_polite.stores.base import Cause

__all__ = ["HoldLines"]

logger = logging.getLogger(__name__)

REMEMBERED: Final = 50_000
"""Keys of which it is known what was said."""

SHORT: Final = 1.0
"""Seconds. What others have begun and is over by then needs no line."""

ALIKE: Final = 2.0
"""Seconds by which an end may differ and be the one that was said: a clock is read twice, and a store may be far."""


class HoldLines:
    """One per crawl. ``clock``: seconds, monotonic."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said: dict[str, tuple[Cause, float]] = Remembering(REMEMBERED)

    def began(self, key: str, seconds: float, cause: Cause, stands: str = "") -> None:
        """This process has begun a hold, or made one longer. ``stands``: where the key
        stands on its ladder."""
        logger.info("Hold: %s for %s (%s: %s%s)", key, span(seconds), cause.kind, cause.reason, f"; {stands}" if stands else "")
        self.know(key, seconds, cause)

    def parked(self, key: str, seconds: float, cause: Cause) -> None:
        """This process has left a key to a person."""
        force = " --force" if cause.stated else ""
        ends = f"scrapy polite release {key}{force}"
        logger.warning("Parked: %s for %s: %s. `%s` lets it go on sooner", key, span(seconds), cause.reason, ends)
        self.know(key, seconds, cause)

    def know(self, key: str, seconds: float, cause: Cause) -> None:
        """Somebody else says it, in words of his own."""
        self._said[key] = cause, self._clock() + seconds

    def met(self, key: str, seconds: float, cause: Cause) -> None:
        """The store has a hold of a key that the crawl waits for: said if it is another process's, or a person's."""
        known, until = self._said.get(key, (None, 0.0))
        same = known is not None and (known.kind, known.reason) == (cause.kind, cause.reason)
        if seconds <= SHORT or (same and self._clock() + seconds <= until + ALIKE):
            return
        logger.info("Already held: %s %s (%s: %s)", key, lasting(seconds), cause.kind, cause.reason)
        self.know(key, seconds, cause)

    def ended(self, key: str) -> None:
        """A person has ended it: the next is said, also if it is like this one."""
        self._said.pop(key, None)
