"""What an operator opens: a network for every host, or one for a single host, perhaps on a single port."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_network
from typing import TYPE_CHECKING, NamedTuple

from scrapy_polite.guard.metadata import METADATA_ADDRESSES
from scrapy_polite.guard.names import never_opened
from scrapy_polite.naming.hosts import Invalid, canonical_host

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_polite.guard.ranges import Network

__all__ = ["Allowed", "HostRule", "allowed_from"]


@dataclass(frozen=True, slots=True)
class HostRule:
    """`host` (canonical) may have addresses in `network`; with a `port` above 0, on that port only, which is opened for it."""

    host: str
    port: int
    network: Network

    def __str__(self) -> str:
        """The item of POLITE_ALLOW_NETWORKS."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}={self.network}" if self.port else f"{host}={self.network}"


class Allowed(NamedTuple):
    """What POLITE_ALLOW_NETWORKS says: networks for every host, and rules for single ones."""

    networks: tuple[Network, ...]
    rules: tuple[HostRule, ...]


def allowed_from(items: Iterable[object]) -> Allowed:
    """Read ``10.0.0.0/8``, ``intranet.example=10.1.2.3/32`` and ``intranet.example:8443=10.1.2.3/32``.

    ValueError names the item and what is wrong with it, also where it would have no effect: metadata services and names
    that DNS must not be asked for are opened by nothing.
    """
    networks: list[Network] = []
    rules: list[HostRule] = []
    for item in map(str, items):
        left, equals, right = item.rpartition("=")
        network = _network(item, right.strip())
        if equals:
            rules.append(HostRule(*_host_and_port(item, left.strip()), network))
        else:
            networks.append(network)
    return Allowed(tuple(networks), tuple(rules))


def _network(item: str, text: str) -> Network:
    try:
        network = ip_network(text)
    except ValueError as error:
        raise ValueError(f"{item!r}: {error}.") from None
    owner = METADATA_ADDRESSES.get(network[0]) if network.num_addresses == 1 else None
    if owner is not None:
        raise ValueError(f"{item!r}: {network[0]} is {owner}, which no setting opens.")
    return network


def _host_and_port(item: str, text: str) -> tuple[str, int]:
    bare, port, good = text, "", True
    if text.startswith("["):
        inside, bracket, rest = text.partition("]")
        bare, port = inside + bracket, rest[1:]
        good = not rest or (rest[0] == ":" and bool(port))
    elif text.count(":") == 1 and "/" not in text:  # two and more: an IPv6 address, which has no port without brackets
        bare, _, port = text.partition(":")
        good = bool(port)
    if not good:
        raise ValueError(f"{item!r}: {text!r} is neither HOST nor HOST:PORT.")
    host = canonical_host(bare)
    if isinstance(host, Invalid):
        raise ValueError(f"{item!r}: {host.detail}")
    why = never_opened(host)
    if why is not None:
        raise ValueError(f"{item!r}: {why}")
    if not port:
        return host, 0
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        raise ValueError(f"{item!r}: {port!r} is no port: give a number from 1 to 65535.")
    return host, int(port)
