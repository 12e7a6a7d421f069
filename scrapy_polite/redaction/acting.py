"""What is put in the place of a value: its kind's name, a token, a mask, a rounded number.

Only characters that are unreserved in URLs and mean nothing in HTML text, attributes, JSON strings and CSS strings. What
is put in begins and ends with `~`, which is in no shape's alphabet, so it never joins with what stands beside it to a
value; and the character after the first `~` can complete no escape that was begun. A rounded number has no `~`: numbers
stay numbers.
"""

from __future__ import annotations

import hmac
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from scrapy_polite.redaction.digits import plain_digits
from scrapy_polite.redaction.escapes import unescape
from scrapy_polite.redaction.joining import normalised
from scrapy_polite.redaction.marks import KEYED_MARK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_polite.redaction.policy import Choice, Policy

__all__ = ["GONE", "LEAVES_SOMETHING", "Gone", "Put", "fingerprint", "is_put_in", "put_in", "replacement", "stand_in", "whole"]


class Gone:
    """Stands for a field that is left out."""

    def __repr__(self) -> str:
        return "GONE"


GONE: Final = Gone()

# Actions that leave something of a value.
LEAVES_SOMETHING: Final = frozenset({"mask", "round"})

# Hexadecimal digits of a token (80 bits: of a billion values no two share one but by a chance of 1 in 10^6), of a hash,
# and of a fingerprint.
_TOKEN, _HASH, _FINGERPRINT = 20, 32, 12

_PUT_IN = re.compile(r"~[A-Za-z0-9_.~-]{0,400}~")
# The forms that a whole value may have only because it was put in: never words of a page between two "~".
_WHOLE = re.compile(
    rf"~redacted-[a-z0-9-]{{1,64}}~|~{KEYED_MARK}~|~x[0-9a-f]{{32}}~"
    r"|~{2,24}(?:[A-Za-z0-9~]{2,4}~)?|~(?:[A-Z]\.){1,4}~|~(?:19|20)[0-9]{2}~"
)
# Kinds that a text shows by itself, so that a field of that name may hold other words too.
_FOUND_IN_TEXT = frozenset({"phone"})
# Kinds whose values have a digit in them: a field without one says something else ("unknown", "on request").
_DIGITS = frozenset({"birth-date", "coordinates", "payment-card", "iban", "uk-nhs", "uk-nino", "us-ssn"})
# Kinds that are short, or of which any part says too much.
_SHOW_NOTHING = frozenset({"birth-date", "coordinates", "postal-address", "url-password"})
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
# `"key": 123}`, `[123,`, `{key:123,`: where a number without quotes is one to the program that reads it.
_NUMBER_BEFORE = re.compile(r"""(?:["']\s{0,3}:|[\[,]|[{,]\w{1,40}:)\s{0,3}\Z""")
_LITERALS = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:\s{0,3},\s{0,3}-?[0-9]+(?:\.[0-9]+)?)?")
_NUMBER_AFTER = re.compile(r"\s{0,3}[,\]}]")
_DEGREES = re.compile(
    r"""(?:[\s,;:()\[\]{}"'\u00b0]|&deg;|[+-]?[0-9]{1,4}(?:\.[0-9]{1,20})?(?![0-9.])"""
    r"""|(?<![a-z])(?:[nsewo]|lat(?:itude)?|lon(?:g(?:itude)?)?|lng|point)(?![a-z]))*""",
    re.IGNORECASE,
)
_MINUTES = re.compile(r"[0-9]\s{0,3}(?:[\u00b0\u00ba'\u2032:d]|&deg;)\s{0,3}[0-9]|\b[0-9]{1,3},[0-9]{4}")
_YEAR = re.compile(r"(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])")


def replacement(kind: str) -> str:
    """What is put in the place of a value that is replaced: `~redacted-email~`.

    A page may write it too: it is text like any other.
    """
    return f"~redacted-{kind}~"


def is_put_in(text: str) -> bool:
    """True if the text has the form of something that was put in: for places where anything but white space is a value."""
    return _PUT_IN.fullmatch(text) is not None


class Put(NamedTuple):
    """text[start:end] gives way to `new`."""

    start: int
    end: int
    new: str

    @property
    def joins(self) -> bool:
        """True if the new text is numbers, which may be a part of what stands beside them; all else ends at its `~`."""
        return not self.new.startswith("~")

    @staticmethod
    def together(text: str, puts: Sequence[Put]) -> str:
        """The text with all of them, which are in order and do not overlap."""
        pieces: list[str] = []
        at = 0
        for put in puts:
            pieces += text[at : put.start], put.new
            at = put.end
        return "".join([*pieces, text[at:]])

    @staticmethod
    def origin(puts: Sequence[Put], start: int, end: int) -> tuple[int, int]:
        """Where what stands at start:end in the new text stood in the old one, with every value that it touches."""
        shift, first, last = 0, start, end
        for put in puts:
            begins = put.start + shift
            ends = begins + len(put.new)
            shift += len(put.new) - (put.end - put.start)
            if ends <= start:
                first = start - shift
            elif begins <= start:
                first = put.start
            if ends <= end:
                last = end - shift
            elif begins < end:
                last = put.end
        return first, last


def stand_in(text: str, start: int, end: int, kind: str, choice: Choice, policy: Policy) -> str:
    """What is put in the place of text[start:end]. A number in JSON, or in a script's object, stays one: 0."""
    value = text[start:end]
    if (
        not (kind == "coordinates" and choice.action == "round")
        and _LITERALS.fullmatch(value)
        and _NUMBER_AFTER.match(text, end)
        and _NUMBER_BEFORE.search(text, max(0, start - 50), start)
    ):
        return _NUMBER.sub("0", value)
    return put_in(kind, value, choice, policy)


def put_in(kind: str, value: str, choice: Choice, policy: Policy) -> str:
    """What stands for this value (as the page writes it, escapes and all). Not for the actions `keep` and `drop`."""
    if choice.action == "token":
        return f"~{kind}.{policy.key_id}.x{_digest(kind, value, choice, policy)[:_TOKEN]}~"
    if choice.action == "hash":
        return f"~x{_digest(kind, value, choice, policy)[:_HASH]}~"
    if choice.action == "mask":
        return _masked(kind, plain_digits(unescape(value)))
    if choice.action == "round":
        return _rounded(kind, value, choice.places)
    return f"~{choice.text}~" if choice.text else replacement(kind)


def whole(kind: str, value: str | int | float, field: str, policy: Policy) -> str | int | float | Gone:
    """The value of a field that is of this kind as a whole, as the policy has it. See `Redactor.whole`."""
    choice = policy.choice(field, kind)
    if choice.action == "keep" or isinstance(value, bool):
        return value
    if choice.action == "drop":
        return GONE
    if not isinstance(value, str):
        return round(value, choice.places) if choice.action == "round" else GONE
    done = _WHOLE.fullmatch(value) or (choice.text and value == f"~{choice.text}~")
    if done or kind in _FOUND_IN_TEXT or not value.strip() or (kind in _DIGITS and not re.search(r"\d", value)):
        return value
    if choice.action == "round" and kind == "coordinates" and not _in_degrees(value):
        return replacement(kind)
    return put_in(kind, value, choice, policy)


def fingerprint(value: str, policy: Policy) -> str | None:
    """Twelve digits that are the same for the same text under the same key; None if the policy has no key."""
    if not policy.key:
        return None
    return hmac.digest(policy.key, b"fingerprint\0" + _bytes(value), "sha256").hex()[:_FINGERPRINT]


def _digest(kind: str, value: str, choice: Choice, policy: Policy) -> str:
    """HMAC (RFC 2104) with SHA-256 over the kind, the group of fields and the value in its one form."""
    if not policy.key:
        # No policy can be made so; without a key anyone could try all phone numbers until one has this digest.
        raise ValueError(f"the action {choice.action!r} needs a key")
    message = b"\0".join(_bytes(part) for part in (kind, choice.group, normalised(kind, value, policy.regions)))
    return hmac.digest(policy.key, message, "sha256").hex()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _masked(kind: str, value: str) -> str:
    """As many `~` as the value has characters (24 at most), with so much of its end as tells two of them apart.

    Four characters of a card's number may be shown (PCI DSS 4.0, requirement 3.4.1); of short values two, or none. Of an
    address of the network the first two groups stay, which name a provider and no subscriber.
    """
    if kind == "name":
        return _initials(value)
    if kind == "ip-address":
        groups = [group for group in re.split(r"[.:]", value)[:2] if group.isalnum()]
        return "~" + ".".join([*groups, "x"]) + "~"
    length = min(len(value), 24)
    shown = 0 if kind in _SHOW_NOTHING or length < 8 else 2 if length < 12 else 4
    end = "".join(c if c.isascii() and c.isalnum() else "~" for c in value[len(value) - shown :])
    return "~" * (length - shown - 1) + end + "~" if end else "~" * max(2, length)


def _initials(name: str) -> str:
    """`~J.B.~`, of at most four parts of a name."""
    # Of "\ufb01" two letters are made, of which one is the initial.
    letters = [word[0].upper()[0] for word in re.findall(r"[^\W\d_]+", name)][:4]
    letters = [letter for letter in letters if letter.isascii()]
    return "~" + "".join(f"{letter}." for letter in letters) + "~" if letters else "~~"


def _rounded(kind: str, value: str, places: int) -> str:
    """Coordinates with so many decimals, a date's year; anything else is replaced, as it has no number to round."""
    if kind == "coordinates":
        if "%" in value or "&" in value or "\\" in value or not value.isascii():
            # A full stop is legal wherever one stands as an escape.
            value = plain_digits(unescape(value, "."))
        rounded, numbers = _NUMBER.subn(lambda number: _cut(number[0], places), value)
        return rounded if numbers else replacement(kind)
    if kind == "birth-date":
        year = _YEAR.search(plain_digits(unescape(value)))
        return f"~{year[0]}~" if year else replacement(kind)
    return replacement(kind)


def _in_degrees(value: str) -> bool:
    """True if this is nothing but coordinates, and fewer decimals make all its numbers coarser: it has no minutes
    (`51\u00b030'26"`), and no decimal commas."""
    whole = [number for number in _NUMBER.findall(value) if "." not in number]
    return (
        _DEGREES.fullmatch(value) is not None and not _MINUTES.search(value) and not (whole and len(_NUMBER.findall(value)) > 2)
    )


def _cut(number: str, places: int) -> str:
    """The number with at most so many decimals; it keeps its sign and its zeros in front."""
    before, _, after = number.partition(".")
    if len(after) <= places:
        return number
    sign = "-" if before.startswith("-") else ""
    cut = f"{abs(float(number)):.{places}f}"
    return (before[0] if before[0] in "+-" and not sign else sign) + cut
