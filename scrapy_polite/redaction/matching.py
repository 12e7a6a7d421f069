"""Whether a value stands where an anchor does: read as it is, or through a view where an escape may touch it."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from scrapy_polite.redaction.escapes import LEADS, LONGEST_ESCAPE, escape_over, is_ampersand
from scrapy_polite.redaction.marks import KEYED_MARK, LONGEST_MARK
from scrapy_polite.redaction.reading import ENDS_BLOCK, ENDS_TOKEN, LEAD, WORD, Budget, OverBudget, Reading
from scrapy_polite.redaction.rules import regexes, words
from scrapy_polite.redaction.validators import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_polite.redaction.rules import Rule

__all__ = ["SEEN_BEFORE", "Budget", "Matcher", "OverBudget", "Reading", "Span", "confirm", "matchers"]

# Characters that a rule sees before its value (`unless`).
SEEN_BEFORE = 80

# Characters that a rule sees behind its value: "-->".
_SEEN_BEHIND = 4

# From this length on, a view ends where the token does, and not where the shape could at most.
_LONG = 300
# What may be a slash, or two, written as an escape.
_ESCAPED_SLASH = re.compile(r"2[fF]|47|sol|057|\\/")
_ENDS_ANY = frozenset(" \"'<>`,\n\t")
# What is in no value, whatever its rule. A view that meets none of it and is still too short is made again, larger.
_IN_VALUE = r"\w.+/='\u0300-\u036f-"
_IN_NO_VALUE = re.compile(rf"[^:$|@!*~{_IN_VALUE}]")
_RUN = re.compile(f"[{_IN_VALUE}]*")
_LARGEST = 8
# What one anchor costs to be tried, in characters read.
_TRY_COST = 100


# A token that was put in, whose kind may be the word that a rule looks for (`~csrf-token.k1.x...~`): see `acting.put_in`.
_TOKEN = re.compile(f"~{KEYED_MARK}~")


def _in_token(text: str, start: int, end: int) -> bool:
    first = text.rfind("~", max(0, start - LONGEST_MARK), start)
    token = _TOKEN.match(text, first) if first >= 0 else None
    return token is not None and end < token.end()


class Span(NamedTuple):
    """What stands from `start` to `end` in what was read has the shape; the validator's verdict on it, as one of a kind."""

    start: int
    end: int
    verdict: Verdict
    kind: str


# Characters of the longest values that are looked for whole.
_MOST_SOUGHT = 512
# Characters behind an anchor that show nearly always that no value begins there.
_HEAD = 3


def _class_of(characters: frozenset[str]) -> str:
    """The class of an expression that takes these characters."""
    beyond = "\\x80-\\U0010ffff" if regexes.OTHER in characters else ""
    return "".join(("[", *(f"\\x{ord(c):02x}" for c in sorted(characters) if c.isascii()), beyond, "]"))


def _head(rule: Rule) -> re.Pattern[str]:
    """What the anchors of a rule, and the first characters behind them, look like."""
    heads: list[str] = []
    for anchor in rule.anchors:
        node: regexes.Node | None = regexes.parse(rule.shape)
        for character in anchor if anchor.isascii() else regexes.OTHER:
            node = regexes.after(node, character) if node else None
        head = re.escape(anchor)
        nodes = [node] if node else []
        for _ in range(_HEAD):
            if not nodes or not all(n.low for n in nodes):
                break
            groups = [group for n in nodes for group in regexes.nexts(n)]
            taken = frozenset().union(*(characters for characters, _ in groups))
            head += _class_of(taken)
            nodes = [behind for _, behind in groups][:8] if len(groups) <= 8 else []
        heads.append(head)
    return re.compile("|".join(heads))


class Matcher:
    """One rule, compiled, or several that differ by nothing but their kind and validator.

    `longest`: characters from its anchor to the end of a value, at most; `shortest`: at least, 0 if what was masked may be
    among them; `before`: those that count in front of it; `head`: those that may stand between the anchor and the value,
    some of them as escapes, and end none.
    """

    __slots__ = (
        "_back", "_back_inner", "_begun", "_head", "_inner", "_judges", "_seen", "_shape", "_sought", "_unless",
        "_unproved", "_words",
        "across", "alone", "before", "bounds", "head", "kinds", "left", "longest", "plain", "rule", "shortest",
        "slashes",
    )  # fmt: skip

    def __init__(self, *rules: Rule) -> None:
        self.rule = rule = rules[0]
        whole = f"{rule.gap}(?P<value>{rule.left}{rule.shape}{rule.right})" if rule.gap else rule.left + rule.shape + rule.right
        self._shape = re.compile(whole, re.ASCII)
        self.left = re.compile(rule.left if rule.anchors else "", re.ASCII)
        # Compiled when it is first asked for: most rules never are.
        self._head: re.Pattern[str] | None = None
        self._seen = max(map(len, rule.anchors), default=0) + _HEAD
        # What a value that is given to a name begins with, as far as it goes.
        taken = regexes.alphabet(regexes.parse(rule.shape)) if rule.gap else frozenset()
        self._begun = re.compile(f"{rule.gap}{_class_of(taken)}{{0,4096}}", re.ASCII) if rule.gap else None
        self._inner = "value" in self._shape.groupindex
        # What stands at the anchor may have blanks and quotes in it, before the value or inside.
        self.across = self._inner or rule.blanks or not rule.anchors
        self._back = re.compile(rule.back, re.ASCII) if rule.back else None
        self._back_inner = self._back is not None and "value" in self._back.groupindex
        self._unless = re.compile(rule.unless) if rule.unless else None
        self._judges = [(each.kind, each.validator) for each in rules]
        self.kinds = [each.kind for each in rules]
        self._unproved = Verdict(rule.confidence)
        self._words = words.expression(rule.words) if rule.words else None
        shape, gap = regexes.parse(rule.shape), regexes.parse(rule.gap)
        least, most = regexes.width(shape)
        self.longest = rule.longest or most or 0
        self.shortest = 0 if "~" in regexes.taken(shape) | regexes.taken(gap) else least + regexes.width(gap)[0]
        # How much of a value is asked for while its beginning is looked for.
        self._sought = self.longest if self.longest <= _MOST_SOUGHT else least
        self.before = rule.before
        self.slashes = rule.back.startswith("//")
        # An ampersand ends its values and stands nowhere in what it reads.
        self.plain = not (self.across or rule.words or rule.back or "&" in regexes.alphabet(shape))
        # Nothing of what is right before it may be part of a word.
        self.alone = bool(rule.anchors) and rule.left.startswith("(?<![A-Za-z0-9_])")
        # What is, unescaped, in no value of it, nor in what it must stand behind.
        self.bounds = " \">,'`<{}\n" if self._back_inner else ' ">,'
        self.head = 3 * (regexes.before_value(shape) or 0)
        if not rule.anchors:
            spelled = words.literals(rule.words)
            reach = max(map(len, spelled)) + ((regexes.width(gap)[1] or 0) if rule.gap else rule.window)
            self.longest += reach
            self.shortest += min(map(len, spelled)) if self.shortest else 0
            self.head = 3 * reach
        elif self._words:
            self.before += rule.window + max(map(len, words.literals(rule.words)))

    def settled(self, reading: Reading, at: int) -> bool:
        """True if what stands right before the anchor, or right behind it, is no escape and says that there is no value."""
        text = reading.text
        if self._begun:
            word = self._words.match(text, at) if self._words else None
            begun = self._begun.match(text, word.end()) if word else None
            return not reading.escapes(at, begun.end() if begun else at + self.head)
        if (
            at
            and (text[at - 1] in WORD)
            and self.left.match(text, at) is None
            and (not reading.escapes(max(0, at - LONGEST_ESCAPE), at - 1) or escape_over(text, at - 1) is None)
        ):
            return True
        if reading.escapes(at, at + self._seen):
            return False
        if self._head is None:
            self._head = _head(self.rule)
        return self._head.match(text, at) is None

    def match(self, text: str, at: int) -> Sequence[Span]:
        """What has the rule's shape and its anchor at `at`, or behind the word there."""
        if not self.rule.anchors:
            return self._behind_word(text, at)
        match = self._shape.match(text, at)
        if match is None:
            return ()
        start, end = match.span("value") if self._inner else match.span()
        if self._back:
            since = max(0, at - self.rule.before)
            run = None if self._back_inner else _RUN.match(text[since:at][::-1])
            if run and run.end() == self.rule.before:
                # Nothing further left is seen, so a run that is too long is cut there, and found all the same.
                before = self._back.search(text[since:at])
                since = at - self.rule.before
            else:
                before = self._back.search(text, at - run.end() if run else since, at)
                since = 0
            if before is None:
                return ()
            start = since + before.start()
            if self._back_inner:
                start, end = since + before.start("value"), since + before.end("value")
        if self._unless and self._unless.search(text, max(0, start - SEEN_BEFORE), start):
            return ()
        if self._words and not self._word_before(text, start):
            return ()
        return self._judged(text, start, end)

    def _judged(self, text: str, start: int, end: int) -> Sequence[Span]:
        if text.startswith(">", end) and text.endswith("--", start, end):
            end -= 2  # the end of a comment, whose hyphens look like a token's
        if self._words and _in_token(text, start, end):
            return ()
        value = text[start:end]
        found = []
        for kind, validator in self._judges:
            verdict = validator(value) if validator else self._unproved
            if verdict is not Verdict.REJECT:
                found.append(Span(start, end, verdict, kind))
        return found

    def _word_before(self, text: str, start: int) -> bool:
        # What is put in place of a value ends with "~" and may be shorter or longer: nothing is seen beyond it.
        since = max(text.rfind("~", max(0, start - self.before), start) + 1, start - self.before, 0)
        return self._words is not None and any(
            start - word.end() <= self.rule.window for word in self._words.finditer(text, since, start)
        )

    def _behind_word(self, text: str, at: int) -> Sequence[Span]:
        word = self._words.match(text, at) if self._words else None
        if word is None:
            return ()
        since = word.end()
        # What is put in place of a value has one in it, and may be shorter or longer: nothing is seen beyond it.
        cut = text.find("~", since, at + self.longest)
        found: list[Span] = []
        position, last = since, since + (0 if self.rule.gap else self.rule.window)
        while position <= last:
            # First where it may begin, within reach; then how far it goes.
            begun = None if self.rule.gap else self._shape.search(text, position, last + self._sought)
            if begun is None and not self.rule.gap:
                break
            match = self._shape.match(text, begun.start() if begun else position)
            position = max(match.end() if match else 0, (begun.start() if begun else position) + 1)
            if match is None:
                continue
            start, end = match.span("value") if self._inner else match.span()
            if 0 <= cut < start:
                break
            if not (self._unless and self._unless.search(text, max(0, start - SEEN_BEFORE), start)):
                found += self._judged(text, start, end)
        return found


def matchers(rules: Iterable[Rule]) -> list[Matcher]:
    """The rules, compiled, in order; those in a row that look alike are one, so that each place is read once for them."""
    alike = groupby(rules, lambda rule: replace(rule, kind="", exposure="secret", validator=None))
    return [Matcher(*of) for _, of in alike]


def confirm(matcher: Matcher, reading: Reading, at: int, plain: bool) -> Sequence[Span]:
    """What has the shape at this anchor, in offsets of the text.

    Read as it stands first, which is nearly always enough. Through a view if an escape touches it, or may be inside.
    """
    text = reading.text
    reading.spend(_TRY_COST)
    spans: Sequence[Span] = ()
    if plain:
        if matcher.rule.back and (not at or text[at - 1] in _ENDS_ANY):
            return ()  # of what must stand before the anchor nothing does
        if matcher.slashes:
            since = max(0, at - matcher.before)
            if text.rfind("//", since, at) < 0 and _ESCAPED_SLASH.search(text, since, at) is None:
                return ()
        spans = matcher.match(text, at)
        if spans and not _touched(text, spans[0].start if matcher.rule.anchors else at, spans[-1].end):
            return spans
        if matcher.settled(reading, at):
            return spans
    before, longest = matcher.before, matcher.longest
    reach = 1
    while True:
        start, end = max(0, at - before * reach - LONGEST_ESCAPE), min(len(text), at + longest * reach)
        if plain and not reading.escapes(start, end):
            return spans  # no escape is near
        if plain and matcher.plain and reach == 1:
            ampersand = text.find("&amp;", at, end)
            if ampersand > 0 and is_ampersand(text, ampersand) and not reading.escapes(start, ampersand - 1):
                return spans  # nor before the sign that ends all that it could be
        if before and not matcher.rule.words:
            # Nothing further left is of a value.
            for sign in matcher.bounds:
                start = _bound(reading, sign, start, at)
        limit = len(text)
        if longest > _LONG:
            limit = reading.following(ENDS_BLOCK if matcher.rule.blanks else ENDS_TOKEN, at + matcher.head)
            end = min(end, limit)
        if plain and not reading.escapes(start, end):
            return spans
        view = reading.view(start, end + LONGEST_ESCAPE)
        position = view.position(at)
        beyond = end + LONGEST_ESCAPE < len(text)
        # Where most is escaped, so many characters of the page are few of the view.
        if reach == (2 if matcher.rule.blanks else _LARGEST) or not (
            (start and position < before and _goes_on(matcher, view.text, 0, position))
            or (
                end < limit
                and len(view.text) < position + longest + _SEEN_BEHIND
                and _goes_on(matcher, view.text, position + 1)
            )
        ):
            break
        reach *= 2
    return tuple(
        Span(view.origin(span.start), view.origin(span.end), span.verdict, span.kind)
        for span in matcher.match(view.text, position)
        if not (span.end == len(view.text) and beyond)
    )


def _bound(reading: Reading, sign: str, start: int, at: int) -> int:
    """Where this sign stands last before `at`, but for one that is part of an escape (`\\u{2f}`); `start` if nowhere."""
    found = reading.text.rfind(sign, start, at)
    while found >= 0 and sign in "{}" and escape_over(reading.text, found) is not None:
        reading.spend(_TRY_COST)
        found = reading.text.rfind(sign, start, found)
    return max(start, found)


def _goes_on(matcher: Matcher, text: str, start: int, end: int | None = None) -> bool:
    """True if nothing stands there that ends a value in both directions."""
    if matcher.across or matcher.rule.words:
        return True
    return not _IN_NO_VALUE.search(text, start, len(text) if end is None else end)


def _touched(text: str, start: int, end: int) -> bool:
    """True if an escape that is no `&` begins right after the value, or one may cover its beginning or end right before it."""
    return (end < len(text) and text[end] in LEADS and not is_ampersand(text, end)) or LEAD.search(
        text, max(0, start - LONGEST_ESCAPE), end
    ) is not None
