"""Proxies of the operator's: which of them a request may go through, and what each is asked for.

There are two kinds. One is asked **by address** (``POLITE_PROXIES``): it is told to connect to the address that was judged
here, and has no name to resolve. One is **trusted to resolve** (``POLITE_TRUSTED_PROXIES``): it is asked by name, and what it
reaches is its own concern. A proxy's own address is judged by being listed, not by the policy for targets: it may be private,
though never a metadata service.

Credentials for a proxy (``Proxy-Authorization``) go to that proxy alone (RFC 9110 section 11.7.2), and into no message.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware
from scrapy.settings import SETTINGS_PRIORITIES

from scrapy_polite.dns.resolver import NoAnswer
from scrapy_polite.guard.policy import Policy, Refused
from scrapy_polite.hop import Hop
from scrapy_polite.naming.hosts import Invalid, parse
from scrapy_polite.resolver import Visit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_polite.naming.hosts import Target
    from scrapy_polite.politeness import Placed, Politeness

__all__ = ["PoliteHttpProxyMiddleware", "Route", "route_of", "taking"]

CREDENTIALS: Final = "Proxy-Authorization"

_LISTED: Final = Policy(allow=(ip_network("0.0.0.0/0"), ip_network("::/0")))
"""What may be dialled because somebody has listed it: everything but metadata services."""


@dataclass(frozen=True, slots=True)
class Route:
    """The way of a request through a proxy. ``named``: what its meta said."""

    named: str
    scheme: str
    hop: Hop
    by_address: bool

    def visit(self, target: Target, placed: Placed) -> Visit:
        """Whom the request may connect to: the addresses of its host, through the proxy; or the proxy, which does the rest."""
        if self.by_address:
            return Visit(target.host, placed.pinned, placed.addresses, self.hop)
        return Visit(str(self.hop.addresses[0]), self.hop.addresses[0], self.hop.addresses)


async def route_of(request: Request, politeness: Politeness) -> Route | Refused | NoAnswer | None:
    """The way that the request's meta asks for; None if it asks for no proxy."""
    named = request.meta.get("proxy")
    if not named:
        return None
    config = politeness.config
    through = parse(named if "//" in named else f"http://{named}")
    if isinstance(through, Invalid):
        return Refused("proxy", "The request was to go through a proxy that has no valid URL.")
    listed = f"{through.scheme}://{through.written}:{through.port}"
    if listed not in config.proxies and listed not in config.trusted_proxies:
        why = "which neither POLITE_PROXIES nor POLITE_TRUSTED_PROXIES names."
        return Refused("proxy", f"The request was to go through {listed}, {why}")
    found = await politeness.resolver.resolve(through.host)
    if isinstance(found, NoAnswer):
        return found
    for address in found.addresses:
        refused = _LISTED.judge_address(address)
        if refused is not None:
            return Refused(refused.reason, f"The proxy {listed}: ", refused)
    hop = Hop(listed, found.addresses, through.port, request.headers.get(CREDENTIALS))
    return Route(named, through.scheme, hop, listed in config.proxies)


@contextmanager
def taking(route: Route | None, request: Request) -> Iterator[None]:
    """The request as the handler inside is to see it; afterwards as it was, for a retry."""
    shown = request.headers.getlist(CREDENTIALS)
    if route is None or route.by_address:
        # To the handler it is a request without a proxy, and its credentials would go to the target.
        request.headers.pop(CREDENTIALS, None)
    if route is None:
        yield
        return
    if route.by_address:
        del request.meta["proxy"]
    else:
        address = route.hop.addresses[0]
        literal = f"[{address}]" if address.version == 6 else str(address)
        # A tunnel to a proxy's name would be resolved and dialled where no visit can be read.
        request.meta["proxy"] = f"{route.scheme}://{literal}:{route.hop.port}"
    try:
        yield
    finally:
        request.meta["proxy"] = route.named
        if shown:
            request.headers.setlist(CREDENTIALS, shown)


class PoliteHttpProxyMiddleware(HttpProxyMiddleware):
    """Takes the place of Scrapy's, which brings the credentials of ``meta["proxy"]`` into a header. Proxies that the
    environment names (``http_proxy``, ``https_proxy``) are nobody's wish, unless the project says ``HTTPPROXY_ENABLED =
    True``."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = super().from_crawler(crawler)
        if (crawler.settings.getpriority("HTTPPROXY_ENABLED") or 0) <= SETTINGS_PRIORITIES["addon"]:
            middleware.proxies.clear()
        return middleware
