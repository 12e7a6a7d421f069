"""The forward proxy that is a browser's only way to the network: every request is judged, and dialled where it was judged for.

It listens on loopback, for whoever has the credential of this run. A connection carries one request: a tunnel (``CONNECT``), or
a request in absolute form, which is sent anew with ``Connection: close``. So there is no second request that could go unjudged,
and no connection to a server that another host could get.

Whatever is not served looks the same, so that a page learns nothing about the network that the crawl runs in: a tunnel is
answered with 502, and to a request in absolute form the connection is closed without a word. So it is for a host without an
address and for a server that is down. Why is in the log.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import logging
import secrets
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import maybeDeferred
from twisted.internet.error import ConnectError, UserError

from scrapy_polite.browser.connections import Clients, Dialled
from scrapy_polite.browser.options import Way
from scrapy_polite.dns.answers import Answer, NoAnswer
from scrapy_polite.guard.policy import Refused
from scrapy_polite.naming.hosts import Invalid, Target, parse
from scrapy_polite.remembering import Remembering
from scrapy_polite.resolver import VISIT, Visit, layers_in_place

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred

    from scrapy_polite.browser.connections import Client, Server
    from scrapy_polite.browser.heads import Asked
    from scrapy_polite.naming.hosts import IPAddress
    from scrapy_polite.politeness import Politeness

__all__ = ["ForwardProxy"]

logger = logging.getLogger(__name__)

DIAL_WITHIN: Final = 30.0

HOSTS: Final = 10_000


class ForwardProxy:
    """One per crawler. ``met`` are the addresses that connections came about to, by host: dialled first."""

    def __init__(self, reactor: Any, politeness: Politeness) -> None:
        self.reactor = reactor
        self.politeness = politeness
        self.met: Remembering[IPAddress] = Remembering(HOSTS)
        self.clients: set[Client] = set()
        self.servers: set[Server] = set()
        self._refused: Remembering[Refused] = Remembering(HOSTS)
        self._listening: Any = None
        self._way: Way | None = None
        self._credential = b""

    def listen(self) -> Way:
        """How to get through it. It listens from the first call on, at a port that the system chooses."""
        if self._way is None:
            self._listening = self.reactor.listenTCP(0, Clients(self), interface="127.0.0.1")
            port = self._listening.getHost().port
            username, password = "polite", secrets.token_urlsafe(32)
            self._credential = b"Basic " + base64.b64encode(f"{username}:{password}".encode())
            self._way = Way(f"http://127.0.0.1:{port}", username, password, self.politeness.config.trusted_proxies)
        return self._way

    async def stop(self) -> None:
        """Listen no more, and end what is under way."""
        listening, self._listening = self._listening, None
        if listening is not None:
            await _future(maybeDeferred(listening.stopListening))
        for client in list(self.clients):
            client.transport.abortConnection()
        for server in list(self.servers):
            server.transport.abortConnection()

    def refusal_of(self, url: str) -> Refused | None:
        """Why this host and port were refused, when they were asked for last."""
        target = parse(url)
        return None if isinstance(target, Invalid) else self._refused.get(_where(target))

    def knows(self, credential: bytes) -> bool:
        return hmac.compare_digest(credential, self._credential)

    async def open(self, asked: Asked) -> tuple[Target, Server] | None:
        """A connection to where the request leads; None if there is none, for whatever reason."""
        target = parse(asked.url)
        answer = await self._judged(target, asked.url)
        if isinstance(answer, Refused) or isinstance(target, Invalid):
            return None
        if isinstance(answer, NoAnswer):
            self.politeness.unanswered(answer)
            return None
        best = self.met.get(target.host)
        visit = Visit(target.host, best if best in answer.addresses else answer.addresses[0], answer.addresses)
        server = await self._dial(visit, target.port)
        if server is not None:
            self.met[target.host] = visit.pinned
            self._refused.pop(_where(target), None)
        return None if server is None else (target, server)

    async def _judged(self, target: Target | Invalid, url: str) -> Answer | NoAnswer | Refused:
        if not layers_in_place(self.reactor):
            found: Answer | NoAnswer | Refused = Refused("unprotected", "a layer of the guard is missing")
        elif isinstance(target, Invalid):
            found = Refused(target.reason, target.detail)
        elif self._is_this(target):
            found = Refused("own_interface", "the guard's own proxy")
        else:
            found = await self.politeness.vet(target)
        if isinstance(found, Refused):
            self.politeness.refused(found, url if isinstance(target, Invalid) else target.url)
            if isinstance(target, Target):
                self._refused[_where(target)] = found
        return found

    def _is_this(self, target: Target) -> bool:
        return (
            target.address is not None and self._way is not None and self._way.server == f"http://{target.host}:{target.port}"
        )

    async def _dial(self, visit: Visit, port: int) -> Server | None:
        dialled = Dialled(self)
        # What runs here may run in the context of another request, whose visit is none of ours.
        token = VISIT.set(visit)
        try:
            dialled.connector = self.reactor.connectTCP(str(visit.pinned), port, dialled, timeout=DIAL_WITHIN)
        finally:
            VISIT.reset(token)
        server: Server | None = None
        try:
            server = await _future(dialled.made)
        except asyncio.CancelledError:
            dialled.give_up()
            raise
        except (ConnectError, UserError, OSError) as error:
            logger.debug("No connection to %s port %s: %s", visit.host, port, error)
        if server is not None and not visit.check_peer(server.transport.getPeer().host):
            server.transport.abortConnection()
            server = None
        if visit.refusal is not None:
            self.politeness.refused(Refused(visit.refusal.reason, visit.refusal.detail), f"{visit.host}:{port}")
        return server


def _where(target: Target) -> str:
    return f"{target.host}:{target.port}"


def _future(deferred: Deferred[Any]) -> asyncio.Future[Any]:
    return deferred.asFuture(asyncio.get_running_loop())
