"""Every kind of value that is looked for, a rule each: where to look, what it looks like, what proves it, who says so.

To add one, add a row. The table is checked when it is imported, so a row that would be slow, or never found, stops the
program and not a crawl. Phone numbers are not here: they have no anchor (`phones.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from scrapy_polite.redaction import validators

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy_polite.redaction.validators import Verdict

__all__ = ["RULES", "Exposure", "Rule", "check"]

# Why a value is in a page: a publishable key is meant to be there, a secret is there by mistake, a transient token
# expires, and personal data belongs to a person.
Exposure = Literal["publishable", "secret", "transient", "personal"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of value.

    `kind`      its name, in findings, policies and stats
    `provider`  who issues such values
    `exposure`  why it is in a page
    `anchors`   literal texts of which one is in every such value; two characters of ASCII at least, or one that is no
                letter or digit
    `shape`     what stands at the anchor, as a regular expression (ASCII, every quantifier bounded). The value is its
                group `value`, if there is one. A value has no white space, quotes, angle brackets or backslashes in it,
                which hold the page together
    `source`    the document that states the shape
    `validator` asked last; None: the shape alone is proof enough
    `left`      what must be true of what stands right before the shape, as a look-behind
    `back`      what stands before the anchor and belongs to the value, as a regular expression, `before` characters at
                most
    `unless`    what before the value says that it is something else
    `longest`   characters that the shape may take
    """

    kind: str
    provider: str
    exposure: Exposure
    anchors: tuple[str, ...]
    shape: str
    source: str
    validator: Callable[[str], Verdict] | None = None
    left: str = r"(?<![A-Za-z0-9_])"
    back: str = ""
    before: int = 0
    unless: str = ""
    longest: int = 256


# A token of [A-Za-z0-9_-] ends here. Never a list of what may follow: pages put everything there. "-->" ends a comment.
_END = r"(?![A-Za-z0-9_]|-(?!->))"

_GOOGLE_OAUTH = "https://developers.google.com/identity/protocols/oauth2"
_MAPBOX = "https://docs.mapbox.com/help/dive-deeper/access-tokens/"
_STRIPE = "https://docs.stripe.com/keys"
_GITHUB = "https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/"
_AWS_IDS = "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids"
_AWS_QUERY = "https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html"

# Between a parameter's name and its value: in a query string, in JSON, in a form field.
_IS = r"""["']?(?:\s{1,4}value)?\s{0,4}[=:]\s{0,4}["']?"""
# Full-width and small @, and the full stops of https://www.unicode.org/reports/tr46/#Notation (UTS 46, section 2.3).
_AT = "[@\uff20\ufe6b]"
_DOT = "[.\u3002\uff0e\uff61]"
# Letters of any alphabet, so a mailbox is never cut at one, and the marks of those that are written in two characters;
# it ends with the letters of a top-level domain, whatever is glued to them.
_MARKS = "\u0300-\u036f"
_LETTER = rf"(?:[^\W_]|[{_MARKS}])"
_LABEL = rf"[^\W_](?:(?:[^\W_]|[{_MARKS}-]){{0,61}}{_LETTER})?"
_MAIL = rf"(?u:{_AT}(?:{_LABEL}{_DOT}){{1,126}}(?:[^\W\d_]|[{_MARKS}]){{2,63}}(?![^\W\d_]|[{_MARKS}]))"
# `O'Brien`: the only apostrophe that names have at their beginning.
_MAIL_BACK = rf"(?u:(?:(?<![\w.+'-])[OoDd]')?(?<![\w+{_MARKS}])[\w+](?:[\w.+{_MARKS}-]{{0,319}})?)\Z"
# "https://user:password@host/" is no mailbox; in JSON the slashes may be escaped.
_USER_INFO = r"/\\{0,4}/(?:[^\s/@:]{1,64}:)?\Z"


def _mail(kind: str, validator: Callable[[str], Verdict]) -> Rule:
    # RFC 5321 section 4.5.3.1: 64 octets before the @, 255 after it; the letters are those that mailboxes really use.
    # What is longer is no mailbox that takes letters, but may be one with something glued to it: it is taken whole, up to
    # 320 characters, and of what is longer still the last 320.
    source = "https://www.rfc-editor.org/rfc/rfc5321#section-4.5.3.1"
    anchors = ("@", "\uff20", "\ufe6b")
    return Rule(kind, "mail", "personal", anchors, _MAIL, source, validator, "", _MAIL_BACK, 320, _USER_INFO, 320)


RULES: tuple[Rule, ...] = (
    Rule(
        "google-api-key", "Google", "publishable", ("AIza",), rf"AIza[\w-]{{35}}{_END}",
        "https://cloud.google.com/docs/authentication/api-keys", validators.varied,
    ),
    Rule("google-oauth-secret", "Google", "secret", ("GOCSPX-",), rf"GOCSPX-[\w-]{{28}}{_END}", _GOOGLE_OAUTH),
    Rule(
        "google-access-token", "Google", "secret", ("ya29.",), r"ya29\.(?:[a-z]\.)?[\w-]{20,2048}(?![\w-])",
        _GOOGLE_OAUTH + "#size", longest=2100,
    ),
    Rule(
        "mapbox-public", "Mapbox", "publishable", ("pk.eyJ",), r"pk\.eyJ[\w-]{16,1024}\.[\w-]{16,128}(?![\w-])",
        _MAPBOX, validators.mapbox_token, longest=1200,
    ),
    Rule(
        "mapbox-secret", "Mapbox", "secret", ("sk.eyJ",), r"sk\.eyJ[\w-]{16,1024}\.[\w-]{16,128}(?![\w-])",
        _MAPBOX, validators.mapbox_token, longest=1200,
    ),
    Rule(
        "mapbox-temporary", "Mapbox", "transient", ("tk.eyJ",), r"tk\.eyJ[\w-]{16,1024}\.[\w-]{16,128}(?![\w-])",
        _MAPBOX, validators.mapbox_token, longest=1200,
    ),
    Rule(
        "stripe-publishable", "Stripe", "publishable", ("pk_live_", "pk_test_"),
        r"pk_(?:live|test)_[A-Za-z0-9_]{10,247}(?![A-Za-z0-9_])", _STRIPE,
    ),
    Rule(
        "stripe-secret", "Stripe", "secret", ("sk_live_", "sk_test_", "sk_org_live_", "sk_org_test_"),
        r"sk_(?:org_)?(?:live|test)_[A-Za-z0-9_]{10,247}(?![A-Za-z0-9_])", _STRIPE, longest=272,
    ),
    Rule(
        "stripe-restricted", "Stripe", "secret", ("rk_live_", "rk_test_"),
        r"rk_(?:live|test)_[A-Za-z0-9_]{10,247}(?![A-Za-z0-9_])", _STRIPE,
    ),
    Rule(
        "stripe-ephemeral", "Stripe", "transient", ("ek_live_", "ek_test_"),
        r"ek_(?:live|test)_[A-Za-z0-9_]{10,247}(?![A-Za-z0-9_])",
        "https://docs.stripe.com/issuing/elements#ephemeral-key-authentication",
    ),
    Rule(
        "stripe-webhook", "Stripe", "secret", ("whsec_",), r"whsec_[A-Za-z0-9+/]{32,64}(?![A-Za-z0-9+/])",
        "https://docs.stripe.com/webhooks#verify-official-libraries",
    ),
    Rule(
        "stripe-client-secret", "Stripe", "transient", ("_secret_",), r"_secret_[A-Za-z0-9]{16,64}(?![A-Za-z0-9])",
        "https://docs.stripe.com/api/payment_intents/object#payment_intent_object-client_secret",
        left="", back=r"(?<![A-Za-z0-9_])(?:pi|seti|src|cs_live|cs_test)_[A-Za-z0-9]{14,80}\Z", before=90,
    ),
    Rule(
        "aws-access-key-id", "AWS", "secret", ("AKIA", "ASIA", "ABIA", "ACCA", "A3T"),
        r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z2-7]{16}(?![A-Za-z0-9_])", _AWS_IDS,
    ),
    Rule(
        "aws-signature", "AWS", "transient", ("X-Amz-Signature", "x-amz-signature"),
        rf"(?i:x-amz-signature){_IS}(?P<value>[0-9a-f]{{64}})(?![A-Za-z0-9_])", _AWS_QUERY, left="",
    ),
    Rule(
        "aws-session-token", "AWS", "transient", ("X-Amz-Security-Token", "x-amz-security-token"),
        rf"(?i:x-amz-security-token){_IS}(?P<value>[\w+/=-]{{40,4096}})(?![\w+/=-])", _AWS_QUERY, left="", longest=4200,
    ),
    Rule(
        "github-token", "GitHub", "secret", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        r"gh[pousr]_[A-Za-z0-9]{36,251}(?![A-Za-z0-9_])", _GITHUB, validators.github_token,
    ),
    Rule(
        "github-fine-grained", "GitHub", "secret", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{82}(?![A-Za-z0-9_])",
        "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github",
    ),
    Rule(
        # RFC 7515 section 3.1: three parts, the last empty for "none"; RFC 7516 section 3.1: five, the second may be
        # empty. "ewog" and "ewoi" begin a header that is written over several lines.
        "jwt", "any", "transient", ("eyJ", "ewog", "ewoi"),
        r"(?:eyJ|ewo)[\w-]{12,16384}={0,2}\.[\w-]{0,16384}={0,2}\.[\w-]{0,16384}(?:\.[\w-]{1,16384}\.[\w-]{8,128})?(?![\w-])",
        "https://www.rfc-editor.org/rfc/rfc7519#section-3", validators.jwt,
        # No hyphen before it, so that a run of its characters has one beginning and is read once.
        left=r"(?:(?<![\w-])|(?<=<!--))", longest=66000,
    ),
    _mail("email", validators.personal_mailbox),
    _mail("email-role", validators.role_mailbox),
)  # fmt: skip

_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")
_UNBOUNDED = re.compile(r"[*+]|\{\d*,\}")


def _not_compiled(rule: Rule) -> str | None:
    try:
        re.compile(f"{rule.left}{rule.shape}|{rule.back}|{rule.unless}")
    except re.error as error:
        return f"one of its parts is no regular expression ({error})"
    return None


def check(rules: Sequence[Rule]) -> None:
    """Raises ValueError that names the rule and the reason if one could be slow, is never found, or is there twice."""
    seen: set[str] = set()
    for rule in rules:
        problem = None
        if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", rule.kind):
            problem = "its kind is not small letters and digits joined by hyphens"
        elif rule.kind in seen:
            problem = "its kind is there twice"
        elif not rule.anchors:
            problem = "it has no anchor, so it would have to be tried everywhere"
        elif not all(a.isprintable() and (a.isascii() if len(a) > 1 else a and not a.isalnum()) for a in rule.anchors):
            problem = "an anchor is empty, a single letter or digit, not printable, or several characters beyond ASCII"
        elif bool(rule.back) != bool(rule.before):
            problem = "`back` and `before` need each other"
        elif any(_UNBOUNDED.search(_CLASS.sub("_", part)) for part in (rule.left, rule.shape, rule.back, rule.unless)):
            problem = "a quantifier has no upper bound"
        elif not rule.source.startswith("https://"):
            problem = "it names no source"
        else:
            problem = _not_compiled(rule)
        if problem:
            raise ValueError(f"redaction rule {rule.kind!r}: {problem}")
        seen.add(rule.kind)


check(RULES)
