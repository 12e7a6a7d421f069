"""Rulings: what a person has said about an origin. They win over all evidence, until they run out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from scrapy_polite.naming.hosts import display_host
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

    @property
    def act(self) -> str:
        """What was done, by whom and why, as a line of a log."""
        host = self.subject if self.subject.startswith("origin:") else display_host(self.subject)
        done = "split off" if self.verb == "split" else f"joined to {self.origin}"
        return f"{host} {done} by {self.author}{f': {self.reason}' if self.reason else ''}"

    def stands(self, now: float) -> bool:
        return self.until is None or now < self.until


class Rulings:
    """All that stand, by their subject. `generation` grows whenever they change."""

    def __init__(self) -> None:
        self._by_subject: dict[str, Ruling] = {}
        self._roots: dict[str, str] = {}
        self.generation = 0

    @property
    def origins(self) -> frozenset[str]:
        """The names of origins that they give."""
        return frozenset(ruling.origin for ruling in self._by_subject.values())

    def replace(self, rulings: Iterable[Ruling]) -> tuple[list[Ruling], list[Ruling]]:
        """These stand, and no others. Which of them are new, and which stand no more without another in their place."""
        before, found = self._by_subject, {ruling.subject: ruling for ruling in rulings}
        if found != before:
            self._by_subject = found
            self.generation += 1
        new = [ruling for subject, ruling in found.items() if before.get(subject) != ruling]
        return new, [ruling for subject, ruling in before.items() if subject not in found]

    def expire(self, now: float) -> list[Ruling]:
        """Those that have run out, which are obeyed no more."""
        gone = [ruling for ruling in self._by_subject.values() if not ruling.stands(now)]
        for ruling in gone:
            del self._by_subject[ruling.subject]
        self.generation += bool(gone)
        return gone

    def stand(self, names: Mapping[str, str]) -> None:
        """Each of `origins` stands for what `names` says: an origin's name may have become an alias since it was ruled."""
        roots = {name: names[name] for name in self.origins if names.get(name, name) != name}
        if roots != self._roots:
            self._roots = roots
            self.generation += 1

    def on(self, placement: Placement) -> Ruling | None:
        """The ruling that counts for a placement: one on the host goes before one on its origin."""
        return self._by_subject.get(placement.host) or self._by_subject.get(placement.origin)

    def joins(self, name: str, into: str) -> bool:
        """Whether a person has ruled that these two names are one origin's."""
        found = self._by_subject.get(name)
        return found is not None and into in (found.origin, self._roots.get(found.origin))

    def over(self, placement: Placement) -> Placement:
        """The placement that a person has ruled instead, if one has."""
        found = self.on(placement)
        if found is None:
            return placement
        # A ruling on its origin leaves the reasons for which evidence has placed it there.
        before = () if found.subject == placement.host else placement.because
        origin = self._roots.get(found.origin, found.origin)
        return replace(placement, origin=origin, confidence=1.0, because=(*before, reason_of(found)), located=True)

    def without(self, names: Mapping[str, str]) -> dict[str, str]:
        """Aliases (name -> what it stands for) but for those that a ruling has made: evidence does not take them apart."""
        return {name: name if self.joins(name, into) else into for name, into in names.items()}


def reason_of(ruling: Ruling) -> Reason:
    """As a reason of a placement: its kind is the verb, its value who has said so, of what, and why."""
    of = f", with all of {ruling.subject}" if ruling.subject.startswith("origin:") else ""
    said = f": {ruling.reason}" if ruling.reason else ""
    return Reason(ruling.verb, f"{ruling.author}{of}{said}", 1.0, 1)
