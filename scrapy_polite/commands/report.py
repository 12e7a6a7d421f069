"""``scrapy polite report``: the proof from the ledger, that every limit was kept."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_polite.config import Config
from scrapy_polite.paths import ledger_path, store_url
from scrapy_polite.telemetry.ledger import Ledger
from scrapy_polite.telemetry.proof import prove

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

__all__ = ["add_options", "run"]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ledger", type=Path, metavar="FILE", help="the ledger to read (default: what POLITE_LEDGER says)")
    parser.add_argument("--hours", type=float, metavar="N", help="only the last N hours")
    parser.add_argument("--run", dest="crawl", metavar="RUN", help="only this run (under Scrapyd: the job's id)")


def run(settings: BaseSettings, options: argparse.Namespace) -> int:
    """Print the proof. 0 if no limit was broken, 1 if one was or there is no ledger."""
    config = Config.from_settings(settings)
    path = options.ledger or ledger_path(config.ledger, store_url(config.store, make=False))
    if path is None or not path.exists():
        where = (
            f"{path} does not exist; a crawl writes it"
            if path
            else "POLITE_LEDGER names no file, and is not beside a sqlite: store"
        )
        sys.stderr.write(f"No ledger here: {where}.\n")
        return 1
    since = time.time() - options.hours * 3600 if options.hours is not None else None
    proof = prove(Ledger.read(path, since, options.crawl))
    if not proof.requests:
        sys.stderr.write(f"The ledger {path} has no request of that run or time, so nothing is proved.\n")
        return 1
    sys.stdout.write(f"{json.dumps(proof.as_json())}\n" if options.json else f"{proof.as_text()}\n")
    return 0 if proof.passed else 1
