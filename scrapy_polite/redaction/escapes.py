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
from html.entities import html5

__all__ = [
    "LEADS",
    "LONGEST_ESCAPE",
    "View",
    "escape_over",
    "is_ampersand",
    "may_end_escape",
    "spellings",
    "unescape",
    "unescaped_start",
]

# Characters with which every escape begins.
LEADS = frozenset("\\%&")

# Backslashes that are read as one escape. A longer run is read in pieces of so many, which end where an encoder's own
# pairs do; five encoders one inside the other write 31.
_RUN = 64

# Characters of the longest escape that is undone after its first one, or its last backslash
# ("u0026#38;#38;#x000040;").
LONGEST_ESCAPE = 24

# https://html.spec.whatwg.org/multipage/named-characters.html: those that encoders write for ASCII, and the blank ones.
# All others are letters and signs that no anchor has in it.
_NAMED = {
    "amp": "&", "quot": '"', "apos": "'", "lt": "<", "gt": ">", "nbsp": " ", "commat": "@", "period": ".",
    "lowbar": "_", "plus": "+", "equals": "=", "sol": "/", "bsol": "\\", "colon": ":", "semi": ";", "percnt": "%",
    "num": "#", "excl": "!", "quest": "?", "dollar": "$", "lpar": "(", "rpar": ")", "comma": ",", "hyphen": "-",
    "dash": "-", "Tab": "\t", "NewLine": "\n", "ensp": " ", "emsp": " ", "thinsp": " ",
}  # fmt: skip
_NAME_OF = {character: name for name, character in _NAMED.items() if character in "@._+=/:%-$"}

# How encoders write a character by its number. Octal: ECMA-262 B.1.2.
_NUMBERED = (
    "%{0:02X}", "%{0:02x}", "%25{0:02X}", "%25{0:02x}", "&#{0};", "&#0{0};", "&amp;#{0};", "&#x{0:x};", "&#x{0:X};",
    "&#X{0:X};", "&amp;#x{0:x};", "&amp;#x{0:X};",
    "\\\\u{0:04x}", "\\\\u{0:04X}", "\\u{0:04x}", "\\u{0:04X}", "\\x{0:02x}", "\\x{0:02X}",
    "\\{0:03o}", "\\u{{{0:x}}}", "\\u{{{0:X}}}",
)  # fmt: skip

# Nobody escapes more in a key, but people and programs that hide a mailbox from robots do: they write its @ in any way
# that a browser reads. An entity may have zeros in front and no semicolon, and its own "&" may be written as one:
# https://html.spec.whatwg.org/multipage/parsing.html#numeric-character-reference-state
_ANY_NUMBERED = (
    *(form for form in _NUMBERED if not form.endswith(";")),
    "%2525{0:02X}", "%2525{0:02x}",
    *("\\u{{" + "0" * zeros + form + "}}" for zeros in range(1, 5) for form in ("{0:x}", "{0:X}")),
    *(
        lead + x + "0" * zeros + form
        for lead in ("&#", "&amp;#", "&amp;amp;#", "&#38;#", "\\u0026#", "\\x26#", "\\u0026amp;#")
        for x, form in (("", "{0}"), ("x", "{0:x}"), ("x", "{0:X}"), ("X", "{0:x}"), ("X", "{0:X}"))
        for zeros in range(5)
    ),
)  # fmt: skip
_NAMED_SO = ("&{};", "&amp;{};", "&amp;amp;{};", "&#38;{};", "\\u0026{};", "\\x26{};", "\\u0026amp;{};")

# RFC 8259 section 7 and ECMA-262 12.9.4: one-letter escapes; the others stand for themselves ("\/", "\"").
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}

# A run of backslashes counts as one: a script inside JSON inside a script doubles them at every level.
_ESCAPE = re.compile(
    rf"""
      (?:&|\\{{1,{_RUN}}}(?:u0026|x26)) (?:amp;|\#38;){{0,2}}
      (?: \#0{{0,5}}(?P<decimal>[0-9]{{1,7}});? | \#[xX](?P<hex>[0-9a-fA-F]{{1,6}});? | (?P<name>[A-Za-z]{{2,8}}); )
    | % (?:25){{0,2}} (?P<percent>[0-9a-fA-F]{{2}})
    | \\{{1,{_RUN}}} (?: u(?P<unicode>[0-9a-fA-F]{{4}}) | u\{{0{{0,4}}(?P<braced>[0-9a-fA-F]{{1,6}})\}} )
    | \\{{1,{_RUN}}} (?: x(?P<byte>[0-9a-fA-F]{{2}}) | (?P<octal>[0-3][0-7]{{2}}) )
    | \\{{1,{_RUN}}} (?: (?P<letter>[bfnrtv0]) | (?P<self>[/"'`&=:.@_+-]) )
    | \\{{2,{_RUN}}}
    """,
    re.VERBOSE,
)


def _character(code: int) -> str:
    return chr(code) if code <= 0x10FFFF else "\ufffd"


def _meaning(match: re.Match[str]) -> str:
    kind, text = match.lastgroup, match[0]
    if kind is None:
        return "\\"
    part = match[kind]
    if kind == "decimal":
        return _character(int(part))
    if kind in ("hex", "braced"):
        return _character(int(part, 16))
    if kind == "octal":
        return chr(int(part, 8))
    if kind == "name":
        named = _NAMED.get(part) or html5.get(part + ";", text)
        return named if len(named) == 1 else text  # an unknown name stays as it is written
    if kind == "percent":
        # One byte of a longer UTF-8 sequence: which letter it is does not matter, that it is one does.
        return chr(int(part, 16)) if int(part, 16) < 0x80 else "\u00e9"
    if kind == "letter":
        return _LETTERS[part]
    if kind == "self":
        return part
    return chr(int(part, 16))


def unescape(text: str, signs: str = "") -> str:
    """The text with its escapes undone; only those of these signs, if some are given. For short texts: a page is read through
    `View`, where its offsets are known."""
    if signs:
        return _ESCAPE.sub(lambda match: meaning if (meaning := _meaning(match)) in signs else match[0], text)
    return _ESCAPE.sub(_meaning, text)


def escape_over(page: str, at: int) -> tuple[int, int] | None:
    """Where the escape that covers the character at `at` begins and ends in the page; None if none does."""
    since = max(0, at - LONGEST_ESCAPE)
    lead = max(page.rfind("\\", since, at + 1), page.rfind("%", since, at + 1), page.rfind("&", since, at + 1))
    if lead < 0:
        return None
    # Escapes are told apart from the left, and only backslashes can stand in a row.
    run = lead
    while run and page[run - 1] == "\\":
        run -= 1
    position = lead - (lead - run) % _RUN
    while position <= at:
        match = _ESCAPE.match(page, position)
        if match is None or _meaning(match) == match[0]:
            position += 1
        elif match.end() > at:
            return match.span()
        else:
            position = match.end()
    return None


def may_end_escape(page: str, at: int) -> bool:
    """False if the character at `at` can be the last of no escape, by a look at it and the one before."""
    sign = page[at]
    return sign not in _ENDS_NONE and (sign != "}" or (at > 0 and page[at - 1] in "0123456789abcdefABCDEF"))


# White space and signs with which no form of escape ends.
_ENDS_NONE = frozenset(" \t\r\n\f()[]{<>,!?#$*|^")


def is_ampersand(page: str, at: int) -> bool:
    """True if `&amp;` stands at `at`, and is no part of a longer escape (`&amp;quot;`): read in either way, it is a `&`."""
    if not page.startswith("&amp;", at):
        return False
    match = _ESCAPE.match(page, at)
    return match is not None and match.end() == at + 5


def unescaped_start(page: str, at: int) -> int:
    """The last place at or before `at` where the page can be cut without cutting an escape."""
    escape = escape_over(page, at) if at < len(page) else None
    return escape[0] if escape else at


class View:
    """A window of a page with its escapes undone. `text` is what is read; offsets in it lead back to the page.

    A window that would begin or end inside an escape begins or ends where that begins.
    """

    __slots__ = ("_origins", "text")

    def __init__(self, page: str, start: int, end: int) -> None:
        start, end = unescaped_start(page, max(0, start)), unescaped_start(page, min(len(page), end))
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
    forms = _NUMBERED if len(anchor) > 1 else _ANY_NUMBERED
    if not anchor.isascii():
        forms = tuple(form for form in forms if not form.startswith("%") and "o}" not in form and "\\x{" not in form)
    tables = [{ord(c): form.format(ord(c)) for c in odd} for form in forms]
    tables += [{ord(c): form.format(_NAME_OF[c]) for c in odd if c in _NAME_OF} for form in _NAMED_SO]
    tables.append({ord("/"): "\\/"})
    return tuple(dict.fromkeys([anchor, *(anchor.translate(table) for table in tables)]))
