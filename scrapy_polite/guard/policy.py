"""The judgement: whether a crawl may send a request to a target, and dial the addresses that its name has."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import TYPE_CHECKING, Final

from scrapy_polite.guard.embedded import embedded_ipv4, embedded_numbers, is_isatap
from scrapy_polite.guard.names import LOCALHOST, is_localhost, judge_name
from scrapy_polite.guard.nat64 import behind
from scrapy_polite.guard.ranges import Spans
from scrapy_polite.guard.refusal import Refused
from scrapy_polite.guard.verdicts import ALLOWED, Verdict, Verdicts
from scrapy_polite.naming.hosts import Invalid, IPAddress, Target, canonical_host, literal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from scrapy_polite.guard.allowing import HostRule

__all__ = ["Policy", "Refused"]

#: Schemes that are fetched from a server over TCP by the handlers that the guard stands in front of.
SCHEMES: Final = frozenset({"http", "https"})

#: Where web servers are usually found; POLITE_ALLOW_PORTS replaces it.
DEFAULT_PORTS: Final = frozenset({80, 443, 8080, 8443})

#: Reasons of verdicts on IPv6 addresses after which what the address carries is looked at; "" is that of ALLOWED.
_MORE_TO_SAY: Final = frozenset({"", "embedded"})


class _Opened:
    """The networks that rules open for one host: those on every allowed port, and those on single ports."""

    __slots__ = ("_always", "_by_port")

    def __init__(self, rules: Sequence[HostRule]) -> None:
        self._always = _by_version(rule.network for rule in rules if not rule.port)
        ports = {rule.port for rule in rules if rule.port}
        self._by_port = {port: _by_version(rule.network for rule in rules if rule.port == port) for port in ports}

    def holds(self, version: int, number: int, port: int) -> bool:
        return self.on_port(version, number, port) or number in self._always[version]

    def on_port(self, version: int, number: int, port: int) -> bool:
        """Whether a rule opens the address on just this port."""
        return port in self._by_port and number in self._by_port[port][version]

    def names(self, port: int) -> bool:
        return port in self._by_port


@dataclass(frozen=True, slots=True)
class Policy:
    """What a crawl may reach. One per crawler; immutable, so it may be shared between threads.

    Order of precedence for an address: metadata services (never) > `deny` > `allow` and `rules` > the built-in table. An
    IPv4 address inside an IPv6 one is judged as well, by the same order: allowing ``10.0.0.0/8`` does not open
    ``64:ff9b::a00:1``, and allowing ``64:ff9b::/96`` (a network with DNS64) opens public addresses behind it only.

    A rule opens its network for one host, and its name where that means something inside a network only; with a port, on
    that port alone. `host` and `port` of the judgements are the target's; without them no rule has a say.
    """

    allow: tuple[IPv4Network | IPv6Network, ...] = ()
    deny: tuple[IPv4Network | IPv6Network, ...] = ()
    ports: frozenset[int] = DEFAULT_PORTS
    rules: tuple[HostRule, ...] = ()
    _ipv4: Verdicts = field(init=False, repr=False, compare=False)
    _ipv6: Verdicts = field(init=False, repr=False, compare=False)
    _opened: dict[str, _Opened] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_host: dict[str, list[HostRule]] = {}
        for rule in self.rules:
            by_host.setdefault(rule.host, []).append(rule)
        object.__setattr__(self, "_ipv4", Verdicts(4, self.allow, self.deny))
        object.__setattr__(self, "_ipv6", Verdicts(6, self.allow, self.deny))
        object.__setattr__(self, "_opened", {host: _Opened(rules) for host, rules in by_host.items()})

    def judge_target(self, target: Target | Invalid) -> Refused | None:
        """What can be said before DNS is asked: scheme, host, user-info, port. None: go on, and judge the answer.

        The most telling rule is named first: a metadata address with an odd port is refused as ``metadata``.
        """
        if isinstance(target, Invalid):
            return Refused(target.reason, target.detail)
        return (
            self.judge_scheme(target.scheme)
            or self._judge_host(target)
            or self.judge_userinfo(target)
            or self.judge_port(target.host, target.port)
        )

    def judge_scheme(self, scheme: str) -> Refused | None:
        """Whether URLs of a scheme are fetched at all."""
        return None if scheme in SCHEMES else Refused("scheme", f"{scheme}: is not fetched; only http: and https: are.")

    def judge_userinfo(self, target: Target) -> Refused | None:
        """Whether the URL carries a secret that would be sent to its host."""
        return Refused("userinfo", f"The URL of {target.host} carries a user name or password.") if target.userinfo else None

    def judge_port(self, host: str, port: int) -> Refused | None:
        """Whether a port may be dialled at all; where only a rule for the host opens it, the address has a say as well."""
        if port in self.ports or (host in self._opened and self._opened[host].names(port)):
            return None
        listed = ", ".join(map(str, sorted(self.ports)))
        return Refused("port", f"Port {port} of {host} is not in POLITE_ALLOW_PORTS ({listed}).")

    def _judge_host(self, target: Target) -> Refused | None:
        host, port, address = target.host, target.port, target.address
        return self.judge_name(host, host, port) if address is None else self.judge_address(address, host, port)

    def judge_cname(self, name: str, host: str = "", port: int = 0) -> Refused | None:
        """Whether a target of the host's CNAME chain may be followed."""
        if canonical_host(name) != name or literal(name) is not None:
            return Refused("bad_host", f"The CNAME target {name!a} is no canonical host name.")
        refused = self.judge_name(name, host, port)
        return refused and Refused(refused.reason, "CNAME chain: ", refused)

    def judge_name(self, name: str, host: str = "", port: int = 0) -> Refused | None:
        """Whether a canonical host name may be looked up at all: the target's own, or one of its CNAME chain."""
        if is_localhost(name):
            refused = self.judge_address(LOCALHOST, host, port)
            return refused and Refused(refused.reason, name, " is the machine itself (RFC 6761 section 6.3).")
        found = None if name in self._opened else judge_name(name)
        return Refused(*found) if found else None

    def judge_address(self, address: IPAddress, host: str = "", port: int = 0) -> Refused | None:
        """Whether an address may be dialled, and every IPv4 address that it carries."""
        if isinstance(address, IPv4Address):
            against = self._against_ipv4(int(address), host, port)
            return against and Refused(against.reason, address, against.text)
        number = int(address)
        verdict = self._ipv6.find(number)
        if address.scope_id is None and not is_isatap(number):
            if verdict is None:
                return None
            if verdict.reason not in _MORE_TO_SAY:
                opens = not verdict.final and self._opens(6, number, host, port)
                return None if opens else Refused(verdict.reason, address, verdict.text)
        return self._judge_unusual(address, verdict, host, port)

    def judge_answer(
        self,
        addresses: Sequence[IPAddress],
        chain: Sequence[str],
        host: str = "",
        port: int = 0,
        own: Collection[IPAddress] = (),
        nat64: Sequence[IPv6Network] = (),
    ) -> Refused | None:
        """Whether a host with this DNS answer may be reached: every address and every name of the chain must be good.

        One bad address refuses the host, since an answer that mixes public and private addresses is how rebinding
        starts. `chain` holds the CNAME targets. `own` are the addresses among them, or carried by them, at which this
        machine itself answers: a public one leads past every firewall to what listens here. `nat64` are prefixes of this
        network's own, see :mod:`scrapy_polite.guard.nat64`. Of several refusals a metadata service is named first, then
        the first one found.
        """
        first: Refused | None = None
        for refused in self._refusals(addresses, chain, host, port, own, nat64):
            if refused.reason == "metadata":
                return refused
            first = first or refused
        return first

    def _refusals(
        self,
        addresses: Sequence[IPAddress],
        chain: Sequence[str],
        host: str,
        port: int,
        own: Collection[IPAddress],
        nat64: Sequence[IPv6Network],
    ) -> Iterable[Refused]:
        for name in chain:
            if (refused := self.judge_cname(name, host, port)) is not None:
                yield refused
        if not addresses:
            yield Refused("no_addresses", "The name has no address.")
        opened = self._opened.get(host) if port not in self.ports else None
        for address in addresses:
            found = self.judge_address(address, host, port)
            if found is not None:
                yield found
            # Also where it is refused already: what lies behind may be a metadata service, which nothing lets through.
            for one in behind(address, nat64) if nat64 else ():
                if (refused := self.judge_address(one, host, port)) is not None:
                    yield Refused(refused.reason, address, " carries an IPv4 address, by NAT64 of this network: ", refused)
            if found is not None:
                continue
            if own and (mine := self._own(address, host, port, own)) is not None:
                yield Refused("own_interface", mine, " is an address of this machine.")
            elif opened is not None and not opened.on_port(address.version, int(address), port):
                yield Refused("port", f"Port {port} of {host} is open to the networks that are named for it only: {address}.")

    def _judge_unusual(self, address: IPv6Address, verdict: Verdict | None, host: str, port: int) -> Refused | None:
        """An IPv6 address that carries another, or a zone id: judged for itself, and for what it carries."""
        worst: Verdict | None = None
        carried = 0
        for number in embedded_numbers(int(address)):
            found = self._against_ipv4(number, host, port)
            if found is not None and (worst is None or found.reason == "metadata"):
                worst, carried = found, number
        # What is carried says more than that something is carried; of several readings the worst one speaks.
        says_less = verdict is None or verdict.reason in _MORE_TO_SAY or (worst is not None and worst.reason == "metadata")
        if worst is None or not says_less or (address.scope_id is not None and worst.reason != "metadata"):
            return self._judge_outside(address, verdict, host, port)
        return Refused(worst.reason, address, " carries an IPv4 address: ", IPv4Address(carried), worst.text)

    def _judge_outside(self, address: IPv6Address, verdict: Verdict | None, host: str, port: int) -> Refused | None:
        """The same address, as if it carried nothing."""
        if address.scope_id is not None and (verdict is None or verdict.reason != "metadata"):
            return Refused("zone_id", address, " has a zone id, which only means something on this machine.")
        if verdict is ALLOWED or ((verdict is None or not verdict.final) and self._opens(6, int(address), host, port)):
            return None
        if verdict is not None:
            return Refused(verdict.reason, address, verdict.text)
        return Refused("embedded", address, " has an ISATAP interface identifier (RFC 5214 section 6.1).")

    def _against_ipv4(self, number: int, host: str, port: int) -> Verdict | None:
        """What is said against an IPv4 address, on its own or inside another."""
        verdict = self._ipv4.find(number)
        if verdict is None or verdict is ALLOWED or (not verdict.final and self._opens(4, number, host, port)):
            return None
        return verdict

    def _opens(self, version: int, number: int, host: str, port: int) -> bool:
        """Whether a rule for the host opens the address."""
        opened = self._opened.get(host)
        return opened is not None and opened.holds(version, number, port)

    def _own(self, address: IPAddress, host: str, port: int, own: Collection[IPAddress]) -> IPAddress | None:
        """The address, or what it carries, if it is this machine's and nothing has opened it."""
        inside = () if isinstance(address, IPv4Address) else embedded_ipv4(address)
        for one in (address, *inside):
            table = self._ipv4 if isinstance(one, IPv4Address) else self._ipv6
            if one in own and table.find(int(one)) is not ALLOWED and not self._opens(one.version, int(one), host, port):
                return one
        return None


def _by_version(networks: Iterable[IPv4Network | IPv6Network]) -> dict[int, Spans]:
    found = list(networks)
    return {version: Spans(network for network in found if network.version == version) for version in (4, 6)}
