"""Letters: written out before their slot, sent by another thread than the reactor's, or not at all."""

from __future__ import annotations

import socket
import ssl
import threading
from typing import TYPE_CHECKING, Any

import pytest
import trustme
from loopback import Answer, Arrival, Server, crawl
from twisted.internet import abstract, tcp
from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol
from twisted.internet.testing import MemoryReactor

from scrapy_polite.letter import Letter, is_open

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WIDTH = 0.05
SLACK = 0.1
"""Between the kernel and the stamp of a thread that this machine may let wait."""

REQUEST = b"GET / HTTP/1.1\r\n\r\n"


@pytest.fixture
def pair() -> Iterator[tuple[Any, socket.socket]]:
    """A transport of Twisted's that is connected, and the socket of its peer."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(10)
    transport = tcp.Connection(ours, Protocol(), MemoryReactor())
    transport.connected = True
    with ours, theirs:
        yield transport, theirs


def written(transport: Any, data: bytes = REQUEST) -> Letter:
    assert Letter.can_be_taken(transport)
    transport.write(data)
    assert not Letter.can_be_taken(transport)
    return Letter(transport, transport.socket.dup(), Deferred(), tls=False)


def test_what_was_written_is_sent_once_and_by_the_letter_alone(pair: tuple[Any, socket.socket]) -> None:
    transport, peer = pair
    letter = written(transport)
    assert Letter.can_be_taken(transport)
    assert transport not in transport.reactor.writers
    told: list[str] = []
    sender = threading.Thread(target=lambda: letter.send(lambda: told.append("sent")))
    sender.start()
    sender.join(10)
    assert told == ["sent"]
    assert peer.recv(1000) == REQUEST
    assert not letter.withdraw()
    assert not letter.send(lambda: told.append("twice"))
    letter.finish()
    assert told == ["sent"]
    assert not transport.dataBuffer
    assert not transport._tempDataBuffer


def test_what_was_withdrawn_is_never_sent(pair: tuple[Any, socket.socket]) -> None:
    transport, peer = pair
    letter = written(transport)
    assert letter.withdraw()
    assert letter.withdraw()
    assert not letter.is_deliverable()
    assert not letter.send(lambda: pytest.fail("it was withdrawn"))
    transport.socket.close()
    assert peer.recv(1000) == b"", "and nobody holds the connection open"


def test_a_letter_to_a_peer_that_has_gone_is_not_deliverable(pair: tuple[Any, socket.socket]) -> None:
    transport, peer = pair
    letter = written(transport)
    assert letter.is_deliverable()
    peer.close()
    assert not letter.is_deliverable()
    assert not letter.send(lambda: pytest.fail("nobody is there"))
    assert letter.withdraw()


@pytest.mark.parametrize(
    ("said", "length", "is_closing"),
    [(21, 2, True), (23, 19, True), (23, 22, False), (23, 250, False), (22, 250, False)],
    ids=["alert", "alert of TLS 1.3", "KeyUpdate", "ticket", "ticket of TLS 1.2"],
)
def test_a_peer_that_says_farewell_over_tls_is_gone_and_one_that_sends_a_ticket_is_not(
    pair: tuple[Any, socket.socket], said: int, length: int, is_closing: bool
) -> None:
    transport, peer = pair
    assert is_open(transport.socket, tls=True)
    peer.send(bytes([said, 3, 3]) + length.to_bytes(2, "big") + bytes(length))
    assert is_open(transport.socket, tls=True) is not is_closing
    assert not is_open(transport.socket, tls=False)
    peer.shutdown(socket.SHUT_WR)
    assert not is_open(transport.socket, tls=True), "an end is seen behind what nobody has read"


def test_a_connection_that_the_reactor_closed_takes_no_letter_to_anybody_else(pair: tuple[Any, socket.socket]) -> None:
    transport, peer = pair
    letter = written(transport)
    number = transport.socket.fileno()
    transport.socket.close()
    first, second = socket.socketpair()
    with first, second:
        assert number in (first.fileno(), second.fileno()), "the kernel gives the number to the next one"
        assert letter.send(lambda: None)
        assert peer.recv(1000) == REQUEST
        for one in (first, second):
            one.setblocking(False)
            with pytest.raises(BlockingIOError):
                one.recv(1)


def test_what_the_kernel_has_no_room_for_goes_by_the_reactor(pair: tuple[Any, socket.socket]) -> None:
    transport, peer = pair
    data = bytes(range(256)) * 40_000
    letter = written(transport, data)
    assert letter.send(lambda: None)
    letter.finish()
    rest = b"".join(transport._tempDataBuffer)
    assert rest
    assert transport in transport.reactor.writers
    got = b""
    while len(got) < len(data) - len(rest):
        got += peer.recv(1 << 20)
    assert got + rest == data


def test_the_private_parts_of_twisted_that_letters_use_are_there() -> None:
    for name in ("dataBuffer", "offset", "_tempDataBuffer", "_tempDataLen"):
        assert hasattr(abstract.FileDescriptor(MemoryReactor()), name)


BLOCKED = """
import time
class Spider(TestSpider):
    async def start(self):
        for n in range(8):
            yield scrapy.Request("{url}/" + str(n), callback=self.parse, errback=self.failed, dont_filter=True)
    def parse(self, response):
        self.answered(response)
        if response.url.endswith("/2"):
            from twisted.internet import reactor
            reactor.callLater(0.01, self.block)
    def block(self):
        began = time.monotonic()
        while time.monotonic() < began + 1.5:
            pass
        self.crawler.stats.set_value("began", began)
        self.crawler.stats.set_value("ended", time.monotonic())
"""


@pytest.fixture(scope="module")
def tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    return context


def options(server: Server, per_second: float) -> dict[str, object]:
    limits = {"POLITE_COSTS": {"page": 1}, "POLITE_SITE_RATE": per_second, "POLITE_ORIGIN_RATE": per_second}
    return {**limits, "POLITE_ALLOW_PORTS": [server.port]}


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_slots_are_kept_in_the_middle_of_a_callback_that_blocks_the_reactor(
    tmp_path: Path, tls: ssl.SSLContext, scheme: str
) -> None:
    with Server(tls=tls if scheme == "https" else None) as server:
        done = crawl(BLOCKED.format(url=server.url), tmp_path, **options(server, 5))
        assert len(done.urls()) == 8, done.log
        began, ended = done.stats["began"], done.stats["ended"]
        assert [arrival for arrival in server.arrivals if began + 0.1 < arrival.at < ended - 0.1], "nothing came meanwhile"
        assert min(server.gaps()) >= 0.2 - WIDTH - SLACK
        assert done.stats["polite/slots/booked"] == 8


IMPATIENT = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Impatient(Server):
    """Says that it has waited too long for a request, as some servers do, and closes."""

    def _converse(self, connection: socket.socket, number: int) -> None:
        try:
            super()._converse(connection, number)
        except TimeoutError:
            connection.sendall(IMPATIENT)


FETCH = """
class Spider(TestSpider):
    async def start(self):
        for n in range({count}):
            yield scrapy.Request("{url}/" + str(n), callback=self.answered, errback=self.failed, dont_filter=True)
"""


def test_what_an_impatient_server_says_is_nobodys_answer(tmp_path: Path) -> None:
    with Impatient(idle=0.15) as server:
        done = crawl(FETCH.format(count=5, url=server.url), tmp_path, **options(server, 2.5), RETRY_ENABLED=False)
        assert len(done.urls()) == 5, done.log
        assert len(server.arrivals) == 5
        assert done.stats["polite/slots/booked"] == 5
        assert "downloader/response_status_count/408" not in done.stats


def test_bodies_and_pages_share_a_line_and_keep_its_interval(tmp_path: Path) -> None:
    spider = """
class Spider(TestSpider):
    async def start(self):
        for n in range(8):
            body = b"x" * 100_000 if n %% 2 else b""
            yield scrapy.Request("%s/" + str(n), method="POST" if n %% 2 else "GET", body=body, callback=self.answered,
                                 errback=self.failed, dont_filter=True)
"""
    bodies: list[int] = []

    def answer(arrival: Arrival) -> Answer:
        bodies.append(arrival.body)
        return Answer()

    with Server(answer) as server:
        done = crawl(spider % server.url, tmp_path, **options(server, 5))
        assert len(done.urls()) == 8, done.log
        assert sorted(bodies) == [0] * 4 + [100_000] * 4
        assert min(server.gaps()) >= 0.2 - WIDTH - SLACK
