"""Finds and replaces values in a text: anchors by an automaton, then shape and validator where an anchor stands.

The work is bounded, so a hostile page costs no more than a large one. A text that would cost more is not passed on half
checked: it is dropped. The time is linear in the length of the text.
"""

from __future__ import annotations

import re
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING

from scrapy_polite.redaction import acting
from scrapy_polite.redaction.acting import replacement
from scrapy_polite.redaction.again import Again
from scrapy_polite.redaction.anchors import Anchors, Hit
from scrapy_polite.redaction.contexts import context
from scrapy_polite.redaction.digits import other_digits
from scrapy_polite.redaction.escapes import escape_over, unescaped_start
from scrapy_polite.redaction.forms import Forms
from scrapy_polite.redaction.marks import Marks
from scrapy_polite.redaction.matching import SEEN_BEFORE, Budget, OverBudget, Reading, confirm, matchers
from scrapy_polite.redaction.media import MEDIA, end_of_media, outside
from scrapy_polite.redaction.personal import FORMS
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
# What it costs to look at a hit again, in characters read.
_LOOK_COST = 30
# How often what was put in is read again, where it leaves something of a value; the second time finds nothing as a rule.
_PASSES = 6
# What ends a value in both directions, and what stands before one as far as a rule looks.
_BREAKS = re.compile(r"""[\s"<>`]""")
_PLACE = attrgetter("at")


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
        *("_again", "_anchors", "_budget", "_farthest", "_forms", "_marks", "_matchers", "_order", "_own", "_phones"),
        "policy",
    )

    def __init__(self, policy: Policy, budget: Budget | None = None) -> None:
        self.policy = policy
        self._budget = budget or Budget()
        self._matchers = matchers(rule for rule in (*RULES, *policy.rules) if policy.wants(rule.kind))
        forms = [form for form in FORMS if policy.wants(form.kind)]
        beside = other_digits() if forms else ()
        self._anchors = Anchors([*(matcher.rule for matcher in self._matchers), MEDIA], beside)
        self._order = {kind: number for number, kind in enumerate(kind for matcher in self._matchers for kind in matcher.kinds)}
        # How far before an anchor the value, and what a rule sees before it, can begin.
        self._farthest = max((matcher.before for matcher in self._matchers), default=0) + SEEN_BEFORE
        self._forms = Forms(forms) if forms else None
        self._own = frozenset(rule.kind for rule in policy.rules)
        self._marks = Marks(policy)
        self._phones = PhoneFinder(policy.regions) if policy.wants("phone") else None
        self._again = Again(self._anchors, self._matchers, self._forms, self._phones)

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
            if "\0" in text:
                reading.mask([(finding.start, finding.end) for finding in findings])
                if self._findings(Reading(reading.text.replace("\0", ""), self._budget), field):
                    return Result("", (), "nulls")
        except OverBudget:
            return Result("", (), "over_budget")
        puts, done = self._puts(text, findings, field)
        changed = acting.Put.together(text, puts)
        # What needs no change is found again, and beside it whatever was found beside it.
        same = len(done) == len(findings)
        if not self._may_be_more(changed, field, puts, done, reading if same else None):
            return Result(changed, tuple(done))
        again = self._text(changed, field, (), passes - 1) if passes else Result("", (), "over_budget")
        if again.dropped or not again.findings:
            return Result(again.text, tuple(done), again.dropped)
        for finding in again.findings:
            start, end = acting.Put.origin(puts, finding.start, finding.end)
            done.append(replace(finding, start=start, end=end))
        return Result(again.text, tuple(_merged(done, self._order)))

    def _puts(self, text: str, findings: Sequence[Finding], field: str) -> tuple[list[acting.Put], list[Finding]]:
        """What stands in the place of what was found, and for which findings. What needs no change is none."""
        puts: list[acting.Put] = []
        done: list[Finding] = []
        choices: dict[str, Choice] = {}
        for finding in findings:
            if self.policy.by_context:
                choice = self.policy.choice(field, finding.kind, context(text, finding.start))
            elif finding.kind in choices:
                choice = choices[finding.kind]
            else:
                choice = choices[finding.kind] = self.policy.choice(field, finding.kind)
            if choice.action != finding.action:
                choice = Choice(finding.kind, finding.action)  # of several that overlap, the strictest
            new = acting.stand_in(text, finding.start, finding.end, finding.kind, choice, self.policy)
            if new != text[finding.start : finding.end]:
                puts.append(acting.Put(finding.start, finding.end, new))
                done.append(finding)
        return puts, done

    def _may_be_more(
        self, changed: str, field: str, puts: Sequence[acting.Put], done: Sequence[Finding], old: Reading | None
    ) -> bool:
        """True if the new text is to be looked through: what is left of a value may be a part of another that was not there
        before. `old`: how the old text was read; None if a look beside what was put in does not tell."""
        numbers = any(put.joins for put in puts)
        if self.policy.by_context:
            # A value may stand behind another name now, or behind none.
            return numbers or any(finding.action in acting.LEAVES_SOMETHING for finding in done)
        if not numbers:
            return False
        if old is None or "\0" in changed:
            return True
        try:
            reading = Reading(changed, self._budget)
            reading.other_digits = old.other_digits
            return self._again.finds(reading, old.hits, puts, lambda kind: self.policy.action(field, kind) != "keep")
        except OverBudget:
            return True

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
            at, plain, _ = hit
            glued = plain and reading.glued(at)
            for index in rules:
                matcher = self._matchers[index]
                if glued and matcher.alone:
                    continue
                for start, end, verdict, kind in confirm(matcher, reading, at, plain):
                    if kind not in self._own or not self._marks.around(reading.text, start, end):
                        add(kind, start, end, _CONFIDENCE[verdict])

        text = reading.text
        for kind, start, end in elsewhere:
            if not 0 <= start < end <= len(text):
                raise ValueError(f"redaction: found has {kind!r} from {start} to {end}, in a text of {len(text)} characters")
            # No escape is cut: not the one in which it begins, nor the one in which it ends.
            begun = escape_over(text, end - 1)
            add(kind, unescaped_start(text, start), max(end, begun[1]) if begun else end, "likely")
        hits = reading.hits = sorted(self._worth_a_try(reading), key=_PLACE)
        for hit in hits:
            attempt(hit, hit.rules)
        searched = outside([(0, len(text))], reading.media)
        if self._phones:
            for start, end in self._phones.find(text, searched, reading.spend):
                add("phone", start, end, "certain")
        for kind, seen in self._forms.find(text, searched, reading.spend) if self._forms else ():
            add(kind, seen.start, seen.end, "certain" if seen.certain else "likely")
        for spelled in reading.spelled(reading.other_digits)[1:]:
            if self._phones:
                for start, end in reading.other_digits:
                    for number in self._phones.through(spelled, start, end, reading.spend):
                        add("phone", *number, "certain")
            for kind, seen in self._forms.near(spelled, reading.other_digits, reading.spend) if self._forms else ():
                add(kind, seen.start, seen.end, "certain" if seen.certain else "likely")
        findings = fresh = _merged(found, self._order)
        # What was glued to a value, and no value for that, stands alone when that is gone: it is looked for until
        # nothing is found, so that a second pass over the result would find nothing either.
        while fresh and all(finding.action != "drop" for finding in fresh):
            found.clear()
            spans = [(span.start, span.end) for span in fresh]
            beside = list(self._beside(reading, hits, spans))
            if not (beside or self._phones or self._forms):
                break
            reading.mask(spans)
            for hit, rules in beside:
                attempt(hit, rules)
            for spelled in reading.spelled(spans):
                if self._phones:
                    for start, end in spans:
                        for number in self._phones.beside(spelled, start, end, reading.spend):
                            add("phone", *number, "certain")
                for kind, seen in self._forms.near(spelled, spans, reading.spend, reading.media) if self._forms else ():
                    add(kind, seen.start, seen.end, "certain" if seen.certain else "likely")
            fresh = _merged(found, self._order)
            findings = _merged([*findings, *fresh], self._order) if fresh else findings
        return tuple(findings)

    def _worth_a_try(self, reading: Reading) -> Iterator[Hit]:
        """Where a rule is to be tried: not in the Base64 of a picture, a font or a film, in which anything may stand."""
        text = reading.text
        media, digit = (len(self._matchers),), (len(self._matchers) + 1,)
        skipped = 0
        for hit in self._anchors.hits(text):
            if hit.at < skipped:
                continue
            if hit.rules == media:
                skipped = end_of_media(text, hit.at)
                if skipped > hit.at:
                    reading.media.append((hit.at, skipped))
            elif hit.rules == digit:
                reading.see_digit(hit.at)
            else:
                yield hit

    def _beside(
        self, reading: Reading, hits: Sequence[Hit], spans: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[Hit, Iterable[int]]]:
        """The hits worth another try once these spans of the text are masked: what may touch one of them.

        There are no new ones: no value ends before a letter, so no anchor stood in the middle of a word with one.
        """
        text = reading.text
        after = 0
        for hit in hits:
            at = hit.at
            while after < len(spans) and spans[after][0] <= at:
                after += 1
            # No rule sees beyond the nearest span on either side: a mask is in no value.
            end = spans[after - 1][1] if after else -self._farthest
            if at < end:
                continue
            reading.spend(_LOOK_COST)
            if at < end + self._farthest and text[at] != "~" and not _BREAKS.search(text, end, at):
                yield hit, hit.rules
            elif after < len(spans):
                start = spans[after][0]
                room = start - at
                rules = [i for i in hit.rules if self._matchers[i].shortest <= room <= self._matchers[i].longest]
                if rules and _BREAKS.search(text, at, start):
                    rules = [index for index in rules if self._matchers[index].across]
                if rules:
                    yield hit, rules


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
    found = sorted(found, key=attrgetter("start"))
    if all(one.end <= other.start for one, other in pairwise(found)):
        return found
    merged: list[Finding] = []
    surest: list[Finding] = []  # of what was merged, the part that gives the name
    for finding in sorted(found, key=lambda f: (f.start, -f.end, order.get(f.kind, -1))):
        if merged and finding.start < merged[-1].end:
            last = merged[-1]
            surest[-1] = named = max(surest[-1], finding, key=_sureness)
            action = max(last.action, finding.action, key=STRICTNESS.index)
            merged[-1] = Finding(named.kind, last.start, max(last.end, finding.end), action, named.confidence)
        else:
            merged.append(finding)
            surest.append(finding)
    return merged


def _sureness(finding: Finding) -> tuple[int, int]:
    return _RANKS[finding.confidence], finding.end - finding.start
