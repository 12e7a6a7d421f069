"""Whether a number is one that belongs to a person: check digits, ranges that are in use, numbers that are nobody's.

All take the value without its blanks and hyphens, letters as capitals, and answer True for what may be one.
"""

from __future__ import annotations

import ipaddress
import re

__all__ = ["is_iban", "is_nhs_number", "is_nino", "is_payment_card", "is_public_address", "is_ssn", "luhn", "possible_date"]

# Characters of an IBAN by country: SWIFT's registry of ISO 13616-2, https://www.swift.com/resource/iban-registry-pdf
IBAN_LENGTHS = {
    country: int(length)
    for length, countries in {
        15: "NO", 16: "BE", 18: "DK FI FK FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU MN XK", 21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL", 24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM", 28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
        29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC", 32: "LC", 33: "RU",
    }.items()
    for country in countries.split()
}  # fmt: skip

# Issuer identification numbers (ISO/IEC 7812-1) that cards are issued under: first digits from and to, lengths.
# https://en.wikipedia.org/wiki/Payment_card_number#Issuer_identification_number_(IIN) lists the schemes' own documents.
_ISSUERS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("4", "4", (16, 19)),  # Visa
    ("51", "55", (16,)),  # Mastercard
    ("2221", "2720", (16,)),
    ("34", "34", (15,)),  # American Express
    ("37", "37", (15,)),
    ("300", "305", (14, 16)),  # Diners Club
    ("3095", "3095", (14, 16)),
    ("36", "36", (14, 16)),
    ("38", "39", (14, 16)),
    ("6011", "6011", (16, 19)),  # Discover
    ("644", "649", (16, 19)),
    ("65", "65", (16, 19)),
    ("3528", "3589", (16, 19)),  # JCB
    ("2131", "2131", (15,)),
    ("1800", "1800", (15,)),
    ("62", "62", (16, 17, 18, 19)),  # UnionPay
    ("2200", "2204", (16, 19)),  # Mir
    ("5018", "5018", (16, 19)),  # Maestro
    ("5020", "5020", (16, 19)),
    ("5038", "5038", (16, 19)),
    ("5893", "5893", (16, 19)),
    ("6304", "6304", (16, 19)),
    ("6759", "6759", (16, 19)),
    ("6761", "6763", (16, 19)),
    ("9792", "9792", (16,)),  # Troy
)
# Those that are wide, or of many lengths (Maestro, and what national schemes have of 3, 5 and 6): too many numbers fit,
# so they count only where a text speaks of a card.
_NAMED_ISSUERS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("4", "4", (13,)),  # Visa's of old, and the EAN of things made in Germany
    ("35", "35", (16,)),
    ("50", "50", tuple(range(12, 20))),
    ("56", "58", tuple(range(12, 20))),
    ("60", "69", tuple(range(12, 20))),
)


def luhn(digits: str) -> bool:
    """True if the last digit is the check digit of those before it (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def is_payment_card(digits: str, named: bool = False) -> bool:
    """True for a number that a card may have: of an issuer's range and its length, with the right check digit.

    `named`: the text calls it a card's, so the wide ranges count too. Numbers that are published for tests are none of a
    person's, but have all that makes one, and are taken for one.
    """
    issuers = _ISSUERS + _NAMED_ISSUERS if named else _ISSUERS
    if not any(low <= digits[: len(low)] <= high and len(digits) in lengths for low, high, lengths in issuers):
        return False
    # "4444 4444 4444 4444": fillers.
    return len(set(digits)) > 1 and luhn(digits)


def is_iban(code: str) -> bool:
    """True for an account's number: its country's length, and 1 modulo 97 (ISO 13616-1, ISO/IEC 7064)."""
    if IBAN_LENGTHS.get(code[:2]) != len(code) or code[2:4] in ("00", "01", "99"):
        return False
    return int("".join(str(int(character, 36)) for character in code[4:] + code[:4])) % 97 == 1


# https://www.gov.uk/hmrc-internal-manuals/national-insurance-manual/nim39110: D, F, I, Q, U and V are in neither place of
# the prefix, O is not in the second, and these prefixes are not issued; the suffix is A, B, C or D.
_NINO = re.compile(r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z][0-9]{6}[A-D]?")


def is_nino(code: str) -> bool:
    """True for a National Insurance number of the United Kingdom, with its suffix or without."""
    return _NINO.fullmatch(code) is not None


def is_nhs_number(digits: str) -> bool:
    """True for ten digits of which the last is the check digit modulo 11.

    https://www.datadictionary.nhs.uk/attributes/nhs_number.html. One in eleven numbers passes, so it must be called one.
    """
    if len(digits) != 10 or len(set(digits)) == 1:
        return False
    check = 11 - sum(int(digit) * weight for digit, weight in zip(digits, range(10, 1, -1), strict=False)) % 11
    return int(digits[9]) == check % 11  # never 10, which is no digit: such a number is not given


# Numbers that were printed on cards in wallets, in advertisements and in leaflets, and are nobody's:
# https://www.ssa.gov/history/ssn/misused.html
_SAMPLES = frozenset({"078051120", "219099999", "457555462"})


def is_ssn(digits: str) -> bool:
    """True for a number that the Social Security Administration of the United States may have given.

    https://www.ssa.gov/employer/randomization.html: never an area of 000, 666 or 900 to 999, a group of 00, a serial
    number of 0000.
    """
    return (
        digits[:3] not in ("000", "666")
        and digits[0] != "9"
        and digits[3:5] != "00"
        and digits[5:] != "0000"
        and digits not in _SAMPLES
        and len(set(digits)) > 1
    )


def is_public_address(text: str) -> bool:
    """True for an address (version 4 or 6) that a subscriber may have: not a private, reserved or documentation one.

    https://www.iana.org/assignments/iana-ipv4-special-registry and the one for IPv6, as the `ipaddress` module has them.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        # https://www.iana.org/assignments/ipv6-address-space: global unicast is 2000::/3, of it documentation 3fff::/20
        # (RFC 9637), which older Pythons do not know.
        return address.is_global and address.packed[0] >> 5 == 1 and address.packed[:2] != b"\x3f\xff"
    return address.is_global and not address.is_multicast and not text.startswith("0")


def possible_date(year: int, month: int, day: int) -> bool:
    """True for a day on which somebody alive may have been born."""
    return 1900 <= year <= 2099 and 1 <= month <= 12 and 1 <= day <= 31
