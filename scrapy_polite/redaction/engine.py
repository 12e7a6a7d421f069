"""Finds and replaces values in a text: anchors by an automaton, then shape and validator where an anchor stands.

The work is bounded, so a hostile page costs no more than a large one. A text that would cost more is not passed on half
checked: it is dropped. The time is linear in the length of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scrapy_polite.redaction import acting
from scrapy_polite.redaction.acting import replacement
from scrapy_polite.redaction.anchors import Anchors, Hit
from scrapy_polite.redaction.contexts import context
from scrapy_polite.redaction.digits import other_digits
from scrapy_polite.redaction.escapes import escape_over, may_end_escape, unescaped_start
from scrapy_polite.redaction.forms import Forms
from scrapy_polite.redaction.marks import Marks
from scrapy_polite.redaction.matching import SEEN_BEFORE, Budget, OverBudget, Reading, confirm, matchers
from scrapy_polite.redaction.media import MEDIA, end_of_media
from scrapy_polite.redaction.personal import FORMS, REACH
from scrapy_polite.redaction.phones import PhoneFinder
from scrapy_polite.redaction.policy import STRICTNESS, Action, Choice, Policy
from scrapy_polite.redaction.rules import RULES
from scrapy_polite.redaction.validators import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from scrapy_polite.redaction.rules import Confidence

__all__ = ["DROPPED_TEXT", "Budget", "Finding", "Redactor", "Result", "replacement"]

# Nothing that is looked for is shorter: seven digits of a phone number with a "+", "a@b.cd".
_SHORTEST = 6
# Characters that most values are shorter than: the others are looked for farther from what was masked. And what it costs
# to look at a hit again, in characters read.
_NEAR = 600
_LOOK_COST = 30
# How often what was put in is read again, where it leaves something of a value; the second time finds nothing as a rule.
_PASSES = 6
# What ends a value in both directions, and what stands before one as far as a rule looks.
_BREAKS = re.compile(r"""[\s"<>`]""")


# What `redact` answers for a text that could not be checked to its end, or must not be passed on.
DROPPED_TEXT = replacement("text")


@dataclass(frozen=True, slots=True)
class Finding:
    """A value of this kind stood at text[start:end]."""

    kind: str
    start: int
    end: int
    action: Action
    confidence: Confidence = "likely"

    @property
    def certain(self) -> bool:
        """True if a checksum or its structure proves it."""
        return self.confidence == "certain"


@dataclass(frozen=True, slots=True)
class Result:
    """The redacted text and what was found. `dropped` says why the text must not be passed on; it is then empty.

    Reasons: "over_budget" (it was not checked to its end), "policy" (something was found whose action is "drop"),
    "nulls" (without the NUL characters in it something would be found: it is UTF-16 or UTF-32, read as something else).
    """

    text: str
    findings: tuple[Finding, ...] = ()
    dropped: str | None = None


class Redactor:
    """Redacts texts by one policy. Compiled once (about 0.15 s and 20 MB), then used for every text, from any thread.

    Raises ValueError if the policy wants phone numbers and the extra `[phone]` is not installed.
    """

    __slots__ = (
        "_anchors",
        "_budget",
        "_farthest",
        "_forms",
        "_longest",
        "_marks",
        "_matchers",
        "_order",
        "_own",
        "_phones",
        "policy",
    )

    def __init__(self, policy: Policy, budget: Budget | None = None) -> None:
        self.policy = policy
        self._budget = budget or Budget()
        self._matchers = matchers(rule for rule in (*RULES, *policy.rules) if policy.wants(rule.kind))
        numbers = [form for form in FORMS if policy.wants(form.kind)]
        beside = other_digits() if numbers else ()
        self._anchors = Anchors([*(matcher.rule for matcher in self._matchers), MEDIA], beside)
        self._longest = max((matcher.longest for matcher in self._matchers), default=0)
        self._order = {kind: number for number, kind in enumerate(kind for matcher in self._matchers for kind in matcher.kinds)}
        # How far before an anchor the value, and what a rule sees before it, can begin.
        self._farthest = max((matcher.before for matcher in self._matchers), default=0) + SEEN_BEFORE
        self._forms = Forms(numbers)
        self._own = frozenset(rule.kind for rule in policy.rules)
        self._marks = Marks(policy)
        self._phones = PhoneFinder(policy.regions) if policy.wants("phone") else None

    @classmethod
    def from_policy(cls, policy: Policy) -> Redactor:
        """The redactor for this policy, with the default budget."""
        return cls(policy)

    def within(self, budget: Budget) -> Redactor:
        """The same with another budget for a text; what is compiled is shared."""
        other = copy(self)
        other._budget = budget
        return other

    def text(self, text: str, field: str = "", found: Sequence[tuple[str, int, int]] = ()) -> Result:
        """The text without what the policy does not keep in this field (a dotted path such as `agent.email`).

        `found`: kind, start and end of values that were found elsewhere, as by the recognition of names; they are dealt
        with as if they had been found here. Raises ValueError for one that is not inside the text.
        """
        return self._text(text, field, found, _PASSES)

    def _text(self, text: str, field: str, found: Sequence[tuple[str, int, int]], passes: int) -> Result:
        if len(text) < _SHORTEST and not found:
            return Result(text)
        reading = Reading(text, self._budget)
        try:
            findings = self._findings(reading, field, found)
            if any(finding.action == "drop" for finding in findings):
                return Result("", findings, "policy")
            # By now the values that stand there as they are have been masked.
            if "\0" in text and self._findings(Reading(reading.text.replace("\0", ""), self._budget), field):
                return Result("", (), "nulls")
        except OverBudget:
            return Result("", (), "over_budget")
        return self._applied(text, findings, field, passes)

    def _applied(self, text: str, findings: Sequence[Finding], field: str, passes: int) -> Result:
        """The text with something else in the place of what was found. What needs no change is no finding."""
        puts: list[acting.Put] = []
        done: list[Finding] = []
        for finding in findings:
            near = context(text, finding.start) if self.policy.by_context else ""
            choice = self.policy.choice(field, finding.kind, near)
            if choice.action != finding.action:
                choice = Choice(finding.kind, finding.action)  # of several that overlap, the strictest
            new = acting.stand_in(text, finding.start, finding.end, finding.kind, choice, self.policy)
            if new != text[finding.start : finding.end]:
                puts.append(acting.Put(finding.start, finding.end, new))
                done.append(finding)
        changed = acting.Put.together(text, puts)
        if not any(
            put.new == "0" or finding.action in acting.LEAVES_SOMETHING for put, finding in zip(puts, done, strict=True)
        ):
            return Result(changed, tuple(done))
        # What is left of a value may be the part of another that was not there before.
        again = self._text(changed, field, (), passes - 1) if passes else Result("", (), "over_budget")
        if again.dropped or not again.findings:
            return Result(again.text, tuple(done), again.dropped)
        for finding in again.findings:
            start, end = acting.Put.origin(puts, finding.start, finding.end)
            done.append(replace(finding, start=start, end=end))
        return Result(again.text, tuple(_merged(done, self._order)))

    def whole(self, kind: str, value: str | int | float, field: str) -> str | int | float | acting.Gone:
        """The value of a field that `fieldnames.kind_of` knows, as the policy has it: itself, what stands for it, or `GONE`.

        Text stays text; a number stays a number, rounded, or goes, as it cannot hold anything else.
        """
        return acting.whole(kind, value, field, self.policy)

    def fingerprint(self, value: str) -> str | None:
        """Twelve hexadecimal digits by which a log can say "the same value again"; None if the policy has no key."""
        return acting.fingerprint(value, self.policy)

    def _findings(self, reading: Reading, field: str, elsewhere: Sequence[tuple[str, int, int]] = ()) -> tuple[Finding, ...]:
        actions: dict[str, Action] = {}
        found: list[Finding] = []

        def add(kind: str, start: int, end: int, confidence: Confidence) -> None:
            action = actions.get(kind)
            if action is None:
                near = context(reading.text, start) if self.policy.by_context else ""
                action = self.policy.action(field, kind, near)
                if not self.policy.by_context:
                    actions[kind] = action
            if action != "keep":
                found.append(Finding(kind, start, end, action, confidence))

        def attempt(hit: Hit, rules: Iterable[int]) -> None:
            glued = reading.glued(hit.at) if hit.plain else False
            for index in rules:
                matcher = self._matchers[index]
                if glued and matcher.alone:
                    continue
                for span in confirm(matcher, reading, hit.at, hit.plain):
                    if span.kind in self._own and self._marks.around(reading.text, span.start, span.end):
                        continue
                    add(span.kind, span.start, span.end, _CONFIDENCE[span.verdict])

        text = reading.text
        for kind, start, end in elsewhere:
            if not 0 <= start < end <= len(text):
                raise ValueError(f"redaction: found has {kind!r} from {start} to {end}, in a text of {len(text)} characters")
            # No escape is cut: not the one in which it begins, nor the one in which it ends.
            begun = escape_over(text, end - 1)
            add(kind, unescaped_start(text, start), max(end, begun[1]) if begun else end, "likely")
        hits = sorted(self._worth_a_try(reading), key=_place)
        for hit in hits:
            attempt(hit, hit.rules)
        for spelled in reading.spelled():
            if self._phones:
                for start, end in self._phones.find(spelled, reading.spend):
                    add("phone", start, end, "certain")
            for kind, seen in self._forms.find(spelled, 0, len(text), reading.spend):
                add(kind, seen.start, seen.end, "certain" if seen.certain else "likely")
        findings = fresh = _merged(found, self._order)
        # What was glued to a value, and no value for that, stands alone when that is gone: it is looked for until
        # nothing is found, so that a second pass over the result would find nothing either.
        far = [hit for hit in hits if any(self._matchers[index].longest > _NEAR for index in hit.rules)] if fresh else []
        while fresh and all(finding.action != "drop" for finding in fresh):
            found.clear()
            spans = [(span.start, span.end) for span in fresh]
            reading.mask(spans)
            for hit, rules in self._beside(reading, hits, far, spans):
                attempt(hit, rules)
            for spelled in reading.spelled():
                if self._phones:
                    for start, end in spans:
                        for number in self._phones.beside(spelled, start, end, reading.spend):
                            add("phone", *number, "certain")
                for start, end in _around(spans, REACH):
                    for kind, seen in self._forms.find(spelled, start, end, reading.spend):
                        add(kind, seen.start, seen.end, "certain" if seen.certain else "likely")
            fresh = _merged(found, self._order)
            findings = _merged([*findings, *fresh], self._order)
        return tuple(findings)

    def _worth_a_try(self, reading: Reading) -> Iterator[Hit]:
        """Where a rule is to be tried: not in the Base64 of a picture, a font or a film, in which anything may stand, nor
        behind what stands before no value."""
        text = reading.text
        media, digit = (len(self._matchers),), (len(self._matchers) + 1,)
        skipped = 0
        refused: dict[tuple[int, ...], frozenset[str]] = {}
        for hit in self._anchors.hits(text):
            at, plain, rules = hit
            if at < skipped:
                continue
            if rules == media:
                skipped = end_of_media(text, at)
                continue
            if rules == digit:
                reading.other_digits = True
                continue
            # `{}@media`, `12@2x.png`: what stands there says that there is no value, and costs little to look at.
            signs = refused.get(rules)
            if signs is None:
                signs = refused[rules] = frozenset.intersection(*(self._matchers[index].refused for index in rules))
            if (
                plain
                and at
                and signs
                and (text[at - 1] in signs or (len(rules) == 1 and self._matchers[rules[0]].left.match(text, at) is None))
                and (not may_end_escape(text, at - 1) or escape_over(text, at - 1) is None)
            ):
                continue
            yield hit

    def _beside(
        self, reading: Reading, hits: Sequence[Hit], far: Sequence[Hit], spans: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[Hit, Iterable[int]]]:
        """The hits worth another try, now that these spans of the text are masked: what may touch one of them. `far`: those
        of rules whose values may be long.

        There are no new ones: no value ends before a letter, so no anchor stood in the middle of a word with one.
        """
        text = reading.text
        for number, (start, end) in enumerate(spans):
            # No rule sees beyond the nearest one: a mask is in no value.
            first = spans[number - 1][1] if number else 0
            last = spans[number + 1][0] if number + 1 < len(spans) else len(text)
            for some, reach in ((hits, _NEAR), (far, self._longest)):
                for hit in _between(some, max(first, start - reach), start):
                    reading.spend(_LOOK_COST)
                    apart = _BREAKS.search(text, hit.at, start) is not None
                    distance = start - hit.at
                    yield hit, [index for index in hit.rules if self._matchers[index].reaches(distance, apart)]
            for hit in _between(hits, end, min(last, end + self._farthest)):
                reading.spend(_LOOK_COST)
                if text[hit.at] != "~" and not _BREAKS.search(text, end, hit.at):
                    yield hit, hit.rules


def _between(hits: Sequence[Hit], start: int, end: int) -> Sequence[Hit]:
    return hits[bisect_left(hits, start, key=_place) : bisect_left(hits, end, key=_place)]


def _place(hit: Hit) -> int:
    return hit.at


def _around(spans: Sequence[tuple[int, int]], reach: int) -> Iterator[tuple[int, int]]:
    """The spans with so many characters on either side, those joined that then overlap."""
    if not spans:
        return
    first, last = max(0, spans[0][0] - reach), spans[0][1] + reach
    for start, end in spans[1:]:
        if start - reach > last:
            yield first, last
            first = start - reach
        last = end + reach
    yield first, last


_CONFIDENCE: dict[Verdict, Confidence] = {
    Verdict.CERTAIN: "certain",
    Verdict.LIKELY: "likely",
    Verdict.DOUBTFUL: "doubtful",
}
_RANKS: dict[Confidence, int] = {"doubtful": 0, "likely": 1, "certain": 2}


def _merged(found: list[Finding], order: Mapping[str, int]) -> list[Finding]:
    """Findings in order, none overlapping: what overlaps is taken out as one, under the name of its surest part, or the
    longest of those, or the first in the table.

    To take out only the longest would leave a piece of another.
    """
    merged: list[Finding] = []
    best = (0, 0)
    for finding in sorted(found, key=lambda f: (f.start, -f.end, order.get(f.kind, -1))):
        rank = _RANKS[finding.confidence], finding.end - finding.start
        if merged and finding.start < merged[-1].end:
            last = merged[-1]
            surest = finding if rank > best else last
            best = max(best, rank)
            action = max(last.action, finding.action, key=STRICTNESS.index)
            merged[-1] = Finding(surest.kind, last.start, max(last.end, finding.end), action, surest.confidence)
        else:
            merged.append(finding)
            best = rank
    return merged
