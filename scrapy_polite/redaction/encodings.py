"""Bytes as texts, to be searched and written back: by the encoding that is declared, else by what the bytes show."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Undecodable", "redact_bytes"]

# Byte order marks, the longer ones first: the shortest begins one of them.
_MARKED = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MARKS = tuple(mark for mark, _ in _MARKED)


class Undecodable(ValueError):  # noqa: N818  (a reason to drop a field)
    """The bytes are not what they are declared to be, or begin as something that they are not."""


def redact_bytes(data: bytes, redact: Callable[[str], str], encoding: str | None = None) -> bytes:
    """The bytes with what `redact` makes of their text, in the encoding in which they were; the same object if it changes
    nothing.

    Raises `Undecodable` if they are not in the `encoding` that is given (a name that Python knows), or have the byte order
    mark of UTF-16 or UTF-32 and are neither, or have something to redact that is not in it.
    """
    if encoding is not None:
        return _declared(data, redact, encoding)
    read = False
    for wide in _wide(data):
        try:
            text = data.decode(wide, "surrogatepass")
        except UnicodeDecodeError:
            continue
        new = redact(text)
        read = True
        if new != text:
            data = new.encode(wide, "surrogatepass")
    marked = data.startswith(_MARKS)
    if marked and not read:
        raise Undecodable("it begins as UTF-16 or UTF-32 does, and is neither")
    # Keys and addresses are ASCII, so whatever else the encoding is, they are seen; all other bytes survive as they are. What
    # was read as UTF-16 may be so in part only.
    text = data.decode("utf-8", "surrogateescape")
    new = redact(text)
    if new == text:
        return data
    if marked:
        raise Undecodable("it begins as UTF-16 or UTF-32 does, and goes on as something else")
    return new.encode("utf-8", "surrogateescape")


def _declared(data: bytes, redact: Callable[[str], str], encoding: str) -> bytes:
    try:
        text = data.decode(encoding)
        new = redact(text)
        return data if new == text else new.encode(encoding)
    except LookupError:
        raise Undecodable(f"its encoding is declared as {encoding!r}, which Python does not know") from None
    except UnicodeError:
        raise Undecodable(f"it is not {encoding}, as which it is declared") from None


def _wide(data: bytes) -> list[str]:
    """What the bytes may be beside UTF-8 and its like: by their byte order mark, else by where their NULs are."""
    if data.startswith(_MARKS):
        return [encoding for mark, encoding in _MARKED if data.startswith(mark)]
    if b"\0" not in data or len(data) % 2:
        return []
    # In UTF-16 the upper half of every character of Latin script is NUL, and it comes first in big endian.
    big = data[::2].count(0) > data[1::2].count(0)
    wide = ["utf-32-be" if big else "utf-32-le"] if len(data) % 4 == 0 else []
    return [*wide, "utf-16-be" if big else "utf-16-le"]
