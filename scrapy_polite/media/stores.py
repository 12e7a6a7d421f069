"""Which store `IMAGES_STORE` means, with the credentials of one crawler."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast
from urllib.parse import urlsplit

from scrapy.pipelines.images import ImagesPipeline

from scrapy_polite.media.ftp import FTPStore
from scrapy_polite.media.remote import GCSStore, S3Store
from scrapy_polite.media.store import AtomicFilesStore, ImageStore

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.pipelines.files import FilesStoreProtocol, StatInfo
    from scrapy.pipelines.media import FileInfo, MediaPipeline
    from scrapy.settings import BaseSettings
    from typing_extensions import Self

    from scrapy_polite.media.store import Found, Stat

# Threads that wait for a disk or a server, apart from the few that convert, which would stand still meanwhile.
STORE_WORKERS = 8


class StoresOfOneCrawler(ImagesPipeline):
    """Scrapy's images pipeline with stores that no other crawler of the process shares.

    Scrapy writes a crawler's credentials into the store classes. Here each crawler has classes of its own for that: the
    pipeline's class and its `STORE_SCHEMES` are derived anew for each, under their old names.
    """

    STORE_SCHEMES: ClassVar[dict[str, type[FilesStoreProtocol]]] = {
        "": AtomicFilesStore,
        "file": AtomicFilesStore,
        "s3": S3Store,
        "gs": GCSStore,
        "ftp": FTPStore,
    }

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        schemes = {scheme: _derived(store) for scheme, store in cls.STORE_SCHEMES.items()}
        own: type[Self] = _derived(cls, STORE_SCHEMES=schemes)
        return super(StoresOfOneCrawler, own).from_crawler(crawler)

    @classmethod
    def _update_stores(cls, settings: BaseSettings) -> None:
        super()._update_stores(settings)
        # Scrapy 2.16 reads FILES_STORE_S3_ACL and FILES_STORE_GCS_ACL here.
        for scheme, name in (("s3", "IMAGES_STORE_S3_ACL"), ("gs", "IMAGES_STORE_GCS_ACL")):
            cast("Any", cls.STORE_SCHEMES[scheme]).POLICY = settings[name] or None

    def _get_store(self, uri: str) -> FilesStoreProtocol:
        scheme = "file" if Path(uri).is_absolute() else urlsplit(uri).scheme
        if scheme not in self.STORE_SCHEMES:
            known = ", ".join(f"{name}://" for name in self.STORE_SCHEMES if name)
            raise ValueError(f"IMAGES_STORE: {scheme}:// is no store: a folder, or one of {known}")
        try:
            store = super()._get_store(uri)
        except OSError as error:
            raise ValueError(f"IMAGES_STORE: {uri!r} cannot be written, {error}: name another folder, or mend it") from None
        if isinstance(store, ImageStore):
            store.pool = self._store_pool = ThreadPoolExecutor(STORE_WORKERS, thread_name_prefix="polite-images-store")
        return store

    def close_spider(self) -> None:
        if isinstance(self.store, ImageStore):
            self.store.close()
            self._store_pool.shutdown(wait=False)

    def _onsuccess(self, result: StatInfo, request: Request, info: MediaPipeline.SpiderInfo, path: str) -> FileInfo | None:
        # What Scrapy makes of a stat has no place for what else the store said, and takes trouble for a no.
        said = cast("Stat", result)
        if "trouble" in said:
            troubled: Found = {"url": request.url, "path": path, "checksum": None, "status": "", "trouble": said["trouble"]}
            return troubled
        found = cast("Found | None", super()._onsuccess(result, request, info, path))
        if found is not None and isinstance(self.store, ImageStore):
            found["modified"], found["size"] = said["last_modified"], said["size"]
            if "kept" in said:
                found["kept"] = said["kept"]
        return found


def _derived(base: type[Any], **names: object) -> type[Any]:
    return type(base.__name__, (base,), {"__module__": base.__module__, "__qualname__": base.__qualname__, **names})
