"""PNG without its metadata. Pure.

Source: PNG (third edition) sections 5.3 (chunks), 11 (each of them) and 13 (what a decoder ignores).
"""

from __future__ import annotations

import zlib

from scrapy_polite.images.orientation import upright

_MOST_CHUNKS = 500_000
"""64 MiB in IDAT chunks of 8 KiB, as libpng writes them, are 8192."""
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_CRITICAL = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND"})
_PNG_MANY = frozenset({b"IDAT", b"fcTL", b"fdAT"})
# What changes how a picture is shown, and its lengths in bytes, least and most: of another length it is no such thing.
_PNG_KEPT = {
    b"IHDR": (13, 13),
    b"PLTE": (3, 768),
    b"IDAT": (0, 2**31 - 1),
    b"IEND": (0, 0),
    b"tRNS": (1, 256),
    b"gAMA": (4, 4),
    b"cHRM": (32, 32),
    b"sRGB": (1, 1),
    b"iCCP": (3, 2**31 - 1),
    b"cICP": (4, 4),
    b"mDCV": (24, 24),
    b"cLLI": (8, 8),
    b"sBIT": (1, 4),
    b"bKGD": (1, 6),
    b"pHYs": (9, 9),
    b"acTL": (8, 8),
    b"fcTL": (26, 26),
    b"fdAT": (4, 2**31 - 1),
}


def _hidden(name: bytes, seen: set[bytes]) -> bool:
    """Whether this is a frame, or the count of them, that nobody shows: the count stands before the frames and the picture
    (section 11.3.5). What lies there may be another picture altogether."""
    return b"IDAT" in seen if name == b"acTL" else name in (b"fcTL", b"fdAT") and b"acTL" not in seen


def png_stripped(data: bytes) -> bytes | None:
    """A PNG with its pixels, frames, transparency and colour space, and of its EXIF the orientation."""
    if not data.startswith(_PNG_SIGNATURE):
        return None
    parts: list[bytes | memoryview] = [_PNG_SIGNATURE]
    whole, at, seen = memoryview(data), len(_PNG_SIGNATURE), set[bytes]()
    for _ in range(_MOST_CHUNKS):
        name, length = data[at + 4 : at + 8], int.from_bytes(data[at : at + 4], "big")
        end = at + 12 + length
        if len(name) < 4 or end > len(data):
            return None
        first, body = name not in seen, whole[at + 8 : end - 4]
        if name in _PNG_KEPT:
            least, most = _PNG_KEPT[name]
            fits = least <= length <= most and (first or name in _PNG_MANY) and not _hidden(name, seen)
            if name in _PNG_CRITICAL:
                if not fits:
                    return None
                parts.append(whole[at:end])
            # A damaged chunk that is not needed is ignored by decoders.
            elif fits and zlib.crc32(whole[at + 4 : end - 4]) == int.from_bytes(data[end - 4 : end], "big"):
                parts.append(whole[at:end])
                seen.add(name)
        elif name == b"eXIf" and first:
            seen.add(name)
            turn = upright(bytes(body))
            if turn:
                crc = zlib.crc32(name + turn).to_bytes(4, "big")
                parts += [len(turn).to_bytes(4, "big"), name, turn, crc]
        elif not name[0] & 0x20:  # an upper case letter: not to be ignored by who does not know it
            return None
        if name in _PNG_CRITICAL:
            seen.add(name)
        if name == b"IEND":
            return b"".join(parts) if {b"IHDR", b"IDAT"} <= seen else None
        at = end
    return None
