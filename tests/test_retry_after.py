"""How long a server asks to be left alone."""

from __future__ import annotations

from datetime import datetime, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.backoff.retry_after import FOREVER, parse, parse_date

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=timezone.utc).timestamp()
DATE = b"Mon, 30 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (b"120", 120),
        ("120", 120),
        (b" 120\t", 120),
        (b"0120", 120),
        (b"1", 1),
        (b"86400", 86_400),
        (b"31536000", 31_536_000),
        # Not in the grammar, but meant: what the server states is not cut short.
        (b"1.5", 1.5),
        (b"3600.0", 3_600),
    ],
)
def test_seconds_are_waited_in_full(value: bytes | str, seconds: float) -> None:
    assert parse(value, date=None, now=NOW) == seconds


@pytest.mark.parametrize("digits", [13, 20, 400, 5_000])
def test_a_number_beyond_all_measure_is_for_ever(digits: int) -> None:
    assert parse("9" * digits, date=None, now=NOW) == FOREVER


def test_leading_zeros_do_not_make_a_number_great() -> None:
    assert parse("0" * 400 + "7", date=None, now=NOW) == 7


@pytest.mark.parametrize(
    "value",
    [
        b"Mon, 30 Nov 2026 12:02:00 GMT",
        b"Monday, 30-Nov-26 12:02:00 GMT",
        b"Mon Nov 30 12:02:00 2026",
        b"mon, 30 nov 2026 12:02:00 gmt",
        " Mon, 30 Nov 2026 12:02:00 GMT ",
    ],
)
def test_a_date_is_waited_for_in_each_of_its_three_forms(value: bytes | str) -> None:
    assert parse(value, date=None, now=NOW) == 120


def test_the_date_header_beats_our_clock_since_the_server_may_be_wrong_about_the_time() -> None:
    value = b"Thu, 01 Jan 2015 00:00:30 GMT"
    assert parse(value, date=b"Thu, 01 Jan 2015 00:00:00 GMT", now=NOW) == 30
    assert parse(value, date="Thu, 01 Jan 2015 00:00:00 GMT", now=None) == 30
    assert parse(value, date=None, now=NOW) is None
    assert parse(value, date=b"yesterday", now=NOW) is None


def test_an_unreadable_date_header_leaves_our_clock() -> None:
    assert parse(b"Mon, 30 Nov 2026 12:02:00 GMT", date=b"yesterday", now=NOW) == 120


def test_a_date_without_any_clock_says_nothing() -> None:
    assert parse(DATE, date=None, now=None) is None
    assert parse(b"5", date=None, now=None) == 5


@pytest.mark.parametrize(
    "value",
    [
        *(b"", b" ", b"0", b"000", b"0.0", b"-5", b"+5", b"5s", b"5, 6", b"1e3", b"0x10", b".5", b"5.", b"1_000"),
        *("٥", "１２", "1\n2", "5\x00", "\xa05", b"\xff", b"soon", b"Infinity", b"nan"),
        b"Mon, 30 Nov 2026 11:59:59 GMT",
        DATE,
        b"Mon, 30 Nov 2026 12:02:00 CET",
        b"Mon, 30 Nov 2026 12:02:00 +0100",
        b"30 Nov 2026 12:02:00 GMT",
        b"Mon, 31 Nov 2026 12:02:00 GMT",
        b"Mon, 30 Nov 2026 25:02:00 GMT",
        b"Mon, 30 Nov 2026 12:60:00 GMT",
        b"Mon, 30 Nov 2026 12:02:61 GMT",
        b"Mon, 30 Nov 0000 12:02:00 GMT",
        b"Mon, 3 Nov 2026 12:02:00 GMT",
        b"Mon, 30 Nov 2026 12:02:00 GMT, Mon, 30 Nov 2026 12:02:00 GMT",
        b"2026-11-30T12:02:00Z",
        "Mon, 30 Nov ２026 12:02:00 GMT",
    ],
)
def test_negative_zero_past_and_unreadable_values_ask_for_nothing(value: bytes | str) -> None:
    assert parse(value, date=DATE, now=NOW) is None


def test_a_two_digit_year_is_the_nearest_that_is_at_most_fifty_years_ahead() -> None:
    def year(text: str) -> int:
        seconds = parse_date(f"Monday, 30-Nov-{text} 12:00:00 GMT", NOW)
        assert seconds is not None
        return datetime.fromtimestamp(seconds, timezone.utc).year

    assert [year(text) for text in ("26", "00", "76", "77", "94")] == [2026, 2000, 2076, 1977, 1994]


def test_a_two_digit_year_may_be_in_the_next_century() -> None:
    last_night = datetime(2099, 12, 31, 23, 59, 30, tzinfo=timezone.utc).timestamp()
    assert parse("Friday, 01-Jan-00 00:00:30 GMT", date=None, now=last_night) == 60
    first_second = datetime(2000, 1, 1, tzinfo=timezone.utc).timestamp()
    assert parse("Saturday, 01-Jan-00 00:00:01 GMT", date=None, now=first_second) == 1


def test_a_leap_second_is_the_second_before_midnights() -> None:
    midnight = parse_date("Sun, 01 Jan 2017 00:00:00 GMT", NOW)
    assert parse_date("Sat, 31 Dec 2016 23:59:60 GMT", NOW) == midnight


@settings(deadline=None)
@given(st.datetimes(datetime(1990, 1, 1), datetime(2140, 1, 1), timezones=st.just(timezone.utc)), st.floats(1, 10**8))  # noqa: DTZ001
def test_every_date_is_read_as_the_standard_library_writes_it(sent: datetime, ahead: float) -> None:
    sent = sent.replace(microsecond=0)
    until = datetime.fromtimestamp(int(sent.timestamp() + ahead), timezone.utc)
    # A two-digit year means the nearest that is at most 50 years ahead of our own clock.
    near = abs(until.year - sent.year) < 49
    for text in (
        format_datetime(until, usegmt=True),
        *([f"{until:%A}, {until:%d}-{until:%b}-{until:%y} {until:%H:%M:%S} GMT"] if near else []),
        f"{until:%a} {until:%b} {until.day:2} {until:%H:%M:%S} {until.year:04}",
    ):
        date = format_datetime(sent, usegmt=True)
        assert parse(text, date=date, now=sent.timestamp()) == until.timestamp() - sent.timestamp()


@settings(deadline=None)
@given(st.one_of(st.text(), st.binary()), st.one_of(st.none(), st.binary()), st.one_of(st.none(), st.floats(0, 10**10)))
def test_whatever_is_sent_the_answer_is_none_or_a_wait_of_some_length(
    value: str | bytes, date: bytes | None, now: float | None
) -> None:
    wait = parse(value, date=date, now=now)
    assert wait is None or 0 < wait <= FOREVER
