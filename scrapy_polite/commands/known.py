"""What a store knows of origins, with what people have ruled put over it. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scrapy_polite.commands.hand import nearest
from scrapy_polite.origins.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_polite.origins.judge import Placement
    from scrapy_polite.placing import Placing
    from scrapy_polite.stores.base import Kept, Ruling, Store

__all__ = ["Known", "reasons"]

ALL: Final = 10_000_000
"""Origins of a store: those with most hosts can only be told when all are counted."""

OF_ALL: Final = 20_000
"""Names that are looked through for one that nobody knows."""


class Known:
    """The rulings are read once, when it is made."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.rulings: list[Ruling] = store.rulings()
        self.lapsed: list[Ruling] = store.lapsed()
        self._by_subject = {ruling.subject: ruling for ruling in self.rulings}
        self._ruled = store.standing({ruling.origin for ruling in self.rulings})

    def stands_for(self, name: str) -> str:
        """The origin's name that a name stands for."""
        return self.store.standing([name])[name]

    def ruling_on(self, subject: str) -> Ruling | None:
        """One that is in force."""
        return self._by_subject.get(subject)

    def origin_of(self, host: str) -> str | None:
        """The origin that a crawl charges for the host; None if no crawl has met it, and nobody has ruled on it."""
        return self.origins_of([host]).get(host)

    def origins_of(self, hosts: Iterable[str]) -> dict[str, str]:
        """The same of many, without those that there is nothing of."""
        hosts = list(hosts)
        kept = self.store.kept(host for host in hosts if host not in self._by_subject)
        stands = self.store.standing({one.origin for one in kept.values()})
        found = {host: stands[one.origin] for host, one in kept.items()}
        ruled = {host: self._by_subject[host] for host in hosts if host in self._by_subject}
        return found | {host: self._ruled[ruling.origin] for host, ruling in ruled.items()}

    def by_evidence(self, host: str) -> str | None:
        """The origin that it had without a ruling on it."""
        kept = self.store.kept([host]).get(host)
        return self.stands_for(kept.origin) if kept is not None else None

    def origins(self) -> list[tuple[str, int]]:
        """All origins and how many hosts each has, most first; also those that only a ruling names, and none that rulings have
        left without a host."""
        count = dict(self.store.origins(ALL))
        for ruling in self.rulings:
            now = self._ruled[ruling.origin]
            count.setdefault(now, 0)
            before = self.by_evidence(ruling.subject)
            if before is not None:
                count[before] = count.get(before, 1) - 1
                count[now] += 1
        ruled = set(self._ruled.values())
        left = {name: hosts for name, hosts in count.items() if hosts > 0 or name in ruled}
        return sorted(left.items(), key=lambda item: (-item[1], item[0]))

    def hosts_of(self, origin: str, most: int) -> list[Kept]:
        """Its hosts: those that are ruled to belong to it first."""
        ruled = {ruling.subject: self._ruled[ruling.origin] for ruling in self.rulings}
        here = self.store.kept([host for host, name in ruled.items() if name == origin])
        placed = self.store.hosts_of(origin, most + len(ruled))
        return [*here.values(), *(kept for kept in placed if kept.host not in ruled)][:most]

    def aliases_of(self, origins: Iterable[str]) -> dict[str, list[str]]:
        """The other names of each."""
        return self.store.aliases_of(origins)

    def rulings_for(self, origin: str) -> list[Ruling]:
        """Those that are in force, and have to do with the origin."""
        return [ruling for ruling in self.rulings if origin in (self._ruled[ruling.origin], ruling.subject)]

    def is_origin(self, name: str) -> bool:
        """Whether anything is known under that name."""
        stands = self.stands_for(name)
        return stands != name or bool(self.store.hosts_of(name, 1)) or any(name == ruling.origin for ruling in self.rulings)

    def unknown(self, name: str) -> str:
        """That nobody knows a host or an origin, and which was perhaps meant: for an error."""
        if name.startswith("origin:"):
            return f"no origin is called so; {nearest(name, self.names())} `scrapy polite origins` shows them."
        return f"no crawl with this store has met {name}; {nearest(name, self.hosts())}"

    def hosts(self) -> list[str]:
        """Hosts that crawls have met, the first that come."""
        return [kept.host for kept in self.store.news(0, OF_ALL).hosts]

    def names(self) -> list[str]:
        return [name for name, _ in self.store.origins(OF_ALL)]


def reasons(placing: Placing, placement: Placement) -> list[str]:
    """Sentences that tell why a host is placed there; where a person has ruled, also what the evidence says."""
    told = sentences(placing.by_evidence(placement.host))
    if placing.ruling_on(placement.host) is None:
        return list(told)
    return [*sentences(placement), f"Without the ruling: {' '.join(told)}"]
