"""Texts as a crawl may write them about itself: into its log, its ledger, the URIs of its feeds."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from scrapy_polite.redaction import Budget, Redactor
from scrapy_polite.redaction.pieces import BEHIND
from scrapy_polite.redaction.structured import StructuredRedactor

if TYPE_CHECKING:
    from scrapy_polite.redaction import Policy

__all__ = ["BUDGET", "Written", "redactor_of", "written"]

LONGEST: Final = 16 * 1024
"""Characters of a message or a traceback: of longer ones the beginning is written. Items are logged whole, however long."""

BUDGET: Final = Budget(base=200_000, per_character=4)
"""For one message: about 3 ms."""


@lru_cache(maxsize=16)
def redactor_of(policy: Policy) -> Redactor:
    """One redactor for each policy, whoever asks: compiling takes longer than the start of a crawl should. Raises ValueError if
    the policy needs an extra that is not installed."""
    return Redactor.from_policy(policy)


class Written:
    """Texts as they may be written, by one policy. From any thread."""

    __slots__ = ("_redactor",)

    def __init__(self, policy: Policy) -> None:
        self._redactor = redactor_of(policy).within(BUDGET)

    def text(self, text: str) -> str:
        """The text without what the policy takes out; cut where it is very long."""
        # A value that begins in what is written is searched to its end. Of one that the search does not see to its end nothing
        # is written, however much shorter what is before it became.
        result = self._redactor.text(text[: LONGEST + BEHIND])
        if result.dropped:
            return f"({len(text):,} characters that could not be checked, or that the policy keeps from the log)"
        if len(text) <= LONGEST:
            return result.text
        return f"{result.text[: max(0, min(LONGEST, len(result.text) - BEHIND))]} (and more: {len(text):,} characters in all)"

    def named(self, name: str, value: str) -> str:
        """A value, by what its name says as well."""
        return StructuredRedactor(self._redactor).named(name, value).text


@lru_cache(maxsize=16)
def written(policy: Policy) -> Written:
    """One for each policy."""
    return Written(policy)
