"""The written form of facts: one line of JSON that is short, since a store may hold a million of them. Pure.

``[[[source, seen, ttl], ...], [kind, observation, absent, value, ...], ...]``: first the observations, then runs of facts
of one kind that were seen together. Known kinds and sources are one letter; others are written out, and are kept.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["facts_of", "text_of"]

Row = tuple[str, str, float, float, str, int]
"""kind, value, seen, ttl, source, absent"""

_LETTERS: Final = {
    "address": "a",
    "certificate": "x",
    "cname": "c",
    "configuration": "g",
    "marker": "m",
    "peer": "p",
    "pointer": "r",
    "product": "u",
    "tells": "t",
}
_SOURCES: Final = {"dns": "d", "response": "r", "file": "f", "hand": "h"}
_KIND_OF: Final = {letter: kind for kind, letter in _LETTERS.items()}
_SOURCE_OF: Final = {letter: source for source, letter in _SOURCES.items()}


def text_of(rows: Iterable[Row]) -> str:
    """The rows as one line, in their order."""
    observations: dict[tuple[str, float, float], int] = {}
    runs: list[list[str | int]] = []
    last: tuple[str, int, int] | None = None
    for kind, value, seen, ttl, source, absent in rows:
        observation = observations.setdefault((_SOURCES.get(source, source), _number(seen), _number(ttl)), len(observations))
        if last != (kind, observation, absent):
            last = (kind, observation, absent)
            runs.append([_LETTERS.get(kind, kind), observation, absent])
        runs[-1].append(value)
    return json.dumps([list(observations), *runs], separators=(",", ":"), ensure_ascii=False)


def facts_of(text: str) -> list[Row]:
    """The rows that :func:`text_of` wrote; none of a text that is something else."""
    try:
        observations, *runs = json.loads(text)
        return [
            (_KIND_OF.get(kind, kind), _text(value), _finite(seen), _finite(ttl), _SOURCE_OF.get(source, source), int(absent))
            for kind, observation, absent, *values in runs
            for source, seen, ttl in (observations[observation],)
            for value in values
        ]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return []


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _finite(number: float) -> float:
    if not isfinite(number):
        raise ValueError(number)
    return float(number)


def _number(number: float) -> float:
    return int(number) if number == int(number) else number
