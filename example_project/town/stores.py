"""Places that serve photographs only: the object store, in both spellings of its bucket, and the image service."""

from __future__ import annotations

import asyncio
import hashlib
import re
from typing import TYPE_CHECKING, Final

from town.imagemaker import Darkroom, content_type
from town.visits import Answer, Visit
from town.world import BUCKET, BUCKET_HOST, BUCKET_PATH_HOST, IMAGE_ACCOUNT, IMAGE_SERVICE_HOST, Site

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import Executor

STORE_LATENCY: Final = 0.01
NO_SUCH_KEY: Final = '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{message}</Message></Error>'


class ObjectStore:
    """S3 in both ways: ``<bucket>.s3.<region>.amazonaws.com/<key>``, ``s3.<region>.amazonaws.com/<bucket>/<key>``"""

    def __init__(self, sites: Iterable[Site], darkroom: Darkroom) -> None:
        self.darkroom = darkroom
        self.objects = {
            f"{site.slug}/{photo.file}": photo for site in sites if site.images_on == "bucket" for photo in site.photos
        }

    async def __call__(self, visit: Visit) -> Answer:
        path = visit.path.partition("?")[0].lstrip("/")
        bucket, key = (BUCKET, path) if visit.host == BUCKET_HOST else (path.partition("/")[0], path.partition("/")[2])
        headers = {
            "Server": "AmazonS3",
            "x-amz-request-id": hashlib.sha256(f"{visit.at}".encode()).hexdigest()[:16].upper(),
        }
        if visit.host not in (BUCKET_HOST, BUCKET_PATH_HOST) or bucket != BUCKET:
            return self._error("NoSuchBucket", "The specified bucket does not exist", headers)
        photo = self.objects.get(key)
        if photo is None:
            return self._error("NoSuchKey", "The specified key does not exist.", headers)
        data = self.darkroom.original(photo)
        headers["ETag"] = f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'
        return Answer(200, data, content_type(photo), headers, STORE_LATENCY)

    def _error(self, code: str, message: str, headers: dict[str, str]) -> Answer:
        return Answer(404, NO_SUCH_KEY.format(code=code, message=message).encode(), "application/xml", headers, STORE_LATENCY)


class ImageService:
    """Speaks as Cloudinary does: ``/<account>/image/upload/w_640/<id>.jpg``; resizes in a thread, on the fly."""

    PATH: Final = re.compile(rf"/{IMAGE_ACCOUNT}/image/upload/(?:(?P<how>[a-z0-9_,.:]+)/)?(?P<file>[0-9a-f]+\.(?:jpg|png))")
    WIDTH: Final = re.compile(r"(?:^|,)w_(\d{1,4})(?:,|$)")

    def __init__(self, sites: Iterable[Site], darkroom: Darkroom, threads: Executor) -> None:
        self.darkroom = darkroom
        self.threads = threads
        self.photos = {photo.file: photo for site in sites if site.images_on == "imageservice" for photo in site.photos}

    async def __call__(self, visit: Visit) -> Answer:
        if visit.path == "/robots.txt":
            return Answer(200, b"User-agent: *\nAllow: /\n", "text/plain")
        found = self.PATH.fullmatch(visit.path.partition("?")[0])
        photo = self.photos.get(found["file"]) if found else None
        if found is None or photo is None or visit.host != IMAGE_SERVICE_HOST:
            return Answer(404, headers={"Server": "cloudinary", "x-cld-error": "Resource not found"})
        how = found["how"] or ""
        asked = self.WIDTH.search(how)
        if how and (asked is None or not 16 <= int(asked[1]) <= 2000):
            return Answer(400, headers={"Server": "cloudinary", "x-cld-error": f"Invalid transformation: {how}"})
        if asked is None:
            data = self.darkroom.original(photo)
        else:
            data = await asyncio.get_running_loop().run_in_executor(self.threads, self.darkroom.resized, photo, int(asked[1]))
        return Answer(200, data, content_type(photo), {"Server": "cloudinary", "Cache-Control": "public, max-age=2592000"})
