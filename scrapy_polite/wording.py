"""How long, and how many: words for people, in the log as on a terminal."""

from __future__ import annotations

from typing import Final

__all__ = ["FOR_GOOD", "UNTIL_RELEASED", "lasting", "plural", "seen", "span"]

FOR_GOOD: Final = 50 * 365 * 86_400.0
"""Seconds. Who has parked a key for longer has named no end."""

UNTIL_RELEASED: Final = "until somebody releases it"


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


def lasting(seconds: float) -> str:
    """For how long a hold is still in force."""
    return UNTIL_RELEASED if seconds > FOR_GOOD else f"for {span(seconds)} more"


def plural(number: int, what: str, many: str = "") -> str:
    return f"{number} {what if number == 1 else many or f'{what}s'}"


def seen(text: str) -> str:
    """Text of others, fit for a terminal or a line of a log: what they could not show is escaped."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
