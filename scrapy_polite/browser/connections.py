"""The connections of the forward proxy: a client's, and that to a server which is dialled for it.

A client's connection has one request. When there is a server, what either says goes to the other, and nobody is written to
faster than he reads.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import ClientFactory, Factory, Protocol

from scrapy_polite.browser.heads import MAX_HEAD, AnswerReader, read_head, written

if TYPE_CHECKING:
    from twisted.python.failure import Failure

    from scrapy_polite.browser.heads import Asked
    from scrapy_polite.browser.proxy import ForwardProxy

__all__ = ["Client", "Clients", "Dialled", "Server"]

FAILED: Final = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
"""To a tunnel that is not made, whatever the reason: refused, no DNS answer, nobody there."""

MALFORMED: Final = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

WHO_ARE_YOU: Final = (
    b"HTTP/1.1 407 Proxy Authentication Required\r\n"
    b'Proxy-Authenticate: Basic realm="scrapy_polite"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
)

ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"

HEAD_WITHIN: Final = 30.0
"""Seconds from the connection to the end of the head. A browser opens some in advance, and others when these are closed."""

IDLE: Final = 600.0
"""Seconds in which nothing was said on either side."""

LINGER: Final = 2.0
"""Seconds for which a client that was answered may go on talking: closed at once, it might lose the answer."""

CLIENTS: Final = 1_000
"""Connections at a time: a page opens some tens."""


class Clients(Factory):
    noisy = False

    def __init__(self, proxy: ForwardProxy) -> None:
        self._proxy = proxy

    def buildProtocol(self, addr: Any) -> Client | None:
        return Client(self._proxy) if len(self._proxy.clients) < CLIENTS else None


class Client(Protocol):
    """A browser's connection: a head is read, then the server is dialled, then both are joined."""

    transport: Any

    def __init__(self, proxy: ForwardProxy) -> None:
        self._proxy = proxy
        self._head = bytearray()
        self._asked: Asked | None = None
        self._task: asyncio.Task[None] | None = None
        self._server: Server | None = None
        self._answer: AnswerReader | None = None
        """As long as the head of the server's answer is awaited."""
        self._raw = False
        """Whether all that comes from the client is for the server."""
        self._left = 0
        """Octets of the request's body that have not come yet."""
        self._over = False
        self._timer: Any = None

    def connectionMade(self) -> None:
        self._proxy.clients.add(self)
        self.transport.setTcpNoDelay(True)
        self._within(HEAD_WITHIN)

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        self._over = True
        self._within(None)
        self._proxy.clients.discard(self)
        if self._task is not None:
            self._task.cancel()
        if self._server is not None:
            self._server.part()

    def _within(self, seconds: float | None) -> None:
        """From now on: whatever is awaited is to come in so many seconds, or the connection ends; None: nothing is awaited."""
        if self._timer is not None and self._timer.active():
            if seconds is not None:
                self._timer.reset(seconds)
            else:
                self._timer.cancel()
        elif seconds is not None:
            self._timer = self._proxy.reactor.callLater(seconds, self.transport.abortConnection)

    def dataReceived(self, data: bytes) -> None:
        if self._over:
            return
        if self._server is not None:
            self._pass_on(data)
            return
        searched = max(0, len(self._head) - 3)
        self._head += data
        if self._asked is not None:
            if len(self._head) > MAX_HEAD:
                self.transport.pauseProducing()
            return
        end = self._head.find(b"\r\n\r\n", searched)
        if end > MAX_HEAD or (end < 0 and len(self._head) > MAX_HEAD):
            self._say(MALFORMED)
        elif end >= 0:
            head = bytes(self._head[:end])
            del self._head[: end + 4]
            self._read(head)

    def _read(self, head: bytes) -> None:
        self._asked = asked = read_head(head)
        if asked is None:
            self._say(MALFORMED)
        elif not self._proxy.knows(asked.credential):
            self._say(WHO_ARE_YOU)
        else:
            self._within(None)
            self._task = asyncio.ensure_future(self._serve(asked))

    async def _serve(self, asked: Asked) -> None:
        opened = None
        try:
            opened = await self._proxy.open(asked)
        finally:
            if opened is None and not self._over:
                self._fail()
        if opened is None:
            return
        target, server = opened
        server.join(self)
        self._server = server
        self._within(IDLE)
        self.transport.resumeProducing()
        self.transport.registerProducer(server.transport, True)  # Whoever reads slowly is not written to faster.
        if asked.tunnel:
            self._raw = True
            self.transport.write(ESTABLISHED)
        else:
            self._left = asked.length or 0
            self._answer = AnswerReader(asked.upgrade)
            server.transport.write(written(asked, target))
        self._flush_head()

    def _flush_head(self) -> None:
        held = bytes(self._head)
        self._head.clear()
        if held:
            self._pass_on(held)

    def _pass_on(self, data: bytes) -> None:
        """What the client says after its head. What is no part of its request is for nobody."""
        self._within(IDLE)
        assert self._server is not None
        if not self._raw:
            if self._asked is not None and self._asked.upgrade and self._answer is not None:
                self._head += data[: MAX_HEAD - len(self._head)]  # For when the server has agreed.
                return
            data = data[: self._left]
            self._left -= len(data)
        self._server.transport.write(data)

    # -- what the server tells

    def answered(self, data: bytes) -> None:
        self._within(IDLE)
        if self._answer is None:
            self.transport.write(data)
            return
        found = self._answer.feed(data)
        if found == "bad":
            self._fail()
        elif found != "incomplete":
            self._answer = None
            self.transport.write(found.head + found.rest)
            if found.status == 101:
                self._raw = True
                self._flush_head()

    def lost(self, reason: Failure) -> None:
        """The server has closed."""
        self._server = None
        if self._over:
            return
        self.transport.unregisterProducer()
        if self._answer is not None:
            self._fail()
        elif reason.check(ConnectionDone):
            self._over = True
            self.transport.loseConnection()  # With what it has not read yet.
        else:
            self._over = True
            self.transport.abortConnection()  # It may not take what it has for all.

    def _fail(self) -> None:
        self._say(FAILED if self._asked is not None and self._asked.tunnel else b"")

    def _say(self, what: bytes) -> None:
        """The last that is said to the client; then it closes, or is closed."""
        self._over = True
        server, self._server = self._server, None
        if server is not None:
            server.client = None
            server.transport.abortConnection()
            self.transport.unregisterProducer()
        self._head.clear()
        self._within(LINGER)
        self.transport.resumeProducing()
        self.transport.write(what)
        self.transport.loseWriteConnection()


class Dialled(ClientFactory):
    """One dialling. ``made`` fires with the connection."""

    noisy = False

    def __init__(self, proxy: ForwardProxy) -> None:
        self._proxy = proxy
        self.made: Deferred[Server] = Deferred()
        self.connector: Any = None
        self._server: Server | None = None

    def buildProtocol(self, addr: Any) -> Server:
        self._server = Server(self._proxy, self.made)
        return self._server

    def clientConnectionFailed(self, connector: Any, reason: Failure) -> None:
        if not self.made.called:
            self.made.errback(reason)

    def give_up(self) -> None:
        """Nobody waits for it any more."""
        if self._server is None:
            self.connector.stopConnecting()
        else:
            self._server.transport.abortConnection()


class Server(Protocol):
    """The connection that was dialled for a client."""

    transport: Any

    def __init__(self, proxy: ForwardProxy, made: Deferred[Server]) -> None:
        self._proxy = proxy
        self._made = made
        self.client: Client | None = None

    def connectionMade(self) -> None:
        self._proxy.servers.add(self)
        self.transport.setTcpNoDelay(True)
        self.transport.pauseProducing()  # Until there is a client to tell.
        self._made.callback(self)

    def dataReceived(self, data: bytes) -> None:
        if self.client is not None:
            self.client.answered(data)

    def join(self, client: Client) -> None:
        self.client = client
        self.transport.registerProducer(client.transport, True)
        self.transport.resumeProducing()

    def part(self) -> None:
        """The client has gone: what it has said is sent, and nothing more is heard."""
        self.client = None
        self.transport.unregisterProducer()
        self.transport.loseConnection()

    def connectionLost(self, reason: Failure) -> None:  # type: ignore[override]
        self._proxy.servers.discard(self)
        client, self.client = self.client, None
        if client is not None:
            client.lost(reason)
