"""What benchmarks/holds.py runs: four crawls, each a process of its own, and a server of this process that refuses.

The server stamps each arrival as soon as it has read its first line, by the clock that all processes share.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.crawler import POLITE, ROOT, started

sys.path.append(str(ROOT / "tests"))

from hearers import Heard, Hearers
from loopback import Answer, Arrival, Server

from scrapy_polite.stores.acts import acts
from scrapy_polite.stores.base import Cause, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.databases import Postgres

PROCESSES = 4
STATED = 5
WIRE = 0.1
"""Seconds after the refusal was written, or after it was heard and in the store, in which requests may still arrive: they were
on the wire."""

STOCK, THROTTLE, OURS = "stock Scrapy", "stock with AutoThrottle", "scrapy_polite"
FORMS = ("seconds", "date")
READY_WITHIN = 120.0


def settings_of(crawl: str, store: str, port: int, rate: float = 20.0) -> dict[str, Any]:
    if crawl != OURS:
        return {"AUTOTHROTTLE_ENABLED": crawl == THROTTLE, "RETRY_ENABLED": True}
    return {
        **POLITE,
        "POLITE_STORE": store,
        "POLITE_LEDGER": None,
        "POLITE_ALLOW_PORTS": [port],
        "POLITE_SITE_RATE": rate,
        "POLITE_ORIGIN_RATE": rate,
        "POLITE_PACE": False,  # Between holds the rate that is set is kept.
        "RETRY_ENABLED": True,
        "LOG_LEVEL": "INFO",
    }


def refusal(form: str, seconds: float) -> Answer:
    """A 429 with a Retry-After. A date is by a clock that is two hours fast, and says so in Date."""
    if form == "seconds":
        return Answer(status=429, headers={"Retry-After": f"{seconds:g}"})
    now = int(time.time()) + 7_200
    return Answer(
        status=429, headers={"Retry-After": formatdate(now + seconds, usegmt=True), "Date": formatdate(now, usegmt=True)}
    )


@contextmanager
def store_of(kind: str, directory: Path, database: Postgres | None) -> Iterator[str]:
    if kind == "postgres" and database is not None:
        url = database.database()
        try:
            yield url
        finally:
            database.drop(url)
    else:
        yield f"sqlite:{directory}/limits.sqlite"


@contextmanager
def crawls(directory: Path, settings: dict[str, Any], patterns: Sequence[Sequence[str]], pages: int) -> Iterator[None]:
    """One for each of ``patterns``, which all begin at once; killed at the end."""
    with ExitStack() as stack:
        for number, urls in enumerate(patterns):
            ready, go = str(directory / f"ready-{number}"), str(directory / "go")
            job = {"settings": settings, "patterns": list(urls), "numbers": [0, pages], "ready": ready, "go": go}
            process = started(directory, f"crawl-{number}", **job)
            stack.callback(process.wait)
            stack.callback(process.kill)
        until = time.monotonic() + READY_WITHIN
        while len(list(directory.glob("ready-*"))) < len(patterns):
            if time.monotonic() > until:
                raise RuntimeError("Not all crawls were ready:\n" + (directory / "crawl-0.log").read_text()[-4_000:])
            time.sleep(0.05)
        (directory / "go").touch()
        yield


def wait_until(come: Callable[[], object], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not come():
        if time.monotonic() > until:
            raise RuntimeError(f"What was waited for did not come within {seconds:g} s")
        time.sleep(0.005)


@dataclass(frozen=True)
class Inside:
    """``left``: requests that had not arrived when the refusal was written. ``heard_ms``: from then until the store had the
    hold. ``on_the_wire``: the requests that came within that and WIRE. ``inside``: those that came between that and the end
    of the stated time. ``back_s``: from that end to the next arrival."""

    crawl: str
    store: str
    form: str
    left: int
    heard_ms: float | None
    on_the_wire: int
    inside: int
    back_s: float | None


def inside(crawl: str, kind: str, form: str, database: Postgres | None, pages: int) -> Inside:
    """One of the first requests is refused, and all others would be served."""
    refused: list[float] = []

    def answer(_: Arrival) -> Answer:
        time.sleep(0.02)
        if len(server.arrivals) >= 8 and not refused:
            refused.append(0.0)
            told = refusal(form, STATED)
            refused[0] = time.monotonic()
            return told
        return Answer()

    with (
        tempfile.TemporaryDirectory(prefix="holds-") as name,
        Server(answer) as server,
        store_of(kind, Path(name), database) as store,
    ):
        patterns = [[f"{server.url}/{number}/{{}}"] for number in range(PROCESSES)]
        with crawls(Path(name), settings_of(crawl, store, server.port), patterns, pages):
            wait_until(lambda: refused and refused[0], 60)
            heard = refused[0]
            if crawl == OURS:
                opened = open_store(store)
                wait_until(opened.held, 10)
                heard = time.monotonic()
                opened.close()
            end = refused[0] + STATED
            wait_until(lambda: time.monotonic() > end and (crawl != OURS or server.arrivals[-1].at > end), STATED + 60)
        times = sorted(arrival.at - refused[0] for arrival in server.arrivals)
    after = [at for at in times if at > 0]
    wire = heard - refused[0] + WIRE
    within = [at for at in after if wire < at < STATED]
    later = [at for at in after if at >= STATED]
    left = PROCESSES * pages - (len(times) - len(after))
    back = later[0] - STATED if later else None
    shown, heard_ms = (kind, 1e3 * (heard - refused[0])) if crawl == OURS else ("-", None)
    return Inside(crawl, shown, form, left, heard_ms, sum(at <= wire for at in after), len(within), back)


@dataclass(frozen=True)
class Longer:
    """3600 s are stated, and to others, which were on the wire then, 2 s. ``later``: arrivals in the six seconds after the last
    of those answers."""

    store: str
    refused: int
    later: int
    hold_s: float
    cause: str
    rungs: str


def longer(kind: str, database: Postgres | None) -> Longer:
    answered: list[float] = []

    def answer(_: Arrival) -> Answer:
        first = len(server.arrivals) == 1
        time.sleep(0.7 if first else 1.5)
        answered.append(time.monotonic())
        return refusal("seconds", 3600 if first else 2)

    with (
        tempfile.TemporaryDirectory(prefix="holds-") as name,
        Server(answer) as server,
        store_of(kind, Path(name), database) as store,
    ):
        patterns = [[f"{server.url}/{number}/{{}}"] for number in range(PROCESSES)]
        with crawls(Path(name), settings_of(OURS, store, server.port), patterns, 20):
            wait_until(lambda: len(answered) > 1 and len(answered) == len(server.arrivals), 60)
            end = answered[-1]
            time.sleep(6)
            opened = open_store(store)
            (hold,) = opened.held()
            noted = opened.notes([hold.key])[hold.key]["ladders"]
            opened.close()
        later = sum(arrival.at > end for arrival in server.arrivals)
        return Longer(kind, len(answered), later, hold.seconds, hold.cause.reason, noted)


@dataclass(frozen=True)
class Back:
    """Keys that were refused together. ``refused_in_s``: from the first of these answers to the last. ``fullest``: most that
    came back in one second; ``first_s`` and ``last_s``: after the first refusal. ``early``: those before their time."""

    how: str
    store: str
    wait: str
    keys: int
    refused_in_s: float
    fullest: int
    first_s: float
    last_s: float
    early: int


def come_back(crawl: str, kind: str, database: Postgres | None, keys: int) -> Back:
    """As many sites, each crawled by two of the processes, and all refused in the moment in which the last request is there."""
    all_asked = threading.Event()
    refused: dict[str, float] = {}

    def answer(arrival: Arrival) -> Answer:
        host = arrival.headers["host"]
        if len(server.arrivals) == 2 * keys:
            all_asked.set()
        if host in refused and arrival.at >= refused[host] + STATED:
            return Answer()
        all_asked.wait(60)
        refused.setdefault(host, time.monotonic())
        return refusal("seconds", STATED)

    with (
        tempfile.TemporaryDirectory(prefix="holds-") as name,
        Server(answer, address="0.0.0.0") as server,
        store_of(kind, Path(name), database) as store,
    ):
        urls = [f"http://127.0.{1 + number // 200}.{1 + number % 200}:{server.port}/{{}}" for number in range(keys)]
        patterns = [
            [url for number, url in enumerate(urls) if (number - one) % PROCESSES in (0, 1)] for one in range(PROCESSES)
        ]
        settings = settings_of(crawl, store, server.port) | {"CONCURRENT_REQUESTS": keys}
        with crawls(Path(name), settings, patterns, 1):
            wait_until(lambda: len(refused) == keys, 90)
            last = max(refused.values())
            wait_until(lambda: len(returned(server.arrivals, refused)) == keys, 120)
        back = returned(server.arrivals, refused)
    first = min(refused.values())
    times = [at - first for at in back.values()]
    early = sum(back[host] < refused[host] + STATED for host in back)
    shown = kind if crawl == OURS else "-"
    return Back(crawl, shown, f"{STATED} s stated", keys, last - first, fullest(times), min(times), max(times), early)


def returned(arrivals: Sequence[Arrival], refused: dict[str, float]) -> dict[str, float]:
    """When each host was asked first after its refusal."""
    found: dict[str, float] = {}
    for arrival in list(arrivals):
        host = arrival.headers["host"]
        if arrival.at > refused.get(host, arrival.at):
            found.setdefault(host, arrival.at)
    return found


def told(kind: str, database: Postgres | None, keys: int, wait: str, answer: tuple[int, dict[str, str]], times: int) -> Back:
    """The same without a crawl: when the store lets them go. ``times``: that each refuses, since some need a run."""
    shares: list[list[Heard]] = [[] for _ in range(PROCESSES)]
    for number in range(keys):
        for process in (number % PROCESSES, (number + 1) % PROCESSES):
            shares[process] += [(f"site:{number}.example", *answer)] * times
    with (
        tempfile.TemporaryDirectory(prefix="holds-") as name,
        store_of(kind, Path(name), database) as store,
        Hearers(store, [[share] for share in shares], {}) as hearers,
    ):
        began, ended = hearers.round()
        opened = open_store(store)
        ends = [time.monotonic() + hold.seconds - began for hold in opened.held()]
        opened.close()
    early = sum(end < float(wait.split()[0]) for end in ends)
    return Back("what the store says", kind, wait, len(ends), ended - began, fullest(ends), min(ends), max(ends), early)


def fullest(times: Sequence[float]) -> int:
    """The most in any span of one second."""
    times = sorted(times)
    return max(sum(at <= other < at + 1 for other in times) for at in times)


@dataclass(frozen=True)
class ByHand:
    """``ms``: from the act to the first request of each process."""

    store: str
    ms: list[float]


def by_hand(kind: str, database: Postgres | None) -> ByHand:
    with (
        tempfile.TemporaryDirectory(prefix="holds-") as name,
        Server() as server,
        store_of(kind, Path(name), database) as url,
    ):
        store = open_store(url)
        store.hold("site:127.0.0.1", 250, Cause("denied", "403"))
        patterns = [[f"{server.url}/{number}/{{}}"] for number in range(PROCESSES)]
        with crawls(Path(name), settings_of(OURS, url, server.port, rate=100.0), patterns, 1):
            time.sleep(3)
            command = [sys.executable, "-m", "scrapy", "polite", "retry", "site:127.0.0.1", "-s", f"POLITE_STORE={url}"]
            subprocess.run([*command, "-s", "POLITE_LEDGER="], cwd=ROOT, check=True, capture_output=True)
            at = acts(store)[0].at - time.time() + time.monotonic()
            wait_until(lambda: len(server.arrivals) == PROCESSES, 30)
        store.close()
        return ByHand(kind, [1e3 * (arrival.at - at) for arrival in server.arrivals])
