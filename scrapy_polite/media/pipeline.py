"""The images pipeline: Scrapy's own in settings, fields, stores and methods to override; libvips in threads underneath.

An image waits for its turn before it enters the downloader, is judged by its header before it is decoded, and is stored
as it came; the sizes of `POLITE_IMAGES` (and Scrapy's `IMAGES_THUMBS`, as JPEG) are stored before it: where an original
is, its sizes are. An image that is not kept costs one line in the log and one count of `polite/images/<outcome>`, and its item
goes on without it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast
from weakref import WeakKeyDictionary

from scrapy.exceptions import NotConfigured
from scrapy.pipelines.files import FilesPipeline
from scrapy.pipelines.images import ImageException, ImagesPipeline
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import ensure_awaitable

from scrapy_polite.errors import NotNow
from scrapy_polite.images import convert as vips
from scrapy_polite.images.plan import original_path, variant_path
from scrapy_polite.images.policy import ImagesConfig, Picture, Rejected
from scrapy_polite.media.backlog import Backlog, bound_pages
from scrapy_polite.media.complete import complete, meta_of
from scrapy_polite.media.config import read_scrapy_settings, stand_in, with_scrapys
from scrapy_polite.media.failures import why_failed, why_not_kept
from scrapy_polite.media.info import (
    ImageInfo,
    ImageRejected,
    describe,
    nothing_known,
    variant_info,
    with_hashes,
    without_frames,
)
from scrapy_polite.media.items import ImagesOfItems
from scrapy_polite.media.kept import kept_of
from scrapy_polite.media.memory import BoundedInfo
from scrapy_polite.media.putoff import put_off
from scrapy_polite.media.samesource import SameSource
from scrapy_polite.media.store import ImageStore, checked
from scrapy_polite.politeness import Politeness
from scrapy_polite.settings import named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.pipelines.files import StatInfo
    from scrapy.pipelines.media import FileInfo, MediaPipeline
    from twisted.python.failure import Failure

logger = logging.getLogger(__name__)

# Two conversions at once saturate two cores; ten cost three times the memory and make the loop wait (100 ms seen).
WORKERS = 2
# Bodies that wait for a thread or for a slow store. Beyond it no further image is asked for.
BACKLOG_BYTES = 64 * 1024 * 1024

# FileException has moved from one module of Scrapy to another (2.18); its subclass has not.
_FileException: type[Exception] = ImageException.__mro__[1]
_T = TypeVar("_T")


class PoliteImagesPipeline(ImagesOfItems):
    """Put it in `ITEM_PIPELINES` in place of `scrapy.pipelines.images.ImagesPipeline` (the add-on does so by itself).

    Not called, since nothing is decoded with Pillow: `get_images` and `convert_image`. Without pyvips: `NotConfigured`.
    """

    SpiderInfo = BoundedInfo

    def __init__(self, store_uri: str | PathLike[str], download_func: None = None, *, crawler: Crawler) -> None:
        config = named("POLITE_IMAGES").value(crawler.settings)
        if store_uri:
            try:
                vips.load()
            except ImportError as error:
                raise NotConfigured(
                    f"{type(self).__name__} needs pyvips and libvips ({error}): pip install 'scrapy-polite[images]'"
                ) from None
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="polite-images")
        # Past ImagesPipeline's own constructor, which insists on Pillow.
        FilesPipeline.__init__(self, store_uri, download_func, crawler=crawler)
        read_scrapy_settings(self, crawler.settings)
        self.config: ImagesConfig = with_scrapys(config, self)
        self._sizes = {size.name: size for size in self.config.sizes}
        self._stand_in = stand_in(self.config)
        self._backlog = Backlog(BACKLOG_BYTES)
        # Without the add-on no turn holds images back: what the gate lets through at once would be all that wait.
        self._at_once = asyncio.Semaphore(max(1, crawler.settings.getint("CONCURRENT_REQUESTS")))
        self._pictures: WeakKeyDictionary[Response, Picture] = WeakKeyDictionary()
        ours = all(getattr(type(self), name) is getattr(PoliteImagesPipeline, name) for name in ("file_path", "thumb_path"))
        # Where the project names the files, each URL may be to have one of its own.
        self.same_source = SameSource() if self.config.same_source and ours else None
        for name in ("get_images", "convert_image"):
            if getattr(type(self), name) is not getattr(ImagesPipeline, name):
                logger.warning("%s.%s() is not called: POLITE_IMAGES says what is made", type(self).__name__, name)

    def open_spider(self, spider: Spider | None = None) -> None:
        if not is_asyncio_available():
            raise ValueError(
                f"TWISTED_REACTOR: {self.crawler.settings['TWISTED_REACTOR']!r} is not Scrapy's default, "
                f"twisted.internet.asyncioreactor.AsyncioSelectorReactor, which {type(self).__name__} needs"
            )
        super().open_spider()
        bound_pages(self.crawler)

    def close_spider(self) -> None:
        super().close_spider()
        self._pool.shutdown(wait=False)

    # Names

    def file_path(
        self,
        request: Request,
        response: Response | None = None,
        info: MediaPipeline.SpiderInfo | None = None,
        *,
        item: Any = None,
    ) -> str:
        return original_path(request.url)

    def thumb_path(
        self,
        request: Request,
        thumb_id: str,
        response: Response | None = None,
        info: MediaPipeline.SpiderInfo | None = None,
        *,
        item: Any = None,
    ) -> str:
        size = self._sizes.get(thumb_id)
        return variant_path(request.url, thumb_id, size.format if size else "jpeg")

    def place(self, request: Request, info: MediaPipeline.SpiderInfo, item: Any, response: Response | None = None) -> str:
        """Where the file is that is written last, and stands for the image."""
        if self._stand_in is None:
            return self.file_path(request, response=response, info=info, item=item)
        return self.thumb_path(request, self._stand_in.name, response=response, info=info, item=item)

    def _paths(
        self, request: Request, info: MediaPipeline.SpiderInfo, item: Any, response: Response | None = None
    ) -> dict[str, str]:
        return {name: self.thumb_path(request, name, response=response, info=info, item=item) for name in self._sizes}

    # Before the download

    async def media_to_download(  # type: ignore[override]  # Scrapy awaits what it answers
        self, request: Request, info: MediaPipeline.SpiderInfo, *, item: Any = None
    ) -> FileInfo | None:
        try:
            return await self._to_download(request, info, item)
        except ImageRejected as error:
            return cast("FileInfo", without_frames(error))
        except Exception as error:  # A bug, of the project's or of ours: raised on it would not be counted.
            return cast("FileInfo", without_frames(self._failed(error, request, info)))

    async def _to_download(self, request: Request, info: MediaPipeline.SpiderInfo, item: Any) -> FileInfo | None:
        place = self.place(request, info, item)
        try:
            path = checked(place)  # what cannot be stored is not fetched
        except ValueError as error:  # A page may have written what it is made of.
            raise self.rejected(Rejected("not_stored", str(error)), request.url, info) from None
        try:
            said = await ensure_awaitable(self.store.stat_file(path, info))
        except Exception as error:  # Whatever a store of the project's raises: as in Scrapy it is not there.
            logger.debug("%s.stat_file: %r", type(self.store).__name__, error, extra={"spider": info.spider})
            said = {}
        found = self._onsuccess(cast("StatInfo", said), request, info, path)
        if found is not None:
            kept = await self._completed(found, request, info, item)
            if kept is not None:
                return kept
        most = request.meta.get("download_maxsize", self.crawler.settings.getint("DOWNLOAD_MAXSIZE"))
        request.meta["download_maxsize"] = min(most or self.config.max_bytes, self.config.max_bytes)
        politeness = Politeness.of(self.crawler)
        if politeness is not None:
            # Its URL need not say so: `/photo?id=7` is an image all the same, and costs what one costs.
            request.meta.setdefault("polite_kind", politeness.config.kinds.of(request.url, otherwise="image"))
        try:
            await self._turn(request)
        except NotNow as error:
            return self._deferred(error, request, info, item)
        return None

    async def _turn(self, request: Request) -> None:
        """Wait until there is room for its bytes, and its turn has come: for both at once."""
        politeness = Politeness.of(self.crawler)
        while True:
            await self._backlog.room()
            if politeness is None:
                return
            await politeness.turn(request)
            if self._backlog.has_room or politeness.agenda is None:
                return
            politeness.agenda.give_back(request)

    async def _completed(self, found: FileInfo, request: Request, info: MediaPipeline.SpiderInfo, item: Any) -> FileInfo | None:
        """What is stored already, with the sizes that it lacked; None if the stored original is damaged."""
        paths = self._paths(request, info, item)
        if not isinstance(self.store, ImageStore):
            # What stands for the image was written last, so its sizes of that time are there. To ask for each would cost a
            # request.
            told = describe(found, variants={name: nothing_known(path) for name, path in paths.items()})
            return with_hashes(told, None, self.config)
        stored = await self._in_pool(partial(complete, self.store, found, paths, self.config))
        if isinstance(stored, Rejected):
            return cast("FileInfo", without_frames(self.rejected(stored, request.url, info)))
        return stored

    def _deferred(self, error: NotNow, request: Request, info: MediaPipeline.SpiderInfo, item: Any) -> ImageInfo:
        logger.info("Image deferred: <%s>: %s", request.url, error, extra={"spider": info.spider})
        self.count("deferred")
        put_off(self.crawler, request, item)
        path = self.place(request, info, item)
        told = describe({"url": request.url, "path": path, "checksum": None, "status": "deferred"})
        return with_hashes(told, None, self.config)

    # The download, and after it

    async def _check_media_to_download(self, request: Request, info: MediaPipeline.SpiderInfo, item: Any) -> FileInfo:
        async with contextlib.nullcontext() if Politeness.of(self.crawler) is not None else self._at_once:
            return await self._checked(request, info, item)

    async def _checked(self, request: Request, info: MediaPipeline.SpiderInfo, item: Any) -> FileInfo:
        while True:
            try:
                return await super()._check_media_to_download(request, info, item=item)
            except NotNow as error:
                # Said on the way down: the turn is awaited again here, as the request does not come from the scheduler.
                if Politeness.of(self.crawler) is None:
                    return self._deferred(error, request, info, item)
                try:
                    await self._turn(error.request or request)
                except NotNow as closing:
                    return self._deferred(closing, request, info, item)
            except _FileException as error:
                # Told in one line where it arose. Raised on, Scrapy would log a traceback of its own frames.
                return cast("FileInfo", without_frames(error))

    def media_failed(self, failure: Failure, request: Request, info: MediaPipeline.SpiderInfo) -> NoReturn:
        error = failure.value
        if isinstance(error, NotNow | _FileException):
            raise error
        raise self.rejected(why_failed(error, self.config.max_bytes), request.url, info)

    async def media_downloaded(
        self, response: Response, request: Request, info: MediaPipeline.SpiderInfo, *, item: Any = None
    ) -> FileInfo:
        why = why_not_kept(response)
        if why is not None:
            raise self.rejected(why, request.url, info)
        length = len(response.body)
        self._backlog.add(length)
        try:
            picture = await self._in_pool(partial(vips.convert, response.body, self.config))
            if isinstance(picture, Rejected):
                raise self.rejected(picture, request.url, info)
            self._pictures[response] = picture
            status = "cached" if "cached" in response.flags else "downloaded"
            self.inc_stats(status)
            path = self.place(request, info, item, response)
            checksum = await self._stored(response, request, info, item)
        finally:
            self._backlog.add(-length)
        self.count("ok")
        paths = self._paths(request, info, item, response)
        told = describe(
            {"url": request.url, "path": path, "checksum": checksum, "status": status},
            picture.header,
            len(self._last(picture)),
            {made.size: variant_info(paths[made.size], made) for made in picture.variants},
        )
        return with_hashes(told, picture, self.config)

    async def _stored(self, response: Response, request: Request, info: MediaPipeline.SpiderInfo, item: Any) -> str:
        try:
            return await ensure_awaitable(self.file_downloaded(response, request, info, item=item))
        except ImageRejected:
            raise
        except _FileException as error:  # The project's own, which its `item_completed` may look for.
            self.rejected(Rejected("failed", str(error)), request.url, info)
            raise
        except Exception as error:
            raise self._failed(error, request, info) from error

    def _failed(self, error: Exception, request: Request, info: MediaPipeline.SpiderInfo) -> Exception:
        """Say where something nobody expected was raised, and count it; answers what the item's results say of it."""
        self.count("failed")
        logger.error("Image not kept (failed): <%s>", request.url, exc_info=error, extra={"spider": info.spider})
        return _FileException(str(error))

    async def image_downloaded(
        self, response: Response, request: Request, info: MediaPipeline.SpiderInfo, *, item: Any = None
    ) -> str:
        """Store the sizes and then the original; answers its SHA-256 in hex."""
        picture = self._pictures[response]
        paths, header = self._paths(request, info, item, response), picture.header
        path, last, kind = self.place(request, info, item, response), self._last(picture), header.format
        try:
            for made in picture.variants:
                if made.data is last:
                    kind = made.format
                    continue
                await self._persist(
                    paths[made.size], made.data, {"width": made.width, "height": made.height}, made.format, info
                )
            kept = kept_of(picture, len(last), int(time.time()), paths, self.config)
            await self._persist(path, last, meta_of(kept), kind, info)
        except Exception as error:  # Whatever a store of the project's raises. A disk is full, a server away.
            raise self.rejected(Rejected("not_stored", f"{type(error).__name__}: {error}"), request.url, info) from None
        return picture.sha256

    def _last(self, picture: Picture) -> bytes:
        """The bytes that are stored last, and stand for the image."""
        if self._stand_in is None:
            assert picture.original is not None
            return picture.original
        return next(made.data for made in picture.variants if self._stand_in.name == made.size)

    async def _persist(
        self, path: str, data: bytes, meta: Mapping[str, object], kind: str, info: MediaPipeline.SpiderInfo
    ) -> None:
        headers = {"Content-Type": f"image/{kind}"}
        await ensure_awaitable(self.store.persist_file(path, BytesIO(data), info, meta=dict(meta), headers=headers))

    # Shared

    async def _in_pool(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)
