"""The images pipeline: Scrapy's own in settings, fields, stores and methods to override; libvips in threads underneath.

An image waits for its turn before it enters the downloader, is judged by its header before it is decoded, and is stored
as it came; the sizes of `POLITE_IMAGES` (and Scrapy's `IMAGES_THUMBS`, as JPEG) are stored before it: where an original
is, its sizes are. An image that is not kept costs one line in the log and one count of `polite/images/<outcome>`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast
from weakref import WeakKeyDictionary

from scrapy.exceptions import DownloadCancelledError, NotConfigured
from scrapy.pipelines.files import FilesPipeline
from scrapy.pipelines.images import ImageException, ImagesPipeline
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import ensure_awaitable

from scrapy_polite.errors import NotNow
from scrapy_polite.images import convert as vips
from scrapy_polite.images.plan import original_path, variant_path
from scrapy_polite.images.policy import ImagesConfig, Picture, Rejected, Size, images_from
from scrapy_polite.mediacomplete import complete, meta_of
from scrapy_polite.mediainfo import ImageInfo, ImageRejected, describe, nothing_known, variant_info, without_frames
from scrapy_polite.mediakept import kept_of
from scrapy_polite.mediastore import ImageStore, checked
from scrapy_polite.mediastores import StoresOfOneCrawler
from scrapy_polite.politeness import Politeness
from scrapy_polite.putoff import put_off

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
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


class Backlog:
    """Bytes of bodies between download and store, and a gate that is shut while they are too many."""

    def __init__(self, limit: int) -> None:
        self._bytes, self._limit, self._open = 0, limit, asyncio.Event()
        self._open.set()

    async def room(self) -> None:
        await self._open.wait()

    def add(self, count: int) -> None:
        self._bytes += count
        (self._open.clear if self._bytes >= self._limit else self._open.set)()


class PoliteImagesPipeline(StoresOfOneCrawler):
    """Put it in `ITEM_PIPELINES` in place of `scrapy.pipelines.images.ImagesPipeline` (the add-on does so by itself).

    Not called, since nothing is decoded with Pillow: `get_images` and `convert_image`. Without pyvips: `NotConfigured`.
    """

    def __init__(self, store_uri: str | PathLike[str], download_func: None = None, *, crawler: Crawler) -> None:
        config = images_from(crawler.settings.get("POLITE_IMAGES"))
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
        self._read_scrapy_settings(crawler)
        sizes = {size.name: size for size in (*_scrapy_sizes(self.thumbs), *config.sizes)}
        self.config: ImagesConfig = replace(
            config,
            sizes=tuple(sizes.values()),
            min_width=config.min_width or self.min_width,
            min_height=config.min_height or self.min_height,
        )
        self._sizes = sizes
        self._backlog = Backlog(BACKLOG_BYTES)
        self._pictures: WeakKeyDictionary[Response, Picture] = WeakKeyDictionary()
        for name in ("get_images", "convert_image"):
            if getattr(type(self), name) is not getattr(ImagesPipeline, name):
                logger.warning("%s.%s() is not called: POLITE_IMAGES says what is made", type(self).__name__, name)

    def _read_scrapy_settings(self, crawler: Crawler) -> None:
        def setting(name: str, default: object) -> Any:
            key = self._key_for_pipe(name, base_class_name="ImagesPipeline", settings=crawler.settings)
            value = crawler.settings.get(key)
            return default if value is None else value

        urls = getattr(self, "IMAGES_URLS_FIELD", self.DEFAULT_IMAGES_URLS_FIELD)
        result = getattr(self, "IMAGES_RESULT_FIELD", self.DEFAULT_IMAGES_RESULT_FIELD)
        self.images_urls_field, self.IMAGES_URLS_FIELD = setting("IMAGES_URLS_FIELD", urls), urls
        self.images_result_field, self.IMAGES_RESULT_FIELD = setting("IMAGES_RESULT_FIELD", result), result
        self.expires = int(setting("IMAGES_EXPIRES", self.EXPIRES))
        self.min_width = int(setting("IMAGES_MIN_WIDTH", self.MIN_WIDTH))
        self.min_height = int(setting("IMAGES_MIN_HEIGHT", self.MIN_HEIGHT))
        self.thumbs = setting("IMAGES_THUMBS", self.THUMBS)

    def open_spider(self, spider: Spider | None = None) -> None:
        if not is_asyncio_available():
            raise ValueError(
                f"TWISTED_REACTOR: {self.crawler.settings['TWISTED_REACTOR']!r} is not Scrapy's default, "
                f"twisted.internet.asyncioreactor.AsyncioSelectorReactor, which {type(self).__name__} needs"
            )
        super().open_spider()

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

    # Before the download

    async def media_to_download(  # type: ignore[override]  # Scrapy awaits what it answers
        self, request: Request, info: MediaPipeline.SpiderInfo, *, item: Any = None
    ) -> FileInfo | None:
        checked(self.file_path(request, info=info, item=item))  # what cannot be stored is not fetched
        answer: object = super().media_to_download(request, info, item=item)
        found = cast("FileInfo | None", await ensure_awaitable(answer))
        if found is not None:
            kept = await self._completed(found, request, info, item)
            if kept is not None:
                return kept
        most = request.meta.get("download_maxsize", self.crawler.settings.getint("DOWNLOAD_MAXSIZE"))
        request.meta["download_maxsize"] = min(most or self.config.max_bytes, self.config.max_bytes)
        await self._backlog.room()
        try:
            await self._turn(request)
        except NotNow as error:
            return self._deferred(error, request, info, item)
        return None

    async def _turn(self, request: Request) -> None:
        politeness = Politeness.of(self.crawler)
        if politeness is not None:
            await politeness.turn(request)

    async def _completed(self, found: FileInfo, request: Request, info: MediaPipeline.SpiderInfo, item: Any) -> FileInfo | None:
        """What is stored already, with the sizes that it lacked; None if the stored original is damaged."""
        paths = {size.name: self.thumb_path(request, size.name, info=info, item=item) for size in self.config.sizes}
        if not isinstance(self.store, ImageStore):
            # The original was written last, so its sizes of that time are there. To ask for each would cost a request.
            return describe(found, variants={name: nothing_known(path) for name, path in paths.items()})
        stored = await self._in_pool(partial(complete, self.store, found, paths, self.config))
        if isinstance(stored, Rejected):
            return cast("FileInfo", without_frames(self._rejected(stored, request, info)))
        return stored

    def _deferred(self, error: NotNow, request: Request, info: MediaPipeline.SpiderInfo, item: Any) -> ImageInfo:
        logger.info("Image deferred: <%s>: %s", request.url, error, extra={"spider": info.spider})
        self._count("deferred")
        put_off(self.crawler, request, item)
        path = self.file_path(request, info=info, item=item)
        return describe({"url": request.url, "path": path, "checksum": None, "status": "deferred"})

    # The download, and after it

    async def _check_media_to_download(self, request: Request, info: MediaPipeline.SpiderInfo, item: Any) -> FileInfo:
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
        if isinstance(failure.value, NotNow | ImageRejected):
            raise failure.value
        if isinstance(failure.value, DownloadCancelledError):
            detail = f"download stopped at {request.meta.get('download_maxsize')} bytes"
            raise self._rejected(Rejected("too_many_bytes", detail), request, info)
        super().media_failed(failure, request, info)

    async def media_downloaded(
        self, response: Response, request: Request, info: MediaPipeline.SpiderInfo, *, item: Any = None
    ) -> FileInfo:
        if response.status != 200 or not response.body:
            return await super().media_downloaded(response, request, info, item=item)  # says so, and raises
        length = len(response.body)
        self._backlog.add(length)
        try:
            picture = await self._in_pool(partial(vips.convert, response.body, self.config))
            if isinstance(picture, Rejected):
                raise self._rejected(picture, request, info)
            self._pictures[response] = picture
            result = await super().media_downloaded(response, request, info, item=item)
        finally:
            self._backlog.add(-length)
        self._count("ok")
        variants = {
            made.size: variant_info(
                self.thumb_path(request, made.size, response=response, info=info, item=item),
                made.width,
                made.height,
                made.format,
                made.data,
            )
            for made in picture.variants
        }
        return describe(result, picture.header, length, variants)

    async def image_downloaded(
        self, response: Response, request: Request, info: MediaPipeline.SpiderInfo, *, item: Any = None
    ) -> str:
        picture = self._pictures.pop(response)
        for made in picture.variants:
            path = self.thumb_path(request, made.size, response=response, info=info, item=item)
            await self._persist(path, made.data, {"width": made.width, "height": made.height}, made.format, info)
        path, header = self.file_path(request, response=response, info=info, item=item), picture.header
        paths = {
            size.name: self.thumb_path(request, size.name, response=response, info=info, item=item)
            for size in self.config.sizes
        }
        kept = kept_of(picture, len(response.body), int(time.time()), paths, self.config)
        await self._persist(path, response.body, meta_of(kept), header.format, info)
        return picture.sha256

    async def _persist(
        self, path: str, data: bytes, meta: Mapping[str, object], kind: str, info: MediaPipeline.SpiderInfo
    ) -> None:
        headers = {"Content-Type": f"image/{kind}"}
        await ensure_awaitable(self.store.persist_file(path, BytesIO(data), info, meta=dict(meta), headers=headers))

    # Shared

    async def _in_pool(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def _rejected(self, why: Rejected, request: Request, info: MediaPipeline.SpiderInfo) -> ImageRejected:
        logger.warning("Image not kept (%s): <%s>: %s", why.outcome, request.url, why.detail, extra={"spider": info.spider})
        self._count(why.outcome)
        return ImageRejected(why.outcome, why.detail)

    def _count(self, outcome: str) -> None:
        if self.crawler.stats is not None:
            self.crawler.stats.inc_value(f"polite/images/{outcome}")


def _scrapy_sizes(thumbs: Mapping[str, tuple[int, int]]) -> list[Size]:
    try:
        return [Size(name, int(width), int(height), format="jpeg") for name, (width, height) in thumbs.items()]
    except (AttributeError, TypeError, ValueError):
        raise ValueError(f"IMAGES_THUMBS: {thumbs!r} is not a dict of name: (width, height)") from None
