"""Which keys a request is charged to, at what rate: limits by key, charges, and what a charge asks of GCRA."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import translate
from typing import TYPE_CHECKING

from .gcra import Demand

if TYPE_CHECKING:
    from collections.abc import Sequence

MICRO = 1_000_000
"""Microseconds in a second: everything that is booked is an integer number of them."""

LONGEST = 100 * 365 * 86_400 * MICRO
"""Microseconds. A century is the same as for ever, and what stores add up stays within 64 bits."""

FAMILIES = ("site", "origin", "edge", "bucket", "imageservice", "probe")
"""What the part of a key before its first colon may be."""

FIELDS = ("rate", "burst", "concurrency")
"""What an entry of POLITE_LIMITS may state."""

MISS_RATE = 0.9
MISS_BURST = 0.8
"""Of a key's rate: the rate of its miss budget, and its burst in units per unit of rate. Behind an edge every request is
charged ahead as if it were a miss, and a hit gives that back; the burst is what keeps requests going until it is known. By
simulation of the code (``python -m benchmarks.misses``) misses stay within 1.05 of the rate in any ten seconds, at any hit
rate and when it falls to nothing."""


_IN_FRONT = ("edge:", "imageservice:")
"""What stands in front of others, and has a cache."""

_NEVER_BEHIND = (*_IN_FRONT, "probe:")

PROBE_RATE = 10.0
"""Units a second of all first requests behind one edge, to hosts of which nothing tells whose they are. Those of a platform
with hundreds of tenants come at this rate at most, until three answers have told that it is one."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What one request costs one key.

    Args:
        key: the key that is charged, e.g. "site:example.com".
        cost: units that the request costs (a page 2, an image 1).
        rate: units a second that the key may be charged.
        burst: units that may be charged at once after a pause.
        least: seconds from this start to the next one, whatever they cost (Crawl-delay, DOWNLOAD_DELAY).
        refundable: it is a miss budget that is charged: a proven hit of the edge in front gives the charge back. `rate`
            and `burst` are those of the budget.
        pace: by what the time is multiplied that the charge takes: 1 or more, as slow as the key's servers are.
    """

    key: str
    cost: float
    rate: float
    burst: float = 0.0
    least: float = 0.0
    refundable: bool = False
    pace: float = 1.0

    @property
    def allowed(self) -> float:
        """Units a second that the key allows: of a miss budget, the rate that it is a part of."""
        return round(self.rate / MISS_RATE, 9) if self.refundable else self.rate

    @property
    def bursts(self) -> bool:
        """Whether it may go earlier than its key is due, by more than a width."""
        return bool(self.burst) and not self.least

    def demand(self, width: int) -> Demand:
        """What to book for it, where a slot is `width` microseconds wide.

        Without burst the tolerance is one width: a start that came late is caught up, at the same bound on spacing as a
        slot that may be used up to its end. A stated `least` is kept to the full: its increment is longer by the width
        that the tolerance takes away, and it leaves no room for a burst. A cost above the burst is admitted and pays in
        time. Fractions of a microsecond are rounded up, in favour of the server.
        """
        return Demand(self.key, self.increment(width), self.tolerance(width))

    def increment(self, width: int) -> int:
        """Microseconds by which this charge moves its key."""
        increment = math.ceil(min(self.cost * self.pace * MICRO / self.rate, LONGEST))
        return max(increment, math.ceil(self.least * MICRO) + width) if self.least else increment

    def tolerance(self, width: int) -> int:
        """Microseconds by which its slot may start before the key is due; never less than one width."""
        return width if self.least else max(width, math.floor(min(self.burst * MICRO / self.rate, LONGEST)))


@dataclass(frozen=True, slots=True)
class Limit:
    """What one key may be charged: units a second, units at once, and requests in flight (None: no cap)."""

    rate: float
    burst: float
    concurrency: int | None


def family(key: str) -> str:
    """The part of `key` before its first colon, one of `FAMILIES`; `ValueError` for anything else.

    A key that was put together from a missing part must not become one that others share, so no key has a default.
    """
    name, colon, rest = key.partition(":")
    if name not in FAMILIES or not colon or not rest:
        raise ValueError(f"{key!r} is no key: a key is one of {', '.join(FAMILIES)}, a colon and a name")
    return name


class Limits:
    """The limit of every key, from the POLITE_* settings.

    Args:
        site, origin, edge: units a second of a key of that family. An image service has an edge's.
        bucket: (units a second, units of burst) of a bucket.
        overrides: POLITE_LIMITS. Keys or patterns (`*`, `?`, `[...]`), each with some of rate, burst and concurrency.
        concurrency: requests in flight at one origin; None: no cap.

    Each of the three is looked up by itself: what the exact key states, else the longest pattern that states it, else
    the family's. A limit that is stated for an origin by name goes on to apply when the name has become an alias
    (:meth:`stand`). Errors are `ValueError`s that name the setting, the value and the accepted form.
    """

    def __init__(
        self,
        site: float = 1.0,
        origin: float = 2.0,
        edge: float = 20.0,
        bucket: tuple[float, float] = (50.0, 100.0),
        overrides: Mapping[str, Mapping[str, float | None]] | None = None,
        concurrency: int | None = None,
    ) -> None:
        edges = Limit(_rate("POLITE_EDGE_RATE", edge), 0.0, None)
        self._families = {
            "site": Limit(_rate("POLITE_SITE_RATE", site), 0.0, None),
            "origin": Limit(_rate("POLITE_ORIGIN_RATE", origin), 0.0, _concurrency("POLITE_ORIGIN_CONCURRENCY", concurrency)),
            "edge": edges,
            "bucket": Limit(_rate("POLITE_BUCKET_RATE", bucket[0]), _burst("POLITE_BUCKET_BURST", bucket[1]), None),
            "imageservice": edges,
            "probe": Limit(PROBE_RATE, 0.0, None),
        }
        self._exact: dict[str, Mapping[str, float | None]] = {}
        patterns: list[tuple[str, Mapping[str, float | None]]] = []
        for key, stated in (overrides or {}).items():
            _check_override(key, stated)
            if any(mark in key for mark in "*?["):
                patterns.append((key, stated))
            else:
                family(key)
                self._exact[key] = stated
        patterns.sort(key=lambda item: (-len(item[0]), item[0]))
        self._patterns = [(re.compile(translate(pattern)), stated) for pattern, stated in patterns]
        self.origins = tuple(sorted(key for key in self._exact if family(key) == "origin"))
        self.generation = 0
        """Grows whenever the limit of an origin may be another one than before."""
        self._roots: dict[str, str] = {}
        self._named: dict[str, list[str]] = {}

    def stand(self, aliases: Mapping[str, str]) -> None:
        """From now on each of `origins`, the names that are stated exactly, stands for what `aliases` says; itself if
        nothing.

        Where several names are one origin the strictest of their limits holds: a person has stated one for servers that
        are still among its.
        """
        roots = {name: aliases[name] for name in self.origins if aliases.get(name, name) != name}
        if roots != self._roots:
            self.generation += 1
            self._roots, self._named = roots, {}
            for name, root in roots.items():
                self._named.setdefault(root, []).append(name)

    def states_rate(self, origin: str) -> bool:
        """Whether a person has stated the rate of just this origin, by this name or one that stands for it."""
        return any("rate" in self._exact.get(name, {}) for name in (origin, *self.also(origin)))

    def merge(self, name: str, into: str) -> None:
        """`name`, and all that stands for it, stands for `into` from now on."""
        if self.origins:
            roots = {one: self._roots.get(one, one) for one in self.origins}
            self.stand({one: into if root == name else root for one, root in roots.items()})

    def also(self, key: str) -> tuple[str, ...]:
        """The other names of the origin `key` whose limits hold for it as well."""
        root = self._roots.get(key, key)
        return tuple(name for name in (root, *self._named.get(root, ())) if name != key) if self._roots else ()

    def of(self, key: str, like: str | None = None) -> Limit:
        """The limit of `key`; `ValueError` for something that is no key. `like`: the family whose defaults it has, if that is
        not its own."""
        limit = self._stated(key, like)
        for name in self.also(key):
            limit = _stricter(limit, self._stated(name, like))
        return limit

    def _stated(self, key: str, like: str | None) -> Limit:
        """What is stated for this name alone."""
        own = family(key)
        default = self._families[like or own]
        stated = [self._exact[key]] if key in self._exact else []
        stated += [entry for pattern, entry in self._patterns if pattern.match(key)]
        if not stated:
            return default
        found: dict[str, float | None] = {
            "rate": default.rate,
            "burst": default.burst,
            "concurrency": default.concurrency,
        }
        for entry in reversed(stated):
            found.update(entry)
        rate, burst, cap = found["rate"], found["burst"], found["concurrency"]
        return Limit(float(rate or 0), float(burst or 0), None if cap is None else int(cap))


def _stricter(one: Limit, other: Limit) -> Limit:
    caps = [cap for cap in (one.concurrency, other.concurrency) if cap is not None]
    return Limit(min(one.rate, other.rate), min(one.burst, other.burst), min(caps, default=None))


def plan(keys: Sequence[str], cost: float, limits: Limits, least: float = 0.0, bucket: str | None = None) -> tuple[Charge, ...]:
    """The charges of one request that costs `cost` units: one a key, in the order given, each key once. `bucket`: an account
    of an image service that behaves as a bucket. Where it is the last key it is limited as one; with others behind it, only
    other parts of it behave so: it has its own rate, and as much time in advance as they, who would else never let it by.

    `least` (seconds between two starts, 0: none) is a wish about the site and goes to the site's charge alone.

    With an edge or an image service among the keys, site and origin see no more than what it lets through: they are charged
    on their miss budgets, by `MISS_RATE` and `MISS_BURST`. A `least` is a wish about every request: that charge stays as it
    is, in full.
    """
    alone = bucket is not None and keys[-1] == bucket
    edge = any(key.startswith(_IN_FRONT) for key in keys) and not alone
    charges = []
    for key in dict.fromkeys(keys):
        limit = limits.of(key, "bucket" if alone and key == bucket else None)
        if key == bucket and not alone:
            stored = limits.of(key, "bucket")
            limit = replace(limit, burst=max(limit.burst, stored.burst / stored.rate * limit.rate))
        own = least if key.startswith("site:") else 0.0
        if edge and not own and not key.startswith(_NEVER_BEHIND):
            burst = max(limit.burst, MISS_BURST * limit.rate)
            charges.append(Charge(key, cost, MISS_RATE * limit.rate, burst, refundable=True))
        else:
            charges.append(Charge(key, cost, limit.rate, limit.burst, own))
    return tuple(charges)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _rate(name: str, value: object) -> float:
    number = _number(value)
    if number is None or number <= 0:
        raise ValueError(f"{name}: {value!r} is no rate. Give units per second, a number above 0, e.g. 2.0 or 0.5")
    return number


def _burst(name: str, value: object) -> float:
    number = _number(value)
    if number is None or number < 0:
        raise ValueError(f"{name}: {value!r} is no burst. Give units, a number of 0 or more; 0 allows no burst")
    return number


def _concurrency(name: str, value: object) -> int | None:
    number = _number(value)
    if value is None:
        return None
    if number is None or number < 1 or number != int(number):
        raise ValueError(
            f"{name}: {value!r} is no number of requests in flight. Give a whole number of 1 or more, or None for no cap"
        )
    return int(number)


def _check_override(key: str, stated: object) -> None:
    if not isinstance(key, str) or key.partition(":")[0] not in (*FAMILIES, "*"):
        raise ValueError(
            f"POLITE_LIMITS: {key!r} is neither a key nor a pattern of keys. "
            f"Begin it with one of {', '.join(name + ':' for name in FAMILIES)} e.g. 'site:example.com' or 'bucket:*'"
        )
    name = f"POLITE_LIMITS[{key!r}]"
    if not isinstance(stated, Mapping) or not stated or set(stated) - set(FIELDS):
        raise ValueError(
            f"{name}: {stated!r} is no limit. Give some of {', '.join(FIELDS)}, e.g. "
            "{'rate': 5, 'burst': 0, 'concurrency': 4}"
        )
    for field, value in stated.items():
        if field == "rate":
            _rate(f"{name}['rate']", value)
        elif field == "burst":
            _burst(f"{name}['burst']", value)
        else:
            _concurrency(f"{name}['concurrency']", value)
