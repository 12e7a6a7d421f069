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
    from collections.abc import Iterator, Sequence

    from scrapy_polite.redaction.rules import Rule

__all__ = ["Anchors", "Hit"]

# Bytes from which on a literal is rare enough in pages to be looked for as it is; small letters stand in every word.
_RARE, _RARE_LETTERS = 4, 5
# Literals that one anchor is written out to, at most, and bytes of a literal that are looked for.
_MOST = 4100
_LONGEST = 12
_LONGEST_ESCAPED = 8

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
    return len(literal) >= (_RARE_LETTERS if literal.isalpha() and literal.islower() else _RARE)


def _written_out(anchor: str, spelled: str, rule: Rule) -> Iterator[bytes]:
    """The literals that stand for one spelling of an anchor; all begin where it does."""
    literal = spelled.encode()
    if spelled != anchor:
        literal = literal[:_LONGEST_ESCAPED]
    if _is_rare(literal) or not rule.anchors:  # anything may follow a word
        yield literal[:_LONGEST]
        return
    follows = None if rule.back or spelled != anchor else _behind(rule.shape, anchor)
    open_ends: list[tuple[bytes, regexes.Node | None]] = [(literal, follows)]
    while open_ends:
        longer: list[tuple[bytes, regexes.Node | None]] = []
        for start, node in open_ends:
            if _is_rare(start) or (start != literal and node is None):
                yield start
                continue
            for character in regexes.firsts(node) if node else _ANY_NEXT:
                behind = regexes.after(node, character) if node else None
                if character == regexes.OTHER:
                    yield from (start + byte for byte in _BEYOND)
                else:
                    longer.append((start + character.encode(), behind))
                    if not character.isalnum():
                        # An encoder may have written it as an escape.
                        yield from (start + lead.encode() for lead in LEADS)
        if len(longer) > _MOST:
            yield from (start for start, _ in open_ends)
            return
        open_ends = longer


def _behind(shape: str, anchor: str) -> regexes.Node | None:
    try:
        node: regexes.Node | None = regexes.parse(shape)
    except regexes.UnreadableError:
        return None
    for character in anchor:
        node = regexes.after(node, character) if node else None
    return node


class Anchors:
    """The anchors of some rules, compiled; where a rule has none, its words. Safe to use from several threads."""

    __slots__ = ("_automaton", "_meanings")

    def __init__(self, rules: Sequence[Rule]) -> None:
        literals: dict[bytes, tuple[bool, dict[int, None]]] = {}
        for index, rule in enumerate(rules):
            for anchor in rule.anchors or words.literals(rule.words):
                for spelled in spellings(anchor):
                    for literal in _written_out(anchor, spelled, rule):
                        # A literal of several spellings is read through a view, which is right for all of them.
                        plain, of = literals.setdefault(literal, (spelled == anchor, {}))
                        of[index] = None
                        if plain and spelled != anchor:
                            literals[literal] = False, of
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
