"""What RFC 9309 makes of one robots.txt: from the answers that it got, the time since, and what was read before.

An answer of 2xx is read (section 2.3.1.1), after at least five redirects (2.3.1.2). 4xx means that there are no rules
(2.3.1.3). 5xx, or no answer, means that nothing may be fetched (2.3.1.4); a copy that was read before is obeyed to the end of
its day (2.4). 429 says nothing of the rules: whoever hears it waits, and asks again.

All times are seconds of the wall clock: a day is shared with other machines, and outlives a restart.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "DISALLOW_ALL",
    "HOPS",
    "MOST",
    "Known",
    "after",
    "asked_in",
    "from_notes",
    "interval",
    "more_notes",
    "obeyed",
    "outcome",
    "text_of",
]

DAY: Final = 86_400.0
"""A copy is not obeyed for longer (section 2.4)."""

REREAD: Final = 82_800.0
"""Age at which a copy is read anew: early enough that nobody has to go without rules meanwhile."""

SKEW: Final = 300.0
"""By which the clocks of two machines may differ. A copy from further in the future was written by a clock that was wrong."""

MOST: Final = 500 * 1024
"""Bytes that are parsed (section 2.5: at least so many)."""

HOPS: Final = 5
"""Redirects that are followed (section 2.3.1.2: at least so many; with more there are no rules)."""

AGAIN: Final = (300.0, 900.0, 1_800.0, 3_600.0)
"""Seconds after which a robots.txt that could not be read is asked for again; the last is the ceiling."""

DISALLOW_ALL: Final = "User-agent: *\nDisallow: /\n"

PART: Final = 30_000
"""Characters of a packed copy in one note: a store keeps longer notes of nothing."""

PARTS: Final = 64
"""Notes that a copy may take. Text of :data:`MOST` bytes that cannot be packed takes 23."""

LONGEST_INTERVAL: Final = 100 * 365 * DAY
"""Seconds. What is wished for beyond is the same as for ever."""

Outcome = Literal["read", "none", "unreachable"]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one robots.txt.

    Args:
        text: what was read last, "" where there are no rules; None if nothing ever was, or too long ago.
        read: when.
        failures: answers since, one after the other, that were none.
        failed: when the last of them came.
    """

    text: str | None
    read: float
    failures: int = 0
    failed: float = 0.0

    def notes(self) -> list[str]:
        """As texts, for :func:`from_notes`; ASCII. Most have one: what is long goes on in more, none longer than a note."""
        if self.text is None:
            return [json.dumps([None, self.read, self.failures, self.failed, 0, ""])]
        packed = base64.b64encode(zlib.compress(self.text.encode("utf-8"))).decode("ascii")
        begin, *rest = [packed[start : start + PART] for start in range(0, len(packed), PART)]
        return [json.dumps([begin, self.read, self.failures, self.failed, len(rest), _mark(packed) if rest else ""]), *rest]


def outcome(status: int | None, redirects: int = 0) -> Outcome:
    """What the last answer means, after so many redirects. ``status`` None: there was none, by whatever error."""
    if status is None:
        return "unreachable"
    if 200 <= status <= 299:
        return "read"
    if 300 <= status <= 399:
        return "none" if redirects >= HOPS else "unreachable"  # One that leads nowhere: nobody can read it.
    return "none" if 400 <= status <= 499 and status != 429 else "unreachable"


def after(before: Known | None, heard: Outcome, text: str, now: float) -> Known:
    """What is known after an answer. ``text``: the rules, where they were read."""
    if heard != "unreachable":
        return Known(text if heard == "read" else "", now)
    if before is None:
        return Known(None, 0.0, 1, now)
    return Known(before.text if _in_its_day(before, now) else None, before.read, before.failures + 1, now)


def obeyed(known: Known, now: float) -> str | None:
    """The text that is obeyed; :data:`DISALLOW_ALL` where it is unreachable; None where it is to be read first."""
    if _in_its_day(known, now):
        return known.text
    return DISALLOW_ALL if known.failures else None


def asked_in(known: Known, now: float, ladder: Sequence[float] = AGAIN) -> float:
    """Seconds until it is to be asked for again; 0 or less: now."""
    if known.failures:
        wait = ladder[min(known.failures, len(ladder)) - 1]
        return known.failed + wait - now if known.failed <= now + SKEW else 0.0
    return known.read + REREAD - now if _in_its_day(known, now) else 0.0


def text_of(body: bytes) -> str:
    """The text that is parsed: UTF-8 (section 2.3), whatever else there is left out; no more than :data:`MOST` bytes, in whole
    lines. Half a line would forbid something else than it says."""
    if len(body) > MOST:
        body = body[:MOST]
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    return body.decode("utf-8-sig", "ignore").replace("\0", "")


def interval(delay: float | None, requests: int = 0, seconds: int = 0) -> float:
    """The least seconds between two starts by ``Crawl-delay`` and ``Request-rate``, of which RFC 9309 knows neither; 0: none is
    stated, or what is stated is no time."""
    wished = float(delay) if delay is not None and math.isfinite(delay) else 0.0
    if requests > 0 and seconds > 0:
        wished = max(wished, min(seconds, int(LONGEST_INTERVAL)) / requests)
    return min(max(wished, 0.0), LONGEST_INTERVAL)


def more_notes(first: str) -> int:
    """How many notes there are after the first one."""
    try:
        more = json.loads(first)[4]
    except (ValueError, TypeError, LookupError):
        return 0
    return more if isinstance(more, int) and 0 <= more < PARTS else 0


def from_notes(notes: Sequence[str]) -> Known | None:
    """What :meth:`Known.notes` has written; None for what it has not, such as the beginning of one copy and the end of another,
    by a process that was killed in between."""
    try:
        begin, read, failures, failed, more, mark = json.loads(notes[0])
        text = None
        if begin is not None:
            packed = begin + "".join(notes[1:])
            if len(notes) != 1 + more or (more and _mark(packed) != mark):
                return None
            unpacking = zlib.decompressobj()
            text = unpacking.decompress(base64.b64decode(packed, validate=True), MOST + 1).decode("utf-8")
            if not unpacking.eof:
                return None  # Cut off, or more than anybody parses.
        known = Known(text, float(read), int(failures), float(failed))
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, zlib.error):
        return None
    return known if math.isfinite(known.read) and math.isfinite(known.failed) and known.failures >= 0 else None


def _mark(packed: str) -> str:
    """By which the parts of one copy are known."""
    return hashlib.sha256(packed.encode()).hexdigest()[:16]


def _in_its_day(known: Known, now: float) -> bool:
    return known.text is not None and -SKEW <= now - known.read < DAY
