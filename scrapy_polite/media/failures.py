"""Why an image did not come, or could not be stored: one word each, which is its outcome in `polite/images/<outcome>`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scrapy.exceptions import CannotResolveHostError, DownloadCancelledError, IgnoreRequest

from scrapy_polite.errors import RequestRefused
from scrapy_polite.images.policy import Rejected

if TYPE_CHECKING:
    from scrapy.http import Response

__all__ = ["OUTCOMES", "QUIET", "why_failed", "why_not_kept"]

OUTCOMES: Final = (
    "deferred",
    "same_source",
    "bad_url",
    "http_error",
    "redirected",
    "empty",
    "refused",
    "robots",
    "filtered",
    "unresolved",
    "failed",
    "not_stored",
)
"""What may become of an image besides what its bytes decide (`images.policy.OUTCOMES`)."""

QUIET: Final = frozenset({"refused", "robots", "filtered"})
"""Outcomes that somebody has decided: nothing went wrong."""

FORBIDDEN: Final = "Forbidden by robots.txt"
"""All that tells Scrapy's IgnoreRequest for robots.txt (2.16 to 2.19) from those of other middlewares."""

UNPACKED: Final = "exceeded DOWNLOAD_MAXSIZE"
"""What it says of a compressed body that is too long."""

_LONGEST: Final = 300  # characters of what an exception says


def why_failed(error: BaseException | None, most: int) -> Rejected:
    """For an exception of the downloader or its middlewares. most: bytes that the image may have had."""
    said = f"{type(error).__name__}: {error}"[:_LONGEST]
    if isinstance(error, DownloadCancelledError) or (isinstance(error, IgnoreRequest) and UNPACKED in str(error)):
        return Rejected("too_many_bytes", f"download stopped at {most} bytes")
    if isinstance(error, RequestRefused):
        return Rejected("refused", str(error))
    if isinstance(error, IgnoreRequest):
        return Rejected("robots" if str(error).startswith(FORBIDDEN) else "filtered", str(error)[:_LONGEST] or said)
    if isinstance(error, CannotResolveHostError):
        return Rejected("unresolved", str(error)[:_LONGEST])
    return Rejected("failed", said)


def why_not_kept(response: Response) -> Rejected | None:
    """For an answer that is no image, whatever its body; None for one that may be."""
    if 300 <= response.status < 400:
        where = (response.headers.get("Location") or b"nowhere").decode("latin-1")[:_LONGEST]
        return Rejected("redirected", f"status {response.status}, to {where}; MEDIA_ALLOW_REDIRECTS = True follows it")
    if response.status != 200:
        return Rejected("http_error", f"status {response.status}")
    return None if response.body else Rejected("empty", "a body of no bytes")
