from __future__ import annotations

import hashlib
import importlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iccprofiles import SRGB, matrix_profile, srgb_curve
from pictures import BLUE, FORMATS, GREEN, RED, YELLOW, animated, encode, made, near, opened, outcome, png, quarters
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from scrapy_polite.images import OUTCOMES, Header, images_from
from scrapy_polite.images.convert import convert, load, probe

load()  # before anything else of pyvips: it sets the process up
pyvips = importlib.import_module("pyvips")  # it has stubs, but does not declare them

OUT = ("jpeg", "png", "webp", "avif")
PROFILE = matrix_profile(SRGB, srgb_curve)
SMALL = {"sizes": {"small": {"width": 40, "height": 40}}}


@pytest.mark.parametrize("kind", ["jpeg", "png", "webp", "gif", "avif"])
def test_each_format_is_made_into_every_size_and_described(kind: str) -> None:
    data = encode(quarters(300, 200), kind, **({"quality": 90} if kind in ("jpeg", "webp", "avif") else {}))
    sizes = {
        "kept": {"width": 150, "height": 150},
        "square": {"width": 60, "height": 60, "fit": "cover", "format": "jpeg"},
        "web": {"width": 100, "format": "webp"},
        "next": {"height": 50, "format": "avif"},
        "lossless": {"width": 90, "height": 90, "fit": "fill", "format": "png"},
        "huge": {"width": 9000, "height": 9000},
    }
    picture = made(data, {"sizes": sizes})
    assert picture.header == Header(kind, 300, 200, 1, streamable=kind != "avif")
    assert picture.sha256 == hashlib.sha256(data).hexdigest()
    assert [(v.size, v.width, v.height, v.format) for v in picture.variants] == [
        ("kept", 150, 100, kind),
        ("square", 60, 60, "jpeg"),
        ("web", 100, 67, "webp"),
        ("next", 75, 50, "avif"),
        ("lossless", 90, 90, "png"),
        ("huge", 300, 200, kind),
    ]
    for variant in picture.variants:
        image = opened(variant.data)
        assert (image.size, image.format) == ((variant.width, variant.height), variant.format.upper())
        corners = image.convert("RGB")
        right, bottom = variant.width - 4, variant.height - 4
        for place, colour in [((3, 3), RED), ((right, 3), GREEN), ((3, bottom), BLUE), ((right, bottom), YELLOW)]:
            assert near(corners.getpixel(place), colour, 25), (variant.size, place)


@pytest.mark.parametrize("kind", FORMATS)
def test_no_size_has_anything_of_the_metadata(kind: str) -> None:
    exif = Image.Exif()
    exif[0x010F] = "Camera of Somebody"
    exif.get_ifd(0x8825)[2] = (51.0, 30.0, 0.0)
    notes = PngInfo()
    notes.add_text("Author", "Somebody")
    notes.add_itxt("Comment", "Somebody", zip=False)
    told = {"exif": exif, "comment": b"of Somebody", "xmp": b"<x:xmpmeta>Somebody</x:xmpmeta>"}
    data = encode(quarters(), kind, icc_profile=PROFILE, **told, **({"pnginfo": notes} if kind == "png" else {}))
    assert b"Somebody" in data
    for variant in made(data, {"sizes": {out: {"width": 50, "format": out} for out in ("keep", *OUT)}}).variants:
        for word in (b"Somebody", b"xmpmeta", b"Exif\0\0", b"eXIf", b"EXIF", b"acsp"):
            assert word not in variant.data, (variant.size, word)
        image = opened(variant.data)
        assert not dict(image.getexif())
        assert not {"icc_profile", "comment", "xmp", "exif"} & set(image.info)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not_an_image"),
        (b"<!doctype html><title>404</title>", "not_an_image"),
        (b"\xff\xd8\xff" + bytes(500) + b"\xff\xd9", "not_an_image"),
        (
            b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><image href='file:///etc/passwd'/></svg>",
            "unsupported",
        ),
        (encode(quarters(), "tiff"), "unsupported"),
        (encode(quarters(), "bmp"), "unsupported"),
        (b"%PDF-1.7\n", "unsupported"),
    ],
)
def test_what_is_no_image_or_none_of_ours_is_told_apart(data: bytes, said: str) -> None:
    assert outcome(data, SMALL) == said


def test_a_small_file_with_a_giant_canvas_is_refused_by_its_header_without_memory() -> None:
    code = """
import resource, sys
from scrapy_polite.images import images_from
from scrapy_polite.images.convert import convert
config = images_from({"sizes": {"s": {"width": 320, "height": 240}}})
convert(open(sys.argv[1], "rb").read(), config)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
said = convert(sys.stdin.buffer.read(), config)
print(said.outcome, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    bomb = png(40_000, 40_000, 1, 0, bytes(5000))
    assert len(bomb) < 1_000_000
    run = subprocess.run([sys.executable, "-c", code, "/dev/null"], input=bomb, capture_output=True, check=True)
    said, kilobytes = run.stdout.split()
    assert said == b"too_many_pixels"
    assert int(kilobytes) < 60_000


def test_what_must_be_decoded_as_a_whole_has_the_lower_limit() -> None:
    flat = Image.new("L", (2000, 1500), 90)
    value = {"max_megapixels": 4, "max_megapixels_unstreamable": 2}
    assert outcome(encode(flat, "jpeg"), value) == "ok"
    assert outcome(encode(flat, "png"), value) == "ok"
    assert outcome(encode(flat, "jpeg", progressive=True), value) == "too_many_pixels"
    assert outcome(encode(flat.convert("RGB"), "avif", speed=10), value) == "too_many_pixels"
    assert outcome(pyvips.Image.black(2000, 1500).pngsave_buffer(interlace=True), value) == "too_many_pixels"


def test_a_size_that_cannot_be_written_is_encode_failed() -> None:
    # WebP holds 16383 pixels a side, the PNG has one more.
    tall = png(1, 16_384, 1, 0, b"\0")
    assert outcome(tall, {"sizes": {"s": {"width": 320, "format": "webp"}}}) == "encode_failed"


def test_only_the_five_loaders_from_memory_are_left_in_the_process() -> None:
    for data in (encode(quarters(), "tiff"), b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>"):
        with pytest.raises(pyvips.Error):
            pyvips.Image.new_from_buffer(data, "")
    with pytest.raises(pyvips.Error):
        pyvips.Image.new_from_file(__file__)
    assert pyvips.cache_get_max() == 0
    assert pyvips.concurrency_get() == 1


def test_probing_decodes_nothing() -> None:
    data = encode(Image.effect_noise((300, 200), 80), "png")
    assert probe(data[: len(data) // 2], images_from(None)) == Header("png", 300, 200, 1, streamable=True)


def test_many_threads_make_what_one_makes() -> None:
    datas = [encode(quarters(200 + 10 * n, 150), ("jpeg", "png", "webp")[n % 3]) for n in range(24)]
    value = images_from({"sizes": {"s": {"width": 64, "height": 64, "format": "webp"}}})
    alone = [convert(data, value) for data in datas]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda data: convert(data, value), datas)) == alone


SMALLER = quarters(40, 30)
MOVING = [SMALLER, SMALLER.rotate(90), SMALLER.rotate(180)]
SEEDS = [
    *(encode(SMALLER, kind) for kind in FORMATS),
    *(animated(MOVING, kind, duration=50) for kind in ("gif", "webp")),
    encode(SMALLER, "jpeg", progressive=True),
    encode(SMALLER.convert("RGBA").rotate(20), "png"),
]
EVERYTHING = {
    "sizes": {
        "crop": {"width": 20, "height": 9, "fit": "cover", "crop": "attention"},
        "box": {"width": 50, "height": 50, "box": True},
        "web": {"width": 8, "format": "webp"},
    },
    "animation": "keep",
    "original": "stripped",
    "perceptual_hash": True,
    "blurhash": True,
}


@given(st.sampled_from(SEEDS), st.data())
@settings(deadline=None, max_examples=150)
def test_damage_anywhere_ends_in_a_known_outcome(seed: bytes, data: st.DataObject) -> None:
    body = bytearray(seed)
    for at in data.draw(st.lists(st.integers(0, len(seed) - 1), max_size=8)):
        body[at] = data.draw(st.integers(0, 255))
    said = outcome(bytes(body), EVERYTHING)
    assert said in OUTCOMES
    assert said != "encode_failed"  # which would be a mistake of ours
