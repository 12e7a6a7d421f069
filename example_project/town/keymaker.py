"""API keys as pages carry them: right in shape and checksum, made up, good for nothing.

Each maker takes a seeded generator and answers one value. Shapes: the vendors' documentation. The checksum of GitHub's
tokens (30 characters, then their CRC-32 in base 62, six digits):
https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import string
import zlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

ALNUM: Final = string.ascii_letters + string.digits
URL_SAFE: Final = ALNUM + "-_"
BASE62: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
BASE32: Final = string.ascii_uppercase + "234567"


def pick(random: Random, alphabet: str, length: int) -> str:
    """`length` characters out of `alphabet`, the first and the last never a hyphen or an underscore."""
    text = random.choices(alphabet, k=length)
    for end in (0, -1):
        while text[end] in "-_":
            text[end] = random.choice(alphabet)
    return "".join(text)


def base64url(data: bytes) -> str:
    """Base64 in the URL alphabet, without padding (RFC 7515 section 2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def base62_crc32(text: str) -> str:
    """CRC-32 of `text` in six base-62 digits."""
    rest, digits = zlib.crc32(text.encode()), ""
    for _ in range(6):
        rest, digit = divmod(rest, 62)
        digits = BASE62[digit] + digits
    return digits


def google(random: Random) -> str:
    return "AIza" + pick(random, URL_SAFE, 35)


def mapbox(random: Random) -> str:
    payload = {
        "u": pick(random, string.ascii_lowercase, 9),
        "a": "c" + pick(random, string.ascii_lowercase + "0123456789", 24),
    }
    return f"pk.{base64url(compact(payload))}.{pick(random, URL_SAFE, 22)}"


def stripe_publishable(random: Random) -> str:
    return "pk_live_" + pick(random, ALNUM, 24)


def stripe_secret(random: Random) -> str:
    return "sk_live_" + pick(random, ALNUM, 24)


def aws(random: Random) -> str:
    return "AKIA" + pick(random, BASE32, 16)


def github(random: Random) -> str:
    entropy = pick(random, ALNUM, 30)
    return f"ghp_{entropy}{base62_crc32(entropy)}"


def jwt(random: Random) -> str:
    """A token that is signed for real (HS256, RFC 7519) with a secret that is thrown away."""
    claims = {
        "sub": pick(random, string.digits, 8),
        "aud": "listings",
        "iat": random.randint(1_700_000_000, 1_760_000_000),
    }
    signed = f"{base64url(compact({'alg': 'HS256', 'typ': 'JWT'}))}.{base64url(compact(claims))}"
    return f"{signed}.{base64url(hmac.digest(random.randbytes(32), signed.encode(), hashlib.sha256))}"


MAKERS: Final[dict[str, Callable[[Random], str]]] = {
    "google-api-key": google,
    "mapbox-public": mapbox,
    "stripe-publishable": stripe_publishable,
    "stripe-secret": stripe_secret,
    "aws-akid": aws,
    "github": github,
    "jwt": jwt,
}
"""Kind of key, as it stands in the ground truth, and its maker."""
