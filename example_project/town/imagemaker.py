"""Photographs: a few pictures are painted at the start, and every photo of the town is one of them under its own name.

Painting is slow and naming is not: a name goes into the file as a comment, so that no two photos have the same bytes.
All depends on the seed alone (and on the version of Pillow's encoders).
"""

from __future__ import annotations

import io
import struct
import tempfile
import threading
import zlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from PIL import Image, ImageDraw, ImageFilter

from town.seeds import seeded

if TYPE_CHECKING:
    from random import Random

    from town.world import Photo

JPEGS: Final = 12
PNGS: Final = 3
RESIZED_KEPT: Final = 256


def paint(random: Random, width: int, height: int) -> Image.Image:
    """A house under a sky, with enough grain that a JPEG of it has a photograph's size."""
    sky = (random.randint(130, 190), random.randint(170, 210), random.randint(215, 250))
    ground = (random.randint(90, 150), random.randint(130, 170), random.randint(60, 100))
    picture = Image.new("RGB", (2, 2))
    picture.putdata([sky, sky, ground, ground])
    picture = picture.resize((width, height), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(picture)
    left, right, top, bottom = width // 5, width * 4 // 5, height * 2 // 5, height * 9 // 10
    wall = tuple(random.randint(120, 200) for _ in range(3))
    draw.polygon([(left - 40, top), (width // 2, height // 8), (right + 40, top)], fill=tuple(part // 2 for part in wall))
    draw.rectangle([left, top, right, bottom], fill=wall)
    columns = random.randint(3, 5)
    for column in range(columns):
        x = left + (right - left) * (2 * column + 1) // (2 * columns)
        for y in (top + 60, top + 210):
            draw.rectangle([x - 35, y, x + 35, y + 90], fill=(70, 90, 110), outline=(240, 240, 235), width=6)
    grain = Image.frombytes("L", (width // 3, height // 3), random.randbytes((width // 3) * (height // 3)))
    grain = grain.resize((width, height), Image.Resampling.BILINEAR).filter(ImageFilter.GaussianBlur(0.6))
    return Image.blend(picture, Image.merge("RGB", (grain, grain, grain)), 0.10)


class Print(NamedTuple):
    """A picture as it was painted, and as a file."""

    picture: Image.Image
    data: bytes


def jpeg(random: Random) -> Print:
    """A JPEG of 20 to 80 KB, with a camera's EXIF block in it: where it was taken is nobody's business."""
    width, height = random.choice(((960, 640), (1024, 683), (900, 675), (720, 960)))
    exif = Image.Exif()
    exif[0x010F], exif[0x0110] = "Hearth", "Town 1"
    exif.get_ifd(0x8825).update({1: "N", 2: (53.0, 48.0, 1.5), 3: "W", 4: (1.0, 32.0, 57.0)})
    out = io.BytesIO()
    picture = paint(random, width, height)
    picture.save(out, "JPEG", quality=random.randint(45, 78), exif=exif)
    return Print(picture, out.getvalue())


def png(random: Random) -> Print:
    """A PNG of about the same size, its corners transparent."""
    width, height = 280, 210
    picture = paint(random, 800, 600).resize((width, height), Image.Resampling.LANCZOS).quantize(96).convert("RGBA")
    mask = Image.new("L", (width, height), 0)
    ImageDraw.Draw(mask).rounded_rectangle([0, 0, width - 1, height - 1], radius=48, fill=255)
    picture.putalpha(mask)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return Print(picture, out.getvalue())


def named(data: bytes, name: str) -> bytes:
    """The image `data` with `name` in it as a comment (JPEG: a COM segment; PNG: a tEXt chunk)."""
    text = name.encode("ascii")
    if data.startswith(b"\xff\xd8"):
        # After the first segment, as JFIF and EXIF both want to be first.
        at = 4 + struct.unpack_from("!H", data, 4)[0]
        return data[:at] + struct.pack("!2sH", b"\xff\xfe", 2 + len(text)) + text + data[at:]
    at = 8 + 12 + 13
    chunk = b"tEXtComment\0" + text
    return data[:at] + struct.pack("!I", len(chunk) - 4) + chunk + struct.pack("!I", zlib.crc32(chunk)) + data[at:]


class Darkroom:
    """Makes all pictures of a town. `original` is quick; `resized` is slow and belongs in a thread."""

    def __init__(self, seed: int) -> None:
        self._prints = {
            "jpg": [jpeg(seeded(seed, "jpeg", number)) for number in range(JPEGS)],
            "png": [png(seeded(seed, "png", number)) for number in range(PNGS)],
        }
        self._resized: OrderedDict[tuple[str, int, int], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def original(self, photo: Photo) -> bytes:
        shelf = self._prints[photo.suffix]
        return named(shelf[int(photo.id, 16) % len(shelf)].data, photo.id)

    def resized(self, photo: Photo, width: int) -> bytes:
        """The photo at `width` pixels, never wider than it is, in its own format; some hundreds are remembered."""
        shelf = self._prints[photo.suffix]
        number = int(photo.id, 16) % len(shelf)
        key = (photo.suffix, number, width)
        with self._lock:
            data = self._resized.get(key)
            if data is None:
                data = self._resized[key] = resize(shelf[number].picture, width)
                if len(self._resized) > RESIZED_KEPT:
                    self._resized.popitem(last=False)
        return named(data, photo.id)


def resize(picture: Image.Image, width: int) -> bytes:
    """`picture` at `width` pixels, as a PNG if it is transparent, else as a JPEG."""
    size = min(width, picture.width)
    small = picture.resize((size, max(1, round(picture.height * size / picture.width))), Image.Resampling.BILINEAR)
    # Into a file, as Pillow lets go of the interpreter's lock only then, and stamps wait for that lock.
    with tempfile.TemporaryFile() as out:
        if picture.mode == "RGBA":
            small.save(out, "PNG")
        else:
            small.save(out, "JPEG", quality=80)
        out.seek(0)
        return out.read()


def content_type(photo: Photo) -> str:
    return "image/png" if photo.suffix == "png" else "image/jpeg"
