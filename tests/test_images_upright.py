from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pictures import BLUE, GREEN, RED, YELLOW, animated, corners, encode, made, near, opened, quarters
from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Sequence

ORIENTATION = 0x0112  # EXIF 2.32, section 4.6.5
# How a picture must be stored to be upright when it is shown by its orientation.
STORED = {
    1: None,
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}
UPRIGHT = [RED, GREEN, BLUE, YELLOW]


def turned(image: Image.Image, orientation: int) -> Image.Image:
    turn = STORED[orientation]
    return image.transpose(turn) if turn is not None else image


def tag(orientation: int) -> Image.Exif:
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    return exif


def upright(data: bytes, frame: int = 0, colours: Sequence[tuple[int, ...]] = UPRIGHT) -> bool:
    return all(near(found, wanted, 25) for found, wanted in zip(corners(data, frame), colours, strict=True))


# Pillow writes the orientation of an AVIF as its own `irot` and `imir` (ISO/IEC 23008-12 section 6.5.10 and 6.5.12), that
# of the others as EXIF: APP1, the chunk eXIf, the chunk EXIF.
@pytest.mark.parametrize("kind", ["jpeg", "png", "webp", "avif"])
@pytest.mark.parametrize("orientation", STORED)
def test_every_size_is_upright_and_has_no_orientation_left(kind: str, orientation: int) -> None:
    stored = turned(quarters(120, 80), orientation)
    data = encode(stored, kind, exif=tag(orientation), **({"quality": 95} if kind != "png" else {}))
    assert orientation == 1 or kind != "avif" or b"irot" in data or b"imir" in data
    sizes = {
        "inside": {"width": 60, "height": 60},
        "cover": {"width": 40, "height": 40, "fit": "cover"},
        "attention": {"width": 60, "height": 40, "fit": "cover", "crop": "attention", "format": "jpeg"},
        "fill": {"width": 30, "height": 60, "fit": "fill", "format": "webp"},
        "avif": {"width": 60, "format": "avif"},
        "png": {"width": 60, "format": "png"},
    }
    picture = made(data, {"sizes": sizes})
    assert (picture.header.width, picture.header.height) == (120, 80)
    for variant in picture.variants:
        assert upright(variant.data), variant.size
        result = opened(variant.data)
        assert result.size == (variant.width, variant.height)
        assert result.getexif().get(ORIENTATION) is None
        assert b"irot" not in variant.data
        assert b"imir" not in variant.data


@pytest.mark.parametrize("orientation", STORED)
@pytest.mark.parametrize(("width", "height"), [(160, 80), (80, 160)])
def test_the_frames_of_an_animation_are_upright(orientation: int, width: int, height: int) -> None:
    # Twice as high as wide: turned on its side, one frame is as high as two that are stored.
    frames = [turned(quarters(width, height), orientation)]
    frames.append(frames[0].point(lambda value: value // 2))
    data = animated(frames, "webp", lossless=True, exif=tag(orientation), duration=100)
    sizes = {
        "whole": {"width": width, "height": height},
        "small": {"width": width // 2},
        "box": {"width": 90, "height": 90, "box": True},
        "still": {"width": width, "format": "png"},
    }
    picture = made(data, {"sizes": sizes, "animation": "keep"})
    assert (picture.header.width, picture.header.height) == (width, height)
    whole, small, box, still = picture.variants
    assert [v.frames for v in picture.variants] == [2, 2, 2, 1]
    sides = [(width, height), (width // 2, height // 2), (90, 90), (width, height)]
    assert [opened(v.data).size for v in picture.variants] == sides
    assert opened(box.data).size == (90, 90)
    for variant in (whole, small, still):
        assert upright(variant.data)
    for variant in (whole, small):
        assert upright(variant.data, 1, [tuple(value // 2 for value in colour) for colour in UPRIGHT])


def test_an_orientation_that_is_none_is_ignored() -> None:
    for orientation in (0, 9, 65535):
        data = encode(quarters(120, 80), "jpeg", exif=tag(orientation), quality=95)
        picture = made(data, {"sizes": {"s": {"width": 60}}})
        assert (picture.header.width, picture.header.height) == (120, 80)
        assert upright(picture.variants[0].data)


def test_the_orientation_in_the_exif_of_an_avif_counts_for_nothing() -> None:
    # Only the image's properties say how it is shown: ISO/IEC 23008-12, annex A.2.1.
    exif = Image.Exif()
    exif[ORIENTATION + 1] = 6  # Pillow would write the right tag as a property
    data = encode(quarters(120, 80), "avif", exif=exif, quality=95)
    changed = data.replace(b"\x13\x01\x03\0", b"\x12\x01\x03\0").replace(b"\x01\x13\0\x03", b"\x01\x12\0\x03")
    assert changed != data
    picture = made(changed, {"sizes": {"s": {"width": 60, "format": "png"}}})
    assert (picture.header.width, picture.header.height) == (120, 80)
    assert upright(picture.variants[0].data)
