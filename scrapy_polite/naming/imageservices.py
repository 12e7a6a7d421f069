"""Image services, which resize on the fly: the account that a URL is charged to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_polite.naming.hosts import Target

__all__ = ["image_service_key"]

# `res.cloudinary.com/<cloud>/image/upload/...`, or the private host `<cloud>-res.cloudinary.com`:
# https://cloudinary.com/documentation/advanced_url_delivery_options
_CLOUD_IN_PATH = re.compile(r"https?://[^/]+/([A-Za-z0-9_-]+)/")
_CLOUD_IN_HOST = re.compile(r"([a-z0-9_-]+)-res\.cloudinary\.com\Z")
# `<source>.imgix.net/<path>`: https://docs.imgix.com/en-US/getting-started/setup/creating-sources/overview
_IMGIX = re.compile(r"([a-z0-9_-]+)\.imgix\.net\Z")


def image_service_key(target: Target) -> str | None:
    """``imageservice:cloudinary/<cloud>`` or ``imageservice:imgix/<source>``; None for every other URL."""
    host = target.host
    if host == "res.cloudinary.com":
        in_path = _CLOUD_IN_PATH.match(target.url)
        return f"imageservice:cloudinary/{in_path[1].lower()}" if in_path else None
    if in_host := _CLOUD_IN_HOST.match(host):
        return f"imageservice:cloudinary/{in_host[1]}"
    if source := _IMGIX.match(host):
        return f"imageservice:imgix/{source[1]}"
    return None
