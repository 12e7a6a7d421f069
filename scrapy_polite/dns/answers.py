"""What a look-up answers, and how long it may be used."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_polite.naming.hosts import IPAddress

__all__ = ["Answer", "Cache", "NoAnswer", "Pointer", "lifetime", "refusal_lifetime"]

#: Seconds that an answer lives at least. A name with a TTL of 0 is looked up once per burst of requests, not once per
#: request; and it keeps rebinding from changing an address between the guard's check and the next request.
FLOOR: Final = 5.0

#: Seconds that an answer lives at most: a site that moves is followed within the hour, whatever its zone says. Whole
#: crawls run on one process for days, and resolvers too cap a TTL (RFC 8767 section 4).
CEILING: Final = 3600.0

#: Seconds that "this host has no address" lives at least and at most (RFC 2308 section 5 takes it from the zone, and
#: its section 7.1 allows up to 300 for a failure). Short, since a person may be waiting for his new site to be found.
REFUSAL_FLOOR: Final = 5.0
REFUSAL_CEILING: Final = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    """The addresses of a host, A records first, in the order of the server, each once.

    `chain` holds the CNAME targets in order, lower case, without the last dot. `expires` is on the resolver's clock.
    """

    host: str
    addresses: tuple[IPAddress, ...]
    chain: tuple[str, ...]
    expires: float


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why a host has no address that could be dialled.

    `reason` is one of ``nxdomain``, ``no_addresses``, ``servfail`` (any refusal of the server), ``timeout``, ``loop``
    (a CNAME chain without end), ``unreachable`` (no server could be spoken to), ``malformed`` (host or answer).
    """

    host: str
    reason: str
    detail: str
    expires: float


@dataclass(frozen=True, slots=True)
class Pointer:
    """The names that the zone of an address gives it (PTR), canonical, in the order of the server; empty with a `reason`.

    That is one of ``nxdomain``, ``no_names``, ``servfail``, ``timeout``, ``loop``, ``unreachable``, ``malformed``,
    ``not_public`` (not asked: the address is in the guard's table) or ``busy`` (not asked: too many wait already).
    """

    address: IPAddress
    names: tuple[str, ...]
    reason: str
    expires: float


def lifetime(ttl: float) -> float:
    """Seconds that an answer may be used, from the smallest TTL of its chain."""
    return min(max(ttl, FLOOR), CEILING)


def refusal_lifetime(ttl: float) -> float:
    """Seconds that a failure may be used, from the zone's negative TTL; 0 if there is none."""
    return min(max(ttl, REFUSAL_FLOOR), REFUSAL_CEILING)


class _Expiring(Protocol):
    @property
    def expires(self) -> float: ...


K = TypeVar("K")
E = TypeVar("E", bound=_Expiring)


class Cache(Generic[K, E]):
    """Entries until they expire; at most `capacity`, those go first that were asked for least recently."""

    def __init__(self, capacity: int, clock: Callable[[], float]) -> None:
        self._capacity = capacity
        self._clock = clock
        self._entries: OrderedDict[K, E] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> E | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.expires <= self._clock():
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return entry

    def put(self, key: K, entry: E) -> None:
        self._entries[key] = entry
        self._entries.move_to_end(key)
        while len(self._entries) > self._capacity:
            self._entries.popitem(last=False)
