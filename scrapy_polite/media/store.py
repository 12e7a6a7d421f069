"""Where images are stored: what every store of the images pipeline promises, and the folder on disk.

Whatever a store does it does in threads, never on the event loop; a file is seen whole or not at all; and what is
remembered of an image (`kept`) is read by the one question whether it is there.
"""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import shutil
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.pipelines.files import FSFilesStore, StatInfo
from scrapy.pipelines.media import FileInfo
from scrapy.utils.defer import deferred_from_coro

from scrapy_polite.media.kept import KEY, Kept, read_kept

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Executor
    from io import BytesIO
    from os import PathLike

    from scrapy.pipelines.media import MediaPipeline
    from twisted.internet.defer import Deferred

_T = TypeVar("_T")

# A part that nobody renamed within a day was left behind by a crawl that is no more.
LEFT_BEHIND = 24 * 3600
_LONGEST_DETAIL = 200  # characters of what a server says
_NOT_THERE = (FileNotFoundError, NotADirectoryError)


class StoreError(OSError):
    """A store that did not do what it was asked for; the text says why, without credentials."""


class Stat(StatInfo, total=False):
    """What a store knows of a stored original; size in bytes. trouble: the store could not tell whether there is one."""

    size: int
    kept: Kept
    trouble: str


class Found(FileInfo, total=False):
    """Scrapy's description of what is up to date, with what the store said of it. modified: in Unix seconds; size: bytes."""

    modified: float
    size: int
    kept: Kept
    trouble: str


class ImageStore(ABC):
    """One place for images. A subclass says how to `_read`, `_write` and `_stat` in a thread, and which `errors` occur.

    Paths are relative, with "/". One that leads out of the store is refused with ValueError, since names may come from
    pages. All else that goes wrong is a `StoreError`.
    """

    pool: Executor | None = None  # None: the loop's own

    def persist_file(
        self,
        path: str | PathLike[str],
        buf: BytesIO,
        info: MediaPipeline.SpiderInfo,
        meta: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Deferred[None]:
        return self._in_thread(partial(self.write, path, buf.getvalue(), meta, headers))

    def stat_file(self, path: str | PathLike[str], info: MediaPipeline.SpiderInfo) -> Deferred[StatInfo]:
        return self._in_thread(partial(self.stat, path))

    def read(self, path: str | PathLike[str]) -> bytes | None:
        """The bytes of a stored file; None if there is none. Synchronous."""
        return self._tried(partial(self._read, checked(path)))

    def write(
        self,
        path: str | PathLike[str],
        data: bytes,
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Put a file in its place, whole, with what is to be remembered of it (meta). Synchronous."""
        text = {key: str(value) for key, value in (meta or {}).items()}
        self._tried(partial(self._write, checked(path), data, text, dict(headers or {})))

    def remember(self, path: str | PathLike[str], data: bytes, meta: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        """Change what is remembered of a stored file whose bytes are `data`. Synchronous."""
        self.write(path, data, meta, headers)

    def stat(self, path: str | PathLike[str]) -> Stat:
        """Whether a file is there: empty if not. Synchronous; raises nothing but ValueError."""
        try:
            return self._tried(partial(self._stat, checked(path)))
        except StoreError as error:
            return {"trouble": str(error)}

    def as_remembered(self, path: str, size: int) -> bool:
        """Whether a stored size is still what is remembered of it, where that costs no request. Synchronous."""
        return True

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Give back what the store holds: its connections."""

    def errors(self) -> tuple[type[Exception], ...]:
        return (OSError,)

    @abstractmethod
    def _read(self, path: str) -> bytes | None: ...

    @abstractmethod
    def _write(self, path: str, data: bytes, meta: dict[str, str], headers: dict[str, str]) -> None: ...

    @abstractmethod
    def _stat(self, path: str) -> Stat: ...

    def _tried(self, work: Callable[[], _T]) -> _T:
        try:
            return work()
        except self.errors() as error:
            raise StoreError(f"{type(error).__name__}: {error}"[:_LONGEST_DETAIL]) from None

    def _in_thread(self, work: Callable[[], _T]) -> Deferred[_T]:
        # Scrapy's media pipelines want a Deferred here, not a future (`maybeDeferred` in `media_to_download`).
        async def run() -> _T:
            return await asyncio.get_running_loop().run_in_executor(self.pool, work)

        return deferred_from_coro(run())


class AtomicFilesStore(ImageStore, FSFilesStore):  # type: ignore[misc]  # answers Deferreds, as the stores of S3 and FTP
    """A folder on disk. A file is written in `.parts`, brought to the disk, and renamed into its place.

    So neither a killed crawl nor a machine without power leaves half an image that the next crawl takes for a whole
    one. What is remembered of `full/a.jpg` is in `kept/full/a.jpg.json`, and is believed while it is not older than the
    image and tells its length. Raises OSError if the folder cannot be written.
    """

    def __init__(self, basedir: str | PathLike[str]) -> None:
        super().__init__(basedir)
        self._parts = Path(self.basedir, ".parts")
        self._whole(Path(self.basedir, ".parts", "try"), b"")
        Path(self.basedir, ".parts", "try").unlink(missing_ok=True)
        for part in self._parts.glob("*.part"):
            with suppress(FileNotFoundError):  # of another crawl, which goes on meanwhile
                if time.time() - part.stat().st_mtime > LEFT_BEHIND:
                    part.unlink()

    def locate(self, path: str | PathLike[str]) -> Path:
        """Where a stored path is. Raises ValueError if that would be outside the folder."""
        return self._get_filesystem_path(checked(path))

    def remember(self, path: str | PathLike[str], data: bytes, meta: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        self._tried(partial(self._whole, self.locate(kept_path(str(path))), str(meta[KEY]).encode()))

    def as_remembered(self, path: str, size: int) -> bool:
        try:
            return self.locate(path).stat().st_size == size
        except OSError:
            return False

    def _read(self, path: str) -> bytes | None:
        try:
            return self.locate(path).read_bytes()
        except _NOT_THERE:
            return None

    def _write(self, path: str, data: bytes, meta: dict[str, str], headers: dict[str, str]) -> None:
        self._whole(self.locate(path), data)
        if KEY in meta:
            self._whole(self.locate(kept_path(path)), meta[KEY].encode())

    def _stat(self, path: str) -> Stat:
        beside = self.locate(kept_path(path))
        try:
            written = beside.stat().st_mtime_ns
        except _NOT_THERE:
            written = 0
        try:
            image = self.locate(path).stat()
        except _NOT_THERE:
            return {}
        text = beside.read_bytes().decode("ascii", "replace") if written >= image.st_mtime_ns else None
        return stat_of(image.st_mtime, image.st_size, text)

    def _whole(self, target: Path, data: bytes) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        self._parts.mkdir(exist_ok=True)
        part = self._parts / f"{secrets.token_hex(8)}.part"
        try:
            with part.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            try:
                part.replace(target)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                # A folder inside the store that is on another disk.
                beside = target.parent / f".{part.name}"
                shutil.move(part, beside)
                beside.replace(target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def checked(path: str | PathLike[str]) -> str:
    """A path in a store, which does not lead out of it and is one line of text: else ValueError. TypeError for what is no path,
    such as None, under whose name each image would replace the one before."""
    if not isinstance(path, str | PurePath):
        raise TypeError(f"image path {path!r} is no text: file_path() and thumb_path() must answer a str, and be no coroutines")
    text = str(path)
    if ".." in text.split("/"):
        raise ValueError(f"image path {text!r} leads out of the store: file_path() must answer one without '..'")
    if not text.isprintable():
        raise ValueError(f"image path {text!r} has a control character: file_path() must answer one without")
    return text


def kept_path(path: str) -> str:
    """Where a store without metadata keeps what it remembers of the image at a path."""
    return f"kept/{path}.json"


def stat_of(modified: float, size: int, text: str | None) -> Stat:
    """What a store found (Unix seconds, bytes), with what it remembers (JSON), if that speaks of a file of this size."""
    kept = read_kept(text)
    if kept is None or kept.bytes != size:
        return {"last_modified": modified, "size": size}
    # The store's own time changes when a size is added; the image is as old as its download.
    modified = min(modified, kept.fetched)
    return {"last_modified": modified, "size": size, "checksum": kept.sha256, "kept": kept}
