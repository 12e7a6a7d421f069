"""Names that are refused before DNS is asked: they mean something inside a network, never a public web site.

``.example`` and ``.test`` (RFC 2606, RFC 6761) are not among them: they simply do not resolve outside a laboratory, and
inside one they are what tests are written with. Public names that resolve to private addresses (nip.io, localtest.me)
are not either: their addresses give them away.
"""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Final

from scrapy_polite.guard.metadata import METADATA_NAMES

__all__ = ["LOCALHOST", "SPECIAL_SUFFIXES", "is_localhost", "judge_name", "never_opened", "special_suffix"]

#: Suffix -> why. A name is refused when it is the suffix or ends in a dot and the suffix.
SPECIAL_SUFFIXES: Final = {
    "invalid": "never resolves (RFC 6761 section 6.4)",
    "local": "is multicast DNS, a name on the local link (RFC 6762 section 3)",
    "onion": "is a Tor service, which DNS must not be asked for (RFC 7686)",
    "alt": "is not a DNS name (RFC 9476)",
    "home.arpa": "is a name in a home network (RFC 8375)",
    "arpa": "is the infrastructure of the DNS, which serves no pages (RFC 3172)",
    "internal": "is reserved for private use (ICANN board resolution 2024.07.29.06)",
    "corp": "is kept free for private use (ICANN board resolution 2018.02.04.12)",
    "home": "is kept free for private use (ICANN board resolution 2018.02.04.12)",
    "mail": "is kept free for private use (ICANN board resolution 2018.02.04.12)",
    "lan": "is a name in a local network, by wide custom of routers",
    "intranet": "is a name in a local network, by custom (RFC 6762 appendix G)",
    "private": "is a name in a local network, by custom (RFC 6762 appendix G)",
    "localdomain": "is the machine itself, by custom of Linux distributions",
    "svc": "is a Kubernetes service (Kubernetes: DNS for Services and Pods)",
    "kubernetes.default": "is the Kubernetes API (Kubernetes: DNS for Services and Pods)",
}

#: What ``localhost`` is judged as.
LOCALHOST: Final = IPv4Address("127.0.0.1")

#: Of these DNS must not be asked at all, so that no rule of an operator's makes sense.
NEVER_ASKED: Final = frozenset({"invalid", "onion", "alt"})


def is_localhost(host: str) -> bool:
    """Whether a canonical host is ``localhost`` or below it: always the machine itself (RFC 6761 section 6.3)."""
    return host == "localhost" or host.endswith(".localhost")


def judge_name(host: str) -> tuple[str, str] | None:
    """Why a canonical host name is refused, as (reason, detail); None if only its addresses can tell.

    `host` is no address literal. ``localhost`` is not judged here: whether the machine itself may be reached is a
    question about addresses.
    """
    for suffix in _suffixes(host):
        if owner := METADATA_NAMES.get(suffix):
            return "metadata", f"{host} is a metadata service ({owner}); no setting allows it."
        if why := SPECIAL_SUFFIXES.get(suffix):
            return "special_name", f"{host}: .{suffix} {why}."
    if "." not in host and host != "localhost":
        return "special_name", f"{host} has a single label, which means something inside a network only."
    return None


def never_opened(host: str) -> str | None:
    """Why no rule of an operator's may open a canonical host; None if one may."""
    for suffix in _suffixes(host):
        if owner := METADATA_NAMES.get(suffix):
            return f"{host} is a metadata service ({owner}), which no setting opens."
        if suffix in NEVER_ASKED:
            return f".{suffix} {SPECIAL_SUFFIXES[suffix]}."
    return None


def special_suffix(host: str) -> str | None:
    """The suffix by which :func:`judge_name` refuses a canonical host; None where it does not, or for a single label."""
    return next((suffix for suffix in _suffixes(host) if suffix in METADATA_NAMES or suffix in SPECIAL_SUFFIXES), None)


def _suffixes(host: str) -> list[str]:
    """The host, and every name above it."""
    labels = host.split(".")
    return [".".join(labels[place:]) for place in range(len(labels))]
