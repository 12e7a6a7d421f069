"""What a request waits under: the narrowest key that its URL alone tells. Asked for every request, so it is remembered."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from scrapy_polite.naming.buckets import KNOWN
from scrapy_polite.naming.hosts import MAX_URL, Invalid, parse
from scrapy_polite.naming.keys import may_have_key, own_key

if TYPE_CHECKING:
    from scrapy_polite.naming.buckets import Stores

__all__ = ["Sites"]

REMEMBERED: Final = 10_000
"""Spellings of scheme, host and port; when there are more, it begins anew."""

#: How nearly all URLs begin. What stands behind it changes nothing about the host (WHATWG URL Standard: the authority ends at
#: the slash, and neither path nor query nor fragment can fail), as long as it is ASCII and not too long to be read.
_PLAIN = re.compile(r"https?://[a-z0-9.-]+(?::[0-9]+)?/")


class Sites:
    """Sites by URL. Not for several threads."""

    def __init__(self, stores: Stores = KNOWN) -> None:
        self._stores = stores
        self._known: dict[str, str] = {}

    def of(self, url: str) -> str:
        """The key of the URL's bucket, account of an image service, or site; "" for a URL that is invalid."""
        # Parsing takes longer than all else that a queue does for a request.
        plain = _PLAIN.match(url) if len(url) <= MAX_URL and url.isascii() else None
        if plain is not None and (known := self._known.get(plain[0])) is not None:
            return known
        target = parse(url)
        if isinstance(target, Invalid):
            return ""
        # A host whose paths name buckets or accounts has several keys.
        if plain is None or may_have_key(target.host, self._stores):
            return own_key(target, self._stores) or target.site
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[plain[0]] = target.site
        return target.site
