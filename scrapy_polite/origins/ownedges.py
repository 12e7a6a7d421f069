"""What an operator knows of edges: ``POLITE_EDGES``. Read strictly: a wrong row takes a shared server's protection away."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

from scrapy_polite.naming.domains import is_registry_suffix
from scrapy_polite.naming.hosts import Invalid, canonical_host
from scrapy_polite.origins.edges import UNITS, Entry, OwnEdges, Row, Unit, known_entries

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_polite.guard.ranges import Network

__all__ = ["own_edges"]

ANONYMOUS: Final = "own"
"""The provider of rows that a list gives, without a name."""

_PROVIDER: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_KEYS: Final = ("networks", "suffixes", "unit", "label")
_WIDEST: Final = {4: 8, 6: 16}
"""Prefixes below these are no edge's: somebody has mistyped one."""


def own_edges(value: Mapping[str, object] | Iterable[object]) -> OwnEdges:
    """Read a list of networks and suffixes, or a dict of providers.

    ``["203.0.113.0/24", "cdn.regio.example"]`` is one edge without a name. ``{"regiocdn": {"networks": [...], "suffixes":
    [...], "unit": "shared", "label": "Regio CDN"}}`` names it; ``{"cloudflare": None}`` leaves a provider of the table out.
    ValueError says which part is wrong, why, and what to write instead.
    """
    if not isinstance(value, Mapping):
        return OwnEdges(tuple(_entry(_row(ANONYMOUS, "an edge of POLITE_EDGES", "shared"), item) for item in value))
    entries: list[Entry] = []
    without: set[str] = set()
    for provider, told in value.items():
        if not isinstance(provider, str) or not _PROVIDER.fullmatch(provider):
            raise ValueError(f"{provider!r} is no name of a provider: use small letters, digits and single hyphens.")
        if told is None:
            without.add(_known(provider))
        else:
            entries += _provider(provider, told)
    return OwnEdges(tuple(entries), frozenset(without))


def _known(provider: str) -> str:
    known = sorted({entry.row.provider for entry in known_entries()})
    if provider not in known:
        near = difflib.get_close_matches(provider, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(known)}."
        raise ValueError(f"{provider!r} cannot be left out: the table has no provider of that name. {hint}")
    return provider


def _provider(provider: str, told: object) -> list[Entry]:
    if not isinstance(told, Mapping):
        raise ValueError(f"{provider!r} is {told!r}, and not a dict with {', '.join(_KEYS)}, nor None.")
    unknown = [str(key) for key in told if key not in _KEYS]
    if unknown:
        raise ValueError(f"{provider!r} has {', '.join(unknown)}: accepted are {', '.join(_KEYS)}.")
    unit: Unit | None = next((unit for unit in UNITS if unit == told.get("unit", "shared")), None)
    if unit is None:
        raise ValueError(f"{provider!r} has the unit {told['unit']!r}: accepted are {', '.join(UNITS)}.")
    label = told.get("label", provider)
    if not isinstance(label, str) or not label.strip() or not label.isprintable():
        raise ValueError(f"{provider!r} has the label {label!r}: accepted is a name for people, on one line.")
    row = _row(provider, label.strip(), unit)
    networks = [Entry(row, None, _network(item)) for item in _listed(provider, told, "networks")]
    suffixes = [Entry(row, _suffix(item), None) for item in _listed(provider, told, "suffixes")]
    if not networks and not suffixes:
        raise ValueError(f"{provider!r} has neither networks nor suffixes: give one of them, or None to leave it out.")
    return [*networks, *suffixes]


def _listed(provider: str, told: Mapping[str, object], key: str) -> list[object]:
    value = told.get(key, [])
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise ValueError(f"{key} of {provider!r} is {value!r}, and not a list.")
    return list(value)


def _row(provider: str, label: str, unit: Unit) -> Row:
    return Row(provider, label, "platform" if unit == "tenant" else "cdn", unit, "POLITE_EDGES", "")


def _entry(row: Row, item: object) -> Entry:
    """Of a list: a network, or a suffix. What holds a slash or a colon, or ends in a number, can be no name."""
    text = str(item)
    if "/" in text or ":" in text or text.rpartition(".")[2].isdigit():
        return Entry(row, None, _network(item))
    return Entry(row, _suffix(item), None)


def _network(item: object) -> Network:
    if not isinstance(item, str):
        raise ValueError(f"{item!r} is not a network in CIDR form.")
    try:
        network = ip_network(item)
    except ValueError as error:
        raise ValueError(f"{item!r} is not a network: {error}.") from None
    if network.prefixlen < _WIDEST[network.version]:
        raise ValueError(f"{item!r} is wider than a /{_WIDEST[network.version]}: no edge is so large.")
    return network


def _suffix(item: object) -> str:
    text = item.removeprefix("*.").removeprefix(".") if isinstance(item, str) else ""
    host = canonical_host(text)
    if isinstance(host, Invalid):
        raise ValueError(f"{item!r} is not the end of a host's name, such as 'cdn.regio.example': {host.detail}.")
    if "." not in host or is_registry_suffix(host):
        raise ValueError(f"{item!r} would make an edge of everything below it: name the provider's own domain.")
    return host
