"""What a rule is, and the pieces of which the tables of this package are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_polite.redaction.validators import Verdict

__all__ = [
    "BASE64",
    "GITLEAKS",
    "IN_BASE64",
    "IS",
    "NO_HYPHEN",
    "TRUFFLEHOG",
    "URL_SAFE",
    "URL_SAFE_PADDED",
    "UUID",
    "WORD",
    "Confidence",
    "Exposure",
    "Rule",
]

# Why a value is in a page: a publishable key is meant to be there, a secret is there by mistake, a transient token
# expires, an identifier tells one account from another and opens nothing, and personal data belongs to a person.
Exposure = Literal["publishable", "secret", "transient", "identifier", "personal"]

# How sure a finding is: a checksum or its structure proves it; its shape says so; or only the words around it do, or its
# checksum is wrong.
Confidence = Literal["certain", "likely", "doubtful"]

# Where a token ends: before what it cannot contain, by its alphabet. Never a list of what may follow: pages put everything
# there. "-->" ends a comment.
WORD = "(?![A-Za-z0-9_])"
URL_SAFE = "(?![A-Za-z0-9_]|-(?!->))"
URL_SAFE_PADDED = r"(?![\w=]|-(?!->))"
BASE64 = "(?![A-Za-z0-9+=])"

# Where one begins whose alphabet has a hyphen in it.
NO_HYPHEN = r"(?:(?<![\w-])|(?<=<!--))"

# For short anchors of capitals and digits, which Base64 has by chance: not behind a stretch of it.
IN_BASE64 = "(?<![A-Za-z0-9_])(?<![A-Za-z0-9+/]{16}[+/])"

UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

# Where no vendor says what its keys look like: what those who search for leaked ones have seen.
GITLEAKS = "https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml"
TRUFFLEHOG = "https://github.com/trufflesecurity/trufflehog/tree/main/pkg/detectors"

# Between a parameter's name and its value: in a query string, in JSON, in a form field.
IS = r"""["']?(?:\s{1,4}value)?\s{0,4}[=:]\s{0,4}["']?"""


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of value.

    `kind`       its name, in findings, policies and stats
    `provider`   who issues such values
    `exposure`   why it is in a page
    `anchors`    literal texts of which one is in every such value; two characters of ASCII at least, or one that is no
                 letter or digit. Empty: `words` are what is looked for
    `shape`      what stands at the anchor, as a regular expression (ASCII, every quantifier bounded). The value is its
                 group `value`, if there is one. A value has no white space, quotes, angle brackets or backslashes in it,
                 which hold the page together
    `source`     the document that states the shape
    `validator`  asked last; None: the shape alone is proof enough
    `left`       what must be true of what stands right before the shape, as a look-behind
    `right`      what must be true of what follows it, as a look-ahead: that the value does not go on
    `back`       what stands before the anchor and belongs to the value, as a regular expression, `before` characters at
                 most. If it has a group `value`, that alone is the value, and the shape only follows it
    `unless`     what before the value says that it is something else
    `longest`    characters that the shape may take; 0: as many as it says
    `words`      one of these stands within `window` characters before the value: words joined by `|`, in which `_` stands
                 for any way to join two (`client_secret` is `clientSecret` too), and capitals do not count
    `gap`        all that may stand between such a word and the value, as a regular expression; empty: anything
    `confidence` of what has the shape and no validator
    `blanks`     the value may have white space in it, and no other value inside: a PEM block
    """

    kind: str
    provider: str
    exposure: Exposure
    anchors: tuple[str, ...]
    shape: str
    source: str = ""
    validator: Callable[[str], Verdict] | None = None
    left: str = "(?<![A-Za-z0-9_])"
    back: str = ""
    before: int = 0
    unless: str = ""
    longest: int = 0
    words: str = ""
    window: int = 40
    right: str = WORD
    gap: str = ""
    confidence: Confidence = "likely"
    blanks: bool = False
