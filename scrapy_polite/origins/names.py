"""The names of origins: which stand, which have become aliases, and what of that has changed. Pure.

A name that was given to a host may be in a store, with due times and holds; so it never just ends. When its anchor comes
into an older one's component it becomes an alias (merge), when its anchor leaves it stands by itself again (split), and when
nobody points at its anchor any more it is handed to the next oldest anchor that was with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from scrapy_polite.origins.links import MARKER, ROLES, STRONG, Anchor, Component

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from scrapy_polite.origins.hosts import Host

__all__ = ["Change", "Names"]


@dataclass(frozen=True, slots=True)
class Change:
    """``merge``: `name` becomes an alias of `into`. ``split``: `name` stands by itself again, and starts from the due time and
    the hold of `into`. ``part``: the same of a `name` that nobody has had yet. `because` is for people."""

    kind: Literal["merge", "split", "part"]
    name: str
    into: str
    because: str


class Names:
    """What each name that was used stands for, as far as is known."""

    def __init__(self, anchors: Mapping[str, Anchor], touched: set[Anchor]) -> None:
        self._anchors = anchors
        self._touched = touched
        self._stood: dict[str, str] = {}  # aliases, as last reported or as the store has them
        self._followers: dict[str, set[str]] = {}  # the other way round
        self._witnessed: set[str] = set()  # aliases that what is in memory bears out
        self._heirs: dict[Anchor, Anchor] = {}
        self._waiting: set[str] = set()  # names that were used, of anchors that are not in memory

    def born(self, anchor: Anchor) -> None:
        """An anchor has come into memory."""
        if self._waiting and anchor.name in self._waiting:
            self._waiting.discard(anchor.name)
            anchor.named = True
            self._touched.add(anchor)

    def heirs_of(self, host: Host) -> list[tuple[Anchor, list[Anchor]]]:
        """Before a host is taken out: named anchors that nobody else points at, and who may have their names then."""
        return [
            (anchor, list(anchor.component.members) if anchor.component else [])
            for anchor in (*host.strong, *host.weak)
            if anchor.n == 1 and anchor.named
        ]

    def hand_over(self, anchor: Anchor, company: list[Anchor]) -> None:
        """Nobody points at an anchor any more: the oldest of its company that lives has its name."""
        heir = min((other for other in company if other.n), key=lambda other: other.order, default=None)
        if heir is not None:
            heir.named = True
            self._heirs[anchor] = heir
        self._touched.add(anchor)

    def root(self, anchor: Anchor) -> Anchor:
        """The anchor after which the origin is called that this one is in, or was in last."""
        passed: set[Anchor] = set()
        while not anchor.n and anchor in self._heirs and anchor not in passed:
            passed.add(anchor)
            anchor = self._heirs[anchor]
        place = anchor.home() if anchor.role == MARKER and anchor.n else None
        if place is None:
            place = anchor.place
        return place.oldest if isinstance(place, Component) else place

    def anchor_of(self, name: str) -> Anchor | None:
        """The anchor in memory that a name is called after."""
        value = name.removeprefix("origin:")
        kind, _, rest = value.partition("/")
        if rest and ROLES.get(kind, STRONG) != STRONG:
            return self._anchors.get(f"{kind}:{rest}")
        return self._anchors.get(f"address:{value}") or self._anchors.get(f"cname:{value}")

    def stand(self, aliases: Mapping[str, str]) -> None:
        """What the store says of names: the name -> the name it stands for."""
        for name, root in aliases.items():
            if self._stood.get(name, name) != root:
                self._alias(name, root)
                self._witnessed.discard(name)
            for used in {name, root}:
                anchor = self.anchor_of(used)
                if anchor is None:
                    self._waiting.add(used)
                else:
                    anchor.named = True
                    self._touched.add(anchor)

    def parted(self, pairs: Iterable[tuple[Anchor, Anchor]]) -> list[Change]:
        """First names of parts that had another's: `pairs` of the anchor that gives it, and of the other's."""
        found: dict[str, Change] = {}
        for anchor, of in pairs:
            root = self.root(of)
            if anchor.n and self.root(anchor) is anchor is not root:
                found[anchor.name] = Change("part", anchor.name, root.name, _why_split(anchor, root.name))
        return list(found.values())

    def changes(self) -> list[Change]:
        """What has changed since the last call, splits first."""
        splits: list[Change] = []
        merges: list[Change] = []
        todo = sorted(self._touched, key=lambda anchor: anchor.order)
        self._touched.clear()
        done: set[Anchor] = set()
        while todo:
            anchor = todo.pop()
            if anchor in done:
                continue
            done.add(anchor)
            for follower in self._followers.get(anchor.name, ()):
                other = self.anchor_of(follower)
                if other is not None:
                    todo.append(other)
            for change in self._changed(anchor):
                (splits if change.kind == "split" else merges).append(change)
        order = lambda change: (change.name, change.into)  # noqa: E731
        return sorted(splits, key=order) + sorted(merges, key=order)

    def _changed(self, anchor: Anchor) -> Iterator[Change]:
        if anchor.n:
            self._heirs.pop(anchor, None)
        name = anchor.name
        was = self._stood.get(name, name)
        root = self.root(anchor)
        now = root.name
        if now == was:
            if now != name:
                self._witnessed.add(name)
            return
        if was != name and name in self._witnessed:
            yield Change("split", name, was, _why_split(anchor, was))
        elif now == name:
            return  # the store knows of a link that nothing in memory witnesses
        if now != name:
            yield Change("merge", name, now, _why_merged(anchor, root))
            self._witnessed.add(name)
            root.named = True
        else:
            self._witnessed.discard(name)
        self._alias(name, now)

    def _alias(self, name: str, root: str) -> None:
        was = self._stood.pop(name, None)
        if was is not None:
            followers = self._followers[was]
            followers.discard(name)
            if not followers:
                del self._followers[was]
        if root != name:
            self._stood[name] = root
            self._followers.setdefault(root, set()).add(name)


def _why_merged(anchor: Anchor, root: Anchor) -> str:
    if not anchor.n:
        return f"nothing points at {anchor.value} any more"
    if anchor.role == MARKER and anchor.spread is not None and anchor.home() is not None:
        return f"{anchor.spread.most} of {anchor.spread.total} located sites that show {anchor.value} are there"
    together = (anchor.near or {}).get(root, 0) >> 1
    if together:
        return f"{together} of the {anchor.n} sites of {anchor.value} are at {root.value} too"
    return f"{anchor.value} and {root.value} are linked by what else their sites have in common"


def _why_split(anchor: Anchor, was: str) -> str:
    return f"too few sites of {anchor.value} are still at {was.removeprefix('origin:')} too"
