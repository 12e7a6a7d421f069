"""Where and when: coordinates by the name in front of them, dates of birth by the words around them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_polite.redaction import identifiers
from scrapy_polite.redaction.escapes import unescape
from scrapy_polite.redaction.forms import END, QUOTE, Form, Seen, classes
from scrapy_polite.redaction.numbers import behind_word

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PLACES"]

# With three decimals a place is known to 110 metres, which is a street and no house; with four to 11.
_PLACE_BEGINS = re.compile(r"(?<![0-9+-])[+-]?[0-9]{1,3}\.")
_NUMBER = r"[+-]?[0-9]{1,3}\.[0-9]{4,20}"
_BETWEEN = r"(?:\s{0,3}[,;]\s{0,3}|%2[cC]|%20|\+)"
_PLACE = re.compile(rf"(?P<one>{_NUMBER})(?:{_BETWEEN}(?P<two>[+-]?[0-9]{{1,3}}\.[0-9]{{1,20}}))?{END}")
# `"lat": "`, `data-longitude=`, `itemprop="latitude" content="`, `ll=`, `/@`, `geo:`, `coordinates":[`. The letters that
# names begin with come first, as they refuse most places.
_NAMED = re.compile(
    rf"""(?:(?=(?i:[lsdcmgpi]))
    (?:(?i:(?:(?<![a-z])|(?<=\\[nrt]))(?:lat(?:itude)?|lng|lon(?:g(?:itude)?)?|lat_?l(?:ng|on)|[sd]?ll|cent(?:er|re)
    |[ds]addr|markers?|geo|coord(?:inate)?s|position|icbm|location|point))|Lat(?:itude)?|Lng|Lon(?:gitude)?|LatLng)
    {QUOTE}?(?:\s{{1,3}}(?:content|value)\s?=|\s{{0,3}}[:=(]|%3[aAdD])\s{{0,3}}{QUOTE}?(?:(?:[\[(]|%5[bB])\s{{0,3}}{QUOTE}?)?\s{{0,3}}
    |/@|%40)\Z""",
    re.VERBOSE,
)
# The same in the text of a page and in arguments, of names that mean nothing else: `<lat>`, `latitude</th><td>`,
# `"lat", "`, `/lat/`, `latitude is `.
_SAID = re.compile(
    rf"""(?=(?i:[lc]))(?:(?<![A-Za-z])|(?<=\\[nrt]))(?i:lat(?:itude)?|lng|lon(?:g(?:itude)?)?|coordinates?){QUOTE}?
    (?:\s?,\s?{QUOTE}|:?(?:>|(?:</?\w{{1,10}}>){{1,3}})(?:<!\[CDATA\[)?|/|\s(?:(?:is|to|of)\s|\|\sdefault\()?{QUOTE}?)\Z""",
    re.VERBOSE,
)
# What is in every one of these names; characters before a number in which one is, is with escapes, and nearly always is.
_PARTS_OF_NAMES = (
    *("lat", "lng", "lon", "ll", "center", "centre", "addr", "marker", "geo", "coord", "position", "icbm", "location", "point"),
    *("/@", "%40"),
)
_SEES, _SEES_ESCAPED, _CLOSE = 48, 168, 16
# A number begins less than so many characters behind the literal, and has its full stop within so many.
_BEHIND, _BEGINS_WITHIN = 4, 8
# Where the map of the web ends (EPSG:3857), in the code of every library of maps: no place of anybody.
_EDGE = re.compile(r"[+-]?85\.051[12]")
_BEFORE_DEGREES = re.compile(rf"(?<![\w.])(?P<number>{_NUMBER})\s?(?:\u00b0|&deg;)\Z")
_DIRECTION = re.compile(r"\s?[NSEWO]\b")


def _coordinates(text: str, at: int) -> Iterator[Seen]:
    # The literal begins with what stands before the number, an escape or a blank included, or behind its sign.
    begun = _PLACE_BEGINS.search(text, max(0, at - 1), at + _BEGINS_WITHIN)
    match = _PLACE.match(text, begun.start() if begun and begun.start() < at + _BEHIND else at)
    if match is None or not _called_a_place(text, match.start()) or _EDGE.match(match[0]):
        return
    if abs(float(match["one"])) <= 180 and abs(float(match["two"] or 0)) <= 180:
        yield Seen(*match.span())


def _called_a_place(text: str, start: int) -> bool:
    # The name is nearly always close by; and without a part of one there is none.
    if _NAMED.search(text, max(0, start - _CLOSE), start):
        return True
    since = max(0, start - _SEES)
    before = text[since:start].casefold()
    return any(part in before for part in _PARTS_OF_NAMES) and any(name.search(text, since, start) for name in (_NAMED, _SAID))


def _may_be_called_a_place(text: str, at: int) -> bool:
    """True if a part of a name stands before a number, or does with its escapes undone."""
    before = unescape(text[max(0, at - _SEES_ESCAPED) : at + 1]).casefold()
    return any(part in before for part in _PARTS_OF_NAMES)


def _degrees(text: str, at: int) -> Iterator[Seen]:
    match = _BEFORE_DEGREES.search(text, max(0, at - 40), at)
    if match and _DIRECTION.match(text, at) and abs(float(match["number"])) <= 180:
        yield Seen(*match.span("number"))


_MONTH = (
    "(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?)"
)
_BLANK = r"(?:[\s\u00a0]{1,2}|&nbsp;|%20|\+)"
_DATE = re.compile(
    rf"""(?:
      (?P<year>(?:19|20)[0-9]{{2}}) (?P<sign>[-/.]) (?P<month>[0-9]{{1,2}}) (?P=sign) (?P<day>[0-9]{{1,2}})
    | (?P<first>[0-9]{{1,2}}) (?P<dash>[-/.]|%2[fF]|\\/) (?P<second>[0-9]{{1,2}}) (?P=dash)
      (?P<last>(?:19|20)[0-9]{{2}}|[0-9]{{2}})
    | [0-9]{{1,2}}(?:st|nd|rd|th)? (?:{_BLANK}of)? (?:{_BLANK}|-) {_MONTH} \.?,? (?:{_BLANK}|-) (?:19|20)[0-9]{{2}}
    | {_MONTH} \.? {_BLANK} [0-9]{{1,2}}(?:st|nd|rd|th)? ,? {_BLANK} (?:19|20)[0-9]{{2}}
    )(?![0-9])""",
    re.VERBOSE,
)
_DATE_STARTS = re.compile(rf"(?<![\w.])(?:[0-9]+|{_MONTH}(?![a-z]))")
# A date in the next sentence, or of something that was made, sold or listed, is another one.
_OTHER = re.compile(r"[.!?]\s+[A-Z]|\n\s*\n|(?i:listed|added|posted|updated|published|founded|died|released?|available)")


def _birth_dates(text: str, at: int) -> Iterator[Seen]:
    for match in behind_word(text, at, _DATE, _DATE_STARTS):
        if _OTHER.search(text, at, match.start()):
            return
        if match["year"]:
            good = identifiers.possible_date(int(match["year"]), int(match["month"]), int(match["day"]))
        elif match["first"]:
            one, two = int(match["first"]), int(match["second"])
            year = int(match["last"])
            good = identifiers.possible_date(year if year > 99 else 1900 + year, min(one, two), max(one, two))
        else:
            good = True
        if good:
            yield Seen(*match.span())
        return


# A name ends with a sign, a quote or a bracket, with a blank behind it, or an escape (`%3D`, `%3A`, `%40`, `\\"`).
_PLACES_IN_CLASSES = tuple(
    f"{before}{sign}{'0' * digits}.0000"
    for before in ("/", ":", "/ ", ": ", ";", "F", "a", "%00", "a ", "z ", "u ", "x ")
    for sign in ("", "-")  # any other has the class "/", which stands before the number by itself
    for digits in (1, 2, 3)
)
_ESCAPED_PLACES = tuple(
    literal for digits in ("0", "00", "000") for literal in classes(f"{digits}=0000", bounded=False, escaped=".")
)

PLACES: tuple[Form, ...] = (
    Form("coordinates", _coordinates, _PLACES_IN_CLASSES, hidden=_may_be_called_a_place),
    Form("coordinates", _coordinates, _ESCAPED_PLACES, bounded=False, hidden=_may_be_called_a_place),
    Form("coordinates", _degrees, words=("\u00b0", "&deg;")),
    Form(
        "birth-date",
        _birth_dates,
        words=(
            "birth",
            "born",
            "dob",
            "d.o.b",
            "birthday",
            "birth date",
            "dateofbirth",
            "geboren",
            "geburtsdatum",
            "naissance",
            "nacimiento",
        ),
    ),
)
