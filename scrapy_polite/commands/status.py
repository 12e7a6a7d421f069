"""``scrapy polite status``: what is held, for how long and why, and which origins are known."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from scrapy_polite.paths import store_url
from scrapy_polite.settings import Config
from scrapy_polite.stores.base import redacted_url

from .explain import existing_store

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

    from scrapy_polite.stores.base import Held

__all__ = ["add_options", "run"]


def add_options(parser: argparse.ArgumentParser) -> None:
    """No options beside those of every verb."""


def run(settings: BaseSettings, options: argparse.Namespace) -> int:
    """Print every live hold, then every origin. 1 where there is no store: a crawl makes it, looking does not."""
    config = Config.from_settings(settings)
    store = existing_store(config)
    if store is None:
        where = store_url(config.store, make=False)
        if where.startswith("sqlite:"):
            why = f"{where} does not exist. A crawl makes it; POLITE_STORE says where."
        else:
            why = f"POLITE_STORE is {redacted_url(where)}, and only sqlite: stores can be looked at."
        sys.stderr.write(f"No store here: {why}\n")
        return 1
    try:
        held, origins = store.held(), store.origins()
    finally:
        store.close()
    if options.json:
        for hold in held:
            sys.stdout.write(f"{json.dumps(_hold(hold))}\n")
        for name, hosts in origins:
            sys.stdout.write(json.dumps({"origin": name, "hosts": hosts}) + "\n")
    else:
        sys.stdout.write(_as_text(held, origins))
    return 0


def _hold(hold: Held) -> dict[str, object]:
    cause = hold.cause
    return {
        "key": hold.key,
        "hold": round(hold.seconds, 3),
        "kind": cause.kind,
        "reason": cause.reason,
        "stated": cause.stated,
    }


def _as_text(held: list[Held], origins: list[tuple[str, int]]) -> str:
    lines = [f"Held: {len(held) or 'nothing'}"]
    lines += [f"  {hold.key}  {hold.seconds:.1f} s more  {hold.cause.kind}: {hold.cause.reason}" for hold in held]
    lines.append(f"Origins: {len(origins) or 'none yet'}")
    lines += [f"  {name}  of {hosts} host{'s' * (hosts != 1)}" for name, hosts in origins]
    return "\n".join(lines) + "\n"
