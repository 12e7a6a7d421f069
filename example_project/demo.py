"""The main job: `python demo.py` starts a town, crawls it politely with `scrapy crawl agents`, and proves that it did.

While it runs it shows how far it is. It stops by itself, and its exit status is 0 only if the proof says PASS.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from crawling import GRACE, Crawl, new_directory
from proof import SHARE, judge
from town.client import Town, TownError

if TYPE_CHECKING:
    from collections.abc import Sequence

EVERY: Final = 2.0
"""Seconds between two lines of progress."""
JUDGING: Final = 4.0
"""Seconds that are kept for the proof, and for the crawl to end in good order."""

SHORT: Final = {"tenants": 20, "listings": 2, "capacity": 15.0}
"""A town small enough for a quick look, whose platform still has less to give than its tenants could ask for."""


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("demo.py", description="Crawl a town on this machine politely, and prove it.")
    parser.add_argument("--tenants", type=int, help="agents on the platform (default: 60)")
    parser.add_argument("--listings", type=int, help="listings of each agent (default: 3)")
    parser.add_argument("--capacity", type=float, help="cost units/s that the platform can take (default: 30)")
    parser.add_argument("--seconds", type=float, default=90.0, help="stop after so long (default: %(default)g)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, another town (default: %(default)s)")
    parser.add_argument("--short", action="store_true", help="a small town: 20 tenants, 2 listings, capacity 15")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the proof there as JSON, too")
    parser.add_argument("--dir", type=Path, help="where the run's files go (default: a new directory in out/)")
    options = parser.parse_args(argv)
    for name, full in (("tenants", 60), ("listings", 3), ("capacity", 30.0)):
        if getattr(options, name) is None:
            setattr(options, name, SHORT[name] if options.short else full)
    return options


class Watcher:
    """Follows the town's log while it is written, and says how far the crawl is."""

    def __init__(self, town: Town) -> None:
        self.sites: dict[str, int] = {site["host"]: site["pages"] for site in town.info["sites"]}
        self.path = Path(town.info["log"])
        self.offset = 0
        self.requests = 0
        self.recent: list[tuple[float, float]] = []
        self.seen: defaultdict[str, set[str]] = defaultdict(set)

    def look(self) -> None:
        """Take in what has arrived since the last look."""
        with self.path.open("rb") as log:
            log.seek(self.offset)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self.offset += len(whole)
        for entry in map(json.loads, whole.splitlines()):
            if entry["server"] == "cdn-origin":
                continue
            self.requests += 1
            if entry["server"] == "platform":
                self.recent.append((entry["t"], entry["cost"]))
            if entry["status"] == 200 and entry["kind"] in ("search", "page"):
                self.seen[entry["host"]].add(entry["path"])

    def line(self, status: dict[str, Any], now: float) -> str:
        self.recent = [(t, cost) for t, cost in self.recent if now - t < 5]
        done = sum(len(self.seen[host]) >= pages for host, pages in self.sites.items())
        parts = [
            f"sites done {done:3} of {len(self.sites)}",
            f"requests {self.requests:4}",
            f"platform {sum(cost for _, cost in self.recent) / 5:4.1f} units/s",
        ]
        if status.get("sites_waiting") is not None:
            due = status["next_due"]
            parts.append(f"waiting {status['sites_waiting']:3} sites, {status['turns_waiting']:3} images and robots.txt")
            parts.append("next due -" if due is None else f"next due in {max(due, 0):.2f} s")
        return "   ".join(parts)


def watch(crawl: Crawl, watcher: Watcher, until: float) -> None:
    """Show progress until the crawl ends, or its time is up."""
    begun = time.monotonic()
    shown = begun - EVERY
    while crawl.running() and time.monotonic() < until:
        now = time.monotonic()
        if now - shown >= EVERY:
            shown = now
            watcher.look()
            print(f"{now - begun:4.0f} s   {watcher.line(crawl.progress(), now)}", flush=True)
        time.sleep(0.1)
    watcher.look()
    print(f"{time.monotonic() - begun:4.0f} s   {watcher.line(crawl.progress(), time.monotonic())}", flush=True)


def interrupted(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def run(options: argparse.Namespace) -> int:
    begun = time.monotonic()
    directory = options.dir or new_directory("demo")
    with Town(
        directory / "town",
        seed=options.seed,
        tenants=options.tenants,
        listings=options.listings,
        capacity=options.capacity,
        seconds=options.seconds + 60,
        traps="all",  # The guard is what stops them; nothing but a guarded crawl may be sent there.
    ) as town:
        info = town.info
        print(
            f"A town of {len(info['sites'])} agents, {sum(site['listings'] for site in info['sites'])} listings and "
            f"{len(info['traps'])} traps. {options.tenants} agents share a platform that can take "
            f"{options.capacity:g} units/s; the crawl may use {options.capacity * SHARE:g}.\nFiles: {directory}\n",
            flush=True,
        )
        with Crawl(town, directory) as crawl:
            watch(crawl, Watcher(town), begun + options.seconds - GRACE - JUDGING)
            crawl.stop()
        report = judge(crawl.evidence())
    print(f"\n{report.as_text()}", flush=True)
    if crawl.ended() != "finished":
        print(f"\nThe crawl's last words ({crawl.log}):\n{crawl.complaint()}", file=sys.stderr)
    if options.json:
        options.json.write_text(json.dumps(report.as_json(), indent=1) + "\n", encoding="utf-8")
    return 0 if report.passed else 1


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(argv)
    signal.signal(signal.SIGTERM, interrupted)
    try:
        return run(options)
    except TownError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped; the town and the crawl are ended.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
