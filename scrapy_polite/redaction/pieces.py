"""Long texts, and texts without end, piece by piece: memory and every single step stay bounded.

A text is cut where no value stands, and only after a look whether what is behind the cut is still found without what is
before it. So a value is found wherever it stands, and what is put in is what one search of the whole text would put in.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import replace
from heapq import nlargest
from typing import TYPE_CHECKING, Final

from scrapy_polite.redaction.engine import Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from scrapy_polite.redaction.engine import Finding, Redactor

__all__ = ["BEHIND", "PIECE", "redacted_pieces", "redacted_text"]

Span = tuple[str, int, int]

PIECE: Final = 256 * 1024
"""Characters of a piece. No single step over one takes a millisecond, so another thread waits no longer for its turn."""

BEFORE: Final = 4_096
"""Characters in whose second half a place to cut is looked for. The first half is what a rule may look back at."""

BEHIND: Final = 20_000
"""Characters behind them that are looked at: as many as any value has, but for tokens whose first part alone is a value."""

LONGEST: Final = 4 * 1024 * 1024
"""Characters of a piece, at most: where no place to cut is found in so many, they count as over budget."""

CANDIDATES: Final = 8

# Where no value goes on, as a rule.
_BREAK = re.compile(r"[\s<>\"',;]")


def redacted_text(redactor: Redactor, text: str, field: str = "", found: Sequence[Span] = ()) -> Result:
    """As `redactor.text`, in pieces where the text is long."""
    if len(text) <= PIECE + BEHIND:
        return redactor.text(text, field, found)
    pieces: list[str] = []
    findings: list[Finding] = []
    dropped = False
    for result in redacted_pieces(redactor, (text[at : at + PIECE] for at in range(0, len(text), PIECE)), field, found):
        findings += result.findings
        if result.dropped == "over_budget":
            return redactor.text(text, field, found)  # It may be a place to cut that is missing.
        if result.dropped not in (None, "policy"):
            return Result("", tuple(findings), result.dropped)
        # All that the policy drops is told: of JSON it may be values, and the rest stays.
        dropped = dropped or result.dropped is not None
        pieces.append(result.text)
    if dropped:
        return Result("", tuple(findings), "policy")
    return Result("".join(pieces) if findings else text, tuple(findings))


def redacted_pieces(redactor: Redactor, chunks: Iterable[str], field: str = "", found: Sequence[Span] = ()) -> Iterator[Result]:
    """The redacted text of `chunks`, which are one text, piece by piece; positions of findings are those in all of it.

    A piece that is dropped has no text, and what follows it is searched all the same.
    """
    source = iter(chunks)
    held, offset, size = "", 0, PIECE
    ended = False
    while not ended or held:
        more = [held]
        length = len(held)
        while not ended and length <= size + BEHIND:
            chunk = next(source, None)
            ended = chunk is None
            more.append(chunk or "")
            length += len(more[-1])
        held = "".join(more)
        spans = [(kind, start - offset, end - offset) for kind, start, end in found if start >= offset]
        at: int | None = len(held)
        if length > size + BEHIND:
            at, growing = _cut(redactor, held, size, field, spans)
            if at is None and growing and size < LONGEST:
                size *= 2
                continue
        if at is None:
            # What comes after it begins where no value goes on, as a rule: of one that does, the end is left.
            at = max((place.end() for place in _BREAK.finditer(held, size - BEFORE, size)), default=size)
            result = Result("", (), "over_budget")
        elif held:
            result = redactor.text(held[:at], field, [span for span in spans if span[2] <= at])
        else:
            return
        moved = (replace(one, start=one.start + offset, end=one.end + offset) for one in result.findings)
        yield replace(result, findings=tuple(moved))
        held, offset, size = held[at:], offset + at, PIECE


def _cut(redactor: Redactor, held: str, size: int, field: str, spans: Sequence[Span]) -> tuple[int | None, bool]:
    """Where to cut, shortly before `size`; None if nothing there is known to be safe, and whether a longer piece may help."""
    first = size - BEFORE
    window = held[first : size + BEHIND]
    near = [
        (kind, max(0, start - first), min(end - first, len(window)))
        for kind, start, end in spans
        if first < end and start < first + len(window)
    ]
    seen = redactor.text(window, field, near)
    if seen.dropped not in (None, "policy"):
        return None, False
    places = [place.end() for place in _BREAK.finditer(window, BEFORE // 2, BEFORE)]
    edges = (edge for one in seen.findings for edge in (one.start, one.end))
    places += [edge for edge in edges if BEFORE // 2 <= edge <= BEFORE] or [BEFORE // 2]
    starts, ends = [one.start for one in seen.findings], [one.end for one in seen.findings]

    def room(place: int) -> int:
        """Characters up to the next value; 0 inside of one."""
        after = bisect_left(starts, place)
        if after and ends[after - 1] > place:
            return 0
        return starts[after] - place + 1 if after < len(starts) else len(window)

    # The farther the next value, the less it can have to do with what is before the cut.
    for place in nlargest(CANDIDATES, places, room):
        if not room(place):
            break
        if all(_alone(redactor, window, part, field, near, seen) for part in ((0, place), (place, len(window)))):
            return first + place, True
    return None, True


def _alone(redactor: Redactor, window: str, part: tuple[int, int], field: str, near: Sequence[Span], seen: Result) -> bool:
    """True if in this part of the window the same is found without the rest: also what must stand before or behind a value
    and is none of it counts."""
    first, last = part
    spans = [(kind, start - first, end - first) for kind, start, end in near if first <= start and end <= last]
    alone = redactor.text(window[first:last], field, spans)
    expected = [
        (one.kind, one.start - first, one.end - first) for one in seen.findings if first <= one.start and one.end <= last
    ]
    return [(one.kind, one.start, one.end) for one in alone.findings] == expected
