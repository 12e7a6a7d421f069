"""An image that is stored already: with the sizes that the settings want today, made from the stored original."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, cast

from scrapy_polite.images.convert import convert
from scrapy_polite.images.policy import OUTCOMES, ImagesConfig, Rejected, judge
from scrapy_polite.media.info import ImageInfo, describe, with_hashes
from scrapy_polite.media.kept import KEY, LONGEST, Kept, kept_of
from scrapy_polite.media.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.pipelines.media import FileInfo

    from scrapy_polite.images.policy import Picture
    from scrapy_polite.media.store import Found, ImageStore

NOT_STORED = "not_stored"
"""The outcome of an image that its store did not take, or could not be asked for."""

# What a new download of the same image would come to again.
_LASTING = frozenset(OUTCOMES) - {"ok", "truncated", "not_an_image"}


def complete(store: ImageStore, told: FileInfo, paths: Mapping[str, str], config: ImagesConfig) -> ImageInfo | Rejected | None:
    """A stored image as an item is told of it, with the sizes that it lacks (or has otherwise) made now.

    told: what the store and Scrapy made of it. paths: where each size belongs. Rejected: config would not keep it today,
    or the store does not answer. None: it is damaged, or stored otherwise than config wants, and must be downloaded
    again. Where nothing is lacking, S3, GCS and FTP are not asked anything. Synchronous: may read, decode and write.
    """
    found = cast("Found", told)
    if "trouble" in found:
        return Rejected(NOT_STORED, found["trouble"])
    kept = found.get("kept")
    try:
        return _complete(store, found, kept, paths, config)
    except StoreError as error:
        return Rejected(NOT_STORED, str(error))


def meta_of(kept: Kept) -> dict[str, str]:
    """The `meta` of `persist_file` for the file that is written last; with the width and height that Scrapy gives."""
    return {"width": str(kept.header.width), "height": str(kept.header.height), KEY: kept.text(LONGEST)}


def _complete(
    store: ImageStore, found: Found, kept: Kept | None, paths: Mapping[str, str], config: ImagesConfig
) -> ImageInfo | Rejected | None:
    if kept is None:
        if config.original == "none":  # nothing says what this file is
            return None
        if found["size"] > config.max_bytes:
            return Rejected("too_many_bytes", f"{found['size']} bytes in the store, {config.max_bytes} are allowed")
        lacking = list(config.sizes)
    else:
        strip = kept.original == "keep" and config.original == "stripped"
        if kept.original != config.original and not strip:
            return None
        refused = judge(kept.header, kept.bytes, config)
        if refused is not None:
            return refused
        lacking = kept.lacks(paths, config)
        lost = [size for size in config.sizes if size not in lacking and not _there(store, kept, size.name, paths[size.name])]
        lacking += lost
        if not lacking and not strip and not kept.lacks_hashes(config):
            return _told(found, kept, paths, config)
        if kept.original == "none":
            return None
    data = store.read(found["path"])
    if not data or (kept is not None and hashlib.sha256(data).hexdigest() != kept.sha256):
        return None
    picture = convert(data, config, lacking)
    if isinstance(picture, Rejected):
        return picture if picture.outcome in _LASTING else None
    return _told(found, _stored(store, found, kept, data, picture, paths, config), paths, config)


def _there(store: ImageStore, kept: Kept, name: str, path: str) -> bool:
    return name not in kept.sizes or store.as_remembered(path, kept.sizes[name].bytes)


def _stored(
    store: ImageStore,
    found: Found,
    before: Kept | None,
    data: bytes,
    picture: Picture,
    paths: Mapping[str, str],
    config: ImagesConfig,
) -> Kept:
    """Writes what was made: the original, or only what is remembered of it, last."""
    for made in picture.variants:
        meta, headers = {"width": made.width, "height": made.height}, {"Content-Type": f"image/{made.format}"}
        store.write(paths[made.size], made.data, meta, headers)
    original = picture.original or data
    fetched = before.fetched if before else int(found["modified"])
    kept = kept_of(picture, len(original), fetched, paths, config, before)
    put = store.remember if original == data else store.write
    put(found["path"], original, meta_of(kept), {"Content-Type": f"image/{picture.header.format}"})
    return kept


def _told(found: Found, kept: Kept, paths: Mapping[str, str], config: ImagesConfig) -> ImageInfo:
    told: FileInfo = {"url": found["url"], "path": found["path"], "checksum": kept.sha256, "status": found["status"]}
    return with_hashes(describe(told, kept.header, kept.bytes, kept.variants(paths)), kept, config)
