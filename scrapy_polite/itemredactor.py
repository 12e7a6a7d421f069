"""Walks an item of any type and redacts what is in it, container by container.

What cannot be checked is not passed on: a field that failed, was too much work, or holds something that is neither text,
number, date nor a container of those, is dropped and counted.
"""

from __future__ import annotations

import copy
import datetime
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cached_property, partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, cast
from uuid import UUID

from itemadapter import ItemAdapter
from scrapy import Item

from scrapy_polite.itemparts import BYTES, DEEPEST, MOST, PLAIN, SERIES
from scrapy_polite.redaction.acting import Gone
from scrapy_polite.redaction.encodings import Undecodable, redact_bytes
from scrapy_polite.redaction.fieldnames import kind_of
from scrapy_polite.redaction.leaves import joined

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_polite.redaction.engine import Result
    from scrapy_polite.redaction.structured import Span, StructuredRedactor

__all__ = ["ItemRedactor", "TooLong", "copied"]

EXTRA: Final = "__pydantic_extra__"

# Asked for the encoding of bytes, where there are some: most fields have none.
Declared = Callable[[], object] | None


class TooLong(Exception):  # noqa: N818  (it is no error: the work is to be done elsewhere)
    """The time that was given is over; nothing of the item was changed."""


class _Unchecked(Exception):  # noqa: N818  (a reason to drop the field that is being walked)
    pass


class _Endless(_Unchecked):
    """A reason to drop the whole top field: dropping the innermost one would go on as long as the walk would."""


class _Gone:
    """Stands for a field that is left out."""


_GONE = _Gone()


class ItemRedactor:
    """Redacts one item, and keeps count of what it did.

    `spans` are what was found in texts elsewhere, by text; None for one that could not be looked through.
    """

    __slots__ = ("_kinds", "_left", "_redactor", "_spans", "_until", "actions", "dropped", "fields", "found")

    def __init__(self, redactor: StructuredRedactor, spans: Mapping[str, Sequence[Span] | None] | None = None) -> None:
        self._redactor = redactor
        self._spans = spans or {}
        self._left = 0  # values that may still be visited in this item
        self._until = float("inf")
        self._kinds: dict[str, str | None] = {}
        self.found: Counter[str] = Counter()  # by kind
        self.actions: Counter[str] = Counter()
        self.fields: Counter[str] = Counter()  # by top field
        self.dropped: list[tuple[str, str]] = []  # (top field, why): one for every field left out, at any depth

    def item(self, item: object, seconds: float = float("inf")) -> object:
        """The item, redacted: itself where it can be changed, a copy where it is frozen.

        Any item that itemadapter knows; raises TypeError for what is none. If `seconds` are given, raises `TooLong` when
        they are over, which is looked at between two values, and instead of dropping a field that is too much work.
        """
        self._left = MOST
        self._until = time.thread_time() + seconds
        if isinstance(item, dict):
            # The keys of such an item come from pages as often as from the spider.
            entries, changed = self._entries(item, "", 0, None)
            if changed:
                item.clear()
                item.update(entries)
            return item
        adapter = ItemAdapter(item)
        changes = self._changes(adapter, "", 0)
        if not changes:
            return item
        try:
            _apply(adapter, changes)
        except Exception:
            # Frozen, or it has a validator that a placeholder does not pass.
            return copied(item, changes)
        _forget(item)
        return item

    def _changes(self, adapter: ItemAdapter, path: str, depth: int, declared: Declared = None) -> dict[str, object]:
        """The fields that are to be set (or `_GONE`), by name. `declared`: by the field that the item stands in."""
        changes: dict[str, object] = {}
        for name, value in list(adapter.items()):
            new = self._field(value, joined(path, str(name)), depth, partial(_declared, adapter, name, declared))
            if new is not value:
                changes[name] = new
        # What a pydantic model has beyond its fields: exporters do not see it, its own methods do.
        extra = getattr(adapter.item, EXTRA, None)
        if extra:
            new = self._field(extra, path, depth, declared)
            if new is not extra:
                changes[EXTRA] = {} if new is _GONE else new
        return changes

    def _field(self, value: object, field: str, depth: int, declared: Declared) -> object:
        """The value of one field, redacted; `_GONE` if it must not be passed on."""
        try:
            return self._value(value, field, depth, declared)
        except TooLong:
            raise
        except _Unchecked as reason:
            if depth and isinstance(reason, _Endless):
                raise
            why = str(reason)
        except Exception as error:
            why = f"{type(error).__name__} while it was checked"  # not its message: that may quote the value
        top, _, inner = field.partition(".")  # what is inside may be named by a page
        self.dropped.append((top, f"a part of it: {why}" if inner else why))
        return _GONE

    def _value(self, value: object, field: str, depth: int, declared: Declared) -> object:
        """The same object if nothing in it changed. Raises `_Unchecked` if it cannot be checked."""
        self._left -= 1
        if self._left < 0:
            raise _Endless(f"the item has more than {MOST:,} values")
        if time.thread_time() > self._until:
            raise TooLong
        if isinstance(value, str):
            # A subclass may be an Enum, or a text with more to it; it becomes a plain text only where something is found.
            return value if isinstance(value, Enum) else self._text(value, field)
        if isinstance(value, PLAIN):
            return self._plain(value, field)
        if isinstance(value, BYTES):
            return self._bytes(value, field, declared() if declared else None)
        if isinstance(value, PurePath):
            new = self._text(str(value), field)
            return value if new == str(value) else type(value)(new)
        if depth >= DEEPEST:
            raise _Endless(f"it is nested more than {DEEPEST} deep")
        if isinstance(value, Mapping) and not isinstance(value, Item):
            return self._mapping(value, field, depth + 1, declared)
        if isinstance(value, SERIES):
            return self._series(value, field, depth + 1, declared)
        if ItemAdapter.is_item(value):
            changes = self._changes(ItemAdapter(value), field, depth + 1, declared)
            return copied(value, changes) if changes else value
        raise _Unchecked(f"it holds a {type(value).__module__}.{type(value).__qualname__}, which cannot be searched")

    def _kind(self, field: str) -> str | None:
        if field not in self._kinds:
            self._kinds[field] = kind_of(field)
        return self._kinds[field]

    def _plain(self, value: object, field: str) -> object:
        """Numbers and dates: what the field's name says is a person's has the policy's form, still as a number or date."""
        kind = self._kind(field)
        if kind is None or isinstance(value, (bool, Enum, UUID, type(None), datetime.timedelta, datetime.tzinfo)):
            return value
        if isinstance(value, (datetime.date, datetime.time)):
            written: str | int | float = value.isoformat()
        else:
            # float("inf") and its like are numbers too; what has no float, as complex, cannot be told.
            written = value if type(value) in (int, float) else float(value)  # type: ignore[arg-type,assignment]
        new = self._whole(kind, written, field)
        if new == written:
            return value
        if isinstance(value, (datetime.date, datetime.time)):
            try:
                return type(value).fromisoformat(str(new))
            except ValueError:
                raise _Unchecked("the policy replaces what is in it, and no date can say that") from None
        return new if type(value) in (int, float) else type(value)(str(new))  # type: ignore[call-arg]

    def _whole(self, kind: str, value: str | int | float, field: str) -> str | int | float:
        redactor = self._redactor.redactor
        new = redactor.whole(kind, value, field)
        if isinstance(new, Gone) or new != value:
            self._note(kind, redactor.policy.action(field, kind), field)
        if isinstance(new, Gone):
            raise _Unchecked("the policy drops fields with what was found in it")
        return new

    def _note(self, kind: str, action: str, field: str) -> None:
        self.found[kind] += 1
        self.actions[action] += 1
        self.fields[field.partition(".")[0]] += 1

    def _bytes(self, value: object, field: str, encoding: object) -> object:
        data = bytes(cast("bytes", value))
        try:
            redacted = redact_bytes(data, lambda text: self._text(text, field), None if encoding is None else str(encoding))
        except Undecodable as error:
            raise _Unchecked(str(error)) from None
        return value if redacted == data else cast("type[bytes]", type(value))(redacted)

    def _text(self, text: str, field: str) -> str:
        kind = self._kind(field)
        if kind is not None:
            new = self._whole(kind, text, field)
            if new != text:
                return str(new)
        return self._search(text, field)

    def _search(self, text: str, field: str) -> str:
        # The hash of a long text takes milliseconds.
        spans = self._spans.get(text, ()) if self._spans else ()
        if spans is None:
            raise _Unchecked("names could not be looked for in it")
        result = self._redactor.named(field.rpartition(".")[2], text, field, spans)
        for finding in result.findings:
            self._note(finding.kind, finding.action, field)
        if result.dropped == "over_budget" and self._until < float("inf"):
            raise TooLong
        if result.dropped:
            raise _Unchecked(_why(result))
        return result.text if result.findings else text

    def _mapping(self, value: Mapping[object, object], field: str, depth: int, declared: Declared) -> object:
        entries, changed = self._entries(value, field, depth, declared)
        if not changed:
            return value
        # A plain dict for a mapping that cannot be emptied and filled (MappingProxyType, a frozen one).
        if isinstance(value, dict) and type(value) is not dict:
            filled = copy.copy(value)
            filled.clear()
            filled.update(entries)
            return filled
        return entries

    def _entries(
        self, value: Mapping[object, object], field: str, depth: int, declared: Declared
    ) -> tuple[dict[object, object], bool]:
        """What is in it, and whether that is something else than before. Keys are redacted too; two that become the same
        are numbered, so that nothing is lost."""
        entries: dict[object, object] = {}
        changed = False
        for key, old in list(value.items()):
            new_key = self._key(key, field, depth, declared)
            if new_key is _GONE:
                changed = True
                continue
            new = self._field(old, joined(field, str(new_key)), depth, declared)
            changed = changed or new_key is not key or new is not old
            if new is not _GONE:
                entries[_free(new_key, entries)] = new
        return entries, changed

    def _key(self, key: object, field: str, depth: int, declared: Declared) -> object:
        """A key of an entry; `_GONE` for one of the item itself that must not be passed on."""
        try:
            # What the field's name says is said of its values.
            return self._search(key, field) if type(key) is str else self._value(key, "", depth, declared)
        except _Unchecked as reason:
            if field:
                raise
            self.dropped.append(("a key", str(reason)))
            return _GONE

    def _series(self, value: Iterable[object], field: str, depth: int, declared: Declared) -> object:
        old = list(value)
        new = [self._value(element, field, depth, declared) for element in old]
        if all(a is b for a, b in zip(new, old, strict=True)):
            return value
        if isinstance(value, tuple) and hasattr(value, "_make"):  # a namedtuple
            return cast("Callable[[Iterable[object]], object]", value._make)(new)
        if isinstance(value, deque):
            return type(value)(new, value.maxlen)
        return cast("type[list[object]]", type(value))(new)


def _declared(adapter: ItemAdapter, name: str, outer: Declared) -> object:
    """The encoding that a field's metadata declares, for bytes in it at any depth; else what the field around it declares;
    None if there is none."""
    meta = adapter.get_field_meta(name)
    extra = meta.get("json_schema_extra")  # what pydantic has room for
    own = meta.get("encoding") or (extra.get("encoding") if isinstance(extra, Mapping) else None)
    return own or (outer() if outer else None)


def _why(result: Result) -> str:
    if result.dropped == "policy":
        return "the policy drops fields with what was found in it"
    if result.dropped == "nulls":
        return "something is in it in UTF-16 or UTF-32, and the rest is not"
    return "checking it would take too long"


def _free(key: object, taken: Mapping[object, object]) -> object:
    number, free = 2, key
    while free in taken:
        number, free = number + 1, f"{key}.{number}"
    return free


def _apply(adapter: ItemAdapter, changes: Mapping[str, object]) -> None:
    for name, value in changes.items():
        if value is _GONE:
            del adapter[name]
        else:
            adapter[name] = value


def copied(item: object, changes: Mapping[str, object]) -> object:
    """A copy with other values: frozen classes and validators are passed by, as the values are right by
    construction."""
    # A plain copy of a `scrapy.Item` would share its values.
    new = item.copy() if isinstance(item, Item) else copy.copy(item)
    if isinstance(new, Mapping):
        _apply(ItemAdapter(new), changes)
        return new
    for name, value in changes.items():
        if value is _GONE:
            object.__delattr__(new, name)
        else:
            object.__setattr__(new, name, value)
    _forget(new)
    return new


def _forget(item: object) -> None:
    """What an object has computed of its fields and keeps is computed anew when it is asked for."""
    kept = getattr(item, "__dict__", {})
    for name in [name for name in kept if isinstance(getattr(type(item), name, None), cached_property)]:
        del kept[name]
