"""What ``join`` and ``split`` do: write a ruling, or take one back, and say in a sentence what was done."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

from scrapy_polite.commands import hand
from scrapy_polite.commands.known import Known
from scrapy_polite.commands.stores import by_hand
from scrapy_polite.stores.base import Ruling
from scrapy_polite.stores.obeying import enact, name_for, undo, undo_lapsed

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

    from scrapy_polite.config import Config
    from scrapy_polite.stores.base import Store

__all__ = ["run"]


def run(settings: BaseSettings, options: argparse.Namespace, verb: Literal["join", "split"]) -> int:
    """As `by_hand`."""

    def act(_: Config, store: Store) -> dict[str, Any]:
        now = time.time()
        undo_lapsed(store)
        known = Known(store)
        if options.remove:
            return _removed(known, options, verb)
        return (_joined if verb == "join" else _split)(known, options, now)

    return by_hand(settings, options, act)


def _joined(known: Known, options: argparse.Namespace, now: float) -> dict[str, Any]:
    if options.origin is None:
        raise ValueError("join needs two: the HOST, and the ORIGIN that it belongs to (an origin's name, or a host of it)")
    subject, left = _subject(known, options)
    origin = _origin(known, options.origin)
    if subject.startswith("origin:") and left is not None and known.ruling_on(subject) is None:
        if left == origin:
            raise ValueError(f"{subject}: that and {options.origin} are one origin already; see `scrapy polite origins {left}`")
        subject = left  # The name that stands: what its hosts are charged to.
    if subject == origin:
        raise ValueError(f"{subject}: an origin cannot be joined to itself")
    return _rule(known, Ruling(subject, "join", origin, *_said(options, now)), left)


def _split(known: Known, options: argparse.Namespace, now: float) -> dict[str, Any]:
    host, left = _subject(known, options)
    if host.startswith("origin:"):
        raise ValueError(
            f"{host}: split takes hosts, each off its origin. What a person has joined comes apart with "
            f"`scrapy polite join {host} --remove`"
        )
    before = known.ruling_on(host)
    own = before.origin if before is not None and before.verb == "split" else name_for(known.store, host, left)
    return _rule(known, Ruling(host, "split", own, *_said(options, now)), left)


def _rule(known: Known, ruling: Ruling, left: str | None) -> dict[str, Any]:
    before = known.ruling_on(ruling.subject)
    if before is not None and before.origin != ruling.origin:
        undo(known.store, before)
    enact(known.store, ruling, left)
    was = f" Before it was {left}." if left not in (ruling.origin, ruling.subject, None) else ""
    done = f"{hand.sentence(ruling)}.{was} Running crawls obey within a second or two."
    return {**hand.as_json(ruling), "was": left, "removed": False, "done": done}


def _removed(known: Known, options: argparse.Namespace, verb: str) -> dict[str, Any]:
    subject = options.host if options.host.startswith("origin:") else hand.host_of(options.host)
    ruling = known.ruling_on(subject)
    if ruling is None or ruling.verb != verb:
        others = [one.subject for one in known.rulings if one.verb == verb]
        near = hand.nearest(subject, others) if others else "none is of any."
        hint = f"a {ruling.verb} is: `scrapy polite {ruling.verb} {subject} --remove`" if ruling is not None else near
        raise ValueError(f"{options.host}: no {verb} of it is in force; {hint}")
    was = known.origin_of(subject) or known.stands_for(subject)
    undo(known.store, ruling)
    left = subject if subject.startswith("origin:") else Known(known.store).origin_of(subject)
    where = "no crawl has met it" if left is None else "it stands by itself" if left == subject else f"it belongs to {left}"
    done = f"The {verb} of {subject} by {ruling.author} is taken back: {where} now. Running crawls obey within a second or two."
    return {**hand.as_json(ruling), "was": was, "removed": True, "done": done}


def _subject(known: Known, options: argparse.Namespace) -> tuple[str, str | None]:
    """Whom it is about, a host or an origin's name, and the origin that stands for it now; None for a host that was not met."""
    text: str = options.host
    if text.startswith("origin:"):
        return text, _origin(known, text)
    host = hand.host_of(text)
    left = known.origin_of(host)
    if left is None and not options.unseen:
        raise ValueError(f"{text}: {known.unknown(host)} To rule before one does, add --unseen")
    return host, left


def _origin(known: Known, text: str) -> str:
    """The name that stands, of an origin that is given by a name or by a host of its."""
    if text.startswith("origin:"):
        if known.is_origin(text):
            return known.stands_for(text)
        raise ValueError(f"{text}: {known.unknown(text)}")
    host = hand.host_of(text)
    found = known.origin_of(host)
    if found is not None:
        return found
    if known.is_origin(f"origin:{host}"):
        return known.stands_for(f"origin:{host}")
    near = hand.nearest(host, [*known.hosts(), *known.names()])
    raise ValueError(f"{text}: no crawl with this store has met {host}, and no origin is called so; {near}")


def _said(options: argparse.Namespace, now: float) -> tuple[str, str, float, float | None]:
    return (
        hand.author(options.author),
        hand.text_of("--reason", options.reason),
        now,
        hand.end(options.span, options.until, now),
    )
