"""Made-up keys of every kind that is looked for, built when they are needed: no file here has anything like a key in it."""

from __future__ import annotations

import base64
import binascii
import json
import random
import string

ALPHANUMERIC = string.ascii_letters + string.digits
_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


def _base64url(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def _checksum(entropy: str) -> str:
    number, digits = binascii.crc32(entropy.encode()), ""
    while number:
        number, digit = divmod(number, 62)
        digits = _BASE62[digit] + digits
    return digits.rjust(6, "0")


def made_up_keys(seed: int = 1) -> dict[str, str]:
    """A key of every kind, by the name of its kind. Where a kind has a checksum or a structure, it is right."""
    source = random.Random(seed)

    def some(count: int, alphabet: str = ALPHANUMERIC) -> str:
        return "".join(source.choices(alphabet, k=count))

    def url_safe(count: int) -> str:
        return some(count - 3, ALPHANUMERIC + "_-") + "-_" + some(1)

    def mapbox(letter: str) -> str:
        return f"{letter}k.{_base64url({'u': 'agent' + some(5), 'a': some(25)})}.{some(22)}"

    def stripe(prefix: str) -> str:
        return prefix + some(source.choice((16, 24, 99)))

    def classic(prefix: str) -> str:
        entropy = some(30)
        return prefix + entropy + _checksum(entropy)

    claims = {"sub": some(8), "iat": 1_700_000_000, "url": "https://a.example/?>"}
    return {
        "google-api-key": "AIza" + url_safe(35),
        "google-oauth-secret": "GOCSPX-" + url_safe(28),
        "google-access-token": "ya29." + url_safe(120),
        "mapbox-public": mapbox("p"),
        "mapbox-secret": mapbox("s"),
        "mapbox-temporary": mapbox("t"),
        "stripe-publishable": stripe(source.choice(("pk_live_", "pk_test_"))),
        "stripe-secret": stripe(source.choice(("sk_live_", "sk_test_", "sk_org_live_"))),
        "stripe-restricted": stripe(source.choice(("rk_live_", "rk_test_"))),
        "stripe-ephemeral": stripe("ek_live_"),
        "stripe-webhook": "whsec_" + some(32),
        "stripe-client-secret": f"{source.choice(('pi', 'seti'))}_{some(24)}_secret_{some(25)}",
        "aws-access-key-id": source.choice(("AKIA", "ASIA", "ABIA", "ACCA", "A3TX"))
        + some(16, string.ascii_uppercase + "234567"),
        "aws-signature": "X-Amz-Signature=" + some(64, "0123456789abcdef"),
        "aws-session-token": "X-Amz-Security-Token=" + some(200, ALPHANUMERIC + "/+") + "==",
        "github-token": classic(source.choice(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"))),
        "github-fine-grained": f"github_pat_{some(22)}_{some(59)}",
        "jwt": f"{_base64url({'alg': 'HS256', 'typ': 'JWT'})}.{_base64url(claims)}.{url_safe(43)}",
    }


def secret_part(key: str) -> str:
    """What must be gone: all of a key, or the value behind the name of a parameter."""
    return key.split("=", 1)[1] if key.startswith("X-Amz-") else key
