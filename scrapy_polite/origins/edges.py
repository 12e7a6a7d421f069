"""Edges: content delivery networks and self-service platforms, known by the names and networks they answer from.

Behind an edge an address says nothing about the servers of a site, so none of it may join two hosts to one origin. Only
what is certain stands here: an unknown edge makes strangers share a limit, which is slow but safe; a wrong row takes
the protection of a shared server away. So hosting companies (``amazonaws.com``, Google's ranges) are not edges.

The rows are data: ``data/edges.json`` is kept by hand, ``data/networks.json`` is made by ``tools/make_edges.py`` from what
the providers publish. They are read when the first host is looked up, not at import.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from ipaddress import IPv6Address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypedDict, cast

from scrapy_polite.guard.ranges import Network, RowIndex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from scrapy_polite.naming.hosts import IPAddress

__all__ = ["KNOWN", "UNITS", "Edge", "EdgeTable", "Entry", "Kind", "OwnEdges", "Row", "Unit", "edge_of"]

Kind = Literal["cdn", "waf", "platform"]
Unit = Literal["customer", "shared", "tenant"]
UNITS: Final[tuple[Unit, ...]] = ("customer", "shared", "tenant")


class Row(NamedTuple):
    """What is known of an edge's name or network.

    `provider` is the word in keys, `label` its name for people. `unit` says what one such name stands for: ``customer`` (a
    name per customer), ``shared`` (a name or network for many), or ``tenant`` (a platform on which every site is one tenant
    behind common front servers). `source` says who has it, `dated` as of when (year and month), and `checked` whether that
    was compared with the provider's own word or with other places; else it is known from its source alone.
    """

    provider: str
    label: str
    kind: Kind
    unit: Unit
    source: str
    dated: str
    checked: bool = True


class Entry(NamedTuple):
    """One line of the table: what is known of names at or below `suffix`, or of addresses in `network`; one of them is set.

    A ``#`` in a suffix stands for a run of digits: Vercel's projects have names in ``vercel-dns-017.com`` and the like.
    """

    row: Row
    suffix: str | None
    network: Network | None


@dataclass(frozen=True, slots=True)
class Edge:
    """The edge in front of a host: `provider` is the word in keys, `label` its name for people, `because` the evidence."""

    provider: str
    label: str
    because: str


@dataclass(frozen=True, slots=True)
class OwnEdges:
    """What an operator says of edges: `entries` beat the table, and the table's rows of the providers in `without` are
    left out."""

    entries: tuple[Entry, ...] = ()
    without: frozenset[str] = frozenset()


class _Range(NamedTuple):
    network: Network
    row: Row


class _Layer:
    """Entries by suffix and by address; of two for the same, the first."""

    __slots__ = ("_numbered", "_ranges", "_suffixes")

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._suffixes: dict[str, Row] = {}
        self._numbered: list[tuple[str, re.Pattern[str], Row]] = []
        ranges: dict[int, dict[Network, Row]] = {4: {}, 6: {}}
        for row, suffix, network in entries:
            if network is not None:
                ranges[network.version].setdefault(network, row)
            elif suffix is not None and "#" in suffix:
                pattern = re.compile(rf"(?:.*\.)?{re.escape(suffix).replace(re.escape('#'), '[0-9]+')}")
                self._numbered.append((suffix.partition("#")[0], pattern, row))
            elif suffix is not None:
                self._suffixes.setdefault(suffix, row)
        self._ranges = {version: RowIndex([*map(_Range, found, found.values())]) for version, found in ranges.items()}

    def of_name(self, name: str) -> Row | None:
        suffixes, rest = self._suffixes, name
        while rest:
            row = suffixes.get(rest)
            if row is not None:
                return row
            rest = rest.partition(".")[2]
        for stem, pattern, row in self._numbered:
            if stem in name and pattern.fullmatch(name):
                return row
        return None

    def of_number(self, version: int, number: int) -> Row | None:
        found = self._ranges[version].find(number)
        return None if found is None else found.row


def _number(text: str) -> tuple[int, int]:
    """(IP version, number) of a canonical address; ValueError if it is none. `ipaddress` takes three times as long."""
    if ":" in text:
        return 6, int(IPv6Address(text))
    first, second, third, fourth = text.split(".")
    return 4, int.from_bytes(bytes((int(first), int(second), int(third), int(fourth))), "big")


#: Addresses whose rows are kept by their text: a crowd of sites has one address.
ADDRESSES_KEPT: Final = 16384


class EdgeTable:
    """What is known of edges; with :meth:`with_rows` also what an operator knows of his own. Never changes."""

    def __init__(self, own: OwnEdges = OwnEdges()) -> None:
        self.own = own
        self._row_of_text = lru_cache(maxsize=ADDRESSES_KEPT)(self._row_of)

    @cached_property
    def _layers(self) -> tuple[_Layer, ...]:
        """What speaks first, first."""
        table = _Layer(entry for entry in known_entries() if entry.row.provider not in self.own.without)
        return (_Layer(self.own.entries), table) if self.own.entries else (table,)

    def entries(self) -> Iterator[Entry]:
        """Every entry that speaks, the operator's first."""
        yield from self.own.entries
        yield from (entry for entry in known_entries() if entry.row.provider not in self.own.without)

    def with_rows(self, own: OwnEdges) -> EdgeTable:
        """This table under an operator's rows, which speak first."""
        if own == OwnEdges():
            return self
        return EdgeTable(OwnEdges((*own.entries, *self.own.entries), own.without | self.own.without))

    def row_of_name(self, name: str) -> Row | None:
        """The row that a canonical name falls under: the longest suffix's; an operator's before the table's."""
        for layer in self._layers:
            row = layer.of_name(name)
            if row is not None:
                return row
        return None

    def row_of_address(self, address: str | IPAddress) -> Row | None:
        """The row of the narrowest network around an address; an operator's before the table's.

        ValueError if a text is no address.
        """
        return self._row_of_text(address) if isinstance(address, str) else self._row_of(address)

    def _row_of(self, address: str | IPAddress) -> Row | None:
        version, number = _number(address) if isinstance(address, str) else (address.version, int(address))
        for layer in self._layers:
            row = layer.of_number(version, number)
            if row is not None:
                return row
        return None

    def edge_of(self, host: str, chain: Sequence[str], addresses: Sequence[str | IPAddress] = ()) -> Edge | None:
        """The edge that answers for a host, from its own name, its CNAME targets, or all of its addresses; None if it
        answers for itself as far as anyone knows.

        The last edge of a chain counts: it is the one that is dialled.
        """
        for name in (*reversed(chain), host):
            row = self.row_of_name(name)
            if row is not None:
                because = f"{host} is a name of" if name == host else f"{host} is a CNAME for {name}, which belongs to"
                return Edge(row.provider, row.label, f"{because} {row.label}")
        first = self.row_of_address(addresses[0]) if addresses else None
        if first is None:
            return None
        # All of them: a host with one foot elsewhere is not hidden by the edge.
        for address in addresses[1:]:
            row = self.row_of_address(address)
            if row is None or row.provider != first.provider:
                return None
        because = f"{host} has the address {addresses[0]}, which belongs to {first.label}"
        return Edge(first.provider, first.label, because)


class _Line(TypedDict, total=False):
    provider: str
    label: str
    kind: Kind
    unit: Unit
    suffix: str
    networks: str | list[str]
    source: str
    dated: str
    checked: bool


_DATA: Final = Path(__file__).parent / "data"
_FILES: Final = ("edges.json", "networks.json")


def entries_of(lines: Iterable[Mapping[str, object]]) -> Iterator[Entry]:
    """The entries that the rows of a data file stand for."""
    for line in cast("Iterable[_Line]", lines):
        row = Row(
            *(line["provider"], line["label"], line["kind"], line["unit"], line["source"], line["dated"]), line["checked"]
        )
        if "suffix" in line:
            yield Entry(row, line["suffix"], None)
        networks = line.get("networks", ())
        for network in networks.split() if isinstance(networks, str) else networks:
            yield Entry(row, None, ip_network(network))


@cache
def known_entries() -> tuple[Entry, ...]:
    """The entries of the data files, read once."""
    return tuple(entries_of(line for name in _FILES for line in json.loads((_DATA / name).read_bytes())["rows"]))


KNOWN: Final = EdgeTable()
"""What everybody may know."""


def edge_of(host: str, chain: Sequence[str], addresses: Sequence[str | IPAddress] = ()) -> Edge | None:
    """:meth:`EdgeTable.edge_of` of what everybody may know."""
    return KNOWN.edge_of(host, chain, addresses)
