"""API keys and personal data, taken out of texts: `redact(text)` in your own code."""

from __future__ import annotations

from scrapy_polite.redaction.acting import GONE, Gone, replacement
from scrapy_polite.redaction.engine import Budget, Finding, Redactor, Result
from scrapy_polite.redaction.fieldnames import kind_of
from scrapy_polite.redaction.policy import PRESETS, Choice, Policy
from scrapy_polite.redaction.policyforms import policy_from
from scrapy_polite.redaction.structured import StructuredRedactor
from scrapy_polite.redaction.texts import redact

__all__ = [
    "GONE",
    "PRESETS",
    "Budget",
    "Choice",
    "Finding",
    "Gone",
    "Policy",
    "Redactor",
    "Result",
    "StructuredRedactor",
    "kind_of",
    "policy_from",
    "redact",
    "replacement",
]
