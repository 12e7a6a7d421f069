"""Where in a text a rule is worth trying: one pass of an Aho-Corasick automaton over the anchors of all rules.

A short anchor alone would hit everywhere (`eyJ`, `AC`), and every hit costs a regular expression. So it is written out by
what its rule lets follow (`AC0`, `AC1` ... `ACf`, then one more), until it is rare. Thousands of literals cost the
automaton no more time than ten; they cost memory, so long ones, and those that are written as escapes, are cut.
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation

from scrapy_polite.redaction.escapes import LEADS, escape_over, may_end_escape, spellings
from scrapy_polite.redaction.rules import regexes, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from scrapy_polite.redaction.rules import Rule

    _Follow = Sequence[tuple[frozenset[str], regexes.Node | None]]

__all__ = ["Anchors", "Hit"]

# Bytes from which on a literal is rare enough in pages to be looked for as it is. Small letters, and those that are joined
# by a sign, stand everywhere.
_RARE, _RARE_LETTERS, _RARE_CAPITALS = 4, 5, 3
# A word with a hyphen behind it (`link-`, `api-`) begins many names. It is written out by one more where no more than so
# many characters may follow.
_FEW = 16
# Literals that one anchor is written out to, at most, and bytes of a literal that are looked for.
_MOST = 1700
_LONGEST = 10
# Of one that is written with an escape, bytes from that on: enough to tell one from another.
_LONGEST_ESCAPE = 4

# What follows an anchor that nothing else is known of: a character of a token, a letter beyond ASCII, an escape.
_ANY_NEXT = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+" + regexes.OTHER)
# The first bytes of letters beyond ASCII in UTF-8.
_BEYOND = tuple(bytes([byte]) for byte in range(0xC2, 0xF5))

# Signs of ASCII but the hyphen, which stands before a value where it ends the beginning of a comment.
_SIGNS = [chr(code) for code in range(128) if not chr(code).isalnum() and chr(code) != "-"]


class Hit(NamedTuple):
    """An anchor stands at `at` in the text. `plain`: as it is, not escaped. `rules`: the indexes of what to try."""

    at: int
    plain: bool
    rules: tuple[int, ...]


def _is_rare(literal: bytes) -> bool:
    if literal.isalpha() and literal.islower():
        return len(literal) >= _RARE_LETTERS
    return len(literal) >= (_RARE_CAPITALS if literal[:2] == literal[:2].upper() else _RARE)


def _begins_names(literal: bytes) -> bool:
    return literal.endswith(b"-") and literal[:-1].isalpha() and literal.islower()


def _written_out(anchor: str, spelled: str, rule: Rule) -> Iterator[bytes]:
    """The literals that stand for one spelling of an anchor; all begin where it does."""
    literal = spelled.encode()
    if spelled != anchor:
        same = next((at for at, pair in enumerate(zip(spelled, anchor, strict=False)) if pair[0] != pair[1]), len(anchor))
        # With nothing before it the whole escape counts: `&amp;#64;` is an @ only by its end.
        literal = literal[: same + _LONGEST_ESCAPE] if same > 1 else literal
    if not rule.anchors or (_is_rare(literal) and not _begins_names(literal)):  # anything may follow a word
        yield literal[:_LONGEST]
        return
    after: _Follow = [(_ANY_NEXT, None)] if spelled != anchor else _behind(rule.shape, anchor)
    if _is_rare(literal):
        ends_with = frozenset().union(*(characters for characters, _ in after))
        few = 0 < len(ends_with) <= _FEW and regexes.OTHER not in ends_with
        # What may begin an escape counts as well: it is found wherever the word alone would be.
        yield from (literal + end.encode() for end in sorted(ends_with | LEADS)) if few else (literal[:_LONGEST],)
        return
    ends = [(literal, after)]
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


class _Meaning(NamedTuple):
    """What it means that a literal stands somewhere: which rules are to be tried, and where not, for what is before it.

    `refused`: the signs that stand before no value of these rules; `left`: if it is one rule, what its `left` says.
    """

    plain: bool
    rules: tuple[int, ...]
    refused: frozenset[str]
    left: re.Pattern[str] | None


def _meaning(plain: bool, indexes: tuple[int, ...], rules: Sequence[Rule]) -> _Meaning:
    of = [rules[index] for index in indexes if index < len(rules)]
    lefts = [re.compile(rule.left, re.ASCII) for rule in of]
    # Only where a part of the value is to be right before the anchor, signs say that there is none.
    known = plain and bool(of) and all(rule.back for rule in of)
    refused = frozenset(sign for sign in _SIGNS if known and not any(left.match(sign, 1) for left in lefts))
    return _Meaning(plain, indexes, refused, lefts[0] if refused and len(of) == 1 else None)


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
        known: dict[tuple[bool, tuple[int, ...]], _Meaning] = {}
        self._meanings: list[_Meaning] = []
        for plain, of in literals.values():
            key = plain, tuple(of)
            if key not in known:
                known[key] = _meaning(*key, rules)
            self._meanings.append(known[key])
        # A DFA is the fastest and is built in milliseconds. On bytes, the search releases the GIL (on str it does not).
        self._automaton = BytesAhoCorasick(list(literals), implementation=Implementation.DFA) if literals else None

    def hits(self, text: str) -> Iterator[Hit]:
        """Every place where a rule is to be tried, in ascending order of where its literal ends. Not behind what stands
        before no value."""
        if self._automaton is None:
            return
        # Lone surrogates are legal in str, and come out of bytes that were decoded with surrogateescape.
        page = text.encode() if text.isascii() else text.encode("utf-8", "surrogatepass")
        found = self._automaton.find_matches_as_indexes(page, overlapping=True)
        for index, at, _ in found if len(page) == len(text) else _in_characters(page, found):
            plain, rules, refused, left = self._meanings[index]
            # `{}@media`, `12@2x.png`: what stands there says that there is no value, and costs little to look at.
            if (
                refused
                and at
                and (text[at - 1] in refused or (left and left.match(text, at) is None))
                and (not may_end_escape(text, at - 1) or escape_over(text, at - 1) is None)
            ):
                continue
            yield Hit(at, plain, rules)


def _in_characters(page: bytes, found: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """What was found, in order of where it begins, which is counted in characters; its end is not."""
    at_byte, at = 0, 0
    for index, byte, end in sorted(found, key=itemgetter(1)):
        at += len(page[at_byte:byte].decode("utf-8", "surrogatepass"))
        at_byte = byte
        yield index, at, end
