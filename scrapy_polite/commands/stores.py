"""The store of a project, for verbs that look at it or write into it by hand."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from scrapy_polite.commands.words import line, seen
from scrapy_polite.config import Config
from scrapy_polite.paths import store_url
from scrapy_polite.stores.base import StoreError, open_existing, redacted_url

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from scrapy.settings import BaseSettings

    from scrapy_polite.stores.base import Store

__all__ = ["by_hand", "existing_store", "without_store"]


def by_hand(settings: BaseSettings, options: argparse.Namespace, act: Callable[[Config, Store], dict[str, Any]]) -> int:
    """Does one act in the store, and says in its own words (``done``) what was done.

    0 if it was done, 1 if there is no store, or it cannot answer. ``ValueError`` for what cannot be done.
    """
    config = Config.from_settings(settings)
    store = existing_store(config)
    if store is None:
        sys.stderr.write(f"{without_store(config)}\n")
        return 1
    try:
        done = act(config, store)
    except StoreError as error:
        sys.stderr.write(f"The store cannot answer: {error}\n")
        return 1
    finally:
        store.close()
    sys.stdout.write(f"{line(done) if options.json else seen(done['done'])}\n")
    return 0


def existing_store(config: Config) -> Store | None:
    """The store that the settings name, as it is; None where there is none. Looking never makes one.

    ``ValueError`` where there should be one and it cannot be opened.
    """
    return open_existing(store_url(config.store, make=False))


def without_store(config: Config) -> str:
    """Why there is none, and what to do."""
    url = store_url(config.store, make=False)
    if url == "memory:":
        return "No store here: POLITE_STORE is memory:, and that is in the crawl's own process."
    return f"No store here: {redacted_url(url)} does not exist. A crawl makes it; POLITE_STORE says where."
