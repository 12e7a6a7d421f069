"""What a size looks like: where it is cropped, how it is padded, and that no picture is enlarged. And what else is made."""

from __future__ import annotations

import hashlib
import resource

import pytest
from pictures import (
    BLUE,
    FORMATS,
    GREEN,
    RED,
    YELLOW,
    corners,
    encode,
    flat,
    made,
    near,
    opened,
    outcome,
    quarters,
    shown,
)
from PIL import Image, ImageDraw

from scrapy_polite.images import Header, Picture, Rejected, images_from
from scrapy_polite.images.convert import convert, probe
from scrapy_polite.images.hashes import distance
from scrapy_polite.images.strip import stripped

SKIN, WALL = (224, 172, 140), (110, 120, 130)


def portrait(width: int, height: int, x: int, y: int, side: int = 80) -> Image.Image:
    """A face before a wall with a faint pattern, its middle at (x, y)."""
    image = Image.new("RGB", (width, height), WALL)
    draw = ImageDraw.Draw(image)
    for at in range(0, width + height, 24):
        draw.line((at, 0, at - height, height), fill=(116, 126, 136), width=3)
    half = side // 2
    draw.ellipse((x - half, y - half, x + half, y + half), fill=SKIN)
    for eye in (x - side // 5, x + side // 5):
        draw.ellipse((eye - 5, y - 15, eye + 5, y - 5), fill=(20, 20, 30))
    draw.arc((x - 18, y, x + 18, y + 25), 10, 170, fill=(150, 40, 40), width=4)
    return image


def skin_in(data: bytes) -> float:
    """The part of the pixels that is skin."""
    image = opened(data).convert("RGB")
    pixels = [image.getpixel((x, y)) for x in range(image.width) for y in range(image.height)]
    return sum(near(pixel, SKIN, 30) for pixel in pixels) / len(pixels)


@pytest.mark.parametrize(
    ("width", "height", "x", "y"),
    [
        (600, 200, 70, 100),
        (600, 200, 300, 100),
        (600, 200, 530, 100),
        (200, 600, 100, 70),
        (200, 600, 100, 530),
    ],
)
@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_the_attention_crop_has_the_subject_wherever_it_is(width: int, height: int, x: int, y: int, mode: str) -> None:
    data = encode(portrait(width, height, x, y).convert(mode), "png")
    whole = skin_in(data) * width * height
    size = {"width": 100, "height": 100, "fit": "cover"}
    centre, attention = made(data, {"sizes": {"c": size, "a": {**size, "crop": "attention"}}}).variants
    assert (attention.width, attention.height) == (100, 100)
    there = skin_in(attention.data) * 200 * 200  # as many pixels of the original as the result shows
    assert there > 0.9 * whole
    if (x, y) not in ((300, 100), (100, 300)):
        assert skin_in(centre.data) == 0


def test_the_attention_crop_of_grey_has_the_subject() -> None:
    data = encode(portrait(600, 200, 530, 100).convert("L"), "jpeg", quality=95)
    size = {"width": 100, "height": 100, "fit": "cover", "crop": "attention", "format": "png"}
    result = opened(made(data, {"sizes": {"a": size}}).variants[0].data).convert("L")
    assert result.getextrema()[0] < 40  # the eyes; the wall is not so dark


def test_the_attention_crop_keeps_what_is_not_cut_off_on_the_other_side() -> None:
    data = encode(quarters(300, 100), "png")
    size = {"width": 50, "height": 50, "fit": "cover", "crop": "attention"}
    variant = made(data, {"sizes": {"a": size}}).variants[0]
    above, below = shown(variant.data, (2, 2)), shown(variant.data, (2, 47))
    assert (above, below) in ((RED, BLUE), (GREEN, YELLOW))


@pytest.mark.parametrize("fit", ["inside", "cover", "fill"])
@pytest.mark.parametrize("kind", FORMATS)
def test_no_picture_is_enlarged(fit: str, kind: str) -> None:
    data = encode(quarters(60, 40), kind)
    sizes = {"s": {"width": 200, "height": 300, "fit": fit}, "box": {"width": 200, "height": 300, "fit": fit, "box": True}}
    plain, box = made(data, {"sizes": sizes}).variants
    assert opened(plain.data).size == (plain.width, plain.height) == (60, 40)
    assert opened(box.data).size == (box.width, box.height) == (200, 300)
    middle = [(75, 135), (125, 135), (75, 165), (125, 165)]  # 60x40, centred
    assert all(near(shown(box.data, at), c, 30) for at, c in zip(middle, (RED, GREEN, BLUE, YELLOW), strict=True))
    for outside in ((55, 150), (145, 150), (100, 112), (100, 188)):
        pixel = shown(box.data, outside, mode="RGBA")
        assert pixel[3] == 0 if kind != "jpeg" else near(pixel, (255, 255, 255, 255), 12), outside


@pytest.mark.parametrize(
    ("width", "height", "inner"),
    [(300, 200, (0, 17, 100, 84)), (200, 300, (17, 0, 84, 100)), (50, 20, (25, 40, 75, 60))],
)
def test_a_box_is_exactly_so_large_with_the_picture_in_its_middle(width: int, height: int, inner: tuple[int, ...]) -> None:
    size = {"width": 100, "height": 100, "box": True, "format": "png"}
    data = made(encode(flat(RED).resize((width, height)), "png"), {"sizes": {"s": size}}).variants[0].data
    result = opened(data)
    assert (result.size, result.mode) == ((100, 100), "RGBA")
    assert result.getchannel("A").getbbox() == pytest.approx(inner, abs=1)


def test_a_box_that_the_picture_fills_adds_nothing() -> None:
    size = {"width": 100, "height": 100, "box": True, "fit": "cover", "format": "png"}
    assert opened(made(encode(quarters(300, 200), "png"), {"sizes": {"s": size}}).variants[0].data).mode == "RGB"


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA", "LA", "P", "CMYK"])
@pytest.mark.parametrize("out", ["jpeg", "png", "webp", "avif"])
def test_the_background_of_a_box_is_where_the_format_has_no_transparency(mode: str, out: str) -> None:
    data = encode(quarters(300, 100).convert(mode), "jpeg" if mode == "CMYK" else "png")
    value = {"sizes": {"s": {"width": 90, "height": 90, "box": True, "format": out}}, "background": "#103070"}
    variant = made(data, value).variants[0]
    for place in ((45, 5), (45, 85), (2, 2)):
        if out == "jpeg":
            assert near(shown(variant.data, place), (16, 48, 112), 6), place
        else:
            assert shown(variant.data, place, mode="RGBA")[3] == 0
    wanted = quarters().convert("L" if "L" in mode else "RGB").convert("RGB").getpixel((10, 10))
    assert isinstance(wanted, tuple)
    assert near(shown(variant.data, (20, 38)), wanted, 40)


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("out", ["keep", "jpeg", "png", "webp", "avif"])
def test_an_image_of_one_pixel_is_an_image(kind: str, out: str) -> None:
    size = {"width": 30, "height": 30, "format": out}
    value = {"sizes": {"s": size, "c": {**size, "fit": "cover", "crop": "attention"}, "b": {**size, "box": True}}}
    variants = made(encode(flat(RED, side=1), kind), {**value, "perceptual_hash": True, "blurhash": True}).variants
    assert [(v.width, v.height) for v in variants] == [(1, 1), (1, 1), (30, 30)]


@pytest.mark.parametrize("kind", FORMATS)
def test_the_original_is_kept_to_the_byte_unless_asked_otherwise(kind: str) -> None:
    data, sizes = encode(quarters(), kind, comment=b"by somebody"), {"s": {"width": 30}}
    kept, none = made(data, {}), made(data, {"sizes": sizes, "original": "none"})
    assert (kept.original, none.original) == (data, None)
    assert kept.sha256 == none.sha256 == hashlib.sha256(data).hexdigest()
    answer, bare = convert(data, images_from({"sizes": sizes, "original": "stripped"})), stripped(data, kind)
    if bare is None:
        assert isinstance(answer, Rejected)
        assert (answer.outcome, "'original'" in answer.detail) == ("unsupported", True)
    else:
        assert isinstance(answer, Picture)
        assert answer.original == bare
        assert b"somebody" not in bare
        assert answer.sha256 == hashlib.sha256(bare).hexdigest()
        assert answer.variants == none.variants


def test_hashes_are_made_only_where_they_are_asked_for() -> None:
    data = encode(quarters(), "png")
    plain, both = made(data, {}), made(data, {"perceptual_hash": True, "blurhash": True})
    assert (plain.perceptual_hash, plain.blurhash) == (None, None)
    assert both.perceptual_hash is not None
    assert both.blurhash is not None
    assert (len(both.perceptual_hash), len(both.blurhash)) == (16, 4 + 2 * 4 * 3)


@pytest.mark.parametrize("value", [{}, {"sizes": {"s": {"width": 8}}}, {"sizes": {"s": {"width": 500}}}])
def test_the_hash_of_a_picture_is_nearly_the_same_however_it_is_stored(value: dict[str, object]) -> None:
    picture = portrait(600, 400, 200, 180, 160)
    hashes = [
        made(data, {**value, "perceptual_hash": True}).perceptual_hash or ""
        for data in (
            encode(picture, "png"),
            encode(picture, "jpeg", quality=60),
            encode(picture.resize((300, 200)), "webp"),
            encode(picture, "avif"),
            encode(picture, "gif"),
        )
    ]
    assert all(distance(hashes[0], other) <= 6 for other in hashes), hashes
    small = made(encode(picture, "png"), {"sizes": {"s": {"width": 4}}, "perceptual_hash": True, "blurhash": True})
    alone = made(encode(picture, "png"), {"perceptual_hash": True, "blurhash": True})
    assert (small.perceptual_hash, small.blurhash) == (alone.perceptual_hash, alone.blurhash)
    mirrored = made(encode(picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT), "png"), {"perceptual_hash": True})
    assert distance(hashes[0], mirrored.perceptual_hash or "") > 12


DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~"


def mean_of(blurhash: str) -> tuple[int, ...]:
    """The mean colour in a blurhash: its third to sixth characters."""
    value = 0
    for digit in blurhash[2:6]:
        value = value * 83 + DIGITS.index(digit)
    return value >> 16, value >> 8 & 255, value & 255


@pytest.mark.parametrize(
    ("data", "value", "colour"),
    [
        (encode(flat(RED), "png"), {}, RED),
        (encode(flat(BLUE), "jpeg", quality=95), {"sizes": {"s": {"width": 5}}}, BLUE),
        (encode(flat((90,), "L"), "png"), {}, (90, 90, 90)),
        (encode(flat((255, 0, 0, 0), "RGBA"), "png"), {}, (255, 255, 255)),
        (encode(flat((255, 0, 0, 0), "RGBA"), "png"), {"background": "#003366"}, (0, 51, 102)),
    ],
)
def test_hashes_are_of_what_is_seen(data: bytes, value: dict[str, object], colour: tuple[int, ...]) -> None:
    assert near(mean_of(made(data, {**value, "blurhash": True}).blurhash or ""), colour, 2)


def test_hashes_are_of_the_upright_picture() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = encode(portrait(600, 400, 200, 180, 160).transpose(Image.Transpose.ROTATE_90), "png", exif=exif)
    asked = {"perceptual_hash": True, "blurhash": True}
    upright, other = made(encode(portrait(600, 400, 200, 180, 160), "png"), asked), made(turned, asked)
    assert (upright.perceptual_hash, upright.blurhash) == (other.perceptual_hash, other.blurhash)


def test_a_side_of_one_pixel_survives_every_fit() -> None:
    data = encode(flat(RED).resize((3000, 1)), "png")
    sizes = {fit: {"width": 30, "height": 30, "fit": fit} for fit in ("inside", "cover", "fill")}
    asked = {"sizes": sizes, "perceptual_hash": True, "blurhash": True}
    assert [(v.width, v.height) for v in made(data, asked).variants] == [(30, 1), (30, 1), (30, 1)]
    assert outcome(data, {"sizes": {"a": {"width": 30, "height": 30, "fit": "cover", "crop": "attention"}}}) == "ok"


def test_corners_of_a_stretched_picture_are_its_own() -> None:
    variant = made(encode(quarters(300, 100), "png"), {"sizes": {"s": {"width": 60, "height": 90, "fit": "fill"}}}).variants[0]
    assert opened(variant.data).size == (60, 90)
    assert corners(variant.data) == [RED, GREEN, BLUE, YELLOW]


DRAWING = b"""<svg xmlns="http://www.w3.org/2000/svg" width="120" height="80">
<rect width="60" height="40" fill="rgb(220,30,30)"/><rect x="60" width="60" height="40" fill="rgb(30,160,60)"/>
<rect y="40" width="60" height="40" fill="rgb(30,60,200)"/></svg>"""


def test_a_drawing_is_made_into_sizes_where_svg_is_asked_for() -> None:
    sizes = {"keep": {"width": 60}, "jpeg": {"width": 60, "format": "jpeg"}, "huge": {"width": 900}}
    asked = {"formats": ["svg"], "sizes": sizes}
    picture = made(DRAWING, asked)
    assert picture.header == Header("svg", 120, 80, 1, streamable=True)
    assert (picture.original, picture.sha256) == (DRAWING, hashlib.sha256(DRAWING).hexdigest())
    keep, jpeg, huge = picture.variants
    assert [(v.format, v.width, v.height) for v in (keep, jpeg, huge)] == [("png", 60, 40), ("jpeg", 60, 40), ("png", 120, 80)]
    assert corners(keep.data)[:3] == [RED, GREEN, BLUE]
    assert shown(keep.data, (50, 35), mode="RGBA")[3] == 0  # nothing is drawn there
    assert near(shown(jpeg.data, (50, 35)), (255, 255, 255), 4)
    assert probe(DRAWING, images_from(asked)) == picture.header
    assert outcome(DRAWING, {"sizes": sizes}) == "unsupported"
    assert outcome(DRAWING, {**asked, "max_bytes": 100}) == "too_many_bytes"
    assert outcome(DRAWING, {**asked, "max_megapixels": 0.009}) == "too_many_pixels"
    assert outcome(DRAWING, {**asked, "min_width": 121}) == "too_small"
    assert outcome(DRAWING[:-10], asked) == "truncated"
    # What it is made of is text that anybody can read: there is no telling what in it is metadata.
    assert outcome(DRAWING, {**asked, "original": "stripped"}) == "unsupported"
    assert made(DRAWING, {**asked, "original": "none"}).original is None


def test_a_drawing_that_is_not_asked_for_is_not_drawn() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    assert outcome(DRAWING) == "unsupported"
    assert outcome(DRAWING, {"formats": ["svg"], "max_bytes": 100}) == "too_many_bytes"
    assert isinstance(probe(DRAWING, images_from(None)), Rejected)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime == before
