"""What the law of pace does to servers, in virtual time: the aims that are reachable, and where they are not.

The whole set, with figures, is benchmarks/pace.py.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from scrapy.extensions.throttle import AutoThrottle

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import pacecases as cases  # noqa: E402
from benchmarks.modelcrawlers import Ours, Scrapy, Throttle  # noqa: E402
from benchmarks.modelservers import Server, gamma  # noqa: E402
from benchmarks.pace import SITES  # noqa: E402
from scrapy_polite.backoff import pace as law  # noqa: E402

if TYPE_CHECKING:
    from benchmarks.modelcrawlers import Trace
    from benchmarks.pacecases import Case

POOL, POOL_TWICE, MARKOV = cases.ASKED_FOR_MORE[:3]
DEPLOY = next(case for case in cases.NOT_BUSY if case.name.startswith("a deploy"))
LIMITER = cases.REFUSING[0]


def kept(case: Case, trace: Trace) -> float:
    return cases.served(trace, case.settled, case.seconds)


def latencies_of(trace: Trace, since: float) -> list[float]:
    heard = zip(trace.sent, trace.latencies, strict=True)
    return [latency for (at, status), latency in heard if at >= since and status == 200]


# ------------------------------------------------------------------------------------------ asked for more than it can


@pytest.mark.parametrize("case", [POOL, POOL_TWICE], ids=["twice", "four times"])
def test_a_pool_is_kept_just_busy_and_refuses_nothing(case: Case) -> None:
    trace = case.ours(1)
    assert cases.refused(trace) == 0
    assert 19.0 <= kept(case, trace) <= 20.2
    assert cases.swing(trace, case.settled, case.seconds) <= 0.1


def test_a_single_worker_is_kept_at_a_latency_that_it_can_bear() -> None:
    trace = MARKOV.ours(1)
    late = latencies_of(trace, MARKOV.settled)
    unloaded = math.exp(math.log(0.05) - 0.5772) + 0.02
    assert cases.refused(trace) == 0
    assert 1.5 <= math.exp(sum(map(math.log, late)) / len(late)) / unloaded <= 3
    assert cases.swing(trace, MARKOV.settled, MARKOV.seconds) <= 0.2


def test_a_server_that_takes_seconds_is_not_rocked() -> None:
    """It tells late what a change of rate did, so near its knee the pace moves slowly."""
    case = cases.ASKED_FOR_MORE[5]
    for seed in (1, 2):
        assert cases.swing(case.ours(seed), case.settled, case.seconds, 10) <= 0.25


def test_the_baseline_does_not_learn_the_queue_in_an_hour() -> None:
    trace = Ours(POOL.make(1), POOL.rate, seed=1).crawl(3_600)
    base = trace.states["page"].base
    assert cases.refused(trace) == 0
    assert base is not None
    assert math.exp(base) == pytest.approx(0.22, rel=0.25)


def test_after_ten_idle_minutes_it_goes_on_as_it_was() -> None:
    assert cases.refused(cases.RESTING.ours(1)) == 0


def test_what_other_processes_heard_may_be_a_second_late() -> None:
    trace = POOL.ours(1, late=1.0)
    assert cases.refused(trace) <= 5
    assert cases.swing(trace, POOL.settled, POOL.seconds) <= 0.2


# -------------------------------------------------------------------------------------------------------------- trouble


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    "case",
    [cases.SMALL, cases.LOST, cases.half_busy(20, 2), cases.half_busy(40, 3)],
    ids=["small", "workers lost", "twice as slow", "three times as slow"],
)
def test_where_a_server_slows_before_it_fails_the_rate_is_halved_before_the_first_refusal(case: Case, seed: int) -> None:
    found = cases.course(case, case.ours(seed))
    assert found.in_time
    assert found.halved is not None
    assert found.halved <= 4


def test_where_nothing_may_wait_there_is_no_warning() -> None:
    """The limit of the law: then the hold acts, and half of the rate after it."""
    case = cases.half_busy(0, 2)
    assert not cases.course(case, case.ours(1)).in_time
    alone, holding = (cases.refused(case.ours(1, holds=holds)) for holds in (False, True))
    assert holding < 0.6 * alone


@pytest.mark.parametrize("seed", [1, 2])
def test_it_comes_back_within_two_minutes_however_many_chance_errors_there_are(seed: int) -> None:
    back = []
    for errors in (0.0, 0.05, 0.15):
        case = cases.half_busy(20, 4, errors, until=420)
        back.append(cases.course(case, case.ours(seed)).back)
    assert all(seconds is not None and seconds <= 120 for seconds in back)


def test_it_causes_less_than_a_tenth_of_the_refusals_of_scrapy() -> None:
    case = cases.SMALL
    ours = cases.refused(case.ours(1))
    others = [cases.refused(Scrapy(case.make(1), SITES, throttled=auto).crawl(case.seconds)) for auto in (False, True)]
    assert min(others) > 100
    assert ours <= min(others) / 10


def test_few_requests_go_into_a_stall() -> None:
    case = cases.STALL
    bare, ours = case.ours(1, paced=False), case.ours(1)
    into = [sum(300 <= at < 305 for at, _ in trace.sent) for trace in (bare, ours)]
    assert into[1] <= 0.6 * into[0]
    assert cases.refused(ours) <= cases.refused(bare) / 2


def test_of_two_kinds_the_one_that_is_slow_is_slowed() -> None:
    case = cases.SEARCH_SLOW
    trace = case.ours(1)
    counts = Counter(kind for (at, _), kind in zip(trace.sent, trace.kinds, strict=True) if 660 <= at < 1_200)
    assert cases.refused(trace) <= 6
    assert counts["search"] / 540 < 1.0
    # A search takes 16 times its share of the origin's time, so pages are fewer, too: but not down to a sixteenth.
    assert counts["page"] / 540 > 3 * 8 / law.PACE_MAX


# ------------------------------------------------------------------------------------------------------- not its fault


@pytest.mark.parametrize("case", cases.NOT_BUSY[:2], ids=["slow by nature", "log-normal"])
def test_a_server_that_is_not_busy_is_not_slowed(case: Case) -> None:
    assert kept(case, case.ours(1)) >= 0.93 * case.rate


def test_one_that_is_slow_by_nature_has_a_pace_of_one_but_for_a_probe_now_and_then() -> None:
    paces = [pace for at, pace in cases.NOT_BUSY[0].ours(1).paces if at > 120]
    assert set(paces) <= {1.0, law.PROBE_PACE}
    assert paces.count(1.0) >= 0.98 * len(paces)


def test_after_a_deploy_that_makes_it_slower_a_probe_gives_the_rate_back(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kept(DEPLOY, DEPLOY.ours(1)) >= 0.93 * DEPLOY.rate
    monkeypatch.setattr(law, "PROBE_EVERY", math.inf)
    monkeypatch.setattr(law, "PROBE_SOON", math.inf)
    assert kept(DEPLOY, DEPLOY.ours(1)) < 0.2 * DEPLOY.rate


# --------------------------------------------------------------------------------------------------------------- holds


def test_a_limiter_that_gives_no_sign_is_asked_at_a_rate_that_it_allows() -> None:
    trace = LIMITER.ours(1, holds=True)
    assert cases.refused(trace) <= 8
    assert cases.served(trace, 0, LIMITER.seconds) >= 2.5
    forgetful = LIMITER.ours(1, holds=True, walls=False)
    assert cases.served(forgetful, 0, LIMITER.seconds) < 0.3


def test_chance_503s_do_not_stop_a_crawl() -> None:
    case = cases.CHANCE_503
    trace = case.ours(1, holds=True)
    assert len(trace.holds) <= 3
    assert kept(case, trace) >= 0.85 * 0.95 * case.rate


# ------------------------------------------------------------------------------------------------- what it is held up to


@pytest.mark.parametrize(
    ("delay", "latency", "status"),
    [(5.0, 0.2, 200), (0.2, 3.0, 200), (0.2, 0.01, 503), (0.2, 0.9, 503), (1.0, 100.0, 200), (0.1, 0.0, 200)],
)
def test_the_modelled_throttle_moves_the_delay_as_scrapys_does(delay: float, latency: float, status: int) -> None:
    ours, slot = Throttle(), SimpleNamespace(delay=delay)
    ours.delay = delay
    ours.heard(latency, status)
    throttle = AutoThrottle.__new__(AutoThrottle)
    throttle.target_concurrency, throttle.mindelay, throttle.maxdelay = Throttle.CONCURRENCY, 0.0, Throttle.MOST
    throttle._adjust_delay(slot, latency, SimpleNamespace(status=status))  # type: ignore[arg-type]
    assert ours.delay == slot.delay


def test_a_server_serves_what_its_workers_can_and_refuses_what_cannot_wait() -> None:
    server = Server(gamma(0.2, 0.01), workers=2, waiting=3)
    statuses, latencies = zip(*[server.ask(0.0, "page") for _ in range(8)], strict=True)
    assert statuses == (200,) * 5 + (503,) * 3
    assert list(latencies[:5]) == pytest.approx([0.22, 0.22, 0.42, 0.42, 0.62], abs=0.02)
    assert server.ask(1.0, "page")[0] == 200


def test_workers_that_are_lost_and_stalls_take_from_what_it_can() -> None:
    lost = Server(gamma(0.2, 0.01), workers=2, waiting=9, outages=((10, 20, 1),))
    assert [lost.ask(10.0, "page")[1] for _ in range(2)] == pytest.approx([10.22, 10.42], abs=0.02)
    stalled = Server(gamma(0.2, 0.01), workers=1, stalls=((1, 3),))
    assert [stalled.ask(0.9, "page")[1] for _ in range(2)] == pytest.approx([3.12, 3.32], abs=0.02)
