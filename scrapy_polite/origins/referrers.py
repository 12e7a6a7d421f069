"""Whose a name at an edge is, by the pages that refer to it. Pure.

``x.b-cdn.net`` and ``d111111abcdef8.cloudfront.net`` are names of the edge: neither DNS nor a registrable domain tells whose
servers they fetch from. The pages that link to them do, where nearly all of those are of one origin.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from zlib import crc32

from scrapy_polite.origins.links import EXCLUSIVE, EXCLUSIVE_HOSTS
from scrapy_polite.origins.placements import Reason

if TYPE_CHECKING:
    from scrapy_polite.origins.placements import Placement

__all__ = ["Referrers"]

#: Pages of a host that are remembered, those that came last: a host that changes hands is believed after so many.
PAGES: Final = 40

#: Hosts that are remembered, those that were met last.
HOSTS: Final = 10_000

#: How sure so many pages of one origin make.
WEIGHT: Final = 0.85


class Referrers:
    """Told of every request that names the page it was found on."""

    def __init__(self, most: int = HOSTS) -> None:
        self._most = most
        self._pages: OrderedDict[str, OrderedDict[int, str]] = OrderedDict()
        self.generation = 0
        """Grows when it says something else of a host than before."""

    def heard(self, host: str, page: str, origin: str) -> None:
        """A page (its URL) of an origin refers to the host."""
        before = self._whose(host)
        pages = self._pages.setdefault(host, OrderedDict())
        self._pages.move_to_end(host)
        number = crc32(page.encode("utf-8", "surrogatepass"))
        pages[number] = origin
        pages.move_to_end(number)
        if len(pages) > PAGES:
            pages.popitem(last=False)
        if len(self._pages) > self._most:
            self._pages.popitem(last=False)
        self.generation += self._whose(host) != before

    def over(self, placement: Placement) -> Placement:
        """The placement, at the origin of its referring pages where nothing else places it: at least three pages, and nine of
        ten, must be of one. When they name two origins it stays as it is: charging both would slow both for a guess."""
        if placement.located or placement.edge is None or placement.host not in self._pages:
            return placement
        origin = self._whose(placement.host)
        if origin is None:
            return placement
        pages = self._pages[placement.host]
        count = sum(each == origin for each in pages.values())
        reason = Reason("referrer", f"{count} of {len(pages)}", WEIGHT, count)
        return replace(placement, origin=origin, confidence=WEIGHT, because=(reason,), located=True)

    def _whose(self, host: str) -> str | None:
        pages = self._pages.get(host)
        if not pages:
            return None
        origin, count = Counter(pages.values()).most_common(1)[0]
        return origin if count >= EXCLUSIVE_HOSTS and 100 * count >= EXCLUSIVE * len(pages) else None
