"""``scrapy polite VERB``: the operator's hand.

Every ``scrapy`` command loads every command's module, so nothing heavy is imported here; each verb's module is imported when
that verb runs.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import Any, Final

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.utils.conf import arglist_to_dict
from scrapy.utils.misc import load_object

__all__ = ["Polite"]

VERBS: Final = {
    "explain": "which keys, costs and addresses a URL has, and whether it may be reached",
    "status": "what is held, for how long and why, and the largest origins",
    "origins": "which origins are known, which hosts each has, and why",
    "join": "say by hand that a host, or a whole origin, belongs to an origin",
    "split": "say by hand that a host has an origin of its own",
    "retry": "end the hold of a key by hand, and go on at once",
    "park": "send nothing more to a key, until a person releases it or its time is over",
    "release": "let a key go on that was parked",
    "deferred": "which requests were put off, and for what they wait",
    "redact": "take keys and personal data out of a file, or of standard input",
    "report": "the proof from the ledger: per key the allowed and the kept rate, gaps, holds and violations",
    "settings": "the settings of scrapy_polite, each with its default and what it means",
}
"""Verb -> what it shows, or does. ``commands.<verb>`` has ``add_options(parser)`` and ``run(settings, options)``, which answers
the exit code."""

WITHOUT_A_CRAWL: Final = ("redact", "settings")
"""Verbs that tell nothing of crawls."""

DOES: Final = ("say ", "end ", "send ", "let ", "take ")
"""How the help of a verb begins that does more than to show something."""


class Polite(ScrapyCommand):
    """See the module. The exit code is 0 only if all went well."""

    requires_project = False
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012 (Scrapy's own form)

    def syntax(self) -> str:
        return "VERB [options]"

    def short_desc(self) -> str:
        return "Explain, watch, correct and prove what scrapy_polite does"

    def long_desc(self) -> str:
        return (
            "Explain, watch, correct and prove what scrapy_polite does. Run `scrapy polite VERB --help` for a verb's options."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=argparse.ArgumentParser)
        for name, help_text in VERBS.items():
            verb = verbs.add_parser(name, prog=f"scrapy polite {name}", help=help_text, description=f"{_sentence(help_text)}.")
            # Scrapy's own -s stands before the verb; people write it behind as well.
            verb.add_argument("-s", "--set", dest="set_after", action="append", default=[], metavar="NAME=VALUE")
            verb.add_argument("--json", action="store_true", help="print JSON, one object a line")
            verb.add_argument("--spider", metavar="NAME", help="with that spider's custom_settings")
            module(name).add_options(verb)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if opts.verb is None:
            raise UsageError(f"a verb is missing: one of {', '.join(VERBS)}")
        if args:
            raise UsageError(f"{opts.verb} does not know {' '.join(args)!r}")
        # What a crawl of this project would see: no add-on runs for a command.
        from scrapy_polite.addon import is_on, take_throttling_over

        assert self.settings is not None
        settings = self.settings
        try:
            settings.setdict(arglist_to_dict(opts.set_after), priority="cmdline")
            if opts.spider:
                _with_spider(settings, opts.spider)
            take_throttling_over(settings, None)
            if opts.verb not in WITHOUT_A_CRAWL and not is_on(settings):
                sys.stderr.write(
                    "Note: the add-on is not on here (ADDONS does not name scrapy_polite.Addon, or POLITE_ENABLED is off). "
                    "This is what it would do; a crawl is not held to it.\n"
                )
            self.exitcode = module(opts.verb).run(settings, opts)
        except ValueError as error:
            # Not as a UsageError: that puts the usage of all of Scrapy before what is to be read.
            sys.stderr.write(f"scrapy polite {opts.verb}: {error}\n")
            self.exitcode = 2


def _sentence(help_text: str) -> str:
    return help_text[0].upper() + help_text[1:] if help_text.startswith(DOES) else f"Show {help_text}"


def module(verb: str) -> Any:
    return importlib.import_module(f"scrapy_polite.commands.{verb}")


def _with_spider(settings: Any, name: str) -> None:
    loader_class = load_object(settings["SPIDER_LOADER_CLASS"])
    try:
        spider = loader_class.from_settings(settings.frozencopy()).load(name)
    except KeyError:
        raise ValueError(f"--spider {name}: there is no such spider in this project (`scrapy list` shows them)") from None
    spider.update_settings(settings)
