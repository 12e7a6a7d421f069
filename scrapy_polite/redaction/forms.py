"""Where in a text a number of a certain form may stand, found at the speed of an automaton.

A number has no literal to look for. So the text is read as classes of characters (a digit, a small letter up to f, a
blank ...), in which `078-05-1120` is `000-00-0000` whatever its digits are, and that is a literal. Numbers without a form
of their own are looked for behind a word that names them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate, product
from typing import TYPE_CHECKING, NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation

from scrapy_polite.redaction.escapes import LEADS, LONGEST_ESCAPE, View, escape_over
from scrapy_polite.redaction.media import outside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["BEFORE", "END", "GAP", "QUOTE", "Form", "Forms", "Seen", "begins", "classes", "escaped", "hyphened", "spelled"]

# One blank or hyphen between the groups of a number, as pages write it.
GAP = r"(?:[ \u00a0\u2007\u2010-\u2015\u202f+.-]|%20|&nbsp;|&\#0?160;|&\#[xX][aA]0;|\\{1,8}u(?:00[aA]0|\{[aA]0\}))"
# A quote around a name or a value, as it is or escaped (`\\"`, `&quot;`, `&amp;quot;`, `%22`).
QUOTE = r"""(?:[\\]{0,8}["'`]|&(?:amp;)?(?:quot|\#3[49]);|%2[27])"""
# Where a number ends: no letter, no hyphen but that of the end of a comment, and no decimal goes on. Letters of scripts
# that put no blanks between words (all from U+2000 on) may stand right beside it.
END = r"(?![A-Za-z0-9_\u00aa-\u1fff]|-(?!->)|\.[0-9])"
_GAPS = (" ", "-", "/", "&nbsp;", "&#160;", "&#0160;", "&#xa0;", "&#xA0;", "%20", "\\u00a0", "\\u00A0", "\\u{a0}", "\\u{A0}")

# How encoders write what stands between the groups of a number: by its code, and by its name in HTML.
_CODES = ("%{0:02X}", "%{0:02x}", "%25{0:02X}", "%25{0:02x}", "&#{0};", "&#x{0:x};", "\\x{0:02x}", "\\x{0:02X}", "\\u{0:04x}",
    "\\u{0:04X}", "\\u{{{0:x}}}", "\\u{{{0:X}}}")  # fmt: skip
_NAMES = {":": "&colon;", ".": "&period;"}

# The classes: 0 a digit, a and F letters that are hexadecimal digits, z and A the others, and these as they are (u and x,
# as pages are full of `\\u0430` and have hardly any `\\x30`); "/" is everything else.
_SIGNS = ".,:- _%&\\;~ux"
_TABLE = bytes(
    ord("0") if 48 <= code <= 57
    else ord("a") if 97 <= code <= 102
    else code if chr(code) in _SIGNS
    else ord("z") if 103 <= code <= 122
    else ord("F") if 65 <= code <= 70
    else ord("A") if 71 <= code <= 90
    else ord(" ") if code == 0xA0
    else ord("/")
    for code in range(256)
)  # fmt: skip

# What may stand before a number: anything but a digit and a full stop, as a letter may be the end of an escape.
BEFORE = "aFzuxA,:- %&\\;/~"


class Seen(NamedTuple):
    """What stands at text[start:end] is such a number; `certain`: check digits prove it."""

    start: int
    end: int
    certain: bool = False


class Form(NamedTuple):
    """One form of number of a kind.

    `literals`  in classes, as `classes` makes them; `bounded`: how many of their characters stand before the number
    `words`     in the text, small letters only: they are looked for in small letters, capitals, and with a capital first
    `read`      is told the text and where the literal begins, or the word ends, and answers what stands there
    `needs`     is told the same, and answers whether to read there at all: in classes `\\u003a` is like any letter that is
                written by its code, and some pages write all their letters so
    `hidden`    is told the same where nothing was read, and answers whether to read it with its escapes undone
    """

    kind: str
    read: Callable[[str, int], Iterator[Seen]]
    literals: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    bounded: int = 1
    needs: Callable[[str, int], object] | None = None
    hidden: Callable[[str, int], object] | None = None


def classes(pattern: str, bounded: bool = True, escaped: str = "", before: str = BEFORE) -> tuple[str, ...]:
    """The literals for a pattern of classes: `0`, `A` for any capital, `L` for any letter, `h` for a hexadecimal digit, `=` for
    a gap.

    `bounded`: with each class of `before`, which may stand before it (and is no part of it). `escaped`: the gap is one of these
    signs, as an escape.
    """
    options = {"A": "FA", "L": "FAazux", "h": "0aF"}
    gaps: tuple[str, ...] = ("",)
    if "=" in pattern:
        written = _escapes(escaped) if escaped else (*_GAPS, *_escapes(" -"))
        gaps = tuple(dict.fromkeys(_in_classes(gap) for gap in written))
    rows: list[str] = []
    for gap in gaps:  # one number has all its gaps alike
        choices = [[gap] if sign == "=" else options.get(sign, sign) for sign in pattern]
        rows += ("".join(parts) for parts in product(*choices))
    return tuple(sign + row for sign in before for row in rows) if bounded else tuple(rows)


def _escapes(signs: str) -> tuple[str, ...]:
    return (*(form.format(ord(sign)) for sign in signs for form in _CODES), *(_NAMES[sign] for sign in signs if sign in _NAMES))


def escaped(signs: str) -> str:
    """An expression for one of these signs, written as an escape that `classes` knows."""
    return f"(?:{'|'.join(map(re.escape, _escapes(signs)))})"


def spelled(words: Sequence[str]) -> tuple[str, ...]:
    """Every way to write the words: small, capital, or both (`NI number`), joined by a blank, `_`, `-` or nothing."""
    found: dict[str, None] = {}
    for word in words:
        parts = word.split(" ")
        for joint in (" ", "_", "-", ""):
            small = joint.join(parts)
            first = joint.join([parts[0].upper(), *parts[1:]])
            capital = joint.join(part.capitalize() for part in parts)
            found.update(dict.fromkeys((small, small.upper(), small.capitalize(), first, capital, small[0] + capital[1:])))
    return tuple(found)


def begins(text: str, at: int) -> int:
    """Where a number begins that seems to begin at `at`: there, or behind the escape that its first digits belong to
    (`%20`); -1 if it is glued to a letter."""
    before = text[max(0, at - 1) : at]
    glued = before == "_" or (before.isalnum() and before < "\u2000")
    if not glued and before not in ("%", "&", "\\", "#", "{"):
        return at
    escape = escape_over(text, at)
    if escape is not None and escape[0] < at:
        return escape[1]
    escape = escape_over(text, at - 1)
    return -1 if glued and (escape is None or escape[1] != at) else at


def hyphened(text: str, at: int) -> bool:
    """True if a hyphen stands before `at` and does not open a comment (`<!--`)."""
    return text[at - 1 : at] == "-" and text[max(0, at - 4) : at] != "<!--"


def _in_classes(text: str) -> str:
    return text.encode("latin-1", "replace").translate(_TABLE).decode("ascii")


class Forms:
    """Some forms, compiled; safe to use from several threads."""

    __slots__ = ("_by_class", "_by_word", "_class_meanings", "_word_meanings")

    def __init__(self, forms: Sequence[Form]) -> None:
        # With each form: characters from the literal to where it is read, and from there to where an escape may be.
        by_class: dict[bytes, list[tuple[int, int, Form]]] = {}
        by_word: dict[bytes, list[tuple[int, int, Form]]] = {}
        for form in forms:
            for literal in form.literals:
                skip = int(form.bounded)
                by_class.setdefault(literal.encode(), []).append((skip, len(literal) - skip, form))
            for word in spelled(form.words):
                by_word.setdefault(word.encode("latin-1"), []).append((len(word), _SEES, form))
        self._class_meanings = list(by_class.values())
        self._word_meanings = list(by_word.values())
        self._by_class = _automaton(by_class)
        self._by_word = _automaton(by_word)

    def find(self, text: str, spans: Sequence[tuple[int, int]], spend: Callable[[int], None]) -> Iterator[tuple[str, Seen]]:
        """The kind and place of every number in these spans of the text; `spend` is told the cost of each step, and may
        raise."""
        return self._within(text, spans, spend)

    def near(
        self,
        text: str,
        spans: Sequence[tuple[int, int]],
        spend: Callable[[int], None],
        media: Sequence[tuple[int, int]] = (),
    ) -> Iterator[tuple[str, Seen]]:
        """Those in which one of these spans (in order) may have a part, or that a form sees no farther from than it reads; none
        in media."""
        return self._within(text, outside(list(_around(text, spans)), media), spend)

    def _within(
        self, text: str, windows: Sequence[tuple[int, int]], spend: Callable[[int], None]
    ) -> Iterator[tuple[str, Seen]]:
        # One after the other, each behind the character that stands before it, or a blank where the text begins. Every
        # character is one byte, so offsets stay.
        pieces = [text[start - 1 : end] if start else " " + text[:end] for start, end in windows]
        offsets = [0, *accumulate(map(len, pieces))]
        page = "".join(pieces).encode("latin-1", "replace")
        for automaton, meanings, data in (
            (self._by_class, self._class_meanings, page.translate(_TABLE)),
            (self._by_word, self._word_meanings, page),
        ):
            if automaton is None:
                continue
            words = data is page
            for index, found, end in automaton.find_matches_as_indexes(data, overlapping=True):
                piece = bisect_right(offsets, found) - 1 if len(pieces) > 1 else 0
                if end > offsets[piece + 1] or (words and not _word_begins(data, found)):
                    continue
                begun = windows[piece][0] - 1 + found - offsets[piece]
                for skip, size, form in meanings[index]:
                    if form.needs is None or form.needs(text, begun + skip):
                        spend(_TRY_COST)
                        for seen in _read(form, text, begun + skip, size, spend):
                            yield form.kind, seen


def _around(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The spans with what may be of a number on either side, those joined that then overlap."""
    first = last = -1
    for start, end in spans:
        since, until = max(0, start - _REACH), end + _REACH
        if text.find("&", since, until) < 0 and text.find("\\", since, until) < 0 and text.find("%", since, until) < 0:
            since, until = max(0, start - _REACH_PLAIN), end + _REACH_PLAIN
        if since > last:
            if last >= 0:
                yield first, last
            first = since
        first, last = min(first, since), max(last, until)
    if last >= 0:
        yield first, last


def _read(form: Form, text: str, at: int, size: int, spend: Callable[[int], None]) -> Iterator[Seen]:
    """What stands there, read as it is; or, if nothing does and an escape is near, with the escapes undone."""
    found = False
    for seen in form.read(text, at):
        found = True
        yield seen
    if found or (form.hidden and not form.hidden(text, at)) or not _LEAD.search(text, at, at + size + 1):
        return
    first, last = max(0, at - _VIEWED_BEFORE), min(len(text), at + size + _VIEWED)
    spend(_VIEW_COST * (last - first))
    view = View(text, first, last)
    position = view.position(at)
    if form.bounded and view.origin(position) < at:
        position += 1  # it belongs to an escape, behind which the number begins
    for start, end, certain in form.read(view.text, position):
        if end < len(view.text) or last == len(text):
            yield Seen(view.origin(start), view.origin(end), certain)


def _word_begins(data: bytes, at: int) -> bool:
    """True if no letter stands before `at`, or a small one before a capital (`patientNhs`), or an escape (`\\n`, `%0A`)."""
    before, first = data[at - 1 : at], data[at : at + 1]
    if not before.isalpha() or (before.islower() and first.isupper()):
        return True
    return data[max(0, at - 2) : at - 1] == b"\\" or data[max(0, at - 3) : max(0, at - 2)] == b"%"


# Characters on either side of a value in which another one can be that it hid: the longest one and what a form sees before
# it, with every gap an escape, and where no escape is.
_REACH, _REACH_PLAIN = 300, 160
# What it costs to read a candidate, in characters read as they are, and a character of it with its escapes undone.
_TRY_COST = 100
_VIEW_COST = 10
_LEAD = re.compile(f"[{re.escape(''.join(sorted(LEADS)))}]")
# Characters behind a word in which its number, and the escapes of that, may be.
_SEES = 96
# Those that are read with their escapes undone: before a number its name, and the longest number.
_VIEWED_BEFORE, _VIEWED = 72 + LONGEST_ESCAPE, 120


def _automaton(literals: dict[bytes, list[tuple[int, int, Form]]]) -> BytesAhoCorasick | None:
    return BytesAhoCorasick(list(literals), implementation=Implementation.DFA) if literals else None
