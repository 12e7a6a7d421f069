"""What it takes to decode an AVIF: a picture may be put together from others, and from the same one many times. Pure.

libheif took 11 s and 0.3 GB for a grid of 64 times one tile of 4000x4000 pixels, shown in 4000x4000 (985 bytes), and 0.9 GB for
one picture of 8000x8000 that is cut to 10x10 by its property `clap` (1 KB): of both the header tells what is shown.

Sources: HEIF ISO/IEC 23008-12:2022 sections 6.4 (auxiliary pictures), 6.5.3 (`ispe`) and 6.6 (derived pictures).
"""

from __future__ import annotations

from scrapy_polite.images.avifmeta import Meta, read_shape
from scrapy_polite.images.boxes import Broken, spans
from scrapy_polite.images.policy import ImagesConfig, Rejected

AT_MOST = 5
"""Times the pixels that are allowed: the picture, its tiles, both for its transparency, and what juts out of the last tiles."""
_DEEPEST = 8
"""Pictures put together from such that are put together. Encoders need two: a grid of tiles."""


def tiled(data: bytes, config: ImagesConfig) -> Rejected | None:
    """Why an AVIF is refused that makes a decoder decode far more than it shows; None for what may be decoded."""
    each = min(config.max_pixels, config.max_pixels_unstreamable)
    try:
        metas = [data[start:end] for name, start, end in spans(data, cut=True) if name == b"meta"]
        if len(metas) != 1:
            raise Broken
        pixels = _Pixels(read_shape(metas[0]), each)
        decoded = pixels.of(pixels.meta.primary)
    except Broken:
        return Rejected("unsupported", "an AVIF whose parts cannot be counted")
    if decoded > AT_MOST * each:
        return Rejected("too_many_pixels", f"a part of an avif has more than {each} pixels, or all have {AT_MOST} times that")
    return None


class _Pixels:
    """Counts the pixels that are decoded for an item, with all that it is put together from, as often as it is named."""

    def __init__(self, meta: Meta, each: int) -> None:
        self.meta = meta
        self._each, self._enough = each, AT_MOST * each
        self._known: dict[int, int] = {}
        self._beside: dict[int, list[int]] = {}
        for name, source, targets in meta.references:
            if name == b"dimg":
                self._beside.setdefault(source, []).extend(targets)
            elif name == b"auxl":
                for target in targets:
                    self._beside.setdefault(target, []).append(source)

    def of(self, item: int, depth: int = 0) -> int:
        """At most a little more than enough. Raises Broken where the parts of an item do not end, or do not say their size."""
        if depth > _DEEPEST:
            raise Broken
        if item not in self._known:
            parts = self._beside.get(item, [])
            total = self._area(item)
            for part in parts:
                total += self.of(part, depth + 1)
                if total > self._enough:
                    break
            self._known[item] = total
        return self._known[item]

    def _area(self, item: int) -> int:
        named = (self.meta.properties[at - 1] for at, _ in self.meta.owned.get(item, ()) if 0 < at <= len(self.meta.properties))
        sides = ((body[4:8], body[8:12]) for name, body in named if name == b"ispe")
        areas = [int.from_bytes(width, "big") * int.from_bytes(height, "big") for width, height in sides]
        if not areas:
            raise Broken
        # One that is too large is too much alone: what it is cut to (`clap`, the edge of a grid) is cut when it was decoded.
        return max(areas) if max(areas) <= self._each else self._enough + 1
