"""``scrapy polite explain``: what would happen to a URL, station by station, without sending anything to its server."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from functools import partial
from typing import TYPE_CHECKING, Final

from scrapy_polite.commands.explainjson import OfflineLines, as_json
from scrapy_polite.commands.explaintext import as_text
from scrapy_polite.commands.explanation import Explainer
from scrapy_polite.commands.fields import invalid
from scrapy_polite.commands.lines import decoded, delivered, lines
from scrapy_polite.commands.proxies import EnvironmentProxies
from scrapy_polite.commands.robotsrules import RulesOf
from scrapy_polite.commands.stores import existing_store
from scrapy_polite.config import Config

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

    from scrapy_polite.commands.fields import Explanation
    from scrapy_polite.naming.hosts import Invalid
    from scrapy_polite.stores.base import Store

__all__ = ["add_options", "run"]

STDIN: Final = "-"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("urls", nargs="+", metavar="URL", help="`-`: one URL a line from standard input")
    parser.add_argument(
        "--offline", action="store_true", help="ask neither DNS nor the store; `admitted` is null where only DNS can tell"
    )


def run(settings: BaseSettings, options: argparse.Namespace) -> int:
    """Explain every URL, in order. 0 if nothing speaks against fetching them all; 1 if one is refused, has no address, or is
    forbidden by a robots.txt that is obeyed."""
    config = Config.from_settings(settings)
    kept = None if options.offline else _looked_at(config)
    proxies = EnvironmentProxies(settings, config.proxies | config.trusted_proxies)
    explainer = Explainer(config, proxies, kept, RulesOf(settings))
    fast = OfflineLines(explainer) if options.offline and options.json else None
    width = shutil.get_terminal_size((0, 0)).columns
    # Run for each URL: while it stands still, standard input may be waited for, and SIGINT is heard.
    loop = asyncio.new_event_loop()
    encoding = "utf-8" if options.json else sys.stdout.encoding
    good = True

    def explained(url: str, wrong: Invalid | None, listed: bool) -> Explanation:
        if wrong is not None:
            return invalid(url, wrong)
        if options.offline:
            return explainer.offline(url)
        # The names of addresses take half a second each: too long for every line of a list.
        return loop.run_until_complete(explainer.online(url, pointers=not listed))

    def answers() -> Iterator[bytes]:
        nonlocal good
        for line, listed in _asked(options.urls):
            url, wrong = decoded(line)
            if fast is not None and wrong is None:
                answer, refused = fast.line(url)
            else:
                found = explained(url, wrong, listed)
                answer = as_json(found) if options.json else as_text(found, width)
                refused = found["admitted"] is False or _forbidden(found)
            good = good and not refused
            yield f"{answer}\n".encode(encoding, "backslashreplace")
            if not options.offline:
                sys.stdout.buffer.flush()

    try:
        ended = delivered(answers())
    finally:
        loop.run_until_complete(_end(explainer))
        loop.close()
    return ended or (0 if good else 1)


def _forbidden(found: Explanation) -> bool:
    rules = found["robots"]
    return rules is not None and rules["obeyed"] and rules["allowed"] is False


def _looked_at(config: Config) -> Store | None:
    """The store, if there is one; what is said of a URL without a database that is away is worth more than nothing."""
    try:
        return existing_store(config)
    except ValueError as error:
        if config.store.startswith("sqlite:"):
            raise
        sys.stderr.write(f"{error}\nSo nothing is said of what is only in the store.\n")
        return None


def _asked(urls: list[str]) -> Iterator[tuple[bytes, bool]]:
    """What was given, and whether it came from a list."""
    for url in urls:
        if url != STDIN:
            yield os.fsencode(url), False
        elif sys.stdin is None:
            raise ValueError("-: there is no standard input to read URLs from")
        else:
            for line in lines(partial(os.read, sys.stdin.fileno()), sys.stdout.buffer.flush):
                yield line, True


async def _end(explainer: Explainer) -> None:
    """Also after SIGINT in the middle of a look-up."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await explainer.close()
