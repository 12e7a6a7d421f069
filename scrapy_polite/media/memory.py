"""What a crawl remembers of its images: as much at its end as after an hour.

Scrapy keeps for the whole crawl what became of each, and a failure of them with all that its traceback holds: the item, the
request and the response. Here the oldest are forgotten, and plain values are kept. What is forgotten is found in the store.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, cast

from scrapy.pipelines.images import ImagesPipeline
from twisted.python.failure import Failure

from scrapy_polite.images.policy import Rejected
from scrapy_polite.media.info import ImageRejected, copied

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.pipelines.media import FileInfo

__all__ = ["REMEMBERED", "BoundedInfo", "Results"]

REMEMBERED: Final = 10_000
"""Images of a crawl of which it is known what became of them: some 1 KB each, and as much for each size."""


class Results(OrderedDict[bytes, Any]):
    """Results by a request's fingerprint, as Scrapy's dict: what is put in comes out as another object with the same values.
    Those go first that were not asked for for the longest time."""

    def __init__(self, capacity: int = REMEMBERED) -> None:
        super().__init__()
        self._capacity = capacity

    def __contains__(self, fingerprint: object) -> bool:
        # Scrapy asks whether it is here, and takes it a while later.
        if not super().__contains__(fingerprint):
            return False
        self.move_to_end(cast("bytes", fingerprint))
        return True

    def __setitem__(self, fingerprint: bytes, result: FileInfo | Failure) -> None:
        super().__setitem__(fingerprint, _plain(result))
        while len(self) > self._capacity:
            del self[next(iter(self))]

    def __getitem__(self, fingerprint: bytes) -> FileInfo | Failure:
        kept = super().__getitem__(fingerprint)
        if isinstance(kept, Rejected):
            return Failure(ImageRejected(kept.outcome, kept.detail))  # type: ignore[no-untyped-call,unused-ignore]
        if isinstance(kept, Exception):
            return Failure(copy.copy(kept))  # type: ignore[no-untyped-call,unused-ignore]
        return copied(kept)


class BoundedInfo(ImagesPipeline.SpiderInfo):  # type: ignore[misc,unused-ignore]
    """Scrapy's object for what is under way and what was; the former ends with each item."""

    def __init__(self, spider: Spider) -> None:
        super().__init__(spider)
        self.downloaded: dict[bytes, FileInfo | Failure] = Results()


def _plain(result: FileInfo | Failure) -> Rejected | Exception | FileInfo:
    """Without anything that holds an item, a request or a response."""
    if not isinstance(result, Failure):
        return copied(result)
    error = result.value
    if isinstance(error, ImageRejected):
        return Rejected(error.outcome, error.detail)
    try:
        other = copy.copy(error)  # A copy has no traceback, and no cause.
    except Exception:  # Whatever the class of a project's exception raises.
        other = None
    return other if isinstance(other, Exception) else Rejected("failed", f"{type(error).__name__}: {error}")
