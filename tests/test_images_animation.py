from __future__ import annotations

import importlib
import io
from typing import TYPE_CHECKING

import pytest
from pictures import BLUE, GREEN, RED, animated, encode, flat, made, near, noise, opened, outcome, quarters, shown
from PIL import Image, ImageDraw

from scrapy_polite.images import Rejected, images_from
from scrapy_polite.images.convert import convert, load

if TYPE_CHECKING:
    from scrapy_polite.images import Variant

load()  # before anything else of pyvips: it sets the process up
pyvips = importlib.import_module("pyvips")  # it has stubs, but does not declare them

COLOURS = [RED, GREEN, BLUE]
DELAYS = [100, 250, 40]
KEEP = {"animation": "keep"}


def traffic_lights(kind: str, **options: object) -> bytes:
    frames = [flat(colour).resize((120, 80)) for colour in COLOURS]
    return animated(
        frames, kind, **{"duration": DELAYS, "loop": 0, **({"lossless": True} if kind == "webp" else {}), **options}
    )


def times(data: bytes) -> tuple[list[int], int]:
    """The delays in ms and the number of times that it is played (0: for ever), as libvips reads both formats."""
    image = pyvips.Image.new_from_buffer(data, "", n=-1)
    return image.get("delay"), image.get("loop")


def only(data: bytes, value: object) -> Variant:
    (variant,) = made(data, value).variants
    return variant


@pytest.mark.parametrize("kind", ["gif", "webp"])
@pytest.mark.parametrize("out", ["keep", "webp"])
@pytest.mark.parametrize("loop", [0, 3])
def test_a_kept_animation_has_its_frames_delays_and_loop(kind: str, out: str, loop: int) -> None:
    data = traffic_lights(kind, loop=loop)
    variant = only(data, {**KEEP, "sizes": {"s": {"width": 60, "height": 60, "format": out}}})
    assert (variant.frames, variant.width, variant.height) == (3, 60, 40)
    assert times(variant.data) == times(data)
    assert times(data)[0] == DELAYS
    result = Image.open(io.BytesIO(variant.data))
    assert (getattr(result, "n_frames", 1), result.size) == (3, (60, 40))
    for number, colour in enumerate(COLOURS):
        assert near(shown(variant.data, frame=number), colour, 4)


def test_a_gif_that_plays_once_plays_once() -> None:
    data = animated([flat(RED), flat(GREEN)], "gif", duration=100)
    for out in ("keep", "webp"):
        assert times(only(data, {**KEEP, "sizes": {"s": {"width": 30, "format": out}}}).data) == ([100, 100], 1)


@pytest.mark.parametrize("kind", ["gif", "webp"])
def test_no_frame_has_a_line_of_its_neighbour(kind: str) -> None:
    variant = only(traffic_lights(kind), {**KEEP, "sizes": {"s": {"width": 50, "height": 50}}})
    for number, colour in enumerate(COLOURS):
        for y in (0, variant.height - 1):
            assert near(shown(variant.data, (25, y), number), colour, 4), (number, y)


@pytest.mark.parametrize("out", ["jpeg", "png", "avif"])
def test_a_format_without_animations_has_the_first_frame_and_says_so(out: str) -> None:
    picture = made(traffic_lights("gif"), {**KEEP, "sizes": {"s": {"width": 60, "format": out}, "moving": {"width": 30}}})
    still, moving = picture.variants
    assert (picture.header.frames, still.frames, moving.frames) == (3, 1, 3)
    assert near(shown(still.data), RED, 4)
    assert still.data == only(traffic_lights("gif"), {"max_frames": 3, "sizes": {"s": {"width": 60, "format": out}}}).data


@pytest.mark.parametrize("kind", ["gif", "webp", "png"])
def test_animations_are_never_made_still_in_silence(kind: str) -> None:
    frames = [quarters(), quarters().rotate(90), quarters().rotate(180)]
    data = animated(frames, kind, duration=100)
    value = {"sizes": {"s": {"width": 60, "format": "png"}}}
    assert outcome(data, value) == "too_many_frames"
    assert outcome(data, {**value, "max_frames": 2}) == "too_many_frames"
    assert outcome(data, {**value, "max_frames": 3, "animation": "reject"}) == "too_many_frames"
    for animation in ("first", "keep"):
        picture = made(data, {**value, "max_frames": 3, "animation": animation})
        assert (picture.header.frames, picture.variants[0].frames) == (3, 1)
        assert near(shown(picture.variants[0].data, (5, 5)), RED, 40)


def test_a_still_image_stays_still_where_animations_are_kept() -> None:
    for kind in ("gif", "webp"):
        variant = only(encode(quarters(), kind), {**KEEP, "sizes": {"s": {"width": 60}}})
        assert variant.frames == 1
        assert getattr(opened(variant.data), "n_frames", 1) == 1


def test_frames_that_change_only_a_part_are_whole_pictures() -> None:
    first = quarters(120, 80)
    second, third = first.copy(), first.copy()
    ImageDraw.Draw(second).rectangle((50, 30, 69, 49), fill=(0, 0, 0))
    ImageDraw.Draw(third).rectangle((100, 60, 119, 79), fill=(255, 255, 255))
    for kind in ("gif", "webp"):
        data = animated([first, second, third], kind, duration=100, **({"lossless": True} if kind == "webp" else {}))
        variant = only(data, {**KEEP, "sizes": {"s": {"width": 120, "format": "webp", "quality": 100}}})
        for number, wanted in enumerate((first, second, third)):
            for place in ((10, 10), (110, 10), (56, 36), (110, 70)):
                assert near(shown(variant.data, place, number), wanted.getpixel(place), 12), (kind, number, place)


@pytest.mark.parametrize(("out", "frames", "delays"), [("keep", 4, [100, 200, 300, 400]), ("webp", 2, [300, 700])])
def test_equal_frames_keep_their_time_also_where_the_format_makes_one_of_them(out: str, frames: int, delays: list[int]) -> None:
    strip = [quarters(), quarters(), quarters().rotate(180), quarters().rotate(180)]
    joined = pyvips.Image.arrayjoin(
        [pyvips.Image.new_from_memory(frame.tobytes(), 120, 80, 3, "uchar") for frame in strip], across=1
    )
    joined = joined.copy(interpretation="srgb")
    joined.set_type(pyvips.GValue.gint_type, "page-height", 80)
    joined.set_type(pyvips.GValue.array_int_type, "delay", [100, 200, 300, 400])
    variant = only(joined.gifsave_buffer(keep_duplicate_frames=True), {**KEEP, "sizes": {"s": {"width": 60, "format": out}}})
    assert variant.frames == frames == getattr(opened(variant.data), "n_frames", 1)
    assert times(variant.data)[0] == delays


def test_every_frame_is_cropped_at_the_same_place() -> None:
    # What draws the eye jumps about; the post beside it does not, and nor may it in the result.
    frames = []
    for left in (300, 40, 160):
        frame = Image.new("RGB", (400, 100), (120, 140, 120))
        draw = ImageDraw.Draw(frame)
        draw.ellipse((left, 30, left + 40, 70), fill=(250, 60, 20))
        draw.rectangle((345, 0, 349, 99), fill=(0, 0, 0))
        frames.append(frame)
    size = {"width": 100, "height": 100, "fit": "cover", "crop": "attention"}
    variant = only(animated(frames, "gif"), {**KEEP, "sizes": {"s": size}})
    assert (variant.frames, variant.width, variant.height) == (3, 100, 100)
    posts = [[x for x in range(100) if sum(shown(variant.data, (x, 5), number)) < 150] for number in range(3)]
    assert posts[0]
    assert all(found == posts[0] for found in posts), posts


@pytest.mark.parametrize("kind", ["gif", "webp"])
@pytest.mark.parametrize("out", ["keep", "webp"])
@pytest.mark.parametrize("flat_frames", [True, False])
def test_every_frame_is_padded_to_the_box(kind: str, out: str, flat_frames: bool) -> None:
    # Where all of each frame moves, the encoder of WebP leaves out the rim (of even lines), and the word that there is one.
    photos = animated([noise(120, 80) for _ in range(3)], kind, **({"quality": 90} if kind == "webp" else {}))
    data = traffic_lights(kind) if flat_frames else photos
    size = {"width": 120, "height": 120, "box": True, "format": out}
    variant = only(data, {**KEEP, "sizes": {"s": size}})
    assert (variant.frames, variant.width, variant.height) == (3, 120, 120)
    assert opened(variant.data).size == (120, 120)
    for number in range(3):
        for place in ((60, 2), (60, 117)):
            assert shown(variant.data, place, number, "RGBA")[3] == 0, (number, place)
        assert shown(variant.data, (5, 60), number, "RGBA")[3] == 255
        if flat_frames:
            assert near(shown(variant.data, frame=number), COLOURS[number], 8)


def test_transparent_frames_stay_transparent() -> None:
    frames = [Image.new("RGBA", (60, 60), (0, 0, 0, 0)) for _ in range(2)]
    frames[0].paste((*RED, 255), (0, 0, 30, 60))
    frames[1].paste((*BLUE, 255), (30, 0, 60, 60))
    for kind, out in (("gif", "gif"), ("webp", "webp"), ("gif", "webp")):
        data = animated(frames, kind, disposal=2, duration=100) if kind == "gif" else animated(frames, kind, lossless=True)
        variant = only(data, {**KEEP, "sizes": {"s": {"width": 30, "format": "webp" if out == "webp" else "keep"}}})
        assert [shown(variant.data, (5, 15), n, "RGBA")[3] for n in (0, 1)] == [255, 0], kind
        assert [shown(variant.data, (25, 15), n, "RGBA")[3] for n in (0, 1)] == [0, 255], kind


def test_a_kept_animation_is_bounded_before_any_pixel_is_decoded() -> None:
    tiny = [flat(colour, side=20) for colour in COLOURS]
    many = animated([tiny[n % 3] for n in range(201)], "gif", duration=20)
    said = convert(many, images_from({**KEEP, "sizes": {"s": {"width": 10}}}))
    assert isinstance(said, Rejected)
    assert (said.outcome, "201 frames" in said.detail) == ("too_many_frames", True)
    few = animated([noise(1000, 500), noise(1000, 500), noise(1000, 500)], "webp")
    value = {**KEEP, "sizes": {"s": {"width": 10}}}
    assert outcome(few, {**value, "max_megapixels": 1.5}) == "ok"
    assert outcome(few, {**value, "max_megapixels": 1.4}) == "too_many_pixels"
    assert outcome(few, {"sizes": value["sizes"], "max_megapixels": 1.4, "max_frames": 3}) == "ok"


def test_the_metadata_of_an_animation_are_stripped_from_its_sizes() -> None:
    exif = Image.Exif()
    exif[0x010F] = "Camera of Somebody"
    data = traffic_lights("webp", exif=exif, xmp=b"<x:xmpmeta/>")
    assert b"Somebody" in data
    variant = only(data, {**KEEP, "sizes": {"s": {"width": 60}}})
    assert variant.frames == 3
    assert b"Somebody" not in variant.data
    assert b"xmpmeta" not in variant.data


def test_an_animation_whose_frames_are_all_alike_may_become_still() -> None:
    few = [noise(1000, 500), noise(1000, 500), noise(1000, 500)]  # alike when they are small
    variant = only(animated(few, "webp"), {**KEEP, "sizes": {"s": {"width": 4}}})
    assert (variant.frames, getattr(opened(variant.data), "n_frames", 1)) == (1, 1)


def test_a_gif_without_times_is_kept_animated() -> None:
    # Without its graphic control extensions (GIF89a section 23): 21 f9 04, four bytes, 00.
    data = traffic_lights("gif")
    while (at := data.find(b"\x21\xf9\x04")) >= 0:
        data = data[:at] + data[at + 8 :]
    variant = only(data, {**KEEP, "sizes": {"s": {"width": 60, "format": "webp"}}})
    assert variant.frames == 3
    assert times(variant.data) == ([100, 100, 100], 0)


def test_the_sizes_of_an_animation_are_each_as_they_are_asked_for() -> None:
    sizes = {str(width): {"width": width, "format": "webp"} for width in (90, 60, 30)}
    picture = made(traffic_lights("gif"), {**KEEP, "sizes": {**sizes, "poster": {"width": 120, "format": "jpeg"}}})
    assert [(v.width, v.height, v.frames) for v in picture.variants] == [(90, 60, 3), (60, 40, 3), (30, 20, 3), (120, 80, 1)]
