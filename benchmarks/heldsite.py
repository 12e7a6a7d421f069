"""A broad crawl with one site that holds for an hour: does it delay the others, and does the crawl end when they are done?

    python -m benchmarks.heldsite [--short] [--json FILE] [--sites 20] [--pages 20] [--pairs 5]

Real Scrapy crawls, two at once, so that whatever else the machine does is done to both: of some sites alone; and of as many
beside one more, which answers 429 with ``Retry-After: 3600`` and has as many pages. A site allows a page a second, and all
begin at the same time. Judged by the stamps of their servers.

took     of the others, first arrival to last, in seconds
ratio    of that beside the held site to that alone, in one pair. Wanted: at most 1.1
closed   seconds from the others' last arrival to the end of the spider
asked    requests that the held site got
put off  requests of the held site in the store afterwards, of all its pages
"""

from __future__ import annotations

import statistics
import tempfile
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.crawler import POLITE, result, started
from benchmarks.reporting import Aim, Report, arguments
from benchmarks.server import Server
from scrapy_polite.stores.base import open_store

RATE = 1.0
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


class Crawling:
    """A crawl of its own server; it ends with the block. The files of both lie in one directory."""

    def __init__(self, directory: Path, sites: int, pages: int, *, beside: bool) -> None:
        self._directory, self._name, self._beside = directory, "beside" if beside else "alone", beside
        self._wanted = sites * pages
        self._pages = pages
        self._addresses = [*[HELD] * beside, *(f"127.77.1.{number}" for number in range(1, sites + 1))]
        self._store = f"sqlite:{directory}/{self._name}.sqlite"

    def __enter__(self) -> Crawling:
        self._server = Server(self._addresses, holds=HELD)
        self._server.__enter__()
        settings: dict[str, Any] = {
            **POLITE,
            "POLITE_STORE": self._store,
            "POLITE_LEDGER": None,
            "POLITE_ALLOW_PORTS": [self._server.port],
            "POLITE_SITE_RATE": RATE,
            "POLITE_ORIGIN_RATE": RATE,
            "POLITE_PACE": False,  # Each pair is to differ by the held site alone.
        }
        self._process = started(
            self._directory,
            self._name,
            settings=settings,
            patterns=[self._server.url(address, "/{}") for address in self._addresses],
            numbers=[0, self._pages],
            ready=str(self._directory / f"{self._name}.ready"),
            go=str(self._directory / "go"),
        )
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait()
        self._server.__exit__(None, None, None)

    @property
    def is_ready(self) -> bool:
        if self._process.poll() is not None:
            result(self._directory, self._name)
        return (self._directory / f"{self._name}.ready").exists()

    def end(self) -> Run:
        self._process.wait(600)
        found = result(self._directory, self._name)
        if found["answers"] != self._wanted:
            raise RuntimeError(f"{found['answers']} answers of {self._wanted} pages of the others")
        arrivals = self._server.arrivals()
        at = sorted(at for at, address, _ in arrivals if address != HELD)
        with closing(open_store(self._store)) as store:
            put_off = len(store.deferred(key=f"site:{HELD}"))
        return Run(self._beside, at[-1] - at[0], found["ended"] - at[-1], len(arrivals) - len(at), put_off)


def pair(sites: int, pages: int) -> tuple[Run, Run]:
    """Alone, and beside the held site."""
    with tempfile.TemporaryDirectory(prefix="heldsite-") as name:
        directory = Path(name)
        with (
            Crawling(directory, sites, pages, beside=False) as alone,
            Crawling(directory, sites, pages, beside=True) as beside,
        ):
            while not (alone.is_ready and beside.is_ready):
                time.sleep(0.02)
            (directory / "go").touch()
            return alone.end(), beside.end()


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sites", type=int, help="besides the held one (20; short: 5)")
    parser.add_argument("--pages", type=int, help="of each (20; short: 5)")
    parser.add_argument("--pairs", type=int, help="(5; short: 1)")
    options = parser.parse_args()
    report = Report("heldsite", options)
    sites, pages = options.sites or (5 if options.short else 20), options.pages or (5 if options.short else 20)
    runs = [pair(sites, pages) for _ in range(options.pairs or (1 if options.short else 5))]
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
