"""Names: one canonical form for every host, and the keys of what shares a limit with it. Pure; no network ever."""

from __future__ import annotations

from scrapy_polite.naming.buckets import bucket_key
from scrapy_polite.naming.domains import registrable_domain
from scrapy_polite.naming.hosts import Invalid, IPAddress, Target, canonical_host, display_host, literal, parse
from scrapy_polite.naming.imageservices import image_service_key

__all__ = [
    "IPAddress",
    "Invalid",
    "Target",
    "bucket_key",
    "canonical_host",
    "display_host",
    "image_service_key",
    "literal",
    "parse",
    "registrable_domain",
]
