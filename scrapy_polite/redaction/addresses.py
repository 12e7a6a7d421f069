"""Addresses of the network: of version 4 and 6, and those of devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_polite.redaction import identifiers
from scrapy_polite.redaction.escapes import unescape
from scrapy_polite.redaction.forms import END, QUOTE, Form, Seen, begins, classes, escaped, hyphened

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ADDRESSES"]

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_V4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}(?!\.[a-z]){END}")
_V4_START = re.compile(r"[0-9]{1,3}\Z")

# What says that four numbers are a version, or a section of a document: a word for it, a product before a slash
# (`Chrome/120.0.6099.109`), a path, a sign. Of what stands before it 48 characters are seen.
_NO_V4 = re.compile(
    rf"""(?:(?i:version|release|revision|firmware|upgrade|identifier|sections?|chapter|assembly|workflow|appendix
    |(?<![a-z])(?:v|ver|rev|build|patch|update|oid\w{{0,40}}|clause|part|rule|step|figure|table|level|§|dll|driver|browser|engine
    |sdk|api|min|max))
    (?:[ _-]?(?i:no|number|id|is|of|to))?{QUOTE}?[\s:=(]{{0,16}}{QUOTE}?
    |(?i:(?<![a-z])(?:(?:up|down)grad|updat|bump|roll|patch|releas)[a-z]{{0,3}}\s[^\n<>]{{0,40}})\s
    |RFC\s?[0-9]{{3,4}},?\s
    |[.+_])\Z""",
    re.VERBOSE,
)
# A name before four small numbers is that of a program (`IronPython 2.7.6.3`), unless it says address.
_NAME_BEFORE = re.compile(
    r"(?<![\w.])(?!(?:IP|IPv4|DNS|TCP|UDP|Addr(?:ess)?|Host|Server|Client|From|To|At|Via|By|Peer|User|Login|Ping)\b)"
    r"[A-Z]\w{1,30} \Z"
)
# Steps of a standard are named in remarks (`// 4.2.6.1`), and in the fragments of its URL.
_REMARK_BEFORE = re.compile(r"(?://\s?|#)\Z")
# Part of a path, which may be a version's; of those no directory has two numbers of three digits.
_PATH_BEFORE = re.compile(r"(?<![:/])/\Z")
_HUNDREDS = 2
# What follows the number of a section (`<h3>24.6.1.8. Window`, `>3.12.2.1.<`), or of a network.
_HEADING_AFTER = re.compile(r"\.[<\s]|\s")
# The title of a numbered section, as DocBook writes it: `title="49.6.4.15.&nbsp;Stream Stop Callback"`.
_TITLE_AFTER = re.compile(r"\.(?:\u00a0|&nbsp;|&\#160;|&\#xA0;|\\u00a0)", re.IGNORECASE)
_NETWORK_AFTER = re.compile(r"(?:/|%2[fF])[0-9]{1,2}(?![0-9])")
# Numbers of a drawing: `d="M12.5.3.2.1 4c..."`.
_DRAWING = re.compile(r"(?:[0-9][\s,-]{0,2}|(?<![A-Za-z])[MmLlHhVvCcSsQqTtAaZz]\s?)\Z")
_DRAWING_AFTER = re.compile(r"[\s,]{0,2}-?[0-9.]|[MmLlHhVvCcSsQqTtAaZz]")
_V4_BEFORE = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}[\s,;]{{1,3}}\Z")


def _v4(text: str, at: int) -> Iterator[Seen]:
    # The literal begins with the last digit of the first number.
    first = _V4_START.search(text, max(0, at - 2), at + 1)
    if first is None:
        return
    start = first.start()
    match = _V4.match(text, start)
    if match is None or hyphened(text, start):
        return
    if begins(text, start) != start:
        return
    # What costs least to look at comes first.
    if match[0].endswith(".0") and _NETWORK_AFTER.match(text, match.end()):
        return
    numbers = [int(number) for number in match[0].split(".")]
    in_path = text[match.end() : match.end() + 1] == "/" and sum(number > 99 for number in numbers) >= _HUNDREDS
    if not in_path and _PATH_BEFORE.search(text, max(0, start - 2), start):
        return
    if max(numbers) < 100 and _TITLE_AFTER.match(text, match.end()):
        return
    if max(numbers) < 32 and (
        _NAME_BEFORE.search(text, max(0, start - 36), start)
        or _REMARK_BEFORE.search(text, max(0, start - 4), start)
        or (text[start - 1 : start] == ">" and _HEADING_AFTER.match(text, match.end()))
    ):
        return
    listed = _V4_BEFORE.search(text, max(0, start - 20), start)
    if not listed and _DRAWING.search(text, max(0, start - 4), start) and _DRAWING_AFTER.match(text, match.end()):
        return
    if not identifiers.is_public_address(match[0]) or _NO_V4.search(text, max(0, start - 48), start):
        return
    yield Seen(*match.span())


_COLON = "(?::|%3[aA])"
_V6 = re.compile(rf"[23][0-9a-fA-F]{{3}}(?:{_COLON}{{1,2}}[0-9a-fA-F]{{1,4}}){{1,7}}(?:{_COLON}{{2}})?(?![:/]|%3[aA]){END}")


def _v6(text: str, at: int) -> Iterator[Seen]:
    match = _V6.match(text, at)
    if match and text[at - 1 : at] not in (":", ".") and begins(text, at) == at:
        address = unescape(match[0])
        if address.count(":") > 1 and identifiers.is_public_address(address):
            yield Seen(*match.span())


_PAIR = "[0-9a-fA-F]{2}"
_MAC = re.compile(rf"{_PAIR}(?P<gap>[:-]|%3[aA])(?:{_PAIR}(?P=gap)){{4}}{_PAIR}(?!:{_PAIR}|%3[aA]){END}")


def _mac(text: str, at: int) -> Iterator[Seen]:
    match = _MAC.match(text, at)
    if match is None or text[at - 1 : at] in (":", "%") or hyphened(text, at) or begins(text, at) != at:
        return
    code = unescape(match[0]).replace(":", "").replace("-", "").lower()
    # With digits only it is a date or a number in groups; of one digit it stands for no device, or all.
    if not code.isdigit() and len(set(code)) > 2:
        yield Seen(*match.span())


# None begins in the middle of more than four numbers (`id-1.5.8.33.3.6.2.1`). Told where the first number has its last digit.
_NOT_INSIDE = re.compile(r"(?<!\.)(?<!\.[0-9])(?<!\.[0-9]{2})[0-9]")
_INNER = [(first, second) for first in ("0", "00", "000") for second in ("0", "00", "000")]

ADDRESSES: tuple[Form, ...] = (
    Form(
        "ip-address",
        _v4,
        tuple(f"0.{first}.{second}.0" for first, second in _INNER),
        bounded=False,
        needs=_NOT_INSIDE.match,
    ),
    Form(
        "ip-address",
        _v4,
        tuple(x for first, second in _INNER for x in classes(f"0={first}={second}=0", bounded=False, escaped=".")),
        bounded=False,
        needs=re.compile(f"[0-9]{escaped('.')}").match,
    ),
    Form("ip-address", _v6, (*classes("0hhh:"), *classes("0hhh%0a"), *classes("0hhh%0F"))),
    Form(
        "ip-address",
        _v6,
        classes("0hhh=", bounded=False, escaped=":"),
        bounded=False,
        needs=re.compile(f"[23][0-9a-fA-F]{{3}}{escaped(':')}").match,
    ),
    Form(
        "mac-address",
        _mac,
        tuple(
            literal
            for pattern in ("hh:hh:hh:", "hh-hh-hh-", "hh%0ahh%0ahh%0a", "hh%0Fhh%0Fhh%0F")
            for literal in classes(pattern, bounded=False)
        ),
        bounded=False,
    ),
    Form(
        "mac-address",
        _mac,
        classes("hh=hh=", bounded=False, escaped=":-"),
        bounded=False,
        needs=re.compile(f"{_PAIR}{escaped(':-')}").match,
    ),
)
