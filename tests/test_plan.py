"""Limits by key, the charges of a request, and what a charge asks of GCRA."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.limits.gcra import Demand, Row, Wait, decide
from scrapy_polite.limits.plan import FAMILIES, LONGEST, Charge, Limit, Limits, plan

WIDTH = 50_000


def test_an_increment_is_the_cost_over_the_rate_and_a_key_without_burst_tolerates_one_width() -> None:
    assert Charge("site:a", 2, 0.5).demand(WIDTH) == Demand("site:a", 4_000_000, WIDTH)


def test_a_burst_is_the_time_in_which_it_is_earned() -> None:
    assert Charge("bucket:s3/x", 1, 50, burst=100).demand(WIDTH) == Demand("bucket:s3/x", 20_000, 2_000_000)


def test_a_burst_smaller_than_a_width_still_lets_lateness_be_caught_up() -> None:
    assert Charge("bucket:s3/x", 1, 50, burst=1).demand(WIDTH).tolerance == WIDTH


def test_a_stated_least_interval_is_kept_exactly_whatever_the_tolerance() -> None:
    demand = Charge("site:a", 1, 1, least=2).demand(WIDTH)
    assert demand.increment - demand.tolerance == 2_000_000


def test_a_stated_least_interval_leaves_no_room_for_a_burst() -> None:
    assert Charge("site:a", 1, 10, burst=100, least=2).demand(WIDTH).tolerance == WIDTH


def test_a_cost_that_takes_longer_than_the_least_interval_rules() -> None:
    assert Charge("site:a", 4, 1, least=2).demand(WIDTH).increment == 4_000_000


@settings(deadline=None)
@given(st.floats(0.001, 1000), st.floats(0.001, 1000), st.floats(0, 1000), st.floats(0, 1000), st.integers(1, 10**6))
def test_a_demand_never_promises_more_than_rate_burst_and_least_allow(
    cost: float, rate: float, burst: float, least: float, width: int
) -> None:
    demand = Charge("site:a", cost, rate, burst, least).demand(width)
    assert demand.increment >= 1
    assert demand.increment >= cost / rate * 1e6 * (1 - 1e-12)
    assert width <= demand.tolerance <= max(width, burst / rate * 1e6 * (1 + 1e-12))
    if least:
        assert demand.increment - demand.tolerance >= least * 1e6 * (1 - 1e-12)


@pytest.mark.parametrize(
    ("key", "limit"),
    [
        ("site:www.example.com", Limit(1.0, 0.0, None)),
        ("origin:203.0.113.7", Limit(2.0, 0.0, 4)),
        ("edge:bunny/www.example.com", Limit(20.0, 0.0, None)),
        ("imageservice:imgix/acme", Limit(20.0, 0.0, None)),
        ("bucket:s3/photos", Limit(50.0, 100.0, None)),
    ],
)
def test_a_key_has_the_limit_of_its_family(key: str, limit: Limit) -> None:
    assert Limits(concurrency=4).of(key) == limit


def test_the_exact_key_then_the_longest_pattern_then_the_family_each_for_what_it_states() -> None:
    limits = Limits(
        origin=2.0,
        concurrency=8,
        overrides={
            "origin:*": {"rate": 3, "burst": 1},
            "origin:*.platform.test": {"rate": 4},
            "origin:sites.platform.test": {"concurrency": 2},
        },
    )
    assert limits.of("origin:else.test") == Limit(3.0, 1.0, 8)
    assert limits.of("origin:api.platform.test") == Limit(4.0, 1.0, 8)
    assert limits.of("origin:sites.platform.test") == Limit(4.0, 1.0, 2)
    assert limits.of("site:sites.platform.test") == Limit(1.0, 0.0, None)


def test_an_override_may_lift_the_cap_on_requests_in_flight() -> None:
    limits = Limits(concurrency=8, overrides={"origin:own.test": {"concurrency": None}})
    assert limits.of("origin:own.test").concurrency is None


def test_a_limit_goes_on_to_apply_when_the_name_has_become_an_alias_and_the_strictest_wins() -> None:
    limits = Limits(
        origin=2.0,
        concurrency=8,
        overrides={
            "origin:slow.test": {"rate": 0.5, "burst": 9},
            "origin:few.test": {"rate": 7, "concurrency": 1},
            "origin:big.test": {"rate": 5, "burst": 3},
            "origin:else.test": {"rate": 0.1},
            "site:slow.test": {"rate": 0.1},
        },
    )
    assert limits.origins == ("origin:big.test", "origin:else.test", "origin:few.test", "origin:slow.test")
    aliases = {
        "origin:slow.test": "origin:big.test",
        "origin:few.test": "origin:big.test",
        "origin:else.test": "origin:else.test",
    }
    limits.stand(aliases)
    for name in ("origin:big.test", "origin:slow.test", "origin:few.test"):
        assert limits.of(name) == Limit(0.5, 0.0, 1), "whichever name a process knows it by"
    assert limits.also("origin:big.test") == ("origin:few.test", "origin:slow.test")
    assert limits.of("origin:else.test").rate == 0.1
    assert limits.of("origin:new.test").rate == 2.0
    before = limits.generation
    limits.stand(aliases)
    assert limits.generation == before, "nothing has changed"


def test_a_name_that_stands_by_itself_again_takes_its_limit_along() -> None:
    limits = Limits(origin=2.0, overrides={"origin:slow.test": {"rate": 0.5}})
    limits.stand({"origin:slow.test": "origin:big.test"})
    assert limits.of("origin:big.test").rate == 0.5, "a stricter limit than the default's"
    limits.stand({"origin:slow.test": "origin:other.test"})
    assert limits.of("origin:big.test").rate == 2.0
    assert limits.of("origin:other.test").rate == 0.5
    limits.merge("origin:other.test", "origin:third.test")
    assert limits.of("origin:third.test").rate == 0.5
    limits.stand({"origin:slow.test": "origin:slow.test"})
    assert limits.generation == 4
    assert limits.of("origin:other.test").rate == 2.0
    assert limits.of("origin:slow.test").rate == 0.5


def test_the_wider_limit_of_an_alias_does_not_loosen_the_origin() -> None:
    limits = Limits(origin=2.0, overrides={"origin:fast.test": {"rate": 50, "burst": 100, "concurrency": None}}, concurrency=8)
    limits.stand({"origin:fast.test": "origin:big.test"})
    assert limits.of("origin:big.test") == Limit(2.0, 0.0, 8)


def test_a_pattern_may_span_families() -> None:
    limits = Limits(overrides={"*:*example.com": {"rate": 0.1}})
    assert limits.of("site:www.example.com").rate == limits.of("origin:example.com").rate == 0.1


@pytest.mark.parametrize("key", ["", "site", "site:", "host:example.com", ":", "None"])
def test_what_is_no_key_is_never_given_a_shared_limit(key: str) -> None:
    with pytest.raises(ValueError, match="is no key") as error:
        Limits().of(key)
    assert all(name in str(error.value) for name in FAMILIES)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"site": 0}, "POLITE_SITE_RATE"),
        ({"site": True}, "POLITE_SITE_RATE"),
        ({"origin": -1}, "POLITE_ORIGIN_RATE"),
        ({"edge": float("nan")}, "POLITE_EDGE_RATE"),
        ({"edge": "20"}, "POLITE_EDGE_RATE"),
        ({"bucket": (0, 1)}, "POLITE_BUCKET_RATE"),
        ({"bucket": (1, -1)}, "POLITE_BUCKET_BURST"),
        ({"concurrency": 0}, "POLITE_ORIGIN_CONCURRENCY"),
        ({"concurrency": 1.5}, "POLITE_ORIGIN_CONCURRENCY"),
        ({"overrides": {"example.com": {"rate": 1}}}, "POLITE_LIMITS"),
        ({"overrides": {"site:": {"rate": 1}}}, "is no key"),
        ({"overrides": {"site:a": {}}}, "POLITE_LIMITS"),
        ({"overrides": {"site:a": 5}}, "POLITE_LIMITS"),
        ({"overrides": {"site:a": {"delay": 5}}}, "POLITE_LIMITS"),
        ({"overrides": {"site:a": {"rate": float("inf")}}}, "POLITE_LIMITS"),
        ({"overrides": {"site:a": {"burst": None}}}, "POLITE_LIMITS"),
        ({"overrides": {"site:a": {"concurrency": 0}}}, "POLITE_LIMITS"),
    ],
)
def test_a_wrong_limit_is_named_with_its_setting(arguments: dict[str, object], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**arguments)  # type: ignore[arg-type]


def test_a_plan_charges_every_key_once_in_the_order_given() -> None:
    keys = ["site:a.test", "origin:o", "site:a.test", "bucket:s3/x"]
    assert plan(keys, 2, Limits()) == (
        Charge("site:a.test", 2, 1.0),
        Charge("origin:o", 2, 2.0),
        Charge("bucket:s3/x", 2, 50.0, 100.0),
    )


def test_a_crawl_delay_is_the_sites_and_not_its_origins() -> None:
    site, origin = plan(["site:a.test", "origin:o"], 2, Limits(), least=30)
    assert (site.least, origin.least) == (30, 0)


def test_no_rate_however_small_moves_a_key_by_more_than_a_century() -> None:
    charge = Charge("site:a", 1.0, 1e-300, burst=1e308)
    century = 100 * 365 * 86_400 * 1_000_000
    assert charge.increment(50_000) == century
    assert charge.tolerance(50_000) == century


BEHIND = ["site:www.a.test", "edge:bunny/www.a.test", "origin:a.test"]


def test_behind_an_edge_site_and_origin_are_charged_on_their_miss_budgets_and_the_edge_on_its_own_rate() -> None:
    site, edge, origin = plan(BEHIND, 2, Limits())
    assert site == Charge("site:www.a.test", 2, 0.9, 0.8, refundable=True)
    assert edge == Charge("edge:bunny/www.a.test", 2, 20.0)
    assert origin == Charge("origin:a.test", 2, 1.8, 1.6, refundable=True)
    assert [site.allowed, edge.allowed, origin.allowed] == [1, 20, 2]


def test_a_pace_makes_a_charge_longer_and_neither_its_rate_nor_a_least_interval() -> None:
    charge = Charge("origin:a.test", 2, 4.0, burst=4, pace=2.5)
    assert charge.increment(WIDTH) == 1_250_000
    assert (charge.allowed, charge.tolerance(WIDTH)) == (4, 1_000_000)
    assert Charge("site:a.test", 2, 4.0, least=3, pace=2.5).increment(WIDTH) == 3 * 1_000_000 + WIDTH
    assert Charge("site:a.test", 2, 1e-9, pace=16).increment(WIDTH) == LONGEST


def test_a_rate_is_stated_for_an_origin_by_its_own_names_alone() -> None:
    limits = Limits(overrides={"origin:a.test": {"rate": 5}, "origin:b.test": {"burst": 5}, "origin:*": {"rate": 7}})
    assert [limits.states_rate(f"origin:{name}.test") for name in "abc"] == [True, False, False]
    limits.stand({"origin:a.test": "origin:c.test"})
    assert limits.states_rate("origin:c.test")


def test_a_crawl_delay_is_of_every_request_and_no_hit_gives_it_back() -> None:
    site, _, origin = plan(BEHIND, 2, Limits(), least=30)
    assert site == Charge("site:www.a.test", 2, 1.0, least=30)
    assert origin.refundable


def test_a_burst_that_is_stated_is_left_to_a_miss_budget() -> None:
    limits = Limits(overrides={"origin:a.test": {"rate": 5, "burst": 10}})
    assert plan(BEHIND, 1, limits)[2] == Charge("origin:a.test", 1, 4.5, 10, refundable=True)


def test_a_direct_request_moves_the_same_key_strictly() -> None:
    (_, direct), (*_, missed) = plan(["site:b.test", "origin:a.test"], 2, Limits()), plan(BEHIND, 2, Limits())
    assert direct.key == missed.key
    assert (direct.rate, direct.tolerance(WIDTH), direct.refundable) == (2, WIDTH, False)


def test_an_image_service_is_an_edge_unless_it_behaves_as_a_bucket() -> None:
    keys = ["site:a.test", "imageservice:imgix/acme", "origin:imgix/acme"]
    assert [charge.refundable for charge in plan(keys, 1, Limits())] == [True, False, True]
    site, account = plan(keys[:2], 1, Limits(), bucket=keys[1])
    assert (site.refundable, account.refundable) == (False, False)
    assert (account.rate, account.burst) == (50.0, 100.0)
    # A part of it that is none keeps its own rate, with as much time in advance.
    part = plan(keys, 1, Limits(), bucket=keys[1])[1]
    assert (part.rate, part.burst) == (20.0, 40.0)
    assert part.tolerance(WIDTH) == account.tolerance(WIDTH)
    limits = Limits(overrides={keys[1]: {"rate": 3}})
    assert [(one.rate, one.burst) for one in plan(keys[1:2], 1, limits, bucket=keys[1])] == [(3.0, 100.0)]


def test_a_part_of_an_account_that_is_a_bucket_does_not_keep_the_rest_waiting() -> None:
    account, origin = "imageservice:imgix/acme", "origin:imgix/acme"
    stored = tuple(charge.demand(WIDTH) for charge in plan([account], 1, Limits(), bucket=account))
    rest = tuple(charge.demand(WIDTH) for charge in plan([account, origin], 1, Limits(), bucket=account))
    rows: dict[str, Row] = {}
    got, now = [], 10_000_000
    for _ in range(500):
        # The store has the bucket always busy; the rest asks as soon as it is told to.
        for want, name in ((rest, "rest"), (stored, "stored")):
            answer = decide(want, rows, now, 0)
            if not isinstance(answer, Wait):
                rows.update(answer[1])
                got.append(name)
        now += 20_000
    assert got.count("rest") >= 0.9 * (10 * 1.8), "the rate of its misses"
    assert got.count("stored") >= 0.9 * (10 * 50 - got.count("rest") * 2.5)
