"""The wire of HTTP/1.1: a connection pool that takes the place of Twisted's, and gives appointments.

What of Twisted is private here, and the same from 25.5 to 26.10: ``HTTPConnectionPool._factory``, ``_connections``,
``_timeouts``, ``_newConnection``, ``_putConnection``, ``_removeConnection``; ``HTTP11ClientProtocol.state``;
``_handshakeDone`` and ``_flushSendBIO`` of TLS transports. ``tests/test_wire.py`` fails when one of them goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from twisted.web.client import HTTPConnectionPool

from scrapy_polite.appointment import Connection, appointed, ends, layers, listening
from scrapy_polite.letter import Letter

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from scrapy_polite.resolver import Visit
    from scrapy_polite.standing import Lines
    from scrapy_polite.ticket import Ticket

__all__ = ["PolitePool"]

QUIESCENT: Final = "QUIESCENT"
"""``HTTP11ClientProtocol.state`` of a connection on which nothing is under way."""


class _Http11(Connection):
    """The pool's Deferred fires before the TLS handshake."""

    state: str
    _polite_letter: Letter | None = None
    """The last one, until it is known to be sent."""

    def dataReceived(self, data: bytes) -> None:
        if self._polite_letter is not None:
            if self._polite_letter.withdraw():
                # An impatient server, or one that answers what nobody has asked: whatever it says is nobody's answer.
                self.polite_drop()
                return
            self._polite_letter = None
        super().dataReceived(data)  # type: ignore[misc]

    def handshakeCompleted(self) -> None:
        # Twisted would send our last words of the handshake after this call, and a letter would take them in.
        layers(self)[0]._flushSendBIO()
        self.polite_tell()

    def polite_up(self) -> bool:
        tls, _ = layers(self)
        return tls is None or tls._handshakeDone

    def polite_free(self) -> bool:
        return True

    def polite_alive(self) -> bool:
        return self.state == QUIESCENT and super().polite_alive()

    def polite_seal(self, *what: Any) -> Letter | None:
        (request,) = what
        self.polite_flush()
        tls, tcp = layers(self)
        # A body may be long, and may be produced bit by bit.
        if request.bodyProducer is not None or not Letter.can_be_taken(tcp):
            return None
        try:
            own = tcp.socket.dup()
        except OSError:  # The process has no descriptor left.
            return None
        response: Deferred[Any] = self.request(request)  # type: ignore[attr-defined]
        self._polite_letter = Letter(self.polite_encrypt(), own, response, tls is not None)
        return self._polite_letter

    def polite_stop(self, ticket: Ticket) -> None:
        self.transport.abortConnection()


class PolitePool(HTTPConnectionPool):  # type: ignore[misc,unused-ignore]
    """A pool that takes the place of a handler's own: its settings, its protocols, and an appointment per request."""

    retryAutomatically = False
    """Twisted's own retry would be a second request without a slot."""

    def __init__(self, old: HTTPConnectionPool, lines: Lines) -> None:
        super().__init__(old._reactor, persistent=old.persistent)  # type: ignore[no-untyped-call]
        self._factory = listening(old._factory, _Http11)
        # As many connections are kept as may be in flight: a slow site must not pay a handshake for every request.
        self.maxPersistentPerHost = max(old.maxPersistentPerHost, 8)
        self.lines = lines

    def getConnection(self, key: Any, endpoint: Any) -> Deferred[Any]:
        return appointed(self, (key, endpoint), self._first)

    def _first(self, way: tuple[Any, ...], visit: Visit) -> Deferred[Any]:
        for connection in list(self._connections.get(way[0], ())):
            if not visit.leads_to(*ends(connection)):
                # The host has moved since.
                self._timeouts[connection].cancel()
                self._removeConnection(way[0], connection)  # type: ignore[no-untyped-call]
        found: Deferred[Any] = super().getConnection(*way)
        return found

    def another(self, way: tuple[Any, ...], visit: Visit) -> Deferred[Any]:
        made: Deferred[Any] = self._newConnection(*way)
        return made.addCallback(lambda connection: (connection, True))

    def give_back(self, way: tuple[Any, ...], connection: Any) -> None:
        if not connection.polite_up():
            connection.transport.abortConnection()
        elif connection.state == QUIESCENT:
            self._putConnection(way[0], connection)  # type: ignore[no-untyped-call]
