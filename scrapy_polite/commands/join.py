"""``scrapy polite join``: a person says that a host, or a whole origin, belongs to an origin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_polite.commands import hand, ruling

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

__all__ = ["add_options", "run"]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("host", metavar="HOST", help="a host, a URL, or an origin's name: then both origins are one")
    parser.add_argument("origin", metavar="ORIGIN", nargs="?", help="an origin's name, or a host whose origin is meant")
    hand.add_options(parser)


def run(settings: BaseSettings, options: argparse.Namespace) -> int:
    return ruling.run(settings, options, "join")
