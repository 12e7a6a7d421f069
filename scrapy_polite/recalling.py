"""What a crawl knows of the hosts that it has placed, and what a person asks of them besides where they are."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from scrapy_polite.origins.anchors import pointing

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_polite.addressnames import AddressNames
    from scrapy_polite.origins.anchors import Pointing
    from scrapy_polite.origins.edges import EdgeTable
    from scrapy_polite.origins.evidence import Evidence
    from scrapy_polite.origins.judge import Judge
    from scrapy_polite.origins.placements import Placement
    from scrapy_polite.origins.rulings import Ruling, Rulings
    from scrapy_polite.origins.suspects import Suspect

__all__ = ["Expiring", "Met", "Recalling"]


class Met:
    """What this process knows of a host that it visits."""

    __slots__ = ("evidence", "judged", "kept", "pages", "placement", "read", "written")

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.judged: tuple[object, ...] = ()
        """What the judge and the store were told last, without its times."""
        self.placement: Placement | None = None
        """Its last, before what people have ruled."""
        self.kept = ""
        """The origin under which the store has it."""
        self.written = 0.0
        self.pages = 0
        self.read = 0.0


class Expiring:
    """Hosts by the time (unix seconds) at which the first of their facts runs out. Each stands there once."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, str]] = []
        self._at: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._heap)

    def note(self, host: str, at: float) -> None:
        """A time that is later than the one that is noted comes when that has come, and the host is looked at."""
        if at < self._at.get(host, float("inf")):
            self._at[host] = at
            heapq.heappush(self._heap, (at, host))

    def over(self, now: float) -> str | None:
        """A host whose time is over, which is noted no more; None: no other."""
        while self._heap and self._heap[0][0] < now:
            at, host = heapq.heappop(self._heap)
            if at == self._at.get(host):
                del self._at[host]
                return host
        return None


class Recalling:
    """A part of :class:`~scrapy_polite.placing.Placing`. Only of hosts that it has placed."""

    _names: AddressNames
    _hosts: dict[str, Met]
    _judge: Judge
    _rulings: Rulings
    _table: EdgeTable
    _wall: Callable[[], float]

    async def asked(self) -> None:
        """When the names of addresses are there that were asked for."""
        await self._names.asked()

    def remembers(self, host: str) -> bool:
        """Whether it is known here where the host is, or was last. Of very many, those are forgotten that were met first."""
        known = self._hosts.get(host)
        return self._judge.knows(host) or (known is not None and known.placement is not None)

    def evidence_of(self, host: str) -> tuple[Evidence, Pointing]:
        """What is known of a host, and what that points at."""
        evidence = self._hosts[host].evidence
        return evidence, pointing(evidence, self._wall(), self._table)

    def by_evidence(self, host: str) -> Placement:
        """Where it is placed whatever people have ruled, with what a person asks next: whether its neighbours look alike."""
        return self._judge.explain(host)

    def suspected(self) -> int:
        """How many addresses look like an edge that no table knows, among those of all hosts that were met."""
        return sum(len(suspect.addresses) for suspect in self._judge.suspected_edges())

    def suspected_at(self, host: str) -> list[Suspect]:
        """What is suspected of its addresses."""
        has = {fact.value for fact in self._hosts[host].evidence.facts if fact.kind == "address"}
        return [suspect for suspect in self._judge.suspected_edges() if not has.isdisjoint(suspect.addresses)]

    def ruling_on(self, host: str) -> Ruling | None:
        """What a person has ruled about it, or about the origin where evidence places it."""
        return self._rulings.on(self._judge.place(host))
