"""The boxes that AVIF is made of: read without trust, and written. Pure.

Source: ISO/IEC 14496-12:2022 section 4.2.
"""

from __future__ import annotations

_MOST_BOXES = 100_000
"""In one container: a picture has some dozens, one of many tiles a few thousand."""


class Broken(Exception):  # noqa: N818 - an answer about the data, no error of ours
    """The data are not what they say, or ask for what is not done here."""


class Reader:
    """Reads on from the start of some bytes; raises Broken where they end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, length: int) -> bytes:
        if length > self.left:
            raise Broken
        self._at += length
        return self._data[self._at - length : self._at]

    def number(self, length: int) -> int:
        """A whole number of so many bytes; 0 of none."""
        return int.from_bytes(self.take(length), "big")

    def head(self) -> tuple[int, int]:
        """Version and flags, with which a full box begins."""
        return self.number(1), self.number(3)


def spans(data: bytes, cut: bool = False) -> list[tuple[bytes, int, int]]:
    """Name, start and end of the content of the boxes that fill these bytes. Raises Broken where they do not.

    cut: the last one may be longer than what is left of the data; it is left out.
    """
    found: list[tuple[bytes, int, int]] = []
    at = 0
    while at < len(data):
        size, name, start = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8], at + 8
        if size == 1:
            size, start = int.from_bytes(data[at + 8 : at + 16], "big"), at + 16
        end = at + size if size else len(data)  # 0: up to the end
        if cut and end > len(data):
            break
        if start > end or end > len(data) or len(found) >= _MOST_BOXES:
            raise Broken
        found.append((name, start, end))
        at = end
    return found


def children(data: bytes) -> list[tuple[bytes, bytes]]:
    """Name and content of the boxes that fill these bytes. Raises Broken where they do not."""
    return [(name, data[start:end]) for name, start, end in spans(data)]


def box(name: bytes, *content: bytes) -> bytes:
    """A box with this content."""
    body = b"".join(content)
    return (len(body) + 8).to_bytes(4, "big") + name + body


def full(name: bytes, version: int, flags: int, *content: bytes) -> bytes:
    """A box with a version and flags before its content."""
    return box(name, version.to_bytes(1, "big") + flags.to_bytes(3, "big"), *content)
