"""What `scrapy polite explain --offline -` answers in a second, as an operator runs it, on one core.

    python -m benchmarks.explain [--short] [--json FILE] [--urls 100000] [--rounds 3]

The list is mixed: pages, buckets in both styles, image services, addresses, names outside ASCII, and what is refused by its
scheme, port, user name, address or name, or is no URL. It goes through standard input to the command, and the answers to a
file. Times are of the processor, of the whole process, the best of the rounds.

start        the same command with one URL: Python, Scrapy and the settings
URLs/s       without the start; and with it, which says more the longer the list is
urlsplit     a plain loop over the same list, in a process of its own: read a line, `urllib.parse.urlsplit`, print host and path
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.naming import SHAPES
from benchmarks.reporting import Aim, Report, arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parents[1]

MIXED = (
    *([SHAPES["page"]] * 6),
    "http://WWW.Shop{}.example:80/a/../b/{}?q=1#top",
    SHAPES["IDN"],
    SHAPES["bucket in the host"],
    SHAPES["bucket in the path"],
    SHAPES["image service"],
    "https://i0.wp.com/blog{}.example/uploads/{}.jpg?w=300",
    "https://shop{}.example/_next/image?url=%2Fphotos%2F{}.jpg&w=640&q=75",
    "http://93.184.{}.34/{}",
    "http://[2606:2800:{}::1]/{}",
    "http://0x0a.1.{}.3/{}",
    "http://[::ffff:192.168.{}.7]/{}",
    "http://shop{}.example:9000/{}",
    "http://user:word@shop{}.example/{}",
    "http://wiki{}.internal/{}",
    "ftp://files{}.example/{}",
    "http://not a host{}/{}",
)
PLAIN = """
import sys
from urllib.parse import urlsplit
for line in sys.stdin:
    try:
        parts = urlsplit(line.strip())
        print(parts.hostname, parts.path, sep="\\t")
    except ValueError as error:
        print(error)
"""
EXPLAIN = ("-m", "scrapy", "polite", "explain", "--offline")


def mixed(number: int) -> str:
    """So many lines. Hosts come back after some 2,000 lines of one shape; octets stay below 256."""
    found = []
    for at in range(number):
        shape = MIXED[at % len(MIXED)]
        host = at // len(MIXED) % (250 if "184." in shape or "{}.3" in shape or "{}.7" in shape else 2000)
        found.append(shape.format(host, at))
    return "\n".join(found) + "\n"


def run(command: Sequence[str], given: Path, into: Path) -> float:
    """Seconds of the processor, on one core."""
    core = min(os.sched_getaffinity(0))
    before = os.times()
    with given.open("rb") as lines, into.open("wb") as answers:
        subprocess.run(
            [sys.executable, *command],
            cwd=ROOT,
            stdin=lines,
            stdout=answers,
            stderr=subprocess.DEVNULL,
            preexec_fn=partial(os.sched_setaffinity, 0, {core}),
            check=False,  # Some are refused, so the code is 1.
        )
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--urls", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.short:
        options.urls, options.rounds = 500, 1
    report = Report("explain", options)
    ways: dict[str, tuple[str, ...]] = {
        "explain --json": (*EXPLAIN, "--json", "-"),
        "explain": (*EXPLAIN, "-"),
        "urlsplit": ("-c", PLAIN),
    }
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as directory:
        many, one, answers = (Path(directory, name) for name in ("many", "one", "answers"))
        many.write_text(mixed(options.urls), encoding="utf-8")
        one.write_text(mixed(1), encoding="utf-8")
        for name, command in ways.items():
            start = min(run(command, one, answers) for _ in range(options.rounds))
            whole = min(run(command, many, answers) for _ in range(options.rounds))
            rows.append(
                {
                    "way": name,
                    "start": start,
                    "us": (whole - start) / options.urls * 1e6,
                    "rate": options.urls / max(whole - start, 1e-9),
                    "rate_with_start": options.urls / whole,
                    "megabytes": answers.stat().st_size / 1e6,
                }
            )
    plain = rows[-1]["us"]
    report.table(
        ["way", "start s", "a URL us", "URLs/s", "with the start", "output MB", "of urlsplit"],
        [
            (
                row["way"],
                f"{row['start']:.2f}",
                row["us"],
                f"{row['rate']:,.0f}",
                f"{row['rate_with_start']:,.0f}",
                row["megabytes"],
                row["us"] / plain,
            )
            for row in rows
        ],
    )
    rate = rows[0]["rate"]
    report.finish(
        {"urls": options.urls, "ways": rows},
        [Aim("explain --offline --json -, on one core", "20,000 URLs/s", f"{rate:,.0f} URLs/s", rate >= 20_000)],
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
