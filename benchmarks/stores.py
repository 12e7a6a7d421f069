"""What a booking costs: our three stores, a bare UPDATE by the same driver, and two other limiters, in one run.

    python benchmarks/stores.py [--json FILE] [--seconds 3] [--rounds 3] [--url postgresql://...]

Nothing but bookings is measured: keys and wants are made before, 10,000 sites in random order, each booking granted but where
refusals are measured. Figures of Postgres are taken in rounds, each next to a bare UPDATE of one row out of 10,000, prepared,
by the same driver with the same `synchronous_commit`; a ratio is the median over the rounds. The server is one of the tests'
(with fsync on) or the one at --url. Several clients are processes; 32 are 4 processes of 8 threads, each with its own
connection.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import random
import statistics
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_polite.limits.gcra import Booked, Demand, Wait
from scrapy_polite.stores.base import Cause, Store, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEYS = 10_000
FAR = 10**15
"""Microseconds ahead: whatever is asked is booked."""
CHANCE = random.Random(1)


@dataclass
class Figure:
    """`per_second`: bookings, or whatever is named, of all clients together; times in microseconds, a call."""

    what: str
    store: str
    per_second: float
    p50_us: float
    p99_us: float
    slowest_us: float
    of_bare: float | None = None
    """Its rate, in units of the bare UPDATE's beside it."""


@dataclass
class Aim:
    what: str
    aim: str
    measured: float
    met: bool


def loop(call: Callable[[], object], seconds: float) -> list[float]:
    """Seconds that each call took, one after the other, for so long."""
    clock, took = time.perf_counter, []
    for _ in range(5):
        call()
    now = clock()
    end = now + seconds
    while now < end:
        before = now
        call()
        now = clock()
        took.append(now - before)
    return took


def figure(what: str, store: str, took: list[float], units: int = 1, seconds: float | None = None) -> Figure:
    took.sort()
    per_second = units * len(took) / (sum(took) if seconds is None else seconds)
    at = [took[len(took) // 2], took[len(took) * 99 // 100], took[-1]]
    return Figure(what, store, per_second, *(round(one * 1e6, 2) for one in at))


def together(make: Callable[[], Callable[[], object]], seconds: float, processes: int, threads: int = 1) -> list[float]:
    """What all clients' calls took. `make` is called in each client, which then waits until all are ready."""
    context = multiprocessing.get_context("fork")
    ready = context.Barrier(processes * threads)
    answers = context.SimpleQueue()

    def client(found: list[list[float]]) -> None:
        call = make()
        ready.wait()
        found.append(loop(call, seconds))

    def process() -> None:
        found: list[list[float]] = []
        workers = [threading.Thread(target=client, args=(found,)) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        answers.put([one for took in found for one in took])
        os._exit(0)

    children = [context.Process(target=process) for _ in range(processes)]
    for child in children:
        child.start()
    took = [one for _ in children for one in answers.get()]
    for child in children:
        child.join()
    return took


def wants(keys: int = 1) -> list[tuple[Demand, ...]]:
    families = ("site", "origin", "bucket")[:keys]
    return [tuple(Demand(f"{family}:host{n}.example", 10, 50_000) for family in families) for n in range(KEYS)]


def own(url: str, one: bool = False) -> Callable[[], object]:
    """A booking call with a store of its own, which lives until the process ends."""
    store = open_store(url)
    ALIVE.append(store)
    return booking(store, one=one)


TURN = 0.1
"""Seconds that one call is measured before it is another's turn."""

ALIVE: list[Any] = []
"""Connections of clients: closed by the end of their process, and not before."""


def booking(store: Store, keys: int = 1, batch: int = 1, one: bool = False) -> Callable[[], object]:
    """A call that books `batch` wants of `keys` keys; `one`: always the same."""
    all_wants = wants(keys)[:1] if one else wants(keys)
    batches = [[all_wants[CHANCE.randrange(len(all_wants))] for _ in range(batch)] for _ in range(2_000)]
    if batch > 1:
        batches = [CHANCE.sample(all_wants, batch) for _ in range(200)]
    turn = iter(range(10**12))

    def call() -> None:
        answers = store.book(batches[next(turn) % len(batches)], FAR)
        assert isinstance(answers[-1], Booked)

    return call


def refusing(store: Store) -> Callable[[], object]:
    store.hold("site:held", 3_600, Cause("error", "503"))
    want = [(Demand("site:held", 10, 0),)]

    def call() -> None:
        assert isinstance(store.book(want)[0], Wait)

    return call


def memory(seconds: float) -> Iterator[Figure]:
    for keys in (1, 3):
        with closing(open_store("memory:")) as store:
            yield figure(f"{keys} key{'s' * (keys > 1)}", "memory", loop(booking(store, keys), seconds))
    with closing(open_store("memory:")) as store:
        yield figure("refusal", "memory", loop(refusing(store), seconds))


def sqlite(seconds: float) -> Iterator[Figure]:
    for keys in (1, 3):
        with tempfile.TemporaryDirectory() as directory, closing(open_store(f"sqlite:{directory}/store")) as store:
            yield figure(f"{keys} key{'s' * (keys > 1)}", "SQLite", loop(booking(store, keys), seconds))
            if keys == 1:
                yield figure("refusal", "SQLite", loop(refusing(store), seconds))
                yield figure("batch of 100", "SQLite", loop(booking(store, batch=100), seconds), 100)
    with tempfile.TemporaryDirectory() as directory:
        url = f"sqlite:{directory}/store"
        open_store(url).close()
        took = together(lambda: own(url), seconds, processes=4)
        yield figure("1 key, 4 processes", "SQLite", took, seconds=seconds)


def bare(url: str, sync: str = "off", one: bool = False) -> Callable[[], object]:
    import psycopg

    db = psycopg.connect(url, autocommit=True)
    db.execute(f"SET synchronous_commit = {sync}".encode())
    ALIVE.append(db)
    cursor, chance = db.cursor(), random.Random(os.getpid())

    def call() -> None:
        row = 0 if one else int(chance.random() * KEYS)
        cursor.execute("UPDATE bare SET due = due + 100 WHERE id = %s", (row,), prepare=True)

    return call


def postgres(url: str, seconds: float, rounds: int) -> Iterator[Figure]:
    import psycopg

    with psycopg.connect(url, autocommit=True) as db:
        db.execute("DROP TABLE IF EXISTS bare")
        db.execute("CREATE TABLE bare (id int PRIMARY KEY, due bigint NOT NULL) WITH (fillfactor = 50)")
        db.execute("INSERT INTO bare SELECT n, 0 FROM generate_series(0, %s) n", (KEYS - 1,))
        with closing(open_store(url)) as store:
            for start in range(0, KEYS, 1_000):
                store.book(wants(3)[start : start + 1_000], FAR)
        db.execute("VACUUM ANALYZE")
    with ExitStack() as stack:
        store = stack.enter_context(closing(open_store(url)))
        stack.callback(lambda: [one.close() for one in ALIVE])
        calls = {
            ("bare UPDATE", 1): bare(url),
            ("1 key", 1): booking(store),
            ("3 keys", 1): booking(store, 3),
            ("refusal", 1): refusing(store),
            ("batch of 100", 100): booking(store, batch=100),
            ("bare UPDATE, synchronous", 1): bare(url, "on"),
        }
        # In short turns, so that what else the machine does falls on all of them.
        turns = max(rounds, round(seconds / TURN))
        runs = {name: (units, lambda call=call: loop(call, seconds / turns)) for (name, units), call in calls.items()}
        yield from compared(runs, turns)
        for clients, processes, threads in ((4, 4, 1), (32, 4, 8)):
            hot = clients == 32
            what = "one hot key, 32 clients" if hot else "1 key, 4 processes"

            def ours(hot: bool = hot, processes: int = processes, threads: int = threads) -> list[float]:
                return together(lambda: own(url, hot), seconds / rounds, processes, threads)

            def theirs(hot: bool = hot, processes: int = processes, threads: int = threads) -> list[float]:
                return together(lambda: bare(url, one=hot), seconds / rounds, processes, threads)

            yield from compared({f"bare UPDATE, {what}": (1, theirs), what: (1, ours)}, rounds, seconds / rounds)


def compared(
    runs: dict[str, tuple[int, Callable[[], list[float]]]], rounds: int, seconds: float | None = None
) -> Iterator[Figure]:
    """Each run in each round; ratios to the first run of the same round. `seconds`: how long a run of many clients took."""
    all_took: dict[str, list[float]] = {name: [] for name in runs}
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, (units, run) in runs.items():
            took = run()
            all_took[name] += took
            rates[name].append(figure(name, "", took, units, seconds).per_second)
    base = rates[next(iter(runs))]
    for name, (units, _) in runs.items():
        found = figure(name, "Postgres", all_took[name], units, None if seconds is None else rounds * seconds)
        found.of_bare = round(statistics.median(one / other for one, other in zip(rates[name], base, strict=True)), 3)
        yield found


def peers(url: str | None, seconds: float) -> Iterator[Figure]:
    """Others, at a limit that is never reached."""
    keys = [f"site:host{n}.example" for n in range(KEYS)]
    turn = iter(range(10**12))
    try:
        from limits import RateLimitItemPerSecond
        from limits.storage import MemoryStorage
        from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter
    except ImportError:
        print("limits is not installed: left out (pip install -e '.[bench]')", file=sys.stderr)
    else:
        item = RateLimitItemPerSecond(10**9)
        for name, strategy in (("fixed window", FixedWindowRateLimiter), ("moving window", MovingWindowRateLimiter)):
            limiter = strategy(MemoryStorage())
            yield figure(f"limits, {name}", "memory", loop(lambda it=limiter: it.hit(item, keys[next(turn) % KEYS]), seconds))
    try:
        from pyrate_limiter import InMemoryBucket, Limiter, Rate, SQLiteBucket
        from pyrate_limiter.buckets.postgres import PostgresBucket
    except ImportError:
        print("pyrate-limiter is not installed: left out (pip install -e '.[bench]')", file=sys.stderr)
        return

    def permits(store: str, limiter: Limiter) -> Figure:
        refused = 0

        def call() -> None:
            nonlocal refused
            refused += not limiter.try_acquire("site", blocking=False)

        took = loop(call, seconds)
        found = figure("pyrate-limiter", store, took)
        if refused:
            # Its own housekeeping held the lock of its table, for which it does not wait.
            share = min(1.0, refused / len(took))
            found.what += f" ({share:.0%} refused)"
            found.per_second *= 1 - share
        return found

    def never() -> list[Rate]:
        return [Rate(10**9, 1_000)]

    with ExitStack() as stack:
        limiter = Limiter(InMemoryBucket(never()))
        stack.callback(limiter.close)
        yield permits("memory", limiter)
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        limiter = Limiter(SQLiteBucket.init_from_file(never(), db_path=f"{directory}/store"))
        stack.callback(limiter.close)
        yield permits("SQLite", limiter)
    if url is None:
        return
    from psycopg_pool import ConnectionPool

    with ExitStack() as stack:
        pool = stack.enter_context(ConnectionPool(url, min_size=1, max_size=4))
        limiter = Limiter(PostgresBucket(pool, "bench", never()))
        stack.callback(limiter.close)
        yield permits("Postgres", limiter)


def figures(seconds: float, rounds: int, url: str | None) -> Iterator[Figure]:
    """All of them. `url` None: without Postgres."""
    yield from memory(seconds)
    yield from sqlite(seconds)
    if url is not None:
        yield from postgres(url, seconds, rounds)
    yield from peers(url, seconds)


def aims(found: list[Figure]) -> Iterator[Aim]:
    """What the figures should be, those that were measured."""
    by = {(one.store, one.what): one for one in found}

    def aim(what: str, text: str, measured: float, met: bool) -> Aim:
        return Aim(what, text, round(measured, 3), met)

    ours, limits = by[("memory", "1 key")], by.get(("memory", "limits, fixed window"))
    if limits is not None:
        ratio = ours.per_second / limits.per_second
        yield aim("memory, 1 key, against limits", ">= 5", ratio, ratio >= 5)
    one, four = by[("SQLite", "1 key")], by[("SQLite", "1 key, 4 processes")]
    yield aim("SQLite, 1 key, p50 us", "< 20", one.p50_us, one.p50_us < 20)
    yield aim("SQLite, 4 processes, slowest ms", "< 150", four.slowest_us / 1000, four.slowest_us < 150_000)
    for what, least in (
        ("1 key", 0.7),
        ("3 keys", 0.25),
        ("refusal", 2.0),
        ("batch of 100", 4.0),
        ("one hot key, 32 clients", 0.5),
    ):
        one = by.get(("Postgres", what))  # type: ignore[assignment]
        if one is not None and one.of_bare is not None:
            yield aim(f"Postgres, {what}, against the bare UPDATE", f">= {least:g}", one.of_bare, one.of_bare >= least)
    refusal, synchronous = by.get(("Postgres", "refusal")), by.get(("Postgres", "bare UPDATE, synchronous"))
    if refusal is not None and synchronous is not None:
        ratio = refusal.per_second / synchronous.per_second
        yield aim("Postgres, refusal, against the bare UPDATE with synchronous_commit on", ">= 2", ratio, ratio >= 2)


def table(found: list[Figure], reached: list[Aim]) -> str:
    lines = [f"{'store':<9} {'what':<38} {'per second':>11} {'p50 us':>9} {'p99 us':>9} {'slowest us':>11} {'of bare':>8}"]
    for one in found:
        ratio = "" if one.of_bare is None else f"{one.of_bare:.2f}"
        times = f"{one.p50_us:>9.1f} {one.p99_us:>9.1f} {one.slowest_us:>11,.0f}"
        lines.append(f"{one.store:<9} {one.what:<38} {one.per_second:>11,.0f} {times} {ratio:>8}")
    lines.append("")
    lines += [f"{'met' if one.met else 'MISSED':<7} {one.what}: {one.measured:g} (aim {one.aim})" for one in reached]
    return "\n".join(lines)


def machine() -> dict[str, object]:
    return {"cores": len(os.sched_getaffinity(0)), "python": platform.python_version()}


@contextmanager
def server(url: str | None) -> Iterator[str | None]:
    """The database to measure: at `url`, or in a server of the tests'; None where there is neither."""
    if url is not None:
        yield url
        return
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    import postgres as fixture

    with ExitStack() as stack:
        try:
            own = stack.enter_context(contextmanager(fixture.started)("-c", "fsync=on", "-c", "shared_buffers=128MB"))
        except BaseException as missing:
            # pytest's way to say that something is not there.
            if type(missing).__name__ != "Skipped":
                raise
            print(missing, file=sys.stderr)
            yield None
        else:
            yield own.database().url


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each figure")
    parser.add_argument(
        "--rounds", type=int, default=3, help="into which the seconds are cut, at least, where figures are compared"
    )
    parser.add_argument("--url", default=os.environ.get("POLITE_TEST_DATABASE_URL"), help="of an empty Postgres database")
    options = parser.parse_args()
    with server(options.url) as url:
        found = list(figures(options.seconds, options.rounds, url))
    reached = list(aims(found))
    print(table(found, reached))
    if options.json:
        whole = {"machine": machine(), "figures": [asdict(one) for one in found], "aims": [asdict(one) for one in reached]}
        options.json.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
