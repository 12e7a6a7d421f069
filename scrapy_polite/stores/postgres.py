"""The store of many machines: one Postgres database that all crawls share.

One function call and one round trip a booking. The functions (pgschema.sql) lock the keys in sorted order, then read the
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

import os
from threading import Lock
from typing import TYPE_CHECKING, cast

from scrapy_polite.limits.gcra import Booked, Wait, merged

from .base import ACCEPTED, MICRO, Cause, Held, Peek, StoreError, StoreTooNewError, hold_micros, settle_micros
from .memory import follow, monotonic_micros
from .pglink import Link, SilentServerError
from .pgschema import NotOursError, prepare

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy_polite.limits.gcra import Want

    from .pglink import Connection, Rows

AGAIN = 10
"""Times that a call is repeated because keys became aliases, or were purged, while it waited for their locks."""

ALIASES_KEPT = 60 * MICRO
"""Microseconds after which the known aliases are forgotten, and learnt again from the next answers."""

STEP = 1_000
"""Rows that one statement purges, so that nobody waits long for their locks."""

FRESH = 3_600 * MICRO
"""Microseconds after a lost connection for which every key is looked at: no interval is longer than that."""

OUR_FAULT = ("40001", "40P01", "55P03", "57014")
"""Serialization failure, deadlock, lock not available, query cancelled (Postgres, Appendix A): the session is still good."""

BOOK_ONE = "SELECT * FROM polite.book_one(%s, %s, %s, %s)"
BOOK_ALL = "SELECT * FROM polite.book_all(%s::text[], %s::bigint[], %s::bigint[], %s)"
BOOK_EACH = "SELECT * FROM polite.book_each(%s::text[], %s::int[], %s::bigint[], %s::bigint[], %s::int[], %s)"
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
ORIGINS = "SELECT o.name, a.anchor FROM polite.origin o JOIN polite.anchor a ON a.name = o.name ORDER BY o.age, a.anchor"


class PostgresStore:
    """A `Store` in the Postgres database that `url` names (libpq's form: passwords, TLS and all else in it, or in the
    environment, or in ~/.pgpass). Makes its schema if it is not there.

    Raises `ValueError` that names POLITE_STORE, the URL without its password and what to do if there can be no store;
    `StoreTooNewError` for a schema of a newer version. A store belongs to the process that opened it.
    """

    blocking = True

    def __init__(self, url: str) -> None:
        self._link = Link(url)
        self._lock = Lock()
        self._process = os.getpid()
        self._open = True
        self._alias: dict[str, str] = {}
        self._alias_end = 0
        self._since: int | None = None
        """When the connection came back, on our monotonic clock (microseconds); None: it was not lost lately."""
        self._db: Connection | None = None
        wrong = ""
        try:
            self._connect()
        except StoreTooNewError:
            raise
        except (self._link.errors, NotOursError, SilentServerError, OSError) as error:
            wrong = self._link.scrubbed(error)
        if wrong:
            # Not in the handler: psycopg's error knows the connection, and with it the password.
            raise ValueError(
                f"POLITE_STORE: no store can be had at {self._link.shown}: {wrong}. Give the URL of a server that runs, and of "
                f"a database in which this role may use or make the schema polite; accepted: {ACCEPTED}"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._link.shown!r})"

    def now(self) -> int:
        return _int(self._ask("SELECT polite.clock()")[0][0])

    def book(self, wants: Sequence[Want], ahead: int = 0) -> list[Booked | Wait]:
        if not wants:
            self._check()
            return []
        for _ in range(AGAIN):
            alias = self._alias
            if alias and monotonic_micros() > self._alias_end:
                alias = self._alias = {}
            plans: list[tuple[Want, dict[str, str]]] = []
            for want in wants:
                followed, asked = follow(want, alias) if alias else (want, {})
                plans.append((merged(followed), asked))
            answers: list[Booked | Wait | None] = [None] * len(wants)
            with self._lock:
                if self._db is None:
                    self._reconnect()
                if self._since is not None:
                    answers = [self._rest(want) for want, _ in plans]
                places = [place for place, answer in enumerate(answers) if answer is None]
                found = self._booked([plans[place][0] for place in places], ahead) if places else []
            if found is None:
                continue
            for place, answer in zip(places, found, strict=True):
                answers[place] = answer
            return [
                Wait(answer.micros, asked.get(answer.key, answer.key)) if isinstance(answer, Wait) else cast("Booked", answer)
                for answer, (_, asked) in zip(answers, plans, strict=True)
            ]
        raise StoreError(f"POLITE_STORE: {self._link.shown}: the keys of a booking changed {AGAIN} times while it was made")

    def _booked(self, wants: list[Want], ahead: int) -> list[Booked | Wait] | None:
        """The answers, or None to ask again. The lock is ours."""
        if len(wants) > 1 or not wants[0]:
            return self._each(wants, ahead)
        want = wants[0]
        if len(want) == 1:
            key, increment, tolerance = want[0].key, want[0].increment, want[0].tolerance
            slot, now, alias = self._run(BOOK_ONE, (key, increment, tolerance, ahead))[0]
            slowest: object = 1
            aliases: object = None if alias is None else [key, alias]
        else:
            want = tuple(sorted(want, key=lambda demand: demand.key))
            keys = [demand.key for demand in want]
            increments, tolerances = _array(demand.increment for demand in want), _array(demand.tolerance for demand in want)
            slot, now, slowest, aliases = self._run(BOOK_ALL, (_texts(keys), increments, tolerances, ahead))[0]
        if slot is None:
            self._learn(aliases)
            return None
        slot, now = _int(slot), _int(now)
        return [Booked(slot, now) if slot <= now + ahead else Wait(slot - now, want[_int(slowest) - 1].key)]

    def _each(self, wants: list[Want], ahead: int) -> list[Booked | Wait] | None:
        demands = [demand for want in wants for demand in want]
        keys = sorted({demand.key for demand in demands})
        position = {key: number for number, key in enumerate(keys, 1)}
        ends, end = [], 0
        for want in wants:
            end += len(want)
            ends.append(end)
        slots, now, slowest, aliases = self._run(
            BOOK_EACH,
            (
                _texts(keys),
                _array(position[demand.key] for demand in demands),
                _array(demand.increment for demand in demands),
                _array(demand.tolerance for demand in demands),
                _array(ends),
                ahead,
            ),
        )[0]
        if slots is None or now is None:
            self._learn(aliases)
            return None
        now = _int(now)
        answers: list[Booked | Wait] = []
        for slot, late in zip(cast("list[int]", slots), cast("list[int | None]", slowest), strict=True):
            if late is None or slot <= now + ahead:
                answers.append(Booked(slot, now))
            else:
                answers.append(Wait(slot - now, demands[late - 1].key))
        return answers

    def _rest(self, want: Want) -> Wait | None:
        """How long `want` still has to wait because the connection was lost: its keys may have been booked just then."""
        passed = monotonic_micros() - cast("int", self._since)
        if passed > FRESH:
            self._since = None
            return None
        left, key = max(((demand.increment - demand.tolerance - passed, demand.key) for demand in want), default=(0, ""))
        return Wait(left, key) if left > 0 else None

    def _learn(self, aliases: object) -> None:
        if isinstance(aliases, list):
            known = self._alias | dict(zip(aliases[::2], aliases[1::2], strict=True))
            # What pointed to a name that is now an alias itself points on.
            self._alias = {key: known.get(name, name) for key, name in known.items()}
            self._alias_end = monotonic_micros() + ALIASES_KEPT

    def hold(self, key: str, seconds: float, cause: Cause) -> float:
        values = (key, hold_micros(seconds), cause.kind, cause.reason, cause.stated)
        return _int(self._agreed("SELECT polite.hold(%s, %s, %s, %s, %s)", values)) / MICRO

    def release(self, key: str) -> bool:
        return bool(self._agreed("SELECT polite.release(%s)", (key,)))

    def settle(self, key: str, micros: int) -> None:
        self._ask("SELECT polite.settle(%s, %s)", (key, settle_micros(micros)))

    def peek(self, keys: Iterable[str]) -> dict[str, Peek]:
        asked = list(dict.fromkeys(keys))
        seen = {key: Peek(0, 0, None) for key in asked}
        for key, due, hold, kind, reason, stated in self._ask(PEEK, (_texts(asked),)):
            cause = Cause(str(kind), str(reason), bool(stated)) if _int(hold) else None
            seen[str(key)] = Peek(_int(due) / MICRO, _int(hold) / MICRO, cause)
        return seen

    def held(self) -> list[Held]:
        return [
            Held(str(key), _int(left) / MICRO, Cause(str(kind), str(reason), bool(stated)))
            for key, left, kind, reason, stated in self._ask(HELD)
        ]

    def origin(self, anchors: Sequence[str], name: str) -> str:
        return str(self._ask("SELECT polite.origin_of(%s::text[], %s)", (_texts(dict.fromkeys(anchors)), name))[0][0])

    def origins(self) -> dict[str, list[str]]:
        named: dict[str, list[str]] = {}
        for name, anchor in self._ask(ORIGINS):
            named.setdefault(str(name), []).append(str(anchor))
        return named

    def purge(self, idle: float, limit: int = 1000) -> int:
        gone, micros = 0, hold_micros(idle)
        while gone < limit:
            step = min(STEP, limit - gone)
            now_gone = _int(self._ask("SELECT polite.purge(%s, %s)", (micros, step))[0][0])
            gone += now_gone
            if now_gone < step:
                break
        self._check()
        return gone

    def close(self) -> None:
        with self._lock:
            self._open = False
            db, self._db = self._db, None
            if db is not None and self._process == os.getpid():
                db.close()

    def _agreed(self, query: str, values: tuple[object, ...]) -> object:
        """The answer of a function that answers NULL when it has to be asked again."""
        for _ in range(AGAIN):
            answer = self._ask(query, values)[0][0]
            if answer is not None:
                return answer
        raise StoreError(f"POLITE_STORE: {self._link.shown}: a key changed {AGAIN} times while it was written")

    def _ask(self, query: str, values: tuple[object, ...] = ()) -> list[Rows]:
        with self._lock:
            if self._db is None:
                self._reconnect()
            return self._run(query, values)

    def _check(self) -> None:
        if not self._open:
            raise StoreError("the store was closed")
        if self._process != os.getpid():
            raise StoreError(f"{self._link.shown} was opened by another process, before a fork: open it again in this one")

    def _connect(self) -> None:
        db = self._link.open()
        try:
            prepare(db, self._link.shown)
        except BaseException:
            db.close()
            raise
        self._db = db
        self._cursor = db.cursor()

    def _reconnect(self) -> None:
        self._check()
        wrong = ""
        try:
            self._connect()
        except (self._link.errors, NotOursError, SilentServerError, OSError) as error:
            wrong = self._link.scrubbed(error)
        if wrong:
            raise StoreError(f"POLITE_STORE: {self._link.shown} cannot be reached: {wrong}")
        self._since = monotonic_micros()
        self._alias = {}

    def _run(self, query: str, values: tuple[object, ...]) -> list[Rows]:
        """The rows of one prepared statement; the lock is ours, and there is a connection."""
        self._check()
        wrong = ""
        try:
            self._cursor.execute(query, values, prepare=True)
            return self._cursor.fetchall()
        except (self._link.errors, SilentServerError, OSError) as error:
            wrong = self._link.scrubbed(error)
            if getattr(error, "sqlstate", None) not in OUR_FAULT:
                self._lose()
        raise StoreError(f"POLITE_STORE: {self._link.shown} cannot answer: {wrong}")

    def _lose(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            db.close()


def _int(value: object) -> int:
    return cast("int", value)


def _array(numbers: Iterable[int]) -> str:
    """Postgres' text form of an array: psycopg's own is slower than the booking."""
    return "{" + ",".join(map(str, numbers)) + "}"


def _texts(keys: Iterable[str]) -> str:
    return "{" + ",".join('"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"' for key in keys) + "}"
