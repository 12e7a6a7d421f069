"""One booking over all keys: the bounds that hold for any sequence of calls."""

from __future__ import annotations

from collections import defaultdict
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.limits.gcra import NEW, Booked, Demand, Row, Wait, Want, decide, merged, take

WIDTH = 50
KEYS = ("site:a", "site:b", "origin:o", "bucket:s3/x")
# A tolerance belongs to a key, as its rate and burst do; costs differ from request to request.
TOLERANCE = {"site:a": WIDTH, "site:b": WIDTH, "origin:o": 300, "bucket:s3/x": 2_000}

wants = st.lists(
    st.tuples(st.sampled_from(KEYS), st.integers(1, 1_000)), min_size=1, max_size=3, unique_by=lambda pair: pair[0]
).map(lambda pairs: tuple(Demand(key, increment, TOLERANCE[key]) for key, increment in pairs))
calls = st.lists(st.tuples(wants, st.integers(0, 1_500)), min_size=1, max_size=60)
aheads = st.integers(0, 2_000)


def crawl(sequence: list[tuple[Want, int]], ahead: int) -> tuple[list[tuple[Want, int]], dict[str, Row]]:
    """Ask for every want, each so much later than the one before it; what was booked, and the rows at the end."""
    rows: dict[str, Row] = {}
    booked, now = [], 0
    for want, later in sequence:
        now += later
        answer = decide(want, rows, now, ahead)
        if not isinstance(answer, Wait):
            booked.append((want, answer[0].slot))
            rows.update(answer[1])
    return booked, rows


def by_key(booked: list[tuple[Want, int]]) -> dict[str, list[tuple[int, int]]]:
    """(slot, increment) of every key, in time order; slots of one time in the order of their booking."""
    slots: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for want, slot in booked:
        for demand in want:
            slots[demand.key].append((slot, demand.increment))
    for one in slots.values():
        one.sort(key=lambda pair: pair[0])
    return slots


@settings(deadline=None)
@given(calls, aheads)
def test_all_booked_slots_replayed_in_time_order_keep_every_keys_bound(sequence: list[tuple[Want, int]], ahead: int) -> None:
    """The reference: one number a key, moved on by what each slot costs, never overtaken by more than the tolerance."""
    for key, slots in by_key(crawl(sequence, ahead)[0]).items():
        arrival = 0
        for slot, increment in slots:
            assert slot >= arrival - TOLERANCE[key]
            arrival = max(arrival, slot) + increment


@settings(deadline=None)
@given(calls, aheads)
def test_slots_of_a_key_without_burst_are_an_increment_less_a_width_apart(sequence: list[tuple[Want, int]], ahead: int) -> None:
    for key, slots in by_key(crawl(sequence, ahead)[0]).items():
        if TOLERANCE[key] == WIDTH:
            for (slot, increment), (following, _) in pairwise(slots):
                assert following - slot >= increment - WIDTH


@settings(deadline=None)
@given(calls, aheads)
def test_a_span_never_holds_more_than_its_length_the_tolerance_and_one_increment(
    sequence: list[tuple[Want, int]], ahead: int
) -> None:
    for key, slots in by_key(crawl(sequence, ahead)[0]).items():
        for first, (start, _) in enumerate(slots):
            spent = 0
            for slot, increment in slots[first:]:
                assert spent <= slot - start + TOLERANCE[key]
                spent += increment


@settings(deadline=None)
@given(calls, aheads)
def test_slots_of_a_key_are_handed_out_in_time_order(sequence: list[tuple[Want, int]], ahead: int) -> None:
    handed: dict[str, int] = {}
    for want, slot in crawl(sequence, ahead)[0]:
        for demand in want:
            assert slot >= handed.get(demand.key, 0)
            handed[demand.key] = slot


@settings(deadline=None)
@given(calls, wants, st.integers(0, 100_000), aheads, st.dictionaries(st.sampled_from(KEYS), st.integers(0, 100_000)))
def test_an_answer_is_a_slot_on_all_keys_or_a_wait_that_changes_nothing(
    sequence: list[tuple[Want, int]], want: Want, now: int, ahead: int, holds: dict[str, int]
) -> None:
    rows = crawl(sequence, 0)[1]
    for key, hold in holds.items():
        rows[key] = replace(rows.get(key, NEW), hold=hold)
    before = deepcopy(rows)
    answer = decide(want, rows, now, ahead)
    assert rows == before
    free = max(
        max(row.due - demand.tolerance, row.last, row.hold) for demand in want for row in [rows.get(demand.key, Row(0, 0))]
    )
    if isinstance(answer, Wait):
        assert answer.micros == free - now > ahead
        assert answer.key in {demand.key for demand in want}
    else:
        booked, moved = answer
        assert booked == Booked(max(now, free), now)
        assert booked.slot <= now + ahead
        assert set(moved) == {demand.key for demand in want}
        for demand in want:
            row = rows.get(demand.key, Row(0, 0))
            assert moved[demand.key] == Row(max(row.due, booked.slot) + demand.increment, booked.slot, row.hold)


@settings(deadline=None)
@given(calls, wants, st.integers(0, 100_000))
def test_after_exactly_the_wait_it_is_booked_and_not_a_microsecond_before(
    sequence: list[tuple[Want, int]], want: Want, now: int
) -> None:
    rows = crawl(sequence, 0)[1]
    answer = decide(want, rows, now, 0)
    if isinstance(answer, Wait):
        assert isinstance(decide(want, rows, now + answer.micros - 1, 0), Wait)
        later = decide(want, rows, now + answer.micros, 0)
        assert not isinstance(later, Wait)
        assert later[0].slot == now + answer.micros


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(KEYS), st.integers(1, 1_000), st.integers(0, 500)), max_size=6))
def test_a_key_that_is_wanted_twice_pays_twice_under_the_stricter_tolerance(parts: list[tuple[str, int, int]]) -> None:
    want = tuple(Demand(*part) for part in parts)
    one = merged(want)
    assert [demand.key for demand in one] == list(dict.fromkeys(demand.key for demand in want))
    for demand in one:
        same = [part for part in want if part.key == demand.key]
        assert demand.increment == sum(part.increment for part in same)
        assert demand.tolerance == min(part.tolerance for part in same)
    assert decide(want, {}, 5, 0) == decide(one, {}, 5, 0)


@settings(deadline=None)
@given(st.lists(st.integers(0, 2_000), min_size=8, max_size=8))
def test_a_want_of_one_key_is_answered_alike_by_the_short_way(numbers: list[int]) -> None:
    due, last, hold, held, increment, tolerance, now, ahead = numbers
    row = Row(due, last, hold if held % 2 else 0)
    demand = Demand("site:a", increment, tolerance)
    expected = decide((demand,), {"site:a": replace(row)}, now, ahead)
    before = replace(row)
    answer = take(demand, row, now, ahead)
    assert (answer, {"site:a": row}) == ((expected, {"site:a": before}) if isinstance(expected, Wait) else expected)


def test_a_key_that_is_wanted_twice_waits_once_for_its_stricter_tolerance() -> None:
    want = (Demand("site:a", 100, 50), Demand("origin:o", 10, 0), Demand("site:a", 100, 20))
    rows = {"site:a": Row(1_000, 0)}
    assert decide(want, rows, 500, 0) == Wait(480, "site:a") == decide(merged(want), rows, 500, 0)
    _, moved = decide(want, rows, 980, 0)  # type: ignore[misc]
    assert moved == {"site:a": Row(1_200, 980), "origin:o": Row(990, 980)}


def test_a_new_key_is_due_at_once() -> None:
    answer = decide((Demand("site:a", 100, WIDTH),), {}, 7, 0)
    assert answer == (Booked(7, 7), {"site:a": Row(107, 7)})


def test_a_want_of_nothing_is_booked_at_once() -> None:
    assert decide((), {}, 7, 0) == (Booked(7, 7), {})


def test_a_cost_of_five_moves_the_next_slot_by_five_increments() -> None:
    _, rows = decide((Demand("site:a", 500, 0),), {}, 0, 0)  # type: ignore[misc]
    assert decide((Demand("site:a", 100, 0),), rows, 0, 0) == Wait(500, "site:a")


def test_a_burst_of_three_lets_four_go_at_once_and_the_fifth_waits_one_increment() -> None:
    rows: dict[str, Row] = {}
    want = (Demand("bucket:s3/x", 100, 300),)
    answers = []
    for _ in range(5):
        answer = decide(want, rows, 1_000, 0)
        answers.append(answer)
        if not isinstance(answer, Wait):
            rows.update(answer[1])
    assert [isinstance(answer, Wait) for answer in answers] == [False, False, False, False, True]
    assert answers[-1] == Wait(100, "bucket:s3/x")


def test_a_cost_above_the_burst_is_admitted_and_pays_in_time() -> None:
    answer = decide((Demand("bucket:s3/x", 10_000, 300),), {}, 0, 0)
    assert not isinstance(answer, Wait)
    assert decide((Demand("bucket:s3/x", 100, 300),), answer[1], 0, 0) == Wait(9_700, "bucket:s3/x")


def test_a_hold_keeps_every_want_that_has_its_key_waiting_and_is_kept_by_a_booking() -> None:
    rows = {"site:a": Row(0, 0, hold=900)}
    want = (Demand("site:a", 100, WIDTH), Demand("origin:o", 10, WIDTH))
    assert decide(want, rows, 100, 0) == Wait(800, "site:a")
    answer = decide(want, rows, 900, 0)
    assert not isinstance(answer, Wait)
    assert answer[1] == {"site:a": Row(1_000, 900, 900), "origin:o": Row(910, 900)}


def test_a_slow_site_takes_nothing_from_the_origin_that_it_shares() -> None:
    """20 sites of one origin, one of them slow and asked for all the time: the others keep their rate."""
    rows: dict[str, Row] = {}
    sent = dict.fromkeys(range(20), 0)
    for now in range(0, 60_000_000, 50_000):
        for site in range(20):
            interval = 5_000_000 if site == 0 else 2_000_000
            want = (Demand(f"site:{site}", interval, 0), Demand("origin:o", 100_000, 0))
            answer = decide(want, rows, now, 0)
            if not isinstance(answer, Wait):
                rows.update(answer[1])
                sent[site] += 1
    assert sent[0] >= 11
    assert sum(sent[site] for site in range(1, 20)) >= 0.95 * 19 * 30
