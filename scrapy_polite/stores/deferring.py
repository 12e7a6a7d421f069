"""Requests that were put off instead of made: what every store promises about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["AHEAD", "COLUMNS", "Deferred", "KeepsDeferred", "by_turn"]


@dataclass(frozen=True, slots=True)
class Deferred:
    """One request that was put off. Times are unix seconds.

    `owner`: whose it is, "project/spider". `fingerprint`: the same for what is the same request to the same callback; one
    owner has each once. `key`: what it waits for, `kind` and `reason`: why. `priority`: as the spider gave it. `not_before`:
    when the hold of its key ends. `request`: all of it as JSON text, which no store reads; `callback` and `errback`: the names
    of the spider's methods, "" for none. `run`: who has taken it, and `until` when that counts; "" for nobody.
    """

    owner: str
    fingerprint: str
    key: str
    url: str
    method: str
    callback: str
    errback: str
    kind: str
    reason: str
    priority: int
    not_before: float
    made: float
    request: str
    run: str = ""
    until: float = 0.0


AHEAD: Final = 3_600.0
"""Seconds. What lies further in the future was written by a clock that was wrong: nobody waits until it would be right. Of what
is taken too early for that its hold is still in the store."""

COLUMNS: Final = tuple(Deferred.__slots__)
"""In the order of the tables, and of the class."""


def by_turn(row: Deferred) -> tuple[int, float, str]:
    """The order in which rows are taken."""
    return -row.priority, row.made, row.fingerprint


class KeepsDeferred(Protocol):
    """The part of a `Store` that is about deferred requests. Times are of the store's wall clock."""

    def defer(self, rows: Sequence[Deferred]) -> None:
        """Keep requests that are put off, free for whoever takes them, each in place of an earlier one of the same owner and
        fingerprint. All or nothing of up to a thousand, and on disk before it returns."""
        ...

    def take_deferred(self, owner: str, run: str, most: int, lease: float, within: float = 0.0) -> list[Deferred]:
        """Take at most `most` of the requests of `owner` that nobody has, and whose hold ends `within` so many seconds, for
        `run`: the highest priority first, and the oldest of one priority. Nobody else gets them for `lease` seconds, which
        `renew_deferred` begins anew; they stay in the store until they are `done_deferred`, or deferred again.
        """
        ...

    def renew_deferred(self, run: str, lease: float) -> int:
        """What `run` has taken is its own for `lease` seconds from now; how many those are."""
        ...

    def done_deferred(self, owner: str, fingerprints: Sequence[str], run: str) -> int:
        """Forget what was made, or has failed at its errback; how many. Only what `run` has taken."""
        ...

    def hasten_deferred(self, key: str) -> int:
        """The hold of `key` was ended by hand: what waits for it may be taken now; how many those are."""
        ...

    def deferred(self, owner: str | None = None, key: str | None = None, most: int = 10_000) -> list[Deferred]:
        """At most `most` of the requests that are deferred, taken ones among them: all, or those of an owner or key."""
        ...

    def count_deferred(self) -> dict[str, int]:
        """How many requests are deferred for each key, by key."""
        ...

    def drop_deferred(self, owner: str | None = None, key: str | None = None) -> int:
        """Forget deferred requests, all or those of an owner or key, taken ones among them; how many."""
        ...
