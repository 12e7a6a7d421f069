"""Files that end early: of every format and every way to write it, wherever they are cut, with sizes and without."""

from __future__ import annotations

import importlib

import pytest
from pictures import animated, encode, flat, noise, outcome
from PIL import Image

from scrapy_polite.images.convert import load

load()  # before anything else of pyvips: it sets the process up
pyvips = importlib.import_module("pyvips")  # it has stubs, but does not declare them


def flavours() -> dict[str, bytes]:
    picture, moving = noise(120, 90), {"duration": 100, "loop": 0}
    frames = [picture, noise(120, 90), noise(120, 90), noise(120, 90)]
    raw = pyvips.Image.new_from_memory(picture.tobytes(), 120, 90, 3, "uchar").copy(interpretation="srgb")
    plain = flat((200, 30, 30), side=90)
    return {
        "jpeg": encode(picture, "jpeg"),
        "jpeg progressive": encode(picture, "jpeg", progressive=True),
        "jpeg of grey": encode(picture.convert("L"), "jpeg"),
        "jpeg of inks": encode(picture.convert("CMYK"), "jpeg"),
        "jpeg with intervals": encode(picture, "jpeg", restart_marker_rows=1),
        "jpeg of one colour": encode(plain, "jpeg"),
        "png": encode(picture, "png"),
        "png interlaced": raw.pngsave_buffer(interlace=True),
        "png of 16 bits": raw.cast("ushort", shift=True).copy(interpretation="rgb16").pngsave_buffer(),
        "png with palette": encode(picture.quantize(64), "png"),
        "png of one colour": encode(plain, "png"),
        "png animated": animated(frames, "png", **moving),
        "webp": encode(picture, "webp"),
        "webp with transparency": encode(picture.convert("RGBA").rotate(20), "webp"),
        "webp without loss": encode(picture, "webp", lossless=True),
        "webp of one colour": encode(plain, "webp"),
        "webp animated": animated(frames, "webp", **moving),
        "webp animated without loss": animated(frames, "webp", lossless=True, **moving),
        "gif": encode(picture, "gif", interlace=0),
        "gif interlaced": encode(picture, "gif", interlace=1),
        "gif of one colour": encode(plain, "gif"),
        "gif animated": animated(frames, "gif", **moving),
        "gif animated in part": animated([frame.quantize(8) for frame in frames], "gif", disposal=2, **moving),
        "avif": encode(picture, "avif", speed=10),
        "avif with transparency": encode(picture.convert("RGBA").rotate(20), "avif", speed=10),
        "avif of one colour": encode(plain, "avif", speed=10),
    }


FLAVOURS = flavours()
SIZES = {"s": {"width": 40, "height": 40}, "j": {"width": 20, "height": 20, "format": "jpeg"}}


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize("animation", ["first", "keep"])
@pytest.mark.parametrize("sizes", [{}, SIZES], ids=["original only", "with sizes"])
def test_an_image_that_ends_early_is_truncated_wherever_it_ends(flavour: str, animation: str, sizes: dict[str, object]) -> None:
    data = FLAVOURS[flavour]
    value = {"sizes": sizes, "animation": animation, "max_frames": 10}
    assert outcome(data, value) == "ok"
    length = len(data)
    ends = {20, *(length * part // 100 for part in (10, 25, 50, 75, 90, 99)), *(length - less for less in (50, 10, 5, 2, 1))}
    for end in sorted(end for end in ends if end >= 20):
        assert outcome(data[:end], value) == "truncated", (end, length)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_what_follows_the_end_does_no_harm(flavour: str) -> None:
    for rest in (b"\n<!-- served in 3 ms -->\n", bytes(200_000)):
        assert outcome(FLAVOURS[flavour] + rest, {"sizes": SIZES, "max_frames": 10}) == "ok"


def test_a_gif_with_a_semicolon_in_its_data_has_not_ended_there() -> None:
    data = encode(Image.effect_noise((60, 60), 80), "gif")
    assert b"\x3b" in data[800:-200]
    assert outcome(data[:-100], {"sizes": SIZES}) == "truncated"


def test_half_a_picture_is_not_made_into_a_good_one_by_a_thumbnail() -> None:
    # `thumbnail_buffer` takes no notice of its argument `fail_on` (libvips #5195), only of the loader's own option.
    half = FLAVOURS["jpeg"][: len(FLAVOURS["jpeg"]) // 2]
    assert pyvips.Image.thumbnail_buffer(half, 40, fail_on="truncated").copy_memory().width == 40
    with pytest.raises(pyvips.Error):
        pyvips.Image.thumbnail_buffer(half, 40, option_string="[fail_on=truncated]").copy_memory()
