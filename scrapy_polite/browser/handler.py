"""scrapy-playwright's handler, as ours has it inside: its browser is held to the forward proxy, and its pages stand in line.

Of scrapy-playwright this knows: ``config.launch_options``, ``config.use_threaded_loop``; ``_create_browser_context``, through
which every context goes, those of ``PLAYWRIGHT_CONTEXTS``, those that a request's meta describes, and persistent ones; and
``_download_request_with_page``, the last call before the page is opened. A handler without them is refused at start.
"""

from __future__ import annotations

import inspect
import logging
import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from scrapy.http import Headers, Response
from scrapy.utils.defer import maybe_deferred_to_future

from scrapy_polite.appointment import TICKET
from scrapy_polite.browser.options import in_context, launched, objection, objection_to_context, unguarded
from scrapy_polite.browser.proxy import ForwardProxy
from scrapy_polite.errors import NotNow, RequestRefused
from scrapy_polite.guard.policy import Refused
from scrapy_polite.naming.hosts import Target, parse
from scrapy_polite.redirects import BOUND
from scrapy_polite.standing import AtTheDoor

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.settings import BaseSettings

    from scrapy_polite.config import Config
    from scrapy_polite.politeness import Politeness
    from scrapy_polite.resolver import Visit
    from scrapy_polite.ticket import Ticket

__all__ = ["Browser", "is_browser"]

logger = logging.getLogger(__name__)

CONTEXT_KWARGS: Final = "playwright_context_kwargs"
"""Request meta of scrapy-playwright's: how to make the context that the request names, if it is not there yet."""


EMPTY_ERROR: Final = "net::ERR_HTTP_RESPONSE_CODE_FAILURE"
"""What Chromium says of a page with a status from 400 on and no body (net/base/net_error_list.h)."""


def is_browser(handler: object) -> bool:
    """Whether it is scrapy-playwright's handler, or its class, or derived from that."""
    module = sys.modules.get("scrapy_playwright.handler")  # Loaded with the handler, and not without.
    theirs = getattr(module, "ScrapyPlaywrightDownloadHandler", None)
    if theirs is None:
        return False
    return issubclass(handler, theirs) if isinstance(handler, type) else isinstance(handler, theirs)


def playwright_settings(settings: BaseSettings) -> dict[str, Any]:
    """Those that tell which browser there is, read as scrapy-playwright reads them."""
    plain = ("PLAYWRIGHT_CDP_URL", "PLAYWRIGHT_CONNECT_URL", "PLAYWRIGHT_BROWSER_TYPE", "PLAYWRIGHT_BROWSER_PROVIDER")
    dicts = ("PLAYWRIGHT_LAUNCH_OPTIONS", "PLAYWRIGHT_CONTEXTS")
    return {**{name: settings.get(name) for name in plain}, **{name: settings.getdict(name) for name in dicts}}


def is_guarded(settings: BaseSettings, config: Config) -> bool:
    """Whether the browser is held to the forward proxy; if not, the operator has vouched for it. ``ValueError`` for one that
    can go round the guard."""
    chosen = playwright_settings(settings)
    found = unguarded(chosen)
    if found is None:
        if (found := objection(chosen, config.trusted_proxies)) is not None:
            raise ValueError(f"{found}.")
        return True
    if not config.trusted_browser:
        raise ValueError(
            f"{found}, so what pages load could not be judged. Let scrapy-playwright start a Chromium here, or set "
            "POLITE_TRUSTED_BROWSER = True if the browser's own network keeps it from what it must not reach."
        )
    logger.warning("%s. POLITE_TRUSTED_BROWSER is set: what pages load by themselves is not judged", found)
    return False


class Browser:
    """Around one of scrapy-playwright's handlers. ``ValueError`` for a browser that can go round the guard."""

    def __init__(self, inner: Any, politeness: Politeness, settings: BaseSettings, reactor: Any) -> None:
        self._politeness = politeness
        self._config = inner.config
        self._create = inner._create_browser_context
        self._download = inner._download_request_with_page
        if self._config.use_threaded_loop:
            raise ValueError("scrapy-playwright runs its browser in another thread, where no request can be timed")
        self._launch_options = dict(self._config.launch_options)
        self._told = False
        self._guarded = is_guarded(settings, politeness.config)
        if self._guarded:
            politeness.forward = politeness.forward or ForwardProxy(reactor, politeness)
            inner._create_browser_context = self._create_guarded
        inner._download_request_with_page = self._open_page
        if inner.process_request_headers is not None:
            inner.process_request_headers = partial(own_headers, inner.process_request_headers)

    def refuses(self, request: Request) -> Refused | None:
        """What the request's meta says of its context, if that would let the page out; and a proxy, which it would not go
        through."""
        if request.meta.get("proxy"):
            why = 'A page in a browser goes through no meta["proxy"]: name it in PLAYWRIGHT_LAUNCH_OPTIONS or in a context'
            return Refused("browser", why)
        kwargs = request.meta.get(CONTEXT_KWARGS)
        if not self._guarded or not isinstance(kwargs, Mapping):
            return None
        found = objection_to_context(kwargs, self._politeness.config.trusted_proxies)
        return Refused("browser", f"meta[{CONTEXT_KWARGS!r}]{found}") if found is not None else None

    def expect(self, visit: Visit) -> None:
        """A page of this host is to be opened."""
        if self._politeness.forward is not None:
            self._politeness.forward.met[visit.host] = visit.pinned

    def tell(self, visit: Visit) -> None:
        """Which address the browser has met."""
        if self._politeness.forward is not None:
            met = self._politeness.forward.met.get(visit.host)
            if met in visit.vetted:
                visit.peer = met

    # -- what scrapy-playwright calls

    async def _create_guarded(self, name: str, context_kwargs: Any = None, **more: Any) -> Any:
        assert self._politeness.forward is not None
        way = self._politeness.forward.listen()
        # Nothing is launched but for a context.
        self._config.launch_options = launched(self._launch_options, way)
        return await self._create(name=name, context_kwargs=in_context(context_kwargs or {}, way), **more)

    async def _open_page(self, request: Request, page: Any, spider: Any) -> Any:
        ticket = TICKET.get()
        assert ticket is not None
        if "Authorization" in request.headers and not self._told:
            self._told = True
            logger.warning(
                "%s: its Authorization header is not given to the browser, which would take it along to other hosts. "
                "Set http_credentials with an origin in the context's arguments",
                request.url,
            )
        try:
            await self._at_the_door(ticket)
        except NotNow:
            await leave(request, page)
            raise
        watch = _Watch(page, ticket)
        try:
            return await self._download(request=request, page=page, spider=spider)
        except Exception as error:
            forward = self._politeness.forward
            refused = forward.refusal_of(watch.lost) if forward is not None and watch.lost else None
            if refused is not None:
                await leave(request, page)
                raise RequestRefused(refused.reason, refused.detail) from error
            if watch.answer is None or EMPTY_ERROR not in str(error):
                raise
            # It is an answer nevertheless, and one to listen to: a 429, say.
            await leave(request, page)
            headers = {name: value for name, value in watch.answer.headers.items() if name != "content-encoding"}
            return Response(watch.answer.url, watch.answer.status, headers, request=request, flags=["playwright"])
        finally:
            watch.end()
            ticket.answered = ticket.answered or time.monotonic()

    async def _at_the_door(self, ticket: Ticket) -> None:
        """Redeem the slot as late as can be: when there is a page, and it is to be opened."""
        lines = self._politeness.lines
        assert lines is not None
        door = AtTheDoor(ticket, lines)
        lines.join(door)
        try:
            await maybe_deferred_to_future(door.outcome)
        finally:
            lines.leave(door)


async def own_headers(theirs: Callable[..., Any], *, playwright_request: Any, scrapy_request_data: Any, **more: Any) -> Any:
    """What ``PLAYWRIGHT_PROCESS_REQUEST_HEADERS`` makes of a request that the browser is about to send, given those headers of
    Scrapy's request that are for its origin. scrapy-playwright would give all of them to every frame, and Playwright to what
    a request is redirected to, of which nobody is asked: so what is meant for one origin is given to none."""
    asked, sent = parse(scrapy_request_data["url"]), parse(playwright_request.url)
    if isinstance(asked, Target) and isinstance(sent, Target) and _origin(asked) == _origin(sent):
        headers = scrapy_request_data["headers"].copy()
        for name in BOUND:
            headers.pop(name, None)
    else:
        headers = Headers(await playwright_request.all_headers())
        if (agent := scrapy_request_data["headers"].get("User-Agent")) is not None:
            headers["User-Agent"] = agent
    data = {**scrapy_request_data, "headers": headers}
    made = theirs(playwright_request=playwright_request, scrapy_request_data=data, **more)
    return await made if inspect.isawaitable(made) else made


def _origin(target: Target) -> tuple[str, str, int]:
    return target.scheme, target.host, target.port


async def leave(request: Request, page: Any) -> None:
    """Close the page, unless the request wants to have it: as scrapy-playwright would after an error, but with a traceback."""
    if not request.meta.get("playwright_include_page"):
        await page.close()


class _Watch:
    """Sees the page's own answer come, or which of its redirects led nowhere."""

    def __init__(self, page: Any, ticket: Ticket) -> None:
        self._page = page
        self._ticket = ticket
        self.lost = ""
        self.answer: Any = None
        page.on("response", self._answered)
        page.on("requestfailed", self._failed)

    def end(self) -> None:
        self._page.remove_listener("response", self._answered)
        self._page.remove_listener("requestfailed", self._failed)

    def _answered(self, response: Any) -> None:
        if self._is_pages(response.request):
            self.answer = response
            self._ticket.answered = self._ticket.answered or time.monotonic()

    def _failed(self, request: Any) -> None:
        if self._is_pages(request):
            self.lost = request.url

    def _is_pages(self, request: Any) -> bool:
        return bool(request.is_navigation_request()) and request.frame == self._page.main_frame
