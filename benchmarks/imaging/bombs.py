"""Small files with giant canvases. Each is written here, byte by byte, and not encoded: none takes its own memory to make.

Sources: PNG (third edition) sections 5.3, 8.2, 10 and 11; JPEG ITU-T T.81 annexes B, F and G; WebP RFC 9649 section 3; GIF89a
sections 18 to 27 and appendix F; the checksum of zlib RFC 1950 section 8.2.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ADLER = 65521
"""RFC 1950 section 9."""
BLOCK = 1 << 20
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""PNG section 8.2: the first column and row of each pass, and the steps to the next ones."""


def bombs() -> dict[str, bytes]:
    """By what each of them is."""
    return {
        "PNG 13000x13000": png(13_000),
        "PNG 20000x20000": png(20_000),
        "PNG 40000x40000": png(40_000),
        "PNG 13000x13000, interlaced": png(13_000, interlaced=True),
        "JPEG 13000x13000": jpeg(13_000),
        "JPEG 13000x13000, progressive": jpeg(13_000, progressive=True),
        "WebP 13000x13000": webp(13_000),
        "AVIF 16384x16384": zlib.decompress(base64.b64decode(AVIF)),
        "GIF 1000x1000, 400 frames": gif(1_000, 400),
    }


def png(side: int, *, interlaced: bool = False) -> bytes:
    """Black, 8 bits of RGB."""
    passes = PASSES if interlaced else ((0, 0, 1, 1),)
    length = 0
    for left, top, right, down in passes:
        # Each row begins with the number of its filter (section 7.3).
        length += -(-(side - top) // down) * (1 + 3 * -(-(side - left) // right))
    head = side.to_bytes(4, "big") * 2 + bytes((8, 2, 0, 0, int(interlaced)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*one) for one in ((b"IHDR", head), (b"IDAT", zeros(length)), (b"IEND", b"")))


def chunk(name: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")


def zeros(length: int) -> bytes:
    """So many bytes of zero, as zlib compresses them: the same block again and again."""
    packer = zlib.compressobj(9)
    start = packer.compress(bytes(BLOCK)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(BLOCK)) + packer.flush(zlib.Z_FULL_FLUSH)
    whole, rest = divmod(length, BLOCK)
    end = zlib.compressobj(9, wbits=-15)
    last = end.compress(bytes(rest)) + end.flush()
    # Of nothing but zeros the first sum stays 1, and the second one counts them.
    return start + again * (whole - 1) + last + ((length % ADLER) << 16 | 1).to_bytes(4, "big")


def jpeg(side: int, *, progressive: bool = False) -> bytes:
    """Grey: every code is the one bit 0, which says "as the block before" and "nothing else in this block"."""
    blocks = (-(-side // 8)) ** 2
    table = b"\x01" + bytes(15) + b"\x00"  # one code, of one bit, for 0
    parts = [
        segment(0xDB, b"\x00" + b"\x01" * 64),
        segment(0xC2 if progressive else 0xC0, b"\x08" + side.to_bytes(2, "big") * 2 + b"\x03" + COMPONENTS),
        segment(0xC4, b"\x00" + table + b"\x10" + table),
        # A progressive one may end with its first scan, of what is constant in each block (section G.1.1.1.1).
        segment(0xDA, b"\x03\x01\x00\x02\x00\x03\x00\x00" + (b"\x00\x00" if progressive else b"\x3f\x00")),
        bytes(3 * blocks * (1 if progressive else 2) // 8 + 1),
    ]
    return b"\xff\xd8" + b"".join(parts) + b"\xff\xd9"


COMPONENTS = b"\x01\x11\x00\x02\x11\x00\x03\x11\x00"
"""Three, each sampled everywhere."""


def segment(marker: int, data: bytes) -> bytes:
    return bytes((0xFF, marker)) + (len(data) + 2).to_bytes(2, "big") + data


def webp(side: int) -> bytes:
    """Lossless: a prefix code with one symbol takes no bits at all, so that no pixel does."""

    def bits() -> Iterator[tuple[int, int]]:
        yield 0x2F, 8
        yield side - 1, 14
        yield side - 1, 14
        yield 0, 4  # no alpha, version 0
        yield 0, 3  # no transform, no cache of colours, one group of codes
        for _ in range(5):
            yield 0b0001, 4  # a simple code, of one symbol, of one bit, which is 0

    number, length = 0, 0
    for value, width in bits():
        number |= value << length
        length += width
    data = number.to_bytes(-(-length // 8) + 8, "little")
    body = b"WEBPVP8L" + len(data).to_bytes(4, "little") + data + bytes(len(data) % 2)
    return b"RIFF" + len(body).to_bytes(4, "little") + body


def gif(side: int, frames: int) -> bytes:
    """Two colours; every frame the first of them."""
    size = side.to_bytes(2, "little") * 2
    codes = lzw(side * side)
    parts = b"".join(bytes((len(codes[at : at + 255]),)) + codes[at : at + 255] for at in range(0, len(codes), 255))
    frame = b"\x21\xf9\x04\x04\x02\x00\x00\x00" + b"\x2c" + bytes(4) + size + b"\x00" + b"\x02" + parts + b"\x00"
    return b"GIF89a" + size + b"\x80\x00\x00" + b"\x00\x00\x00\xff\xff\xff" + frame * frames + b"\x3b"


def lzw(pixels: int) -> bytes:
    """So many pixels of colour 0, up to 8 million (then the table would be full). Each code stands for one pixel more than the
    code before, and is a bit longer at every power of 2."""
    number, length, width, run = 4, 3, 3, 1
    while pixels:
        if 4 + run == 1 << width:
            width += 1
        here = min(run, pixels)
        number |= (0 if here == 1 else 4 + here) << length
        length += width
        pixels -= here
        run += 1
    width += 4 + run == 1 << width
    number |= 5 << length
    return number.to_bytes(-(-(length + width) // 8), "little")


AVIF = (
    "eNpjYGCQSSupLEgsy0xjAILczDRDEDs3MxHIZxTPTS1JZIAAxYyUnCIom6EgM7mEAQ2YZObkJ4MYLg4MTAyMIBajNYRmYOD3AYoBgUA7TIRhHxBbZGbmgS"
    "0Gy4oCOalgZUA1iWUGhgxIgowgJa4VEHfyFWSW5DJAVTKEZRYUFYBNK0jOB9I8iWWGzo3yPCB5kcziglSIhQ5QzCBQkFmRCWIwc3BwACmxzIJcmDcZGRiZ"
    "G5mYgSypzKLUNKgoX3JKcTLYV0D7BIRyUxJLhBi4uOW/1////3cRkxQvh9EuOQnmjQ8fhpX///9j8wcFhi/nT2l9l6xcwuRU6Kxc/vVyhfbigv6JKUs0dp"
    "+dpv1fee2ebl67WvWCd0eesqg8VulpbHrLu7zP+LXBt9fr2Hez3zpmz6K2oXfWo8dGXn1uCdlG+o2XM176uHatvPvr99Y1ZoVch7/FNF8SZ3rY1MWSMPX4"
    "D9Mkj3/SFlsu3toUVxJQ9eblzKYNRf+M77uqbdx1aUXDB6fU0LXKZk+/Xffcusie4XxR4x2RzwrvmlYVHVLfZSLB866j7N09seOslZdKck+/+bJPMtH9v8"
    "zJ4EMiz5/8fh/0cclXfX5JD/ulBk0ly9+xb49W43y4Mjd/2a3W46sM7yyeqC/T6ykyZUPgdI4NNXBfu1euOW19doqNjs+LZZJpsdyip/Ibi79GBhp7+LW2"
    "Pnq8l0PrxOyajssPXohFzWk8ud1+2WLfq4ySNxSC7x5/+P7+DP6NT75YTqmefW0+b41b33OZiUox9ltmS8+YXHsrPXvz65jP6YVzeFb5iizOaDVcdDEgRL"
    "6ENXz+qO2jto80259DbWf8W3DlYr3NDa4zFRHr/NR2by52F1d992LlZU2pX7qGE5tenN607Eqm+52gMhdf+Z+nPvoeS2hYYLLZMKKeyXBu6HO7XdprzRiy"
    "Prx4zDlTSeDQlhV3dHw6HwSaB3iKSP/1ydAQE4lwOeuYpXZJccKW+yfea4korG3hO3B+6WrfUOMlCU5nH2/zVTvqIVO8XFDZ3L9bzvpKCaMP8/f1S+e5au"
    "1eUp74YcbtTwvElf4Ler78ln5Q5dxMs55fnzPu1NqFvQpcf5wvZ9O1rx/0N52drbL+yfH9hi++9bx/pn9Yldv1hvmiDW9TNEtMzr5NOH9KU+jksop5HNEX"
    "U4ScvxVdP7AkkYX18tWpcja/go/P+7dx9duFm7eGhCttn+Azf8sXl+ubXtmcjHY8Wblg2e/ibbsn8d6e0vp15X6p25tuylb7qK9YKa7XWlJ5Yul/xYaYWL"
    "l04w+jNozaQC0bRrPlaHIYtWE0W45my1EbhroNNLcA2MNmg3TtPT21GEBdcjYGIUZmcOcehKUYWSEdfSCWhrLjgFgDqgY0ZiDMhFCf2c4CpmHdd4tkBoYX"
    "zAiajYFhAjsDC1DGwMjQgHEihM0I6vYvgIobGhgwLoCY+P8/0IYFEBNBAwjMSGwQAAAe6DLK"
)
"""Black; an encoder made it, with 3.5 GB. Each of its parts is the same, so that it packs well."""
