"""What an item is told about each of its images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypedDict, cast

from scrapy.pipelines.images import ImageException
from scrapy.pipelines.media import FileInfo
from twisted.python.failure import Failure

if TYPE_CHECKING:
    from typing_extensions import NotRequired

    from scrapy_polite.images.policy import Header, ImagesConfig, Variant


class Hashed(Protocol):
    """A picture, or what is remembered of one."""

    @property
    def perceptual_hash(self) -> str | None: ...
    @property
    def blurhash(self) -> str | None: ...


class VariantInfo(TypedDict):
    """One size of an image in an item's result; pixels and bytes, None where only the store could tell. frames: more than one
    where it is animated."""

    path: str
    width: int | None
    height: int | None
    format: str | None
    bytes: int | None
    frames: int | None


class ImageInfo(FileInfo):
    """An image in an item's result.

    status: Scrapy's ("downloaded", "uptodate", "cached": by another item or by another URL of the same picture), or
    "deferred" for an image that is not there yet (path: where it will be). path, bytes: of what is stored; where no
    original is, of the size that stands for it. checksum: SHA-256 in hex of what is stored, or of the image as it came
    where no original is stored; for an image that is up to date in S3, GCS or FTP and was stored by Scrapy, what the
    store says. width and height as shown (EXIF orientation applied), in pixels; None where only the store could tell.
    perceptual_hash, blurhash: only where they are asked for.
    """

    width: int | None
    height: int | None
    format: str | None
    bytes: int | None
    frames: int | None
    variants: dict[str, VariantInfo]
    perceptual_hash: NotRequired[str | None]
    blurhash: NotRequired[str | None]


class ImageRejected(ImageException):
    """An image that is not kept; outcome is the code in `polite/images/<outcome>`."""

    def __init__(self, outcome: str, detail: str) -> None:
        super().__init__(f"{outcome}: {detail}")
        self.outcome = outcome
        self.detail = detail


def describe(
    found: FileInfo,
    header: Header | None = None,
    length: int | None = None,
    variants: dict[str, VariantInfo] | None = None,
) -> ImageInfo:
    return {
        "url": found["url"],
        "path": found["path"],
        "checksum": found["checksum"],
        "status": found["status"],
        "width": header.width if header else None,
        "height": header.height if header else None,
        "format": header.format if header else None,
        "bytes": length,
        "frames": header.frames if header else None,
        "variants": variants or {},
    }


def with_hashes(told: ImageInfo, known: Hashed | None, config: ImagesConfig) -> ImageInfo:
    """With the hashes that config asks for; None each where nothing is known."""
    if config.perceptual_hash:
        told["perceptual_hash"] = known.perceptual_hash if known else None
    if config.blurhash:
        told["blurhash"] = known.blurhash if known else None
    return told


def variant_info(path: str, made: Variant) -> VariantInfo:
    return {
        "path": path,
        "width": made.width,
        "height": made.height,
        "format": made.format,
        "bytes": len(made.data),
        "frames": made.frames,
    }


def nothing_known(path: str) -> VariantInfo:
    return {"path": path, "width": None, "height": None, "format": None, "bytes": None, "frames": None}


def copied(found: FileInfo) -> FileInfo:
    """Another dict with the same values, so that who changes one item's changes no other's."""
    copy: dict[str, object] = dict(found)
    variants = copy.get("variants")
    if isinstance(variants, dict):
        copy["variants"] = {name: dict(size) for name, size in variants.items()}
    return cast("FileInfo", copy)


def seen_from(found: FileInfo, url: str) -> FileInfo:
    """The entry of a URL for which another was asked for that shows the same."""
    status = "cached" if found["status"] == "downloaded" else found["status"]
    seen = copied(found)
    seen["url"], seen["status"] = url, status
    return seen


def without_frames(error: BaseException) -> Failure:
    """A failure that Scrapy may keep for the whole crawl: without tracebacks, which would hold response and body."""
    link: BaseException | None = error
    while link is not None:
        link.__traceback__ = None
        link = link.__cause__ or link.__context__
    return Failure(error)  # type: ignore[no-untyped-call,unused-ignore]
