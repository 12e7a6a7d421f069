"""How the sizes of an image are cut, and where they and the original are stored. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from scrapy_polite.images.policy import Size

_SUFFIXES = {"jpeg": ".jpg", "png": ".png", "webp": ".webp", "gif": ".gif", "avif": ".avif"}
_URL_SUFFIXES = {".jpeg": ".jpg", ".jpe": ".jpg", ".jfif": ".jpg"}
_URL_SUFFIXES.update({suffix: suffix for suffix in (*_SUFFIXES.values(), ".svg")})


@dataclass(frozen=True, slots=True)
class Plan:
    """How one size is made of one image, in pixels.

    The image is resized to width x height; of that, crop_width x crop_height at (left, top) is kept, and put into the
    middle of a result of box_width x box_height. Only a size with a box has a result that is larger than the crop.
    """

    width: int
    height: int
    left: int
    top: int
    crop_width: int
    crop_height: int
    box_width: int
    box_height: int

    @property
    def cuts(self) -> bool:
        return (self.width, self.height) != (self.crop_width, self.crop_height)

    @property
    def pads(self) -> bool:
        return (self.crop_width, self.crop_height) != (self.box_width, self.box_height)


def plan(size: Size, width: int, height: int) -> Plan:
    """The geometry of one size for an image of width x height: crop in the centre, no side 0, the image never enlarged."""
    want_width, want_height = min(size.width or width, width), min(size.height or height, height)
    by_width, by_height = (size.width or width) / width, (size.height or height) / height
    left = top = 0
    if size.fit == "fill":
        new_width, new_height = want_width, want_height
    elif size.fit == "inside":
        scale = min(1.0, by_width, by_height)
        new_width = want_width = min(want_width, max(1, round(width * scale)))
        new_height = want_height = min(want_height, max(1, round(height * scale)))
    else:
        scale = min(1.0, max(by_width, by_height))
        new_width, new_height = max(want_width, round(width * scale)), max(want_height, round(height * scale))
        left, top = (new_width - want_width) // 2, (new_height - want_height) // 2
    box = (size.width or want_width, size.height or want_height) if size.box else (want_width, want_height)
    return Plan(new_width, new_height, left, top, want_width, want_height, *box)


def made_format(size: Size, original: str) -> str:
    """The format that a size is written in, for an original of this one; what is drawn (svg) cannot be kept: png."""
    if size.format != "keep":
        return size.format
    return "png" if original == "svg" else original


def original_path(url: str) -> str:
    """Where an image is stored: Scrapy's `full/<SHA-1 of the URL>` with the URL's own image suffix, or Scrapy's `.jpg`.

    It follows from the URL alone, since it is needed before the download to see whether the image is there already.
    """
    return f"full/{_digest(url)}{url_suffix(url)}"


def variant_path(url: str, size: str, format: str) -> str:  # noqa: A002 - the word of the settings
    """Where a size of an image is stored: `thumbs/<size>/<SHA-1 of the URL>`; for "keep" with the original's suffix.

    Of what is drawn (svg) no size keeps the format: they are PNG.
    """
    suffix = _SUFFIXES.get(format) or url_suffix(url)
    return f"thumbs/{size}/{_digest(url)}{'.png' if suffix == '.svg' else suffix}"


def url_suffix(url: str) -> str:
    """The image suffix that the path of a URL ends with (as ".jpg", ".png"), or ".jpg"."""
    try:
        path = urlsplit(url).path
    except ValueError:
        return ".jpg"
    return _URL_SUFFIXES.get(PurePosixPath(path).suffix.lower(), ".jpg")


def _digest(url: str) -> str:
    return hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
