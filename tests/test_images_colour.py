"""What colours come out, against reference values. The tolerances are in steps of 8 bits."""

from __future__ import annotations

import importlib
import zlib

import pytest
from iccprofiles import ADOBE_RGB, DISPLAY_P3, SRGB, gamma, grey_profile, matrix_profile, srgb_curve, stored_as
from pictures import FORMATS, animated, encode, flat, made, near, opened, png, png_chunk, shown
from PIL import Image

from scrapy_polite.images.convert import load

load()  # before anything else of pyvips: it sets the process up
pyvips = importlib.import_module("pyvips")  # it has stubs, but does not declare them

Colour = tuple[int, int, int]
# Neutrals, the corners of the cube, and colours as they are in photographs.
CUBE: list[Colour] = [(0, 0, 0), (255, 255, 255), (255, 0, 0), (0, 255, 0), (0, 0, 255)]
WITHIN: list[Colour] = [(128, 128, 128), (64, 64, 64), (220, 30, 30), (30, 160, 60), (30, 60, 200), (230, 210, 40)]
SKINS: list[Colour] = [(115, 82, 68), (194, 150, 130)]
BEST = {"jpeg": {"quality": 98, "subsampling": 0}, "webp": {"lossless": True}, "avif": {"quality": 98, "subsampling": "4:4:4"}}
OUT = ("jpeg", "png", "webp", "avif")
SPACES = {
    "srgb": (SRGB, srgb_curve),
    "p3": (DISPLAY_P3, srgb_curve),
    "adobe": (ADOBE_RGB, gamma(563 / 256)),
}


def as_png(data: bytes) -> bytes:
    return made(data, {"sizes": {"s": {"width": 30, "format": "png"}}}).variants[0].data


def sixteen(*values: int) -> bytes:
    return b"".join(value.to_bytes(2, "big") for value in values)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("colour", [*CUBE, *WITHIN, *SKINS])
def test_what_is_srgb_stays_what_it_is(kind: str, colour: Colour) -> None:
    data = encode(flat(colour), kind, **BEST.get(kind, {}))
    for variant in made(data, {"sizes": {out: {"width": 30, "format": out} for out in ("keep", *OUT)}}).variants:
        assert near(shown(variant.data), colour, 4), (variant.size, shown(variant.data))


@pytest.mark.parametrize("colour", [*WITHIN, *SKINS])
def test_without_loss_it_is_the_same_number(colour: Colour) -> None:
    assert shown(as_png(encode(flat(colour), "png"))) == colour
    assert shown(as_png(encode(flat(colour), "webp", lossless=True))) == colour
    assert shown(as_png(encode(flat(colour), "gif"))) == colour


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("kind", ["jpeg", "png", "webp", "avif"])
@pytest.mark.parametrize("colour", [*CUBE, *WITHIN, *SKINS])
def test_the_colours_of_a_profile_are_converted_to_srgb(space: str, kind: str, colour: Colour) -> None:
    primaries, curve = SPACES[space]
    stored = stored_as(colour, primaries, curve)
    if space != "srgb" and len(set(colour)) > 1:
        assert not near(tuple(stored), colour, 4)  # the numbers differ, the colour is the same
    data = encode(flat(tuple(stored)), kind, icc_profile=matrix_profile(primaries, curve), **BEST.get(kind, {}))
    result = as_png(data)
    # One step in the wide space is three of the weak channel in sRGB; AVIF is a step or two off before that.
    assert near(shown(result), colour, 8 if kind == "avif" else 4), shown(result)
    assert "icc_profile" not in opened(result).info


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("colour", [*WITHIN, *SKINS])
def test_sixteen_bits_with_a_profile_are_converted_from_all_of_them(space: str, colour: Colour) -> None:
    primaries, curve = SPACES[space]
    profile = png_chunk(b"iCCP", b"p\0\0" + zlib.compress(matrix_profile(primaries, curve)))
    stored = stored_as(colour, primaries, curve, 65535)
    assert near(shown(as_png(png(60, 60, 16, 2, sixteen(*stored) * 60, profile))), colour, 2)


@pytest.mark.parametrize(("linear", "srgb"), [(0, 0), (64, 137), (128, 188), (200, 229), (255, 255)])
def test_grey_with_a_profile_is_converted(linear: int, srgb: int) -> None:
    data = encode(flat((linear,), "L"), "png", icc_profile=grey_profile(gamma(1.0)))
    assert near(shown(as_png(data)), (srgb, srgb, srgb), 1)


def test_the_frames_of_an_animation_are_converted_as_well() -> None:
    profile = matrix_profile(DISPLAY_P3, srgb_curve)
    frames = [flat(tuple(stored_as(colour, DISPLAY_P3, srgb_curve))) for colour in WITHIN]
    data = animated(frames, "webp", lossless=True, icc_profile=profile)
    variant = made(data, {"sizes": {"s": {"width": 30}}, "animation": "keep"}).variants[0]
    assert variant.frames == len(WITHIN)
    for number, colour in enumerate(WITHIN):
        assert near(shown(variant.data, frame=number), colour, 4)


def test_a_profile_that_cannot_be_read_does_not_lose_the_image() -> None:
    good = matrix_profile(DISPLAY_P3, srgb_curve)
    for profile in (b"no profile" * 20, good[:200], good[:128] + b"\xff" * 200):
        data = encode(flat((220, 30, 30)), "jpeg", icc_profile=profile, quality=95)
        assert near(shown(as_png(data)), (220, 30, 30), 4)


# Inks, and how the profile of SWOP that libvips has inside shows them; none is what RGB = 255 - ink would be.
@pytest.mark.parametrize(
    ("inks", "colour"),
    [
        ((0, 0, 0, 0), (255, 255, 255)),
        ((0, 255, 255, 0), (232, 31, 42)),
        ((255, 0, 0, 0), (0, 155, 228)),
        ((0, 0, 255, 0), (255, 240, 0)),
        ((0, 0, 0, 255), (40, 35, 43)),
    ],
)
def test_inks_without_a_profile_are_those_of_the_press(inks: tuple[int, ...], colour: Colour) -> None:
    data = encode(flat(inks, "CMYK"), "jpeg", quality=98)
    for out in OUT:
        variant = made(data, {"sizes": {"s": {"width": 30, "format": out}}}).variants[0]
        assert near(shown(variant.data), colour, 5), (out, shown(variant.data))


@pytest.mark.parametrize("colour", [(255, 255, 255), (230, 210, 40), *SKINS])
def test_inks_with_a_profile_are_what_they_were_made_from(colour: Colour) -> None:
    srgb = pyvips.Image.new_from_memory(bytes(colour) * 3600, 60, 60, 3, "uchar").copy(interpretation="srgb")
    inks = srgb.icc_transform("cmyk", input_profile="srgb").jpegsave_buffer(Q=98, keep="icc")
    assert opened(inks).mode == "CMYK"
    assert near(shown(as_png(inks)), colour, 6)


@pytest.mark.parametrize("out", OUT)
def test_sixteen_bits_are_scaled_and_not_cut_off(out: str) -> None:
    cases = {
        (117, 117, 117): png(60, 60, 16, 0, sixteen(30000) * 60),
        (117, 234, 19): png(60, 60, 16, 2, sixteen(30000, 60000, 5000) * 60),
        (255, 255, 255): png(60, 60, 16, 0, sixteen(65535) * 60),
        (0, 0, 0): png(60, 60, 16, 0, sixteen(100) * 60),
    }
    for colour, data in cases.items():
        variant = made(data, {"sizes": {"s": {"width": 30, "format": out}}}).variants[0]
        assert near(shown(variant.data), colour, 2), (out, shown(variant.data))


@pytest.mark.parametrize("bits", [10, 12])
def test_avif_of_more_than_eight_bits_is_scaled(bits: int) -> None:
    colour = (30, 160, 60)
    image = pyvips.Image.new_from_memory(bytes(colour) * 4096, 64, 64, 3, "uchar").cast("ushort", shift=True)
    data = image.copy(interpretation="rgb16").heifsave_buffer(compression="av1", Q=95, bitdepth=bits, effort=1)
    assert near(shown(as_png(data)), colour, 3)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_grey_of_few_bits_is_scaled(depth: int) -> None:
    row = {1: b"\xff", 2: b"\xaa", 4: b"\xcc"}[depth] * 8 * depth
    grey = {1: 255, 2: 170, 4: 204}[depth]
    assert shown(as_png(png(64, 64, depth, 0, row))) == (grey, grey, grey)


def see_through() -> dict[str, bytes]:
    """Pictures that are wholly transparent, over a colour that must not show."""
    palette = png_chunk(b"PLTE", bytes((200, 0, 0, 0, 200, 0))) + png_chunk(b"tRNS", b"\xff\0")
    clear = flat((255, 0, 0, 0), "RGBA")
    return {
        "RGBA": encode(clear, "png"),
        "LA": encode(flat((90, 0), "LA"), "png"),
        "P": png(60, 60, 4, 3, b"\x11" * 30, palette),
        "RGBA of 16 bits": png(60, 60, 16, 6, sixteen(65535, 0, 0, 0) * 60),
        "LA of 16 bits": png(60, 60, 16, 4, sixteen(20000, 0) * 60),
        "L with one colour clear": png(60, 60, 8, 0, b"\x40" * 60, png_chunk(b"tRNS", b"\0\x40")),
        "RGB with one colour clear": png(60, 60, 8, 2, b"\x40\x50\x60" * 60, png_chunk(b"tRNS", b"\0\x40\0\x50\0\x60")),
        "WebP": encode(clear, "webp", quality=80, exact=True),
        "WebP without loss": encode(clear, "webp", lossless=True, exact=True),
        "GIF": encode(clear, "gif"),
        "AVIF": encode(clear, "avif"),
        "AVIF of grey": encode(flat((90, 0), "LA"), "avif"),
    }


@pytest.mark.parametrize("name", see_through())
@pytest.mark.parametrize(("background", "colour"), [(None, (255, 255, 255)), ("#003366", (0, 51, 102))])
def test_transparency_is_laid_on_the_background_where_the_format_has_none(
    name: str, background: str | None, colour: Colour
) -> None:
    value = {"sizes": {"s": {"width": 30, "format": "jpeg"}}, **({"background": background} if background else {})}
    found = shown(made(see_through()[name], value).variants[0].data)
    assert near(found, colour, 2), found


@pytest.mark.parametrize("name", see_through())
def test_transparency_is_kept_where_the_format_can(name: str) -> None:
    value = {"sizes": {out: {"width": 30, "format": out} for out in ("keep", "png", "webp", "avif")}}
    for variant in made(see_through()[name], value).variants:
        assert shown(variant.data, mode="RGBA")[3] == 0, variant.size


@pytest.mark.parametrize("kind", ["png", "webp", "avif"])
def test_half_transparency_is_half_of_the_background(kind: str) -> None:
    data = encode(flat((200, 100, 0, 128), "RGBA"), kind, **BEST.get(kind, {}))
    value = {"sizes": {out: {"width": 30, "format": out} for out in ("jpeg", "png", "webp", "avif")}}
    jpeg, *others = made(data, value).variants
    assert near(shown(jpeg.data), (227, 177, 127), 3), shown(jpeg.data)  # colour * 128/255 + 255 * 127/255
    for variant in others:
        assert near(shown(variant.data, mode="RGBA"), (200, 100, 0, 128), 5), (variant.size, shown(variant.data, mode="RGBA"))


@pytest.mark.parametrize("out", ["png", "webp", "avif"])
def test_half_transparency_of_sixteen_bits_is_half(out: str) -> None:
    data = png(60, 60, 16, 6, sixteen(200 * 257, 100 * 257, 0, 128 * 257) * 60)
    variant = made(data, {"sizes": {"s": {"width": 30, "format": out}}}).variants[0]
    assert near(shown(variant.data, mode="RGBA"), (200, 100, 0, 128), 3), shown(variant.data, mode="RGBA")


def test_the_edge_of_a_transparent_shape_has_no_rim_of_the_hidden_colour() -> None:
    image = Image.new("RGBA", (200, 200), (255, 0, 0, 0))  # red, but nowhere seen
    image.paste((0, 0, 255, 255), (60, 60, 140, 140))
    data = encode(image, "png")
    flattened, kept = made(data, {"sizes": {"j": {"width": 50, "format": "jpeg", "quality": 100}, "p": {"width": 50}}}).variants
    for at in range(50):
        red, green, _ = shown(flattened.data, (at, 25))
        assert abs(red - green) <= 16, (at, red, green)  # between blue and white, red is never above green
        pixel = shown(kept.data, (at, 25), mode="RGBA")
        assert pixel[0] <= 2 or pixel[3] == 0
