"""The words of contextual rules: `client_secret|access_token`, in every way that people write them."""

from __future__ import annotations

import re

__all__ = ["expression", "literals", "readable"]

_READABLE = re.compile(r"[a-z0-9]{1,40}(?:[_.-][a-z0-9]{1,40}){0,4}")
# Between two parts of a word.
_JOINT = "[_. -]?"


def readable(words: str) -> bool:
    """True if every alternative is small letters and digits, three characters at least, joined by `_`, `.` or `-`."""
    return all(_READABLE.fullmatch(word) and len(word) >= 3 for word in words.split("|"))


def expression(words: str) -> re.Pattern[str]:
    """Matches one of the words, however it is joined and capitalised."""
    joined = (_JOINT.join(map(re.escape, word.split("_"))) for word in sorted(words.split("|"), key=len, reverse=True))
    return re.compile("|".join(joined), re.IGNORECASE | re.ASCII)


def literals(words: str) -> tuple[str, ...]:
    """Every spelling of them that is worth looking for: small, capital, and with the first letters capital."""
    found: dict[str, None] = {}
    for word in words.split("|"):
        parts = word.split("_")
        titled = [part.capitalize() for part in parts]
        for joint in ("", "_", "-", " ", "."):
            for spelled in (parts, [part.upper() for part in parts], titled, [parts[0], *titled[1:]], [titled[0], *parts[1:]]):
                found[joint.join(spelled)] = None
    return tuple(found)
