"""The town's zone: what the DNS says about every name. Pure: a question in, records out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from town import addresses
from town.world import BUCKET_HOST, BUCKET_PATH_HOST, CDN_NAME, IMAGE_SERVICE_HOST, KNEE_NAME, PLATFORM_NAME, World

if TYPE_CHECKING:
    from collections.abc import Iterable

TTL: Final = 300
REBINDING: Final = ("rebind-1.traps.example", "rebind-2.traps.example", "rebind-3.traps.example")


@dataclass(frozen=True, slots=True)
class Records:
    """All that is said about one name: an alias, or addresses."""

    cname: str | None = None
    a: tuple[str, ...] = ()
    aaaa: tuple[str, ...] = ()
    ttl: int = TTL


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer: `records` in order as (owner, type, value, ttl); `rcode` as DNS spells it; `silent`: say nothing."""

    rcode: str
    records: tuple[tuple[str, str, str, int], ...] = ()
    silent: bool = False

    def sets(self) -> list[tuple[str, str, list[tuple[str, int]]]]:
        """The records as sets, which is how they travel: (owner, type, [(value, ttl), ...])."""
        grouped: dict[tuple[str, str], list[tuple[str, int]]] = {}
        for owner, rdtype, value, ttl in self.records:
            grouped.setdefault((owner, rdtype), []).append((value, ttl))
        return [(owner, rdtype, values) for (owner, rdtype), values in grouped.items()]


ODD: Final[dict[str, Records]] = {
    "localhost": Records(a=("127.0.0.1",), aaaa=("::1",)),
    "loop.traps.example": Records(a=("127.0.0.1",)),
    "meta.traps.example": Records(a=("169.254.169.254",)),
    "private.traps.example": Records(a=("10.0.0.5",)),
    "mixed.traps.example": Records(a=(addresses.LONE, "127.0.0.1")),
    "six.traps.example": Records(aaaa=("::1",)),
    "mapped.traps.example": Records(aaaa=("::ffff:127.0.0.1",)),
    "alias.traps.example": Records(cname="loop.traps.example"),
    "inner.traps.example": Records(cname="localhost"),
    "metadata.google.internal": Records(a=("169.254.169.254",)),
    # For tests of a resolver: too long for a datagram, a circle, an alias to nowhere.
    "wide.odd.example": Records(a=tuple(f"127.20.9.{last}" for last in range(1, 121))),
    "circle-1.odd.example": Records(cname="circle-2.odd.example"),
    "circle-2.odd.example": Records(cname="circle-1.odd.example"),
    "nowhere.odd.example": Records(cname="missing.odd.example"),
    "short.odd.example": Records(a=(addresses.LONE,), ttl=1),
}
ALIASES: Final = {"cdn": CDN_NAME, "knee": KNEE_NAME}
"""Servers whose sites are aliases of the host's own name."""
SILENT: Final = "silent.odd.example"
SERVFAIL: Final = "servfail.odd.example"


@dataclass(slots=True)
class Zone:
    """Authoritative for everything: a name that is not in here does not exist."""

    names: dict[str, Records]
    looks: dict[str, int] = field(default_factory=dict)
    turns: int = 0

    def reply(self, name: str, kind: str) -> Reply:
        """What is said to a question: `name` in lower case without the last dot, `kind` ``A``, ``AAAA``, ...

        The two addresses of a pair come in turn, as round robin DNS gives them. A rebinding name is at a decent address
        at its first look-up for an A record and at 127.0.0.1 ever after.
        """
        if name == SILENT:
            return Reply("NOERROR", silent=True)
        if name == SERVFAIL:
            return Reply("SERVFAIL")
        if name in REBINDING:
            return Reply("NOERROR", self._rebinding(name) if kind == "A" else ())
        chain: list[tuple[str, str, str, int]] = []
        while True:
            records = self.names.get(name)
            if records is None:
                return Reply("NXDOMAIN", tuple(chain))
            if records.cname is None:
                break
            chain.append((name, "CNAME", records.cname, records.ttl))
            if kind == "CNAME" or len(chain) > 8:
                return Reply("NOERROR", tuple(chain))
            name = records.cname
        values = {"A": records.a, "AAAA": records.aaaa}.get(kind, ())
        if len(values) > 1:
            self.turns += 1
            turn = self.turns % len(values)
            values = values[turn:] + values[:turn]
        return Reply("NOERROR", (*chain, *((name, kind, value, records.ttl) for value in values)))

    def _rebinding(self, name: str) -> tuple[tuple[str, str, str, int], ...]:
        looks = self.looks[name] = self.looks.get(name, 0) + 1
        return ((name, "A", addresses.REBIND if looks == 1 else "127.0.0.1", 0),)


def zone(world: World) -> Zone:
    """The zone of `world`: tenants by CNAME to the platform (at an apex by plain addresses), others by address."""
    names = dict(ODD)
    names[PLATFORM_NAME] = Records(a=addresses.PLATFORM)
    names[KNEE_NAME] = Records(a=(addresses.KNEE,))
    names[CDN_NAME] = Records(a=(addresses.CDN,))
    names[BUCKET_HOST] = names[BUCKET_PATH_HOST] = Records(a=(addresses.BUCKET,))
    names[IMAGE_SERVICE_HOST] = Records(a=(addresses.IMAGE_SERVICE,))
    for site in world.sites:
        if site.server in ALIASES:
            names[site.host] = Records(cname=ALIASES[site.server])
        elif site.server != "platform":
            names[site.host] = Records(a=addresses.SERVERS[site.server])
        elif site.host.startswith("www."):
            names[site.host] = Records(cname=PLATFORM_NAME)
        else:
            names[site.host] = Records(a=addresses.PLATFORM)
    for name in list(names):
        for parent in parents(name):
            names.setdefault(parent, Records())
    return Zone(names)


def parents(name: str) -> Iterable[str]:
    """Names above `name`: they exist (RFC 8020), even if nothing is said about them."""
    while "." in name:
        name = name.partition(".")[2]
        yield name
