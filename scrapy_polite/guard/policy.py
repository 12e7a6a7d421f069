"""The judgement: whether a crawl may send a request to a target, and dial the addresses that its name has."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TYPE_CHECKING, Final

from scrapy_polite.guard.embedded import embedded_ipv4, is_isatap
from scrapy_polite.guard.metadata import METADATA_ADDRESSES
from scrapy_polite.guard.names import is_localhost, judge_name
from scrapy_polite.guard.ranges import Spans, builtin_row
from scrapy_polite.naming.hosts import Invalid, IPAddress, Target, canonical_host, literal

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Policy", "Refused"]

#: Schemes that are fetched from a server over TCP by the handlers that the guard stands in front of.
SCHEMES: Final = frozenset({"http", "https"})

#: Where web servers are usually found; POLITE_ALLOW_PORTS replaces it.
DEFAULT_PORTS: Final = frozenset({80, 443, 8080, 8443})

_LOOPBACK: Final = IPv4Address("127.0.0.1")

# By version and integer: an address object takes ten times as long to hash.
_METADATA: Final = {
    version: {int(address): owner for address, owner in METADATA_ADDRESSES.items() if address.version == version}
    for version in (4, 6)
}


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that will not be made.

    `reason` is a short code for ``polite/refused/<reason>``. `detail` names the rule and the address: it is for the
    operator's log, and must not be handed to whoever chose the URL, since it would answer questions about the network.
    """

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Policy:
    """What a crawl may reach. One per crawler; immutable, so it may be shared between threads.

    Order of precedence for an address: metadata services (never) > `deny` > `allow` > the built-in table. An IPv4
    address inside an IPv6 one is judged as well, by the same order: allowing ``10.0.0.0/8`` does not open
    ``64:ff9b::a00:1``, and allowing ``64:ff9b::/96`` (a network with DNS64) opens public addresses behind it only.
    """

    allow: tuple[IPv4Network | IPv6Network, ...] = ()
    deny: tuple[IPv4Network | IPv6Network, ...] = ()
    ports: frozenset[int] = DEFAULT_PORTS
    _allowed: dict[int, Spans] = field(init=False, repr=False, compare=False)
    _denied: dict[int, Spans] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_allowed", _by_version(self.allow))
        object.__setattr__(self, "_denied", _by_version(self.deny))

    def judge_target(self, target: Target | Invalid) -> Refused | None:
        """What can be said before DNS is asked: scheme, host, user-info, port. None: go on, and judge the answer.

        The most telling rule is named first: a metadata address with an odd port is refused as ``metadata``.
        """
        if isinstance(target, Invalid):
            return Refused(target.reason, target.detail)
        if target.scheme not in SCHEMES:
            return Refused("scheme", f"{target.scheme}: is not fetched; only http: and https: are.")
        refused = self.judge_name(target.host) if target.address is None else self.judge_address(target.address)
        if refused is not None:
            return refused
        if target.userinfo:
            return Refused("userinfo", f"The URL of {target.host} carries a user name or password.")
        if target.port not in self.ports:
            listed = ", ".join(map(str, sorted(self.ports)))
            return Refused("port", f"Port {target.port} of {target.host} is not in POLITE_ALLOW_PORTS ({listed}).")
        return None

    def judge_name(self, host: str) -> Refused | None:
        """Whether a canonical host name may be looked up at all."""
        if is_localhost(host):
            refused = self.judge_address(_LOOPBACK)
            return refused and Refused(refused.reason, f"{host} is the machine itself (RFC 6761 section 6.3).")
        found = judge_name(host)
        return Refused(*found) if found else None

    def judge_address(self, address: IPAddress) -> Refused | None:
        """Whether an address may be dialled, and every IPv4 address that it carries."""
        refused = self._judge_one(address)
        if isinstance(address, IPv4Address):
            return refused
        # What passed the built-in table carries nothing: that refuses every form. What an operator allowed may.
        if refused.reason != "embedded" if refused else int(address) not in self._allowed[6]:
            return refused
        # What is carried says more than that something is carried; of several readings the worst one speaks.
        inner = [found for carried in embedded_ipv4(address) if (found := self._judge_one(carried)) is not None]
        if not inner:
            return refused
        worst = min(inner, key=lambda found: found.reason != "metadata")
        return Refused(worst.reason, f"{address} carries an IPv4 address: {worst.detail}")

    def judge_answer(self, addresses: Sequence[IPAddress], chain: Sequence[str]) -> Refused | None:
        """Whether a host with this DNS answer may be reached: every address and every name of the chain must be good.

        One bad address refuses the host, since an answer that mixes public and private addresses is how rebinding
        starts. `chain` holds the CNAME targets.
        """
        for name in chain:
            if canonical_host(name) != name or literal(name) is not None:
                return Refused("bad_host", f"The CNAME target {name!a} is no canonical host name.")
            refused = self.judge_name(name)
            if refused is not None:
                return Refused(refused.reason, f"CNAME chain: {refused.detail}")
        if not addresses:
            return Refused("no_addresses", "The name has no address.")
        for address in addresses:
            refused = self.judge_address(address)
            if refused is not None:
                return refused
        return None

    def _judge_one(self, address: IPAddress) -> Refused | None:
        version, number = address.version, int(address)
        if (owner := _METADATA[version].get(number)) is not None:
            return Refused("metadata", f"{address}: {owner}; no setting allows it.")
        if isinstance(address, IPv6Address) and address.scope_id is not None:
            return Refused("zone_id", f"{address} has a zone id, which only means something on this machine.")
        if number in self._denied[version]:
            return Refused("operator_deny", f"{address} is in POLITE_DENY_NETWORKS.")
        if number in self._allowed[version]:
            return None
        row = builtin_row(address)
        if row is not None:
            return Refused(row.reason, f"{address} is in {row.network}: {row.name} ({row.source}).")
        if isinstance(address, IPv6Address) and is_isatap(address):
            return Refused("embedded", f"{address} has an ISATAP interface identifier (RFC 5214 section 6.1).")
        return None


def _by_version(networks: tuple[IPv4Network | IPv6Network, ...]) -> dict[int, Spans]:
    return {version: Spans(n for n in networks if n.version == version) for version in (4, 6)}
