"""What the evidence of a million sites takes in the SQLite store: on disk, to write, and to load one site at a time."""

from __future__ import annotations

import random
import tempfile
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from time import process_time
from typing import TYPE_CHECKING

from benchmarks.judging import Bench, evidence_of
from benchmarks.worlds import make
from scrapy_polite.origins.anchors import pointing
from scrapy_polite.stores.base import Kept, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_polite.stores.base import Store

BATCH = 100
"""Sites that are written at once."""
LOADS = 2_000
NEIGHBOURS = 64
"""Hosts that are asked for at each anchor."""


@dataclass(frozen=True, slots=True)
class Stored:
    rows: int
    megabytes: float
    write_us: float
    """A row, in processor time, like all of these: median over the last tenth, with the store as full as it gets."""
    load_us: float
    """A site by its host, median."""
    near_us: float
    """A site and the hosts at its anchors, median."""
    near: float
    """How many those are, on average."""
    found: bool
    """Every site that was asked for was there as it was written."""


def stored(rows: int) -> Stored:
    """Writes the evidence of so many sites into a new SQLite store, opens it again, and loads sites at random."""
    with tempfile.TemporaryDirectory() as directory:
        url = f"sqlite:{directory}/store"
        with closing(open_store(url)) as store:
            took = _written(store, rows)
        megabytes = sum(path.stat().st_size for path in Path(directory).iterdir()) / 1e6
        with closing(open_store(url)) as store:
            return Stored(rows, round(megabytes, 1), round(median(took[-max(1, len(took) // 10) :]), 1), *_loaded(store, rows))


def _written(store: Store, rows: int) -> list[float]:
    took, sites = [], islice(_sites(rows), rows)
    while batch := list(islice(sites, BATCH)):
        begun = process_time()
        store.keep(batch)
        took.append((process_time() - begun) / len(batch) * 1e6)
    return took


def _loaded(store: Store, rows: int) -> tuple[float, float, float, bool]:
    wanted = set(random.Random(0).sample(range(rows), min(LOADS, rows)))
    chosen = [site for number, site in enumerate(islice(_sites(rows), rows)) if number in wanted]
    random.Random(1).shuffle(chosen)
    alone, around, near, found = [], [], 0, True
    for site in chosen:
        begun = process_time()
        have = store.kept([site.host])
        alone.append((process_time() - begun) * 1e6)
        found = found and have[site.host].facts == site.facts
        begun = process_time()
        near += len(store.pointing_at(site.anchors, NEIGHBOURS))
        around.append((process_time() - begun) * 1e6)
    return round(median(alone), 1), round(median(around), 1), round(near / len(chosen), 1), found


def _sites(rows: int) -> Iterator[Kept]:
    """One world over and over, each time with other hosts and other anchors."""
    world = make(1, min(1.0, rows / 10_000))
    bench, known = Bench(), {}
    for site in world.sites:
        evidence = evidence_of(site)
        known[site.host] = evidence, pointing(evidence, world.now)
        bench.learn(site.host, known[site.host][1])
    first = []
    for host, (evidence, seen) in known.items():
        placed = bench.place(host)
        first.append(Kept(host, placed.origin, placed.confidence, (*seen.strong, *seen.weak), evidence.as_json()))
    copy = 0
    while True:
        yield from (_again(row, copy) for row in first) if copy else first
        copy += 1


def _again(row: Kept, copy: int) -> Kept:
    anchors = tuple(f"{anchor}.{copy}" for anchor in row.anchors)
    return Kept(f"{copy}.{row.host}", f"{row.origin}.{copy}", row.confidence, anchors, row.facts)
