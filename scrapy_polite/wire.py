"""The wire: a connection pool whose connections keep an appointment.

Twisted's agent asks the pool for a connection and calls ``request()`` on what it is given. :class:`PolitePool` gives it an
:class:`Appointment`: its ``request()`` waits for the TLS handshake (the pool's Deferred fires before it), sees that the
connection is alive and leads to a vetted address, stands in line, and then, in one call: books, writes, and flushes the TLS
layer and the socket. Nothing runs between the booking and the packet.

What of Twisted is private here, and the same from 21.7 to 26.10: ``HTTPConnectionPool._factory``, ``_newConnection``,
``_putConnection``; ``HTTP11ClientProtocol.state``; ``_tlsConnection``, ``_aggregator``, ``_handshakeDone``, ``_aborted`` and
``_lostTLSConnection`` of TLS transports. ``tests/test_wire.py`` fails when one of them goes.
"""

from __future__ import annotations

import contextvars
import socket
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred, inlineCallbacks
from twisted.internet.interfaces import IHandshakeListener
from twisted.python.failure import Failure
from twisted.web._newclient import ResponseNeverReceived
from twisted.web.client import HTTPConnectionPool
from zope.interface import implementer

from scrapy_polite.errors import NotNow
from scrapy_polite.resolver import VISIT, Visit
from scrapy_polite.standing import Standing

if TYPE_CHECKING:
    from collections.abc import Generator

    from scrapy_polite.limits.gcra import Booked
    from scrapy_polite.standing import Lines
    from scrapy_polite.ticket import Ticket

__all__ = ["TICKET", "PolitePool"]

TICKET: contextvars.ContextVar[Ticket | None] = contextvars.ContextVar("polite_ticket", default=None)

QUIESCENT: Final = "QUIESCENT"
"""``HTTP11ClientProtocol.state`` of a connection on which nothing is under way."""

REPLACEMENTS: Final = 3
"""Connections that are made anew for one request. A server that closes idle ones soon needs one; one that closes all of them at
once is down."""

_TLS_ALERT: Final = b"\x15"
"""The content type of a TLS alert (RFC 8446 section 5.1): the peer is closing."""


@implementer(IHandshakeListener)
class _Handshake:
    """Mixed into the protocol's class (endpoints copy a class's interfaces when they wrap it): tells when TLS is up, or that
    the connection was lost."""

    _polite_lost: Failure | None = None
    _polite_waiter: Deferred[None] | None = None

    def handshakeCompleted(self) -> None:
        self._polite_tell(None)

    def connectionLost(self, reason: Failure) -> None:
        self._polite_lost = reason
        super().connectionLost(reason)  # type: ignore[misc]
        self._polite_tell(reason)

    def _polite_tell(self, failure: Failure | None) -> None:
        waiter, self._polite_waiter = self._polite_waiter, None
        if waiter is not None:
            waiter.callback(None) if failure is None else waiter.errback(failure)


_classes: dict[type, type] = {}


def _listening(protocol: Any) -> Any:
    cls = type(protocol)
    if cls not in _classes:
        _classes[cls] = type(f"Polite{cls.__name__}", (_Handshake, cls), {})
    protocol.__class__ = _classes[cls]
    return protocol


def _factory(base: Any) -> Any:
    """The handler's own protocol factory (Scrapy's is lenient about bad headers since 2.18), its protocols listening."""

    class PoliteFactory(base):  # type: ignore[misc]
        def buildProtocol(self, addr: Any) -> Any:
            return _listening(super().buildProtocol(addr))

    return PoliteFactory


def _layers(connection: Any) -> tuple[Any, Any]:
    """(TLS layer or None, TCP transport). A direct connection has TLS between protocol and TCP; in a tunnel (``startTLS``)
    the protocol's transport is the TCP one and the TLS layer hangs beside it."""
    transport = connection.transport
    if hasattr(transport, "_tlsConnection"):
        return transport, transport.transport
    if getattr(transport, "TLS", False):
        return transport.protocol, transport
    return None, transport


def _in_handshake(connection: Any) -> bool:
    tls, _ = _layers(connection)
    return tls is not None and not tls._handshakeDone and connection._polite_lost is None


def _alive(connection: Any) -> bool:
    """Whether the peer has not closed, asked of the kernel: the reactor may not have read the FIN yet."""
    if connection.state != QUIESCENT or connection._polite_lost is not None:
        return False
    tls, tcp = _layers(connection)
    if tls is not None and (tls._aborted or tls._lostTLSConnection):
        return False
    try:
        first = tcp.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return True
    except OSError:
        return False
    # Plain: an end, or bytes nobody asked for. TLS: an end or an alert; anything else may be a late session ticket.
    return tls is not None and first not in (b"", _TLS_ALERT)


def _flush(connection: Any) -> None:
    """Everything that was written goes to the kernel now, not in a later iteration of the reactor."""
    tls, tcp = _layers(connection)
    aggregator = getattr(tls, "_aggregator", None)
    if aggregator is not None:
        aggregator.flush()
    tcp.doWrite()


class Appointment:
    """What the pool gives instead of a connection. See the module."""

    def __init__(self, pool: PolitePool, key: Any, endpoint: Any, connection: Any, ticket: Ticket, visit: Visit) -> None:
        self._pool = pool
        self._key = key
        self._endpoint = endpoint
        self._connection = connection
        self._ticket = ticket
        self._visit = visit

    @inlineCallbacks
    def request(self, request: Any) -> Generator[Deferred[Any], Any, Any]:
        """Send ``request`` in its slot; the Deferred of its response. A connection that dies while it waits is replaced,
        with nothing booked, a few times over. :class:`NotNow` when the wait is too long."""
        connection, sent, made = self._connection, False, 0
        try:
            while True:
                if _in_handshake(connection):
                    waiter = connection._polite_waiter = Deferred()
                    yield waiter
                if not self._visit.check_peer(_layers(connection)[1].getPeer().host):
                    connection.transport.abortConnection()
                    raise self._visit.refusal or AssertionError
                if not _alive(connection):
                    if made == REPLACEMENTS:
                        raise ResponseNeverReceived([connection._polite_lost or Failure(ConnectionError("closed"))])
                    made += 1
                    connection.transport.loseConnection()
                    connection = yield self._pool._newConnection(self._key, self._endpoint)
                    continue
                answer = yield from self._in_line(connection, request)
                if answer is not None:
                    sent = True
                    break
            return (yield answer)
        except Exception as error:
            if not sent and connection._polite_lost is not None and not isinstance(error, (NotNow, ResponseNeverReceived)):
                # Scrapy knows this one: a handshake that failed becomes its DownloadFailedError.
                raise ResponseNeverReceived([Failure(error)]) from error
            raise
        finally:
            if not sent and connection.state == QUIESCENT and connection._polite_lost is None:
                if _in_handshake(connection):
                    connection.transport.abortConnection()
                else:
                    self._pool._putConnection(self._key, connection)  # type: ignore[no-untyped-call]

    def _in_line(self, connection: Any, request: Any) -> Generator[Deferred[Any], Any, Deferred[Any] | None]:
        """Stand in line and send. The response's Deferred; None when the connection died on the way."""
        entry = _AtTheWire(self._ticket, connection, request, self._pool._reactor)
        self._pool.lines.join(entry)
        try:
            found = yield entry.outcome
        finally:
            self._pool.lines.leave(entry)
        return found[0] if found is not None else None


class _AtTheWire(Standing):
    """On its connection. ``outcome``: the response's Deferred in a list (a Deferred cannot be the result of one), or None when
    the connection died."""

    def __init__(self, ticket: Ticket, connection: Any, request: Any, reactor: Any) -> None:
        super().__init__(ticket)
        self._connection = connection
        self._request = request
        self._reactor = reactor

    def ready(self) -> bool:
        if self.outcome.called:
            return False
        if _alive(self._connection):
            return True
        self.outcome.callback(None)
        return False

    def go(self, slot: Booked) -> None:
        try:
            response = self._connection.request(self._request)
            _flush(self._connection)
            self.ticket.departed(slot)
            self.ticket.expiry = self._reactor.callLater(self.ticket.timeout, self._expire)
        except Exception:
            self.outcome.errback(Failure())
        else:
            self.outcome.callback([response])

    def _expire(self) -> None:
        self.ticket.expired = True
        self._connection.transport.abortConnection()


class PolitePool(HTTPConnectionPool):  # type: ignore[misc,unused-ignore]
    """A pool that takes the place of a handler's own: its settings, its protocols, and an appointment per request."""

    retryAutomatically = False
    """Twisted's own retry would be a second request without a slot."""

    def __init__(self, old: HTTPConnectionPool, lines: Lines, persistent_per_host: int) -> None:
        super().__init__(old._reactor, persistent=old.persistent)  # type: ignore[no-untyped-call]
        self._factory = _factory(old._factory)
        self.maxPersistentPerHost = persistent_per_host
        self.lines = lines

    def getConnection(self, key: Any, endpoint: Any) -> Deferred[Any]:
        ticket, visit = TICKET.get(), VISIT.get()
        if ticket is None or visit is None:
            raise AssertionError("A request reached the pool without a ticket: it did not come through the handler")
        d: Deferred[Any] = super().getConnection(key, endpoint)
        return d.addCallback(lambda connection: Appointment(self, key, endpoint, connection, ticket, visit))
