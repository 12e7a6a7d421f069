"""Keys that were refused together do not come back together, and none of them comes back too soon."""

from __future__ import annotations

import random
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_polite.backoff.ladders import DEFAULT_RUNGS
from scrapy_polite.backoff.retry_after import FOREVER
from scrapy_polite.backoff.spread import LEAST_AFTER_RUNG, LEAST_AFTER_STATED, fractions, wait_for

RUNGS = sorted({rung for rungs in DEFAULT_RUNGS.values() for rung in rungs})
SEEDS = range(200)


def fullest_second(times: list[float]) -> int:
    """The most that lie in any span of one second, wherever it begins."""
    times = sorted(times)
    most = first = 0
    for last, time in enumerate(times):
        while time - times[first] >= 1:
            first += 1
        most = max(most, last - first + 1)
    return most


def come_back(rung: float, stated: float | None, counters: int, seed: int, keys: int = 100) -> list[float]:
    """When keys come back that are all refused within one second, by processes with a counter each."""
    draw = random.Random(seed)
    sequences = [fractions(draw.random()) for _ in range(counters)]
    refused = sorted(draw.random() for _ in range(keys))
    return [at + wait_for(rung, stated, next(draw.choice(sequences))) for at in refused]


@pytest.mark.parametrize(("counters", "most", "mean"), [(1, 3, 3.0), (4, 7, 5.0)])
@pytest.mark.parametrize("rung", RUNGS)
def test_a_hundred_keys_refused_in_one_second_come_back_a_few_at_a_time(
    rung: float, counters: int, most: int, mean: float
) -> None:
    fullest = [fullest_second(come_back(rung, None, counters, seed)) for seed in SEEDS]
    assert max(fullest) <= most
    assert sum(fullest) / len(fullest) <= mean


@pytest.mark.parametrize(("stated", "most"), [(5, 23), (120, 8), (200, 5), (3600, 1)])
def test_after_a_stated_time_they_come_back_over_a_part_of_it(stated: float, most: int) -> None:
    assert max(fullest_second(come_back(60, stated, 1, seed)) for seed in SEEDS) <= most


def test_the_span_and_the_sequence_are_both_needed() -> None:
    """What 15 % of a short rung leaves in one second, and what independent draws over a minute leave."""
    draw = random.Random(1)
    short = [fullest_second([60 + 9 * draw.random() for _ in range(100)]) for _ in SEEDS]
    drawn = [fullest_second([wait_for(60, None, draw.random()) for _ in range(100)]) for _ in SEEDS]
    assert min(short) >= 14
    assert sum(drawn) / len(drawn) > 5


@given(
    st.floats(0.001, 1e6),
    st.none() | st.floats(0.001, FOREVER),
    st.floats(0, 1, exclude_max=True),
    st.floats(0, 1),
)
def test_a_wait_is_only_ever_lengthened_and_by_no_more_than_its_span(
    rung: float, stated: float | None, fraction: float, jitter: float
) -> None:
    least = rung if stated is None else stated
    span = max(jitter * least, LEAST_AFTER_RUNG if stated is None else LEAST_AFTER_STATED)
    assert least <= wait_for(rung, stated, fraction, jitter) <= least + span


@pytest.mark.parametrize(
    ("rung", "stated", "wait"),
    [
        (30, None, 60),
        (300, None, 330),
        (1800, None, 1800 + 135),
        (30, 2, 4.5),
        (30, 100, 107.5),
        # A time that the server stated counts, also a shorter one than the rung.
        (1800, 30, 32.5),
    ],
)
def test_half_of_the_span_is_added_at_half(rung: float, stated: float | None, wait: float) -> None:
    assert wait_for(rung, stated, 0.5) == pytest.approx(wait)


def test_without_jitter_the_wait_is_exact() -> None:
    assert wait_for(120, None, 0.7, jitter=0) == 120
    assert wait_for(120, 5, 0.7, jitter=0) == 5


@given(st.floats(-1e6, 1e6))
def test_every_stretch_of_the_sequence_covers_the_whole_span(start: float) -> None:
    positions = sorted(islice(fractions(start), 100))
    gaps = [after - before for before, after in zip(positions, [*positions[1:], positions[0] + 1], strict=True)]
    assert 0 <= positions[0] <= positions[-1] < 1
    assert max(gaps) < 2.7 / 100
