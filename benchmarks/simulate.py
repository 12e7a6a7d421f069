"""Growth, in virtual time: a million sites on ten thousand origins, crawled by 64 processes that share one store.

    python -m benchmarks.simulate [--short] [--json FILE] [--sites 1000000] [--origins 10000] [--processes 64] [--sharing 4]
        [--seconds 12] [--trip 2] [--lag 5] [--switch 0.5] [--latency 200]

GCRA, the store's rows, the workbench and the line at the wire are the package's own, on a clock that jumps from event to event.
Modelled are: the round trip to the store (``trip`` ms, exponential on top of half of it; what is asked meanwhile goes in the
next call, as the package does it; what goes late moves its keys), a reactor that runs callbacks late (``lag`` ms, exponential)
and threads that run less late (``switch`` ms), the way into the line (5 to 50 ms) and the server (``latency`` ms). Every
site has more to send than it may. ``sharing``: how many processes have sites of one origin.

Then the herd: a few origins for longer, with 1 to all of the processes at every one of them. And the distance: the same with
four processes at an origin and a store that is farther away.

kept          of what all origins allow, after two virtual seconds
gap           the smallest between two requests to one origin, in ms. The bound is 1,000 - width (50) - 5
worst window  units of one origin in its fullest second and ten, of what GCRA allows in one: rate * L + tolerance + one cost
Jain          of the processes of an origin (mean and worst of all origins), and of all origins. lottery: what the first would
              be if every slot fell to a process at random; it comes near 1 with the number of slots
calls         to the store a second, of virtual time, that ask for slots; wants: what was asked in them. A booking is a want
              that was granted. settles: keys that were moved because a packet left late; a round trip each
bytes         of memory per waiting site: its process's workbench and names, nothing of its requests
"""

from __future__ import annotations

import gc
import heapq
import itertools
import random
import resource
import statistics
import sys
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.reporting import Aim, Report, arguments, jain
from scrapy_polite.agenda import LEAD
from scrapy_polite.booker import AHEAD, BLUR, GLANCE
from scrapy_polite.limits.plan import Charge
from scrapy_polite.limits.workbench import Choice, Workbench
from scrapy_polite.line import Line
from scrapy_polite.politeness import PUNCTUAL
from scrapy_polite.stores.memory import MemoryStore

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from scrapy_polite.limits.gcra import Booked, Wait, Want

    Answered = Callable[[Booked | Wait], None]

WIDTH = 50_000
"""Microseconds: POLITE_SLOT_WIDTH."""
SITE_RATE, ORIGIN_RATE, COST = 1.0, 2.0, 2.0
"""The package's defaults: an origin may be asked for a page a second, a site for one in two."""
CONNECT = (0.005, 0.05)
WARM = 2.0
MANY = 10_000
HERD = 64
"""Origins, each with a hundred sites; as many as processes, so that each of these has as much to do."""
START = 1_000.0
"""Seconds on the virtual clock as it begins: a row that was never seen is due at 0."""
QUEUE = "queue"


class World:
    """The virtual clock and what is to happen."""

    def __init__(self) -> None:
        self.now = START
        self._events: list[tuple[float, int, Event]] = []
        self._order = itertools.count()

    def clock(self) -> float:
        return self.now

    def later(self, seconds: float, function: Callable[[], None]) -> Event:
        event = Event(function)
        heapq.heappush(self._events, (self.now + seconds, next(self._order), event))
        return event

    def run(self, until: float) -> None:
        events = self._events
        while events and events[0][0] < until:
            self.now, _, event = heapq.heappop(events)
            if event.function is not None:
                event.function()
        self.now = until


class Event:
    __slots__ = ("function",)

    def __init__(self, function: Callable[[], None]) -> None:
        self.function: Callable[[], None] | None = function

    def cancel(self) -> None:
        self.function = None


class Standing:
    """A request at the wire."""

    __slots__ = ("origin", "process", "site", "want")

    def __init__(self, process: Process, site: str, origin: str, want: Want) -> None:
        self.process, self.site, self.origin, self.want = process, site, origin, want

    @property
    def sealed(self) -> bool:
        return True

    def seal(self) -> None:
        pass

    def ready(self) -> bool:
        return True

    def go(self, slot: Booked) -> None:
        self.process.departed(self, slot)

    def gives_up(self, wait: Wait) -> bool:
        return False

    def lost(self, slot: Booked) -> None:
        self.process.fleet.lost += 1


class Fleet:
    """All processes, their store, and what was sent."""

    def __init__(self, world: World, options: argparse.Namespace, trip: float) -> None:
        self.world = world
        self.dice = random.Random(options.seed)
        self.lag = options.lag / 1e3
        self.switch = options.switch / 1e3
        self.trip = trip / 1e3
        self.latency = options.latency / 1e3
        self.in_flight = options.in_flight
        self.store = MemoryStore(lambda: int(world.now * 1e6))
        self.calls = self.wants = self.settles = self.lost = 0
        self.sent: dict[str, list[tuple[float, int]]] = defaultdict(list)
        """Origin -> (when, by which process), in the order of time."""

    def late(self, seconds: float, function: Callable[[], None]) -> Event:
        """As a reactor runs it: never early, and late by what it does just then."""
        return self._after(seconds, self.lag, function)

    def soon(self, seconds: float, function: Callable[[], None]) -> Event:
        """As a thread runs it, beside whatever the reactor does just then."""
        return self._after(seconds, self.switch, function)

    def _after(self, seconds: float, lag: float, function: Callable[[], None]) -> Event:
        return self.world.later(max(0.0, seconds) + (self.dice.expovariate(1 / lag) if lag else 0.0), function)


class Process:
    """One crawler: its workbench, its lines (whose place it is), and at most one call to the store under way."""

    def __init__(self, fleet: Fleet, number: int) -> None:
        self.fleet = fleet
        self.number = number
        self.bench = Workbench(LEAD)
        self._origin_of: dict[str, str] = {}
        self._lines: dict[str, Line] = {}
        self._pending: list[tuple[Want, Answered]] = []
        self._owed: list[tuple[str, int]] = []
        self._under_way = False
        self._timer: Event | None = None
        self._at = 0.0
        self._busy = 0

    def wait_for(self, site: str, origin: str) -> None:
        self.bench.stand(site, QUEUE)
        self.bench.place(site, (site, origin), {})
        self.bench.open(site)
        self._origin_of[site] = origin

    def start(self) -> None:
        self._wake_in(self.fleet.dice.random())

    def _wake_in(self, seconds: float) -> None:
        at = self.fleet.world.now + seconds
        if self._timer is not None:
            if self._at <= at + 1e-4:
                return
            self._timer.cancel()
        self._at = at
        self._timer = self.fleet.late(seconds, self._wake)

    def _wake(self) -> None:
        self._timer = None
        world = self.fleet.world
        while self._busy < self.fleet.in_flight:
            choice = self.bench.choose(world.now)
            if not isinstance(choice, Choice):
                if choice is not None:
                    self._wake_in(choice)
                return
            site = choice.site
            origin = self._origin_of[site]
            charges = (Charge(site, COST, SITE_RATE), Charge(origin, COST, ORIGIN_RATE))
            standing = Standing(self, site, origin, tuple(charge.demand(WIDTH) for charge in charges))
            lent = {demand.key: demand.increment / 1e6 for demand in standing.want}
            self.bench.take(site, QUEUE, standing, lent, world.now)
            self._busy += 1
            self.fleet.late(self.fleet.dice.uniform(*CONNECT), partial(self._join, standing))

    def _join(self, standing: Standing) -> None:
        line = self._lines.get(standing.origin)
        if line is None:
            line = self._lines[standing.origin] = Line(standing.origin, self, WIDTH / 1e6)
        line.join(standing)

    def departed(self, standing: Standing, slot: Booked) -> None:
        fleet = self.fleet
        now = fleet.world.now
        late = int(now * 1e6) - slot.slot
        if late > PUNCTUAL + min(fleet.trip / 2 * 1e6, BLUR):
            self._owe(standing, late)
        fleet.sent[standing.origin].append((now, self.number))
        self.bench.booked(standing, {demand.key: demand.increment / 1e6 for demand in standing.want}, now)
        fleet.late(fleet.latency, partial(self._answered, standing))
        self._wake_in(0.0)

    def _owe(self, standing: Standing, micros: int) -> None:
        """What goes late in its slot moves its keys by as much; told to the store at once, as the package does."""
        self._owed += [(demand.key, micros) for demand in standing.want]
        self._send()

    def _answered(self, standing: Standing) -> None:
        self.bench.left(standing, self.fleet.world.now)
        self._busy -= 1
        line = self._lines.get(standing.origin)
        if line is not None and not len(line):
            del self._lines[standing.origin]
        self._wake_in(0.0)

    # -- the place of its lines, and its Booker's way to ask a store across a network

    def later(self, seconds: float, function: Callable[[], None]) -> Event:
        return self.fleet.soon(seconds, function)

    def clock(self) -> float:
        return self.fleet.world.now

    def is_reactor(self) -> bool:
        return True

    def in_reactor(self, function: Callable[[], None]) -> None:
        function()

    def book(self, want: Want, answered: Answered) -> None:
        self._pending.append((want, answered))
        self._send()

    def _send(self) -> None:
        if self._under_way or not (self._pending or self._owed):
            return
        self._under_way = True
        batch, self._pending = self._pending, []
        owed, self._owed = self._owed, []
        fleet = self.fleet
        there = fleet.trip / 2 * (0.5 + fleet.dice.expovariate(2.0))
        fleet.world.later(there, partial(self._at_the_store, batch, owed))

    def _at_the_store(self, batch: list[tuple[Want, Answered]], owed: list[tuple[str, int]]) -> None:
        fleet = self.fleet
        fleet.calls += bool(batch)
        fleet.settles += len(owed)
        fleet.wants += len(batch)
        for key, micros in owed:
            fleet.store.settle(key, micros)
        answers = fleet.store.book([want for want, _ in batch], 0 if fleet.trip < GLANCE else AHEAD)
        back = fleet.trip / 2 * (0.5 + fleet.dice.expovariate(2.0))
        fleet.soon(back, partial(self._came_back, batch, answers))

    def _came_back(self, batch: list[tuple[Want, Answered]], answers: list[Booked | Wait]) -> None:
        self._under_way = False
        for (_, answered), answer in zip(batch, answers, strict=True):
            answered(answer)
        self._send()


@dataclass(frozen=True)
class Figures:
    sites: int
    origins: int
    processes: int
    sharing: int
    trip_ms: float
    virtual_seconds: float
    sent: int
    lost: int
    kept: float
    gap_ms: float
    worst_1s: float
    worst_10s: float
    jain_processes: float
    jain_processes_worst: float
    jain_lottery: float
    jain_origins: float
    calls_per_s: float
    settles_per_s: float
    wants_per_s: float
    wants_per_call: float
    wants_per_booking: float
    bytes_per_site: float | None
    """None for few sites: the memory of what was measured before is used again."""
    real_seconds: float
    rows: int


def simulate(
    options: argparse.Namespace, sites: int, origins: int, processes: int, sharing: int, seconds: float, trip: float
) -> Figures:
    began = time.perf_counter()
    gc.collect()
    gc.disable()  # Millions of objects, none of them garbage: looking through them again and again takes most of the time.
    try:
        return _simulate(options, sites, origins, processes, sharing, seconds, trip, began)
    finally:
        gc.enable()


def _simulate(
    options: argparse.Namespace,
    sites: int,
    origins: int,
    processes: int,
    sharing: int,
    seconds: float,
    trip: float,
    began: float,
) -> Figures:
    before = resident()
    world = World()
    fleet = Fleet(world, options, trip)
    crawlers = [Process(fleet, number) for number in range(processes)]
    for number in range(sites):
        origin = number % origins
        # Its sites are dealt to `sharing` of the processes, that begin somewhere else for every origin.
        process = (origin + number // origins % sharing) % processes
        crawlers[process].wait_for(f"site:www.agency-{number}.example", f"origin:platform-{origin}.example")
    bytes_per_site = (resident() - before) / sites if sites >= MANY else None
    for crawler in crawlers:
        crawler.start()
    end = START + WARM + seconds
    world.run(START + WARM)
    calls, wants, settles = fleet.calls, fleet.wants, fleet.settles
    world.run(end)
    calls, wants, settles = fleet.calls - calls, fleet.wants - wants, fleet.settles - settles
    counted = {origin: [(at, who) for at, who in found if at >= START + WARM] for origin, found in fleet.sent.items()}
    sent = sum(map(len, counted.values()))
    between = [jain(shares(found, sharing)) for found in counted.values() if found]
    return Figures(
        sites,
        origins,
        processes,
        sharing,
        trip,
        seconds,
        sent,
        fleet.lost,
        sent * COST / (ORIGIN_RATE * seconds * origins),
        min(later - earlier for found in fleet.sent.values() for (earlier, _), (later, _) in pairwise(found)) * 1e3,
        max(worst([at for at, _ in found], 1.0) for found in fleet.sent.values()),
        max(worst([at for at, _ in found], 10.0) for found in fleet.sent.values()),
        statistics.mean(between),
        min(between),
        sent / origins / (sent / origins + sharing - 1),
        jain([len(found) for found in counted.values()] + [0] * (origins - len(counted))),
        calls / seconds,
        settles / seconds,
        wants / seconds,
        wants / calls,
        wants / sent,
        bytes_per_site,
        time.perf_counter() - began,
        len(fleet.store._rows),
    )


def shares(found: list[tuple[float, int]], sharing: int) -> list[float]:
    count: dict[int, int] = defaultdict(int)
    for _, who in found:
        count[who] += 1
    return [float(number) for number in count.values()] + [0.0] * (sharing - len(count))


def worst(times: list[float], length: float) -> float:
    """Units in the fullest half-open window, of what GCRA allows in one. Each packet may use its slot to the end."""
    allowed = ORIGIN_RATE * (length + 2 * WIDTH / 1e6) + COST
    most = first = 0
    for last, at in enumerate(times):
        while times[first] <= at - length:
            first += 1
        most = max(most, last - first + 1)
    return most * COST / allowed


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def row(one: Figures) -> list[Any]:
    return [
        *(f"{number:,}" for number in (one.sites, one.origins)),
        one.processes,
        one.sharing,
        one.trip_ms,
        f"{one.kept:.1%}",
        f"{one.gap_ms:.0f}",
        f"{one.worst_1s:.0%}",
        f"{one.worst_10s:.0%}",
        f"{one.jain_processes:.3f}",
        f"{one.jain_processes_worst:.3f}",
        f"{one.jain_lottery:.3f}",
        f"{one.jain_origins:.3f}",
        f"{one.calls_per_s:,.0f}",
        f"{one.settles_per_s:,.0f}",
        f"{one.wants_per_s:,.0f}",
        f"{one.wants_per_booking:.1f}",
        f"{one.lost:,}",
        None if one.bytes_per_site is None else f"{one.bytes_per_site:,.0f}",
        f"{one.real_seconds:.0f}",
    ]


HEADERS = [
    *(
        "sites",
        "origins",
        "processes",
        "sharing",
        "trip ms",
        "kept",
        "gap",
        "worst 1 s",
        "10 s",
        "Jain processes",
        "worst",
        "lottery",
        "Jain origins",
    ),
    *("calls/s", "settles/s", "wants/s", "wants/booking", "lost", "bytes/site", "ran s"),
]


def main() -> int:
    parser = arguments(__doc__)
    for name, value in {
        "sites": 1_000_000,
        "origins": 10_000,
        "processes": 64,
        "sharing": 4,
        "in-flight": 1_000,
        "seed": 1,
    }.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    for name, number in {"seconds": 12.0, "trip": 2.0, "lag": 5.0, "switch": 0.5, "latency": 200.0}.items():
        parser.add_argument(f"--{name}", type=float, default=number)
    options = parser.parse_args()
    report = Report("simulate", options)
    if options.short:
        options.sites, options.origins, options.processes, options.seconds = 20_000, 200, 16, 10.0
    shape = (options.sites, options.origins, options.processes, options.sharing, options.seconds)
    found = [simulate(options, *shape, options.trip)]
    print("ran", row(found[0]), file=sys.stderr, flush=True)
    # The cost of a booking does not depend on the number of sites, but on who else asks.
    seconds = 30.0 if options.short else 600.0
    herd = [(sharing, options.trip) for sharing in (1, 4, 16, 64) if sharing <= options.processes]
    for sharing, trip in [*herd, *((4, trip) for trip in (10.0, 20.0, 40.0, 80.0))]:
        found.append(simulate(options, HERD * 100, HERD, options.processes, sharing, seconds, trip))
        print("ran", row(found[-1]), file=sys.stderr, flush=True)
    report.table(HEADERS, map(row, found))
    big = found[0]
    window = max(max(one.worst_1s, one.worst_10s) for one in found)
    bound = (COST / ORIGIN_RATE - WIDTH / 1e6) * 1e3 - 5
    aims = [
        Aim("rate kept", "95 %", f"{big.kept:.1%}", big.kept >= 0.95),
        Aim(
            "smallest gap",
            f"{bound:.0f} ms",
            f"{min(one.gap_ms for one in found):.0f} ms",
            all(one.gap_ms >= bound for one in found),
        ),
        Aim("worst window, of what GCRA allows", "at most 100 %", f"{window:.0%}", window <= 1),
        *(
            Aim(
                f"Jain of {one.sharing} processes at an origin, {one.sent // one.origins} slots each",
                "0.95",
                f"{one.jain_processes:.3f}",
                one.jain_processes >= 0.95,
            )
            for one in found[2 : 1 + len(herd)]
        ),
    ]
    report.finish({"rows": [asdict(one) for one in found]}, aims)
    return 0


if __name__ == "__main__":
    sys.exit(main())
