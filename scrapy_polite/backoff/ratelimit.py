"""What a server says about the quota that is left: the `RateLimit` fields, and those that came before them.

- `RateLimit: "name";r=50;t=30`, with `RateLimit-Policy`: draft-ietf-httpapi-ratelimit-headers-08 to -11 (May 2026);
- `RateLimit: limit=100, remaining=50, reset=30`: its revision 07;
- `RateLimit-Remaining` and `RateLimit-Reset`, a number and seconds: its revisions up to 06;
- `X-RateLimit-Remaining` and `X-RateLimit-Reset`: no standard. The time is since 1970, as GitHub, Smartsheet and others
  document it, or seconds; the draft's last appendix lists these forms and more.

A quota that is spent (`r=0`) is a hold until the window ends. While something is left, its window may be filled evenly, by an
interval of t / r; that is advice, and never a reason to go faster. Quotas in other units than requests have no interval.
A field that cannot be read is left out, as the draft asks (section 7), and so is what comes out of a cache (7.3).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .headers import Headers, printable, values
from .retry_after import FOREVER, parse_date
from .structured import items

EPOCH: Final = 10**8
"""Above it, X-RateLimit-Reset is a time since 1970 (this one was in 1973)."""

END: Final = 10**11
"""From here on (the year 5138) it is one in milliseconds, which nobody documents: not read."""

X_LONGEST: Final = 86_400
"""Seconds of an X-RateLimit-Reset that are believed: more is as likely in milliseconds, and a refusal has its ladder."""

_WHOLE: Final = re.compile(r"[0-9]{1,15}")
_NUMBER: Final = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?")
_DRAFT_07: Final = re.compile(r"(limit|remaining|reset)=([0-9]{1,15})(?:;[^,]*)?")


@dataclass(frozen=True, slots=True)
class Quota:
    """What is left, of all policies that the answer names.

    Args:
        hold: seconds until a quota that is spent has its window behind it; None: none is spent.
        interval: seconds at least between two starts, so that what is left lasts; None: nothing is said about it.
        lasts: for how many seconds that `interval` counts.
        partition: the key of the partition that the quota belongs to ("" if none is named): sites that are told the same
            one share the quota, so it is the origin's.
        shown: what was read, for people.
    """

    hold: float | None
    interval: float | None
    lasts: float | None
    partition: str
    shown: str


@dataclass(frozen=True, slots=True)
class _Left:
    amount: int
    window: float | None
    paced: bool
    partition: str
    shown: str


def read(headers: Headers, now: float | None = None) -> Quota | None:
    """The quota that an answer tells of; None if it tells of none. On any status: the draft ties the fields to no status.

    `now`: the wall clock, for an X-RateLimit-Reset that is a time, in an answer without a Date header.
    """
    if any(age.isascii() and age.isdigit() and int(age[:9]) > 0 for age in values(headers, "age")):
        return None
    found = [*_draft(headers), *_apart(headers), *_unofficial(headers, now)]
    spent = [left for left in found if left.amount == 0 and left.window]
    longest = max(spent, key=lambda left: left.window or 0.0, default=None)
    paced = [(left.window / left.amount, left.window) for left in found if left.paced and left.amount and left.window]
    interval, lasts = max(paced, default=(None, None))
    if longest is None and interval is None:
        return None
    told = longest or next(left for left in found if left.paced and left.amount and left.window)
    return Quota(
        hold=None if longest is None else longest.window,
        interval=interval,
        lasts=lasts,
        partition=next((left.partition for left in (told, *found) if left.partition), ""),
        shown=told.shown,
    )


def _draft(headers: Headers) -> list[_Left]:
    lines = values(headers, "ratelimit")
    if not lines:
        return []
    field = ", ".join(lines)
    shown = f"RateLimit: {printable(field)}"
    units = {name: told.get("qu") for name, told in items(", ".join(values(headers, "ratelimit-policy")))}
    found = []
    for name, told in items(field):
        amount, window, partition = told.get("r"), told.get("t"), told.get("pk")
        if not _whole(amount) or not (window is None or _whole(window)):
            return []
        found.append(
            _Left(
                amount=amount if isinstance(amount, int) else 0,
                window=None if window is None else _window(window if isinstance(window, int) else 0),
                paced=units.get(name) in (None, "requests"),
                partition=partition if isinstance(partition, str) else "",
                shown=shown,
            )
        )
    return found or _draft_07(field)


def _draft_07(field: str) -> list[_Left]:
    members = [_DRAFT_07.fullmatch(member.strip(" \t")) for member in field.split(",", 4)]
    told = {member[1]: int(member[2]) for member in members if member is not None}
    if None in members or "remaining" not in told:
        return []
    window = _window(told["reset"]) if "reset" in told else None
    return [_Left(told["remaining"], window, True, "", f"RateLimit: {printable(field)}")]


def _apart(headers: Headers) -> list[_Left]:
    remaining, reset = values(headers, "ratelimit-remaining"), values(headers, "ratelimit-reset")
    if len(remaining) != 1 or len(reset) != 1 or not _WHOLE.fullmatch(remaining[0]) or not _WHOLE.fullmatch(reset[0]):
        return []
    return [_Left(int(remaining[0]), _window(int(reset[0])), True, "", f"RateLimit-Reset: {reset[0]}")]


def _unofficial(headers: Headers, now: float | None) -> list[_Left]:
    remaining, reset = values(headers, "x-ratelimit-remaining"), values(headers, "x-ratelimit-reset")
    if len(remaining) != 1 or len(reset) != 1 or not _WHOLE.fullmatch(remaining[0]):
        return []
    wait: float | None = None
    if _NUMBER.fullmatch(reset[0]):
        number = float(reset[0])
        if EPOCH < number < END:
            wait = _until(number, headers, now)
        elif number <= X_LONGEST:
            wait = number
    else:
        date = parse_date(reset[0], now)
        wait = None if date is None else _until(date, headers, now)
    if wait is None or wait <= 0 or int(remaining[0]) > 0:
        return []
    return [_Left(0, _window(wait), False, "", f"X-RateLimit-Remaining: 0, X-RateLimit-Reset: {printable(reset[0])}")]


def _until(moment: float, headers: Headers, now: float | None) -> float | None:
    dates = values(headers, "date")
    sent = parse_date(dates[0], now) if dates else None
    since = now if sent is None else sent
    return None if since is None else moment - since


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _window(seconds: float) -> float:
    return min(float(seconds), FOREVER)
