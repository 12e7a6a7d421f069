"""What is seen of a body before it is decoded."""

from __future__ import annotations

import gzip
import zlib

import brotli
import pytest

from scrapy_polite.backoff.marks import LOOKED_AT
from scrapy_polite.bodies import beginning

HTML = {"content-type": ["text/html"]}
PAGE = b"<html><title>Just a moment...</title></html>"


def coded(coding: str) -> dict[str, list[str]]:
    return {**HTML, "content-encoding": [coding]}


def raw(body: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(body) + compressor.flush()


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("identity", PAGE),
        ("gzip", gzip.compress(PAGE, mtime=0)),
        ("X-GZip", gzip.compress(PAGE, mtime=0)),
        ("deflate", zlib.compress(PAGE)),
        ("deflate", raw(PAGE)),
        ("br", brotli.compress(PAGE)),
        ("gzip, br", brotli.compress(gzip.compress(PAGE, mtime=0))),
    ],
)
def test_a_body_is_seen_without_its_codings(coding: str, body: bytes) -> None:
    assert beginning(body, coded(coding)) == PAGE


def test_a_body_in_zstandard_is_seen_where_python_can_read_it() -> None:
    zstd = pytest.importorskip("backports.zstd")
    assert beginning(zstd.compress(PAGE), coded("zstd")) == PAGE


@pytest.mark.parametrize(("coding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress)])
def test_of_a_body_that_would_grow_without_end_no_more_is_made_than_is_looked_at(coding: str, compress: object) -> None:
    assert callable(compress)
    bomb = compress(b"a" * 20_000_000)
    assert beginning(bomb, coded(coding)) == b"a" * (LOOKED_AT + 1)
    assert beginning(bomb, coded(coding), 100) == b"a" * 101


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "unheard-of", "gzip, gzip, gzip, gzip"])
def test_of_a_body_that_cannot_be_decoded_nothing_is_known(coding: str) -> None:
    assert beginning(b"\x00\xffnothing of the kind", coded(coding)) is None


def test_the_beginning_of_a_body_that_was_cut_short_is_seen() -> None:
    body = gzip.compress(bytes(range(256)) * 40 + PAGE, 0)
    found = beginning(body[:-30], coded("gzip"))
    assert found is not None
    assert found.startswith(bytes(range(256)))


def test_what_is_no_text_is_not_looked_into() -> None:
    assert beginning(gzip.compress(PAGE, mtime=0), {"content-type": ["image/png"], "content-encoding": ["gzip"]}) == b""
    assert beginning(b"", coded("gzip")) == b""
    assert beginning(b"no gzip", coded("gzip"), 0) == b""
