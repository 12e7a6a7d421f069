"""Images that still wait when the spider closes: with a ``JOBDIR`` the next run fetches them, under the names that their items
say already. The items have gone on, each with the image marked ``deferred``.

They lie in the file of the queue, beside the requests, and are no requests of the spider's: nothing is called back.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from typing import TYPE_CHECKING, Any, Final

from scrapy import signals
from scrapy.exceptions import DontCloseSpider

from scrapy_polite.queue import OriginQueue

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.pipelines.media import MediaPipeline

__all__ = ["PutOff", "put_off"]

logger = logging.getLogger(__name__)

ITEM: Final = "polite_item"
"""Request meta: the item that the image is for, which may say how its file is named."""

AT_ONCE: Final = 64
"""Images of the last run that wait for their turn at the same time."""


def put_off(crawler: Crawler, request: Request, item: Any) -> bool:
    """Keep the image's request for the next run. False where there is no file to keep it in."""
    queue = _queue_on_disk(crawler)
    if queue is None:
        return False
    # What the pipeline adds of its own, it adds again.
    kept = request.replace(callback=None, errback=None)
    kept.meta.pop("handle_httpstatus_list", None)
    kept.meta[ITEM] = item
    try:
        return queue.put_off(kept)
    except ValueError:  # The item does not fit; its name may do without.
        kept.meta[ITEM] = None
    try:
        return queue.put_off(kept)
    except ValueError as error:
        logger.warning("Image lost to the next run: <%s>: %s", request.url, error)
        return False


class PutOff:
    """Fetches what the last run has put off, by means of the project's media pipeline, and keeps the spider open for it."""

    def __init__(self, crawler: Crawler, pipeline: type[MediaPipeline]) -> None:
        self._crawler = crawler
        self._pipeline_class = pipeline
        self._tasks: set[asyncio.Task[None]] = set()
        crawler.signals.connect(self.spider_opened, signals.spider_opened)
        crawler.signals.connect(self.spider_idle, signals.spider_idle)

    def spider_opened(self) -> None:
        queue, pipeline = _queue_on_disk(self._crawler), self._crawler.get_item_pipeline(self._pipeline_class)
        if queue is None or not queue.images_put_off:
            return
        if pipeline is None:
            logger.warning("%d images of the last run stay in the JOBDIR: there is no images pipeline", queue.images_put_off)
            return
        logger.info("Fetching %d images that the last run has put off", queue.images_put_off)
        for _ in range(min(AT_ONCE, queue.images_put_off)):
            task = asyncio.get_running_loop().create_task(self._work(queue, pipeline))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def spider_idle(self) -> None:
        if self._tasks:
            raise DontCloseSpider

    async def _work(self, queue: OriginQueue, pipeline: MediaPipeline) -> None:
        engine = self._crawler.engine
        while engine is not None and engine._slot is not None and engine._slot.closing is None:
            taken = queue.take_up()
            if taken is None:
                return
            number, request = taken
            item = request.meta.pop(ITEM, None)
            try:
                await pipeline._process_request(request, pipeline.spiderinfo, item=item if item is not None else {})
            except Exception as error:
                logger.info("An image of the last run was not kept: <%s>: %s", request.url, error)
            try:
                queue.taken_up(number)
            except sqlite3.Error:
                return  # Closed meanwhile: it is there for the next run.


def _queue_on_disk(crawler: Crawler) -> OriginQueue | None:
    slot = crawler.engine._slot if crawler.engine is not None else None
    queue = getattr(slot.scheduler, "dqs", None) if slot is not None else None
    return queue if isinstance(queue, OriginQueue) else None
