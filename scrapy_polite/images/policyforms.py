"""The forms of the values in `POLITE_IMAGES`: each takes the place and the value, and answers what the place wants.

Pure. Each raises ValueError that names the place, the value and what is accepted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping


def mapping(where: str, value: object, known: Iterable[str] | None) -> Mapping[str, object]:
    """A dict whose keys are words, all of them known (any name of a size where known is None)."""
    accepted = "a dict from names to sizes, such as {'small': {'width': 320}}"
    if known is not None:
        accepted = f"a dict with keys among {', '.join(map(repr, known))}"
    # Scrapy turns dicts in settings into BaseSettings, which is a mapping as well.
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise wrong(where, value, accepted)
    for key in value:
        if known is not None and key not in known:
            raise wrong(f"{where}[{key!r}]", value[key], f"known: {where} is {accepted}")
    return value


def whole(least: int, most: int, unit: str) -> Callable[[str, object], int]:
    """A whole number from least to most; unit is a word for the message."""

    def parse(where: str, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise wrong(where, value, f"a whole number from {least} to {most} ({unit})")
        return value

    return parse


def megapixels(where: str, value: object) -> int:
    """Pixels, from a number of millions of them; not below one pixel."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 10_000:
        raise wrong(where, value, "a number above 0, up to 10000 (millions of pixels)")
    return max(1, int(value * 1_000_000))


def yes_or_no(where: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise wrong(where, value, "True or False")
    return value


def one_of(accepted: tuple[str, ...]) -> Callable[[str, object], str]:
    def parse(where: str, value: object) -> str:
        if not isinstance(value, str) or value not in accepted:
            raise wrong(where, value, f"one of {', '.join(map(repr, accepted))}")
        return value

    return parse


def some_of(accepted: tuple[str, ...]) -> Callable[[str, object], frozenset[str]]:
    """A set of at least one of the accepted words, from a list, a tuple or a set."""

    def parse(where: str, value: object) -> frozenset[str]:
        if isinstance(value, list | tuple | set | frozenset) and value and all(item in accepted for item in value):
            return frozenset(value)
        raise wrong(where, value, f"a list with at least one of {', '.join(map(repr, accepted))}")

    return parse


def colour(where: str, value: object) -> tuple[int, int, int]:
    """Red, green and blue, 0 to 255, from "#rrggbb"."""
    if not isinstance(value, str) or not re.fullmatch(r"#[0-9A-Fa-f]{6}", value):
        raise wrong(where, value, "a colour as '#rrggbb'")
    red, green, blue = bytes.fromhex(value[1:])
    return red, green, blue


def wrong(where: str, value: object, accepted: str) -> ValueError:
    """The error to raise: at most 200 characters of the value are shown."""
    text = repr(value)
    shown = text if len(text) <= 200 else f"{text[:200]}..."
    return ValueError(f"{where}: {shown} is not {accepted}")
