"""What an item of any type is made of: its texts, and how much there is of it."""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Mapping
from enum import Enum
from numbers import Number
from typing import TYPE_CHECKING, Final
from uuid import UUID

from itemadapter import ItemAdapter
from scrapy import Item

from scrapy_polite.redaction.leaves import joined

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BYTES", "DEEPEST", "MOST", "PLAIN", "SERIES", "is_heavy", "texts_of"]

MOST: Final = 1_000_000
"""Values in one item, at most. Lists that share their parts can have more than there is time for."""

DEEPEST: Final = 50
"""Containers inside containers, at most. Deeper is a loop, or an attack."""

# What has no text in it. Enum members are written in the program, not found in pages.
PLAIN: Final = (Number, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, Enum, UUID, type(None))
SERIES: Final = (list, tuple, set, frozenset, deque)
BYTES: Final = (bytes, bytearray, memoryview)


def is_heavy(item: object, characters: int, values: int) -> bool:
    """True if an item has more text, or more parts, than that. Itself quick, whatever the item."""
    waiting, seen, length = deque([item]), 0, 0
    while waiting:
        value = waiting.pop()
        seen += 1
        if isinstance(value, (str, *BYTES)):
            length += len(value)
        elif isinstance(value, PLAIN):
            continue
        elif isinstance(value, (Mapping, ItemAdapter)):
            waiting.extend(value.values())
        elif isinstance(value, SERIES):
            waiting.extend(value)
        elif ItemAdapter.is_item(value):
            waiting.append(ItemAdapter(value))
        # A long list is not looked through to its end.
        if length > characters or seen + len(waiting) > values:
            return True
    return False


def texts_of(item: object) -> Iterator[tuple[str, str]]:
    """The texts of an item, each with its field; at most as many values, and as deep, as an `ItemRedactor` looks at."""
    waiting: deque[tuple[object, str, int]] = deque([(item, "", 0)])
    for _ in range(MOST):
        if not waiting:
            return
        value, field, depth = waiting.popleft()
        if isinstance(value, str):
            yield value, field
        elif isinstance(value, (*PLAIN, *BYTES)) or depth > DEEPEST:
            continue
        elif isinstance(value, Mapping) and not isinstance(value, Item):
            waiting.extend((inner, joined(field, str(name)), depth + 1) for name, inner in value.items())
        elif isinstance(value, SERIES):
            waiting.extend((inner, field, depth + 1) for inner in value)
        elif ItemAdapter.is_item(value):
            waiting.extend((inner, joined(field, name), depth + 1) for name, inner in ItemAdapter(value).items())
