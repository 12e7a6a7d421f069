"""Mail addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_polite.redaction import validators
from scrapy_polite.redaction.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_polite.redaction.validators import Verdict

__all__ = ["RULES"]

# Full-width and small @, and the full stops of https://www.unicode.org/reports/tr46/#Notation (UTS 46, section 2.3).
_AT = "[@\uff20\ufe6b]"
_DOT = "[.\u3002\uff0e\uff61]"
# Letters of any alphabet, so a mailbox is never cut at one, and the marks of those that are written in two characters;
# it ends with the letters of a top-level domain, whatever is glued to them.
_MARKS = "\u0300-\u036f"
_LETTER = rf"(?:[^\W_]|[{_MARKS}])"
_LABEL = rf"[^\W_](?:(?:[^\W_]|[{_MARKS}-]){{0,61}}{_LETTER})?"
_MAIL = rf"(?u:{_AT}(?:{_LABEL}{_DOT}){{1,126}}(?:[^\W\d_]|[{_MARKS}]){{2,63}}(?![^\W\d_]|[{_MARKS}]))"
# `photo@2x.png"` is the one thing with an @ that pages are full of; its validator would say the same, after more work.
_MAIL_LEFT = rf"""(?u:(?<=[\w.+{_MARKS}-]))(?!@[0-9]x\.(?:png|jpe?g|webp|avif|gif|svg)["'),\s])"""
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
    return Rule(
        kind, "mail", "personal", anchors, _MAIL, source, validator,
        left=_MAIL_LEFT, right="", back=_MAIL_BACK, before=320, unless=_USER_INFO, longest=320,
    )  # fmt: skip


RULES: tuple[Rule, ...] = (_mail("email", validators.personal_mailbox), _mail("email-role", validators.role_mailbox))
