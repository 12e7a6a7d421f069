"""What a server says about the quota that is left."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.backoff.ratelimit import Quota, read
from scrapy_polite.backoff.refusals import Refusal, recognise
from scrapy_polite.backoff.retry_after import FOREVER

NOW = 1_796_040_000.0
DATE = "Mon, 30 Nov 2026 12:00:00 GMT"
Fields = dict[str, str]


def hold(headers: Fields, now: float | None = NOW) -> float | None:
    quota = read(headers, now)
    return None if quota is None else quota.hold


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"ratelimit": '"default";r=0;t=30'}, 30),
        ({"ratelimit": "default;r=0;t=30"}, 30),
        ({"ratelimit": '"a";r=0;t=30, "b";r=0;t=300'}, 300),
        ({"ratelimit": '"a";r=10;t=900, "b";r=0;t=30'}, 30),
        ({"ratelimit": '"a";r=0;t=30;acme-note="slow;down, please"'}, 30),
        ({"ratelimit": '"a";r=0;t=60;pk=:cHsdsRa894==:'}, 60),
        ({"ratelimit": '"a";r=0;t=999999999999999'}, FOREVER),
        ({"ratelimit": "limit=100, remaining=0, reset=30"}, 30),
        ({"ratelimit-limit": "100", "ratelimit-remaining": "0", "ratelimit-reset": "30"}, 30),
        ({"ratelimit-limit": "100, 100;w=60", "ratelimit-remaining": "0", "ratelimit-reset": "30"}, 30),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"}, 30),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1796043600", "date": DATE}, 3600),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1796043600.5"}, 3600.5),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "Mon, 30 Nov 2026 12:01:00 GMT", "date": DATE}, 60),
        # The server's clock is an hour slow: its reset is meant by it.
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1796036460", "date": "Mon, 30 Nov 2026 11:00:00 GMT"}, 60),
    ],
)
def test_a_quota_that_is_spent_is_a_hold_until_its_window_ends(headers: Fields, seconds: float) -> None:
    assert hold(headers) == seconds


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"ratelimit": '"a";r=0'},
        {"ratelimit": '"a";r=0;t=0'},
        {"ratelimit": '"a";t=30'},
        {"ratelimit": '"a";r=-1;t=30'},
        {"ratelimit": '"a";r=0;t=-30'},
        {"ratelimit": '"a";r=0.0;t=30'},
        {"ratelimit": '"a";r=0;t=30.5'},
        {"ratelimit": '"a";r="0";t=30'},
        {"ratelimit": '"a";r;t=30'},
        {"ratelimit": '"a";r=0;t=30,'},
        {"ratelimit": '"a;r=0;t=30'},
        {"ratelimit": '"a";R=0;t=30'},
        # One member that cannot be read spoils the field, as in every list of structured fields.
        {"ratelimit": '"a";r=0;t=30, "b";r=x y'},
        {"ratelimit": '"a";r=0;t=30, "b";t=5'},
        {"ratelimit": "0"},
        {"ratelimit": "remaining=zero, reset=30"},
        {"ratelimit": "remaining=0"},
        {"ratelimit-remaining": "0"},
        {"ratelimit-remaining": "0", "ratelimit-reset": "soon"},
        {"ratelimit-remaining": "-1", "ratelimit-reset": "30"},
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "0"},
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "-5"},
        {"x-ratelimit-remaining": "3", "x-ratelimit-reset": "30"},
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1796039999"},
        # As likely milliseconds: 10 minutes, or a week.
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "600000"},
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1796043600000"},
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "2026-11-30T12:01:00Z"},
        # Out of a cache: what was left when it was stored.
        {"ratelimit": '"a";r=0;t=30', "age": "12"},
    ],
)
def test_what_is_not_stated_or_cannot_be_read_holds_nothing(headers: Fields) -> None:
    assert hold(headers) is None


def test_an_answer_that_was_just_made_is_heard_though_a_cache_has_passed_it_on() -> None:
    assert hold({"ratelimit": '"a";r=0;t=30', "age": "0"}) == 30


def test_what_is_left_lasts_by_an_interval() -> None:
    assert read({"ratelimit": '"a";r=50;t=30'}) == Quota(None, 0.6, 30, "", 'RateLimit: "a";r=50;t=30')
    quota = read({"ratelimit": '"a";r=50;t=30, "b";r=6;t=60'})
    assert quota is not None
    assert (quota.interval, quota.lasts) == (10, 60)


@pytest.mark.parametrize("unit", ["content-bytes", "concurrent-requests"])
def test_bytes_and_concurrency_have_no_interval_but_may_be_spent(unit: str) -> None:
    policy = f'"a";q=10;qu="{unit}";w=60'
    assert read({"ratelimit": '"a";r=5;t=60', "ratelimit-policy": policy}) is None
    assert hold({"ratelimit": '"a";r=0;t=60', "ratelimit-policy": policy}) == 60


def test_the_partition_is_told_since_sites_that_share_it_share_the_quota() -> None:
    quota = read({"ratelimit": '"a";r=0;t=60;pk=:cHsdsRa894==:'})
    assert quota is not None
    assert quota.partition == ":cHsdsRa894==:"


def test_a_field_may_be_split_over_several_lines() -> None:
    assert read({"ratelimit": ['"a";r=50;t=30', '"b";r=0;t=9']}) == Quota(
        9, 0.6, 30, "", 'RateLimit: "a";r=50;t=30, "b";r=0;t=9'
    )


# -- as a refusal


def test_a_spent_quota_on_a_good_answer_holds_and_uses_up_no_rung() -> None:
    assert recognise(200, {"ratelimit": '"a";r=0;t=30'}) == Refusal(
        "rate_limited", 30, '200, RateLimit: "a";r=0;t=30', rung=False
    )
    refusal = recognise(301, {"ratelimit": '"problemPolicy";r=0;t=10', "location": "/foo/123"})
    assert refusal is not None
    assert (refusal.stated, refusal.rung) == (10, False)


@pytest.mark.parametrize("status", [401, 403, 429, 503])
def test_a_spent_quota_on_a_refusal_is_a_rate_limit_that_states_its_time(status: int) -> None:
    refusal = recognise(status, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1796043600", "date": DATE})
    assert refusal is not None
    assert (refusal.kind, refusal.stated, refusal.rung) == ("rate_limited", 3600, True)


def test_retry_after_takes_precedence() -> None:
    refusal = recognise(429, {"ratelimit": '"a";r=0;t=300;pk=:AA==:', "retry-after": "20"})
    assert refusal is not None
    assert (refusal.stated, refusal.partition) == (20, ":AA==:")
    refusal = recognise(429, {"ratelimit": '"a";r=0;t=300', "retry-after": "soon"})
    assert refusal is not None
    assert refusal.stated == 300


def test_a_field_without_end_is_read_once() -> None:
    began = process_time()
    quota = read({"ratelimit": '"a";r=1;t=2,' * 5_000 + '"b";r=0;t=9'})
    assert quota is not None
    assert quota.hold == 9
    assert len(quota.shown) < 100
    assert process_time() - began < 1


fields = st.dictionaries(
    st.sampled_from(
        [
            "ratelimit",
            "ratelimit-policy",
            "ratelimit-remaining",
            "ratelimit-reset",
            "x-ratelimit-remaining",
            "x-ratelimit-reset",
        ]
    ),
    st.one_of(
        st.text(),
        st.binary(),
        st.integers(-5, 10**18).map(str),
        st.lists(st.sampled_from(['"a"', ";r=", ";t=", "0", "30", ",", " ", ";pk=:AA==:", "limit=", "remaining="])).map(
            "".join
        ),
    ),
)


@settings(deadline=None)
@given(st.sampled_from([200, 301, 403, 429, 503]), fields, st.one_of(st.none(), st.floats(0, 1e11)))
def test_whatever_is_sent_the_answer_is_none_or_some_time(status: int, headers: Fields, now: float | None) -> None:
    quota = read(headers, now)
    if quota is not None:
        assert quota.hold is None or 0 < quota.hold <= FOREVER
        assert quota.interval is None or 0 < quota.interval <= FOREVER
        assert quota.shown.isprintable()
        assert quota.hold or quota.interval
    recognise(status, headers, now)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**9)), min_size=1, max_size=5))
def test_of_several_quotas_the_longest_wait_and_the_widest_interval_count(quotas: list[tuple[int, int]]) -> None:
    field = ", ".join(f'"p{number}";r={left};t={window}' for number, (left, window) in enumerate(quotas))
    quota = read({"ratelimit": field})
    holds = [window for left, window in quotas if left == 0 and window]
    intervals = [window / left for left, window in quotas if left and window]
    assert (quota and quota.hold) == (max(holds) if holds else None)
    assert (quota and quota.interval) == (max(intervals) if intervals else None)
