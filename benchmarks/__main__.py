"""All benchmarks, one after the other.

    python -m benchmarks [--short] [--json DIRECTORY] [--only NAME ...]

The short form takes about two minutes and only shows that they work; the whole one about half an hour, on a machine that ought
to do nothing else. Each may also be run by itself: python -m benchmarks.NAME --help.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

SHORT = {
    "stores": ["--seconds", "0.1", "--rounds", "1"],
    "guard": ["--short"],
    "queues": ["--sites", "10", "1000", "--operations", "400", "--rounds", "1"],
    "wire": ["--short"],
    "processes": ["--short"],
    "holds": ["--short"],
    "crawl": ["--short"],
    "simulate": ["--short"],
    "pace": ["--short"],
    "heldsite": ["--short"],
    "naming": ["--short"],
    "explain": ["--short"],
    "costs": ["--short"],
    "misses": ["--short"],
    "origins": ["--short"],
    "redaction": ["--short"],
    "images": ["--short"],
}
"""Every benchmark, and its short form."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--json", type=Path, metavar="DIRECTORY", help="write NAME.json for each into it")
    parser.add_argument("--only", nargs="+", choices=SHORT, default=list(SHORT), metavar="NAME", help=", ".join(SHORT))
    options = parser.parse_args()
    failed = []
    for name in options.only:
        command = [sys.executable, "-m", f"benchmarks.{name}", *(SHORT[name] if options.short else [])]
        if options.json is not None:
            options.json.mkdir(parents=True, exist_ok=True)
            command += ["--json", str(options.json.resolve() / f"{name}.json")]
        print(f"\n== {name}\n", flush=True)
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            failed.append(name)
    if failed:
        print(f"\nFailed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
