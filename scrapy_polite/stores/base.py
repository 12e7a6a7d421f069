"""What every store promises, and how one is opened by its URL."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from scrapy_polite.origins import rulings

from .deferring import KeepsDeferred

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy_polite.limits.gcra import Booked, Wait, Want

Ruling = rulings.Ruling
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


@dataclass(frozen=True, slots=True)
class Kept:
    """What a store keeps of one host. `origin`: where it was placed, by the name that it had then; `anchors`: what it points
    at, in the judge's order, each once; `facts`: its evidence as JSON text, which no store reads."""

    host: str
    origin: str
    confidence: float
    anchors: tuple[str, ...]
    facts: str


class News(NamedTuple):
    """What was kept after a version: `version`, up to which `hosts` tell everything; the hosts, in the order of their last
    keeping; `ruled`: whether a ruling was made or taken back since. A ruling that runs out is no news."""

    version: int
    hosts: list[Kept]
    ruled: bool


class StoreError(Exception):
    """The store cannot answer. Whoever asked holds everything, says so once, and asks again later."""


class NothingThereError(Exception):
    """There is no store yet, and none was to be made."""


class StoreTooNewError(StoreError, ValueError):
    """The file was written by a newer version of this package: a wrong set-up, not a passing trouble."""


class Store(KeepsDeferred, Protocol):
    """Due times, holds and origins of all crawls that use it. Safe to use from several threads.

    Every method that takes a key follows aliases: an origin that turned out to be another one is that other one, for
    its due time and holds. Times go out as seconds from now, or as microseconds of the store's own clock,
    which wall clocks do not move. Any method may raise `StoreError`.

    Names become one by `merge`, and only `split` takes them apart. An alias points to the name that stands, in one step,
    and everybody's bookings follow it, however late their process learns of it.
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

    def merge(self, name: str, into: str) -> None:
        """`name` and `into` are one origin from now on, with all names that are one with either.

        What `into` stands for stands for all of them, from the later of both due times and of both holds (and the cause of
        that). What was noted of `name` is forgotten: figures of two origins have no mean that is true of either. If they are
        one already, in whichever direction, nothing changes: so it may be told again, by anybody. It takes nothing apart: a
        name that has moved from one origin to another is split from the first before.
        """
        ...

    def split(self, name: str, of: str) -> None:
        """`name` stands by itself again, and starts from due time, newest slot and hold of what it was one with.

        All other names stay with `of`, which keeps due time and hold as well, since either may be what a refusal was heard
        from. If `name` and `of` are not one, nothing changes: so it may be told again, by anybody, also after `name` was
        merged into a third. `split(name, standing([name])[name])` frees a name whatever it stands for.
        """
        ...

    def standing(self, names: Iterable[str]) -> dict[str, str]:
        """The name that each of `names` stands for: itself, if it is no alias."""
        ...

    def aliases_of(self, origins: Iterable[str], most: int = 100) -> dict[str, list[str]]:
        """The names that stand for each of `origins`, but for itself, at most `most` for each; of one that has none nothing."""
        ...

    def ages(self, anchors: Iterable[str], *, allot: bool = True) -> dict[str, int]:
        """The number of each anchor: unique, the same in every process, the lower the older, and never given again.

        Who asks first makes it. An anchor that nobody asked for, or pointed at, may be forgotten: see `forget_hosts`.
        Not `allot`: only of those that have one, and nothing is written.
        """
        ...

    def keep(self, hosts: Sequence[Kept]) -> int:
        """Write what is known of `hosts`, all of it in one step, in place of what was kept of them; the version after it.

        Every anchor has an age afterwards. Of a host that is there twice the later one is kept. Each keeping is news.
        """
        ...

    def kept(self, hosts: Iterable[str]) -> dict[str, Kept]:
        """What is kept of those among `hosts` of which something is."""
        ...

    def pointing_at(self, anchors: Iterable[str], most: int) -> dict[str, Kept]:
        """The hosts that point at any of `anchors`, at most `most` for each of them: those that were kept first."""
        ...

    def news(self, since: int, most: int = 1000) -> News:
        """What was kept after version `since`, at most `most` hosts; go on from the version that is answered.

        Versions only grow, and are the same in every process: nothing that is written later has a lower one. A `since`
        that no version has reached, because the store was made anew, counts as 0. Hosts that are forgotten are no news.
        """
        ...

    def origins(self, most: int = 10_000) -> list[tuple[str, int]]:
        """The origins of all kept hosts and how many hosts each has, by name; aliases are counted where they stand."""
        ...

    def hosts_of(self, origin: str, most: int = 1000) -> list[Kept]:
        """The hosts that are kept under `origin` or a name that is one with it: under what stands first, then by alias, and
        the ones that were kept first."""
        ...

    def rule(self, ruling: Ruling) -> None:
        """Keep a ruling, in place of an earlier one on its subject. On disk before it returns."""
        ...

    def unrule(self, subject: str) -> bool:
        """Take back the ruling on `subject`; whether there was one that had not run out."""
        ...

    def rulings(self) -> list[Ruling]:
        """All rulings that have not run out, by subject."""
        ...

    def lapsed(self) -> list[Ruling]:
        """All rulings that have run out and were not taken back, by subject: what they did to names is still to be undone."""
        ...

    def note(self, subject: str, kind: str, text: str) -> None:
        """Keep what was learned of a subject, in place of what was noted of that kind before.

        The newest may be lost at a power cut. Aliases are not followed: what was learned of one name is not true of
        another. `text`: of no more than `LONGEST_NOTE` characters, else `ValueError`; no store reads it.
        """
        ...

    def amend(self, subject: str, kind: str, change: Callable[[str | None], str]) -> str:
        """Keep what `change` makes of the note that is there (None: there is none), as no other process changes it meanwhile;
        what is kept then. Else as `note`.

        `change` may be called more than once, and asks the store for nothing.
        """
        ...

    def notes(self, subjects: Iterable[str]) -> dict[str, dict[str, str]]:
        """What is noted of those among `subjects` of which something is: by kind."""
        ...

    def forget_hosts(self, idle: float, limit: int = 1000) -> int:
        """Forget at most `limit` hosts that were not kept for `idle` seconds of the wall clock; how many.

        Each call also looks at as many of the oldest anchors, and of the oldest aliases, and forgets those that were not asked
        for in that time either: anchors that no host points at, and aliases under which no host is kept and that no ruling
        names; and as many notes that nobody made or asked for in that time. Never a ruling. Give more than the time for which
        any process may go by an old placement.
        """
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


def open_existing(url: str) -> Store | None:
    """The store that is there, for whoever wants to look at it; None where there is none yet, and for "memory:", which is in
    the process of a crawl. Makes nothing, but an older one is brought up to this version. Errors as `open_store`."""
    if url == "memory:":
        return None
    scheme, _, path = url.partition(":")
    if scheme == "sqlite" and not Path(path).expanduser().exists():
        return None
    if scheme not in ("postgresql", "postgres"):
        return open_store(url)
    from .postgres import PostgresStore

    try:
        return PostgresStore(url, make=False)
    except NothingThereError:
        return None


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


DAY = 86_400.0
"""Seconds. How often it is written down that an anchor, an alias or a note is still asked for."""

LONGEST_NOTE = 32_768
"""Characters of a note: it is read as a whole, with others."""


def each_once(hosts: Iterable[Kept]) -> list[Kept]:
    """What `keep` writes: every host once, as it was given last; every anchor once."""
    last = {kept.host: kept for kept in hosts}
    return [replace(last[host], anchors=tuple(dict.fromkeys(last[host].anchors))) for host in last]


def checked(ruling: Ruling) -> Ruling:
    """The ruling, if it is one that can be kept. Raises `ValueError` that names what is wrong."""
    if ruling.verb not in ("join", "split"):
        raise ValueError(f'a ruling on {ruling.subject!r}: the verb is {ruling.verb!r}. Give "join" or "split"')
    if not ruling.subject:
        raise ValueError("a ruling without a subject: give a host, or the name of an origin")
    for what, seconds in (("made", ruling.made), ("until", ruling.until)):
        if seconds is not None and not math.isfinite(seconds):
            raise ValueError(f"a ruling on {ruling.subject!r}: {what} is {seconds!r}. Give seconds, or for until None")
    return ruling


def checked_note(subject: str, kind: str, text: str) -> tuple[str, str, str]:
    """What `note` writes. Raises `ValueError` for what is too long to be kept."""
    if len(text) > LONGEST_NOTE:
        raise ValueError(f"a note of {kind!r} on {subject!r} has {len(text)} characters. Give at most {LONGEST_NOTE}")
    return subject, kind, text


def settle_micros(micros: int) -> int:
    """What `settle` moves a key by: no farther than the longest hold, either way."""
    return max(-round(LONGEST_HOLD * MICRO), min(round(LONGEST_HOLD * MICRO), micros))


def hold_micros(seconds: float) -> int:
    """Microseconds of a hold, rounded up; at most `LONGEST_HOLD`, and 0 for what is not in the future."""
    if math.isnan(seconds):
        raise ValueError(f"a hold of {seconds!r} seconds: give a number")
    return math.ceil(max(0.0, min(seconds, LONGEST_HOLD)) * MICRO)
