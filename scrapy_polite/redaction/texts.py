"""For people's own code: `redact(text)`, with the policy as a setting has it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy_polite.redaction.engine import DROPPED_TEXT, Redactor
from scrapy_polite.redaction.policy import Policy
from scrapy_polite.redaction.policyforms import policy_from
from scrapy_polite.redaction.structured import StructuredRedactor

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["redact"]


@lru_cache(maxsize=32)
def _redactor(policy: Policy) -> StructuredRedactor:
    return StructuredRedactor(Redactor(policy))


def redact(text: str, policy: str | Mapping[str, object] | Policy = "secrets", field: str = "") -> str:
    """The text without what the policy does not keep: a preset's name, a dict as in POLITE_REDACT, or a `Policy`.

    JSON in it is read by its keys, as in an item. A text that could not be checked to its end, or that the policy drops,
    comes back as `~redacted-text~`. Raises ValueError for a policy that is none, TypeError for what is no text.
    """
    if not isinstance(text, str):
        raise TypeError(f"redact: it is given a {type(text).__name__}; accepted is a str: decode bytes, write a dict as JSON")
    wanted = policy if isinstance(policy, Policy) else policy_from(policy)
    if wanted is None:
        return text
    result = _redactor(wanted).text(text, field)
    return DROPPED_TEXT if result.dropped else result.text
