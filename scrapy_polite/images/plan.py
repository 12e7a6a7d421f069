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
_URL_SUFFIXES = {".jpeg": ".jpg", ".jpe": ".jpg", ".jfif": ".jpg", **{suffix: suffix for suffix in _SUFFIXES.values()}}


@dataclass(frozen=True, slots=True)
class Plan:
    """How one size is cut from one image: resized to width x height; the box at (left, top) is kept. Pixels."""

    width: int
    height: int
    left: int
    top: int
    box_width: int
    box_height: int


def plan(size: Size, width: int, height: int) -> Plan:
    """The geometry of one size for an image of width x height. No side is 0, none longer than the image's own."""
    want_width, want_height = min(size.width or width, width), min(size.height or height, height)
    if size.fit == "fill":
        return Plan(want_width, want_height, 0, 0, want_width, want_height)
    by_width, by_height = (size.width or width) / width, (size.height or height) / height
    if size.fit == "inside":
        scale = min(1.0, by_width, by_height)
        new_width = min(want_width, max(1, round(width * scale)))
        new_height = min(want_height, max(1, round(height * scale)))
        return Plan(new_width, new_height, 0, 0, new_width, new_height)
    scale = min(1.0, max(by_width, by_height))
    new_width, new_height = max(want_width, round(width * scale)), max(want_height, round(height * scale))
    return Plan(
        new_width,
        new_height,
        (new_width - want_width) // 2,
        (new_height - want_height) // 2,
        want_width,
        want_height,
    )


def original_path(url: str) -> str:
    """Where an image is stored: Scrapy's `full/<SHA-1 of the URL>` with the URL's own image suffix, or Scrapy's `.jpg`.

    It follows from the URL alone, since it is needed before the download to see whether the image is there already.
    """
    return f"full/{_digest(url)}{url_suffix(url)}"


def variant_path(url: str, size: str, format: str) -> str:  # noqa: A002 - the word of the settings
    """Where a size of an image is stored: `thumbs/<size>/<SHA-1 of the URL>`; for "keep" with the original's suffix."""
    return f"thumbs/{size}/{_digest(url)}{_SUFFIXES.get(format) or url_suffix(url)}"


def url_suffix(url: str) -> str:
    """The image suffix that the path of a URL ends with (as ".jpg", ".png"), or ".jpg"."""
    try:
        path = urlsplit(url).path
    except ValueError:
        return ".jpg"
    return _URL_SUFFIXES.get(PurePosixPath(path).suffix.lower(), ".jpg")


def _digest(url: str) -> str:
    return hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
