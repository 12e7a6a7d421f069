"""Where the scheduler's requests lie, by site: in memory in Scrapy's own queues, or in the one file of a ``JOBDIR``.

A request stays in the file until the engine has finished with it: its callback has run to the end, and what it yielded was
queued or has left the pipelines. See :mod:`scrapy_polite.diskqueue` for what a kill can and cannot take.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from typing import TYPE_CHECKING, Any, Final, Protocol

from queuelib import queue as queuelib
from scrapy.pqueues import ScrapyPriorityQueue

from scrapy_polite import requestjson
from scrapy_polite.agenda import wake_engine
from scrapy_polite.diskqueue import DiskQueue, Row
from scrapy_polite.takeover import OURS, Left

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from scrapy import Request
    from scrapy.crawler import Crawler

__all__ = ["InMemory", "OnDisk", "Shelf"]

logger = logging.getLogger(__name__)

COMMIT_AFTER: Final = 0.05
"""Seconds of work that a kill can take back, and that is done anew: how long changes on disk are gathered."""

COMMIT_AGAIN: Final = 1.0
"""Seconds until the disk is tried again that has failed."""

IMAGES: Final = "images"
"""Where images that were put off lie in the file. No site: their names have a colon."""

FIFO: Final = (queuelib.FifoDiskQueue, queuelib.FifoSQLiteQueue)


class Shelf(Protocol):
    """Where the requests of all sites lie, in memory or on disk."""

    def push(self, site: str, request: Request) -> None: ...

    def pop(self, site: str) -> Request | None:
        """None when what was left of the site cannot be read, or the disk fails."""
        ...

    def peek(self, site: str) -> Request | None:
        """None when it cannot be read, or the disk fails."""
        ...

    def asked(self) -> None: ...

    def sites(self) -> Iterator[str]: ...

    def close(self) -> list[object]: ...

    def __contains__(self, site: str) -> bool: ...

    def __len__(self) -> int: ...


class _Pile:
    """The requests of one site in memory, in Scrapy's own queues, whose own length takes time to tell."""

    __slots__ = ("length", "queue")

    def __init__(self, queue: ScrapyPriorityQueue, *requests: Request) -> None:
        self.queue = queue
        for request in requests:
            queue.push(request)
        self.length = len(requests)


class InMemory:
    """A site with one request is that request: most of a broad crawl's are, and Scrapy's queues cost 2 KB each."""

    def __init__(self, crawler: Crawler, downstream: Any, start: Any) -> None:
        self._queue_of = (crawler, downstream, start)
        self._sites: dict[str, Request | _Pile] = {}
        self._length = 0

    def push(self, site: str, request: Request) -> None:
        found = self._sites.get(site)
        if found is None:
            self._sites[site] = request
        elif isinstance(found, _Pile):
            found.queue.push(request)
            found.length += 1
        else:
            crawler, downstream, start = self._queue_of
            queue = ScrapyPriorityQueue(crawler, downstream, site, start_queue_cls=start)
            self._sites[site] = _Pile(queue, found, request)
        self._length += 1

    def pop(self, site: str) -> Request | None:
        found = self._sites[site]
        self._length -= 1
        if not isinstance(found, _Pile):
            del self._sites[site]
            return found
        found.length -= 1
        if not found.length:
            del self._sites[site]
        return found.queue.pop()

    def peek(self, site: str) -> Request | None:
        found = self._sites[site]
        return found.queue.peek() if isinstance(found, _Pile) else found

    def asked(self) -> None:
        pass

    def sites(self) -> Iterator[str]:
        return iter(list(self._sites))

    def close(self) -> list[object]:
        self._sites.clear()
        self._length = 0
        return []

    def __contains__(self, site: str) -> bool:
        return site in self._sites

    def __len__(self) -> int:
        return self._length


class OnDisk:
    """Requests as JSON in the file, and what is out of it until the engine has finished with it."""

    def __init__(
        self,
        crawler: Crawler,
        directory: Path,
        state: Any,
        downstream: Any,
        start: Any,
        site_of: Callable[[Request], str],
    ) -> None:
        self._crawler = crawler
        self._site_of = site_of
        self._file = DiskQueue(directory)
        self._fifo = issubclass(downstream, FIFO)
        self._start_fifo = issubclass(start, FIFO) if start is not None else None
        self._out: dict[Request, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._troubled = False
        left = Left(crawler, directory, state, downstream, start)
        if left.mark:
            self._take_over(left)

    def push(self, site: str, request: Request) -> None:
        start = self._start_fifo is not None and request.meta.get("is_start_request", False)
        self._push(site, request, start, bool(self._start_fifo) if start else self._fifo)
        self._commit_soon()

    def pop(self, site: str) -> Request | None:
        if self._troubled:
            return None
        try:
            while (row := self._file.pop(site)) is not None:
                self._commit_soon()
                request = self._read(row)
                if request is not None:
                    self._out[request] = row.number
                    return request
        except sqlite3.Error as error:
            self._trouble(error)
        return None

    def peek(self, site: str) -> Request | None:
        if self._troubled:
            return None
        try:
            row = self._file.peek(site)
        except sqlite3.Error as error:
            self._trouble(error)
            return None
        return self._read(row) if row is not None else None

    def asked(self) -> None:
        """The engine asks for a request, as it does whenever it has finished with one."""
        if self._out:
            self._commit_soon()

    def sites(self) -> Iterator[str]:
        return (site for site in self._file.sites() if site != IMAGES)

    def put_off(self, image: Request) -> None:
        self._push(IMAGES, image, False, True)
        self._commit_soon()

    @property
    def images_put_off(self) -> int:
        return self._file.waiting(IMAGES)

    def take_up(self) -> tuple[int, Request] | None:
        if self._troubled:
            return None
        try:
            while (row := self._file.pop(IMAGES)) is not None:
                request = self._read(row)
                if request is not None:
                    return row.number, request
        except sqlite3.Error as error:
            self._trouble(error)
        return None

    def taken_up(self, number: int) -> None:
        self._file.done(number)
        self._commit_soon()

    def close(self) -> list[object]:
        if self._timer is not None:
            self._timer.cancel()
        state: list[object] = OURS if len(self) else []
        failed: Exception | None = None
        try:
            self._settle()
        except OSError as error:
            failed = error
        try:
            self._file.close()
        except sqlite3.Error as error:
            failed = error
        if failed is not None:
            logger.error(
                "The end of this run is not on disk (%s): the next one goes on where the queue on disk was last written, and "
                "makes again what was made since",
                failed,
            )
        return state

    def __contains__(self, site: str) -> bool:
        return site in self._file

    def __len__(self) -> int:
        return len(self._file) - self._file.waiting(IMAGES)

    def _push(self, site: str, request: Request, start: bool, fifo: bool) -> None:
        data = requestjson.write(request, self._crawler.spider)
        try:
            # Two places for each priority: start requests come after the others.
            self._file.push(site, 2 * -request.priority + start, fifo, data)
        except OverflowError:
            raise ValueError(f"{request}: a priority of {request.priority} does not fit the queue on disk") from None
        except sqlite3.Error as error:
            self._trouble(error)
            raise ValueError(f"{request} is kept in memory: {error}") from error

    def _read(self, row: Row) -> Request | None:
        """None for what this spider cannot read. It stays in the file, as out; the next run tries again."""
        try:
            return requestjson.read(row.data, self._crawler.spider)
        except Exception as error:
            logger.error("A request of the JOBDIR cannot be read, and stays there: %s: %s", error, row.data.decode()[:500])
            return None

    def _commit_soon(self, seconds: float = COMMIT_AFTER) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._commit)

    def _commit(self) -> None:
        self._timer = None
        try:
            self._settle()
            self._file.commit()
        except (sqlite3.Error, OSError) as error:
            self._trouble(error)
            return
        if self._troubled:
            self._troubled = False
            logger.info("The queue on disk can be written again: requests go on")
            wake_engine(self._crawler)

    def _settle(self) -> None:
        """Forget what the engine has finished with. There is no signal for that; the names are the same in Scrapy 2.16 to
        2.19, and a test holds them. And let the duplicate filter write what it knows, so that it and the file are one."""
        slot = self._crawler.engine._slot if self._crawler.engine is not None else None
        if slot is None:
            return
        for request in [request for request in self._out if request not in slot.inprogress]:
            self._file.done(self._out[request])
            del self._out[request]
        seen = getattr(getattr(slot.scheduler, "df", None), "file", None)
        if seen is not None and not seen.closed:
            seen.flush()

    def _trouble(self, error: sqlite3.Error | OSError) -> None:
        self._commit_soon(COMMIT_AGAIN)
        if not self._troubled:
            self._troubled = True
            logger.error(
                "The queue on disk cannot be written (%s): until it can, none of its requests is made, and new ones are kept "
                "in memory",
                error,
            )

    def _take_over(self, left: Left) -> None:
        """All or nothing; and once, however often a kill makes us come here again."""
        if self._file.note("taken over") != left.mark:
            unfit: list[tuple[Request, ValueError]] = []
            for request in left.requests():
                start = self._start_fifo is not None and request.meta.get("is_start_request", False)
                try:
                    # In the order in which they would have been served; those that come last go first, as before.
                    self._push(self._site_of(request), request, start, True)
                except ValueError as error:
                    unfit.append((request, error))
            self._file.write_note("taken over", left.mark)
            self._file.commit()
            logger.info("Taken over from another queue: %d requests", len(self._file))
            for request, why in unfit:
                logger.warning("Taken over into memory only: %s: %s", request, why)
                self._memory().push(request)
        left.remove()

    def _memory(self) -> Any:
        assert self._crawler.engine is not None
        assert self._crawler.engine._slot is not None
        return self._crawler.engine._slot.scheduler.mqs  # type: ignore[attr-defined]
