"""Curves over time as an SVG that follows the light or dark mode of the page it stands in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT, TOP, BETWEEN, HEIGHT, FOOT = 740, 48, 14, 74, 58, 150, 52
"""Of the drawing: its margins, and the height of a panel."""

LOOK = """
    /* Inside a page the drawing has the colour of the page's text. Alone it chooses by itself. */
    #pace:root { color: #1f2328; color-scheme: light dark; }
    @media (prefers-color-scheme: dark) { #pace:root { color: #e6edf3; } }
    #pace text { fill: currentColor; font-size: 13px; }
    #pace .head { font-size: 15px; font-weight: 600; }
    #pace .end { text-anchor: end; }
    #pace .middle { text-anchor: middle; }
    #pace .grid { stroke: currentColor; stroke-opacity: 0.18; }
    #pace .axis { stroke: currentColor; stroke-opacity: 0.65; }
    #pace .trouble { fill: currentColor; fill-opacity: 0.07; }
    #pace .curve { fill: none; stroke-width: 2; stroke-linejoin: round; }
    #pace .ours { stroke: #3b82c4; }
    #pace .theirs { stroke: #c2571a; stroke-dasharray: 5 3; }
"""


@dataclass(frozen=True)
class Curve:
    name: str
    look: str
    """A class of LOOK."""
    points: list[tuple[float, float]]
    """Seconds, value."""


@dataclass(frozen=True)
class Panel:
    title: str
    curves: list[Curve]
    most: float | None
    """Top of its axis; None: what the curves need."""

    @property
    def top(self) -> float:
        highest = self.most or max(value for curve in self.curves for _, value in curve.points)
        step = _step(highest)
        return max(step, math.ceil(highest / step - 1e-9) * step)


def drawing(*, title: str, about: str, panels: list[Panel], seconds: float, marked: tuple[float, float, str]) -> str:
    """The panels under each other, one axis of time. `marked`: from, until, and what it says."""

    def x(at: float) -> str:
        return f"{LEFT + (WIDTH - LEFT - RIGHT) * at / seconds:.1f}"

    height = TOP + len(panels) * HEIGHT + (len(panels) - 1) * BETWEEN + FOOT
    font = "system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif"
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" id="pace" viewBox="0 0 {WIDTH} {height}" width="100%" role="img"',
        f'  aria-labelledby="pace-title pace-about" font-family="{font}">',
        f'  <title id="pace-title">{escape(title)}</title>',
        f'  <desc id="pace-about">{escape(about)}</desc>',
        f"  <style>{LOOK}  </style>",
    ]
    at = LEFT
    for curve in reversed(panels[0].curves):
        parts.append(
            f'  <path class="curve {curve.look}" d="M{at} 20h34"/><text x="{at + 42}" y="24">{escape(curve.name)}</text>'
        )
        at += 300
    since, until, said = marked
    for number, panel in enumerate(panels):
        top = TOP + number * (HEIGHT + BETWEEN)
        bottom = top + HEIGHT
        width = float(x(until)) - float(x(since))
        parts += [
            f'  <g><text class="head" x="{LEFT}" y="{top - 14}">{escape(panel.title)}</text>',
            f'  <rect class="trouble" x="{x(since)}" y="{top}" width="{width:.1f}" height="{HEIGHT}"/>',
        ]
        if number == 0:
            parts.append(f'  <text class="middle" x="{x((since + until) / 2)}" y="{top - 14}">{escape(said)}</text>')
        step = _step(panel.top)
        for line in range(round(panel.top / step) + 1):
            y = f"{bottom - HEIGHT * line * step / panel.top:.1f}"
            parts.append(
                f'  <path class="{"grid" if line else "axis"}" d="M{LEFT} {y}H{WIDTH - RIGHT}"/>'
                f'<text class="end" x="{LEFT - 8}" y="{float(y) + 4:.1f}">{line * step:g}</text>'
            )
        for curve in panel.curves:
            points = " ".join(
                f"{x(when)},{bottom - HEIGHT * min(value, panel.top) / panel.top:.1f}" for when, value in curve.points
            )
            parts.append(f'  <polyline class="curve {curve.look}" points="{points}"/>')
        parts.append("  </g>")
    foot = TOP + len(panels) * HEIGHT + (len(panels) - 1) * BETWEEN
    for minute in range(int(seconds / 60) + 1):
        if minute % 3 == 0:
            parts.append(f'  <text class="middle" x="{x(minute * 60)}" y="{foot + 20}">{minute}</text>')
    parts += [f'  <text class="middle" x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{foot + 42}">minutes</text>', "</svg>", ""]
    return "\n".join(parts)


def _step(highest: float) -> float:
    """1, 2 or 5 times a power of ten, so that there are three to six lines."""
    power = 10.0 ** math.floor(math.log10(highest / 3)) if highest > 0 else 1.0
    return next(power * factor for factor in (1, 2, 5, 10) if highest / (power * factor) <= 6)
