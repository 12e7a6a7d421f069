"""What else there is to know of a key whose hold a person ends: what it waits for besides, and how fast it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from scrapy_polite.backoff.pace import back_in, pace
from scrapy_polite.commands.words import lasting, span
from scrapy_polite.stores.paces import paces

if TYPE_CHECKING:
    from scrapy_polite.commands.known import Known
    from scrapy_polite.config import Config
    from scrapy_polite.stores.base import Held

__all__ = ["Slowed", "also_held", "as_json", "ends_with", "met", "origin_of", "slowed", "still_waits"]

SITE: Final = "site:"
ORIGIN: Final = "origin:"

NAMED: Final = 3
"""Sites of an origin that are named."""

SLOWED: Final = 1.05
"""A pace that is worth to be told."""


def origin_of(known: Known, key: str) -> str | None:
    """The origin that stands for a site's or an origin's key; None for a site that no crawl has met, and for other keys."""
    if key.startswith(SITE):
        return known.origin_of(key.removeprefix(SITE))
    return known.stands_for(key) if key.startswith(ORIGIN) else None


def met(known: Known, key: str) -> bool | None:
    """Whether a crawl with this store has met a site or an origin; None for another key, which leaves no such trace."""
    if key.startswith(SITE):
        return known.origin_of(key.removeprefix(SITE)) is not None or bool(known.store.notes([key]))
    return known.is_origin(key) if key.startswith(ORIGIN) else None


def also_held(known: Known, key: str) -> list[Held]:
    """The live holds that are in the way of a key beside its own: of a site its origin's, of an origin those of its sites."""
    origin = origin_of(known, key)
    if origin is None:
        return []
    held = known.store.held()
    if key.startswith(SITE):
        return [hold for hold in held if hold.key == origin]
    sites = {hold.key.removeprefix(SITE): hold for hold in held if hold.key.startswith(SITE)}
    origins = known.origins_of(sites)
    return [hold for host, hold in sites.items() if origins.get(host) == origin]


def still_waits(key: str, holds: list[Held]) -> str:
    """Them as sentences, with what to do; "" where there are none."""
    if not holds:
        return ""
    if key.startswith(SITE):
        return f" It still waits for {_told(holds[0])}: `{ends_with(holds[0])}`."
    more = f" and {len(holds) - NAMED} more" if len(holds) > NAMED else ""
    named = "; ".join(_told(hold) for hold in holds[:NAMED])
    return f" Of its sites {'one is' if len(holds) == 1 else f'{len(holds)} are'} still held: {named}{more}."


def ends_with(hold: Held) -> str:
    """The command that ends a hold."""
    return f"scrapy polite {'release' if hold.cause.kind == 'parked' else 'retry'} {hold.key}"


def _told(hold: Held) -> str:
    return f"{hold.key}, held {lasting(hold.seconds)} ({hold.cause.kind}: {hold.cause.reason})"


def as_json(hold: Held) -> dict[str, Any]:
    return {"key": hold.key, "kind": hold.cause.kind, "reason": hold.cause.reason, "hold": round(hold.seconds, 3)}


class Slowed(NamedTuple):
    """How much slower than its rate an origin goes, in its slowest kind of page, and for about how many seconds still."""

    pace: float
    seconds: float

    def sentence(self) -> str:
        about = span(max(1, round(self.seconds / 60)) * 60.0)
        return f" Its origin goes at 1/{self.pace:.2g} of its rate, and comes back over about {about}."


def slowed(known: Known, config: Config, key: str) -> Slowed | None:
    """A hold leaves a pace behind that ending it does not reset; None where nothing is slowed."""
    origin = origin_of(known, key)
    if origin is None or not config.paces:
        return None
    limit, found = config.limits.of(origin).rate, list[Slowed]()
    for kind, state in paces(known.store, [origin]).get(origin, {}).items():
        rate = limit / config.kinds.cost(kind)
        found.append(Slowed(round(pace(state, rate), 2), round(back_in(state), 1)))
    slowest = max(found, default=None)
    return slowest if slowest is not None and slowest.pace > SLOWED else None
