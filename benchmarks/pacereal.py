"""Real crawls of a real server with a knee, for benchmarks/pace.py --real: ours, stock Scrapy, AutoThrottle.

Twenty sites, each an address of its own, are served by the same workers, and the town's log of arrivals judges. Ours is told by
a ruling that they are one origin, as their owner would tell; it may have 32 requests in flight there, so that no limit of
concurrency keeps it from the knee. The others have Scrapy's defaults: 16 in flight, 8 a site. Nobody makes a request again.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from town.knee import Spell

from benchmarks.crawler import POLITE, result, started
from benchmarks.kneed import Kneed
from scrapy_polite.stores.base import Ruling, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from judging.arrivals import Arrival

ADDRESSES = [f"127.0.0.{2 + site}" for site in range(20)]
ORIGIN = "origin:kneed.example"
WORKERS, SECONDS, WAITING = 2, 0.1, 12
"""20 pages a second; 14 requests at once, of which 12 wait: less than stock Scrapy has in flight."""
CAN = WORKERS / SECONDS
OURS, BARE, STOCK, AUTOTHROTTLE = "scrapy_polite", "scrapy_polite, POLITE_PACE off", "stock Scrapy", "AutoThrottle"
CRAWLS = (OURS, AUTOTHROTTLE, STOCK)
WINDOW = 10.0
"""Seconds over which a rate is taken that is told to be steady or not."""
SHORT_WINDOW = 2.0
"""Over which it is seen to fall, or to be back."""
STEP = 0.5
ENDING = 5.0
"""Seconds that a crawl goes on after its trial, from which on nothing is told: it takes some to begin, and some to end."""


@dataclass(frozen=True)
class Trial:
    """``rate``: pages a second that ours is allowed; ``stated``: for just this origin. ``settled``: from then on its rate is
    told, until the end."""

    name: str
    rate: float
    stated: bool
    seconds: float
    settled: float
    spell: Spell | None = None
    errors: float = 0.0
    workers: int = WORKERS
    work: float = SECONDS
    waiting: int = WAITING

    @property
    def best(self) -> float:
        """Pages a second that are to be had of it without a queue, outside of its spell."""
        return min(self.rate, self.workers / self.work)


UNKNOWN = Trial("an unknown server is asked for twice what it can", 2 * CAN, False, 110, 60)
SPELL = Trial("half of its speed is gone for 30 s, 5 % random 500s", 0.8 * CAN, True, 120, 85, Spell(30, 60, 2), 0.05)
SHORT = Trial("half of its speed is gone for 4 s", 0.8 * CAN, True, 14, 11, Spell(5, 9, 2))
SLOW = Trial("slow by nature: 1.5 s a page", 4, True, 45, 5, workers=32, work=1.5, waiting=64)


@dataclass(frozen=True)
class Outcome:
    """What the server saw of a crawl. Times are seconds since its first request."""

    crawl: str
    trial: Trial
    arrivals: Sequence[Arrival]

    def _since_first(self) -> list[tuple[float, Arrival]]:
        first = self.arrivals[0].t
        return [(one.t - first, one) for one in self.arrivals if one.t - first < self.trial.seconds]

    @property
    def refused(self) -> list[float]:
        """When."""
        return [at for at, one in self._since_first() if one.status == 503]

    @property
    def worst(self) -> int:
        """Refusals in the worst second."""
        seconds = [int(at) for at in self.refused]
        return max((seconds.count(second) for second in set(seconds)), default=0)

    def served(self, since: float = 0.0) -> int:
        """Requests that have arrived since then and were not refused: chance errors took the work of a page."""
        return sum(one.status != 503 and at >= since for at, one in self._since_first())

    def asked(self, window: float, since: float, until: float) -> list[tuple[float, float]]:
        """Requests a second in every window from `since` until `until`: (its end, rate)."""
        times = [at for at, _ in self._since_first()]
        count = int((until - since - window) / STEP + 1e-9) + 1
        ends = [since + window + STEP * number for number in range(max(0, count))]
        return [(end, sum(end - window <= at < end for at in times) / window) for end in ends]

    def latencies(self, window: float) -> list[tuple[float, float]]:
        """The median of what was served, window by window: (its middle, seconds)."""
        found: dict[int, list[float]] = {}
        for at, one in self._since_first():
            if one.status != 503:
                found.setdefault(int(at / window), []).append(one.latency)
        return [((place + 0.5) * window, median(latencies)) for place, latencies in sorted(found.items())]

    @property
    def rate(self) -> float:
        """Served a second after settling."""
        return self.served(self.trial.settled) / (self.trial.seconds - self.trial.settled)

    @property
    def kept(self) -> float:
        """The same, of the best."""
        return self.rate / self.trial.best

    @property
    def swing(self) -> float:
        """After settling: half of the way from the 5th to the 95th percentile of the rate in 10 s, over its mean."""
        window = min(WINDOW, (self.trial.seconds - self.trial.settled) / 2)
        rates = sorted(rate for _, rate in self.asked(window, self.trial.settled, self.trial.seconds))
        low, high = (rates[min(len(rates) - 1, int(len(rates) * part))] for part in (0.05, 0.95))
        return (high - low) / 2 / mean(rates)

    @property
    def halved(self) -> float | None:
        """Seconds from the beginning of the spell until half as much was asked as before it."""
        return self._first_after(0, lambda rate, usual: rate <= usual / 2)

    @property
    def back(self) -> float | None:
        """Seconds from the end of the spell until 90 % was asked of what had been before it."""
        return self._first_after(1, lambda rate, usual: rate >= 0.9 * usual)

    def _first_after(self, edge: int, reached: Callable[[float, float], bool]) -> float | None:
        spell = self.trial.spell
        if spell is None:
            return None
        usual = mean(rate for _, rate in self.asked(SHORT_WINDOW, spell.since / 3, spell.since))
        since = spell[edge]
        found = self.asked(SHORT_WINDOW, since - SHORT_WINDOW, self.trial.seconds)
        return next((end - since for end, rate in found if end > since and reached(rate, usual)), None)


def settings_of(crawl: str, trial: Trial, directory: Path, port: int) -> dict[str, Any]:
    shared: dict[str, Any] = {"CLOSESPIDER_TIMEOUT": trial.seconds + ENDING, "LOG_LEVEL": "INFO"}
    if crawl in (STOCK, AUTOTHROTTLE):
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
        "POLITE_PACE": crawl == OURS,
        "POLITE_ALLOW_PORTS": [port],
        "POLITE_SITE_RATE": 1000,
        "POLITE_ORIGIN_RATE": trial.rate,
        "POLITE_LIMITS": {ORIGIN: limit},
        "CONCURRENT_REQUESTS": 64,
    }


def measure(crawl: str, trial: Trial) -> Outcome:
    """One crawl of a fresh server."""
    with tempfile.TemporaryDirectory(prefix="pace-") as name:
        directory = Path(name)
        figures = trial.workers, trial.work, trial.waiting, trial.spell, trial.errors
        with Kneed(directory, ADDRESSES, *figures) as server:
            patterns = [f"http://{address}:{server.port}/listing/{{}}" for address in ADDRESSES]
            settings = settings_of(crawl, trial, directory, server.port)
            # Else stock Scrapy would send nothing for the seconds in which a hundred thousand requests are made.
            process = started(directory, "crawl", settings=settings, patterns=patterns, numbers=[0, 5_000], breathe=True)
            try:
                process.wait(trial.seconds + 60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            return Outcome(crawl, trial, server.arrivals())


# ------------------------------------------------------------------------------------------------------- first contact


@dataclass(frozen=True)
class Broad:
    """A small broad crawl: every address is a site with servers of its own, all unknown. ``rates``: pages a second of each."""

    name: str
    pages: int
    rates: float | None


BROAD = (
    Broad("with the default rates, 4 pages of each", 4, None),
    Broad("4 pages/s of each, 8 pages", 8, 4.0),
    Broad("4 pages/s of each, 40 pages", 40, 4.0),
)


def first_contact(broad: Broad, paced: bool) -> float:
    """Seconds that it takes."""
    with tempfile.TemporaryDirectory(prefix="pace-") as name:
        directory = Path(name)
        with Kneed(directory, ADDRESSES, 64, 0.05, 64) as server:
            raised = {"POLITE_SITE_RATE": broad.rates, "POLITE_ORIGIN_RATE": broad.rates}
            settings = {
                **POLITE,
                "POLITE_STORE": f"sqlite:{directory}/limits",
                "POLITE_PACE": paced,
                "POLITE_ALLOW_PORTS": [server.port],
                # As they come: a page costs two units, of which a site has one a second.
                **(raised if broad.rates else {"POLITE_COSTS": {}}),
            }
            patterns = [f"http://{address}:{server.port}/listing/{{}}" for address in ADDRESSES]
            process = started(directory, "crawl", settings=settings, patterns=patterns, numbers=[0, broad.pages])
            process.wait(300)
            return float(result(directory, "crawl")["seconds"])
