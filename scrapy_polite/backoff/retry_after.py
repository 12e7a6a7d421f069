"""How long a server asks to be left alone: the Retry-After header, in both of its forms.

RFC 9110, 10.2.3: `Retry-After = HTTP-date / delay-seconds`, `delay-seconds = 1*DIGIT`.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone

FOREVER = 100 * 365 * 86_400.0
"""Seconds. A longer wait is the same as for ever, and numbers beyond it do not fit into what is computed with them."""

YEAR = 31_556_952
"""Seconds in an average year of the Gregorian calendar."""

# delay-seconds. Servers that send a fraction mean it: not to read it would end in an earlier return than was asked for.
_SECONDS = re.compile(r"([0-9]+)(?:\.[0-9]+)?")

# HTTP-date, RFC 9110, 5.6.7: IMF-fixdate, which is sent, and the two obsolete forms that a recipient has to take.
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY = r"(?:mon|tue|wed|thu|fri|sat|sun)"
_LONG_DAY = r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})"
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_DATES = [
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"{_DAY}, (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT",
        rf"{_LONG_DAY}, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT",
        rf"{_DAY} {_MONTH} (?P<day>[0-9]{{2}}| [0-9]) {_TIME} (?P<year>[0-9]{{4}})",
    )
]


def parse(value: bytes | str, *, date: bytes | str | None, now: float | None) -> float | None:
    """Seconds to wait from now on, more than 0; None when the header asks for nothing.

    Args:
        value: the field's value.
        date: the value of the response's Date header, if it has one. A date to wait for is compared with it, so a
            server whose clock is wrong is waited for as long as it means.
        now: the wall clock (seconds since 1970), for a date without a readable Date header; without either, None.

    Negative, zero, past and unreadable values are None: they do not shorten what would be waited without them.
    """
    text = _text(value)
    seconds = _SECONDS.fullmatch(text)
    if seconds is not None:
        whole = seconds[1].lstrip("0")
        wait = FOREVER if len(whole) > 12 else min(float(text), FOREVER)
    else:
        until = parse_date(text, now)
        if until is None:
            return None
        sent = None if date is None else parse_date(_text(date), now)
        since = now if sent is None else sent
        if since is None:
            return None
        wait = min(until - since, FOREVER)
    return wait if wait > 0 else None


def parse_date(text: str, now: float | None) -> float | None:
    """Seconds since 1970 of an HTTP-date in any of its three forms, or None.

    `now` settles the century of a two-digit year: one that would lie more than 50 years ahead is in the past
    (RFC 9110, 5.6.7).
    """
    for form in _DATES:
        match = form.fullmatch(text)
        if match is None:
            continue
        year = int(match["year"])
        if len(match["year"]) == 2:
            latest = (2000 if now is None else int(1970 + now // YEAR)) + 50
            year = latest - (latest - year) % 100
        month = _MONTHS.index(match["month"].lower()) + 1
        second = int(match["second"])
        if second > 60:  # 60 is a leap second
            return None
        try:
            minute = datetime(year, month, int(match["day"]), int(match["hour"]), int(match["minute"]), tzinfo=timezone.utc)
        except ValueError:
            return None
        return minute.timestamp() + second
    return None


def _text(value: bytes | str) -> str:
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    # OWS around a field's value (RFC 9110, 5.6.3); no other white space is part of the grammar.
    return text.strip(" \t")
