"""``scrapy polite settings``: what can be set, from the one table, where nobody has built the documentation."""

from __future__ import annotations

import re
import shutil
import textwrap
from typing import TYPE_CHECKING, Any, Final

from scrapy_polite.commands.lines import delivered
from scrapy_polite.commands.words import line
from scrapy_polite.settings import SETTINGS, named

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

    from scrapy_polite.settings import Setting

__all__ = ["add_options", "run"]

PREFIX: Final = "POLITE_"

LINK: Final = re.compile(r"\[[^\]]*\]\(([^)]*)\)")
"""A link of the documentation: on a terminal its page is named."""

SENTENCE: Final = re.compile(r"(?<=\.) (?=[A-Z`])")

MARGIN: Final = 2


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="all that there is to say of one, also without POLITE_ and in small letters"
    )


def run(_settings: BaseSettings, options: argparse.Namespace) -> int:
    """0; a name that is no setting's is a ``ValueError``."""
    width = shutil.get_terminal_size((0, 0)).columns
    rows = SETTINGS if options.name is None else (named(f"{PREFIX}{options.name.upper().removeprefix(PREFIX)}"),)

    def answers() -> Iterator[bytes]:
        for row in rows:
            text = line(_fields(row)) if options.json else "\n".join(_shown(row, width, whole=options.name is not None))
            yield f"{text}\n".encode()

    return delivered(answers())


def _fields(row: Setting[Any]) -> dict[str, object]:
    return {"name": row.name, "default": row.default, "accepts": row.accepts, "meaning": _plain(row.meaning)}


def _plain(text: str) -> str:
    return LINK.sub(r"docs/\1", text)


def _shown(row: Setting[Any], width: int, *, whole: bool) -> Iterator[str]:
    """As a line of ``settings.py``, which is never wrapped, with its first sentence below, or all of them."""
    yield f"{row.name} = {row.default!r}"
    meaning = _plain(row.meaning)
    yield from _wrapped(meaning if whole else SENTENCE.split(meaning, maxsplit=1)[0], width)
    if whole:
        yield from _wrapped(f"Accepted is {_plain(row.accepts)}.", width)


def _wrapped(text: str, width: int) -> list[str]:
    """Indented, and in lines for a terminal of so many columns; 0: in one."""
    indent = " " * MARGIN
    if not width:
        return [indent + text]
    return textwrap.wrap(
        text,
        max(20, width),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
