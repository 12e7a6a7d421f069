"""Whether what has the shape of a value is one: variety, fillers, mailboxes. What proves a key is in `checksums`.

A validator answers `REJECT` only where the shape alone proves little and the contents show that it is something else. A
wrong checksum is no reason to let a value through: a damaged key is still somebody's key, so it is `DOUBTFUL`, not
rejected.
"""

from __future__ import annotations

import re
from enum import Enum
from unicodedata import normalize

__all__ = [
    "Verdict",
    "assigned",
    "made_up",
    "measurement_id",
    "password",
    "personal_mailbox",
    "random",
    "random_likely",
    "role_mailbox",
    "varied",
]

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


# What people write where a key is to be put in; looked for in small letters, which is several times as fast as in either.
_PLACEHOLDER = re.compile(
    "example|sample|placeholder|change_?me|insert|replace|dummy|redacted|your|foobar|abcdef|123456|xxxx|0000|1111|aaaa"
)


def random(value: str) -> Verdict:
    """For loose shapes: rejects words, names, numbers and fillers, which say so, or have few different characters."""
    least = 9 if len(value) >= 20 else len(value) // 2
    small = value.lower()
    if len(set(small)) < least or value.isdigit() or _PLACEHOLDER.search(small):
        return Verdict.REJECT
    if not any(c.isdigit() for c in value):
        # Of the letters of a name, in camel case too, few are capitals, or all.
        capitals = sum(c.isupper() for c in value)
        if min(capitals, len(value) - capitals) < len(value) / 4:
            return Verdict.REJECT
    if "/" in value and not (any(c.isupper() for c in value) and any(c.islower() for c in value) and value[0] != "/"):
        return Verdict.REJECT  # a path
    return Verdict.DOUBTFUL


# Words, and numbers of versions, joined by hyphens or `_`, or by their capitals: `std-setting-CSRF_COOKIE_AGE`,
# `django-1-8-16-release-notes`, `convertPrintParameterToInches2`. In what a machine made up letters and digits are mixed.
_JOINED = re.compile(r"(?:(?:[a-z]{1,20}[0-9]?|[A-Z]{1,20}|[A-Z][a-z]{1,19}|[0-9]{1,3})(?:[_-]{1,2}|\Z)){3,40}")
_CAMEL = re.compile(r"_?[a-z]{2,20}(?:[A-Z][a-z]{1,20}){2,9}[0-9]{0,2}")


def made_up(value: str) -> Verdict:
    """For loose shapes of what a machine makes up and no person chooses: rejects also names in several words."""
    return Verdict.REJECT if _JOINED.fullmatch(value) or _CAMEL.fullmatch(value) else random(value)


def assigned(value: str) -> Verdict:
    """For what a name is given: rejects also names in letters that say what they are (`HTTPPasswordMgr`)."""
    return Verdict.REJECT if value.isalpha() and "passw" in value.lower() else random(value)


# The part of a key that is the same in all of its kind.
_PREFIX = re.compile(r"(?:[A-Za-z0-9]{1,12}[_.-]){1,3}")


def random_likely(value: str) -> Verdict:
    """The same for shapes with an anchor, which says nothing of what follows it: what is left is likely."""
    prefix = _PREFIX.match(value)
    rest = value[prefix.end() :] if prefix and len(value) - prefix.end() >= 16 else value[4:]
    return Verdict.REJECT if random(rest) is Verdict.REJECT else Verdict.LIKELY


def password(value: str) -> Verdict:
    """Rejects variables and fillers (`$PASSWORD`, `%s`, `****`)."""
    return Verdict.REJECT if value[0] in "$%*[(" or len(set(value)) < 2 else Verdict.LIKELY


def measurement_id(value: str) -> Verdict:
    """Rejects words (`G-STATISTICS`) and fillers (`G-XXXXXXXXXX`)."""
    body = value.partition("-")[2]
    # Most have a digit. Of letters alone, words have vowels, and few have one of the four rarest letters.
    wordy = not any(c.isdigit() for c in body) and sum(c in "AEIOU" for c in body) > 2 and not set(body) & set("JQXZ")
    return Verdict.REJECT if wordy or len(set(body)) < 4 else Verdict.LIKELY


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
