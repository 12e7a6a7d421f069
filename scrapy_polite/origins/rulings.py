"""Rulings: what a person has said about an origin. They win over all evidence, until they run out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from scrapy_polite.origins.placements import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from scrapy_polite.origins.placements import Placement

__all__ = ["Ruling", "Rulings"]


@dataclass(frozen=True, slots=True)
class Ruling:
    """`subject` (a host, or an origin's name) belongs to `origin`: "join" one that others have too, or "split" off into one
    of its own. `author` and `reason` are for people; `made` and `until` (None: for good) are unix seconds."""

    subject: str
    verb: Literal["join", "split"]
    origin: str
    author: str
    reason: str
    made: float
    until: float | None = None

    def stands(self, now: float) -> bool:
        return self.until is None or now < self.until


class Rulings:
    """All that stand, by their subject. `generation` grows whenever they change."""

    def __init__(self) -> None:
        self._by_subject: dict[str, Ruling] = {}
        self.generation = 0

    def replace(self, rulings: Iterable[Ruling]) -> None:
        """These stand, and no others."""
        found = {ruling.subject: ruling for ruling in rulings}
        if found != self._by_subject:
            self._by_subject = found
            self.generation += 1

    def expire(self, now: float) -> list[Ruling]:
        """Those that have run out, which are obeyed no more."""
        gone = [ruling for ruling in self._by_subject.values() if not ruling.stands(now)]
        for ruling in gone:
            del self._by_subject[ruling.subject]
        self.generation += bool(gone)
        return gone

    def over(self, placement: Placement) -> Placement:
        """The placement that a person has ruled instead, if one has. A ruling on the host goes before one on its origin."""
        if not self._by_subject:
            return placement
        found = self._by_subject.get(placement.host)
        if found is None:
            found = self._by_subject.get(placement.origin)
            if found is None:
                return placement
            because = (*placement.because, reason_of(found))
        else:
            because = (reason_of(found),)
        return replace(placement, origin=found.origin, confidence=1.0, because=because, located=True)

    def without(self, names: Mapping[str, str]) -> dict[str, str]:
        """Aliases (name -> what it stands for) but for those that a ruling has made: evidence does not take them apart."""
        return {
            name: name if (found := self._by_subject.get(name)) is not None and found.origin == into else into
            for name, into in names.items()
        }


def reason_of(ruling: Ruling) -> Reason:
    """As a reason of a placement: "<verb> by <author>: <reason>"."""
    said = f": {ruling.reason}" if ruling.reason else ""
    return Reason("hand", f"{ruling.verb} by {ruling.author}{said}", 1.0, 1)
