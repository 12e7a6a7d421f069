"""What every store promises, and how one is opened by its URL."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_polite.limits.gcra import Booked, Wait, Want

MICRO = 1_000_000
LONGEST_HOLD = 100 * 365 * 86_400.0
"""Seconds. What is stated is obeyed in full; longer than a century is the same as for ever, and fits in 64 bits."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a key is held: the kind of refusal ("rate_limited", "challenge", "denied", "error", "parked"), and what was
    seen, for people ("429, Retry-After: 5"). `stated`: the server itself named the time."""

    kind: str
    reason: str
    stated: bool = False


@dataclass(frozen=True, slots=True)
class Peek:
    """Seconds until a key is due and until its hold ends; 0: now. Without a live hold there is no cause."""

    due_in: float
    hold_in: float
    cause: Cause | None


@dataclass(frozen=True, slots=True)
class Held:
    """A live hold: the key, the seconds that are left of it, and why."""

    key: str
    seconds: float
    cause: Cause


class StoreError(Exception):
    """The store cannot answer. Whoever asked holds everything, says so once, and asks again later."""


class StoreTooNewError(StoreError, ValueError):
    """The file was written by a newer version of this package: a wrong set-up, not a passing trouble."""


class Store(Protocol):
    """Due times, holds and origins of all crawls that use it. Safe to use from several threads.

    Every method that takes a key follows aliases: an origin that turned out to be another one is that other one, for
    its due time, holds and anchors. Times go out as seconds from now, or as microseconds of the store's own clock,
    which wall clocks do not move. Any method may raise `StoreError`.
    """

    @property
    def blocking(self) -> bool:
        """Whether an answer may take as long as a network does: then call it from a thread, never from the reactor's."""
        ...

    def now(self) -> int:
        """Microseconds on the store's own clock."""
        ...

    def book(self, wants: Sequence[Want], ahead: int = 0) -> list[Booked | Wait]:
        """Book each want on all its keys or on none, in order, in one atomic step; one answer a want.

        A want sees what the ones before it have booked. `ahead`: microseconds that a slot may lie in the future. A
        `Wait` names the key as the want did.
        """
        ...

    def hold(self, key: str, seconds: float, cause: Cause) -> float:
        """No slot of `key` for so many seconds; the seconds now in force. On disk before it returns.

        Holds merge by maximum: one that ends sooner than the hold in force changes neither its end nor its cause.
        """
        ...

    def release(self, key: str) -> bool:
        """End the hold of `key`; whether there was one. What the key had already spent stays spent."""
        ...

    def settle(self, key: str, micros: int) -> None:
        """Move `due` of `key` by so many microseconds: what a request turned out to cost, or a refund (negative).

        Never below the newest slot that was handed out, so none is undone. A key that was never seen stays so. What a
        key has gained by being idle is not asked back: a cost moves `due` on from where it was, which may be the past.
        """
        ...

    def peek(self, keys: Iterable[str]) -> dict[str, Peek]:
        """How things stand with each of `keys`. Changes nothing; a key that was never seen is due now."""
        ...

    def held(self) -> list[Held]:
        """All live holds, by key."""
        ...

    def origin(self, anchors: Sequence[str], name: str) -> str:
        """The name of the origin that `anchors` belong to; atomic, the first writer wins.

        No anchor known: all of them belong to `name` from now on. Some known: the others join their origin. If they
        belong to different origins, these are one: the oldest name stays, the others become aliases of it, and the
        stricter of their due times and holds hold for it.
        """
        ...

    def origins(self) -> dict[str, list[str]]:
        """The anchors of every origin, by its name; aliases are not names of their own."""
        ...

    def purge(self, idle: float, limit: int = 1000) -> int:
        """Forget at most `limit` keys idle for more than `idle` seconds, never one with a live hold; how many."""
        ...

    def close(self) -> None:
        """Give back files and connections. Afterwards every other method raises `StoreError`."""
        ...


ACCEPTED = (
    '"memory:", "sqlite:PATH", "sqlite:" for a file in the project\'s data directory, or "postgresql://USER@HOST/DATABASE"'
)


def open_store(url: str) -> Store:
    """The store that `url` (POLITE_STORE) names.

    "memory:" is the same store for all that is in one process. A bare "sqlite:" is for whoever knows the data directory to
    resolve. Errors are `ValueError`s that name
    POLITE_STORE, the value and the accepted forms; for a file also its path, and what to do.
    """
    # Imported where they are used: a crawl in memory does not need sqlite3 to be there.
    if url == "memory:":
        from .memory import OF_THIS_PROCESS

        return OF_THIS_PROCESS.opened_again()
    scheme, _, path = url.partition(":") if isinstance(url, str) else ("", "", "")
    if scheme == "sqlite" and path and not path.startswith(":") and "\0" not in path:
        from .sqlite import SQLiteStore

        return SQLiteStore(Path(path))
    if scheme in ("postgresql", "postgres") and path.startswith("//"):
        from .postgres import PostgresStore

        return PostgresStore(url)
    shown = redacted_url(url) if isinstance(url, str) else url
    raise ValueError(f"POLITE_STORE: {shown!r} is no store. Give {ACCEPTED}")


def scratch_store() -> Store:
    """One in memory that nobody else sees."""
    from .memory import MemoryStore

    return MemoryStore()


def redacted_url(url: str) -> str:
    """A store's URL as it may be shown in a log or a message: without any password. Other text is left as it is.

    Rather too much is hidden than too little: everything from the user's name to the last "@", what stands in a port's
    place and is none, and in the query all values but those of `SHOWN`.
    """
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url
    user, at, place = rest.rpartition("@")
    if at:
        name, colon, _ = user.partition(":")
        user = name + colon + "***" * bool(colon)
    address, query, values = place.partition("?")
    hosts, slash, database = address.partition("/")
    hosts = NO_PORT.sub(lambda found: found[1] or ":***", hosts)
    pairs = [pair.partition("=") for pair in values.split("&")]
    values = "&".join(f"{name}{equals}{value if name in SHOWN else '***' * bool(equals)}" for name, equals, value in pairs)
    return f"{scheme}://{user}{at}{hosts}{slash}{database}{query}{values}"


SHOWN = frozenset({"host", "hostaddr", "port", "user", "dbname", "sslmode", "connect_timeout", "target_session_attrs"})
NO_PORT = re.compile(r"(\[[^\]]*\])|:(?!\d*(?:,|$))[^,]*")
"""After a host's name: what stands where a port should, but is none. Somebody forgot the "@host"."""


def settle_micros(micros: int) -> int:
    """What `settle` moves a key by: no farther than the longest hold, either way."""
    return max(-round(LONGEST_HOLD * MICRO), min(round(LONGEST_HOLD * MICRO), micros))


def hold_micros(seconds: float) -> int:
    """Microseconds of a hold, rounded up; at most `LONGEST_HOLD`, and 0 for what is not in the future."""
    if math.isnan(seconds):
        raise ValueError(f"a hold of {seconds!r} seconds: give a number")
    return math.ceil(max(0.0, min(seconds, LONGEST_HOLD)) * MICRO)
