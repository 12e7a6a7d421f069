"""The store of a project, for verbs that look at it or write into it by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_polite.paths import store_url
from scrapy_polite.stores.base import open_existing, redacted_url

if TYPE_CHECKING:
    from scrapy_polite.config import Config
    from scrapy_polite.stores.base import Store

__all__ = ["existing_store", "without_store"]


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
