"""How long something is: words for people, in the log as on a terminal."""

from __future__ import annotations

__all__ = ["span"]


def span(seconds: float) -> str:
    """How long something still is, as people read it: its two largest units."""
    if seconds < 60:
        return f"{max(0.0, seconds):.1f} s"
    left, parts = round(seconds), list[str]()
    for unit, size in (("a", 31_557_600), ("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        if left >= size or parts:
            parts.append(f"{left // size} {unit}")
            left %= size
    return " ".join(part for part in parts[:2] if not part.startswith("0 "))

