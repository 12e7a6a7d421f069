"""Tokens of no single provider."""

from __future__ import annotations

from scrapy_polite.redaction import validators
from scrapy_polite.redaction.rules.rule import Rule

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (
    Rule(
        # RFC 7515 section 3.1: three parts, the last empty for "none"; RFC 7516 section 3.1: five, the second may be
        # empty. "ewog" and "ewoi" begin a header that is written over several lines.
        "jwt", "any", "transient", ("eyJ", "ewog", "ewoi"),
        r"(?:eyJ|ewo)[\w-]{12,16384}={0,2}\.[\w-]{0,16384}={0,2}\.[\w-]{0,16384}(?:\.[\w-]{1,16384}\.[\w-]{8,128})?",
        "https://www.rfc-editor.org/rfc/rfc7519#section-3", validators.jwt,
        # No hyphen before it, so that a run of its characters has one beginning and is read once.
        left=r"(?:(?<![\w-])|(?<=<!--))", right=r"(?![\w-])",
    ),
)  # fmt: skip
