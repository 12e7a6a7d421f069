"""Servers with agencies' sites on them: the platform's two, which share one queue, a small host's, and those of one agency."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

from town.arrivals import COSTS, kind_of
from town.capacity import Overloaded
from town.imagemaker import Darkroom, content_type
from town.pages import Pages, robots
from town.traps import REDIRECTS, redirect_targets
from town.visits import Answer, Visit, text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from town.knee import Takes
    from town.manners import Manner
    from town.world import Site

OWN_LATENCY: Final = 0.015
"""Seconds that a server of one agency takes."""

MAX_AGE: Final = {"search": 10, "page": 60, "image": 86_400, "robots": 300, "other": 0}
"""Cache-Control of each kind of answer, seconds."""


class Agency:
    """Answers for the sites that are on one server: robots.txt, search, listings, photographs and ``/go/<n>``."""

    def __init__(
        self,
        sites: Iterable[Site],
        pages: Pages,
        darkroom: Darkroom,
        manner: Manner | None = None,
        queue: Takes | None = None,
    ) -> None:
        self.sites = {site.host: site for site in sites}
        self.pages = pages
        self.darkroom = darkroom
        self.manner = manner
        self.queue = queue
        self.photos = {
            (site.host, photo.file): photo
            for site in self.sites.values()
            if site.images_on in ("platform", "own", "edge")
            for photo in site.photos
        }
        self.listings = {(site.host, str(listing.id)): listing for site in self.sites.values() for listing in site.listings}
        self.redirects = {
            (site.host, str(number)): number for site in self.sites.values() for number in redirect_targets(site, pages.laid)
        }

    async def __call__(self, visit: Visit) -> Answer:
        kind = kind_of(visit.path)
        delay = OWN_LATENCY
        if self.queue is not None:
            served = self.queue.arrive(visit.at, COSTS[kind])
            delay = served.latency
            if isinstance(served, Overloaded):
                return Answer(503, b"Service Unavailable", "text/plain", delay=delay)
        if self.manner is not None and kind != "robots":
            instead = self.manner.instead(visit.at, time.time() - (time.monotonic() - visit.at))
            if instead is not None:
                return Answer(
                    instead.status,
                    instead.text.encode(),
                    headers=instead.headers,
                    delay=delay,
                    hold_until=instead.hold_until,
                )
        answer = self.page(visit, kind)
        if answer.status == 200:
            answer.headers["Cache-Control"] = f"public, max-age={MAX_AGE[kind]}"
        return Answer(answer.status, answer.body, answer.content_type, answer.headers, delay)

    def page(self, visit: Visit, kind: str) -> Answer:
        """What stands at the visit's path, manners and load aside."""
        site = self.sites.get(visit.host)
        if site is None:
            return text(404, f"No site of the name {visit.host!r} is on this server.\n")
        url = urlsplit(visit.path)
        last = url.path.rpartition("/")[2]
        if kind == "robots":
            return text(200, robots(site))
        if kind == "search":
            asked = parse_qs(url.query).get("page", ["1"])[0]
            found = self.pages.search(site, int(asked) if re.fullmatch("[0-9]{1,5}", asked) else 0)
            return text(404, "No such page.\n") if found is None else Answer(200, found.encode())
        if kind == "page" and (listing := self.listings.get((site.host, last))):
            return Answer(200, self.pages.listing(site, listing).encode())
        if kind == "image" and (photo := self.photos.get((site.host, last))):
            return Answer(200, self.darkroom.original(photo), content_type(photo))
        if url.path.startswith("/go/") and (site.host, last) in self.redirects:
            number = self.redirects[site.host, last]
            target = self.pages.traps[number].url
            # As servers do: bytes in a header are what the application put there, here UTF-8.
            return Answer(REDIRECTS[number % len(REDIRECTS)], headers={"Location": f"{target}?from=go"})
        if url.path == "/":
            return Answer(302, headers={"Location": "/search?page=1"})
        return text(404, "Nothing here.\n")
