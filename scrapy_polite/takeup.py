"""Between a spider and the engine: what an earlier run has put off comes before the spider's own start, and only it and what is
a retry or a redirect of it counts as that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request

from scrapy_polite.plainrequest import TAKEN_UP
from scrapy_polite.politeness import Politeness

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy.crawler import Crawler

__all__ = ["TakeUpMiddleware"]


class TakeUpMiddleware:
    """A spider middleware."""

    def __init__(self, crawler: Crawler) -> None:
        self._politeness = Politeness.require(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> TakeUpMiddleware:
        return cls(crawler)

    def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        deferring = self._politeness.deferring
        return start if deferring is None else deferring.first(start)

    def process_spider_output(self, response: Any, result: Iterable[Any]) -> Iterator[Any]:
        for item in result:
            yield _as_new(item)

    async def process_spider_output_async(self, response: Any, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for item in result:
            yield _as_new(item)


def _as_new(item: Any) -> Any:
    """A request to which a callback has given the meta of the one before it is another request."""
    if isinstance(item, Request) and TAKEN_UP in item.meta:
        del item.meta[TAKEN_UP]
    return item
