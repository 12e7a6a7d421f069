"""The forms that a setting's value may have: each reader takes what the user wrote and answers what the code uses.

Values given with ``-s`` on the command line are text, so every reader takes text too; lists and dicts are JSON there. A value
of another form is a :class:`FormError`, to which the table of settings adds the name, the value and the accepted form.
"""

from __future__ import annotations

import ipaddress
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from scrapy_polite.guard.allowing import Allowed, allowed_from
from scrapy_polite.naming.buckets import STYLES, Stores, Style
from scrapy_polite.naming.hosts import Invalid, canonical_host, parse
from scrapy_polite.origins.edges import KNOWN, EdgeTable
from scrapy_polite.origins.ownedges import own_edges

__all__ = ["FormError"]

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class FormError(ValueError):
    """A value is not of the accepted form; the table knows the name and the form."""


def truth(value: object) -> bool:
    if isinstance(value, str):
        try:
            return {"true": True, "1": True, "false": False, "0": False}[value.strip().lower()]
        except KeyError:
            raise FormError from None
    if value is True or value is False or value in (0, 1):
        return bool(value)
    raise FormError


def number(*, low: float, high: float = math.inf, above: bool = False) -> Callable[[object], float]:
    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise FormError
        try:
            number = float(value)
        except ValueError:
            raise FormError from None
        if not (low < number if above else low <= number) or number > high or not math.isfinite(number):
            raise FormError
        return number

    return read


def count(value: object) -> int:
    found = number(low=1)(value)
    if found != int(found):
        raise FormError
    return int(found)


def text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise FormError
    return value.strip()


def _from_json(value: object) -> object:
    """A value given with ``-s`` on the command line is text: lists and dicts arrive as JSON there."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except ValueError as error:
            raise FormError(f"It is not valid JSON: {error}") from None
    return value


def mapping(value: object) -> dict[str, Any]:
    value = _from_json(value)
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise FormError
    return dict(value)


def costs(value: object) -> dict[str, Any] | None:
    """Costs by kind; None where they are to be learned."""
    return None if value == "auto" else mapping(value)


def sequence(value: object) -> list[object]:
    value = _from_json(value)
    if value is None:
        return []
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, Iterable) or isinstance(value, Mapping):
        raise FormError
    return list(value)


def networks(value: object) -> tuple[Network, ...]:
    found = []
    for item in sequence(value):
        try:
            found.append(ipaddress.ip_network(str(item)))
        except ValueError as error:
            raise FormError(f"{item!r} is not a network: {error}") from None
    return tuple(found)


def allowed(value: object) -> Allowed:
    """Networks, and rules for single hosts."""
    try:
        return allowed_from(sequence(value))
    except FormError:
        raise
    except ValueError as error:
        raise FormError(str(error)) from None


def ports(value: object) -> frozenset[int]:
    try:
        ports = frozenset(int(str(item)) for item in sequence(value))
    except ValueError:
        raise FormError from None
    if not ports or not all(0 < port < 65536 for port in ports):
        raise FormError
    return ports


def servers(value: object) -> tuple[str, ...] | None:
    servers = sequence(value)
    for server in servers:
        address, port = _split_server(str(server))
        try:
            ipaddress.ip_address(address)
            if not 0 < int(port) < 65536:
                raise ValueError
        except ValueError:
            raise FormError(f"{server!r} is not an address with an optional port") from None
    return tuple(str(server) for server in servers) or None


def proxies(*schemes: str) -> Callable[[object], frozenset[str]]:
    """Proxies as ``scheme://host:port``, in one spelling."""

    def read(value: object) -> frozenset[str]:
        found = set()
        for number, item in enumerate(sequence(value), 1):
            if "@" in str(item):
                # No FormError, which would show the value.
                raise ValueError(
                    "POLITE_PROXIES and POLITE_TRUSTED_PROXIES name proxies without user and password, and the "
                    f"{number}. of the list has them: "
                    'give them in the requests, as meta["proxy"] = "http://user:password@host:port".'
                )
            target = parse(str(item))
            if isinstance(target, Invalid) or target.scheme not in schemes:
                raise FormError(f"{item!r} is not the URL of a proxy with the scheme {' or '.join(schemes)}")
            found.add(f"{target.scheme}://{target.written}:{target.port}")
        return frozenset(found)

    return read


def stores(value: object) -> Stores:
    """Object stores by host, with the style of their addresses; of a list, each host is known in both styles."""
    value = _from_json(value)
    given = dict(value) if isinstance(value, Mapping) else dict.fromkeys(map(str, sequence(value)), "both")
    listed: dict[str, Style] = {}
    for text, style in given.items():
        host = canonical_host(str(text))
        if isinstance(host, Invalid):
            raise FormError(host.detail)
        known = next((known for known in STYLES if known == style), None)
        if known is None:
            raise FormError(f"{style!r}, of {host}, is none of {', '.join(STYLES)}")
        listed[host] = known
    return Stores(listed)


def edges(value: object) -> EdgeTable:
    """What is known of edges, with what the operator says of them."""
    value = _from_json(value)
    try:
        return KNOWN.with_rows(own_edges(value if isinstance(value, Mapping) else sequence(value)))
    except FormError:
        raise
    except ValueError as error:
        raise FormError(str(error)) from None


def _split_server(server: str) -> tuple[str, str]:
    if server.startswith("["):
        address, _, port = server[1:].partition("]")
        return address, port.removeprefix(":") or "53"
    if server.count(":") == 1:
        address, _, port = server.partition(":")
        return address, port
    return server, "53"


def choice(*choices: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if value not in choices:
            raise FormError
        return str(value)

    return read


def pairs(value: object) -> list[tuple[str, str]]:
    pairs = []
    for item in sequence(value):
        if not isinstance(item, (list, tuple)) or len(item) != 2:
            raise FormError(f"{item!r} is not a pair")
        pairs.append((item[0], item[1]))
    return pairs


def optional_text(value: object) -> str | None:
    return None if value is None or value in ("", "None", False) else text(value)


def structured(read: Callable[[Any], Any]) -> Callable[[object], Any]:
    """A reader of a room of the core, which knows no command line: it gets what the text stands for."""

    def reading(value: object) -> Any:
        return read(None if value == "None" else _from_json(value))

    return reading
