"""The values of a JSON text, each with the path of keys that leads to it and the place where it stands.

The text is read token by token and never built up as objects: what is put in is put in at a place, and everything else
stays as it was written. Every step is bounded, so that no single call keeps other threads waiting; the time is linear.
"""

from __future__ import annotations

import json
import re
from typing import Final, Literal, NamedTuple

__all__ = ["Leaf", "joined", "leaves", "looks_like_json"]

_SPACE = re.compile(r"[ \t\r\n]{1,4096}")
# RFC 8259 section 6; of a number that is longer than any that means something, the value is not asked for.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,4096})(?:\.[0-9]{1,4096})?(?:[eE][+-]?[0-9]{1,4})?(?![0-9.eE+-])")
# Beside those of JSON the numbers that Python and others write into it, which it has no words for.
_WORDS: Final = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
# A byte order mark, which is no part of the JSON behind it (RFC 8259 section 8.1).
_MARK: Final = "\ufeff"

LONGEST_PATH: Final = 512
"""Characters of a path: of a longer one, which only a hostile page has, the beginning and the end count."""


class Leaf(NamedTuple):
    """A string (`what` "text", with its quotes) or a number at text[start:end]."""

    path: str
    start: int
    end: int
    what: Literal["text", "number"]


def looks_like_json(text: str, start: int = 0, end: int | None = None) -> bool:
    """True if text[start:end] begins and ends as a JSON object or array does: worth reading."""
    end = len(text) if end is None else end
    first, last = text[start : start + 64].removeprefix(_MARK).lstrip()[:1], text[max(start, end - 64) : end].rstrip()[-1:]
    return (first, last) in (("{", "}"), ("[", "]"))


def joined(path: str, name: str) -> str:
    """The path of what `name` names, inside what `path` names."""
    longer = f"{path}.{name}" if path else name
    half = LONGEST_PATH // 2
    return longer if len(longer) <= LONGEST_PATH else f"{longer[:half]}{longer[-half:]}"


def leaves(text: str, path: str = "", start: int = 0, end: int | None = None) -> list[Leaf] | None:
    """Strings and numbers of the JSON value (RFC 8259), or of several, one a line, at text[start:end], in order, keys
    left out; None if it is none.

    A path is `path` and the keys below it; the elements of an array have the path of the array.
    """
    return _Reader(text, len(text) if end is None else end).all(path, start)


class _Reader:
    __slots__ = ("_end", "_text")

    def __init__(self, text: str, end: int) -> None:
        self._text = text
        self._end = end

    def all(self, root: str, at: int) -> list[Leaf] | None:
        text, path, found = self._text, root, list[Leaf]()
        # Of every open object the path; of an array too, with "[" before it.
        open_: list[tuple[str, str]] = []
        at = self._past_space(at + text.startswith(_MARK, at))
        while True:
            # A value.
            sign = text[at] if at < self._end else ""
            if sign in ("{", "["):
                open_.append((sign, path))
                at = self._past_space(at + 1)
                if text[at : at + 1] == ("}" if sign == "{" else "]"):
                    open_.pop()
                    at += 1
                elif sign == "[":
                    continue
                else:
                    key = self._key(path, at)
                    if key is None:
                        return None
                    path, at = key
                    continue
            elif sign == '"':
                closed = self._string_end(at)
                if closed is None:
                    return None
                found.append(Leaf(path, at, closed, "text"))
                at = closed
            elif number := _NUMBER.match(text, at, self._end):
                found.append(Leaf(path, at, number.end(), "number"))
                at = number.end()
            else:
                word = next((word for word in _WORDS if text.startswith(word, at, self._end)), None)
                if word is None:
                    return None
                at += len(word)
            # What may follow one.
            at = self._past_space(at)
            while open_ and text[at : at + 1] == ("}" if open_[-1][0] == "{" else "]") and at < self._end:
                open_.pop()
                at = self._past_space(at + 1)
            if not open_:
                if at == self._end:
                    return found
                # Values one a line: what feeds are exported as.
                if text[at - 1] not in "\r\n":
                    return None
                path = root
                continue
            if at >= self._end or text[at] != ",":
                return None
            at = self._past_space(at + 1)
            kind, path = open_[-1]
            if kind == "{":
                key = self._key(path, at)
                if key is None:
                    return None
                path, at = key

    def _key(self, path: str, at: int) -> tuple[str, int] | None:
        """The path of the member whose key stands at `at`, and where its value begins."""
        closed = self._string_end(at) if self._text[at : at + 1] == '"' else None
        if closed is None:
            return None
        name = self._text[at + 1 : closed - 1]
        if "\\" in name:
            try:
                name = str(json.loads(self._text[at:closed], strict=False))
            except ValueError:
                return None
        colon = self._past_space(closed)
        if colon >= self._end or self._text[colon] != ":":
            return None
        return joined(path, name), self._past_space(colon + 1)

    def _past_space(self, at: int) -> int:
        while space := _SPACE.match(self._text, at, self._end):
            at = space.end()
        return at

    def _string_end(self, at: int) -> int | None:
        """Where the string that begins at `at` has ended: behind the first quote before which no odd number of
        backslashes stands."""
        quote = at
        while True:
            quote = self._text.find('"', quote + 1, self._end)
            if quote < 0:
                return None
            before = quote
            while self._text[before - 1] == "\\":
                before -= 1
            if (quote - before) % 2 == 0:
                return quote + 1
