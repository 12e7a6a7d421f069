"""How the Postgres store reaches its server: the URL without its secrets, time limits on everything, and the session."""

from __future__ import annotations

import os
import time
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote, urlsplit

from .base import ACCEPTED, redacted_url

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    import psycopg
    from psycopg.abc import PQGen

    Rows: TypeAlias = tuple[object, ...]

    class Connection(psycopg.Connection[Rows]):
        patience: float

    Answer = TypeVar("Answer")

CONNECT_TIMEOUT = 5
"""Seconds for each address of the server; `connect_timeout` in the URL or PGCONNECT_TIMEOUT say otherwise."""

STATEMENT_TIMEOUT = 3.0
"""Seconds after which the server gives a statement up: it waits for a lock that somebody holds, or for a dying disk."""

ANSWER_TIMEOUT = 5.0
"""Seconds after which we give the server up: longer than its own limit, so that only a hung server or network gets there."""

IDLE_IN_TRANSACTION = 10.0
"""Seconds. A client that stops in the middle of a transaction (SIGSTOP, a lost machine) holds no lock for longer."""

LOOK = 0.25
"""Seconds between two looks at the clock while we wait."""

SESSION = {
    # A booking that is lost in a crash costs one slot; waiting for the disk would cost each of them a flush.
    "synchronous_commit": "off",
    "statement_timeout": f"{STATEMENT_TIMEOUT * 1000:.0f}",
    "idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION * 1000:.0f}",
    # The booking functions rely on seeing what was committed while they waited for a lock.
    "default_transaction_isolation": "read committed",
    # Every name in our SQL is written out; nobody's operators come first.
    "search_path": "pg_catalog",
    # All access is by key. A plan made while the tables were empty must not become a scan of a million rows.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}

SECRETS = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
SHORTEST_SECRET = 3
"""Characters. A shorter one is not looked for in messages: the hole would be all that is left of them."""


class SilentServerError(Exception):
    """The server took longer than `ANSWER_TIMEOUT`."""


class Link:
    """Opens connections to the database that `url` names. No secret of the URL is in its `repr`, nor in any message.

    Raises `ValueError` naming POLITE_STORE if psycopg is not installed, or if `url` cannot be one.
    """

    def __init__(self, url: str) -> None:
        self.shown = redacted_url(url)
        _check(url, self.shown)
        try:
            import psycopg
        except ImportError as error:
            raise ValueError(
                f"POLITE_STORE: {self.shown} needs psycopg, which is not here ({_line(str(error))}). "
                f"Install the extra: pip install 'scrapy-polite[postgres]'; accepted: {ACCEPTED}"
            ) from error
        from psycopg.conninfo import conninfo_to_dict

        try:
            given = conninfo_to_dict(url)
        except psycopg.Error:
            # Its message may quote what it did not understand: a piece of the password.
            given = None
        if given is None:
            raise ValueError(f"POLITE_STORE: {self.shown} is no URL that libpq understands. {FORM}")
        secrets = [str(given[name]) for name in SECRETS if given.get(name)]
        secrets += [os.environ[name] for name in ("PGPASSWORD", "PGSSLPASSWORD") if os.environ.get(name)]
        self.open, self.scrubbed = _closures(url, given, secrets)
        self.errors = psycopg.Error

    open: Callable[[], Connection]
    """A new connection, ready to be used; raises psycopg's errors, and `SilentServerError`."""
    scrubbed: Callable[[BaseException], str]
    """What an error says, in one line and without our secrets."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shown!r})"


FORM = (
    "Give postgresql://USER@HOST:PORT/DATABASE, with every special character of the password written as %XX, or leave the "
    "password to PGPASSWORD or ~/.pgpass"
)


def _check(url: str, shown: str) -> None:
    """Refuse what libpq would take apart in another place than it was meant: then half of a password is a host's name."""
    rest = url.partition("://")[2]
    before_query = rest.partition("?")[0]
    host = rest.partition("@")[2] if "@" in rest.partition("/")[0] else rest
    misread = "@" in host.partition("?")[0] or "#" in before_query
    if not misread:
        try:
            # libpq takes several, with commas between.
            ports = [one.rpartition("]")[2].rpartition(":")[2] for one in urlsplit(f"//{host}").netloc.split(",") if ":" in one]
            misread = not all(port.isdigit() or not port for port in ports)
        except ValueError:
            misread = True
    if misread or "\0" in url:
        raise ValueError(f"POLITE_STORE: {shown} cannot be taken apart safely. {FORM}")


def _closures(
    url: str, given: dict[str, str | int | None], secrets: list[str]
) -> tuple[Callable[[], Connection], Callable[[BaseException], str]]:
    """Both functions of a `Link`. In closures, so that no attribute and no `repr` shows what they know."""
    from psycopg.conninfo import make_conninfo

    more: dict[str, str | int] = {}
    if "connect_timeout" not in given and not os.environ.get("PGCONNECT_TIMEOUT"):
        more["connect_timeout"] = CONNECT_TIMEOUT
    if "application_name" not in given and not os.environ.get("PGAPPNAME"):
        more["application_name"] = "scrapy_polite"
    conninfo = make_conninfo(url, **more)
    hidden = sorted({form for one in secrets for form in (one, unquote(one))}, key=len, reverse=True)

    def opened() -> Connection:
        db = _class().connect(conninfo, autocommit=True)
        try:
            settings = ", ".join(["set_config(%s, %s, false)"] * len(SESSION))
            db.execute(f"SELECT {settings}", [text for pair in SESSION.items() for text in pair])
        except BaseException:
            db.close()
            raise
        return db

    def scrubbed(error: BaseException) -> str:
        said = _line(str(error)) or type(error).__name__
        for one in hidden:
            if len(one) >= SHORTEST_SECRET:
                said = said.replace(one, "***")
        return said

    return opened, scrubbed


@lru_cache(maxsize=1)
def _class() -> type[Connection]:
    """psycopg's connection with an end to its patience. Made here, since psycopg is loaded only when it is used."""
    import psycopg

    class Impatient(psycopg.Connection["Rows"]):
        patience = ANSWER_TIMEOUT

        def wait(self, gen: PQGen[Answer], *args: object, **named: object) -> Answer:
            return super().wait(_until(gen, time.monotonic() + self.patience), interval=LOOK)

    return Impatient  # type: ignore[return-value]


def _until(steps: PQGen[Answer], end: float) -> PQGen[Answer]:
    """The same generator, and `SilentServerError` at the first look after `end` at which nothing had come."""
    wanted = next(steps)
    while True:
        ready = yield wanted
        if not ready and time.monotonic() > end:
            raise SilentServerError(f"no answer for {ANSWER_TIMEOUT:.0f} seconds")
        try:
            wanted = steps.send(ready)
        except StopIteration as stop:
            answer: Answer = stop.value
            return answer


def _line(text: str) -> str:
    return " ".join(text.split())
