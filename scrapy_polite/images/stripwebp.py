"""WebP without its metadata. Pure.

Source: RFC 9649 section 2 (the container).
"""

from __future__ import annotations

from scrapy_polite.images.orientation import upright

_MOST_CHUNKS = 200_000
"""A frame of an animation has up to three."""
_ICC, _ALPHA, _EXIF, _ANIMATION = 0x20, 0x10, 0x08, 0x02
_FRAME_HEADER = 16
_COLOURS = frozenset({b"VP8 ", b"VP8L"})
_PICTURE = _COLOURS | {b"ALPH"}


def webp_stripped(data: bytes) -> bytes | None:
    """A WebP with its pictures, transparency, animation and profile, and of its EXIF the orientation."""
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP":
        return None
    end = int.from_bytes(data[4:8], "little") + 8
    chunks = _riff(data, 12, end) if end <= len(data) else None
    if not chunks:
        return None
    parts: list[bytes | memoryview] = []
    if chunks[0][0] != b"VP8X":
        name, start, length = chunks[0]
        if name not in _COLOURS:
            return None
        _put(parts, name, memoryview(data)[start : start + length])
        return _webp(parts)
    _, start, length = chunks[0]
    if length < 10:
        return None
    flags = data[start]
    animated = flags & _ANIMATION
    seen, turn = set[bytes](), None
    for name, at, size in chunks[1:]:
        body = memoryview(data)[at : at + size]
        if name == b"EXIF" and name not in seen and flags & _EXIF:
            turn = upright(bytes(body).removeprefix(b"Exif\0\0"))
        elif name == b"ICCP" and name not in seen and flags & _ICC:
            _put(parts, name, body)
        elif animated and name == b"ANIM" and size >= 6 and name not in seen:
            _put(parts, name, body[:6])
        elif animated and name == b"ANMF":
            frame = _frame(data, at, size)
            if frame is None:
                return None
            _put(parts, name, frame)
        elif not animated and name in _PICTURE and name not in seen and not seen & _COLOURS:
            _put(parts, name, body)
        seen.add(name)
    if not seen & ({b"ANMF"} if animated else _COLOURS):
        return None
    if turn:
        _put(parts, b"EXIF", turn)
    profiled = _ICC if b"ICCP" in seen else 0
    kept = flags & (_ALPHA | _ANIMATION | profiled) | (_EXIF if turn else 0)
    head: list[bytes | memoryview] = []
    _put(head, b"VP8X", bytes([kept, 0, 0, 0]) + data[start + 4 : start + 10])
    return _webp(head + parts)


def _riff(data: bytes, at: int, end: int) -> list[tuple[bytes, int, int]] | None:
    """Name, start and length of the data of each chunk; None where they do not fill what is there."""
    chunks: list[tuple[bytes, int, int]] = []
    while at < end:
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        if at + 8 + length > end or len(chunks) >= _MOST_CHUNKS:
            return None
        chunks.append((data[at : at + 4], at + 8, length))
        at += 8 + length + length % 2
    return chunks


def _frame(data: bytes, at: int, size: int) -> bytes | None:
    """A frame of an animation with nothing but its picture."""
    chunks = _riff(data, at + _FRAME_HEADER, at + size) if size >= _FRAME_HEADER else None
    if not chunks:
        return None
    parts: list[bytes | memoryview] = [memoryview(data)[at : at + _FRAME_HEADER]]
    for name, start, length in chunks:
        if name in _PICTURE:
            _put(parts, name, memoryview(data)[start : start + length])
    return b"".join(parts)


def _put(parts: list[bytes | memoryview], name: bytes, body: bytes | memoryview) -> None:
    parts += [name, len(body).to_bytes(4, "little"), body, bytes(len(body) % 2)]


def _webp(parts: list[bytes | memoryview]) -> bytes:
    body = b"".join(parts)
    return b"RIFF" + (len(body) + 4).to_bytes(4, "little") + b"WEBP" + body
