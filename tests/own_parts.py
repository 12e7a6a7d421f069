"""Components of a user's own, for `guarded_crawl.py`: harmless ones, and some that would lead a crawl astray."""

from __future__ import annotations

import functools
import importlib.util
import logging
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.address import IPv4Address
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint, TCP6ClientEndpoint
from twisted.internet.interfaces import IHostnameResolver, IHostResolution
from twisted.internet.protocol import Factory, Protocol
from zope.interface import implementer

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

TRAP = "127.0.0.1"


async def ask_by_the_page(page: Any, request: Request) -> None:
    """What users write: Playwright itself makes requests, without the browser."""
    for url in request.meta["asked"]:
        await page.request.get(url, timeout=5000)  # A tunnel that is refused has an answer: 502.


class OwnHandler(HTTP11DownloadHandler):
    """What users write: something about every response."""

    async def download_request(self, request: Request) -> Response:
        response = await super().download_request(request)
        return response.replace(flags=[*response.flags, "own"])


class BrokenHandler(HTTP11DownloadHandler):
    def __init__(self, crawler: Any) -> None:
        raise RuntimeError("my handler is broken")


class UnconfiguredHandler(HTTP11DownloadHandler):
    def __init__(self, crawler: Any) -> None:
        raise NotConfigured("my handler lacks a setting")


class BlockingHandler:
    """A network of its own, and nothing that tells so."""

    lazy = False

    async def download_request(self, request: Request) -> Response:
        with urllib.request.urlopen(request.url, timeout=5) as answer:  # noqa: ASYNC210
            return HtmlResponse(request.url, body=answer.read())

    async def close(self) -> None: ...


if importlib.util.find_spec("scrapy.core.downloader.handlers._aiohttp"):
    from scrapy.core.downloader.handlers._aiohttp import AiohttpDownloadHandler

    class OwnAiohttpHandler(AiohttpDownloadHandler):
        """Scrapy's, under a name that says nothing."""


@implementer(IHostResolution)
class _Resolution:
    def __init__(self, name: str) -> None:
        self.name = name

    def cancel(self) -> None: ...


@implementer(IHostnameResolver)
class OwnResolver:
    """Says of every name that it is here: the worst that a resolver can do."""

    def __init__(self, reactor: Any) -> None:
        self.reactor = reactor

    @classmethod
    def from_crawler(cls, crawler: Any, reactor: Any) -> OwnResolver:
        return cls(reactor)

    def install_on_reactor(self) -> None:
        self.reactor.installNameResolver(self)

    def resolveHostName(self, receiver: Any, name: str, portNumber: int = 0, *args: Any, **kwargs: Any) -> Any:  # noqa: N803
        resolution = _Resolution(name)
        receiver.resolutionBegan(resolution)
        receiver.addressResolved(IPv4Address("TCP", TRAP, portNumber))
        receiver.resolutionComplete()
        return resolution


class LaterAddon:
    """An add-on after ours, which knows nothing of it."""

    def update_settings(self, settings: Any) -> None:
        settings["DOWNLOAD_HANDLERS"].set("http", OwnHandler, priority="addon")


class SaysPinned:
    """A downloader middleware that reads what was decided."""

    def process_response(self, request: Request, response: Response) -> Response:
        logging.getLogger("own").info("PINNED %s %s", request.url, request.meta["polite"]["pinned"])
        return response


class OwnQueue(ScrapyPriorityQueue):
    """Scrapy's, under a name of the user's."""


def meddle(how: str) -> None:
    """What a library may do to the reactor while a crawl is under way."""
    from twisted.internet import reactor

    stock = type(reactor).connectTCP.__get__(reactor)  # type: ignore[attr-defined]

    def connect(host: str, port: int, factory: Any, *args: Any, **kwargs: Any) -> Any:
        return stock(TRAP, port, factory, *args, **kwargs)

    if how == "resolver":
        OwnResolver(reactor).install_on_reactor()
    elif how == "connect":
        reactor.connectTCP = connect  # type: ignore[attr-defined]
    elif how == "connect, wrapped":
        reactor.connectTCP = functools.wraps(reactor.connectTCP)(connect)  # type: ignore[attr-defined]
    else:
        raise ValueError(how)


class FtpAddon:
    """An add-on after ours that wants FTP."""

    def update_settings(self, settings: Any) -> None:
        settings["DOWNLOAD_HANDLERS"].set("ftp", "scrapy.core.downloader.handlers.ftp.FTPDownloadHandler", priority="spider")


class StrayHandler(HTTP11DownloadHandler):
    """Opens connections of its own before it makes the request: to where it pleases, past the resolver."""

    async def download_request(self, request: Request) -> Response:
        from twisted.internet import reactor

        port = urlsplit(request.url).port
        for host in ("127.0.0.1", "::1", "", "0.0.0.0", "127.30.0.77", "localhost", "inside.example"):
            kind = TCP6ClientEndpoint if ":" in host else TCP4ClientEndpoint
            for endpoint in (kind(reactor, host, port, timeout=2), HostnameEndpoint(reactor, host or "0", port, timeout=2)):
                try:
                    protocol = await maybe_deferred_to_future(endpoint.connect(Factory.forProtocol(Protocol)))
                except Exception:
                    logging.getLogger("own").info("STOPPED %s", host)
                else:
                    logging.getLogger("own").info("STRAYED %s", host)
                    protocol.transport.abortConnection()
        return await super().download_request(request)
