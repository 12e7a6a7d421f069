"""Numbers of accounts, cards and persons: how each is written, and what else looks like it.

Every one is tried only where its form stands (`forms`), and none counts without its check digits or ranges
(`identifiers`), or the word that names it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_polite.redaction import identifiers
from scrapy_polite.redaction.forms import BEFORE, END, GAP, QUOTE, Form, Seen, begins, classes, hyphened

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NUMBERS", "SEES", "behind_word"]

# Characters between a word that names a number and the number, and those before a number that say what else it is.
SEES = 48

_NO_CODE = re.compile(r"[^A-Za-z0-9]")

_SOLID_CARD = re.compile(r"[0-9]{12,40}")
# In groups: as on the card, with what a longer number has more, and 4-6-5 or 4-6-4.
_GROUPED_CARDS = tuple(
    re.compile(rf"[0-9]{{4}}(?P<gap>{GAP}){groups}(?![0-9])")
    for groups in (
        "[0-9]{4}(?P=gap)[0-9]{4}(?P=gap)[0-9]{4}(?P=gap)[0-9]{1,3}",
        "[0-9]{4}(?P=gap)[0-9]{4}(?P=gap)[0-9]{1,4}",
        "[0-9]{6}(?P=gap)[0-9]{4,5}",
    )
)
# Numbers that count something, or name a thing: `"orderId": "`, `data-sku=`, `EAN `, `fbq('init', '`, and parts of paths. What
# is paid, valid or void is no id.
_NO_CARD = re.compile(
    rf"""(?:(?i:(?:order|sku|ean|gtin|upc|isbn|track(?:ing)?|invoice|reference|ref|serial|batch)
      (?:[ _-]?(?:id|no|nr|number|code))? (?:{QUOTE}|\])? (?:\s?[:=\#]|%3[ad]|\s)
    | (?:item|product|article|post|user|tweet|status|page|campaign|object|node|build|epoch|time(?:stamp)?|millis|nonce|seed|hash
      |version|pixel|[a-z](?<![ps]a)(?<!val)(?<!vo)id|[_-]id|(?<![a-z])id)(?:[ _-]?(?:ids?|no|nr|number|code))?
      (?:{QUOTE}|\])? (?:\s?[:=\#]|%3[ad])) \s{{0,3}} {QUOTE}?
    | init["'],\s?["'] | [/_.] | (?:\w|(?<!<!)-)-)\Z""",
    re.VERBOSE,
)
# A word for one, nothing that was put in and no other number between.
_CALLED_A_CARD = re.compile(r"(?<![a-z])(?i:cards?|credit|debit|maestro|visa|mastercard|cc|pan)(?![a-z])[^0-9~]{0,40}\Z")
# Nothing but signs between: `card_id=`, `Visa-`, `/card/`, where the name of a thing is a card's.
_NAMED_A_CARD = re.compile(
    r"(?<![a-z])(?i:cards?|visa|mastercard|maestro|amex|cc|pan)(?:[ _-]?(?i:no|nr|numbers?|id))?[^A-Za-z0-9~]{0,6}\Z"
)


def _code(text: str) -> str:
    """The value without its gaps: escapes of blanks have letters and digits in them."""
    return _NO_CODE.sub("", _GAPS.sub("", text)).upper()


_GAPS = re.compile(GAP)


def _cards(text: str, at: int) -> Iterator[Seen]:
    at = begins(text, at)
    if at < 0:
        return
    solid = _SOLID_CARD.match(text, at)
    for match in (solid,) if solid else (form.match(text, at) for form in _GROUPED_CARDS):
        code = _code(match[0]) if match else ""
        if match is None or not identifiers.is_payment_card(code, named=True):
            continue
        if not identifiers.is_payment_card(code) and not _CALLED_A_CARD.search(text, max(0, at - SEES), at):
            continue
        since = max(0, at - SEES)
        if solid and _NO_CARD.search(text, since, at) and not _NAMED_A_CARD.search(text, since, at):
            continue
        if _ENDS.match(text, match.end()):
            yield Seen(*match.span(), certain=True)
            return


_ENDS = re.compile(END)
_IBAN_START = re.compile(r"[A-Za-z]{2}[0-9]{2}")
_IBAN_PARTS = {
    country: re.compile(rf"(?:{GAP}?[A-Za-z0-9]){{{length - 4}}}(?![A-Za-z0-9])")
    for country, length in identifiers.IBAN_LENGTHS.items()
}
# In small letters it might be words, so it is in one piece or in groups of four, as it is printed (ISO 13616-1).
_SMALL_IBAN = re.compile(rf"[A-Za-z0-9]{{4}}(?:[A-Za-z0-9]+|(?P<gap>{GAP})(?:[A-Za-z0-9]{{4}}(?P=gap))*[A-Za-z0-9]{{1,4}})")
# What stands before one in small letters: no letter, of which it would be the end, nor a digit; unless either ends an escape.
_NO_WORD = BEFORE.translate(dict.fromkeys(map(ord, "aFzuxA"))) + "."
_ESCAPES = ("%00", "%0a", "%0F", "\\z", "\\a")


# Escapes stand behind its country, which is no part of one (`\uDE89`).
_IN_NO_CODE = re.compile(r"(?![A-Fa-f]{2})|(?<!\\u)(?<!\\u[0-9A-Fa-f])")


def _of_a_country(text: str, at: int) -> bool:
    return text[at : at + 2].upper() in _IBAN_PARTS


def _ibans(text: str, at: int) -> Iterator[Seen]:
    rest = _IBAN_PARTS.get(text[at : at + 2].upper())
    match = rest.match(text, at + 4) if rest and _IBAN_START.match(text, at) else None
    if match and begins(text, at) == at:
        written = text[at : match.end()]
        if identifiers.is_iban(_code(written)) and (_in_capitals(written) or _SMALL_IBAN.fullmatch(written)):
            yield Seen(at, match.end(), certain=True)


def _in_capitals(text: str) -> bool:
    code = _GAPS.sub("", text)
    return code == code.upper()


_NINO = re.compile(rf"[A-Z]{{2}}(?P<gap>{GAP})[0-9]{{2}}(?P=gap)[0-9]{{2}}(?P=gap)[0-9]{{2}}{GAP}?[A-D](?![A-Za-z0-9])")
_NINO_NAMED = re.compile(rf"(?i:[A-Z]{{2}}{GAP}?(?:[0-9]{{2}}{GAP}?){{3}}[A-D]?(?![A-Za-z0-9]))")


def _ninos(text: str, at: int) -> Iterator[Seen]:
    """Written in pairs it is one; without gaps it may be the number of a part, so it must be called one."""
    match = _NINO.match(text, at)
    if match and begins(text, at) == at and identifiers.is_nino(_code(match[0])):
        yield Seen(*match.span())


_SSN = re.compile(r"[0-9]{3}(?P<gap>-|%2[dD]|\u2010|\u2011)[0-9]{2}(?P=gap)[0-9]{4}" + END)
_SSN_NAMED = re.compile(rf"[0-9]{{3}}{GAP}?[0-9]{{2}}{GAP}?[0-9]{{4}}{END}")


def _ssns(text: str, at: int) -> Iterator[Seen]:
    match = _SSN.match(text, at)
    if match and not hyphened(text, at) and begins(text, at) == at and identifiers.is_ssn(_code(match[0])):
        yield Seen(*match.span())


_NHS = re.compile(rf"[0-9]{{3}}{GAP}?[0-9]{{3}}{GAP}?[0-9]{{4}}{END}")


def behind_word(text: str, at: int, value: re.Pattern[str], first: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """The values within reach of a word that ends at `at`; `first`: what a value begins with.

    Nothing that was put in stands between: what it says is not what the page says, and its length is another.
    """
    if not _WORD_ENDS.match(text, at):
        return
    stop = text.find("~", at, at + SEES)
    stop = at + SEES if stop < 0 else stop
    start = first.search(text, at, stop)
    while start is not None:
        at = begins(text, start.start())
        match = value.match(text, at) if at >= 0 else None
        if match:
            yield match
        start = first.search(text, match.end() if match else start.end(), stop)


# A word ends where a small letter does not go on: `nhsNumber`, `ssn_last`, but not `transnhsx`.
_WORD_ENDS = re.compile(r"(?![a-z])")
_DIGITS = re.compile(r"(?<![0-9.])[0-9]+")
_NINO_STARTS = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}(?=[^A-Za-z])")


def _ninos_named(text: str, at: int) -> Iterator[Seen]:
    for match in behind_word(text, at, _NINO_NAMED, _NINO_STARTS):
        if identifiers.is_nino(_code(match[0])):
            yield Seen(match.start(), _trimmed(text, match.end()))


def _ssns_named(text: str, at: int) -> Iterator[Seen]:
    for match in behind_word(text, at, _SSN_NAMED, _DIGITS):
        if identifiers.is_ssn(_code(match[0])):
            yield Seen(*match.span())


def _nhs_named(text: str, at: int) -> Iterator[Seen]:
    for match in behind_word(text, at, _NHS, _DIGITS):
        if identifiers.is_nhs_number(_code(match[0])):
            yield Seen(*match.span(), certain=True)


# Right behind a label that says so, a number is a telephone's in whatever region, and also where it is not assigned.
_LABEL = re.compile(
    rf"(?:[ _-]?(?i:numbers?|no|nr)\.?)?{QUOTE}?(?:\s{{0,3}}[:=]|&\#58;|%3[aAdD])(?:\s|%20){{0,3}}{QUOTE}?|\s(?:on|at|to)\s",
    re.VERBOSE,
)
# ITU-T E.164 section 6: 15 digits at most; the shortest that is dialled within a town has seven.
_LABELLED_PHONE = re.compile(
    rf"(?!(?:19|20)[0-9]{{2}}-[0-9]{{2}}-[0-9]{{2}})"
    rf"(?:\+|%2[bB])?(?:\(|%28)?[0-9](?:(?:{GAP}|[()]|%2[89]){{0,3}}[0-9]){{6,14}}"
    r"(?:[ \u00a0]?(?i:x|ext\.?)[ \u00a0]?[0-9]{1,6})?(?![A-WYZa-wyz0-9_]|\.[0-9])"
)


def _labelled_phones(text: str, at: int) -> Iterator[Seen]:
    label = _LABEL.match(text, at)
    match = _LABELLED_PHONE.match(text, label.end()) if label else None
    if match and begins(text, match.start()) == match.start():
        yield Seen(*match.span())


# The label may stand behind the number, as in signatures: `416 60 039 fax`, at the end of a line or of an element.
_SIGNED = re.compile(
    rf"(?<![A-Za-z0-9_.+,-])(?!(?:19|20)[0-9]{{2}}-[0-9]{{2}}-[0-9]{{2}})(?![0-9]{{1,3}}(?:[ ][0-9]{{3}})+[ -])"
    rf"(?P<number>\+?\(?[0-9](?:(?:{GAP}|[()]){{0,2}}[0-9]){{6,14}})[ \u00a0-]\Z",
    re.VERBOSE,
)
_SIGNS = frozenset({"fax", "mobile", "phone", "office", "cell", "tel"})
_LINE_ENDS = re.compile(r"\s{0,3}(?:[\r\n<]|\\{1,8}[rn,]|\Z)")


def _signed_phones(text: str, at: int) -> Iterator[Seen]:
    word = next((word for word in _SIGNS if text[at - len(word) : at].lower() == word), "")
    if word and _LINE_ENDS.match(text, at):
        start = at - len(word)
        match = _SIGNED.search(text, max(0, start - SEES), start)
        if match:
            yield Seen(*match.span("number"))


def _trimmed(text: str, end: int) -> int:
    """The end without a gap behind the last digit of a number that has no suffix."""
    while not text[end - 1].isalnum():
        end -= 1
    return end


# Behind a full stop as well: no decimal goes on in groups.
_GROUPS = tuple(literal for pattern in ("0000=0000", "0000=000000") for literal in classes(pattern, before=f"{BEFORE}."))

NUMBERS: tuple[Form, ...] = (
    Form("payment-card", _cards, (*classes("0" * 12), *_GROUPS)),
    Form(
        "iban",
        _ibans,
        tuple({*classes("AA00", before=f"{BEFORE}.0"), *classes("LL00", before=_NO_WORD)}),
        needs=_of_a_country,
        hidden=_IN_NO_CODE.match,
    ),
    *(
        Form(
            "iban",
            _ibans,
            classes(f"{before}LL00", bounded=False),
            bounded=len(before),
            needs=_of_a_country,
            hidden=_IN_NO_CODE.match,
        )
        for before in _ESCAPES
    ),
    Form("uk-nino", _ninos, classes("AA=00=00=00", before=f"{BEFORE}.0")),
    Form("uk-nino", _ninos_named, words=("national insurance", "nino", "ni number", "ni no")),
    Form(
        "us-ssn",
        _ssns,
        classes("000-00-0000") + classes("000/00/0000") + classes("000=00=0000", escaped="-"),
    ),
    Form("us-ssn", _ssns_named, words=("ssn", "ssns", "social security")),
    Form("uk-nhs", _nhs_named, words=("nhs", "nhs number", "nhs no")),
    Form(
        "phone",
        _labelled_phones,
        words=(
            *("phone", "telephone", "tel", "mobile", "mobile phone", "fax", "cell", "whatsapp", "direct line", "desk"),
            *(f"{verb} {whom}" for verb in ("call", "ring", "text", "reach", "phone", "contact") for whom in ("me", "us")),
        ),
    ),
    Form("phone", _signed_phones, words=tuple(sorted(_SIGNS))),
)
