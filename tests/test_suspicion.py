"""Answers that are too weak alone: denials of single pages, good pages that look like a challenge, chance errors."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.backoff.ladders import Run
from scrapy_polite.backoff.refusals import Refusal
from scrapy_polite.backoff.suspicion import FORGOTTEN_AFTER, Suspicion

DENIED = Refusal("denied", None, "403", "urls")
PAGE = Refusal("challenge", None, "200, CAPTCHA page", "pages", "CAPTCHA page")
OTHER = Refusal("challenge", None, "200, F5 rejection", "pages", "F5 rejection")
ERROR = Refusal("error", None, "500", "run")
LIMITED = Refusal("rate_limited", 5, "429, Retry-After: 5")
GOOD = None


def test_a_good_answer_changes_nothing_where_nothing_is_suspected() -> None:
    assert Suspicion().heard(GOOD, "https://a.test/") == (Suspicion(), False)
    suspicion, _ = Suspicion().heard(ERROR, "https://a.test/")
    assert suspicion.heard(GOOD, "https://a.test/")[0].run == Run.of(0b10)


def holds(*answers: tuple[Refusal | None, str]) -> list[bool]:
    suspicion, found = Suspicion(), []
    for refusal, url in answers:
        suspicion, begins = suspicion.heard(refusal, f"https://a.test/{url}")
        found.append(begins)
    return found


def test_three_denials_of_different_urls_in_a_row_are_about_us() -> None:
    assert holds((DENIED, "1"), (DENIED, "2"), (DENIED, "3")) == [False, False, True]
    assert holds((DENIED, "1"), (DENIED, "1"), (DENIED, "1"), (DENIED, "2")) == [False] * 4
    assert holds((DENIED, "1"), (DENIED, "2"), (DENIED, "1"), (DENIED, "2"), (DENIED, "3"))[-1]


def test_a_good_answer_ends_the_row() -> None:
    assert holds((DENIED, "1"), (DENIED, "2"), (GOOD, "4"), (DENIED, "3"), (DENIED, "5")) == [False] * 5


def test_an_error_in_between_does_not() -> None:
    assert holds((DENIED, "1"), (DENIED, "2"), (ERROR, "4"), (DENIED, "3"))[-1]


def test_after_a_hold_the_next_denial_is_the_next_step_until_an_answer_is_good() -> None:
    assert holds(*((DENIED, url) for url in "123345")) == [False, False, True, True, True, True]
    assert holds(*((DENIED, url) for url in "123"), (GOOD, "9"), (DENIED, "4")) == [False, False, True, False, False]


def test_two_urls_with_the_same_mark_are_a_wall() -> None:
    assert holds((PAGE, "1"), (PAGE, "2")) == [False, True]
    assert holds((PAGE, "1"), (PAGE, "1"), (PAGE, "1")) == [False] * 3
    assert holds((PAGE, "1"), (OTHER, "2")) == [False, False]
    assert holds((PAGE, "1"), (PAGE, "2"), (PAGE, "3")) == [False, True, True]


def test_after_a_hold_the_same_url_behind_the_wall_is_the_next_step() -> None:
    answers = [(PAGE, "1"), (PAGE, "2"), (PAGE, "2"), (GOOD, "3"), (PAGE, "2"), (PAGE, "1")]
    assert holds(*answers) == [False, True, True, False, False, True]


@pytest.mark.parametrize(("good", "remembered"), [(1, True), (FORGOTTEN_AFTER - 1, True), (FORGOTTEN_AFTER, False)])
def test_good_answers_in_between_make_it_a_page_like_others(good: int, remembered: bool) -> None:
    answers = [(PAGE, "1"), *((GOOD, f"good-{number}") for number in range(good)), (PAGE, "2")]
    assert holds(*answers)[-1] is remembered


def test_three_failures_in_a_row_are_a_run() -> None:
    assert holds((ERROR, "1"), (ERROR, "1"), (ERROR, "1"), (ERROR, "1")) == [False, False, True, True]
    assert holds((ERROR, "1"), (ERROR, "2"), (GOOD, "3"), (ERROR, "4"), (DENIED, "5"), (ERROR, "6")) == [False] * 6


def test_what_needs_nothing_else_begins_a_hold() -> None:
    assert holds((LIMITED, "1"), (GOOD, "2"), (LIMITED, "1")) == [True, False, True]


heard = st.lists(
    st.tuples(st.sampled_from([GOOD, DENIED, DENIED, PAGE, OTHER, ERROR, LIMITED]), st.sampled_from("abcd")), max_size=40
)


@settings(deadline=None)
@given(heard)
def test_it_is_little_survives_being_stored_and_counts_as_its_words_say(answers: list[tuple[Refusal | None, str]]) -> None:
    kept, stored, run = Suspicion(), Suspicion(), Run()
    row: set[str] = set()
    for refusal, url in answers:
        kept, begins = kept.heard(refusal, url)
        stored, again = Suspicion.from_row(json.loads(json.dumps(stored.as_row()))).heard(refusal, url)
        assert (kept, begins) == (stored, again)
        assert len(kept.denied) <= 3
        run = run.heard(refusal is ERROR)
        if refusal is GOOD:
            row.clear()
            assert not begins
        elif refusal is DENIED:
            row.add(url)
            assert begins == (len(row) >= 3)
        elif refusal is ERROR:
            assert begins == run.broken


names = st.sampled_from(["run", "denied", "signature", "page", "wall", "since"])
wrong = st.one_of(st.none(), st.text(), st.lists(st.text()))


@settings(deadline=None)
@given(st.dictionaries(names, wrong))
def test_a_damaged_row_is_no_suspicion(row: dict[str, object]) -> None:
    assert Suspicion.from_row(row) == Suspicion()
