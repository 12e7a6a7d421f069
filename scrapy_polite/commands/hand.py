"""What ``join`` and ``split`` have in common: who says what of whom, until when; and how that is told."""

from __future__ import annotations

import difflib
import getpass
import os
import re
import socket
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Final

from scrapy_polite.commands.words import LAST, moment
from scrapy_polite.naming.domains import registrable_domain
from scrapy_polite.naming.hosts import Invalid, canonical_host, display_host, parse

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from scrapy_polite.stores.base import Ruling

__all__ = ["add_options", "as_json", "author", "end", "host_of", "nearest", "sentence", "text_of"]

UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")

NEAR: Final = 3
"""Names that are offered for one that nobody knows."""

ALIKE: Final = 0.75
"""From here on names are written alike (1: the same). A letter that is wrong, missing or too many, of four or more."""

LONGEST: Final = 100 * 365 * 86_400.0
"""Seconds. Whoever means longer means for good."""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, for whoever reads it later")
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument(
        "--for", dest="span", metavar="SPAN", help="for so long: a number and s, m, h, d or w, such as 7d (default: for good)"
    )
    ends.add_argument(
        "--until", metavar="DATE", help="until then, in UTC: 2027-01-31 (the end of that day) or 2027-01-31T18:00"
    )
    parser.add_argument("--author", metavar="NAME", help="who says so (default: user@machine)")
    parser.add_argument("--unseen", action="store_true", help="also for a host that no crawl with this store has met")
    parser.add_argument("--remove", action="store_true", help="take the ruling back")


def end(span: str | None, until: str | None, now: float) -> float | None:
    """The unix time at which a ruling runs out; None: never. ``ValueError`` for what is no span or no date to come."""
    if span is not None:
        found = _SPAN.fullmatch(span.strip())
        seconds = float(found[1]) * UNITS[found[2]] if found else 0.0
        if not 0 < seconds <= LONGEST:
            raise ValueError(f"--for {span}: give a number above 0 and one of {', '.join(UNITS)}, such as 7d or 12h")
        return now + seconds
    if until is None:
        return None
    try:
        date = datetime.fromisoformat(until.strip().removesuffix("Z"))
    except ValueError:
        raise ValueError(f"--until {until}: give a date in UTC, such as 2027-01-31 or 2027-01-31T18:00") from None
    seconds = (date if date.tzinfo else date.replace(tzinfo=timezone.utc)).timestamp()
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", until.strip()):
        seconds += UNITS["d"]
    if seconds <= now:
        raise ValueError(f"--until {until}: that is over already; it is {moment(now)}")
    if seconds > LAST:
        raise ValueError(f"--until {until}: no calendar here goes so far; leave the option out for good")
    return seconds


def author(given: str | None) -> str:
    """Who rules: as given, else the user of this process and the machine."""
    if given is not None:
        if not given.strip():
            raise ValueError("--author: the name is empty; leave the option out for user@machine")
        return text_of("--author", given)
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # In a container a user may have a number alone.
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()}"


def text_of(option: str, given: str) -> str:
    """What somebody wrote of himself or of his reasons, as stores keep it; ``ValueError`` for what is no text."""
    try:
        given.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{option} {given!r}: that is no text in the encoding of this terminal; write it in UTF-8") from None
    return " ".join(given.split())


def host_of(text: str) -> str:
    """The canonical host of a URL, or of a bare host; ``ValueError`` for what is neither."""
    target = parse(text) if "//" in text else None
    host = target.host if target is not None and not isinstance(target, Invalid) else target or canonical_host(text)
    if isinstance(host, Invalid):
        raise ValueError(f"{text}: {host.detail} Give a URL, a host, or an origin's name such as origin:sites.example.com")
    return host


def nearest(name: str, known: Iterable[str]) -> str:
    """Which names somebody may have meant, as the end of a sentence: those of one domain first, then those that are written
    alike."""
    name, known = name.removeprefix("origin:"), list(known)
    bare = {one: one.removeprefix("origin:") for one in known}
    domain = registrable_domain(name)
    family = [one for one in known if registrable_domain(bare[one]) == domain]
    # Of other domains only what tells them apart is compared: they all begin and end alike.
    alike = {one: _likeness(_stem(name), _stem(bare[one])) for one in known}
    others = sorted((one for one in known if alike[one] >= ALIKE), key=lambda one: -alike[one])
    family.sort(key=lambda one: -_likeness(name, bare[one]))
    near = list(dict.fromkeys([*family, *others]))[:NEAR]
    return f"did you mean {', '.join(near)}?" if near else "nothing that is known is written alike."


def _stem(name: str) -> str:
    """What tells domains apart: the label before the public suffix; all of an address."""
    return name if name[-1:].isdigit() else registrable_domain(name).split(".")[0]


def _likeness(one: str, other: str) -> float:
    """From 0 to 1; of what is clearly unlike a bound that costs less."""
    matcher = difflib.SequenceMatcher(None, one, other)
    bound = matcher.quick_ratio()
    return matcher.ratio() if bound >= ALIKE else bound


def sentence(ruling: Ruling, *, lapsed: bool = False) -> str:
    """Who has ruled what, when, until when and why."""
    shown = ruling.subject if ruling.subject.startswith("origin:") else display_host(ruling.subject)
    if ruling.verb == "split":
        said = f"{shown} has an origin of its own, {ruling.origin}"
    elif ruling.subject.startswith("origin:"):
        said = f"{shown} and {ruling.origin} are one origin"
    else:
        said = f"{shown} belongs to {ruling.origin}"
    until = "for good" if ruling.until is None else f"{'ran out at' if lapsed else 'until'} {moment(ruling.until)}"
    why = f": {ruling.reason}" if ruling.reason else ""
    return f"{said}, by {ruling.author} at {moment(ruling.made)}, {until}{why}"


def as_json(ruling: Ruling) -> dict[str, Any]:
    return {
        "subject": ruling.subject,
        "verb": ruling.verb,
        "origin": ruling.origin,
        "author": ruling.author,
        "reason": ruling.reason,
        "made": ruling.made,
        "until": ruling.until,
    }
