"""Files that would keep libvips busy with their header, or with few pixels; and those that only look like it."""

from __future__ import annotations

import time

import pytest
from pictures import animated, encode, flat, noise, outcome, png, png_chunk, quarters
from PIL import Image

VALUE = {"sizes": {"s": {"width": 10}}}
JPEG, GIF, PNG = encode(noise(64, 64), "jpeg"), encode(flat((1, 2, 3)), "gif"), png(1, 1, 8, 0, b"\0")
WEBP = encode(Image.new("RGB", (1, 1)), "webp", lossless=True)


def riff(body: bytes) -> bytes:
    return b"RIFF" + (4 + len(body)).to_bytes(4, "little") + b"WEBP" + body


def many_frames_gif(count: int) -> bytes:
    head = b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff"
    return head + (b"\x2c\0\0\0\0\1\0\1\0\0" + b"\x02\x02\x44\x01\0") * count + b";"


def many_frames_webp(count: int) -> bytes:
    frame = bytes(12) + b"\x0a\0\0\0" + WEBP[12:]
    head = b"VP8X\x0a\0\0\0\x02\0\0\0" + bytes(6) + b"ANIM\6\0\0\0" + bytes(6)
    return riff(head + (b"ANMF" + len(frame).to_bytes(4, "little") + frame) * count)


def many_scans(count: int, side: int = 4000) -> bytes:
    """A grey JPEG of one tone: a scan for the mean of each block, then one for each coefficient and bit (T.81, G.1)."""

    def segment(marker: int, body: bytes) -> bytes:
        return b"\xff%c" % marker + (len(body) + 2).to_bytes(2, "big") + body

    def packed(bits: str) -> bytes:
        bits += "1" * (-len(bits) % 8)
        return int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\0")

    blocks = ((side + 7) // 8) ** 2
    runs = [blocks // (blocks // 32767 + 1)] * (blocks // 32767)
    runs.append(blocks - sum(runs))
    nothing = packed("".join("0" + format(run - 16384, "014b") for run in runs))
    one_code = b"\1" + bytes(15)  # the only Huffman code is "0"
    parts = [
        b"\xff\xd8",
        segment(0xDB, b"\0" + b"\x10" * 64),
        segment(0xC2, b"\x08" + side.to_bytes(2, "big") * 2 + b"\1\1\x11\0"),
        segment(0xC4, b"\0" + one_code + b"\0"),
        segment(0xC4, b"\x10" + one_code + b"\xe0"),
        segment(0xDA, b"\1\1\0\0\0\0") + packed("0" * blocks),
    ]
    steps = [(at, bit) for bit in range(13, -1, -1) for at in range(1, 64)]
    for at, bit in steps[: count - 1]:
        parts.append(segment(0xDA, b"\1\1\0" + bytes((at, at, (0 if bit == 13 else bit + 1) << 4 | bit))) + nothing)
    return b"".join(parts) + b"\xff\xd9"


LADEN = {
    "gif of frames": (many_frames_gif(500_000), "too_many_frames"),
    "webp of frames": (many_frames_webp(100_000), "too_many_frames"),
    "webp of chunks": (riff(WEBP[12:] + b"abcd\0\0\0\0" * 300_000), "unsupported"),
    "gif of comments": (GIF[:-1] + b"\x21\xfe\1x\0" * 300_000 + b";", "unsupported"),
    "jpeg of scans": (many_scans(880), "unsupported"),
    "jpeg of segments": (JPEG[:2] + b"\xff\xe1\0\4ab" * 300_000 + JPEG[2:], "unsupported"),
    "jpeg of segments with filler": (JPEG[:2] + b"\xff\xff\xe1\0\4ab?" * 300_000 + JPEG[2:], "unsupported"),
    "jpeg of segments behind its scan": (JPEG[:-2] + b"\xff\xe1\0\4ab" * 300_000 + b"\xff\xd9", "unsupported"),
    "png of chunks": (PNG[:33] + png_chunk(b"abCd", b"") * 300_000 + PNG[33:], "unsupported"),
}


@pytest.mark.parametrize("name", LADEN)
@pytest.mark.parametrize("animation", ["first", "keep"])
def test_a_file_of_far_too_many_parts_is_refused_at_once(name: str, animation: str) -> None:
    data, wanted = LADEN[name]
    before = time.process_time()
    assert outcome(data, {**VALUE, "animation": animation}) == wanted
    assert time.process_time() - before < 0.5  # 7.5 s for the frames of the WebP without, 3 s for the scans


@pytest.mark.parametrize("count", [10, 100])
def test_a_jpeg_of_as_many_scans_as_encoders_may_write_is_kept(count: int) -> None:
    assert outcome(many_scans(count, 1500), VALUE) == "ok"
    assert outcome(many_scans(101, 1500), VALUE) == "unsupported"


def test_what_only_looks_like_too_much_is_kept() -> None:
    marks = b"\xff\xda" * 500
    icc = b"\xff\xe2" + (len(marks) + 2).to_bytes(2, "big") + marks
    assert outcome(JPEG[:2] + icc + JPEG[2:], VALUE) == "ok"
    assert outcome(JPEG + marks, VALUE) == "ok"  # a film behind the picture, as telephones put it
    assert outcome(JPEG[:2] + b"\xff\xe1\0\4ab" * 1000 + JPEG[2:], VALUE) == "ok"
    assert outcome(JPEG[:2] + b"\xff" * 100_000 + JPEG[2:], VALUE) == "ok"
    assert outcome(PNG[:33] + png_chunk(b"abCd", b"") * 1000 + PNG[33:], VALUE) == "ok"
    assert outcome(PNG[:33] + png_chunk(b"IDAT", b"") * 20_000 + PNG[33:], VALUE) == "ok"


@pytest.mark.parametrize("kind", ["gif", "webp", "png"])
def test_frames_are_allowed_to_the_last_one(kind: str) -> None:
    data = animated([quarters(60, 40).rotate(n) for n in range(12)], kind, duration=20)
    for animation in ("first", "keep"):
        assert outcome(data, {**VALUE, "animation": animation, "max_frames": 12}) == "ok"
        assert outcome(data, {**VALUE, "animation": animation, "max_frames": 11}) == "too_many_frames"
