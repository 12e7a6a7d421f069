"""Holds of sites that are raised to their origin, in the whole of Politeness on a store whose clock the test turns."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from scrapy import Request
from scrapy.exceptions import CannotResolveHostError, DownloadTimeoutError
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from scrapy_polite.admission import Placed
from scrapy_polite.config import Config
from scrapy_polite.dns.resolver import Answer, Resolver
from scrapy_polite.errors import NoAddressError
from scrapy_polite.naming.hosts import literal
from scrapy_polite.origins.edges import Edge
from scrapy_polite.origins.placements import Placement, Reason
from scrapy_polite.politeness import Politeness
from scrapy_polite.stores.base import Kept, StoreError
from scrapy_polite.stores.memory import MemoryStore
from scrapy_polite.telemetry.events import HeldEvent
from scrapy_polite.telemetry.ledger import Ledger
from scrapy_polite.ticket import Ticket

if TYPE_CHECKING:
    from collections.abc import Iterable

START = 1_000_000_000
ORIGIN = "origin:203.0.113.7"
ADDRESS = Reason("address", "203.0.113.7", 0.93, 3)
BUNNY = Edge("bunny", "bunny.net", "a test says so")
HTML = {"content-type": ["text/html"]}


class Store(MemoryStore):
    """Its clock is turned by the test, and it may not know which sites an origin has."""

    def __init__(self) -> None:
        super().__init__(lambda: self.time)
        self.time = START
        self.broken = False

    def hosts_of(self, origin: str, most: int = 1000) -> list[Kept]:
        if self.broken:
            raise StoreError("a test says so")
        return super().hosts_of(origin, most)


class Crawl:
    """Sites a to z of one origin, whose refusals are heard."""

    def __init__(self, because: Iterable[Reason] = (ADDRESS,), edge: Edge | None = None, store: Store | None = None) -> None:
        self.store = store or Store()
        self.ledger = Ledger(None, "one")
        self.stats = MemoryStatsCollector(get_crawler())
        self.config = Config.from_settings({"POLITE_LADDER_JITTER": 0})
        self.politeness = Politeness(self.config, self.store, Resolver(["127.0.0.1:9"]), self.ledger, self.stats)
        self.politeness._holding.raises.wall = lambda: self.store.time / 1e6
        self.because, self.edge = tuple(because), edge

    def ticket(self, site: str, path: str = "/") -> Ticket:
        key = f"site:{site}.test"
        address = literal("203.0.113.7")
        assert address is not None
        placement = Placement(f"{site}.test", ORIGIN, 0.93, self.because, self.edge, located=True)
        keys = (key, ORIGIN) if self.edge is None else (key, f"edge:bunny/{site}.test", ORIGIN)
        answer = Answer(f"{site}.test", (address,), (), 1e12)
        self.politeness._placed[key] = Placed(answer, address, keys, placement)
        request = Request(f"http://{site}.test{path}")
        kind, charges = self.politeness.planner.plan(request, key, keys)
        ticket = Ticket(self.politeness, request, request.url, key, kind, charges, self.edge)
        self.politeness.tickets[request] = ticket
        return ticket

    def hears(
        self, site: str, status: int = 429, after: float = 0.0, body: bytes = b"", path: str = "/", **headers: str
    ) -> bool:
        self.store.time += round(after * 1e6)
        fields = {**HTML, **{name.replace("_", "-"): [value] for name, value in headers.items()}}
        return asyncio.run(self.politeness.hear(self.ticket(site, path), status, fields, body))

    def fails(self, site: str) -> bool:
        request = self.ticket(site).request
        assert request is not None
        self.politeness.tickets[request].sent = self.politeness.tickets[request].made
        return asyncio.run(self.politeness.failed(request, DownloadTimeoutError()))

    def held(self) -> dict[str, float]:
        return {held.key: round(held.seconds, 3) for held in self.store.held()}

    def events(self) -> list[HeldEvent]:
        return [event for event in self.ledger.events() if isinstance(event, HeldEvent)]

    def counted(self, stat: str) -> int:
        return int(self.stats.get_value(f"polite/{stat}", 0))


def test_one_sites_refusal_is_its_own() -> None:
    crawl = Crawl()
    assert not crawl.hears("a")
    assert crawl.held() == {"site:a.test": 120}


def test_a_second_sites_within_a_minute_is_the_origins_until_the_later_end(caplog: pytest.LogCaptureFixture) -> None:
    crawl = Crawl()
    crawl.hears("a")
    with caplog.at_level(logging.INFO):
        crawl.hears("b", after=60, retry_after="200")
    assert crawl.held() == {"site:a.test": 60, "site:b.test": 200, ORIGIN: 200}
    assert crawl.counted("raised/rate_limited") == 1
    assert crawl.counted("backoff/rate_limited") == 2
    (line,) = [record for record in caplog.records if record.getMessage().startswith(f"Hold: {ORIGIN}")]
    assert line.levelname == "WARNING"
    assert line.getMessage().startswith(
        f"Hold: {ORIGIN} for 3 min 20 s (rate_limited: 429), raised from site:a.test, site:b.test"
    )
    (event,) = [event for event in crawl.events() if event.key == ORIGIN]
    assert (event.kind, event.until) == ("rate_limited", START + 260_000_000)
    assert event.reason == "429; raised from site:a.test, site:b.test: 2 of its sites were refused within 60 s"


def test_a_second_sites_after_more_than_a_minute_is_its_own_and_a_third_one_is_the_origins() -> None:
    crawl = Crawl()
    crawl.hears("a")
    crawl.hears("b", after=61)
    assert ORIGIN not in crawl.held()
    crawl.hears("c", after=61)
    assert crawl.held()[ORIGIN] == 120


def test_another_answer_of_the_same_burst_is_no_other_hold() -> None:
    crawl = Crawl()
    for _ in range(5):
        crawl.hears("a", after=10)
    crawl.hears("b", after=50)
    assert ORIGIN not in crawl.held()
    assert crawl.counted("backoff/rate_limited") == 6


def test_the_first_cause_of_a_hold_is_kept_through_the_burst_and_one_that_was_lifted_by_hand_comes_back() -> None:
    crawl = Crawl()
    crawl.hears("a", retry_after="3600")
    crawl.hears("a", retry_after="2")
    (held,) = crawl.store.held()
    assert held.cause.reason == "429, Retry-After: 3600"
    assert len(crawl.events()) == 1
    crawl.store.release("site:a.test")
    crawl.hears("a")
    assert round(crawl.held()["site:a.test"]) == 3600


def test_a_raise_is_said_once_and_what_comes_later_can_only_lengthen_it() -> None:
    crawl = Crawl()
    crawl.hears("a")
    crawl.hears("b", after=1)
    crawl.hears("c", after=1, retry_after="500")
    assert crawl.held()[ORIGIN] == 500
    assert crawl.counted("raised/rate_limited") == 1


def test_a_quota_is_the_origins_when_a_second_site_names_its_partition() -> None:
    crawl = Crawl()
    crawl.hears("a", 200, ratelimit='"all";r=0;t=3000000000;pk=:c2hvcHM=:')
    crawl.hears("c", 200, ratelimit='"all";r=0;t=40;pk=:bWluZQ==:')
    assert ORIGIN not in crawl.held()
    crawl.hears("b", ratelimit='"all";r=0;t=30;pk=:c2hvcHM=:')
    assert crawl.held()[ORIGIN] == 30 + 3_600


def test_quotas_that_are_spent_in_one_minute_are_no_refusals_of_the_origin() -> None:
    crawl = Crawl()
    for site in "abc":
        assert crawl.hears(site, 200, ratelimit='"mine";r=0;t=30')
    assert ORIGIN not in crawl.held()


def test_weak_evidence_takes_a_third_site() -> None:
    crawl = Crawl([Reason("marker", "x-brand", 0.62, 9), Reason("look", "x-brand", 0.5, 9)])
    crawl.hears("a")
    crawl.hears("b", after=1)
    assert ORIGIN not in crawl.held()
    crawl.hears("c", after=1)
    assert ORIGIN in crawl.held()


def test_an_origin_of_many_sites_takes_a_third_one() -> None:
    crawl = Crawl()
    crawl.store.keep([Kept(f"s{number}.test", ORIGIN, 0.93, (), "{}") for number in range(50)])
    crawl.hears("a")
    crawl.hears("b", after=1)
    assert ORIGIN not in crawl.held()


def test_while_the_store_cannot_tell_how_many_sites_there_are_it_takes_a_third_one() -> None:
    crawl = Crawl()
    crawl.store.broken = True
    crawl.hears("a")
    crawl.hears("b", after=1)
    assert set(crawl.held()) == {"site:a.test", "site:b.test"}
    crawl.hears("c", after=1)
    assert ORIGIN in crawl.held()


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (403, {"cf_mitigated": "challenge"}, b""),
        (403, {}, b"<html>errors.edgesuite.net</html>"),
        (429, {"server": "cloudflare"}, b"error code: 1015"),
        (403, {"retry_after": "60"}, b""),
    ],
)
def test_what_an_edge_refuses_itself_is_not_the_origins(status: int, headers: dict[str, str], body: bytes) -> None:
    behind, direct = Crawl(edge=BUNNY), Crawl()
    for site in "abc":
        for crawl in (behind, direct):
            crawl.hears(site, status, 1, body, **headers)
    assert set(behind.held()) == {"site:a.test", "site:b.test", "site:c.test"}
    assert ORIGIN in direct.held()


def test_a_429_that_comes_through_an_edge_may_be_the_origins() -> None:
    crawl = Crawl(edge=BUNNY)
    crawl.hears("a")
    crawl.hears("b", after=1)
    assert set(crawl.held()) == {"site:a.test", "site:b.test", ORIGIN}


def test_timeouts_of_two_sites_are_the_origins() -> None:
    crawl = Crawl()
    assert [crawl.fails(site) for site in "aaabb"] == [False, False, True, False, False]
    assert crawl.fails("b")
    assert set(crawl.held()) == {"site:a.test", "site:b.test", ORIGIN}
    # It is held now, so one more failure is nobody's retry.
    assert crawl.fails("c")
    assert crawl.counted("backoff/timeout") == 2


def test_a_site_that_moved_takes_its_refusals_to_where_it_is_now() -> None:
    crawl = Crawl()
    crawl.hears("a")
    ticket = crawl.ticket("b")
    placed = crawl.politeness._placed["site:b.test"]
    crawl.politeness._placed["site:b.test"] = replace(placed, keys=("site:b.test", "origin:elsewhere"))
    asyncio.run(crawl.politeness.hear(ticket, 429, HTML, b""))
    assert set(crawl.held()) == {"site:a.test", "site:b.test"}


def test_sites_that_refuse_to_two_processes_are_one_origins() -> None:
    one = Crawl()
    other = Crawl(store=one.store)
    one.hears("a")
    other.hears("b", after=1)
    assert ORIGIN in one.held()


def test_a_refusal_in_another_process_is_the_next_step_and_success_clears_for_both() -> None:
    one = Crawl()
    other = Crawl(store=one.store)
    other.hears("a", 200)
    one.hears("a")
    one.store.release("site:a.test")
    other.hears("a", after=200)
    assert one.held() == {"site:a.test": 300}
    one.store.release("site:a.test")
    third = Crawl(store=one.store)
    third.hears("a", 200, after=500)
    third.hears("a", 429)
    assert one.held() == {"site:a.test": 120}


def test_what_fails_in_somebodys_middleware_is_not_the_sites() -> None:
    crawl = Crawl()
    for _ in range(5):
        assert not asyncio.run(crawl.politeness.failed(Request("http://a.test/"), ConnectionResetError("a database")))
    assert crawl.held() == {}


def test_look_ups_fail_before_there_is_a_ticket() -> None:
    crawl = Crawl()
    error = CannotResolveHostError("a.test: servfail")
    error.__cause__ = NoAddressError("servfail")
    assert [asyncio.run(crawl.politeness.failed(Request("http://a.test/"), error)) for _ in range(3)] == [False, False, True]
    assert crawl.held() == {"site:a.test": 60}
