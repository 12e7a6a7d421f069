"""What the metadata box of an AVIF says of its items, as far as they make a picture. Pure.

Sources: ISO/IEC 14496-12:2022 section 8.11 (meta, pitm, iloc, iinf, iref) and 8.18 (groups); HEIF ISO/IEC 23008-12:2022
section 9.3 (iprp).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from scrapy_polite.images.boxes import Broken, Reader, children

_WIDTHS = (0, 4, 8)
"""Bytes that a number in `iloc` may have."""


@dataclass(slots=True)
class Meta:
    """Items by their number; properties in their order, counted from 1 where an item owns them.

    kinds: the type and the flags of each item. owned: of each item its properties, and whether it needs them.
    places: the pieces of each item, from start to end, and whether they are in `inside` (else in the file).
    """

    primary: int = 0
    kinds: dict[int, tuple[bytes, int]] = field(default_factory=dict)
    references: list[tuple[bytes, int, list[int]]] = field(default_factory=list)
    properties: list[tuple[bytes, bytes]] = field(default_factory=list)
    owned: dict[int, list[tuple[int, bool]]] = field(default_factory=dict)
    alternatives: list[list[int]] = field(default_factory=list)
    places: dict[int, tuple[bool, list[tuple[int, int]]]] = field(default_factory=dict)
    inside: bytes = b""


def read(body: bytes) -> Meta:
    """The content of a box `meta`. Raises Broken where it is not complete, or of a kind that is not read here."""
    parts = _parts(body)
    if not {b"hdlr", b"pitm", b"iinf", b"iloc", b"iprp"} <= set(parts) or parts[b"hdlr"][8:12] != b"pict":
        raise Broken
    meta = read_shape(body)
    meta.inside = parts.get(b"idat", b"")
    _read_items(parts[b"iinf"], meta)
    _read_places(parts[b"iloc"], meta)
    for name, part in children(parts.get(b"grpl", b"")):
        if name == b"altr":
            reader = Reader(part)
            reader.take(8)  # version, flags and the number of the group
            count = reader.number(4)
            meta.alternatives.append([reader.number(4) for _ in range(min(count, reader.left // 4))])
    return meta


def read_shape(body: bytes) -> Meta:
    """Only which item is the picture, what items refer to, and their properties. Raises Broken where that cannot be read."""
    parts, meta = _parts(body), Meta()
    if b"pitm" not in parts or b"iprp" not in parts:
        raise Broken
    reader = Reader(parts[b"pitm"])
    meta.primary = reader.number(4 if reader.head()[0] else 2)
    _read_references(parts.get(b"iref"), meta)
    _read_properties(parts[b"iprp"], meta)
    return meta


def _parts(body: bytes) -> dict[bytes, bytes]:
    parts: dict[bytes, bytes] = {}
    for name, part in children(body[4:]):
        if name in parts:
            raise Broken
        parts[name] = part
    return parts


def _read_items(body: bytes, meta: Meta) -> None:
    reader = Reader(body)
    reader.take(4 if reader.head()[0] else 2)  # how many
    for name, part in children(reader.take(reader.left)):
        if name != b"infe":
            continue
        reader = Reader(part)
        version, flags = reader.head()
        if version not in (2, 3):
            raise Broken
        item = reader.number(4 if version == 3 else 2)
        protected = reader.number(2)
        if protected or item in meta.kinds:
            raise Broken
        meta.kinds[item] = (reader.take(4), flags)


def _read_references(body: bytes | None, meta: Meta) -> None:
    if body is None:
        return
    reader = Reader(body)
    width = 4 if reader.head()[0] else 2
    for name, part in children(reader.take(reader.left)):
        reader = Reader(part)
        source = reader.number(width)
        targets = [reader.number(width) for _ in range(reader.number(2))]
        meta.references.append((name, source, targets))


def _read_properties(body: bytes, meta: Meta) -> None:
    for name, part in children(body):
        if name == b"ipco":
            meta.properties += children(part)
        elif name == b"ipma":
            reader = Reader(part)
            version, flags = reader.head()
            width = 2 if flags & 1 else 1
            for _ in range(reader.number(4)):
                owned = meta.owned.setdefault(reader.number(4 if version else 2), [])
                for _ in range(reader.number(1)):
                    value = reader.number(width)
                    needed = value >> 8 * width - 1
                    owned.append((value - (needed << 8 * width - 1), bool(needed)))


def _read_places(body: bytes, meta: Meta) -> None:
    reader = Reader(body)
    version, _ = reader.head()
    sizes = reader.number(2)
    widths = [sizes >> shift & 15 for shift in (12, 8, 4, 0)]
    if version not in (0, 1, 2) or not set(widths) <= set(_WIDTHS) or not widths[1]:
        raise Broken  # without lengths a piece goes to the end of whatever it is in
    at, length, base, index = widths
    for _ in range(reader.number(4 if version == 2 else 2)):
        item = reader.number(4 if version == 2 else 2)
        way = reader.number(2) & 15 if version else 0
        elsewhere = reader.number(2)
        if elsewhere or way > 1 or item in meta.places:
            raise Broken  # in another file, or within another item
        offset, pieces = reader.number(base), []
        for _ in range(reader.number(2)):
            if version:
                reader.take(index)
            start = offset + reader.number(at)
            pieces.append((start, start + reader.number(length)))
        meta.places[item] = (way == 1, pieces)
