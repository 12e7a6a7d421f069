"""Where in a text a number of a certain form may stand, found at the speed of an automaton.

A number has no literal to look for. So the text is read as classes of characters (a digit, a small letter up to f, a
blank ...), in which `078-05-1120` is `000-00-0000` whatever its digits are, and that is a literal. Numbers without a form
of their own are looked for behind a word that names them.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from ahocorasick_rs import BytesAhoCorasick, Implementation

from scrapy_polite.redaction.escapes import escape_over

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["END", "GAP", "QUOTE", "Form", "Forms", "Seen", "begins", "classes", "hyphened", "spelled"]

# One blank or hyphen between the groups of a number, as pages write it.
GAP = r"(?:[ \u00a0\u2007\u2010-\u2015\u202f+.-]|%20|&nbsp;|&\#0?160;|&\#[xX][aA]0;|\\{1,8}u00[aA]0)"
# A quote around a name or a value, as it is or escaped (`\\"`, `&quot;`, `%22`).
QUOTE = r"""(?:[\\]{0,8}["'`]|&quot;|&\#3[49];|%2[27])"""
# Where a number ends: no letter, no hyphen but that of the end of a comment, and no decimal goes on. Letters of scripts
# that put no blanks between words (all from U+2000 on) may stand right beside it.
END = r"(?![A-Za-z0-9_\u00aa-\u1fff]|-(?!->)|\.[0-9])"
_GAPS = (" ", "-", "/", "&nbsp;", "&#160;", "&#0160;", "&#xa0;", "&#xA0;", "%20", "\\u00a0", "\\u00A0")

# The classes: 0 a digit, a and F letters that are hexadecimal digits, z and A the others, and these signs as they are;
# "/" is everything else.
_SIGNS = ".,:- _%&\\;~"
_TABLE = bytes(
    ord("0") if 48 <= code <= 57
    else ord("a") if 97 <= code <= 102
    else ord("z") if 103 <= code <= 122
    else ord("F") if 65 <= code <= 70
    else ord("A") if 71 <= code <= 90
    else ord(" ") if code == 0xA0
    else code if chr(code) in _SIGNS
    else ord("/")
    for code in range(256)
)  # fmt: skip

# What may stand before a number: anything but a digit and a full stop, as a letter may be the end of an escape.
_BEFORE = "aFzA,:- %&\\;/~"


class Seen(NamedTuple):
    """What stands at text[start:end] is such a number; `certain`: check digits prove it."""

    start: int
    end: int
    certain: bool = False


class Form(NamedTuple):
    """One form of number of a kind.

    `literals`  in classes, as `classes` makes them; `bounded` as it was said there
    `words`     in the text, small letters only: they are looked for in small letters, capitals, and with a capital first
    `read`      is told the text and where the literal begins, or the word ends, and answers what stands there
    """

    kind: str
    read: Callable[[str, int], Iterator[Seen]]
    literals: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    bounded: bool = True


def classes(pattern: str, bounded: bool = True) -> tuple[str, ...]:
    """The literals for a pattern of classes: `0`, `A` for any capital, `h` for a hexadecimal digit, `=` for a gap.

    `bounded`: with each class that may stand before it (and is no part of it).
    """
    options = {"A": "FA", "h": "0aF", "=": tuple(_in_classes(gap) for gap in _GAPS)}
    gaps = options["="] if "=" in pattern else ("",)
    rows: list[str] = []
    for gap in gaps:  # one number has all its gaps alike
        choices = [[gap] if sign == "=" else options.get(sign, sign) for sign in pattern]
        rows += ("".join(parts) for parts in product(*choices))
    return tuple(before + row for before in _BEFORE for row in rows) if bounded else tuple(rows)


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
        by_class: dict[bytes, list[tuple[int, Form]]] = {}
        by_word: dict[bytes, list[tuple[int, Form]]] = {}
        for form in forms:
            for literal in form.literals:
                by_class.setdefault(literal.encode(), []).append((int(form.bounded), form))
            for word in spelled(form.words):
                by_word.setdefault(word.encode("latin-1"), []).append((len(word), form))
        self._class_meanings = list(by_class.values())
        self._word_meanings = list(by_word.values())
        self._by_class = _automaton(by_class)
        self._by_word = _automaton(by_word)

    def find(self, text: str, start: int, end: int, spend: Callable[[int], None]) -> Iterator[tuple[str, Seen]]:
        """The kind and place of every number in text[start:end]; `spend` is told the cost of each step, and may raise."""
        # Every character is one byte, so offsets stay; the blank stands before the first one.
        page = b" " + text[start:end].encode("latin-1", "replace")
        for automaton, meanings, data in (
            (self._by_class, self._class_meanings, page.translate(_TABLE)),
            (self._by_word, self._word_meanings, page),
        ):
            if automaton is None:
                continue
            words = data is page
            for index, found, _ in automaton.find_matches_as_indexes(data, overlapping=True):
                if words and not _word_begins(data, found):
                    continue
                for skip, form in meanings[index]:
                    spend(_TRY_COST)
                    for seen in form.read(text, start + found - 1 + skip):
                        yield form.kind, seen


def _word_begins(data: bytes, at: int) -> bool:
    """True if no letter stands before `at`, or a small one before a capital (`patientNhs`), or an escape (`\\n`, `%0A`)."""
    before, first = data[at - 1 : at], data[at : at + 1]
    if not before.isalpha() or (before.islower() and first.isupper()):
        return True
    return data[max(0, at - 2) : at - 1] == b"\\" or data[max(0, at - 3) : max(0, at - 2)] == b"%"


# What it costs to read a candidate, in characters read as they are.
_TRY_COST = 100


def _automaton(literals: dict[bytes, list[tuple[int, Form]]]) -> BytesAhoCorasick | None:
    return BytesAhoCorasick(list(literals), implementation=Implementation.DFA) if literals else None
