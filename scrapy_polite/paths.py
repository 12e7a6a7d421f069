"""Where the store and the ledger live, also inside an egg, where Scrapy's own ``data_path()`` gives up.

Scrapy raises ``NotConfigured`` when it finds no scrapy.cfg, and in an add-on that means "go on without": a crawl deployed with
Scrapyd would then run unprotected. So the rule is our own, and its errors are ``ValueError``.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from scrapy.utils.conf import closest_scrapy_cfg, get_config

from scrapy_polite.settings import BESIDE_THE_STORE

__all__ = ["ledger_path", "store_url", "writable"]

_SQLITE: Final = "sqlite:"


def data_directory() -> Path:
    """The project's data directory: what ``[datadir]`` of scrapy.cfg says, else ``.scrapy`` beside scrapy.cfg, else (in an
    egg under Scrapyd, or outside a project) ``.scrapy`` of the working directory, which all jobs of one daemon share."""
    project = os.environ.get("SCRAPY_PROJECT", "default")
    config = get_config()
    if config.has_option("datadir", project):
        return Path(config.get("datadir", project)).expanduser().resolve()
    nearest = closest_scrapy_cfg()
    return (Path(nearest).parent if nearest else Path.cwd()).resolve() / ".scrapy"


def store_url(store: str, *, make: bool = True) -> str:
    """``POLITE_STORE`` with the bare ``sqlite:`` turned into a path, whose directory is made unless ``make`` is False."""
    if store != _SQLITE:
        return store
    directory = data_directory() / "polite"
    if make:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"POLITE_STORE = {store!r}: the directory {directory} cannot be made ({error.strerror}). Accepted is a place "
                "that this user may write to: give one with POLITE_STORE = 'sqlite:PATH', or set [datadir] in scrapy.cfg."
            ) from None
    return f"{_SQLITE}{directory / 'limits.sqlite'}"


def ledger_path(ledger: str | None, url: str) -> Path | None:
    """The ledger's file, or None where there is none: by choice, or because the store is memory alone."""
    if ledger is None:
        return None
    if ledger != BESIDE_THE_STORE:
        return Path(ledger).expanduser()
    if not url.startswith(_SQLITE):
        return None
    store = Path(url.removeprefix(_SQLITE))
    return store.with_name(store.stem + ".ledger.sqlite")


def writable(ledger: Path) -> None:
    """``ValueError`` where no file can be written: a ledger that is asked for and not kept proves nothing."""
    if ledger.is_dir() or not os.access(ledger if ledger.exists() else ledger.parent, os.W_OK):
        raise ValueError(
            f"POLITE_LEDGER: {ledger} cannot be written. Accepted is a file in a directory that exists and that this user may "
            "write to; None for no ledger."
        )
