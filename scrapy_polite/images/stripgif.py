"""GIF without its metadata. Pure.

Sources: GIF89a sections 15 to 27; the loop of Netscape 2.0, as browsers read it.
"""

from __future__ import annotations

_IMAGE, _EXTENSION, _TRAILER = 0x2C, 0x21, 0x3B
_CONTROL, _APPLICATION = 0xF9, 0xFF
# A block of 11 bytes with the name, then one of three that begins with 1 and says how often.
_LOOPS = (b"\x0bNETSCAPE2.0\x03\x01", b"\x0bANIMEXTS1.0\x03\x01")
_MOST_BLOCKS = 2_000_000
"""64 MiB in blocks of 255 bytes, as every encoder writes them, are 263 173."""


def gif_stripped(data: bytes) -> bytes | None:
    """A GIF with its frames, colours, delays and loop."""
    if data[:6] not in (b"GIF87a", b"GIF89a") or len(data) < 13:
        return None
    whole, at = memoryview(data), 13 + _table(data[10])
    parts, frames, left = [whole[:at]], 0, _MOST_BLOCKS
    while at < len(data):
        kind = data[at]
        if kind == _TRAILER:
            parts.append(memoryview(b"\x3b"))
            return b"".join(parts) if frames else None
        if kind == _IMAGE and at + 10 < len(data):
            start, blocks = at, at + 11 + _table(data[at + 9])
        elif kind == _EXTENSION and at + 1 < len(data):
            start, blocks = at, at + 2
        else:
            return None
        at, left = _blocks_end(data, blocks, left)
        if at < 0:
            return None
        if kind == _IMAGE:
            frames += 1
            parts.append(whole[start:at])
        elif data[start + 1] == _CONTROL and data[blocks : blocks + 1] == b"\x04" and at == blocks + 6:
            parts.append(whole[start:at])
        elif data[start + 1] == _APPLICATION and data[blocks : blocks + 14] in _LOOPS and at >= blocks + 17:
            parts += [whole[start : blocks + 16], memoryview(b"\0")]
    return None


def _table(flags: int) -> int:
    """The length of a colour table in bytes, by the flags that announce it."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _blocks_end(data: bytes, at: int, left: int) -> tuple[int, int]:
    """Where the data blocks that begin here end, behind the empty one, and how many more may be read; -1 if nowhere."""
    while left > 0 and at < len(data):
        length = data[at]
        at, left = at + 1 + length, left - 1
        if not length:
            return at, left
    return -1, left
