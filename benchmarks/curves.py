"""Curves and strips over time as an SVG that follows the light or dark mode of the page it stands in."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

WIDTH, LEFT, RIGHT, TOP, BETWEEN, HEIGHT, FOOT = 760, 52, 20, 84, 56, 150, 50
"""Of the drawing: its margins, and the height of a panel."""
STRIP = 20
"""Height of a strip."""

LOOK = """
    /* Inside a page the drawing has the colour of the page's text. Alone it chooses by itself. */
    #pace:root { color: #1f2328; color-scheme: light dark; }
    @media (prefers-color-scheme: dark) { #pace:root { color: #e6edf3; } }
    #pace text { fill: currentColor; font-size: 13px; }
    #pace .head { font-size: 15px; font-weight: 600; }
    #pace .soft { fill-opacity: 0.72; }
    #pace .end { text-anchor: end; }
    #pace .middle { text-anchor: middle; }
    #pace .grid { stroke: currentColor; stroke-opacity: 0.14; }
    #pace .axis { stroke: currentColor; stroke-opacity: 0.6; }
    #pace .ground { fill: currentColor; fill-opacity: 0.09; }
    #pace .edge { fill: none; stroke: currentColor; stroke-opacity: 0.45; stroke-dasharray: 2 3; }
    #pace .curve { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
    #pace .ours { stroke: #2f7fd0; stroke-width: 2.75; }
    #pace .theirs { stroke: #d1661d; }
    #pace .others { stroke: #8a63b8; }
    #pace .tick { stroke-width: 3.2; stroke-linecap: butt; }
"""

Points = list[tuple[float, float]]
"""Seconds, value."""


@dataclass(frozen=True)
class Curve:
    name: str
    look: str
    """A class of LOOK."""
    points: Points


@dataclass(frozen=True)
class Panel:
    title: str
    curves: Sequence[Curve]
    most: float | None = None
    """Top of its axis; None: what the curves need. What goes beyond is cut off."""
    ground: Points = field(default_factory=list)
    """Steps that are shown as a ground under the curves: from then on, value."""
    said: str = ""
    """What the ground is."""
    aside: str = ""
    """What is not drawn."""

    @property
    def top(self) -> float:
        highest = self.most or max(value for curve in self.curves for _, value in curve.points)
        step = _step(highest)
        return max(step, math.ceil(highest / step - 1e-9) * step)


@dataclass(frozen=True)
class Strip:
    """A row in which the seconds are marked in which something happened."""

    name: str
    """As it stands in the legend of the whole drawing."""
    look: str
    seconds: Sequence[int]


def drawing(
    *,
    title: str,
    about: str,
    panels: Sequence[Panel],
    strips: Sequence[Strip],
    strips_title: str,
    seconds: float,
    marked: tuple[float, float, str],
) -> str:
    """Panels, and strips below them, over one axis of time. `marked`: from, until, and what it says."""
    rows = len(panels) * (HEIGHT + BETWEEN)
    height = TOP + rows + len(strips) * STRIP + FOOT
    font = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" id="pace" viewBox="0 0 {WIDTH} {height}" width="100%" role="img"',
        f'  aria-labelledby="pace-title pace-about" font-family="{font}">',
        f'  <title id="pace-title">{escape(title)}</title>',
        f'  <desc id="pace-about">{escape(about)}</desc>',
        f"  <style>{LOOK}  </style>",
        *_legend(strips),
    ]
    tops = [TOP + number * (HEIGHT + BETWEEN) for number in range(len(panels))]
    spans = [*((top, top + HEIGHT) for top in tops), (TOP + rows, height - FOOT)]
    for top, panel in zip(tops, panels, strict=True):
        parts += _panel(panel, top, seconds)
    parts += _spell(marked, seconds, spans)
    parts += _strips(strips, strips_title, TOP + rows, seconds)
    foot = height - FOOT
    parts.append(f'  <path class="axis" d="M{LEFT} {foot}H{WIDTH - RIGHT}"/>')
    for at in range(0, int(seconds) + 1, 15):
        parts.append(f'  <text class="middle soft" x="{_x(at, seconds)}" y="{foot + 19}">{at}</text>')
    parts += [f'  <text class="middle soft" x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{foot + 40}">seconds</text>', "</svg>", ""]
    return "\n".join(parts)


def _x(at: float, seconds: float) -> str:
    return f"{LEFT + (WIDTH - LEFT - RIGHT) * min(at, seconds) / seconds:.1f}"


def _legend(strips: Iterable[Strip]) -> Iterator[str]:
    at = LEFT
    for strip in strips:
        yield f'  <path class="curve {strip.look}" d="M{at} 20h30"/><text x="{at + 38}" y="24.5">{escape(strip.name)}</text>'
        at += 58 + round(6.4 * len(strip.name))


def _spell(marked: tuple[float, float, str], seconds: float, spans: Iterable[tuple[float, float]]) -> Iterator[str]:
    since, until, said = marked
    left, right = _x(since, seconds), _x(until, seconds)
    edges = "".join(f"M{at} {top}V{bottom}" for top, bottom in spans for at in (left, right))
    yield f'  <path class="edge" d="{edges}"/>'
    yield f'  <text class="middle" x="{(float(left) + float(right)) / 2:.1f}" y="{TOP + 21}">{escape(said)}</text>'


def _panel(panel: Panel, top: float, seconds: float) -> Iterator[str]:
    bottom = top + HEIGHT

    def y(value: float) -> str:
        return f"{bottom - HEIGHT * min(value, panel.top) / panel.top:.1f}"

    yield f'  <g><text class="head" x="{LEFT}" y="{top - 16}">{escape(panel.title)}</text>'
    if panel.ground:
        steps = "".join(f"H{_x(at, seconds)}V{y(value)}" for at, value in panel.ground)
        yield f'  <path class="ground" d="M{LEFT} {bottom}{steps}H{WIDTH - RIGHT}V{bottom}Z"/>'
        yield f'  <text class="end soft" x="{WIDTH - RIGHT - 8}" y="{bottom - 9}">{escape(panel.said)}</text>'
    if panel.aside:
        yield f'  <text class="end soft" x="{WIDTH - RIGHT}" y="{top - 16}">{escape(panel.aside)}</text>'
    step = _step(panel.top)
    for line in range(round(panel.top / step) + 1):
        at = y(line * step)
        yield (
            f'  <path class="{"grid" if line else "axis"}" d="M{LEFT} {at}H{WIDTH - RIGHT}"/>'
            f'<text class="end soft" x="{LEFT - 8}" y="{float(at) + 4.5:.1f}">{line * step:g}</text>'
        )
    for curve in panel.curves:
        points = " ".join(f"{_x(when, seconds)},{y(value)}" for when, value in curve.points)
        yield f'  <polyline class="curve {curve.look}" points="{points}"/>'
    yield "  </g>"


def _strips(strips: Sequence[Strip], title: str, top: float, seconds: float) -> Iterator[str]:
    yield f'  <g><text class="head" x="{LEFT}" y="{top - 16}">{escape(title)}</text>'
    for number, strip in enumerate(strips):
        upper = top + number * STRIP
        ticks = "".join(f"M{_x(second + 0.5, seconds)} {upper + 3}v{STRIP - 6}" for second in strip.seconds)
        yield f'  <path class="grid" d="M{LEFT} {upper + STRIP}H{WIDTH - RIGHT}"/>'
        if ticks:
            yield f'  <path class="curve {strip.look} tick" d="{ticks}"/>'
        else:
            yield f'  <text class="soft" x="{LEFT + 8}" y="{upper + STRIP - 5}">never</text>'
    yield "  </g>"


def _step(highest: float) -> float:
    """1, 2 or 5 times a power of ten, so that there are three to six lines."""
    power = 10.0 ** math.floor(math.log10(highest / 3)) if highest > 0 else 1.0
    return next(power * factor for factor in (1, 2, 5, 10) if highest / (power * factor) <= 6)
