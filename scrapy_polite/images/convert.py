"""Decodes an image once and makes its sizes, with libvips. Synchronous: for a thread, never for the event loop.

Whatever goes wrong with an image is an answer about that image (`Rejected`): nothing is raised, and nothing is left
behind in libvips for the next one.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from scrapy_polite.images.animation import frames_of, stays_animated
from scrapy_polite.images.avifcost import tiled
from scrapy_polite.images.libvips import LOADERS, load, number, quiet
from scrapy_polite.images.making import Decoded, made, picture_blurhash, picture_hash
from scrapy_polite.images.parts import laden
from scrapy_polite.images.plan import Plan, made_format, plan
from scrapy_polite.images.policy import Header, ImagesConfig, Picture, Rejected, Size, Variant, admit, allowed_frames, judge
from scrapy_polite.images.profiles import heavy
from scrapy_polite.images.signature import ends_early, png_frames, recognise
from scrapy_polite.images.strip import stripped
from scrapy_polite.images.svg import drawn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_polite.images.libvips import Vips

__all__ = ["convert", "load", "probe"]

_PROGRESSIVE = frozenset({"jpeg", "png"})  # interlaced, these are decoded as a whole; a GIF is one frame in memory anyway
# What needs no conversion, unless it carries a profile; grey with transparency does, for a background in colour.
_SCREEN = frozenset({"srgb", "b-w"})
# Where the picture is whole, libvips does not ask for what should follow: further frames, the end.
_READ_IN_PART = frozenset({"png", "gif"})
# To find out whether an image is whole when no size is wanted, it is decoded at the least cost that its format allows.
# A hash is of a picture at least so large.
_CHECK = Size("", 64, 64)
_LONGEST_ERROR = 200  # characters: it may hold parts of the image


def probe(data: bytes, config: ImagesConfig) -> Header | Rejected:
    """The header of an image that may be decoded, else why not. Decodes nothing (but an SVG, which is drawn for it).

    Raises only what `load` does: ImportError.
    """
    vips, kind = load(), recognise(data)
    raster = _raster(data, kind, config)
    if isinstance(raster, Rejected):
        return raster
    with quiet(vips):
        try:
            return _probe(vips, raster, kind, len(data), config)
        except Exception as error:  # whatever pyvips makes of an image, it must not end the images of the crawl
            return Rejected("unsupported", f"its header cannot be read: {_shown(error)}")


def convert(data: bytes, config: ImagesConfig, sizes: Sequence[Size] | None = None) -> Picture | Rejected:
    """An image's header, digest and sizes (config's, unless others are given), or why it is not kept.

    Every size: upright, sRGB, no metadata, the picture in it never larger than the original; transparency kept where the
    format can, else laid on the background; the first frame, or all where config keeps animations and the format can.
    Decoded once, at the largest size that is needed. All sizes or none. Raises only what `load` does: ImportError.
    """
    vips, kind = load(), recognise(data)
    raster = _raster(data, kind, config)
    if isinstance(raster, Rejected):
        return raster
    with quiet(vips):
        try:
            header = _probe(vips, raster, kind, len(data), config)
            if isinstance(header, Rejected):
                return header
            return _convert(vips, data, raster, header, config, config.sizes if sizes is None else sizes)
        except Exception as error:
            return Rejected("encode_failed", f"unexpected, please report it: {_shown(error)}")


def _raster(data: bytes, kind: str | None, config: ImagesConfig) -> bytes | Rejected:
    """What libvips is given to decode: the image itself, or the picture (a PNG) of one that is drawn."""
    if kind != "svg":
        return data
    return admit(kind, len(data), config) or drawn(data, config.max_pixels)


def _probe(vips: Vips, data: bytes, kind: str | None, length: int, config: ImagesConfig) -> Header | Rejected:
    """The header in data; kind and length are those of the image, which may be another one than its raster's."""
    if kind is None:
        return Rejected("not_an_image", f"{length} bytes without the signature of an image")
    read_as = "png" if kind == "svg" else kind
    if read_as not in LOADERS:
        return Rejected("unsupported", f"an image, but none of {', '.join(LOADERS)}")
    refused = admit(kind, length, config) or laden(data, kind, allowed_frames(config))
    if refused is not None:
        return refused
    try:
        image = vips.Image.new_from_buffer(data, "", access="sequential")
        loader = image.get("vips-loader")
        frames = number(image, "n-pages", 1)
        interlaced = number(image, "interlaced", 0) != 0
        profile = image.get("icc-profile-data") if image.get_typeof("icc-profile-data") else None
        foreign = profile is not None or image.interpretation not in _SCREEN or image.bands == 2
        turned = number(image, "orientation", 1) >= 5  # EXIF 2.32, tag 0x0112: 5 to 8 swap the sides
    except vips.Error:
        if ends_early(data, kind):
            return Rejected("truncated", f"a {kind} that ends inside its header, {len(data)} bytes")
        if kind == "avif":  # HEIF is a large family; sequences, for one, are not read by libvips 8.18
            return Rejected("unsupported", "an AVIF of a kind that libvips does not read")
        return Rejected("not_an_image", f"the signature of a {kind}, but no header that can be read")
    if loader != LOADERS[read_as][1]:
        return Rejected("unsupported", f"the signature of a {kind}, but libvips reads it as something else")
    if isinstance(profile, bytes) and heavy(profile):
        return Rejected("unsupported", f"a {kind} with a colour profile of too many parts")
    if kind == "png":  # which libvips reads as a still picture, and says nothing
        frames = png_frames(data)
    width, height = (image.height, image.width) if turned else (image.width, image.height)
    whole = kind == "avif" or (kind in _PROGRESSIVE and interlaced)
    header = Header(kind, width, height, frames, streamable=not whole, foreign=foreign)
    return judge(header, length, config) or (tiled(data, config) if kind == "avif" else None) or header


def _convert(
    vips: Vips, data: bytes, raster: bytes, header: Header, config: ImagesConfig, sizes: Sequence[Size]
) -> Picture | Rejected:
    if header.format in _READ_IN_PART and ends_early(data, header.format):
        return Rejected("truncated", f"{header.width}x{header.height} {header.format}: it has no end")
    plans = [(size, plan(size, header.width, header.height)) for size in sizes]
    try:
        decoded = _decode(vips, raster, header, config, plans)
    except vips.Error:
        return Rejected("truncated", f"{header.width}x{header.height} {header.format}: its data end early or are damaged")
    original = stripped(data, header.format) if config.original == "stripped" else data
    if original is None:
        return Rejected("unsupported", f"POLITE_IMAGES['original']: the metadata of this {header.format} cannot be taken out")
    variants = []
    for size, cut in plans:
        kind = made_format(size, header.format)
        try:
            encoded, frames = made(vips, decoded, size, cut, kind, config.background)
        except vips.Error:
            return Rejected("encode_failed", f"size {size.name!r} cannot be written as {kind}")
        variants.append(Variant(size.name, cut.box_width, cut.box_height, kind, encoded, frames))
    seen = (decoded.still, config.background)
    return Picture(
        header,
        hashlib.sha256(original).hexdigest(),
        tuple(variants),
        original=None if config.original == "none" else original,
        perceptual_hash=picture_hash(*seen) if config.perceptual_hash else None,
        blurhash=picture_blurhash(*seen) if config.blurhash else None,
    )


def _decode(vips: Vips, data: bytes, header: Header, config: ImagesConfig, plans: Sequence[tuple[Size, Plan]]) -> Decoded:
    """The image at the largest size that is needed, upright, in sRGB or grey, in memory: it is decoded here, once.

    Exactly so large on both sides, whatever the proportions: `plan` never enlarges, and each size is cut from it to its own.
    Raises `vips.Error` where the data end early or are damaged.
    """
    still = [cut for _, cut in plans]
    if not still or config.perceptual_hash or config.blurhash:
        still.append(plan(_CHECK, header.width, header.height))
    # Only where a conversion of colours changes something: it takes a JPEG of 12 megapixels 15 % more time, a PNG 3 %.
    colours = {"output_profile": "srgb"} if header.foreign else {}
    width, height = max(cut.width for cut in still), max(cut.height for cut in still)
    moving = [cut for size, cut in plans if stays_animated(size, header, config)]
    if moving:
        most_width, most_height = max(cut.width for cut in moving), max(cut.height for cut in moving)
        first, frames, timing = frames_of(
            vips,
            data,
            lambda frame: frame.thumbnail_image(width, height=height, size="force", **colours),
            lambda frame: frame.thumbnail_image(most_width, height=most_height, size="force", **colours),
        )
        return Decoded(first, frames, timing)
    image = vips.Image.thumbnail_buffer(
        data,
        width,
        height=height,
        size="force",
        option_string="[fail_on=truncated]",  # the argument fail_on is ignored here (libvips #5195)
        **colours,
    )
    return Decoded(image.copy_memory())  # what is not in memory can be read only once


def _shown(error: Exception) -> str:
    text = repr(error)  # its control characters, which may come from the image, are escaped
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]}..."
