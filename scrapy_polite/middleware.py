"""What is between the engine and the handler: schemes the guard does not know are stopped, answers are listened to, and a
request that was not served goes back to where waiting costs nothing."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from scrapy.utils.misc import load_object

from scrapy_polite.agenda import BYPASSES
from scrapy_polite.errors import NotNow, RequestRefused, Unprotected, said_at_start
from scrapy_polite.guard.policy import Refused
from scrapy_polite.handlers import unprotected_by
from scrapy_polite.politeness import Politeness
from scrapy_polite.queue import OriginQueue
from scrapy_polite.referers import keep_quiet

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

__all__ = ["ListenerMiddleware"]

logger = logging.getLogger(__name__)

GUARDED: Final = ("http:", "https:")
HARMLESS: Final = ("data:",)
"""Nothing is fetched for these."""

AGAIN: Final = "polite_again"
"""Request meta: how often the request was put back without having been served."""

BREATH: Final = 1.0
"""Seconds before a request goes back to a queue that is not ours: that one knows no due times and would answer it at once,
thousands of times a second. Short, since closing waits for it."""


class ListenerMiddleware:
    """Stands at 990, next to the downloader: before HttpCache (900) could store a refusal, RedirectMiddleware (600) follow it
    or RetryMiddleware (550) count it."""

    def __init__(self, crawler: Crawler) -> None:
        self._politeness = Politeness.require(crawler)
        self._queue_waits = load_object(crawler.settings["SCHEDULER_PRIORITY_QUEUE"]) is OriginQueue
        # Middlewares are built after the download handlers, and their errors stop the crawl where those of handlers do not.
        why = self._politeness.unprotected or unprotected_by(crawler.settings)
        if why is not None:
            self._politeness.close_files()  # No engine, so no signal will.
            raise ValueError(f"The crawl would not be protected and does not start: {why}")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ListenerMiddleware:
        with said_at_start():
            return cls(crawler)

    def process_request(self, request: Request) -> None:
        url = request.url.lower()
        if not url.startswith(GUARDED + HARMLESS):
            refused = Refused("scheme", f"{request.url.partition(':')[0]}: is not http or https")
            self._politeness.refused(refused, request.url)
            raise RequestRefused(refused.reason, refused.detail)
        keep_quiet(request, self._politeness)

    async def process_response(self, request: Request, response: Response) -> Response | Request:
        ticket = self._politeness.tickets.get(request)
        if ticket is None:
            return response  # Nothing was sent for it.
        if ticket.edge is not None and (page := request.headers.get("Referer")) is not None:
            self._politeness.referred(ticket.host, page.decode("latin-1"))
        served = await self._politeness.hear(ticket, response.status, headers_of(response), response.body, response.certificate)
        return response if served else await self._again(request, f"its site is held after status {response.status}", response)

    async def process_exception(self, request: Request, exception: Exception) -> Request | None:
        if isinstance(exception, NotNow):
            return await self._again(request, exception.why)
        if isinstance(exception, Unprotected):
            logger.critical("Refused: %s", exception.detail)
        if await self._politeness.failed(request, exception):
            # It is made again, and not as one of its retries: what failed is the site.
            return await self._again(request, f"its site is held after {type(exception).__name__}", exception)
        return None

    async def _again(self, request: Request, why: str, after: Response | Exception | None = None) -> Request:
        """The request, for another turn: of the scheduler, or, where it came past that, of its own."""
        if request.meta.get(BYPASSES):
            raise NotNow(why, request, after)
        again: Request = request.replace(dont_filter=True)
        again.meta[AGAIN] = request.meta.get(AGAIN, 0) + 1
        agenda = self._politeness.agenda
        if not self._queue_waits:
            await asyncio.sleep(BREATH)
        elif agenda is not None and not agenda.handed_out(request):
            # Somebody's engine.download_async(), which knows nothing of turns and would send it at once.
            await agenda.turn_inside(again)
        return again


def headers_of(response: Response) -> dict[str, list[str]]:
    """Lower-case names, and all values of each, in their order."""
    return {
        name.decode("latin-1").lower(): [value.decode("latin-1") for value in values]
        for name, values in response.headers.items()
        if isinstance(values, list)
    }
