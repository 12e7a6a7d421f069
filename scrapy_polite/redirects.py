"""A redirect to another origin takes no credentials along.

What was given for one origin is nobody else's: RFC 9110 section 15.4 tells a user agent to replace Host and to consider
removing Authorization and Cookie, and the Fetch Standard (HTTP-redirect fetch) removes Authorization where scheme, host or port
differ. Scrapy, from 2.16 to 2.19, removes Authorization likewise, and Cookie where the host differs or https turns into http.
Removed here besides: a Cookie header written by hand where the port differs (cookies of the jar know no ports, RFC 6265
section 8.5, and are added for the new URL), a Host header written by hand, and the user and password in the request's meta of
which nobody has said for which domain they are.

A redirect is a 30x, or a ``meta`` element that refreshes. A ``Refresh`` header is not followed. Images are redirected by these
as well. Robots.txt is not: each of its redirects is a request of its own, which has nothing to take along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scrapy import Request
from scrapy.downloadermiddlewares.redirect import MetaRefreshMiddleware, RedirectMiddleware

from scrapy_polite.naming.hosts import Invalid, parse

if TYPE_CHECKING:
    from scrapy.http import Response

__all__ = ["BOUND", "REPLACED", "PoliteMetaRefreshMiddleware", "PoliteRedirectMiddleware"]


BOUND: Final = ("Authorization", "Host", "Cookie")
"""Headers that are meant for one origin."""


class PoliteRedirectMiddleware(RedirectMiddleware):
    """Takes the place of Scrapy's for 30x."""

    def process_response(  # type: ignore[override]  # The third argument is Scrapy's past.
        self, request: Request, response: Response
    ) -> Request | Response:
        return discreet(super().process_response(request, response), request)


class PoliteMetaRefreshMiddleware(MetaRefreshMiddleware):
    """Takes the place of Scrapy's for ``meta`` elements."""

    def process_response(  # type: ignore[override]  # The third argument is Scrapy's past.
        self, request: Request, response: Response
    ) -> Request | Response:
        return discreet(super().process_response(request, response), request)


REPLACED: Final[dict[type, type]] = {
    RedirectMiddleware: PoliteRedirectMiddleware,
    MetaRefreshMiddleware: PoliteMetaRefreshMiddleware,
}


def discreet(answer: Request | Response, request: Request) -> Request | Response:
    """If ``answer`` is a request that ``request`` was redirected to, without what was meant for another origin."""
    if not isinstance(answer, Request):
        return answer
    before, after = parse(request.url), parse(answer.url)
    if isinstance(before, Invalid) or isinstance(after, Invalid):
        same, upgraded = False, False
    else:
        same = (before.scheme, before.host, before.port) == (after.scheme, after.host, after.port)
        # The step that most sites ask for: what was sent in the clear may go encrypted.
        upgraded = before.host == after.host and (before.scheme, before.port, after.scheme, after.port) == _UPGRADE
    if same:
        return answer
    for header in BOUND:
        if header != "Cookie" or not upgraded:
            answer.headers.pop(header, None)
    if not answer.meta.get("http_auth_domain"):
        for key in ("http_user", "http_pass"):
            answer.meta.pop(key, None)
    return answer


_UPGRADE: Final = ("http", 80, "https", 443)
