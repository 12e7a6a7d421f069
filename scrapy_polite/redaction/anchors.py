"""Where in a text a rule is worth trying: one pass of an Aho-Corasick automaton over the anchors of all rules.

A short anchor alone would hit everywhere (`eyJ`, `@`), and every hit costs a regular expression. So it is written out:
with every character that may stand before it, every character that may follow, until it is rare. Thousands of literals
cost the automaton no more time than ten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation

from scrapy_polite.redaction.escapes import spellings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Anchors", "Hit"]

# Bytes from which on a literal is rare enough in pages to be looked for as it is.
_RARE = 4

_TOKEN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
# What may follow an anchor: a character of a token, a letter beyond ASCII (UTF-8 lead bytes), or the first character of
# an escape, as any of these may be written as one.
_NEXT = tuple(bytes([byte]) for byte in sorted({*_TOKEN, *b"-./+", *b"%&\\", *range(0xC2, 0xF5)}))
_ESCAPES = (
    b"%%%02x", b"%%%02X", b"u00%02x", b"u00%02X", rb"\x%02x", rb"\x%02X", b"%%25%02x", b"%%25%02X",
    b"#%d", b"#x%02x", b"#x%02X", rb"\%03o",
)  # fmt: skip
# What may stand before one: any byte that is no part of a token (so the last byte of a letter beyond ASCII too), or an
# escape of such a character, whose own last character looks like part of a token. Entities end in ";", or should.
_BEFORE = tuple(
    dict.fromkeys(
        [bytes([byte]) for byte in range(256) if byte not in _TOKEN]
        + [rb"\n", rb"\r", rb"\t", rb"\b", rb"\f", rb"\v", rb"\0"]
        + [form % code for code in range(0x80) if code not in _TOKEN for form in _ESCAPES]
        # Percent-encoded letters beyond ASCII, written in either case.
        + [form % byte for byte in range(0x80, 0x100) for form in (b"%%%02x", b"%%%02X")]
    )
)


class Hit(NamedTuple):
    """An anchor stands at `at` in the text. `plain`: as it is, not escaped. `rules`: the indexes of what to try."""

    at: int
    plain: bool
    rules: tuple[int, ...]


def _written_out(literal: bytes) -> Iterator[tuple[bytes, int]]:
    """The literals that stand for one short anchor, each with the number of bytes before the anchor in it."""
    if len(literal) >= _RARE:
        yield literal, 0
    elif literal[0] not in _TOKEN:
        yield from ((literal + after, 0) for after in _NEXT)
    elif len(literal) == _RARE - 1:
        yield from ((before + literal, len(before)) for before in _BEFORE)
    else:
        yield from ((before + literal + after, len(before)) for before in _BEFORE for after in _NEXT)


class Anchors:
    """The anchors of some rules, compiled. Takes the anchors of rule 0, 1, 2 ...; safe to use from several threads."""

    __slots__ = ("_automaton", "_meanings")

    def __init__(self, anchors: Sequence[Sequence[str]]) -> None:
        literals: dict[bytes, list[tuple[int, bool, int]]] = {}
        for rule, of_rule in enumerate(anchors):
            for anchor in of_rule:
                for spelled in spellings(anchor):
                    for literal, skip in _written_out(spelled.encode()):
                        literals.setdefault(literal, []).append((skip, spelled == anchor, rule))
        self._meanings = [
            # Every rule of one literal writes its anchor alike, so the first one's skip and spelling are everyone's.
            (meaning[0][0], meaning[0][1], tuple(dict.fromkeys(rule for _, _, rule in meaning)))
            for meaning in literals.values()
        ]
        # A DFA is the fastest and is built in milliseconds. On bytes, the search releases the GIL (on str it does not).
        self._automaton = BytesAhoCorasick(list(literals), implementation=Implementation.DFA) if literals else None

    def hits(self, text: str) -> Iterator[Hit]:
        """Every place where a rule is to be tried, in ascending order of where its literal ends."""
        if self._automaton is None:
            return
        # The line break in front is the character before an anchor with which the text begins.
        # Lone surrogates are legal in str, and come out of bytes that were decoded with surrogateescape.
        page = b"\n" + (text.encode() if text.isascii() else text.encode("utf-8", "surrogatepass"))
        found = self._automaton.find_matches_as_indexes(page, overlapping=True)
        if len(page) == len(text) + 1:
            for index, start, _ in found:
                skip, plain, rules = self._meanings[index]
                yield Hit(start + skip - 1, plain, rules)
            return
        at_byte, at = 1, 0
        for byte, index in sorted((start + self._meanings[index][0], index) for index, start, _ in found):
            _, plain, rules = self._meanings[index]
            at += len(page[at_byte:byte].decode("utf-8", "surrogatepass"))
            at_byte = byte
            yield Hit(at, plain, rules)
