"""What a row of the table must be, and what a user's own row must be besides."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, get_args

from scrapy_polite.redaction import checksums, validators
from scrapy_polite.redaction.rules import regexes, slowness, words
from scrapy_polite.redaction.rules.rule import Exposure, Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

__all__ = ["HOLD_A_PAGE_TOGETHER", "check", "user_rules"]

# Of what no value has any in it, so that none reaches beyond the attribute, string or element that it stands in. "~" is
# what a value is replaced by.
HOLD_A_PAGE_TOGETHER = frozenset("\"'<>`\\{} \t\r\n\f\v&;~")

_KIND = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")
_UNBOUNDED = re.compile(r"[*+]|\{\d*,\}")


def _not_compiled(rule: Rule) -> str | None:
    for name in ("left", "shape", "right", "back", "unless", "gap"):
        try:
            re.compile(getattr(rule, name))
        except re.error as error:
            return f"its {name} is no regular expression ({error})"
    return None


def _problem(rule: Rule) -> str | None:
    if not _KIND.fullmatch(rule.kind):
        return "its kind is not small letters and digits joined by hyphens, as 'staff-badge'"
    if not rule.anchors and not rule.words:
        return "it has no anchor, so it would have to be tried everywhere: values begin with `anchors`, or stand behind `words`"
    if not all(a.isprintable() and (a.isascii() if len(a) > 1 else a and not a.isalnum()) for a in rule.anchors):
        return "an anchor is empty, a single letter or digit, not printable, or several characters beyond ASCII"
    if rule.words and not words.readable(rule.words):
        return "`words` are not words of small letters and digits (`client_no`), three characters at least, joined by `|`"
    if rule.gap and (rule.anchors or "(?P<value>" in rule.shape):
        return "`gap` is for rules of words alone, whose shape is the value"
    if bool(rule.back) != bool(rule.before):
        return "`back` and `before` need each other"
    parts = (rule.left, rule.shape, rule.right, rule.back, rule.unless, rule.gap)
    if any(_UNBOUNDED.search(_CLASS.sub("_", part)) for part in parts):
        return "a quantifier has no upper bound: write {1,40} for +, {0,40} for *"
    return _not_compiled(rule)


def check(rules: Sequence[Rule]) -> None:
    """Raises ValueError that names the rule and the reason if one could be slow, is never found, or is there twice."""
    seen: set[str] = set()
    for rule in rules:
        problem = _problem(rule)
        if not problem and rule.kind in seen:
            problem = "its kind is there twice"
        if not problem and not rule.source.startswith("https://"):
            problem = "it names no source"
        if problem:
            raise ValueError(f"redaction rule {rule.kind!r}: {problem}")
        seen.add(rule.kind)


# Of a user's own rules.
_LONGEST = 4096
_MOST_RULES = 200
_MOST_ANCHORS = 50
_TEXTS = ("kind", "provider", "exposure", "shape", "source", "validator", "left", "right", "words")
_FORM = (
    "a dict of texts: 'kind', 'shape', and 'anchors' (one or a list) or 'words'; and if need be 'provider', 'exposure', "
    "'source', 'validator', 'left', 'right', and 'window' (a number up to 200)"
)
_VALIDATORS: dict[str, Callable[[str], validators.Verdict]] = {
    "varied": validators.varied,
    "random": validators.random,
    "jwt": checksums.jwt,
}
_LOOK = re.compile(r"\(\?<?[=!]")
_EDGE = re.compile(r"(?:\(\?<?[=!](?:\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[^\\()\[\]*+?{}|])+\))*")
_RESERVED = frozenset({"phone", "text", *get_args(Exposure)})


def user_rules(rows: object, taken: Collection[str] = ()) -> tuple[Rule, ...]:
    """The rules that a user wrote, as dicts with the fields of `Rule` as text; `anchors` may be one text or a list.

    Raises ValueError that names the row and the reason: what is no such dict, has no anchor and no words, has a kind that
    is `taken` or there twice, takes characters that hold a page together, or could take long on a page that was made for
    it: a quantifier without upper bound or inside a repetition, or alternatives that begin alike inside one.
    """
    if isinstance(rows, (str, Mapping)) or not isinstance(rows, (list, tuple)):
        raise ValueError(f"redaction rules: {rows!r} is no list; accepted is a list of rows, each {_FORM}")
    if len(rows) > _MOST_RULES:
        raise ValueError(f"redaction rules: {len(rows)} rows, {_MOST_RULES} at most")
    found: list[Rule] = []
    names = {*taken, *_RESERVED}
    for number, row in enumerate(rows):
        rule = _user_rule(number, row)
        taken_already = "its kind is taken: give it another name" if rule.kind in names else None
        problem = _problem(rule) or taken_already or _user_problem(rule)
        if problem:
            raise ValueError(f"redaction rule {rule.kind!r} (row {number} of 'rules'): {problem}")
        names.add(rule.kind)
        found.append(rule)
    return tuple(found)


def _user_rule(number: int, row: object) -> Rule:
    def wrong(what: str) -> ValueError:
        return ValueError(f"redaction rule (row {number} of 'rules'): {what}; accepted is {_FORM}")

    if not isinstance(row, Mapping):
        raise wrong(f"{row!r} is a {type(row).__name__}")
    unknown = [str(name) for name in row if name not in (*_TEXTS, "anchors", "window")]
    if unknown:
        raise wrong(f"it has the unknown field {', '.join(map(repr, unknown))}")
    for name in _TEXTS:
        if not isinstance(row.get(name, ""), str):
            raise wrong(f"{name!r} is {row[name]!r}, no text")
    if not row.get("kind") or not row.get("shape"):
        raise wrong("it has no 'kind' or no 'shape'")
    anchors = row.get("anchors", ())
    anchors = (anchors,) if isinstance(anchors, str) else anchors
    if not isinstance(anchors, (list, tuple)) or not all(isinstance(anchor, str) for anchor in anchors):
        raise wrong(f"'anchors' is {anchors!r}, no list of texts")
    window = row.get("window", 40)
    if isinstance(window, bool) or not isinstance(window, int) or not 1 <= window <= 200:
        raise wrong(f"'window' is {window!r}, no number from 1 to 200")
    exposure: Exposure | None = next((e for e in get_args(Exposure) if e == row.get("exposure", "secret")), None)
    if exposure is None:
        raise wrong(f"'exposure' is {row['exposure']!r}, none of {', '.join(get_args(Exposure))}")
    validator = row.get("validator")
    if validator and validator not in _VALIDATORS:
        raise wrong(f"'validator' is {validator!r}, none of {', '.join(_VALIDATORS)}")
    return Rule(
        row["kind"],
        row.get("provider") or "own",
        exposure,
        tuple(anchors),
        row["shape"],
        row.get("source", ""),
        _VALIDATORS.get(validator or ""),
        words=row.get("words", ""),
        window=window,
        left=row.get("left", Rule.__dataclass_fields__["left"].default),
        right=row.get("right", Rule.__dataclass_fields__["right"].default),
    )


def _user_problem(rule: Rule) -> str | None:
    if len(rule.anchors) > _MOST_ANCHORS:
        return f"it has {len(rule.anchors)} anchors, {_MOST_ANCHORS} at most"
    try:
        shape = regexes.parse(rule.shape)
    except regexes.UnreadableError as reason:
        return str(reason)
    if not all(_EDGE.fullmatch(part) for part in (rule.left, rule.right)):
        return "`left` and `right` may only look at single characters, as (?<![A-Za-z0-9]) and (?![A-Za-z0-9])"
    if _LOOK.search(_CLASS.sub("_", rule.shape)):
        return "its shape looks ahead or behind: say that in `left` and `right`"
    trouble = slowness.trouble(shape)
    if trouble:
        return f"it could take long on a page made for it: {trouble}"
    least, most = regexes.width(shape)
    if most is None or most > _LONGEST:
        return f"a value of it may be {most} characters long, {_LONGEST} at most"
    if least < 4:
        return "a value of it may be shorter than 4 characters: it would be found everywhere"
    held = sorted(regexes.alphabet(shape) & HOLD_A_PAGE_TOGETHER)
    if held:
        return (
            f"a value of it may have {', '.join(map(repr, held))} in it, which hold a page together: name the characters "
            "that it has, or put the value into a group (?P<value>...)"
        )
    for anchor in rule.anchors:
        if not regexes.begins(shape, anchor):
            return f"no value begins with the anchor {anchor!r}, so it is never found: `anchors` are what the shape begins with"
    return None
