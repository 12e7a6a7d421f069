"""What may happen to a connection while a request waits on it, written out and not sent."""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING

import pytest
from loopback import FETCH, Answer, Server, crawl, kept, limits, ports

if TYPE_CHECKING:
    import socket
    import ssl
    from pathlib import Path


class Shaking(Server):
    """Remembers when each handshake was complete."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        super().__init__(lambda arrival: Answer(close=True, headers={"Connection": "close"}), tls=tls)
        self.shaken: list[float] = []

    def _converse(self, connection: socket.socket, number: int) -> None:
        self.shaken.append(time.monotonic())
        super()._converse(connection, number)


def test_a_handshake_is_complete_before_the_wait_for_the_slot(tmp_path: Path, tls: ssl.SSLContext) -> None:
    # A letter that takes the last words of the handshake along leaves the server with half of it for as long.
    with Shaking(tls) as server:
        done = crawl(FETCH.format(count=3, url=server.url), tmp_path, **limits(1.25), **ports(server))
        assert len(done.urls()) == 3, done.log
        waited = [arrival.at - server.shaken[arrival.connection - 1] for arrival in server.arrivals[1:]]
        assert min(waited) > 0.1


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_connection_that_dies_under_a_letter_is_replaced(tmp_path: Path, tls: ssl.SSLContext, scheme: str) -> None:
    with Server(idle=0.15, tls=tls if scheme == "https" else None) as server:
        done = crawl(FETCH.format(count=6, url=server.url), tmp_path, **limits(2.5), **ports(server), RETRY_ENABLED=False)
        assert len(done.urls()) == 6, done.log
        assert len(server.arrivals) == 6
        assert server.connections > 6
        assert done.stats["polite/slots/booked"] == 6


class Talkative(Server):
    """Says something once on each connection that nobody has asked for, and stays."""

    def __init__(self, what: bytes) -> None:
        super().__init__()
        self.what = what

    def _converse(self, connection: socket.socket, number: int) -> None:
        if not select.select([connection], [], [], 0.1)[0]:
            connection.sendall(self.what)
        super()._converse(connection, number)


@pytest.mark.parametrize(
    "what", [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 408 Re", b"HTTP/1.1 103 Early Hints\r\n\r\n"]
)
def test_a_connection_that_said_what_nobody_has_asked_carries_no_request(tmp_path: Path, what: bytes) -> None:
    with Talkative(what) as server:
        done = crawl(FETCH.format(count=12, url=server.url), tmp_path, **limits(5), **ports(server), RETRY_ENABLED=False)
        assert len(done.urls()) == 12, done.log
        assert len(server.arrivals) == 12
        assert done.stats["polite/slots/booked"] == 12


def test_without_a_descriptor_for_a_letter_the_reactor_sends(tmp_path: Path) -> None:
    spider = """
import errno, socket
def dup(self):
    raise OSError(errno.EMFILE, "Too many open files")
socket.socket.dup = dup
"""
    with Server() as server:
        source = spider + FETCH.format(count=5, url=server.url)
        done = crawl(source, tmp_path, **limits(5), **ports(server), RETRY_ENABLED=False)
        assert len(done.urls()) == 5, done.log
        kept(server, 0.2)
