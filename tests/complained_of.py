"""The pictures that `test_images_complaints.py` is about."""

from __future__ import annotations

from PIL import Image
from test_images_pipeline import encode

RED, GREEN, BLUE, YELLOW = (220, 30, 30), (30, 160, 60), (30, 60, 200), (230, 210, 40)


def quarters(width: int, height: int) -> Image.Image:
    image = Image.new("RGB", (width, height), YELLOW)
    image.paste(RED, (0, 0, width // 2, height // 2))
    image.paste(GREEN, (width // 2, 0, width, height // 2))
    image.paste(BLUE, (0, height // 2, width // 2, height))
    return image


def turned(orientation: int) -> bytes:
    """As a camera that is held so writes it: shown, it is always the same picture."""
    turns = dict(zip(range(2, 9), (0, 3, 1, 5, 2, 6, 4), strict=True))  # EXIF 2.32, tag 0x0112, to Pillow's Transpose
    image, exif = quarters(160, 96), Image.Exif()
    exif[0x0112] = orientation
    return encode(image.transpose(turns[orientation]) if orientation > 1 else image, "jpeg", quality=95, exif=exif)


def palette() -> bytes:
    image = Image.new("P", (80, 80), 0)
    image.putpalette([200, 0, 0, 0, 200, 0])
    return encode(image, "png", transparency=0)


def animated(kind: str) -> bytes:
    frames = [Image.new("RGB", (90, 90), colour) for colour in (RED, GREEN, BLUE)]
    return encode(frames[0], kind, save_all=True, append_images=frames[1:], duration=80, loop=0)


CLEAR = {
    "rgba.png": encode(Image.new("RGBA", (80, 80), (255, 0, 0, 0)), "png"),
    "la.png": encode(Image.new("LA", (80, 80), (90, 0)), "png"),
    "p.png": palette(),
    "rgba.webp": encode(Image.new("RGBA", (80, 80), (255, 0, 0, 0)), "webp", lossless=True, exact=True),
}
WHOLE = {
    "photo.jpg": encode(Image.effect_noise((300, 200), 60).convert("RGB"), "jpeg", quality=93),
    "progressive.jpg": encode(Image.effect_noise((300, 200), 60).convert("RGB"), "jpeg", progressive=True),
    "still.gif": encode(quarters(90, 80), "gif"),
    "new.avif": encode(quarters(120, 80), "avif"),
    "ink.jpg": encode(Image.new("CMYK", (90, 90), (0, 255, 255, 0)), "jpeg"),
    **CLEAR,
    **{f"turned-{number}.jpg": turned(number) for number in range(1, 9)},
}
TINY = encode(Image.effect_noise((49, 60), 60), "png")
BAD = {
    "page.jpg": b"<!doctype html><title>Not here</title>",
    "half.jpg": WHOLE["photo.jpg"][: len(WHOLE["photo.jpg"]) // 2],
    "tiny.png": TINY,
    "tiny-head.png": TINY[: TINY.index(b"IDAT") + 40],
}
OUTCOMES = {"page.jpg": "not_an_image", "half.jpg": "truncated", "tiny.png": "too_small", "tiny-head.png": "too_small"}
