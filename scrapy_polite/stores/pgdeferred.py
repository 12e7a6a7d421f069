"""The deferred requests of the Postgres store (pgdeferred.sql), on the server's disk before they are said to be kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from .deferring import COLUMNS, Deferred, by_turn
from .pgtext import texts, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .pgsession import Session

AT_ONCE: Final = 1_000
"""Rows of one statement."""

TAKE: Final = "SELECT * FROM polite.take_deferred(%s, %s, %s, %s::double precision, %s::double precision)"
LISTED: Final = """
SELECT * FROM polite.deferred d WHERE (%s::text IS NULL OR d.owner = %s) AND (%s::text IS NULL OR d.key = %s)
ORDER BY d.owner, d.key, d.made, d.fingerprint LIMIT %s
"""
RENEW: Final = """
WITH one AS (UPDATE polite.deferred d SET until = polite.clock() / 1e6 + %s::double precision WHERE d.run = %s RETURNING 1)
SELECT count(*) FROM one
"""
DONE: Final = """
WITH one AS (
    DELETE FROM polite.deferred d WHERE d.owner = %s AND d.fingerprint = ANY (%s::text[]) AND d.run = %s RETURNING 1)
SELECT count(*) FROM one
"""
HASTEN: Final = """
WITH one AS (UPDATE polite.deferred d SET not_before = 0 WHERE d.key = %s RETURNING 1) SELECT count(*) FROM one
"""
COUNT: Final = "SELECT d.key, count(*) FROM polite.deferred d GROUP BY d.key ORDER BY d.key"
DROP: Final = """
WITH one AS (
    DELETE FROM polite.deferred d WHERE (%s::text IS NULL OR d.owner = %s) AND (%s::text IS NULL OR d.key = %s) RETURNING 1)
SELECT count(*) FROM one
"""


class PostgresDeferred:
    """The part of `PostgresStore` that is about deferred requests."""

    _session: Session

    def defer(self, rows: Sequence[Deferred]) -> None:
        once = list({(row.owner, row.fingerprint): row for row in rows}.values())
        for start in range(0, len(once), AT_ONCE):
            objects = [
                {name: getattr(row, name) for name in COLUMNS} | {"run": "", "until": 0.0}
                for row in once[start : start + AT_ONCE]
            ]
            self._session.ask("SELECT polite.defer(%s::json)", (json.dumps(objects),))

    def take_deferred(self, owner: str, run: str, most: int, lease: float, within: float = 0.0) -> list[Deferred]:
        rows: list[Any] = self._session.ask(TAKE, (owner, run, str(max(0, most)), repr(float(lease)), repr(float(within))))
        return sorted((Deferred(*row) for row in rows), key=by_turn)

    def renew_deferred(self, run: str, lease: float) -> int:
        return whole(self._session.ask(RENEW, (repr(float(lease)), run))[0][0])

    def done_deferred(self, owner: str, fingerprints: Sequence[str], run: str) -> int:
        return whole(self._session.ask(DONE, (owner, texts(fingerprints), run))[0][0])

    def hasten_deferred(self, key: str) -> int:
        return whole(self._session.ask(HASTEN, (key,))[0][0])

    def deferred(self, owner: str | None = None, key: str | None = None, most: int = 10_000) -> list[Deferred]:
        rows: list[Any] = self._session.ask(LISTED, (owner, owner, key, key, str(max(0, most))))
        return [Deferred(*row) for row in rows]

    def count_deferred(self) -> dict[str, int]:
        return {str(key): whole(count) for key, count in self._session.ask(COUNT)}

    def drop_deferred(self, owner: str | None = None, key: str | None = None) -> int:
        return whole(self._session.ask(DROP, (owner, owner, key, key))[0][0])
