"""The exceptions by which the Scrapy face says no.

Negative answers inside the core are values. These exist because Scrapy's middlewares, handlers and pipelines can be told
"not this request" only by raising. Both derive from ``IgnoreRequest``: nothing in Scrapy retries those, so a refusal that
nobody converts ends at the request's errback and never as a second attempt.
"""

from __future__ import annotations

from scrapy.exceptions import IgnoreRequest

__all__ = ["NotNow", "RequestRefused", "Unprotected"]


class RequestRefused(IgnoreRequest):  # type: ignore[misc,unused-ignore]
    """The guard will not make this request. ``reason`` is the code of the stat ``polite/refused/<reason>``."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"refused ({reason}): {detail}")
        self.reason = reason
        self.detail = detail


class NotNow(IgnoreRequest):  # type: ignore[misc,unused-ignore]
    """The request was not sent and must wait its turn again: a hold, a wait too long for the downloader, or shutdown."""

    def __init__(self, why: str) -> None:
        super().__init__(f"not now: {why}")
        self.why = why


class Unprotected(RequestRefused):
    """A layer of the guard is missing: nothing may be sent, and the crawl stops."""

    def __init__(self, detail: str) -> None:
        super().__init__("unprotected", detail)
