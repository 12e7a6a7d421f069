"""The town's server with a known knee: what it says of itself is so, by itself and over HTTP in a process of its own."""

from __future__ import annotations

import math
import sys
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judging.arrivals import Arrival
from town.capacity import Overloaded, Served
from town.knee import Knee, Spell, knee_of

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import pacereal as real  # noqa: E402
from benchmarks.kneed import Kneed  # noqa: E402
from benchmarks.pacepicture import picture  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence


def latencies(knee: Knee, times: Sequence[float]) -> list[float | None]:
    """None: it was refused."""
    answers = [knee.arrive(at) for at in times]
    return [answer.latency if isinstance(answer, Served) else None for answer in answers]


# ---------------------------------------------------------------------------------------------------------- by itself


@settings(deadline=None, max_examples=50)
@given(workers=st.integers(1, 5), seconds=st.floats(0.01, 2), share=st.floats(0.1, 0.99))
def test_below_its_capacity_nothing_waits(workers: int, seconds: float, share: float) -> None:
    knee = Knee(workers, seconds, 0)
    found = latencies(knee, [number / (share * knee.capacity) for number in range(100)])
    assert all(latency == pytest.approx(seconds) for latency in found)


@settings(deadline=None, max_examples=50)
@given(workers=st.integers(1, 5), waiting=st.integers(1, 30), times=st.floats(1.2, 5))
def test_above_it_answers_become_slow_before_one_is_refused(workers: int, waiting: int, times: float) -> None:
    knee = Knee(workers, 0.1, waiting)
    found = latencies(knee, [number / (times * knee.capacity) for number in range(1_000)])
    first = found.index(None)
    # Whoever came last to the full line had the longest way to go.
    longest = max(latency for latency in found[:first] if latency is not None)
    assert longest == pytest.approx(0.1 * (1 + waiting / workers), abs=0.1 * (1 + 1 / workers))
    served = sum(latency is not None for latency in found[first:])
    assert served == pytest.approx((1_000 - first) / times, abs=2 + workers)


def test_as_many_as_its_places_are_served_at_once_and_no_more() -> None:
    found = latencies(Knee(2, 0.1, 3), [5.0] * 7)
    assert found == pytest.approx([0.1, 0.1, 0.2, 0.2, 0.3, None, None])


def test_a_spell_begins_and_ends_by_the_first_visit() -> None:
    knee = Knee(1, 0.1, 0, Spell(10, 20, 3))
    found = latencies(knee, [100.0, 109.9, 110.0, 119.9, 120.5])
    assert found == pytest.approx([0.1, 0.1, 0.3, 0.3, 0.1])


def test_a_request_takes_the_work_that_it_costs_and_a_clock_that_goes_back_stands_still() -> None:
    knee = Knee(1, 0.1, 5)
    assert latencies(knee, [7.0, 6.0]) == pytest.approx([0.1, 0.2])
    assert knee.arrive(8.0, 4.0) == Served(pytest.approx(0.4))


def test_of_the_towns_two_one_has_a_knee_and_one_is_slow_by_nature() -> None:
    knee, slow = knee_of("knee", 1.0), knee_of("slow", 1.0)
    assert knee is not None
    assert slow is not None
    assert isinstance([knee.arrive(0.0) for _ in range(16)][-1], Overloaded)
    assert {answer for at in range(60) if (answer := slow.arrive(at / 2, 2.0))} == {Served(1.5)}
    assert knee_of("lone", 1.0) is None


@pytest.mark.parametrize(("workers", "seconds", "waiting"), [(0, 0.1, 1), (1, 0.0, 1), (1, math.nan, 1), (1, 0.1, -1)])
def test_what_it_cannot_be_is_said(workers: int, seconds: float, waiting: int) -> None:
    with pytest.raises(ValueError, match="is"):
        Knee(workers, seconds, waiting)


# --------------------------------------------------------------------------------------------------------- over HTTP


def test_over_http_it_serves_and_refuses_as_many_and_writes_the_towns_log(tmp_path: Path) -> None:
    with Kneed(tmp_path, ["127.0.0.2", "127.0.0.3"], 2, 0.2, 3) as server:

        def visit(number: int) -> int:
            connection = HTTPConnection(f"127.0.0.{2 + number % 2}", server.port, timeout=10)
            try:
                connection.request("GET", f"/listing/{number}")
                return connection.getresponse().status
            finally:
                connection.close()

        with ThreadPoolExecutor(9) as threads:
            statuses = sorted(threads.map(visit, range(9)))
        log = server.arrivals()
    assert statuses == sorted(one.status for one in log) == [200] * 5 + [503] * 4
    assert {one.host for one in log} == {"127.0.0.2", "127.0.0.3"}
    assert max(one.latency for one in log if one.status == 200) == pytest.approx(0.6, abs=0.1)
    assert max(one.latency for one in log if one.status == 503) < 0.1


def test_a_crawl_of_it_causes_no_503_where_stock_scrapy_causes_many() -> None:
    trial = real.Trial("half of its speed is gone after 3 s", 16, True, 9, 6, Spell(3, 60, 2))
    with ThreadPoolExecutor(2) as threads:
        ours, stock = threads.map(real.measure, (real.OURS, real.STOCK), (trial, trial))
    assert len(stock.refused) > 20
    assert len(ours.refused) <= len(stock.refused) / 10
    assert ours.served() > 50


# ----------------------------------------------------------------------------------------- what is told of a crawl


def outcome(crawl: str, *pieces: tuple[float, float, int, float]) -> real.Outcome:
    """A crawl in pieces: until, requests a second, status, latency."""
    log, at = [], 1_000.0
    for until, rate, status, latency in pieces:
        while at - 1_000 < until - 1e-9:
            log.append(Arrival(at, "kneed", "127.0.0.2", "/", "page", 2, status, latency))
            at += 1 / rate
    return real.Outcome(crawl, real.SPELL, log)


def test_a_crawl_is_told_by_what_arrived() -> None:
    found = outcome(real.OURS, (32, 16, 200, 0.1), (60, 8, 200, 0.2), (65, 8, 200, 0.1), (120, 16, 200, 0.1))
    assert found.halved == pytest.approx(4, abs=0.5)
    assert found.back == pytest.approx(7, abs=0.5)
    assert found.kept == pytest.approx(1, abs=0.01)
    assert found.swing < 0.01
    assert (found.refused, found.worst) == ([], 0)


def test_refusals_are_not_served_and_a_rate_that_never_falls_is_not_halved() -> None:
    found = outcome(real.STOCK, (30, 16, 200, 0.1), (40, 100, 503, 0.0), (120, 16, 200, 0.1))
    assert len(found.refused) == pytest.approx(1_000, abs=1)
    assert found.worst == pytest.approx(100, abs=1)
    assert found.refused[0] == pytest.approx(30, abs=0.1)
    assert found.halved is None
    swinging = outcome(real.OURS, *((until, 8 if until % 20 else 24, 200, 0.1) for until in range(10, 130, 10)))
    assert swinging.swing > 0.2
    assert all(later > earlier for (earlier, _), (later, _) in pairwise(swinging.asked(2, 0, 120)))


def test_the_picture_is_a_drawing_that_says_what_it_shows() -> None:
    steady = ((30.0, 16.0, 200, 0.1), (60.0, 8.0, 200, 0.3), (120.0, 16.0, 200, 0.1))
    drawn = ET.fromstring(picture({crawl: outcome(crawl, *steady) for crawl in real.CRAWLS}))
    space = "{http://www.w3.org/2000/svg}"
    about = drawn.findtext(f"{space}desc") or ""
    assert all(crawl in about for crawl in real.CRAWLS)
    assert len(drawn.findall(f".//{space}polyline")) >= 4
    # The one in the docs is of the same kind.
    kept_one = ET.parse(ROOT / "docs" / "_static" / "pace.svg").getroot()
    assert kept_one.get("id") == drawn.get("id") == "pace"
    assert kept_one.findtext(f"{space}title") == drawn.findtext(f"{space}title")
