from __future__ import annotations

import importlib
import io
import time
import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laden_images import (
    FILM,
    ICC,
    STORY,
    TOLD,
    XMP,
    blocks,
    chunk,
    encoded,
    exif,
    gif_laden,
    jpeg_laden,
    photo,
    png_laden,
    riff,
    segment,
    webp_laden,
)
from PIL import Image, ImageSequence

from scrapy_polite.images.boxes import box, children, full
from scrapy_polite.images.convert import load
from scrapy_polite.images.orientation import orientation, upright
from scrapy_polite.images.strip import stripped

load()  # before anything else of pyvips: it sets the process up
pyvips = importlib.import_module("pyvips")  # it has stubs, but does not declare them

FRAMES = [photo(seed=number) for number in range(3)]
MOVING = {"save_all": True, "append_images": FRAMES[1:], "duration": [40, 80, 120], "loop": 3}


def by_vips(image: Image.Image, kind: str, **options: object) -> bytes:
    made = pyvips.Image.new_from_memory(image.tobytes(), image.width, image.height, len(image.getbands()), "uchar")
    data = made.copy(interpretation="srgb").write_to_buffer(f".{kind}", **options)
    assert isinstance(data, bytes)
    return data


def avif_laden(image: Image.Image, **options: object) -> bytes:
    data = encoded(image, "avif", xmp=XMP, icc_profile=ICC, **{"exif": b"Exif\0\0" + exif(), **options})
    return data + box(b"uuid", b"\xbe\x7a\xcf\xcb\x97\xa9\x42\xe8\x9c\x71\x99\x94\x91\xe3\xaf\xac", XMP) + box(b"mpvd", FILM)


LADEN = {
    "jpeg": jpeg_laden(encoded(photo(), "jpeg", icc_profile=ICC)),
    "jpeg progressive": jpeg_laden(encoded(photo(), "jpeg", progressive=True)),
    "jpeg grey": jpeg_laden(encoded(photo("L"), "jpeg")),
    "jpeg cmyk": jpeg_laden(encoded(photo("CMYK"), "jpeg")),
    "jpeg rgb": jpeg_laden(encoded(photo(), "jpeg", keep_rgb=True)),
    "jpeg restarts": jpeg_laden(encoded(photo(size=(90, 70)), "jpeg", restart_marker_blocks=2)),
    "jpeg subsampled": jpeg_laden(encoded(photo(), "jpeg", subsampling=2, quality=20)),
    "png": png_laden(encoded(photo(), "png", icc_profile=ICC)),
    "png palette": png_laden(encoded(photo().quantize(20), "png", transparency=3)),
    "png alpha": png_laden(encoded(photo("RGBA"), "png")),
    "png 16 bit": png_laden(encoded(photo("L").convert("I;16"), "png")),
    "png interlaced": png_laden(by_vips(photo(), "png", interlace=True, keep="none")),
    "png moving": png_laden(encoded(FRAMES[0], "png", **MOVING)),
    "webp": webp_laden(encoded(photo(), "webp", icc_profile=ICC)),
    "webp simple": webp_laden(encoded(photo(), "webp")),
    "webp alpha": webp_laden(encoded(photo("RGBA"), "webp")),
    "webp lossless": webp_laden(encoded(photo(), "webp", lossless=True)),
    "webp moving": webp_laden(encoded(FRAMES[0], "webp", **MOVING)),
    "gif": gif_laden(encoded(photo(), "gif")),
    "gif transparent": gif_laden(encoded(photo().quantize(20), "gif", transparency=2)),
    "gif moving": gif_laden(encoded(FRAMES[0], "gif", **MOVING)),
    "avif": avif_laden(photo()),
    "avif alpha": avif_laden(photo("RGBA")),
    "avif grey": avif_laden(photo("L")),
    "avif 444": avif_laden(photo(), subsampling="4:4:4"),
    "avif by libheif": by_vips(photo(), "avif", bitdepth=10, keep="all"),
}


def kind_of(name: str) -> str:
    return name.partition(" ")[0]


def shown(data: bytes) -> list[Any]:
    """What two decoders show of an image: every frame with its time, the loop, the profile, the way up."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow complains of the metadata
        image = Image.open(io.BytesIO(data))
        frames = [
            (frame.mode, frame.size, frame.tobytes(), frame.getpalette(), frame.info.get("duration"))
            for frame in ImageSequence.Iterator(image)
        ]
        told = [image.info.get(name) for name in ("loop", "icc_profile", "transparency", "background", "adobe_transform")]
        turned = image.getexif().get(0x0112, 1)
    decoded = pyvips.Image.new_from_buffer(data, "")
    fields = [
        decoded.get(name) if decoded.get_typeof(name) else default
        for name, default in (("orientation", 1), ("icc-profile-data", None), ("n-pages", 1))
    ]
    return [frames, told, turned, decoded.write_to_memory(), decoded.interpretation, fields]


@pytest.mark.parametrize("name", LADEN)
def test_nothing_is_told_any_more_and_all_is_shown_as_before(name: str) -> None:
    data = LADEN[name]
    assert name == "avif by libheif" or all(word in data for word in TOLD)
    bare = stripped(data, kind_of(name))
    assert bare is not None
    assert [word for word in (*TOLD, b"MADE", b"xmpmeta", b"ftypmp42") if word in bare] == []
    assert shown(bare) == shown(data)


@pytest.mark.parametrize("name", LADEN)
def test_what_was_stripped_before_stays_as_it_is(name: str) -> None:
    bare = stripped(LADEN[name], kind_of(name))
    assert bare is not None
    assert stripped(bare, kind_of(name)) == bare


@pytest.mark.parametrize("name", LADEN)
def test_of_an_image_that_is_cut_nothing_is_kept(name: str) -> None:
    data = LADEN[name]
    bare = stripped(data, kind_of(name))
    assert bare is not None
    for cut in {1, 8, 30, len(bare) // 4, len(bare) // 2, len(bare) - 1}:
        assert stripped(bare[:cut], kind_of(name)) is None


@pytest.mark.parametrize("turn", range(1, 9))
@pytest.mark.parametrize("kind", ["jpeg", "png", "webp"])
def test_the_way_up_is_kept(kind: str, turn: int) -> None:
    laden = {"jpeg": jpeg_laden, "png": png_laden, "webp": lambda data, orientation: webp_laden(data, orientation=orientation)}
    data = laden[kind](encoded(photo(), kind), orientation=turn)
    bare = stripped(data, kind)
    assert bare is not None
    assert shown(bare)[5][0] == turn
    if turn == 1:
        assert b"MM\0*" not in bare
    assert shown(bare)[3:] == shown(data)[3:]


@pytest.mark.parametrize("turn", range(1, 9))
def test_the_way_up_of_an_avif_is_kept(turn: int) -> None:
    made = Image.Exif()
    made[0x0112] = turn
    data = encoded(photo(), "avif", exif=made)
    bare = stripped(data, "avif")
    assert bare is not None
    assert b"Exif" not in bare
    assert shown(bare) == shown(data)


def test_pixels_are_copied_as_they_are() -> None:
    plain = encoded(photo(), "jpeg")
    assert stripped(jpeg_laden(plain, orientation=None), "jpeg") == plain
    plain = encoded(photo(), "gif")
    assert stripped(gif_laden(plain), "gif") == b"GIF89a" + plain[6:]
    plain = encoded(photo(), "png")
    assert stripped(png_laden(plain, orientation=None), "png") == plain
    plain = encoded(photo(), "webp")
    assert stripped(plain + FILM, "webp") == plain


@pytest.mark.parametrize("kind", ["svg", "other", "tiff", "", "JPEG"])
def test_what_is_not_known_is_not_kept(kind: str) -> None:
    assert stripped(b"<svg xmlns='http://www.w3.org/2000/svg'><metadata/></svg>", kind) is None
    assert stripped(LADEN["jpeg"], kind) is None


@pytest.mark.parametrize("name", LADEN)
def test_another_format_than_was_said_is_not_kept(name: str) -> None:
    for kind in {kind_of(other) for other in LADEN} - {kind_of(name)}:
        assert stripped(LADEN[name], kind) is None


# -- JPEG

PLAIN = encoded(photo(), "jpeg")
SCAN = PLAIN.index(b"\xff\xda")


def test_thumbnails_in_the_head_of_a_jpeg_go() -> None:
    head = b"JFIF\0\1\2\1\0\x48\0\x48\2\1" + STORY[:6]
    bare = stripped(b"\xff\xd8" + segment(0xE0, head) + PLAIN[20:], "jpeg")
    assert bare == b"\xff\xd8" + segment(0xE0, head[:12], b"\0\0") + PLAIN[20:]


def test_adobes_marker_says_how_colours_are_meant_and_no_more() -> None:
    cmyk = encoded(photo("CMYK"), "jpeg")
    at = cmyk.index(b"\xff\xee")
    bare = stripped(
        cmyk[:at] + segment(0xEE, b"Adobe\0d\x12\x34\x56\x78", cmyk[at + 15 : at + 16], STORY) + cmyk[at + 16 :], "jpeg"
    )
    assert bare is not None
    assert STORY not in bare
    assert shown(bare) == shown(cmyk)


def test_filler_and_rubbish_between_segments_goes() -> None:
    told = PLAIN[:SCAN] + STORY.replace(b"\xff", b"") + b"\xff\0\xff\xff" + PLAIN[SCAN:]
    assert stripped(told, "jpeg") == PLAIN


def test_several_exif_segments_are_read_as_decoders_read_them() -> None:
    two = b"".join(segment(0xE1, b"Exif\0\0", exif(turn)) for turn in (6, 3))
    data = PLAIN[:20] + two + PLAIN[20:]
    bare = stripped(data, "jpeg")
    assert bare is not None
    assert bare.count(b"Exif\0\0") == 1
    assert shown(bare)[5] == shown(data)[5]


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xd8\xff\xd9",
        PLAIN[:SCAN] + b"\xff\xd9",
        PLAIN[:-2],
        PLAIN[:2] + segment(0xC8, STORY) + PLAIN[2:],
        PLAIN[:2] + segment(0xF7, STORY) + PLAIN[2:],
        PLAIN[:2] + b"\xff\xd8" + PLAIN[2:],
        PLAIN[:2] + b"\xff\xe1\0\1" + PLAIN[2:],
        PLAIN[:2] + b"\xff\xe1\xff\xff" + PLAIN[2:],
        PLAIN[:-2] + segment(0xDC, b"\0\x1e", STORY) + b"\xff\xd9",
    ],
)
def test_a_jpeg_that_is_none_or_none_of_the_usual_is_not_kept(data: bytes) -> None:
    assert stripped(data, "jpeg") is None


# -- PNG


def test_a_critical_chunk_that_is_not_known_ends_it() -> None:
    plain = encoded(photo(), "png")
    assert stripped(plain[:33] + chunk(b"CgBI", bytes(4)) + plain[33:], "png") is None


@pytest.mark.parametrize(
    "name", [b"gAMA", b"cHRM", b"sRGB", b"tRNS", b"bKGD", b"sBIT", b"pHYs", b"cICP", b"mDCV", b"cLLI", b"acTL"]
)
def test_nothing_hides_in_a_chunk_that_is_kept(name: bytes) -> None:
    plain = encoded(photo(), "png")
    for body in (STORY * 9, b""):
        assert stripped(plain[:33] + chunk(name, body) + plain[33:], "png") == plain
    broken = chunk(name, bytes(4))[:-4] + OTHER_CRC
    assert stripped(plain[:33] + broken + plain[33:], "png") == plain


OTHER_CRC = b"SN-0"


def test_frames_that_nobody_shows_are_no_hiding_place() -> None:
    plain = encoded(photo(), "png")
    frame, count = chunk(b"fcTL", bytes(26)) + chunk(b"fdAT", bytes(4) + STORY), chunk(b"acTL", b"\0\0\0\1\0\0\0\0")
    assert stripped(plain[:33] + frame + plain[33:], "png") == plain
    assert stripped(plain[:-12] + count + frame + plain[-12:], "png") == plain
    assert stripped(plain[:33] + count[:-1] + b"?" + plain[33:-12] + frame + plain[-12:], "png") == plain


def test_only_the_first_of_a_kind_counts() -> None:
    plain = encoded(photo(), "png")
    gammas = [chunk(b"gAMA", number.to_bytes(4, "big")) for number in (45455, 9)]
    bare = stripped(plain[:33] + b"".join(gammas) + plain[33:], "png")
    assert bare == plain[:33] + gammas[0] + plain[33:]


# -- WebP


def test_the_flags_of_a_webp_say_what_is_in_it() -> None:
    for name, flags in {"webp": 0x28, "webp simple": 0x08, "webp alpha": 0x18, "webp moving": 0x0A}.items():
        bare = stripped(LADEN[name], "webp")
        assert bare is not None
        assert (bare[12:16], bare[20], bare[21:24]) == (b"VP8X", flags, b"\0\0\0"), name
        assert int.from_bytes(bare[4:8], "little") == len(bare) - 8


def test_an_exif_that_a_webp_does_not_announce_is_not_read() -> None:
    laden = bytearray(webp_laden(encoded(photo(), "webp")))
    laden[20] &= ~0x08
    bare = stripped(bytes(laden), "webp")
    assert bare is not None
    assert b"EXIF" not in bare
    assert shown(bare)[5] == shown(bytes(laden))[5]


def test_nothing_hides_in_the_frames_of_a_webp() -> None:
    moving = encoded(FRAMES[0], "webp", **MOVING)
    at = moving.index(b"ANMF")
    length = int.from_bytes(moving[at + 4 : at + 8], "little")
    frame = riff(b"ANMF", moving[at + 8 : at + 8 + length] + riff(b"told", STORY))
    body = moving[12:at] + frame + moving[at + 8 + length :]
    told = b"RIFF" + (len(body) + 4).to_bytes(4, "little") + b"WEBP" + body
    assert stripped(told, "webp") == moving


# -- GIF


def test_a_gif_loops_as_before() -> None:
    for loop in (0, 1, 7):
        moving = encoded(FRAMES[0], "gif", **{**MOVING, "loop": loop})
        bare = stripped(gif_laden(moving), "gif")
        assert bare is not None
        assert Image.open(io.BytesIO(bare)).info["loop"] == loop


def test_a_delay_is_kept_without_what_follows_it() -> None:
    moving = encoded(FRAMES[0], "gif", **MOVING)
    at = moving.index(b"\x21\xf9\4") + 7
    told = moving[:at] + blocks(STORY) + moving[at + 1 :]
    assert shown(told) == shown(moving)
    assert stripped(told, "gif") == moving


def test_what_is_no_loop_goes_with_its_name() -> None:
    plain = encoded(photo(), "gif")
    for told in (
        b"\x21\xff\x0bNETSCAPE2.0" + blocks(b"\2" + STORY),
        b"\x21\xff\x03SN-" + blocks(STORY),
        b"\x21\xf9" + blocks(STORY),
    ):
        assert stripped(plain[:-1] + told + b"\x3b", "gif") == plain


# -- AVIF

AVIF = stripped(encoded(photo(), "avif"), "avif") or b""


def avif(
    items: list[tuple[int, bytes, bytes]] | None = None,
    references: bytes = b"",
    properties: list[tuple[bytes, bool]] | None = None,
    more: bytes = b"",
    way: int = 0,
) -> bytes:
    """An AVIF whose item 1 is a picture, made by hand.

    items: further ones, their numbers, types and data. properties: further ones of the picture, and whether it needs them.
    way: how the data are found (ISO/IEC 14496-12, section 8.11.3: in the file, in `idat`, in an item).
    """
    top = dict(children(AVIF))
    container, owned = (dict(children(dict(children(top[b"meta"][4:]))[b"iprp"]))[name] for name in (b"ipco", b"ipma"))
    everything = [(1, b"av01", top[b"mdat"]), *(items or [])]
    known = list(owned[11:])
    more_owned = [len(known) + at | needed << 7 for at, (_, needed) in enumerate(properties or [], 1)]
    entry = bytes([len(known) + len(more_owned), *known, *more_owned])
    infos = [full(b"infe", 2, 0, n.to_bytes(2, "big"), b"\0\0", kind, STORY + b"\0") for n, kind, _ in everything]
    data = b"".join(body for _, _, body in everything)

    def meta(at: int) -> bytes:
        places = b""
        for n, _, body in everything:
            places += (
                n.to_bytes(2, "big") + bytes([0, way]) + b"\0\0\0\1" + at.to_bytes(4, "big") + len(body).to_bytes(4, "big")
            )
            at += len(body)
        return full(
            b"meta",
            0,
            0,
            full(b"hdlr", 0, 0, bytes(4), b"pict", bytes(12), STORY, b"\0"),
            full(b"pitm", 0, 0, b"\0\1"),
            full(b"iloc", 1, 0, b"\x44\0", len(everything).to_bytes(2, "big"), places),
            full(b"iinf", 0, 0, len(infos).to_bytes(2, "big"), *infos),
            full(b"iref", 0, 0, references) if references else b"",
            box(
                b"iprp",
                box(b"ipco", container, *(body for body, _ in properties or [])),
                full(b"ipma", 0, 0, b"\0\0\0\1\0\1", entry),
            ),
            box(b"idat", data) if way else b"",
            more,
        )

    start = box(b"ftyp", top[b"ftyp"])
    at = 0 if way else len(start) + len(meta(0)) + 8
    return start + meta(at) + box(b"mdat", b"" if way else data)


def reference(kind: bytes, source: int, *targets: int) -> bytes:
    return box(kind, *(number.to_bytes(2, "big") for number in (source, len(targets), *targets)))


def test_an_avif_made_by_hand_is_read() -> None:
    for way in (0, 1):
        assert shown(avif(way=way)) == shown(AVIF)
        assert stripped(avif(way=way), "avif") == AVIF


@pytest.mark.parametrize("kind", [b"Exif", b"mime", b"uri ", b"jpeg", b"c2pa", b"av01"])
def test_items_that_are_no_part_of_the_picture_go(kind: bytes) -> None:
    told = avif([(2, kind, STORY)], references=reference(b"cdsc", 2, 1) + reference(b"thmb", 2, 1))
    assert STORY in told
    assert stripped(told, "avif") == AVIF


def test_boxes_that_are_no_part_of_the_picture_go() -> None:
    told = box(b"udta", STORY) + box(b"free", STORY) + box(b"uuid", bytes(16), STORY)
    assert stripped(avif(more=told) + told, "avif") == AVIF


def test_properties_that_are_no_part_of_the_picture_go() -> None:
    told = [(full(b"udes", 0, 0, STORY), False), (box(b"made", STORY), False)]
    assert stripped(avif(properties=told), "avif") == AVIF
    assert stripped(avif(properties=[*told, (box(b"made", STORY), True)]), "avif") is None


def test_only_transparency_is_kept_of_what_goes_with_a_picture() -> None:
    alpha = b"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha"
    bare = stripped(LADEN["avif alpha"], "avif")
    assert bare is not None
    assert alpha in bare
    depth = LADEN["avif alpha"].replace(alpha, alpha.replace(b"alpha", b"depth"))
    bare = stripped(depth, "avif")
    assert bare is not None
    assert b"auxC" not in bare
    assert shown(bare)[0][0][0] == "RGB"


def test_a_gain_map_is_kept_with_what_it_is_made_of() -> None:
    items = [(2, b"tmap", b"made-up curve"), (3, b"av01", b"made-up gains"), (4, b"av01", STORY)]
    groups = box(b"grpl", full(b"altr", 0, 0, *(n.to_bytes(4, "big") for n in (77, 3, 2, 1, 4))))
    bare = stripped(avif(items, references=reference(b"dimg", 2, 1, 3), more=groups), "avif")
    assert bare is not None
    assert STORY not in bare
    assert b"made-up curvemade-up gains" in bare
    assert full(b"altr", 0, 0, *(n.to_bytes(4, "big") for n in (4, 2, 2, 1))) in bare
    assert stripped(bare, "avif") == bare


@pytest.mark.parametrize(
    "data",
    [
        b"",
        AVIF[:-1],
        AVIF + b"\0",
        AVIF + box(b"meta", bytes(4)),
        AVIF + box(b"moov", bytes(4)),
        box(b"ftyp", b"avif" * 99) + AVIF[int.from_bytes(AVIF[:4], "big") :],
        avif(way=2),
        avif([(1, b"av01", STORY)]),
        avif([(2, b"hvc1", STORY)], references=reference(b"dimg", 1, 2)),
        avif(references=reference(b"dimg", 1, 9)),
        AVIF.replace(b"pict", b"vide"),
        AVIF.replace(b"infe\2", b"infe\1"),
        encoded(FRAMES[0], "avif", save_all=True, append_images=FRAMES[1:]),
    ],
)
def test_an_avif_that_is_none_or_none_of_the_usual_is_not_kept(data: bytes) -> None:
    assert stripped(data, "avif") is None


def test_items_that_share_their_data_do_not_make_a_file_longer() -> None:
    """Thousands of tiles that are all the whole file would be a bomb."""
    numbers = range(2, 2000)
    told = avif([(n, b"av01", b"") for n in numbers], references=reference(b"dimg", 1, *numbers))
    bare = stripped(told, "avif")
    assert bare is not None
    at = told.index(b"iloc") + 12
    whole = len(told).to_bytes(4, "big")
    for n in range(1, 2000):
        entry = at + (n - 1) * 16
        told = told[: entry + 8] + bytes(4) + whole + told[entry + 16 :]
    assert stripped(told, "avif") is None


# -- whatever the bytes are


@given(st.sampled_from(sorted(LADEN)), st.data())
@settings(max_examples=300, deadline=None)
def test_damage_never_raises_and_what_is_answered_stays_as_it_is(name: str, data: st.DataObject) -> None:
    body = bytearray(LADEN[name])
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(body) - 1))
        if data.draw(st.booleans()):
            body[at] = data.draw(st.integers(0, 255))
        else:
            body[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=12))
    bare = stripped(bytes(body), kind_of(name))
    if bare is not None:
        assert len(bare) <= 2 * len(body) + 64
        assert stripped(bare, kind_of(name)) == bare


STARTS = {
    "jpeg": b"\xff\xd8\xff",
    "png": b"\x89PNG\r\n\x1a\n",
    "gif": b"GIF89a",
    "webp": b"RIFF\xff\0\0\0WEBPVP8X",
    "avif": box(b"ftyp", b"avif") + b"\0\0\0\0meta",
}


@given(st.sampled_from(sorted(STARTS)), st.binary(max_size=400))
def test_any_bytes_are_answered(kind: str, data: bytes) -> None:
    stripped(data, kind)
    stripped(STARTS[kind] + data, kind)


MEGABYTE = 1 << 20
SLOW = {
    "jpeg segments": (b"\xff\xd8" + b"\xff\xfe\0\2" * (MEGABYTE // 4), "jpeg"),
    "jpeg filler": (b"\xff\xd8" + b"\xff" * MEGABYTE, "jpeg"),
    "jpeg rubbish": (b"\xff\xd8" + b"\xff\0" * (MEGABYTE // 2), "jpeg"),
    "jpeg bare markers": (b"\xff\xd8" + b"\xff\xd0" * (MEGABYTE // 2), "jpeg"),
    "jpeg stuffing": (PLAIN[:-2] + b"\xff\0" * (MEGABYTE // 2), "jpeg"),
    "jpeg filler in a scan": (PLAIN[:-2] + b"\xff" * MEGABYTE, "jpeg"),
    "jpeg restarts in a scan": (PLAIN[:-2] + b"\xff\xd0" * (MEGABYTE // 2), "jpeg"),
    "jpeg scans": (b"\xff\xd8" + b"\xff\xda\0\2" * (MEGABYTE // 4), "jpeg"),
    "png chunks": (STARTS["png"] + chunk(b"tEXt", b"") * (MEGABYTE // 12), "png"),
    "png data": (STARTS["png"] + chunk(b"IHDR", bytes(13)) + chunk(b"IDAT", b"") * (MEGABYTE // 12), "png"),
    "webp chunks": (b"RIFF" + MEGABYTE.to_bytes(4, "little") + b"WEBP" + riff(b"VP8X", bytes(10)) + bytes(MEGABYTE), "webp"),
    "gif blocks": (b"GIF89a" + bytes(7) + b"\x21\xfe" + b"\1\0" * (MEGABYTE // 2), "gif"),
    "gif extensions": (b"GIF89a" + bytes(7) + b"\x21\xfe\0" * (MEGABYTE // 3), "gif"),
    "avif boxes": (STARTS["avif"][:12] + b"\0\0\0\x08free" * (MEGABYTE // 8), "avif"),
    "avif boxes within": (
        box(b"ftyp", b"avif") + full(b"meta", 0, 0, b"\0\0\0\x08free" * (MEGABYTE // 8)) + box(b"mdat"),
        "avif",
    ),
    "avif pieces": (avif().replace(b"\0\1\0\0\0\0\0\1", b"\0\1\0\0\0\0\xff\xff"), "avif"),
    "avif references": (avif(references=reference(b"dimg", 1, *[1] * 60_000) * 8), "avif"),
    "avif alphas": (
        avif(references=reference(b"auxl", 1, 1) * 70_000, properties=[(full(b"auxC", 0, 0, STORY), False)] * 90),
        "avif",
    ),
}


@pytest.mark.parametrize("attack", SLOW)
def test_no_bytes_take_long(attack: str) -> None:
    data, kind = SLOW[attack]
    start = time.process_time()
    stripped(data, kind)
    assert time.process_time() - start < 3 * max(1, len(data) / MEGABYTE)


# -- the orientation


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("turn", range(1, 9))
def test_an_orientation_is_read_in_both_byte_orders_and_in_all_types_that_decoders_take(order: str, turn: int) -> None:
    def block(kind: int, width: int) -> bytes:
        numbers = [(42, 2), (8, 4), (2, 2), (0x010F, 2), (2, 2), (1, 4), (0, 4), (0x0112, 2), (kind, 2), (1, 4), (turn, width)]
        return (b"II" if order == "little" else b"MM") + b"".join(
            number.to_bytes(length, "little" if order == "little" else "big") for number, length in numbers
        )

    assert orientation(block(3, 2) + bytes(2)) == turn
    assert orientation(block(8, 2) + bytes(2)) == turn
    assert orientation(block(4, 4)) == orientation(block(9, 4)) == turn
    assert orientation(block(2, 4)) is None
    small = upright(block(3, 2) + bytes(2))
    assert (small is None) == (turn == 1)
    if small is not None:
        assert (len(small), orientation(small)) == (26, turn)


@pytest.mark.parametrize("turn", [0, 9, 65535])
def test_an_orientation_that_is_none_is_not_kept(turn: int) -> None:
    block = b"MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1" + turn.to_bytes(2, "big") + bytes(6)
    assert orientation(block) is None
    assert upright(block) is None


@given(st.binary(max_size=60))
def test_any_exif_is_read(data: bytes) -> None:
    for head in (b"", b"II*\0", b"MM\0*", b"MM\0*\0\0\0\x08"):
        assert upright(head + data) is None or orientation(head + data) in range(2, 9)
