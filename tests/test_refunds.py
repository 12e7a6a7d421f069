"""What a proven hit gives back, and what nothing gives back: the whole of Politeness on a store whose clock the test turns."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from scrapy import Request
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from scrapy_polite.config import Config
from scrapy_polite.dns.resolver import Resolver
from scrapy_polite.limits.gcra import Booked
from scrapy_polite.origins.edges import Edge
from scrapy_polite.politeness import Politeness
from scrapy_polite.stores.base import StoreError
from scrapy_polite.stores.memory import MemoryStore
from scrapy_polite.telemetry.events import Refunded
from scrapy_polite.telemetry.ledger import Ledger
from scrapy_polite.ticket import Ticket

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_polite.limits.gcra import Row

START = 1_000_000_000
SITE, EDGE, ORIGIN = KEYS = ("site:www.a.test", "edge:bunny/www.a.test", "origin:a.test")
BUNNY = Edge("bunny", "bunny.net", "a test says so")
HIT = {"cdn-cache": ["HIT"]}


class Store(MemoryStore):
    """Its clock is turned by the test, and it may stop to answer."""

    def __init__(self) -> None:
        super().__init__(lambda: self.time)
        self.time = START
        self.broken = False

    def settle(self, key: str, micros: int) -> None:
        if self.broken:
            raise StoreError("a test says so")
        super().settle(key, micros)

    def rows(self) -> Mapping[str, Row]:
        return self._rows


class Behind:
    """A host behind bunny.net: 1 unit a second at the site, 2 at the origin, 20 at the edge; a page costs 2."""

    def __init__(self) -> None:
        self.store = Store()
        self.ledger = Ledger(None, "one")
        crawler = get_crawler()
        self.stats = MemoryStatsCollector(crawler)
        config = Config.from_settings({"POLITE_PACE": False})
        self.politeness = Politeness(config, self.store, Resolver(["127.0.0.1:9"]), self.ledger, self.stats)
        self.width = config.width

    def ticket(self, keys: tuple[str, ...] = KEYS, edge: Edge | None = BUNNY) -> Ticket:
        request = Request("http://www.a.test/1")
        kind, charges = self.politeness.planner.plan(request, keys[0], keys)
        return Ticket(self.politeness, request, request.url, keys[0], kind, charges, edge)

    def send(self, ticket: Ticket, late: int = 0) -> Ticket:
        (answer,) = self.store.book([ticket.want])
        assert isinstance(answer, Booked), answer
        self.store.time += late
        ticket.departed(answer, ticket.left(answer))
        return ticket

    def hear(self, ticket: Ticket, status: int = 200, headers: Mapping[str, list[str]] = HIT) -> bool:
        return asyncio.run(self.politeness.hear(ticket, status, headers, b""))

    def due(self) -> list[float]:
        """Seconds after the start at which site, edge and origin are due."""
        return [round((self.store.rows()[key].due - START) / 1e6, 3) for key in KEYS]

    def counted(self) -> dict[str, int]:
        return {name: self.stats.get_value(f"polite/edge/{name}", 0) for name in ("hit", "miss")}


CHARGED = [2.222, 0.1, 1.111]
GIVEN_BACK = [0.0, 0.1, 0.0]


@pytest.fixture
def behind() -> Behind:
    return Behind()


def test_a_hit_gives_back_what_site_and_origin_were_charged_and_not_what_the_edge_was(behind: Behind) -> None:
    ticket = behind.send(behind.ticket())
    assert behind.due() == CHARGED
    assert behind.hear(ticket)
    assert behind.due() == GIVEN_BACK
    assert behind.counted() == {"hit": 1, "miss": 0}
    refunds = [event for event in behind.ledger.events() if isinstance(event, Refunded)]
    assert refunds == [Refunded(START, SITE, START, 2.0), Refunded(START, ORIGIN, START, 2.0)]
    assert behind.politeness.refunds.shares.of(EDGE) == 0


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, {}),
        (200, {"cdn-cache": ["MISS"]}),
        (200, {"cdn-cache": ["EXPIRED"]}),
        (200, {"x-cache": ["HIT"], "cache-status": ["varnish; hit"], "age": ["7"]}),
        (429, HIT),
        (503, HIT),
        (500, HIT),
        (302, {**HIT, "retry-after": ["5"]}),
        (403, {**HIT, "cf-mitigated": ["challenge"]}),
    ],
)
def test_whatever_does_not_prove_that_the_origin_was_left_alone_keeps_its_charge(
    behind: Behind, status: int, headers: dict[str, list[str]]
) -> None:
    behind.hear(behind.send(behind.ticket()), status, headers)
    assert behind.due() == CHARGED
    assert behind.counted() == {"hit": 0, "miss": 1}
    assert behind.politeness.refunds.shares.of(EDGE) == 1


@pytest.mark.parametrize("status", [200, 204, 301, 304, 404, 410])
def test_a_hit_of_any_status_below_500_is_one(behind: Behind, status: int) -> None:
    assert behind.hear(behind.send(behind.ticket()), status)
    assert behind.due() == GIVEN_BACK


def test_when_the_headers_vanish_every_request_is_a_miss_from_that_one_on(behind: Behind) -> None:
    for _ in range(50):
        behind.hear(behind.send(behind.ticket()))
        behind.store.time += 100_000
    before = behind.due()[2]
    behind.hear(behind.send(behind.ticket()), headers={})
    assert behind.due()[2] >= before + 1.111
    assert behind.counted() == {"hit": 50, "miss": 1}


def test_nothing_is_given_back_twice(behind: Behind) -> None:
    first = behind.send(behind.ticket())
    behind.hear(first)
    behind.store.time += 100_000
    behind.send(behind.ticket())
    due = behind.due()
    behind.hear(first)
    assert behind.due() == due


def test_what_was_not_booked_is_not_given_back(behind: Behind) -> None:
    """Another request has booked, and this one was answered by something that never sent it."""
    behind.send(behind.ticket())
    behind.hear(behind.ticket())
    assert behind.due() == CHARGED


def test_a_lost_answer_and_a_missed_slot_keep_their_charge(behind: Behind) -> None:
    behind.send(behind.ticket())  # Nothing is heard of it.
    ticket = behind.ticket()
    behind.store.time += 3_000_000
    (missed,) = behind.store.book([ticket.want])
    assert isinstance(missed, Booked)
    ticket.missed(missed)
    due = behind.due()
    behind.store.time += 3_000_000
    behind.hear(behind.send(ticket))
    assert behind.due()[2] >= due[2]


def test_a_hit_gives_back_the_charge_and_not_the_lateness_that_was_settled(behind: Behind) -> None:
    ticket = behind.send(behind.ticket(), late=40_000)
    assert behind.due() == [round(due + 0.04, 3) for due in CHARGED]
    behind.hear(ticket)
    assert behind.due() == [0.04, 0.14, 0.04]


def test_of_several_that_are_out_each_gives_back_its_own(behind: Behind) -> None:
    politeness = behind.politeness
    image = politeness.planner.charges(SITE, KEYS, "image")
    tickets = [Ticket(politeness, None, "http://www.a.test/i", SITE, "image", image, BUNNY) for _ in range(2)]
    behind.send(tickets[0])
    behind.store.time += 300_000
    behind.send(tickets[1])
    assert behind.due() == [2.222, 0.35, 1.111]
    behind.hear(tickets[0])
    assert behind.due() == [1.111, 0.35, 0.556]
    behind.hear(tickets[1])
    assert behind.due() == [0.3, 0.35, 0.3], "not before the newest slot"


def test_a_crawl_delay_stays_and_the_origin_has_its_charge_back(behind: Behind) -> None:
    behind.politeness.obey_delay(SITE, 5.0, "Crawl-delay")
    ticket = behind.send(behind.ticket())
    assert behind.due() == [5.05, 0.1, 1.111]
    behind.hear(ticket)
    assert behind.due() == [5.05, 0.1, 0.0]


def test_a_direct_request_is_charged_strictly_and_has_nothing_back(behind: Behind) -> None:
    behind.send(behind.ticket())
    direct = behind.ticket(("site:b.test", ORIGIN), None)
    (wait,) = behind.store.book([direct.want])
    assert not isinstance(wait, Booked), "it waits for what is out as well"
    behind.store.time += wait.micros
    behind.hear(behind.send(direct))
    assert behind.due()[2] == pytest.approx(2.111, abs=0.06)
    assert behind.counted() == {"hit": 0, "miss": 0}


def test_a_store_that_cannot_take_a_refund_keeps_the_charge_and_the_answer_is_passed_on(behind: Behind) -> None:
    ticket = behind.send(behind.ticket())
    behind.store.broken = True
    assert behind.hear(ticket)
    behind.store.broken = False
    behind.politeness.booker.pay()
    assert behind.due() == CHARGED
    assert not any(isinstance(event, Refunded) for event in behind.ledger.events())
