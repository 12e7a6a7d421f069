"""Decodes an image once and makes its sizes, with libvips. Synchronous: for a thread, never for the event loop.

The only module that loads pyvips, and only when it is used. What libvips says in words is never repeated: its warnings
and errors share one buffer with the images before, so the text may be about another image.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import os
import threading
from typing import TYPE_CHECKING, ClassVar, Protocol, cast

from scrapy_polite.images.plan import Plan, plan
from scrapy_polite.images.policy import Header, ImagesConfig, Picture, Rejected, Size, Variant, judge
from scrapy_polite.images.signature import ends_early, png_frames, recognise

if TYPE_CHECKING:
    from collections.abc import Sequence

# Our word for a format -> the class of its loader from a buffer, the value of the header field `vips-loader`.
# All other loaders stay blocked: SVG, PDF, TIFF and ImageMagick are seldom photographs, and some can read other files.
_LOADERS = {
    "jpeg": ("VipsForeignLoadJpegBuffer", "jpegload_buffer"),
    "png": ("VipsForeignLoadPngBuffer", "pngload_buffer"),
    "webp": ("VipsForeignLoadWebpBuffer", "webpload_buffer"),
    "gif": ("VipsForeignLoadNsgifBuffer", "gifload_buffer"),
    "avif": ("VipsForeignLoadHeifBuffer", "heifload_buffer"),
}
_PROGRESSIVE = frozenset({"jpeg", "png"})  # interlaced, these are decoded as a whole; a GIF is one frame in memory anyway
# What needs no conversion, unless it carries a profile; grey with transparency does, for a background in colour.
_SCREEN = frozenset({"srgb", "b-w"})
_OPAQUE = frozenset({"jpeg"})
# A photograph of 0.8 megapixels: 0.15 s at effort 3, 0.42 s at libvips's own 4, for 2 % fewer bytes.
_AVIF_EFFORT = 3
# To find out whether an image is whole when no size is wanted, it is decoded at the least cost that its format allows.
_CHECK = Size("", 64, 64)

_lock = threading.Lock()
_loaded: _Vips | None = None


class _Image(Protocol):
    """The part of `pyvips.Image` that is used here."""

    width: int
    height: int
    bands: int
    interpretation: str

    def get_fields(self) -> list[str]: ...
    def get(self, name: str) -> object: ...
    def hasalpha(self) -> bool: ...
    def copy_memory(self) -> _Image: ...
    def thumbnail_image(self, width: int, *, height: int, size: str) -> _Image: ...
    def crop(self, left: int, top: int, width: int, height: int) -> _Image: ...
    def flatten(self, *, background: Sequence[float]) -> _Image: ...
    def jpegsave_buffer(self, *, Q: int, optimize_coding: bool, keep: str) -> bytes: ...  # noqa: N803
    def webpsave_buffer(self, *, Q: int, keep: str) -> bytes: ...  # noqa: N803
    def heifsave_buffer(self, *, Q: int, compression: str, effort: int, keep: str) -> bytes: ...  # noqa: N803
    def pngsave_buffer(self, *, keep: str) -> bytes: ...
    def gifsave_buffer(self, *, keep: str) -> bytes: ...


class _Images(Protocol):
    """`pyvips.Image` as the maker of images."""

    def new_from_buffer(self, data: bytes, options: str, *, access: str) -> _Image: ...
    def thumbnail_buffer(
        self, data: bytes, width: int, *, height: int, size: str, option_string: str, **colours: str
    ) -> _Image: ...


class _Vips(Protocol):
    """The part of the module `pyvips` that is used here. pyvips has stubs, but does not declare them (no py.typed)."""

    Image: _Images
    Error: ClassVar[type[Exception]]

    def cache_set_max(self, most: int) -> None: ...
    def concurrency_set(self, threads: int) -> None: ...
    def block_untrusted_set(self, state: bool) -> None: ...
    def operation_block_set(self, name: str, state: bool) -> None: ...


def load() -> _Vips:
    """libvips, set up for images from strangers. Raises ImportError where pyvips or the library is missing.

    The set-up is for the whole process, a spider's own use of pyvips included: only the loaders of the five formats,
    from memory; no cache of operations (where every image is new it only costs memory); one thread an image (the pool
    has its own threads).
    """
    global _loaded  # as the library itself: one per process
    with _lock:
        if _loaded is None:
            os.environ.setdefault("VIPS_BLOCK_UNTRUSTED", "1")  # read when the library starts
            try:
                vips = cast("_Vips", importlib.import_module("pyvips"))
            except OSError as error:  # pyvips is there, libvips is not
                raise ImportError(str(error)) from error
            vips.block_untrusted_set(True)
            vips.operation_block_set("VipsForeignLoad", True)
            for loader, _ in _LOADERS.values():
                vips.operation_block_set(loader, False)
            vips.cache_set_max(0)
            vips.concurrency_set(1)
            log = logging.getLogger("pyvips")
            if log.level == logging.NOTSET:
                # It tells every call at DEBUG, and warns of images without saying which.
                log.setLevel(logging.ERROR)
            _loaded = vips
        return _loaded


def probe(data: bytes, config: ImagesConfig) -> Header | Rejected:
    """The header of an image that may be decoded, else why not. Decodes nothing."""
    kind = recognise(data)
    if kind is None:
        return Rejected("not_an_image", f"{len(data)} bytes without the signature of an image")
    if kind not in _LOADERS:
        return Rejected("unsupported", f"an image, but none of {', '.join(_LOADERS)}")
    vips = load()
    try:
        image = vips.Image.new_from_buffer(data, "", access="sequential")
        fields = set(image.get_fields())
        loader = image.get("vips-loader")
        frames = _number(image, fields, "n-pages", 1)
        interlaced = _number(image, fields, "interlaced", 0) != 0
        foreign = "icc-profile-data" in fields or image.interpretation not in _SCREEN or image.bands == 2
        turned = _number(image, fields, "orientation", 1) >= 5  # EXIF 2.32, tag 0x0112: 5 to 8 swap the sides
    except vips.Error:
        if ends_early(data, kind):
            return Rejected("truncated", f"a {kind} that ends inside its header, {len(data)} bytes")
        if kind == "avif":  # HEIF is a large family; sequences, for one, are not read by libvips 8.18
            return Rejected("unsupported", "an AVIF of a kind that libvips does not read")
        return Rejected("not_an_image", f"the signature of a {kind}, but no header that can be read")
    if loader != _LOADERS[kind][1]:
        return Rejected("unsupported", f"the signature of a {kind}, but libvips reads it as something else")
    if kind == "png":
        frames = png_frames(data)
    width, height = (image.height, image.width) if turned else (image.width, image.height)
    whole = kind == "avif" or (kind in _PROGRESSIVE and interlaced)
    header = Header(kind, width, height, frames, streamable=not whole, foreign=foreign)
    return judge(header, len(data), config) or header


def convert(data: bytes, config: ImagesConfig, sizes: Sequence[Size] | None = None) -> Picture | Rejected:
    """An image's header, digest and sizes (config's, unless others are given), or why it is not kept.

    Every size: first frame, upright, sRGB, no metadata, never larger than the original; transparency kept where the
    format can, else laid on the background. Decoded once, at the largest size that is needed. All sizes or none.
    """
    header = probe(data, config)
    if isinstance(header, Rejected):
        return header
    sizes = config.sizes if sizes is None else sizes
    plans = [(size, plan(size, header.width, header.height)) for size in sizes]
    checked = plans or [(_CHECK, plan(_CHECK, header.width, header.height))]
    vips = load()
    try:
        base = vips.Image.thumbnail_buffer(
            data,
            max(cut.width for _, cut in checked),
            height=max(cut.height for _, cut in checked),
            size="force",  # to exactly this: `plan` never enlarges, and each size is cut from it to its own proportions
            option_string="[fail_on=truncated]",  # the argument fail_on is ignored here (libvips #5195)
            # A conversion of colours takes more than twice as long as all the rest: only where it changes something.
            **({"output_profile": "srgb"} if header.foreign else {}),
        ).copy_memory()  # decodes here; what is not in memory can be read only once
    except vips.Error:
        return Rejected("truncated", f"{header.width}x{header.height} {header.format}: its data end early or are damaged")
    variants = []
    for size, cut in plans:
        kind = header.format if size.format == "keep" else size.format
        try:
            encoded = _encode(_cut(base, cut), kind, size.quality, config.background)
        except vips.Error:
            return Rejected("encode_failed", f"size {size.name!r} cannot be written as {kind}")
        variants.append(Variant(size.name, cut.box_width, cut.box_height, kind, encoded))
    return Picture(header, hashlib.sha256(data).hexdigest(), tuple(variants))


def _number(image: _Image, fields: set[str], name: str, default: int) -> int:
    value = image.get(name) if name in fields else default
    return value if isinstance(value, int) else default


def _cut(base: _Image, cut: Plan) -> _Image:
    image = base
    if (image.width, image.height) != (cut.width, cut.height):
        image = image.thumbnail_image(cut.width, height=cut.height, size="force")
    if (cut.width, cut.height) != (cut.box_width, cut.box_height):
        image = image.crop(cut.left, cut.top, cut.box_width, cut.box_height)
    return image


def _encode(image: _Image, kind: str, quality: int, background: tuple[int, int, int]) -> bytes:
    if kind in _OPAQUE and image.hasalpha():
        image = image.flatten(background=background)
    if kind == "jpeg":
        return image.jpegsave_buffer(Q=quality, optimize_coding=True, keep="none")
    if kind == "webp":
        return image.webpsave_buffer(Q=quality, keep="none")
    if kind == "avif":
        return image.heifsave_buffer(Q=quality, compression="av1", effort=_AVIF_EFFORT, keep="none")
    if kind == "gif":
        return image.gifsave_buffer(keep="none")
    return image.pngsave_buffer(keep="none")
