"""The one object per crawler that wires core and world together: admitted and placed, planned, timed, heard.

The Scrapy face (handlers, queue, middleware, pipelines, commands) asks it and obeys. It knows the store, the resolver and the
ledger; of Scrapy it knows the crawler's stats and its settings, nothing of how a request is fetched.
"""

from __future__ import annotations

import logging
import os
import time
import weakref
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from scrapy_polite.admission import REMEMBERED, Admission, Placed
from scrapy_polite.backoff.failures import failed
from scrapy_polite.backoff.marks import looked_at
from scrapy_polite.backoff.refusals import recognise
from scrapy_polite.bodies import beginning
from scrapy_polite.booker import Booker
from scrapy_polite.certificates import certificate_of
from scrapy_polite.config import Config
from scrapy_polite.dns.resolver import UNHEARD, Resolver
from scrapy_polite.failing import failure_of, look_up_of
from scrapy_polite.hearing import serves
from scrapy_polite.holding import Holding
from scrapy_polite.holdlines import HoldLines
from scrapy_polite.learning import Learning
from scrapy_polite.notebook import Notebook
from scrapy_polite.origins.evidence import Reply
from scrapy_polite.pacing import Pacing
from scrapy_polite.paths import ledger_path, store_url, writable
from scrapy_polite.placing import Placing
from scrapy_polite.planning import Planner
from scrapy_polite.quotas import Quotas
from scrapy_polite.refunding import Refunds
from scrapy_polite.settings import BESIDE_THE_STORE
from scrapy_polite.stores.base import Cause, Store, StoreError, open_store, redacted_url
from scrapy_polite.telemetry.events import HeldEvent, Missed, Sent
from scrapy_polite.telemetry.ledger import Ledger
from scrapy_polite.written import written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from scrapy_polite.browser.proxy import ForwardProxy
    from scrapy_polite.deferring import Deferring
    from scrapy_polite.dns.resolver import NoAnswer
    from scrapy_polite.errors import NoAddressError
    from scrapy_polite.guard.policy import Refused
    from scrapy_polite.limits.gcra import Booked, Wait
    from scrapy_polite.naming.hosts import Target
    from scrapy_polite.ticket import Ticket

__all__ = ["Placed", "Politeness"]

logger = logging.getLogger(__name__)

PUNCTUAL: Final = 1_000
"""Microseconds that the packet may leave after the booking's reading of the clock without being called late. Usually a third
of it; a machine that is short of processors takes longer."""

SLOW_DOWN: Final = 503

MUTE_WAIT: Final = 10.0
"""Seconds after which a host is looked up again while no name server answers."""

MUTE_TOLD: Final = 60.0
"""Seconds between two lines of the log that say so."""


class Politeness(Admission):
    """See the module. Made by :meth:`require`; found by :meth:`of`."""

    _of: ClassVar[weakref.WeakKeyDictionary[Crawler, Politeness]] = weakref.WeakKeyDictionary()

    def __init__(
        self, config: Config, store: Store, resolver: Resolver, ledger: Ledger | None, stats: StatsCollector | None
    ) -> None:
        self.booker = Booker(store, config.width)
        self.ledger = ledger
        policy = config.log_redaction
        self._written: Callable[[str], str] = written(policy).text if policy and ledger else str
        self.pacing = Pacing(self.booker, config.limits, stats, config.paces)
        self.planner = Planner(config, REMEMBERED, self.pacing)
        placing = Placing(self.booker, resolver, config.edges, config.confidence, config.limits, ledger)
        notebook = Notebook(self.booker)
        super().__init__(config, resolver, placing, self.planner.watching, notebook, stats)
        self.learning = Learning(self.planner.costs, notebook, stats)
        self.holds = HoldLines()
        self._holding = Holding(self, notebook)
        self.refunds = Refunds(self)
        self._quotas = Quotas(self)
        self.tickets: weakref.WeakKeyDictionary[Request, Ticket] = weakref.WeakKeyDictionary()
        self.forward: ForwardProxy | None = None
        self.deferring: Deferring | None = None
        self.sent_at: float | None = None
        """When a request has left last, monotonic; None: none has."""
        self._mute_told = 0.0
        """Until when the log need not say again that no name server answers (monotonic)."""
        self.all_held = False
        """Whether ``spider_idle`` is being asked although requests wait, since all of them are held."""
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
        self.placing.closing = True

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
        self._quotas.close()
        await self.unwatch()
        await self.pacing.close()
        await self.placing.close()
        await self.resolver.close()
        self.close_files()

    def close_files(self) -> None:
        """Give back the store's and the ledger's: all that there is to close before the first request."""
        if self.ledger is not None:
            self.ledger.close()
        self.booker.close()

    # -- admitted and placed

    async def admit(self, url: str) -> tuple[Target, Placed] | Refused | NoAnswer:
        found = await super().admit(url)
        if isinstance(found, tuple):
            await self.learning.met(found[1].keys[-1])
            await self.pacing.meet(found[1].origin)
        return found

    # -- planned

    def obey_delay(self, site: str, seconds: float, why: str, *, just_told: bool = True) -> None:
        """At least so long between two starts at the site, as :meth:`Planner.obey_delay`. ``just_told``: by the answer to a
        request that was charged without it; False where somebody has kept it, and charged for it."""
        rest = self.planner.obey_delay(site, seconds, why)
        keys = self.keys_of(site)
        if self.agenda is not None and keys is not None:
            self.agenda.limit(site, keys)
        if rest and just_told:
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
        self.sent_at = time.monotonic()
        self.booker.pay()
        if self.agenda is not None and ticket.request is not None:
            self.agenda.booked(ticket.request, ticket.charges)
        self.learning.departed(ticket)
        self.pacing.departed(ticket)
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
            self.ledger.record(Sent(at, slot.slot, width, ticket.site, ticket.kind, self._written(ticket.url), ticket.charges))

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

    async def hear(
        self, ticket: Ticket, status: int, headers: Mapping[str, Sequence[str]], body: bytes, certificate: object = None
    ) -> bool:
        """Listen to an answer; a refusal holds the site. Whether the request was served; if not, it waits its turn again.
        ``body``: as it was received. ``certificate``: Scrapy's, of the connection."""
        await self.learning.heard(ticket, status, headers)
        self.pacing.heard(ticket, status, headers)
        await self.accounts.heard(ticket, status, headers)
        now = time.monotonic()
        site = ticket.charges[0].key
        if self.placing.listens(ticket.host, ticket.peer):
            reply = Reply(ticket.peer, status, ticket.kind, headers, certificate_of(certificate), time.time())
            await self.learned(site, reply)
        # What an edge before a bucket says is the edge's.
        bucket = ticket.shared.startswith("bucket:") and (status != SLOW_DOWN or ticket.edge is None)
        if bucket and status == SLOW_DOWN:
            site = ticket.shared  # Also where a custom domain stands before it: it is the bucket that has enough.
        seen = beginning(body, headers, looked_at(status))
        refusal = recognise(status, headers, time.time(), seen, bucket=bucket)
        hold = await self._holding.heard(site, ticket.url, refusal, ticket.sent or now, now)
        self._quotas.heard(site, headers)
        self.refunds.heard(ticket, status, headers, refused=hold is not None)
        return refusal is None or hold is None or serves(status, refusal)

    async def failed(self, request: Request, error: Exception) -> bool:
        """Listen to a download that failed; a run of them holds the site. Whether something that limits the request is held:
        then it waits its turn again."""
        ticket = self.tickets.get(request)
        sent = ticket.sent if ticket is not None else None
        proxied = bool(request.meta.get("proxy"))
        look_up = look_up_of(error)
        if look_up is not None and self._waits_for_name_servers(request, look_up):
            return True
        secure = request.url.startswith("https:")
        refusal = failed(failure_of(error, sent=sent is not None, secure=secure, proxied=proxied))
        if refusal is None or (ticket is None and refusal.kind != "dns"):
            return False  # What never came to the handler failed in somebody's middleware, but for a look-up.
        if look_up is not None:
            refusal = replace(refusal, reason=f"{refusal.reason} ({look_up.reason}: {look_up.detail})")
        now = time.monotonic()
        site, began = (ticket.charges[0].key, ticket.made) if ticket is not None else (self.site_of(request.url), now)
        hold = await self._holding.heard(site, request.url, refusal, sent or began, now)
        return (hold is not None and hold.seconds > 0) or bool(await self.holds_of(self.keys_of(site) or (site,)))

    def _waits_for_name_servers(self, request: Request, look_up: NoAddressError) -> bool:
        """Where they answer for no name it is this machine's trouble and no site's: the request waits, for as long as a spider
        waits for a hold. What lasts longer counts as the failure of each site, so that what waits is put off."""
        silent = self.resolver.silent_for
        if look_up.reason not in UNHEARD or not 0 < silent <= self.config.defer_after or self.agenda is None:
            return False
        now = time.monotonic()
        if now > self._mute_told:
            self._mute_told = now + MUTE_TOLD
            told = "This machine's name servers do not answer, for any name since %.0f s: what has to be looked up waits (%s)"
            logger.warning(told, silent, look_up.detail)
        self.agenda.later(self.site_of(request.url), MUTE_WAIT)
        return True

    def released(self, key: str, seconds: float) -> None:
        """Somebody has ended the key's hold: it is due in so many seconds, and whoever waits goes then."""
        self.holds.ended(key)
        self._holding.forget(key)
        if self.agenda is not None:
            self.agenda.sooner(key, seconds)
        if self.lines is not None:
            self.lines.sooner(key)

    async def hold(
        self, key: str, seconds: float, cause: Cause, say: Callable[[str, float, Cause], None] | None = None
    ) -> None:
        """Hold the key in every process; by maximum. While the store is away the hold is owed to it: it is written before
        anything is booked again. ``say``: told the seconds that are now in force, in place of the usual line of the log."""
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
        self.pacing.held(self._origin_of(key), key, seconds, cause.kind, cause.reason)
        if self.agenda is not None:
            self.agenda.held(key, seconds)
        (say or self.holds.began)(key, seconds, cause)

    def _origin_of(self, key: str) -> str | None:
        """The origin itself, or that of a site."""
        if key.startswith("origin:"):
            return key
        keys = self.keys_of(key) or ("",)
        return keys[-1] if keys[-1].startswith("origin:") else None
