"""What the Postgres store keeps of origins (pgorigins.sql): names that are one, hosts with their evidence, rulings, notes.

All of it is on the server's disk before it is answered, since nobody may have seen a version or an age that is lost in a crash
and given again; but for notes, which are learned again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import DAY, Kept, News, Ruling, StoreError, checked, checked_note, each_once, hold_micros
from .pgtext import array, texts, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .pgsession import Session

AGAIN = 10
"""Times that a call is repeated because what it is about changed, or was purged, while it waited for locks."""

STEP = 1_000
"""Rows that one statement purges, so that nobody waits long for their locks."""

STANDING = """
SELECT s.key, s.alias, s.asked < polite.clock() / 1000000 - %s::bigint FROM polite.slot s
WHERE s.key = ANY (%s::text[]) AND s.alias IS NOT NULL
"""
ASKED = "UPDATE polite.slot s SET asked = polite.clock() / 1000000 WHERE s.key = %s AND s.alias IS NOT NULL RETURNING 1"
KEPT = "SELECT h.host, h.origin, h.confidence, polite.named(h.anchors), h.facts FROM polite.host h WHERE "
KEPT_OF = KEPT + "h.host = ANY (%s::text[])"
POINTING = """h.number IN (
    SELECT p.host FROM polite.anchor a, LATERAL (
        SELECT q.host FROM polite.pointer q WHERE q.anchor = a.number ORDER BY q.host LIMIT %s) p
    WHERE a.anchor = ANY (%s::text[]))
ORDER BY h.number
"""
NEWS = """
SELECT c.version, c.ruled, h.version, h.host, h.origin, h.confidence, polite.named(h.anchors), h.facts
FROM polite.counter c LEFT JOIN LATERAL (
    SELECT * FROM polite.host n WHERE n.version > CASE WHEN %s::bigint > c.version THEN 0 ELSE %s::bigint END
    ORDER BY n.version LIMIT %s) h ON true
ORDER BY h.version
"""
ORIGINS = """
SELECT coalesce(s.alias, p.origin), sum(p.hosts)::bigint
FROM (SELECT h.origin, count(*) AS hosts FROM polite.host h GROUP BY h.origin) p
    LEFT JOIN polite.slot s ON s.key = p.origin
GROUP BY 1 ORDER BY 1 LIMIT %s
"""
HOSTS_OF = """
WITH root AS (SELECT polite.standing(%s) AS name),
    names AS (SELECT r.name, 0 AS n FROM root r UNION ALL SELECT s.key, 1 FROM root r JOIN polite.slot s ON s.alias = r.name)
SELECT h.host, h.origin, h.confidence, polite.named(h.anchors), h.facts
FROM names q, LATERAL (SELECT * FROM polite.host o WHERE o.origin = q.name ORDER BY o.number LIMIT %s) h
ORDER BY q.n, q.name COLLATE "C", h.number LIMIT %s
"""
ALIASES_OF = """
SELECT q.root, s.key FROM unnest(%s::text[]) q (root),
    LATERAL (SELECT a.key FROM polite.slot a WHERE a.alias = q.root ORDER BY a.key LIMIT %s) s
"""
NUMBERS = "SELECT a.anchor, a.number FROM polite.anchor a WHERE a.anchor = ANY (%s::text[])"
NOTE = """
INSERT INTO polite.note AS n (subject, kind, text, seen) VALUES (%s, %s, %s, polite.clock() / 1000000)
ON CONFLICT (subject, kind) DO UPDATE SET text = excluded.text, seen = excluded.seen RETURNING 1
"""
NOTED_AS = "SELECT n.text FROM polite.note n WHERE n.subject = %s AND n.kind = %s"
FIRST_NOTE = """
INSERT INTO polite.note (subject, kind, text, seen) VALUES (%s, %s, %s, polite.clock() / 1000000)
ON CONFLICT (subject, kind) DO NOTHING RETURNING 1
"""
NEXT_NOTE = """
UPDATE polite.note n SET text = %s, seen = polite.clock() / 1000000
WHERE n.subject = %s AND n.kind = %s AND n.text = %s RETURNING 1
"""
AMENDED = 100
"""Times that somebody else may have been quicker: one of those who want the same row has it each time."""
NOTES = """
SELECT n.subject, n.kind, n.text, n.seen < polite.clock() / 1000000 - %s::bigint FROM polite.note n
WHERE n.subject = ANY (%s::text[])
"""
NOTED = "UPDATE polite.note n SET seen = polite.clock() / 1000000 WHERE n.subject = %s AND n.kind = %s RETURNING 1"
RULING = "SELECT r.subject, r.verb, r.origin, r.author, r.reason, r.made, r.until FROM polite.ruling r WHERE "
RULINGS = RULING + "r.until IS NULL OR r.until > polite.clock() / 1e6 ORDER BY r.subject"
LAPSED = RULING + "r.until <= polite.clock() / 1e6 ORDER BY r.subject"


class PostgresOrigins:
    """The part of `PostgresStore` that is about origins."""

    _session: Session

    def merge(self, name: str, into: str) -> None:
        self._agreed("SELECT polite.merge(%s, %s)", (name, into))

    def split(self, name: str, of: str) -> None:
        self._agreed("SELECT polite.split(%s, %s)", (name, of))

    def standing(self, names: Iterable[str]) -> dict[str, str]:
        found = {name: name for name in names}
        for name, root, stale in self._session.ask(STANDING, (str(int(DAY)), texts(found))):
            found[str(name)] = str(root)
            if stale:
                self._session.ask(ASKED, (name,))
        return found

    def aliases_of(self, origins: Iterable[str], most: int = 100) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for root, name in self._session.ask(ALIASES_OF, (texts(origins), str(max(0, most)))):
            found.setdefault(str(root), []).append(str(name))
        return found

    def ages(self, anchors: Iterable[str], *, allot: bool = True) -> dict[str, int]:
        asked = sorted(set(anchors))
        if not allot:
            return {str(anchor): whole(number) for anchor, number in self._session.ask(NUMBERS, (texts(asked),))}
        numbers: Any = self._agreed("SELECT polite.ages(%s::text[])", (texts(asked),))
        return dict(zip(asked, numbers, strict=True))

    def keep(self, hosts: Sequence[Kept]) -> int:
        once = each_once(hosts)
        values = (
            texts(kept.host for kept in once),
            texts(kept.origin for kept in once),
            array(kept.confidence for kept in once),
            texts(kept.facts for kept in once),
            texts(texts(kept.anchors) for kept in once),
        )
        query = "SELECT polite.keep(%s::text[], %s::text[], %s::double precision[], %s::text[], %s::text[])"
        return whole(self._agreed(query, values))

    def kept(self, hosts: Iterable[str]) -> dict[str, Kept]:
        return _by_name(self._session.ask(KEPT_OF, (texts(hosts),)))

    def pointing_at(self, anchors: Iterable[str], most: int) -> dict[str, Kept]:
        return _by_name(self._session.ask(KEPT + POINTING, (str(max(0, most)), texts(anchors))))

    def news(self, since: int, most: int = 1000) -> News:
        most = max(1, most)
        rows: list[Any] = self._session.ask(NEWS, (str(since), str(since), str(most)))
        version, ruled, _, *_ = rows[0]
        hosts = [_kept(row[3:]) for row in rows if row[2] is not None]
        return News(rows[-1][2] if len(hosts) == most else version, hosts, ruled > (since if since <= version else 0))

    def origins(self, most: int = 10_000) -> list[tuple[str, int]]:
        return [(str(name), whole(hosts)) for name, hosts in self._session.ask(ORIGINS, (str(max(0, most)),))]

    def hosts_of(self, origin: str, most: int = 1000) -> list[Kept]:
        limit = str(max(0, most))
        return [_kept(row) for row in self._session.ask(HOSTS_OF, (origin, limit, limit))]

    def rule(self, ruling: Ruling) -> None:
        one = checked(ruling)
        made, until = repr(float(one.made)), None if one.until is None else repr(float(one.until))
        values = (one.subject, one.verb, one.origin, one.author, one.reason, made, until)
        self._session.ask("SELECT polite.rule(%s, %s, %s, %s, %s, %s::double precision, %s::double precision)", values)

    def unrule(self, subject: str) -> bool:
        return bool(self._session.ask("SELECT polite.unrule(%s)", (subject,))[0][0])

    def rulings(self) -> list[Ruling]:
        rows: list[Any] = self._session.ask(RULINGS)
        return [Ruling(*row) for row in rows]

    def lapsed(self) -> list[Ruling]:
        rows: list[Any] = self._session.ask(LAPSED)
        return [Ruling(*row) for row in rows]

    def note(self, subject: str, kind: str, text: str) -> None:
        self._session.ask(NOTE, checked_note(subject, kind, text))

    def amend(self, subject: str, kind: str, change: Callable[[str | None], str]) -> str:
        # Without a lock that would be kept over a round trip: whoever was killed with it would keep all others waiting.
        for _ in range(AMENDED):
            rows = self._session.ask(NOTED_AS, (subject, kind))
            before = str(rows[0][0]) if rows else None
            _, _, text = checked_note(subject, kind, change(before))
            if before is None:
                done = self._session.ask(FIRST_NOTE, (subject, kind, text))
            else:
                done = self._session.ask(NEXT_NOTE, (text, subject, kind, before))
            if done:
                return text
        raise StoreError(f"the note of {kind!r} on {subject!r} was changed by others {AMENDED} times while it was read")

    def notes(self, subjects: Iterable[str]) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for subject, kind, text, stale in self._session.ask(NOTES, (str(int(DAY)), texts(subjects))):
            found.setdefault(str(subject), {})[str(kind)] = str(text)
            if stale:
                self._session.ask(NOTED, (subject, kind))
        return found

    def forget_hosts(self, idle: float, limit: int = 1000) -> int:
        return self._in_steps("SELECT polite.forget(%s, %s)", idle, limit)

    def _in_steps(self, query: str, idle: float, limit: int) -> int:
        """How many rows a query that takes microseconds and a limit has taken away in all."""
        gone, micros = 0, hold_micros(idle)
        while gone < limit:
            step = min(STEP, limit - gone)
            now_gone = whole(self._session.ask(query, (str(micros), str(step)))[0][0])
            gone += now_gone
            if now_gone < step:
                break
        self._session.check()
        return gone

    def _agreed(self, query: str, values: tuple[object, ...]) -> object:
        """The answer of a function that answers NULL when it has to be asked again."""
        for _ in range(AGAIN):
            answer = self._session.ask(query, values)[0][0]
            if answer is not None:
                return answer
        raise StoreError(f"POLITE_STORE: {self._session.shown}: a key changed {AGAIN} times while it was written")


def _kept(row: Any) -> Kept:
    host, origin, confidence, anchors, facts = row
    return Kept(host, origin, confidence, tuple(anchors), facts)


def _by_name(rows: Iterable[object]) -> dict[str, Kept]:
    return {kept.host: kept for kept in map(_kept, rows)}
