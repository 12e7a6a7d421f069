"""Where in a text a rule is worth trying: one pass of an Aho-Corasick automaton over the anchors of all rules.

A short anchor alone would hit everywhere (`eyJ`, `AC`), and every hit costs a regular expression. So it is written out by
what its rule lets follow (`AC0`, `AC1` ... `ACf`, then one more), until it is rare. Thousands of literals cost the
automaton no more time than ten; they cost memory, so long ones, and those that are written as escapes, are cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation

from scrapy_polite.redaction.escapes import LEADS, spellings
from scrapy_polite.redaction.rules import regexes, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from scrapy_polite.redaction.rules import Rule

    _Follow = Sequence[tuple[frozenset[str], regexes.Node | None]]

__all__ = ["Anchors", "Hit"]

# Bytes from which on a literal is rare enough in pages to be looked for as it is. Small letters, and those that are joined
# by a sign, stand everywhere.
_RARE, _RARE_LETTERS, _RARE_CAPITALS = 4, 5, 3
# Literals that one anchor is written out to, at most, and bytes of a literal that are looked for.
_MOST = 1700
_LONGEST = 10
# Of one that is written with an escape, bytes from that on: enough to tell one from another.
_LONGEST_ESCAPE = 4

# What follows an anchor that nothing else is known of: a character of a token, a letter beyond ASCII, an escape.
_ANY_NEXT = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+" + regexes.OTHER)
# The first bytes of letters beyond ASCII in UTF-8.
_BEYOND = tuple(bytes([byte]) for byte in range(0xC2, 0xF5))


class Hit(NamedTuple):
    """An anchor stands at `at` in the text. `plain`: as it is, not escaped. `rules`: the indexes of what to try."""

    at: int
    plain: bool
    rules: tuple[int, ...]


def _is_rare(literal: bytes) -> bool:
    if literal.isalpha() and literal.islower():
        return len(literal) >= _RARE_LETTERS
    return len(literal) >= (_RARE_CAPITALS if literal[:2] == literal[:2].upper() else _RARE)


def _written_out(anchor: str, spelled: str, rule: Rule) -> Iterator[bytes]:
    """The literals that stand for one spelling of an anchor; all begin where it does."""
    literal = spelled.encode()
    if spelled != anchor:
        same = next((at for at, pair in enumerate(zip(spelled, anchor, strict=False)) if pair[0] != pair[1]), len(anchor))
        # With nothing before it the whole escape counts: `&amp;#64;` is an @ only by its end.
        literal = literal[: same + _LONGEST_ESCAPE] if same > 1 else literal
    if _is_rare(literal) or not rule.anchors:  # anything may follow a word
        yield literal[:_LONGEST]
        return
    ends: list[tuple[bytes, _Follow]] = [(literal, [(_ANY_NEXT, None)] if spelled != anchor else _behind(rule.shape, anchor))]
    room = _MOST
    while ends:
        yield from (start for start, follow in ends if not follow or _is_rare(start))
        ends = [(start, follow) for start, follow in ends if follow and not _is_rare(start)]
        # Those that grow to the fewest come first, as not all may be written out.
        size = min((_size(follow) for _, follow in ends), default=0)
        least = [end for end in ends if _size(end[1]) == size]
        ends = [end for end in ends if _size(end[1]) > size]
        room -= size * len(least)
        for start, follow in least:
            if room < 0:
                yield start
                continue
            if len(anchor) == 1:
                # Of what an anchor of one sign belongs to, a mailbox, any letter may be an escape.
                yield from (start + lead.encode() for lead in LEADS)
            for characters, node in follow:
                behind = regexes.nexts(node) if node else []
                for character in sorted(characters):
                    if character == regexes.OTHER:
                        yield from (start + byte for byte in _BEYOND)
                        continue
                    ends.append((start + character.encode(), behind))
                    if not character.isalnum():
                        # An encoder may have written it as an escape.
                        yield from (start + lead.encode() for lead in LEADS)


def _size(follow: _Follow) -> int:
    return sum(len(characters) for characters, _ in follow)


def _behind(shape: str, anchor: str) -> _Follow:
    """What the shape lets follow the anchor."""
    node: regexes.Node | None = regexes.parse(shape)
    for character in anchor:
        node = regexes.after(node, character) if node else None
    return regexes.nexts(node) if node else []


class Anchors:
    """The anchors of some rules, compiled; where a rule has none, its words. Safe to use from several threads.

    `beside`: characters that are looked for as well, under the index behind the last rule.
    """

    __slots__ = ("_automaton", "_meanings")

    def __init__(self, rules: Sequence[Rule], beside: Iterable[str] = ()) -> None:
        literals: dict[bytes, tuple[bool, dict[int, None]]] = {sign.encode(): (True, {len(rules): None}) for sign in beside}
        for index, rule in enumerate(rules):
            for anchor in rule.anchors or words.literals(rule.words):
                as_it_is = anchor.encode()
                # Of an anchor that begins with letters and digits enough nothing is looked for that could be an escape.
                for spelled in (anchor,) if anchor[:_LONGEST].isalnum() and anchor.isascii() else spellings(anchor):
                    for literal in _written_out(anchor, spelled, rule):
                        # Of a long one no escape may be left in the part that is looked for: it is read as it is first.
                        plain = as_it_is.startswith(literal) or literal.startswith(as_it_is)
                        other, of = literals.get(literal, (True, {}))
                        of[index] = None
                        literals[literal] = plain and other, of
        self._meanings = [(plain, tuple(of)) for plain, of in literals.values()]
        # A DFA is the fastest and is built in milliseconds. On bytes, the search releases the GIL (on str it does not).
        self._automaton = BytesAhoCorasick(list(literals), implementation=Implementation.DFA) if literals else None

    def hits(self, text: str) -> Iterator[Hit]:
        """Every place where a rule is to be tried, in ascending order of where its literal ends."""
        if self._automaton is None:
            return
        # Lone surrogates are legal in str, and come out of bytes that were decoded with surrogateescape.
        page = text.encode() if text.isascii() else text.encode("utf-8", "surrogatepass")
        found = self._automaton.find_matches_as_indexes(page, overlapping=True)
        if len(page) == len(text):
            for index, start, _ in found:
                plain, rules = self._meanings[index]
                yield Hit(start, plain, rules)
            return
        at_byte, at = 0, 0
        for byte, index in sorted((start, index) for index, start, _ in found):
            plain, rules = self._meanings[index]
            at += len(page[at_byte:byte].decode("utf-8", "surrogatepass"))
            at_byte = byte
            yield Hit(at, plain, rules)
