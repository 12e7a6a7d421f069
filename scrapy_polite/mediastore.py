"""The folder that images are stored in: written whole or not at all, and never on the event loop."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.pipelines.files import FSFilesStore
from scrapy.utils.defer import deferred_from_coro

from scrapy_polite.images.convert import convert, probe
from scrapy_polite.images.plan import plan
from scrapy_polite.images.policy import OUTCOMES, Header, ImagesConfig, Rejected, Size
from scrapy_polite.mediainfo import ImageInfo, VariantInfo, describe, variant_info

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Executor
    from io import BytesIO
    from os import PathLike
    from pathlib import Path

    from scrapy.pipelines.files import StatInfo
    from scrapy.pipelines.media import FileInfo, MediaPipeline
    from twisted.internet.defer import Deferred

# What a new download of the same image would come to again.
_LASTING = frozenset(OUTCOMES) - {"ok", "truncated", "not_an_image"}
_T = TypeVar("_T")


class AtomicFilesStore(FSFilesStore):
    """Scrapy's file-system store with writes that are seen whole or not at all, in threads, and SHA-256 checksums.

    A file is written beside its place as `.<random>.part` and then renamed: a killed crawl leaves at most such a
    part, never half an image that the next crawl takes for a fresh one. A path that leads out of the folder is refused
    with ValueError, since names may come from pages.
    """

    pool: Executor | None = None  # None: the loop's own

    def persist_file(  # type: ignore[override]  # as the stores of S3, GCS and FTP answer
        self,
        path: str | PathLike[str],
        buf: BytesIO,
        info: MediaPipeline.SpiderInfo,
        meta: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Deferred[None]:
        return self._in_thread(partial(self.write, path, buf.getvalue()))

    def stat_file(  # type: ignore[override]
        self,
        path: str | PathLike[str],
        info: MediaPipeline.SpiderInfo,
    ) -> Deferred[StatInfo]:
        return self._in_thread(partial(self._stat, path))

    def locate(self, path: str | PathLike[str]) -> Path:
        """Where a stored path is. Raises ValueError if that would be outside the folder."""
        if ".." in str(path).split("/"):
            raise ValueError(f"image path {str(path)!r} leads out of the store: file_path() must answer one without '..'")
        return self._get_filesystem_path(path)

    def read(self, path: str | PathLike[str]) -> bytes | None:
        """The bytes of a stored file; None if there is none that can be read. Synchronous."""
        try:
            return self.locate(path).read_bytes()
        except OSError:
            return None

    def write(self, path: str | PathLike[str], data: bytes) -> None:
        """Put a file in its place, whole. Synchronous; raises OSError."""
        target = self.locate(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.parent / f".{secrets.token_hex(8)}.part"
        try:
            with part.open("xb") as file:
                file.write(data)
            part.replace(target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise

    def _stat(self, path: str | PathLike[str]) -> StatInfo:
        target = self.locate(path)
        try:
            modified, data = target.stat().st_mtime, target.read_bytes()
        except OSError:
            return {}
        return {"last_modified": modified, "checksum": hashlib.sha256(data).hexdigest()}

    def _in_thread(self, work: Callable[[], _T]) -> Deferred[_T]:
        # Scrapy's media pipelines want a Deferred here, not a future (`maybeDeferred` in `media_to_download`).
        async def run() -> _T:
            return await asyncio.get_running_loop().run_in_executor(self.pool, work)

        return deferred_from_coro(run())


def complete(
    store: AtomicFilesStore, found: FileInfo, paths: dict[str, str], config: ImagesConfig
) -> ImageInfo | Rejected | None:
    """A stored image, with the sizes that it lacks (or has otherwise than config wants them) made now.

    paths: where each size belongs. Rejected: config would not keep it today. None: damaged, must be downloaded
    again. Synchronous: reads, decodes and writes.
    """
    data = store.read(found["path"])
    if not data:
        return None
    header = probe(data, config)
    if isinstance(header, Rejected):
        return header if header.outcome in _LASTING else None
    variants = {size.name: _stored_variant(store, paths[size.name], size, header) for size in config.sizes}
    missing = [size for size in config.sizes if variants[size.name] is None]
    if missing:
        picture = convert(data, config, missing)
        if isinstance(picture, Rejected):
            return picture if picture.outcome in _LASTING else None
        for made in picture.variants:
            store.write(paths[made.size], made.data)
            variants[made.size] = variant_info(paths[made.size], made.width, made.height, made.format, made.data)
    return describe(found, header, len(data), {name: known for name, known in variants.items() if known})


def _stored_variant(store: AtomicFilesStore, path: str, size: Size, original: Header) -> VariantInfo | None:
    """A size that is stored as the settings want it now; None if it must be made."""
    data = store.read(path)
    header = probe(data, ImagesConfig()) if data else None
    if data is None or not isinstance(header, Header):
        return None
    cut = plan(size, original.width, original.height)
    wanted = (cut.box_width, cut.box_height, original.format if size.format == "keep" else size.format)
    if (header.width, header.height, header.format) != wanted:
        return None
    return variant_info(path, header.width, header.height, header.format, data)
