"""Whether a number that was put in makes a value of what stands beside it.

What is put in begins and ends with `~`, which is part of no value. A number that was rounded, or put to 0, is a number
still: what stands beside it may be a value only now, or be seen only now by the word that names it. To look for that in
the whole text would be as much work as the first time. So what begins within reach of such a number is tried, and nothing
else; everything else is as it was when nothing more was found in it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from scrapy_polite.redaction.escapes import LONGEST_ESCAPE
from scrapy_polite.redaction.matching import SEEN_BEFORE, confirm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scrapy_polite.redaction.acting import Put
    from scrapy_polite.redaction.anchors import Anchors, Hit
    from scrapy_polite.redaction.forms import Forms
    from scrapy_polite.redaction.matching import Matcher, Reading
    from scrapy_polite.redaction.phones import PhoneFinder

__all__ = ["Again"]

# How many characters of a page may be one of a value, where escapes are: as far as `confirm` goes.
_ESCAPED = 8
# What ends a value in both directions, but those that may have blanks in them.
_BREAKS = re.compile(r"""[\s"<>`]""")
# Characters on either side of a number in which an anchor may be one only now, and what is told by what stands before it.
_MARGIN = 2 * LONGEST_ESCAPE
# What it costs to look at a hit, in characters read.
_LOOK_COST = 30


class Again:
    """Looks again where a number was put in, by the rules and forms of one redactor. Safe to use from several threads."""

    __slots__ = ("_anchors", "_forms", "_matchers", "_phones")

    def __init__(self, anchors: Anchors, matchers: Sequence[Matcher], forms: Forms | None, phones: PhoneFinder | None) -> None:
        self._anchors = anchors
        self._matchers = matchers
        self._forms = forms
        self._phones = phones

    def finds(self, reading: Reading, hits: Sequence[Hit], puts: Sequence[Put], wanted: Callable[[str], bool]) -> bool:
        """True if a value of a kind that is wanted may stand in the new text that did not stand in the old one.

        `hits`: of the old text, in order. False only where a look at the whole text would find nothing.
        """
        return any(wanted(kind) for kind in self._kinds(reading, hits, puts))

    def _kinds(self, reading: Reading, hits: Sequence[Hit], puts: Sequence[Put]) -> Iterator[str]:
        numbers, between = _standing(hits, puts)
        for spelled in reading.spelled(numbers):
            if self._phones:
                for start, end in numbers:
                    for _ in self._phones.through(spelled, start, end, reading.spend):
                        yield "phone"
            for kind, _ in self._forms.near(spelled, numbers, reading.spend) if self._forms else ():
                yield kind
        for hit, rules in chain(self._old(reading, numbers, between), self._new(reading.text, numbers)):
            for index in rules:
                for span in confirm(self._matchers[index], reading, hit.at, hit.plain):
                    yield span.kind

    def _old(
        self, reading: Reading, numbers: Sequence[tuple[int, int]], between: Sequence[Sequence[Hit]]
    ) -> Iterator[tuple[Hit, Sequence[int]]]:
        """Of the hits before the first number, before the second ..., those worth a try, with the rules.

        The nearest number on either side is enough: what reaches a farther one goes through it.
        """
        text = reading.text
        for number, some in enumerate(between):
            end = numbers[number - 1][1] if number else None
            start = numbers[number][0] if number < len(numbers) else None
            broken = -1  # where something stands that ends a value, for all that begins before it
            for hit in some:
                reading.spend(_LOOK_COST)
                rules: list[int] = []
                if end is not None:
                    distance = (hit.at - end) // (_ESCAPED if reading.escapes(end, hit.at) else 1)
                    rules += [index for index in hit.rules if distance <= self._matchers[index].before + SEEN_BEFORE]
                if start is not None:
                    distance = (start - hit.at) // (_ESCAPED if reading.escapes(hit.at, start) else 1)
                    reaching = [index for index in hit.rules if distance <= self._matchers[index].longest]
                    if reaching and hit.at > broken:
                        found = _BREAKS.search(text, hit.at, start)
                        broken = found.start() if found else len(text)
                    rules += [index for index in reaching if broken >= start or self._matchers[index].across]
                yield hit, rules

    def _new(self, text: str, numbers: Sequence[tuple[int, int]]) -> Iterator[tuple[Hit, Sequence[int]]]:
        """Those in which a number may have a part, or that it may have hidden, all in one go."""
        pieces = [text[max(0, start - _MARGIN) : end + _MARGIN] for start, end in numbers]
        offsets = [0, *accumulate(len(piece) + 1 for piece in pieces)]
        for hit in self._anchors.hits("\n".join(pieces)):
            piece = bisect_right(offsets, hit.at) - 1
            at = max(0, numbers[piece][0] - _MARGIN) + hit.at - offsets[piece]
            yield hit._replace(at=at), [index for index in hit.rules if index < len(self._matchers)]


def _standing(hits: Sequence[Hit], puts: Sequence[Put]) -> tuple[list[tuple[int, int]], list[list[Hit]]]:
    """Where the numbers that were put in stand in the new text, and the hits of the old one between them, as they stand
    there. Those in what was replaced are gone."""
    numbers: list[tuple[int, int]] = []
    between: list[list[Hit]] = [[]]
    shift = seen = 0
    for put in puts:
        while seen < len(hits) and hits[seen].at < put.end:
            if hits[seen].at < put.start:
                between[-1].append(hits[seen]._replace(at=hits[seen].at + shift))
            seen += 1
        begins = put.start + shift
        shift += len(put.new) - (put.end - put.start)
        if put.joins:
            numbers.append((begins, begins + len(put.new)))
            between.append([])
    between[-1] += (hit._replace(at=hit.at + shift) for hit in hits[seen:])
    return numbers, between
