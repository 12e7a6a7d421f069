"""Holds as several real processes see them that share a store: SQLite and Postgres."""

from __future__ import annotations

import json
import signal
import time
from contextlib import ExitStack
from email.utils import formatdate
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hearers import Heard, Hearers, rounds
from loopback import FETCH, Answer, Arrival, Running, Server, limits, ports, start
from test_spread import fullest_second

from scrapy_polite.holding import LADDERS
from scrapy_polite.stores.base import Store, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from postgres import Database

PROCESSES = 4
SITE = "site:127.0.0.1"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:{tmp_path}/limits.sqlite"
    database: Database = request.getfixturevalue("database")
    return database.url


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    opened = open_store(url)
    yield opened
    opened.close()


def steps(store: Store, site: str) -> dict[str, float]:
    """Where a site stands on its ladders, by what is noted of it."""
    row: dict[str, float] = json.loads(store.notes([site])[site][LADDERS])["ladders"]
    del row["held_until"]
    return row


# -- heard at once, without a crawl


def test_a_hundred_keys_that_four_processes_hear_refused_at_once_come_back_a_few_at_a_time(url: str, store: Store) -> None:
    """Each key is refused to two of the processes: it is one key all the same."""
    keys = [f"site:{number}.example" for number in range(100)]
    told: list[list[Heard]] = [[] for _ in range(PROCESSES)]
    for number, key in enumerate(keys):
        for process in (number % PROCESSES, (number + 1) % PROCESSES):
            told[process].append((key, 429, {"retry-after": "5"}))
    with Hearers(url, [[one] for one in told], {}) as hearers:
        at, _ = hearers.round()
        held = {hold.key: time.monotonic() + hold.seconds for hold in store.held()}
    assert sorted(held) == sorted(keys)
    assert min(held.values()) >= at + 5
    assert max(held.values()) > at + 5 + 30
    assert fullest_second(held.values()) <= 5


def test_a_key_that_is_refused_alone_comes_back_when_the_server_said_however_many_processes_hear_it(
    url: str, store: Store
) -> None:
    burst: list[Heard] = [("site:a.example", 429, {"retry-after": "60"})] * 8
    with Hearers(url, [[burst]] * PROCESSES, {}) as hearers:
        at, done = hearers.round()
        (hold,) = store.held()
        assert at + 60 <= time.monotonic() + hold.seconds <= done + 60.1


LADDER = {"POLITE_LADDERS": {"rate_limited": [1.5], "error": [1.5]}, "POLITE_LADDER_JITTER": 0}


def test_many_refusals_at_once_are_one_step_of_each_kind_and_no_step_is_lost(url: str, store: Store) -> None:
    sites = [f"site:{number}.example" for number in range(3)]
    burst: list[Heard] = []
    for site in sites:
        burst += [(site, 429, {}), (site, 503, {"retry-after": "1"})] * 4
    with Hearers(url, [rounds(burst, 3)] * PROCESSES, LADDER) as hearers:
        for number in range(1, 4):
            hearers.round()
            # The first of a burst climbs, and the first of its kind.
            assert [steps(store, site) for site in sites] == [{"rate_limited": number, "error": 1}] * 3
            until = time.monotonic() + max(hold.seconds for hold in store.held())
            time.sleep(max(0.0, until - time.monotonic()) + 0.1)


KINDS: dict[str, tuple[int, dict[str, str]]] = {
    "rate_limited": (429, {}),
    "error": (503, {"retry-after": "60"}),
    "denied": (403, {"retry-after": "60"}),
    "challenge": (403, {"cf-mitigated": "challenge"}),
}


def test_kinds_that_different_processes_hear_in_the_same_moment_are_all_noted(url: str, store: Store) -> None:
    sites = [f"site:{number}.example" for number in range(20)]
    shares = [[[(site, status, headers) for site in sites]] for status, headers in KINDS.values()]
    with Hearers(url, shares, {}) as hearers:
        hearers.round()
    assert [steps(store, site) for site in sites] == [dict.fromkeys(KINDS, 1)] * len(sites)


# -- crawls


def in_seconds() -> dict[str, str]:
    return {"Retry-After": "5"}


def as_a_date() -> dict[str, str]:
    # By a clock that is two hours fast.
    now = int(time.time()) + 7_200
    return {"Retry-After": formatdate(now + 5, usegmt=True), "Date": formatdate(now, usegmt=True)}


@pytest.mark.parametrize("stated", [in_seconds, as_a_date])
def test_nothing_is_sent_inside_a_stated_time_by_any_of_four_processes(
    url: str, store: Store, tmp_path: Path, crawls: ExitStack, stated: Callable[[], dict[str, str]]
) -> None:
    refused: list[float] = []

    def answer(arrival: Arrival) -> Answer:
        if len(server.arrivals) == 8:
            refused.append(time.monotonic())
            return Answer(status=429, headers=stated())
        return Answer()

    with Server(answer) as server:
        running = started(crawls, url, server, tmp_path, 10)
        running[0].until(store.held)
        held = time.monotonic()
        assert [len(one.end(60).urls()) for one in running] == [10] * PROCESSES
    # What was on the wire when it came to hold is there a moment later.
    assert [arrival for arrival in server.arrivals if held + 0.1 < arrival.at < refused[0] + 5] == []
    assert len(server.arrivals) == 10 * PROCESSES + 1
    assert server.arrivals[-1].at < refused[0] + 5 + 15


def test_a_shorter_time_that_another_process_is_told_changes_neither_the_hold_nor_its_cause(
    url: str, store: Store, tmp_path: Path, crawls: ExitStack
) -> None:
    def answer(arrival: Arrival) -> Answer:
        # Those that are on the wire when the first is answered are answered later.
        first = len(server.arrivals) == 1
        return Answer(status=429, headers={"Retry-After": "3600" if first else "2"}, wait=0.7 if first else 1.5)

    with Server(answer) as server:
        running = started(crawls, url, server, tmp_path, 10)
        running[0].until(store.held)
        arrived = len(server.arrivals)
        time.sleep(6)
        assert 2 <= len(server.arrivals) <= arrived + 1
        (hold,) = store.held()
    assert 3585 < hold.seconds < 3600
    assert (hold.key, hold.cause.reason, hold.cause.stated) == (SITE, "429, Retry-After: 3600", True)
    assert steps(store, SITE) == {"rate_limited": 1}


def test_a_hold_and_its_rung_survive_who_heard_of_it_and_refusals_are_counted_across_runs(
    url: str, store: Store, tmp_path: Path, crawls: ExitStack
) -> None:
    settings = {"POLITE_LADDERS": {"rate_limited": [4, 8]}, "POLITE_LADDER_JITTER": 0, "POLITE_PARK_AFTER": 3}
    with Server(lambda arrival: Answer(status=429)) as server:
        left = started(crawls, url, server, tmp_path, 5, 2, count=2, **settings)
        for number, rung in enumerate([4, 8], 1):
            left[0].until(partial(who_heard, left))
            (heard,) = who_heard(left)
            time.sleep(0.5)
            assert heard.process.poll() is None
            heard.process.send_signal(signal.SIGKILL)
            assert heard.process.wait(10) == -signal.SIGKILL
            left = [running for running in left if running is not heard]
            (hold,) = store.held()
            assert rung - 2.5 < hold.seconds < rung
            assert steps(store, SITE) == {"rate_limited": number}
            assert len(server.arrivals) == number
            if not left:
                # The crawl is started again in the middle of the hold.
                left = started(crawls, url, server, tmp_path / "again", 5, 2, count=1, **settings)
        left[0].until(lambda: "parked" in left[0].log)
        (hold,) = store.held()
        assert (hold.cause.kind, hold.cause.reason) == ("parked", "3 refusals with no good answer between, the last: 429")
        assert hold.seconds > 6 * 86_400
        # All that is left is parked: it is put off, and the crawl ends.
        done = left[0].end(60)
        assert done.stats["finish_reason"] == "polite_deferred"
    first, second, third = (arrival.at for arrival in server.arrivals)
    assert second - first >= 4
    assert third - second >= 8


@pytest.fixture
def crawls() -> Iterator[ExitStack]:
    """What ends the crawls that a test has started."""
    with ExitStack() as stack:
        yield stack


def started(
    crawls: ExitStack,
    url: str,
    server: Server,
    tmp_path: Path,
    pages: int,
    rate: float = 20,
    count: int = PROCESSES,
    **settings: object,
) -> list[Running]:
    """Crawls of ``pages`` pages each."""
    running = []
    for number in range(count):
        folder = tmp_path / f"crawl-{number}"
        folder.mkdir(parents=True)
        chosen = {**limits(rate), **ports(server), "POLITE_STORE": url, **settings}
        running.append(crawls.enter_context(start(FETCH.format(count=pages, url=server.url), folder, **chosen)))
    return running


def who_heard(crawls: list[Running]) -> list[Running]:
    return [running for running in crawls if f"Hold: {SITE}" in running.log]
