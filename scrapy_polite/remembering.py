"""A dict that forgets its oldest entries, so that nothing grows with the length of a crawl."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Remembering"]

V = TypeVar("V")


class Remembering(OrderedDict[str, V]):
    """At most ``capacity`` entries; those go first that were made first. With ``size``, a function of a value, also no more
    than ``largest`` of all together, but for the newest entry alone."""

    def __init__(self, capacity: int, largest: int = 0, size: Callable[[V], int] = lambda _: 0) -> None:
        super().__init__()
        self._capacity = capacity
        self._largest = largest
        self._size = size
        self._all = 0

    def __setitem__(self, key: str, value: V) -> None:
        if key in self:
            self._all -= self._size(self[key])
        self._all += self._size(value)
        super().__setitem__(key, value)
        while len(self) > self._capacity or (self._all > self._largest and len(self) > 1):
            del self[next(iter(self))]

    def __delitem__(self, key: str) -> None:
        self._all -= self._size(self[key])
        super().__delitem__(key)
