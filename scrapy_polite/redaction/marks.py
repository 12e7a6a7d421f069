"""What was put in, told from what a page has itself: so that no rule of a user's finds its own marks, or another's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scrapy_polite.redaction.policy import Policy

__all__ = ["KEYED_MARK", "LONGEST_MARK", "Marks"]

KEYED_MARK: Final = r"(?P<kind>[a-z0-9-]{1,64})\.[A-Za-z0-9_-]{1,32}\.x[0-9a-f]{20}"
"""What `acting.put_in` writes between two `~` for a token."""

LONGEST_MARK: Final = 122
"""Characters of the longest mark, with its two `~`."""

_TOKEN = re.compile(KEYED_MARK)
_HASH = re.compile(r"x[0-9a-f]{32}")


class Marks:
    """What a policy puts in for whole values, with any key."""

    __slots__ = ("_kinds", "_words")

    def __init__(self, policy: Policy) -> None:
        self._kinds = policy.kinds
        self._words = {f"redacted-{kind}" for kind in (*self._kinds, "text")}  # of a text that could not be checked
        self._words.update(choice.text for choice in policy.choices if choice.text)

    def around(self, text: str, start: int, end: int) -> bool:
        """True if text[start:end] is part of a mark. One that a page has written itself is none less."""
        first = text.rfind("~", max(0, start - LONGEST_MARK), start) + 1
        last = text.find("~", end, end + LONGEST_MARK)
        if not first or last < 0:
            return False
        mark = text[first:last]
        token = _TOKEN.fullmatch(mark)
        return mark in self._words or (token is not None and token["kind"] in self._kinds) or _HASH.fullmatch(mark) is not None
