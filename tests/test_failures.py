"""What a download that failed says about the site."""

from __future__ import annotations

import pytest

from scrapy_polite.backoff.failures import _LADDERS, _NO_LADDER, FAILURES, Failure, failed
from scrapy_polite.backoff.ladders import DEFAULT_RUNGS, Ladders, Run


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        ("dns", "dns"),
        ("connect_refused", "connect"),
        ("connect_timeout", "connect"),
        ("unreachable", "connect"),
        ("tls", "tls"),
        ("timeout", "timeout"),
        ("reset", "reset"),
        ("cut_short", "reset"),
        ("not_http", "error"),
    ],
)
def test_each_failure_has_its_ladder_and_counts_towards_a_run(failure: Failure, kind: str) -> None:
    refusal = failed(failure)
    assert refusal is not None
    assert (refusal.kind, refusal.stated, refusal.needs) == (kind, None, "run")
    assert refusal.reason


@pytest.mark.parametrize("failure", ["no_such_name", "guard", "proxy", "ours"])
def test_what_is_not_the_sites_doing_holds_nothing(failure: Failure) -> None:
    assert failed(failure) is None


def test_every_failure_is_judged_once_and_every_kind_of_failure_has_a_ladder() -> None:
    assert set(FAILURES) == set(_LADDERS) | set(_NO_LADDER)
    assert not set(_LADDERS) & set(_NO_LADDER)
    assert {kind for kind, _ in _LADDERS.values()} <= set(DEFAULT_RUNGS)
    assert {"dns", "connect", "tls", "timeout", "reset"} <= {kind for kind, _ in _LADDERS.values()}


def test_a_timeout_in_twenty_holds_nothing_and_three_in_a_row_do() -> None:
    run = Run()
    for number in range(200):
        run = run.heard(number % 20 == 0)
        assert not run.broken
    for _ in range(3):
        run = run.heard(True)
    assert run.broken


def test_what_had_started_before_the_hold_and_timed_out_in_it_is_the_same_event() -> None:
    ladders = Ladders()
    state, wait = ladders.step(None, "timeout", started=0, now=180, random=lambda: 0.0)
    assert wait == 60
    state, wait = ladders.step(state, "timeout", started=100, now=280, random=lambda: 0.0)
    assert (state.count("timeout"), wait) == (1, 0)
    state, wait = ladders.step(state, "timeout", started=250, now=430, random=lambda: 0.0)
    assert (state.count("timeout"), wait) == (2, 180)
