"""How well one partition of hosts agrees with another: pairwise, B-cubed, and per kind; and the simple keys to compare with.

All pairs are counted, none is sampled: from the sizes of the cells that the two partitions have in common.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from scrapy_polite.naming.domains import registrable_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from benchmarks.worlds import Site
    from scrapy_polite.origins.edges import EdgeTable

    Keys = Mapping[str, Hashable]


@dataclass(frozen=True, slots=True)
class KindScore:
    """Of the pairs (a site of this kind, any other site): how many that were put together belong together, and the reverse."""

    kind: str
    sites: int
    joined: int
    """Pairs that were put together."""
    wrong: int
    true: int
    """Pairs that belong together."""

    @property
    def precision(self) -> float | None:
        return 1 - self.wrong / self.joined if self.joined else None

    @property
    def recall(self) -> float | None:
        return (self.joined - self.wrong) / self.true if self.true else None


@dataclass(frozen=True, slots=True)
class Score:
    precision: float
    recall: float
    b3_precision: float
    b3_recall: float
    macro_precision: float
    """Mean over the kinds of which anything was put together."""
    macro_recall: float
    """Mean over the kinds of which anything belongs together."""
    biggest: int
    kinds: tuple[KindScore, ...]

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def score(sites: Sequence[Site], found: Keys) -> Score:
    """How `found`, a key by host, agrees with the units of the sites. Nothing put together counts as precise."""
    cells = Counter((found[site.host], site.unit) for site in sites)
    groups: Counter[Hashable] = Counter()
    units: Counter[str] = Counter()
    for (group, unit), count in cells.items():
        groups[group] += count
        units[unit] += count
    together = sum(map(_pairs, cells.values()))
    joined, true = sum(map(_pairs, groups.values())), sum(map(_pairs, units.values()))
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    exact, whole = 0.0, 0.0
    for site in sites:
        right, joint, owned = cells[found[site.host], site.unit], groups[found[site.host]], units[site.unit]
        exact += right / joint
        whole += right / owned
        for place, more in enumerate((1, joint - 1, joint - right, owned - 1)):
            counts[site.kind][place] += more
    kinds = tuple(KindScore(kind, *counts[kind]) for kind in sorted(counts))
    precisions = [kind.precision for kind in kinds if kind.precision is not None]
    recalls = [kind.recall for kind in kinds if kind.recall is not None]
    return Score(
        together / joined if joined else 1.0,
        together / true if true else 1.0,
        exact / len(sites),
        whole / len(sites),
        fmean(precisions) if precisions else 1.0,
        fmean(recalls) if recalls else 1.0,
        max(groups.values()),
        kinds,
    )


def same(one: Keys, other: Keys) -> bool:
    """Whether two partitions of the same hosts put the same hosts together, whatever they call them."""
    return _shape(one) == _shape(other)


def _shape(keys: Keys) -> set[frozenset[str]]:
    found: dict[Hashable, set[str]] = defaultdict(set)
    for host, key in keys.items():
        found[key].add(host)
    return {frozenset(hosts) for hosts in found.values()}


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


def baselines(table: EdgeTable) -> dict[str, Callable[[Sequence[Site]], Keys]]:
    """The simple keys, by name. Two are also tried with what the table knows as an edge left out."""

    def named(name: str) -> bool:
        return table.row_of_name(name) is not None

    def fronted(address: str) -> bool:
        return table.row_of_address(address) is not None

    return {
        "host": lambda sites: {site.host: site.host for site in sites},
        "registrable domain": lambda sites: {site.host: registrable_domain(site.host) for site in sites},
        "first address": lambda sites: {site.host: (_addresses(site) or [site.host])[0] for site in sites},
        "all addresses": lambda sites: _union((site.host, _addresses(site)) for site in sites),
        "all addresses, edges left out": lambda sites: _union(
            (site.host, [address for address in _addresses(site) if not fronted(address)]) for site in sites
        ),
        "CNAME and addresses": lambda sites: _union((site.host, [*_chain(site), *_addresses(site)]) for site in sites),
        "CNAME and addresses, edges left out": lambda sites: _union(
            (
                site.host,
                [name for name in _chain(site) if not named(name)]
                + [address for address in _addresses(site) if not fronted(address)],
            )
            for site in sites
        ),
    }


def _addresses(site: Site) -> list[str]:
    return list(site.lookups[-1].addresses)


def _chain(site: Site) -> list[str]:
    return list(site.lookups[-1].chain)


def _union(pointing: Iterable[tuple[str, Sequence[str]]]) -> Keys:
    """Hosts that share anything share a key, and so do those that share anything with these."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    hosts = []
    for host, shared in pointing:
        hosts.append(host)
        for name in shared:
            parent[root(f"host {host}")] = root(name)
    return {host: root(f"host {host}") for host in hosts}
