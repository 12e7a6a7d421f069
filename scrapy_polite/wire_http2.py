"""The wire of HTTP/2: a pool that takes the place of Scrapy's, and gives appointments.

A connection carries many requests. One may be written when the server has acknowledged our SETTINGS and fewer streams are
open than it allows; a request that waits for its slot is no stream yet.

What of Scrapy is private here, and the same from 2.16 to 2.19: the pool's ``get_connection`` and ``close_connections``, its
``_tls_verbose_logging`` and ``_crawler`` (before 2.18 ``settings``); the factory's arguments; the protocol's ``metadata``,
``streams``, ``allowed_max_concurrent_streams``, ``pop_stream``, ``_lose_connection_with_error``, ``_write_to_transport`` and
its handlers of events. ``tests/test_wire_http2.py`` fails when one of them goes. Nothing is imported that needs the h2 package.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure
from twisted.web.client import URI

from scrapy_polite.appointment import Connection, appointed, ends, listening

if TYPE_CHECKING:
    from scrapy_polite.resolver import Visit
    from scrapy_polite.standing import Lines
    from scrapy_polite.ticket import Ticket

__all__ = ["PoliteHttp2Pool", "is_http2_pool"]

H2: Final = b"h2"
"""The ALPN name of HTTP/2 over TLS (RFC 9113 section 3.2)."""


class _Http2(Connection):
    """Mixed into Scrapy's ``H2ClientProtocol``."""

    metadata: dict[str, Any]
    streams: dict[int, Any]
    allowed_max_concurrent_streams: int
    _polite_sent: dict[int, Ticket]
    """The tickets of the streams that are open."""

    def connectionMade(self) -> None:
        self._polite_sent = {}
        super().connectionMade()  # type: ignore[misc]

    def handshakeCompleted(self) -> None:
        super().handshakeCompleted()  # type: ignore[misc]
        if self.transport.negotiatedProtocol != H2:
            if self.polite_lost is None:  # Scrapy objects to another protocol, and goes on where the server named none.
                self._lose_connection_with_error([ConnectionError("The server did not agree to HTTP/2 by ALPN")])
            self.transport.abortConnection()  # With what was written and has not left: to this server it is no HTTP.

    def polite_up(self) -> bool:
        return bool(self.metadata["settings_acknowledged"])

    def polite_free(self) -> bool:
        return bool(self.metadata["active_streams"] < self.allowed_max_concurrent_streams)

    def polite_send(self, ticket: Ticket, *what: Any) -> Deferred[Any]:
        # It compares with the URL that it was made for, where the same host and port may have been written otherwise.
        self.metadata["uri"] = URI.fromBytes(what[0].url.encode())  # type: ignore[no-untyped-call,unused-ignore]
        before = set(self.streams)
        try:
            response = super().polite_send(ticket, *what)
        except Exception:
            # A header that HTTP/2 forbids. Whether the stream counts is open now, so those that are under way are the last.
            for number in self.streams.keys() - before:
                del self.streams[number]
                self.metadata["active_streams"] -= 1
            self._polite_over(Failure())
            raise
        self._polite_sent.update(dict.fromkeys(self.streams.keys() - before, ticket))
        return response

    def polite_stop(self, ticket: Ticket) -> None:
        for number, sent in list(self._polite_sent.items()):
            if sent is ticket:
                if self.transport.disconnecting:
                    self.transport.abortConnection()  # After a GOAWAY h2 writes nothing, and the server has not closed.
                else:
                    self.streams[number].reset_stream()

    def settings_acknowledged(self, event: Any) -> None:
        super().settings_acknowledged(event)  # type: ignore[misc]
        self.polite_tell()

    def response_received(self, event: Any) -> None:
        ticket = self._polite_sent.get(event.stream_id)
        if ticket is not None:
            ticket.answered = time.monotonic()
        super().response_received(event)  # type: ignore[misc]

    def pop_stream(self, number: int) -> Any:
        stream = super().pop_stream(number)  # type: ignore[misc]
        self._polite_sent.pop(number, None)
        self._write_to_transport()  # type: ignore[attr-defined]  # A reset would wait for the next request.
        if self.polite_lost is not None and not self.streams:
            self.transport.loseConnection()
        self.polite_tell()
        return stream

    def _lose_connection_with_error(self, errors: list[BaseException]) -> None:
        super()._lose_connection_with_error(errors)  # type: ignore[misc]
        self._polite_over(errors[0] if isinstance(errors[0], Failure) else Failure(errors[0]))

    def _polite_over(self, why: Failure) -> None:
        """No new streams on it."""
        self.polite_lost = self.polite_lost or why
        if not self.streams:
            self.transport.loseConnection()
        self.polite_tell()


def _scrapys_pool() -> type | None:
    try:
        from scrapy.core.downloader.handlers import http2
    except ImportError:  # Without the h2 package there is no such pool.
        return None
    return http2.H2ConnectionPool  # type: ignore[attr-defined,no-any-return,unused-ignore]


def is_http2_pool(pool: object) -> bool:
    """Whether it is Scrapy's pool of HTTP/2 connections, or derived from that."""
    scrapys = _scrapys_pool()
    return scrapys is not None and isinstance(pool, scrapys)


class PoliteHttp2Pool:
    """A pool that takes the place of a handler's own: its settings, and an appointment per request."""

    def __init__(self, old: Any, lines: Lines) -> None:
        scrapys = _scrapys_pool()
        assert scrapys is not None
        made = listening(sys.modules[scrapys.__module__].H2ClientFactory, _Http2)
        # The settings: before Scrapy 2.18.
        self._whose = old._crawler if hasattr(old, "_crawler") else old.settings
        self._factory = partial(made, tls_verbose_logging=old._tls_verbose_logging)
        self._connections: dict[Any, list[Any]] = {}
        self._connecting: dict[Any, list[Deferred[Any]]] = {}
        self.lines = lines

    def get_connection(self, key: Any, uri: Any, endpoint: Any) -> Deferred[Any]:
        return appointed(self, (key, uri, endpoint), self._first)

    def _first(self, way: tuple[Any, ...], visit: Visit) -> Deferred[Any]:
        return self.another(way, visit).addCallback(lambda found: found[0])

    def another(self, way: tuple[Any, ...], visit: Visit) -> Deferred[Any]:
        """A connection that is open, to an address that was judged for this visit: a host may have moved since it was made.
        Or a new one, which all share that are pinned to its address."""
        key, uri, endpoint = way
        for connection in self._connections.get(key, ()):
            if visit.leads_to(*ends(connection)) and connection.polite_alive():
                return succeed((connection, False))
        which = (key, visit.pinned)
        waiting = self._connecting.setdefault(which, [])
        d: Deferred[Any] = Deferred()
        waiting.append(d)
        if len(waiting) == 1:
            lost: Deferred[Any] = Deferred()
            made = endpoint.connect(self._factory(uri, self._whose, lost))
            made.addCallback(self._made, key, lost)
            made.addBoth(self._connected, which)
        return d

    def give_back(self, way: tuple[Any, ...], connection: Any) -> None:
        if not connection.polite_up():
            # Somebody has waited for as long as a request may: nobody else is to begin the same.
            connection.transport.abortConnection()

    def close_connections(self) -> None:
        """At the end of the crawl."""
        for connections in list(self._connections.values()):
            for connection in list(connections):
                connection.transport.abortConnection()

    def _made(self, connection: Any, key: Any, lost: Deferred[Any]) -> Any:
        self._connections.setdefault(key, []).append(connection)
        lost.addCallback(lambda _: self._forget(key, connection))
        return connection

    def _forget(self, key: Any, connection: Any) -> None:
        self._connections[key].remove(connection)
        if not self._connections[key]:
            del self._connections[key]

    def _connected(self, found: Any, which: Any) -> None:
        """``found``: the connection, or the failure."""
        for number, d in enumerate(self._connecting.pop(which)):
            if not d.called:
                d.callback(found if isinstance(found, Failure) else (found, number == 0))
