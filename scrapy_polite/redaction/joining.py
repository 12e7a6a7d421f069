"""One form for every spelling of a value, so that equal values have equal tokens."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING
from unicodedata import normalize

from scrapy_polite.redaction.digits import plain_digits
from scrapy_polite.redaction.escapes import unescape

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["normalised"]

# Kinds of which only letters and digits count, in either case.
_CODES = frozenset({"iban", "payment-card", "uk-nino", "uk-nhs", "us-ssn", "mac-address"})
# Kinds that are words: how they are spaced and capitalised does not count.
_WORDS = frozenset({"name", "postal-address"})
_NO_CODE = re.compile(r"[^A-Za-z0-9]")


def normalised(kind: str, value: str, regions: Sequence[str] = ()) -> str:
    """The value (as a page writes it) in its one form.

    Mailboxes have the domain in small letters (RFC 5321 section 2.4: only the part before the @ may tell capitals
    apart), phone numbers are in the form of E.164 (`+442079460958`), codes are without blanks and hyphens, addresses of
    the network in the form of RFC 5952; names and postal addresses in small letters, with single blanks. Keys and all
    other kinds stay what they are. What has not the form of its kind stays too.
    """
    plain = normalize("NFKC", unescape(value)).strip()
    if kind in ("email", "email-role"):
        local, at, domain = plain.replace("\u3002", ".").rpartition("@")
        return f"{local}{at}{domain.lower()}"
    if kind == "phone":
        return _e164(plain_digits(plain), regions)
    if kind in _CODES:
        return _NO_CODE.sub("", plain_digits(plain)).upper()
    if kind == "ip-address":
        return _address(plain_digits(plain))
    if kind in _WORDS:
        return " ".join(plain.casefold().split())
    return plain


def _e164(number: str, regions: Sequence[str]) -> str:
    import phonenumbers

    # A "+" between digits is how a query string writes a blank.
    number = number[:1] + number[1:].replace("+", " ")
    parsed = []
    for region in regions:
        try:
            parsed.append(phonenumbers.parse(number, region))
        except phonenumbers.NumberParseException:
            continue
    # A number that is assigned to nobody has its one form too, if it is as long as one.
    for good in (phonenumbers.is_valid_number, phonenumbers.is_possible_number):
        for one in filter(good, parsed):
            return str(phonenumbers.format_number(one, phonenumbers.PhoneNumberFormat.E164))
    return _NO_CODE.sub("", number)


def _address(text: str) -> str:
    try:
        return ip_address(text).compressed
    except ValueError:
        return text
