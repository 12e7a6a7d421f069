"""The guard's layers inside Twisted: nothing is resolved and nothing is dialled but what was admitted.

A :class:`Visit` is one request's permission to connect: the host that may be asked for, the address that it is pinned to, and
the others that were judged with it, which are dialled when that one does not answer. It travels in a context variable from the
download handler to the three places where Twisted turns a name into a socket, is read there synchronously, and never from a
timer (on the asyncio reactor a ``callLater`` runs in the context of whoever armed the loop's timer last).

* :class:`PinningResolver`: the reactor's name resolver. Answers from the visit, with exactly one address, at once.
* the ``connectTCP`` layer: dials only the pinned address, and after it the other vetted ones; it sees what passes the resolver
  by (literals in tunnels, FTP, '').
* :meth:`Visit.check_peer`: the address of the connection that came about.

Where a visit goes through a proxy by address (its ``hop``), the ``connectTCP`` layer dials the proxy, and asks it for the very
address that it would have dialled.

Without a visit nothing is resolved, and only addresses on the operator's allow list are dialled: from the first guarded crawl
of the process on. Before it (a spider whose ``custom_settings`` switch the add-on off) the layers let everything pass.
"""

from __future__ import annotations

import contextvars
import ipaddress
import logging
import time
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.error import UserError
from twisted.internet.interfaces import (
    IAddress,
    IHostnameResolver,
    IHostResolution,
    IReactorTCP,
)
from twisted.python.failure import Failure
from zope.interface import implementer

from scrapy_polite.dialling import Dialling, in_turn
from scrapy_polite.errors import RequestRefused
from scrapy_polite.hop import Hop, through

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scrapy.crawler import Crawler

    from scrapy_polite.naming.hosts import IPAddress

__all__ = ["VISIT", "PinningResolver", "Visit", "install_layers", "layers_in_place"]

logger = logging.getLogger(__name__)

VISIT: contextvars.ContextVar[Visit | None] = contextvars.ContextVar("polite_visit", default=None)

_MARK: Final = "_polite_layer"


class Visit:
    """Permission to connect to ``pinned`` for ``host``; ``vetted`` are all addresses of the host that were judged, any of
    which a pooled connection may lead to. When another of them is dialled that is the pinned one; ``peer`` is the one that a
    connection came about to. A refusal on the way is recorded, since Twisted would turn it into one of the errors that Scrapy
    retries. With a ``hop`` all connections are tunnels through that proxy, to the addresses of the host. ``trip``:
    seconds in which the newest connection came about, if one was made for this request."""

    __slots__ = ("_dialled", "hop", "host", "peer", "pinned", "refusal", "trip", "vetted")

    def __init__(self, host: str, pinned: IPAddress, vetted: Sequence[IPAddress], hop: Hop | None = None) -> None:
        self.host = host
        self.hop = hop
        self.pinned = pinned
        self.vetted = vetted
        self.peer: IPAddress | None = None
        self.trip: float | None = None
        self._dialled: float | None = None
        self.refusal: RequestRefused | None = None

    def refuse(self, reason: str, detail: str) -> None:
        self.refusal = self.refusal or RequestRefused(reason, detail)

    def may_dial(self, address: str) -> bool:
        """Whether this is the pinned address; if not, the refusal is recorded."""
        if _parsed(address) == self.pinned:
            return True
        self.refuse("not_pinned", f"{self.host} is pinned to {self.pinned}, and {address!r} was to be dialled")
        return False

    def dial(self, address: IPAddress) -> None:
        """The address has its turn."""
        self.pinned = address
        self._dialled = time.monotonic()

    def meet(self, address: IPAddress) -> None:
        """A connection to it came about."""
        self.peer = self.pinned = address
        if self._dialled is not None:
            self.trip, self._dialled = time.monotonic() - self._dialled, None

    def leads_to(self, peer: str, target: str | None = None) -> bool:
        """Whether a connection to ``peer``, or through a tunnel there to ``target``, leads to the host as far as was judged,
        and by the way that this visit takes."""
        if self.hop is None:
            return target is None and _parsed(peer) in self.vetted
        return target is not None and _parsed(target) in self.vetted and _parsed(peer) in self.hop.addresses

    def check_peer(self, peer: str, target: str | None = None) -> bool:
        """The same of the connection that is to be written to. It leads to the pinned address from now on; if not to one of
        the host's, the refusal is recorded."""
        found = _parsed(peer if target is None else target)
        if found is not None and self.leads_to(peer, target):
            self.meet(found)
            return True
        way = f"to {peer}" if target is None else f"through {peer} to {target}"
        self.refuse("wrong_peer", f"{self.host} is at {self.pinned}, and the connection goes {way}")
        return False


@lru_cache(maxsize=10_000)
def _parsed(address: str) -> IPAddress | None:
    try:
        return ipaddress.ip_address(address)
    except ValueError:
        return None


@implementer(IHostResolution)
class _Resolution:
    def __init__(self, name: str) -> None:
        self.name = name

    def cancel(self) -> None:
        """Nothing to cancel: the answer was given before this object could be."""


@implementer(IHostnameResolver)
class PinningResolver:
    """The reactor's resolver: answers from the visit of the request that asks, refuses everybody else.

    ``TWISTED_DNS_RESOLVER`` names this class, so Scrapy's processes install it; the add-on installs it again when the engine
    starts, which covers runners that install no resolver of their own.
    """

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._before = reactor.nameResolver

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: Any) -> PinningResolver:
        return cls(reactor)

    def install_on_reactor(self) -> None:
        install_layers(self._reactor, self)

    def resolveHostName(
        self,
        resolutionReceiver: Any,
        hostName: str,
        portNumber: int = 0,
        addressTypes: Sequence[type[IAddress]] | None = None,
        transportSemantics: str = "TCP",
    ) -> Any:
        visit = VISIT.get()
        if visit is None and not UNVETTED.armed:
            return self._before.resolveHostName(resolutionReceiver, hostName, portNumber, addressTypes, transportSemantics)
        resolution = _Resolution(hostName)
        resolutionReceiver.resolutionBegan(resolution)
        if visit is None:
            logger.warning("Guard: %r was to be resolved outside of a request that was admitted; refused", hostName)
        elif hostName.rstrip(".").lower().strip("[]") not in (visit.host, str(visit.pinned)):
            visit.refuse("not_vetted", f"the name {hostName!r} was to be resolved, and {visit.host!r} was admitted")
        else:
            kind = IPv4Address if visit.pinned.version == 4 else IPv6Address
            if addressTypes is None or kind in addressTypes:
                resolutionReceiver.addressResolved(kind("TCP", str(visit.pinned), portNumber))
            else:
                visit.refuse("address_family", f"{visit.host} is pinned to {visit.pinned}, and only IPv4 can be dialled here")
        resolutionReceiver.resolutionComplete()
        return resolution


class _Unvetted:
    """Connections that are nobody's request: refused once there is a guarded crawl in the process, unless the allow list of
    such a crawl covers the address."""

    def __init__(self) -> None:
        self.armed = False
        self.allowed: set[ipaddress.IPv4Network | ipaddress.IPv6Network] = set()

    def arm(self, allowed: Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> None:
        """A guarded crawl begins; it is for good, since nobody can tell whose a connection is."""
        self.armed = True
        self.allowed.update(allowed)

    def may_dial(self, host: str) -> bool:
        if not self.armed:
            return True
        address = _parsed(host)
        return address is not None and any(address in net for net in self.allowed if net.version == address.version)


UNVETTED: Final = _Unvetted()


def _guarded(connect: Callable[..., Any]) -> Callable[..., Any]:
    def connect_tcp(host: str, port: int, factory: Any, timeout: float | None = 30, bindAddress: Any = None) -> Any:
        visit = VISIT.get()
        allowed = visit.may_dial(host) if visit is not None else UNVETTED.may_dial(host)
        if allowed and visit is not None:
            addresses = in_turn(visit.pinned, visit.vetted)
            way = connect if visit.hop is None else partial(through, connect, visit.hop)
            return Dialling(way, addresses, port, factory, timeout, bindAddress, visit.dial, visit.meet)
        if allowed:
            return connect(host, port, factory, timeout=timeout, bindAddress=bindAddress)
        logger.warning("Guard: a connection to %r port %s was stopped", host, port)
        return _Stopped(host, port, factory)

    setattr(connect_tcp, _MARK, connect_tcp)
    return connect_tcp


class _Stopped:
    """What ``connectTCP`` answers instead of a connector: a connection that failed before a socket was made."""

    state = "disconnected"

    def __init__(self, host: str, port: int, factory: Any) -> None:
        self._address = (host, port)
        factory.doStart()
        factory.startedConnecting(self)
        factory.clientConnectionFailed(self, Failure(UserError("stopped by the guard")))
        factory.doStop()

    def getDestination(self) -> Any:
        return IPv4Address("TCP", *self._address)

    def stopConnecting(self) -> None:
        """Nothing is connecting."""

    def disconnect(self) -> None:
        """Nothing is connected."""

    def connect(self) -> None:
        raise UserError("stopped by the guard")


def install_layers(reactor: Any, resolver: PinningResolver | None = None) -> None:
    """Put the resolver and the ``connectTCP`` layer into the reactor, if they are not there already."""
    if not isinstance(reactor.nameResolver, PinningResolver):
        reactor.installNameResolver(resolver or PinningResolver(reactor))
    if not _is_guarded(reactor.connectTCP):
        assert IReactorTCP.providedBy(reactor)
        reactor.connectTCP = _guarded(reactor.connectTCP)


def layers_in_place(reactor: Any) -> bool:
    """Whether both layers stand: asked before every request."""
    return isinstance(reactor.nameResolver, PinningResolver) and _is_guarded(reactor.connectTCP)


def _is_guarded(connect: Any) -> bool:
    # The mark is the function itself: functools.wraps copies a function's attributes to whatever is put around it.
    return getattr(connect, _MARK, None) is connect
