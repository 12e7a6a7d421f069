"""Which name servers are asked: the operator's, or the system's."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

import dns.asyncresolver
import dns.resolver
from dns.nameserver import Do53Nameserver

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["make_stub", "parse_server"]

_FORMS = "'192.0.2.53', '192.0.2.53:5300', '2001:db8::53' or '[2001:db8::53]:5300'"


def parse_server(text: str) -> tuple[str, int]:
    """Address and port of a name server as POLITE_DNS_SERVERS writes it. ValueError for anything else."""
    host, port = text.strip(), "53"
    if host.startswith("["):
        host, bracket, rest = host[1:].partition("]")
        good = bracket and (not rest or rest.startswith(":"))
        port = rest[1:] if rest else port
    else:
        good = True
        if host.count(":") == 1:
            host, _, port = host.partition(":")
    try:
        address = str(ip_address(host))
    except ValueError:
        good = False
    if not good or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 1 << 16:
        raise ValueError(f"POLITE_DNS_SERVERS: {text!r} is no name server. Give addresses, with a port or without: {_FORMS}.")
    return address, int(port)


def make_stub(servers: Sequence[str] | None, timeout: float) -> dns.asyncresolver.Resolver:
    """A stub resolver that asks `servers`, or the system's where None, for at most `timeout` seconds a question."""
    if timeout <= 0:
        raise ValueError(f"POLITE_DNS_TIMEOUT: {timeout!r} is no time to wait. Give seconds above 0.")
    if servers is None:
        stub = _system_stub()
    else:
        if isinstance(servers, str) or not servers:
            raise ValueError(f"POLITE_DNS_SERVERS: {servers!r} is no list of name servers. Give a list such as [{_FORMS}].")
        stub = dns.asyncresolver.Resolver(configure=False)
        stub.nameservers = [Do53Nameserver(*parse_server(server)) for server in servers]
    stub.lifetime = timeout
    # One packet lost on the way must not cost the look-up: two tries fit into any time limit.
    stub.timeout = min(2.0, timeout / 2)
    return stub


def _system_stub() -> dns.asyncresolver.Resolver:
    try:
        return dns.asyncresolver.Resolver()
    except dns.resolver.NoResolverConfiguration:
        # resolv.conf(5): without a nameserver entry, the one on the local machine is asked.
        stub = dns.asyncresolver.Resolver(configure=False)
        stub.nameservers = [Do53Nameserver("127.0.0.1", 53)]
        return stub
