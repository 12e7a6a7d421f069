"""The law of pace in a crawl: what is heard of each kind of page at each origin, by how much that slows it, and how all
processes share it.

Only an origin's own work is heard: no hit of an edge's cache, no image service, no browser, no proxy that resolves by itself.
Every process goes by its own copy of a state, tells what it has heard within a second, and has then what all have heard.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from scrapy_polite.backoff import pace as law
from scrapy_polite.backoff.pacestate import FIRST_ANSWERS, State
from scrapy_polite.backoff.pacewords import HELD, because, one_of
from scrapy_polite.origins.cachestatus import cache_status
from scrapy_polite.origins.watching import account_among
from scrapy_polite.remembering import Remembering
from scrapy_polite.stores.base import StoreError
from scrapy_polite.stores.paces import change, paces

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from scrapy.statscollectors import StatsCollector

    from scrapy_polite.backoff.pace import Outcome
    from scrapy_polite.booker import Booker
    from scrapy_polite.limits.plan import Charge, Limits
    from scrapy_polite.ticket import Ticket

__all__ = ["Pacing"]

logger = logging.getLogger(__name__)

TELL_AFTER: Final = 1.0
"""Seconds after which the store is told what was heard."""

TOLD_AT_ONCE: Final = 100
"""Rows that the store is told of in that time at most; the others come after them. A broad crawl hears of each of its many
origins rarely."""

KEPT_BACK: Final = 1_000
"""Observations of a row that wait for a store that is away; the oldest are lost first."""

FIRST_MINUTE: Final = 60.0
"""Seconds after which a first contact is over, though too few good answers were heard to learn anything from: there may be
none, but redirects, or answers of an edge that does not say what it has fetched."""

NO_LOAD: Final = frozenset(("dns", "tls", "parked", "robots"))
"""Kinds of holds that say nothing of what a server can take: no name server, or no certificate, becomes better by fewer
requests; of a key that is parked the refusals have told; and a robots.txt that cannot be read was one request. A connection
that fails may tell: of a queue that is full, or of a firewall that counts."""

ONE_HOLD: Final = 60.0
"""Seconds in which the holds of an origin's sites are one: several of them are refused in one block, and then the origin is."""

STEPS: Final = (2.0, 4.0, 8.0, 16.0)
"""Of these a pace is said in the log that has come to one: more than the first, and each of the others."""

UNSAID: Final = "robots"
"""The kind of a file that is read once a day: how fast that may be is nobody's news."""

BACK: Final = 1.1
"""And so is one below this, afterwards."""

MOST: Final = 50_000
"""Rows, and origins, that are kept in memory."""


@dataclass(slots=True, eq=False)
class _Row:
    """``first``: what it begins with where the store has nothing. ``shared``: what the store had last, as far as is known;
    None: nothing. ``state``: with all that was heard here. ``since``: when it was first known here, monotonic."""

    origin: str
    kind: str
    rate: float
    first: State
    shared: State | None
    state: State
    since: float
    untold: list[Callable[[State], State]] = field(default_factory=list)
    step: float = 1.0
    """The step at which the log has said last how slow it is; 1: it has not, or has said that it is over."""
    held: str = HELD
    """By what, the last time."""
    _paced: tuple[State, float, float] | None = None
    """A state, a rate, and the pace that is theirs."""

    def pace(self, state: State) -> float:
        """By a state, to the hundredth: what is planned is remembered by it. Asked several times between two answers."""
        known = self._paced
        if known is None or known[0] is not state or known[1] != self.rate:
            known = self._paced = state, self.rate, round(law.pace(state, self.rate), 2)
        return known[2]

    def add(self, observation: Callable[[State], State]) -> None:
        self.state = observation(self.state)
        self.untold.append(observation)
        del self.untold[:-KEPT_BACK]

    def told(self, known: State | None, here: State, untold: Sequence[Callable[[State], State]]) -> State:
        """The state in the store with these observations as well, which made ``here`` of what was known of the store's."""
        if known == self.shared:
            return here  # Nobody else has told anything, and nothing has to be made twice.
        state = self.first if known is None else _begun(known, self.first)
        for observation in untold:
            state = observation(state)
        return state


class Pacing:
    """See the module; in the reactor's thread, but for :meth:`paced`. ``on``: False: every pace is 1, and nothing is heard.
    ``clock``: seconds, the one that tickets are stamped with."""

    def __init__(
        self,
        booker: Booker,
        limits: Limits,
        stats: StatsCollector | None,
        on: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.on = on
        self._clock = clock
        self._booker = booker
        self._limits = limits
        self._stats = stats
        self._rows: dict[str, dict[str, _Row]] = Remembering(MOST)
        self._met: dict[str, dict[str, State]] = Remembering(MOST)
        self._walled: dict[str, float] = Remembering(MOST)
        self._held: dict[str, float] = Remembering(MOST)
        self._untold: dict[_Row, None] = {}
        self._telling: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    # -- what is asked of it

    async def meet(self, origin: str | None) -> None:
        """Know what the store knows of an origin, before anything is asked of it."""
        if not self.on or origin is None or origin in self._met:
            return
        try:
            found = await self._booker.call(paces, self._booker.store, [origin])
        except StoreError as error:
            self._booker.trouble(error)  # Nothing is sent without it; and it is asked again.
            return
        self._met.setdefault(origin, found.get(origin, {}))

    def plan(self, kind: str, charges: tuple[Charge, ...]) -> tuple[Charge, ...]:
        """The charges of a request of the kind, at the pace of its origin; what has none is charged as it was."""
        last = charges[-1]  # What is an origin's stands there.
        if self.on and last.key.startswith("origin:"):
            row = self._row(last.key, kind, last.allowed / last.cost)
            if account_among(charge.key for charge in charges) is not None:
                row.state = _contacted(row.state)  # Nothing is ever heard of it, so a first contact would only take its time.
        return self.paced(kind, charges)

    def paced(self, kind: str, charges: tuple[Charge, ...]) -> tuple[Charge, ...]:
        """The same for what was planned before; the same object where nothing has changed. From any thread."""
        last = charges[-1]
        now = self.of(kind, last.key)
        return charges if now == last.pace else (*charges[:-1], replace(last, pace=now))

    def of(self, kind: str, key: str) -> float:
        """The pace of a kind of page that was planned before. Else 1."""
        row = self._rows.get(key, {}).get(kind) if self.on else None
        return row.pace(self._current(row)) if row is not None else 1.0

    def known(self, origin: str) -> dict[str, State]:
        """What is known of the kinds of page at an origin that was met."""
        heard = {kind: row.state for kind, row in self._rows.get(origin, {}).items()}
        return {**self._met.get(origin, {}), **heard}

    # -- what is heard

    def departed(self, ticket: Ticket) -> None:
        """A request is on the wire: from some time on it is late."""
        if not self._hears(ticket):
            return
        row = self._row_of(ticket)
        after = law.late_after(row.state)
        if after is not None and row.state.answers >= FIRST_ANSWERS:
            with suppress(RuntimeError):  # No loop: nobody waits for an answer either.
                ticket.lateness = asyncio.get_running_loop().call_later(after, self._late, ticket)

    def ended(self, ticket: Ticket) -> None:
        """Its download has ended, whatever came of it."""
        if ticket.lateness is not None:
            ticket.lateness.cancel()
            ticket.lateness = None

    def timed_out(self, ticket: Ticket) -> None:
        """It was given up. One of which the first byte is there tells nothing of the server's work."""
        if self._hears(ticket) and not ticket.has_begun:
            self._observe(ticket, "timeout", self._clock())

    def heard(self, ticket: Ticket, status: int, headers: Mapping[str, Sequence[str]]) -> None:
        """An answer. Of one that came by an edge, only if that proves that it has asked the origin."""
        outcome = law.outcome_of(status)
        if outcome is None or not self._hears(ticket):
            return
        if ticket.edge is not None and cache_status(headers, ticket.edge.provider).verdict != "touched":
            return
        self._observe(ticket, outcome, ticket.answered)

    def held(self, origin: str | None, key: str, seconds: float, kind: str = "", reason: str = "") -> None:
        """A hold of an origin, or of one of its sites: what follows it goes at half the rate, if its kind tells of load.
        ``reason``: for people."""
        if not self.on or origin is None or not origin.startswith("origin:") or kind in NO_LOAD:
            return
        now = self._clock()
        begins = self._held.get(key, 0.0) <= now and now - self._walled.get(origin, -ONE_HOLD) >= ONE_HOLD
        self._held[key] = max(self._held.get(key, 0.0), now + seconds)
        if not begins:
            return
        self._walled[origin] = now
        rows = list(self._rows.get(origin, {}).values())
        if rows:
            # Of a kind that nobody has asked for here the rate is not known; it matters for the ceiling alone.
            others = self._met.get(origin, {}).keys() - self._rows[origin].keys()
            rows += [self._row(origin, kind, rows[0].rate) for kind in sorted(others)]
        for row in rows:
            row.held = f"{key} was held{f' ({kind}: {reason})' if kind else ''}"
            self._add(row, partial(law.held, rate=row.rate))

    # -- told

    async def close(self) -> None:
        """Tell all that is still untold; afterwards nothing is told any more."""
        async with self._turn:  # Not in the middle of it: it would be told again.
            if self._telling is not None:
                self._telling.cancel()
                await asyncio.gather(self._telling, return_exceptions=True)
        while self._untold and await self._tell():
            pass
        self.on = False

    # -- inside

    def _hears(self, ticket: Ticket) -> bool:
        if not self.on or not ticket.direct or ticket.sent is None or not ticket.shared.startswith("origin:"):
            return False
        return account_among(charge.key for charge in ticket.charges) is None  # Resizing is no work of the origin's.

    def _row_of(self, ticket: Ticket) -> _Row:
        charge = ticket.charges[-1]
        return self._row(charge.key, ticket.kind, charge.allowed / charge.cost)

    def _row(self, origin: str, kind: str, rate: float) -> _Row:
        rows = self._rows.get(origin)
        if rows is None:
            rows = self._rows[origin] = {}
        row = rows.get(kind)
        if row is None:
            first = self._first(origin, rate)
            shared = self._met.get(origin, {}).get(kind)
            state = first if shared is None else _begun(shared, first)
            row = rows[kind] = _Row(origin, kind, rate, first, shared, state, self._clock())
        row.rate = rate
        return row

    def _first(self, origin: str, rate: float) -> State:
        """A kind of page that is new goes as the one that was heard last at its origin. An origin that is new goes slowly at
        first, unless a person has stated what it can take."""
        known = [state for state in self.known(origin).values() if state.answers >= FIRST_ANSWERS]
        if known:
            newest = max(known, key=lambda state: state.at or 0.0)
            return State(min(law.ceiling(rate), newest.slow))
        return State(0.0) if self._limits.states_rate(origin) else law.first(rate)

    def _current(self, row: _Row) -> State:
        """Its state, without the slowness of a first contact that has lasted long enough."""
        state = row.state
        if state.answers < FIRST_ANSWERS and self._clock() - row.since > FIRST_MINUTE:
            return _contacted(state)
        return state

    def _late(self, ticket: Ticket) -> None:
        ticket.lateness = None
        if not ticket.has_begun:
            self._observe(ticket, "late", self._clock())

    def _observe(self, ticket: Ticket, outcome: Outcome, until: float) -> None:
        assert ticket.sent is not None
        row = self._row_of(ticket)
        now = self._booker.now() / 1e6
        started = now - (self._clock() - ticket.sent)
        if self._current(row) is not row.state:
            self._add(row, _contacted)
        ttfb = max(0.0, until - ticket.sent)
        self._add(row, partial(law.observe, outcome=outcome, ttfb=ttfb, started=started, now=now, rate=row.rate))

    def _add(self, row: _Row, observation: Callable[[State], State]) -> None:
        row.add(observation)
        self._said(row)
        self._untold.setdefault(row)
        if self._telling is None:
            with suppress(RuntimeError):  # No loop: it is told at the end.
                self._telling = asyncio.get_running_loop().create_task(self._keep_telling())

    def _said(self, row: _Row) -> None:
        state, pace = row.state, row.pace(row.state)
        if self._stats is not None:
            self._stats.max_value(f"polite/pace/{row.kind}", pace)
        if row.kind == UNSAID:
            return
        step = max((step for step in STEPS if pace >= step), default=1.0) if pace > STEPS[0] else 1.0
        if step > row.step and (state.over > 0 or state.wall > 0):
            row.step = step
            why = because(state, row.rate, row.held)
            logger.info("Pace: %s: %s goes at 1/%.1f of its rate, since %s", row.origin, one_of(row.kind), pace, why)
        elif row.step > 1 and pace < BACK:
            row.step = 1.0
            logger.info("Pace: %s: %s goes at its rate again: %s", row.origin, one_of(row.kind), because(state, row.rate))

    async def _keep_telling(self) -> None:
        while True:
            await asyncio.sleep(TELL_AFTER)
            async with self._turn:
                await self._tell()

    async def _tell(self) -> bool:
        """Tell of the rows that were heard first; False if the store cannot be told."""
        for row in list(self._untold)[:TOLD_AT_ONCE]:
            del self._untold[row]
            telling, row.untold = row.untold, []
            make = partial(row.told, here=row.state, untold=telling)
            try:
                state = await self._booker.call(change, self._booker.store, row.origin, row.kind, make)
            except StoreError as error:
                row.untold = [*telling, *row.untold][-KEPT_BACK:]
                self._untold.setdefault(row)
                self._booker.trouble(error)
                return False
            except ValueError as error:
                # A kind of the project's own, in characters that no store can have.
                logger.warning("Pace: %s: what was heard of %r stays in this process: %s", row.origin, row.kind, error)
                continue
            row.shared = state
            for observation in row.untold:
                state = observation(state)
            row.state = state
        return True


def _begun(state: State, first: State) -> State:
    """Of what nothing was heard yet, not even where it was a part of something else: it begins as slowly as others do."""
    return state if state.at is not None else state._replace(slow=max(state.slow, first.slow))


def _contacted(state: State) -> State:
    """After the time of a first contact: only a wall slows what is not known yet."""
    return state._replace(slow=state.wall) if state.answers < FIRST_ANSWERS else state
