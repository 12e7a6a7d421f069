"""The store of many machines: one Postgres database that all crawls share.

One function call and one round trip a booking. The functions (pgbooking.sql) lock the keys in sorted order, then read the
server's clock once; a refusal takes no lock and writes nothing. Bookings do not wait for the disk
(`synchronous_commit = off`), holds, releases and origins do.

The clock is the server's: clients learn "in so many microseconds", and what their own clocks say does not matter. If the
server's clock is set back, every key waits for as long; if it is set forward, due times and holds end early by as much.

A crash of the server may lose the bookings of its last moments (about three times its `wal_writer_delay`, 0.6 s). So after
a connection was lost, every key counts as booked at the moment of the new one, for one interval: until that is over this
store answers `Wait` for it, without asking. Each process does so by itself, and all reconnect at about the same time.

One connection, opened again by itself after it was lost: the call that finds it broken raises `StoreError`, and the next
one connects. What a session needs is set by SET after connecting, and statements are prepared: so a pooler between (such
as PgBouncer) has to work in session mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from scrapy_polite.limits.gcra import Booked, Wait, merged

from .base import MICRO, Cause, Held, Peek, StoreError, hold_micros, settle_micros
from .memory import follow, monotonic_micros
from .pgdeferred import PostgresDeferred
from .pgorigins import AGAIN, PostgresOrigins
from .pgsession import Session
from .pgtext import array, texts, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_polite.limits.gcra import Want

ALIASES_KEPT = 60 * MICRO
"""Microseconds after which the known aliases are forgotten, and learnt again from the next answers."""

NOTHING: dict[str, str] = {}

# All numbers go as text: psycopg would send each in the smallest type that it fits, and every mix of types would be a
# statement of its own to prepare.
BOOK_ONE = "SELECT polite.book_one(%s, %s, %s, %s)"
BOOK_ALL = "SELECT polite.book_all(%s::text[], %s::bigint[], %s::bigint[], %s)"
BOOK_EACH = "SELECT polite.book_each(%s::text[], %s::int[], %s::bigint[], %s::bigint[], %s::int[], %s, %s::text[], %s::text[])"
ALIASES = "SELECT s.key, s.alias FROM polite.slot s WHERE s.key = ANY (%s::text[]) AND s.alias IS NOT NULL"
PEEK = """
SELECT q.key, greatest(0, s.due - c.now, s.last - c.now), greatest(0, s.hold - c.now), s.kind, s.reason, s.stated
FROM unnest(%s::text[]) q (key), LATERAL (SELECT polite.standing(q.key) AS key OFFSET 0) k,
    polite.slot s, (SELECT polite.clock() AS now OFFSET 0) c
WHERE s.key = k.key
"""
HELD = """
SELECT s.key, s.hold - c.now, s.kind, s.reason, s.stated FROM polite.slot s, (SELECT polite.clock() AS now OFFSET 0) c
WHERE s.hold > 0 AND s.hold > c.now ORDER BY s.key
"""


class PostgresStore(PostgresOrigins, PostgresDeferred):
    """A `Store` in the Postgres database that `url` names (libpq's form: passwords, TLS and all else in it, or in the
    environment, or in ~/.pgpass). Makes its schema if it is not there; not `make`: raises `NothingThereError` then.

    Raises `ValueError` that names POLITE_STORE, the URL without its password and what to do if there can be no store;
    `StoreTooNewError` for a schema of a newer version. A store belongs to the process that opened it.
    """

    blocking = True

    def __init__(self, url: str, *, make: bool = True) -> None:
        self._session = Session(url, make=make)
        self._alias: dict[str, str] = {}
        self._alias_end = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._session.shown!r})"

    def now(self) -> int:
        return whole(self._session.ask("SELECT polite.clock()")[0][0])

    def book(self, wants: Sequence[Want], ahead: int = 0) -> list[Booked | Wait]:
        self._session.connected()
        if not wants:
            self._session.check()
        if len(wants) == 1 and not self._alias and self._session.back is None:
            # Nearly always: nothing to follow, nothing lost.
            found = self._booked([merged(wants[0])], ahead)
            if found is not None:
                return found
            self._learn(wants)
        for _ in range(AGAIN):
            alias = self._alias
            if alias and monotonic_micros() > self._alias_end:
                alias = self._alias = {}
            followed = [follow(want, alias) for want in wants] if alias else [(want, NOTHING) for want in wants]
            plans = [merged(want) for want, _ in followed]
            answers = [self._rest(want) for want in plans]
            asked = [want for want, rest in zip(plans, answers, strict=True) if rest is None]
            found = self._booked(asked, ahead, {d.key: alias[d.key] for want in wants for d in want if d.key in alias})
            if found is None:
                self._learn(wants)
                continue
            rest = iter(found)
            return [_named(answer or next(rest), names) for answer, (_, names) in zip(answers, followed, strict=True)]
        raise StoreError(f"POLITE_STORE: {self._session.shown}: the keys of a booking changed {AGAIN} times while it was made")

    def _booked(self, wants: list[Want], ahead: int, alias: dict[str, str] = NOTHING) -> list[Booked | Wait] | None:
        """The answers of the server, or None to ask again. `alias`: what was followed, which may be so no more."""
        if len(wants) != 1 or not wants[0] or alias:
            return self._each(wants, ahead, alias) if wants else []
        want = wants[0]
        values: tuple[object, ...]
        if len(want) == 1:
            values = (want[0].key, str(want[0].increment), str(want[0].tolerance), str(ahead))
            answer = self._answer(BOOK_ONE, values)
        else:
            want = tuple(sorted(want, key=lambda demand: demand.key))
            increments, tolerances = array(demand.increment for demand in want), array(demand.tolerance for demand in want)
            values = (texts(demand.key for demand in want), increments, tolerances, str(ahead))
            answer = self._answer(BOOK_ALL, values)
        if answer is None:
            return None
        now, slot = answer[0], answer[1]
        if slot <= now + ahead:
            return [Booked(slot, now)]
        return [Wait(slot - now, want[answer[2] - 1].key if len(want) > 1 else want[0].key)]

    def _each(self, wants: list[Want], ahead: int, alias: dict[str, str]) -> list[Booked | Wait] | None:
        demands = [demand for want in wants for demand in want]
        keys = sorted({demand.key for demand in demands})
        position = {key: number for number, key in enumerate(keys, 1)}
        ends, end = [], 0
        for want in wants:
            end += len(want)
            ends.append(end)
        at = array(position[demand.key] for demand in demands)
        increments, tolerances = array(demand.increment for demand in demands), array(demand.tolerance for demand in demands)
        followed = (texts(alias), texts(alias.values())) if alias else (None, None)
        answer = self._answer(BOOK_EACH, (texts(keys), at, increments, tolerances, array(ends), str(ahead), *followed))
        if answer is None:
            return None
        now, *pairs = answer
        return [
            Booked(slot, now) if slot <= now + ahead else Wait(slot - now, demands[slowest - 1].key)
            for slot, slowest in zip(pairs[::2], pairs[1::2], strict=True)
        ]

    def _answer(self, query: str, values: tuple[object, ...]) -> list[int] | None:
        return cast("list[int] | None", self._session.ask(query, values, connect=False)[0][0])

    def _rest(self, want: Want) -> Wait | None:
        """How long `want` still has to wait because the connection was lost: its keys may have been booked just then."""
        if self._session.back is None:
            return None
        passed = monotonic_micros() - self._session.back
        left, key = max(((demand.increment - demand.tolerance - passed, demand.key) for demand in want), default=(0, ""))
        return Wait(left, key) if left > 0 else None

    def _learn(self, wants: Sequence[Want]) -> None:
        """Ask what the keys of `wants` stand for now."""
        keys = {demand.key for want in wants for demand in want}
        found = {str(key): str(name) for key, name in self._session.ask(ALIASES, (texts(keys),))}
        self._alias = {key: name for key, name in self._alias.items() if key not in keys} | found
        self._alias_end = monotonic_micros() + ALIASES_KEPT

    def hold(self, key: str, seconds: float, cause: Cause) -> float:
        values = (key, str(hold_micros(seconds)), cause.kind, cause.reason, cause.stated)
        return whole(self._agreed("SELECT polite.hold(%s, %s, %s, %s, %s)", values)) / MICRO

    def release(self, key: str) -> bool:
        return bool(self._agreed("SELECT polite.release(%s)", (key,)))

    def settle(self, key: str, micros: int) -> None:
        self._session.ask("SELECT polite.settle(%s, %s)", (key, str(settle_micros(micros))))

    def peek(self, keys: Iterable[str]) -> dict[str, Peek]:
        asked = list(dict.fromkeys(keys))
        seen = {key: Peek(0, 0, None) for key in asked}
        for key, due, hold, kind, reason, stated in self._session.ask(PEEK, (texts(asked),)):
            cause = Cause(str(kind), str(reason), bool(stated)) if whole(hold) else None
            seen[str(key)] = Peek(whole(due) / MICRO, whole(hold) / MICRO, cause)
        return seen

    def held(self) -> list[Held]:
        return [
            Held(str(key), whole(left) / MICRO, Cause(str(kind), str(reason), bool(stated)))
            for key, left, kind, reason, stated in self._session.ask(HELD)
        ]

    def purge(self, idle: float, limit: int = 1000) -> int:
        return self._in_steps("SELECT polite.purge(%s, %s)", idle, limit)

    def close(self) -> None:
        self._session.close()


def _named(answer: Booked | Wait, names: dict[str, str]) -> Booked | Wait:
    """A wait names the key as the want did."""
    return Wait(answer.micros, names[answer.key]) if names and isinstance(answer, Wait) and answer.key in names else answer
