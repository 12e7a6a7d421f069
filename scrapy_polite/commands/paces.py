"""How slowly origins are crawled by what the store knows of their answers, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from scrapy_polite.backoff.pace import pace
from scrapy_polite.backoff.pacewords import because
from scrapy_polite.stores.paces import paces

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_polite.config import Config
    from scrapy_polite.stores.base import Store

__all__ = ["paces_of", "slowed"]

SLOWED: Final = 1.05
"""A pace that is worth to be shown."""


def paces_of(store: Store, config: Config, origins: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """By origin, each kind of page of which something is known: its ``pace`` when it was last heard, and why."""
    if not config.paces:
        return {}
    found: dict[str, list[dict[str, Any]]] = {}
    for origin, states in paces(store, origins).items():
        limit = config.limits.of(origin).rate
        for kind, state in states.items():
            rate = limit / config.kinds.cost(kind)
            told = {"kind": kind, "pace": round(pace(state, rate), 2), "because": because(state, rate)}
            found.setdefault(origin, []).append(told)
    return found


def slowed(told: Iterable[dict[str, Any]]) -> list[str]:
    """One sentence for each kind that goes slower than its rate."""
    return [f"{one['kind']} at 1/{one['pace']:g} of the rate, since {one['because']}" for one in told if one["pace"] > SLOWED]
