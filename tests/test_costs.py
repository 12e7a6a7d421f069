"""Learned costs: what an answer tells of the work behind it, and how far a cost may go for it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.limits.kinds import Kinds
from scrapy_polite.origins.costs import (
    AGREEING,
    ENOUGH,
    KINDS,
    ORIGINS,
    PATIENCE,
    SILENT,
    SITES,
    Company,
    Costs,
    Learned,
    Sample,
    tells,
)
from scrapy_polite.origins.notes import NotedCost

ORIGIN = "origin:sites.platform.test"
TRIP = 0.06


def sample(kind: str = "page", seconds: float = 0.16, **other: object) -> Sample:
    given: dict[str, object] = {
        "origin": ORIGIN,
        "site": "site:a.test",
        "kind": kind,
        "address": "203.0.113.7",
        "seconds": seconds,
        "status": 200,
        "hit": None,
        "edge": False,
        "alone": True,
    }
    return Sample(**(given | other))  # type: ignore[arg-type]


class Crawl:
    """Feeds answers of a server whose work per kind is known; a minute passes with each batch."""

    def __init__(self) -> None:
        self.costs = Costs(Kinds().cost)
        self.costs.connected("203.0.113.7", TRIP)
        self.now = 1000.0
        self.steps: list[Learned] = []

    def batch(self, number: int = ENOUGH, *, passes: float = 60.0, paced: bool = False, **work: float) -> None:
        for kind, seconds in work.items():
            for _ in range(number):
                self.tell(sample(kind, TRIP + seconds), paced=paced)
        self.now += passes

    def tell(self, one: Sample, *, paced: bool = False) -> None:
        if not self.costs.heard(one, self.now, paced=paced):
            return
        step = self.costs.step(one.origin, one.kind, self.now, self.now)
        if step is not None:
            self.steps.append(step)

    def cost(self, kind: str) -> float:
        return self.costs.cost(ORIGIN, kind)


# -- what a cost may do


def test_work_beside_that_of_a_page_is_the_estimate() -> None:
    crawl = Crawl()
    crawl.batch(page=0.1, image=0.05, search=0.2)
    assert crawl.costs.estimate(ORIGIN, "search") == pytest.approx(4)
    assert crawl.costs.estimate(ORIGIN, "image") == pytest.approx(1)
    assert crawl.steps == []


def test_nothing_is_estimated_from_too_few_answers_of_the_kind_or_of_pages() -> None:
    crawl = Crawl()
    crawl.batch(ENOUGH - 1, page=0.1, search=0.4)
    assert crawl.costs.estimate(ORIGIN, "search") is None
    crawl.batch(1, page=0.1)
    assert crawl.costs.estimate(ORIGIN, "search") is None
    crawl.batch(1, search=0.4)
    assert crawl.costs.estimate(ORIGIN, "search") == pytest.approx(8)


def test_up_at_once_by_half_a_unit_in_ten_minutes() -> None:
    crawl = Crawl()
    crawl.batch(page=0.1, search=0.4)
    assert crawl.cost("search") == 4.5
    while crawl.now < 1000 + PATIENCE:
        crawl.batch(page=0.1, search=0.4)
        assert crawl.cost("search") == 4.5
    crawl.batch(page=0.1, search=0.4)
    assert crawl.cost("search") == 5.0
    assert [step.cost for step in crawl.steps] == [4.5, 5.0]


def test_down_only_after_estimates_that_agree() -> None:
    crawl = Crawl()
    for _ in range(AGREEING - 1):
        crawl.batch(page=0.1, search=0.1)
    assert crawl.cost("search") == 4
    crawl.batch(ENOUGH * 2, page=0.1, search=0.2)  # It is dear again: the count begins anew.
    for _ in range(AGREEING - 1):
        crawl.batch(24, page=0.1, search=0.1)
    assert crawl.cost("search") == 4
    crawl.batch(24, page=0.1, search=0.1)
    assert crawl.cost("search") == 3.5


def test_a_cost_stays_between_half_and_twice_its_default_and_a_page_never_moves() -> None:
    up, down = Crawl(), Crawl()
    for _ in range(40):
        up.batch(passes=PATIENCE, page=0.1, search=5, image=5, listing=5)
        down.batch(passes=PATIENCE, page=0.1, search=0, image=0, listing=0)
    assert [up.cost(kind) for kind in ("search", "page", "image", "listing")] == [8, 2, 2, 4]
    assert [down.cost(kind) for kind in ("search", "page", "image", "listing")] == [2, 2, 1, 1]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["page", "search", "image", "robots", "own"]), st.floats(0, 1e6), st.floats(0, 900), st.booleans()
        ),
        max_size=400,
    )
)
def test_whatever_is_heard_a_cost_keeps_its_bounds_and_its_pace(heard: list[tuple[str, float, float, bool]]) -> None:
    costs, kinds, now = Costs(Kinds().cost), Kinds(), 0.0
    moved: dict[str, float] = {}
    for kind, seconds, passes, paced in heard:
        now += passes
        before = costs.cost(ORIGIN, kind)
        enough = costs.heard(sample(kind, seconds), now, paced=paced)
        step = costs.step(ORIGIN, kind, now, now) if enough else None
        after = costs.cost(ORIGIN, kind)
        assert max(1, kinds.cost(kind) / 2) <= after <= kinds.cost(kind) * 2
        assert abs(after - before) <= 0.5
        assert (step is not None) == (after != before)
        if step is not None:
            assert not paced
            assert now - moved.get(kind, -PATIENCE) >= PATIENCE
            moved[kind] = now
    assert costs.cost(ORIGIN, "page") == 2


def test_a_step_says_what_it_was_made_for() -> None:
    crawl = Crawl()
    crawl.batch(page=0.1, search=0.4)
    (step,) = crawl.steps
    said = "the server takes 400 ms, and 100 ms for a page, which makes 8.00: from 4 to 4.5, in bounds of 2 to 8"
    noted = NotedCost(4.5, 1000.0, ENOUGH, ENOUGH, said)
    assert step == Learned(ORIGIN, "search", 4.5, 4, ENOUGH, said, noted)
    page, search = crawl.costs.learned(ORIGIN)
    assert (page.kind, page.cost, page.samples, page.because) == ("page", 2, ENOUGH, "the others are weighed against it")
    assert search == step
    assert list(crawl.costs.all_of("search")) == [4.5]
    assert crawl.costs.learned("origin:other.test") == ()


def test_origins_learn_for_themselves() -> None:
    crawl = Crawl()
    crawl.batch(page=0.1, search=0.4)
    assert crawl.costs.cost("origin:other.test", "search") == 4


# -- what is no sample


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({}, True),
        ({"hit": False}, True),
        ({"edge": True, "hit": False}, True),
        # Hits measure the edge; and without a word it may be one.
        ({"hit": True}, False),
        ({"edge": True, "hit": True}, False),
        ({"edge": True}, False),
        # Errors and redirects are quick.
        *(({"status": status}, False) for status in (204, 206, 301, 302, 304, 403, 404, 429, 500, 503)),
        ({"alone": False}, False),
        ({"seconds": -0.001}, False),
    ],
)
def test_what_tells_of_work(wrong: dict[str, object], told: bool) -> None:
    assert tells(sample(**wrong)) is told  # type: ignore[arg-type]
    costs = Costs(Kinds().cost)
    costs.heard(sample(**wrong), 0.0)  # type: ignore[arg-type]
    assert [one.samples for one in costs.learned(ORIGIN)] == ([1] if told else [])


def test_error_pages_do_not_make_a_kind_cheap() -> None:
    crawl = Crawl()
    crawl.batch(page=0.1, search=0.2)
    for _ in range(500):
        crawl.tell(sample("search", TRIP + 0.001, status=404))
    assert crawl.costs.estimate(ORIGIN, "search") == pytest.approx(4)
    assert crawl.steps == []


def test_nothing_is_learned_while_the_origin_is_paced() -> None:
    """Slowing down for latency makes latency fall: a cost that followed would chase its own tail."""
    crawl = Crawl()
    for _ in range(10):
        crawl.batch(passes=PATIENCE, paced=True, page=0.1, search=0.8)
    assert crawl.costs.learned(ORIGIN) == ()
    crawl.batch(page=0.1, search=0.2)
    assert crawl.cost("search") == 4


# -- the pitfalls


def test_a_queue_makes_all_kinds_alike_and_the_weights_keep_their_bounds() -> None:
    crawl = Crawl()
    for _ in range(20):
        crawl.batch(passes=PATIENCE, page=2.0, search=2.0, image=2.0)
    assert [crawl.cost(kind) for kind in ("search", "page", "image")] == [2, 2, 2]


def test_the_round_trip_is_that_of_the_address_and_is_taken_off() -> None:
    costs = Costs(Kinds().cost)
    for address, trip in (("203.0.113.7", 0.01), ("203.0.113.8", 0.2)):
        costs.connected(address, trip + 0.5)  # The reactor was busy when this one came about.
        costs.connected(address, trip)
        for number in range(ENOUGH):
            for kind, work in (("page", 0.1), ("search", 0.2)):
                costs.heard(sample(kind, trip + work, address=address, site=f"site:{address}"), float(number))
    assert costs.estimate(ORIGIN, "search") == pytest.approx(4)


def test_without_a_connection_seen_the_quickest_answer_of_the_address_is_the_round_trip() -> None:
    costs = Costs(Kinds().cost)
    for kind, seconds in (("robots", TRIP), ("page", TRIP + 0.1), ("search", TRIP + 0.2)):
        for number in range(ENOUGH):
            costs.heard(sample(kind, seconds), float(number))
    assert costs.estimate(ORIGIN, "search") == pytest.approx(4)


def test_a_new_connection_costs_no_more_than_a_kept_one() -> None:
    """Seconds are counted from the request on the wire: a handshake is before that. What it tells is the round trip."""
    kept, new = Crawl(), Crawl()
    for crawl in (kept, new):
        for _ in range(ENOUGH):
            if crawl is new:
                crawl.costs.connected("203.0.113.7", TRIP)
            for kind, work in (("page", 0.1), ("image", 0.05)):
                crawl.tell(sample(kind, TRIP + work))
    assert kept.costs.estimate(ORIGIN, "image") == new.costs.estimate(ORIGIN, "image")


def test_tarpits_among_the_answers_are_not_work() -> None:
    crawl, chance = Crawl(), random.Random(1)
    for _ in range(30):
        for _ in range(ENOUGH):
            crawl.tell(sample("page", TRIP + 0.1))
            crawl.tell(sample("search", TRIP + (30 if chance.random() < 0.5 else 0.2)))
        crawl.now += PATIENCE
    assert crawl.cost("search") == 4


def test_a_tarpit_site_is_one_of_many() -> None:
    crawl = Crawl()
    for number in range(5):
        for _ in range(ENOUGH):
            site = f"site:{number}.test"
            crawl.tell(sample("page", TRIP + 0.1, site=site))
            crawl.tell(sample("search", TRIP + (30 if number == 0 else 0.2), site=site))
    assert crawl.costs.estimate(ORIGIN, "search") == pytest.approx(4)


def test_one_heavy_tenant_does_not_set_the_costs_of_all() -> None:
    crawl = Crawl()
    for number in range(5):
        for _ in range(ENOUGH):
            site = f"site:{number}.test"
            crawl.tell(sample("page", TRIP + (2.0 if number == 0 else 0.1), site=site))
            crawl.tell(sample("image", TRIP + 0.05, site=site))
    assert crawl.costs.estimate(ORIGIN, "image") == pytest.approx(1)


def test_a_server_that_sends_its_headers_before_the_work_tells_nothing() -> None:
    crawl = Crawl()
    for _ in range(10):
        crawl.batch(passes=PATIENCE, page=0.002, search=0.001, image=0.004)
    assert crawl.costs.estimate(ORIGIN, "search") is None
    assert [crawl.cost(kind) for kind in ("search", "page", "image")] == [4, 2, 1]


def test_pages_that_are_packed_on_the_fly_do_not_make_images_free() -> None:
    """The server packs a page before its first byte, and no image: 30 ms more for each page."""
    crawl = Crawl()
    for _ in range(20):
        crawl.batch(passes=PATIENCE, page=0.13, image=0.05, search=0.23)
    assert crawl.cost("image") == 1
    assert crawl.cost("search") == 3.5


def test_images_from_a_cache_within_the_server_cost_one_unit() -> None:
    crawl, chance = Crawl(), random.Random(2)
    for _ in range(20):
        for _ in range(ENOUGH):
            crawl.tell(sample("page", TRIP + 0.1))
            crawl.tell(sample("image", TRIP + (0.002 if chance.random() < 0.8 else 0.05)))
        crawl.now += PATIENCE
    assert crawl.cost("image") == 1


# -- memory


def test_what_is_kept_is_bounded() -> None:
    costs = Costs(Kinds().cost)
    for number in range(ORIGINS + 10):
        costs.heard(sample(origin=f"origin:{number}"), 0.0)
    assert costs.learned("origin:9") == ()
    assert costs.learned(f"origin:{ORIGINS + 9}") != ()
    for number in range(KINDS + 10):
        costs.heard(sample(f"kind{number}"), 0.0)
    assert len(costs.learned(ORIGIN)) == KINDS
    crawl = Crawl()
    for number in range(300):
        for _ in range(100):
            crawl.tell(sample(site=f"site:{number}.test"))
    assert crawl.costs.learned(ORIGIN)[0].samples <= SITES * 24


def test_sites_that_have_fallen_silent_give_their_place_to_others() -> None:
    crawl = Crawl()
    for number in range(SITES):
        crawl.tell(sample(site=f"site:{number}.test"))
    crawl.tell(sample(site="site:late.test"))
    assert crawl.costs.learned(ORIGIN)[0].samples == SITES
    crawl.now += SILENT
    for _ in range(3):
        crawl.tell(sample(site="site:late.test"))
    assert crawl.costs.learned(ORIGIN)[0].samples == SITES + 2


# -- company


def test_a_request_is_alone_if_nobody_was_there_and_nobody_came() -> None:
    company = Company()
    first = company.sent(ORIGIN)
    assert company.ended(ORIGIN, first)
    first, second = company.sent(ORIGIN), company.sent(ORIGIN)
    elsewhere = company.sent("origin:other.test")
    assert not company.ended(ORIGIN, first), "somebody came"
    third = company.sent(ORIGIN)
    assert not company.ended(ORIGIN, second), "somebody was there"
    assert not company.ended(ORIGIN, third)
    assert company.ended("origin:other.test", elsewhere)
    assert company.ended(ORIGIN, company.sent(ORIGIN))
