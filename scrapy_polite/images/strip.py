"""Takes what an image tells besides its picture out of its file, without decoding it. Pure.

Everything is left out that is not known to be needed to show the picture: place, time, camera, owner, comments, texts,
thumbnails, further pictures and films behind the end. The bytes of the pixels are copied as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_polite.images.stripgif import gif_stripped
from scrapy_polite.images.stripjpeg import jpeg_stripped
from scrapy_polite.images.strippng import png_stripped
from scrapy_polite.images.stripwebp import webp_stripped

if TYPE_CHECKING:
    from collections.abc import Callable

_WAYS: dict[str, Callable[[bytes], bytes | None]] = {
    "jpeg": jpeg_stripped,
    "png": png_stripped,
    "webp": webp_stripped,
    "gif": gif_stripped,
}


def stripped(data: bytes, kind: str) -> bytes | None:
    """The same image (kind as `signature.recognise` tells it) without metadata; None where that cannot be done safely.

    Its pixels, colour profile, way up, transparency and animation are the same. What was stripped before is answered as
    it is. Takes time in proportion to the length of the data, and raises nothing, whatever the bytes.
    """
    way = _WAYS.get(kind)
    return None if way is None else way(data)
