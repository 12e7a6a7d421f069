"""Which signature an answer has: its headers, its status, and the beginning of its body in one pass.

A mark alone does not make a refusal where good pages carry it, too. So two questions are asked of the page around it, and
only where there is a mark: whether it reads as a wall before another page, and whether it has any content of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ahocorasick_rs import BytesAhoCorasick, MatchKind

from .headers import Headers, values
from .signatures import SIGNATURES, WALL, Signature

LOOKED_AT: Final = 64 * 1024
"""Bytes of a body that are looked at, of an answer that may be a refusal by its status. The pages of vendors are a few KiB, and
what their customers put before them rarely more than this; a mark further down is a page's own."""

_MARKS: Final = tuple(dict.fromkeys(mark for row in SIGNATURES for mark in (*row.marks, *row.also)))

# Leftmost matching is one pass with vector instructions, 7 to 22 us for 64 KiB where reporting overlaps takes 95. It finds what
# does not overlap: a test holds that no mark is a part of another.
_AUTOMATON: Final = BytesAhoCorasick([mark.encode() for mark in _MARKS], matchkind=MatchKind.LeftmostLongest)

_TITLES: Final = re.compile(rb"<(title|h1|h2)\b[^>]{0,200}>([^<]{0,200})")
_WALL_WORDS: Final = re.compile(
    rb"verify (?:that )?you(?: are|(?:'|&#39;|&rsquo;|\xe2\x80\x99)re) (?:a )?human|are you (?:a robot|human)|not a robot"
    rb"|unusual traffic|security (?:check|verification)|human verification|bot verification|captcha|checking your browser"
    rb"|one more step|prove (?:that )?you(?: are|'re) human|robot check|pardon our interruption"
)
_NO_TEXT: Final = re.compile(rb"<(script|style|noscript|template)\b.*?(?:</\1\b[^>]*>?|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG: Final = re.compile(rb"<[^<>]*>?")
_LINK: Final = re.compile(rb"<a\s[^<>]*href=")

LITTLE_TEXT: Final = 400
"""Characters that a page with "no other content" has at most, without its tags and scripts."""

FEW_LINKS: Final = 3
"""Links that it has at most: to the vendor, its terms, its privacy notice."""

LITTLE_AROUND: Final = 1_500
"""Characters of a CAPTCHA page with its explanations. A login page or a form with a widget may have as few: it is told
apart by its title."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A signature in an answer. `alone`: the page has no content besides it."""

    signature: Signature
    alone: bool


def looked_at(status: int) -> int:
    """Bytes of a body that are looked at in an answer with this status; 0 where no body says anything.

    Nearly all pages are good ones, and of a long one most of the time goes into decoding it. A wall that comes as a good page
    is short (`WALL`), but for Cloudflare's, whose mark stands near the beginning.
    """
    if not any(row.marks for row in _rows(status)):
        return 0
    return WALL if 200 <= status <= 299 else LOOKED_AT


@lru_cache(maxsize=1_000)
def _rows(status: int) -> tuple[Signature, ...]:
    """What an answer with this status may be."""
    return tuple(row for row in SIGNATURES if not row.statuses or status in row.statuses)


def find(status: int, headers: Headers, body: bytes) -> Seen | None:
    """The first signature of the table that an answer has, or None.

    `body`: what was received, decoded, of which the first `looked_at(status)` bytes count, and whether there are more; b""
    where there is none, or where its type is no text.
    """
    most = looked_at(status)
    lower = body[:most].lower()
    marks = {_MARKS[number] for number, _, _ in _AUTOMATON.find_matches_as_indexes(lower)} if lower else frozenset[str]()
    for row in _rows(status):
        if row.marks and (marks.isdisjoint(row.marks) or not marks.issuperset(row.also)):
            continue
        if row.header is not None and not _has(headers, *row.header):
            continue
        if row.within and len(body) > row.within:
            continue
        if row.wall and not is_wall(lower):
            continue
        return Seen(row, bool(row.marks) and len(body) <= most and is_alone(lower))
    return None


def is_wall(lower: bytes) -> bool:
    """Whether a page (in lower case) reads as one that stands before another: its title or a heading says so, there is
    little around it, and nothing is in an article or is asked for in a field of its own."""
    if b"<article" in lower or b"<textarea" in lower or b'type="password"' in lower or b"type='password'" in lower:
        return False
    if not any(_WALL_WORDS.search(found[2]) for found in _TITLES.finditer(lower)):
        return False
    return len(_text(lower)) <= LITTLE_AROUND


def is_alone(lower: bytes) -> bool:
    """Whether a page (in lower case) has next to no text and links."""
    return len(_text(lower)) <= LITTLE_TEXT and sum(1 for _ in _LINK.finditer(lower)) <= FEW_LINKS


def _text(lower: bytes) -> bytes:
    return b" ".join(_TAG.sub(b" ", _NO_TEXT.sub(b" ", lower)).split())


def _has(headers: Headers, name: str, part: str) -> bool:
    return any(part in value.lower() for value in values(headers, name))
