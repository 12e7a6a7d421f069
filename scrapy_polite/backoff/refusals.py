"""Which answers say "not now", of what kind, and whether they name a time.

A challenge is recognised and waited out: never solved, and never met with another identity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from .retry_after import parse

HeaderValue = str | bytes | Sequence[str] | Sequence[bytes]
Headers = Mapping[str, HeaderValue] | Mapping[bytes, HeaderValue]
"""Names in lower case (or a mapping that does not care), all text or all bytes; values one by one or as lists."""

CLOUDFLARE_CHALLENGE = ("cf-mitigated", "challenge")
"""On every page of a challenge, whatever its type and status (Cloudflare docs, "Detect a Challenge Page response")."""

AWS_WAF = "x-amzn-waf-action"
AWS_WAF_ACTIONS = {(202, "challenge"), (405, "captcha")}
"""Status and value of the header (AWS WAF Developer Guide, "CAPTCHA and Challenge"). 202 would pass for success."""

SHOWN = 80
"""Characters of a header's value that are shown to people."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One answer that asks to slow down.

    Args:
        kind: "rate_limited", "challenge", "denied" or "error": the ladder it belongs to.
        stated: seconds that the server named, to be obeyed in full; None when it named none.
        reason: what was seen, for people.
        run: it says nothing by itself (5 % chance errors would stop a crawl), and only counts towards a run.
    """

    kind: str
    stated: float | None
    reason: str
    run: bool = False


def recognise(status: int, headers: Headers, now: float | None = None, *, bucket: bool = False) -> Refusal | None:
    """The refusal that an answer is, or None. `bucket`: an object store has answered.

    `now`: the wall clock, for a Retry-After date in an answer that has no Date header; without both such a date is not
    read, and the ladder's own wait stands.

    A challenge's signature beats the status, and a Retry-After beside it is still obeyed. Retry-After counts on 429, on
    any other 4xx and 5xx, and on a redirection (RFC 9110, 10.2.3); on a 2xx it is about the resource and not about us.

    An object store says "503 Slow Down" to who asks one bucket too quickly, with no Retry-After (Amazon S3 API Reference,
    "Error responses": SlowDown, and ServiceUnavailable, "reduce your request rate"; Azure: ServerBusy).
    """
    stated, shown = _stated(status, headers, now)
    challenge = _challenge(status, headers)
    if challenge is not None:
        return Refusal("challenge", stated, f"{status}, {challenge}{shown}")
    if status == 429:
        # RFC 6585, 4: too many requests.
        return Refusal("rate_limited", stated, f"429{shown}")
    if status == 503 and bucket:
        return Refusal("rate_limited", stated, f"503 of a bucket{shown}")
    if stated is not None:
        if status in (401, 403):
            return Refusal("denied", stated, f"{status}{shown}")
        return Refusal("error" if status >= 500 else "rate_limited", stated, f"{status}{shown}")
    if 500 <= status <= 599:
        return Refusal("error", None, str(status), run=True)
    return None


def _stated(status: int, headers: Headers, now: float | None) -> tuple[float | None, str]:
    if not 300 <= status <= 599:
        return None, ""
    dates = _values(headers, "date")
    longest, shown = None, ""
    for value in _values(headers, "retry-after"):
        wait = parse(value, date=dates[0] if dates else None, now=now)
        if wait is not None and (longest is None or wait > longest):
            longest, shown = wait, f", Retry-After: {_printable(value)}"
    return longest, shown


def _challenge(status: int, headers: Headers) -> str | None:
    name, mark = CLOUDFLARE_CHALLENGE
    if any(value.strip(" \t").lower() == mark for value in _values(headers, name)):
        return f"{name}: {mark}"
    for value in _values(headers, AWS_WAF):
        action = value.strip(" \t").lower()
        if (status, action) in AWS_WAF_ACTIONS:
            return f"{AWS_WAF}: {action}"
    return None


def _values(headers: Headers, name: str) -> list[str]:
    mapping = cast("Mapping[object, object]", headers)
    found = mapping.get(name)
    if found is None:
        found = mapping.get(name.encode("ascii"))
    values = [found] if isinstance(found, str | bytes) else found if isinstance(found, Sequence) else []
    return [value.decode("latin-1") if isinstance(value, bytes) else str(value) for value in values]


def _printable(value: str) -> str:
    return "".join(mark if mark.isprintable() else "?" for mark in value.strip(" \t"))[:SHOWN]
