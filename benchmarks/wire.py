"""The wire: are slots kept where it counts, judged by the kernel's stamps of the packets, while the reactor is busy?

    python -m benchmarks.wire [--short] [--json FILE] [--seconds 6] [--keys 4] [--repeat 3]

Real Scrapy crawls, each in a process of its own, over loopback, in one run: every store, plain and TLS, and the reactor busy
for 0, 30, 60 and 90 % of the time in callbacks of 20, 100 and 300 ms that do not give it back. ``keys`` servers at once, each
one page in 200 ms. Beside them stock Scrapy with DOWNLOAD_DELAY = 0.2. The combination that the aims are about runs ``repeat``
times, and counts with its median.

missed   slots that were booked and in which no packet left, of all slots booked. A packet outside of its slot counts too
kept     of the rate, first packet to last
gap      the smallest between two packets to one server, in ms. The bound is 200 - width (50) - 5
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.crawler import POLITE, crawl
from benchmarks.databases import postgres
from benchmarks.packets import Packet, Sniffer, is_root
from benchmarks.reporting import Aim, Report, arguments
from benchmarks.server import Server
from scrapy_polite.telemetry.events import Missed, Sent
from scrapy_polite.telemetry.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.databases import Postgres

INTERVAL = 0.2
WIDTH = 0.05
SLACK = 0.005
SHARES = (0.3, 0.6, 0.9)
CALLBACKS = (0.02, 0.1, 0.3)
AIM = (0.6, 0.1)
STOCK = "stock Scrapy"


@dataclass(frozen=True)
class Case:
    store: str
    tls: bool
    busy: tuple[float, float] | None


@dataclass(frozen=True)
class Figures:
    """``missed``: None without slots. ``worst_ms``: the latest that a packet left after its slot began, negative: before."""

    store: str
    tls: bool
    busy: float
    callback_ms: float
    packets: int
    booked: int | None
    missed: float | None
    kept: float
    gap_ms: float
    worst_ms: float | None


def cases(short: bool, stores: Sequence[str], repeat: int) -> Iterator[Case]:
    if short:
        yield from (Case(store, tls=False, busy=AIM) for store in stores)
        yield Case("sqlite", tls=True, busy=AIM)
        yield Case(STOCK, tls=False, busy=AIM)
        return
    for tls in (False, True):
        for busy in (None, *((share, callback) for share in SHARES for callback in CALLBACKS)):
            for store in stores:
                yield from [Case(store, tls, busy)] * (repeat if busy == AIM else 1)
            if busy in (None, AIM):
                yield Case(STOCK, tls, busy)


def measure(case: Case, database: Postgres | None, keys: int, seconds: float) -> Figures:
    addresses = [f"127.0.0.{2 + key}" for key in range(keys)]
    pages = max(5, round(seconds / INTERVAL))
    url = database.database() if case.store == "postgres" and database is not None else ""
    with tempfile.TemporaryDirectory(prefix="wire-") as name, Server(addresses, tls=case.tls) as server:
        directory = Path(name)
        ledger = directory / "ledger.sqlite"
        settings: dict[str, Any] = {"DOWNLOAD_DELAY": INTERVAL, "RANDOMIZE_DOWNLOAD_DELAY": False}
        if case.store != STOCK:
            settings = {
                **POLITE,
                "POLITE_STORE": {"memory": "memory:", "sqlite": f"sqlite:{directory}/limits", "postgres": url}[case.store],
                "POLITE_LEDGER": str(ledger),
                "POLITE_ALLOW_PORTS": [server.port],
                "POLITE_SITE_RATE": 1 / INTERVAL,
                "POLITE_ORIGIN_RATE": 1 / INTERVAL,
                "POLITE_SLOT_WIDTH": WIDTH,
                "POLITE_PACE": False,  # The rate that is set is what is measured.
            }
        patterns = [server.url(address, "/{}") for address in addresses]
        with Sniffer(server.port) if is_root() else nullcontext() as sniffer:
            offset = time.time() - time.monotonic() if case.store == "postgres" else 0.0
            crawl(
                directory, "crawl", 60 + 10 * seconds, settings=settings, patterns=patterns, numbers=[0, pages], busy=case.busy
            )
            packets = [Packet(*arrival) for arrival in server.arrivals()] if sniffer is None else None
        if packets is None:
            assert sniffer is not None
            packets = sniffer.packets()
        events = list(Ledger.read(ledger)) if ledger.exists() else []
    if url and database is not None:
        database.drop(url)
    return judged(case, packets, events, addresses, pages, offset)


def judged(case: Case, packets: list[Packet], events: list[Any], addresses: list[str], pages: int, offset: float) -> Figures:
    """``offset``: of the store's clock to CLOCK_MONOTONIC. Postgres has the wall clock of this machine."""
    times = {address: sorted(packet.at for packet in packets if packet.address == address) for address in addresses}
    if any(len(found) != pages for found in times.values()):
        raise RuntimeError(f"{case}: {pages} requests to each server, but packets: { {k: len(v) for k, v in times.items()} }")
    gap = min(later - earlier for found in times.values() for earlier, later in pairwise(found))
    kept = statistics.mean((pages - 1) * INTERVAL / (found[-1] - found[0]) for found in times.values())
    booked = missed = worst = None
    if case.store != STOCK:
        sent = [event for event in events if isinstance(event, Sent)]
        late = {(event.slot, event.charges[-1].key) for event in sent if event.at > event.slot + event.width}
        lost = sum(1 for event in events if isinstance(event, Missed) and (event.slot, event.key) not in late)
        after = []
        for address, found in times.items():
            slots = sorted(event.slot / 1e6 - offset for event in sent if event.site == f"site:{address}")
            after += [at - slot for at, slot in zip(found, slots, strict=True)]
        # A millisecond for the clocks: of the packet (wall) and of the slot.
        outside = sum(1 for late in after if not -0.001 <= late < WIDTH + 0.001)
        booked, worst = len(sent) + lost, max(after) * 1e3
        missed = (lost + outside) / booked
    share, callback = case.busy or (0.0, 0.0)
    return Figures(case.store, case.tls, share, callback * 1e3, len(packets), booked, missed, kept, gap * 1e3, worst)


def medians(found: list[Figures]) -> list[Figures]:
    """One row a case; of a repeated one the median, but the smallest gap and the worst delay of all."""
    by: dict[tuple[Any, ...], list[Figures]] = {}
    for one in found:
        by.setdefault((one.store, one.tls, one.busy, one.callback_ms), []).append(one)
    rows = []
    for key, ones in by.items():
        slots = ones[0].booked is not None
        rows.append(
            Figures(
                *key,
                sum(one.packets for one in ones),
                sum(one.booked or 0 for one in ones) if slots else None,
                statistics.median(one.missed or 0 for one in ones) if slots else None,
                statistics.median(one.kept for one in ones),
                min(one.gap_ms for one in ones),
                max(one.worst_ms or 0 for one in ones) if slots else None,
            )
        )
    return rows


def aims(rows: list[Figures]) -> Iterator[Aim]:
    bound = (INTERVAL - WIDTH - SLACK) * 1e3
    for store in ("memory", "sqlite", "postgres"):
        for tls in (False, True):
            where = f"{store}, {'TLS' if tls else 'plain'}, busy 60 % of 100 ms"
            row = next((r for r in rows if (r.store, r.tls, r.busy, r.callback_ms) == (store, tls, AIM[0], AIM[1] * 1e3)), None)
            if row is None or row.missed is None:
                yield Aim(where, "", "", None)
                continue
            most = 0.01 if store == "postgres" else 0.0
            met = row.missed < most if most else row.missed == 0
            yield Aim(f"{where}: missed", f"under {most:.0%}" if most else "0", f"{row.missed:.1%}", met)
            yield Aim(f"{where}: kept", "97 %", f"{row.kept:.1%}", row.kept >= 0.97)
            yield Aim(f"{where}: smallest gap", f"{bound:.0f} ms", f"{row.gap_ms:.1f} ms", row.gap_ms >= bound)


def shown(row: Figures) -> list[object]:
    busy = "-" if not row.busy else f"{row.busy:.0%} of {row.callback_ms:.0f} ms"
    missed = None if row.missed is None else f"{row.missed:.1%}"
    return [row.store, "TLS" if row.tls else "plain", busy, row.packets, missed, f"{row.kept:.1%}", row.gap_ms, row.worst_ms]


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=float, help="of one crawl at the full rate (6; short: 2)")
    parser.add_argument("--keys", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    report = Report("wire", options)
    seconds = options.seconds or (2.0 if options.short else 6.0)
    found = []
    with postgres() as database:
        stores = ["memory", "sqlite", *(["postgres"] if database else [])]
        for case in cases(options.short, stores, options.repeat):
            found.append(measure(case, database, options.keys, seconds))
            print("ran", *shown(found[-1]), file=sys.stderr, flush=True)
    rows = medians(found)
    report.table(["store", "wire", "busy", "packets", "missed", "kept", "gap ms", "worst ms"], map(shown, rows))
    results = {"witness": "packets" if is_root() else "receiver", "runs": [asdict(one) for one in found]}
    report.finish({**results, "rows": [asdict(row) for row in rows]}, list(aims(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
