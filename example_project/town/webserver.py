"""HTTP/1.1 on a socket: stamps each request with the arrival of its first bytes, asks the inhabitant, logs, answers."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from aiohttp import web

from town.arrivals import COSTS, Log, kind_of
from town.stamping import connection_of
from town.visits import Answer, Inhabitant, Visit

if TYPE_CHECKING:
    import socket
    import ssl

CLOSED: Final = 0
"""Status in the log of a visit that was a connection only: no request came."""


class Stamped(web.RequestHandler):  # type: ignore[misc,unused-ignore]
    """aiohttp's protocol; notes when a request's first bytes arrived, and if any came at all."""

    __slots__ = ("asked", "at", "connection", "fresh", "opened")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.connection = connection_of(transport)
        self.at = self.opened = time.monotonic()
        self.fresh = True
        self.asked = False

    def data_received(self, data: bytes) -> None:
        if self.fresh and data:
            self.at = self.connection.stamp if self.connection is not None else time.monotonic()
            self.fresh = False
        super().data_received(data)


class WebServer(web.Server):
    """One inhabitant's server on one socket."""

    def __init__(self, name: str, inhabitant: Inhabitant, log: Log, sock: socket.socket, tls: bool) -> None:
        super().__init__(self.respond, access_log=None, keepalive_timeout=75.0)
        self.name = name
        self.inhabitant = inhabitant
        self.log = log
        self.tls = tls
        self.address, self.port = sock.getsockname()[:2]

    def __call__(self) -> web.RequestHandler:
        return Stamped(self, loop=self._loop, **self._kwargs)

    async def respond(self, request: web.BaseRequest) -> web.StreamResponse:
        protocol = request.protocol
        assert isinstance(protocol, Stamped)
        at = protocol.at
        protocol.fresh = True
        protocol.asked = True
        host = bare_host(request.headers.get("Host", ""))
        agent = request.headers.get("User-Agent", "")
        visit = Visit(at, host, request.raw_path, request.method, agent, self.address, self.port, self.tls)
        if request.method in ("GET", "HEAD"):
            answer = await self.inhabitant(visit)
        else:
            answer = Answer(405, b"Method Not Allowed", "text/plain", {"Allow": "GET, HEAD"})
        # Logged before the wait: whoever sees the answer, or gives up on it, finds the line.
        self.note(visit, answer.status, time.monotonic() - at + answer.delay, answer.hold_until)
        if answer.delay > 0:
            await asyncio.sleep(answer.delay)
        headers = {"Content-Type": answer.content_type, **answer.headers}
        return web.Response(status=answer.status, body=answer.body, headers=headers)

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        if self.name == "trap" and isinstance(handler, Stamped) and not handler.asked:
            self.hello(handler.opened)

    def hello(self, at: float) -> None:
        """Logs a visit that asked for nothing: on a trap, a connection is a hit."""
        self.note(Visit(at, "", "", "", "", self.address, self.port, self.tls), CLOSED, 0.0, None)

    def note(self, visit: Visit, status: int, latency: float, hold_until: float | None) -> None:
        kind = kind_of(visit.path)
        self.log.write(
            {
                "t": visit.at,
                "server": self.name,
                "address": visit.address,
                "port": visit.port,
                "host": visit.host,
                "path": visit.path,
                "kind": kind,
                "cost": COSTS[kind],
                "status": status,
                "latency": round(latency, 6),
                "hold_until": hold_until,
                "agent": visit.agent,
                "tls": visit.tls,
            }
        )


def bare_host(header: str) -> str:
    """The Host header without port and case: ``Example.COM:80`` is ``example.com``, ``[::1]:80`` is ``::1``."""
    header = header.strip().lower()
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]


async def serve(server: WebServer, sock: socket.socket, context: ssl.SSLContext | None) -> asyncio.AbstractServer:
    """Starts `server` on a socket that listens already."""
    loop = asyncio.get_running_loop()
    return await loop.create_server(server, sock=sock, ssl=context)
