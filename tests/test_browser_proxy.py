"""The forward proxy over real sockets: who may use it, what it makes of a request, and that it dials nothing refused."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pytest
from loopback import ROOT, Answer, Server
from trapped_world import GOOD, REBINDS, World
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from scrapy_polite.browser.connections import HEAD_WITHIN, Client
from scrapy_polite.browser.proxy import ForwardProxy
from scrapy_polite.config import Config
from scrapy_polite.dns.resolver import Resolver
from scrapy_polite.politeness import Politeness
from scrapy_polite.stores.base import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent

FAILED = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
MALFORMED = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Proxied:
    """The proxy in its process, and connections to it."""

    def __init__(self, world: World, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.world = world
        self._process = process
        server, username, password = json.loads(process.stdout.readline())
        self.port = int(server.rpartition(":")[2])
        self.credential = "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()
        self.said = ""
        self.stats: dict[str, int] = {}

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def head(self, first: str, *headers: str, credential: str | None = None) -> bytes:
        chosen = self.credential if credential is None else credential
        return "\r\n".join([first, *headers, f"Proxy-Authorization: {chosen}", "", ""]).encode("latin-1")

    def ask(self, first: str, *headers: str, body: bytes = b"") -> bytes:
        """Everything that one connection says after this."""
        with self.connect() as client:
            client.sendall(self.head(first, *headers) + body)
            return all_of(client)

    def get(self, url: str, *headers: str) -> bytes:
        return self.ask(f"GET {url} HTTP/1.1", *headers)

    def tunnel(self, where: str) -> bytes:
        """What is said to this CONNECT; a tunnel that is made is closed."""
        with self.connect() as client:
            client.sendall(self.head(f"CONNECT {where} HTTP/1.1"))
            return client.recv(4096)

    def open(self) -> tuple[int, int]:
        """Connections of clients, and to servers."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("open\n")
        self._process.stdin.flush()
        clients, servers = json.loads(self._process.stdout.readline())
        return clients, servers

    def until_idle(self) -> None:
        end = time.monotonic() + 10
        while self.open() != (0, 0):
            assert time.monotonic() < end, self.open()
            time.sleep(0.02)

    def end(self) -> dict[str, int]:
        """The stats, when it has ended."""
        if not self.stats:
            out, self.said = self._process.communicate(timeout=20)
            assert self._process.returncode == 0, self.said
            self.stats = {"ended": 1, **json.loads(out)}
        return self.stats

    def refused(self, reason: str) -> int:
        return self.end().get(f"polite/refused/{reason}", 0)


def all_of(client: socket.socket) -> bytes:
    said = b""
    with suppress(ConnectionResetError):
        while part := client.recv(65_536):
            said += part
    return said


@contextmanager
def proxied(world: World, **more: Any) -> Iterator[Proxied]:
    settings = {name: value for name, value in world.settings(**more).items() if name.startswith("POLITE_")}
    paths = os.pathsep.join(filter(None, (str(ROOT), str(HERE), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-W", "error::ResourceWarning", str(HERE / "proxy_alone.py")]
    pipes: dict[str, IO[str] | int] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths}, text=True, **pipes) as process:  # type: ignore[call-overload]
        process.stdin.write(json.dumps(settings) + "\n")
        process.stdin.flush()
        try:
            yield Proxied(world, process)
        finally:
            if process.poll() is None:
                process.communicate(timeout=20)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World() as world:
        yield world


@pytest.fixture
def proxy(world: World) -> Iterator[Proxied]:
    world.hits.clear()
    world.arrivals.clear()
    world.reached.clear()
    with proxied(world) as proxy:
        yield proxy
        assert "Traceback" not in (proxy.end(), proxy.said)[1]
    assert world.hits == []


# -- what is served


def test_a_request_in_absolute_form_reaches_the_address_that_was_judged(proxy: Proxied) -> None:
    said = proxy.get(proxy.world.url("/a?b=c"), f"Host: good.example:{proxy.world.port}")
    assert said.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"the good server" in said
    assert b"\r\nConnection: close\r\n" in said
    assert proxy.world.arrivals == [("good.example", "/a?b=c")]
    assert proxy.world.reached == {("good.example", GOOD)}


def test_a_tunnel_reaches_the_address_that_was_judged(proxy: Proxied) -> None:
    with proxy.connect() as client:
        client.sendall(proxy.head(f"CONNECT good.example:{proxy.world.port} HTTP/1.1"))
        assert client.recv(4096) == ESTABLISHED
        client.sendall(f"GET /b HTTP/1.1\r\nHost: good.example:{proxy.world.port}\r\nConnection: close\r\n\r\n".encode())
        assert b"the good server" in all_of(client)
    assert proxy.world.reached == {("good.example", GOOD)}


def test_a_body_is_sent_on_and_what_follows_it_is_not(world: World) -> None:
    with Server(lambda arrival: Answer(str(arrival.body).encode(), close=True), address=GOOD) as server:
        with proxied(world, POLITE_ALLOW_PORTS=[server.port]) as proxy:
            url = f"http://good.example:{server.port}"
            hidden = f"GET /hidden HTTP/1.1\r\nHost: good.example:{server.port}\r\n\r\n".encode()
            body = b"x" * 200_000
            said = proxy.ask(f"POST {url}/one HTTP/1.1", f"Content-Length: {len(body)}", body=body + hidden)
            assert said.endswith(b"\r\n\r\n200000")
            assert proxy.ask(f"GET {url}/two HTTP/1.1", body=hidden).endswith(b"\r\n\r\n0")
            assert proxy.ask(f"POST {url}/three HTTP/1.1", "Content-Length: 0", body=hidden).endswith(b"\r\n\r\n0")
        assert [arrival.path for arrival in server.arrivals] == ["/one", "/two", "/three"]
        assert server.connections == 3


def test_a_large_answer_comes_whole_to_who_reads_slowly(world: World) -> None:
    large = bytes(range(256)) * 40_000
    with (
        Server(lambda arrival: Answer(large, close=True), address=GOOD) as server,
        proxied(world, POLITE_ALLOW_PORTS=[server.port]) as proxy,
        proxy.connect() as client,
    ):
        client.sendall(proxy.head(f"GET http://good.example:{server.port}/ HTTP/1.1"))
        time.sleep(3)  # Longer than somebody may linger who has been answered.
        assert all_of(client).partition(b"\r\n\r\n")[2] == large


def test_nobody_is_written_to_faster_than_he_reads(world: World) -> None:
    sent: list[int] = []

    def serve(listening: socket.socket) -> None:
        server, _ = listening.accept()
        with server:
            server.settimeout(1)
            with suppress(OSError):
                while True:
                    sent.append(server.send(b"x" * 65_536))

    with socket.create_server((GOOD, 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,), daemon=True)
        thread.start()
        port = listening.getsockname()[1]
        with proxied(world, POLITE_ALLOW_PORTS=[port]) as proxy, proxy.connect() as client:
            client.sendall(proxy.head(f"CONNECT good.example:{port} HTTP/1.1"))
            thread.join(20)
            assert not thread.is_alive()
            assert sum(sent) < 40_000_000  # What the kernel's buffers hold.


def test_a_web_socket_in_absolute_form_becomes_one_when_the_server_has_agreed(world: World) -> None:
    heard: list[bytes] = []

    def serve(listening: socket.socket) -> None:
        server, _ = listening.accept()
        with server:
            heard.append(server.recv(4096))
            server.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello")
            heard.append(server.recv(4096))
            server.sendall(b"bye")

    with socket.create_server((GOOD, 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,), daemon=True)
        thread.start()
        port = listening.getsockname()[1]
        with proxied(world, POLITE_ALLOW_PORTS=[port]) as proxy, proxy.connect() as client:
            lines = (f"GET http://good.example:{port}/s HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket")
            client.sendall(proxy.head(*lines) + b"early")
            assert all_of(client).endswith(b"\r\n\r\nhellobye")
        thread.join(10)
    assert heard[0].startswith(b"GET /s HTTP/1.1\r\n")
    assert heard[0].endswith(b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")  # And nothing that came too early.
    assert heard[1] == b"early"


def test_what_comes_behind_an_upgrade_that_is_not_made_is_for_nobody(world: World) -> None:
    with Server(address=GOOD) as server, proxied(world, POLITE_ALLOW_PORTS=[server.port]) as proxy:
        lines = (f"GET http://good.example:{server.port}/s HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket")
        hidden = b"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
        with proxy.connect() as client:
            client.sendall(proxy.head(*lines) + hidden)
            assert b" 200 " in client.recv(4096)
            with suppress(OSError):
                client.sendall(hidden)
        proxy.until_idle()
    assert [arrival.path for arrival in server.arrivals] == ["/s"]


# -- one connection, one request


def test_a_second_request_on_a_connection_reaches_nobody(proxy: Proxied) -> None:
    """Neither the first one's server, with the second one's cookies, nor another server that nobody has judged."""
    second = proxy.head(f"GET http://other.example:{proxy.world.port}/second HTTP/1.1", "Cookie: a=b")
    trap = proxy.head(f"GET http://127.0.0.1:{proxy.world.port}/trap HTTP/1.1")
    with proxy.connect() as client:
        client.sendall(proxy.head(f"GET {proxy.world.url('/first')} HTTP/1.1") + second + trap)
        said = all_of(client)
    assert said.count(b"HTTP/1.1 ") == 1
    with proxy.connect() as client:
        client.sendall(proxy.head(f"GET {proxy.world.url('/third')} HTTP/1.1"))
        assert b" 200 " in client.recv(65_536)
        with suppress(OSError):
            client.sendall(second)
            assert b"HTTP/1.1" not in all_of(client)
    assert [path for _, path in proxy.world.arrivals] == ["/first", "/third"]


# -- who may use it


@pytest.mark.parametrize(
    "credential", ["", "Basic", "Basic eDp5", "Bearer x", "Basic cG9saXRlOg==", "basic \xe4", "Basic " + "A" * 60]
)
def test_without_the_credential_nothing_is_judged_and_nothing_is_learned(proxy: Proxied, credential: str) -> None:
    answers = set()
    for first in (
        f"GET {proxy.world.url('/')} HTTP/1.1",
        f"GET http://127.0.0.1:{proxy.world.port}/ HTTP/1.1",
        "GET http://no.such.example/ HTTP/1.1",
        f"CONNECT good.example:{proxy.world.port} HTTP/1.1",
        "CONNECT 10.0.0.1:443 HTTP/1.1",
    ):
        with proxy.connect() as client:
            client.sendall(proxy.head(first, credential=credential))
            answers.add(all_of(client))
    (answer,) = answers
    assert answer.startswith(b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=")
    assert proxy.world.arrivals == []
    assert proxy.end() == {"ended": 1}


def test_it_listens_on_loopback_alone_and_each_run_has_its_own_credential(world: World) -> None:
    with proxied(world) as one, proxied(world) as another:
        assert one.port != another.port
        assert one.credential != another.credential
        assert len(base64.b64decode(one.credential[6:])) > 40
        for address in ("127.0.0.2", GOOD):
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection((address, one.port), timeout=5)


# -- what is refused


def inside(port: int) -> list[str]:
    return [
        f"127.0.0.1:{port}",
        f"[::1]:{port}",
        f"localhost:{port}",
        f"127.1:{port}",
        f"0x7f000001:{port}",
        f"2130706433:{port}",
        f"0:{port}",
        f"[::ffff:127.0.0.1]:{port}",
        f"[64:ff9b::7f00:1]:{port}",
        f"10.0.0.1:{port}",
        f"169.254.169.254:{port}",
        f"100.100.100.200:{port}",
        f"192.168.0.1:{port}",
        f"[fd00:ec2::254]:{port}",
        f"bad.example:{port}",
        f"mixed.example:{port}",
        f"metadata.example:{port}",
        f"metadata.google.internal:{port}",
        f"intranet:{port}",
    ]


NOBODY_THERE = ["no.such.example", "127.30.0.77"]
"""No DNS answer; allowed, and nobody listens."""


def test_all_refusals_look_alike_and_like_a_server_that_is_not_there(proxy: Proxied) -> None:
    port = proxy.world.port
    where = [*inside(port), *(f"{host}:{port}" for host in NOBODY_THERE), "good.example:25", "good.example:22"]
    assert {proxy.tunnel(one) for one in where} == {FAILED}
    assert {proxy.get(f"http://{one}/") for one in where} == {b""}
    assert proxy.world.arrivals == []
    assert proxy.refused("loopback") >= 2 * 6
    assert proxy.refused("metadata") >= 2 * 3
    assert proxy.refused("private") >= 2 * 2
    assert proxy.refused("port") == 2 * 2
    assert proxy.refused("special_name") == 2


def test_a_refusal_is_in_the_log_with_its_reason(proxy: Proxied) -> None:
    proxy.get(f"http://bad.example:{proxy.world.port}/secret")
    assert proxy.refused("loopback") == 1
    assert f"refused (loopback): <http://bad.example:{proxy.world.port}/secret>" in proxy.said


def test_a_user_name_in_a_url_is_refused(proxy: Proxied) -> None:
    assert proxy.get(f"http://user:password@good.example:{proxy.world.port}/") == b""
    assert proxy.get(f"http://good.example:{proxy.world.port}@127.0.0.1:{proxy.world.port}/") == b""
    assert proxy.tunnel(f"user@good.example:{proxy.world.port}") == MALFORMED
    assert proxy.refused("userinfo") == 1
    assert proxy.refused("loopback") == 1


def test_its_own_port_is_out_of_reach_where_all_of_loopback_is_allowed(world: World) -> None:
    everything = list(range(1, 65_536))
    with proxied(world, POLITE_ALLOW_NETWORKS=["127.0.0.0/8"], POLITE_ALLOW_PORTS=everything) as proxy:
        assert proxy.tunnel(f"127.0.0.1:{proxy.port}") == FAILED
        assert proxy.get(f"http://127.1:{proxy.port}/") == b""
        assert proxy.refused("own_interface") == 2


def test_a_name_that_rebinds_is_refused_when_it_does_and_never_dialled(world: World) -> None:
    with proxied(world) as proxy:
        world.reached.clear()
        world.hits.clear()
        url = f"http://{REBINDS}:{world.port}/"
        assert b"the good server" in proxy.get(url)
        end, said = time.monotonic() + 10, b"x"
        while said and time.monotonic() < end:  # Until the answer has expired.
            said = proxy.get(url)
            time.sleep(0.2)
        assert said == b""
        assert proxy.refused("loopback") >= 1
        assert world.reached == {(REBINDS, GOOD)}
    assert world.hits == []


def test_in_report_mode_what_would_be_refused_is_counted_and_let_through(world: World) -> None:
    world.hits.clear()
    with proxied(world, POLITE_GUARD="report") as proxy:
        assert b"the trap" in proxy.get(f"http://bad.example:{world.port}/")
        assert proxy.tunnel(f"metadata.example:{world.port}") == FAILED
        assert proxy.refused("loopback") == 1
    assert len(world.hits) == 1


# -- the next address


def test_where_an_address_does_not_answer_the_next_vetted_one_is_dialled_and_first_from_then_on(world: World) -> None:
    names = [f"two{n}.example" for n in range(20)]  # In whose answers either address may be the first.
    for name in names:
        world.script.add(name, (60, "A", "127.30.0.88"), (60, "A", GOOD))
    with proxied(world) as proxy:
        world.reached.clear()
        for name in names * 2:
            assert b"the good server" in proxy.get(f"http://{name}:{world.port}/")
        proxy.end()
        assert world.reached == {(name, GOOD) for name in names}
        assert 0 < proxy.said.count("the next address is dialled") <= len(names)


# -- clients that misbehave


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        b"GET http://good.example/ HTTP/1.1\nX: y\r\n\r\n",
        b"GET http://good.example/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST http://good.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
        b"GET http://good.example/ HTTP/1.1\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
        b"y" * 100_000,
        b"GET http://good.example/ HTTP/1.1\r\n" + b"X: y\r\n" * 20_000,
    ],
)
def test_what_is_no_plain_request_is_answered_with_400_and_judged_by_nobody(proxy: Proxied, data: bytes) -> None:
    with proxy.connect() as client:
        with suppress(OSError):
            client.sendall(data)
        assert all_of(client) in (MALFORMED, b"")  # It may be lost where more was sent than is read.
    proxy.until_idle()
    assert proxy.end() == {"ended": 1}


def test_a_head_may_come_in_pieces(proxy: Proxied) -> None:
    with proxy.connect() as client:
        data = proxy.head(f"GET {proxy.world.url('/slow')} HTTP/1.1")
        for octet in range(0, len(data), 7):
            client.sendall(data[octet : octet + 7])
            time.sleep(0.005)
        assert b"the good server" in all_of(client)


def test_a_client_that_goes_away_leaves_nothing_open(world: World) -> None:
    world.script.faults["slow.example"] = "silent"
    with (
        Server(lambda arrival: Answer(wait=2), address=GOOD) as server,
        proxied(world, POLITE_ALLOW_PORTS=[server.port], POLITE_DNS_TIMEOUT=2) as proxy,
    ):
        for first in (
            f"GET http://slow.example:{server.port}/ HTTP/1.1",
            f"GET http://good.example:{server.port}/ HTTP/1.1",
            f"CONNECT good.example:{server.port} HTTP/1.1",
        ):
            client = proxy.connect()
            client.sendall(proxy.head(first))
            time.sleep(0.2)
            client.close()
        proxy.connect().close()
        proxy.until_idle()


def test_a_slow_name_holds_up_nobody_else(world: World) -> None:
    world.script.faults["hangs.example"] = "silent"
    with proxied(world, POLITE_DNS_TIMEOUT=3) as proxy, proxy.connect() as slow:
        slow.sendall(proxy.head(f"CONNECT hangs.example:{world.port} HTTP/1.1"))
        started = time.monotonic()
        assert b"the good server" in proxy.get(world.url("/quick"))
        assert time.monotonic() - started < 2
        assert slow.recv(4096) == FAILED


def test_an_answer_that_is_no_http_or_none_at_all_is_passed_on_to_nobody(world: World) -> None:
    def serve(listening: socket.socket) -> None:
        with suppress(OSError):
            for says in (
                b"220 smtp.example ESMTP\r\n\r\n",
                b"",
                b'HTTP/1.1 407 x\r\nProxy-Authenticate: Basic realm="x"\r\n\r\n',
            ):
                server, _ = listening.accept()
                with server:
                    server.recv(4096)
                    server.sendall(says)

    with socket.create_server((GOOD, 0)) as listening:
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        port = listening.getsockname()[1]
        with proxied(world, POLITE_ALLOW_PORTS=[port]) as proxy:
            assert [proxy.get(f"http://good.example:{port}/") for _ in range(3)] == [b""] * 3
            proxy.until_idle()


def test_who_does_not_come_to_the_end_of_a_head_is_hung_up_on(world: World) -> None:
    class Wire(StringTransport):
        def setTcpNoDelay(self, on: bool) -> None: ...

        def abortConnection(self) -> None:
            ended.append(clock.seconds())

    clock, ended = Clock(), list[float]()
    resolver = Resolver([world.dns])
    politeness = Politeness(Config.from_settings({}), open_store("memory:"), resolver, None, None)  # type: ignore[arg-type]
    client = Client(ForwardProxy(clock, politeness))
    client.makeConnection(Wire())
    for second in range(100):
        client.dataReceived(b"x")
        clock.advance(1)
        assert ended == ([] if second + 1 < HEAD_WITHIN else [HEAD_WITHIN])
    client.connectionLost(Failure(ConnectionDone()))
    politeness.close_files()
