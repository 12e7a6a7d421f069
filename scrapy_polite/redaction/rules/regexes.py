"""A regular expression read as a tree: how long a match may be, which characters it takes, what could make it slow.

Enough of the syntax of `re` for the shapes of values: literals, classes, groups, alternatives, bounded quantifiers and
look-arounds. What is beyond that (back references, conditions, atomic groups) is refused: `UnreadableError` says what.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

__all__ = [
    "OTHER",
    "Node",
    "UnreadableError",
    "after",
    "alphabet",
    "before_value",
    "begins",
    "firsts",
    "nexts",
    "parse",
    "taken",
    "width",
]

# Stands for every character beyond ASCII.
OTHER = "\u00e9"
_ALL = frozenset([*map(chr, range(128)), OTHER])

_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_QUANTIFIER = re.compile(r"(?:([*+?])|\{(\d+)\}|\{(\d*),(\d*)\})(\??)(?![*+?])")
_GROUP = re.compile(r"\((?:\?(?:(?P<look>=|!|<=|<!)|(?P<plain>[iu]{0,2}):|P<(?P<name>\w+)>)|(?!\?))")
_CHARACTER = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[^A-Za-z0-9]|[dDwWsSnrtfv])|[^\\()\[\]|*+?]", re.DOTALL)
_EDGE = re.compile(r"\\[bBAZ]|[\^$]")


class UnreadableError(ValueError):
    """The pattern has something that is not understood here; the message says what, and where."""


@dataclass(frozen=True, slots=True)
class Node:
    """What a pattern takes. `chars` and no parts: one of these characters. Else `parts` in a row (`each` false) or one
    of `parts` (`each` true), `least` to `most` times (None: without bound). No parts and no chars: nothing."""

    chars: frozenset[str] = frozenset()
    parts: tuple[Node, ...] = ()
    each: bool = False
    least: int = 1
    most: int | None = 1
    value: bool = False
    low: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """`low`: characters of the shortest match."""
        lows = [part.low for part in self.parts]
        low = 1 if self.chars else (min(lows) if self.each else sum(lows)) * self.least
        object.__setattr__(self, "low", low)


_NOTHING = Node()


class _Reader:
    def __init__(self, pattern: str, ignore_case: bool) -> None:
        self._pattern, self._at = pattern, 0
        self._flags = re.ASCII | (re.IGNORECASE if ignore_case else 0)

    def whole(self) -> Node:
        node = self._alternatives()
        if self._at < len(self._pattern):
            raise self._unreadable()
        return node

    def _unreadable(self) -> UnreadableError:
        return UnreadableError(f"{self._pattern[self._at : self._at + 12]!r} at {self._at} is not understood")

    def _alternatives(self) -> Node:
        branches = [self._row()]
        while self._pattern.startswith("|", self._at):
            self._at += 1
            branches.append(self._row())
        return branches[0] if len(branches) == 1 else Node(parts=tuple(branches), each=True)

    def _row(self) -> Node:
        parts: list[Node] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            part = self._quantified(self._one())
            if part != _NOTHING:
                parts.append(part)
        return parts[0] if len(parts) == 1 else Node(parts=tuple(parts))

    def _quantified(self, node: Node) -> Node:
        match = _QUANTIFIER.match(self._pattern, self._at)
        if match is None:
            if self._pattern[self._at : self._at + 1] in ("*", "+", "?"):
                raise self._unreadable()
            return node
        self._at = match.end()
        sign, exact, least, most, _ = match.groups()
        if sign:
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        elif exact:
            low, high = int(exact), int(exact)
        else:
            low, high = int(least or 0), int(most) if most else None
        return Node(parts=(node,), least=low, most=high) if node != _NOTHING else node

    def _one(self) -> Node:
        edge = _EDGE.match(self._pattern, self._at)
        if edge:
            self._at = edge.end()
            return _NOTHING
        group = _GROUP.match(self._pattern, self._at)
        if group:
            return self._group(group)
        match = _CLASS.match(self._pattern, self._at) or _CHARACTER.match(self._pattern, self._at)
        if match is None:
            raise self._unreadable()
        self._at = match.end()
        return Node(_members(match[0], int(self._flags)))

    def _group(self, group: re.Match[str]) -> Node:
        outer, start = self._flags, self._at
        self._at = group.end()
        for letter in group["plain"] or "":
            self._flags = self._flags | re.IGNORECASE if letter == "i" else self._flags & ~re.ASCII
        inner = self._alternatives()
        self._flags = outer
        if not self._pattern.startswith(")", self._at):
            self._at = start
            raise self._unreadable()
        self._at += 1
        if group["look"]:
            return _NOTHING
        return Node(parts=(inner,), value=True) if group["name"] == "value" else inner


@lru_cache(maxsize=1024)
def _members(piece: str, flags: int) -> frozenset[str]:
    try:
        of = re.compile(piece, flags)
    except re.error as error:
        raise UnreadableError(f"{piece!r}: {error}") from None
    return frozenset(c for c in _ALL if of.match(c))


@lru_cache(maxsize=1024)
def parse(pattern: str, ignore_case: bool = False) -> Node:
    """The pattern as a tree, without its look-arounds. Raises `UnreadableError`."""
    return _Reader(pattern, ignore_case).whole()


def width(node: Node) -> tuple[int, int | None]:
    """Characters of the shortest and of the longest match; None: without bound."""
    if node.chars:
        return 1, 1
    highs = [width(part)[1] for part in node.parts]
    bounded = [high for high in highs if high is not None]
    high = (max(bounded) if node.each else sum(bounded)) if bounded else 0
    if node.most is None:
        return node.low, None if high or len(bounded) < len(highs) else 0
    if len(bounded) < len(highs):
        return node.low, None if node.most else 0
    return node.low, high * node.most


def firsts(node: Node) -> frozenset[str]:
    """Every character with which a match may begin."""
    return frozenset().union(*_leading(node))


def _leading(node: Node) -> list[frozenset[str]]:
    """The sets of characters of which one takes the first."""
    if node.chars:
        return [node.chars]
    found: list[frozenset[str]] = []
    for part in node.parts:
        found += _leading(part)
        if part.low and not node.each:
            break
    return found


def nexts(node: Node) -> list[tuple[frozenset[str], Node]]:
    """The first characters of a match, in groups behind which the same may follow, and what that is."""
    leading = list(dict.fromkeys(_leading(node)))
    groups: dict[tuple[bool, ...], set[str]] = {}
    for character in frozenset().union(*leading):
        groups.setdefault(tuple(character in chars for chars in leading), set()).add(character)
    return [(frozenset(group), after(node, min(group)) or _NOTHING) for group in groups.values()]


def after(node: Node, character: str) -> Node | None:
    """What is left to match behind this first character; None if no match begins with it."""
    if node.chars:
        return _NOTHING if character in node.chars else None
    if (node.least, node.most) != (1, 1):
        left = after(Node(parts=node.parts, each=node.each), character)
        if left is None or node.most == 0:
            return None
        most = None if node.most is None else node.most - 1
        return Node(parts=(left, Node(parts=node.parts, each=node.each, least=max(0, node.least - 1), most=most)))
    if node.each:
        branches = tuple(left for left in (after(part, character) for part in node.parts) if left is not None)
        return Node(parts=branches, each=True) if branches else None
    ways: list[Node] = []
    for at, part in enumerate(node.parts):
        left = after(part, character)
        if left is not None:
            ways.append(Node(parts=(left, *node.parts[at + 1 :])))
        if part.low:
            break
    return Node(parts=tuple(ways), each=True) if ways else None


def alphabet(node: Node) -> frozenset[str]:
    """Every character that a value may have in it: in the group `value`, if there is one."""
    inside = _value(node)
    return taken(inside if inside is not None else node)


def before_value(node: Node) -> int | None:
    """Characters that may stand before the group `value`, at most; None if there is no such group, or no bound."""
    if node.value:
        return 0
    so_far = 0
    for part in node.parts:
        inside = before_value(part)
        if inside is not None:
            return (0 if node.each else so_far) + inside
        so_far += width(part)[1] or 0
    return None


def _value(node: Node) -> Node | None:
    if node.value:
        return node
    return next((found for found in map(_value, node.parts) if found is not None), None)


def taken(node: Node) -> frozenset[str]:
    """Every character that a match may have in it."""
    return node.chars.union(*(taken(part) for part in node.parts))


def begins(node: Node, text: str) -> bool:
    """True if a match may begin with this text."""
    left: Node | None = node
    for character in text:
        left = after(left, character if character.isascii() else OTHER) if left is not None else None
    return left is not None
