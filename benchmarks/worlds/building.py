"""What a made-up web is built from: sites with a truth, their addresses and names, and the sightings a crawl has of them.

A kind of site (`platforms`, `hosting`, `fronts`) makes drafts. Faults are put into a tenth of them (`faults`). Only then is
each draft observed: its DNS answers, PTR names and responses are what anybody who judges is given, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address, ip_network
from typing import TYPE_CHECKING, Final

from benchmarks.worlds.software import Look, stack
from benchmarks.worlds.words import BRAND_SYLLABLES, FIRST, LAST, TRADE
from scrapy_polite.origins.evidence import Certificate, Lookup, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from benchmarks.worlds.software import Front

NOW = 1_800_000_000.0
"""When the world is looked at, in unix seconds."""

HOUR, DAY = 3_600.0, 86_400.0

SUFFIXES = ("com", "com", "com", "com", "co.uk", "de", "net", "org", "com.au", "nl", "fr", "it", "se", "io")

PROVIDERS = (
    # PTR names that the big hosters give to whatever they rent out: they say who owns the machine, not who runs it.
    "ec2-{a}-{b}-{c}-{d}.eu-west-1.compute.amazonaws.com",
    "static.{d}.{c}.{b}.{a}.clients.your-server.de",
    "{d}.{c}.{b}.{a}.bc.googleusercontent.com",
    "{a}-{b}-{c}-{d}.ip.linodeusercontent.com",
    "vps-{hex}.vps.ovh.net",
    "{a}.{b}.{c}.{d}.vultrusercontent.com",
    "vmi{number}.contaboserver.net",
    "ip-{a}-{b}-{c}-{d}.ip.secureserver.net",
)

_TAKEN_OUT: Final = (
    # Never given out: what is reserved, and where edges and platforms answer.
    "0.0.0.0/8 10.0.0.0/8 13.32.0.0/11 13.104.0.0/14 13.224.0.0/12 18.64.0.0/10 23.0.0.0/8 2.16.0.0/13 45.60.0.0/15 "
    "45.64.64.0/22 75.2.0.0/16 76.76.21.0/24 76.223.0.0/16 99.83.0.0/16 100.64.0.0/10 104.0.0.0/8 108.162.0.0/16 "
    "127.0.0.0/8 141.101.0.0/16 146.75.0.0/16 151.101.0.0/16 162.158.0.0/15 169.254.0.0/16 172.0.0.0/8 "
    "173.245.0.0/16 185.0.0.0/8 188.114.0.0/16 190.93.0.0/16 192.0.0.0/8 197.234.0.0/16 198.0.0.0/8 199.0.0.0/8 "
    "203.0.0.0/8 224.0.0.0/3"
)
TAKEN_OUT: Final = tuple(map(ip_network, _TAKEN_OUT.split()))


@dataclass(frozen=True, slots=True)
class Site:
    """One host: the truth about it, and what a crawl has seen of it, in the order in which it was seen."""

    host: str
    kind: str
    unit: str
    """The servers that its requests land on: two hosts share servers if they have one unit."""
    fault: str
    """What is missing or stale, "" for nothing."""
    lookups: tuple[Lookup, ...]
    pointers: Mapping[str, tuple[str, ...]]
    """PTR names of its addresses, as far as there are any and anybody asked."""
    replies: tuple[Reply, ...]


@dataclass(frozen=True, slots=True)
class World:
    seed: int
    sites: tuple[Site, ...]
    unknown_edge: tuple[str, ...]
    """The addresses of the CDN that no table knows."""
    now: float = NOW


@dataclass(slots=True)
class Shared:
    """A certificate of several hosts, which may still grow."""

    serial: str
    fingerprint: str
    names: list[str]


@dataclass(slots=True)
class Draft:
    """A site as it really is, before anybody has looked."""

    host: str
    kind: str
    unit: str
    addresses: tuple[str, ...]
    look: Look
    chain: tuple[str, ...] = ()
    ttl: float = HOUR
    front: Front | None = None
    certificate: Shared | None = None
    """None: one of its own."""
    peer: str = ""
    """The address that answers; "" for any of them."""
    history: Callable[[float], tuple[str, ...]] | None = None
    """Its addresses so many seconds before now, where they were not always the same."""
    fault: str = ""
    asked: float = 0.0
    """When it was looked up, in seconds before now; 0 for lately."""
    seen: float = 0.0
    """When it was first requested, likewise."""
    statuses: tuple[int, ...] = (200,)
    kinds: tuple[str, ...] = ()
    """Kinds of the responses, () for what comes."""
    pointed: bool = True


@dataclass(slots=True)
class Builder:
    random: Random
    drafts: list[Draft] = field(default_factory=list)
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """PTR names by address."""
    unknown_edge: tuple[str, ...] = ()
    pools: dict[str, Shared] = field(default_factory=dict)
    """The certificate in which a CDN puts the next strangers together, by provider."""
    _taken: set[str] = field(default_factory=set)
    _serial: int = 0

    # ---- names and addresses that nobody else has

    def domain(self) -> str:
        """A registered domain of somebody's."""
        random = self.random
        while True:
            name = random.choice(FIRST) + random.choice(LAST)
            if random.random() < 0.6:
                name += ("-" if random.random() < 0.5 else "") + random.choice(TRADE)
            if random.random() < 0.15:
                name += str(random.randrange(1, 99))
            name = f"{name}.{random.choice(SUFFIXES)}"
            if name not in self._taken:
                self._taken.add(name)
                return name
            self._serial += 1
            name = f"{name.partition('.')[0]}-{self._serial}.{name.partition('.')[2]}"
            self._taken.add(name)
            return name

    def host(self) -> str:
        return ("www." if self.random.random() < 0.65 else "") + self.domain()

    def brand(self) -> str:
        """A company's name that is no other's."""
        while True:
            name = "".join(self.random.sample(BRAND_SYLLABLES, self.random.choice((2, 2, 3))))
            if name not in self._taken:
                self._taken.add(name)
                return name

    def network(self) -> str:
        """A /24 of somebody's, as its first three numbers."""
        while True:
            address = IPv4Address(self.random.randrange(1 << 24, 223 << 24))
            prefix = str(address).rpartition(".")[0]
            if prefix not in self._taken and not any(address in network for network in TAKEN_OUT):
                self._taken.add(prefix)
                return prefix

    def address(self, network: str | None = None, names: Sequence[str] | None = None) -> str:
        """A public address that nobody else has, with the PTR names given, or with what its hoster would say."""
        random = self.random
        while True:
            address = f"{network or self.network()}.{random.randrange(2, 254)}"
            if address not in self._taken:
                self._taken.add(address)
                if names is None:
                    names = () if random.random() < 0.3 else (self.provider_name(address),)
                if names:
                    self.names[address] = tuple(names)
                return address

    def address6(self, prefix: str | None = None) -> str:
        random = self.random
        prefix = (
            prefix
            or f"2a01:{random.randrange(0x100, 0xFFFF):x}:{random.randrange(1, 0xFFFF):x}:{random.randrange(1, 0xFFFF):x}"
        )
        return f"{prefix}::{random.randrange(1, 0xFFFF):x}"

    def provider_name(self, address: str) -> str:
        a, b, c, d = address.split(".")
        number = self.random.randrange(100_000, 2_000_000)
        return self.random.choice(PROVIDERS).format(a=a, b=b, c=c, d=d, hex=f"{number:08x}", number=number)

    # ---- draws

    def size(self, least: int, most: int, shape: float = 1.1) -> int:
        """A size from a heavy tail: many small ones, few large ones."""
        return min(most, int(least * self.random.paretovariate(shape)))

    def ttl(self) -> float:
        return self.random.choice((300.0, 300.0, 600.0, 3_600.0, 3_600.0, 3_600.0, 14_400.0, DAY))

    def certificate(self, names: Sequence[str]) -> Shared:
        random = self.random
        return Shared(f"{random.getrandbits(96):x}", f"{random.getrandbits(256):064x}", list(names))

    def stack(self) -> Look:
        """Software of somebody who runs a site alone."""
        return stack(self.random)

    def add(self, draft: Draft) -> Draft:
        self.drafts.append(draft)
        return draft


def observed(draft: Draft, builder: Builder) -> Site:
    """What a crawl sees of a draft: one look-up, PTR names, and some responses in order."""
    random = builder.random
    asked = draft.asked or random.uniform(1.0, min(draft.ttl, HOUR))
    seen = draft.seen or random.uniform(1.0, min(asked, HOUR))
    addresses, answering = draft.addresses, draft.addresses
    if draft.history is not None:
        addresses, answering = draft.history(asked), draft.history(seen)
    peer = draft.peer or (random.choice(answering) if answering else None)
    certificate = None
    if draft.certificate is not None or random.random() < 0.85:
        bare = draft.host.removeprefix("www.")
        shown = draft.certificate or builder.certificate((bare, f"www.{bare}"))
        certificate = Certificate(shown.serial, shown.fingerprint, tuple(shown.names))
    replies = []
    for kind in draft.kinds or _visited(random):
        for status in draft.statuses:
            headers = draft.look.headers(random, kind, status)
            if draft.front is not None:
                headers = draft.front.passed(random, headers, status)
            replies.append(Reply(peer, status, kind, headers, certificate, NOW - seen))
            seen *= random.uniform(0.5, 0.99)
    if draft.kinds == ("nothing",):
        replies = []
    pointers = {address: builder.names[address] for address in addresses if address in builder.names} if draft.pointed else {}
    chain = draft.chain
    if not chain and draft.front is None and draft.host.startswith("www.") and random.random() < 0.35:
        # The common way to have both names: www is an alias of the domain itself.
        chain = (draft.host.removeprefix("www."),)
    lookup = Lookup(chain, tuple(random.sample(addresses, len(addresses))), draft.ttl, NOW - asked)
    return Site(draft.host, draft.kind, draft.unit, draft.fault, (lookup,), pointers, tuple(replies))


def _visited(random: Random) -> tuple[str, ...]:
    chance = random.random()
    if chance < 0.45:
        return ("robots", "page")
    if chance < 0.70:
        return ("page",)
    if chance < 0.90:
        return ("robots", "page", "page")
    return ("robots", "page", "search", "image")
