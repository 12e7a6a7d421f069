"""The exceptions by which the Scrapy face says no.

Negative answers inside the core are values. These exist because Scrapy's middlewares, handlers and pipelines can be told
"not this request" only by raising. Both derive from ``IgnoreRequest``: nothing in Scrapy retries those, so a refusal that
nobody converts ends at the request's errback and never as a second attempt.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response

__all__ = ["NoAddressError", "NotNow", "RequestRefused", "Unprotected", "said_at_start"]

logger = logging.getLogger(__name__)


@contextmanager
def said_at_start() -> Iterator[None]:
    """A ``ValueError`` inside stops the crawl before it starts; here it is said in one line of the log, at the highest level.
    What Scrapy makes of it is a traceback, at a level that a project may have switched off."""
    try:
        yield
    except ValueError as error:
        logger.critical("The crawl does not start: %s", error)
        raise


class NoAddressError(Exception):
    """The cause of a ``CannotResolveHostError`` of ours: reason and detail of :class:`~scrapy_polite.dns.answers.NoAnswer`."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


class RequestRefused(IgnoreRequest):  # type: ignore[misc,unused-ignore]
    """The guard will not make this request. ``reason`` is the code of the stat ``polite/refused/<reason>``. ``detail`` names
    addresses of the network that the crawl runs in: it is for the operator's log, and not in the text of the exception, which
    may end in an item or in the answer of a service to whoever chose the URL."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"refused by the guard ({reason})")
        self.reason = reason
        self.detail = detail


class NotNow(IgnoreRequest):  # type: ignore[misc,unused-ignore]
    """The request was not sent and must wait its turn again: a hold, a wait too long for the downloader, or shutdown."""

    def __init__(self, why: str, request: Request | None = None, after: Response | Exception | None = None) -> None:
        super().__init__(f"not now: {why}")
        self.why = why
        self.after = after
        """The answer to this request, or its failure, by which its site is held now."""
        self.request = request
        """The one that was not sent, where whoever fetches it is told: after a redirect it is another than was asked for."""


class Unprotected(RequestRefused):
    """A layer of the guard is missing: nothing may be sent, and the crawl stops."""

    def __init__(self, detail: str) -> None:
        super().__init__("unprotected", detail)
