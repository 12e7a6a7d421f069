"""URLs and hosts in one canonical form, by one parser.

The parser is ada-url, which implements the WHATWG URL Standard (https://url.spec.whatwg.org/): the same reading of
``0x7f.1``, ``%31%32%37.0.0.1`` or ``http:\\\\host`` that browsers have. What it answers is never parsed again by
another parser; a host that leaves it must also fit a closed grammar (`_domain`), or it is `Invalid`.

Rules of ours beyond the Standard: one trailing dot is dropped, more are refused; a label has 1 to 63 octets and a name
at most 253 (RFC 1035 section 2.3.4); labels consist of ``a-z 0-9 _ -`` only; an IPv4-mapped IPv6 address (RFC 4291
section 2.5.5.2) is written as the IPv4 address that the kernel would talk to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import Final

import ada_url
import idna

__all__ = ["IPAddress", "Invalid", "Target", "canonical_host", "display_host", "literal", "parse"]

IPAddress = IPv4Address | IPv6Address

#: Octets of one label and of a whole name without its last dot: RFC 1035 section 2.3.4.
MAX_LABEL: Final = 63
MAX_NAME: Final = 253

#: Default ports by scheme (RFC 9110 section 4.2).
DEFAULT_PORTS: Final = {"http": 80, "https": 443}

#: Longer input is not worth parsing: no server takes a request line near this size.
MAX_URL: Final = 1 << 16

#: URLs whose reading is remembered: one request is named by robots.txt, referrer and admission, one after the other.
REMEMBERED: Final = 256

_LABEL = re.compile(r"[a-z0-9_-]+\Z")
# What may not stand in a host that an operator types: ada-url would read it as the start of something else, or drop it.
_NOT_IN_A_HOST = re.compile(r"[\x00-\x20\x7f/\\?#@]")
_PARTS = ("href", "hostname", "port", "host_type")
"""What is asked of ada-url, where each part costs a call: the rest is read off the serialisation (Standard, 4.5), which begins
with the scheme and has an @ where there are credentials."""

_CREDENTIALS = ("username", "password")


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that can be sent, with all that the other stations need to know about it.

    `url` is the WHATWG serialisation with the host in canonical form. `host` has A-labels in lower case, or is a dotted
    IPv4 or a compressed IPv6 address without brackets. `port` is the port that would be dialled; 0 where the scheme has
    no default that we know. `address` is set when the host is an address literal.
    """

    url: str
    scheme: str
    host: str
    port: int
    address: IPAddress | None
    userinfo: bool

    @property
    def site(self) -> str:
        """The key of the site: ``site:`` and the canonical host."""
        return f"site:{self.host}"

    @property
    def written(self) -> str:
        """The host as it stands in a URL: an IPv6 address in brackets."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def path(self) -> str:
        """What follows the authority in `url`: path, query and fragment, beginning with a slash where there is a path."""
        at = self.url.find("/", len(self.scheme) + 3)
        return self.url[at:] if at >= 0 else ""


@dataclass(frozen=True, slots=True)
class Invalid:
    """Why a URL or a host has no canonical form.

    `reason` is one of ``bad_url``, ``scheme`` (a scheme whose URLs have no host), ``bad_host``, ``empty_host``,
    ``empty_label``, ``trailing_dots``, ``label_too_long``, ``name_too_long``. `detail` is one sentence for a person.
    """

    reason: str
    detail: str


@lru_cache(maxsize=REMEMBERED)
def parse(url: str) -> Target | Invalid:
    """The canonical target of an absolute URL, or why there is none. Never raises, never asks the network."""
    if len(url) > MAX_URL:
        return Invalid("bad_url", f"The URL has {len(url)} characters; at most {MAX_URL} are read.")
    try:
        parts = ada_url.parse_url(url, attributes=_PARTS)
    except ValueError:  # also a lone surrogate, which has no UTF-8 form
        return Invalid("bad_url", f"{_shown(url)} is not an absolute URL with a valid host (WHATWG URL Standard).")
    href, found = parts["href"], parts["hostname"]
    scheme = href.partition(":")[0]
    if not found:
        return Invalid("scheme", f"{_shown(url)} names no host: {scheme}: is not fetched from a server.")
    # Only special schemes have their host parsed; the opaque host of any other is brought to the same form here.
    host = _settled(found, parts["host_type"]) if scheme in _SPECIAL else canonical_host(found)
    if isinstance(host, Invalid):
        return host
    userinfo = "@" in href and any(ada_url.parse_url(href, attributes=_CREDENTIALS).values())
    address = literal(host)
    written = f"[{host}]" if isinstance(address, IPv6Address) else host
    if written != found:
        href = ada_url.replace_url(href, hostname=written)
    port = int(parts["port"]) if parts["port"] else DEFAULT_PORTS.get(scheme, 0)
    return Target(href, scheme, host, port, address, userinfo)


def canonical_host(text: str) -> str | Invalid:
    """The canonical form of a bare host, as an operator writes it in a setting or on the command line.

    Takes names (``Bücher.example.``), IPv4 in every spelling, and IPv6 with or without brackets; no scheme, port, path
    or user-info.
    """
    host = text.strip()
    if not host:
        return Invalid("empty_host", "The host is empty.")
    if _NOT_IN_A_HOST.search(host) or len(host) > MAX_URL:
        return Invalid("bad_host", f"{_shown(text)} is not a bare host: give a name or an address, no URL.")
    if ":" in host and not host.startswith("["):
        if host.count(":") == 1:
            return Invalid("bad_host", f"{_shown(text)} has a port: give the host alone.")
        host = f"[{host}]"
    if host.startswith("[") and not host.endswith("]"):
        return Invalid("bad_host", f"{_shown(text)} has more than an IPv6 address in brackets.")
    try:
        parts = ada_url.parse_url(f"http://{host}/", attributes=_PARTS)
    except ValueError:
        return Invalid("bad_host", f"{_shown(text)} is neither a host name nor an address (WHATWG URL Standard).")
    return _settled(parts["hostname"], parts["host_type"])


def literal(host: str) -> IPAddress | None:
    """The address that a canonical host is; None for a name."""
    # By the Standard, a host whose last label is a number is an IPv4 address or invalid: no name gets this far.
    if ":" not in host and not host.rpartition(".")[2].isdigit():
        return None
    try:
        return IPv6Address(host) if ":" in host else IPv4Address(host)
    except ValueError:
        return None


def display_host(host: str) -> str:
    """A canonical host as people write it: U-labels where IDNA 2008 has them, else the host as it is."""
    if "xn--" not in host:
        return host
    try:
        return idna.decode(host)
    except (idna.IDNAError, UnicodeError):
        return host


# Schemes whose hosts the Standard itself parses ("special schemes"), file: aside, which reaches no server.
_SPECIAL: Final = frozenset({"http", "https", "ws", "wss", "ftp"})


def _settled(host: str, kind: int) -> str | Invalid:
    """A host as ada-url serialised it, in our canonical form."""
    if kind == ada_url.HostType.IPV4:
        return host
    if kind == ada_url.HostType.IPV6:
        address = IPv6Address(host[1:-1])
        return str(address.ipv4_mapped or address)
    return _domain(host)


def _domain(host: str) -> str | Invalid:
    """A domain name in the closed grammar: one form for resolver, guard and certificate."""
    name = host.removesuffix(".")
    if not name:
        return Invalid("empty_host", f"{_shown(host)} names no host.")
    if name.endswith("."):
        return Invalid("trailing_dots", f"{_shown(host)} ends in more than one dot.")
    if len(name) > MAX_NAME:
        return Invalid("name_too_long", f"The host has {len(name)} octets; a name has at most {MAX_NAME} (RFC 1035).")
    for label in name.split("."):
        if not label:
            return Invalid("empty_label", f"{_shown(host)} has two dots in a row, or begins with one.")
        if len(label) > MAX_LABEL:
            return Invalid("label_too_long", f"A label of the host has {len(label)} octets; at most {MAX_LABEL} (RFC 1035).")
        if not _LABEL.match(label):
            return Invalid("bad_host", f"{_shown(label)} in the host has characters other than a-z, 0-9, '_' and '-'.")
    return name


def _shown(text: str) -> str:
    """Input in a message: quoted, escaped, and short, since it comes from pages."""
    return ascii(text if len(text) <= 100 else text[:97] + "...")
