"""``scrapy polite release``: let a parked key go again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy_polite.commands import holding

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

__all__ = ["add_options", "run"]


def add_options(parser: argparse.ArgumentParser) -> None:
    holding.add_options(parser)
    parser.add_argument("--force", action="store_true", help="also where the server itself had named a time before")


def run(settings: BaseSettings, options: argparse.Namespace) -> int:
    return holding.run(settings, options, _released)


def _released(hand: holding.Hand) -> dict[str, Any]:
    cause = hand.before.cause
    if cause is not None and cause.kind != "parked":
        raise ValueError(f"{hand.key}: it is not parked, but held ({hand.shown}): `scrapy polite retry {hand.key}` ends that")
    hand.require_hold()
    return hand.end("released")
