"""What ``join`` and ``split`` understand of what a person writes."""

from __future__ import annotations

import getpass
from datetime import datetime, timezone

import pytest

from scrapy_polite.commands import hand
from scrapy_polite.stores.base import Ruling

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=timezone.utc).timestamp()


@pytest.mark.parametrize(
    ("span", "seconds"), [("90s", 90), ("30m", 1800), ("12h", 43_200), ("7d", 604_800), ("2w", 1_209_600), ("0.5h", 1800)]
)
def test_a_ruling_for_a_span_of_time(span: str, seconds: float) -> None:
    assert hand.end(span, None, NOW) == NOW + seconds


@pytest.mark.parametrize("span", ["7", "d", "-7d", "0d", "7 days", "1e9w", "7y", ""])
def test_what_is_no_span_is_named_with_the_form_that_is_accepted(span: str) -> None:
    with pytest.raises(ValueError, match=r"--for .*: give a number above 0 and one of s, m, h, d, w, such as 7d"):
        hand.end(span, None, NOW)


@pytest.mark.parametrize(
    ("until", "when"),
    [
        ("2026-12-01", "2026-12-02 00:00 UTC"),
        ("2026-11-30", "2026-12-01 00:00 UTC"),
        ("2026-12-01T18:30", "2026-12-01 18:30 UTC"),
        ("2026-12-01T18:30Z", "2026-12-01 18:30 UTC"),
        ("2026-12-01T18:30+02:00", "2026-12-01 16:30 UTC"),
    ],
)
def test_a_ruling_until_a_date_holds_to_the_end_of_the_day_and_until_a_time_to_that_time(until: str, when: str) -> None:
    end = hand.end(None, until, NOW)
    assert end is not None
    assert hand.moment(end) == when


def test_a_date_that_is_over_or_none_is_refused() -> None:
    with pytest.raises(ValueError, match="over already; it is 2026-11-30 12:00 UTC"):
        hand.end(None, "2026-11-29", NOW)
    with pytest.raises(ValueError, match="give a date in UTC, such as"):
        hand.end(None, "next week", NOW)


@pytest.mark.parametrize("until", ["9999-12-31", "9999-12-31T23:00-14:00"])
def test_a_date_that_no_calendar_reaches_is_for_good(until: str) -> None:
    with pytest.raises(ValueError, match="goes so far; leave the option out for good"):
        hand.end(None, until, NOW)


def test_a_time_beyond_the_calendar_can_be_told() -> None:
    assert hand.moment(1e15) == "9999-12-31 23:59 UTC"


def test_what_somebody_writes_of_himself_is_one_line_of_text() -> None:
    assert hand.text_of("--reason", " they\n told  us ") == "they told us"
    with pytest.raises(ValueError, match=r"--author .*: that is no text in the encoding of this terminal; write it in UTF-8"):
        hand.author("ann\udcff")


def test_without_either_it_is_for_good() -> None:
    assert hand.end(None, None, NOW) is None


def test_who_rules_is_the_user_and_the_machine_unless_a_name_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hand.author(" ann ") == "ann"
    assert getpass.getuser() in hand.author(None)
    with pytest.raises(ValueError, match="the name is empty"):
        hand.author(" ")

    def nobody() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert hand.author(None).startswith("uid ")


@pytest.mark.parametrize("text", ["http://www.Shop.test:8080/a?b", "www.shop.TEST", "www.shop.test."])
def test_a_host_may_be_given_as_a_url(text: str) -> None:
    assert hand.host_of(text) == "www.shop.test"


@pytest.mark.parametrize("text", ["", "a b", "http://", "mailto:a@b.test", "www.shop.test/a", "www.shop.test:80"])
def test_what_is_no_host_is_refused_with_the_forms_that_are_accepted(text: str) -> None:
    with pytest.raises(ValueError, match="Give a URL, a host, or an origin's name"):
        hand.host_of(text)


def test_names_of_the_same_domain_are_offered_first() -> None:
    known = ["www.shop.test", "img.shop.test", "www.shops.test", "www.else.example"]
    assert hand.nearest("ww.shop.test", known) == "did you mean www.shop.test, img.shop.test, www.shops.test?"
    platforms = ["www.alpha.example", "www.beta.example", "www.gama.example"]
    assert hand.nearest("www.gamma.example", platforms) == "did you mean www.gama.example?", "not what only ends alike"
    assert hand.nearest("127.0.0.2", ["127.0.0.1", "10.9.8.7"]) == "did you mean 127.0.0.1?"
    assert hand.nearest("origin:zzz", ["www.shop.test"]) == "nothing that is known is written alike."


@pytest.mark.parametrize(
    ("ruling", "says"),
    [
        (
            Ruling("www.shop.test", "join", "origin:a", "ann", "ticket 12", NOW, NOW + 86_400),
            "www.shop.test belongs to origin:a, by ann at 2026-11-30 12:00 UTC, until 2026-12-01 12:00 UTC: ticket 12",
        ),
        (
            Ruling("origin:b", "join", "origin:a", "ann", "", NOW, None),
            "origin:b and origin:a are one origin, by ann at 2026-11-30 12:00 UTC, for good",
        ),
        (
            Ruling("xn--bcher-kva.test", "split", "origin:xn--bcher-kva.test", "ann", "", NOW, None),
            "b\u00fccher.test has an origin of its own, origin:xn--bcher-kva.test, by ann at 2026-11-30 12:00 UTC, for good",
        ),
    ],
)
def test_a_ruling_is_a_sentence(ruling: Ruling, says: str) -> None:
    assert hand.sentence(ruling) == says
