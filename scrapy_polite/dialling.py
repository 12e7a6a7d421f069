"""Dialling: the vetted addresses of a host, one after the other, until one of them answers.

Not side by side as browsers do it (RFC 8305): a crawler has the time, and every attempt is a load on somebody. All of them are
addresses that were judged for the host, so the guard's promise holds for each; nothing is resolved in between.
"""

from __future__ import annotations

import logging
import time
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.error import ConnectError
from twisted.internet.protocol import ClientFactory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from twisted.python.failure import Failure

    from scrapy_polite.naming.hosts import IPAddress

__all__ = ["Dialling", "in_turn"]

logger = logging.getLogger(__name__)

ATTEMPTS: Final = 4
"""Addresses that are dialled for one connection. A host may have hundreds, and when four are down it is down."""

SLICE: Final = 10.0
"""Seconds that an address has to answer, if there is another: enough for four SYN packets (sent at 0, 1, 3 and 7 s)."""


def in_turn(pinned: IPAddress, vetted: Sequence[IPAddress]) -> tuple[IPAddress, ...]:
    """What is dialled, in this order: the pinned address, then the others, the families by turns (RFC 8305 section 4), since
    it may be a whole family that this machine has no way to."""
    others = [address for address in vetted if address != pinned]
    other_family = [address for address in others if address.version != pinned.version]
    same_family = [address for address in others if address.version == pinned.version]
    by_turns = chain.from_iterable(zip_longest(other_family, same_family))
    return (pinned, *islice((address for address in by_turns if address is not None), ATTEMPTS - 1))


def _nobody(address: IPAddress) -> None:
    """Whom it does not matter to."""


class Dialling:
    """What ``connectTCP`` answers where a host has several addresses: a connector that is the connector of the attempt under
    way. ``connect`` is the reactor's own ``connectTCP``, ``dialled`` is told of every address before it is dialled, ``met`` of
    the one that has answered. The factory sees one attempt: the first start, and the last failure."""

    def __init__(
        self,
        connect: Callable[..., Any],
        addresses: Sequence[IPAddress],
        port: int,
        factory: Any,
        timeout: float | None,
        bind: Any,
        dialled: Callable[[IPAddress], None] = _nobody,
        met: Callable[[IPAddress], None] = _nobody,
    ) -> None:
        self._connect = connect
        self._left = list(addresses)
        self._port = port
        self.factory = factory
        self._ends = None if timeout is None else time.monotonic() + timeout
        self._bind = bind
        self._dialled = dialled
        self.met = met
        self._stopped = False
        self._connector: Any = None
        factory.doStart()
        self._next()

    def _next(self) -> None:
        address = self._left.pop(0)
        self._dialled(address)
        self._connect(str(address), self._port, _Attempt(self, address), timeout=self._slice(), bindAddress=self._bind)

    def _slice(self) -> float | None:
        """The last address has all the time that remains, each before it its share."""
        remains = None if self._ends is None else max(0.1, self._ends - time.monotonic())
        if not self._left:
            return remains
        return SLICE if remains is None else min(SLICE, remains / (len(self._left) + 1))

    def started(self, connector: Any) -> None:
        first, self._connector = self._connector is None, connector
        if first:
            self.factory.startedConnecting(self)

    def failed(self, address: IPAddress, reason: Failure) -> None:
        if self._left and not self._stopped and reason.check(ConnectError):
            logger.info("%s port %s: %s; the next address is dialled", address, self._port, reason.value)
            self._next()
            return
        self.factory.clientConnectionFailed(self, reason)
        self.factory.doStop()

    def lost(self, reason: Failure) -> None:
        self.factory.clientConnectionLost(self, reason)
        self.factory.doStop()

    # -- IConnector

    @property
    def state(self) -> str:
        state: str = self._connector.state
        return state

    def getDestination(self) -> Any:
        return self._connector.getDestination()

    def stopConnecting(self) -> None:
        self._stopped = True
        self._connector.stopConnecting()

    def disconnect(self) -> None:
        self._stopped = True
        self._connector.disconnect()

    def connect(self) -> None:
        self._connector.connect()


class _Attempt(ClientFactory):
    """One address's turn: stands between the reactor and the factory that wants a connection."""

    noisy = False

    def __init__(self, dialling: Dialling, address: IPAddress) -> None:
        self._dialling = dialling
        self._address = address

    def doStart(self) -> None:
        """The factory was started when the dialling began."""

    def doStop(self) -> None:
        """It is stopped when the dialling has ended."""

    def startedConnecting(self, connector: Any) -> None:
        self._dialling.started(connector)

    def buildProtocol(self, addr: Any) -> Any:
        self._dialling.met(self._address)
        return self._dialling.factory.buildProtocol(addr)

    def clientConnectionFailed(self, connector: Any, reason: Failure) -> None:
        self._dialling.failed(self._address, reason)

    def clientConnectionLost(self, connector: Any, reason: Failure) -> None:
        self._dialling.lost(reason)
