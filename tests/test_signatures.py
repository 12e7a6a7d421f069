"""Refusals of the common bot walls are recognised, and what only looks like one is not."""

from __future__ import annotations

from itertools import permutations
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.backoff.ladders import DEFAULT_RUNGS
from scrapy_polite.backoff.marks import LOOKED_AT, find, is_alone, is_wall, looked_at
from scrapy_polite.backoff.refusals import Refusal, recognise
from scrapy_polite.backoff.signatures import SIGNATURES, WALL, Signature
from tests.refusal_pages import BARE_DENIALS, CONTENT, FALSE_FRIENDS, HTML, MORE_REFUSALS, REFUSALS, Answer, html

BY_NAME = {row.name: row for row in SIGNATURES}
MARKS = sorted({mark for row in SIGNATURES for mark in (*row.marks, *row.also)})


def heard(answer: Answer) -> Refusal | None:
    return recognise(answer.status, answer.headers, None, answer.body)


@pytest.mark.parametrize(("name", "answer"), [*REFUSALS.items(), *MORE_REFUSALS])
def test_each_refusal_is_recognised_as_what_it_is(name: str, answer: Answer) -> None:
    refusal = heard(answer)
    assert refusal is not None
    assert (refusal.signature, refusal.kind) == (name, BY_NAME[name].kind)
    assert name in refusal.reason
    assert str(answer.status) in refusal.reason
    assert refusal.needs == "nothing"


def test_every_signature_has_a_name_and_an_answer_of_its_own() -> None:
    assert list(REFUSALS) != []
    assert set(REFUSALS) == set(BY_NAME)
    assert len(BY_NAME) == len(SIGNATURES)


@pytest.mark.parametrize("row", SIGNATURES, ids=lambda row: row.name)
def test_every_row_is_complete_and_can_be_met(row: Signature) -> None:
    assert row.kind in DEFAULT_RUNGS
    assert row.source
    assert row.vendor
    assert row.header or row.marks
    assert all(mark == mark.lower() and len(mark) > 3 for mark in (*row.marks, *row.also))
    assert row.header is None or row.header == (row.header[0].lower(), row.header[1].lower())
    # Of a status that refuses nothing by itself, the mark needs a second look.
    assert row.marks or row.statuses != frozenset({200})


def test_no_mark_hides_another_from_the_automaton() -> None:
    """Matches do not overlap, so a mark inside another one would not be seen."""
    for one, other in permutations(MARKS, 2):
        assert one not in other


@pytest.mark.parametrize("answer", FALSE_FRIENDS.values(), ids=FALSE_FRIENDS)
def test_what_only_looks_like_a_refusal_is_none(answer: Answer) -> None:
    assert heard(answer) is None


@pytest.mark.parametrize("answer", BARE_DENIALS.values(), ids=BARE_DENIALS)
def test_a_denial_without_a_signature_is_about_a_page_until_others_follow(answer: Answer) -> None:
    refusal = heard(answer)
    assert refusal is not None
    assert (refusal.kind, refusal.needs, refusal.signature) == ("denied", "urls", "")
    assert recognise(answer.status, answer.headers) is None


@pytest.mark.parametrize("name", [row.name for row in SIGNATURES if row.marks])
def test_a_mark_on_a_page_with_other_content_needs_another_url_where_the_status_is_good(name: str) -> None:
    row, answer = BY_NAME[name], REFUSALS[name]
    if not row.statuses & {200}:
        # Refused by its status already: the page decides only what it is.
        assert heard(answer._replace(body=answer.body + b" " * 2_000)) == heard(answer)
        return
    long = answer._replace(status=200, body=answer.body + ("<p>" + "word " * 120 + "</p>").encode())
    refusal = heard(long)
    assert refusal is not None
    assert (refusal.needs, refusal.signature) == ("pages", name)


@pytest.mark.parametrize("row", SIGNATURES, ids=lambda row: row.name)
def test_a_twin_without_the_deciding_part_is_not_that_refusal(row: Signature) -> None:
    answer = REFUSALS[row.name]

    def seen(answer: Answer) -> str | None:
        refusal = heard(answer)
        return refusal and refusal.signature

    assert seen(answer) == row.name
    if row.header is not None:
        without = {name: value for name, value in answer.headers.items() if name != row.header[0]}
        assert seen(answer._replace(headers=without)) != row.name
        assert seen(answer._replace(headers={**without, f"{row.header[0]}-other": row.header[1]})) != row.name
    if row.marks:
        assert seen(answer._replace(body=html("Boats", CONTENT))) != row.name
        assert seen(answer._replace(headers={**answer.headers, "content-type": "image/png"})) != row.name
    if row.also:
        assert seen(answer._replace(body=html("Boats", row.marks[0]))) != row.name
    if row.within:
        assert seen(answer._replace(body=answer.body + b" " * row.within)) != row.name
    for status in {200, 403, 404, 429, 500} - row.statuses if row.statuses else ():
        assert seen(answer._replace(status=status)) != row.name


def test_a_time_that_is_stated_beside_a_challenge_is_obeyed() -> None:
    answer = REFUSALS["Cloudflare challenge page"]
    refusal = recognise(answer.status, {**answer.headers, "retry-after": "900"}, None, answer.body)
    assert refusal is not None
    assert (refusal.kind, refusal.stated) == ("challenge", 900)


@pytest.mark.parametrize(("status", "most"), [(403, LOOKED_AT), (503, LOOKED_AT), (200, WALL), (202, WALL)])
def test_the_beginning_of_a_body_is_looked_at_less_of_a_good_one(status: int, most: int) -> None:
    assert looked_at(status) == most
    page = html("", "Incapsula incident ID: 1")
    padded = b"<p>" + b"x" * (most - len(page) - 3) + page
    assert find(status, HTML, padded + b"more") is None  # Imperva's page is never so long
    late = b"x" * most + b"_cf_chl_opt"
    assert find(status, HTML, late) is None
    assert find(status, HTML, late[10:] + b"_cf_chl_opt") is None
    assert find(status, HTML, late[11:]) is not None


@pytest.mark.parametrize("status", [403, 200])
def test_a_page_that_is_longer_than_what_is_looked_at_may_have_content_further_down(status: int) -> None:
    page = b"<script>_cf_chl_opt" + b" " * (looked_at(status) - 19)
    assert [seen and seen.alone for seen in (find(status, HTML, page), find(status, HTML, page + b" "))] == [True, False]


@pytest.mark.parametrize("status", [204, 301, 304, 404, 410, 451, 500])
def test_no_body_is_looked_at_where_its_status_has_no_marks(status: int) -> None:
    assert looked_at(status) == 0
    assert find(status, HTML, b"<script>_cf_chl_opt") is None


def test_a_wall_that_is_known_by_its_length_is_looked_at_in_full() -> None:
    for row in SIGNATURES:
        assert row.within <= min(map(looked_at, row.statuses), default=0) or not row.marks


@pytest.mark.parametrize("content_type", ["text/html", "text/html;charset=x", "application/problem+json", "TEXT/HTML ", None])
def test_bodies_of_text_are_looked_at(content_type: str | None) -> None:
    headers = {} if content_type is None else {"content-type": content_type}
    refusal = recognise(403, headers, None, b'{"url":"https://geo.captcha-delivery.com/captcha/"}')
    assert refusal is not None
    assert refusal.signature == "DataDome page"


def test_a_wall_is_short_says_so_in_its_title_and_asks_for_nothing_else() -> None:
    assert is_wall(html("security check", "wait"))
    assert is_wall(html("x", "<h2 class='a'>are you a robot?</h2>"))
    assert not is_wall(html("x", "are you a robot?"))
    assert not is_wall(html("security check", CONTENT))
    assert not is_wall(html("security check", '<input type="password">'))


def test_a_page_is_alone_with_little_text_and_few_links_whatever_its_scripts() -> None:
    assert is_alone(
        html("wait", "<script>" + "x" * 9_000 + "</script><style>" + "y" * 9_000 + "</style><!-- " + "z" * 999 + " -->")
    )
    assert is_alone(b"<p>wait<script>" + b"never closed " * 999)
    assert not is_alone(html("x", CONTENT))
    assert not is_alone(html("x", '<a href="/">a</a>' * 4))


@pytest.mark.parametrize("piece", [b"ips.js kpsdk ", b"<script", b"<", b"<!--", b"<a x", b"<title x", b"<h1>", b"t=bv"])
def test_a_hostile_page_is_read_in_time_that_grows_with_its_length_alone(piece: bytes) -> None:
    def seconds(length: int) -> float:
        body = (b"_cf_chl_opt g-recaptcha " + piece * length)[:length]
        began = process_time()
        for _ in range(3):
            recognise(200, HTML, None, body)
        return process_time() - began

    # Four times the page takes some four times as long, where a search that looks back would take sixteen.
    assert seconds(LOOKED_AT) < 8 * seconds(LOOKED_AT // 4) + 0.05


pieces = st.lists(
    st.one_of(
        st.sampled_from([mark.encode() for mark in MARKS]),
        st.sampled_from([b"<title>security check", b"<script", b"</script>", b"<!--", b"<", b">", b"<article>", b"<h1>"]),
        st.binary(max_size=20),
    ),
    max_size=30,
)
header_values = st.dictionaries(
    st.sampled_from(["content-type", "server", "x-dd-b", "x-kpsdk-ct", "location", "cf-mitigated"]),
    st.sampled_from(["text/html", "cloudflare", "1", "challenge", "https://www.google.com/sorry/", "image/png"]),
)


@settings(deadline=None)
@given(st.sampled_from([200, 202, 204, 302, 401, 403, 404, 405, 428, 429, 500, 503]), header_values, pieces)
def test_whatever_a_page_says_there_is_an_answer(status: int, headers: dict[str, str], body: list[bytes]) -> None:
    refusal = recognise(status, headers, None, b" ".join(body))
    assert refusal is None or refusal.kind in DEFAULT_RUNGS
    if status in (401, 403, 429, 500, 503):
        assert refusal is not None


@settings(deadline=None)
@given(st.sampled_from(MARKS), st.binary(max_size=200), st.binary(max_size=200))
def test_a_mark_is_found_wherever_it_stands(mark: str, before: bytes, after: bytes) -> None:
    rows = [row for row in SIGNATURES if mark in row.marks and not (row.also or row.header or row.wall)]
    for row in rows:
        status = 200 if not row.statuses or 200 in row.statuses else min(row.statuses)
        seen = find(status, HTML, before.replace(b"\n", b"") + b" " + mark.upper().encode() + b" " + after)
        assert seen is not None
