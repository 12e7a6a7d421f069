"""Images that still wait when the spider closes: the next run fetches them, under the names that their items say already. The
items have gone on, each with the image marked ``deferred``.

They lie in the file of a ``JOBDIR``'s queue, beside the requests, or in the store, and are no requests of the spider's: nothing
is called back.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from typing import TYPE_CHECKING, Any, Final

from scrapy import signals
from scrapy.exceptions import DontCloseSpider

from scrapy_polite.agenda import wake_engine
from scrapy_polite.media.info import ImageRejected
from scrapy_polite.politeness import Politeness
from scrapy_polite.queue import OriginQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.pipelines.media import MediaPipeline

    from scrapy_polite.deferring import Deferring

__all__ = ["PutOff", "put_off"]

logger = logging.getLogger(__name__)

ITEM: Final = "polite_item"
"""Request meta: the item that the image is for, which may say how its file is named."""

AT_ONCE: Final = 64
"""Images of the last run that wait for their turn at the same time."""


def put_off(crawler: Crawler, request: Request, item: Any) -> bool:
    """Keep the image's request for the next run. False where it cannot be kept."""
    queue, politeness = _queue_on_disk(crawler), Politeness.of(crawler)
    keep: Callable[[Request], object]
    if queue is not None:
        keep = queue.put_off
    elif politeness is not None and politeness.deferring is not None:
        keep = politeness.deferring.put_off_image
    else:
        return False
    # What the pipeline adds of its own, it adds again.
    kept = request.replace(callback=None, errback=None)
    for added in ("handle_httpstatus_list", "handle_httpstatus_all"):
        kept.meta.pop(added, None)
    kept.meta[ITEM] = item
    try:
        keep(kept)
        return True
    except ValueError:  # The item does not fit; its name may do without.
        kept.meta[ITEM] = None
    try:
        keep(kept)
        return True
    except ValueError as error:
        logger.warning("Image lost to the next run: <%s>: %s", request.url, error)
        return False


class PutOff:
    """Fetches what the last run has put off, by means of the project's media pipeline, and keeps the spider open for it."""

    def __init__(self, crawler: Crawler, pipeline: type[MediaPipeline]) -> None:
        self._crawler = crawler
        self._pipeline_class = pipeline
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False
        crawler.signals.connect(self.spider_opened, signals.spider_opened)
        crawler.signals.connect(self.spider_idle, signals.spider_idle)

    def spider_opened(self) -> None:
        queue, pipeline = _queue_on_disk(self._crawler), self._crawler.get_item_pipeline(self._pipeline_class)
        politeness = Politeness.of(self._crawler)
        if queue is None and pipeline is not None and politeness is not None and politeness.deferring is not None:
            self._begin(self._work_from_store(politeness.deferring, pipeline))
        if queue is None or not queue.images_put_off:
            return
        if pipeline is None:
            logger.warning("%d images of the last run stay in the JOBDIR: there is no images pipeline", queue.images_put_off)
            return
        logger.info("Fetching %d images that the last run has put off", queue.images_put_off)
        for _ in range(min(AT_ONCE, queue.images_put_off)):
            self._begin(self._work(queue, pipeline))

    async def finish(self) -> None:
        """The spider closes, and whoever waits has been told so: until what is on its way has come, so that it is not fetched
        again."""
        self._closing = True
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def spider_idle(self) -> None:
        politeness = Politeness.of(self._crawler)
        # Where all is held they wait for the same, and are put off once more.
        if self._tasks and not (politeness is not None and politeness.all_held):
            raise DontCloseSpider

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not self._tasks:
            wake_engine(self._crawler)  # It may be idle but for these, and would ask again in five seconds.

    async def _work_from_store(self, deferring: Deferring, pipeline: MediaPipeline) -> None:
        async def one(fingerprint: str, request: Request) -> None:
            await self._fetch(request, pipeline)
            await deferring.image_done(fingerprint)

        while self._is_open() and (taken := await deferring.take_images(AT_ONCE)):
            logger.info("Fetching %d images that the last run has put off", len(taken))
            await asyncio.gather(*(one(*image) for image in taken))

    def _is_open(self) -> bool:
        engine = self._crawler.engine
        return not self._closing and engine is not None and engine._slot is not None and engine._slot.closing is None

    async def _fetch(self, request: Request, pipeline: MediaPipeline) -> None:
        item = request.meta.pop(ITEM, None)
        try:
            await pipeline._process_request(request, pipeline.spiderinfo, item=item if item is not None else {})
        except ImageRejected:
            pass  # It has its line in the log, like any.
        except Exception as error:
            logger.info("An image of the last run was not kept: <%s>: %s", request.url, error)

    async def _work(self, queue: OriginQueue, pipeline: MediaPipeline) -> None:
        while self._is_open():
            taken = queue.take_up()
            if taken is None:
                return
            number, request = taken
            await self._fetch(request, pipeline)
            try:
                queue.taken_up(number)
            except sqlite3.Error:
                return  # Closed meanwhile: it is there for the next run.


def _queue_on_disk(crawler: Crawler) -> OriginQueue | None:
    slot = crawler.engine._slot if crawler.engine is not None else None
    queue = getattr(slot.scheduler, "dqs", None) if slot is not None else None
    return queue if isinstance(queue, OriginQueue) else None
