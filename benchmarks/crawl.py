"""Whole requests: what the add-on costs a crawl of tiny pages whose limits are lifted, against stock Scrapy, and where it goes.

    python -m benchmarks.crawl [--short] [--json FILE] [--pages 20000] [--rounds 2] [--parts]

The same server, spider and settings, one crawl after the other in turns: stock, with the add-on as it comes (SQLite store,
ledger), with the add-on and everything in memory; and again. The spider only makes requests and counts answers: all that is
measured is what a request costs. Requests per second are by the clock, and so by what else the machine does; processor time is
less so, least where the runs are compared that were disturbed least: many short rounds, where there is other work. ``--parts``:
crawls as well from which one part is left out.

Then one crawl each under cProfile, by module: microseconds of a request, which the profiler lengthens, so look at the shares.
"""

from __future__ import annotations

import pstats
import statistics
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.crawler import POLITE, crawl
from benchmarks.reporting import Aim, Report, arguments
from benchmarks.server import Server

ADDRESS = "127.0.0.2"
AT_ONCE = 16
"""Scrapy's own CONCURRENT_REQUESTS; here also of one site, for all alike."""
STOCK, DEFAULT, MEMORY = "stock Scrapy", "add-on", "add-on, in memory"
PARTS: dict[str, dict[str, Any]] = {
    "without pace": {"POLITE_PACE": False},
    "without a ledger": {"POLITE_LEDGER": None},
    "without redaction": {"POLITE_REDACT": None},
    "with robots.txt": {"ROBOTSTXT_OBEY": True},
}
"""The add-on as it comes, but for these settings. Of stock and of all others robots.txt is left out."""
AIM = 0.85
MODULES = 12
FUNCTIONS = 25


@dataclass(frozen=True)
class Run:
    crawl: str
    pages: int
    seconds: float
    cpu: float

    @property
    def rate(self) -> float:
        return self.pages / self.seconds

    @property
    def cpu_us(self) -> float:
        return self.cpu / self.pages * 1e6


def settings_of(kind: str, directory: Path, port: int) -> dict[str, Any]:
    shared: dict[str, Any] = {"CONCURRENT_REQUESTS": AT_ONCE, "CONCURRENT_REQUESTS_PER_DOMAIN": AT_ONCE}
    if kind == STOCK:
        return shared
    return {
        **shared,
        **POLITE,
        "POLITE_STORE": "memory:" if kind == MEMORY else f"sqlite:{directory}/limits.sqlite",
        "POLITE_ALLOW_PORTS": [port],
        "POLITE_SITE_RATE": 1e6,
        "POLITE_ORIGIN_RATE": 1e6,
        "POLITE_ORIGIN_CONCURRENCY": AT_ONCE,
        **PARTS.get(kind, {}),
    }


def run(kind: str, server: Server, pages: int, profile: Path | None = None) -> Run:
    with tempfile.TemporaryDirectory(prefix="crawl-") as name:
        directory = Path(name)
        found = crawl(
            directory,
            "crawl",
            600,
            settings=settings_of(kind, directory, server.port),
            patterns=[server.url(ADDRESS, "/{}")],
            numbers=[0, pages],
            profile=str(profile) if profile else None,
        )
    if found["answers"] != pages:
        raise RuntimeError(f"{kind}: {found['answers']} answers to {pages} requests")
    return Run(kind, pages, found["seconds"], found["cpu"])


def profiled(kind: str, server: Server, pages: int) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Microseconds a request by module, and of the functions of ours that take the most: by themselves, with all they call."""
    with tempfile.TemporaryDirectory(prefix="profile-") as name:
        path = Path(name) / "profile"
        run(kind, server, pages, path)
        stats: dict[Any, Any] = pstats.Stats(str(path)).stats  # type: ignore[attr-defined]
    modules: Counter[str] = Counter()
    functions = []
    for (file, line, function), (_, calls, own, whole, callers) in stats.items():
        module = module_of(file)
        if module == "built in":
            # On the account of who called it.
            for (caller, _, _), (_, _, part, _) in callers.items():
                modules[module_of(caller)] += part / pages * 1e6
        else:
            modules[module] += own / pages * 1e6
        if module.startswith("scrapy_polite"):
            functions.append(
                {
                    "function": f"{module.removeprefix('scrapy_polite.')}:{line} {function}",
                    "calls": calls / pages,
                    "own_us": own / pages * 1e6,
                    "whole_us": whole / pages * 1e6,
                }
            )
    functions.sort(key=lambda found: -found["own_us"])
    return dict(modules), functions[:FUNCTIONS]


def module_of(file: str) -> str:
    if file in ("~", ""):
        return "built in"
    parts = Path(file).with_suffix("").parts
    for package in ("scrapy_polite", "scrapy", "twisted"):
        if package in parts:
            at = len(parts) - 1 - parts[::-1].index(package)
            inner = parts[at : at + (4 if package == "scrapy_polite" else 3)]
            return ".".join(inner)
    if "site-packages" in parts:
        return parts[parts.index("site-packages") + 1]
    if "benchmarks" in parts:
        return "the spider"
    return "python: asyncio" if "asyncio" in parts else f"python: {parts[-1]}"


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--pages", type=int, help="of one crawl (20,000; short: 2,000)")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--parts", action="store_true", help="also crawls without one of its parts")
    options = parser.parse_args()
    report = Report("crawl", options)
    pages = options.pages or (2_000 if options.short else 20_000)
    kinds = [STOCK, DEFAULT] if options.short else [STOCK, DEFAULT, MEMORY]
    kinds += PARTS if options.parts else ()
    runs: list[Run] = []
    with Server([ADDRESS], stamps=False) as server:
        for _ in range(options.rounds):
            for kind in kinds:
                runs.append(run(kind, server, pages))
                print("ran", runs[-1], file=sys.stderr, flush=True)
        few = min(pages, 1_000 if options.short else 5_000)
        profiles = {kind: profiled(kind, server, few) for kind in (STOCK, DEFAULT)}
    stock = [one for one in runs if one.crawl == STOCK]
    ratios: dict[str, dict[str, float]] = {}
    rows = []
    for kind in kinds:
        ones = [one for one in runs if one.crawl == kind]
        # Each with the stock crawl of its own round: what slows the machine for a while slows both.
        speed = statistics.median(one.rate / other.rate for one, other in zip(ones, stock, strict=True))
        work = statistics.median(other.cpu / one.cpu for one, other in zip(ones, stock, strict=True))
        least = min(one.cpu for one in stock) / min(one.cpu for one in ones)
        ratios[kind] = {"requests_per_second": speed, "processor_time": work, "processor_time_of_quietest": least}
        rate = statistics.median(one.rate for one in ones)
        rows.append(
            (kind, pages, rate, f"{speed:.2f}", statistics.median(one.cpu_us for one in ones), f"{work:.2f}", f"{least:.2f}")
        )
    report.table(["crawl", "pages", "requests/s", "of stock", "cpu us/request", "stock's of it", "quietest runs"], rows)
    modules, ours = profiles[DEFAULT]
    more = {name: modules.get(name, 0.0) - profiles[STOCK][0].get(name, 0.0) for name in {*modules, *profiles[STOCK][0]}}
    total = sum(more.values())
    dearest = sorted(more, key=lambda name: -more[name])[:MODULES]
    print(f"Where the add-on's time goes, under the profiler: {total:.0f} us a request more than stock's\n")
    report.table(
        ["module", "us a request", "more than stock's", "share"],
        [(name, modules.get(name, 0.0), more[name], f"{more[name] / total:.0%}") for name in dearest],
    )
    report.table(
        ["function of ours", "calls a request", "own us", "with all it calls us"],
        [(one["function"], f"{one['calls']:.2f}", one["own_us"], one["whole_us"]) for one in ours],
    )
    aims = [
        Aim(
            "requests/s of stock's, SQLite store and ledger",
            f"{AIM}",
            f"{ratios[DEFAULT]['requests_per_second']:.2f}",
            ratios[DEFAULT]["requests_per_second"] >= AIM,
        )
    ]
    if MEMORY in ratios:
        speed = ratios[MEMORY]["requests_per_second"]
        aims.append(Aim("requests/s of stock's, in memory", f"{AIM}", f"{speed:.2f}", speed >= AIM))
    results = {"runs": [asdict(one) for one in runs], "ratios": ratios, "profile": {"more_us": more, "functions": ours}}
    report.finish(results, aims)
    return 0


if __name__ == "__main__":
    sys.exit(main())
