"""What is to be done with a value, by the field it stands in, by its kind, and by the name it stands behind.

A policy is a list of choices, of which the first that fits counts; what fits none is kept. A preset is such a list
under a name. How POLITE_REDACT is read is in `policyforms`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

from scrapy_polite.redaction.fieldnames import FIELD_KINDS
from scrapy_polite.redaction.personal import FORMS
from scrapy_polite.redaction.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_polite.redaction.rules import Rule

__all__ = ["KEYED", "KINDS", "MAKE_ONE", "PRESETS", "PROVIDERS", "STRICTNESS", "Action", "Choice", "Policy"]

# keep: leave the value; replace: put the name of its kind in its place; mask: show its end; token: a keyed digest that
# says its kind, and joins with equal values; hash: one that says nothing but that; round: fewer decimals, or a year;
# drop: leave out the whole field that has it.
Action = Literal["keep", "replace", "mask", "token", "hash", "round", "drop"]

# What overlaps is taken out as one, by the later of these.
STRICTNESS: tuple[Action, ...] = ("keep", "round", "mask", "token", "hash", "replace", "drop")

# Actions that need the secret key.
KEYED: frozenset[Action] = frozenset({"token", "hash"})

MAKE_ONE: Final = (
    "Make one once, with python -c 'import secrets; print(secrets.token_hex(32))', and keep it: without it no later token "
    "joins with an earlier one"
)

# Every kind that a choice may name, and why it is in a page (which a choice may name as well).
KINDS: dict[str, str] = {
    **{rule.kind: rule.exposure for rule in RULES},
    **dict.fromkeys((*(form.kind for form in FORMS), *FIELD_KINDS), "personal"),
}
# Who issues values of a kind; those that are missing have no issuer.
PROVIDERS: dict[str, str] = {rule.kind: rule.provider for rule in RULES}


@dataclass(frozen=True, slots=True)
class Choice:
    """What to do with some values.

    `kinds`     which: the name of a kind, an exposure, or a glob pattern
    `action`    what is done
    `fields`    in which fields: a dotted path, or a glob pattern
    `context`   behind which name in the text (see `contexts.context`): a glob pattern; "" is text without one
    `text`      what a replacement says, in place of `redacted-KIND`
    `places`    decimals that rounding leaves
    `group`     tokens and hashes of different groups do not join
    """

    kinds: str
    action: Action
    fields: str = "*"
    context: str = "*"
    text: str = ""
    places: int = 3
    group: str = ""

    def fits(self, field: str, context: str) -> bool:
        """True if this choice is about such fields and contexts. Capitals count for neither."""
        return (self.fields == "*" or fnmatchcase(field.lower(), self.fields.lower())) and (
            self.context == "*" or fnmatchcase(context.lower(), self.context.lower())
        )


_KEEP = Choice("*", "keep")


@dataclass(frozen=True)
class Policy:
    """Choices, the first that fits counts; what they need; and what is looked for beside the kinds that are known.

    `regions`   whose phone numbers are known without their country code
    `key`       the secret for tokens and hashes; `key_id` its name, which a token carries
    `rules`     kinds of the user's own

    Raises ValueError if a choice needs a key and there is none: a key that was made here would be another one in the next
    crawl, and no token would join with an old one.
    """

    choices: tuple[Choice, ...]
    regions: tuple[str, ...] = ("GB",)
    key: bytes | None = field(default=None, repr=False)
    key_id: str = "k1"
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        keyed = next((choice for choice in self.choices if choice.action in KEYED), None)
        if keyed and not self.key:
            raise ValueError(
                f"POLITE_REDACT: the action {keyed.action!r} for {keyed.kinds!r} needs 'key', a secret of at least 32 "
                f"characters, or 'env:NAME' for one in an environment variable. {MAKE_ONE}"
            )

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """Every kind that is known, with its exposure."""
        return {**KINDS, **{rule.kind: rule.exposure for rule in self.rules}}

    @cached_property
    def by_context(self) -> bool:
        """True if a choice asks for the name in front of a value."""
        return any(choice.context != "*" for choice in self.choices)

    def choice(self, field: str, kind: str, context: str = "") -> Choice:
        """The choice that counts for a value of this kind in this field, behind this name."""
        for choice in self._of(kind):
            if choice.fits(field, context):
                return choice
        return _KEEP

    def action(self, field: str, kind: str, context: str = "") -> Action:
        """What to do with a value of this kind in this field, behind this name."""
        return self.choice(field, kind, context).action

    def wants(self, kind: str) -> bool:
        """True if values of this kind are not kept in every field, so that they have to be looked for."""
        for choice in self._of(kind):
            if choice.action != "keep":
                return True
            if choice.fields == choice.context == "*":
                return False
        return False

    @cached_property
    def _by_kind(self) -> dict[str, tuple[Choice, ...]]:
        return {}

    def _of(self, kind: str) -> tuple[Choice, ...]:
        """The choices that may be about this kind, in order."""
        known = self._by_kind.get(kind)
        if known is None:
            exposure = self.kinds.get(kind)
            known = tuple(c for c in self.choices if c.kinds == exposure or fnmatchcase(kind, c.kinds))
            self._by_kind[kind] = known
        return known


_KEYS = tuple(Choice(exposure, "replace") for exposure in ("publishable", "secret", "transient"))
# Fields of those who wrote about a business, and are no part of it.
_VISITORS = ("*author*", "*reviewer*", "*reviews*", "*commenter*", "*comments*", "*posted_by*")
# Fields in which a business says how it is reached.
_CONTACTS = ("*phone*", "*telephone*", "*mobile*", "*contact*")

PRESETS: dict[str, Policy] = {
    # Keys and tokens of every sort. People's data is left.
    "secrets": Policy(_KEYS),
    # Keys, and everything that leads to a person, an office's mailbox included. A place stays known to some 100 metres.
    "gdpr-strict": Policy((*_KEYS, Choice("coordinates", "round"), Choice("personal", "replace"))),
    # For adverts of businesses: the office's own mailbox, the numbers in contact fields, where it is and what it offers
    # are what the advert is for. Those who wrote about it are masked.
    "listing": Policy(
        (
            *_KEYS,
            Choice("email-role", "keep"),
            *(Choice("personal", "mask", visitors) for visitors in _VISITORS),
            *(Choice(kind, "keep") for kind in ("postal-address", "coordinates")),
            *(Choice("phone", "keep", contacts) for contacts in _CONTACTS),
            Choice("personal", "replace"),
        )
    ),
}
