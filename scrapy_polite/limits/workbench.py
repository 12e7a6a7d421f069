"""Which site may send its next request now, or how long until one may: sites inside origins, in heaps by due time.

The model is the workbench of BUbiNG (Boldi, Marino, Santini, Vigna: "BUbiNG: Massive Crawling for the Masses", 2018): a site
waits in the heap of its origin, an origin in one heap of all, so a choice costs O(log n) in the number of sites.

What is kept here are *estimates*. The store alone books slots; between a choice and its booking lie a downloader, a connection
and a handshake. So a choice lends the cost of its request (``out``) to every key it will be charged to, a booking turns the
loan into a fact (``base``), and a request that never reached the wire (a cache answered, a middleware dropped it) gives it
back. Nothing drifts: estimate = max(base, now) + out. What a booking has charged may be given back later (``refunded``): a fact
that is undone, as far as others have not told of theirs (``told``).

Where a key of a site has a burst, its requests may go by so much sooner (``slack``): the store would admit them.

Pure: no clock, no timer. All times are seconds on one monotonic clock of the caller.
"""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING, Final

from scrapy_polite.limits.benchparts import NEVER, Choice, Key, Loan, Origin, Site

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence

__all__ = ["Choice", "Workbench"]

_NOTHING: Final[Mapping[str, float]] = {}


class Workbench:
    """See the module. ``lead``: seconds before its due time at which a request is let go, so that it finds its connection
    made and its place in the line taken when the slot comes."""

    def __init__(self, lead: float) -> None:
        self._lead = lead
        self._keys: dict[str, Key] = {}
        self._sites: dict[str, Site] = {}
        self._origins: dict[str, Origin] = {}
        self._heap: list[tuple[float, int, Origin]] = []
        self._loans: dict[Hashable, Loan] = {}
        self._order = itertools.count()
        self._early_sites: dict[str, Site] = {}

    # -- who waits

    def add(self, site: str) -> bool:
        """Know the site. True when it is new here: it is gated until :meth:`open`."""
        new = site not in self._sites
        if new:
            self._sites[site] = Site(site, (site,), (), self._origin(site), self._lead)
        return new

    def stand(self, site: str, source: Hashable, *, early: bool = False) -> bool:
        """``source`` holds something for ``site``; ``early``: it is served although the site is gated. As :meth:`add`."""
        new = self.add(site)
        found = self._sites[site]
        if found.sources is None:
            found.sources = {source: early}
        elif source in found.sources:
            return new
        else:
            found.sources[source] = early
        if early:
            self._early_sites[site] = found
        self._queue(found)
        return new

    def leave(self, site: str, source: Hashable) -> None:
        """``source`` holds nothing for ``site`` any more."""
        found = self._sites.get(site)
        if found is not None and found.sources:
            if found.sources.pop(source, None) and not any(found.sources.values()):
                self._early_sites.pop(site, None)
            if not found.sources:
                found.sources = None

    def place(self, site: str, keys: Sequence[str], caps: Mapping[str, float], slack: Mapping[str, float] = _NOTHING) -> None:
        """``keys`` limit the site, narrowest first; the last one is what sites share. ``caps``: requests in flight per key.
        ``slack``: seconds before a key is due in which requests of this site are admitted, where it has a burst."""
        found = self._sites.get(site)
        if found is None:
            return
        found.keys = tuple(keys)
        found.own = tuple(self._key(name) for name in found.keys[:-1])
        for name, key in zip(found.keys, found.own, strict=False):
            key.early = self._early(name, slack)
        found.origin = self._origin(found.keys[-1])
        found.early = self._early(found.keys[-1], slack)
        found.cap = min((caps[key] for key in keys[:-1] if key in caps), default=NEVER)
        found.origin.cap = caps.get(keys[-1], NEVER)
        self._again(found)

    def open(self, site: str) -> None:
        """Everything that waits for the site may go when it is due."""
        found = self._sites.get(site)
        if found is not None:
            found.gated = False
            self._queue(found)

    def gate(self, site: str) -> None:
        """Only early sources are served until :meth:`open`."""
        self._sites[site].gated = True

    # -- the choice

    def choose(self, now: float) -> Choice | float | None:
        """Who may go now; or in how many seconds somebody may; or None when nobody waits for time alone."""
        while self._heap:
            at, _, origin = self._heap[0]
            if at != origin.at:
                heapq.heappop(self._heap)
                continue
            ready = self._ready(origin)
            if ready > at:
                heapq.heappop(self._heap)
                self._enter(origin, ready)
                continue
            if at > now:
                return at - now
            site = origin.heap[0][2]
            source = site.source()
            assert source is not None
            return Choice(site.name, source)
        return None

    def choose_early(self, now: float) -> Choice | float | None:
        """As :meth:`choose`, among the early sources alone: while nobody takes what the others hold. O(n) in the number of the
        sites that have one."""
        first, least = None, NEVER
        for site in self._early_sites.values():
            if site.origin.in_flight < site.origin.cap:
                ready = max(self._site_ready(site), site.origin.key.estimate - site.early)
                if ready < least:
                    first, least = site, ready
        if first is None:
            return None
        if least > now:
            return least - now
        return Choice(first.name, next(source for source, early in (first.sources or {}).items() if early))

    def first(self) -> str | None:
        """The site that :meth:`choose` has just spoken of."""
        return self._heap[0][2].heap[0][2].name if self._heap else None

    def take(self, site: str, source: Hashable, loan: Hashable, lent: Mapping[str, float], now: float) -> None:
        """The chosen request goes: ``lent`` are seconds per key, under the name ``loan`` until it is booked or has left."""
        found = self._sites[site]
        self._loans[loan] = Loan(found, found.origin, lent)
        for name, seconds in lent.items():
            key = self._key(name)
            key.out += seconds
            key.settle(now)
        found.in_flight += 1
        found.origin.in_flight += 1
        if found.sources is not None and len(found.sources) > 1 and source in found.sources:
            found.sources[source] = found.sources.pop(source)
        self._again(found)

    def booked(self, loan: Hashable, charged: Mapping[str, float], now: float) -> None:
        """The store booked the request, ``charged`` seconds per key, for ``now``."""
        found = self._loans.get(loan)
        if found is not None:
            self._repay(found, now)
        for name, seconds in charged.items():
            key = self._key(name)
            key.base = max(key.base, now) + seconds
            key.settle(now)
        if found is not None:
            self._changed(found)

    def left(self, loan: Hashable, now: float) -> None:
        """The request has left the downloader; what it had borrowed and not spent is given back."""
        found = self._loans.pop(loan, None)
        if found is None:
            return
        self._repay(found, now)
        found.site.in_flight -= 1
        found.origin.in_flight -= 1
        self._changed(found)

    def learn(self, key: str, due: float, now: float) -> None:
        """Another process, or a hold, has moved the key: nothing of it is due before ``due``."""
        known = self._key(key)
        known.base = max(known.base, due)
        known.told = max(known.told, due)
        known.settle(now)

    def forgive(self, key: str, now: float) -> None:
        """The key is due now after all: a hold was lifted by hand."""
        known = self._keys.get(key)
        if known is not None:
            known.base = min(known.base, now)
            known.told = min(known.told, now)
            known.settle(now)
            for site in self._sites.values():
                if key in site.keys:
                    self._again(site)

    def refunded(self, key: str, seconds: float, now: float) -> None:
        """So much of what a booking has charged to the key was given back: whoever waits for it may go sooner."""
        known = self._keys.get(key)
        if known is None:
            return
        known.base = max(known.base - seconds, known.told)
        known.settle(now)
        site, origin = self._sites.get(key), self._origins.get(key)
        if site is not None:
            self._queue(site)
        if origin is not None:
            self._wake(origin)

    def prune(self, now: float) -> None:
        """Forget sites that nothing waits for, and keys that are due: nothing grows with the length of the crawl."""
        for site in [site for site in self._sites.values() if not (site.sources or site.in_flight or site.gated)]:
            del self._sites[site.name]
        used = {key for site in self._sites.values() for key in site.keys}
        for name in [name for name, origin in self._origins.items() if name not in used and not origin.in_flight]:
            del self._origins[name]
        used.update(self._origins)
        for name in [name for name, key in self._keys.items() if name not in used and key.out <= 0 and key.base <= now]:
            del self._keys[name]

    def has_site(self, site: str) -> bool:
        return site in self._sites

    def has_loan(self, loan: Hashable) -> bool:
        return loan in self._loans

    # -- what a person wants to know

    @property
    def loans(self) -> Collection[Hashable]:
        """Names of loans that are neither booked and gone nor given back."""
        return self._loans.keys()

    @property
    def sites(self) -> int:
        """Sites that something waits for."""
        return len(self.waiting_sites())

    def waiting_sites(self) -> list[str]:
        return [site.name for site in self._sites.values() if site.sources]

    # -- inside

    def _key(self, name: str) -> Key:
        found = self._keys.get(name)
        if found is None:
            found = self._keys[name] = Key(early=self._lead)
        return found

    def _early(self, name: str, slack: Mapping[str, float]) -> float:
        return self._lead + slack[name] if name in slack else self._lead

    def _origin(self, name: str) -> Origin:
        found = self._origins.get(name)
        if found is None:
            found = self._origins[name] = Origin(name, self._key(name))
        return found

    def _site_ready(self, site: Site) -> float:
        # An open site serves all of its sources, so there is no need to look for one: this is asked most of all.
        if site.in_flight >= site.cap or not site.sources or (site.gated and site.source() is None):
            return NEVER
        ready = 0.0
        for key in site.own:
            due = key.estimate - key.early
            if due > ready:
                ready = due
        return ready

    def _ready(self, origin: Origin) -> float:
        """When the origin's first site may go, the origin's own limit and its requests in flight considered.

        A side effect tidies the top of its heap, so that after an answer below infinity ``heap[0]`` is that site.
        """
        if origin.in_flight >= origin.cap:
            return NEVER
        heap = origin.heap
        while heap:
            at, _, site = heap[0]
            if at == site.at and site.origin is origin:
                ready = self._site_ready(site)
                if ready <= at:
                    due = origin.key.estimate - site.early
                    return max(at, due)
                heapq.heappop(heap)
                self._enter_site(site, origin, ready)
            else:
                heapq.heappop(heap)
        return NEVER

    def _enter_site(self, site: Site, origin: Origin, ready: float) -> None:
        site.at = ready
        if ready < NEVER:
            heapq.heappush(origin.heap, (ready, next(self._order), site))

    def _enter(self, origin: Origin, ready: float) -> None:
        origin.at = ready
        if ready < NEVER:
            heapq.heappush(self._heap, (ready, next(self._order), origin))

    def _queue(self, site: Site) -> None:
        """Something about the site has changed: enter it anew, and its origin where that makes it ready sooner."""
        ready = self._site_ready(site)
        if ready < site.at:
            self._enter_site(site, site.origin, ready)
        self._wake(site.origin)

    def _again(self, site: Site) -> None:
        site.at = NEVER
        self._queue(site)

    def _changed(self, loan: Loan) -> None:
        # Where it is due later now its entry stays, and is put right when it comes to the top.
        self._queue(loan.site)
        if loan.origin is not loan.site.origin:
            self._wake(loan.origin)

    def _wake(self, origin: Origin) -> None:
        ready = self._ready(origin)
        if ready < origin.at:
            self._enter(origin, ready)

    def _repay(self, loan: Loan, now: float) -> None:
        for name, seconds in loan.lent.items():
            key = self._keys[name]
            key.out = max(0.0, key.out - seconds)
            key.settle(now)
        loan.lent = _NOTHING
