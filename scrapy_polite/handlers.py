"""The download handler for http and https: the stations in their order, around whatever handler the project has set.

The user's handler (or Scrapy's) is built and kept inside, and its connection pool (Twisted's for HTTP/1.1, Scrapy's for
HTTP/2) is replaced by ours, so that a slot is redeemed at the wire. What has another pool, or none, may have a network of its
own, where the guard has no layer: it is refused at start. A browser has one, and a layer of its own:
:mod:`scrapy_polite.browser`.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

from scrapy.exceptions import CannotResolveHostError, DownloadTimeoutError
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.web.client import HTTPConnectionPool

from scrapy_polite.appointment import TICKET
from scrapy_polite.browser.handler import Browser, is_browser
from scrapy_polite.dns.resolver import NoAnswer
from scrapy_polite.errors import NoAddressError, RequestRefused, Unprotected
from scrapy_polite.guard.policy import Refused
from scrapy_polite.naming.sending import as_sent
from scrapy_polite.politeness import Politeness
from scrapy_polite.proxies import route_of, taking
from scrapy_polite.resolver import VISIT, Visit, layers_in_place
from scrapy_polite.settings import FALLBACK_HANDLERS
from scrapy_polite.standing import Lines
from scrapy_polite.ticket import Ticket
from scrapy_polite.wire import PolitePool
from scrapy_polite.wire_http2 import PoliteHttp2Pool, is_http2_pool

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from scrapy_polite.naming.hosts import Target
    from scrapy_polite.politeness import Placed

__all__ = ["HANDLERS", "UNPROTECTED", "PoliteHttpHandler", "PoliteHttpsHandler"]

_T = TypeVar("_T")

UNPROTECTED: Final = "polite_unprotected"
"""The reason with which a crawl is closed that has lost its protection."""


class _PoliteHandler:
    """See the module."""

    lazy = False
    scheme: str

    def __init__(self, crawler: Crawler, inner: Any) -> None:
        from twisted.internet import reactor

        self._crawler = crawler
        self._reactor = reactor
        self.politeness = Politeness.require(crawler)
        self.inner = inner
        self._timeout = crawler.settings.getfloat("DOWNLOAD_TIMEOUT")
        self._stopping: asyncio.Task[None] | None = None
        if self.politeness.lines is None:
            self.politeness.lines = Lines(reactor, self.politeness)
        inner._pool = polite_pool(inner, self.politeness.lines)
        self._browser = Browser(inner, self.politeness, crawler.settings, reactor) if is_browser(inner) else None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> _PoliteHandler:
        path = crawler.settings[FALLBACK_HANDLERS][cls.scheme]
        try:
            return cls(crawler, build_from_crawler(load_object(path), crawler))
        except Exception as error:
            # Scrapy logs this and goes on without the handler: the crawl would end well, having fetched nothing.
            why = f"DOWNLOAD_HANDLERS[{cls.scheme!r}] = {path!r} cannot be built: {type(error).__name__}: {error}"
            Politeness.require(crawler).unprotected = why
            raise

    async def download_request(self, request: Request) -> Response:
        """The response; :class:`RequestRefused` for what may not be reached, :class:`NotNow` for what must wait longer
        than a request may wait here."""
        self._require_layers()
        target, placed = await self._admit(request)
        page = self._browser if request.meta.get("playwright") else None
        if page is not None and (refused := page.refuses(request)) is not None:
            raise self._refusal(refused, request)
        route = self._found(await route_of(request, self.politeness), request) if page is None else None
        visit = route.visit(target, placed) if route is not None else Visit(target.host, placed.pinned, placed.addresses)
        site = placed.keys[0]
        kind, charges = self.politeness.planner.plan(request, site, placed.keys)
        ticket = Ticket(self.politeness, request, request.url, site, kind, charges, placed.edge)
        ticket.direct = page is None and (route is None or route.by_address)
        self.politeness.tickets[request] = ticket
        request.meta["polite"] = {
            "site": site,
            "origin": placed.origin,
            "kind": kind,
            "cost": charges[0].cost,
            "keys": [charge.key for charge in charges],
            "pinned": str(placed.pinned),
        }
        try:
            if page is not None:
                page.expect(visit)
            with taking(route, request):
                # A browser reads URLs as we do.
                response = await self._fetch(canonical(request, target) if page is None else request, ticket, visit)
        finally:
            ticket.request = None
            if page is not None:
                page.tell(visit)
            if visit.peer is not None and (route is None or route.by_address):
                self.politeness.connected(placed, visit.peer)
                request.meta["polite"]["pinned"] = str(visit.peer)
        if ticket.sent is not None:
            request.meta["download_latency"] = ticket.answered - ticket.sent
            request.meta["polite"]["waited"] = round(ticket.sent - ticket.made, 6)
        if page is None and route is None:
            ticket.peer, ticket.trip = str(visit.pinned), visit.trip
        return response

    async def close(self) -> None:
        await self.inner.close()

    async def _admit(self, request: Request) -> tuple[Target, Placed]:
        return self._found(await self.politeness.admit(request.url), request)

    def _found(self, found: _T | Refused | NoAnswer, request: Request) -> _T:
        """What was found, or its negative answers as exceptions."""
        if isinstance(found, Refused):
            raise self._refusal(found, request)
        if isinstance(found, NoAnswer):
            self.politeness.unanswered(found)
            raise CannotResolveHostError(f"{found.host}: {found.reason}") from NoAddressError(found.reason, found.detail)
        return found

    async def _fetch(self, request: Request, ticket: Ticket, visit: Visit) -> Response:
        self._require_layers()  # Again: it took a look-up and perhaps a wait to come here.
        tokens = TICKET.set(ticket), VISIT.set(visit)
        request.meta.pop("download_latency", None)  # Of an earlier try.
        ticket.meta = request.meta
        ticket.timeout = request.meta.get("download_timeout") or self._timeout
        # The handler's own timer starts before the wait for the slot; ours when the request has left.
        request.meta["download_timeout"] = ticket.timeout + self.politeness.config.max_wait
        try:
            response: Response = await self.inner.download_request(request)
        except Exception as error:
            if visit.refusal is not None:
                raise self._refusal(Refused(visit.refusal.reason, visit.refusal.detail), request) from error
            if ticket.expired:
                self.politeness.pacing.timed_out(ticket)
                raise DownloadTimeoutError(f"Getting {request.url} took longer than {ticket.timeout} seconds.") from error
            raise
        finally:
            ticket.finish()
            request.meta["download_timeout"] = ticket.timeout
            TICKET.reset(tokens[0])
            VISIT.reset(tokens[1])
        if not ticket.answered:
            latency = request.meta.get("download_latency")
            ticket.answered = ticket.made + latency if latency is not None else time.monotonic()
        return response

    def _require_layers(self) -> None:
        """Raises :class:`Unprotected`, and closes the crawl, when somebody has taken a layer away."""
        if layers_in_place(self._reactor):
            return
        engine = self._crawler.engine
        slot = engine._slot if engine is not None else None
        if engine is not None and slot is not None and slot.closing is None and self._stopping is None:
            # Not awaited: closing waits for this request.
            self._stopping = asyncio.ensure_future(engine.close_spider_async(reason=UNPROTECTED))
        raise Unprotected("the reactor's resolver or its connectTCP is not the guard's any more")

    def _refusal(self, refused: Refused, request: Request) -> RequestRefused:
        self.politeness.refused(refused, request.url)
        return RequestRefused(refused.reason, refused.detail)


def polite_pool(inner: Any, lines: Lines) -> PolitePool | PoliteHttp2Pool:
    """What takes the place of this handler's pool. ``ValueError`` where it is none that we know."""
    old = getattr(inner, "_pool", None)
    if isinstance(old, HTTPConnectionPool):
        return PolitePool(old, lines)
    if is_http2_pool(old):
        return PoliteHttp2Pool(old, lines)
    raise ValueError(
        f"{type(inner).__name__} has no connection pool of Twisted's, so the guard has no layer in it. Accepted are "
        "handlers derived from Scrapy's HTTP11DownloadHandler or H2DownloadHandler."
    )


def canonical(request: Request, target: Target) -> Request:
    """The request itself; or, where another parser might read another host, port or path out of its URL than ours did, one for
    the canonical URL, so that what was checked is what is sent."""
    url = as_sent(request.url, target)
    if url == request.url:
        return request
    changed: Request = request.replace(url=url)
    changed.meta["polite"] = request.meta["polite"]
    return changed


class PoliteHttpHandler(_PoliteHandler):
    scheme = "http"


class PoliteHttpsHandler(_PoliteHandler):
    scheme = "https"


HANDLERS: Final = {"http": PoliteHttpHandler, "https": PoliteHttpsHandler}
"""The schemes that are fetched, and by whom."""


def unprotected_by(settings: BaseSettings) -> str | None:
    """Why the crawl would not be protected, if somebody (an add-on after ours) has put another handler there. A scheme without
    any handler is none: nothing can be fetched with it."""
    for scheme, path in settings.getwithbase("DOWNLOAD_HANDLERS").items():
        if path is not None and scheme in HANDLERS and load_object(path) is not HANDLERS[scheme]:
            return f"DOWNLOAD_HANDLERS[{scheme!r}] = {path!r} was set after the add-on, and is not kept inside its own handler"
    return None
