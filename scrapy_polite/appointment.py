"""The appointment: what a connection pool of ours gives instead of a connection.

An agent asks its pool for a connection and calls ``request()`` on what it is given. That is an :class:`Appointment`: its
``request()`` waits until the connection can carry a request, sees that it is alive and leads to a vetted address, stands in
line, and then, in one call: books, writes, and flushes the TLS layer and the socket. Nothing runs between the booking and the
packet.

:class:`Connection` is what a protocol must know for that, mixed into its class; ``wire.py`` has it for HTTP/1.1, and
``wire_http2.py`` for HTTP/2.

What of Twisted's TLS transports is private here, and the same from 25.5 to 26.10: ``_tlsConnection``, ``_aggregator``,
``_aborted`` and ``_lostTLSConnection``. ``tests/test_wire.py`` fails when one of them goes.
"""

from __future__ import annotations

import contextvars
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from twisted.internet.defer import Deferred, inlineCallbacks
from twisted.internet.interfaces import IHandshakeListener
from twisted.python.failure import Failure
from twisted.web._newclient import ResponseNeverReceived
from zope.interface import implementer

from scrapy_polite.hop import target_of
from scrapy_polite.letter import Letter, is_open
from scrapy_polite.resolver import VISIT, Visit
from scrapy_polite.standing import Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from scrapy_polite.limits.gcra import Booked
    from scrapy_polite.standing import Lines
    from scrapy_polite.ticket import Ticket

__all__ = ["TICKET", "Connection", "Pool", "appointed", "ends", "layers", "listening"]

TICKET: contextvars.ContextVar[Ticket | None] = contextvars.ContextVar("polite_ticket", default=None)

REPLACEMENTS: Final = 3
"""Connections that are made for one request and are dead before it stands in line: such a server is down. One that closes
whatever is idle for a moment gets another connection each time the request's turn comes."""


@implementer(IHandshakeListener)
class Connection:
    """Mixed into a protocol's class (endpoints copy a class's interfaces when they wrap it)."""

    transport: Any
    polite_lost: Failure | None = None
    """Why nothing can be sent on it any more."""
    polite_ends: tuple[str, str | None] | None = None
    """See :func:`ends`: asked several times for each request, and the same as long as it is connected."""
    _polite_waiters: tuple[Deferred[None], ...] = ()

    # -- what a version of HTTP says

    def polite_up(self) -> bool:
        """Whether it has come about, with all handshakes."""
        raise NotImplementedError

    def polite_free(self) -> bool:
        """Whether a request could be written now."""
        raise NotImplementedError

    def polite_send(self, ticket: Ticket, *what: Any) -> Deferred[Any]:
        """Write a request; the Deferred of its response."""
        response: Deferred[Any] = self.request(*what)  # type: ignore[attr-defined]
        return response

    def polite_seal(self, *what: Any) -> Letter | None:
        """Write a request out before its slot; None where that cannot be done."""
        return None

    def polite_stop(self, ticket: Ticket) -> None:
        """End the request of this ticket: its response fails."""
        raise NotImplementedError

    # -- what is the same in all

    def polite_wait(self) -> Deferred[None] | None:
        """Fires when it is worth looking again; None when there is nothing to wait for."""
        if self.polite_lost is not None or (self.polite_up() and self.polite_free()):
            return None
        waiter: Deferred[None] = Deferred()
        self._polite_waiters = (*self._polite_waiters, waiter)
        return waiter

    def polite_tell(self) -> None:
        """Everybody who waits looks again."""
        waiters, self._polite_waiters = self._polite_waiters, ()
        for waiter in waiters:
            if not waiter.called:
                waiter.callback(None)

    def polite_alive(self) -> bool:
        """Whether the peer has not closed, asked of the kernel: the reactor may not have read the FIN yet."""
        if self.polite_lost is not None:
            return False
        tls, tcp = layers(self)
        if tls is not None and (tls._aborted or tls._lostTLSConnection):
            return False
        return is_open(tcp.socket, tls is not None)

    def polite_flush(self) -> None:
        """Everything that was written goes to the kernel now, not in a later iteration of the reactor."""
        self.polite_encrypt().doWrite()

    def polite_encrypt(self) -> Any:
        """Everything that was written goes through the TLS layer now, and later out of the transport below it (the answer) as
        soon as it is given to the kernel, and not when the peer has acknowledged what was sent before (Nagle's algorithm,
        RFC 9293 section 3.7.4; an acknowledgement may take 40 ms)."""
        tls, tcp = layers(self)
        tcp.setTcpNoDelay(True)
        aggregator = getattr(tls, "_aggregator", None)
        if aggregator is not None:
            aggregator.flush()
        return tcp

    def polite_drop(self) -> None:
        """Nothing is to be sent on it any more, by anybody. A TLS layer that has lost its connection must not be told."""
        if self.polite_lost is None:
            self.polite_lost = Failure(ConnectionAbortedError("dropped"))
            self.transport.abortConnection()

    def connectionLost(self, reason: Failure) -> None:
        self.polite_lost = self.polite_lost or reason
        super().connectionLost(reason)  # type: ignore[misc]
        self.polite_tell()


def layers(connection: Any) -> tuple[Any, Any]:
    """(TLS layer or None, TCP transport). A direct connection has TLS between protocol and TCP; in a tunnel (``startTLS``)
    the protocol's transport is the TCP one and the TLS layer hangs beside it."""
    transport = connection.transport
    if hasattr(transport, "_tlsConnection"):
        return transport, transport.transport
    if getattr(transport, "TLS", False):
        return transport.protocol, transport
    return None, transport


def ends(connection: Any) -> tuple[str, str | None]:
    """The address of the connection's peer; and where it is a tunnel of ours, the one that it leads to."""
    found: tuple[str, str | None] | None = connection.polite_ends
    if found is None:
        _, tcp = layers(connection)
        found = connection.polite_ends = tcp.getPeer().host, target_of(tcp)
    return found


def listening(base: Any, mixin: type[Connection]) -> Any:
    """A handler's own protocol factory (Scrapy's is lenient about bad headers since 2.18), its protocols ours."""
    classes: dict[type, type] = {}

    class PoliteFactory(base):  # type: ignore[misc]
        def buildProtocol(self, addr: Any) -> Any:
            protocol = super().buildProtocol(addr)
            cls = type(protocol)
            if cls not in classes:
                classes[cls] = type(f"Polite{cls.__name__}", (mixin, cls), {})
            protocol.__class__ = classes[cls]
            return protocol

    return PoliteFactory


class Pool(Protocol):
    """What an appointment needs of the pool that gave it. ``way``: what the agent asked the pool with, its key first."""

    lines: Lines

    def another(self, way: tuple[Any, ...], visit: Visit) -> Deferred[Any]:
        """A connection in place of one that died, and whether it was made for this request."""
        ...

    def give_back(self, way: tuple[Any, ...], connection: Any) -> None:
        """Nothing was sent on this connection, which is not lost."""
        ...


def appointed(pool: Pool, way: tuple[Any, ...], connect: Callable[[tuple[Any, ...], Visit], Deferred[Any]]) -> Deferred[Any]:
    """The appointment of the request that asks the pool, on the connection that ``connect`` promises."""
    ticket, visit = TICKET.get(), VISIT.get()
    if ticket is None or visit is None:
        raise AssertionError("A request reached the pool without a ticket: it did not come through the handler")
    # A tunnel is nobody's who does not go through that proxy, nor one without for somebody who does.
    way = ((way[0], visit.hop and visit.hop.key), *way[1:])
    return connect(way, visit).addCallback(lambda connection: Appointment(pool, way, connection, ticket, visit))


class Appointment:
    """See the module."""

    def __init__(self, pool: Pool, way: tuple[Any, ...], connection: Any, ticket: Ticket, visit: Visit) -> None:
        self._pool = pool
        self._way = way
        self._connection = connection
        self._ticket = ticket
        self._visit = visit

    @inlineCallbacks
    def request(self, *what: Any) -> Generator[Deferred[Any], Any, Any]:
        """Send the request in its slot; the Deferred of its response. A connection that dies while it waits is replaced,
        with nothing booked, a few times over. :class:`NotNow` when the wait is too long."""
        connection, sent, made = self._connection, False, 0
        try:
            while True:
                if not self._visit.check_peer(*ends(connection)):
                    connection.transport.abortConnection()
                    raise self._visit.refusal or AssertionError
                while (waiter := connection.polite_wait()) is not None:
                    yield from self._until(waiter)
                if connection.polite_lost is not None and not connection.polite_up():
                    # Scrapy knows this one: a handshake that failed becomes its DownloadFailedError.
                    raise ResponseNeverReceived([connection.polite_lost])
                if not connection.polite_alive():
                    if made == REPLACEMENTS:
                        raise ResponseNeverReceived([connection.polite_lost or Failure(ConnectionError("closed"))])
                    if connection.polite_lost is None:
                        connection.transport.loseConnection()
                    connection, anew = yield self._another()
                    made += anew
                    continue
                answer = yield from self._in_line(connection, what)
                if answer is not None:
                    sent = True
                    break
                made = 0
            return (yield answer)
        finally:
            if not sent and connection.polite_lost is None:
                self._pool.give_back(self._way, connection)

    def _another(self) -> Deferred[Any]:
        # This may run in the context of whoever was read before, and it is there that the guard's layers find the visit.
        token = VISIT.set(self._visit)
        try:
            return self._pool.another(self._way, self._visit)
        finally:
            VISIT.reset(token)

    def _until(self, waiter: Deferred[None]) -> Generator[Deferred[Any], Any, None]:
        self._pool.lines.wait(waiter)
        try:
            yield waiter
        finally:
            self._pool.lines.waited(waiter)

    def _in_line(self, connection: Any, what: tuple[Any, ...]) -> Generator[Deferred[Any], Any, Deferred[Any] | None]:
        """Stand in line and send. The response's Deferred; None when it cannot be sent any more, or not yet."""
        entry, found = _AtTheWire(self._ticket, connection, what, self._pool.lines), None
        self._pool.lines.join(entry)
        try:
            found = yield entry.outcome
        finally:
            self._pool.lines.leave(entry)
            if found is None:
                entry.abandon()
        return found[0] if found is not None else None


class _AtTheWire(Standing):
    """On its connection. ``outcome``: the response's Deferred in a list (a Deferred cannot be the result of one), or None when
    the connection died, or carries as many requests as it may."""

    def __init__(self, ticket: Ticket, connection: Any, what: tuple[Any, ...], lines: Lines) -> None:
        super().__init__(ticket, lines)
        self._connection = connection
        self._what = what
        self._letter: Letter | None = None
        self._sent: tuple[Booked, int] | None = None
        """In which slot the letter left, and when, until the reactor knows."""

    @property
    def sealed(self) -> bool:
        return self._letter is not None

    def seal(self) -> None:
        if self._letter is None and not self.outcome.called and self._can_be_sent():
            self._letter = self._connection.polite_seal(*self._what)
            if self._letter is not None:
                self._letter.response.addBoth(self._came, self._letter)

    def ready(self) -> bool:
        if self.outcome.called:
            return False
        if self._letter.is_deliverable() if self._letter is not None else self._can_be_sent():
            return True
        self.lines.in_reactor(self._died)
        return False

    def go(self, slot: Booked) -> None:
        if self._letter is not None:
            self._deliver(self._letter, slot)
            return
        try:
            response = self._connection.polite_send(self.ticket, *self._what)
            self._connection.polite_flush()
        except Exception:
            self.lost(slot)
            self.outcome.errback(Failure())
        else:
            self._gone(response, slot, self.ticket.left(slot))

    def end(self, why: Exception) -> None:
        if self._letter is None or self._letter.withdraw():
            super().end(why)

    def abandon(self) -> None:
        """Nobody waits for it any more."""
        if self._letter is not None:
            self._letter.withdraw()
            self._connection.polite_drop()
            self._letter.response.addErrback(lambda _: None)

    def _can_be_sent(self) -> bool:
        return bool(self._connection.polite_alive() and self._connection.polite_free())

    def _deliver(self, letter: Letter, slot: Booked) -> None:
        if letter.send(partial(self._left, slot)):
            self.lines.in_reactor(self._delivered)
        else:
            self.lost(slot)
            self.lines.in_reactor(self._died)

    def _left(self, slot: Booked) -> None:
        self._sent = slot, self.ticket.left(slot)

    def _delivered(self) -> None:
        """Told by the courier, or seen by the answer that came before he could tell."""
        sent, self._sent = self._sent, None
        if sent is not None and self._letter is not None:
            self._letter.finish()
            self._gone(self._letter.response, *sent)

    def _gone(self, response: Deferred[Any], slot: Booked, at: int) -> None:
        self.ticket.departed(slot, at)
        if not self.outcome.called:
            self.ticket.expiry = self.lines.call_later(self.ticket.timeout, self._expire)
            self.outcome.callback([response])

    def _came(self, result: Any, letter: Letter) -> Any:
        """The response; or the end of the connection before the letter was sent: then it keeps its place, and is found
        undeliverable when its turn comes."""
        if letter.withdraw():
            return None
        # Now, for a response that nobody takes in this call is thrown away.
        self._delivered()
        return result

    def _died(self) -> None:
        if not self.outcome.called:
            self.outcome.callback(None)

    def _expire(self) -> None:
        self.ticket.expired = True
        self._connection.polite_stop(self.ticket)
