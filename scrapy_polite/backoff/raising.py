"""When a refusal is the origin's, and not only the site's that gave it.

A hold belongs to the site. Ten sites on one server that refuses would each have to be refused, on every rung; so a hold is
*raised* to the origin:

- when two of its sites were told of one partition of a quota within 300 s, or
- when different sites of one origin begin holds of the same kind close together: two within 60 s, or three within 300 s.

Sites refuse for reasons of their own as well, and then the others would be held for nothing. With 10 sites that refuse once
a day each, the rule is wrong 0.06 times a day; with 50 of them two in 60 s would be wrong 1.7 times a day. So an origin of
many sites, or one that rests on weak evidence, takes three within 60 s (0.02 times a day).

No single site can have its whole origin held, whatever its answers say: anybody can be a tenant. So a partition counts when
another site names it, too; and what is raised is the later end of the holds, but not more than an hour beyond the one before
it. It has the kind and the cause of the first. Not the rung: an origin has its own count on its own ladder. Nothing is raised
to an edge or a bucket, which others share, and nothing is held below a site: a refusal is never about a single URL.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from .refusals import Refusal

TWO_WITHIN: Final = 60.0
THREE_WITHIN: Final = 300.0
"""Seconds between the first and the last of the holds, the bounds included."""

MANY_SITES: Final = 50
"""From so many sites on, two refusals in a minute are chance."""

_RULES: Final = ((2, TWO_WITHIN), (3, THREE_WITHIN))
_STRICT: Final = ((3, TWO_WITHIN),)
_SHARED: Final = ((2, THREE_WITHIN),)
"""Of sites that are told of the same partition of a quota."""

AT_THE_EDGE: Final = ("challenge", "denied", "connect", "tls", "reset")
"""Kinds that an edge has of its own: its walls, and its connections."""

BEYOND: Final = 3_600.0
"""Seconds for which one site alone may have its origin held longer than the others say: the last rung of most ladders."""

VERSION: Final = 2
"""Of the text."""

KEPT: Final = 3
"""Holds that are remembered for each kind, of different sites: what the longest rule needs."""

MOST_KINDS: Final = 32
"""Kinds that are remembered, the newest. There are nine; others would be of a note that a newer version has made."""


class Begun(NamedTuple):
    """A hold of a site that began: plain values, which a store can keep as a row.

    Args:
        site: its key, "site:...".
        kind: of the refusal.
        at: when it began, on a clock that all processes share (seconds).
        until: when it ends, on that clock.
        reason: what was seen, for people.
        partition: of a quota, that the refusal named; "": none.
        raised: it was raised to the origin. Set by `heard` in what it remembers.
    """

    site: str
    kind: str
    at: float
    until: float
    reason: str
    partition: str = ""
    raised: bool = False


@dataclass(frozen=True, slots=True)
class Raised:
    """The origin is to be held, too.

    Args:
        kind: of the holds.
        reason: of the first of them.
        until: the latest end of them, or :data:`BEYOND` the one before it.
        sites: whose holds these are, in the order in which they began.
        news: no earlier raise of this kind still holds the origin. What is no news can only lengthen, and needs no line.
        why: the rule that applied, for people.
    """

    kind: str
    reason: str
    until: float
    sites: tuple[str, ...]
    news: bool
    why: str

    def sentence(self, origin: str, lasts: str) -> str:
        """The line for the log; ``lasts``: how long it is held, in words."""
        return (
            f"Hold: {origin} for {lasts} ({self.kind}: {self.reason}), raised from {', '.join(self.sites)}: {self.why}. "
            "To release the origin leaves the sites' own holds"
        )


Memory = tuple[Begun, ...]
"""The holds of one origin's sites that may still matter, oldest first."""


def may_be_origins(refusal: Refusal, *, behind_edge: bool) -> bool:
    """Whether a refusal of a site may be one of its origin's servers.

    Not one of name servers; nor a quota that was spent with an answer that was served, unless it names its partition: sites of
    one pace spend theirs in the same minute. Behind an edge, which has walls and limits of its own, what it says of itself is
    not: a wall that is known by its signature, a denial, a connection that failed.
    """
    if refusal.kind == "dns" or not (refusal.rung or refusal.partition):
        return False
    return not (behind_edge and (refusal.signature or refusal.kind in AT_THE_EDGE))


def heard(memory: Memory, begun: Begun, *, sites: int, weak: bool = False) -> tuple[Memory, Raised | None]:
    """A site of the origin began a hold: what is to be remembered, and the raise to the origin, if it is one.

    Args:
        memory: what the last call gave; () at first. It has a bound, whatever is heard.
        begun: the hold. A later one of the same site replaces the one before it: it is still one site.
        sites: how many sites the origin is known to have.
        weak: the origin rests on evidence that places its sites only weakly.
    """
    if not begun.site.startswith("site:"):
        # A bucket or an image service has no origin that it shares with sites.
        return memory, None
    others = [past for past in memory if past.kind == begun.kind and past.site != begun.site]
    raised = _raised(others, begun, strict=weak or sites >= MANY_SITES)
    kept = sorted((*others, begun._replace(raised=raised is not None)), key=_order)[-KEPT:]
    rest = [past for past in memory if past.kind != begun.kind]
    kinds = sorted({past.kind: past.at for past in rest}.items(), key=lambda kind: kind[1])[-(MOST_KINDS - 1) :]
    return tuple(sorted((*(past for past in rest if past.kind in dict(kinds)), *kept), key=_order)), raised


def as_text(memory: Memory) -> str:
    """What is remembered as JSON, for a store."""
    return json.dumps({"version": VERSION, "begun": [list(begun) for begun in memory]})


def from_text(text: str) -> Memory:
    """What :func:`as_text` gave; nothing where it is damaged, or of another version."""
    try:
        found = json.loads(text)
    except ValueError:
        return ()
    rows = found.get("begun") if isinstance(found, dict) and found.get("version") == VERSION else None
    return tuple(Begun(*row) for row in rows if _is_begun(row)) if isinstance(rows, list) else ()


def _is_begun(row: object) -> bool:
    if not isinstance(row, list) or len(row) != len(Begun._fields):
        return False
    site, kind, at, until, reason, partition, raised = row
    texts = all(isinstance(text, str) for text in (site, kind, reason, partition))
    times = all(isinstance(moment, int | float) and math.isfinite(moment) for moment in (at, until))
    return texts and times and isinstance(raised, bool)


def _raised(others: list[Begun], begun: Begun, *, strict: bool) -> Raised | None:
    together: list[Begun] = []
    why = ""
    # Quotas of different partitions, and what is no quota, are different stories.
    alike = [past for past in others if past.partition == begun.partition]
    for least, within in _SHARED if begun.partition else _STRICT if strict else _RULES:
        near = [past for past in alike if abs(begun.at - past.at) <= within]
        if len(near) + 1 >= least:
            together = sorted((*near, begun), key=_order)
            told = "told of one quota" if begun.partition else "refused"
            why = f"{len(together)} of its sites were {told} within {within:g} s"
            break
    if not together:
        return None
    *_, before, last = sorted(hold.until for hold in together)
    held = any(past.raised for past in others) and begun.at < max(past.until for past in others)
    return Raised(
        kind=begun.kind,
        reason=together[0].reason,
        until=min(last, before + BEYOND),
        sites=tuple(hold.site for hold in together),
        news=not held,
        why=why,
    )


def _order(begun: Begun) -> tuple[float, str, str]:
    return begun.at, begun.site, begun.kind
