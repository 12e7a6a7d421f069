"""Names: one canonical form for every host, and the keys of what shares a limit with it. Pure; no network ever."""

from __future__ import annotations

from scrapy_polite.naming.buckets import Stores, bucket_key
from scrapy_polite.naming.domains import registrable_domain
from scrapy_polite.naming.hosts import Invalid, IPAddress, Target, canonical_host, display_host, literal, parse
from scrapy_polite.naming.imageservices import image_service_key
from scrapy_polite.naming.imagesources import canonical_source
from scrapy_polite.naming.keys import chain_key, own_key
from scrapy_polite.naming.sending import as_sent

__all__ = [
    "IPAddress",
    "Invalid",
    "Stores",
    "Target",
    "as_sent",
    "bucket_key",
    "canonical_host",
    "canonical_source",
    "chain_key",
    "display_host",
    "image_service_key",
    "literal",
    "own_key",
    "parse",
    "registrable_domain",
]
