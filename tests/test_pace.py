"""The law of pace, by itself: what holds for whatever is observed. What it does to servers is in test_pace_servers.py."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_polite.backoff import pacestate
from scrapy_polite.backoff.pace import (
    GAP_INTERVALS,
    GAP_LEAST,
    INTERVAL_MAX,
    PACE_MAX,
    PROBE_EVERY,
    PROBE_PACE,
    SPEED,
    STEP_MOST,
    WALL_HALF,
    Outcome,
    State,
    back_in,
    ceiling,
    first,
    held,
    late_after,
    observe,
    outcome_of,
    pace,
)
from scrapy_polite.backoff.pacestate import FIRST_ANSWERS, LN2, SEEN_MAX, SEEN_MIN, as_row, from_row, merged

NOON = 1_700_000_000.0


@dataclass(frozen=True)
class Heard:
    """One observation: `gap` seconds after the one before it. `held`: a hold began with it."""

    outcome: Outcome
    ttfb: float
    gap: float
    held: bool = False


OUTCOMES: list[Outcome] = ["ok", "ok", "ok", "late", "timeout", "refused"]
outcomes = st.sampled_from(OUTCOMES)
latencies = st.floats(0, 100) | st.sampled_from([0.0, 1e-9, 1e6, math.inf, math.nan, -1.0])
# The clock of another process, or one that was set.
gaps = st.floats(0, 10) | st.floats(-100, 5_000)
heard = st.builds(Heard, outcomes, latencies, gaps, st.booleans())
rates = st.floats(0.001, 200)


def after(state: State, observations: list[Heard], rate: float, now: float = NOON) -> State:
    for one in observations:
        now += one.gap
        state = observe(state, one.outcome, one.ttfb, now - 0.2, now, rate)
        if one.held:
            state = held(state, rate)
    return state


def settled(ttfb: float, rate: float, seconds: float, state: State | None = None, now: float = NOON) -> tuple[State, float]:
    """A key whose answers all take as long, asked at its pace; and the time afterwards."""
    state = state or first(rate)
    end = now + seconds
    while now < end:
        now += pace(state, rate) / rate
        state = observe(state, "ok", ttfb, now - ttfb, now, rate)
    return state, now


# ---------------------------------------------------------------------------------------------------- what always holds


@given(st.lists(heard, max_size=40), rates)
def test_the_pace_is_never_below_one_nor_above_what_is_stated(observations: list[Heard], rate: float) -> None:
    state, now = first(rate), NOON
    for one in observations:
        now += one.gap
        state = observe(state, one.outcome, one.ttfb, now - 0.2, now, rate)
        if one.held:
            state = held(state, rate)
        assert 1 <= pace(state, rate) <= max(1, min(16, 60 * rate)) * (1 + 1e-12)
        assert all(value is None or math.isfinite(value) for value in state)


@given(st.lists(heard, max_size=40), rates)
def test_a_state_is_a_row_of_plain_numbers_and_comes_back_from_it(observations: list[Heard], rate: float) -> None:
    state = after(first(rate), observations, rate)
    assert from_row(as_row(state)) == state
    assert from_row(json.loads(json.dumps(as_row(state)))) == state


@given(st.lists(heard, max_size=40), heard, rates)
def test_one_answer_moves_the_pace_by_a_bounded_amount(observations: list[Heard], one: Heard, rate: float) -> None:
    before = after(first(rate), observations, rate)
    now = (before.at or NOON) + one.gap
    then = observe(before, one.outcome, one.ttfb, now - 0.2, now, rate)
    assert abs(then.slow - before.slow) <= STEP_MOST + 1e-12
    if before.probing is None:
        seen = SEEN_MAX if then.ratio > before.ratio else SEEN_MIN
        assert abs(then.ratio - before.ratio) <= abs(seen - before.ratio) / 4 + 1e-12


@given(st.lists(st.builds(Heard, outcomes, latencies, gaps), max_size=40), rates, st.floats(60, 1e7))
def test_time_without_requests_proves_nothing(observations: list[Heard], rate: float, idle: float) -> None:
    before = after(first(rate), [Heard("ok", 0.1, 1), *observations], rate)
    now = (before.at or NOON) + idle
    then = observe(before, "ok", 1e-3, now, now, rate)
    most = SPEED * max(GAP_LEAST, GAP_INTERVALS * math.exp(before.slow) / rate)
    assert before.slow - then.slow <= min(STEP_MOST, most) + 1e-12


def test_ten_idle_minutes_change_a_settled_key_by_nothing_that_matters() -> None:
    state, now = settled(0.1, 20, 200)
    state, now = settled(0.25, 20, 30, state, now)
    then = observe(state, "ok", 0.25, now + 600, now + 600, 20)
    assert pace(state, 20) > 1.5
    assert then.slow == pytest.approx(state.slow, abs=0.05)


@given(st.lists(heard, max_size=40), rates, rates)
def test_a_rate_that_is_changed_counts_at_once(observations: list[Heard], rate: float, other: float) -> None:
    state = after(first(rate), observations, rate)
    assert 1 <= pace(state, other) <= max(1, min(PACE_MAX, INTERVAL_MAX * other)) * (1 + 1e-12)
    assert held(state, other).slow <= max(state.slow, ceiling(other))


# ------------------------------------------------------------------------------------------------- what is listened to


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        *[(status, "ok") for status in (200, 204, 206, 304)],
        *[(status, "refused") for status in (429, 503)],
        *[(status, None) for status in (301, 302, 307, 400, 401, 403, 404, 410, 500, 502, 504)],
    ],
)
def test_error_pages_and_redirects_are_not_observed(status: int, outcome: Outcome | None) -> None:
    assert outcome_of(status) == outcome


def test_a_server_that_is_slow_by_nature_is_not_slowed_further() -> None:
    for ttfb in (0.02, 2.0, 20.0):
        state, _ = settled(ttfb, 1, 400)
        assert pace(state, 1) == 1


def test_a_key_that_is_new_begins_at_a_quarter_of_its_rate_and_has_it_all_after_a_minute_and_a_half() -> None:
    assert pace(first(10), 10) == pytest.approx(4)
    state, _ = settled(0.1, 10, 95)
    assert pace(state, 10) < 1.1
    # One request a second is low load, and need not be slower.
    assert pace(first(2), 2) == pytest.approx(2)
    assert pace(first(1), 1) == 1
    assert pace(first(1 / 60), 1 / 60) == 1
    assert first(1 / 60).slow == 0


def test_a_page_that_takes_a_minute_is_one_page() -> None:
    state, now = settled(0.05, 20, 200)
    then = observe(state, "ok", 60, now - 60, now + 0.05, 20)
    assert then.ratio - state.ratio < 0.15
    assert pace(then, 20) < 1.1


@pytest.mark.parametrize("outcome", ["ok", "late", "timeout", "refused"])
def test_answers_that_come_late_or_not_at_all_slow_the_key_down_within_seconds(outcome: Outcome) -> None:
    state, now = settled(0.2, 16, 200)
    seconds = 0.0
    while pace(state, 16) < 2:
        step = pace(state, 16) / 16
        seconds, now = seconds + step, now + step
        state = observe(state, outcome, 0.8, now - 0.8, now, 16)
    # Good answers that are slow may be scatter, and it takes a few more of them to tell.
    assert seconds < (4 if outcome == "ok" else 2.5)


def test_before_the_first_good_answer_nothing_is_known_and_nothing_changes() -> None:
    state = after(first(5), [Heard("refused", 0.01, 1), Heard("timeout", 30, 1), Heard("late", 4, 1)], 5)
    assert (state.base, state.slow, late_after(state)) == (None, first(5).slow, None)
    state = observe(state, "ok", 0.5, NOON + 9, NOON + 10, 5)
    assert late_after(state) == pytest.approx(2)


def test_the_first_answers_make_the_baseline_in_logarithms() -> None:
    state = after(first(5), [Heard("ok", 0.1, 1), Heard("ok", 0.4, 1)] * (FIRST_ANSWERS // 2), 5)
    assert state.answers == FIRST_ANSWERS
    assert state.base == pytest.approx(math.log(0.2))


def test_a_baseline_that_was_learned_too_low_is_mended_by_a_probe_and_by_nothing_else() -> None:
    """A deploy: from now on every answer takes three times as long, however slowly it is asked for."""
    state, now = settled(0.1, 5, 200)
    paces = []
    for _ in range(12):
        state, now = settled(0.3, 5, 60, state, now)
        paces.append(pace(state, 5))
    assert max(paces) > 4
    assert paces[-1] < 1.1
    assert state.base == pytest.approx(math.log(0.3), abs=0.3)


@pytest.mark.parametrize("rate", [1.0, 0.5, 0.05])
def test_it_is_mended_where_a_key_is_asked_once_or_twice_a_minute(rate: float) -> None:
    """A cache that is warm for the first pages, and never again."""
    state, now = settled(0.001, rate, 20 / rate)
    state, _ = settled(0.3, rate, 7_200, state, now)
    assert pace(state, rate) < 1.1


def test_a_probe_is_a_quarter_less_for_a_moment_and_comes_every_five_minutes() -> None:
    state, now = settled(0.1, 5, 200)
    began: list[float] = []
    probing = False
    for _ in range(6_000):
        # As long as the pace itself asks for: a server that is just busy.
        ttfb = 0.1 * max(1.0, 4 / pace(state._replace(probing=None), 5))
        now += pace(state, 5) / 5
        state = observe(state, "ok", ttfb, now - ttfb, now, 5)
        if state.probing is not None and not probing:
            began.append(now)
            plain = state._replace(probing=None)
            assert pace(state, 5) == pytest.approx(min(16, pace(plain, 5) * PROBE_PACE))
        probing = state.probing is not None
    assert len(began) >= 3
    assert all(later - earlier > PROBE_EVERY for earlier, later in pairwise(began))


# --------------------------------------------------------------------------------------------------------------- holds


def test_what_follows_a_hold_goes_at_half_the_rate_and_comes_back_over_minutes() -> None:
    state, now = settled(0.1, 10, 200)
    state = held(state, 10)
    assert pace(state, 10) == pytest.approx(2)
    half, now = settled(0.1, 10, WALL_HALF / 2, state, now + 120)
    # The gap of the hold counts for a minute.
    assert pace(half, 10) == pytest.approx(math.exp(LN2 * (1 - 0.5 - 60 / WALL_HALF)), rel=0.02)
    over, _ = settled(0.1, 10, WALL_HALF / 2, half, now)
    assert (pace(over, 10), over.wall, over.walls) == (1, 0, 0)


def test_each_further_hold_while_the_wall_stands_halves_again_and_lasts_twice_as_long() -> None:
    state, now = settled(0.1, 10, 200)
    state = held(held(state, 10), 10)
    assert (pace(state, 10), state.walls) == (pytest.approx(4), 2)
    state, _ = settled(0.1, 10, WALL_HALF, state, now)
    assert pace(state, 10) == pytest.approx(math.exp(1.5 * LN2), rel=0.02)


@pytest.mark.parametrize("holds", [1, 2])
def test_what_is_told_of_the_time_that_a_pace_takes_to_come_back_is_what_it_takes(holds: int) -> None:
    state, now = settled(0.1, 10, 200)
    assert back_in(state) == 0
    for _ in range(holds):
        state = held(state, 10)
    nearly, later = settled(0.1, 10, back_in(state) * 0.9, state, now)
    assert pace(nearly, 10) > 1
    assert pace(settled(0.1, 10, back_in(state) * 0.15, nearly, later)[0], 10) == 1


def test_what_is_told_of_a_new_key_is_about_a_minute() -> None:
    assert 45 < back_in(first(10)) < 90


@given(st.lists(heard, max_size=40), rates)
def test_a_hold_never_speeds_a_key_up_and_stops_at_the_ceiling(observations: list[Heard], rate: float) -> None:
    state = after(first(rate), observations, rate)
    for _ in range(6):
        then = held(state, rate)
        assert pace(then, rate) >= pace(state, rate)
        state = then
    assert pace(state, rate) == pytest.approx(math.exp(ceiling(rate)))


# ------------------------------------------------------------------------------------- several processes, several keys


def stream(seed: int, rate: float, seconds: float) -> list[tuple[float, float]]:
    """When answers came, and how long they had taken: of a server that grows busy after half of the time."""
    draw, now, found = random.Random(seed), NOON, []
    while now < NOON + seconds:
        now += draw.expovariate(rate)
        slower = 3.0 if now > NOON + seconds / 2 else 1.0
        found.append((now, slower * draw.gammavariate(9, 0.2 / 9)))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_what_two_processes_hear_may_come_in_another_order_within_a_second(seed: int) -> None:
    """Each writes what it heard into the one row once a second."""
    answers, draw = stream(seed, 20, 120), random.Random(seed)
    process = {now: draw.randrange(2) for now, _ in answers}
    busy = answers[len(answers) // 2 :]
    known = first(20)
    for now, ttfb in answers[: len(answers) // 2]:
        known = observe(known, "ok", ttfb, now - ttfb, now, 20)
    means = []
    for order in (busy, sorted(busy, key=lambda one: (int(one[0]), process[one[0]], one[0]))):
        state, paces = known, []
        for now, ttfb in order:
            state = observe(state, "ok", ttfb, now - ttfb, now, 20)
            paces.append(pace(state, 20))
        means.append(sum(paces) / len(paces))
    assert means[0] > 1.3
    assert means[1] == pytest.approx(means[0], rel=0.05)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_two_observations_of_one_instant_does_not_matter(seed: int) -> None:
    state = first(20)
    for now, ttfb in stream(seed, 20, 60):
        state = observe(state, "ok", ttfb, now - ttfb, now, 20)
    at = (state.at or NOON) + 0.05
    ways = []
    for order in ((0.2, 0.5), (0.5, 0.2)):
        then = state
        for ttfb in order:
            then = observe(then, "ok", ttfb, at - ttfb, at, 20)
        ways.append(pace(then, 20))
    assert ways[0] == pytest.approx(ways[1], rel=0.02)


def test_a_clock_that_was_set_back_does_not_leave_a_probe_behind() -> None:
    state, now = settled(0.1, 5, 200)
    state, now = settled(0.3, 5, 45, state, now)
    while state.probing is None:
        state, now = settled(0.3, 5, 1, state, now)
    state = observe(state, "ok", 0.3, now - 86_400.3, now - 86_400, 5)
    assert (state.at, state.probing) == (now - 86_400, None)
    state, _ = settled(0.3, 5, 1_200, state, now - 86_400)
    assert pace(state, 5) < 1.1


states = st.builds(after, rates.map(first), st.lists(heard, max_size=40), rates)


@given(states, states, rates)
def test_of_two_keys_that_are_one_the_more_careful_state_stays(one: State, other: State, rate: float) -> None:
    both = merged(one, other)
    assert both == merged(other, one)
    assert merged(both, both) == both
    assert both.careful >= max(one.careful, other.careful)
    assert (both.wall, both.walls) == (max(one.wall, other.wall), max(one.walls, other.walls))
    # A probe ends by itself, and what remains of it is not what makes a state more careful.
    plain = [state._replace(probing=None) for state in (both, one, other)]
    assert pace(plain[0], rate) >= max(pace(plain[1], rate), pace(plain[2], rate))
    assert from_row(as_row(both)) == both


def test_the_wall_of_either_stays() -> None:
    walled = held(first(10), 10)
    busy = State(slow=0.2, base=-2.0, over=2.5)
    both = merged(walled, busy)
    assert (both.base, both.over, both.wall, both.walls) == (busy.base, busy.over, walled.wall, 1)
    assert both.slow == walled.wall


def test_a_state_that_has_heard_something_beats_a_new_one_of_the_same_pace() -> None:
    new = first(10)
    heard_of = observe(new, "ok", 0.1, NOON, NOON + 1, 10)
    assert merged(new, heard_of) == heard_of


# ---------------------------------------------------------------------------------------------------------------- rows


@pytest.mark.parametrize(
    "change",
    [
        {0: 2},
        {1: -0.1},
        {1: 99.0},
        {1: None},
        {1: math.nan},
        {1: "1"},
        {2: 50.0},
        {3: -1},
        {4: 9},
        {4: True},
        {7: math.inf},
        {10: -1},
    ],
)
def test_a_row_of_another_version_or_with_impossible_numbers_is_not_read(change: dict[int, object]) -> None:
    row: list[object] = list(as_row(settled(0.1, 10, 30)[0]))
    assert from_row(row) is not None
    for index, value in change.items():
        row[index] = value
    assert from_row(row) is None


def test_a_row_that_is_too_short_or_too_long_is_not_read() -> None:
    row = as_row(first(1))
    assert from_row(row[:-1]) is None
    assert from_row((*row, 0.0)) is None
    assert from_row(()) is None


def test_every_number_of_a_row_has_its_range() -> None:
    times = {"at", "probed", "probing", "probe_sum"}
    assert set(pacestate._RANGES) | times == set(State._fields)
