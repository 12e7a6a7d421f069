"""The duplicate filter's file in a ``JOBDIR``, on a disk that may be full.

Scrapy's filter writes each fingerprint as it sees it, and an error there would lose the request: it is seen from then on, and
was never queued.
"""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy.core.scheduler import BaseScheduler

__all__ = ["SeenFile", "keep_what_was_seen"]


class SeenFile:
    """In place of ``file``, which is open for appending. ``write`` always succeeds; what it was given is on disk when
    :meth:`flush` has succeeded, all of it or nothing."""

    def __init__(self, file: IO[Any]) -> None:
        file.flush()
        self._file = file
        self._waiting = bytearray()

    def write(self, data: str | bytes) -> int:
        self._waiting += data.encode() if isinstance(data, str) else data
        return len(data)

    def flush(self) -> None:
        """Raises ``OSError`` when the disk fails; what waits is kept for the next time."""
        if not self._waiting:
            return
        handle, written = self._file.fileno(), 0
        length = os.fstat(handle).st_size
        try:
            while written < len(self._waiting):
                written += os.write(handle, self._waiting[written:])
        except OSError:
            os.ftruncate(handle, length)
            raise
        self._waiting.clear()

    def close(self) -> None:
        """What cannot be written is forgotten, which may cost a request that is made twice."""
        try:
            self.flush()
        except OSError:
            self._waiting.clear()
        self._file.close()

    @property
    def closed(self) -> bool:
        return self._file.closed


def keep_what_was_seen(scheduler: BaseScheduler) -> None:
    """Put a :class:`SeenFile` under the duplicate filter, if it has a file. For that there is no public way; the names are the
    same in Scrapy 2.16 to 2.19, and a test holds them."""
    duplicates = getattr(scheduler, "df", None)
    file = getattr(duplicates, "file", None)
    if duplicates is not None and file is not None:
        duplicates.file = SeenFile(file)
