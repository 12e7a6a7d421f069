"""The law of pace acts on real crawls: an origin that becomes slow is asked less before it refuses, in all processes."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

from loopback import FETCH, Answer, Arrival, Server, crawl, ports
from town.capacity import Overloaded
from town.knee import Knee, Spell

from scrapy_polite.stores.base import open_store
from scrapy_polite.stores.paces import paces
from scrapy_polite.telemetry.events import Sent
from scrapy_polite.telemetry.ledger import Ledger
from scrapy_polite.telemetry.proof import prove

if TYPE_CHECKING:
    from pathlib import Path

ORIGIN = "origin:127.0.0.1"
RATE = 12.0
USUAL, SLOW = 0.05, 0.4
"""Seconds of work. With two workers 40 a second can be had at first, and then 5."""
SLOW_FROM = 3.0
SECONDS = 9.0


class Kneed:
    """The town's server with a knee, in front of one page. It becomes slower after a while, for good."""

    def __init__(self, waiting: int) -> None:
        self._knee = Knee(2, USUAL, waiting, Spell(SLOW_FROM, math.inf, SLOW / USUAL))
        self._one_by_one = threading.Lock()
        self.refused = 0

    def __call__(self, arrival: Arrival) -> Answer:
        with self._one_by_one:
            found = self._knee.arrive(arrival.at)
            if isinstance(found, Overloaded):
                self.refused += 1
                return Answer(b"busy", 503)
        return Answer(wait=found.latency)


def crawled(server: Server, tmp_path: Path, **settings: object) -> dict[str, object]:
    found = crawl(
        FETCH.format(count=400, url=server.url),
        tmp_path,
        **ports(server),
        **{
            "POLITE_COSTS": {"page": 1},
            "POLITE_SITE_RATE": 1000,
            "POLITE_LIMITS": {ORIGIN: {"rate": RATE, "concurrency": 64}},
            "CONCURRENT_REQUESTS": 64,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
            "CLOSESPIDER_TIMEOUT": SECONDS,
            "RETRY_ENABLED": False,
            "POLITE_LADDERS": {"error": [0.01], "rate_limited": [0.01]},
            "POLITE_LADDER_JITTER": 0,
            **settings,
        },
    )
    assert found.code == 0, found.log
    return {**found.stats, "log": found.log}


def test_an_origin_that_becomes_slow_is_asked_less_before_it_refuses(tmp_path: Path) -> None:
    paced, bare = Kneed(20), Kneed(20)
    with Server(paced) as server:
        stats = crawled(server, tmp_path, POLITE_PACE=True)
    (tmp_path / "bare").mkdir()
    with Server(bare) as server:
        crawled(server, tmp_path / "bare", POLITE_PACE=False)
    assert paced.refused == 0
    assert bare.refused > 5
    assert isinstance(stats["polite/pace/page"], float)
    assert stats["polite/pace/page"] > 2
    assert f"Pace: {ORIGIN}: a page goes at 1/" in str(stats["log"])
    events = list(Ledger.read(tmp_path / "limits.ledger.sqlite"))
    proof = prove(events)
    assert proof.passed, proof.violations
    (origin,) = (key for key in proof.keys if key.key == ORIGIN)
    assert origin.rate == RATE
    assert origin.pace == stats["polite/pace/page"] or origin.pace > 2
    # What was asked at first, at the full rate, and what at the end.
    sent = [event for event in events if isinstance(event, Sent)]
    assert sent[0].charges[-1].pace == 1
    store = open_store(f"sqlite:{tmp_path}/limits.sqlite")
    try:
        state = paces(store, [ORIGIN])[ORIGIN]["page"]
    finally:
        store.close()
    assert state.slow > 0.1
