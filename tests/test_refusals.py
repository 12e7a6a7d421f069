"""Which answers ask to slow down, and of what kind they are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy.http import Headers as ScrapyHeaders

from scrapy_polite.backoff.refusals import SHOWN, Headers, Refusal, recognise

NOW = 1_796_040_000.0
DATE = "Mon, 30 Nov 2026 12:00:00 GMT"
LATER = "Mon, 30 Nov 2026 12:00:07 GMT"


@pytest.mark.parametrize(
    ("status", "headers", "refusal"),
    [
        (429, {}, Refusal("rate_limited", None, "429")),
        (429, {"retry-after": "5"}, Refusal("rate_limited", 5, "429, Retry-After: 5")),
        (429, {"retry-after": "soon"}, Refusal("rate_limited", None, "429")),
        (503, {"retry-after": "5"}, Refusal("error", 5, "503, Retry-After: 5")),
        (503, {"retry-after": LATER, "date": DATE}, Refusal("error", 7, f"503, Retry-After: {LATER}")),
        (500, {"retry-after": "5"}, Refusal("error", 5, "500, Retry-After: 5")),
        (301, {"retry-after": "5"}, Refusal("rate_limited", 5, "301, Retry-After: 5")),
        (302, {"retry-after": "5"}, Refusal("rate_limited", 5, "302, Retry-After: 5")),
        (403, {"retry-after": "5"}, Refusal("denied", 5, "403, Retry-After: 5")),
        (413, {"retry-after": "5"}, Refusal("rate_limited", 5, "413, Retry-After: 5")),
        (
            403,
            {"cf-mitigated": "challenge"},
            Refusal("challenge", None, "403, Cloudflare challenge", signature="Cloudflare challenge"),
        ),
        (
            200,
            {"cf-mitigated": " Challenge"},
            Refusal("challenge", None, "200, Cloudflare challenge", signature="Cloudflare challenge"),
        ),
        (
            429,
            {"cf-mitigated": "challenge", "retry-after": "5"},
            Refusal("challenge", 5, "429, Cloudflare challenge, Retry-After: 5", signature="Cloudflare challenge"),
        ),
        (
            202,
            {"x-amzn-waf-action": "challenge"},
            Refusal("challenge", None, "202, AWS WAF challenge", signature="AWS WAF challenge"),
        ),
        (
            405,
            {"x-amzn-waf-action": "captcha"},
            Refusal("challenge", None, "405, AWS WAF CAPTCHA", signature="AWS WAF CAPTCHA"),
        ),
    ],
)
def test_a_refusal_acts_at_once(status: int, headers: dict[str, str], refusal: Refusal) -> None:
    assert recognise(status, headers) == refusal


def test_a_bucket_that_says_slow_down_is_refusing_at_once() -> None:
    assert recognise(503, {}, bucket=True) == Refusal("rate_limited", None, "503 of a bucket")
    assert recognise(503, {"retry-after": "5"}, bucket=True) == Refusal("rate_limited", 5, "503 of a bucket, Retry-After: 5")
    assert recognise(500, {}, bucket=True) == Refusal("error", None, "500", "run")


def test_objects_that_are_not_there_are_no_denials_of_the_bucket() -> None:
    assert recognise(403, {}, body=b"<Code>AccessDenied</Code>", bucket=True) is None
    assert recognise(403, {"server": "AmazonS3", "via": "1.1 x.cloudfront.net"}, body=b"<Code>AccessDenied</Code>") is None
    assert recognise(403, {"server": "nginx"}, body=b"<Code>AccessDenied</Code>") == Refusal("denied", None, "403", "urls")


@pytest.mark.parametrize("status", [500, 502, 503, 504, 520, 599])
def test_a_bare_server_error_only_counts_towards_a_run(status: int) -> None:
    assert recognise(status, {}) == Refusal("error", None, str(status), "run")
    assert recognise(status, {"retry-after": "0"}) == Refusal("error", None, str(status), "run")


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, {}),
        # On a success it is about the resource, not about us.
        (200, {"retry-after": "60"}),
        (202, {"retry-after": "60"}),
        (301, {}),
        (304, {}),
        (401, {}),
        (403, {}),
        (404, {}),
        (403, {"cf-mitigated": "none"}),
        (403, {"server": "cloudflare"}),
        (200, {"x-amzn-waf-action": "challenge"}),
        (202, {"x-amzn-waf-action": "captcha"}),
        (404, {"retry-after": "Mon, 30 Nov 2020 12:00:00 GMT", "date": DATE}),
    ],
)
def test_an_answer_that_asks_for_nothing_is_no_refusal(status: int, headers: dict[str, str]) -> None:
    assert recognise(status, headers, NOW) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"retry-after": "5"},
        {"retry-after": ["5"]},
        {b"retry-after": b"5"},
        {b"retry-after": [b"5"]},
        ScrapyHeaders({"Retry-After": "5"}),
    ],
)
def test_headers_are_taken_as_text_or_bytes_alone_or_in_lists(headers: Headers) -> None:
    refusal = recognise(429, headers)
    assert refusal is not None
    assert refusal.stated == 5


def test_of_several_times_the_longest_is_obeyed() -> None:
    refusal = recognise(429, {"retry-after": ["5", "soon", "60", "7"]})
    assert refusal == Refusal("rate_limited", 60, "429, Retry-After: 60")


def test_a_date_without_a_date_header_needs_the_wall_clock() -> None:
    with_clock, without = recognise(429, {"retry-after": LATER}, NOW), recognise(429, {"retry-after": LATER})
    assert with_clock is not None
    assert with_clock.stated == 7
    assert without == Refusal("rate_limited", None, "429")


def test_the_reason_is_fit_for_a_line_in_a_log() -> None:
    refusal = recognise(429, {"retry-after": "5." + "0" * 5_000})
    assert refusal is not None
    assert len(refusal.reason) <= SHOWN + 30
    assert refusal.reason.isprintable()


values = st.one_of(st.text(), st.binary(), st.lists(st.text(), max_size=3), st.lists(st.binary(), max_size=3))
names = st.sampled_from(["retry-after", "date", "cf-mitigated", "x-amzn-waf-action"])


@settings(deadline=None)
@given(st.integers(100, 999), st.dictionaries(names, values), st.one_of(st.none(), st.floats(0, 10**10)))
def test_whatever_is_sent_there_is_an_answer(status: int, headers: dict[str, str], now: float | None) -> None:
    refusal = recognise(status, headers, now)
    assert refusal is None or refusal.stated is None or refusal.stated > 0
    assert status != 429 or refusal is not None
