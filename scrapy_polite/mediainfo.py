"""What an item is told about each of its images."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from scrapy.pipelines.images import ImageException
from scrapy.pipelines.media import FileInfo
from twisted.python.failure import Failure

if TYPE_CHECKING:
    from scrapy_polite.images.policy import Header


class VariantInfo(TypedDict):
    """One size of an image in an item's result; pixels and bytes, None where only the store could tell."""

    path: str
    width: int | None
    height: int | None
    format: str | None
    bytes: int | None


class ImageInfo(FileInfo):
    """An image in an item's result.

    status: Scrapy's (downloaded, cached, uptodate), or "deferred" for an image that is not there yet (path: where it
    will be). checksum: SHA-256 in hex; for an image that is up to date in S3, GCS or FTP, what the store says.
    width and height as shown (EXIF orientation applied), in pixels; None where only the store could tell.
    """

    width: int | None
    height: int | None
    format: str | None
    bytes: int | None
    variants: dict[str, VariantInfo]


class ImageRejected(ImageException):
    """An image that is not kept; outcome is the code in `polite/images/<outcome>`."""

    def __init__(self, outcome: str, detail: str) -> None:
        super().__init__(f"{outcome}: {detail}")
        self.outcome = outcome


def describe(
    found: FileInfo,
    header: Header | None = None,
    length: int | None = None,
    variants: dict[str, VariantInfo] | None = None,
) -> ImageInfo:
    return {
        **found,
        "width": header.width if header else None,
        "height": header.height if header else None,
        "format": header.format if header else None,
        "bytes": length,
        "variants": variants or {},
    }


def variant_info(path: str, width: int, height: int, kind: str, data: bytes) -> VariantInfo:
    return {"path": path, "width": width, "height": height, "format": kind, "bytes": len(data)}


def nothing_known(path: str) -> VariantInfo:
    return {"path": path, "width": None, "height": None, "format": None, "bytes": None}


def without_frames(error: BaseException) -> Failure:
    """A failure that Scrapy may keep for the whole crawl: without tracebacks, which would hold response and body."""
    link: BaseException | None = error
    while link is not None:
        link.__traceback__ = None
        link = link.__cause__ or link.__context__
    return Failure(error)  # type: ignore[no-untyped-call,unused-ignore]
