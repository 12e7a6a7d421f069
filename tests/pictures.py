"""Pictures to convert, and what is asked of the results; for the tests of the conversion."""

from __future__ import annotations

import io
import zlib
from typing import TYPE_CHECKING

from PIL import Image

from scrapy_polite.images import Picture, Rejected, images_from
from scrapy_polite.images.convert import convert

if TYPE_CHECKING:
    from collections.abc import Sequence

RED, GREEN, BLUE, YELLOW = (220, 30, 30), (30, 160, 60), (30, 60, 200), (230, 210, 40)
FORMATS = ("jpeg", "png", "webp", "gif", "avif")


def quarters(width: int = 120, height: int = 80) -> Image.Image:
    """Red and green above, blue and yellow below: which way up it is shows in its corners."""
    image = Image.new("RGB", (width, height), YELLOW)
    image.paste(RED, (0, 0, width // 2, height // 2))
    image.paste(GREEN, (width // 2, 0, width, height // 2))
    image.paste(BLUE, (0, height // 2, width // 2, height))
    return image


def noise(width: int = 300, height: int = 200) -> Image.Image:
    return Image.effect_noise((width, height), 80).convert("RGB")


def flat(colour: tuple[int, ...], mode: str = "RGB", side: int = 60) -> Image.Image:
    return Image.new(mode, (side, side), colour)


def encode(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def animated(frames: Sequence[Image.Image], kind: str, **options: object) -> bytes:
    return encode(frames[0], kind, save_all=True, append_images=list(frames[1:]), **options)


def png(width: int, height: int, depth: int, colour: int, row: bytes, *chunks: bytes) -> bytes:
    """A PNG whose rows are all alike; depth and colour type as in its header (PNG, third edition, section 11.2.1)."""
    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes((depth, colour, 0, 0, 0))
    pixels = png_chunk(b"IDAT", zlib.compress((b"\0" + row) * height))
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", head) + b"".join(chunks) + pixels + png_chunk(b"IEND", b"")


def png_chunk(name: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")


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


def shown(data: bytes, place: tuple[int, int] | None = None, frame: int = 0, mode: str = "RGB") -> tuple[int, ...]:
    """One pixel of a file as Pillow shows it, the one in the middle unless told otherwise."""
    image = Image.open(io.BytesIO(data))
    image.seek(frame)
    pixel = image.convert(mode).getpixel(place or (image.width // 2, image.height // 2))
    assert isinstance(pixel, tuple)
    return pixel


def near(found: object, wanted: tuple[int, ...], within: int) -> bool:
    return isinstance(found, tuple) and all(abs(a - b) <= within for a, b in zip(found, wanted, strict=True))


def corners(data: bytes, frame: int = 0, mode: str = "RGB") -> list[tuple[int, ...]]:
    """Four pixels well inside the corners: left and right above, left and right below."""
    image = Image.open(io.BytesIO(data))
    x, y = image.width // 8, image.height // 8
    places = [(x, y), (image.width - 1 - x, y), (x, image.height - 1 - y), (image.width - 1 - x, image.height - 1 - y)]
    return [shown(data, place, frame, mode) for place in places]
