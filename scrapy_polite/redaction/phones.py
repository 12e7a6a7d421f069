"""Phone numbers in a text, by a cheap expression for what may be one and Google's libphonenumber for whether it is.

libphonenumber's own search reads 3 MB/s; asking it only about what begins like a number reads ten times as much and
finds the same. The library is the extra `[phone]` and is loaded when a policy wants phones.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_polite.redaction.escapes import escape_over, unescape
from scrapy_polite.redaction.regions import REGIONS_FORM, wrong_region

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["PhoneFinder"]

# What one candidate costs, and what asking libphonenumber once costs, in characters read (about 10 nanoseconds each).
_TRY_COST = 100
_PARSE_COST = 2000

# Characters of the longest number, with every gap an escape, and those before a number that are looked at.
_LONGEST = 600
_SEES = 4

_GAP = (
    r"(?:[ \u00a0\u2007\u2010-\u2015\u202f.()+-]|%(?:25)?(?:2[0-9abdeABDE])|&nbsp;|&\#0?(?:160|32|4[0135]);"
    r"|&\#[xX](?:[aA]0|2[0-9abdABD]);|\\{1,8}(?:(?:u00|x)(?:[aA]0|2[089abdeABDE])|u\{(?:[aA]0|2[089abdeABDE])\}))"
)

# Hard blanks, of which libphonenumber knows none.
_BLANKS = dict.fromkeys(map(ord, "\u00a0\u2007\u202f"), " ")

# The first characters of a number, each with what follows it: to find one character is what `re` is fastest at, and most are
# refused by the next one.
_FIRSTS = {
    "+": r"\+",
    "0": "0(?=0?[1-9])",
    "(": r"\((?=[+0])",
    "%": "%(?=2)",
    "&": r"&(?=[\#p])",
    "\\": r"\\(?=\\{0,63}(?:(?:u00|x)2[bB]|u\{2[bB]\}))",
}
_FIRSTS_GROUPED = {**_FIRSTS, "(": r"\((?=[+02-9])", "": "[2-9](?=[0-9]{1,3}[^0-9A-Za-z])"}
# What a number begins with, by its first character.
_LEADS = r"""
    (?:
        # Not in the middle of a word, a colour, a decimal, an id or a path.
        (?<![A-Za-z0-9_\u00aa-\u1fff+\#].) (?<![0-9]\..) (?: (?<=\+) | (?<![^0-9\s~]/.) )
        # A letter or digit before it may be the tail of an escape ("\n", "%20").
      | (?<=\\[bfnrtv].) | (?<=%[0-9a-fA-F]{2}.) | (?<=\\u[0-9a-fA-F]{4}.)
    )
    (?:
        (?<=\+)
      | (?<=0) 0? [1-9]
      | (?<=\() (?: \+ | 0{1,2} [1-9] )
      | (?<=%) (?:25){0,2} 2[bB]
      | (?<=&) (?: \#0?43 | \#[xX]2[bB] | plus ) ;
      | (?<=\\) (?<!\\\\) \\{0,63} (?: (?:u00|x)2[bB] | u\{2[bB]\} )  # from the first backslash of a run
"""
# Where numbers are dialled without a zero, only those written in groups can be told from prices and ids.
_GROUPED = rf" | (?<=[2-9]) [0-9]{{1,3}} {_GAP}{{1,3}} | (?<=\() [2-9][0-9]{{1,3}} \) {_GAP}{{0,2}} "
# E.164: 15 digits at most, with the country code.
_REST = rf"(?: {_GAP}{{0,3}} [0-9] ){{6,15}}".replace("[ \\u", "[\\ \\u")

_DIGITS_END = re.compile(r"[0-9](?![0-9])")
# Behind the code of a country, and with as many digits as there may be, a number counts also where its range is given to
# nobody, or newer than the library; where a "+" adds nothing and is no blank, which is behind a blank or a quote.
_ABROAD = re.compile(r"\+[1-9](?:[^0-9+]{0,3}[0-9]){9,14}\Z")
_SET_APART = frozenset(" \n\t\r\u00a0>\"'(,;")
# A day, or the moment of one, in figures (ISO 8601).
_MOMENT = re.compile(r"(?:19|20)[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])(?![0-9])")
# How numbers of the North American plan are grouped where they have neither "+" nor zero before them: 3-3-4.
_GROUPED_AS_NANP = re.compile(r"(?:1[^0-9]{1,3})?\(?[0-9]{3}[^0-9]{0,3}[0-9]{3}[^0-9]{0,2}[0-9]{4}")
# The country, or the area in brackets, may be set off by another sign than the groups.
_SET_OFF = re.compile(r"(?:\+[0-9]{1,3}[ .-]?)?(?:\([0-9]{1,5}\))?[ .-]{0,2}")
# Numbers of a drawing (`d="m.5 018 7.934 2.926-.03 ..."`): decimals without a zero, and those in a row of others.
_DECIMAL_BEFORE = re.compile(r"[\s,-]\.\Z")
_OTHER_BEFORE = re.compile(r"[0-9][ ,]\Z")
_NUMBER_BEFORE = re.compile(r"[0-9][ ,-]{0,2}\.?\Z")
_OTHER_AFTER = re.compile(r"[ ,-]{1,2}\.?[0-9]")
# RFC 3966 section 5.3, as people write it: `x459`, `ext. 12`.
_EXTENSION = re.compile(r"[ \u00a0]?(?:x|ext(?:ension|n)?\.?)[ \u00a0]?[0-9]{1,6}(?![A-Za-z0-9_]|\.[0-9])", re.IGNORECASE)
# What a number is written with, escapes and their letters included.
_IN_RUN = re.compile(r"[0-9A-Za-z \u00a0\u2007\u2010-\u2015\u202f.(){}+%&#;\\-]")
_RUN = re.compile(f"{_IN_RUN.pattern}*")
# As many digits as the shortest has, some of them of its escapes.
_SEVEN = re.compile(r"(?:[0-9][^0-9,]{0,60}){6}[0-9]")
# A number does not end in the middle of a word or a decimal; scripts without blanks between words begin at U+2000.
_GOES_ON = re.compile(r"[A-Za-z0-9_\u00aa-\u1fff]|\.[0-9]")


class PhoneFinder:
    """Finds the numbers that are valid in one of the regions, or anywhere if they are written with their country code.

    Raises ValueError if libphonenumber is not installed, or does not know a region.
    """

    __slots__ = ("_american", "_candidate", "_candidates", "_regions", "_signs", "_valid", "_zeroed")

    def __init__(self, regions: Sequence[str]) -> None:
        try:
            import phonenumbers
        except ImportError:
            raise ValueError(
                "POLITE_REDACT: this policy redacts phone numbers, which needs the extra [phone]. Install it "
                '(pip install \'scrapy-polite[phone]\') or keep phone numbers ({"kinds": {"phone": "keep"}})'
            ) from None
        for region in regions:
            problem = wrong_region(region)
            if problem:
                raise ValueError(f"POLITE_REDACT: 'regions' has {problem}; accepted is {REGIONS_FORM}")
        self._regions = tuple(regions)
        self._american = frozenset(region for region in regions if phonenumbers.country_code_for_region(region) == 1)
        self._zeroed = frozenset(region for region in regions if phonenumbers.ndd_prefix_for_region(region, True) == "0")
        zero = self._zeroed.issuperset(regions)
        begun = f"{_LEADS}{'' if zero else _GROUPED}){_REST}"
        firsts = _FIRSTS if zero else _FIRSTS_GROUPED
        self._candidates = [(sign, re.compile(first + begun, re.VERBOSE)) for sign, first in firsts.items()]
        self._candidate = re.compile("." + begun, re.VERBOSE)
        self._signs = frozenset("".join(firsts) + ("" if zero else "23456789"))

        def valid(number: str, region: str, unassigned: bool) -> bool:
            try:
                parsed = phonenumbers.parse(number, region)
            except phonenumbers.NumberParseException:
                return False
            return phonenumbers.is_valid_number(parsed) or (unassigned and phonenumbers.is_possible_number(parsed))

        self._valid: Callable[[str, str, bool], bool] = valid

    def find(self, text: str, spans: Sequence[tuple[int, int]], spend: Callable[[int], None]) -> Iterator[tuple[int, int]]:
        """The numbers in these spans of the text, in order. `spend` is told the cost of each step in characters, and may
        raise to end it."""
        for start, end in spans:
            yield from self._within(text, start, end, spend)

    def beside(self, text: str, start: int, end: int, spend: Callable[[int], None]) -> Iterator[tuple[int, int]]:
        """Those that end where text[start:end] begins, or begin right behind it: it was masked, and may have hid them, or
        made them numbers of a drawing."""
        number = _NUMBER_BEFORE.search(text, max(0, start - _SEES), start)
        if number:
            yield from self._within(text, _run_begins(text, number.start()), start, spend)
        for at, sign in enumerate(text[end : end + _SEES], end):
            candidate = self._candidate.match(text, at, end + _LONGEST) if sign in self._signs else None
            if candidate:
                spend(_TRY_COST)
                found = self._longest(text, at, candidate.end(), spend)
                if found:
                    yield at, found

    def through(self, text: str, start: int, end: int, spend: Callable[[int], None]) -> Iterator[tuple[int, int]]:
        """Those of which text[start:end] may be a part, or the character before them."""
        run = _RUN.match(text, end, end + _LONGEST)
        first, last = _run_begins(text, start), run.end() if run else end
        if _SEVEN.search(text, first, last):
            yield from self._within(text, first, last, spend)

    def _within(self, text: str, start: int, end: int, spend: Callable[[int], None]) -> Iterator[tuple[int, int]]:
        last = 0
        for at in self._begun(text, start, end):
            candidate = self._candidate.match(text, at, end) if at >= last else None
            if candidate:
                spend(_TRY_COST)
                found = self._longest(text, at, candidate.end(), spend)
                if found:
                    last = found
                    yield at, found

    def _begun(self, text: str, start: int, end: int) -> list[int]:
        """Where there may be a number, in order."""
        found: list[int] = []
        for sign, pattern in self._candidates:
            first = text.find(sign, start, end)
            candidate = pattern.search(text, first, end) if first >= 0 else None
            while candidate is not None:
                found.append(candidate.start())
                candidate = pattern.search(text, candidate.start() + 1, end)
        found.sort()
        return found

    def _longest(self, text: str, start: int, end: int, spend: Callable[[int], None]) -> int:
        """The end of the longest number that begins at `start`, whole groups of digits only; 0 if there is none."""
        cut = escape_over(text, start)
        if cut and cut[0] < start:
            return 0  # its first character belongs to an escape
        if _MOMENT.match(text, start):
            return 0
        for last in reversed([match.end() for match in _DIGITS_END.finditer(text, start, end)]):
            number = unescape(text[start:last]).translate(_BLANKS)
            if sum(c.isdigit() for c in number) < 7:
                break
            extension = _EXTENSION.match(text, last)
            if number.count("(") != number.count(")") or (_GOES_ON.match(text, last) and not extension):
                continue
            if _is_drawn(text, start, last):
                continue
            unassigned = _ABROAD.match(number) is not None and (not start or text[start - 1] in _SET_APART)
            # A "+" between digits is how a query string writes a blank.
            number = number[:2] + number[2:].replace("+", " ")
            for region in self._regions:
                if number[0] not in "+0(" and region in self._zeroed:
                    continue  # only abroad is it dialled without
                if number[0] not in "+0" and region in self._american and not _GROUPED_AS_NANP.fullmatch(number):
                    continue
                spend(_PARSE_COST)
                if self._valid(number, region, unassigned):
                    if escape_over(text, last - 1):
                        break  # what looks like its last digits is an escape
                    return extension.end() if extension else last
                if number.startswith("+"):
                    break  # with its country code it is the same number in every region
        return 0


def _run_begins(text: str, at: int) -> int:
    """Where what stands before `at` begins that numbers are written with."""
    run = _RUN.match(text[max(0, at - _LONGEST) : at][::-1]) if at and _IN_RUN.match(text, at - 1) else None
    return at - run.end() if run else at


def _is_drawn(text: str, start: int, end: int) -> bool:
    """True if text[start:end] is coordinates of a drawing, not groups of a number."""
    if "." not in text[max(0, start - 1) : end]:
        return False
    groups = text[start:end]
    set_off = _SET_OFF.match(groups)
    if set_off:
        groups = groups[set_off.end() :]
    return (
        # Nobody sets groups apart by full stops and by something else at once.
        ("." in groups and (" " in groups or "-" in groups))
        or _DECIMAL_BEFORE.search(text, max(0, start - 2), start) is not None
        or (_OTHER_BEFORE.search(text, max(0, start - 2), start) is not None and _OTHER_AFTER.match(text, end) is not None)
    )
