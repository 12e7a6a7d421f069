"""The first stations of a request: named, admitted, placed. What may be reached, where to, and which keys limit it."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from scrapy_polite.accounts import Accounts
from scrapy_polite.dns.own import OwnAddresses
from scrapy_polite.dns.resolver import Answer, NoAnswer, Resolver
from scrapy_polite.guard.policy import Refused
from scrapy_polite.naming.hosts import Invalid, IPAddress, Target, parse
from scrapy_polite.naming.keys import chain_key, own_key
from scrapy_polite.naming.sites import Sites
from scrapy_polite.origins.sentences import sentences
from scrapy_polite.remembering import Remembering
from scrapy_polite.stores.base import StoreError

if TYPE_CHECKING:
    from ipaddress import IPv6Network

    from scrapy.statscollectors import StatsCollector

    from scrapy_polite.agenda import Agenda
    from scrapy_polite.config import Config
    from scrapy_polite.limits.plan import Limit
    from scrapy_polite.notebook import Notebook
    from scrapy_polite.origins.edges import Edge
    from scrapy_polite.origins.evidence import Reply
    from scrapy_polite.origins.judge import Placement
    from scrapy_polite.origins.watching import Watching
    from scrapy_polite.placing import Placing
    from scrapy_polite.standing import Lines

__all__ = ["REMEMBERED", "Admission", "Placed"]

logger = logging.getLogger(__name__)

REMEMBERED: Final = 50_000
"""Hosts whose placing, Crawl-delay and refusals are kept in memory; the oldest goes first."""

TIDY: Final = 600.0
"""Seconds between two looks for what the store may forget."""

IDLE: Final = 30 * 86_400.0
"""Seconds after which a key or a host that nobody has met is forgotten: longer than any crawl goes by what it was told."""

LOOK_AROUND: Final = 1.0
"""Seconds between two looks at what other processes and people have changed."""

MOVED_AT_ONCE: Final = 200
"""Hosts that are placed anew before the loop breathes."""

MOVING_SHARE: Final = 20
"""A walk over all hosts is not begun again before this many times as long as the last one took."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A host that may be reached: the address to dial first, and the keys that limit it, narrowest first, the shared one
    last. It stands as long as the answer does, and nothing is learned that moves the host.

    ``placement``: None for what is no site, or is a custom domain of it. ``notes``: sentences besides it. ``front``: what
    stands in front, where it is no edge that the placement knows."""

    answer: Answer
    pinned: IPAddress
    keys: tuple[str, ...]
    placement: Placement | None = None
    notes: tuple[str, ...] = ()
    front: Edge | None = None
    generation: object = None
    limit: Limit | None = None
    """Of the last of its keys, when it was placed."""

    @property
    def addresses(self) -> tuple[IPAddress, ...]:
        return self.answer.addresses

    @property
    def origin(self) -> str | None:
        return self.keys[-1] if self.keys[-1].startswith("origin:") else None

    @property
    def edge(self) -> Edge | None:
        """What stands in front, so that only misses reach the origin."""
        return self.placement.edge if self.placement is not None else self.front

    @property
    def evidence(self) -> tuple[str, ...]:
        """Sentences for a person."""
        return (*(sentences(self.placement) if self.placement is not None else ()), *self.notes)


class Admission:
    """See the module."""

    agenda: Agenda | None = None
    lines: Lines | None = None

    def __init__(
        self,
        config: Config,
        resolver: Resolver,
        placing: Placing,
        watching: Watching,
        notebook: Notebook,
        stats: StatsCollector | None,
    ) -> None:
        self.config = config
        self.resolver = resolver
        self.placing = placing
        self.accounts = Accounts(self, watching, notebook)
        self._stats = stats
        self._sites = Sites(config.stores)
        self._own = OwnAddresses(time.monotonic)
        self._placed: dict[str, Placed] = Remembering(REMEMBERED)
        self._silent: dict[str, str] = Remembering(REMEMBERED)
        self.last_refused: tuple[Refused, str] | None = None
        """What the guard has refused last, and its URL."""
        self._watch: asyncio.Task[None] | None = None

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

    def placed_of(self, site: str) -> Placed | None:
        """How the site stands, if it was placed."""
        return self._placed.get(site)

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
            return target, await self._moved(site, found)
        placed = self._placed[site] = await self._place(target, answer)
        await self._tell(site, found, placed)
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
        self.last_refused = refused, url
        self.count(f"refused/{refused.reason}")
        logger.info("Guard: refused (%s): <%s>: %s", refused.reason, url, refused.detail)

    async def learned(self, site: str, reply: Reply) -> None:
        """A response of a site has told something about its servers."""
        found = self._placed.get(site)
        if found is not None and found.placement is not None:
            await self.placing.heard(found.placement.host, reply)
            found = self._placed.get(site, found)
            if found.placement is not None:
                await self._anew(site, found, found.placement.host)

    def referred(self, host: str, page: str) -> None:
        """The page with this URL refers to a host."""
        found = parse(page)
        if not isinstance(found, Invalid):
            self.placing.referred(host, page, found.host)

    async def place_again(self, site: str, target: Target) -> None:
        """Something else than DNS has told more of what limits a site that was placed."""
        found = self._placed.get(site)
        if found is not None:
            placed = self._placed[site] = await self._place(target, found.answer)
            await self._told(site, placed)  # Also with the same keys: how they are limited may be another.

    async def watch(self) -> None:
        """Begin to follow what other processes learn and what people rule, until :meth:`unwatch`."""
        self._watch = asyncio.get_running_loop().create_task(self._follow())

    async def unwatch(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)

    async def _place(self, target: Target, answer: Answer) -> Placed:
        pinned, own = answer.addresses[0], self.own_key(target)
        if own is not None:
            return await self.accounts.placed(Placed(answer, pinned, (own,)), target)
        if shared := chain_key(target, answer.chain, self.config.stores):
            # A custom domain is a site, with a robots.txt and holds of its own, in front of what it shares with others.
            notes = (f"{target.host} is a custom domain of {shared}",)
            return await self.accounts.placed(Placed(answer, pinned, (target.site, shared), notes=notes), target)
        placement = await self.placing.place(target.host, answer)
        return self._at(Placed(answer, pinned, ()), target.site, placement)

    def _at(self, found: Placed, site: str, placement: Placement) -> Placed:
        keys, generation = self._keys(site, placement), self.placing.generation
        return replace(found, keys=keys, placement=placement, generation=generation, limit=self.config.limits.of(keys[-1]))

    def _keys(self, site: str, placement: Placement) -> tuple[str, ...]:
        edge, host = placement.edge, placement.host
        if edge is None:
            return site, placement.origin
        if placement.located or self.placing.has_answered(host):
            return site, f"edge:{edge.provider}/{host}", placement.origin
        # Many hosts behind an edge may be one platform's, which only their answers tell: their first requests go one by one.
        return site, f"edge:{edge.provider}/{host}", f"probe:{edge.provider}", placement.origin

    async def _moved(self, site: str, found: Placed) -> Placed:
        """As it was placed, or as it is to be placed by what was learned since."""
        if found.placement is None or found.generation == self.placing.generation:
            return found
        return await self._anew(site, found, found.placement.host)

    async def _anew(self, site: str, found: Placed, host: str) -> Placed:
        placing = self.placing
        placement = placing.of(host) if placing.remembers(host) else await placing.place(host, found.answer)
        placed = self._placed[site] = self._at(found, site, placement)
        await self._tell(site, found, placed)
        return placed

    async def _tell(self, site: str, before: Placed | None, placed: Placed) -> None:
        """Whoever waits for the site waits under its new keys; also who stood in line for the wire already."""
        if before is not None and (before.keys, before.limit) != (placed.keys, placed.limit):
            await self._told(site, placed)

    async def _told(self, site: str, placed: Placed) -> None:
        if self.agenda is not None:
            await self.agenda.placed(site, placed)
        if self.lines is not None:
            self.lines.moved(site)

    async def _follow(self) -> None:
        pause, generation, tidied = LOOK_AROUND, self.placing.generation, time.monotonic()
        while True:
            await asyncio.sleep(pause)
            try:
                await self.placing.look_around()
                if time.monotonic() - tidied > TIDY:
                    tidied = time.monotonic()
                    await self.placing.tidy(IDLE)
                began = time.monotonic()
                if self.placing.generation != generation:
                    generation = self.placing.generation
                    await self._move_all()
                pause = max(LOOK_AROUND, MOVING_SHARE * (time.monotonic() - began))
            except StoreError as error:
                self.placing.trouble(error)
            except Exception:
                # Whatever it was: without this task nobody would learn of merges and rulings any more, and nobody would know.
                logger.exception("Origins: what others have written could not be followed; it is tried again")

    async def _move_all(self) -> None:
        for number, (site, placed) in enumerate(list(self._placed.items()), 1):
            if self._placed.get(site) is placed:
                await self._moved(site, placed)
            if not number % MOVED_AT_ONCE:
                await asyncio.sleep(0)
