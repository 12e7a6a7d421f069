"""What a request costs the queue: push and pop with 10 to 100,000 sites waiting, ours against Scrapy's, in one run.

    python benchmarks/queues.py [--json FILE] [--sites 10 1000 10000 100000] [--operations 4000]

Each site has one request waiting (with 10 sites: 100 each). Measured are pushes to sites that wait already or that are new, half
of each, and pops in the queue's own order, by rounds that leave the number of sites as it was. Scrapy's is
DownloaderAwarePriorityQueue, its default, in memory and with its default disk queue. All is due: the limits are lifted, the
sites opened, so nothing but the queue's own work is measured; on disk that is the commits and the deletion of what is done, too, which
Scrapy's does without (a kill takes all that it holds). Every figure is the best of the rounds; sites and requests are the same on
both sides. Memory is what the process grew by (resident), disk what the files occupy, per waiting site.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import json
import math
import os
import platform
import resource
import shutil
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from ipaddress import ip_address
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy import Request, Spider
from scrapy.core.downloader import Downloader
from scrapy.crawler import Crawler
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.squeues import FifoMemoryQueue, LifoMemoryQueue, PickleFifoDiskQueue, PickleLifoDiskQueue

from scrapy_polite.politeness import Placed, Politeness
from scrapy_polite.queue import OriginQueue, agenda_of

if TYPE_CHECKING:
    from collections.abc import Iterator


class BenchmarkSpider(Spider):
    name = "benchmark"


class IdleDownloader(Downloader):
    """Scrapy's, as far as the queues ask it: which slot a request is in, and nothing in flight."""

    def __init__(self) -> None:
        self.active: set[Request] = set()
        self.slots: dict[str, Any] = {}
        self.total_concurrency = 0
        self.ip_concurrency = 0


@dataclass
class Figure:
    queue: str
    where: str
    sites: int
    push_us: float
    pop_us: float
    memory_bytes: int
    disk_bytes: int
    open_files: int

    @property
    def both(self) -> float:
        return self.push_us + self.pop_us


def crawler_of(directory: Path) -> Crawler:
    settings = {
        "ADDONS": {"scrapy_polite.Addon": 300},
        "POLITE_STORE": "memory:",
        "POLITE_SITE_RATE": 1e6,
        "POLITE_ORIGIN_RATE": 1e6,
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
    }
    crawler = Crawler(BenchmarkSpider, settings)
    crawler.spider = BenchmarkSpider()
    crawler.settings.setdict(settings, priority="cmdline")
    slot = SimpleNamespace(inprogress=set(), scheduler=None, nextcall=SimpleNamespace(schedule=lambda: None), closing=True)
    crawler.engine = SimpleNamespace(downloader=IdleDownloader(), _slot=slot, paused=False)  # type: ignore[assignment]
    crawler.stats = SimpleNamespace(inc_value=lambda *_: None)  # type: ignore[assignment]
    return crawler


def open_all(queue: OriginQueue, crawler: Crawler) -> None:
    """As if every site had been resolved, each on a server of its own."""
    agenda = agenda_of(crawler)
    politeness = Politeness.require(crawler)
    address = ip_address("203.0.113.7")
    for site in list(agenda._opening):
        keys = (site, f"origin:{site[5:]}")
        found = Placed(site[5:], address, (address,), keys, keys[1], (), 1.0, math.inf)
        politeness._placed[site] = found
        agenda._bench.place(site, keys, {})
        agenda._bench.open(site)
    agenda._opening.clear()
    agenda._to_open.clear()
    for task in agenda._tasks.values():
        task.cancel()
    agenda._tasks.clear()


def request(site: int, number: int) -> Request:
    return Request(f"https://site-{site}.example/listing/{number}?page=2", meta={"depth": 3})


def measure(name: str, where: str, sites: int, operations: int, rounds: int) -> Figure:
    directory = Path(tempfile.mkdtemp(prefix="queue-"))
    crawler = crawler_of(directory)
    gc.collect()
    before = resident()
    disk = where == "disk"
    key = str(directory / "requests.queue") if disk else ""
    classes = (PickleLifoDiskQueue, PickleFifoDiskQueue) if disk else (LifoMemoryQueue, FifoMemoryQueue)
    cls = OriginQueue if name == "ours" else DownloaderAwarePriorityQueue
    queue = cls.from_crawler(crawler, classes[0], key, None, start_queue_cls=classes[1])
    depth = 100 if sites <= 10 else 1

    def settle() -> None:
        if isinstance(queue, OriginQueue):
            open_all(queue, crawler)
            if disk:
                queue._shelf._commit()  # type: ignore[attr-defined]

    for site in range(sites):
        for number in range(depth):
            queue.push(request(site, number))
        if site % 500 == 0:
            settle()
    settle()
    gc.collect()
    memory = resident() - before
    pushes, pops = [], []
    numbers = itertools.count(depth)  # No URL comes twice: parsers remember the last ones.
    for _ in range(rounds):
        waiting = [request(n % sites, next(numbers)) for n in range(operations // 2)]
        others = itertools.count(sites + next(numbers)) if depth == 1 else itertools.cycle(range(sites))
        batch = [each for old in waiting for each in (old, request(next(others), next(numbers)))]
        started = time.perf_counter()
        for each in batch:
            queue.push(each)
        if disk and isinstance(queue, OriginQueue):
            queue._shelf._commit()  # type: ignore[attr-defined]
        pushes.append((time.perf_counter() - started) / len(batch))
        settle()
        started = time.perf_counter()
        for _ in batch:
            assert queue.pop() is not None
        settle()
        pops.append((time.perf_counter() - started) / len(batch))
    files = len(list(Path("/proc/self/fd").iterdir()))
    occupied = sum(path.stat().st_blocks * 512 for path in directory.rglob("*") if path.is_file()) if disk else 0
    queue.close()
    shutil.rmtree(directory)
    return Figure(name, where, sites, min(pushes) * 1e6, min(pops) * 1e6, round(memory / sites), round(occupied / sites), files)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


async def figures(sizes: list[int], operations: int, rounds: int) -> list[Figure]:
    found = []
    for sites in sizes:
        for where in ("memory", "disk"):
            for name in ("scrapy", "ours"):
                if name == "scrapy" and where == "disk" and sites > file_limit() - 100:
                    continue  # One open file per site.
                slow = name == "scrapy" and sites >= 10_000
                found.append(measure(name, where, sites, 200 if slow else operations, 2 if slow else rounds))
                print(row(found[-1]), flush=True)
                await asyncio.sleep(0)
    return found


def file_limit() -> int:
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def row(figure: Figure) -> str:
    return (
        f"{figure.queue:<7} {figure.where:<7} {figure.sites:>7} {figure.push_us:>9.1f} {figure.pop_us:>9.1f} "
        f"{figure.memory_bytes:>9} {figure.disk_bytes:>9} {figure.open_files:>7}"
    )


def ratios(found: list[Figure]) -> Iterator[dict[str, Any]]:
    by = {(figure.queue, figure.where, figure.sites): figure for figure in found}
    for (queue, where, sites), ours in by.items():
        theirs = by.get(("scrapy", where, sites))
        if queue == "ours" and theirs is not None:
            yield {"where": where, "sites": sites, "ours_to_scrapy": ours.both / theirs.both}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sites", type=int, nargs="+", default=[10, 1_000, 10_000, 100_000])
    parser.add_argument("--operations", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{'queue':<7} {'where':<7} {'sites':>7} {'push us':>9} {'pop us':>9} {'memory B':>9} {'disk B':>9} {'files':>7}")
    found = asyncio.run(figures(options.sites, options.operations, options.rounds))
    print()
    for ratio in ratios(found):
        print(f"{ratio['where']:<7} {ratio['sites']:>7} sites: ours takes {ratio['ours_to_scrapy']:.4f} of Scrapy's time")
    if options.json:
        machine = {"cores": len(os.sched_getaffinity(0)), "python": platform.python_version(), "scrapy": scrapy.__version__}
        options.json.write_text(
            json.dumps(
                {"machine": machine, "figures": [asdict(figure) for figure in found], "ratios": list(ratios(found))}, indent=1
            )
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
