"""The one object per crawler that wires core and world together: named, admitted, placed, planned, timed, heard.

The Scrapy face (handlers, queue, middleware, pipelines, commands) asks it and obeys. It knows the store, the resolver and the
ledger; of Scrapy it knows the crawler's stats and its settings, nothing of how a request is fetched.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import time
import weakref
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from scrapy_polite.booker import RETRY, Booker
from scrapy_polite.dns.own import OwnAddresses
from scrapy_polite.dns.resolver import Answer, NoAnswer, Resolver
from scrapy_polite.errors import NotNow
from scrapy_polite.guard.policy import Refused
from scrapy_polite.hearing import Hearing
from scrapy_polite.naming.hosts import Invalid, IPAddress, Target, parse
from scrapy_polite.naming.keys import chain_key, own_key
from scrapy_polite.naming.sites import Sites
from scrapy_polite.origins.cachestatus import hit_or_miss
from scrapy_polite.origins.placing import place
from scrapy_polite.paths import ledger_path, store_url, writable
from scrapy_polite.planning import Planner
from scrapy_polite.remembering import Remembering
from scrapy_polite.settings import BESIDE_THE_STORE, Config
from scrapy_polite.stores.base import Cause, Store, StoreError, open_store, redacted_url
from scrapy_polite.telemetry.events import HeldEvent, Missed, Sent
from scrapy_polite.telemetry.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from ipaddress import IPv6Network

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from scrapy_polite.agenda import Agenda
    from scrapy_polite.browser.proxy import ForwardProxy
    from scrapy_polite.limits.gcra import Booked, Wait
    from scrapy_polite.standing import Lines
    from scrapy_polite.ticket import Ticket

__all__ = ["Placed", "Politeness"]

logger = logging.getLogger(__name__)

PUNCTUAL: Final = 1_000
"""Microseconds that the packet may leave after the booking's reading of the clock without being called late. Usually a third
of it; a machine that is short of processors takes longer."""

REMEMBERED: Final = 50_000
"""Hosts whose placing, Crawl-delay and refusals are kept in memory; the oldest goes first."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A host that may be reached: the address to dial first, and the keys that limit it, narrowest first, the shared one
    last. It stands as long as the answer does."""

    answer: Answer
    pinned: IPAddress
    keys: tuple[str, ...]
    origin: str | None
    evidence: tuple[str, ...]
    confidence: float

    @property
    def addresses(self) -> tuple[IPAddress, ...]:
        return self.answer.addresses


class Politeness:
    """See the module. Made by :meth:`require`; found by :meth:`of`."""

    _of: ClassVar[weakref.WeakKeyDictionary[Crawler, Politeness]] = weakref.WeakKeyDictionary()

    def __init__(
        self, config: Config, store: Store, resolver: Resolver, ledger: Ledger | None, stats: StatsCollector | None
    ) -> None:
        self.config = config
        self.booker = Booker(store, config.width)
        self.resolver = resolver
        self.ledger = ledger
        self._stats = stats
        self._sites = Sites(config.stores)
        self._own = OwnAddresses(time.monotonic)
        self._placed: dict[str, Placed] = Remembering(REMEMBERED)
        self.planner = Planner(config, REMEMBERED)
        self._hearing = Hearing(config.ladders, random.random)
        self._silent: dict[str, str] = Remembering(REMEMBERED)
        self.tickets: weakref.WeakKeyDictionary[Request, Ticket] = weakref.WeakKeyDictionary()
        self.agenda: Agenda | None = None
        self.lines: Lines | None = None
        self.forward: ForwardProxy | None = None
        self.unprotected: str | None = None
        """Why the crawl would not be protected, if somebody has found that out while it was put together."""

    @classmethod
    def of(cls, crawler: Crawler) -> Politeness | None:
        """The crawler's politeness, or None where the add-on is not on."""
        return cls._of.get(crawler)

    @classmethod
    def require(cls, crawler: Crawler) -> Politeness:
        """The crawler's politeness, made at the first call. Raises ``ValueError`` for a wrong setting or a store that
        cannot be opened."""
        found = cls._of.get(crawler)
        if found is None:
            config = Config.from_settings(crawler.settings)
            url = store_url(config.store)
            path = ledger_path(config.ledger, url)
            if path is not None and config.ledger != BESIDE_THE_STORE:
                writable(path)
            store = open_store(url)
            # Scrapyd gives a job's id as a spider argument.
            run = getattr(crawler.spider, "_job", None) or f"{os.getpid()}.{time.time():.0f}"
            ledger = Ledger(path, run) if path is not None else None
            resolver = Resolver(config.dns_servers, config.dns_timeout)
            found = cls._of[crawler] = cls(config, store, resolver, ledger, crawler.stats)
            logger.info("Store: %s; ledger: %s", redacted_url(url), path or "none")
        return found

    def closing(self) -> None:
        """The spider closes: whoever waits for a turn or for a slot goes back to the scheduler, or is told so."""
        if self.agenda is not None:
            self.agenda.closing()
        if self.lines is not None:
            self.lines.closing()

    async def turn(self, request: Request) -> None:
        """Wait until a request that bypasses the scheduler may enter the downloader. :class:`NotNow` at shutdown."""
        if self.agenda is not None:
            await self.agenda.turn(request)

    async def close(self) -> None:
        """Give back files and sockets. Safe to call twice."""
        if self.agenda is not None:
            await self.agenda.stop()
        if self.lines is not None:
            self.lines.stop()
        if self.forward is not None:
            await self.forward.stop()
        await self.resolver.close()
        self.close_files()

    def close_files(self) -> None:
        """Give back the store's and the ledger's: all that there is to close before the first request."""
        if self.ledger is not None:
            self.ledger.close()
        self.booker.close()

    def count(self, stat: str, by: int = 1) -> None:
        if self._stats is not None:
            self._stats.inc_value(f"polite/{stat}", by)

    # -- named

    def site_of(self, url: str) -> str:
        """What the request waits under: its narrowest key that its URL alone tells. An invalid URL waits for nothing."""
        return self._sites.of(url)

    def own_key(self, target: Target) -> str | None:
        """The key of the bucket or of the account of an image service that the URL tells; None for a site."""
        return own_key(target, self.config.stores)

    def keys_of(self, site: str) -> tuple[str, ...] | None:
        """The keys of a site that was placed, as long as that stands."""
        found = self._placed.get(site)
        return found.keys if found is not None else None

    def answer_of(self, target: Target) -> Answer | None:
        """What was found for the target's host when it was last met."""
        found = self._placed.get(self.own_key(target) or target.site)
        return found.answer if found is not None and found.answer.host == target.host else None

    # -- admitted and placed

    async def admit(self, url: str) -> tuple[Target, Placed] | Refused | NoAnswer:
        """Whether the URL may be reached, where to, and what limits it. Resolves the host unless the answer is alive.
        :class:`NotNow` at shutdown, when the store could not tell."""
        target = parse(url)
        if isinstance(target, Invalid):
            return Refused(target.reason, target.detail)
        site = self.own_key(target) or target.site
        found = self._placed.get(site)
        stands = found is not None and found.answer.host == target.host and found.answer.expires > time.monotonic()
        answer = await self.vet(target, found.answer if found is not None and stands else None)
        if not isinstance(answer, Answer):
            return answer
        if found is not None and stands:
            return target, found
        placed = self._placed[site] = await self._place(target, answer)
        if self.agenda is not None and found is not None and found.keys != placed.keys:
            await self.agenda.placed(site, placed)
        return target, placed

    async def vet(self, target: Target, known: Answer | None = None) -> Answer | Refused | NoAnswer:
        """The guard's whole say: where the target may be dialled. ``known`` is an answer that is alive."""
        refused = self.config.policy.judge_target(target)
        if refused is not None and not self.lets_through(refused, target.url):
            return refused
        answer = known or await self.resolver.resolve(target.host)
        if isinstance(answer, NoAnswer):
            return answer
        # Also where the answer is known: the verdict depends on the port, and on which addresses this machine has by now.
        refused = self.judge(target, answer)
        # Report-only mode lets a refusal through, but never a metadata service, which may be found only now.
        if (refused is None or self.config.report_only) and any(address.version == 6 for address in answer.addresses):
            refused = self.judge(target, answer, await self.resolver.nat64_prefixes())
        return answer if refused is None or self.lets_through(refused, target.url) else refused

    def judge(self, target: Target, answer: Answer, nat64: tuple[IPv6Network, ...] = ()) -> Refused | None:
        """The guard's verdict on what the target's host has for addresses."""
        own = self._own.among(answer)
        return self.config.policy.judge_answer(answer.addresses, answer.chain, target.host, target.port, own, nat64)

    def connected(self, placed: Placed, address: IPAddress) -> None:
        """A connection came about to one of the host's addresses: it is dialled first from now on, as long as the answer
        stands."""
        if address != placed.pinned and self._placed.get(placed.keys[0]) is placed:
            self._placed[placed.keys[0]] = replace(placed, pinned=address)

    def unanswered(self, answer: NoAnswer) -> None:
        """Without an address there is no request: said once per host and reason."""
        if self._silent.get(answer.host) != answer.reason:
            self._silent[answer.host] = answer.reason
            logger.warning("No DNS answer, so no request to %s (%s): %s", answer.host, answer.reason, answer.detail)

    def lets_through(self, refused: Refused, url: str) -> bool:
        """``POLITE_GUARD = "report"``: count and say what would have been refused, and let it through. Never a metadata
        service: a crawl has no business there, and hands out the machine's keys on the first try."""
        if not self.config.report_only or refused.reason == "metadata":
            return False
        self.count(f"refused/{refused.reason}")
        logger.warning("Guard (report only) would refuse (%s): <%s>: %s", refused.reason, url, refused.detail)
        return True

    def refused(self, refused: Refused, url: str) -> None:
        """Count a refusal and say it, once per request."""
        self.count(f"refused/{refused.reason}")
        logger.info("Guard: refused (%s): <%s>: %s", refused.reason, url, refused.detail)

    async def _place(self, target: Target, answer: Answer) -> Placed:
        found = place(target.host, answer.chain, answer.addresses)
        own = self.own_key(target)
        origin = None
        evidence = found.evidence
        if own is not None:
            keys: tuple[str, ...] = (own,)
        elif shared := chain_key(target, answer.chain, self.config.stores):
            # A custom domain is a site, with a robots.txt and holds of its own, in front of what it shares with others.
            keys = (target.site, shared)
            evidence = (*evidence, f"{target.host} is a custom domain of {shared}")
        else:
            origin = await self._origin(found.anchors, found.name)
            keys = tuple(key for key in (target.site, found.edge, origin) if key)
        return Placed(answer, answer.addresses[0], keys, origin, evidence, found.confidence)

    async def _origin(self, anchors: tuple[str, ...], name: str) -> str:
        """The origin's name in the store, where all processes agree on it. While the store is away this waits: under the
        proposed name the site would have a rate of its own, and keep it. :class:`NotNow` at shutdown."""
        while True:
            try:
                return await self.booker.call(self.booker.store.origin, anchors, name)
            except StoreError as error:
                self.booker.trouble(error)
            await asyncio.sleep(RETRY / 1e6)
            if self.agenda is not None and self.agenda.is_closing:
                raise NotNow("the spider is closing")

    # -- planned

    def obey_delay(self, site: str, seconds: float, why: str) -> None:
        """At least so long between two starts at the site, by maximum with what is already obeyed."""
        rest = self.planner.obey_delay(site, seconds, why)
        if rest:
            self.booker.owe(partial(self.booker.store.settle, site, rest))
            if self.agenda is not None:
                self.agenda.held(site, rest / 1e6)

    # -- timed

    def left(self, ticket: Ticket, slot: Booked) -> int:
        """The request has just left, and whichever thread sent it tells so: the moment on the store's clock."""
        at = self.booker.now()
        if at - slot.slot > PUNCTUAL + self.booker.blur:
            # The next one keeps its distance from this one, and not from the slot that this one was late in.
            for charge in ticket.charges:
                self.booker.note(partial(self.booker.store.settle, charge.key, at - slot.slot))
        return at

    def departed(self, ticket: Ticket, slot: Booked, at: int) -> None:
        """The request is on the wire: count it and write it down."""
        self.booker.pay()
        if self.agenda is not None and ticket.request is not None:
            self.agenda.booked(ticket.request, ticket.charges)
        ticket.request = None  # It is the key under which the ticket is kept.
        self.count("slots/booked")
        self.count(f"requests/{ticket.kind}")
        width = self.config.width
        missed = at > slot.slot + width
        if missed:
            self.count("slots/missed")
        if self.ledger is not None:
            if missed:
                self.ledger.record(Missed(at, slot.slot, ticket.shared))
            self.ledger.record(Sent(at, slot.slot, width, ticket.site, ticket.kind, ticket.url, ticket.charges))

    def missed(self, ticket: Ticket, slot: Booked) -> None:
        """Nothing was sent in the slot, which stays paid: another process may have booked behind it already, and would be too
        close to whoever took its place."""
        self.count("slots/missed")
        if self.ledger is not None:
            self.ledger.record(Missed(self.booker.now(), slot.slot, ticket.shared))

    def learn(self, wait: Wait) -> None:
        """The wire was told to wait longer than a request may: its key is not due before."""
        if self.agenda is not None:
            self.agenda.learn(wait)

    async def holds_of(self, keys: tuple[str, ...]) -> dict[str, float]:
        """Seconds of the live holds among the keys."""
        try:
            peeks = await self.booker.call(self.booker.store.peek, keys)
        except StoreError as error:
            self.booker.trouble(error)
            return {}
        return {key: peek.hold_in for key, peek in peeks.items() if peek.hold_in > 0}

    # -- heard

    async def hear(self, ticket: Ticket, status: int, headers: Mapping[str, Sequence[str]]) -> bool:
        """Listen to an answer; a refusal holds the site. Whether the request was served; if not, it waits its turn again."""
        if len(ticket.charges) > 2 and (cached := hit_or_miss(headers)):
            self.count(f"edge/{cached}")
        now = time.monotonic()
        site = ticket.charges[0].key
        hold = self._hearing.listen(site, status, headers, ticket.sent or now, now, time.time())
        if hold is None:
            return True
        await self.hold(site, hold.seconds, hold.cause)
        return hold.served

    async def hold(self, key: str, seconds: float, cause: Cause) -> float:
        """Hold the key in every process; by maximum. Answers the seconds now in force. While the store is away the hold is
        owed to it: it is written before anything is booked again."""
        self.count(f"backoff/{cause.kind}")
        until, before = time.monotonic() + seconds, self.booker.now()
        try:
            seconds = await self.booker.call(self.booker.store.hold, key, seconds, cause)
        except StoreError as error:
            self.booker.trouble(error)
            self.booker.owe(lambda: self.booker.store.hold(key, max(0.0, until - time.monotonic()), cause))
        if self.ledger is not None:
            # In force from the store's answer on; its end was reckoned at some moment since `before`.
            event = HeldEvent(self.booker.now(), key, before + round(seconds * 1e6), cause.kind, cause.reason)
            self.ledger.record(event)
        if self.agenda is not None:
            self.agenda.held(key, seconds)
        logger.info("Hold: %s for %.1f s (%s: %s)", key, seconds, cause.kind, cause.reason)
        return seconds
