"""How slowly origins are crawled by what the store knows of their answers, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from scrapy_polite.backoff.pace import pace
from scrapy_polite.backoff.pacewords import because, is_first_contact
from scrapy_polite.stores.paces import paces

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_polite.backoff.pacestate import State
    from scrapy_polite.config import Config
    from scrapy_polite.stores.base import Store

__all__ = ["news_of", "paces_of", "slowed"]

SLOWED: Final = 1.05
"""A pace that is worth to be shown."""


def paces_of(store: Store, config: Config, origins: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """By origin, each kind of page of which something is known: its ``pace`` when it was last heard, and why."""
    return {
        origin: [_told(config, origin, *one) for one in states.items()] for origin, states in _states(store, config, origins)
    }


def news_of(store: Store, config: Config, origins: Iterable[str]) -> tuple[dict[str, list[dict[str, Any]]], int]:
    """The same without what slows every crawl: robots.txt, which is read once a day, and what is slow for no other reason than
    that it is new; and how many origins have something of that."""
    found: dict[str, list[dict[str, Any]]] = {}
    fresh = 0
    for origin, states in _states(store, config, origins):
        pages = {kind: state for kind, state in states.items() if kind != "robots"}
        known = {kind: state for kind, state in pages.items() if not is_first_contact(state)}
        fresh += any(_told(config, origin, *one)["pace"] > SLOWED for one in pages.items() if one[0] not in known)
        if known:
            found[origin] = [_told(config, origin, *one) for one in known.items()]
    return found, fresh


def _states(store: Store, config: Config, origins: Iterable[str]) -> Iterable[tuple[str, dict[str, State]]]:
    return paces(store, origins).items() if config.paces else ()


def _told(config: Config, origin: str, kind: str, state: State) -> dict[str, Any]:
    rate = config.limits.of(origin).rate / config.kinds.cost(kind)
    return {"kind": kind, "pace": round(pace(state, rate), 2), "because": because(state, rate)}


def slowed(told: Iterable[dict[str, Any]]) -> list[str]:
    """One sentence for each kind that goes slower than its rate."""
    return [f"{one['kind']} at 1/{one['pace']:g} of the rate, since {one['because']}" for one in told if one["pace"] > SLOWED]
