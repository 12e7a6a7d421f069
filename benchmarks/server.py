"""The server of the benchmarks, in a process of its own: tiny pages, answered at once, on one port of some loopback addresses.

    python -m benchmarks.server ADDRESS ... [--tls] [--holds ADDRESS]

Prints its port, then answers each line of its standard input with the arrivals so far, as JSON: [stamp of the kernel on
CLOCK_MONOTONIC, address, path]. Ends when its standard input does. The address that holds says 429 and ``Retry-After: 3600``.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import ssl
from typing import TYPE_CHECKING

from benchmarks.serving import Serving, answer

if TYPE_CHECKING:
    from collections.abc import Sequence

from town.stamping import Listener, connection_of

PAGE = b"<html><body><p>A page.</p></body></html>"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (len(PAGE), PAGE)
HOLD = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n"
END = b"\r\n\r\n"


class Visit(asyncio.Protocol):
    """Requests without bodies, one after the other. ``arrivals`` None: nobody asks for them. ``holds``: the address that says
    to come back in an hour."""

    def __init__(self, arrivals: list[tuple[float, str, str]] | None, holds: str = "") -> None:
        self._arrivals = arrivals
        self._holds = holds
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._address = transport.get_extra_info("sockname")[0]

    def data_received(self, data: bytes) -> None:
        self._received += data
        while END in self._received:
            head, _, self._received = self._received.partition(END)
            if self._arrivals is not None:
                connection = connection_of(self._transport)
                assert connection is not None
                self._arrivals.append((connection.stamp, self._address, head.split(b" ", 2)[1].decode()))
            self._transport.write(HOLD if self._address == self._holds else ANSWER)


async def serve(addresses: Sequence[str], tls: bool, stamps: bool, holds: str) -> None:
    context = None
    if tls:
        import trustme

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        trustme.CA().issue_cert(*addresses).configure_cert(context)
    loop = asyncio.get_running_loop()
    arrivals: list[tuple[float, str, str]] | None = [] if stamps else None
    for listener in listening(addresses, Listener if stamps else socket.socket):
        await loop.create_server(lambda: Visit(arrivals, holds), sock=listener, ssl=context)
        port = listener.getsockname()[1]
    await answer(port, lambda: arrivals)


def listening(addresses: Sequence[str], kind: type[socket.socket]) -> list[socket.socket]:
    """One free port, the same on every address."""
    while True:
        sockets = [kind(socket.AF_INET, socket.SOCK_STREAM) for _ in addresses]
        try:
            port = 0
            for one, address in zip(sockets, addresses, strict=True):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                one.bind((address, port))
                port = one.getsockname()[1]
        except OSError:
            for one in sockets:
                one.close()
            continue
        for one in sockets:
            one.listen(512)
        return sockets


class Server(Serving):
    """``with Server(addresses) as server``: it runs, at ``server.port``. ``stamps``: arrivals are written down. ``holds``: one
    of the addresses, which holds for an hour."""

    def __init__(self, addresses: Sequence[str], *, tls: bool = False, stamps: bool = True, holds: str = "") -> None:
        options = ["--tls"] * tls + ["--no-stamps"] * (not stamps) + ["--holds", holds] * bool(holds)
        super().__init__("benchmarks.server", [*addresses, *options])
        self._scheme = "https" if tls else "http"

    def url(self, address: str, path: str) -> str:
        return f"{self._scheme}://{address}:{self.port}{path}"

    def arrivals(self) -> list[tuple[float, str, str]]:
        return [(at, address, path) for at, address, path in self.told()]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("addresses", nargs="+")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--no-stamps", action="store_true")
    parser.add_argument("--holds", default="")
    options = parser.parse_args()
    asyncio.run(serve(options.addresses, options.tls, not options.no_stamps, options.holds))


if __name__ == "__main__":
    main()
