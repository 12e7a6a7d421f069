"""Crawls of images in one process of their own, for `test_images_stores.py`: a folder with `job.json` in, `out.json` out.

job.json: {"crawls": [{"settings": {...}, "items": [[URLs of one item's images], ...]}], all at once}. out.json: for each its
items and stats, how much more memory (bytes) the process had at its peak than before the first image, and whose threads the
process had at its last item.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

FOLDER = Path(sys.argv[1])
JOB = json.loads((FOLDER / "job.json").read_text())
OUT: list[dict[str, Any]] = [{"items": []} for _ in JOB["crawls"]]


def memory(what: str) -> int:
    """VmRSS or VmHWM of this process (proc(5)), in bytes."""
    text = Path("/proc/self/status").read_text()
    return int(text.partition(f"{what}:")[2].split()[0]) * 1024


class Page(Spider):
    name = "page"
    number: int

    async def start(self) -> AsyncIterator[Any]:
        yield Request("data:,", callback=self.parse)

    def parse(self, response: Response) -> Iterator[Any]:
        self.before = memory("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from now on
        for group in JOB["crawls"][self.number]["items"]:
            yield {"image_urls": group}

    def closed(self, reason: str) -> None:
        stats = self.crawler.stats.get_stats()
        OUT[self.number]["stats"] = {key: value for key, value in stats.items() if isinstance(value, int | str)}
        OUT[self.number]["more_memory"] = memory("VmHWM") - self.before


class Gather:
    """The last pipeline: takes the items as they are."""

    def process_item(self, item: Any) -> Any:
        OUT[self.number]["items"].append(item["images"])
        OUT[self.number]["threads"] = sorted({thread.name.rpartition("_")[0] for thread in threading.enumerate()})
        return item

    def __init__(self, crawler: Any) -> None:
        self.number = crawler.settings.getint("NUMBER")

    @classmethod
    def from_crawler(cls, crawler: Any) -> Gather:
        return cls(crawler)


if __name__ == "__main__":
    shared = {key: value for key, value in JOB["crawls"][0]["settings"].items() if key == "ADDONS" or key.startswith("POLITE_")}
    process = AsyncCrawlerProcess({"LOG_FILE": str(FOLDER / "log.txt"), "TELNETCONSOLE_ENABLED": False, **shared})
    for number, crawl in enumerate(JOB["crawls"]):
        settings = {
            "ITEM_PIPELINES": {"scrapy_polite.media.PoliteImagesPipeline": 1, Gather: 2},
            "NUMBER": number,
            "DOWNLOAD_TIMEOUT": 20,
            "RETRY_ENABLED": False,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
            **crawl["settings"],
        }
        process.crawl(process.create_crawler(type("Page", (Page,), {"custom_settings": settings})), number=number)
    process.start()
    (FOLDER / "out.json").write_text(json.dumps(OUT))
