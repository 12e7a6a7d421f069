"""What proves a key to be one: its checksum, or what it decodes to.

A wrong checksum is no reason to let a value through: a damaged key is still somebody's key. It is `DOUBTFUL`, and redacted.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, urlsafe_b64decode
from binascii import a2b_base64, crc32

from scrapy_polite.redaction.validators import Verdict

__all__ = [
    "algolia_secured",
    "aws_key_id",
    "base36_checksum",
    "basic_credentials",
    "crc_in_hex",
    "github_checksum",
    "github_token",
    "gitlab_token",
    "grafana_token",
    "jwt",
    "mapbox_token",
    "pem_body",
    "pypi_token",
]

# The order in which GitHub's checksum counts: digits, capitals, small letters.
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


def _in_base(number: int, digits: str, length: int) -> str:
    text = ""
    for _ in range(length):
        number, digit = divmod(number, len(digits))
        text = digits[digit] + text
    return text


def github_checksum(entropy: str) -> str:
    """The six characters that end a classic GitHub token: the CRC-32 of those before them in base 62, zeros in front.

    https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/
    """
    return _in_base(crc32(entropy.encode()), _BASE62, 6)


def github_token(value: str) -> Verdict:
    """Certain if the checksum is right (classic tokens of GitHub, and npm's: prefix, 30 characters, 6 of checksum)."""
    body = value.partition("_")[2]
    if body[-6:] == github_checksum(body[:-6]):
        return Verdict.CERTAIN
    return Verdict.DOUBTFUL if len(body) == 36 else Verdict.LIKELY


def base36_checksum(text: str) -> str:
    """The seven characters that end a routable GitLab token: the CRC-32 of all before them in base 36.

    https://handbook.gitlab.com/handbook/engineering/architecture/design-documents/cells/routable_tokens/
    """
    return _in_base(crc32(text.encode()), _BASE36, 7)


def gitlab_token(value: str) -> Verdict:
    """Certain if it is routable (payload.version.length and checksum) and its checksum is right."""
    if "." not in value:
        return Verdict.LIKELY
    return Verdict.CERTAIN if value[-7:] == base36_checksum(value[:-7]) else Verdict.DOUBTFUL


def crc_in_hex(value: str) -> Verdict:
    """Certain if the last eight characters are the CRC-32 of all before them: Atlassian's tokens."""
    return Verdict.CERTAIN if value[-8:].lower() == f"{crc32(value[:-8].encode()):08x}" else Verdict.DOUBTFUL


def grafana_token(value: str) -> Verdict:
    """Certain if what follows the last "_" is the CRC-32 of what precedes it, the low byte first: service accounts."""
    body, _, tail = value.rpartition("_")
    return Verdict.CERTAIN if tail.lower() == crc32(body.encode()).to_bytes(4, "little").hex() else Verdict.DOUBTFUL


def aws_key_id(value: str) -> Verdict:
    """Rejects the documentation's (`AKIAIOSFODNN7EXAMPLE`), doubts fillers."""
    if value.endswith("EXAMPLE"):
        return Verdict.REJECT
    return Verdict.LIKELY if len(set(value[4:])) >= 6 else Verdict.DOUBTFUL


def _decoded(text: str) -> bytes:
    """What Base64 of either alphabet stands for; nothing for what is none."""
    try:
        return urlsafe_b64decode(text.rstrip("=").replace("+", "-").replace("/", "_") + "=" * (-len(text.rstrip("=")) % 4))
    except ValueError:
        return b""


def pypi_token(value: str) -> Verdict:
    """Certain if it decodes to a macaroon (version 2) that names its place: pypi.org or test.pypi.org."""
    macaroon = _decoded(value.removeprefix("pypi-"))
    good = macaroon.startswith((b"\x02\x01\x08pypi.org", b"\x02\x01\x0dtest.pypi.org"))
    return Verdict.CERTAIN if good else Verdict.DOUBTFUL


def algolia_secured(value: str) -> Verdict:
    """Certain if it decodes to an HMAC in hexadecimal and parameters behind it; else rejects."""
    return Verdict.CERTAIN if re.match(rb"[0-9a-f]{64}[A-Za-z]{3,40}=", _decoded(value)) else Verdict.REJECT


def pem_body(value: str) -> Verdict:
    """Certain if it decodes to a sequence of ASN.1 or an OpenSSH key; rejects what has no line of Base64 in it."""
    lines = value.split()
    if max(map(len, lines)) < 40:
        return Verdict.REJECT
    return Verdict.CERTAIN if _decoded("".join(lines)).startswith((b"0", b"openssh-key-v1\0")) else Verdict.LIKELY


def basic_credentials(value: str) -> Verdict:
    """Certain if it decodes to a name and a password with a colon between; else rejects."""
    try:
        text = b64decode(value + "=" * (-len(value) % 4)).decode()
    except ValueError:
        return Verdict.REJECT
    return Verdict.CERTAIN if ":" in text[1:] and text.isprintable() else Verdict.REJECT


def _json_object(part: str) -> dict[str, object] | None:
    """The JSON object that base64url text without padding stands for; None if it is none."""
    try:
        decoded = json.loads(a2b_base64(part.replace("-", "+").replace("_", "/") + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):
        return None
    return decoded if isinstance(decoded, dict) else None


def jwt(value: str) -> Verdict:
    """Certain if the first part is a JOSE header, which names its algorithm (RFC 7515 section 4.1.1); else rejects."""
    header = _json_object(value.partition(".")[0].rstrip("="))
    return Verdict.CERTAIN if header is not None and "alg" in header else Verdict.REJECT


def mapbox_token(value: str) -> Verdict:
    """Certain if the middle part is a JSON object that names the user ("u") and the token ("a")."""
    payload = _json_object(value.split(".")[1])
    return Verdict.CERTAIN if payload is not None and {"u", "a"} <= payload.keys() else Verdict.LIKELY
