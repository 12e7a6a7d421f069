"""The beginning of a body as its reader sees it: it is listened to before HttpCompression has decoded it."""

from __future__ import annotations

import zlib
from contextlib import suppress
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from scrapy_polite.backoff.headers import values
from scrapy_polite.backoff.marks import LOOKED_AT
from scrapy_polite.backoff.refusals import is_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_polite.backoff.headers import Headers

__all__ = ["beginning"]

MOST_CODINGS: Final = 3
"""Codings that are taken off. Servers apply one; more are somebody's joke."""


def beginning(body: bytes, headers: Headers, most: int = LOOKED_AT) -> bytes | None:
    """The first ``most`` bytes of a body, and one more if it has more; its content codings taken off, whatever it would be as
    a whole.

    b"" of what nobody looks into: what is no text, or where ``most`` is 0. None where it cannot be decoded: an unknown
    coding, or a damaged body.
    """
    if not body or not most or not is_text(headers):
        return b""
    codings = [coding.strip(" \t").lower() for line in values(headers, "content-encoding") for coding in line.split(",")]
    codings = [coding for coding in codings if coding not in ("", "identity")]
    if len(codings) > MOST_CODINGS:
        return None
    for coding in reversed(codings):
        decode = _DECODERS.get(coding)
        if decode is None:
            return None
        try:
            body = decode(body, most + 1)
        except Exception:
            # Each decoder has exceptions of its own for what a server may send, and none of them is the crawl's business.
            return None
    return body[: most + 1]


def _gzip(body: bytes, most: int) -> bytes:
    return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(body, most)


def _deflate(body: bytes, most: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(body, most)
    except zlib.error:
        # Some servers leave zlib's envelope away (RFC 9110, 8.4.1.2, note).
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body, most)


def _brotli(body: bytes, most: int) -> bytes:
    decoded: bytes = _first_of("brotli", "brotlicffi").Decompressor().process(body, output_buffer_limit=most)
    return decoded


def _zstd(body: bytes, most: int) -> bytes:
    module = _first_of("compression.zstd", "backports.zstd", "zstandard")
    reader = module.ZstdFile(BytesIO(body)) if hasattr(module, "ZstdFile") else module.ZstdDecompressor().stream_reader(body)
    decoded: bytes = reader.read(most)
    return decoded


def _first_of(*names: str) -> Any:
    """The first of these modules that is there. Scrapy asks for a coding only where it can read it, and with one of them."""
    for name in names:
        with suppress(ImportError):
            return import_module(name)
    raise ImportError(f"none of {', '.join(names)}")


_DECODERS: Final[dict[str, Callable[[bytes, int], bytes]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
