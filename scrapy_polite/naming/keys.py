"""The key of what a URL asks for, where that is limited for itself: a bucket, or an account of an image service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_polite.naming.buckets import KNOWN
from scrapy_polite.naming.imageservices import has_services, image_service_key, service_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_polite.naming.buckets import Stores
    from scrapy_polite.naming.hosts import Target

__all__ = ["chain_key", "may_have_key", "own_key"]


def own_key(target: Target, stores: Stores = KNOWN) -> str | None:
    """The key of the bucket or of the account of an image service that the URL itself tells; None for a site."""
    return stores.bucket_key(target) or image_service_key(target)


def may_have_key(host: str, stores: Stores = KNOWN) -> bool:
    """Whether some URL on the host could have such a key; False for nearly all hosts."""
    return stores.has_stores(host) or has_services(host)


def chain_key(target: Target, chain: Iterable[str], stores: Stores = KNOWN) -> str | None:
    """The same key where only DNS tells it: the URL's host is a custom domain, and `chain` the canonical names that it is a
    CNAME for, in order. The first name that is a store's or a service's decides; None where none is."""
    for name in chain:
        if bucket := stores.bucket_of_cname(target, name):
            return bucket
        if found := service_of(name, None):
            return f"imageservice:{found[0].provider}/{found[1]}"
    return None
