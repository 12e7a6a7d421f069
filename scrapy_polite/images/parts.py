"""What a file is put together from, counted before a decoder sees it. Pure.

libvips reads more with the header than the header, and a file may be made so that this takes long, or much memory. Measured
with libvips 8.18, each bound by `laden`:
the list of the frames of a WebP (100 000 of one pixel, 4.6 MB: 7.5 s, and it grows with the square) and of a GIF (a million,
15 MB: 80 MB); the segments of a JPEG (11 million of 6 bytes, 64 MB: 2.7 GB) and the chunks of a WebP (8 million: 0.5 GB); the
scans of a JPEG, each of which goes over the whole picture again (882, all of them correct, grey, 24 megapixels, 76 KB: 4 s).

Sources: ITU-T T.81 annex B.1.1 (markers) and G.1 (a scan for each coefficient and bit); PNG (third edition) section 5.3;
GIF89a sections 18 to 27; RFC 9649 section 2.7.1.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_polite.images.policy import Rejected, frames_told
from scrapy_polite.images.signature import gif_blocks, png_chunks

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_SCANS = 100
"""Encoders write 10, those that try for the smallest file some 20."""
MOST_PARTS = 10_000
"""Beside those that frames have. The metadata of a camera are some dozens of parts."""
_PARTS_OF_A_FRAME = 4

_FRAMES = {"webp": b"ANMF", "gif": b"\x2c"}
_SCANS = {"jpeg": b"\xda"}
_END = 0xD9
# What a marker may be: not 0 (a byte of a scan), 1 and RST (which stand alone), nor another 0xff (filler).
_MARKER = re.compile(rb"\xff[\x02-\xcf\xd8-\xfe]")


def laden(data: bytes, kind: str, most_frames: int) -> Rejected | None:
    """Why a file is refused that has more frames, scans or parts than an image has; None for what may be given to libvips.

    Stops counting where it is too much: takes no more time than to look through the bytes once.
    """
    frames = scans = 0
    most_parts = MOST_PARTS + _PARTS_OF_A_FRAME * most_frames
    for number, part in enumerate(_parts(data, kind)):
        frames += part == _FRAMES.get(kind)
        scans += part == _SCANS.get(kind)
        if frames > most_frames:
            return Rejected("too_many_frames", f"{frames} frames or more: {frames_told(most_frames)}")
        if scans > MOST_SCANS:
            return Rejected("unsupported", f"a {kind} with more than {MOST_SCANS} scans")
        if number >= most_parts:
            return Rejected("unsupported", f"a {kind} of more than {most_parts} parts")
    return None


def _parts(data: bytes, kind: str) -> Iterator[bytes]:
    """The names of the parts of a file, as far as libvips reads all of them with the header."""
    if kind == "gif":
        return (b"%c" % block for block in gif_blocks(data))
    if kind == "webp":
        return _webp_chunks(data)
    if kind == "jpeg":
        return _jpeg_segments(data)
    return _png_header(data) if kind == "png" else iter(())  # an AVIF is bounded by libheif itself


def _jpeg_segments(data: bytes) -> Iterator[bytes]:
    at = 2
    while (found := _MARKER.search(data, at)) is not None:
        marker, at = data[found.end() - 1], found.end()
        if marker == _END:
            return
        yield b"%c" % marker
        at += int.from_bytes(data[at : at + 2], "big")


def _webp_chunks(data: bytes) -> Iterator[bytes]:
    at, end = 12, min(len(data), 8 + int.from_bytes(data[4:8], "little"))
    while at + 8 <= end:
        yield data[at : at + 4]
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        at += 8 + length + (length & 1)


def _png_header(data: bytes) -> Iterator[bytes]:
    for name, _, _ in png_chunks(data):
        if name == b"IDAT":
            return
        yield name
