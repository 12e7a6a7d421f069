"""One download for an image that pages name by several URLs of an image service: in several sizes, formats or spellings.

Only URLs that pages gave are asked for, as they gave them. Each URL of an item has its own entry there, with the path of what
is stored in its stead. Which URL is asked for: of an item's the one that shows the most; one that another item of the crawl has
asked for, if it shows as much; and where that fails, the next. Nobody gets less than their URL shows, unless it fails.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final

from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from scrapy_polite.media.info import seen_from
from scrapy_polite.naming.hosts import Target, parse
from scrapy_polite.naming.imagesizes import Shown, shown_by
from scrapy_polite.remembering import Remembering

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from scrapy.pipelines.media import FileInfo

__all__ = ["REMEMBERED", "SameSource", "largest"]

REMEMBERED: Final = 10_000
"""Pictures of which it is known by which URLs they were asked for: some 700 bytes each."""

AT_MOST: Final = 4
"""URLs of each."""

TRIED: Final = 10
"""URLs of one picture in an item that may stand for the others. A page may name thousands: each would be compared with each."""


class SameSource:
    """The pictures of one crawl."""

    def __init__(self) -> None:
        self._asked: Remembering[tuple[tuple[str, Shown], ...]] = Remembering(REMEMBERED)
        """By picture, the URLs that were asked for, or are being; none that has failed."""

    def shown(self, requests: Sequence[Request]) -> list[Shown | None]:
        """What each of an item's requests shows; None for one that is to be made for itself, as the project has put something
        into it."""
        return [_shown(request) for request in requests]

    async def fetch(
        self,
        request: Request,
        shown: Shown,
        beside: Sequence[tuple[str, Shown]],
        ask: Callable[[Request], Awaitable[FileInfo]],
    ) -> tuple[FileInfo, str]:
        """The result for a request, and the URL that was asked for in its stead. beside: URLs of its item, as `largest` has
        them. ask: makes a request; called twice for the same URL it must fetch it once. Raises what it raised for this request,
        if all have failed."""
        failed: Exception | None = None
        for url, other in self._candidates(request.url, shown, beside):
            own = url == request.url
            self._note(url, other)
            try:
                found = await ask(request if own else Request(url, callback=NO_CALLBACK))
            except Exception as error:  # Whatever has become of it, the next may be better.
                self._forget(url, other)
                failed = error if own or failed is None else failed
                continue
            return (found if own else seen_from(found, request.url)), url
        assert failed is not None
        raise failed

    def _candidates(self, url: str, shown: Shown, beside: Sequence[tuple[str, Shown]]) -> list[tuple[str, Shown]]:
        """The URLs that may stand for this one, itself among them: those first that show as much, and the largest first."""
        known = self._asked.get(shown.picture, ())
        found = dict([*known, *((one, other) for one, other in beside if other.picture == shown.picture), (url, shown)])
        return sorted(found.items(), key=lambda one: (one[1].covers(shown), one[1].rank), reverse=True)

    def _note(self, url: str, shown: Shown) -> None:
        known = [one for one in self._asked.get(shown.picture, ()) if one[0] != url]
        kept = sorted([*known, (url, shown)], key=lambda one: one[1].rank, reverse=True)
        self._asked[shown.picture] = tuple(kept[:AT_MOST])

    def _forget(self, url: str, shown: Shown) -> None:
        known = self._asked.get(shown.picture, ())
        kept = tuple(one for one in known if one[0] != url)
        if kept:
            self._asked[shown.picture] = kept
        elif known:
            del self._asked[shown.picture]


def largest(urls: Iterable[tuple[str, Shown]]) -> dict[str, list[tuple[str, Shown]]]:
    """By picture those of an item's URLs that show the most, `TRIED` at most."""
    found: dict[str, dict[str, Shown]] = {}
    for url, shown in urls:
        found.setdefault(shown.picture, {})[url] = shown
    return {picture: heapq.nlargest(TRIED, same.items(), key=lambda one: one[1].rank) for picture, same in found.items()}


def _shown(request: Request) -> Shown | None:
    if type(request) is not Request or request.method != "GET" or request.errback is not None:
        return None
    if request.body or request.headers or request.cookies or request.meta or request.cb_kwargs:
        return None
    target = parse(request.url)
    return shown_by(target) if isinstance(target, Target) else None
