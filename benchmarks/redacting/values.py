"""Values of every kind that is looked for, made up at run time from the shapes of the rules: no file here holds one.

A shape says little of a value that has a structure of its own (a token of JSON, a telephone number): those have a maker.
"""

from __future__ import annotations

import base64
import json
import re
import string
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from benchmarks.redacting.shapes import texts_before
from scrapy_polite.redaction.policy import KINDS
from scrapy_polite.redaction.rules import RULES
from scrapy_polite.redaction.validators import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from scrapy_polite.redaction.rules import Rule

__all__ = ["Made", "groups", "made"]

_ALNUM = string.ascii_letters + string.digits
_TRIES = 2_000
# What a shape has before its value if that is a name which the value is given to; or no more than the sign of that.
_GIVEN = re.compile(r"""["']?(?P<name>[A-Za-z_$][\w.-]*)?["']?(?:\s+value)?\s*[=:]\s*["'`]?""")
# A shape that has the name of a query parameter in it, and nothing else before the value.
_PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_-]{1,30}=")
# A shape that lets something else than "=" stand behind the name, so that JSON and attributes can hold it too.
_NAMED = re.compile(r"""\[[^\]]{0,9}(?:=:|:=)""")
# Parameters of signed URLs, which stand in URLs and nowhere else.
_SIGNED = re.compile(r"(?i)x-(?:amz|goog)-|awsaccesskeyid|key-pair-id|sig$|signature$")


@dataclass(frozen=True, slots=True)
class Made:
    """A made-up value: `secret` must be gone. `text` is what stands in the page under `name`, the secret in it.

    `parameter`: it is one only behind its name and "=", as in a URL.
    """

    kind: str
    name: str
    secret: str
    text: str
    parameter: bool = False


def _base64url(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def _some(random: Random, count: int, alphabet: str = _ALNUM) -> str:
    return "".join(random.choices(alphabet, k=count))


def _jwt(random: Random) -> str:
    claims = {"sub": _some(random, 8), "iat": random.randint(1_600_000_000, 1_800_000_000), "url": "https://a.example/?>"}
    header = {"alg": "HS256", "typ": "JWT"}
    return f"{_base64url(header)}.{_base64url(claims)}.{_some(random, 43, _ALNUM + '_-')}"


def _mapbox(letter: str) -> Callable[[Random], str]:
    def make(random: Random) -> str:
        return f"{letter}k.{_base64url({'u': 'agent' + _some(random, 5), 'a': _some(random, 25)})}.{_some(random, 22)}"

    return make


def _phone(random: Random) -> str:
    # Ofcom's numbers for drama, which phonenumbers takes for valid; and the same with the country's code.
    # https://www.ofcom.org.uk/phones-and-broadband/phone-numbers/numbers-for-drama
    digits = random.choice(("2079460", "1614960", "1314960", "1214960", "1134960")) + f"{random.randint(0, 999):03}"
    form = random.choice(("0{}", "+44{}", "0{} {} {}", "+44 {} {} {}"))
    return form.format(*((digits,) if form.count("{}") == 1 else (digits[:3], digits[3:6], digits[6:])))


def _email(random: Random) -> str:
    first, last, domain = (_some(random, random.randint(3, 8), string.ascii_lowercase) for _ in range(3))
    return f"{first}{random.choice('._-+')}{last}@{domain}.{random.choice(('example', 'co.uk', 'com'))}"


def _role(random: Random) -> str:
    return f"{random.choice(('info', 'sales', 'lettings', 'office'))}@{_some(random, 9, string.ascii_lowercase)}.co.uk"


def _digits(random: Random, count: int) -> str:
    return _some(random, count, string.digits)


def _card(random: Random) -> str:
    """Visa, Mastercard or American Express, with the check digit of ISO/IEC 7812-1."""
    first, length = random.choice((("4", 16), ("52", 16), ("55", 16), ("37", 15)))
    digits = first + _digits(random, length - len(first) - 1)
    doubled = [int(d) * (2 - place % 2) for place, d in enumerate(reversed(digits))]
    return digits + str(-sum(n - 9 if n > 9 else n for n in doubled) % 10)


def _iban(random: Random) -> str:
    """With the check digits of ISO 13616: the rest, the country and they, as a number, leave 1 when divided by 97."""
    country, account = random.choice(
        (("GB", _some(random, 4, string.ascii_uppercase) + _digits(random, 14)), ("DE", _digits(random, 18)))
    )
    number = int("".join(str(int(c, 36)) for c in f"{account}{country}00"))
    return f"{country}{98 - number % 97:02}{account}"


def _nino(random: Random) -> str:
    # https://www.gov.uk/hmrc-internal-manuals/national-insurance-manual/nim39110
    return f"{random.choice('ACEHJL')}{random.choice('ABCEHJLM')}{_digits(random, 6)}{random.choice('ABCD')}"


def _nhs(random: Random) -> str:
    """Nine digits, and the one that makes their sum, weighed from 10 to 2, whole in elevens."""
    while True:
        digits = str(random.randint(4, 7)) + _digits(random, 8)
        last = -sum(int(d) * weight for d, weight in zip(digits, range(10, 1, -1), strict=True)) % 11
        if last < 10:
            return f"{digits[:3]} {digits[3:6]} {digits[6:]}{last}"


def _ssn(random: Random) -> str:
    return f"{random.randint(100, 650)}-{random.randint(10, 99)}-{random.randint(1000, 9999)}"


def _ip(random: Random) -> str:
    return (
        f"{random.choice((81, 93, 185, 212))}.{random.randint(16, 254)}.{random.randint(100, 254)}.{random.randint(100, 254)}"
    )


def _mac(random: Random) -> str:
    return ":".join(f"{octet:02x}" for octet in (0x3C, *random.randbytes(5)))


def _coordinates(random: Random) -> str:
    return f"{random.uniform(50.1, 55):.6f}1"


def _birth(random: Random) -> str:
    year, month, day = random.randint(1940, 2004), random.randint(1, 12), random.randint(1, 28)
    return f"{year}-{month:02}-{day:02}"


def _algolia_secured(random: Random) -> str:
    # https://www.algolia.com/doc/guides/security/api-keys/how-to/user-restricted-access-to-data
    said = f"{random.getrandbits(256):064x}validUntil={random.randint(1_700_000_000, 1_900_000_000)}&restrictIndices=homes"
    return base64.b64encode(said.encode()).decode()


def _basic(random: Random) -> str:
    return base64.b64encode(f"{_some(random, 6)}:{_some(random, 12)}".encode()).decode()


def _pem(random: Random) -> str:
    return "\n".join(base64.b64encode(random.randbytes(48)).decode() for _ in range(4))


MAKERS: dict[str, Callable[[Random], str]] = {
    "jwt": _jwt,
    "mapbox-public": _mapbox("p"),
    "mapbox-secret": _mapbox("s"),
    "mapbox-temporary": _mapbox("t"),
    "phone": _phone,
    "email": _email,
    "email-role": _role,
    "payment-card": _card,
    "iban": _iban,
    "uk-nino": _nino,
    "uk-nhs": _nhs,
    "us-ssn": _ssn,
    "ip-address": _ip,
    "mac-address": _mac,
    "coordinates": _coordinates,
    "birth-date": _birth,
    "algolia-secured-key": _algolia_secured,
    "basic-credentials": _basic,
    "private-key": _pem,
}
"""Kinds whose shape alone makes none."""

AROUND: dict[str, tuple[str, str]] = {
    "basic-credentials": ("Basic ", ""),
    "private-key": ("-----BEGIN PRIVATE KEY-----\n", "\n-----END PRIVATE KEY-----\n"),
}
"""What stands right before and behind the values of some kinds."""

NAMES: dict[str, str] = {
    "uk-nhs": "nhs_number",
    "uk-nino": "nino",
    "us-ssn": "ssn",
    "coordinates": "latitude",
    "birth-date": "date_of_birth",
    "basic-credentials": "authorization",
}
"""What the values of some kinds stand under, without which they are nothing."""

# What says nothing of a value.
_ANY_NAME = "value"

_RULES: dict[str, Rule] = {rule.kind: rule for rule in RULES}


def groups() -> dict[str, list[str]]:
    """The kinds of which values can be made, in the groups that have an aim: anchored, contextual, personal."""
    found: dict[str, list[str]] = {"anchored": [], "contextual": [], "personal": []}
    for kind, exposure in KINDS.items():
        rule = _RULES.get(kind)
        if rule is None and kind not in MAKERS:
            continue
        found["personal" if exposure == "personal" else "contextual" if rule and _needs_name(rule) else "anchored"].append(kind)
    return found


def made(kind: str, random: Random) -> Made:
    """A value of this kind. Raises ValueError that names the kind if none comes of its shape in many tries."""
    rule = _RULES.get(kind)
    name = _name_of(rule, random) if rule is not None and _words(rule) else NAMES.get(kind, _ANY_NAME)
    if kind in MAKERS:
        secret = MAKERS[kind](random)
        return Made(kind, name, secret, secret.join(AROUND.get(kind, ("", ""))))
    if rule is None:
        raise ValueError(f"no value can be made of {kind!r}: it has neither a rule nor a maker")
    right = str(getattr(rule, "right", ""))
    whole = _compiled(rule.left + rule.shape + right)
    for _ in range(_TRIES):
        before = texts_before(rule.back, "value", random) if rule.back else ("", "", "")
        lead, value, rest = texts_before(rule.shape, "value", random)
        back, shaped = "".join(before), lead + value + rest
        text = f" {back}{shaped} "
        match = whole.match(text, 1 + len(back))
        if match is None or match.end() != len(text) - 1 or not (_words(rule) or any(a in text for a in rule.anchors)):
            continue
        if rule.back and not _compiled(rule.back).search(text[: 1 + len(back)]):
            continue
        alone = "(?P<value>" in rule.back
        secret = before[1] if alone else back + value
        if rule.validator is not None and rule.validator(secret) is Verdict.REJECT:
            continue
        given = _GIVEN.fullmatch(lead) if lead and not back else None
        if given:
            given_to = given["name"] or name
            parameter = bool(_SIGNED.search(given_to)) or not (_words(rule) or _NAMED.search(rule.shape))
            return Made(kind, given_to, secret, secret, parameter)
        # What has a word before it stands under that word, and what it ends with is a padding.
        parameter_name = None if lead or back or _words(rule) else _PARAMETER.match(value)
        if parameter_name:
            secret = value[parameter_name.end() :]
            return Made(kind, parameter_name[0][:-1], secret, secret, parameter=True)
        return Made(kind, name, secret, ("https:" if back.startswith("//") else "") + back + shaped)
    raise ValueError(
        f"no value of {kind!r} came of its shape in {_TRIES} tries: it needs a maker in benchmarks.redacting.values"
    )


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def _words(rule: Rule) -> str:
    return str(getattr(rule, "words", ""))


def _needs_name(rule: Rule) -> bool:
    """True if the value alone is nothing: it needs a name near it, in whatever form."""
    named = _NAMED.search(rule.shape) and not any(_SIGNED.search(anchor.rstrip("=")) for anchor in rule.anchors)
    return bool(_words(rule) or named)


def _name_of(rule: Rule, random: Random) -> str:
    """One of the words as programs write names: two joined by `_`, by a hyphen, or by a capital."""
    words = _words(rule).split("|")
    word = random.choice([word for word in words if "." not in word] or words)
    first, *more = word.split("_")
    joint = random.choice(("_", "-", ""))
    return joint.join([first, *(part if joint else part.capitalize() for part in more)])
