"""``scrapy polite deferred``: the requests that were put off: shown, written to a file, or dropped."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scrapy_polite.commands.beside import met
from scrapy_polite.commands.holding import key_of
from scrapy_polite.commands.known import Known
from scrapy_polite.commands.stores import existing_store, without_store
from scrapy_polite.commands.words import FOR_GOOD, plural, seen, span
from scrapy_polite.config import Config
from scrapy_polite.deferring import LEASE
from scrapy_polite.puttingoff import images_of, owner_of
from scrapy_polite.stores.base import StoreError
from scrapy_polite.written import written

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from scrapy.settings import BaseSettings

    from scrapy_polite.stores.base import Store
    from scrapy_polite.stores.deferring import Deferred

__all__ = ["add_options", "run"]

ALL: Final = 10_000_000

SHOWN: Final = 20
"""Requests that are shown; ``--json`` and ``--export`` have all."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY", nargs="?", help="only those that wait for this key; a URL or host means its site")
    parser.add_argument("--owner", metavar="OWNER", help="only those of this PROJECT/SPIDER, as it is listed, from anywhere")
    parser.add_argument("--export", metavar="FILE", help="write them to a new file, as JSON, one request a line")
    parser.add_argument("--drop", action="store_true", help="forget them: of KEY, --spider or --owner, or with --all all")
    parser.add_argument("--all", action="store_true", help="with --drop: of all spiders, whatever they wait for")


def run(settings: BaseSettings, options: argparse.Namespace) -> int:
    """0 if it was done, 1 if there is no store, or it cannot answer. ``ValueError`` for a file that cannot be written."""
    if options.drop and not (options.key or options.spider or options.owner or options.all):
        raise ValueError("deferred --drop: of what? Give a KEY, --spider NAME, --owner PROJECT/SPIDER, or --all")
    config = Config.from_settings(settings)
    store = existing_store(config)
    if store is None:
        sys.stderr.write(f"{without_store(config)}\n")
        return 1
    owner = owner_of(settings["BOT_NAME"], options.spider) if options.spider else options.owner
    # Images wait under a name of their own, and belong to the same spider.
    owners = [owner, images_of(owner)] if owner else [None]
    try:
        key = key_of(options.key, config) if options.key else None
        shown = written(config.log_redaction).text if config.log_redaction else str
        return _run(store, owners, key, options, shown)
    except StoreError as error:
        sys.stderr.write(f"The store cannot answer: {error}\n")
        return 1
    finally:
        store.close()


def _run(
    store: Store, owners: Sequence[str | None], key: str | None, options: argparse.Namespace, shown: Callable[[str], str]
) -> int:
    rows = [row for owner in owners for row in store.deferred(owner, key, ALL)]
    if key is not None and not rows and key not in store.count_deferred() and met(known := Known(store), key) is False:
        raise ValueError(f"{key}: nothing waits for it; {known.unknown(key.removeprefix('site:'))}")
    if options.export:
        try:
            # Never over something else; and requests may carry passwords and cookies.
            Path(options.export).touch(0o600, exist_ok=False)
            with Path(options.export).open("w", encoding="utf-8") as file:
                file.writelines(f"{json.dumps(_as_json(row))}\n" for row in rows)
        except OSError as error:
            raise ValueError(f"--export {options.export}: cannot be written ({error.strerror}). Give a new file") from None
    if options.drop:
        gone = sum(store.drop_deferred(owner, key) for owner in owners)
        done = {"dropped": gone}
        sys.stdout.write(f"{json.dumps(done)}\n" if options.json else f"Dropped: {plural(gone, 'request')}\n")
    elif options.export:
        sys.stdout.write(f"Exported: {plural(len(rows), 'request')} to {options.export}\n")
    elif options.json:
        sys.stdout.write("".join(f"{json.dumps(_as_json(row))}\n" for row in rows))
    else:
        sys.stdout.write(_as_text(rows, time.time(), shown))
    return 0


def _as_json(row: Deferred) -> dict[str, Any]:
    return {
        "owner": row.owner,
        "fingerprint": row.fingerprint,
        "key": row.key,
        "url": row.url,
        "method": row.method,
        "callback": row.callback,
        "errback": row.errback,
        "kind": row.kind,
        "reason": row.reason,
        "priority": row.priority,
        "not_before": row.not_before,
        "made": row.made,
        "taken_by": row.run or None,
        "request": json.loads(row.request),
    }


def _as_text(rows: list[Deferred], now: float, shown: Callable[[str], str]) -> str:
    if not rows:
        return "Put off: nothing\n"
    lines = [f"Put off: {plural(len(rows), 'request')}"]
    groups = Counter((row.owner, row.key, row.kind, row.reason) for row in rows)
    for (owner, key, kind, reason), count in groups.most_common():
        lines.append(f"  {owner}  {count} of {key}  {kind}: {seen(reason)}")
    for row in rows[:SHOWN]:
        wait = _wait(row.not_before - now)
        if row.run and row.until > now:
            wait = f"taken by {row.run}, last heard {span(max(0.0, now - row.until + LEASE))} ago"
        lines.append(f"  {row.method} {seen(shown(row.url))}  {wait}")
    if len(rows) > SHOWN:
        lines.append(f"  and {len(rows) - SHOWN} more: --json shows all")
    return "\n".join(lines) + "\n"


def _wait(seconds: float) -> str:
    if seconds > FOR_GOOD:
        return "not before somebody releases its key"
    return f"not before {span(seconds)} from now" if seconds > 0 else "free"
