"""Keys that were refused together do not come back together, none comes back too soon, and one that is alone not late."""

from __future__ import annotations

import itertools
import json
import random
from functools import partial
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.backoff.ladders import DEFAULT_RUNGS
from scrapy_polite.backoff.retry_after import FOREVER
from scrapy_polite.backoff.spread import (
    GOLDEN,
    JITTER,
    LEAST,
    MOST,
    TOGETHER,
    Place,
    Places,
    as_text,
    from_text,
    take,
    wait_for,
)
from scrapy_polite.stores.base import LONGEST_NOTE

if TYPE_CHECKING:
    from collections.abc import Iterable

RUNGS = sorted({rung for rungs in DEFAULT_RUNGS.values() for rung in rungs})
SEEDS = range(50)


def fullest_second(times: Iterable[float]) -> int:
    """The most that lie in any span of one second, wherever it begins."""
    times = sorted(times)
    most = first = 0
    for last, time in enumerate(times):
        while time - times[first] >= 1:
            first += 1
        most = max(most, last - first + 1)
    return most


def come_back(
    rung: float, stated: float | None, seed: int, keys: int = 100, within: float = 1.0, late: float = 0.2
) -> list[float]:
    """When keys come back that are all refused within so many seconds; each has its place up to ``late`` seconds after it was
    refused, as processes ask for it that have more to do."""
    draw = random.Random(seed)
    refused = sorted((at + late * draw.random(), at) for at in (within * draw.random() for _ in range(keys)))
    places: Places = ()
    ends = []
    for number, (_, at) in enumerate(refused):
        places, place = take(places, f"site:{number}", at + (rung if stated is None else stated), at)
        ends.append(at + wait_for(rung, stated, place, draw.random()))
    return ends


@pytest.mark.parametrize("stated", [None, 1, 5, 120, 3600])
@pytest.mark.parametrize("rung", RUNGS)
def test_a_hundred_keys_refused_in_one_second_come_back_a_few_at_a_time(rung: float, stated: float | None) -> None:
    if stated is None or rung == RUNGS[0]:
        fullest = [fullest_second(come_back(rung, stated, seed)) for seed in SEEDS]
        assert max(fullest) <= 5
        assert sum(fullest) / len(fullest) <= 4


def test_a_few_keys_come_back_far_apart() -> None:
    ends = sorted(wait_for(120, 5, place, 0.5) for place in range(10))
    assert ends[0] == 5
    assert ends[-1] > 5 + 30
    assert min(after - before for before, after in itertools.pairwise(ends)) > LEAST / 20


@pytest.mark.parametrize("within", [5, 30])
def test_keys_that_are_refused_over_a_longer_time_come_back_a_few_at_a_time_as_well(within: float) -> None:
    assert max(fullest_second(come_back(60, 5, seed, 300, within)) for seed in SEEDS) <= 15


def test_dates_end_together_however_long_before_they_were_told() -> None:
    places: Places = ()
    found = []
    for number in range(60):
        places, place = take(places, f"site:{number}", 3600.0 + number % 2, 50.0 * number)
        found.append(place)
    assert found == list(range(60))


def test_waits_that_end_apart_are_alone() -> None:
    places: Places = ()
    for number in range(20):
        places, place = take(places, f"site:{number}", 100.0 + (TOGETHER + 0.1) * number, 0.0)
        assert place == 0


def test_a_key_keeps_its_place_through_a_burst_of_its_answers() -> None:
    places, first = take((), "site:a", 5.0, 0.0)
    places, second = take(places, "site:b", 5.1, 0.1)
    places, again = take(places, "site:a", 5.4, 0.4)
    places, third = take(places, "site:c", 5.5, 0.5)
    assert (first, second, again, third) == (0, 1, 0, 2)


def test_what_is_over_is_forgotten_and_what_is_kept_has_a_bound_and_fits_into_a_note() -> None:
    places: Places = ()
    for number in range(2 * MOST):
        places, place = take(places, f"site:{number}", 1e10, 1e9)
        assert place == number
    assert len(places) == MOST
    assert len(as_text(places)) < LONGEST_NOTE
    assert len(take(places, "site:new", 2e10, 1.5e10)[0]) == 1


places = st.lists(
    st.builds(Place, st.text(max_size=12), st.floats(-1e12, 1e12).map(partial(round, ndigits=3)), st.integers(0, 9_999))
)


@settings(deadline=None)
@given(places)
def test_what_is_remembered_is_a_text_that_a_store_can_keep(told: list[Place]) -> None:
    assert from_text(as_text(tuple(told))) == tuple(told)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "7", '{"version": 2, "places": []}', '{"version": 1}', '{"version": 1, "places": {}}'),
        *(
            json.dumps({"version": 1, "places": [row]})
            for row in (None, [], ["a", 1.0], ["a", "1", 0], [1, 1, 0], ["a", 1, -1], ["a", 1, True], ["a", float("inf"), 0])
        ),
    ],
)
def test_a_text_that_cannot_be_read_remembers_nothing(text: str) -> None:
    assert from_text(text) == ()


def test_the_span_and_the_sequence_are_both_needed() -> None:
    """What 15 % of a short rung leaves in one second, and what independent draws over the span leave."""
    draw = random.Random(1)
    short = [fullest_second(60 + 9 * (place * GOLDEN % 1) for place in range(100)) for _ in SEEDS]
    drawn = [fullest_second(60 + LEAST * draw.random() for _ in range(100)) for _ in SEEDS]
    assert min(short) >= 11
    assert sum(drawn) / len(drawn) > 5.5


@given(
    st.floats(0.001, 1e6),
    st.none() | st.floats(0.001, FOREVER),
    st.integers(0, 10_000),
    st.floats(0, 1, exclude_max=True),
    st.floats(0, 1),
)
def test_a_wait_is_only_ever_lengthened_and_by_no_more_than_its_span(
    rung: float, stated: float | None, place: int, drawn: float, jitter: float
) -> None:
    least = rung if stated is None else stated
    assert least <= wait_for(rung, stated, place, drawn, jitter) <= least + max(jitter * least, LEAST)


@pytest.mark.parametrize(
    ("rung", "stated", "alone", "second"),
    [
        (30, None, 30 + 30 * JITTER / 2, 30 + LEAST * GOLDEN),
        (1800, None, 1800 + 135, 1800 + 1800 * JITTER * GOLDEN),
        # Somebody's own ladder.
        (2, None, 2.15, 2 + 4 * GOLDEN),
        # A time that the server stated counts, also a shorter one than the rung.
        (1800, 5, 5, 5 + LEAST * GOLDEN),
        (30, 3600, 3600, 3600 + 3600 * JITTER * GOLDEN),
    ],
)
def test_who_is_alone_comes_back_at_once_and_the_second_is_put_off(
    rung: float, stated: float | None, alone: float, second: float
) -> None:
    assert wait_for(rung, stated, 0, 0.5) == pytest.approx(alone)
    assert wait_for(rung, stated, 1, 0.5) == pytest.approx(second)


def test_without_jitter_the_wait_is_exact() -> None:
    assert wait_for(120, None, 7, 0.7, jitter=0) == 120
    assert wait_for(120, 5, 7, 0.7, jitter=0) == 5
