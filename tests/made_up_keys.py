"""Made-up values of every kind that is looked for, built when they are needed: no file here has anything like a key in it.

Each is drawn from the shape of its rule; where a kind has a checksum or a structure, it is right.
"""

from __future__ import annotations

import base64
import binascii
import json
import random
import re
import string
from typing import TYPE_CHECKING

from scrapy_polite.redaction.rules import RULES, Rule, regexes
from scrapy_polite.redaction.validators import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

ALPHANUMERIC = string.ascii_letters + string.digits
_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
_USUAL = frozenset(ALPHANUMERIC + "-_+/")

KEY_RULES = tuple(rule for rule in RULES if rule.exposure != "personal")
ANCHORED = tuple(rule.kind for rule in KEY_RULES if rule.anchors)
CONTEXTUAL = tuple(rule.kind for rule in KEY_RULES if not rule.anchors)


def _base64url(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def _in_base(number: int, digits: str, length: int) -> str:
    text = ""
    while number:
        number, digit = divmod(number, len(digits))
        text = digits[digit] + text
    return text.rjust(length, "0")


def _crc(text: str) -> int:
    return binascii.crc32(text.encode())


class _Maker:
    """Draws from shapes. What is optional is left out; of what may be long something short is drawn."""

    def __init__(self, source: random.Random) -> None:
        self.source = source

    def some(self, count: int, alphabet: str = ALPHANUMERIC) -> str:
        return "".join(self.source.choices(alphabet, k=count))

    def draw(self, node: regexes.Node) -> str:
        if node.chars:
            return self.source.choice(sorted(node.chars & _USUAL or node.chars))
        most = node.least if node.most is None else node.most
        times = self.source.randint(node.least, min(most, node.least + 8)) if node.least else 0
        if node.each:
            return "".join(self.draw(self.source.choice(node.parts)) for _ in range(times))
        return "".join(self.draw(part) for _ in range(times) for part in node.parts)

    def text_and_value(self, rule: Rule) -> tuple[str, str]:
        """What stands in a page, and what of it is the value."""
        shape = self.draw(regexes.parse(rule.shape))
        anchor = self.source.choice([a for a in rule.anchors if regexes.begins(regexes.parse(rule.shape), a)] or [""])
        if shape[: len(anchor)].lower() == anchor.lower():
            shape = anchor + shape[len(anchor) :]
        value = shape
        match = _value_in(rule, shape)
        if match is not None:
            value = match
        if rule.back:
            back = self.draw(regexes.parse(rule.back))
            inner = _value_of_back(rule, back)
            return back + shape, back + shape if inner is None else inner
        if not rule.anchors:
            word = self.source.choice(rule.words.split("|"))
            return word + "=" + value, value
        return shape, value


def _value_in(rule: Rule, shape: str) -> str | None:
    match = re.compile(rule.shape, re.ASCII).match(shape)
    return match["value"] if match and "value" in match.re.groupindex else None


def _value_of_back(rule: Rule, back: str) -> str | None:
    match = re.compile(rule.back, re.ASCII).search(back)
    return match["value"] if match and "value" in match.re.groupindex else None


def _special(maker: _Maker) -> dict[str, Callable[[], str]]:
    """Those whose shape does not say all: a checksum, or what they decode to."""
    some, source = maker.some, maker.source

    def url_safe(count: int) -> str:
        return some(count - 3, ALPHANUMERIC + "_-") + "-_" + some(1)

    def mapbox(letter: str) -> str:
        return f"{letter}k.{_base64url({'u': 'agent' + some(5), 'a': some(25)})}.{some(22)}"

    def classic(prefix: str) -> str:
        entropy = some(30)
        return prefix + entropy + _in_base(_crc(entropy), _BASE62, 6)

    def routable(prefix: str) -> str:
        payload = base64.urlsafe_b64encode(source.randbytes(16) + b"o:1\nu:" + some(4).encode() + b"\n").decode().rstrip("=")
        body = f"{prefix}{payload}.01.{_in_base(len(payload), _BASE62.lower()[:36], 2)}"
        return body + _in_base(_crc(body), string.digits + string.ascii_lowercase, 7)

    def with_hex(body: str) -> str:
        return body + f"{_crc(body):08X}"

    def grafana() -> str:
        body = "glsa_" + some(32)
        return f"{body}_{_crc(body).to_bytes(4, 'little').hex()}"

    def pypi() -> str:
        macaroon = b"\x02\x01\x08pypi.org\x02" + source.randbytes(100)
        return "pypi-" + base64.urlsafe_b64encode(macaroon).decode().rstrip("=")

    def secured() -> str:
        parameters = source.choice(["validUntil=1900000000", "restrictIndices=homes", "filters=agent:7"])
        return base64.b64encode((some(64, "0123456789abcdef") + parameters + "&x=1").encode()).decode()

    def jwt() -> str:
        claims = {"sub": some(8), "iat": 1_700_000_000, "url": "https://a.example/?>"}
        return f"{_base64url({'alg': 'HS256', 'typ': 'JWT'})}.{_base64url(claims)}.{url_safe(43)}"

    def pem() -> str:
        body = base64.b64encode(b"0\x82\x04\xa4" + source.randbytes(300)).decode()
        return "-----BEGIN " + "RSA PRIVATE " + f"KEY-----\n{_lines(body)}\n-----END " + "RSA PRIVATE KEY-----"

    return {
        "google-api-key": lambda: "AIza" + url_safe(35),
        "google-oauth-secret": lambda: "GOCSPX-" + url_safe(28),
        "google-access-token": lambda: "ya29." + url_safe(120),
        "mapbox-public": lambda: mapbox("p"),
        "mapbox-secret": lambda: mapbox("s"),
        "mapbox-temporary": lambda: mapbox("t"),
        "github-token": lambda: classic(source.choice(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"))),
        "npm-token": lambda: classic("npm_"),
        "gitlab-token": lambda: source.choice((routable("glpat-"), "glpat-" + some(20))),
        "atlassian-token": lambda: with_hex("ATATT3" + some(177, ALPHANUMERIC + "-_") + "="),
        "bitbucket-app-password": lambda: with_hex("ATBB" + some(24)),
        "trello-token": lambda: with_hex("ATTA" + some(64, "0123456789abcdef")),
        "grafana-service-account": grafana,
        "pypi-token": pypi,
        "algolia-secured-key": secured,
        "jwt": jwt,
        "private-key": pem,
        "basic-credentials": lambda: "Basic " + base64.b64encode(f"{some(8)}:{some(12)}".encode()).decode(),
        "aws-session-token": lambda: "X-Amz-Security-Token=" + some(200, ALPHANUMERIC + "/+") + "==",
    }


def _lines(body: str) -> str:
    return "\n".join(body[at : at + 64] for at in range(0, len(body), 64))


_VALUES: dict[str, str] = {}
"""What must be gone, by what stands in a page."""


def raw_samples(kind: str, count: int) -> list[tuple[str, str]]:
    """What stands in a page, and the value in it, drawn without asking whether a validator takes it."""
    maker = _Maker(random.Random(kind))
    rule = next(rule for rule in KEY_RULES if rule.kind == kind)
    special = _special(maker).get(kind)
    return [_with_value(rule, special()) if special else maker.text_and_value(rule) for _ in range(count)]


def _with_value(rule: Rule, text: str) -> tuple[str, str]:
    if rule.kind == "private-key":
        return text, text.split("-----")[2].strip()
    return text, _value_in(rule, text) or text


def made_up_keys(seed: int = 1) -> dict[str, str]:
    """A key of every kind, by the name of its kind, as it stands in a page: with its name, where it needs one."""
    maker = _Maker(random.Random(seed))
    special = _special(maker)
    keys: dict[str, str] = {}
    for rule in KEY_RULES:
        for _ in range(100):
            make = special.get(rule.kind)
            text, value = _with_value(rule, make()) if make else maker.text_and_value(rule)
            taken = rule.validator is None or rule.validator(value) is not Verdict.REJECT
            if taken and not value.endswith("-"):  # `-->` would be the end of a comment
                break
        keys[rule.kind] = text
        _VALUES[text] = value
    return keys


def secret_part(key: str) -> str:
    """What must be gone: all of a key, or the value behind the name of a parameter."""
    return _VALUES[key]
