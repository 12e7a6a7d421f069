"""AVIF without its metadata: the picture and what it is put together from, in a container made anew. Pure.

Sources: HEIF ISO/IEC 23008-12:2022 sections 6 (derived and auxiliary pictures, thumbnails) and 6.5 (properties); AVIF 1.1
sections 2 to 4; the boxes: see `avifmeta`.
"""

from __future__ import annotations

from scrapy_polite.images.avifmeta import Meta, read
from scrapy_polite.images.boxes import Broken, box, full, spans

_PICTURES = frozenset({b"av01", b"grid", b"iovl", b"iden", b"sato", b"tmap"})
"""What is coded, and what is put together from others."""
# The way up is a property here; an orientation in the EXIF says nothing (HEIF, section A.2.1).
_PROPERTIES = frozenset(
    {
        *(b"av1C", b"ispe", b"pixi", b"colr", b"pasp", b"clap", b"irot", b"imir", b"auxC"),
        *(b"a1op", b"lsel", b"a1lx", b"clli", b"mdcv", b"cclv", b"amve", b"ndwt", b"reve"),
    }
)
_REFERENCES = frozenset({b"dimg", b"auxl", b"prem"})
# AVIF 1.1 section 4.1, and what encoders wrote before.
_ALPHA = (b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", b"urn:mpeg:hevc:2015:auxid:1")
_MOST_META = 4 * 1024 * 1024
"""Bytes; a colour profile, the largest part of it, has up to some hundred kilobytes."""
_LONGEST_FTYP = 256


def avif_stripped(data: bytes) -> bytes | None:
    """An AVIF with its picture, transparency, gain map, profile and way up. Other pictures in it and thumbnails go.

    None for an image sequence, and for what refers to its data in ways that encoders do not use.
    """
    try:
        top = spans(data)
        heads = [data[start:end] for name, start, end in top if name == b"ftyp"]
        metas = [data[start:end] for name, start, end in top if name == b"meta"]
        if len(heads) != 1 or len(metas) != 1 or len(heads[0]) > _LONGEST_FTYP or len(metas[0]) > _MOST_META:
            return None
        if any(name in (b"moov", b"moof") for name, _, _ in top):
            return None
        meta = read(metas[0])
        kept = _kept(meta)
        return _written(heads[0], meta, kept, _pieces(data, meta, kept))
    except (Broken, OverflowError):  # or a number does not fit its place
        return None


def _kept(meta: Meta) -> list[int]:
    """The items of the picture, in the order of their numbers: all that it is put together from, and its transparency."""
    parts, shown_with = dict[int, list[int]](), dict[int, list[int]]()
    alphas = {item for item, owned in meta.owned.items() if _is_alpha(meta, owned)}
    for name, source, targets in meta.references:
        if name == b"dimg":
            parts.setdefault(source, []).extend(targets)
        kind, _ = meta.kinds.get(source, (b"", 0))
        if (name == b"auxl" and source in alphas) or (name == b"dimg" and kind == b"tmap"):
            for target in targets:
                shown_with.setdefault(target, []).append(source)
    kept, waiting = {meta.primary}, [meta.primary]
    while waiting:
        item = waiting.pop()
        if meta.kinds.get(item, (b"", 0))[0] not in _PICTURES or item not in meta.places:
            raise Broken
        new = {*parts.get(item, ()), *shown_with.get(item, ())} - kept
        kept |= new
        waiting += new
    return sorted(kept)


def _is_alpha(meta: Meta, owned: list[tuple[int, bool]]) -> bool:
    named = (meta.properties[at - 1] for at, _ in owned if 0 < at <= len(meta.properties))
    return any(name == b"auxC" and body[4:].startswith(_ALPHA) for name, body in named)


def _pieces(data: bytes, meta: Meta, kept: list[int]) -> dict[int, bytes]:
    """The data of each item. They may share some, but together they are no longer than the file."""
    found, left = dict[int, bytes](), len(data)
    for item in kept:
        inside, places = meta.places[item]
        source = meta.inside if inside else data
        for start, end in places:
            left -= end - start
            if end > len(source) or left < 0:
                raise Broken
        found[item] = b"".join(source[start:end] for start, end in places)
    return found


def _written(head: bytes, meta: Meta, kept: list[int], pieces: dict[int, bytes]) -> bytes:
    parts = _meta_parts(meta, kept)
    wide = kept[-1] > 0xFFFF

    def places(first: int) -> bytes:
        """Each item is one piece, one behind the other from `first` on."""
        entries, at = [], first
        for item in kept:
            entry = _number(item, wide) + (bytes(2) if wide else b"")
            entries.append(entry + b"\0\0\0\1" + at.to_bytes(4, "big") + len(pieces[item]).to_bytes(4, "big"))
            at += len(pieces[item])
        count = len(kept).to_bytes(4 if wide else 2, "big")
        return full(b"iloc", 2 if wide else 0, 0, b"\x44\0", count, *entries)

    start = box(b"ftyp", head)
    length = len(start) + len(full(b"meta", 0, 0, *parts, places(0))) + 8
    return start + full(b"meta", 0, 0, *parts, places(length)) + box(b"mdat", *(pieces[item] for item in kept))


def _meta_parts(meta: Meta, kept: list[int]) -> list[bytes]:
    """The boxes of `meta`, but for `iloc`."""
    numbers, wide = set(kept), kept[-1] > 0xFFFF
    infos = []
    for item in kept:
        kind, flags = meta.kinds[item]
        infos.append(full(b"infe", 3 if wide else 2, flags, _number(item, wide), b"\0\0", kind, b"\0"))
    parts = [
        full(b"hdlr", 0, 0, bytes(4), b"pict", bytes(13)),
        full(b"pitm", int(wide), 0, _number(meta.primary, wide)),
        full(b"iinf", int(wide), 0, len(infos).to_bytes(4 if wide else 2, "big"), *infos),
    ]
    references = []
    for name, source, targets in meta.references:
        if name in _REFERENCES and source in numbers and numbers.issuperset(targets):
            ends = b"".join(_number(target, wide) for target in targets)
            references.append(box(name, _number(source, wide), len(targets).to_bytes(2, "big"), ends))
    if references:
        parts.append(full(b"iref", int(wide), 0, *references))
    parts.append(_properties(meta, kept, wide))
    groups = [[item for item in group if item in numbers] for group in meta.alternatives]
    # A group has a number of its own, which no item has.
    alternatives = [
        full(b"altr", 0, 0, *(_number(number, True) for number in (kept[-1] + at, len(group), *group)))
        for at, group in enumerate((group for group in groups if len(group) > 1), 1)
    ]
    return parts + ([box(b"grpl", *alternatives)] if alternatives else [])


def _properties(meta: Meta, kept: list[int], wide: bool) -> bytes:
    """`iprp` with what the items own and a picture needs, counted anew."""
    owned: dict[int, list[tuple[int, bool]]] = {}
    for item in kept:
        owned[item] = []
        for at, needed in meta.owned.get(item, ()):
            if at == 0:
                continue
            if at > len(meta.properties) or (needed and meta.properties[at - 1][0] not in _PROPERTIES):
                raise Broken
            if meta.properties[at - 1][0] in _PROPERTIES:
                owned[item].append((at, needed))
    used = sorted({at for entries in owned.values() for at, _ in entries})
    anew = {at: number for number, at in enumerate(used, 1)}
    width = 2 if len(used) > 0x7F else 1
    if len(used) > 0x7FFF:
        raise Broken
    entries = [
        _number(item, wide)
        + len(owned[item]).to_bytes(1, "big")
        + b"".join((anew[at] | needed << 8 * width - 1).to_bytes(width, "big") for at, needed in owned[item])
        for item in kept
        if owned[item]
    ]
    container = box(b"ipco", *(box(*meta.properties[at - 1]) for at in used))
    return box(b"iprp", container, full(b"ipma", int(wide), width - 1, len(entries).to_bytes(4, "big"), *entries))


def _number(item: int, wide: bool) -> bytes:
    return item.to_bytes(4 if wide else 2, "big")
