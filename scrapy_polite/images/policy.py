"""What `POLITE_IMAGES` asks for: which images are kept, judged by their header, and which sizes are wanted.

Pure: nothing is decoded here and no library is loaded. Answers that say no are values (`Rejected`), wrong settings are
`ValueError`s.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from scrapy_polite.images.policyforms import colour, mapping, megapixels, one_of, some_of, whole, wrong, yes_or_no
from scrapy_polite.images.signature import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")

OUTCOMES = (
    "ok",
    "too_many_pixels",
    "too_many_frames",
    "too_many_bytes",
    "too_small",
    "truncated",
    "unsupported",
    "not_an_image",
    "encode_failed",
)
FITS = ("inside", "cover", "fill")
CROPS = ("centre", "attention")
ANIMATIONS = ("first", "keep", "reject")
ORIGINALS = ("keep", "stripped", "none")
# Frames that are allowed where animations are kept and nothing else is said: 20 seconds at 10 frames a second.
ANIMATED_FRAMES = 200
# The longest side that WebP can hold (RFC 9649 section 2.5: 14 bits, less one), the least of the five formats.
LONGEST_SIDE = 16383
# The longest side of an image that is read, as in JPEG and GIF. Only a PNG says more, and lines are held in memory, hundreds of
# them where all are shrunk to a few: 40 000 000 x 1 pixels, in 300 KB, took 2.9 GB.
LONGEST_READ = 65535


@dataclass(frozen=True, slots=True)
class Size:
    """One size to be made of every image; a picture is never made larger than it is.

    width, height in pixels (with fit "inside" one of them may be None: no bound). fit: "inside" keeps the proportions
    within the box (what CSS `object-fit` calls "contain"), "cover" fills the box and cuts off what juts out on both
    sides, "fill" stretches. format "keep" is the original's. quality, 1 to 100, is for jpeg, webp and avif. crop, with
    "cover": what is cut off, the same on both sides ("centre"), or what draws the eye least ("attention"). box: the
    result has exactly this width and height, the picture in its middle, around it nothing (the background, in a jpeg).
    """

    name: str
    width: int | None
    height: int | None
    fit: str = "inside"
    format: str = "keep"
    quality: int = 80
    crop: str = "centre"
    box: bool = False


@dataclass(frozen=True, slots=True)
class ImagesConfig:
    """`POLITE_IMAGES`, validated. Pixels and bytes, not mega.

    The limits on pixels follow what decoding costs: what is decoded as a stream (baseline JPEG, plain PNG, WebP) needs
    little memory whatever its height, a GIF 4 bytes a pixel; what is not (progressive JPEG, interlaced PNG, AVIF) needs up
    to 15 bytes a pixel at once. 50 megapixels and one frame are also imgproxy's defaults. Where animations are kept, the
    pixels of all frames count, and `images_from` allows `ANIMATED_FRAMES`.

    original: stored as it came ("keep"), without its metadata ("stripped"), or not at all ("none"). same_source: one
    download for an image that a page names by several URLs of an image service.
    """

    sizes: tuple[Size, ...] = ()
    max_pixels: int = 50_000_000
    max_pixels_unstreamable: int = 25_000_000
    max_frames: int = 1
    max_bytes: int = 64 * 1024 * 1024
    min_width: int = 0
    min_height: int = 0
    formats: frozenset[str] = frozenset(FORMATS)
    background: tuple[int, int, int] = (255, 255, 255)
    animation: str = "first"
    original: str = "keep"
    perceptual_hash: bool = False
    blurhash: bool = False
    same_source: bool = True


@dataclass(frozen=True, slots=True)
class Header:
    """What an image says about itself before it is decoded; width and height as shown, EXIF orientation applied.

    streamable: can be decoded line by line. foreign: its colours are not yet 8 bits of sRGB or grey.
    """

    format: str
    width: int
    height: int
    frames: int
    streamable: bool
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class Rejected:
    """An image that is not kept: outcome is one of `OUTCOMES`, detail a sentence for the log."""

    outcome: str
    detail: str


@dataclass(frozen=True, slots=True)
class Variant:
    """One size of an image, encoded; frames above 1 where it is animated. width and height are those of one frame."""

    size: str
    width: int
    height: int
    format: str
    data: bytes
    frames: int = 1


@dataclass(frozen=True, slots=True)
class Picture:
    """An image that is kept: what it is, and the sizes made of it.

    original: what is to be stored in the original's place, None for nothing. sha256: of those bytes, or of the image as
    it came where nothing is stored; in hex. perceptual_hash (16 hex digits) and blurhash are None where not asked for.
    """

    header: Header
    sha256: str
    variants: tuple[Variant, ...]
    original: bytes | None = None
    perceptual_hash: str | None = None
    blurhash: str | None = None


def admit(kind: str, length: int, config: ImagesConfig) -> Rejected | None:
    """None if an image of this format and length in bytes may be looked into, else why not."""
    if kind not in config.formats:
        return Rejected("unsupported", f"{kind} is not among POLITE_IMAGES['formats']")
    if length > config.max_bytes:
        return Rejected("too_many_bytes", f"{length} bytes: POLITE_IMAGES['max_bytes'] allows {config.max_bytes}")
    return None


def allowed_frames(config: ImagesConfig) -> int:
    """The most frames that an image may have."""
    return 1 if config.animation == "reject" else config.max_frames


def frames_told(allowed: int) -> str:
    """For the log: how many frames are allowed, and what says so."""
    return f"POLITE_IMAGES allows {allowed} ('max_frames', 'animation')"


def judge(header: Header, length: int, config: ImagesConfig) -> Rejected | None:
    """None if an image of this header and length in bytes may be decoded, else why not.

    Pixels are counted for one frame, since no more than the first is decoded, or for all where animations are kept.
    """
    width, height = header.width, header.height
    pixels = width * height * (header.frames if config.animation == "keep" else 1)
    refused = admit(header.format, length, config)
    if refused is not None:
        return refused
    if header.frames > allowed_frames(config):
        return Rejected("too_many_frames", f"{header.frames} frames: {frames_told(allowed_frames(config))}")
    if max(width, height) > LONGEST_READ:
        return Rejected("too_many_pixels", f"{width}x{height} {header.format}: sides of up to {LONGEST_READ} are allowed")
    limit, named = config.max_pixels, "max_megapixels"
    if not header.streamable and config.max_pixels_unstreamable < limit:
        limit, named = config.max_pixels_unstreamable, "max_megapixels_unstreamable"
    if pixels > limit:
        how = "" if header.streamable else " that cannot be decoded as a stream"
        how += f", {header.frames} frames" if pixels > width * height else ""
        return Rejected(
            "too_many_pixels", f"{width}x{height} {header.format}{how}: POLITE_IMAGES[{named!r}] allows {limit} pixels"
        )
    if width < config.min_width or height < config.min_height:
        return Rejected("too_small", f"{width}x{height}, at least {config.min_width}x{config.min_height} is wanted")
    return None


def images_from(value: object) -> ImagesConfig:
    """The value of `POLITE_IMAGES` (a mapping, its JSON text, or None for the defaults: originals only), validated.

    Raises ValueError that names the setting, the place in it, the value and what is accepted.
    """
    where = "POLITE_IMAGES"
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise wrong(where, value, 'a dict, or a JSON object such as {"sizes": {...}}') from None
    if value is None:
        return ImagesConfig()
    given = mapping(where, value, _PARSERS)
    fields = {_PARSERS[key][0]: _PARSERS[key][1](f"{where}[{key!r}]", item) for key, item in given.items()}
    if fields.get("animation") == "keep":
        fields.setdefault("max_frames", ANIMATED_FRAMES)
    if fields.get("original") == "none" and not fields.get("sizes"):
        raise wrong(f"{where}['original']", "none", "possible without a 'sizes' beside it: nothing would be stored")
    return ImagesConfig(**fields)  # type: ignore[arg-type]  # each parser answers its own field's type


def _size(where: str, name: str, value: object) -> Size:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
        raise wrong(where, name, "a size's name: 1 to 64 letters, digits, '-' and '_', as it becomes a folder")
    where = f"{where}[{name!r}]"
    given = mapping(where, value, ("width", "height", "fit", "crop", "box", "format", "quality"))

    def take(key: str, default: _T, parse: Callable[[str, object], _T]) -> _T:
        return parse(f"{where}[{key!r}]", given[key]) if key in given else default

    side = whole(1, LONGEST_SIDE, "pixels")
    width, height = take("width", None, side), take("height", None, side)
    fit, crop, box = take("fit", "inside", one_of(FITS)), take("crop", "centre", one_of(CROPS)), take("box", False, yes_or_no)
    if width is None and height is None:
        raise wrong(where, value, "a size with a 'width', a 'height' or both")
    if (fit != "inside" or box) and (width is None or height is None):
        needs = "'box' needs" if box else f"fit {fit!r} needs"
        raise wrong(where, value, f"a size with both 'width' and 'height', which {needs}")
    if crop != "centre" and fit != "cover":
        raise wrong(f"{where}['crop']", crop, f"possible with fit {fit!r}, which cuts nothing off: say 'fit': 'cover'")
    format_ = take("format", "keep", one_of(("keep", "jpeg", "webp", "avif", "png")))
    return Size(name, width, height, fit, format_, take("quality", 80, whole(1, 100, "quality")), crop, box)


def _sizes(where: str, value: object) -> tuple[Size, ...]:
    return tuple(_size(where, name, item) for name, item in mapping(where, value, None).items())


_PARSERS: dict[str, tuple[str, Callable[[str, object], object]]] = {
    "sizes": ("sizes", _sizes),
    "max_megapixels": ("max_pixels", megapixels),
    "max_megapixels_unstreamable": ("max_pixels_unstreamable", megapixels),
    "max_frames": ("max_frames", whole(1, 100_000, "frames")),
    "max_bytes": ("max_bytes", whole(1, 2**31 - 1, "bytes")),
    "min_width": ("min_width", whole(0, LONGEST_SIDE, "pixels")),
    "min_height": ("min_height", whole(0, LONGEST_SIDE, "pixels")),
    "formats": ("formats", some_of((*FORMATS, "svg"))),
    "background": ("background", colour),
    "animation": ("animation", one_of(ANIMATIONS)),
    "original": ("original", one_of(ORIGINALS)),
    "perceptual_hash": ("perceptual_hash", yes_or_no),
    "blurhash": ("blurhash", yes_or_no),
    "same_source": ("same_source", yes_or_no),
}
KEYS = tuple(_PARSERS)
"""What `POLITE_IMAGES` may have."""
