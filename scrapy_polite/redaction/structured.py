"""Redacts texts that have a structure of their own: JSON, JSON in a JSON string, and the JSON scripts of an HTML page.

What is put in is legal in any of them, so a text stays valid whoever redacts it. But a policy by field goes into the keys
(`page.contact.phone`), as it does where the same JSON was parsed, and a number in a field that is named for what it holds
(`geo.latitude`) is rounded, or goes.

So the values that stand in such fields are redacted one by one, and everything around them, with marks in their places,
in one go as any text. A policy that knows no fields and no people's data needs none of this, and pays nothing for it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from scrapy_polite.redaction.acting import Gone
from scrapy_polite.redaction.engine import Finding, Redactor, Result
from scrapy_polite.redaction.fieldnames import kind_of
from scrapy_polite.redaction.leaves import Leaf, leaves, looks_like_json
from scrapy_polite.redaction.pieces import redacted_text
from scrapy_polite.redaction.policy import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Span", "StructuredRedactor"]

Span = tuple[str, int, int]
"""A kind, and where a value of it begins and ends: found elsewhere, such as a name."""

# Tags are written in any case (https://html.spec.whatwg.org/multipage/syntax.html#elements-2). Without IGNORECASE `re` looks
# for their first character as fast as it can.
_SCRIPT = re.compile("<[sS][cC][rR][iI][pP][tT]")
_SCRIPT_ENDS = re.compile("</[sS][cC][rR][iI][pP][tT]")
_LONGEST_TAG: Final = 7

# What follows "<script": the rest of a tag whose content is JSON.
_JSON_TYPE = re.compile(
    r"""\b[^<>]{0,500}\btype\s{0,4}=\s{0,4}["']?(?:application|text)/(?:[\w.-]{1,40}\+)?json\b[^<>]{0,500}>""", re.IGNORECASE
)

# How a script was hidden from old browsers and from XML; and what may follow its JSON.
_OPENED = re.compile(r"(?:\s|//|/\*|\*/|<!--|-->|<!\[CDATA\[|><!--){1,64}")
_CLOSED = re.compile(r"(?:\s|;|//|/\*|\*/|<!|-->|\]\]>){1,64}\Z")
_LONGEST_WRAP: Final = 64

_HALF = re.compile("[\ud800-\udfff]")

DEEPEST: Final = 4
"""JSON texts inside JSON strings. What is nested deeper is read as text; each level doubles the backslashes."""

LONGEST_NUMBER: Final = 40
"""Characters of a number of which every digit may mean something."""

_STEP: Final = 256 * 1024

# How often a text is searched, at most, of which more values have to go each time.
_ROUNDS: Final = 6

# Characters of a value that a name alone can give away.
_CONTEXTUAL_SHORTEST: Final = 8
_CONTEXTUAL_LONGEST: Final = 512

# What stands for a value while the text around it is searched: in no shape's alphabet, and rarely in a text.
_MARKS: Final = "\x1a\x1c\x1d\x1e\x1f\x02\x03\x04\x05\x06\x10\x11\x12\x13\x14\x15\x16\x17\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5"


@dataclass(frozen=True, slots=True)
class _Part:
    """What stands at text[start:end], and is to stand there."""

    start: int
    end: int
    new: str
    findings: tuple[Finding, ...] = ()


class _Dropped(Exception):  # noqa: N818  (the reason for which the whole text is)
    pass


class StructuredRedactor:
    """As `Redactor`, for texts that may have a structure. From any thread."""

    __slots__ = ("_by_field", "_redactor", "reads_inside")

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        policy = redactor.policy
        people = (kind for kind, exposure in KINDS.items() if exposure == "personal")
        self._by_field = tuple(dict.fromkeys(choice.fields.lower() for choice in policy.choices if choice.fields != "*"))
        self.reads_inside = bool(self._by_field or policy.rules) or any(policy.wants(kind) for kind in people)

    @property
    def redactor(self) -> Redactor:
        return self._redactor

    def text(self, text: str, field: str = "", found: Sequence[Span] = ()) -> Result:
        """The text without what the policy does not keep in this field, and in the fields inside it.

        Positions of findings are those in the text that was given. A value of JSON that has to go as a whole becomes `null`.
        """
        try:
            parts = list(self._parts(text, field, found, DEEPEST + 1)) if self.reads_inside else []
        except _Dropped as reason:
            return Result("", (), str(reason))
        return self._searched(text, field, parts, found)

    def named(self, name: str, value: str, field: str = "", found: Sequence[Span] = ()) -> Result:
        """The same for a value that has a name, as a parameter has: some kinds are told by the word before them alone."""
        return self._told_by_name(name, value, field, found) or self.text(value, field, found)

    def _told_by_name(self, name: str, value: str, field: str, found: Sequence[Span]) -> Result | None:
        """None where the name says nothing: what it tells of has no blanks, and is not long."""
        # Blanks and quotes around it are the page's.
        bare = value.strip().strip("\"'")
        if not name or not _CONTEXTUAL_SHORTEST <= len(bare) <= _CONTEXTUAL_LONGEST or any(c.isspace() for c in bare):
            return None
        if bare[0] in "{[<":
            return None  # No such value begins so, and what does may have an inside.
        blanks = value.index(bare)
        before = f'"{name[-64:]}":"'
        moved = [
            (kind, max(0, start - blanks) + len(before), min(len(bare), end - blanks) + len(before))
            for kind, start, end in found
            if start < blanks + len(bare) and end > blanks
        ]
        result = self._redactor.text(f'{before}{bare}"', field, moved)
        if not result.findings and not result.dropped:
            return Result(value)  # Nothing is in it without its name either.
        moves = len(before) - blanks
        findings = tuple(replace(one, start=one.start - moves, end=one.end - moves) for one in result.findings)
        if any(one.start < blanks or one.end > blanks + len(bare) for one in findings):
            return None  # It is the name that something is in, or a quote.
        if result.dropped:
            return Result("", findings, result.dropped)
        return Result(value.replace(bare, result.text[len(before) : -1]), findings)

    def _parts(self, text: str, field: str, found: Sequence[Span], depth: int) -> Iterator[_Part]:
        for values in _values(text, field):
            try:
                parts = [part for value in values if (part := self._part(text, value, field, found, depth))]
            except ValueError:
                continue  # An escape that JSON does not have: it is no JSON after all.
            yield from parts

    def _part(self, text: str, leaf: Leaf, field: str, found: Sequence[Span], depth: int) -> _Part | None:
        """None for a value that is to be searched with what stands around it."""
        raw = text[leaf.start : leaf.end]
        kind = kind_of(leaf.path)
        if leaf.what == "number":
            if kind is None:
                return None
            # Reading an integer of thousands of digits takes the square of their number.
            number = float(raw) if len(raw) > LONGEST_NUMBER else json.loads(raw)
            return self._whole(leaf, raw, kind, number, self._redactor.whole(kind, number, leaf.path))
        inside = depth and looks_like_json(raw, 1, len(raw) - 1)
        if kind is None and not inside and not self._has_choice(leaf.path, field):
            return None
        value = str(json.loads(raw, strict=False))
        if kind is not None:
            part = self._whole(leaf, raw, kind, value, self._redactor.whole(kind, value, leaf.path))
            if part.findings:
                return part
        exact = len(value) == len(raw) - 2
        result = self._inner(value, leaf.path, _inside(found, leaf, value, exact), depth - 1)
        if result.dropped not in (None, "policy"):
            raise _Dropped(result.dropped)
        findings = tuple(
            replace(one, start=leaf.start + 1 + one.start, end=leaf.start + 1 + one.end)
            if exact
            else replace(one, start=leaf.start, end=leaf.end)
            for one in result.findings
        )
        if result.dropped:
            return _Part(leaf.start, leaf.end, "null", findings)
        return _Part(leaf.start, leaf.end, _encoded(result.text, raw) if findings else raw, findings)

    def _inner(self, value: str, path: str, found: Sequence[Span], depth: int) -> Result:
        parts = list(self._parts(value, path, found, depth)) if depth and looks_like_json(value) else []
        named = None if parts else self._told_by_name(path.rpartition(".")[2], value, path, found)
        return named or self._searched(value, path, parts, found)

    def _whole(self, leaf: Leaf, raw: str, kind: str, old: str | int | float, new: str | int | float | Gone) -> _Part:
        """For a value that is of this kind as a whole, since its field says so."""
        if new == old and type(new) is type(old):
            return _Part(leaf.start, leaf.end, raw)
        finding = Finding(kind, leaf.start, leaf.end, self._redactor.policy.action(leaf.path, kind))
        if isinstance(new, Gone):
            return _Part(leaf.start, leaf.end, "null", (finding,))
        written = _encoded(new, raw) if isinstance(new, str) else json.dumps(new)
        return _Part(leaf.start, leaf.end, written, (finding,))

    def _has_choice(self, path: str, field: str) -> bool:
        """True if the policy says of this field what it does not say of the one around it."""
        inner, outer = path.lower(), field.lower()
        return any(fnmatchcase(inner, pattern) and not fnmatchcase(outer, pattern) for pattern in self._by_field)

    def _searched(self, text: str, field: str, parts: Sequence[_Part], found: Sequence[Span]) -> Result:
        """The text with its parts, and without what is in the text around them. What has to go as a whole takes with it the
        value of JSON that it stands in; where it stands in none, the text."""
        for _ in range(_ROUNDS):
            result = self._around(text, field, parts, found) if parts else redacted_text(self._redactor, text, field, found)
            known = {part.start for part in parts}
            more = _emptied(text, result.findings) if result.dropped == "policy" else []
            if not more or any(part.start in known for part in more):
                return result
            # Beside what is gone something else may be found.
            parts = sorted([*parts, *more], key=lambda part: part.start)
        return result

    def _around(self, text: str, field: str, parts: Sequence[_Part], found: Sequence[Span]) -> Result:
        """The text with its parts, and without what is in the text around them."""
        mark = next((mark for mark in _MARKS if mark not in text), None)
        if mark is None:
            return Result("", (), "over_budget")
        places = _Places(parts)
        result = redacted_text(self._redactor, mark.join(places.around(text)), field, places.inward(found))
        outer = [places.outward(finding) for finding in result.findings]
        if result.dropped:
            return replace(result, findings=tuple(outer))
        around = result.text.split(mark)
        if len(around) != len(parts) + 1:
            return Result("", (), "over_budget")  # A value that reached beyond a mark, of which no rule has one.
        if not outer and not any(part.findings for part in parts):
            return Result(text)
        pieces = [around[0]]
        for part, rest in zip(parts, around[1:], strict=True):
            pieces += part.new, rest
        findings = sorted([*outer, *(finding for part in parts for finding in part.findings)], key=lambda f: f.start)
        return Result("".join(pieces), tuple(findings))


class _Places:
    """Where a text with a mark of one character for every part has what the text itself has elsewhere."""

    __slots__ = ("_ends", "_marks", "_parts", "_starts")

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts = parts
        self._starts = [part.start for part in parts]
        self._ends = [part.end for part in parts]
        self._marks: list[int] = []
        shorter = 0
        for part in parts:
            self._marks.append(part.start - shorter)
            shorter += part.end - part.start - 1

    def around(self, text: str) -> Iterator[str]:
        for after, before in zip([0, *self._ends], [*self._starts, len(text)], strict=True):
            yield text[after:before]

    def inward(self, spans: Sequence[Span]) -> list[Span]:
        """Those of the spans that touch no part, where they are with marks."""
        moved = []
        for kind, start, end in spans:
            before = bisect_left(self._starts, end)
            if not before or self._ends[before - 1] <= start:
                shorter = self._ends[before - 1] - self._marks[before - 1] - 1 if before else 0
                moved.append((kind, start - shorter, end - shorter))
        return moved

    def outward(self, finding: Finding) -> Finding:
        """The finding where it is in the text itself."""
        before = bisect_left(self._marks, finding.end)
        longer = self._ends[before - 1] - self._marks[before - 1] - 1 if before else 0
        return replace(finding, start=finding.start + longer, end=finding.end + longer)


def _emptied(text: str, findings: Sequence[Finding]) -> list[_Part]:
    """The values of JSON in which there is something that has to go as a whole, as `null`; none if one stands elsewhere."""
    values = [leaf for some in _values(text, "") for leaf in some]
    ends = [leaf.end for leaf in values]
    gone: dict[int, Leaf] = {}
    for finding in findings:
        if finding.action == "drop":
            first = bisect_right(ends, finding.start)
            within = values[first : bisect_left(values, finding.end, lo=first, key=lambda leaf: leaf.start)]
            if not within:
                return []
            gone.update((leaf.start, leaf) for leaf in within)
    starts = sorted(gone)
    held: dict[int, list[Finding]] = {start: [] for start in starts}
    for finding in findings:
        before = bisect_left(starts, finding.end)
        if before and gone[starts[before - 1]].end > finding.start:
            held[starts[before - 1]].append(finding)
    return [_Part(start, gone[start].end, "null", tuple(held[start])) for start in starts]


def _values(text: str, field: str) -> Iterator[list[Leaf]]:
    """The values of every JSON text that stands there."""
    last = 0
    for start, end in sorted(_regions(text)):
        if start >= last:
            last = end
            yield leaves(text, field, start, end) or []


def _regions(text: str) -> Iterator[tuple[int, int]]:
    """Where JSON may stand: the whole text, or the JSON scripts of a page."""
    if looks_like_json(text):
        yield 0, len(text)
        return
    opened = _search(_SCRIPT, text, 0)
    while opened:
        end = opened.end()
        if tag := _JSON_TYPE.match(text, end):
            closed = _search(_SCRIPT_ENDS, text, tag.end())
            end = closed.start() if closed else len(text)
            yield _unwrapped(text, tag.end(), end)
        opened = _search(_SCRIPT, text, end)


def _unwrapped(text: str, start: int, end: int) -> tuple[int, int]:
    """What is in a script, without the comments and the CDATA section that it may be wrapped in, and without a semicolon."""
    if opened := _OPENED.match(text, start, end):
        start = opened.end()
    last = max(start, end - _LONGEST_WRAP)
    closed = _CLOSED.search(text[last:end])
    return start, last + closed.start() if closed else end


def _search(pattern: re.Pattern[str], text: str, start: int) -> re.Match[str] | None:
    """As `pattern.search`, in steps of which none keeps Python's lock for long."""
    for at in range(start, len(text), _STEP):
        if found := pattern.search(text, at, at + _STEP + _LONGEST_TAG):
            return found
    return None


def _inside(spans: Sequence[Span], leaf: Leaf, value: str, exact: bool) -> list[Span]:
    """The spans that touch a string, in its value; all of it, where the string has escapes."""
    touching = [span for span in spans if span[1] < leaf.end and span[2] > leaf.start]
    if not exact:
        return [(kind, 0, len(value)) for kind, _, _ in touching]
    first = leaf.start + 1
    return [(kind, max(0, start - first), min(len(value), end - first)) for kind, start, end in touching]


def _encoded(value: str, raw: str) -> str:
    """A JSON string that has nothing in it which the one that stood there had escaped: it may stand in a script, or in an
    attribute."""
    # Half of a pair can be written as an escape only: no encoding has it.
    written = _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", json.dumps(value, ensure_ascii=raw.isascii()))
    if "\\/" in raw:
        written = written.replace("/", "\\/")
    for character in "<>&'":
        if character not in raw:
            written = written.replace(character, f"\\u{ord(character):04x}")
    return written if "</" in raw else written.replace("</", "<\\/")
