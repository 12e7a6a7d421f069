"""Whether what has the shape of a key is one: checksums, structure, variety.

A validator answers `REJECT` only where the shape alone proves little and the contents show that it is something else. A
wrong checksum is no reason to let a value through: a damaged key is still somebody's key, so it is `DOUBTFUL`, not
rejected.
"""

from __future__ import annotations

import binascii
import json
import re
from base64 import urlsafe_b64decode
from enum import Enum
from unicodedata import normalize

__all__ = [
    "Verdict",
    "github_checksum",
    "github_token",
    "jwt",
    "mapbox_token",
    "personal_mailbox",
    "random",
    "role_mailbox",
    "varied",
]

# The order in which GitHub's checksum counts: digits, capitals, small letters.
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# Names after the last dot that are files, not top-level domains: "photo@2x.png", "jquery@3.6.0.min.js".
_FILES = frozenset({
    "apng", "avif", "bmp", "css", "gif", "heic", "htm", "html", "ico", "jpeg", "jpg", "js", "json", "jsx", "less",
    "map", "mjs", "mp3", "mp4", "pdf", "php", "png", "scss", "svg", "tif", "tiff", "ts", "tsx", "ttf", "txt", "vue",
    "wasm", "webm", "webp", "woff", "xml", "yaml", "yml",
})  # fmt: skip

# What stands before such a name in those of scripts, and where a domain has none: "2x", "640w", the 0 of "3.6.0".
_BUILDS = frozenset({"bundle", "cjs", "common", "core", "esm", "global", "iife", "min", "module", "prod", "slim", "umd"})
_MEASURE = re.compile(r"[0-9]+[xwh]?")

# Mailboxes that belong to an office, not to a person: RFC 2142 (info, sales, support, abuse ...), and those of estate
# agents.
_ROLES = frozenset({
    "abuse", "accounts", "admin", "bookings", "careers", "complaints", "contact", "customerservice",
    "customerservices", "enquiries", "enquiry", "feedback", "hello", "help", "helpdesk", "hostmaster", "hr", "info",
    "inquiries", "jobs", "landlords", "lettings", "mail", "mailbox", "management", "marketing", "news", "newsletter",
    "no-reply", "noreply", "office", "postmaster", "press", "privacy", "property", "rentals", "reservations", "sales",
    "security", "service", "services", "support", "team", "tenants", "valuations", "webmaster",
})  # fmt: skip


class Verdict(Enum):
    """What a validator says of a value."""

    REJECT = "reject"  # it only looks like one: left alone
    DOUBTFUL = "doubtful"  # a loose shape among the right words, or its checksum is wrong: redacted
    LIKELY = "likely"  # the shape fits, nothing proves it: redacted
    CERTAIN = "certain"  # a checksum or the structure proves it: redacted


def varied(value: str) -> Verdict:
    """Rejects fillers: of 28 random characters at least 10 are different, but for one key in 10^9."""
    return Verdict.LIKELY if len(set(value[-28:])) >= 10 else Verdict.REJECT


# What people write where a key is to be put in.
_PLACEHOLDER = re.compile(
    "example|sample|placeholder|change_?me|insert|replace|dummy|redacted|your|foobar|abcdef|123456|xxxx|0000|1111|aaaa",
    re.IGNORECASE,
)


def random(value: str) -> Verdict:
    """For loose shapes: rejects words, names and fillers, which have no digit or few different characters, or say so."""
    least = 9 if len(value) >= 20 else len(value) // 2
    if len(set(value.lower())) < least or not any(c.isdigit() for c in value) or value.isdigit():
        return Verdict.REJECT
    return Verdict.REJECT if _PLACEHOLDER.search(value) else Verdict.DOUBTFUL


def github_checksum(entropy: str) -> str:
    """The six characters that end a classic GitHub token: the CRC-32 of those before them in base 62, zeros in front.

    https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/
    """
    rest, digits = binascii.crc32(entropy.encode()), ""
    for _ in range(6):
        rest, digit = divmod(rest, 62)
        digits = _BASE62[digit] + digits
    return digits


def github_token(value: str) -> Verdict:
    """Certain if the checksum is right (classic tokens: prefix, 30 characters, 6 of checksum)."""
    body = value.partition("_")[2]
    if body[-6:] == github_checksum(body[:-6]):
        return Verdict.CERTAIN
    return Verdict.DOUBTFUL if len(body) == 36 else Verdict.LIKELY


def _json_object(part: str) -> dict[str, object] | None:
    """The JSON object that base64url text without padding stands for; None if it is none."""
    try:
        decoded = json.loads(urlsafe_b64decode(part.encode("ascii") + b"=" * (-len(part) % 4)))
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


def _mailbox(value: str) -> tuple[str, bool]:
    """The local part in lower case, and whether the address is one at all.

    The name of a file may have an address in front (`john@example.com.png`); that of `photo@2x.png` and
    `jquery@3.6.0.min.js` has a scale or a version.
    """
    local, _, domain = normalize("NFKC", value).replace("\u3002", ".").lower().rpartition("@")
    labels = domain.split(".")
    plain = len(labels)
    while plain and labels[plain - 1] in _FILES:
        plain -= 1
    if plain == len(labels):
        return local, True
    name, top = labels[max(0, plain - 2)], labels[plain - 1]
    return local, plain > 1 and len(top) > 1 and top.isalpha() and top not in _BUILDS and not _MEASURE.fullmatch(name)


def role_mailbox(value: str) -> Verdict:
    """Rejects what is no address, or belongs to a person."""
    local, good = _mailbox(value)
    return Verdict.CERTAIN if good and local.partition("+")[0] in _ROLES else Verdict.REJECT


def personal_mailbox(value: str) -> Verdict:
    """Rejects what is no address, or belongs to an office."""
    local, good = _mailbox(value)
    return Verdict.LIKELY if good and local.partition("+")[0] not in _ROLES else Verdict.REJECT
