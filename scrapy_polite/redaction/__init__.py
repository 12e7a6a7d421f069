"""API keys and personal data, taken out of texts: `redact(text)` in your own code."""

from __future__ import annotations

from scrapy_polite.redaction.engine import Budget, Finding, Redactor, Result, redact, replacement
from scrapy_polite.redaction.policy import PRESETS, Choice, Policy, policy_from

__all__ = [
    "PRESETS",
    "Budget",
    "Choice",
    "Finding",
    "Policy",
    "Redactor",
    "Result",
    "policy_from",
    "redact",
    "replacement",
]
