"""One crawl in a process of its own: a real Scrapy crawl, described by a JSON file, whose reactor may be kept busy.

    python -m benchmarks.crawler JOB.json

The job: ``settings``; ``patterns`` of URLs, taken in turns for the ``numbers`` from the first to before the last; and maybe
``busy`` (share, seconds per callback), ``breathe`` (what is asked goes on its way while more requests are made), ``profile`` (a
file for cProfile's figures), ``ready`` and ``go`` (files to write and to wait for). Its result goes to ``out``: {"seconds",
"cpu", "answers", "errors", "stats", "ended"}, of the time from the spider's start to its end; ``ended`` is on CLOCK_MONOTONIC.
"""

from __future__ import annotations

import asyncio
import cProfile
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy.crawler import AsyncCrawlerProcess

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response

ROOT = Path(__file__).resolve().parents[1]

BASE: dict[str, object] = {
    "ROBOTSTXT_OBEY": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "WARNING",
    "RETRY_ENABLED": False,
    # Long: see packets.LONG.
    "USER_AGENT": "benchmark (+mailto:benchmark@example.org) " + "x" * 400,
}
POLITE: dict[str, object] = {
    "ADDONS": {"scrapy_polite.Addon": 300},
    "POLITE_ALLOW_NETWORKS": ["127.0.0.0/8"],
    "POLITE_COSTS": {"page": 1},
}
"""With one unit a page, a rate is so many pages a second."""


class Pages(scrapy.Spider):
    name = "pages"
    job: dict[str, Any]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.answers = 0
        self.errors: Counter[str] = Counter()
        self.profiler = cProfile.Profile() if self.job.get("profile") else None

    async def start(self) -> AsyncIterator[Any]:
        if self.job.get("ready"):
            # Blocking, but once, and before anything is measured.
            Path(self.job["ready"]).touch()  # noqa: ASYNC240
            while not Path(self.job["go"]).exists():  # noqa: ASYNC110, ASYNC240
                await asyncio.sleep(0.02)
        if self.job.get("busy"):
            self.work = asyncio.create_task(keep_busy(*self.job["busy"]))
        self.began, self.cpu = time.perf_counter(), time.process_time()
        if self.profiler:
            self.profiler.enable()
        patterns, first, last = self.job["patterns"], *self.job["numbers"]
        for number in range(first, last):
            for pattern in patterns:
                yield scrapy.Request(pattern.format(number), callback=self.parse, errback=self.failed, dont_filter=True)
            if self.job.get("breathe"):
                await asyncio.sleep(0)

    def parse(self, response: Response) -> None:
        self.answers += 1

    def failed(self, failure: Any) -> None:
        self.errors[f"{type(failure.value).__name__}: {failure.value}"[:200]] += 1

    def closed(self, reason: str) -> None:
        seconds, cpu = time.perf_counter() - self.began, time.process_time() - self.cpu
        if self.profiler:
            self.profiler.disable()
            self.profiler.dump_stats(self.job["profile"])
        assert self.crawler.stats is not None
        stats = {key: value for key, value in self.crawler.stats.get_stats().items() if isinstance(value, int | float)}
        found = {"seconds": seconds, "cpu": cpu, "answers": self.answers, "errors": dict(self.errors), "stats": stats}
        found["ended"] = time.monotonic()
        Path(self.job["out"]).write_text(json.dumps(found), encoding="utf-8")


async def keep_busy(share: float, callback: float) -> None:
    """Python code that does not give the reactor back for ``callback`` seconds, again and again; pauses of random length, so
    that it does not fall into step with the slots."""
    dice = random.Random(1)
    pause = callback * (1 - share) / share
    while True:
        end = time.perf_counter() + callback
        while time.perf_counter() < end:
            pass
        await asyncio.sleep(pause * dice.uniform(0.5, 1.5))


def started(directory: Path, name: str, **job: Any) -> subprocess.Popen[bytes]:
    """A crawl that runs beside us. Its files are ``directory / name`` and what begins so."""
    path = directory / f"{name}.json"
    log = directory / f"{name}.log"
    path.write_text(json.dumps({"out": str(directory / f"{name}.out"), **job}), encoding="utf-8")
    with log.open("wb") as stream:
        return subprocess.Popen(
            [sys.executable, "-m", "benchmarks.crawler", str(path)],
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=stream,
            stderr=stream,
        )


def crawl(directory: Path, name: str, timeout: float, **job: Any) -> dict[str, Any]:
    """The result of a whole crawl. Errors stop the benchmark: what was not sent was not measured."""
    process = started(directory, name, **job)
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return result(directory, name)


def result(directory: Path, name: str) -> dict[str, Any]:
    out = directory / f"{name}.out"
    if not out.exists():
        raise RuntimeError(f"The crawl {name} did not end well:\n" + (directory / f"{name}.log").read_text()[-4_000:])
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    if found["errors"]:
        raise RuntimeError(f"The crawl {name} had errors: {found['errors']}")
    return found


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    process = AsyncCrawlerProcess({**BASE, **job["settings"]})
    process.crawl(type("Pages", (Pages,), {"job": job}))
    process.start()


if __name__ == "__main__":
    main()
