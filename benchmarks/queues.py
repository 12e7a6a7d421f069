"""What a request costs the queue: push and pop with 10 to 100,000 sites waiting, ours against Scrapy's, in one run.

    python benchmarks/queues.py [--json FILE] [--sites 10 1000 10000 100000] [--operations 4000]

Each site has one request waiting (with 10 sites: 100 each). Measured are pushes, half to sites that wait already and half to
new ones, and pops in the queue's own order, in rounds that leave as many requests as there were; no URL comes twice. Scrapy's
is DownloaderAwarePriorityQueue, its default, in memory and with its default disk queue. All is due: the limits are lifted and
the sites opened, so what is measured is the queue's own work. On disk that is the commits and the deletion of what is done,
too; what Scrapy's holds, a kill takes. Every figure is the best of its rounds and comes from a process of its own. Memory is
what the process grew by (resident) while the sites were pushed, requests included; disk is what the files occupy; both per
waiting site.
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
import subprocess
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

from scrapy_polite.dns import Answer
from scrapy_polite.politeness import Placed, Politeness
from scrapy_polite.queue import OriginQueue, agenda_of

if TYPE_CHECKING:
    from collections.abc import Iterator

SETTINGS = {
    "ADDONS": {"scrapy_polite.Addon": 300},
    "POLITE_STORE": "memory:",
    "POLITE_SITE_RATE": 1e6,
    "POLITE_ORIGIN_RATE": 1e6,
    "ROBOTSTXT_OBEY": False,
}


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


def idle_crawler() -> Crawler:
    """A crawler as the queues see it, that never fetches."""
    crawler = Crawler(BenchmarkSpider, SETTINGS)
    crawler.spider = BenchmarkSpider()
    crawler.stats = SimpleNamespace(inc_value=lambda *_: None)  # type: ignore[assignment]
    slot = SimpleNamespace(inprogress=set(), scheduler=None, closing=True)
    parts = {"downloader": IdleDownloader(), "scraper": SimpleNamespace(slot=None)}
    crawler.engine = SimpleNamespace(**parts, _slot=slot, paused=False)  # type: ignore[assignment]
    return crawler


def open_all(crawler: Crawler) -> None:
    """As if every site had been resolved, each on a server of its own."""
    agenda, politeness = agenda_of(crawler), Politeness.require(crawler)
    openings, address = agenda._openings, ip_address("203.0.113.7")
    for site in list(openings._opening):
        keys = (site, f"origin:{site[5:]}")
        answer = Answer(site[5:], (address,), (), math.inf)
        politeness._placed[site] = Placed(answer, address, keys, keys[1], (), 1.0)
        agenda._bench.place(site, keys, {})
        agenda._bench.open(site)
    openings._opening.clear()
    openings._to_place.clear()
    for task in openings._placing.values():
        task.cancel()
    openings._placing.clear()


def request(site: int, number: int) -> Request:
    return Request(f"https://site-{site}.example/listing/{number}?page=2", meta={"depth": 3})


def measure(name: str, where: str, sites: int, operations: int, rounds: int) -> Figure:
    directory = Path(tempfile.mkdtemp(prefix="queue-"))
    crawler = idle_crawler()
    disk, ours = where == "disk", name == "ours"
    classes = (PickleLifoDiskQueue, PickleFifoDiskQueue) if disk else (LifoMemoryQueue, FifoMemoryQueue)
    queue: Any = (OriginQueue if ours else DownloaderAwarePriorityQueue).from_crawler(
        crawler, classes[0], str(directory / "requests.queue") if disk else "", None, start_queue_cls=classes[1]
    )

    def settle() -> None:
        if ours:
            open_all(crawler)
        if ours and disk:
            queue._shelf._commit()

    gc.collect()
    before = resident()
    depth = 100 if sites <= 10 else 1
    for site, number in itertools.product(range(sites), range(depth)):
        queue.push(request(site, number))
        if site % 500 == 0:
            settle()
    settle()
    gc.collect()
    memory = resident() - before
    pushes, pops = [], []
    numbers = itertools.count(depth)
    new = itertools.count(sites) if depth == 1 else itertools.cycle(range(sites))
    for _ in range(rounds):
        batch = []
        for n in range(operations // 2):
            batch += [request(n % sites, next(numbers)), request(next(new), next(numbers))]
        started = time.perf_counter()
        for each in batch:
            queue.push(each)
        if ours and disk:
            queue._shelf._commit()
        pushes.append((time.perf_counter() - started) / len(batch))
        settle()
        started = time.perf_counter()
        for _ in batch:
            assert queue.pop() is not None
        if ours and disk:
            queue._shelf._commit()
        pops.append((time.perf_counter() - started) / len(batch))
    files = len(list(Path("/proc/self/fd").iterdir()))
    occupied = sum(path.stat().st_blocks * 512 for path in directory.rglob("*") if path.is_file())
    queue.close()
    shutil.rmtree(directory)
    pushed, popped = round(min(pushes) * 1e6, 1), round(min(pops) * 1e6, 1)
    return Figure(name, where, sites, pushed, popped, memory // sites, occupied // sites, files)


async def in_loop(name: str, where: str, sites: int, operations: int, rounds: int) -> Figure:
    """Our queue needs a running loop for its timer. Nothing else runs in it."""
    return measure(name, where, sites, operations, rounds)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def apart(name: str, where: str, sites: int, operations: int, rounds: int) -> Figure:
    """The figure from a process of its own: memory that another has freed would not be counted again."""
    values = map(str, (name, where, sites, operations, rounds))
    done = subprocess.run([sys.executable, __file__, "--one", *values], check=True, capture_output=True, text=True)
    return Figure(**json.loads(done.stdout.splitlines()[-1]))


def figures(sizes: list[int], operations: int, rounds: int) -> Iterator[Figure]:
    for sites, where, name in itertools.product(sizes, ("memory", "disk"), ("scrapy", "ours")):
        if name == "scrapy" and where == "disk" and sites + 100 > resource.getrlimit(resource.RLIMIT_NOFILE)[0]:
            continue  # It has a file open for each site.
        slow = name == "scrapy" and sites >= 10_000
        yield apart(name, where, sites, 40 if slow else operations, 2 if slow else rounds)


def ratios(found: list[Figure]) -> Iterator[dict[str, Any]]:
    by = {(figure.queue, figure.where, figure.sites): figure for figure in found}
    for (queue, where, sites), ours in by.items():
        theirs = by.get(("scrapy", where, sites))
        if queue == "ours" and theirs is not None:
            yield {"where": where, "sites": sites, "ours_to_scrapy": round(ours.both / theirs.both, 5)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--sites", type=int, nargs="+", default=[10, 1_000, 10_000, 100_000])
    parser.add_argument("--operations", type=int, default=4_000, help="pushes, and pops, a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, where, *numbers = options.one
        print(json.dumps(asdict(asyncio.run(in_loop(name, where, *map(int, numbers))))))
        return 0
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    print(f"{'queue':<7} {'where':<7} {'sites':>7} {'push us':>9} {'pop us':>9} {'memory B':>9} {'disk B':>9} {'files':>7}")
    found = []
    for figure in figures(options.sites, options.operations, options.rounds):
        found.append(figure)
        print(
            f"{figure.queue:<7} {figure.where:<7} {figure.sites:>7} {figure.push_us:>9.1f} {figure.pop_us:>9.1f} "
            f"{figure.memory_bytes:>9} {figure.disk_bytes:>9} {figure.open_files:>7}",
            flush=True,
        )
    print()
    for ratio in ratios(found):
        print(f"{ratio['where']:<7} {ratio['sites']:>7} sites: ours takes {ratio['ours_to_scrapy']:.4f} of Scrapy's time")
    if options.json:
        machine = {"cores": len(os.sched_getaffinity(0)), "python": platform.python_version(), "scrapy": scrapy.__version__}
        whole = {"machine": machine, "figures": [asdict(figure) for figure in found], "ratios": list(ratios(found))}
        options.json.write_text(json.dumps(whole, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
