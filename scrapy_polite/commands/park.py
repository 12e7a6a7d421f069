"""``scrapy polite park``: send nothing more to a key, until somebody releases it or its time is over."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from scrapy_polite.commands import hand as by_hand
from scrapy_polite.commands import holding
from scrapy_polite.stores.base import LONGEST_HOLD

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

__all__ = ["add_options", "run"]


def add_options(parser: argparse.ArgumentParser) -> None:
    holding.add_options(parser)
    parser.add_argument(
        "--for",
        dest="span",
        metavar="SPAN",
        help="for so long: a number and s, m, h, d or w, such as 7d (default: until it is released)",
    )
    parser.add_argument("--unseen", action="store_true", help="also a site or an origin that no crawl with this store has met")


def run(settings: BaseSettings, options: argparse.Namespace) -> int:
    return holding.run(settings, options, _parked)


def _parked(hand: holding.Hand) -> dict[str, Any]:
    hand.require_met()
    now = time.time()
    end = by_hand.end(hand.options.span, None, now)
    return hand.hold(LONGEST_HOLD if end is None else end - now)
