from __future__ import annotations

import hashlib
import importlib
import io
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from scrapy_polite.images import OUTCOMES, Header, Picture, Rejected, images_from
from scrapy_polite.images.convert import convert, load, probe

load()  # before anything else of pyvips: it sets the process up
pyvips = importlib.import_module("pyvips")  # it has stubs, but does not declare them

RED, GREEN, BLUE, YELLOW = (220, 30, 30), (30, 160, 60), (30, 60, 200), (230, 210, 40)
SMALL = {"sizes": {"small": {"width": 40, "height": 40}}}


def quarters(width: int = 120, height: int = 80) -> Image.Image:
    """Red and green above, blue and yellow below: which way up it is shows in its corners."""
    image = Image.new("RGB", (width, height), YELLOW)
    image.paste(RED, (0, 0, width // 2, height // 2))
    image.paste(GREEN, (width // 2, 0, width, height // 2))
    image.paste(BLUE, (0, height // 2, width // 2, height))
    return image


def encode(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def made(data: bytes, value: object) -> Picture:
    picture = convert(data, images_from(value))
    assert isinstance(picture, Picture), picture
    return picture


def outcome(data: bytes, value: object = None) -> str:
    answer = convert(data, images_from(value))
    return answer.outcome if isinstance(answer, Rejected) else "ok"


def opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def near(found: object, wanted: tuple[int, ...], within: int) -> bool:
    return isinstance(found, tuple) and all(abs(a - b) <= within for a, b in zip(found, wanted, strict=True))


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


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_exif_orientation_is_applied_and_the_tag_is_gone(orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored = quarters(120, 80)
    turns = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    if orientation in turns:
        stored = stored.transpose(turns[orientation])
    picture = made(encode(stored, "jpeg", quality=95, exif=exif), {"sizes": {"s": {"width": 60, "height": 60}}})
    assert (picture.header.width, picture.header.height) == (120, 80)
    shown = opened(picture.variants[0].data)
    assert (shown.size, shown.getexif().get(0x0112)) == ((60, 40), None)
    for place, colour in [((5, 5), RED), ((54, 5), GREEN), ((5, 34), BLUE), ((54, 34), YELLOW)]:
        assert near(shown.getpixel(place), colour, 25)


def test_place_and_camera_are_stripped_from_the_sizes() -> None:
    exif = Image.Exif()
    exif[0x010F] = "Camera of Somebody"
    exif.get_ifd(0x8825)[2] = (51.0, 30.0, 0.0)
    data = encode(quarters(), "jpeg", exif=exif, comment=b"a note", xmp=b"<x:xmpmeta/>")
    assert b"Camera of Somebody" in data
    for kind in ("jpeg", "webp", "avif", "png"):
        variant = made(data, {"sizes": {"s": {"width": 50, "format": kind}}}).variants[0]
        assert b"Somebody" not in variant.data
        assert b"xmpmeta" not in variant.data
        image = opened(variant.data)
        assert not dict(image.getexif())
        assert not {"icc_profile", "comment", "xmp"} & set(image.info)


def transparent(mode: str) -> bytes:
    if mode == "P":
        image = Image.new("P", (60, 60), 0)
        image.putpalette([200, 0, 0, 0, 200, 0])
        return encode(image, "png", transparency=0)
    if mode == "WEBP":
        return encode(Image.new("RGBA", (60, 60), (255, 0, 0, 0)), "webp", lossless=True, exact=True)
    colour = (90, 0) if mode == "LA" else (255, 0, 0, 0)
    return encode(Image.new(mode, (60, 60), colour), "png")


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "WEBP"])
@pytest.mark.parametrize(("background", "colour"), [("#ffffff", (255, 255, 255)), ("#003366", (0, 51, 102))])
def test_transparency_is_laid_on_the_background_where_the_format_has_none(
    mode: str, background: str, colour: tuple[int, ...]
) -> None:
    value = {"sizes": {"s": {"width": 30, "format": "jpeg"}}, "background": background}
    image = opened(made(transparent(mode), value).variants[0].data).convert("RGB")
    assert near(image.getpixel((15, 15)), colour, 3)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "WEBP"])
@pytest.mark.parametrize("kind", ["png", "webp", "avif"])
def test_transparency_is_kept_where_the_format_can(mode: str, kind: str) -> None:
    variant = made(transparent(mode), {"sizes": {"s": {"width": 30, "format": kind}}}).variants[0]
    pixel = opened(variant.data).convert("RGBA").getpixel((15, 15))
    assert isinstance(pixel, tuple)
    assert pixel[3] == 0


def test_colours_of_other_spaces_are_converted_not_relabelled() -> None:
    srgb = pyvips.Image.new_from_memory(bytes((30, 160, 60)) * 64 * 64, 64, 64, 3, "uchar").copy(interpretation="srgb")
    wide = srgb.icc_transform("p3", input_profile="srgb").pngsave_buffer(keep="icc")
    assert not near(opened(wide).getpixel((30, 30)), (30, 160, 60), 5)  # the numbers differ, the colour is the same
    found = opened(made(wide, {"sizes": {"s": {"width": 30, "format": "png"}}}).variants[0].data)
    assert near(found.getpixel((15, 15)), (30, 160, 60), 3)
    assert "icc_profile" not in found.info


def test_a_broken_colour_profile_does_not_lose_the_image() -> None:
    data = encode(quarters(), "jpeg", icc_profile=b"no profile" * 20)
    assert near(opened(made(data, SMALL).variants[0].data).getpixel((5, 5)), RED, 25)


def test_sixteen_bits_grey_and_print_colours_become_what_a_screen_shows() -> None:
    grey = encode(Image.frombytes("I;16", (60, 60), (30000).to_bytes(2, "little") * 3600), "png")
    value = {"sizes": {"s": {"width": 30, "format": "jpeg"}}}
    assert near(opened(made(grey, value).variants[0].data).convert("RGB").getpixel((15, 15)), (117, 117, 117), 4)
    ink = encode(Image.new("CMYK", (60, 60), (0, 255, 255, 0)), "jpeg", quality=95)
    pixel = opened(made(ink, value).variants[0].data).convert("RGB").getpixel((15, 15))
    assert near(pixel, (232, 31, 42), 20)


@pytest.mark.parametrize(
    ("kind", "options"),
    [("jpeg", {}), ("jpeg", {"progressive": True}), ("png", {}), ("webp", {}), ("gif", {}), ("avif", {})],
)
@pytest.mark.parametrize("sizes", [{}, SMALL["sizes"]])
def test_an_image_that_ends_early_is_truncated_wherever_it_ends(
    kind: str, options: dict[str, object], sizes: dict[str, object]
) -> None:
    data = encode(Image.effect_noise((300, 200), 80).convert("RGB"), kind, **options)
    value = {"sizes": sizes}
    assert outcome(data, value) == "ok"
    for end in (20, 100, len(data) // 4, len(data) // 2, len(data) - 100):
        assert outcome(data[:end], value) == "truncated", end


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


@pytest.mark.parametrize("kind", ["gif", "webp", "png"])
def test_animations_are_never_made_still_in_silence(kind: str) -> None:
    frames = [quarters(), quarters().rotate(90), quarters().rotate(180)]
    data = encode(frames[0], kind, save_all=True, append_images=frames[1:], duration=100)
    assert outcome(data, SMALL) == "too_many_frames"
    assert outcome(data, {**SMALL, "max_frames": 2}) == "too_many_frames"
    assert outcome(data, {**SMALL, "max_frames": 3, "animation": "reject"}) == "too_many_frames"
    picture = made(data, {"sizes": {"s": {"width": 60, "format": "png"}}, "max_frames": 3, "animation": "first"})
    assert picture.header.frames == 3
    first = opened(picture.variants[0].data)
    assert first.size == (60, 40)
    assert near(first.convert("RGB").getpixel((5, 5)), RED, 40)


def png(width: int, height: int, rows: bytes) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")

    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes((1, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


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
    bomb = png(40_000, 40_000, zlib.compress(bytes(5001 * 40_000), 1))
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
    tall = png(1, 16_384, zlib.compress(bytes(2 * 16_384)))
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


SEEDS = [encode(quarters(40, 30), kind) for kind in ("jpeg", "png", "webp", "gif", "avif")]


@given(st.sampled_from(SEEDS), st.data())
@settings(deadline=None, max_examples=150)
def test_damage_anywhere_ends_in_a_known_outcome(seed: bytes, data: st.DataObject) -> None:
    body = bytearray(seed)
    for at in data.draw(st.lists(st.integers(0, len(seed) - 1), max_size=8)):
        body[at] = data.draw(st.integers(0, 255))
    assert outcome(bytes(body), SMALL) in OUTCOMES
