"""AVIFs of a few hundred bytes that are put together from one picture: tiles of a grid, or what is cut out of it."""

from __future__ import annotations

from pictures import encode
from PIL import Image

from scrapy_polite.images.avifmeta import read
from scrapy_polite.images.boxes import box, children, full


def tiled(tile: int, shown: int, across: int) -> bytes:
    """A grid of across x across times the same square tile, of which a square is shown. Sides in pixels."""
    grid = bytes([0, 0, across - 1, across - 1]) + _numbers(2, shown, shown)
    reference = full(b"iref", 0, 0, box(b"dimg", _numbers(2, 2, across**2, *[1] * across**2)))
    return _avif(tile, [_sides(shown)], 2, grid, reference)


def cut_out(side: int, shown: int) -> bytes:
    """A square picture of which a square in its middle is shown (ISO/IEC 14496-12, section 12.1.4). Sides in pixels."""
    return _avif(side, [box(b"clap", _numbers(4, shown, 1, shown, 1, 0, 1, 0, 1))], 1)


def _avif(side: int, properties: list[bytes], primary: int, grid: bytes = b"", reference: bytes = b"") -> bytes:
    made = encode(Image.new("RGB", (side, side)), "avif", speed=10)
    meta = read(dict(children(made))[b"meta"])
    coded = b"".join(made[start:end] for start, end in meta.places[meta.primary][1])
    av1 = dict(meta.properties)
    owned = [box(b"av1C", av1[b"av1C"]), box(b"pixi", av1[b"pixi"]), _sides(side), *properties]
    pieces = [coded, grid][:primary]
    items = [full(b"infe", 2, int(n != primary), _numbers(2, n, 0), kind, b"\0") for n, kind in ((1, b"av01"), (2, b"grid"))]
    # The grid has its own sides; what cuts the picture is the picture's, and has to be understood.
    names = [b"\0\1\3\x81\2\3", b"\0\2\2\4\2"] if grid else [b"\0\1\4\x81\2\3\x84"]

    def container(first: int) -> bytes:
        places, at = [], first
        for number, piece in enumerate(pieces, 1):
            places.append(_numbers(2, number, 0, 1) + _numbers(4, at, len(piece)))
            at += len(piece)
        parts = (
            full(b"hdlr", 0, 0, bytes(4), b"pict", bytes(13)),
            full(b"pitm", 0, 0, _numbers(2, primary)),
            full(b"iinf", 0, 0, _numbers(2, primary), *items[:primary]),
            reference,
            box(b"iprp", box(b"ipco", *owned), full(b"ipma", 0, 0, _numbers(4, len(names)), *names)),
            full(b"iloc", 0, 0, b"\x44\0", _numbers(2, primary), *places),
        )
        return full(b"meta", 0, 0, *parts)

    head = box(b"ftyp", b"avif", bytes(4), b"avifmif1miaf")
    return head + container(len(head) + len(container(0)) + 8) + box(b"mdat", *pieces)


def _sides(side: int) -> bytes:
    return full(b"ispe", 0, 0, _numbers(4, side, side))


def _numbers(length: int, *numbers: int) -> bytes:
    return b"".join(number.to_bytes(length, "big") for number in numbers)
