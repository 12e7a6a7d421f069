"""Finds and replaces values in a text: anchors by an automaton, then shape and validator where an anchor stands.

The work is bounded, so a hostile page costs no more than a large one. A text that would cost more is not passed on half
checked: it is dropped. The time is linear in the length of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy_polite.redaction.anchors import Anchors, Hit
from scrapy_polite.redaction.escapes import LEADS, LONGEST_ESCAPE, View
from scrapy_polite.redaction.phones import PhoneFinder
from scrapy_polite.redaction.policy import Action, Policy, policy_from
from scrapy_polite.redaction.rules import RULES, Rule
from scrapy_polite.redaction.validators import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["DROPPED_TEXT", "Budget", "Finding", "Redactor", "Result", "redact", "replacement"]

# Characters that a rule sees before its value (`unless`).
_BEFORE = 80

_FARTHEST = max(rule.before for rule in RULES) + _BEFORE

# Nothing that is looked for is shorter: seven digits of a phone number with a "+", "a@b.cd".
_SHORTEST = 6
_LEAD = re.compile(r"[\\%&]")
_ENDS_TOKEN = re.compile(r"""[\s"'<>`,]""")
# From this length on, a view ends where the token does, and not where the shape could at most.
_LONG = 300
# What ends a value in both directions, and what stands before one as far as a rule looks.
_BREAKS = re.compile(r"""[\s"<>`]""")
# What is in no value, whatever its rule. A view that meets none of it and is still too short is made again, larger.
_IN_VALUE = r"\w.+/=~'\u0300-\u036f-"
_IN_NO_VALUE = re.compile(f"[^{_IN_VALUE}]")
_RUN = re.compile(f"[{_IN_VALUE}]*")
_LARGEST = 8
# What one anchor costs to be tried, and a character that is read through a view, in characters read as they are.
_TRY_COST = 100
_VIEW_COST = 10


def replacement(kind: str) -> str:
    """What is put in the place of a value: `~redacted-email~`.

    Only characters that are unreserved in URLs and mean nothing in HTML text, attributes, JSON strings and CSS strings.
    The `~` is in no shape's alphabet, so what is put in never joins with what stands beside it to a value; and the `r`
    after it can complete no escape that was begun. A page may write it too: it is text like any other.
    """
    return f"~redacted-{kind}~"


# What `redact` answers for a text that could not be checked to its end, or must not be passed on.
DROPPED_TEXT = replacement("text")


@dataclass(frozen=True, slots=True)
class Finding:
    """A value of this kind stood at text[start:end]. `certain`: a checksum or its structure proves it."""

    kind: str
    start: int
    end: int
    action: Action
    certain: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """The redacted text and what was found. `dropped` says why the text must not be passed on; it is then empty.

    Reasons: "over_budget" (it was not checked to its end), "policy" (something was found whose action is "drop"),
    "nulls" (without the NUL characters in it something would be found: it is UTF-16 or UTF-32, read as something else).
    """

    text: str
    findings: tuple[Finding, ...] = ()
    dropped: str | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be read for one text, in characters: a base, and for every character of the text.

    A page costs far less than one a character; the default ends what is hostile after some 50 ms for every 100 KB.
    """

    base: int = 2_000_000
    per_character: int = 30


class _OverBudget(Exception):  # noqa: N818  (it is no error: it ends a search inside this module)
    pass


class _Reading:
    """One text while it is read: what is left of its budget, where its next escape and its next blank or quote are, and
    the last view of it.

    Anchors come nearly in order, so remembering the last answer makes looking ahead linear, however many there are.
    """

    __slots__ = ("_left", "_next", "_view", "text")

    def __init__(self, text: str, budget: Budget) -> None:
        self.text = text
        self._left = budget.base + budget.per_character * len(text)
        self._next: dict[re.Pattern[str], tuple[int, int]] = {}
        self._view: tuple[int, int, View] | None = None

    def mask(self, spans: Sequence[Finding]) -> None:
        """What was found is read as `~` from now on, which stands for whatever is put in its place."""
        pieces: list[str] = []
        at = 0
        for span in spans:
            pieces += self.text[at : span.start], "~" * (span.end - span.start)
            at = span.end
        pieces.append(self.text[at:])
        self.spend(len(self.text) // 20)
        self.text = "".join(pieces)
        self._next.clear()
        self._view = None

    def spend(self, cost: int) -> None:
        self._left -= cost
        if self._left < 0:
            raise _OverBudget

    def view(self, start: int, end: int) -> View:
        """A view of this window: the last one again if it was of the same, as two rules of one anchor often ask so."""
        if self._view is None or self._view[:2] != (start, end):
            self.spend(_VIEW_COST * (end - start + 50))
            self._view = start, end, View(self.text, start, end)
        return self._view[2]

    def following(self, what: re.Pattern[str], start: int) -> int:
        """Where the first match at or after `start` begins; the end of the text if there is none."""
        since, found = self._next.get(what, (0, -1))
        if not since <= start <= found:
            match = what.search(self.text, start)
            found = match.start() if match else len(self.text)
            self._next[what] = start, found
        return found


@dataclass(frozen=True, slots=True)
class _Span:
    """What stands from `start` to `end` in what was read has the shape; the validator's verdict on it."""

    start: int
    end: int
    verdict: Verdict


class _Matcher:
    """One rule, compiled."""

    __slots__ = ("_back", "_shape", "_unless", "_validator", "rule")

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._shape = re.compile(rule.left + rule.shape, re.ASCII)
        self._back = re.compile(rule.back, re.ASCII) if rule.back else None
        self._unless = re.compile(rule.unless) if rule.unless else None
        self._validator = rule.validator

    def reaches(self, distance: int, apart: bool) -> bool:
        """True if a value may be so long. `apart`: something stands between that ends one, unless it is a parameter's."""
        return distance <= self.rule.longest and (not apart or "value" in self._shape.groupindex)

    def match(self, text: str, at: int) -> _Span | None:
        """What has the rule's shape and its anchor at `at`; None if nothing has."""
        match = self._shape.match(text, at)
        if match is None:
            return None
        start, end = match.span("value") if "value" in self._shape.groupindex else match.span()
        if text.startswith(">", end) and text.endswith("--", start, end):
            end -= 2  # the end of a comment, whose hyphens look like a token's
        if self._back:
            # Nothing further left is seen, so a run that is too long is cut there, and found all the same.
            run = _RUN.match(text[max(0, at - self.rule.before) : at][::-1])
            since = at - run.end() if run else at
            before = self._back.search(text[since:at])
            if before is None:
                return None
            start = since + before.start()
        if self._unless and self._unless.search(text, max(0, start - _BEFORE), start):
            return None
        verdict = self._validator(text[start:end]) if self._validator else Verdict.LIKELY
        return _Span(start, end, verdict)


class Redactor:
    """Redacts texts by one policy. Compiled once (about 20 ms), then used for every text, from any thread.

    Raises ValueError if the policy wants phone numbers and the extra `[phone]` is not installed.
    """

    __slots__ = ("_anchors", "_budget", "_matchers", "_phones", "policy")

    def __init__(self, policy: Policy, budget: Budget | None = None) -> None:
        self.policy = policy
        self._budget = budget or Budget()
        self._matchers = [_Matcher(rule) for rule in RULES if policy.wants(rule.kind)]
        self._anchors = Anchors([matcher.rule.anchors for matcher in self._matchers])
        self._phones = PhoneFinder(policy.regions) if policy.wants("phone") else None

    @classmethod
    def from_policy(cls, policy: Policy) -> Redactor:
        """The redactor for this policy, with the default budget."""
        return cls(policy)

    def text(self, text: str, field: str = "") -> Result:
        """The text without what the policy does not keep in this field (a dotted path such as `agent.email`)."""
        if len(text) < _SHORTEST:
            return Result(text)
        reading = _Reading(text, self._budget)
        try:
            findings = self._findings(reading, field)
            if any(finding.action == "drop" for finding in findings):
                return Result("", findings, "policy")
            # By now the values that stand there as they are have been masked.
            if "\0" in text and self._findings(_Reading(reading.text.replace("\0", ""), self._budget), field):
                return Result("", (), "nulls")
        except _OverBudget:
            return Result("", (), "over_budget")
        if not findings:
            return Result(text)
        pieces: list[str] = []
        at = 0
        for finding in findings:
            pieces += text[at : finding.start], replacement(finding.kind)
            at = finding.end
        pieces.append(text[at:])
        return Result("".join(pieces), findings)

    def _findings(self, reading: _Reading, field: str) -> tuple[Finding, ...]:
        actions: dict[str, Action] = {}
        found: list[Finding] = []

        def add(kind: str, start: int, end: int, certain: bool) -> None:
            action = actions.get(kind)
            if action is None:
                action = actions[kind] = self.policy.action(field, kind)
            if action != "keep":
                found.append(Finding(kind, start, end, action, certain))

        def confirm(hit: Hit, rules: Iterable[int]) -> None:
            for index in rules:
                matcher = self._matchers[index]
                span = _confirm(matcher, reading, hit.at, hit.plain)
                if span and span.verdict is not Verdict.REJECT:
                    add(matcher.rule.kind, span.start, span.end, span.verdict is Verdict.CERTAIN)

        hits = list(self._anchors.hits(reading.text))
        for hit in hits:
            confirm(hit, hit.rules)
        if self._phones:
            for start, end in self._phones.find(reading.text, reading.spend):
                add("phone", start, end, certain=True)
        findings = fresh = _merged(found)
        # What was glued to a value, and no value for that, stands alone when that is gone: it is looked for until
        # nothing is found, so that a second pass over the result would find nothing either.
        while fresh and all(finding.action != "drop" for finding in fresh):
            found.clear()
            reading.mask(fresh)
            spans = [(span.start, span.end) for span in fresh]
            for hit, rules in self._beside(reading.text, hits, spans):
                confirm(hit, rules)
            if self._phones:
                for start, end in spans:
                    for number in self._phones.beside(reading.text, start, end, reading.spend):
                        add("phone", *number, certain=True)
            fresh = _merged(found)
            findings = _merged([*findings, *fresh])
        return tuple(findings)

    def _beside(self, text: str, hits: Iterable[Hit], spans: Sequence[tuple[int, int]]) -> Iterator[tuple[Hit, Iterable[int]]]:
        """The hits worth another try, now that these spans of the text are masked: what may touch one of them.

        There are no new ones: no value ends before a letter, so no anchor stood in the middle of a word with one.
        """
        ends = [end for _, end in spans]
        for hit in hits:
            if text[hit.at] == "~":
                continue
            after = bisect_left(ends, hit.at)
            # No rule sees beyond the nearest one: a mask is in no value.
            if after and hit.at - ends[after - 1] < _FARTHEST and not _BREAKS.search(text, ends[after - 1], hit.at):
                yield hit, hit.rules
            elif after < len(spans):
                start = spans[after][0]
                apart = _BREAKS.search(text, hit.at, start) is not None
                yield hit, [index for index in hit.rules if self._matchers[index].reaches(start - hit.at, apart)]


def _confirm(matcher: _Matcher, reading: _Reading, at: int, plain: bool) -> _Span | None:
    """What has the shape at this anchor, in offsets of the text.

    Read as it stands first, which is nearly always enough. Through a view if an escape touches it, or may be inside.
    """
    rule, text = matcher.rule, reading.text
    reading.spend(_TRY_COST)
    if plain:
        span = matcher.match(text, at)
        if span and not _touched(text, span.start, span.end):
            return span
    else:
        span = None
    reach = 1
    while True:
        start, end = max(0, at - rule.before * reach - LONGEST_ESCAPE), min(len(text), at + rule.longest * reach)
        start = max(
            start,
            text.rfind(" ", start, at),
            text.rfind('"', start, at),
            text.rfind(">", start, at),
            text.rfind(",", start, at),
        )
        if rule.longest > _LONG:
            end = min(end, reading.following(_ENDS_TOKEN, at))
        if plain and reading.following(_LEAD, start) > end:
            return span  # no escape is near
        view = reading.view(start, end + LONGEST_ESCAPE)
        position = view.position(at)
        beyond = end + LONGEST_ESCAPE < len(text)
        # Where most is escaped, so many characters of the page are few of the view.
        if reach == _LARGEST or not (
            (start and position < rule.before and not _IN_NO_VALUE.search(view.text, 0, position))
            or (beyond and len(view.text) < position + rule.longest and not _IN_NO_VALUE.search(view.text, position + 1))
        ):
            break
        reach *= 2
    span = matcher.match(view.text, position)
    if span is None or (span.end == len(view.text) and beyond):
        return None
    return _Span(view.origin(span.start), view.origin(span.end), span.verdict)


def _touched(text: str, start: int, end: int) -> bool:
    """True if an escape begins right after the value, or one may cover its beginning or end right before it."""
    return (end < len(text) and text[end] in LEADS) or _LEAD.search(text, max(0, start - LONGEST_ESCAPE), start) is not None


def _merged(found: list[Finding]) -> list[Finding]:
    """Findings in order, none overlapping: what overlaps is taken out as one, under the name of its longest part.

    To take out only the longest would leave a piece of another.
    """
    merged: list[Finding] = []
    longest = 0
    for finding in sorted(found, key=lambda f: (f.start, -f.end)):
        if merged and finding.start < merged[-1].end:
            last = merged[-1]
            length = finding.end - finding.start
            kind, certain = (finding.kind, finding.certain) if length > longest else (last.kind, last.certain)
            longest = max(longest, length)
            action: Action = "drop" if "drop" in (last.action, finding.action) else "replace"
            merged[-1] = Finding(kind, last.start, max(last.end, finding.end), action, certain)
        else:
            merged.append(finding)
            longest = finding.end - finding.start
    return merged


@lru_cache(maxsize=32)
def _redactor(policy: Policy) -> Redactor:
    return Redactor(policy)


def redact(text: str, policy: str | Mapping[str, object] | Policy = "secrets", field: str = "") -> str:
    """The text without what the policy does not keep: a preset's name, a dict as in POLITE_REDACT, or a `Policy`.

    A text that could not be checked to its end, or that the policy drops, comes back as `~redacted-text~`. Raises
    ValueError for a policy that is none.
    """
    wanted = policy if isinstance(policy, Policy) else policy_from(policy)
    if wanted is None:
        return text
    result = _redactor(wanted).text(text, field)
    return DROPPED_TEXT if result.dropped else result.text
