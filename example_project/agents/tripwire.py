"""Sees every address that the crawl's process tries to reach, whatever library tries it.

The guard is judged by somebody who is not the guard: CPython's own audit events
(https://docs.python.org/3/library/audit_events.html). What lies outside the town and its name server is written to
TRIPWIRE_FILE. A try that would leave this machine is refused on top of that, since nobody's metadata service or
neighbour should hear from a demo. A try within the machine is let through to the town's traps, which log it too.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import time
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from scrapy.exceptions import NotConfigured

from agents.facts import town

if TYPE_CHECKING:
    from collections.abc import Collection
    from ipaddress import IPv4Address, IPv4Network, IPv6Network

    from scrapy.crawler import Crawler

REACHING: Final = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
DISCARD: Final = 9
"""The port of the discard service (RFC 863)."""
ASKING: Final = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})
"""Questions to the system's resolver, which would ask name servers outside the town."""


class Tripwire:
    """An extension. Audit hooks cannot be taken away again: it watches until the process ends."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Tripwire:
        path, facts = crawler.settings.get("TRIPWIRE_FILE"), town()
        if not path or facts is None:
            raise NotConfigured
        files = {urlsplit(trap["url"]).path for trap in facts["traps"] if trap["url"].startswith("file:")}
        watch(path, ip_network(facts["network"]), {facts["dns"]}, files)
        return cls()


def watch(path: str, network: IPv4Network | IPv6Network, known: Collection[str], files: Collection[str] = ()) -> None:
    """From now on write to `path`, a JSON object a line, what this process tries to reach outside `network`.

    `known`: further addresses that may be reached, as "127.0.0.1:53". `files`: paths that nobody may open.
    """
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def hook(event: str, args: tuple[object, ...]) -> None:
        if event == "open":
            if args[0] in files:
                note(log, event, str(args[0]), 0)
            return
        if event in REACHING:
            target = args[1]
            if not isinstance(target, tuple) or len(target) < 2:
                return  # not the internet's family: a path, or a connected socket
            host, port = str(target[0]), int(target[1])
            if port == DISCARD and isinstance(args[0], socket.socket) and args[0].type == socket.SOCK_DGRAM:
                return  # The guard asks the kernel by it whether an address is the machine's own; nothing is sent.
        elif event in ASKING and args[0]:
            host, port = args[0].decode("latin-1") if isinstance(args[0], bytes) else str(args[0]), 0
        else:
            return
        address = address_of(host)
        if address is not None and (event in ASKING or address in network or f"{address}:{port}" in known):
            return
        note(log, event, host, port)
        # The unspecified address stands for this machine, too (Linux connects to its loopback).
        if address is None or not (address.is_loopback or address.is_unspecified):
            raise OSError(errno.ENETUNREACH, f"the tripwire lets nobody out to {host}")

    sys.addaudithook(hook)


def address_of(host: str) -> IPv4Address | IPv6Address | None:
    """The address that the socket would reach; None for a name, which the socket would have to resolve itself."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def note(log: int, event: str, host: str, port: int) -> None:
    line = {"t": time.monotonic(), "event": event, "address": host, "port": port}
    os.write(log, json.dumps(line).encode() + b"\n")
