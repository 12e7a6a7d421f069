from __future__ import annotations

import io
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageEnhance, ImageFilter

from scrapy_polite.images.hashes import ALIKE, BLUR_SIDE, HASH_SIDE, LONGEST_BLUR_SIDE, blurhash, distance, perceptual_hash

# The picture that blurhash.net tests its encoder with (MarkusPalcer/blurhash.net, Blurhash.Core.Test): 20x20 pixels, column
# by column, each of them red, green and blue, on or off, as the bits of an octal digit; and its hash.
PIXELS = (
    "0105530776615465321641130421340721552071573552015361055175716100336362442133237666254120541212044367"
    "3322116334723675123163135144045444431734777467010324176133517604724230015017032466571412360301546132"
    "7110522020236433100133755001762054714426724570105727140447053261454642323307657264536657453654744421"
    "7676533356177741566345755327435025273012172450034447447451546415750636017314171022150373555236541513"
)
COLUMNS = [PIXELS[at : at + 20] for at in range(0, 400, 20)]
PUBLISHED = (
    "|LLqO$PTrh^j9g=i$9+lP8?ZM|M{RYRo,ZW,JDR=tTo~ENVZeGrwJ~EUEf}]RWMxVyil+RS[cDv}YWw0vhTIOnq{K5gKbZ.PTcv-#SO:OrWBKia2X_voXMM-"
    "WGw1rGRixsLuoHOTRiIoVft7E9KGs}#prDKck#r?bWRoV$"
)


def ramp(width: int, height: int) -> bytes:
    return bytes(v for y in range(height) for x in range(width) for v in (255 * x // width, 255 * y // height, 128))


def test_the_published_picture_has_its_published_blurhash() -> None:
    rgb = bytes(255 * (int(column[y]) >> bit & 1) for y in range(20) for column in COLUMNS for bit in (2, 1, 0))
    assert blurhash(rgb, 20, 20, (9, 9)) == PUBLISHED


@pytest.mark.parametrize(
    ("width", "height", "components", "wanted"),
    [
        (32, 32, (4, 3), "LxG[[y2swxX8l}WDjte;gJfjfQfj"),
        (30, 20, (4, 3), "LwG[.k2swxX8qRWDjte;gJfjfQfj"),
        (1, 1, (4, 3), "L;001jfZfZfZfZfZfZfZfZfZfZfZ"),
        (64, 16, (1, 1), "00HB-s"),
        (64, 16, (5, 2), "DzHB-s2Y$5Sgo1qkWWjtazfQ"),
        (128, 3, (1, 9), "=~HKFq+keE-:eE+k~D+keE"),
    ],
)
def test_a_ramp_of_colours_has_the_blurhash_that_its_inventors_encoder_answers(
    width: int, height: int, components: tuple[int, int], wanted: str
) -> None:
    """Answered by blurhash-python 1.2.2, the C code of woltapp/blurhash."""
    assert blurhash(ramp(width, height), width, height, components) == wanted


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 9), st.integers(1, 9), st.randoms(use_true_random=False))
def test_a_blurhash_says_its_components_and_its_mean_colour(
    width: int, height: int, across: int, down: int, chance: random.Random
) -> None:
    rgb = chance.randbytes(width * height * 3)
    text = blurhash(rgb, width, height, (across, down))
    assert re.fullmatch(r"[0-9A-Za-z#$%*+,\-.:;=?@\[\]^_{|}~]{6,}", text)
    assert len(text) == 4 + 2 * across * down
    assert text[2:6] == blurhash(rgb, width, height, (1, 1))[2:]


@pytest.mark.parametrize("colour", [(0, 0, 0), (255, 255, 255), (1, 2, 3), (200, 100, 9)])
def test_an_even_area_is_its_colour_exactly(colour: tuple[int, int, int]) -> None:
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~"
    value = 0
    for digit in blurhash(bytes(colour) * 64, 8, 8, (1, 1))[2:]:
        value = value * 83 + digits.index(digit)
    assert tuple(value.to_bytes(3, "big")) == colour


@pytest.mark.parametrize(
    ("rgb", "width", "height", "components", "said"),
    [
        (b"", 0, 5, (4, 3), "0x5"),
        (bytes(3), 1, -1, (4, 3), "1x-1"),
        (bytes(129 * 3), 129, 1, (4, 3), "129x1"),
        (bytes(11), 2, 2, (4, 3), "11 bytes"),
        (bytes(12), 2, 2, (0, 3), r"\(0, 3\)"),
        (bytes(12), 2, 2, (4, 10), r"\(4, 10\)"),
    ],
)
def test_pixels_that_cannot_be_are_refused(rgb: bytes, width: int, height: int, components: tuple[int, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        blurhash(rgb, width, height, components)


def test_the_sides_that_are_recommended_are_allowed() -> None:
    assert BLUR_SIDE <= LONGEST_BLUR_SIDE
    assert len(blurhash(ramp(BLUR_SIDE, BLUR_SIDE), BLUR_SIDE, BLUR_SIDE)) == 28


@pytest.mark.parametrize(
    ("pixels", "wanted"),
    [
        (lambda x, y: ((x - 9) ** 2 + (y - 20) ** 2) // 5 % 256, "aaf880fc80fc80ff"),
        (lambda x, y: 255 * ((x // 5 + y // 7) % 2), "a1a9010101fefeff"),
        (lambda x, y: 8 * (x ^ y), "8011004400100040"),
        (lambda x, y: 77, "8000000000000000"),
    ],
)
def test_the_perceptual_hash_is_the_one_of_imagehash(pixels: object, wanted: str) -> None:
    """Answered by ImageHash 4.3.2, `phash` of the same 32x32 pixels."""
    assert callable(pixels)
    assert perceptual_hash(bytes(pixels(x, y) for y in range(32) for x in range(32))) == wanted


def test_black_has_a_hash_too() -> None:
    assert perceptual_hash(bytes(HASH_SIDE * HASH_SIDE)) == "0000000000000000"


@pytest.mark.parametrize("length", [0, 1023, 1025, 3072])
def test_a_hash_is_of_32_times_32_pixels(length: int) -> None:
    with pytest.raises(ValueError, match=f"{length} bytes"):
        perceptual_hash(bytes(length))


def picture(seed: int) -> Image.Image:
    """Blots of all sizes on a ground, as a photograph has them."""
    chance = random.Random(seed)
    image = Image.new("RGB", (300, 200), tuple(chance.choices(range(256), k=3)))
    for _ in range(25):
        blot = Image.new("RGB", (chance.randint(10, 150), chance.randint(10, 120)), tuple(chance.choices(range(256), k=3)))
        image.paste(blot, (chance.randint(-40, 280), chance.randint(-40, 180)))
    return image.filter(ImageFilter.GaussianBlur(2))


def hashed(image: Image.Image) -> str:
    return perceptual_hash(image.convert("L").resize((HASH_SIDE, HASH_SIDE), Image.Resampling.LANCZOS).tobytes())


def as_jpeg(image: Image.Image) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, "jpeg", quality=30)
    return Image.open(buffer)


@pytest.mark.parametrize("seed", range(12))
def test_what_is_done_to_pictures_on_the_web_leaves_them_alike(seed: int) -> None:
    image = picture(seed)
    for changed in (
        image.resize((97, 65)),
        image.resize((150, 150)),
        as_jpeg(image),
        ImageEnhance.Contrast(image).enhance(0.7),
        ImageEnhance.Brightness(image).enhance(1.15),
        ImageEnhance.Color(image).enhance(0.3),
        image.filter(ImageFilter.UnsharpMask()),
    ):
        assert distance(hashed(image), hashed(changed)) <= ALIKE


def test_other_pictures_are_not_alike() -> None:
    hashes = [hashed(picture(seed)) for seed in range(40)]
    apart = [distance(a, b) for at, a in enumerate(hashes) for b in hashes[:at]]
    assert min(apart) > ALIKE
    assert 28 < sum(apart) / len(apart) < 36
    image = picture(0)
    assert distance(hashed(image), hashed(image.transpose(Image.Transpose.FLIP_LEFT_RIGHT))) > ALIKE


def test_the_distance_is_in_bits() -> None:
    assert distance("0000000000000000", "ffffffffffffffff") == 64
    assert distance("8000000000000001", "8000000000000000") == 1
    assert distance("00000000000000ab", "00000000000000AB") == 0
    for wrong in ("", "0", "0" * 15, "0" * 17, "0x00000000000000", "000000000000000g", "-000000000000001", " 00000000000000 "):
        with pytest.raises(ValueError, match="16 hex digits"):
            distance("0" * 16, wrong)
        with pytest.raises(ValueError, match="16 hex digits"):
            distance(wrong, "0" * 16)
