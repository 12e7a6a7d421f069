"""``scrapy polite status``: what is held, for how long and why, and how many origins are known."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Final

from scrapy_polite.commands.known import Known
from scrapy_polite.commands.stores import existing_store, without_store
from scrapy_polite.commands.words import plural
from scrapy_polite.config import Config
from scrapy_polite.stores.base import StoreError
from scrapy_polite.stores.looking import LookOnly

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

    from scrapy_polite.stores.base import Held

__all__ = ["add_options", "run"]

LARGEST: Final = 10
"""Origins that are shown; ``scrapy polite origins`` shows more."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """No options beside those of every verb."""


def run(settings: BaseSettings, options: argparse.Namespace) -> int:
    """Print every live hold, then the largest origins. 1 where there is no store: a crawl makes it, looking does not."""
    config = Config.from_settings(settings)
    store = existing_store(config)
    if store is None:
        sys.stderr.write(f"{without_store(config)}\n")
        return 1
    try:
        known = Known(LookOnly(store))
        held, origins = store.held(), known.origins()
        aliases = known.aliases_of([name for name, _ in origins[:LARGEST]])
    except StoreError as error:
        sys.stderr.write(f"The store cannot answer: {error}\n")
        return 1
    finally:
        store.close()
    totals = {"origins": len(origins), "hosts": sum(hosts for _, hosts in origins), "rulings": len(known.rulings)}
    if options.json:
        shown = [
            *map(_hold, held),
            totals,
            *({"origin": name, "hosts": hosts, "aliases": aliases.get(name, [])} for name, hosts in origins[:LARGEST]),
        ]
        sys.stdout.write("".join(f"{json.dumps(one)}\n" for one in shown))
    else:
        sys.stdout.write(_as_text(held, origins, aliases, totals))
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


def _as_text(held: list[Held], origins: list[tuple[str, int]], aliases: dict[str, list[str]], totals: dict[str, int]) -> str:
    lines = [f"Held: {len(held) or 'nothing'}"]
    lines += [f"  {hold.key}  {hold.seconds:.1f} s more  {hold.cause.kind}: {hold.cause.reason}" for hold in held]
    ruled = f"; {plural(totals['rulings'], 'ruling')} by hand" if totals["rulings"] else ""
    lines.append(f"Origins: {len(origins)}, of {plural(totals['hosts'], 'host')}{ruled}" if origins else "Origins: none yet")
    for name, hosts in origins[:LARGEST]:
        also = f", also known as {', '.join(aliases[name])}" if name in aliases else ""
        lines.append(f"  {name}  {plural(hosts, 'host')}{also}")
    if len(origins) > LARGEST:
        lines.append(f"  and {len(origins) - LARGEST} more: scrapy polite origins")
    return "\n".join(lines) + "\n"
