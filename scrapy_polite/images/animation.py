"""Animations: every frame decoded for itself, in one pass, and written again with its time on the screen.

libvips holds an animation as one tall picture, frame below frame, and `thumbnail` resizes it as one: the last line of a
frame then has 5 % of the next one in it. So each frame is taken out before it is resized.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    height = strip.get("page-height") if strip.get_typeof("page-height") else strip.height
    if not isinstance(height, int) or height < 1:
        height = strip.height
    first, frames = None, []
    for top in range(0, strip.height - height + 1, height):
        frame = strip.crop(0, top, strip.width, height).copy()
        for name in ("page-height", "n-pages"):
            frame.remove(name)  # else a frame that is turned on its side may be taken for several
        if first is None:
            frame = frame.copy_memory()
            first = still(frame).copy_memory()
        # In memory before the next one is asked for: the strip can be read only once, from top to bottom.
        frames.append(moving(frame).copy_memory())
    assert first is not None
    delays, loop = (strip.get(name) if strip.get_typeof(name) else None for name in ("delay", "loop"))
    known = [delay for delay in delays if isinstance(delay, int)] if isinstance(delays, list) else []
    timing = Timing((*known, *[_DELAY] * len(frames))[: len(frames)], loop if isinstance(loop, int) else 0)
    return first, frames, timing


def joined(vips: Vips, frames: Sequence[Image], timing: Timing) -> Image:
    """The frames, all of one size, as libvips writes an animation."""
    strip = vips.Image.arrayjoin(list(frames), across=1).copy()  # a copy of its own, whose fields may be set
    strip.set_type(vips.GValue.gint_type, "page-height", frames[0].height)
    strip.set_type(vips.GValue.array_int_type, "delay", list(timing.delays))
    strip.set_type(vips.GValue.gint_type, "loop", timing.loop)
    return strip
