"""One text while it is read: what it may cost, and what lies ahead in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from scrapy_polite.redaction.digits import plain_digits
from scrapy_polite.redaction.escapes import LONGEST_ESCAPE, View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_polite.redaction.anchors import Hit

__all__ = ["ENDS_BLOCK", "ENDS_TOKEN", "LEAD", "WORD", "Budget", "OverBudget", "Reading"]

LEAD = re.compile(r"[\\%&]")
# What is looked for ahead: the next escape, what ends a token, and what ends a value that has blanks and quotes before it
# or in it.
Ender = Literal[0, 1, 2]
_ESCAPE: Ender = 0
ENDS_TOKEN: Ender = 1
ENDS_BLOCK: Ender = 2
_ENDERS = (LEAD, re.compile(r"""[\s"'<>`,]"""), re.compile(r"[<>`]"))
WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
# What a character costs that is read through a view, and a look at what is near, in characters read as they are.
_VIEW_COST = 10
_LOOK_COST = 10
# Characters from one digit to the next that are looked at as one, and those of the longest number, with every gap an escape,
# and of what is read beside it.
_APART, _NUMBER = 200, 700


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
    the last view of it. `other_digits`: where digits are none of ASCII, as one span those that are near one another;
    `media`: where the Base64 of pictures stands.

    Anchors come nearly in order, so remembering the last answer makes looking ahead linear, however many there are.
    """

    __slots__ = ("_left", "_next", "_view", "hits", "media", "other_digits", "text")

    def __init__(self, text: str, budget: Budget) -> None:
        self.text = text
        self.other_digits: list[tuple[int, int]] = []
        self.media: list[tuple[int, int]] = []
        self._left = budget.base + budget.per_character * len(text)
        self._next: list[tuple[int, int]] = [(0, -1)] * len(_ENDERS)
        self._view: tuple[int, int, View] | None = None
        self.hits: Sequence[Hit] = ()  # where a rule is to be tried, in order

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
        self._next = [(0, -1)] * len(_ENDERS)
        self._view = None

    def see_digit(self, at: int) -> None:
        """One that is none of ASCII stands there, behind all that were seen before."""
        if self.other_digits and at < self.other_digits[-1][1] + _APART:
            self.other_digits[-1] = self.other_digits[-1][0], at + 1
        else:
            self.other_digits.append((at, at + 1))

    def spelled(self, spans: Sequence[tuple[int, int]]) -> tuple[str, ...]:
        """The text in which numbers are to be found that have a part in one of these spans (in order), or beside it: as it is,
        and also with digits of ASCII for all others there, if it has others."""
        if not self.other_digits:
            return (self.text,)
        self.spend(len(self.text))
        pieces: list[str] = []
        last = 0
        for start, end in spans:
            first = max(last, start - _NUMBER)
            pieces += self.text[last:first], plain_digits(self.text[first : end + _NUMBER])
            last = max(last, end + _NUMBER)
        pieces.append(self.text[last:])
        return self.text, "".join(pieces)

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

    def glued(self, at: int) -> bool:
        """True if a letter, a digit or "_" stands right before, as it is."""
        if not at or self.text[at - 1] not in WORD:
            return False
        self.spend(_LOOK_COST)
        return not self.escapes(max(0, at - LONGEST_ESCAPE), at - 1)

    def escapes(self, start: int, end: int) -> bool:
        """True if an escape may begin from `start` to `end`."""
        lead = self.following(_ESCAPE, start)
        return lead <= end and lead < len(self.text)

    def following(self, what: Ender, start: int) -> int:
        """Where the first match at or after `start` begins; the end of the text if there is none."""
        since, found = self._next[what]
        if since <= start <= found:
            return found
        # Up to where the last answer begins nothing has been looked at; from there on it still counts.
        match = _ENDERS[what].search(self.text, start, since if start < since else len(self.text))
        if match:
            found = match.start()
        elif start > found:
            found = len(self.text)
        self._next[what] = start, found
        return found
