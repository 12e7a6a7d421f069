"""Several processes on one key: is its rate used up, its interval kept, and is each of them given its share?

    python -m benchmarks.processes [--short] [--json FILE] [--seconds 30] [--interval 0.2]

Real Scrapy crawlers, each a process of its own, all at one server whose site and origin allow one page in 0.2 s together: 1, 4
and 16 with Postgres, 1, 4 and 8 with SQLite. All have more to do than they may. Judged by the kernel's stamps of the packets,
from two seconds after the last one was ready.

used     of the rate in the time that was measured: packets * interval / seconds
gap      the smallest between two packets, whoever sent them, in ms. The bound is 200 - width (50) - 5
Jain     of the packets of the processes: 1 when all sent the same number, 1/n when one sent all. lottery: what it would be
         if every slot fell to one of them at random; it comes near 1 with the number of slots, so 4 processes are measured
         twice as long as one, and more three times
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.crawler import POLITE, started
from benchmarks.databases import postgres
from benchmarks.packets import Packet, Sniffer, is_root
from benchmarks.reporting import Aim, Report, arguments, jain
from benchmarks.server import Server

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from benchmarks.databases import Postgres

WIDTH = 0.05
SLACK = 0.005
ADDRESS = "127.0.0.2"
WARM = 2.0
"""Seconds until all have a connection and a place in the line."""
READY_WITHIN = 120.0


@dataclass(frozen=True)
class Figures:
    """``fewest`` and ``most``: packets of one process. ``longest_s``: that a process waited from one packet to the next."""

    store: str
    processes: int
    packets: int
    used: float
    gap_ms: float
    jain: float
    fewest: int
    most: int
    longest_s: float

    @property
    def lottery(self) -> float:
        return self.packets / (self.packets + self.processes - 1)


def measure(store: str, count: int, database: Postgres | None, seconds: float, interval: float) -> Figures:
    url = database.database() if store == "postgres" and database is not None else ""
    with tempfile.TemporaryDirectory(prefix="processes-") as name, Server([ADDRESS]) as server:
        directory = Path(name)
        settings = {
            **POLITE,
            "POLITE_STORE": url or f"sqlite:{directory}/limits",
            "POLITE_LEDGER": None,
            "POLITE_ALLOW_PORTS": [server.port],
            "POLITE_SITE_RATE": 1 / interval,
            "POLITE_ORIGIN_RATE": 1 / interval,
            "POLITE_SLOT_WIDTH": WIDTH,
            "POLITE_PACE": False,  # The rate that is set is what is measured.
        }
        enough = round((seconds + WARM) / interval) * 2
        crawlers = [
            started(
                directory,
                f"crawl-{number}",
                settings=settings,
                patterns=[server.url(ADDRESS, f"/{number}/{{}}")],
                numbers=[0, enough],
                ready=str(directory / f"ready-{number}"),
                go=str(directory / "go"),
            )
            for number in range(count)
        ]
        try:
            wait_until_ready(directory, crawlers)
            with Sniffer(server.port) if is_root() else nullcontext() as sniffer:
                (directory / "go").touch()
                time.sleep(WARM)
                begin = time.monotonic()
                time.sleep(seconds)
                end = time.monotonic()
                if ended := [number for number, crawler in enumerate(crawlers) if crawler.poll() is not None]:
                    log = (directory / f"crawl-{ended[0]}.log").read_text()
                    raise RuntimeError(f"Crawlers {ended} ended before their time:\n{log[-4_000:]}")
                packets = [Packet(*arrival) for arrival in server.arrivals()] if sniffer is None else None
            if packets is None:
                assert sniffer is not None
                packets = sniffer.packets()
        finally:
            for crawler in crawlers:
                # Nothing that they have is of any worth.
                crawler.kill()
                crawler.wait()
    if url and database is not None:
        database.drop(url)
    return judged(store, count, packets, begin, end, interval)


def judged(store: str, count: int, packets: list[Packet], begin: float, end: float, interval: float) -> Figures:
    gap = min(later.at - earlier.at for earlier, later in pairwise(packets))
    measured = [packet for packet in packets if begin <= packet.at < end]
    times: list[list[float]] = [[] for _ in range(count)]
    for packet in measured:
        assert packet.path is not None
        times[int(packet.path.split("/")[1])].append(packet.at)
    shares = [len(found) for found in times]
    waits = [later - earlier for found in times for earlier, later in pairwise([begin, *found, end])]
    used = len(measured) * interval / (end - begin)
    return Figures(store, count, len(measured), used, gap * 1e3, jain(shares), min(shares), max(shares), max(waits))


def wait_until_ready(directory: Path, crawlers: list[subprocess.Popen[bytes]]) -> None:
    until = time.monotonic() + READY_WITHIN
    while len(list(directory.glob("ready-*"))) < len(crawlers):
        for number, crawler in enumerate(crawlers):
            if crawler.poll() is not None:
                raise RuntimeError((directory / f"crawl-{number}.log").read_text()[-4_000:])
        if time.monotonic() > until:
            raise RuntimeError(f"Not all of {len(crawlers)} crawlers were ready within {READY_WITHIN:.0f} s")
        time.sleep(0.05)


def aims(found: list[Figures], interval: float) -> Iterator[Aim]:
    bound = (interval - WIDTH - SLACK) * 1e3
    for one in found:
        where = f"{one.store}, {one.processes} process{'es' if one.processes > 1 else ''}"
        yield Aim(f"{where}: used", "95 %", f"{one.used:.1%}", one.used >= 0.95)
        yield Aim(f"{where}: smallest gap", f"{bound:.0f} ms", f"{one.gap_ms:.1f} ms", one.gap_ms >= bound)
        yield Aim(f"{where}: Jain", "0.95", f"{one.jain:.3f}", one.jain >= 0.95)


def medians(found: list[Figures]) -> Figures:
    """Of a repeated case; but the smallest gap of all."""
    first = found[0]
    return Figures(
        first.store,
        first.processes,
        sum(one.packets for one in found),
        statistics.median(one.used for one in found),
        min(one.gap_ms for one in found),
        statistics.median(one.jain for one in found),
        min(one.fewest for one in found),
        max(one.most for one in found),
        max(one.longest_s for one in found),
    )


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, help="that one process is measured (30; short: 3)")
    parser.add_argument("--interval", type=float, default=0.2)
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    report = Report("processes", options)
    seconds = options.seconds or (3.0 if options.short else 30.0)
    counts = {"sqlite": (4,) if options.short else (1, 4, 8), "postgres": (4,) if options.short else (1, 4, 16)}
    found, runs = [], []
    with postgres() as database:
        for store in ("sqlite", "postgres") if database else ("sqlite",):
            for count in counts[store]:
                long = seconds * (1 if count == 1 else 2 if count == 4 else 3)
                ones = [measure(store, count, database, long, options.interval) for _ in range(options.repeat)]
                runs += ones
                found.append(medians(ones))
                print("ran", found[-1], file=sys.stderr, flush=True)
    report.table(
        ["store", "processes", "packets", "used", "gap ms", "Jain", "lottery", "fewest", "most", "longest wait s"],
        [
            (
                f.store,
                f.processes,
                f.packets,
                f"{f.used:.1%}",
                f.gap_ms,
                f"{f.jain:.3f}",
                f"{f.lottery:.3f}",
                f.fewest,
                f.most,
                f.longest_s,
            )
            for f in found
        ],
    )
    results = {"witness": "packets" if is_root() else "receiver", "rows": [asdict(one) for one in found]}
    report.finish({**results, "runs": [asdict(one) for one in runs]}, list(aims(found, options.interval)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
