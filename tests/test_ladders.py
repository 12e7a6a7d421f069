"""Ladders of waits: how they are climbed, kept and left."""

from __future__ import annotations

import json
import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.backoff.ladders import DEFAULT_RUNGS, MOST_STEPS, Ladders, Run, State, success
from scrapy_polite.backoff.spread import GOLDEN, LEAST


def never() -> float:
    return 0.0


def waits(ladders: Ladders, kind: str, times: int) -> list[float]:
    """The waits of so many refusals, each of a request that started when the hold before it had ended."""
    state, now, heard = None, 0.0, []
    for _ in range(times):
        state, wait = ladders.step(state, kind, now, now + 1, never)
        heard.append(wait)
        now = state.held_until
    return heard


@pytest.mark.parametrize(
    ("kind", "rungs"),
    [
        ("challenge", [60, 180, 480, 900, 1800]),
        ("rate_limited", [120, 300, 900, 1800]),
        ("denied", [300, 900, 1800, 3600]),
        ("error", [30, 120, 300]),
        ("dns", [60, 300, 900, 3600]),
        ("connect", [30, 120, 600, 1800]),
        ("tls", [120, 600, 1800, 3600]),
        ("timeout", [60, 180, 600, 1800]),
        ("reset", [30, 120, 300, 900]),
        # A kind that nobody has heard of.
        ("strange", [30, 120, 300]),
    ],
)
def test_each_refusal_after_a_hold_is_one_rung_up_and_the_last_is_the_ceiling(kind: str, rungs: list[float]) -> None:
    assert waits(Ladders(), kind, len(rungs) + 2) == [*rungs, rungs[-1], rungs[-1]]


def test_what_was_in_flight_is_one_event_and_not_sixteen() -> None:
    ladders, state = Ladders(), None
    for number in range(16):
        state, wait = ladders.step(state, "rate_limited", started=number / 100, now=1 + number / 100, random=never)
        assert wait == pytest.approx(120 - number / 100)
    assert state is not None
    assert state.refusals == 1
    state, wait = ladders.step(state, "rate_limited", started=121, now=122, random=never)
    assert (state.count("rate_limited"), wait) == (2, 300)


def test_another_kind_begins_its_own_ladder() -> None:
    ladders = Ladders()
    state, _ = ladders.step(None, "rate_limited", 0, 1, never)
    state, wait = ladders.step(state, "denied", 130, 131, never)
    assert (state.count("denied"), state.count("rate_limited"), wait) == (1, 1, 300)
    state, wait = ladders.step(state, "rate_limited", 500, 501, never)
    assert (state.count("rate_limited"), state.refusals, wait) == (2, 3, 300)


def test_another_kind_in_the_middle_of_a_hold_can_only_lengthen_it() -> None:
    ladders = Ladders()
    state, _ = ladders.step(None, "rate_limited", 0, 0, never)
    state, wait = ladders.step(state, "error", 0, 1, never)
    assert wait == 119
    state, wait = ladders.step(state, "denied", 0, 2, never)
    assert wait == 300


def test_a_stated_time_is_waited_in_place_of_the_rung_and_uses_it_up() -> None:
    ladders = Ladders()
    state, wait = ladders.step(None, "rate_limited", 0, 0, never, stated=5)
    assert wait == 5
    state, wait = ladders.step(state, "rate_limited", 6, 7, never, stated=3600)
    assert wait == 3600
    state, wait = ladders.step(state, "rate_limited", 4000, 4000, never)
    assert wait == 900


def test_a_stated_time_heard_inside_the_hold_lengthens_and_does_not_climb() -> None:
    ladders = Ladders()
    state, _ = ladders.step(None, "rate_limited", 0, 0, never, stated=5)
    state, wait = ladders.step(state, "rate_limited", 0, 1, never, stated=60)
    assert (wait, state.refusals) == (60, 1)
    state, wait = ladders.step(state, "rate_limited", 0, 2, never, stated=5)
    assert (wait, state.refusals) == (59, 1)


def half() -> float:
    return 0.5


def test_the_spread_only_lengthens() -> None:
    assert Ladders().step(None, "error", 0, 0, half)[1] == 30 * 1.075
    assert Ladders().step(None, "error", 0, 0, half, place=1)[1] == 30 + LEAST * GOLDEN
    assert Ladders().step(None, "denied", 0, 0, half, stated=3600)[1] == 3600
    assert Ladders().step(None, "denied", 0, 0, half, stated=3600, place=1)[1] == pytest.approx(3600 * (1 + 0.15 * GOLDEN))
    assert Ladders().step(None, "error", 0, 0, half, stated=2, place=1)[1] == 2 + LEAST * GOLDEN
    assert Ladders(jitter=0).step(None, "error", 0, 0, half, place=1)[1] == 30
    assert Ladders({"error": [2]}).step(None, "error", 0, 0, half, place=1)[1] == 2 + 4 * GOLDEN


def test_what_a_refusal_asks_for_is_known_before_its_place_is() -> None:
    ladders = Ladders()
    assert ladders.sets(None, "rate_limited", 0, 1) == 120
    assert ladders.sets(None, "rate_limited", 0, 1, 5) == 5
    state, _ = ladders.step(None, "rate_limited", 0, 1, never)
    # Of the same burst: nothing, unless it states a longer time.
    assert ladders.sets(state, "rate_limited", 0, 1) is None
    assert ladders.sets(state, "rate_limited", 0, 1, 5) is None
    assert ladders.sets(state, "rate_limited", 0, 1, 500) == 500
    assert ladders.sets(state, "rate_limited", 0, 1, 500, rung=False) == 500
    assert ladders.sets(state, "denied", 0, 1) == 300
    assert ladders.sets(state, "rate_limited", 122, 123) == 300


def test_success_clears_if_its_request_started_after_the_hold() -> None:
    state, _ = Ladders().step(None, "error", 0, 0, never)
    assert success(state, started=10) is state
    assert success(state, started=30) is None
    assert success(state) is None
    assert success(None, started=5) is None


def test_a_quota_that_is_spent_is_waited_for_and_uses_up_no_rung() -> None:
    ladders = Ladders()
    state, wait = ladders.step(None, "rate_limited", 0, 0, never, stated=30, rung=False)
    assert (wait, state.refusals) == (30, 0)
    state, wait = ladders.step(state, "rate_limited", 0, 1, never, stated=5, rung=False)
    assert (wait, state.refusals) == (29, 0)
    assert ladders.step(state, "rate_limited", 40, 40, never)[1] == 120


def test_a_longer_time_is_kept_against_a_shorter_one_and_rungs_against_both() -> None:
    state, _ = Ladders().step(None, "rate_limited", 0, 0, never, stated=3600)
    state, wait = Ladders().step(state, "rate_limited", 0, 1, never, stated=2)
    assert (wait, state.refusals) == (3599, 1)
    assert Ladders().step(state, "error", 0, 2, never)[1] == 3598


# -- kept in a store, and merged

kinds = st.sampled_from([*sorted(DEFAULT_RUNGS), "strange"])
states = st.builds(
    lambda counts, until: State(tuple(counts.items()), until),
    st.dictionaries(kinds, st.integers(1, 50)),
    st.floats(0, 1e10),
)


@settings(deadline=None)
@given(states)
def test_a_state_is_numbers_that_a_store_can_keep(state: State) -> None:
    row = json.loads(json.dumps(state.as_row()))
    assert all(isinstance(value, int | float) for value in row.values())
    assert State.from_row(row) == state
    assert State.from_row({}) == State()


@settings(deadline=None)
@given(
    st.dictionaries(
        st.one_of(kinds, st.just("held_until")),
        st.one_of(st.none(), st.booleans(), st.text(), st.integers(), st.floats(), st.just(10**400)),
    )
)
def test_a_damaged_row_makes_no_trouble(row: dict[str, object]) -> None:
    state = State.from_row(row)
    assert 0 <= state.held_until < math.inf
    assert all(isinstance(count, int) and 1 <= count <= MOST_STEPS for _, count in state.counts)
    assert Ladders().step(state, "error", state.held_until, state.held_until, never)[1] >= 0


@settings(deadline=None)
@given(states, states, states)
def test_what_two_processes_know_is_the_higher_rung_of_each_kind_and_the_later_end(
    one: State, two: State, three: State
) -> None:
    both = one.merged(two)
    for kind, _ in (*one.counts, *two.counts):
        assert both.count(kind) == max(one.count(kind), two.count(kind))
    assert both.held_until == max(one.held_until, two.held_until)
    assert both == two.merged(one) == both.merged(one)
    assert both.merged(three) == one.merged(two.merged(three))


def test_a_ladder_of_ones_own_replaces_that_kind_alone() -> None:
    ladders = Ladders(rungs={"error": [1, 2], "connect": (5,)})
    assert waits(ladders, "error", 3) == [1, 2, 2]
    assert waits(ladders, "connect", 2) == [5, 5]
    assert ladders.rungs["denied"] == DEFAULT_RUNGS["denied"]


@pytest.mark.parametrize(
    "rungs",
    [
        *({"error": []}, {"error": 30}, {"error": "30"}, {"error": [0]}, {"error": [-1]}, {"error": [30, 10]}),
        *({"error": [float("inf")]}, {"error": [float("nan")]}, {"error": ["30"]}, {"error": [True]}),
    ],
)
def test_a_wrong_ladder_names_the_setting_and_the_form(rungs: dict[str, list[float]]) -> None:
    with pytest.raises(ValueError, match=r"POLITE_LADDERS.*list of seconds"):
        Ladders(rungs=rungs)


@pytest.mark.parametrize(
    ("kind", "hint"), [("denid", "; did you mean 'denied'? Kinds: challenge, "), ("held_until", ". Kinds: "), ("", ". Kinds: ")]
)
def test_a_ladder_of_a_kind_that_there_is_not_is_no_setting_that_waits_for_nothing(kind: str, hint: str) -> None:
    with pytest.raises(ValueError, match=rf"POLITE_LADDERS: '{kind}' is no kind of refusal{re.escape(hint)}"):
        Ladders({kind: [1]})


@pytest.mark.parametrize("jitter", [-0.1, 1.1, float("nan"), "0.15", None, True])
def test_a_wrong_jitter_names_the_setting_and_the_form(jitter: float) -> None:
    with pytest.raises(ValueError, match=r"POLITE_LADDER_JITTER.*from 0 to 1"):
        Ladders(jitter=jitter)


refusals = st.lists(
    st.tuples(
        st.sampled_from(sorted(DEFAULT_RUNGS)),
        st.floats(0, 4_000),
        st.floats(0, 30),
        st.one_of(st.none(), st.floats(0.1, 10_000)),
        st.floats(0, 1, exclude_max=True),
    ),
    max_size=30,
)


@settings(deadline=None)
@given(refusals)
def test_a_hold_never_becomes_shorter_and_a_stated_time_is_always_kept(
    heard: list[tuple[str, float, float, float | None, float]],
) -> None:
    ladders, state, now = Ladders(), None, 0.0
    for kind, later, latency, stated, drawn in heard:
        now += later
        before = state or State()
        started = max(0.0, now - latency)
        state, wait = ladders.step(state, kind, started, now, lambda drawn=drawn: drawn, stated)  # type: ignore[misc]
        assert state.held_until >= before.held_until
        assert wait == max(0.0, state.held_until - now)
        assert stated is None or wait >= stated - 1e-6
        climbed = state.refusals - before.refusals
        assert climbed == (before.count(kind) == 0 or started >= before.held_until)
        if climbed and stated is None:
            rungs = DEFAULT_RUNGS[kind]
            assert wait >= rungs[min(before.count(kind), len(rungs) - 1)] - 1e-6


def heard(run: Run, answers: str) -> Run:
    for answer in answers:
        run = run.heard(answer == "x")
    return run


@pytest.mark.parametrize(
    ("answers", "broken"),
    [
        ("", False),
        ("x", False),
        ("xx", False),
        ("xxx", True),
        ("xxx.", False),
        ("xx.xx", False),
        ("x.x.x.x", False),
        ("x.x.x.x.x", True),
        ("xx.xx..x", True),
        ("xx..xx...x", True),
        ("xx..xx....x", False),
        ("x.........x.x.x.x", False),
        ("xxxx......", False),
    ],
)
def test_errors_are_a_run_at_three_in_a_row_or_five_of_the_last_ten(answers: str, broken: bool) -> None:
    assert heard(Run(), answers).broken is broken


@settings(deadline=None)
@given(st.text("x.", max_size=40))
def test_a_run_remembers_the_last_ten_answers_in_ten_bits(answers: str) -> None:
    run = heard(Run(), answers)
    assert 0 <= run.bits < 1 << 10
    assert run == heard(Run(), answers[-10:])
    last = answers[-10:]
    assert run.broken == (last.endswith("x") and (last.endswith("xxx") or last.count("x") >= 5))
