"""The process in which one SVG is drawn: started by `images.svg`, and limited in time and memory by itself.

Reads the SVG from the standard input, writes a line that says what came of it and, where it could be drawn, a PNG.
"""

from __future__ import annotations

import resource
import sys
from typing import TYPE_CHECKING, Protocol, cast

from scrapy_polite.images.libvips import load

if TYPE_CHECKING:
    from scrapy_polite.images.libvips import Image

MEMORY = 1 << 30
"""Bytes of address space; an empty process with libvips has 0.3 GB."""


class _Svg(Protocol):
    """The one loader that is open in this process and in no other."""

    def svgload_buffer(self, data: bytes) -> Image: ...


class _Writer(Protocol):
    def pngsave_buffer(self, *, compression: int, keep: str) -> bytes: ...


def main() -> None:
    """Draw the SVG on the standard input at its own size. Arguments: the most pixels, the most seconds of processor time."""
    most, seconds = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    data = sys.stdin.buffer.read()
    vips = load()
    vips.operation_block_set("VipsForeignLoadSvgBuffer", False)
    answer = b""
    try:
        image = cast("_Svg", vips.Image).svgload_buffer(data)
        said = f"drawn {image.width} {image.height}"
        if image.width * image.height > most:
            said = f"too_many_pixels {image.width} {image.height}"
        else:
            answer = cast("_Writer", image).pngsave_buffer(compression=1, keep="none")
    except Exception:  # pyvips raises UnicodeDecodeError too, where the words of an error are not text
        said = "unreadable 0 0"
    sys.stdout.buffer.write(said.encode() + b"\n" + answer)


if __name__ == "__main__":
    main()
