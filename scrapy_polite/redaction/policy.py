"""What is to be done with a value, by the field it stands in and by its kind.

A policy is a list of choices, of which the first that fits counts; what fits none is kept. A preset is such a list
under a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, get_args

from scrapy_polite.redaction.rules import RULES, Exposure, Rule

__all__ = ["KINDS", "PRESETS", "Action", "Choice", "Policy", "policy_from"]

# keep: leave the value; replace: put the name of its kind in its place; drop: leave out the whole field that has it.
Action = Literal["keep", "replace", "drop"]

# Every kind that a choice may name, and why it is in a page (which a choice may name as well).
KINDS: dict[str, str] = {**{rule.kind: rule.exposure for rule in RULES}, "phone": "personal"}

_ACTIONS: tuple[Action, ...] = get_args(Action)
_EXPOSURES: tuple[Exposure, ...] = get_args(Exposure)


@dataclass(frozen=True, slots=True)
class Choice:
    """`action` for values of the kinds (a name, an exposure, or a glob pattern) in fields (a dotted path, or a glob
    pattern)."""

    kinds: str
    action: Action
    fields: str = "*"

    def fits(self, field: str, kind: str, exposure: str | None = None) -> bool:
        """True if this choice is about such values in such a field. Capitals count for neither."""
        return fnmatchcase(field.lower(), self.fields.lower()) and (
            fnmatchcase(kind, self.kinds) or (exposure or KINDS.get(kind)) == self.kinds
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """Choices, the first that fits counts; the regions whose phone numbers are known without their country code; and
    rules besides those of the table."""

    choices: tuple[Choice, ...]
    regions: tuple[str, ...] = ("GB",)
    rules: tuple[Rule, ...] = ()

    def action(self, field: str, kind: str) -> Action:
        """What to do with a value of this kind in this field."""
        exposure = self.exposure(kind)
        return next((choice.action for choice in self.choices if choice.fits(field, kind, exposure)), "keep")

    def exposure(self, kind: str) -> str | None:
        """Why such values are in a page; None for a kind that is unknown."""
        return KINDS.get(kind) or next((rule.exposure for rule in self.rules if rule.kind == kind), None)

    def wants(self, kind: str) -> bool:
        """True if values of this kind are not kept in every field, so that they have to be looked for."""
        for choice in self.choices:
            if fnmatchcase(kind, choice.kinds) or self.exposure(kind) == choice.kinds:
                if choice.action != "keep":
                    return True
                if choice.fields == "*":
                    return False
        return False


_KEYS = tuple(Choice(exposure, "replace") for exposure in ("publishable", "secret", "transient"))

PRESETS: dict[str, Policy] = {
    # Keys and tokens of every sort. People's data is left.
    "secrets": Policy(_KEYS),
    # Keys, and everything that leads to a person, an office's mailbox included.
    "gdpr-strict": Policy((*_KEYS, Choice("personal", "replace"))),
    # For adverts of businesses: the office's own mailbox and the numbers in contact fields are what the advert is for.
    "listing": Policy(
        (
            *_KEYS,
            Choice("email-role", "keep"),
            *(Choice("phone", "keep", field) for field in ("*phone*", "*telephone*", "*mobile*", "*contact*")),
            Choice("personal", "replace"),
        )
    ),
}

_FORM = (
    f"a preset's name ({', '.join(PRESETS)}), None (off), or a dict with any of: 'preset': a name; 'kinds': "
    "{kind: action}; 'fields': {field: action or {kind: action}}; 'regions': ['GB', ...]"
)


def policy_from(value: object) -> Policy | None:
    """The policy that a value of POLITE_REDACT stands for; None for None and "" (off).

    In a dict, `fields` is tried first, then `kinds`, then the preset ("secrets" if none is named). Raises ValueError
    that names the setting, what is wrong and what is accepted.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return _preset(value)
    if not isinstance(value, Mapping):
        raise _wrong(f"{value!r} is a {type(value).__name__}")
    unknown = sorted(str(key) for key in value if key not in ("preset", "kinds", "fields", "regions"))
    if unknown:
        raise _wrong(f"it has the unknown key {', '.join(map(repr, unknown))}")
    preset = _preset(value.get("preset", "secrets"))
    choices: list[Choice] = []
    for field, wanted in _mapping("fields", value).items():
        if isinstance(wanted, Mapping):
            choices += (Choice(_kind(kind), _action(action), field) for kind, action in wanted.items())
        else:
            choices.append(Choice("*", _action(wanted), field))
    choices += (Choice(_kind(kind), _action(action)) for kind, action in _mapping("kinds", value).items())
    return Policy((*choices, *preset.choices), _regions(value.get("regions", preset.regions)))


def _wrong(what: str) -> ValueError:
    return ValueError(f"POLITE_REDACT: {what}; accepted is {_FORM}")


def _preset(name: object) -> Policy:
    if not isinstance(name, str) or name not in PRESETS:
        raise _wrong(f"there is no preset {name!r}")
    return PRESETS[name]


def _mapping(key: str, value: Mapping[str, object]) -> dict[str, object]:
    part = value.get(key, {})
    if not isinstance(part, Mapping) or not all(isinstance(name, str) for name in part):
        raise _wrong(f"{key!r} is {part!r}, no dict of names")
    return dict(part)


def _kind(name: object) -> str:
    if not isinstance(name, str) or not (name in _EXPOSURES or any(fnmatchcase(kind, name) for kind in KINDS)):
        raise _wrong(f"no kind is called {name!r} (kinds: {', '.join(KINDS)}; or {', '.join(_EXPOSURES)}; or a pattern)")
    return name


def _action(name: object) -> Action:
    if name not in _ACTIONS:
        raise _wrong(f"there is no action {name!r} (actions: {', '.join(_ACTIONS)})")
    return name


def _regions(value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, (list, tuple)) or not value:
        raise _wrong(f"'regions' is {value!r}, no list of regions")
    for region in value:
        if not (isinstance(region, str) and len(region) == 2 and region.isascii() and region.isupper()):
            raise _wrong(f"'regions' has {region!r}, not two capital letters as in ISO 3166")
    return tuple(value)
