"""What ``retry``, ``release`` and ``park`` do: end a hold or begin one, and leave an audit line with who and why."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from scrapy_polite.commands import beside, hand
from scrapy_polite.commands.known import Known
from scrapy_polite.commands.stores import by_hand
from scrapy_polite.commands.words import FOR_GOOD, UNTIL_RELEASED, lasting, moment, plural
from scrapy_polite.hearing import begun_anew
from scrapy_polite.holding import LADDERS
from scrapy_polite.naming.sites import Sites
from scrapy_polite.paths import ledger_path, store_url
from scrapy_polite.stores.acts import Act, add
from scrapy_polite.stores.base import LONGEST_HOLD, Cause
from scrapy_polite.telemetry.events import HeldEvent
from scrapy_polite.telemetry.ledger import Ledger

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from scrapy.settings import BaseSettings

    from scrapy_polite.config import Config
    from scrapy_polite.stores.base import Held, Peek, Store

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
        self.known = Known(store)
        self.before: Peek = store.peek([self.key])[self.key]

    @property
    def why(self) -> str:
        reason = self.options.reason.strip()
        return f"by {self.author}{f': {reason}' if reason else ''}"

    @property
    def shown(self) -> str:
        """The hold as it was."""
        return self._hold_as(lasting(self.before.hold_in))

    def _hold_as(self, lasts: str) -> str:
        cause = self.before.cause
        return f"{cause.kind}: {cause.reason}, {lasts}" if cause is not None else ""

    def require_met(self) -> None:
        """``ValueError`` for a site or an origin that nobody knows, unless that is meant."""
        if not self.options.unseen and self.before.cause is None and beside.met(self.known, self.key) is False:
            unknown = self.known.unknown(self.key.removeprefix(beside.SITE))
            raise ValueError(f"{self.key}: {unknown} To park it before a crawl meets it, add --unseen")

    def require_hold(self) -> Cause:
        """Its cause. ``ValueError`` where there is none to end, and where a server has stated it."""
        cause = self.before.cause
        if cause is None:
            raise ValueError(self._not_held())
        if cause.stated and not self.options.force:
            when = "had named a time before it was parked" if cause.kind == "parked" else "has named the time"
            raise ValueError(f"{self.key}: the server itself {when} ({self.shown}). To go against that, add --force")
        return cause

    def _not_held(self) -> str:
        if self.key.startswith(beside.SITE) and (holds := beside.also_held(self.known, self.key)):
            hold = holds[0]
            return (
                f"{self.key} is not held itself, but its origin {hold.key} is, {lasting(hold.seconds)} "
                f"({hold.cause.kind}: {hold.cause.reason}): `{beside.ends_with(hold)}`"
            )
        is_met = beside.met(self.known, self.key)
        if is_met is False:
            return f"{self.key} is not held: {self.known.unknown(self.key.removeprefix(beside.SITE))}"
        return f"{self.key} is {'known and ' if is_met else ''}not held; `scrapy polite status` shows what is"

    def end(self, verb: str) -> dict[str, Any]:
        """End the hold, and let what waits for it go."""
        self.store.release(self.key)
        self.store.note(self.key, LADDERS, begun_anew())  # The next refusal begins at the first rung.
        hastened = self.store.hasten_deferred(self.key)
        self._audit(0.0, verb, f"{self.why} (was {self.shown})")
        waiting = f" Free to be taken up: {plural(hastened, 'request')} that waited for it." if hastened else ""
        still, slow = beside.also_held(self.known, self.key), beside.slowed(self.known, self._config, self.key)
        more = beside.still_waits(self.key, still) + (slow.sentence() if slow is not None else "")
        done = f"{self.key} goes on, {self.why}. It was held: {self.shown}.{waiting} Running crawls obey within a second.{more}"
        return self._told(done, hold=0.0, taken_up=hastened, still=still, pace=slow.pace if slow is not None else 1.0)

    def hold(self, seconds: float) -> dict[str, Any]:
        """Park the key; by maximum, as every hold."""
        was, left = self.before.cause, self.before.hold_in
        until = UNTIL_RELEASED if left > FOR_GOOD else f"until {moment(time.time() + left)}"
        if was is not None and left >= min(seconds, FOR_GOOD):
            parked = f"is parked {until} already ({was.reason}); `scrapy polite release {self.key}` first"
            raise ValueError(
                f"{self.key} {parked}" if was.kind == "parked" else f"{self.key} is held for longer already ({self.shown})"
            )
        # What is under it stays to be seen, and stated where a server has stated it.
        why = f"{self.why} (over {self._hold_as(until)})" if was is not None else self.why
        cause = Cause("parked", why, stated=was is not None and was.stated)
        self.store.hold(self.key, seconds, cause)
        now = self.store.peek([self.key])[self.key]
        if now.cause is None or now.cause.kind != "parked" or now.cause.reason != cause.reason:
            raise ValueError(f"{self.key}: somebody else holds it for longer since just now; `scrapy polite status` shows it")
        self._audit(now.hold_in, "parked", cause.reason)
        until = UNTIL_RELEASED if seconds >= LONGEST_HOLD else f"until {moment(time.time() + now.hold_in)}"
        done = f"{self.key} is parked {until}, {self.why}. Running crawls send nothing more to it."
        still, end = beside.also_held(self.known, self.key), None if seconds >= LONGEST_HOLD else time.time() + now.hold_in
        return self._told(done, hold=round(now.hold_in, 3), until=end, still=still)

    def _told(
        self,
        done: str,
        *,
        hold: float,
        until: float | None = None,
        taken_up: int = 0,
        still: list[Held],
        pace: float | None = None,
    ) -> dict[str, Any]:
        cause = self.before.cause
        was = {"kind": cause.kind, "reason": cause.reason, "hold": round(self.before.hold_in, 3)} if cause is not None else None
        return {
            "key": self.key,
            "author": self.author,
            "reason": self.options.reason.strip(),
            "was": was,
            "hold": hold,
            "until": until,
            "taken_up": taken_up,
            "still": [beside.as_json(one) for one in still],
            "pace": pace,
            "done": done,
        }

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
    """As `by_hand`."""
    return by_hand(settings, options, lambda config, store: act(Hand(config, store, options)))


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
