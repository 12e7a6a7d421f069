"""Fuzz what reads the files of images in Python: their signature and their end, and the stripping of their metadata.

python tests/fuzz/fuzz_images.py [SECONDS]
"""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent), str(TESTS / "fuzz")]

import fuzzing  # noqa: E402
from fuzzing import atheris  # noqa: E402

if atheris is not None and __name__ == "__main__":
    with atheris.instrument_imports(include=["scrapy_polite.images"]):
        import scrapy_polite.images.strip  # noqa: F401

from laden_images import XMP, encoded, exif, gif_laden, jpeg_laden, photo, png_laden, webp_laden  # noqa: E402

from scrapy_polite.images.libvips import load, quiet  # noqa: E402
from scrapy_polite.images.orientation import orientation, upright  # noqa: E402
from scrapy_polite.images.signature import FORMATS, ends_early, png_frames, recognise  # noqa: E402
from scrapy_polite.images.strip import stripped  # noqa: E402

MOST_PIXELS = 10_000
# The number of frames shows in the delays; in an AVIF it would be the number of pictures, of which one is kept.
FIELDS = {"orientation": 1, "icc-profile-data": None, "delay": None, "loop": None}
MARKS = [
    *(b"\xff\xd8", b"\xff\xd9", b"\xff\xda\0\2", b"\xff\xe1\0\x08Exif\0\0", b"\xff\xfe\0\4ab", b"\xff\xff", b"\xff\0"),
    *(b"\0\0\0\0IEND\xaeB`\x82", b"\0\0\0\4tEXta\0bc", b"eXIf", b"VP8X", b"EXIF\2\0\0\0ab", b"ANMF", b"\x21\xfe\1a\0", b"\x3b"),
    *(b"\0\0\0\x08free", b"infe", b"iloc", b"thmb", b"\0\0\0\0", b"\xff\xff\xff\xff", b"<svg", b"</svg>"),
]


def check(data: bytes) -> None:
    """All rules, for one input. Raises AssertionError for a rule that is broken, and whatever the code itself raises."""
    if not data:
        return
    kind, body = FORMATS[data[0] % len(FORMATS)], data[1:]
    assert recognise(body) in {*FORMATS, "svg", "other", None}
    assert png_frames(body) >= 1
    assert orientation(body) in {*range(1, 9), None}
    turn = upright(body)
    assert turn is None or orientation(turn) == orientation(body)
    for any_kind in (*FORMATS, "svg"):
        assert ends_early(body, any_kind) in (True, False)
    bare = stripped(body, kind)
    if bare is None:
        return
    assert recognise(bare) == kind or kind == "avif"  # whose first box may say anything
    assert stripped(bare, kind) == bare
    assert len(bare) <= len(body) * (2 if kind == "avif" else 1) + 64  # in an AVIF items may share data
    before = pixels(body)
    if before is not None:
        assert pixels(bare) == before


def pixels(data: bytes) -> object:
    """All that libvips makes of an image, none of it damaged; None of what it does not read, and of a large one."""
    vips = load()
    with quiet(vips):
        try:
            image = vips.Image.new_from_buffer(data, "[fail_on=error]", access="random")
            if image.width * image.height > MOST_PIXELS:
                return None
            sides = (image.width, image.height, image.bands, image.interpretation)
            fields = [image.get(name) if image.get_typeof(name) else usual for name, usual in FIELDS.items()]
            return sides, fields, image.pngsave_buffer(keep="none")
        except Exception:  # pyvips may raise UnicodeDecodeError as well as its own
            return None


def corpus() -> list[bytes]:
    """Each format, plain and with all that images tell, and the beginnings of both."""
    image, more = photo(size=(12, 9)), photo("RGBA", (12, 9))
    moving = {"save_all": True, "append_images": [photo(size=(12, 9), seed=1)], "duration": [40, 80]}
    made = {
        "jpeg": [jpeg_laden(encoded(image, "jpeg")), encoded(image, "jpeg", progressive=True)],
        "png": [
            png_laden(encoded(image, "png")),
            encoded(image.quantize(9), "png", transparency=1),
            encoded(image, "png", **moving),
        ],
        "webp": [webp_laden(encoded(image, "webp"), (12, 9)), encoded(more, "webp"), encoded(image, "webp", **moving)],
        "gif": [gif_laden(encoded(image, "gif")), encoded(image, "gif", loop=2, **moving)],
        "avif": [encoded(image, "avif", exif=b"Exif\0\0" + exif(), xmp=XMP), encoded(more, "avif")],
    }
    made["png"].append(encoded(image, "png", **moving))
    whole = [bytes([FORMATS.index(kind)]) + data for kind, images in made.items() for data in images]
    return whole + [data[: len(data) // 2] for data in whole]


def run_mutations(seconds: float, seed: int = 0) -> int:
    return fuzzing.run_mutations(check, corpus(), MARKS, seconds, seed)


if __name__ == "__main__":
    fuzzing.run(check, corpus(), MARKS, longest=8192)
