"""``scrapy polite retry``: end a key's hold, whatever it is for, and go now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_polite.commands import holding

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

__all__ = ["add_options", "run"]


def add_options(parser: argparse.ArgumentParser) -> None:
    holding.add_options(parser)
    parser.add_argument("--force", action="store_true", help="also where the server itself has named the time")


def run(settings: BaseSettings, options: argparse.Namespace) -> int:
    return holding.run(settings, options, _retried)


def _retried(hand: holding.Hand) -> dict[str, Any]:
    hand.require_hold()
    return hand.end("retried")
