"""Whether a value stands where an anchor does: read as it is, or through a view where an escape may touch it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_polite.redaction.escapes import LEADS, LONGEST_ESCAPE, View
from scrapy_polite.redaction.validators import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_polite.redaction.rules import Rule

__all__ = ["SEEN_BEFORE", "Budget", "Matcher", "OverBudget", "Reading", "Span", "confirm"]

# Characters that a rule sees before its value (`unless`).
SEEN_BEFORE = 80

_LEAD = re.compile(r"[\\%&]")
_ENDS_TOKEN = re.compile(r"""[\s"'<>`,]""")
# From this length on, a view ends where the token does, and not where the shape could at most.
_LONG = 300
# What is in no value, whatever its rule. A view that meets none of it and is still too short is made again, larger.
_IN_VALUE = r"\w.+/='\u0300-\u036f-"
_IN_NO_VALUE = re.compile(f"[^{_IN_VALUE}]")
_RUN = re.compile(f"[{_IN_VALUE}]*")
_LARGEST = 8
# What one anchor costs to be tried, and a character that is read through a view, in characters read as they are.
_TRY_COST = 100
_VIEW_COST = 10


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be read for one text, in characters: a base, and for every character of the text.

    A page costs far less than one a character; the default ends what is hostile after some 50 ms for every 100 KB.
    """

    base: int = 2_000_000
    per_character: int = 30


class OverBudget(Exception):  # noqa: N818  (it is no error: it ends a search inside this package)
    pass


class Reading:
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

    def mask(self, spans: Sequence[tuple[int, int]]) -> None:
        """What was found is read as `~` from now on, which stands for whatever is put in its place."""
        pieces: list[str] = []
        at = 0
        for start, end in spans:
            pieces += self.text[at:start], "~" * (end - start)
            at = end
        pieces.append(self.text[at:])
        self.spend(len(self.text) // 20)
        self.text = "".join(pieces)
        self._next.clear()
        self._view = None

    def spend(self, cost: int) -> None:
        self._left -= cost
        if self._left < 0:
            raise OverBudget

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
class Span:
    """What stands from `start` to `end` in what was read has the shape; the validator's verdict on it."""

    start: int
    end: int
    verdict: Verdict


class Matcher:
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

    def match(self, text: str, at: int) -> Span | None:
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
        if self._unless and self._unless.search(text, max(0, start - SEEN_BEFORE), start):
            return None
        verdict = self._validator(text[start:end]) if self._validator else Verdict.LIKELY
        return Span(start, end, verdict)


def confirm(matcher: Matcher, reading: Reading, at: int, plain: bool) -> Span | None:
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
    return Span(view.origin(span.start), view.origin(span.end), span.verdict)


def _touched(text: str, start: int, end: int) -> bool:
    """True if an escape begins right after the value, or one may cover its beginning or end right before it."""
    return (end < len(text) and text[end] in LEADS) or _LEAD.search(text, max(0, start - LONGEST_ESCAPE), start) is not None
