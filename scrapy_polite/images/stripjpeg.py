"""JPEG without its metadata. Pure.

Sources: ITU-T T.81 annex B (markers, segments); JFIF 1.02 (T.871) section 10.1; Adobe Technical Note 5116 section 18 (APP14);
EXIF 2.32 section 4.7.2 (APP1); ICC.1:2022 annex B.4 (APP2); CIPA DC-007 (further pictures behind the end).
"""

from __future__ import annotations

import re

from scrapy_polite.images.orientation import upright

_SOI, _EOI, _SOS, _DNL = 0xD8, 0xD9, 0xDA, 0xDC
_APP0, _APP15, _COM = 0xE0, 0xEF, 0xFE
# Frames (but for JPG, 0xC8, which is reserved), tables and intervals: what decodes the picture.
_NEEDED = frozenset({*range(0xC0, 0xD0), _SOS, 0xDB, _DNL, 0xDD}) - {0xC8}
# Without a length: RST and TEM, which mean nothing outside of a scan.
_BARE = frozenset({0x01, *range(0xD0, 0xD8)})
# In a scan 0xff stands before 0 where it belongs to the data, and before RST; before another 0xff it is filler.
_AFTER_SCAN = re.compile(rb"\xff[\x01-\xcf\xd8-\xfe]")
_STRIDE = 1 << 20  # bytes: the search holds the interpreter's lock, so it is let go in between
_MOST_SEGMENTS = 100_000
"""A progressive JPEG has some dozens, one of many small metadata parts a few thousand."""


def jpeg_stripped(data: bytes) -> bytes | None:
    """A JPEG with its frames, scans and tables, JFIF and Adobe's marker without their extras, ICC, and the orientation."""
    if data[:2] != b"\xff\xd8":
        return None
    parts: list[bytes | memoryview] = [b"\xff\xd8"]
    whole, at, scans, turned = memoryview(data), 2, 0, False
    for _ in range(_MOST_SEGMENTS):
        marker, at = _next_marker(data, at)
        if marker == _EOI:
            parts.append(b"\xff\xd9")
            return b"".join(parts) if scans else None
        if marker in _BARE:
            continue
        length = int.from_bytes(data[at : at + 2], "big")
        end = at + length
        if length < 2 or end > len(data):
            return None
        if marker in _NEEDED:
            if marker == _DNL and length != 4:
                return None
            parts += [b"\xff%c" % marker, whole[at:end]]
        elif _APP0 <= marker <= _APP15:
            kept = _application(marker, data[at + 2 : end])
            if kept and not (marker == _APP0 + 1 and turned):
                parts += [b"\xff%c" % marker, (len(kept) + 2).to_bytes(2, "big"), kept]
            turned = turned or (marker == _APP0 + 1 and data[at + 2 : at + 8] == b"Exif\0\0")
        elif marker != _COM:
            return None
        if marker == _SOS:
            scans += 1
            at, end = end, _scan_end(data, end)
            if end < 0:
                return None
            parts.append(whole[at:end])
        at = end
    return None


def _next_marker(data: bytes, at: int) -> tuple[int, int]:
    """The next marker and where what follows it begins, over filler and what is no marker; -1 at the end of the data."""
    while True:
        at = data.find(b"\xff", at)
        while 0 <= at < len(data) and data[at] == 0xFF:
            at += 1
        if not 0 <= at < len(data):
            return -1, len(data)
        if data[at]:
            return data[at], at + 1


def _scan_end(data: bytes, at: int) -> int:
    while at < len(data):
        found = _AFTER_SCAN.search(data, at, at + _STRIDE + 1)
        if found:
            return found.start()
        at += _STRIDE
    return -1


def _application(marker: int, data: bytes) -> bytes:
    """What is kept of an application's segment; nothing where it is not known."""
    if marker == _APP0 and data[:5] == b"JFIF\0" and len(data) >= 14:
        return data[:12] + b"\0\0"  # no thumbnail
    if marker == _APP0 + 1 and data[:6] == b"Exif\0\0":
        turn = upright(data[6:])
        return b"Exif\0\0" + turn if turn else b""
    if marker == _APP0 + 2 and data[:12] == b"ICC_PROFILE\0":
        return data
    if marker == _APP0 + 14 and data[:5] == b"Adobe" and len(data) >= 12:
        return b"Adobe\0d\0\0\0\0" + data[11:12]  # version 100, no flags; how the colours are meant
    return b""
