"""Which answers say "not now", of what kind, and whether they name a time.

Looked at in this order: what a vendor's header says, what its page says with this status (`signatures`), then the status
itself. A challenge on a 429 is a challenge: waiting does not end it. A time that is stated beside it is obeyed all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from . import ratelimit
from .headers import SHOWN, Headers, printable, values
from .marks import find
from .retry_after import parse

__all__ = ["SHOWN", "Headers", "Needs", "Refusal", "recognise"]

Needs = Literal["nothing", "run", "urls", "pages"]
"""What a refusal needs beside itself, before the site is held:

- `nothing`: it acts at once.
- `run`: a run of failures, as one 5xx in twenty is chance (`ladders.Run`).
- `urls`: denials in a row, of different URLs, as one 403 is about a page and not about the site (`suspicion`).
- `pages`: the same mark on another URL, as a good page may carry it (`suspicion`).
"""

_DENIALS: Final = (401, 403, 451)
"""RFC 9110, 15.5.2 and 15.5.4; RFC 7725. 407 is a proxy's, and 404 and 410 are answers."""

_TEXT: Final = ("text/html", "application/xhtml+xml", "text/plain", "text/xml", "application/xml")
"""Media types whose body is looked at, with everything that is JSON."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One answer that asks to slow down.

    Args:
        kind: the ladder it belongs to: one of `ladders.DEFAULT_RUNGS`.
        stated: seconds that the server named, to be obeyed in full; None when it named none.
        reason: what was seen, for people.
        needs: what it needs before it begins a hold.
        signature: the name of the signature that it was recognised by; "": by its status alone.
        rung: whether it uses up a rung. A quota that is spent, on an answer that was served, does not.
        partition: the partition of the quota, where the server names one: sites that name the same one share it.
    """

    kind: str
    stated: float | None
    reason: str
    needs: Needs = "nothing"
    signature: str = ""
    rung: bool = True
    partition: str = ""

    @property
    def run(self) -> bool:
        """Whether it says nothing by itself, and only counts towards a run."""
        return self.needs == "run"


def recognise(
    status: int, headers: Headers, now: float | None = None, body: bytes | None = None, *, bucket: bool = False
) -> Refusal | None:
    """The refusal that an answer is, or None.

    Args:
        status: of the answer.
        headers: of the answer.
        now: the wall clock, for a Retry-After date in an answer that has no Date header; without both such a date is not
            read, and the ladder's own wait stands.
        body: what was received of it, decoded. None: it is not known; then a bare 401 or 403 is no refusal, since its page
            might say what it is.
        bucket: an object store has answered. It says "503 Slow Down" to who asks one bucket too quickly, with no
            Retry-After (Amazon S3 API Reference, "Error responses": SlowDown, and ServiceUnavailable; Azure: ServerBusy).

    Retry-After counts on 429, on any other 4xx and 5xx, and on a redirection (RFC 9110, 10.2.3); on a 2xx it is about the
    resource and not about us. It takes precedence over `RateLimit` (section 7 of its draft).
    """
    after, shown = _retry_after(status, headers, now)
    quota = ratelimit.read(headers, now)
    spent, stated, partition = None, after, ""
    if quota is not None and quota.hold is not None:
        spent, partition = quota.hold, quota.partition
        if after is None:
            stated, shown = spent, f", {quota.shown}"
    if (seen := find(status, headers, body if body and is_text(headers) else b"")) is not None:
        row = seen.signature
        # With a good status, the mark on a page that has other content may be that content.
        needs: Needs = "pages" if 200 <= status <= 299 and row.marks and not seen.alone else "nothing"
        return Refusal(row.kind, stated, f"{status}, {row.name}{shown}", needs, row.name, partition=partition)
    if status == 429:
        # RFC 6585, 4: too many requests.
        return Refusal("rate_limited", stated, f"429{shown}", partition=partition)
    if status == 503 and bucket:
        return Refusal("rate_limited", stated, f"503 of a bucket{shown}", partition=partition)
    if after is not None:
        kind = "denied" if status in _DENIALS else "error" if status >= 500 else "rate_limited"
        return Refusal(kind, after, f"{status}{shown}", partition=partition)
    if spent is not None:
        # Where the answer is a good one, nothing was refused yet.
        refused = status in _DENIALS or status >= 500
        return Refusal("rate_limited", spent, f"{status}{shown}", rung=refused, partition=partition)
    if 500 <= status <= 599:
        return Refusal("error", None, str(status), "run")
    if status in _DENIALS and body is not None and not (bucket or _is_store(headers)):
        return Refusal("denied", None, str(status), "urls")
    return None


def _retry_after(status: int, headers: Headers, now: float | None) -> tuple[float | None, str]:
    if not 300 <= status <= 599:
        return None, ""
    dates = values(headers, "date")
    longest, shown = None, ""
    for value in values(headers, "retry-after"):
        wait = parse(value, date=dates[0] if dates else None, now=now)
        if wait is not None and (longest is None or wait > longest):
            longest, shown = wait, f", Retry-After: {printable(value)}"
    return longest, shown


def _is_store(headers: Headers) -> bool:
    """Whether an object store has answered, also through an edge. It denies what it does not have to who may not list it
    (Amazon S3 API Reference, GetObject, "Permissions"), so its denials are about objects, however many."""
    return any(server.lower() == "amazons3" for server in values(headers, "server"))


def is_text(headers: Headers) -> bool:
    types = values(headers, "content-type")
    if not types:
        # A recipient may look into what has no type (RFC 9110, 8.3).
        return True
    media = types[0].partition(";")[0].strip(" \t").lower()
    return media in _TEXT or media.endswith(("/json", "+json"))
