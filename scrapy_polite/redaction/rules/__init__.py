"""Every kind of value that is looked for, a row each: where to look, what it looks like, what proves it, who says so.

To add one, add a row to the table of its group. The tables are checked when they are imported, so a row that would be
slow, or never found, stops the program and not a crawl. Phone numbers are not here: they have no anchor (`phones.py`).
"""

from __future__ import annotations

from scrapy_polite.redaction.rules import (
    ai,
    analytics,
    bigclouds,
    cloud,
    codehosts,
    content,
    contextual,
    mailboxes,
    maps,
    messaging,
    payments,
    tokens,
)
from scrapy_polite.redaction.rules.checking import check, user_rules
from scrapy_polite.redaction.rules.rule import Confidence, Exposure, Rule

__all__ = ["RULES", "Confidence", "Exposure", "Rule", "check", "user_rules"]

RULES: tuple[Rule, ...] = (
    *maps.RULES,
    *payments.RULES,
    *bigclouds.RULES,
    *cloud.RULES,
    *codehosts.RULES,
    *messaging.RULES,
    *ai.RULES,
    *analytics.RULES,
    *content.RULES,
    *tokens.RULES,
    *contextual.RULES,
    *mailboxes.RULES,
)

check(RULES)
