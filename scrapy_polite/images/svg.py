"""SVG, drawn as a PNG: in a process of its own for each, since nothing else can end it.

A few kilobytes of SVG can keep librsvg busy for hours, or have it take gigabytes (uses within uses, masks within masks,
chains of filters, a picture in a `data:` URL), and it cannot be stopped from another thread. In the process of the
crawler the loader for SVG stays blocked.

librsvg runs no scripts. Given bytes without an address, it loads nothing but `data:` URLs: no file, nothing from the
network, no entities or includes from elsewhere. Texts are drawn in the fonts that the machine has.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from scrapy_polite.images.policy import Rejected
from scrapy_polite.images.signature import ends_early
from scrapy_polite.images.svgchild import MEMORY

MOST_BYTES = 4 * 1024 * 1024
"""An SVG is text that is read as a whole; drawings and maps on the web have less."""
CPU_SECONDS = 5
_WALL_SECONDS = 30
"""For a machine so busy that a process does not get its processor time."""
# The child gets no secrets that the crawler's environment may hold.
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "FONTCONFIG_FILE", "FONTCONFIG_PATH")


def drawn(data: bytes, max_pixels: int, seconds: int = CPU_SECONDS) -> bytes | Rejected:
    """An SVG at its own size, as a PNG with transparency; or why it is not drawn. Blocks: not for the event loop.

    Takes no more than so many seconds of processor time, of which starting the process is 0.1 s. Raises nothing.
    """
    if len(data) > MOST_BYTES:
        return Rejected("too_many_bytes", f"an SVG of {len(data)} bytes, {MOST_BYTES} are allowed")
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, sys.path))
    try:
        child = subprocess.run(  # noqa: S603 - our own module, and two numbers
            [sys.executable, "-m", "scrapy_polite.images.svgchild", str(max_pixels), str(seconds)],
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            cwd="/",
            timeout=_WALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Rejected("unsupported", f"an SVG that is not drawn within {_WALL_SECONDS} s")
    except OSError as error:
        return Rejected("unsupported", f"no process could be started to draw an SVG: {error}")
    if child.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return Rejected("unsupported", f"an SVG that takes more than {seconds} s to draw")
    line, _, picture = child.stdout.partition(b"\n")
    said, *sides = line.decode("ascii", "replace").split(" ")
    if said == "drawn" and child.returncode == 0:
        return picture
    if said == "too_many_pixels":
        return Rejected(said, f"{'x'.join(sides)} svg, {max_pixels} pixels are allowed")
    if said == "unreadable":
        if ends_early(data, "svg"):
            return Rejected("truncated", f"an SVG without its end, {len(data)} bytes")
        return Rejected("unsupported", "an SVG that librsvg does not draw")
    return Rejected("unsupported", f"an SVG that cannot be drawn in {MEMORY // 2**20} MB of memory")
