"""A dict that forgets its oldest entries, so that nothing grows with the length of a crawl."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

__all__ = ["Remembering"]

V = TypeVar("V")


class Remembering(OrderedDict[str, V]):
    """At most ``capacity`` entries; those go first that were made first."""

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self._capacity = capacity

    def __setitem__(self, key: str, value: V) -> None:
        super().__setitem__(key, value)
        if len(self) > self._capacity:
            self.popitem(last=False)
