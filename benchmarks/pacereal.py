"""Real crawls of a real server with a knee, for benchmarks/pace.py --real: ours, stock Scrapy, AutoThrottle.

Ten sites, each an address of its own, are served by the same workers. Ours is told by a ruling that they are one origin, as
their owner would tell; it may have 32 requests in flight there, so that no limit of concurrency keeps it from the knee. The
others have Scrapy's defaults: 16 in flight, 8 a site. Nobody makes a request again.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.crawler import POLITE, started
from benchmarks.kneed import Kneed
from scrapy_polite.stores.base import Ruling, open_store

ADDRESSES = [f"127.0.0.{2 + site}" for site in range(10)]
ORIGIN = "origin:kneed.example"
WORKERS, SECONDS, WAITING = 2, 0.1, 12
"""20 pages a second; 14 requests at once, of which 12 wait: AutoThrottle, with one in flight a site, finds a place for each."""
CAN = WORKERS / SECONDS
OURS, STOCK, AUTOTHROTTLE = "scrapy_polite", "stock Scrapy", "AutoThrottle"


@dataclass(frozen=True)
class Trial:
    """``rate``: pages a second that ours is allowed; ``stated``: for just this origin. ``slow``: from, until, factor.
    ``kept``: from, until: the time in which the rate is told."""

    name: str
    rate: float
    stated: bool
    seconds: float
    kept: tuple[float, float]
    slow: tuple[float, float, float] | None = None
    waiting: int = WAITING


TRIALS = (
    Trial("an unknown server is asked for twice what it can", 2 * CAN, False, 60, (40, 58)),
    Trial("the same, 6 may wait: fewer than there are sites", 2 * CAN, False, 60, (40, 58), waiting=6),
    Trial("half of its speed is gone for 15 s", 0.8 * CAN, True, 45, (0, 43), (15, 30, 2)),
)


@dataclass(frozen=True)
class Outcome:
    trial: str
    crawl: str
    served: int
    refused: int
    rate: float
    worst: int
    """Refusals in the worst second."""


def settings_of(crawl: str, trial: Trial, directory: Path, port: int) -> dict[str, Any]:
    shared: dict[str, Any] = {"CLOSESPIDER_TIMEOUT": trial.seconds, "LOG_LEVEL": "INFO"}
    if crawl != OURS:
        return {**shared, "AUTOTHROTTLE_ENABLED": crawl == AUTOTHROTTLE}
    url = f"sqlite:{directory}/limits"
    store = open_store(url)
    for address in ADDRESSES:
        store.rule(Ruling(address, "join", ORIGIN, "benchmark", "the same servers", time.time(), None))
    store.close()
    limit = {"rate": trial.rate, "concurrency": 32} if trial.stated else {"concurrency": 32}
    return {
        **shared,
        **POLITE,
        "POLITE_STORE": url,
        "POLITE_ALLOW_PORTS": [port],
        "POLITE_SITE_RATE": 1000,
        "POLITE_ORIGIN_RATE": trial.rate,
        "POLITE_LIMITS": {ORIGIN: limit},
        "CONCURRENT_REQUESTS": 64,
    }


def measure(crawl: str, trial: Trial) -> Outcome:
    with (
        tempfile.TemporaryDirectory(prefix="pace-") as name,
        Kneed(ADDRESSES, WORKERS, SECONDS, trial.waiting, trial.slow) as server,
    ):
        directory = Path(name)
        patterns = [f"http://{address}:{server.port}/{{}}" for address in ADDRESSES]
        settings = settings_of(crawl, trial, directory, server.port)
        process = started(directory, "crawl", settings=settings, patterns=patterns, numbers=[0, 5_000])
        try:
            process.wait(trial.seconds + 60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        answered = server.answered()
    since, until = trial.kept
    served = [at for at, status in answered if status == 200]
    refused = [int(at) for at, status in answered if status != 200]
    rate = sum(since <= at < until for at in served) / (until - since)
    worst = max((refused.count(second) for second in set(refused)), default=0)
    return Outcome(trial.name, crawl, len(served), len(refused), rate, worst)
