"""A request as one line of JSON, and back: what the queue on disk keeps. Never pickle, which runs what it reads.

JSON knows neither bytes nor tuples, and its keys are text; each of those is written as an object with one key that begins with
``!`` (``{"!tuple": [1, 2]}``), and comes back as what it was. What cannot come back as what it was is a ``ValueError``:
Scrapy's scheduler then keeps the request in memory, as it does with what its own disk queues refuse.

In ``meta`` and ``cb_kwargs`` may stand: None, truth values, numbers, text, bytes, lists, tuples, sets, dicts with any of these
as keys, dates and times, Decimals, and items (``scrapy.Item`` and whatever else itemadapter knows) that their fields make anew.
"""

from __future__ import annotations

import base64
import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, cast

from itemadapter import ItemAdapter
from scrapy import Request
from scrapy.utils.misc import load_object
from scrapy.utils.request import request_from_dict

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider

__all__ = ["read", "write"]

PLAIN: Final = frozenset({str, int, float, bool, type(None)})
"""Types that JSON has. Exactly these: what derives from them would come back as the type that it derives from."""

MARK: Final = "!"

ENCODER: Final = json.JSONEncoder(separators=(",", ":"))
"""Kept: ``json.dumps`` makes a new one each time for separators of one's own."""

DEFAULTS: Final[dict[str, object]] = {
    "callback": None,
    "errback": None,
    "headers": {},
    "method": "GET",
    "body": b"",
    "cookies": {},
    "meta": {},
    "encoding": "utf-8",
    "priority": 0,
    "dont_filter": False,
    "flags": [],
    "cb_kwargs": {},
}
"""What ``Request`` takes for an argument that is not given, so it need not be written. Classes derived from it may differ."""


def write(request: Request, spider: Spider | None) -> bytes:
    """ASCII. Raises ``ValueError`` for what would not come back as it was."""
    try:
        parts = request.to_dict(spider=spider)
    except ValueError:
        raise
    except Exception as error:  # Whatever a class of the project's raises.
        raise ValueError(f"{request}: {type(request).__qualname__}.to_dict: {error!r}") from error
    if type(request) is Request:
        parts = {name: value for name, value in parts.items() if name not in DEFAULTS or value != DEFAULTS[name]}
    try:
        return ENCODER.encode({name: _pack(value) for name, value in parts.items()}).encode()
    except RecursionError:
        raise ValueError(f"{request}: meta or cb_kwargs contain themselves, or are nested too deep") from None


def read(data: bytes, spider: Spider | None) -> Request:
    """Raises ``ValueError`` (a callback that the spider no longer has), or whatever the class of the request does."""
    return request_from_dict({name: _unpack(value) for name, value in json.loads(data.decode()).items()}, spider=spider)


def _pack(value: object) -> object:
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is list:
        return [_pack(each) for each in cast("list[object]", value)]
    if kind is dict:
        entries = cast("dict[object, object]", value)
        if all(type(key) is str and key[:1] != MARK for key in entries):
            return {key: _pack(each) for key, each in entries.items()}
        return {"!dict": [[_pack(key), _pack(each)] for key, each in entries.items()]}
    writer = WRITERS.get(kind)
    if writer is not None:
        name, pack = writer
        return {name: pack(value)}
    if ItemAdapter.is_item(value):
        return {"!item": _pack_item(value)}
    raise ValueError(f"{value!r} of type {kind.__module__}.{kind.__qualname__} cannot be written as JSON")


def _pack_item(item: Any) -> list[object]:
    kind = type(item)
    path = f"{kind.__module__}.{kind.__qualname__}"
    try:
        fields = dict(ItemAdapter(item))
        same = load_object(path) is kind and kind(**fields) == item
    except Exception as error:
        raise ValueError(f"{item!r} of type {path} cannot be made anew from its fields: {error}") from None
    if not same:
        raise ValueError(f"{item!r} of type {path} is not what its fields make anew")
    return [path, _pack(fields)]


def _unpack_item(path: str, fields: Any) -> object:
    kind = load_object(path)
    # Whoever can write into the store could name any function here, and what it is to be called with.
    if not isinstance(kind, type) or not ItemAdapter.is_item_class(kind):
        raise ValueError(f"{path} is no class of items, and is not called")
    return kind(**_unpack(fields))


def _pack_bytes(value: Any) -> dict[str, str] | str:
    return value.decode("ascii") if value.isascii() else {"base64": base64.b64encode(value).decode("ascii")}


def _unpack_bytes(value: Any) -> bytes:
    return value.encode("ascii") if isinstance(value, str) else base64.b64decode(value["base64"])


def _pack_each(value: Any) -> list[object]:
    return [_pack(each) for each in value]


def _unpack(value: Any) -> Any:
    kind = type(value)
    if kind is list:
        return [_unpack(each) for each in value]
    if kind is not dict:
        return value
    if len(value) == 1:
        (name,) = value
        if name[:1] == MARK:
            return READERS[name](value[name])
    return {key: _unpack(each) for key, each in value.items()}


WRITERS: Final[dict[type, tuple[str, Callable[[Any], object]]]] = {
    bytes: ("!bytes", _pack_bytes),
    tuple: ("!tuple", _pack_each),
    set: ("!set", _pack_each),
    frozenset: ("!frozenset", _pack_each),
    datetime: ("!datetime", datetime.isoformat),
    date: ("!date", date.isoformat),
    time: ("!time", time.isoformat),
    timedelta: ("!timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
    Decimal: ("!decimal", str),
}

READERS: Final[dict[str, Callable[[Any], object]]] = {
    "!bytes": _unpack_bytes,
    "!tuple": lambda value: tuple(_unpack(each) for each in value),
    "!set": lambda value: {_unpack(each) for each in value},
    "!frozenset": lambda value: frozenset(_unpack(each) for each in value),
    "!datetime": datetime.fromisoformat,
    "!date": date.fromisoformat,
    "!time": time.fromisoformat,
    "!timedelta": lambda value: timedelta(*value),
    "!decimal": Decimal,
    "!dict": lambda value: {_unpack(key): _unpack(each) for key, each in value},
    "!item": lambda value: _unpack_item(*value),
}
