"""What stands on the workbench: limits as one process sees them, sites, and what they share. For `workbench` alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

__all__ = ["NEVER", "Choice", "Key", "Loan", "Origin", "Site"]

NEVER: Final = math.inf


@dataclass(frozen=True, slots=True)
class Choice:
    """``site`` may send now, and ``source`` is whose turn it is among those that hold something for it."""

    site: str
    source: Hashable


@dataclass(slots=True, eq=False)
class Key:
    """One limit as this process sees it."""

    base: float = 0.0
    out: float = 0.0
    estimate: float = 0.0
    told: float = 0.0
    """What holds and other processes have said: no refund of ours goes below it."""
    early: float = 0.0
    """Seconds before it is due in which the requests go that have it as their site's own."""

    def settle(self, now: float) -> None:
        base = self.base
        self.estimate = (max(now, base)) + self.out if self.out > 1e-9 else base


@dataclass(slots=True, eq=False)
class Origin:
    """What sites share: its limit, and the sites in the order of their due times."""

    name: str
    key: Key
    cap: float = NEVER
    in_flight: int = 0
    heap: list[tuple[float, int, Site]] = field(default_factory=list)
    at: float = NEVER
    """The time of the only heap entry that counts; others are stale."""


@dataclass(slots=True, eq=False)
class Site:
    name: str
    keys: tuple[str, ...]
    own: tuple[Key, ...]
    """The limits of ``keys`` but for the last, which is the origin's."""
    origin: Origin
    early: float = 0.0
    """As a key's, of the origin's: others there may have no burst."""
    cap: float = NEVER
    gated: bool = True
    in_flight: int = 0
    sources: dict[Hashable, bool] | None = None
    """Source -> whether it is served while the site is gated; in the order of their turns."""
    at: float = NEVER
    """As an origin's."""

    def source(self) -> Hashable | None:
        if self.sources:
            for source, early in self.sources.items():
                if early or not self.gated:
                    return source
        return None


@dataclass(slots=True)
class Loan:
    site: Site
    origin: Origin
    lent: Mapping[str, float]
