"""From answers and failures to holds, with a clock that the test sets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from refusal_pages import BARE_DENIALS, FALSE_FRIENDS, REFUSALS

from scrapy_polite.backoff.failures import failed
from scrapy_polite.backoff.ladders import Ladders
from scrapy_polite.backoff.refusals import recognise
from scrapy_polite.hearing import Hearing, Hold, begun_anew, serves

if TYPE_CHECKING:
    from refusal_pages import Answer

    from scrapy_polite.backoff.failures import Failure
    from scrapy_polite.backoff.refusals import Refusal

WALL = 1_800_000_000.0
RUNGS = {"error": [30, 120], "rate_limited": [60, 300], "timeout": [60, 180], "denied": [300, 900], "challenge": [60, 180]}


def listen(hearing: Hearing, site: str, url: str, refusal: Refusal | None, started: float, now: float) -> Hold | None:
    """What a crawl does with each answer and failure."""
    if not hearing.acts(site, url, refusal, started):
        return None
    assert refusal is not None
    return hearing.step(site, refusal, started, now)


class Site:
    """A site's answers, one after the other, each to a request that had started just before, for another URL."""

    def __init__(self) -> None:
        # Without jitter nothing is added to a wait.
        self.hearing = Hearing(Ladders(RUNGS, jitter=0), lambda: 0.0)
        self.now = 0.0
        self.asked = 0

    def answers(
        self,
        status: int,
        after: float = 1.0,
        started: float | None = None,
        url: str | None = None,
        body: bytes | None = b"",
        **headers: str,
    ) -> Hold | None:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        self._next(after, url)
        refusal = recognise(status, fields, WALL, body)
        began = self.now - 0.1 if started is None else started
        return listen(self.hearing, "site:a", self.url, refusal, began, self.now)

    def shows(self, answer: Answer, url: str | None = None) -> Hold | None:
        fields = {name.replace("-", "_"): value for name, value in answer.headers.items()}
        return self.answers(answer.status, url=url, body=answer.body, **fields)

    def fails(self, failure: Failure, after: float = 1.0, took: float = 0.1) -> Hold | None:
        self._next(after, None)
        return listen(self.hearing, "site:a", self.url, failed(failure), self.now - took, self.now)

    def _next(self, after: float, url: str | None) -> None:
        self.now += after
        self.asked += 1
        self.url = url or f"https://a/{self.asked}"


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


def test_a_shorter_time_that_is_stated_later_neither_shortens_nor_begins_a_hold() -> None:
    site = Site()
    first = site.answers(429, retry_after="3600")
    assert first is not None
    assert first.begins
    later = site.answers(429, retry_after="2", started=0.5)
    assert seconds(later) == 3599
    assert later is not None
    assert not later.begins


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
        assert hold is not None
        assert not hold.begins
    assert seconds(site.answers(429, after=61)) == 300


def test_one_bare_503_is_an_answer_for_the_spider_and_three_in_a_row_are_a_hold() -> None:
    site = Site()
    assert site.answers(503) is None
    assert site.answers(503) is None
    assert seconds(site.answers(503)) == 30


def test_three_timeouts_in_a_row_are_a_hold_and_the_next_one_is_the_next_step() -> None:
    site = Site()
    assert site.fails("timeout") is None
    assert site.fails("timeout") is None
    assert seconds(site.fails("timeout")) == 60
    assert seconds(site.fails("timeout", after=61)) == 180


def test_failures_and_errors_are_one_run_and_a_good_answer_ends_it() -> None:
    site = Site()
    assert site.fails("reset") is None
    assert site.answers(500) is None
    assert site.answers(200) is None
    assert site.fails("timeout") is None
    assert site.fails("timeout") is None
    hold = site.answers(502)
    assert hold is not None
    assert hold.cause.kind == "error"


@pytest.mark.parametrize("failure", ["guard", "proxy", "ours", "no_such_name"])
def test_our_own_refusals_are_nothing_to_hear(failure: Failure) -> None:
    assert failed(failure) is None


def test_a_captcha_page_with_status_200_is_a_hold_at_once_where_it_is_alone() -> None:
    hold = Site().shows(REFUSALS["CAPTCHA page"])
    assert hold is not None
    assert hold.cause.kind == "challenge"
    assert not serves(200, hold.refusal)


def test_a_captcha_page_with_other_content_is_a_hold_at_its_second_url() -> None:
    site = Site()
    page = REFUSALS["CAPTCHA page"]
    links = b"".join(b'<a href="/%d">another</a>' % number for number in range(30))
    page = page._replace(body=page.body.replace(b"</form>", b"</form>" + links))
    assert site.shows(page, url="https://a/1") is None
    assert site.shows(page, url="https://a/1") is None
    assert seconds(site.shows(page, url="https://a/2")) == 60


def test_denials_hold_at_the_third_url_in_a_row_and_a_denied_page_is_served() -> None:
    site = Site()
    page = BARE_DENIALS["an application's own page"]
    assert site.shows(page, url="https://a/1") is None
    assert site.shows(page, url="https://a/1") is None
    assert site.shows(page, url="https://a/2") is None
    hold = site.shows(page, url="https://a/3")
    assert seconds(hold) == 300
    assert hold is not None
    assert serves(403, hold.refusal)


def test_a_firewalls_page_with_status_200_is_no_page_for_the_spider() -> None:
    hold = Site().shows(REFUSALS["F5 rejection"])
    assert hold is not None
    assert hold.cause.kind == "denied"
    assert not serves(200, hold.refusal)


@pytest.mark.parametrize("name", FALSE_FRIENDS)
def test_pages_that_only_mention_a_wall_hold_nothing(name: str) -> None:
    site = Site()
    assert [site.shows(FALSE_FRIENDS[name]) for _ in range(3)] == [None] * 3


def test_a_quota_that_is_spent_holds_a_site_that_has_served_and_uses_up_no_rung() -> None:
    site = Site()
    hold = site.answers(200, ratelimit='"a";r=0;t=20')
    assert seconds(hold) == 20
    assert hold is not None
    assert serves(200, hold.refusal)
    assert seconds(site.answers(429, after=21)) == 60


def test_a_weak_sign_is_no_success() -> None:
    site = Site()
    assert seconds(site.answers(429)) == 60
    assert site.answers(500, after=61) is None
    assert seconds(site.answers(429)) == 300


def test_success_after_the_hold_clears_the_ladder() -> None:
    site = Site()
    site.answers(429)
    assert site.answers(200, after=61) is None
    assert seconds(site.answers(429)) == 60


def noted(site: Site, found: str | None = None) -> str:
    """What the store has of the site afterwards, where it had ``found``."""
    assert site.hearing.has_news("site:a")
    text = site.hearing.noting("site:a", site.now, WALL + site.now)(found)
    site.hearing.noted("site:a", text, site.now, WALL + site.now)
    return text


def other(site: Site, text: str, held: float) -> Site:
    """Another process, or another run, whose clock shows something else, as it takes up the note."""
    there = Site()
    there.now = site.now + 5000
    there.hearing.recall("site:a", text, held, there.now, WALL + site.now)
    return there


def test_another_process_goes_on_where_the_first_one_was() -> None:
    site = Site()
    site.answers(429)
    there = other(site, noted(site), 60)
    # What was in flight there is the same event, and what is refused after the hold is the next step.
    hold = there.answers(429, after=1, started=there.now - 1)
    assert seconds(hold) == 59
    assert hold is not None
    assert not hold.begins
    assert seconds(there.answers(429, after=61)) == 300


def test_what_was_suspected_is_taken_up_with_the_ladder() -> None:
    site = Site()
    for _ in range(3):
        site.fails("timeout")
    there = other(site, noted(site), 60)
    assert seconds(there.fails("timeout", after=61)) == 180


def test_success_is_noted_and_clears_the_ladder_elsewhere() -> None:
    site = Site()
    site.answers(429)
    there = Site()
    there.now = site.now + 5000
    there.answers(200, after=0)
    there.hearing.recall("site:a", noted(site), 60, there.now, WALL + site.now)
    site.answers(200, after=61)
    there.now += 61
    there.hearing.recall("site:a", noted(site), 0, there.now, WALL + site.now)
    assert seconds(there.answers(429)) == 60


def test_a_note_of_before_the_last_good_answer_is_old() -> None:
    site = Site()
    site.answers(429)
    text = noted(site)
    there = Site()
    there.now = 5000
    assert there.answers(200) is None
    # Its hold ended a minute ago by the wall clock, and the good answer came since.
    there.hearing.recall("site:a", text, 0, there.now, WALL + site.now + 120)
    assert seconds(there.answers(429)) == 60


def test_nothing_is_noted_that_is_noted_already() -> None:
    site = Site()
    assert site.answers(200) is None
    assert not site.hearing.has_news("site:a")
    site.answers(429)
    assert noted(site)
    site.answers(429, after=1, started=0.5)
    assert not site.hearing.has_news("site:a")


def test_steps_that_two_processes_take_in_the_same_moment_are_both_kept_and_one_burst_is_one_step() -> None:
    one, two = Site(), Site()
    one.answers(429)
    two.answers(429)
    two.answers(503, retry_after="90")
    text = noted(two, noted(one))
    assert json.loads(text)["ladders"] == {"error": 1, "held_until": WALL + two.now + 90, "rate_limited": 1}
    # Who has noted last knows of both as well.
    assert seconds(two.answers(429, after=100)) == 300


def test_a_good_answer_takes_back_what_was_noted_before_its_request_was_sent_and_nothing_later() -> None:
    one, two = Site(), Site()
    one.answers(429)
    two.answers(429)
    text = noted(two, noted(one))
    two.answers(200, after=100)
    assert json.loads(noted(two, text))["ladders"] == {"held_until": 0}
    one.answers(429, after=161)  # held for 300 s more
    later = noted(one, text)
    two.answers(429)
    assert json.loads(noted(two, later))["ladders"]["rate_limited"] == 2
    two.answers(200, after=70)
    assert two.hearing.refusals("site:a") == 2
    assert not two.hearing.has_news("site:a")


def test_a_site_that_a_person_has_let_go_begins_at_its_first_rung() -> None:
    site = Site()
    site.answers(429)
    site.answers(429, after=61)
    site.hearing.recall("site:a", begun_anew(), 0, site.now, WALL + site.now)
    assert seconds(site.answers(429, after=301)) == 60


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version": 2, "ladders": {"error": 3}}', '{"version": 1, "ladders": 7}'])
def test_a_note_that_cannot_be_read_is_none(text: str) -> None:
    site = Site()
    site.answers(429)
    site.hearing.recall("site:a", text, 0, site.now, WALL)
    assert seconds(site.answers(429, after=61)) == 300


def test_sites_are_heard_apart() -> None:
    site = Site()
    site.answers(503)
    site.answers(503)
    assert listen(site.hearing, "site:b", "https://b/", recognise(503, {}), 0.0, 1.0) is None
