"""A real crawl of images with one pipeline, in a process of its own.

    python -m benchmarks.imaging.crawling JOB.json

The job: "pipeline", "urls" (an item each), "settings", "marks" (after so many items the memory is told), maybe "forget" (what
was stored is taken away again), "out". What goes to "out": "gap", "p99" and "own" (see `ticking.Ticker`), "seconds" from the
spider's start to its end, "base" and "peak" (MB), "marks" {items: MB}, "images" [[url, path], ...] as the items have them,
"outcomes" {name: count}.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess

from benchmarks.imaging import memory
from benchmarks.imaging.ticking import Ticker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

NEAR = 25
"""Items before a mark, the middle of whose memories is the mark's: two conversions at once come and go."""


class Images(Spider):
    name = "images"
    job: dict[str, Any]

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Images:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.scraped, signals.item_scraped)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        self.images: list[tuple[str, str]] = []
        self.memories: list[float] = []
        self.base, self.began, self.ticker = memory.resident(), time.perf_counter(), Ticker()
        yield Request("data:,", callback=self.parse)

    def parse(self, response: Response) -> Iterator[Any]:
        for url in self.job["urls"]:
            yield {"image_urls": [url]}

    def scraped(self, item: Any) -> None:
        self.images += [(image["url"], image["path"]) for image in item["images"]]
        self.memories.append(memory.resident())
        if self.job.get("forget"):
            store = Path(self.job["settings"]["IMAGES_STORE"])
            for image in item["images"]:
                for one in (image, *image["variants"].values()):
                    (store / one["path"]).unlink()

    def closed(self, reason: str) -> None:
        seconds = time.perf_counter() - self.began
        stats = self.crawler.stats.get_stats() if self.crawler.stats else {}
        found = {
            **self.ticker.told(),
            "seconds": seconds,
            "base": self.base,
            "peak": memory.peak(),
            "marks": {str(mark): median(self.memories[max(0, mark - NEAR) : mark]) for mark in self.job["marks"]},
            "images": self.images,
            "outcomes": {key.rpartition("/")[2]: n for key, n in stats.items() if key.startswith("polite/images/")},
        }
        self.ticker.stop()
        Path(self.job["out"]).write_text(json.dumps(found), encoding="utf-8")


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    process = AsyncCrawlerProcess(
        {
            "ITEM_PIPELINES": {job["pipeline"]: 1},
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "WARNING",
            "RETRY_ENABLED": False,
            **job["settings"],
        }
    )
    process.crawl(type("Images", (Images,), {"job": job}))
    process.start()


if __name__ == "__main__":
    main()
