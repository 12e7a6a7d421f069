"""From answers to holds, with a clock and a chance that the test sets."""

from __future__ import annotations

from scrapy_polite.backoff.ladders import Ladders
from scrapy_polite.hearing import Hearing, Hold

WALL = 1_800_000_000.0


class Site:
    """A site's answers, one after the other, each to a request that had started just before."""

    def __init__(self) -> None:
        self.hearing = Hearing(Ladders({"error": [30, 120], "rate_limited": [60, 300]}), lambda: 0.0)
        self.now = 0.0

    def answers(self, status: int, after: float = 1.0, started: float | None = None, **headers: str) -> Hold | None:
        self.now += after
        fields = {name.replace("_", "-"): [value] for name, value in headers.items()}
        began = self.now - 0.1 if started is None else started
        return self.hearing.listen("site:a", status, fields, began, self.now, WALL)


def seconds(hold: Hold | None) -> float:
    assert hold is not None
    return round(hold.seconds, 6)


def test_a_good_answer_holds_nothing() -> None:
    assert Site().answers(200) is None


def test_a_429_without_a_time_takes_the_ladder_and_climbs() -> None:
    site = Site()
    assert seconds(site.answers(429)) == 60
    assert seconds(site.answers(429, after=61)) == 300


def test_what_the_server_states_is_obeyed_in_full() -> None:
    hold = Site().answers(429, retry_after="3600")
    assert seconds(hold) == 3600
    assert hold is not None
    assert hold.cause.stated


def test_retry_after_as_a_date_counts_from_the_date_of_the_answer() -> None:
    hold = Site().answers(503, retry_after="Sun, 06 Nov 1994 08:49:47 GMT", date="Sun, 06 Nov 1994 08:49:37 GMT")
    assert seconds(hold) == 10


def test_a_burst_that_was_in_flight_is_one_step() -> None:
    site = Site()
    assert seconds(site.answers(429)) == 60
    held_until = site.now + 60
    for _ in range(9):
        hold = site.answers(429, after=0.01, started=0.5)
        assert seconds(hold) == round(held_until - site.now, 6)
    assert seconds(site.answers(429, after=61)) == 300


def test_one_bare_503_is_an_answer_for_the_spider_and_three_in_a_row_are_a_hold() -> None:
    site = Site()
    assert site.answers(503) is None
    assert site.answers(503) is None
    assert seconds(site.answers(503)) == 30


def test_success_after_the_hold_clears_the_ladder() -> None:
    site = Site()
    site.answers(429)
    assert site.answers(200, after=61) is None
    assert seconds(site.answers(429)) == 60


def test_sites_are_heard_apart() -> None:
    site = Site()
    site.answers(503)
    site.answers(503)
    assert site.hearing.listen("site:b", 503, {}, 0.0, 1.0, WALL) is None
