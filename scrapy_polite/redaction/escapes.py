"""What a page writes as an escape, read as the character it stands for, with the way back to the page.

A key stands in a page as it is, or as an encoder left it: percent-encoded in a query string, with HTML entities in an
attribute, with backslashes in a script or in JSON. `View` reads a window of the page with every escape undone and knows
for each character where it came from, so that a value found in the view is cut out of the page itself, and an escape is
never cut in half. One level is undone, and the second where encoders are usually stacked (`%253D`, `&amp;quot;`,
`\\\\u0026`).
"""

from __future__ import annotations

import re
from bisect import bisect_right

__all__ = ["LEADS", "LONGEST_ESCAPE", "View", "ends_in_escape", "spellings", "unescape"]

# Characters with which every escape begins.
LEADS = frozenset("\\%&")

# Characters of the longest escape that is undone ("&amp;#x0000ff;", "\u0026NewLine;").
LONGEST_ESCAPE = 16

# https://html.spec.whatwg.org/multipage/named-characters.html: those that encoders write for ASCII, and the blank ones.
_NAMED = {
    "amp": "&", "quot": '"', "apos": "'", "lt": "<", "gt": ">", "nbsp": " ", "commat": "@", "period": ".",
    "lowbar": "_", "plus": "+", "equals": "=", "sol": "/", "bsol": "\\", "colon": ":", "semi": ";", "percnt": "%",
    "num": "#", "excl": "!", "quest": "?", "dollar": "$", "lpar": "(", "rpar": ")", "comma": ",", "hyphen": "-",
    "dash": "-", "Tab": "\t", "NewLine": "\n", "ensp": " ", "emsp": " ", "thinsp": " ",
}  # fmt: skip
_NAME_OF = {character: name for name, character in _NAMED.items() if character in "@._+=/:%-$"}

# How encoders write a character by its number.
_NUMBERED = (
    "%{0:02X}", "%{0:02x}", "%25{0:02X}", "%25{0:02x}", "&#{0};", "&#0{0};", "&amp;#{0};", "&#x{0:x};", "&#x{0:X};",
    "&#X{0:X};", "\\u00{0:02x}", "\\u00{0:02X}", "\\x{0:02x}", "\\x{0:02X}",
)  # fmt: skip

# RFC 8259 section 7 and ECMA-262 12.9.4: one-letter escapes; the others stand for themselves ("\/", "\"").
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}

# A run of backslashes counts as one: a script inside JSON inside a script doubles them at every level.
_ESCAPE = re.compile(
    r"""
      (?:&|\\{1,8}u0026) (?:amp;)?
      (?: \#(?P<decimal>[0-9]{1,7}) | \#[xX](?P<hex>[0-9a-fA-F]{1,6}) | (?P<name>[A-Za-z]{2,8}) ) ;
    | % (?:25)? (?P<percent>[0-9a-fA-F]{2})
    | \\{1,8} (?: u(?P<unicode>[0-9a-fA-F]{4}) | x(?P<byte>[0-9a-fA-F]{2}) )
    | \\{1,8} (?: (?P<letter>[bfnrtv0]) | (?P<self>[/"'`&=:.@_+-]) )
    | \\{2,8}
    """,
    re.VERBOSE,
)
_AT_END = re.compile(f"(?:{_ESCAPE.pattern})\\Z", re.VERBOSE)


def _character(code: int) -> str:
    return chr(code) if code <= 0x10FFFF else "\ufffd"


def _meaning(match: re.Match[str]) -> str:
    kind, text = match.lastgroup, match[0]
    if kind is None:
        return "\\"
    part = match[kind]
    if kind == "decimal":
        return _character(int(part))
    if kind == "hex":
        return _character(int(part, 16))
    if kind == "name":
        return _NAMED.get(part, text)  # an unknown name stays as it is written
    if kind == "percent":
        # One byte of a longer UTF-8 sequence: which letter it is does not matter, that it is one does.
        return chr(int(part, 16)) if int(part, 16) < 0x80 else "\u00e9"
    if kind == "letter":
        return _LETTERS[part]
    if kind == "self":
        return part
    return chr(int(part, 16))


def unescape(text: str) -> str:
    """The text with its escapes undone. For short texts: a page is read through `View`, where its offsets are known."""
    return _ESCAPE.sub(_meaning, text)


def ends_in_escape(text: str, end: int) -> bool:
    """True if an escape ends right before `end`: what looks like a letter before a key is then the tail of one."""
    return _AT_END.search(text, max(0, end - LONGEST_ESCAPE), end) is not None


class View:
    """A window of a page with its escapes undone. `text` is what is read; offsets in it lead back to the page."""

    __slots__ = ("_origins", "text")

    def __init__(self, page: str, start: int, end: int) -> None:
        start, end = max(0, start), min(len(page), end)
        pieces: list[str] = []
        origins: list[int] = []  # of every character of the view: where it begins in the page
        at = start
        for match in _ESCAPE.finditer(page, start, end):
            meaning = _meaning(match)
            if meaning == match[0]:
                continue
            pieces += page[at : match.start()], meaning
            origins.extend(range(at, match.start()))
            origins.append(match.start())
            at = match.end()
        pieces.append(page[at:end])
        origins.extend(range(at, end + 1))
        self.text = "".join(pieces)
        self._origins = origins

    def position(self, origin: int) -> int:
        """The offset in the view of the character that stands at `origin` in the page, or whose escape covers it."""
        return bisect_right(self._origins, origin) - 1

    def origin(self, position: int) -> int:
        """The offset in the page at which the character at `position` begins; the end of the view leads to its end."""
        return self._origins[position]


def spellings(anchor: str) -> tuple[str, ...]:
    """How a page may write an anchor: as it is, and with everything but letters and digits escaped by one encoder.

    Encoders leave letters and digits alone, and escape alike every time, so a handful of spellings is all there is.
    """
    odd = {c for c in anchor if not c.isalnum()}
    tables = [{ord(c): form.format(ord(c)) for c in odd} for form in _NUMBERED]
    tables.append({ord(c): f"&{_NAME_OF[c]};" for c in odd if c in _NAME_OF})
    tables.append({ord("/"): "\\/"})
    return tuple(dict.fromkeys([anchor, *(anchor.translate(table) for table in tables)]))
