from __future__ import annotations

import json
import zlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.images import OUTCOMES, Header, ImagesConfig, Rejected, Size, images_from
from scrapy_polite.images.plan import made_format, original_path, plan, variant_path
from scrapy_polite.images.policy import judge
from scrapy_polite.images.signature import ends_early, png_frames, recognise

sides = st.integers(1, 70_000)
boxes = st.integers(1, 16_383)
SHA1 = "9f8d5e4f89a922dd1a9ee41003d27cdc4705bbb8"  # of http://h.example/a


def test_nothing_set_means_originals_only_within_the_default_limits() -> None:
    config = images_from(None)
    assert config == ImagesConfig()
    assert (config.sizes, config.max_pixels, config.max_pixels_unstreamable, config.max_frames) == ((), 50e6, 25e6, 1)


def test_every_key_is_taken_over_also_as_json_text() -> None:
    value = {
        "sizes": {
            "small": {"width": 320, "height": 240, "fit": "cover", "format": "webp", "quality": 70},
            "wide": {"width": 900},
            "tile": {"width": 90, "height": 80, "fit": "cover", "crop": "attention", "box": True},
        },
        "max_megapixels": 1.5,
        "max_megapixels_unstreamable": 1,
        "max_frames": 3,
        "max_bytes": 1000,
        "min_width": 10,
        "min_height": 20,
        "formats": ["jpeg", "png"],
        "background": "#0080ff",
        "animation": "reject",
        "original": "stripped",
        "perceptual_hash": True,
        "blurhash": True,
        "same_source": False,
    }
    config = ImagesConfig(
        sizes=(
            Size("small", 320, 240, "cover", "webp", 70),
            Size("wide", 900, None, "inside", "keep", 80),
            Size("tile", 90, 80, "cover", "keep", 80, "attention", True),
        ),
        max_pixels=1_500_000,
        max_pixels_unstreamable=1_000_000,
        max_frames=3,
        max_bytes=1000,
        min_width=10,
        min_height=20,
        formats=frozenset({"jpeg", "png"}),
        background=(0, 128, 255),
        animation="reject",
        original="stripped",
        perceptual_hash=True,
        blurhash=True,
        same_source=False,
    )
    assert images_from(value) == config
    assert images_from(json.dumps(value)) == config


@pytest.mark.parametrize(
    ("value", "place", "accepted"),
    [
        (5, "POLITE_IMAGES: 5", "a dict"),
        ("{sizes}", "POLITE_IMAGES: '{sizes}'", "JSON object"),
        ({"size": {}}, "POLITE_IMAGES['size']", "'sizes'"),
        ({"sizes": []}, "POLITE_IMAGES['sizes']: []", "such as {'small': {'width': 320}}"),
        ({"sizes": {"../x": {"width": 1}}}, "POLITE_IMAGES['sizes']: '../x'", "letters"),
        ({"sizes": {"s": 320}}, "POLITE_IMAGES['sizes']['s']: 320", "'width'"),
        ({"sizes": {"s": {}}}, "POLITE_IMAGES['sizes']['s']: {}", "'height' or both"),
        ({"sizes": {"s": {"widht": 1}}}, "POLITE_IMAGES['sizes']['s']['widht']", "'width'"),
        ({"sizes": {"s": {"width": 0}}}, "POLITE_IMAGES['sizes']['s']['width']: 0", "from 1 to 16383"),
        ({"sizes": {"s": {"width": "9"}}}, "POLITE_IMAGES['sizes']['s']['width']: '9'", "whole number"),
        ({"sizes": {"s": {"width": True}}}, "POLITE_IMAGES['sizes']['s']['width']: True", "whole number"),
        ({"sizes": {"s": {"width": 9, "fit": "cover"}}}, "POLITE_IMAGES['sizes']['s']", "both 'width' and 'height'"),
        ({"sizes": {"s": {"width": 9, "fit": "crop"}}}, "['fit']: 'crop'", "'inside', 'cover', 'fill'"),
        ({"sizes": {"s": {"width": 9, "format": "jpg"}}}, "['format']: 'jpg'", "'jpeg'"),
        ({"sizes": {"s": {"width": 9, "quality": 101}}}, "['quality']: 101", "from 1 to 100"),
        ({"max_megapixels": 0}, "POLITE_IMAGES['max_megapixels']: 0", "above 0"),
        ({"max_megapixels": float("nan")}, "POLITE_IMAGES['max_megapixels']: nan", "above 0"),
        ({"max_megapixels_unstreamable": "25"}, "POLITE_IMAGES['max_megapixels_unstreamable']: '25'", "above 0"),
        ({"max_frames": 0}, "POLITE_IMAGES['max_frames']: 0", "from 1"),
        ({"max_bytes": -1}, "POLITE_IMAGES['max_bytes']: -1", "from 1"),
        ({"min_width": -1}, "POLITE_IMAGES['min_width']: -1", "from 0"),
        ({"min_height": 1.5}, "POLITE_IMAGES['min_height']: 1.5", "whole number"),
        ({"formats": []}, "POLITE_IMAGES['formats']: []", "at least one"),
        ({"formats": ["tiff"]}, "POLITE_IMAGES['formats']: ['tiff']", "'avif', 'svg'"),
        ({"sizes": {"s": {"width": 9, "crop": "attention"}}}, "['crop']: 'attention'", "'fit': 'cover'"),
        ({"sizes": {"s": {"width": 9, "crop": "faces"}}}, "['crop']: 'faces'", "'centre', 'attention'"),
        (
            {"sizes": {"s": {"width": 9, "box": True}}},
            "POLITE_IMAGES['sizes']['s']",
            "both 'width' and 'height', which 'box' needs",
        ),
        ({"sizes": {"s": {"width": 9, "height": 9, "box": 1}}}, "POLITE_IMAGES['sizes']['s']['box']: 1", "True or False"),
        ({"original": "raw"}, "POLITE_IMAGES['original']: 'raw'", "'keep', 'stripped', 'none'"),
        ({"original": "none"}, "POLITE_IMAGES['original']: 'none'", "'sizes'"),
        ({"original": "none", "sizes": {}}, "POLITE_IMAGES['original']: 'none'", "'sizes'"),
        ({"perceptual_hash": "yes"}, "POLITE_IMAGES['perceptual_hash']: 'yes'", "True or False"),
        ({"blurhash": None}, "POLITE_IMAGES['blurhash']: None", "True or False"),
        ({"same_source": 0}, "POLITE_IMAGES['same_source']: 0", "True or False"),
        ({"background": "white"}, "POLITE_IMAGES['background']: 'white'", "'#rrggbb'"),
        ({"animation": "animate"}, "POLITE_IMAGES['animation']: 'animate'", "'first', 'keep', 'reject'"),
    ],
)
def test_a_wrong_value_names_the_setting_the_place_the_value_and_what_is_accepted(
    value: object, place: str, accepted: str
) -> None:
    with pytest.raises(ValueError, match="POLITE_IMAGES") as caught:
        images_from(value)
    assert place in str(caught.value)
    assert accepted in str(caught.value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
@settings(deadline=None)
def test_any_value_is_taken_or_answered_with_a_value_error(value: object) -> None:
    try:
        answer: object = images_from(value)
    except ValueError as error:
        answer = str(error)
    assert isinstance(answer, ImagesConfig) or str(answer).startswith("POLITE_IMAGES")


def header(kind: str = "jpeg", width: int = 100, height: int = 100, frames: int = 1, streamable: bool = True) -> Header:
    return Header(kind, width, height, frames, streamable)


@pytest.mark.parametrize(
    ("image", "length", "value", "outcome"),
    [
        (header(), 1000, {}, None),
        (header("gif"), 1000, {"formats": ["jpeg"]}, "unsupported"),
        (header(), 1001, {"max_bytes": 1000}, "too_many_bytes"),
        (header("gif", frames=2), 1, {}, "too_many_frames"),
        (header("gif", frames=5), 1, {"max_frames": 5}, None),
        (header("gif", frames=6), 1, {"max_frames": 5}, "too_many_frames"),
        (header("gif", frames=2), 1, {"max_frames": 5, "animation": "reject"}, "too_many_frames"),
        (header(width=10_000, height=5_000), 1, {}, None),
        (header(width=10_000, height=5_001), 1, {}, "too_many_pixels"),
        (header("png", width=65_535, height=700), 1, {}, None),
        (header("png", width=65_536, height=1), 1, {}, "too_many_pixels"),
        (header("png", width=1, height=65_536), 1, {"max_megapixels": 10_000}, "too_many_pixels"),
        (header("avif", 5_000, 5_000, streamable=False), 1, {}, None),
        (header("avif", 5_000, 5_001, streamable=False), 1, {}, "too_many_pixels"),
        (header("avif", 2_000, 2_000, streamable=False), 1, {"max_megapixels": 3}, "too_many_pixels"),
        (header("gif", frames=200), 1, {"animation": "keep"}, None),
        (header("gif", frames=201), 1, {"animation": "keep"}, "too_many_frames"),
        (header("gif", frames=2), 1, {"animation": "keep", "max_frames": 1}, "too_many_frames"),
        (header("gif", 500, 1000, frames=100), 1, {"animation": "keep"}, None),
        (header("gif", 501, 1000, frames=100), 1, {"animation": "keep"}, "too_many_pixels"),
        (header("gif", 501, 1000, frames=100), 1, {"animation": "first", "max_frames": 100}, None),
        (header(width=99), 1, {"min_width": 100}, "too_small"),
        (header(height=99), 1, {"min_height": 100}, "too_small"),
        (header(), 1, {"min_width": 100, "min_height": 100}, None),
    ],
)
def test_the_header_decides(image: Header, length: int, value: dict[str, object], outcome: str | None) -> None:
    said = judge(image, length, images_from(value))
    assert (said.outcome if isinstance(said, Rejected) else None) == outcome
    assert outcome is None or outcome in OUTCOMES


@pytest.mark.parametrize(
    ("image", "length", "value", "named"),
    [
        (header(), 1001, {"max_bytes": 1000}, "max_bytes"),
        (header("gif", frames=2), 1, {}, "max_frames"),
        (header("gif", frames=2), 1, {"animation": "reject"}, "animation"),
        (header(width=10_000, height=5_001), 1, {}, "max_megapixels"),
        (header("avif", 5_000, 5_001, streamable=False), 1, {}, "max_megapixels_unstreamable"),
        (header("avif", 2_000, 2_000, streamable=False), 1, {"max_megapixels": 3}, "max_megapixels"),
    ],
)
def test_what_is_too_large_is_told_with_the_setting_that_allows_more(
    image: Header, length: int, value: dict[str, object], named: str
) -> None:
    said = judge(image, length, images_from(value))
    assert isinstance(said, Rejected)
    assert f"{named!r}" in said.detail
    assert "POLITE_IMAGES" in said.detail


@given(sides, sides, boxes, boxes)
@settings(deadline=None)
def test_inside_stays_in_the_box_keeps_the_proportions_and_never_enlarges(w: int, h: int, bw: int, bh: int) -> None:
    cut = plan(Size("s", bw, bh), w, h)
    assert (cut.width, cut.height, cut.left, cut.top) == (cut.box_width, cut.box_height, 0, 0)
    assert 1 <= cut.width <= min(w, bw)
    assert 1 <= cut.height <= min(h, bh)
    scale = min(1, bw / w, bh / h)
    assert abs(cut.width - w * scale) <= 1
    assert abs(cut.height - h * scale) <= 1


@given(sides, sides, boxes, boxes)
@settings(deadline=None)
def test_cover_fills_the_box_as_far_as_the_image_reaches(w: int, h: int, bw: int, bh: int) -> None:
    cut = plan(Size("s", bw, bh, "cover"), w, h)
    assert (cut.box_width, cut.box_height) == (min(w, bw), min(h, bh))
    assert cut.box_width <= cut.width <= w
    assert cut.box_height <= cut.height <= h
    assert 0 <= cut.left <= cut.width - cut.box_width
    assert 0 <= cut.top <= cut.height - cut.box_height
    scale = min(1, max(bw / w, bh / h))
    assert abs(cut.width - w * scale) <= 1
    assert abs(cut.height - h * scale) <= 1


@given(sides, sides, boxes, boxes)
@settings(deadline=None)
def test_fill_stretches_but_never_enlarges(w: int, h: int, bw: int, bh: int) -> None:
    cut = plan(Size("s", bw, bh, "fill"), w, h)
    assert (cut.width, cut.height) == (cut.box_width, cut.box_height) == (min(w, bw), min(h, bh))


@given(sides, sides, boxes, boxes, st.sampled_from(["inside", "cover", "fill"]))
@settings(deadline=None)
def test_a_box_changes_nothing_but_what_is_around(w: int, h: int, bw: int, bh: int, fit: str) -> None:
    plain, boxed = plan(Size("s", bw, bh, fit), w, h), plan(Size("s", bw, bh, fit, box=True), w, h)
    assert (boxed.box_width, boxed.box_height) == (bw, bh)
    assert (plain.box_width, plain.box_height) == (plain.crop_width, plain.crop_height)
    assert replace(boxed, box_width=plain.box_width, box_height=plain.box_height) == plain
    assert not plain.pads
    assert plain.cuts <= (fit == "cover")


def test_a_size_with_one_side_has_no_bound_on_the_other() -> None:
    assert plan(Size("s", 100, None), 1000, 5000).height == 500
    assert plan(Size("s", None, 100), 5000, 1000).width == 500


@pytest.mark.parametrize(
    ("url", "suffix"),
    [
        ("http://h.example/a.JPEG?x=.png", ".jpg"),
        ("http://h.example/a.png", ".png"),
        ("http://h.example/a.webp#b.gif", ".webp"),
        ("http://h.example/photo.php?id=7", ".jpg"),
        ("http://h.example/", ".jpg"),
        ("http://[half/a.png", ".jpg"),
    ],
)
def test_a_name_follows_from_the_url_alone(url: str, suffix: str) -> None:
    assert original_path(url).startswith("full/")
    assert original_path(url).endswith(suffix)
    assert variant_path(url, "small", "keep").endswith(suffix)
    assert variant_path(url, "small", "webp").endswith(".webp")


def test_the_sizes_of_a_drawing_are_not_named_as_drawings() -> None:
    url = "http://h.example/logo.SVG?v=2"
    assert original_path(url).endswith(".svg")
    assert variant_path(url, "small", "keep").endswith(".png")
    assert variant_path(url, "small", "webp").endswith(".webp")
    assert [made_format(Size("s", 9, 9, format=name), "svg") for name in ("keep", "webp")] == ["png", "webp"]
    assert made_format(Size("s", 9, 9), "gif") == "gif"


def test_names_are_those_of_scrapy_where_scrapy_knows_the_format() -> None:
    assert original_path("http://h.example/a") == f"full/{SHA1}.jpg"
    assert variant_path("http://h.example/a", "small", "jpeg") == f"thumbs/small/{SHA1}.jpg"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\xff\xd8\xff\xe0", "jpeg"),
        (b"\x89PNG\r\n\x1a\n", "png"),
        (b"GIF89a", "gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "webp"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", None),
        (b"\x00\x00\x00\x1cftypavif\x00\x00\x00\x00", "avif"),
        (b"\x00\x00\x00\x18ftypmif1\x00\x00\x00\x00mif1avif", "avif"),
        (b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic", "other"),
        (b"\x00\x00\x00\x18ftypisom\x00\x00\x00\x00isommp42", None),
        (b"BM\x00\x00", "other"),
        (b"II*\x00", "other"),
        (b"%PDF-1.7", "other"),
        (b"\xef\xbb\xbf\n<?xml version='1.0'?><!-- x --><svg ", "svg"),
        (b"<SVG xmlns='x'>", "svg"),
        (b"<!doctype html><html><svg>", None),
        (b"", None),
    ],
)
def test_a_body_is_recognised_by_its_first_bytes(data: bytes, kind: str | None) -> None:
    assert recognise(data) == kind


@given(
    st.binary(max_size=400),
    st.sampled_from(
        [
            b"",
            b"\xff\xd8\xff",
            b"\x89PNG\r\n\x1a\n",
            b"GIF89a",
            b"RIFF\x05\x00\x00\x00WEBP",
            b"\x00\x00\x00\x10ftypavif",
        ]
    ),
)
@settings(deadline=None)
def test_no_body_confuses_the_reading_of_signatures(tail: bytes, head: bytes) -> None:
    kind = recognise(head + tail)
    if kind not in (None, "other"):
        assert ends_early(head + tail, kind) in (True, False)
    assert png_frames(head + tail) >= 1


def chunk(name: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")


def test_the_frames_of_an_animated_png_are_counted_only_where_they_count() -> None:
    png, frames = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", bytes(13)), chunk(b"acTL", (7).to_bytes(4, "big") + bytes(4))
    assert png_frames(png + frames + chunk(b"IDAT", b"x") + chunk(b"IEND", b"")) == 7
    assert png_frames(png + chunk(b"IDAT", b"x") + frames + chunk(b"IEND", b"")) == 1
    assert not ends_early(png + chunk(b"IEND", b""), "png")
    assert ends_early(png + chunk(b"IEND", b"")[:-1], "png")
