"""`python compare.py`: the same town crawled by stock Scrapy, by stock Scrapy with AutoThrottle, and by this project.

Stock is what `scrapy startproject` writes, made by running it. Added are only: a resolver that asks the town's name
server, the same spider, what the job itself needs (Scrapy's own images pipeline with the same two sizes), and the
tripwire, which watches all three alike. Nothing is tuned. A crawl that takes longer than `--seconds` is stopped, and the
table says so.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agents.tripwire import address_of
from crawling import PROJECT, Crawl, new_directory
from demo import interrupted
from judging.arrivals import holds, worst_window
from judging.harvest import images_of, left_in
from judging.table import aligned, markdown
from proof import KNEE, PLATFORM
from town.client import Town, TownError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from proof import Evidence

ADDED: Final = """

# --- Added by compare.py. All above is what `scrapy startproject` has written.
TWISTED_DNS_RESOLVER = "townresolver.TownResolver"
EXTENSIONS = {"agents.tripwire.Tripwire": 500}
ITEM_PIPELINES = {"scrapy.pipelines.images.ImagesPipeline": 1}
IMAGES_THUMBS = {"small": (320, 240), "thumb": (96, 96)}
"""
AUTOTHROTTLE: Final = "AUTOTHROTTLE_ENABLED = True\n"

COPIED: Final = ("townresolver.py", "agents/facts.py", "agents/items.py", "agents/tripwire.py", "agents/spiders/agents.py")


@dataclass(frozen=True, slots=True)
class Row:
    """One crawl. Seconds, units, bytes; windows at the platform, with the capacity that they are to be held against."""

    crawler: str
    seconds: float
    ended: str
    last_page: float
    """Seconds from the first request to the last page of a site: what came after is waiting for traps."""
    sites: int
    listings: int
    listings_of: int
    requests: int
    refused: int
    knee_refused: int
    """503s of the server with a knee."""
    worst_1: float
    worst_10: float
    capacity: float
    inside: int
    trap_hits: int
    keys_left: int
    personal_left: int
    images: int
    images_of: int
    image_files: int
    image_bytes: int


def row(crawler: str, seconds: float, evidence: Evidence) -> Row:
    """What a crawl did, judged by the town's log and by what it brought home."""
    arrivals = [arrival for arrival in evidence.arrivals if arrival.server != "cdn-origin"]
    platform = [arrival for arrival in arrivals if arrival.server == PLATFORM]
    images = images_of(evidence.items, evidence.stored, evidence.facts["sites"])
    return Row(
        crawler=crawler,
        seconds=round(seconds, 1),
        ended=evidence.ended,
        last_page=round(max((arrival.t - arrivals[0].t for arrival in arrivals if arrival.kind == "page"), default=0.0), 1),
        sites=len(evidence.facts["sites"]),
        listings=len({item["url"] for item in evidence.items}),
        listings_of=sum(site["listings"] for site in evidence.facts["sites"]),
        requests=len(arrivals),
        refused=sum(arrival.status == 503 for arrival in platform),
        knee_refused=sum(arrival.status == 503 for arrival in arrivals if arrival.server == KNEE),
        worst_1=worst_window(platform, 1),
        worst_10=worst_window(platform, 10) / 10,
        capacity=evidence.facts["platform"]["capacity"],
        inside=sum(
            hold.inside
            for server in {arrival.server for arrival in arrivals}
            for hold in holds([arrival for arrival in arrivals if arrival.server == server])
        ),
        trap_hits=trap_hits(evidence),
        keys_left=len(left_in(evidence.items, (entry["value"] for entry in evidence.truth["keys"]))),
        personal_left=len(left_in(evidence.items, (entry["value"] for entry in evidence.truth["personal"]))),
        images=images.made,
        images_of=images.wanted,
        image_files=images.files,
        image_bytes=images.bytes,
    )


def trap_hits(evidence: Evidence) -> int:
    """Visits that the town's traps saw, and tries that would have left this machine, which they cannot see."""
    seen = sum(arrival.server == "trap" for arrival in evidence.arrivals)
    return seen + sum(not stays_here(line) for line in evidence.tripwire)


def stays_here(line: Mapping[str, Any]) -> bool:
    """Whether a try of the tripwire's log stayed on this machine, where the town's traps have seen it if it got through."""
    address = address_of(str(line["address"]))
    return address is not None and (address.is_loopback or address.is_unspecified) and line["event"] != "open"


COLUMNS: Final[tuple[tuple[str, Callable[[Row], str]], ...]] = (
    ("", lambda row: row.crawler),
    ("duration", lambda row: f"{row.seconds:.0f} s" + ("" if row.ended == "finished" else f" ({row.ended})")),
    ("last listing after", lambda row: f"{row.last_page:.0f} s"),
    ("listings got", lambda row: f"{row.listings} of {row.listings_of}"),
    ("requests", lambda row: f"{row.requests}"),
    ("503s caused", lambda row: f"{row.refused}"),
    ("503s at the server with a knee", lambda row: f"{row.knee_refused}"),
    ("worst 1 s", lambda row: f"{row.worst_1:.0f} of {row.capacity:.0f} units/s"),
    ("worst 10 s", lambda row: f"{row.worst_10:.1f} of {row.capacity:.0f} units/s"),
    ("requests inside a Retry-After", lambda row: f"{row.inside}"),
    ("trap hits", lambda row: f"{row.trap_hits}"),
    ("keys left in items", lambda row: f"{row.keys_left}"),
    ("personal data left", lambda row: f"{row.personal_left}"),
    ("images made", lambda row: f"{row.images} of {row.images_of}"),
    ("their bytes", lambda row: f"{row.image_bytes / 1e6:.1f} MB"),
)


def table(rows: Sequence[Row]) -> list[list[str]]:
    """A line for each thing that is compared, a column for each crawl."""
    return [[name, *(cell(row) for row in rows)] for name, cell in COLUMNS]


def stock_project(directory: Path, more: str = "") -> Path:
    """What `scrapy startproject agents` makes, and the little that has to be added."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SCRAPY_", "PYTHONPATH"))}
    command = [sys.executable, "-m", "scrapy", "startproject", "agents", str(directory)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=directory.parent, env=environment)
    for name in COPIED:
        shutil.copy(PROJECT / name, directory / name)
    with (directory / "agents" / "settings.py").open("a", encoding="utf-8") as settings:
        settings.write(ADDED + more)
    return directory


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("compare.py", description="Crawl the same town with and without scrapy_polite.")
    parser.add_argument("--tenants", type=int, default=60, help="agents on the platform (default: %(default)s)")
    parser.add_argument("--listings", type=int, default=3, help="listings of each agent (default: %(default)s)")
    parser.add_argument("--capacity", type=float, default=30.0, help="units/s of the platform (default: %(default)g)")
    parser.add_argument("--seconds", type=float, default=300.0, help="the longest for one crawl (default: %(default)g)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, another town (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there as JSON, too")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there as Markdown, too")
    return parser.parse_args(argv)


def crawl(name: str, directory: Path, project: Path, options: argparse.Namespace) -> Row:
    """One crawl of a fresh town. Says on standard error what it is at."""
    town = Town(
        directory / "town",
        seed=options.seed,
        tenants=options.tenants,
        listings=options.listings,
        capacity=options.capacity,
        seconds=options.seconds + 60,
    )
    with town:
        begun = time.monotonic()
        print(f"{name}: crawling a town of {len(town.info['sites'])} sites ...", file=sys.stderr, flush=True)
        with Crawl(town, directory, project) as running:
            while running.running() and time.monotonic() - begun < options.seconds:
                time.sleep(0.1)
            seconds = time.monotonic() - begun
            running.stop()
        found = row(name, seconds, running.evidence())
    print(f"{name}: {found.listings} listings in {seconds:.0f} s, {found.ended}; {running.log}", file=sys.stderr, flush=True)
    if found.ended != "finished" and not running.stopped:
        print(running.complaint(), file=sys.stderr)
    return found


def run(options: argparse.Namespace) -> int:
    directory = new_directory("compare")
    # Elsewhere: within our own project Scrapy would take our settings, and find that there is a module of that name.
    with tempfile.TemporaryDirectory(prefix="compare-") as elsewhere:
        projects = {
            "stock Scrapy": stock_project(Path(elsewhere) / "stock"),
            "stock with AutoThrottle": stock_project(Path(elsewhere) / "autothrottle", AUTOTHROTTLE),
            "scrapy_polite": PROJECT,
        }
        rows = [crawl(name, directory / f"run-{place}", projects[name], options) for place, name in enumerate(projects)]
    print("\n".join(aligned(table(rows))))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text("\n".join(markdown(table(rows))) + "\n", encoding="utf-8")
    # A crawl that was stopped is a result; one that did not run is none.
    return 0 if all(row.requests for row in rows) else 1


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(argv)
    signal.signal(signal.SIGTERM, interrupted)
    try:
        return run(options)
    except (TownError, OSError, subprocess.CalledProcessError) as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped; the town and the crawl are ended.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
