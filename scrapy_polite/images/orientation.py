"""EXIF, reduced to which way up a picture is shown. Pure.

Source: EXIF 2.32 (CIPA DC-008) section 4.6.2 and TIFF 6.0 section 2: header, first directory, 12 bytes an entry.
"""

from __future__ import annotations

_TAG = 0x0112
_SHORT, _LONG = 3, 4


def upright(exif: bytes) -> bytes | None:
    """The same EXIF (beginning with its TIFF header) with the orientation and nothing else; None where there is no need.

    That is where nothing can be read, or where the picture is shown as it is stored. 26 bytes.
    """
    turn = orientation(exif)
    if turn is None or turn == 1:
        return None
    entry = _TAG.to_bytes(2, "big") + _SHORT.to_bytes(2, "big") + (1).to_bytes(4, "big") + turn.to_bytes(2, "big") + b"\0\0"
    return b"MM\x00*" + (8).to_bytes(4, "big") + (1).to_bytes(2, "big") + entry + bytes(4)


def orientation(exif: bytes) -> int | None:
    """The tag Orientation of the first directory, 1 to 8; None where there is none that is valid."""
    order = {b"II*\0": "little", b"MM\0*": "big"}.get(exif[:4])
    if order is None:
        return None

    def number(at: int, length: int) -> int:
        return int.from_bytes(exif[at : at + length], "little" if order == "little" else "big")

    start = number(4, 4)
    if start + 2 > len(exif):
        return None
    for at in range(start + 2, min(start + 2 + 12 * number(start, 2), len(exif) - 11), 12):
        if number(at, 2) == _TAG:
            length = {_SHORT: 2, _LONG: 4}.get(number(at + 2, 2))
            value = number(at + 8, length) if length and number(at + 4, 4) == 1 else 0
            return value if 1 <= value <= 8 else None
    return None
