"""Reads POLITE_REDACT: what a user writes, as the policy it stands for."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import get_args

from scrapy_polite.redaction.policy import KINDS, MAKE_ONE, PRESETS, Action, Choice, Policy
from scrapy_polite.redaction.regions import REGIONS_FORM, wrong_region
from scrapy_polite.redaction.rules import Exposure, Rule, user_rules

__all__ = ["policy_from"]

_ACTIONS: tuple[Action, ...] = get_args(Action)
_EXPOSURES: tuple[Exposure, ...] = get_args(Exposure)
_KEYS = ("preset", "choices", "fields", "kinds", "regions", "rules", "key", "key_id")
_OF_CHOICE = ("fields", "kinds", "context", "action", "text", "places", "group")

# NIST SP 800-107r1, 5.3.4: a key for HMAC has at least the strength that is wanted; 32 hexadecimal digits are 128 bits.
_SHORTEST_KEY = 32

_FORM = (
    f"a preset's name ({', '.join(PRESETS)}), None (off), or a dict with any of: 'preset': a name; 'choices': "
    "[{'fields': pattern, 'kinds': kind, 'context': pattern, 'action': action}, ...]; 'fields': {field: action or {kind: "
    "action}}; 'kinds': {kind: action}; 'regions': ['GB', ...]; 'key': a secret or 'env:NAME'; 'key_id': its name; "
    "'rules': [a dict for each rule]"
)
_FORM_OF_KIND = (
    f"a kind's name (`scrapy polite redact --kinds` lists them), a pattern such as 'uk-*', or one of {', '.join(_EXPOSURES)}"
)
_FORM_OF_ACTION = (
    f"one of {', '.join(_ACTIONS)}, or a dict with 'action' and any of 'text' (small letters and hyphens, for replace), "
    "'places' (0 to 8, for round), 'group' (a name, for token and hash)"
)


def policy_from(value: object, environment: Mapping[str, str] = os.environ) -> Policy | None:
    """The policy that a value of POLITE_REDACT stands for; None for None and "" (off).

    In a dict, `choices` are tried first, then `fields`, then `kinds`, then the preset ("secrets" if none is named). Raises
    ValueError that names the setting, what is wrong and what is accepted; it never quotes the key.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return _preset(value)
    if not isinstance(value, Mapping):
        raise _wrong(f"it is {_shown(value)}")
    unknown = sorted(str(key) for key in value if key not in _KEYS)
    if unknown:
        raise _wrong(f"it has the unknown key {', '.join(map(repr, unknown))}")
    preset = _preset(value.get("preset", "secrets"))
    rules = _rules(value.get("rules", []))
    kinds = (*KINDS, *(rule.kind for rule in rules))
    choices = [_choice(row, kinds) for row in _list("choices", value)]
    for field, wanted in _mapping("fields", value).items():
        if isinstance(wanted, Mapping) and "action" not in wanted:
            choices += (_acting(_kind(kind, kinds), action, fields=field) for kind, action in wanted.items())
        else:
            choices.append(_acting("*", wanted, fields=field))
    choices += (_acting(_kind(kind, kinds), action) for kind, action in _mapping("kinds", value).items())
    return Policy(
        # A rule of the user's own is there to be used: by its exposure a preset may not want it.
        (*choices, *preset.choices, *(Choice(rule.kind, "replace") for rule in rules)),
        # Not for those of a preset: libphonenumber takes a moment to load.
        _regions(value["regions"]) if "regions" in value else preset.regions,
        _key(value.get("key"), environment),
        _key_id(value.get("key_id", preset.key_id)),
        rules,
    )


def _wrong(what: str, form: str = _FORM) -> ValueError:
    return ValueError(f"POLITE_REDACT: {what}; accepted is {form}")


def _shown(value: object) -> str:
    """What was given, as far as the key cannot be in it."""
    if isinstance(value, Mapping):
        return f"a dict of {', '.join(map(repr, value)) or 'nothing'}"
    return repr(value) if value is None or isinstance(value, (str, int, float)) else f"a {type(value).__name__}"


def _preset(name: object) -> Policy:
    if not isinstance(name, str) or name not in PRESETS:
        raise _wrong(f"there is no preset {_shown(name)}")
    return PRESETS[name]


def _mapping(key: str, value: Mapping[str, object]) -> dict[str, object]:
    part = value.get(key, {})
    if not isinstance(part, Mapping) or not all(isinstance(name, str) for name in part):
        raise _wrong(f"{key!r} is {_shown(part)}, no dict of names")
    return dict(part)


def _list(key: str, value: Mapping[str, object]) -> Sequence[object]:
    part = value.get(key, ())
    if not isinstance(part, (list, tuple)):
        raise _wrong(f"{key!r} is {_shown(part)}, no list")
    return part


def _choice(row: object, kinds: Sequence[str]) -> Choice:
    if not isinstance(row, Mapping) or "action" not in row:
        raise _wrong(f"'choices' has {_shown(row)}, no dict with an 'action'")
    unknown = [key for key in row if key not in _OF_CHOICE]
    if unknown:
        raise _wrong(f"'choices' has a row with the unknown key {unknown[0]!r} (keys: {', '.join(_OF_CHOICE)})")
    for key in ("fields", "context"):
        if not isinstance(row.get(key, "*"), str):
            raise _wrong(f"'choices' has a row whose {key!r} is {row[key]!r}, no pattern")
    wanted = {key: row[key] for key in _DEFAULTS if key in row}
    if isinstance(row["action"], Mapping):
        wanted = {**wanted, **row["action"]}
    kind = row.get("kinds", "*")
    return _acting(
        "*" if kind == "*" else _kind(kind, kinds), wanted, fields=row.get("fields", "*"), context=row.get("context", "*")
    )


def _acting(kinds: str, wanted: object, fields: str = "*", context: str = "*") -> Choice:
    parts: Mapping[str, object] = wanted if isinstance(wanted, Mapping) else {"action": wanted}
    action, text, places, group = (parts.get(key, default) for key, default in _DEFAULTS.items())
    where = f"(for kinds {kinds!r}, in fields {fields!r})"
    if not set(parts) <= set(_DEFAULTS):
        raise _wrong(f"{_shown(parts)} is no action {where}", _FORM_OF_ACTION)
    if action not in _ACTIONS:
        raise _wrong(f"there is no action {action!r} {where}", _FORM_OF_ACTION)
    if not isinstance(text, str) or (text and not re.fullmatch(r"(?=.{1,32}\Z)[a-z]+(?:-[a-z]+)*", text)):
        raise _wrong(f"'text' is {text!r} {where}", _FORM_OF_ACTION)
    if not isinstance(places, int) or isinstance(places, bool) or not 0 <= places <= 8:
        raise _wrong(f"'places' is {places!r} {where}", _FORM_OF_ACTION)
    if not isinstance(group, str) or len(group) > 64:
        raise _wrong(f"'group' is {group!r} {where}", _FORM_OF_ACTION)
    return Choice(kinds, action, fields, context, text, places, group)


_DEFAULTS: dict[str, object] = {"action": None, "text": "", "places": 3, "group": ""}


def _kind(name: object, kinds: Sequence[str]) -> str:
    if not isinstance(name, str):
        raise _wrong(f"{name!r} is no kind; a row of 'choices' has one", _FORM_OF_KIND)
    if not (name in _EXPOSURES or any(fnmatchcase(kind, name) for kind in kinds)):
        near = difflib.get_close_matches(name, [*kinds, *_EXPOSURES], n=3)
        like = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise _wrong(f"no kind is called {name!r}{like}", _FORM_OF_KIND)
    return name


def _regions(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not value:
        raise _wrong(f"'regions' is {_shown(value)}", REGIONS_FORM)
    for region in value:
        problem = wrong_region(region)
        if problem:
            raise _wrong(f"'regions' has {problem}", REGIONS_FORM)
    return tuple(value)


def _rules(value: object) -> tuple[Rule, ...]:
    try:
        return user_rules(value, KINDS)
    except ValueError as error:
        raise ValueError(f"POLITE_REDACT: {error}") from None


def _key(value: object, environment: Mapping[str, str]) -> bytes | None:
    """The secret. What is wrong with it is said without it."""
    if value is None:
        return None
    form = (
        f"a secret of at least {_SHORTEST_KEY} characters, or 'env:NAME' for one in the environment variable NAME. {MAKE_ONE}"
    )
    if not isinstance(value, str):
        raise _wrong(f"'key' is a {type(value).__name__}", form)
    secret, where = value, "'key'"
    if value.startswith("env:"):
        name = value[4:]
        secret, where = environment.get(name, ""), f"the environment variable {name!r} that 'key' names"
        if not secret:
            raise _wrong(f"{where} is not set: set it where the crawl is started", form)
    if len(secret) < _SHORTEST_KEY:
        raise _wrong(f"{where} has {len(secret)} characters", form)
    return secret.encode("utf-8", "surrogatepass")


def _key_id(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", value):
        raise _wrong(f"'key_id' is {_shown(value)}", "1 to 32 letters, digits, hyphens and underscores")
    return value
