"""A tunnel through a proxy of the operator's, to an address that was judged here.

It stands below everything that speaks: where ``connectTCP`` is asked for an address, the proxy is dialled in its place and told
to ``CONNECT`` to just that address (RFC 9110 section 9.3.6). What comes about is a connection like any other, so TLS with its
server name, the Host header, HTTP/2 and the wait for the slot are as they are without a proxy, and plain http goes the same
way. The proxy is never told a name, so it has nothing to resolve.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.error import ConnectError, UserError
from twisted.internet.protocol import ClientFactory, Protocol, connectionDone
from twisted.python.failure import Failure

from scrapy_polite.dialling import ATTEMPTS, Dialling

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_polite.naming.hosts import IPAddress

__all__ = ["Hop", "NoTunnelError", "target_of", "through"]

LONGEST: Final = 16 * 1024
"""Bytes of an answer to CONNECT: no proxy has more to say before the tunnel."""

PATIENCE: Final = 30.0
"""Seconds for the answer to CONNECT where nobody has said how long a connection may take."""

_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})(?: |\r|\Z)")

_TARGET: Final = "_polite_target"
"""On a transport that is a tunnel: the address that it leads to."""


@dataclass(frozen=True, slots=True)
class Hop:
    """A proxy on the way: how the operator names it (``http://10.0.0.5:3128``), its addresses, its port, and what it is shown
    as ``Proxy-Authorization``, which appears in no message."""

    name: str
    addresses: tuple[IPAddress, ...]
    port: int
    authorization: bytes | None = field(default=None, repr=False)

    @property
    def key(self) -> tuple[str, bytes | None]:
        """Tunnels are kept for those who would ask the same proxy in the same way."""
        return self.name, self.authorization


class NoTunnelError(ConnectError):
    """The proxy opened no tunnel"""

    # Twisted shows that line. A ConnectError: as if the address had not answered, so the next one is tried.


def target_of(transport: Any) -> str | None:
    """The address that this TCP transport leads to beyond its peer; None where it is no tunnel."""
    target: str | None = getattr(transport, _TARGET, None)
    return target


def through(
    connect: Callable[..., Any], hop: Hop, host: str, port: int, factory: Any, timeout: float | None, bindAddress: Any
) -> Any:
    """``connectTCP`` by way of the hop: ``connect`` is the reactor's own. The factory is started, failed and told the end of it
    as by the reactor, and asked for a protocol when the tunnel stands."""
    tunnel = _Tunnel(hop, host, port, factory, timeout)
    return Dialling(connect, hop.addresses[:ATTEMPTS], hop.port, tunnel, timeout, bindAddress)


class _Tunnel(ClientFactory):
    """Stands between the reactor and the factory that wants a connection to ``host``, and is the connector that one knows."""

    noisy = False

    def __init__(self, hop: Hop, host: str, port: int, factory: Any, timeout: float | None) -> None:
        self._hop = hop
        self._host = host
        self._port = port
        self._factory = factory
        self.timeout = PATIENCE if timeout is None else timeout
        self._connector: Any = None
        self._opening: _Opening | None = None
        self._stands = False

    @property
    def asks(self) -> bytes:
        """What is said to the proxy. Authority-form, and the same in Host (RFC 9112 section 3.2.3)."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        authority = f"{host}:{self._port}".encode("ascii")
        lines = [b"CONNECT " + authority + b" HTTP/1.1", b"Host: " + authority]
        if self._hop.authorization is not None:
            # One line, as Twisted makes of every header's value.
            lines.append(b"Proxy-Authorization: " + b" ".join(self._hop.authorization.splitlines()))
        return b"\r\n".join([*lines, b"", b""])

    def startedConnecting(self, connector: Any) -> None:
        self._connector = connector
        self._factory.startedConnecting(self)

    def buildProtocol(self, addr: Any) -> Any:
        self._opening = _Opening(self, addr)
        return self._opening

    def opened(self, transport: Any, addr: Any, more: bytes) -> None:
        """The tunnel stands: from here on the connection is the factory's."""
        self._stands = True
        setattr(transport, _TARGET, self._host)
        protocol = self._factory.buildProtocol(addr)
        if protocol is None:
            transport.abortConnection()
            return
        transport.protocol = protocol
        protocol.makeConnection(transport)
        if more:
            protocol.dataReceived(more)

    def refused(self, why: str) -> None:
        error = NoTunnelError(string=f"{self._hop.name}: {why}")  # type: ignore[no-untyped-call]
        self._factory.clientConnectionFailed(self, Failure(error))

    def clientConnectionFailed(self, connector: Any, reason: Failure) -> None:
        self._factory.clientConnectionFailed(self, reason)

    def clientConnectionLost(self, connector: Any, reason: Failure) -> None:
        if self._stands:
            self._factory.clientConnectionLost(self, reason)

    # -- IConnector

    @property
    def state(self) -> str:
        return "connected" if self._stands else "connecting"

    def getDestination(self) -> Any:
        return self._connector.getDestination()

    def stopConnecting(self) -> None:
        if self._opening is None:
            self._connector.stopConnecting()
        else:
            self._opening.give_up(None)
            self._factory.clientConnectionFailed(self, Failure(UserError("stopped")))

    def disconnect(self) -> None:
        self._connector.disconnect()

    def connect(self) -> None:
        self._connector.connect()


class _Opening(Protocol):
    """The connection to the proxy until the tunnel stands."""

    transport: Any

    def __init__(self, tunnel: _Tunnel, addr: Any) -> None:
        self._tunnel = tunnel
        self._addr = addr
        self._heard = b""
        self._timer: Any = None
        self._over = False

    def connectionMade(self) -> None:
        self._timer = self.transport.reactor.callLater(self._tunnel.timeout, self.give_up, "no answer to CONNECT")
        self.transport.write(self._tunnel.asks)

    def dataReceived(self, data: bytes) -> None:
        self._heard += data
        # What a 2xx says of its length is ignored (RFC 9110 section 9.3.6): what follows the head is the tunnel's.
        head, end, more = self._heard.partition(b"\r\n\r\n")
        if not end:
            if len(self._heard) > LONGEST:
                self.give_up(f"an answer of more than {LONGEST} bytes")
            return
        status = _STATUS.match(head)
        if status is None:
            self.give_up("an answer that is not HTTP")
        elif not status[1].startswith(b"2"):
            self.give_up(f"status {status[1].decode()}")
        elif not self._over:
            self._end()
            self._tunnel.opened(self.transport, self._addr, more)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.give_up("it closed the connection")

    def give_up(self, why: str | None) -> None:
        """End it, and say why; None says nothing."""
        if self._over:
            return
        self._end()
        self.transport.abortConnection()
        if why is not None:
            self._tunnel.refused(why)

    def _end(self) -> None:
        self._over = True
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
