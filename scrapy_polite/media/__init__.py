"""Images in items: planned and awaited like pages, judged, converted and stored off the event loop, and told of in the item.

`pipeline` is the pipeline and the order of things; `stores` and below it `store`, `remote` and `ftp` are where images go, and
`kept` is what is remembered of them there.
"""

from __future__ import annotations

from scrapy_polite.media.pipeline import PoliteImagesPipeline

__all__ = ["PoliteImagesPipeline"]
