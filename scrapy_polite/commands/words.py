"""Words that several verbs share, fit for a terminal."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Final

from scrapy_polite.wording import FOR_GOOD, UNTIL_RELEASED, lasting, plural, seen, span

__all__ = ["FOR_GOOD", "LAST", "UNTIL_RELEASED", "lasting", "line", "moment", "plural", "seen", "span", "state"]


LAST: Final = 253_402_300_799.0
"""The last second of the year 9999: calendars here end with it."""


def moment(seconds: float) -> str:
    """A unix time as people read it, to the minute, in UTC."""
    return datetime.fromtimestamp(min(max(seconds, 0.0), LAST), timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def line(found: object) -> str:
    """An object as a line of JSON. What is not ASCII stands in its own letters, but for what ends a line to some readers
    (U+2028) or moves a cursor."""
    text = json.dumps(found, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(found)


def state(due_in: float, hold_in: float, kind: str | None, reason: str | None) -> str:
    """When a key is due, or for how long it is held and why."""
    if hold_in > 0:
        return f"held {lasting(hold_in)} ({kind}: {reason})"
    return f"due in {due_in:.3f} s" if due_in > 0 else "due now"
