"""The images of one item: all at once, and one download for those that show the same picture."""

from __future__ import annotations

import asyncio
import logging
import os
from abc import abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import Request
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.misc import arg_to_iter
from twisted.python.failure import Failure

from scrapy_polite.images.policy import Rejected
from scrapy_polite.media.failures import QUIET
from scrapy_polite.media.info import ImageRejected
from scrapy_polite.media.samesource import largest
from scrapy_polite.media.store import AtomicFilesStore
from scrapy_polite.media.stores import StoresOfOneCrawler
from scrapy_polite.wording import seen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy import Spider
    from scrapy.http import Response
    from scrapy.pipelines.media import FileInfo, FileInfoOrError, MediaPipeline

    from scrapy_polite.media.samesource import SameSource
    from scrapy_polite.naming.imagesizes import Shown

__all__ = ["ImagesOfItems"]

logger = logging.getLogger(__name__)

_LONGEST_SHOWN = 2000
"""Characters of a URL, or of why its image is not kept, in the log: pages and servers may have written them."""


class ImagesOfItems(StoresOfOneCrawler):
    """What Scrapy's pipeline does with an item, with `same_source` in between."""

    same_source: SameSource | None = None
    """None: each URL is fetched for itself."""

    @abstractmethod
    def place(self, request: Request, info: MediaPipeline.SpiderInfo, item: Any, response: Response | None = None) -> str:
        """Where the file is that stands for the image."""

    def get_media_requests(self, item: Any, info: MediaPipeline.SpiderInfo) -> list[Request]:
        urls = ItemAdapter(item).get(self.images_urls_field, [])
        if not isinstance(urls, list):
            raise TypeError(f"{self.images_urls_field} must be a list of URLs, got {type(urls).__name__}.")
        requests = []
        for url in urls:
            try:
                requests.append(Request(url, callback=NO_CALLBACK))
            except (TypeError, ValueError) as error:  # Scrapy loses the whole item for it.
                self.rejected(Rejected("bad_url", str(error)), str(url), info)
        return requests

    async def process_item(self, item: Any, spider: Spider | None = None) -> Any:
        info, same = self.spiderinfo, self.same_source
        requests: list[Request] = list(arg_to_iter(self.get_media_requests(item, info)))
        shown = same.shown(requests) if same is not None else [None] * len(requests)
        beside = largest([(request.url, one) for request, one in zip(requests, shown, strict=True) if one is not None])
        images = (self._image(request, one, beside, info, item) for request, one in zip(requests, shown, strict=True))
        results: list[FileInfoOrError] = []
        for found in await asyncio.gather(*images, return_exceptions=True):
            if isinstance(found, BaseException):
                results.append((False, Failure(found)))  # type: ignore[no-untyped-call,unused-ignore]
            else:
                results.append((True, found))
        return self.item_completed(results, item, info)

    async def _image(
        self,
        request: Request,
        shown: Shown | None,
        beside: Mapping[str, Sequence[tuple[str, Shown]]],
        info: MediaPipeline.SpiderInfo,
        item: Any,
    ) -> FileInfo:
        async def ask(one: Request) -> FileInfo:
            return await self._process_request(one, info, item)

        if shown is None or self.same_source is None:
            return await ask(request)
        found, asked = await self.same_source.fetch(request, shown, beside[shown.picture], ask)
        if asked != request.url:
            logger.debug("Image by another URL: <%s>: <%s>", request.url, asked, extra={"spider": info.spider})
            self.count("same_source")
            if found["status"] != "deferred":
                await self._name_also(found["path"], self.place(request, info, item))
        return found

    async def _name_also(self, path: str, other: str) -> None:
        """On a disk, so that a crawl which meets the other's URL alone finds the image."""
        store = self.store
        if not isinstance(store, AtomicFilesStore) or other == path:
            return

        def link() -> None:
            place = store.locate(other)
            with suppress(OSError):  # It is there, or the disk has no such links: the image would be fetched once more.
                place.parent.mkdir(parents=True, exist_ok=True)
                os.link(store.locate(path), place)

        await asyncio.get_running_loop().run_in_executor(store.pool, link)

    def rejected(self, why: Rejected, url: str, info: MediaPipeline.SpiderInfo) -> ImageRejected:
        """Say and count that an image is not kept; answers what says so in the item's results."""
        level = logging.INFO if why.outcome in QUIET else logging.WARNING
        shown, detail = seen(url[:_LONGEST_SHOWN]), seen(why.detail[:_LONGEST_SHOWN])
        logger.log(level, "Image not kept (%s): <%s>: %s", why.outcome, shown, detail, extra={"spider": info.spider})
        self.count(why.outcome)
        return ImageRejected(why.outcome, why.detail)

    def count(self, outcome: str) -> None:
        if self.crawler.stats is not None:
            self.crawler.stats.inc_value(f"polite/images/{outcome}")
