"""A request as its spider has made it: without what a run has added on the way, which the next run adds anew."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from scrapy import Request
from scrapy.downloadermiddlewares.httpcompression import ACCEPTED_ENCODINGS
from scrapy.http import Headers

from scrapy_polite import requestjson

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

__all__ = ["TAKEN_UP", "PlainRequests"]

TAKEN_UP: Final = "polite_deferred"
"""Request meta: it was put off by an earlier run, under this fingerprint."""

OF_ONE_RUN: Final = (TAKEN_UP, "polite", "polite_again", "download_latency", "download_slot", "is_start_request")
"""Request meta that means nothing in another run."""


class PlainRequests:
    """One per crawler."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        settings = crawler.settings
        added: dict[str, Any] = {"Accept-Encoding": b", ".join(ACCEPTED_ENCODINGS), "User-Agent": settings["USER_AGENT"]}
        self._added = Headers(added | dict(settings["DEFAULT_REQUEST_HEADERS"] or {}))
        self._timeout = settings.getfloat("DOWNLOAD_TIMEOUT")

    def text(self, request: Request) -> str:
        """As JSON. Its priority is kept beside it, and it is never filtered when it is made again. Raises ``ValueError`` for
        what would not come back as it was."""
        return self._write(self._plain(request))

    def fingerprint(self, request: Request) -> str:
        """The same for the same request to the same callback. Cookies do not count: a run has added those of its session."""
        plain = self._plain(request)
        plain.headers.pop("Cookie", None)
        return hashlib.sha1(self._write(plain).encode(), usedforsecurity=False).hexdigest()

    def twin(self, request: Request) -> str:
        """The same for what the spider itself would call the same: by Scrapy's fingerprint, its callback and what that is
        given, wherever the request was met. A link that is followed has a referrer and a depth, and a start request has none.
        Raises ``ValueError`` as :meth:`text`."""
        assert self._crawler.request_fingerprinter is not None
        plain = self._plain(request)
        given = Request(
            "data:,",
            callback=request.callback or getattr(self._crawler.spider, "parse", None),
            cookies=request.cookies,
            meta={name: value for name, value in plain.meta.items() if name != "depth"},
            cb_kwargs=plain.cb_kwargs,
        )
        return f"{self._crawler.request_fingerprinter.fingerprint(request).hex()} {self._write(given)}"

    def _write(self, request: Request) -> str:
        return requestjson.write(request, self._crawler.spider).decode()

    def _plain(self, request: Request) -> Request:
        try:
            plain: Request = request.replace(priority=0, dont_filter=True)
        except Exception as error:  # Whatever a class of the project's raises, such as one that takes other arguments.
            raise ValueError(f"{type(request).__qualname__}.replace: {error!r}") from error
        for name in OF_ONE_RUN:
            plain.meta.pop(name, None)
        if plain.meta.get("download_timeout") == self._timeout:
            del plain.meta["download_timeout"]
        plain.headers = Headers(request.headers)
        for name in self._added:
            if plain.headers.getlist(name) == self._added.getlist(name):
                del plain.headers[name]
        return plain
