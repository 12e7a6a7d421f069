"""What the SQLite store keeps of origins: names that are one, hosts with their evidence, rulings, and notes; all in PATH.

What is written takes its turn among all processes, as a booking does. What is only read takes none: in SQLite's WAL mode
readers see the last commit, and wait for nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import DAY, Kept, News, Ruling, checked, checked_note, each_once

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

# sqlite takes at least 999 variables in one statement (SQLITE_MAX_VARIABLE_NUMBER before 3.32).
CHUNK = 900

PAGES = 5
"""That a host's writing changes in a large file, about: its row, two indexes, pointers and anchors."""

DUE_OF_BOTH = """
INSERT INTO slots.slot (key, due, last) SELECT ?, due, last FROM slots.slot WHERE key = ?
ON CONFLICT (key) DO UPDATE SET due = max(due, excluded.due), last = max(last, excluded.last)
"""
HOLD_OF_BOTH = """
INSERT INTO hold (key, until, wall, span, kind, reason, stated)
SELECT ?, until, wall, span, kind, reason, stated FROM hold WHERE key = ?
ON CONFLICT (key) DO UPDATE SET until = excluded.until, wall = excluded.wall, span = excluded.span,
    kind = excluded.kind, reason = excluded.reason, stated = excluded.stated WHERE excluded.until > until
"""
ORIGINS = """
SELECT coalesce(alias.root, placed.origin) AS name, sum(placed.hosts)
FROM (SELECT origin, count(*) AS hosts FROM host GROUP BY origin) AS placed LEFT JOIN alias ON alias.name = placed.origin
GROUP BY 1 ORDER BY 1 LIMIT ?
"""
HOST = "SELECT host, origin, confidence, anchors, facts, version FROM host"


class SQLiteOrigins:
    """The part of `SQLiteStore` that is about origins."""

    # Transactions: alone among all processes; the same, and on the disk afterwards; the same, for many pages, which are counted
    # in `_written`; one that only reads.
    _alone: AbstractContextManager[sqlite3.Connection]
    _durably: AbstractContextManager[sqlite3.Connection]
    _filling: AbstractContextManager[sqlite3.Connection]
    _reading: AbstractContextManager[sqlite3.Connection]
    _written = 0
    _wall: Callable[[], float]

    def merge(self, name: str, into: str) -> None:
        with self._alone as db:
            younger, older = _root(db, name), _root(db, into)
            if younger == older:
                return
            _hand_on(db, younger, older)
            db.execute("DELETE FROM hold WHERE key = ?", (younger,))
            db.execute("DELETE FROM note WHERE subject = ?", (younger,))
            now = int(self._wall())
            db.execute("UPDATE alias SET root = ?, seen = ? WHERE root = ?", (older, now, younger))
            db.execute("INSERT INTO alias (name, root, seen) VALUES (?, ?, ?)", (younger, older, now))

    def split(self, name: str, of: str) -> None:
        with self._alone as db:
            root = _root(db, name)
            if root != _root(db, of) or name == root == of:
                return
            # If the name that stands leaves, the others stay with `of`.
            freed = of if name == root else name
            _hand_on(db, root, freed)
            db.execute("DELETE FROM alias WHERE name = ?", (freed,))
            if name == root:
                db.execute("UPDATE alias SET root = ? WHERE root = ?", (of, root))

    def standing(self, names: Iterable[str]) -> dict[str, str]:
        found = {name: name for name in names}
        now, stale = int(self._wall()), []
        with self._reading as db:
            for name, root, seen in _chunked(db, "SELECT name, root, seen FROM alias WHERE name IN ({})", found):
                found[name] = root
                if seen < now - DAY:
                    stale.append((now, name))
        if stale:
            with self._alone as db:
                db.executemany("UPDATE alias SET seen = ? WHERE name = ?", stale)
        return found

    def aliases_of(self, origins: Iterable[str], most: int = 100) -> dict[str, list[str]]:
        query = "SELECT name FROM alias WHERE root = ? ORDER BY name LIMIT ?"
        with self._reading as db:
            found = {origin: [name for (name,) in db.execute(query, (origin, max(0, most)))] for origin in origins}
        return {origin: names for origin, names in found.items() if names}

    def ages(self, anchors: Iterable[str], *, allot: bool = True) -> dict[str, int]:
        asked = list(dict.fromkeys(anchors))
        if not allot:
            with self._reading as db:
                return dict(_chunked(db, "SELECT anchor, number FROM anchor WHERE anchor IN ({})", asked))
        with self._alone as db:
            return _ages(db, asked, int(self._wall()))

    def keep(self, hosts: Sequence[Kept]) -> int:
        with self._filling as db:
            self._written += PAGES * len(hosts)
            return _keep(db, each_once(hosts), int(self._wall()))

    def kept(self, hosts: Iterable[str]) -> dict[str, Kept]:
        with self._reading as db:
            rows = list(_chunked(db, HOST + " WHERE host IN ({})", dict.fromkeys(hosts)))
            return {kept.host: kept for kept in _as_kept(db, rows)}

    def pointing_at(self, anchors: Iterable[str], most: int) -> dict[str, Kept]:
        with self._reading as db:
            hosts: set[int] = set()
            for (anchor,) in list(_chunked(db, "SELECT number FROM anchor WHERE anchor IN ({})", dict.fromkeys(anchors))):
                few = db.execute("SELECT host FROM pointer WHERE anchor = ? ORDER BY host LIMIT ?", (anchor, max(0, most)))
                hosts.update(host for (host,) in few)
            rows = list(_chunked(db, HOST + " WHERE number IN ({}) ORDER BY number", sorted(hosts)))
            return {kept.host: kept for kept in _as_kept(db, rows)}

    def news(self, since: int, most: int = 1000) -> News:
        most = max(1, most)
        with self._reading as db:
            version, ruled = db.execute("SELECT version, ruled FROM counter").fetchone()
            since = since if since <= version else 0
            rows = db.execute(f"{HOST} WHERE version > ? ORDER BY version LIMIT ?", (since, most)).fetchall()
            reached = rows[-1][-1] if len(rows) == most else version
            return News(reached, _as_kept(db, rows), ruled > since)

    def origins(self, most: int = 10_000) -> list[tuple[str, int]]:
        with self._reading as db:
            return db.execute(ORIGINS, (max(0, most),)).fetchall()

    def hosts_of(self, origin: str, most: int = 1000) -> list[Kept]:
        with self._reading as db:
            root = _root(db, origin)
            names = [root, *(name for (name,) in db.execute("SELECT name FROM alias WHERE root = ? ORDER BY name", (root,)))]
            rows: list[Any] = []
            for name in names:
                left = max(0, most - len(rows))
                rows += db.execute(f"{HOST} WHERE origin = ? ORDER BY number LIMIT ?", (name, left))
            return _as_kept(db, rows)

    def rule(self, ruling: Ruling) -> None:
        one = checked(ruling)
        values = (one.subject, one.verb, one.origin, one.author, one.reason, one.made, one.until)
        with self._durably as db:
            db.execute("INSERT OR REPLACE INTO ruling VALUES (?, ?, ?, ?, ?, ?, ?)", values)
            db.execute("UPDATE counter SET version = version + 1, ruled = version + 1")

    def unrule(self, subject: str) -> bool:
        with self._durably as db:
            found = db.execute(
                "SELECT coalesce(until > ?, 1) FROM ruling WHERE subject = ?", (self._wall(), subject)
            ).fetchone()
            if found is None:
                return False
            db.execute("DELETE FROM ruling WHERE subject = ?", (subject,))
            db.execute("UPDATE counter SET version = version + 1, ruled = version + 1")
            return bool(found[0])

    def rulings(self) -> list[Ruling]:
        with self._reading as db:
            live = "SELECT * FROM ruling WHERE until IS NULL OR until > ? ORDER BY subject"
            return [Ruling(*row) for row in db.execute(live, (self._wall(),))]

    def lapsed(self) -> list[Ruling]:
        with self._reading as db:
            over = "SELECT * FROM ruling WHERE until <= ? ORDER BY subject"
            return [Ruling(*row) for row in db.execute(over, (self._wall(),))]

    def note(self, subject: str, kind: str, text: str) -> None:
        values = checked_note(subject, kind, text)
        with self._alone as db:
            db.execute("INSERT OR REPLACE INTO note VALUES (?, ?, ?, ?)", (*values, int(self._wall())))

    def amend(self, subject: str, kind: str, change: Callable[[str | None], str]) -> str:
        with self._alone as db:
            found = db.execute("SELECT text FROM note WHERE subject = ? AND kind = ?", (subject, kind)).fetchone()
            values = checked_note(subject, kind, change(found[0] if found is not None else None))
            db.execute("INSERT OR REPLACE INTO note VALUES (?, ?, ?, ?)", (*values, int(self._wall())))
            return values[2]

    def notes(self, subjects: Iterable[str]) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        now, stale = int(self._wall()), []
        query = "SELECT subject, kind, text, seen FROM note WHERE subject IN ({})"
        with self._reading as db:
            for subject, kind, text, seen in _chunked(db, query, dict.fromkeys(subjects)):
                found.setdefault(subject, {})[kind] = text
                if seen < now - DAY:
                    stale.append((now, subject, kind))
        if stale:
            with self._alone as db:
                db.executemany("UPDATE note SET seen = ? WHERE subject = ? AND kind = ?", stale)
        return found

    def forget_hosts(self, idle: float, limit: int = 1000) -> int:
        now, limit = self._wall(), max(0, limit)
        with self._filling as db:
            gone = _forget(db, now - idle, int(now), limit)
            self._written += PAGES * gone
            return gone


def _root(db: sqlite3.Connection, name: str) -> str:
    found = db.execute("SELECT root FROM alias WHERE name = ?", (name,)).fetchone()
    return str(found[0]) if found else name


def _hand_on(db: sqlite3.Connection, one: str, other: str) -> None:
    """`other` is due no earlier than `one`, and held as long."""
    # First and committed apart: two databases are not one transaction, and a due time that is handed on without the alias
    # only makes somebody wait.
    db.execute(DUE_OF_BOTH, (other, one))
    db.execute("COMMIT")
    db.execute("BEGIN")
    db.execute(HOLD_OF_BOTH, (other, one))


def _ages(db: sqlite3.Connection, anchors: Sequence[str], now: int) -> dict[str, int]:
    numbers: dict[str, int] = {}
    stale = []
    for number, anchor, seen in _chunked(db, "SELECT number, anchor, seen FROM anchor WHERE anchor IN ({})", anchors):
        numbers[anchor] = number
        if seen < now - DAY:
            stale.append((now, number))
    db.executemany("UPDATE anchor SET seen = ? WHERE number = ?", stale)
    steps = db.cursor()
    for anchor in anchors:
        if anchor not in numbers:
            steps.execute("INSERT INTO anchor (anchor, seen) VALUES (?, ?)", (anchor, now))
            numbers[anchor] = int(steps.lastrowid or 0)
    return numbers


def _keep(db: sqlite3.Connection, hosts: Sequence[Kept], now: int) -> int:
    numbers = _ages(db, list(dict.fromkeys(anchor for kept in hosts for anchor in kept.anchors)), now)
    known = {
        host: (number, anchors)
        for host, number, anchors in _chunked(
            db, "SELECT host, number, anchors FROM host WHERE host IN ({})", [kept.host for kept in hosts]
        )
    }
    (version,) = db.execute("SELECT version FROM counter").fetchone()
    (last,) = db.execute("SELECT coalesce(max(number), 0) FROM host").fetchone()
    new, changed, gone, pointers = [], [], [], []
    for kept in hosts:
        version += 1
        anchors = [numbers[anchor] for anchor in kept.anchors]
        text = " ".join(map(str, anchors))
        had: set[int] = set()
        if kept.host in known:
            number, before = known[kept.host]
            had = set(map(int, before.split()))
            gone += [(anchor, number) for anchor in had.difference(anchors)]
            changed.append((version, now, kept.origin, kept.confidence, text, kept.facts, number))
        else:
            number = last = last + 1
            new.append((number, kept.host, version, now, kept.origin, kept.confidence, text, kept.facts))
        pointers += [(anchor, number) for anchor in anchors if anchor not in had]
    db.executemany("INSERT INTO host VALUES (?, ?, ?, ?, ?, ?, ?, ?)", new)
    db.executemany(
        "UPDATE host SET version = ?, seen = ?, origin = ?, confidence = ?, anchors = ?, facts = ? WHERE number = ?", changed
    )
    db.executemany("DELETE FROM pointer WHERE anchor = ? AND host = ?", gone)
    db.executemany("INSERT INTO pointer VALUES (?, ?)", pointers)
    db.execute("UPDATE counter SET version = ?", (version,))
    return int(version)


def _forget(db: sqlite3.Connection, before: float, now: int, limit: int) -> int:
    oldest = db.execute("SELECT number, anchors, seen FROM host ORDER BY version LIMIT ?", (limit,)).fetchall()
    gone = [(number, anchors) for number, anchors, seen in oldest if seen < before]
    pointers = [(int(anchor), number) for number, anchors in gone for anchor in anchors.split()]
    db.executemany("DELETE FROM pointer WHERE anchor = ? AND host = ?", pointers)
    db.executemany("DELETE FROM host WHERE number = ?", [(number,) for number, _ in gone])
    # What is in use is put behind all others, so that the next call looks at others.
    anchors = (
        "SELECT number, EXISTS (SELECT 1 FROM pointer WHERE anchor = number) FROM anchor WHERE seen < ? ORDER BY seen LIMIT ?"
    )
    for number, used in db.execute(anchors, (before, limit)).fetchall():
        if used:
            db.execute("UPDATE anchor SET seen = ? WHERE number = ?", (now, number))
        else:
            db.execute("DELETE FROM anchor WHERE number = ?", (number,))
    aliases = """
        SELECT name, EXISTS (SELECT 1 FROM host WHERE origin = name) OR EXISTS (SELECT 1 FROM ruling WHERE subject = name)
        FROM alias WHERE seen < ? ORDER BY seen LIMIT ?
    """
    for name, used in db.execute(aliases, (before, limit)).fetchall():
        if used:
            db.execute("UPDATE alias SET seen = ? WHERE name = ?", (now, name))
        else:
            db.execute("DELETE FROM alias WHERE name = ?", (name,))
    noted = db.execute("SELECT subject, kind FROM note WHERE seen < ? ORDER BY seen LIMIT ?", (before, limit)).fetchall()
    db.executemany("DELETE FROM note WHERE subject = ? AND kind = ?", noted)
    return len(gone)


def _chunked(db: sqlite3.Connection, query: str, values: Iterable[object]) -> Iterator[Any]:
    """The rows of a query over all values, a chunk after the other; `{}` stands for the places of one."""
    wanted = list(values)
    for start in range(0, len(wanted), CHUNK):
        chunk = wanted[start : start + CHUNK]
        yield from db.execute(query.format(", ".join("?" * len(chunk))), chunk)


def _as_kept(db: sqlite3.Connection, rows: Sequence[Any]) -> list[Kept]:
    """From rows of `HOST`, in their order."""
    pointed = [[int(number) for number in str(row[3]).split()] for row in rows]
    wanted = {number for numbers in pointed for number in numbers}
    named = dict(_chunked(db, "SELECT number, anchor FROM anchor WHERE number IN ({})", wanted))
    return [
        Kept(host, origin, confidence, tuple([named[number] for number in numbers]), facts)
        for (host, origin, confidence, _, facts, _), numbers in zip(rows, pointed, strict=True)
    ]
