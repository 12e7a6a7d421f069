"""A count by key that knows its largest one without looking through all of them. Pure."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

__all__ = ["Tally"]

_Key = TypeVar("_Key")

#: Up to so many keys the largest is looked for; beyond, it is kept.
FEW_KEYS: Final = 8


class Tally(Generic[_Key]):
    """How often each key was counted. The result depends on the counts alone, not on the order they came in."""

    __slots__ = ("_having", "_most", "_top", "counts", "total")

    def __init__(self) -> None:
        self.counts: dict[_Key, int] = {}
        self.total = 0
        self._having: dict[int, int] | None = None  # count -> keys that have it
        self._most = 0
        self._top: _Key | None = None

    def add(self, key: _Key, by: int) -> None:
        """Count `key` up or, with a negative `by`, down; what reaches 0 is forgotten."""
        old = self.counts.get(key, 0)
        new = old + by
        self.total += by
        if new:
            self.counts[key] = new
        else:
            del self.counts[key]
        having = self._having
        if having is None:
            if len(self.counts) > FEW_KEYS:
                self._having = having = {}
                for count in self.counts.values():
                    having[count] = having.get(count, 0) + 1
                self._most = max(having)
            return
        if old:
            having[old] -= 1
            if not having[old]:
                del having[old]
        if new:
            having[new] = having.get(new, 0) + 1
        if new > self._most:
            self._most = new
        while self._most and self._most not in having:
            self._most -= 1

    @property
    def most(self) -> int:
        """The largest count, 0 if nothing is counted."""
        return max(self.counts.values(), default=0) if self._having is None else self._most

    def top(self) -> _Key | None:
        """A key with the largest count: the one, if it has more than half of all."""
        most = self.most
        top = self._top
        if top is None or self.counts.get(top) != most:
            top = self._top = next((key for key, count in self.counts.items() if count == most), None)
        return top
