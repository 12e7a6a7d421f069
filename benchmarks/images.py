"""Images beside Scrapy's pipeline and Pillow, in one run, on photographs of 12 megapixels that are made for it.

    python -m benchmarks.images [--short] [--json FILE] [--rounds 5] [--images 12]

making     three sizes (200, 600, 1600) of a JPEG, each way in a process of its own, in turns: ms an image, MB at most. scrapy:
           `get_images` alone, without its MD5 and its writes; pillow decodes once; draft decodes at a part of the size, and
           makes each size of the next larger one. A ratio is one of the same round
outputs    the same sizes as WebP and AVIF; and as JPEG in one and in two threads beside an event loop that ticks every 1 ms
crawls     a real crawl of images on loopback with an event loop that ticks, beside a process that does nothing but tick: the
           largest gaps, and which of the originals in the store are what was served
memory     one crawl of many images of several kinds: MB after a fifth of them, and after all
bombs      small files with giant canvases: what it takes to say no
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.crawler import POLITE
from benchmarks.imaging import judging, photos
from benchmarks.imaging.bombs import bombs
from benchmarks.imaging.hosting import hosted
from benchmarks.imaging.judging import Crawled, Making, Refused, times
from benchmarks.imaging.making import SIDES
from benchmarks.reporting import Aim, Report, arguments
from benchmarks.serving import ROOT, Serving

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

PATIENCE = 600
"""Seconds for one process."""
WAYS = ("ours", "scrapy", "pillow", "draft")
STOCK, OURS = "scrapy.pipelines.images.ImagesPipeline", "scrapy_polite.media.PoliteImagesPipeline"
THUMBS = {str(side): [side, side] for side in SIDES}
ADDED: dict[str, object] = {
    **POLITE,
    "POLITE_STORE": "memory:",
    "POLITE_LEDGER": None,
    "POLITE_SITE_RATE": 1_000,
    "POLITE_ORIGIN_RATE": 1_000,
    "POLITE_PACE": False,
    "USER_AGENT": "benchmark (+mailto:benchmark@example.org)",
}
"""The whole add-on, with limits that are never reached."""
CRAWLED = ("pipeline", "gap", "own", "p99", "machine", "seconds", "base", "peak")
STOCK_TOO = ("PNG 13000x13000", "JPEG 13000x13000, progressive")
"""The bombs that are given to Scrapy: each takes it seconds, and gigabytes."""


def told(module: str, *words: object) -> dict[str, Any]:
    """What a module says when it is run by itself."""
    command = [sys.executable, "-m", f"benchmarks.imaging.{module}", *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:4])} failed:\n{done.stderr[-4_000:]}")
    found: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return found


class Bench:
    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.short: bool = options.short
        self.rounds: int = 1 if options.short else options.rounds
        self.images: int = 2 if options.short else options.images
        self.folder = folder
        self.report = Report("images", options)
        self.results: dict[str, Any] = {"versions": {name: version(name) for name in ("pyvips", "pyvips-binary", "pillow")}}
        self.aims: list[Aim] = []
        self.large = photos.large(folder, 1 if options.short else 3)

    # ----------------------------------------------------------------------------------------------------------- making

    def made(self, way: str, kind: str, count: int) -> Making:
        found = told("making", way, kind, count, *self.large)
        size = sum(found["bytes"][name] for name in found["bytes"] if not name.startswith("full/"))
        return Making(median(found["cpu"]), median(found["wall"]), found["base"], found["peak"], size)

    def making(self) -> None:
        rounds: list[dict[str, Making]] = []
        for number in range(self.rounds):
            turn = number % len(WAYS)
            rounds.append({way: self.made(way, "jpeg", self.images) for way in (*WAYS[turn:], *WAYS[:turn])})
        rows = []
        for way in WAYS:
            mine = [one[way] for one in rounds]
            cpu, peak = (times(judging.ratios(rounds, way, what)) for what in ("cpu", "peak"))
            middle = [median(getattr(one, what) for one in mine) for what in ("cpu", "wall", "base", "peak")]
            rows.append([way, *middle, cpu, peak, f"{mine[-1].bytes / 1e3:,.0f}"])
        headers = ["three sizes of 12 MP", "CPU ms", "wall ms", "MB before", "MB at most", "CPU of ours", "MB of ours", "kB"]
        self.report.table(headers, rows)
        self.results["making"] = [{way: asdict(one) for way, one in by.items()} for by in rounds]
        self.aims += judging.making(rounds)

    def outputs(self) -> None:
        rows = []
        count = max(1, self.images // 3)
        for kind in ("webp",) if self.short else ("webp", "avif"):
            for way in ("ours", "draft"):
                one = self.made(way, kind, count)
                rows.append([kind, way, one.cpu, one.wall, one.peak, f"{one.bytes / 1e3:,.0f}"])
        self.report.table(["sizes as", "way", "CPU ms", "wall ms", "MB at most", "kB"], rows)
        self.results["outputs"] = rows
        rows = []
        for threads in (1, 2):
            found = [told("working", threads, self.images * 2, *self.large) for _ in range(1 if self.short else 3)]
            middle = [median(one[what] for one in found) for what in ("rate", "gap", "p99", "base", "peak")]
            rows.append([str(threads), *middle])
        self.report.table(["threads", "images/s", "largest gap ms", "99 % under ms", "MB before", "MB at most"], rows)
        self.results["threads"] = rows

    # ----------------------------------------------------------------------------------------------------------- crawls

    def crawl(self, name: str, bodies: Sequence[tuple[str, bytes]], count: int, **job: Any) -> tuple[dict[str, Any], Path]:
        """What `imaging.crawling` says, and the store."""
        store, out, path = (self.folder / f"{name}{end}" for end in ("-store", ".out", ".json"))
        with hosted(bodies, count) as urls:
            settings = {"IMAGES_STORE": str(store), "IMAGES_THUMBS": THUMBS, **job.pop("settings", {})}
            if "ADDONS" in settings:
                settings["POLITE_ALLOW_PORTS"] = [int(urls[0].split(":")[2].split("/")[0])]
            path.write_text(json.dumps({"urls": urls, "settings": settings, "out": str(out), "marks": [], **job}))
            told("crawling", path)
        return json.loads(out.read_text()), store

    def crawled(self, name: str, count: int, pipeline: str, settings: dict[str, object]) -> Crawled:
        # Bytes behind the end of a JPEG are read by nobody: no two images are the same.
        bodies = [(f"{n}.jpg", self.large[n % len(self.large)].read_bytes() + n.to_bytes(2, "big")) for n in range(count)]
        with Serving("benchmarks.imaging.ticking", []) as idle:
            idle.told()
            found, store = self.crawl(name, bodies, count, pipeline=pipeline, settings=settings)
            machine = idle.told()["gap"]
        served = {int(url.split("/")[3]): store / path for url, path in found["images"]}
        exact = sum(path.read_bytes() == bodies[number][1] for number, path in served.items())
        shutil.rmtree(store)
        late = [found[what] for what in ("gap", "own", "p99")]
        taken = [found[what] for what in ("seconds", "base", "peak")]
        return Crawled(name.rpartition("-")[0], *late, machine, *taken, exact, count)

    def crawls(self) -> None:
        count, found = 6 if self.short else 40, []
        for number in range(min(self.rounds, 3)):
            found.append(self.crawled(f"ours-{number}", count, OURS, {}))
            found.append(self.crawled(f"scrapy-{number}", count, STOCK, {}))
            found.append(self.crawled(f"ours, whole add-on-{number}", count, OURS, ADDED))
        rows = [[*(getattr(one, what) for what in CRAWLED), f"{one.exact} of {one.of}"] for one in found]
        told = ["largest gap ms", "its own work", "99 % under", "of an idle process", "s", "MB before", "MB at most", "exact"]
        headers = [f"crawl of {count}", *told]
        self.report.table(headers, rows)
        self.results["crawls"] = [asdict(one) for one in found]
        self.aims += judging.crawling([one for one in found if one.pipeline == "ours"])

    def memory(self) -> None:
        count = 60 if self.short else 1_000
        bodies = [(path.name, path.read_bytes()) for path in photos.mixed(self.folder)]
        marks = [count // 5, count]
        found, _ = self.crawl("memory", bodies, count, pipeline=OURS, marks=marks, forget=True)
        if found["outcomes"] != {"ok": count}:
            raise RuntimeError(f"Of {count} images: {found['outcomes']}")
        kept = {int(mark): value for mark, value in found["marks"].items()}
        each = (kept[marks[1]] - kept[marks[0]]) / (marks[1] - marks[0]) * 1e3
        row = [f"{count:,}", found["base"], *(kept[mark] for mark in marks), each, found["peak"], count / found["seconds"]]
        named = [f"MB after {mark:,}" for mark in marks]
        headers = ["images", "MB before", *named, "kB more an image", "MB at most", "images/s"]
        self.report.table(headers, [row])
        self.results["memory"] = {"marks": kept, **{what: found[what] for what in ("base", "peak", "gap", "seconds")}}
        self.aims += judging.flat(kept)

    # ------------------------------------------------------------------------------------------------------------ bombs

    def refused(self, way: str, path: Path) -> Refused:
        found = told("refusing", way, path)
        return Refused(found["said"], found["ms"], found["mb"])

    def bombs(self) -> None:
        ours: dict[str, list[Refused]] = {}
        others: dict[str, dict[str, Refused]] = {}
        for number, (name, data) in enumerate(bombs().items()):
            path = self.folder / f"bomb-{number}"
            path.write_bytes(data)
            ours[name] = [self.refused("ours", path) for _ in range(1 if self.short else 3)]
            if not self.short or name == "JPEG 13000x13000":
                others[name] = {"pillow": self.refused("pillow", path)}
                if name in STOCK_TOO:
                    others[name]["scrapy"] = self.refused("scrapy", path)
        rows = []
        for (name, tries), data in zip(ours.items(), bombs().values(), strict=True):
            shown = [others.get(name, {}).get(way) for way in ("pillow", "scrapy")]
            also = ["-" if one is None else f"{one.said}, {one.ms:,.0f} ms, {one.mb:,.0f} MB" for one in shown]
            ms, mb = median(one.ms for one in tries), max(one.mb for one in tries)
            rows.append([name, f"{len(data):,}", tries[0].said, f"{ms:.1f}", f"{mb:.1f}", *also])
        self.report.table(["bomb", "bytes", "ours", "ms", "MB more", "Pillow, one size", "Scrapy, one size"], rows)
        self.results["bombs"] = {name: [asdict(one) for one in tries] for name, tries in ours.items()}
        self.results["bombs_of_others"] = {n: {way: asdict(one) for way, one in by.items()} for n, by in others.items()}
        self.aims += judging.refusing(ours)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--images", type=int, default=12, help="of each round and way")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="images-") as name:
        bench = Bench(options, Path(name))
        bench.making()
        bench.outputs()
        bench.crawls()
        bench.memory()
        bench.bombs()
        bench.report.finish(bench.results, bench.aims)


if __name__ == "__main__":
    main()
