"""What is proved from the ledger, and what breaks the proof."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.limits.gcra import Row, Wait, decide
from scrapy_polite.limits.plan import MICRO, Charge
from scrapy_polite.telemetry.events import Event, HeldEvent, Merged, Missed, Refunded, Sent
from scrapy_polite.telemetry.proof import SENTENCES, KeyProof, Proof, prove

WIDTH = 50_000
START = 1_000 * MICRO
SITE = Charge("site:a.test", 2, 1.0)


def sent(seconds: float, *charges: Charge, slot: float | None = None) -> Sent:
    at = START + round(seconds * MICRO)
    booked = at if slot is None else START + round(slot * MICRO)
    return Sent(at, booked, WIDTH, "site:a.test", "page", f"https://a.test/{seconds}", charges or (SITE,))


def held(seconds: float, until: float, key: str = "site:a.test") -> HeldEvent:
    times = (START + round(seconds * MICRO), START + round(until * MICRO))
    return HeldEvent(times[0], key, times[1], "rate_limited", "429, Retry-After: 5")


def of(proof: Proof, key: str = "site:a.test") -> KeyProof:
    return next(one for one in proof.keys if one.key == key)


def test_a_key_at_its_full_rate_keeps_all_of_it() -> None:
    proof = prove([sent(2 * number) for number in range(10)])
    site = of(proof)
    assert proof.passed
    assert (proof.requests, proof.seconds) == (10, 18)
    assert (site.rate, site.burst, site.requests, site.units) == (1, 0, 10, 20)
    assert (site.busy, site.kept) == (20, 1)
    assert (site.gap, site.floor) == (2, 2)
    assert (site.booked, site.missed, site.holds, site.honoured, site.inside) == (10, 0, 0, 0, 0)
    one, ten = site.windows
    assert (one.seconds, one.units, one.of_rate) == (1, 2, 2)
    assert (ten.seconds, ten.units, ten.of_rate) == (10, 10, 1)
    # rate x (length + tolerance + width + slack) + the largest cost
    assert ten.allowed == pytest.approx(10 + 0.05 + 0.05 + 0.005 + 2)
    assert ten.of_allowed == pytest.approx(10 / 12.105)


def test_windows_are_half_open() -> None:
    assert of(prove([sent(0), sent(9.999), sent(10)])).windows[1].units == 4


def test_lateness_lowers_what_is_kept_and_pauses_do_not() -> None:
    late = of(prove([sent(2.5 * number) for number in range(4)]))
    assert late.kept == pytest.approx(8 / 9.5)
    paused = of(prove([sent(0), sent(2), sent(60), sent(62)]))
    assert (paused.busy, paused.kept) == (8, 1)


def test_the_time_of_a_hold_is_not_time_in_which_the_key_had_work() -> None:
    site = of(prove([sent(0), sent(2), held(2.1, 5), sent(5), sent(7)]))
    assert (site.busy, site.kept) == (8, 1)
    assert (site.holds, site.honoured, site.inside) == (1, 1, 0)


def test_a_least_interval_counts_as_the_rate_that_it_is() -> None:
    charge = Charge("site:a.test", 1, 1.0, least=3)
    site = of(prove([sent(3.05 * number, charge) for number in range(5)]))
    assert site.kept == 1
    assert (site.gap, site.floor) == (3.05, 3)


def test_what_is_to_be_kept_is_the_pace_that_each_request_was_charged_at() -> None:
    usual, slow = Charge("origin:a.test", 2, 2.0), Charge("origin:a.test", 2, 2.0, pace=3)
    proof = prove([sent(0, usual), sent(1, slow), sent(4, slow), sent(7, usual), sent(8, usual)])
    origin = of(proof, "origin:a.test")
    assert proof.passed
    assert (origin.rate, origin.pace, origin.kept, origin.floor) == (2, 3, 1, 1)
    assert of(prove([sent(0, usual)]), "origin:a.test").pace == 1
    proof = prove([sent(0, usual), sent(1, slow), sent(3.9, usual)])
    assert proof.violations == ("origin:a.test: two requests 2.900 s apart, 1.0 s after the start, where 2.950 s is the least",)


def test_two_requests_too_close_break_the_proof() -> None:
    proof = prove([sent(0), sent(2), sent(3.9), sent(6)])
    assert not proof.passed
    assert proof.violations == ("site:a.test: two requests 1.900 s apart, 2.0 s after the start, where 1.950 s is the least",)
    assert (of(proof).gap, of(proof).floor) == (1.9, 2)


def test_a_gap_short_by_a_width_and_the_stamps_lag_is_no_violation() -> None:
    assert prove([sent(0), sent(1.945)]).passed
    assert not prove([sent(0), sent(1.944)]).passed


def test_a_least_interval_has_no_width_to_give() -> None:
    charge = Charge("site:a.test", 1, 1.0, least=3)
    assert prove([sent(0, charge), sent(2.995, charge)]).passed
    assert not prove([sent(0, charge), sent(2.99, charge)]).passed


def test_the_gap_that_is_shown_is_the_one_nearest_to_its_floor() -> None:
    """A search page of 4 units, then 3.96 s; an image of 1 unit, then 1.5 s: the first was the tighter one."""
    search, image = replace(SITE, cost=4), replace(SITE, cost=1)
    site = of(prove([sent(0, image), sent(1.5, search), sent(5.46, image)]))
    assert (site.gap, site.floor) == (3.96, 4)


def test_a_burst_may_be_used_and_not_exceeded() -> None:
    bucket = Charge("bucket:s3/x", 1, 50.0, burst=100)
    full = prove([sent(0, bucket)] * 101)
    assert full.passed
    assert of(full, "bucket:s3/x").gap is None
    over = prove([sent(0, bucket)] * 160)
    assert over.violations == ("bucket:s3/x: 160 units within 1 s, where 153.75 are allowed",)


def test_requests_inside_a_hold_break_the_proof_and_are_told_with_their_url() -> None:
    proof = prove([sent(0), held(1, 11), sent(3), sent(9), sent(11)])
    site = of(proof)
    assert (site.holds, site.honoured, site.inside) == (1, 0, 2)
    assert proof.violations[0] == (
        "site:a.test: a request 2.000 s into a hold of 10.0 s that began 1.0 s after the start: https://a.test/3"
    )


def test_what_was_booked_before_a_hold_began_is_not_inside_it() -> None:
    assert of(prove([held(1, 11), sent(1.02, slot=0.99)])).inside == 0
    # But not for ever: its slot has ended.
    assert of(prove([held(1, 11), sent(1.06, slot=0.99)])).inside == 1


def test_a_request_at_the_end_of_a_hold_is_outside() -> None:
    assert of(prove([held(1, 11), sent(11)])).inside == 0


def test_holds_that_overlap_are_one_and_end_with_the_last() -> None:
    site = of(prove([held(1, 11), held(2, 6), held(3, 20), held(30, 31), sent(15), sent(25)]))
    assert (site.holds, site.honoured, site.inside) == (2, 1, 1)


def test_a_hold_that_was_released_ends_then() -> None:
    site = of(prove([held(1, 100), held(5, 5), sent(6)]))
    assert (site.holds, site.honoured, site.inside) == (1, 1, 0)


def test_a_hold_is_of_its_key_alone() -> None:
    proof = prove([held(1, 11, "origin:o"), sent(3)])
    assert proof.passed
    assert (of(proof, "origin:o").requests, of(proof, "origin:o").holds) == (0, 1)


def test_missed_slots_are_counted_once_whoever_tells_of_them() -> None:
    late = sent(5.1, slot=5)
    events: list[Event] = [sent(0), late, Missed(late.at, late.slot, "site:a.test"), Missed(START, 5, "site:a.test")]
    site = of(prove(events))
    assert (site.booked, site.missed) == (3, 2)


def test_the_order_of_the_events_does_not_matter() -> None:
    events = [sent(0), sent(2), held(2.5, 6), sent(6), Missed(START, 1, "site:a.test")]
    assert prove(events) == prove(events[::-1])


def test_many_violations_are_told_in_few_sentences() -> None:
    proof = prove([sent(number / 2) for number in range(100)])
    assert len(proof.violations) == 2 + SENTENCES + 1
    assert proof.violations[-1] == f"site:a.test: and {99 - SENTENCES} more like this"


def test_nothing_was_sent_and_nothing_was_broken() -> None:
    proof = prove([])
    assert proof.passed
    assert proof.keys == ()
    assert "PASS" in proof.as_text()


def test_the_proof_is_plain_json() -> None:
    proof = prove([sent(0), sent(1), held(2, 3)])
    told = json.loads(json.dumps(proof.as_json()))
    assert told["passed"] is False
    assert told["violations"] == list(proof.violations)
    (site,) = told["keys"]
    assert (site["key"], site["gap"], site["windows"][1]["units"]) == ("site:a.test", 1, 4)


def test_the_table_has_shared_keys_first_and_ends_with_the_verdict() -> None:
    charges = [(Charge(f"site:{number}.test", 2, 1.0), Charge("origin:o", 2, 20.0)) for number in range(30)]
    proof = prove([sent(number / 10, *charges[number]) for number in range(30)])
    lines = proof.as_text(sites=5).splitlines()
    assert len({len(line) for line in lines[:8]}) == 1
    assert [line.split()[0] for line in (lines[0], lines[2])] == ["key", "origin:o"]
    assert [line.split()[0][:5] for line in lines[3:8]] == ["site:"] * 5
    assert lines[8] == "and 25 more sites, all within their limits"
    assert lines[-1] == "PASS: every limit and every hold was kept"


def test_a_broken_site_is_shown_however_small_it_is() -> None:
    small = Charge("site:small.test", 1, 0.1)
    events = [sent(2 * number) for number in range(5)] + [sent(number, small) for number in range(2)]
    text = prove(events).as_text(sites=1)
    assert "site:small.test" in text.splitlines()[3]
    assert text.splitlines()[-1] == "FAIL"
    assert "BROKEN  site:small.test: two requests 1.000 s apart" in text


@settings(deadline=None, max_examples=50)
@given(
    st.integers(),
    st.lists(st.sampled_from([1, 2, 4]), min_size=1, max_size=150),
    st.sampled_from([(1.0, 0.0, 0.0), (2.0, 0.0, 0.0), (5.0, 20.0, 0.0), (1.0, 0.0, 2.0)]),
    st.integers(0, 400_000),
)
def test_whatever_is_booked_by_gcra_and_sent_within_its_slot_is_proved(
    seed: int, costs: list[int], limit: tuple[float, float, float], pause: int
) -> None:
    """Late binding, with a write and a stamp up to 4 ms after the booking and pauses in between."""
    draw = random.Random(seed)
    rows: dict[str, Row] = {}
    now, events = START, []
    for cost in costs:
        charge = Charge("site:a.test", cost, *limit)
        now += draw.randint(0, pause)
        answer = decide((charge.demand(WIDTH),), rows, now, 0)
        if isinstance(answer, Wait):
            now += answer.micros + draw.randint(0, WIDTH)
            answer = decide((charge.demand(WIDTH),), rows, now, 0)
        assert not isinstance(answer, Wait)
        rows.update(answer[1])
        events.append(Sent(now + draw.randint(0, 4_000), now, WIDTH, "site:a.test", "page", "https://a.test/", (charge,)))
    proof = prove(events)
    assert proof.violations == ()
    kept = of(proof).kept
    assert kept is not None
    assert kept > 0


MISSES = Charge("origin:o", 1, 1.8, 1.6, refundable=True)
STRICT = Charge("origin:o", 1, 2.0)


def hit(request: Sent, key: str = "origin:o") -> Refunded:
    return Refunded(request.at + 30_000, key, request.slot, 1)


def test_what_was_given_back_does_not_count() -> None:
    requests = [sent(number / 20, MISSES) for number in range(400)]
    proof = prove([*requests, *(hit(request) for number, request in enumerate(requests) if number % 20)])
    origin = of(proof, "origin:o")
    assert proof.passed, proof.violations
    assert (origin.rate, origin.requests, origin.refunded, origin.units) == (2, 400, 380, 20)
    assert [window.units for window in origin.windows] == [1, 10]
    assert (origin.kept, origin.gap) == (None, None)
    assert "380" in proof.as_text().splitlines()[2].split()


def test_without_the_refunds_the_same_requests_break_the_proof() -> None:
    assert not prove([sent(number / 20, MISSES) for number in range(400)]).passed


def test_a_refund_belongs_to_its_key_its_slot_and_its_cost_and_counts_once() -> None:
    one, other = sent(0, MISSES), sent(0, MISSES)
    origin = of(prove([one, other, hit(one), Refunded(one.at + 1, "origin:o", one.slot, 2), hit(one, "origin:p")]), "origin:o")
    assert (origin.refunded, origin.units) == (1, 1)
    twice = of(prove([one, other, hit(one), hit(one), hit(one)]), "origin:o")
    assert (twice.refunded, twice.units) == (2, 0)


def test_misses_may_take_a_twentieth_more_than_the_rate_in_a_window_and_not_more() -> None:
    charge = Charge("origin:o", 1, 18.0, 16.0, refundable=True)
    allowed = prove([sent(number / 21, charge) for number in range(420)])
    assert allowed.passed, allowed.violations
    assert of(allowed, "origin:o").windows[1].of_rate == 1.05
    assert of(allowed, "origin:o").windows[1].allowed == pytest.approx(210)
    more = prove([sent(number / 21.2, charge) for number in range(420)])
    assert more.violations == ("origin:o: 212 units within 10 s, where 210.00 are allowed",)


def test_the_gap_between_two_without_a_burst_is_judged_on_a_key_that_has_misses_too() -> None:
    close = prove([sent(0, MISSES), sent(0.1, MISSES), sent(1, STRICT), sent(1.2, STRICT)])
    assert close.violations == ("origin:o: two requests 0.200 s apart, 1.0 s after the start, where 0.450 s is the least",)
    assert (of(close, "origin:o").gap, of(close, "origin:o").floor) == (0.2, 0.5)


def test_from_a_merge_on_two_names_are_one_key() -> None:
    charge = replace(STRICT, key="origin:late")
    merge = Merged(START + 5 * MICRO, "origin:late", "origin:o")
    apart = [sent(number, STRICT) for number in range(5)] + [sent(number + 0.25, charge) for number in range(5)]
    assert prove([*apart, merge]).passed
    events = [*apart, merge, sent(6, STRICT), sent(6.25, charge)]
    proof = prove(events)
    assert of(proof, "origin:late").requests == 5
    assert of(proof, "origin:o").requests == 7
    assert proof.violations == ("origin:o: two requests 0.250 s apart, 6.0 s after the start, where 0.450 s is the least",)
    assert prove([*events, Merged(START + round(6.1 * MICRO), "origin:late", "origin:late")]).passed, (
        "it stands by itself again"
    )


def test_merges_follow_each_other_and_refunds_and_holds_follow_merges() -> None:
    first, second = Merged(START, "origin:a", "origin:b"), Merged(START + 1, "origin:b", "origin:c")
    request = sent(1, replace(MISSES, key="origin:a"))
    proof = prove(
        [first, second, request, hit(request, "origin:a"), held(2, 4, "origin:b"), Merged(START + 2, "origin:c", "origin:a")]
    )
    (key,) = proof.keys
    assert (key.key, key.requests, key.refunded, key.holds) == ("origin:c", 1, 1, 1)
