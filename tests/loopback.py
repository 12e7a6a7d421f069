"""A server on loopback whose arrivals are stamped, and a crawl of it in a process of its own.

The server does as little as possible between the socket and the stamp, and runs in the test's process; the crawl runs in
another, so a busy reactor there cannot make its own witness late. Both use CLOCK_MONOTONIC.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from scrapy_polite.telemetry.events import Sent
from scrapy_polite.telemetry.ledger import Ledger

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Self

ROOT = Path(__file__).resolve().parents[1]

PAGE = b"<html><body>a page</body></html>"


@dataclass(frozen=True)
class Arrival:
    at: float
    path: str
    headers: dict[str, str]
    connection: int
    body: int = 0


@dataclass
class Answer:
    body: bytes = PAGE
    status: int = 200
    headers: dict[str, str | None] = field(default_factory=dict)
    """None: not sent."""
    close: bool = False
    wait: float = 0.0


class Listening:
    """Threads that serve connections to ``port`` (0: a free one) of ``address``, and all of them ended with the block."""

    def __init__(self, address: str, port: int = 0) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket = socket.create_server((address, port), family=family, backlog=128)
        self.port = self._socket.getsockname()[1]
        self.connections = 0
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # Closing alone does not wake a thread that sits in accept().
        self._socket.close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)

    def _start(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._open.add(connection)
                self.connections += 1
                self._start(self._serve, connection, self.connections)

    def _serve(self, raw: socket.socket, number: int) -> None:
        raise NotImplementedError


class Server(Listening):
    """``with Server(answer) as server``: ``answer`` makes an :class:`Answer` of an :class:`Arrival`; ``arrivals`` are in the
    order in which they came. ``tls``: a context, or None for plain HTTP. ``idle``: seconds after which it closes."""

    def __init__(
        self,
        answer: Callable[[Arrival], Answer] = lambda arrival: Answer(),
        *,
        tls: ssl.SSLContext | None = None,
        idle: float | None = None,
        address: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        super().__init__(address, port)
        self._answer, self._tls, self._idle = answer, tls, idle
        self.arrivals: list[Arrival] = []

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def pages(self) -> list[Arrival]:
        """All but robots.txt."""
        return [arrival for arrival in self.arrivals if arrival.path != "/robots.txt"]

    def gaps(self) -> list[float]:
        times = [arrival.at for arrival in self.arrivals]
        return [later - earlier for earlier, later in itertools.pairwise(times)]

    def _serve(self, raw: socket.socket, number: int) -> None:
        with suppress(OSError, ValueError, IndexError), raw:  # What is no HTTP is hung up on.
            if self._tls:
                raw.recv(1, socket.MSG_PEEK)  # Who resets before its first word would leave an SSLSocket that nobody closes.
                with self._tls.wrap_socket(raw, server_side=True) as connection:
                    self._open.add(connection)
                    self._converse(connection, number)
            else:
                self._converse(raw, number)

    def _converse(self, connection: socket.socket, number: int) -> None:
        connection.settimeout(self._idle)
        with connection.makefile("rb") as stream:
            while line := stream.readline():
                at = time.monotonic()
                headers = {}
                while (header := stream.readline().decode("latin-1").strip()) != "":
                    name, _, value = header.partition(":")
                    headers[name.lower()] = value.strip()
                body = len(stream.read(int(headers.get("content-length", 0))))
                arrival = Arrival(at, line.split()[1].decode("latin-1"), headers, number, body)
                self.arrivals.append(arrival)
                answer = self._answer(arrival)
                if answer.wait:
                    time.sleep(answer.wait)
                head = {"Content-Length": str(len(answer.body)), "Content-Type": "text/html", **answer.headers}
                lines = "".join(f"{name}: {value}\r\n" for name, value in head.items() if value is not None)
                connection.sendall(f"HTTP/1.1 {answer.status} OK\r\n{lines}\r\n".encode() + answer.body)
                if answer.close:
                    return


class Proxy(Listening):
    """A forward proxy on loopback: absolute-form requests and CONNECT tunnels, each logged by its first line, and by its whole
    head. ``hosts``: what the names mean that it is asked for. ``answers``: what it says to CONNECT for a target, if that is not
    that the tunnel stands."""

    def __init__(self, hosts: Mapping[str, str] | None = None, answers: Mapping[str, bytes] | None = None) -> None:
        super().__init__("127.0.0.1")
        self.url = f"http://127.0.0.1:{self.port}"
        self.lines: list[str] = []
        self.heads: list[bytes] = []
        self._hosts, self._answers = hosts or {}, answers or {}

    def _serve(self, raw: socket.socket, number: int) -> None:
        client = raw
        with suppress(OSError, ValueError), client:
            head = b""
            while b"\r\n\r\n" not in head:
                part = client.recv(4096)
                if not part:
                    return
                head += part
            line = head.split(b"\r\n", 1)[0].decode("latin-1")
            self.lines.append(line)
            self.heads.append(head)
            method, where, _ = line.split()
            if where in self._answers:
                client.sendall(self._answers[where])
                return
            authority = where if method == "CONNECT" else where.split("/")[2]
            host, _, port = authority.rpartition(":")
            with socket.create_connection((self._hosts.get(host, host.strip("[]")), int(port))) as server:
                self._open.add(server)
                server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if method == "CONNECT":
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    server.sendall(head.replace(f"http://{authority}".encode(), b"", 1))
                self._start(self._pipe, server, client)
                self._pipe(client, server)

    @staticmethod
    def _pipe(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


WIDTH = 0.05
SLACK = 0.05
"""Between the flush and the stamp of a thread that this machine may let wait; the demo is judged by the kernel's stamps."""


def kept(server: Server, interval: float) -> None:
    assert min(server.gaps()) >= interval - WIDTH - SLACK


def fullest(arrivals: Sequence[Arrival], seconds: float, cost: Callable[[Arrival], float] = lambda arrival: 1.0) -> float:
    """Units of the fullest half-open span of so many seconds; the arrivals in order."""
    worst = inside = 0.0
    first = 0
    for arrival in arrivals:
        inside += cost(arrival)
        while arrival.at - arrivals[first].at >= seconds:
            inside -= cost(arrivals[first])
            first += 1
        worst = max(worst, inside)
    return worst


def limits(per_second: float) -> dict[str, object]:
    """Every page costs 1, and site and origin allow so many a second."""
    return {"POLITE_COSTS": {"page": 1}, "POLITE_SITE_RATE": per_second, "POLITE_ORIGIN_RATE": per_second}


def ports(*servers: Server) -> dict[str, object]:
    return {"POLITE_ALLOW_PORTS": [server.port for server in servers]}


FETCH = """
class Spider(TestSpider):
    async def start(self):
        for n in range({count}):
            yield scrapy.Request("{url}/" + str(n), callback=self.answered, errback=self.failed, dont_filter=True)
"""

SETTINGS: dict[str, object] = {
    "ADDONS": {"scrapy_polite.Addon": 300},
    "POLITE_ALLOW_NETWORKS": ["127.0.0.0/8"],
    "ROBOTSTXT_OBEY": False,
    "TELNETCONSOLE_ENABLED": False,
    "USER_AGENT": "tests (+mailto:tests@example.org)",
    "LOG_LEVEL": "INFO",
    # How far apart requests are is what most crawls of the tests are about: tests of the pace switch it on.
    "POLITE_PACE": False,
}

SCRIPT = """
import json, sys
import scrapy
from scrapy.crawler import AsyncCrawlerProcess

class TestSpider(scrapy.Spider):
    name = "test"
    results = []
    def answered(self, response):
        self.results.append([response.url, response.status, response.request.meta.get("download_latency")])
    parse = answered
    def failed(self, failure):
        self.results.append([failure.request.url, type(failure.value).__name__, str(failure.value)])

{spider}

settings = json.loads({settings!r})
process = AsyncCrawlerProcess(settings)
crawler = process.create_crawler(Spider)
process.crawl(crawler)
process.start()
stats = {{k: v for k, v in (crawler.stats.get_stats() if crawler.stats else {{}}).items() if isinstance(v, (int, float, str))}}
print("RESULT" + json.dumps({{"stats": stats, "results": TestSpider.results}}))
"""


@dataclass
class Crawl:
    stats: dict[str, Any]
    results: list[list[Any]]
    log: str
    code: int

    def urls(self) -> list[str]:
        return [result[0] for result in self.results if result[1] == 200]


class Running:
    """A crawl under way, in a process of its own; ``log`` is what it has said so far."""

    def __init__(self, script: Path, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(script)],
            cwd=script.parent,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._out: list[str] = []
        self._said: list[str] = []
        # Read all the time: a crawl whose pipe is full would stand still.
        self._readers = [
            threading.Thread(target=_read, args=(stream, lines), daemon=True)
            for stream, lines in ((self.process.stdout, self._out), (self.process.stderr, self._said))
        ]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.process.kill()
        self.end(10.0)

    @property
    def log(self) -> str:
        return "".join(self._said)

    def until(self, come: Callable[[], object], timeout: float = 30.0) -> None:
        """Wait for it, as long as the crawl runs."""
        end = time.monotonic() + timeout
        while not come():
            assert self.process.poll() is None, self.log
            assert time.monotonic() < end, self.log
            time.sleep(0.005)

    @contextmanager
    def full_disk(self) -> Iterator[None]:
        """Each write to a file fails, as on a disk without room. By a limit on the size of files: nobody needs to be root for
        that, as for a small file system, and it can be put on a process that runs, with its files open."""
        before = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        try:
            yield
        finally:
            if self.process.poll() is None:
                resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, before)

    def end(self, timeout: float = 120.0) -> Crawl:
        """What has come of it, when it has ended by itself."""
        code = self.process.wait(timeout)
        for reader in self._readers:
            reader.join(10)
        found = [line for line in self._out if line.startswith("RESULT")]
        result = json.loads(found[-1][6:]) if found else {"stats": {}, "results": []}
        return Crawl(result["stats"], result["results"], self.log, code)


def _read(stream: IO[str] | None, lines: list[str]) -> None:
    assert stream is not None
    with stream:
        lines.extend(stream)


def start(spider: str, tmp_path: Path, **settings: object) -> Running:
    """Start ``spider``, source of a class ``Spider(TestSpider)``, with the settings over :data:`SETTINGS`."""
    chosen = {**SETTINGS, "POLITE_STORE": f"sqlite:{tmp_path}/limits.sqlite", **settings}
    script = tmp_path / "crawl.py"
    script.write_text(SCRIPT.format(spider=spider, settings=json.dumps(chosen)), encoding="utf-8")
    return Running(script, {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error::ResourceWarning"})


def slots_kept(ledger: Path, interval: float, width: float, late: float = 0.03) -> None:
    """By the crawl's own stamps, which a thread of this process that had to wait does not blur: each request left ``interval -
    width`` after the one before it, and at most ``late`` less, for a clock that is known from answers alone."""
    sent = [event.at / 1e6 for event in Ledger.read(ledger) if isinstance(event, Sent)]
    gaps = [later - earlier for earlier, later in itertools.pairwise(sent)]
    assert min(gaps) >= interval - width - late, sorted(gaps)[:5]


def crawl(spider: str, tmp_path: Path, timeout: float = 120.0, **settings: object) -> Crawl:
    """Run ``spider`` to its end, as :func:`start` starts it."""
    with start(spider, tmp_path, **settings) as running:
        return running.end(timeout)
