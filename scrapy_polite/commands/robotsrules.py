"""What a site's robots.txt says of a URL, by the copy that crawls have left in the store: nobody is asked for it here."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypedDict

from protego import Protego
from scrapy.settings import SETTINGS_PRIORITIES

from scrapy_polite.backoff.robotstxt import asked_in, interval, obeyed
from scrapy_polite.commands.words import plural, span
from scrapy_polite.robots import netloc_of
from scrapy_polite.stores import robotsnotes

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_polite.stores.base import Store

__all__ = ["Rules", "RulesOf", "as_text"]

OBEY: Final = "ROBOTSTXT_OBEY"


class Rules(TypedDict):
    """What `explain` tells of them; docs/commands.md says what each holds. Seconds; null: nothing is known."""

    file: str
    obeyed: bool
    agent: str
    allowed: bool | None
    age: float | None
    failures: int
    asked_in: float | None
    crawl_delay: float | None
    request_rate: str | None
    least: float


class RulesOf:
    """For whom rules are looked up, and whether they are obeyed, by the settings of a crawl."""

    def __init__(self, settings: BaseSettings) -> None:
        # No add-on runs for a command: it sets what the project leaves open.
        left_open = (settings.getpriority(OBEY) or 0) < SETTINGS_PRIORITIES["addon"]
        self.obeyed = left_open or settings.getbool(OBEY)
        self.agent = str(settings["ROBOTSTXT_USER_AGENT"] or settings["USER_AGENT"] or "")

    def of(self, store: Store, url: str) -> Rules:
        """The rules for a URL of http or https. Raises ``StoreError`` as the store does."""
        netloc, now = netloc_of(url), time.time()
        found: Rules = {
            "file": f"{netloc}/robots.txt",
            "obeyed": self.obeyed,
            "agent": self.agent,
            "allowed": None,
            "age": None,
            "failures": 0,
            "asked_in": None,
            "crawl_delay": None,
            "request_rate": None,
            "least": 0.0,
        }
        copy = robotsnotes.known(store, netloc)
        if copy is None:
            return found
        found |= {"failures": copy.failures, "asked_in": max(0.0, asked_in(copy, now))}
        text = obeyed(copy, now)
        if text is None:
            return found
        parsed = Protego.parse(text)
        found["allowed"] = parsed.can_fetch(url, self.agent)
        if text == copy.text:
            delay, rate = parsed.crawl_delay(self.agent), parsed.request_rate(self.agent)
            found |= {"age": max(0.0, now - copy.read), "crawl_delay": delay}
            found["least"] = interval(delay, rate.requests if rate else 0, rate.seconds if rate else 0)
            if rate is not None:
                found["request_rate"] = f"{rate.requests}/{rate.seconds}"
        return found


def as_text(rules: Rules) -> str:
    """One sentence."""
    file, failures = rules["file"], rules["failures"]
    if rules["allowed"] is None:
        said = f"not known here: a crawl reads {file} before anything else"
    elif rules["age"] is None:
        tried = f"in {plural(failures, 'try', 'tries')}"
        said = f"forbidden: {file} could not be read {tried}, and may be asked for again {_when(rules['asked_in'])}"
    else:
        said = f"{'allowed' if rules['allowed'] else 'forbidden'} by {file}, read {span(rules['age'])} ago"
        if failures:
            said += f" (it could not be read since, in {plural(failures, 'try', 'tries')})"
        delays = {"Crawl-delay": rules["crawl_delay"], "Request-rate": rules["request_rate"]}
        said += "".join(f", {name}: {value}" for name, value in delays.items() if value is not None)
    return said if rules["obeyed"] else f"{said}; not obeyed, since {OBEY} is off"


def _when(seconds: float | None) -> str:
    return f"in {span(seconds)}" if seconds else "now"
