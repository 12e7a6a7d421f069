"""What a name costs: a URL parsed and keyed end to end, beside `urllib.parse.urlsplit` in the same run.

    python -m benchmarks.naming [--short] [--json FILE] [--urls 20000] [--rounds 5]

us           a URL, in microseconds of processor time: the best of the rounds, each over all URLs, which differ, so that no
             cache helps
parse        the canonical target of a URL
keys         bucket or image service, or neither, from the target
end to end   parse, keys, and the URL that is sent
urlsplit     Python's own, which knows no canonical form, with its cache emptied before each round
import       the room itself, its libraries loaded before, in a process of its own: milliseconds of processor time, best of the
             rounds; and the public suffix list, which is read when the first host is placed
"""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from benchmarks.reporting import Aim, Report, arguments
from scrapy_polite.naming import Target, as_sent, own_key, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROOT = Path(__file__).resolve().parents[1]

SHAPES = {
    "page": "https://www.shop{}.example/catalogue/page-{}.html?sort=price",
    "address": "http://0x5d.184.216.{}/{}",
    "IDN": "https://bücher{}.example/seite/{}",
    "bucket in the host": "https://photos-{}.s3.eu-west-2.amazonaws.com/large/{}.jpg",
    "bucket in the path": "https://storage.googleapis.com/storage/v1/b/photos-{}/o/{}.jpg",
    "image service": "https://res.cloudinary.com/hearth{}/image/upload/w_640,h_480/v12/{}.jpg",
}

IMPORTED = """
import time, base64, dataclasses, ipaddress, urllib.parse, ada_url, idna, tldextract
begun = time.process_time()
import scrapy_polite.naming as naming
imported = time.process_time()
naming.registrable_domain("www.shop.example.co.uk")
print((imported - begun) * 1e3, (time.process_time() - imported) * 1e3)
"""


def end_to_end(url: str) -> None:
    target = parse(url)
    assert isinstance(target, Target)
    own_key(target)
    as_sent(url, target)


def best(rounds: int, call: Callable[[object], object], over: Iterable[object]) -> float:
    """Microseconds of one call."""
    items = list(over)
    found = []
    for _ in range(rounds):
        clear = getattr(urllib.parse, "clear_cache", None)
        if clear is not None:
            clear()
        begun = time.process_time()
        for item in items:
            call(item)
        found.append((time.process_time() - begun) / len(items) * 1e6)
    return round(min(found), 2)


def imports(rounds: int) -> tuple[float, float]:
    runs = []
    for _ in range(rounds):
        done = subprocess.run([sys.executable, "-c", IMPORTED], cwd=ROOT, capture_output=True, text=True, check=True)
        runs.append([float(part) for part in done.stdout.split()])
    return round(min(run[0] for run in runs), 1), round(min(run[1] for run in runs), 1)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--urls", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.short:
        options.urls, options.rounds = 500, 1
    report = Report("naming", options)
    rows = []
    for name, shape in SHAPES.items():
        urls = [shape.format(number % 200, number) for number in range(options.urls)]
        targets = [parse(url) for url in urls]
        rows.append(
            {
                "shape": name,
                "parse": best(options.rounds, parse, urls),
                "keys": best(options.rounds, own_key, targets),
                "end_to_end": best(options.rounds, end_to_end, urls),
                "urlsplit": best(options.rounds, urlsplit, urls),
            }
        )
    report.table(
        ["shape", "parse us", "keys us", "end to end us", "urlsplit us"],
        [[row["shape"], *(f"{row[column]:.2f}" for column in ("parse", "keys", "end_to_end", "urlsplit"))] for row in rows],
    )
    imported, suffixes = imports(options.rounds)
    report.table(["import ms", "public suffix list ms"], [[imported, suffixes]])
    slowest = max(float(row["end_to_end"]) for row in rows)
    report.finish(
        {"shapes": rows, "import_ms": imported, "suffixes_ms": suffixes},
        [
            Aim("a URL end to end", "under 15 us", f"{slowest:.1f} us at most", slowest < 15),
            Aim("tables built at import", "under 50 ms", f"{imported + suffixes:.1f} ms", imported + suffixes < 50),
        ],
    )


if __name__ == "__main__":
    main()
