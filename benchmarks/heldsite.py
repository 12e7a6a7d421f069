"""A broad crawl with one site that holds for an hour: does it delay the others, and does the crawl end when they are done?

    python -m benchmarks.heldsite [--short] [--json FILE] [--sites 40] [--pages 30] [--pairs 5]

Real Scrapy crawls, in turns: of all sites but one, alone; and beside one site more, whose first answer is 429 with
``Retry-After: 3600``, and which has as many pages. A site allows two pages a second, and all start at the same time. Judged by
the server's stamps.

took     of the others, first arrival to last, in seconds
ratio    of that beside the held site to that alone, in one pair. Wanted: at most 1.1
closed   seconds from the others' last arrival to the end of the spider
asked    requests that the held site got
put off  requests of the held site in the store afterwards, of all its pages
"""

from __future__ import annotations

import statistics
import tempfile
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.crawler import POLITE, crawl
from benchmarks.reporting import Aim, Report, arguments
from benchmarks.server import Server
from scrapy_polite.stores.base import open_store

RATE = 2.0
RATIO = 1.1
CLOSES_WITHIN = 3.0
HELD = "127.77.0.1"


@dataclass(frozen=True)
class Run:
    """``asked``, ``put_off``: of the held site, if it was there."""

    beside: bool
    took: float
    closed: float
    asked: int
    put_off: int


def run(sites: int, pages: int, *, beside: bool) -> Run:
    others = [f"127.77.1.{number}" for number in range(1, sites + 1)]
    addresses = [HELD, *others] if beside else others
    with tempfile.TemporaryDirectory(prefix="heldsite-") as name, Server(addresses, holds=HELD) as server:
        settings: dict[str, Any] = {
            **POLITE,
            "POLITE_STORE": f"sqlite:{name}/limits.sqlite",
            "POLITE_LEDGER": None,
            "POLITE_ALLOW_PORTS": [server.port],
            "POLITE_SITE_RATE": RATE,
            "POLITE_ORIGIN_RATE": RATE,
            "POLITE_PACE": False,  # Each pair is to differ by the held site alone.
        }
        patterns = [server.url(address, "/{}") for address in addresses]
        found = crawl(Path(name), "crawl", 600, settings=settings, patterns=patterns, numbers=[0, pages])
        if found["answers"] != sites * pages:
            raise RuntimeError(f"{found['answers']} answers of {sites * pages} pages of the others")
        arrivals = server.arrivals()
        at = sorted(at for at, address, _ in arrivals if address != HELD)
        with closing(open_store(settings["POLITE_STORE"])) as store:
            put_off = len(store.deferred(key=f"site:{HELD}"))
    return Run(beside, at[-1] - at[0], found["ended"] - at[-1], len(arrivals) - len(at), put_off)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sites", type=int, help="besides the held one (40; short: 10)")
    parser.add_argument("--pages", type=int, help="of each (30; short: 10)")
    parser.add_argument("--pairs", type=int, help="(5; short: 2)")
    options = parser.parse_args()
    report = Report("heldsite", options)
    sites, pages = options.sites or (10 if options.short else 40), options.pages or (10 if options.short else 30)
    runs: list[tuple[Run, Run]] = []
    for number in range(options.pairs or (2 if options.short else 5)):
        # One way round and then the other.
        pair = {beside: run(sites, pages, beside=beside) for beside in ((False, True) if number % 2 == 0 else (True, False))}
        runs.append((pair[False], pair[True]))
    ratios = [beside.took / alone.took for alone, beside in runs]
    report.table(
        ["pair", "took alone", "took beside", "ratio", "closed alone", "closed beside", "asked", "put off"],
        [
            (
                *(str(number), f"{alone.took:.2f}", f"{beside.took:.2f}", f"{ratio:.3f}"),
                *(f"{alone.closed:.2f}", f"{beside.closed:.2f}", beside.asked, f"{beside.put_off} of {pages}"),
            )
            for number, (alone, beside), ratio in zip(range(1, len(runs) + 1), runs, ratios, strict=True)
        ],
    )
    middle, slowest = statistics.median(ratios), max(beside.closed for _, beside in runs)
    kept = min(beside.put_off for _, beside in runs)
    report.finish(
        {"sites": sites, "pages": pages, "runs": [[asdict(alone), asdict(beside)] for alone, beside in runs]},
        [
            Aim(
                "the others' time beside a held site, of that alone: median",
                f"at most {RATIO}",
                f"{middle:.3f}",
                middle <= RATIO,
            ),
            Aim("the same: the worst pair", f"at most {RATIO}", f"{max(ratios):.3f}", max(ratios) <= RATIO),
            Aim("closed after the others' end", f"within {CLOSES_WITHIN:g} s", f"{slowest:.2f} s", slowest <= CLOSES_WITHIN),
            Aim("put off, of the held site's pages", "all", f"{kept} of {pages}", kept == pages),
        ],
    )


if __name__ == "__main__":
    main()
