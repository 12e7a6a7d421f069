"""Takes API keys and personal data out of items before they are stored.

Put where everything that writes items comes after it; the add-on puts it at 700. What cannot be checked is not passed
on: a field that failed, was too much work, or holds something that is neither text, number, date nor a container of
those, is dropped and counted. Nothing is logged but names of fields and types.
"""

from __future__ import annotations

import codecs
import copy
import datetime
import logging
from collections import Counter, deque
from collections.abc import Callable, Mapping
from enum import Enum
from numbers import Number
from pathlib import PurePath
from typing import TYPE_CHECKING, cast
from uuid import UUID

from itemadapter import ItemAdapter
from scrapy import Item
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.threads import deferToThread

from scrapy_polite.forms import structured
from scrapy_polite.redaction import Redactor, policy_from

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector
    from typing_extensions import Self

    from scrapy_polite.redaction import Policy

__all__ = ["ItemRedactor", "RedactionPipeline"]

logger = logging.getLogger(__name__)

# Characters of text from which on an item goes to the thread pool: below, redaction takes less time (about 10 ms at
# most) than requests on the wire can wait.
_INLINE = 256 * 1024

# And values: walking 10,000 takes as long.
_INLINE_VALUES = 10_000

# Values in one item, at most. Lists that share their parts can have more than there is time for.
_MOST = 1_000_000

# Containers inside containers, at most. Deeper is a loop, or an attack.
_DEEPEST = 50

# Byte order marks, the longer ones first: the shortest begins one of them.
_MARKED = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARKS = tuple(mark for mark, _ in _MARKED)

# What has no text in it. Enum members are written in the program, not found in pages.
_PLAIN = (Number, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, Enum, UUID, type(None))


class _Unchecked(Exception):  # noqa: N818  (a reason to drop the field that is being walked)
    pass


class _Endless(_Unchecked):
    """A reason to drop the whole top field: dropping the innermost one would go on as long as the walk would."""


class ItemRedactor:
    """Redacts one item after another with one redactor; keeps count of what it did in `found` and `dropped`."""

    __slots__ = ("_left", "_redactor", "dropped", "found")

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._left = 0  # values that may still be visited in this item
        self.found: Counter[str] = Counter()  # by kind
        self.dropped: list[tuple[str, str]] = []  # (top field, why): one for every field left out, at any depth

    def item(self, item: object) -> object:
        """The item, redacted: itself where it can be changed, a copy where it is frozen.

        Any item that itemadapter knows. Raises TypeError for what is none.
        """
        self._left = _MOST
        adapter = ItemAdapter(item)
        changes = self._changes(list(adapter.items()), "", 0)
        if not changes:
            return item
        try:
            for name, value in changes.items():
                if value is _GONE:
                    del adapter[name]
                else:
                    adapter[name] = value
        except Exception:
            # Frozen, or it has a validator that a placeholder does not pass.
            return _copied(item, changes)
        return item

    def _changes(self, fields: Iterable[tuple[str, object]], path: str, depth: int) -> dict[str, object]:
        """The fields that are to be set (or `_GONE`), by name."""
        changes: dict[str, object] = {}
        for name, value in fields:
            field = f"{path}.{name}" if path else str(name)
            new = self._field(value, field, depth)
            if new is not value:
                changes[name] = new
        return changes

    def _field(self, value: object, field: str, depth: int) -> object:
        """The value of one field, redacted; `_GONE` if it must not be passed on."""
        try:
            return self._value(value, field, depth)
        except _Unchecked as reason:
            if depth and isinstance(reason, _Endless):
                raise
            why = str(reason)
        except Exception as error:
            why = f"{type(error).__name__} while it was checked"  # not its message: that may quote the value
        self.dropped.append((field.partition(".")[0], why))
        return _GONE

    def _value(self, value: object, field: str, depth: int) -> object:
        """The same object if nothing in it changed. Raises `_Unchecked` if it cannot be checked."""
        self._left -= 1
        if self._left < 0:
            raise _Endless(f"the item has more than {_MOST:,} values")
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, str):
            return self._text(value, field)
        if isinstance(value, (bytes, bytearray, memoryview)):
            data = bytes(value)
            redacted = self._bytes(data, field)
            return value if redacted == data else type(value)(redacted)
        if isinstance(value, PurePath):
            new = self._text(str(value), field)
            return value if new == str(value) else type(value)(new)
        if depth >= _DEEPEST:
            raise _Endless(f"it is nested more than {_DEEPEST} deep")
        if isinstance(value, Mapping) and not isinstance(value, Item):
            return self._mapping(value, field, depth + 1)
        if isinstance(value, (list, tuple, set, frozenset, deque)):
            return self._series(value, field, depth + 1)
        if ItemAdapter.is_item(value):
            changes = self._changes(list(ItemAdapter(value).items()), field, depth + 1)
            return _copied(value, changes) if changes else value
        raise _Unchecked(f"it holds a {type(value).__module__}.{type(value).__qualname__}, which cannot be searched")

    def _bytes(self, data: bytes, field: str) -> bytes:
        for encoding in _encodings(data):
            try:
                text = data.decode(encoding, "surrogatepass")
            except UnicodeDecodeError:
                continue
            new = self._text(text, field)
            if new != text:
                return new.encode(encoding, "surrogatepass")
            if data.startswith(_MARKS):
                return data
        if data.startswith(_MARKS):
            raise _Unchecked("it begins as UTF-16 or UTF-32 does, and is neither")
        # Keys and addresses are ASCII, so whatever else the encoding is, they are seen; all other bytes survive as they
        # are.
        text = data.decode("utf-8", "surrogateescape")
        new = self._text(text, field)
        return data if new == text else new.encode("utf-8", "surrogateescape")

    def _text(self, text: str, field: str) -> str:
        result = self._redactor.text(text, field)
        if result.dropped == "policy":
            self.found.update(finding.kind for finding in result.findings)
            raise _Unchecked("the policy drops fields with what was found in it")
        if result.dropped == "nulls":
            raise _Unchecked("something is in it in UTF-16 or UTF-32, and the rest is not")
        if result.dropped:
            raise _Unchecked("checking it would take too long")
        self.found.update(finding.kind for finding in result.findings)
        return result.text if result.findings else text

    def _mapping(self, value: Mapping[object, object], field: str, depth: int) -> object:
        """Keys are redacted too. Two keys that become the same are numbered, so that nothing is lost."""
        entries: dict[object, object] = {}
        changed = False
        for key, old in value.items():
            new_key = self._value(key, field, depth)
            new = self._field(old, f"{field}.{new_key}", depth)
            changed = changed or new_key is not key or new is not old
            if new is not _GONE:
                entries[_free(new_key, entries) if new_key is not key else key] = new
        if not changed:
            return value
        # A plain dict for a mapping that cannot be emptied and filled (MappingProxyType, a frozen one).
        if isinstance(value, dict) and type(value) is not dict:
            filled = copy.copy(value)
            filled.clear()
            filled.update(entries)
            return filled
        return entries

    def _series(
        self,
        value: list[object] | tuple[object, ...] | set[object] | frozenset[object] | deque[object],
        field: str,
        depth: int,
    ) -> object:
        new = [self._value(element, field, depth) for element in value]
        if all(a is b for a, b in zip(new, value, strict=True)):
            return value
        if isinstance(value, tuple) and hasattr(value, "_make"):  # a namedtuple
            return cast("Callable[[Iterable[object]], object]", value._make)(new)
        if isinstance(value, deque):
            return type(value)(new, value.maxlen)
        return type(value)(new)


def _encodings(data: bytes) -> list[str]:
    """What the bytes may be beside UTF-8 and its like: by their byte order mark, else by where their NULs are."""
    if data.startswith(_MARKS):
        return [encoding for mark, encoding in _MARKED if data.startswith(mark)]
    if b"\0" not in data or len(data) % 2:
        return []
    # In UTF-16 the upper half of every character of Latin script is NUL, and it comes first in big endian.
    big = data[::2].count(0) > data[1::2].count(0)
    wide = ["utf-32-be" if big else "utf-32-le"] if len(data) % 4 == 0 else []
    return [*wide, "utf-16-be" if big else "utf-16-le"]


class _Gone:
    """Stands for a field that is left out."""


_GONE = _Gone()


def _free(key: object, taken: Mapping[object, object]) -> object:
    number, free = 2, key
    while free in taken:
        number, free = number + 1, f"{key}.{number}"
    return free


def _copied(item: object, changes: Mapping[str, object]) -> object:
    """A copy with other values: frozen classes and validators are passed by, as the values are right by
    construction."""
    new = item.copy() if isinstance(item, Item) else copy.copy(item)
    if isinstance(new, Mapping):
        adapter = ItemAdapter(new)
        for name, value in changes.items():
            if value is _GONE:
                del adapter[name]
            else:
                adapter[name] = value
        return new
    for name, value in changes.items():
        if value is _GONE:
            object.__delattr__(new, name)
        else:
            object.__setattr__(new, name, value)
    return new


def _is_heavy(item: object) -> bool:
    """True if an item has so much text, or so many parts, that a thread should redact it. Itself quick, whatever the item."""
    waiting, seen, length = deque([item]), 0, 0
    while waiting:
        value = waiting.pop()
        seen += 1
        if isinstance(value, (str, bytes, bytearray)):
            length += len(value)
        elif isinstance(value, _PLAIN):
            continue
        elif isinstance(value, (Mapping, ItemAdapter)):
            waiting.extend(value.values())
        elif isinstance(value, (list, tuple, set, frozenset, deque)):
            waiting.extend(value)
        elif ItemAdapter.is_item(value):
            waiting.append(ItemAdapter(value))
        if length > _INLINE or seen > _INLINE_VALUES:
            return True
    return False


class RedactionPipeline:
    """Every item passes without what POLITE_REDACT takes out.

    Stats: `polite/redacted/<kind>`, the values taken out; `polite/redacted/dropped_fields`, the fields left out.
    Raises NotConfigured if POLITE_REDACT is None, ValueError if it is wrong or needs an extra that is not installed.
    """

    def __init__(self, redactor: Redactor, stats: StatsCollector) -> None:
        self._redactor = redactor
        self._stats = stats
        self._said: set[tuple[str, str]] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(_redactor_for(crawler), crawler.stats)

    def process_item(self, item: object) -> object | Awaitable[object]:
        """The item at once; for one with much text an awaitable, while a thread does the work."""
        if not ItemAdapter.is_item(item):
            raise DropItem(f"a {type(item).__qualname__} is no item that can be redacted")
        work = ItemRedactor(self._redactor)
        if _is_heavy(item):
            return self._in_thread(work, item)
        redacted = work.item(item)
        self._count(work)
        return redacted

    async def _in_thread(self, work: ItemRedactor, item: object) -> object:
        redacted = await maybe_deferred_to_future(deferToThread(work.item, item))
        self._count(work)
        return redacted

    def _count(self, work: ItemRedactor) -> None:
        for kind, count in work.found.items():
            self._stats.inc_value(f"polite/redacted/{kind}", count)
        if work.dropped:
            self._stats.inc_value("polite/redacted/dropped_fields", len(work.dropped))
        for field, why in work.dropped:
            if (field, why) not in self._said and len(self._said) < 100:
                self._said.add((field, why))
                logger.warning("A field was left out of an item, and will be without a word from now on: %s (%s)", field, why)


def _redactor_for(crawler: Crawler) -> Redactor:
    """The one place that reads the setting."""
    # `get` answers its default for a setting that is None. A dict comes from the command line as JSON.
    settings = crawler.settings
    value = settings["POLITE_REDACT"] if "POLITE_REDACT" in settings else "secrets"  # noqa: SIM401
    policy: Policy | None = structured(policy_from)(value)
    if policy is None:
        raise NotConfigured("POLITE_REDACT is None: items are passed on as they are")
    return Redactor.from_policy(policy)
