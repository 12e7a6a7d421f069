"""Made-up data of persons, of every kind that is looked for: check digits are right, nothing is anybody's."""

from __future__ import annotations

import random

from scrapy_polite.redaction.identifiers import IBAN_LENGTHS, is_nhs_number, is_nino, is_public_address, is_ssn, luhn

__all__ = ["WORDS", "made_up_people"]

# What must stand before a value of these kinds.
WORDS = {"uk-nhs": "NHS number: ", "birth-date": "Date of birth: ", "coordinates": "lat="}


def _with_check_digit(digits: str) -> str:
    return digits + next(check for check in "0123456789" if luhn(digits + check))


def made_up_people(seed: int = 1) -> dict[str, str]:
    """A value of every kind, by the name of its kind. The last three need a word before them (`WORDS`)."""
    source = random.Random(seed)

    def digits(count: int) -> str:
        return "".join(source.choices("0123456789", k=count))

    def until(good: object, make: object) -> str:
        assert callable(good)
        assert callable(make)
        while not good(value := make()):
            pass
        return str(value)

    country = source.choice(["GB", "DE", "FR", "NL"])
    account = ("ABCD" + digits(14)) if country in ("GB", "NL") else digits(30)
    account = account[: IBAN_LENGTHS[country] - 4]
    number = int("".join(str(int(c, 36)) for c in account + country + "00"))
    octets = until(is_public_address, lambda: ".".join(str(source.randrange(40, 224)) for _ in range(4)))
    ssn = until(is_ssn, lambda: digits(9))
    nino = until(is_nino, lambda: "".join(source.choices("ABCEGHJKLM", k=2)) + digits(6) + source.choice("ABCD"))
    return {
        "email": f"jo.bloggs{digits(3)}@x.example",
        "phone": f"020 7946 {digits(4)}",
        "payment-card": _with_check_digit((source.choice(["4", "51", "55"]) + digits(15))[:15]),
        "iban": f"{country}{98 - number % 97:02}{account}",
        "uk-nino": " ".join(nino[i : i + 2] for i in range(0, 9, 2)),
        "us-ssn": f"{ssn[:3]}-{ssn[3:5]}-{ssn[5:]}",
        "ip-address": octets,
        "mac-address": ":".join(f"{source.randrange(10)}{source.choice('abcdef')}" for _ in range(6)),
        "uk-nhs": until(is_nhs_number, lambda: digits(10)),
        "birth-date": f"{source.randrange(1930, 2010)}-0{source.randrange(1, 10)}-{source.randrange(10, 29)}",
        "coordinates": f"{source.randrange(49, 60)}.{digits(5)}1",
    }
