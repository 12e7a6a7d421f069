"""Animations: every frame decoded for itself, in one pass, and written again with its time on the screen.

libvips holds an animation as one tall picture, frame below frame, and `thumbnail` resizes it as one: the last line of a
frame then has 5 % of the next one in it. So each frame is taken out before it is resized.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_polite.images.libvips import number
from scrapy_polite.images.plan import made_format

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_polite.images.libvips import Image, Vips
    from scrapy_polite.images.policy import Header, ImagesConfig, Size

# AVIF has sequences and PNG has animations, but libvips 8.18 neither reads nor writes them.
ANIMATED = frozenset({"webp", "gif"})

_DELAY = 100  # ms, where a file does not say: what browsers show


@dataclass(frozen=True, slots=True)
class Timing:
    """How an animation runs: delays, one a frame in ms; loop, how often it is played, 0 for ever."""

    delays: tuple[int, ...]
    loop: int


def stays_animated(size: Size, header: Header, config: ImagesConfig) -> bool:
    """Whether this size of this image has all of its frames, or only the first."""
    kept = config.animation == "keep" and header.frames > 1 and header.format in ANIMATED
    return kept and made_format(size, header.format) in ANIMATED


def frames_of(
    vips: Vips, data: bytes, still: Callable[[Image], Image], moving: Callable[[Image], Image]
) -> tuple[Image, list[Image], Timing]:
    """The first frame as `still` resizes it, and all frames in order, as `moving` does; in memory, decoded in one pass.

    Raises `vips.Error` where the data end early.
    """
    strip = vips.Image.new_from_buffer(data, "", access="sequential", n=-1, fail_on="truncated")
    height = number(strip, "page-height", strip.height)
    first, frames = None, []
    for top in range(0, strip.height - height + 1, height):
        frame = strip.crop(0, top, strip.width, height).copy()
        for name in ("page-height", "n-pages"):
            frame.remove(name)  # else a frame that is turned on its side may be taken for several
        if first is None:
            frame = frame.copy_memory()
            first = still(frame).copy_memory()
        # In memory before the next one is asked for: the strip is read from top to bottom, and anew for whoever is not.
        frames.append(moving(frame).copy_memory())
    assert first is not None
    delays = strip.get("delay") if strip.get_typeof("delay") else None
    known = [delay for delay in delays if isinstance(delay, int)] if isinstance(delays, list) else []
    return first, frames, Timing((*known, *[_DELAY] * len(frames))[: len(frames)], number(strip, "loop", 0))


def joined(vips: Vips, frames: Sequence[Image], timing: Timing) -> Image:
    """The frames, all of one size, as libvips writes an animation."""
    strip = vips.Image.arrayjoin(list(frames), across=1).copy()  # a copy of its own, whose fields may be set
    strip.set_type(vips.GValue.gint_type, "page-height", frames[0].height)
    strip.set_type(vips.GValue.array_int_type, "delay", list(timing.delays))
    strip.set_type(vips.GValue.gint_type, "loop", timing.loop)
    return strip


def see_through(webp: bytes) -> bytes:
    """An animated WebP as libvips writes one, whose transparency is seen by all.

    Its encoder cuts a transparent rim off the first frame, and where no other frame has transparency in what is left of
    it, it says that there is none (RFC 9649 section 2.7: flag L of VP8X), and that what is below is white (section
    2.7.1.1, ANIM): the rim would be shown as black or white. Both places are fixed, since metadata are not written.
    """
    if webp[12:16] != b"VP8X" or webp[30:34] != b"ANIM":
        return webp
    return webp[:20] + bytes((webp[20] | 0x10,)) + webp[21:38] + bytes(4) + webp[42:]
