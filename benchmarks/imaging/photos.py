"""Photographs that nobody has taken: gradients for the light, noise for the sensor. 12 megapixels are about 3 MB of JPEG."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from PIL import Image, ImageChops

if TYPE_CHECKING:
    from pathlib import Path

LARGE = (4000, 3000)
NOISE = 12
"""Standard deviation, of 255."""


def photo(size: tuple[int, int], turn: int = 0) -> Image.Image:
    """``turn``: how the light falls, so that no two of a few are alike."""
    slope, spot = Image.linear_gradient("L"), Image.radial_gradient("L")
    bands = [slope.rotate(90 * turn), spot, slope.rotate(180 + 90 * turn)]
    noise = [Image.effect_noise(size, NOISE) for _ in bands]
    return Image.merge(
        "RGB",
        # Noise has its middle at 128.
        [ImageChops.add(band.resize(size), grain, offset=-128) for band, grain in zip(bands, noise, strict=True)],
    )


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def large(folder: Path, count: int) -> list[Path]:
    """So many files of 12 megapixels."""
    paths = [folder / f"large-{number}.jpg" for number in range(count)]
    for turn, path in enumerate(paths):
        path.write_bytes(encoded(photo(LARGE, turn), "jpeg", quality=85))
    return paths


def mixed(folder: Path) -> list[Path]:
    """What a site may have: photographs of several sizes, one of them turned by EXIF, drawings with transparency, a WebP."""
    exif = Image.Exif()
    exif[0x0112] = 6
    clear = photo((900, 700))
    clear.putalpha(Image.linear_gradient("L").resize(clear.size))
    made = {
        "large.jpg": encoded(photo(LARGE), "jpeg", quality=85),
        "turned.jpg": encoded(photo((1600, 1200)), "jpeg", quality=85, exif=exif),
        "middle.jpg": encoded(photo((1600, 1067), 1), "jpeg", quality=80),
        "small.jpg": encoded(photo((800, 600), 2), "jpeg", quality=75),
        "progressive.jpg": encoded(photo((1200, 900), 3), "jpeg", quality=80, progressive=True),
        "clear.png": encoded(clear, "png", compress_level=1),
        "grey.png": encoded(photo((1000, 800)).convert("L"), "png", compress_level=1),
        "web.webp": encoded(photo((1200, 800), 1), "webp", quality=80, method=0),
    }
    paths = [folder / name for name in made]
    for path in paths:
        path.write_bytes(made[path.name])
    return paths
