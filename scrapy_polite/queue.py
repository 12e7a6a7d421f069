"""The scheduler's priority queue: sites inside origins, each in its turn, and None while nothing is due.

Set as ``SCHEDULER_PRIORITY_QUEUE`` by the add-on. The scheduler makes up to two of them, one in memory and one on disk
(``JOBDIR``); both ask the one agenda of the crawler, which is fair between them. Inside a site priorities are Scrapy's.
A ``JOBDIR`` that Scrapy's own priority queues wrote is taken over, and theirs can take over ours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.pqueues import ScrapyPriorityQueue

from scrapy_polite.agenda import Agenda
from scrapy_polite.politeness import Politeness

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

__all__ = ["OriginQueue"]


def path_safe(text: str) -> str:
    """A directory name for a site, as Scrapy's DownloaderAwarePriorityQueue makes it, so that either resumes the other's."""
    safe = "".join(character if character.isalnum() or character in "-._" else "_" for character in text)
    return f"{safe}-{hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()}"


class OriginQueue:
    """See the module. The arguments and methods are those that Scrapy's scheduler uses."""

    @classmethod
    def from_crawler(
        cls,
        crawler: Crawler,
        downstream_queue_cls: Any,
        key: str,
        startprios: Any = None,
        *,
        start_queue_cls: Any = None,
    ) -> OriginQueue:
        return cls(crawler, downstream_queue_cls, key, startprios, start_queue_cls=start_queue_cls)

    def __init__(
        self,
        crawler: Crawler,
        downstream_queue_cls: Any,
        key: str,
        startprios: Any = None,
        *,
        start_queue_cls: Any = None,
    ) -> None:
        self._crawler = crawler
        self._downstream = downstream_queue_cls
        self._start = start_queue_cls
        self._key = key
        self._agenda = agenda_of(crawler)
        self._sites: dict[str, ScrapyPriorityQueue] = {}
        self._counts: dict[str, int] = {}
        self._length = 0
        if isinstance(startprios, Mapping):
            self._resume(startprios)
        elif startprios:
            self._take_over(startprios)

    def push(self, request: Request) -> None:
        """Raises ``ValueError`` for a request that does not fit a disk queue: the scheduler then keeps it in memory."""
        site = self._agenda.site(request)
        queue = self._sites.get(site)
        new = queue is None
        if queue is None:
            queue = self._sites[site] = self._queue(site)
        try:
            queue.push(request)
        except BaseException:
            if new:
                queue.close()
                del self._sites[site]
            raise
        self._count(site, 1)
        self._agenda.stand(site, request, self)

    def pop(self) -> Request | None:
        site = self._agenda.turn_of(self)
        if site is None:
            return None
        request = self._take(site)
        self._agenda.taken(site, request, self)
        return request

    def peek(self) -> Request | None:
        site = self._agenda.turn_of(self)
        return self._sites[site].peek() if site is not None else None

    def drain(self) -> Iterator[Request]:
        """All that waits, whether it is due or not."""
        for site in list(self._sites):
            while site in self._sites:
                yield self._take(site)

    def close(self) -> dict[str, list[int]]:
        """The state that a later queue resumes from: priorities by site."""
        state = {site: queue.close() for site, queue in self._sites.items()}
        self._sites.clear()
        self._counts.clear()
        self._length = 0
        return state

    def __len__(self) -> int:
        return self._length

    def __contains__(self, site: str) -> bool:
        return site in self._sites

    def _queue(self, site: str, priorities: Iterable[int] = ()) -> ScrapyPriorityQueue:
        # In memory the key names nothing; on disk it is the site's directory.
        return ScrapyPriorityQueue(
            self._crawler, self._downstream, f"{self._key}/{path_safe(site)}", priorities, start_queue_cls=self._start
        )

    def _take(self, site: str) -> Request:
        queue = self._sites[site]
        request = queue.pop()
        assert request is not None
        self._count(site, -1)
        if not self._counts[site]:
            self._drop(site, queue)
            self._agenda.leave(site, self)
        return request

    def _drop(self, site: str, queue: ScrapyPriorityQueue) -> None:
        queue.close()
        del self._sites[site]
        self._counts.pop(site, None)
        if self._key:
            directory = Path(self._key, path_safe(site))
            if directory.is_dir() and not any(directory.iterdir()):
                directory.rmdir()

    def _count(self, site: str, by: int) -> None:
        self._length += by
        self._counts[site] = self._counts.get(site, 0) + by

    def _resume(self, state: Mapping[str, Iterable[int]]) -> None:
        """What this class, or Scrapy's DownloaderAwarePriorityQueue, left: site -> priorities. Its slots are host names; a
        site of ours has a prefix, so theirs are pushed anew under their right name."""
        for name, priorities in state.items():
            queue = self._queue(name, priorities)
            ours = ":" in name or not name
            if not ours:
                self._move(queue)
                continue
            if len(queue) and (request := queue.peek()) is not None:
                self._sites[name] = queue
                self._count(name, len(queue))
                self._agenda.stand(name, request, self)
            else:
                queue.close()

    def _take_over(self, priorities: Iterable[int]) -> None:
        """What Scrapy's ScrapyPriorityQueue left: one queue for all sites."""
        self._move(ScrapyPriorityQueue(self._crawler, self._downstream, self._key, priorities, start_queue_cls=self._start))

    def _move(self, old: ScrapyPriorityQueue) -> None:
        while (request := old.pop()) is not None:
            self.push(request)
        old.close()


def agenda_of(crawler: Crawler) -> Agenda:
    """The crawler's one agenda."""
    politeness = Politeness.require(crawler)
    return politeness.agenda or Agenda(crawler, politeness)
