"""``scrapy polite split``: a person says that a host has servers, and so an origin, of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_polite.commands import hand, ruling

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

__all__ = ["add_options", "run"]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST", help="a host, or a URL")
    hand.add_options(parser)


def run(settings: BaseSettings, options: argparse.Namespace) -> int:
    return ruling.run(settings, options, "split")
