"""The scheduler's priority queue: sites inside origins, each in its turn, and None while nothing is due.

Set as ``SCHEDULER_PRIORITY_QUEUE`` by the add-on. The scheduler makes up to two of them, one in memory and one on disk
(``JOBDIR``); both ask the one agenda of the crawler, which is fair between them. Inside a site the order is Scrapy's: by
priority, start requests after the others, and the last come first or the first, as ``SCHEDULER_DISK_QUEUE``,
``SCHEDULER_MEMORY_QUEUE`` and their ``START`` companions say.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_polite.agenda import Agenda
from scrapy_polite.politeness import Politeness
from scrapy_polite.shelves import InMemory, OnDisk, Shelf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

__all__ = ["OriginQueue", "agenda_of"]


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
        self._agenda = agenda_of(crawler)
        self._shelf: Shelf
        if key:
            classes = (downstream_queue_cls, start_queue_cls)
            self._shelf = OnDisk(crawler, Path(key), startprios, *classes, self._agenda.site)
        else:
            self._shelf = InMemory(crawler, downstream_queue_cls, start_queue_cls)
        for site in self._shelf.sites():
            self._agenda.stand(site, self)

    def push(self, request: Request) -> None:
        """Raises ``ValueError`` for a request that does not fit the disk: the scheduler then keeps it in memory."""
        site = self._agenda.site(request)
        self._shelf.push(site, request)
        self._agenda.stand(site, self, request)

    def pop(self) -> Request | None:
        self._shelf.asked()
        while (site := self._agenda.turn_of(self)) is not None:
            request = self._take(site)
            if request is not None:
                self._agenda.taken(site, request, self)
                return request
            if site in self._shelf:
                return None  # The disk fails; the engine asks again.
        return None

    def peek(self) -> Request | None:
        site = self._agenda.turn_of(self)
        return self._shelf.peek(site) if site is not None else None

    def head(self, site: str) -> Request | None:
        """What the site would send next, for whoever must look at it before."""
        return self._shelf.peek(site) if site in self._shelf else None

    def drain(self, sites: Iterable[str] | None = None) -> Iterator[Request]:
        """All that waits, or what waits for these sites, whether it is due or not."""
        for site in self._shelf.sites() if sites is None else sites:
            while site in self._shelf and (request := self._take(site)) is not None:
                yield request

    @property
    def sites(self) -> int:
        """For which something waits."""
        return sum(1 for _ in self._shelf.sites())

    def put_off(self, image: Request) -> bool:
        """On disk: keep an image's request for the next run. False in memory. Raises as :meth:`push`."""
        if not isinstance(self._shelf, OnDisk):
            return False
        self._shelf.put_off(image)
        return True

    @property
    def images_put_off(self) -> int:
        return self._shelf.images_put_off if isinstance(self._shelf, OnDisk) else 0

    def take_up(self) -> tuple[int, Request] | None:
        """The next image that was put off, and its number for :meth:`taken_up`. None when there is none."""
        return self._shelf.take_up() if isinstance(self._shelf, OnDisk) else None

    def taken_up(self, number: int) -> None:
        """The image was fetched, or will never be."""
        if isinstance(self._shelf, OnDisk):
            self._shelf.taken_up(number)

    def close(self) -> list[object]:
        """The state that a later queue resumes from."""
        return self._shelf.close()

    def __len__(self) -> int:
        return len(self._shelf)

    def __contains__(self, site: str) -> bool:
        return site in self._shelf

    def _take(self, site: str) -> Request | None:
        request = self._shelf.pop(site)
        if site not in self._shelf:
            self._agenda.leave(site, self)
        return request


def agenda_of(crawler: Crawler) -> Agenda:
    """The crawler's one agenda."""
    politeness = Politeness.require(crawler)
    return politeness.agenda or Agenda(crawler, politeness)
