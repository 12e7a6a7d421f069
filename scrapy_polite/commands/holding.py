"""What ``retry``, ``release`` and ``park`` do: end a hold or begin one, and leave an audit line with who and why."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

from scrapy_polite.commands import hand
from scrapy_polite.commands.stores import existing_store, without_store
from scrapy_polite.commands.words import line, moment, plural, seen, span
from scrapy_polite.config import Config
from scrapy_polite.hearing import begun_anew
from scrapy_polite.holding import LADDERS
from scrapy_polite.naming.sites import Sites
from scrapy_polite.paths import ledger_path, store_url
from scrapy_polite.stores.acts import Act, add
from scrapy_polite.stores.base import LONGEST_HOLD, Cause, StoreError
from scrapy_polite.telemetry.events import HeldEvent
from scrapy_polite.telemetry.ledger import Ledger

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from scrapy.settings import BaseSettings

    from scrapy_polite.stores.base import Peek, Store

__all__ = ["Hand", "add_options", "run"]

KINDS: Final = ("site:", "origin:", "edge:", "bucket:", "imageservice:")
"""How keys begin."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY", help="a key such as site:www.example.com, or a URL or host, which mean its site")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, for whoever reads it later")
    parser.add_argument("--author", metavar="NAME", help="who says so (default: user@machine)")


class Hand:
    """One act on one key."""

    def __init__(self, config: Config, store: Store, options: argparse.Namespace) -> None:
        self._config = config
        self.store = store
        self.options = options
        self.key = key_of(options.key, config)
        self.author = hand.author(options.author)
        self.before: Peek = store.peek([self.key])[self.key]

    @property
    def why(self) -> str:
        reason = self.options.reason.strip()
        return f"by {self.author}{f': {reason}' if reason else ''}"

    @property
    def shown(self) -> str:
        """The hold as it was."""
        cause = self.before.cause
        return f"{cause.kind}: {cause.reason}, {span(self.before.hold_in)} more" if cause is not None else ""

    def require_hold(self) -> Cause:
        """Its cause. ``ValueError`` where there is none to end, and where a server has stated it."""
        cause = self.before.cause
        if cause is None:
            near = hand.nearest(self.key, [held.key for held in self.store.held()])
            raise ValueError(f"{self.options.key}: {self.key} is not held; {near} `scrapy polite status` shows what is")
        if cause.stated and not self.options.force:
            raise ValueError(
                f"{self.key}: the server itself has named the time ({self.shown}). To go against that, add --force"
            )
        return cause

    def end(self) -> dict[str, Any]:
        """End the hold, and let what waits for it go."""
        self.store.release(self.key)
        self.store.note(self.key, LADDERS, begun_anew())  # The next refusal begins at the first rung.
        hastened = self.store.hasten_deferred(self.key)
        self._audit(0.0, "released", f"{self.why} (was {self.shown})")
        waiting = f" Free to be taken up: {plural(hastened, 'request')} that waited for it." if hastened else ""
        done = f"{self.key} goes on, {self.why}. It was held: {self.shown}.{waiting} Running crawls obey within a second."
        return self._told(done, hold=0.0, taken_up=hastened)

    def hold(self, seconds: float) -> dict[str, Any]:
        """Park the key; by maximum, as every hold."""
        was = self.before.cause
        # What a server has stated stays stated under it.
        cause = Cause("parked", self.why, stated=was is not None and was.stated)
        self.store.hold(self.key, seconds, cause)
        now = self.store.peek([self.key])[self.key]
        if now.cause is None or now.cause.kind != "parked" or now.cause.reason != cause.reason:
            raise ValueError(f"{self.key}: it is held for longer already ({self.shown})")
        self._audit(now.hold_in, "parked", cause.reason)
        until = "until somebody releases it" if seconds >= LONGEST_HOLD else f"until {moment(time.time() + now.hold_in)}"
        done = f"{self.key} is parked {until}, {self.why}. Running crawls send nothing more to it."
        return self._told(done, hold=round(now.hold_in, 3), taken_up=0)

    def _told(self, done: str, **more: object) -> dict[str, Any]:
        cause = self.before.cause
        was = {"kind": cause.kind, "reason": cause.reason, "hold": round(self.before.hold_in, 3)} if cause is not None else None
        return {"key": self.key, "author": self.author, "reason": self.options.reason.strip(), "was": was, **more, "done": done}

    def _audit(self, seconds: float, kind: str, reason: str) -> None:
        add(self.store, Act(time.time(), self.key, kind, self.author, self.options.reason.strip(), self.shown))
        path = ledger_path(self._config.ledger, store_url(self._config.store, make=False))
        if path is None:
            return
        now = self.store.now()
        ledger = Ledger(path, f"by hand {time.time():.0f}")
        ledger.record(HeldEvent(now, self.key, now + round(seconds * 1e6), kind, reason))
        ledger.close()


def run(settings: BaseSettings, options: argparse.Namespace, act: Callable[[Hand], dict[str, Any]]) -> int:
    """0 if it was done, 1 if there is no store, or it cannot answer. ``ValueError`` for what cannot be done."""
    config = Config.from_settings(settings)
    store = existing_store(config)
    if store is None:
        sys.stderr.write(f"{without_store(config)}\n")
        return 1
    try:
        done = act(Hand(config, store, options))
    except StoreError as error:
        sys.stderr.write(f"The store cannot answer: {error}\n")
        return 1
    finally:
        store.close()
    sys.stdout.write(f"{line(done) if options.json else seen(done['done'])}\n")
    return 0


def key_of(text: str, config: Config) -> str:
    """The key that crawls use. ``ValueError`` for what can be none: to hold it would hold nothing."""
    if text.startswith("site:"):
        return f"site:{hand.host_of(text.removeprefix('site:'))}"
    if text.startswith(KINDS):
        name = text.partition(":")[2]
        if not name or not name.isprintable() or any(mark.isspace() for mark in name):
            raise ValueError(f"{text!r}: no key has such a name. `scrapy polite explain URL` tells the keys of a URL")
        return text
    if "//" in text:
        hand.host_of(text)
        return Sites(config.stores).of(text)
    return f"site:{hand.host_of(text)}"
