"""RFC 9309 by tables: what an answer means, what is obeyed, and when it is asked for again."""

from __future__ import annotations

import math
import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_polite.backoff.robotstxt import (
    AGAIN,
    DAY,
    DISALLOW_ALL,
    HOPS,
    LONGEST_INTERVAL,
    MOST,
    PARTS,
    REREAD,
    SKEW,
    Known,
    after,
    asked_in,
    from_notes,
    interval,
    more_notes,
    obeyed,
    outcome,
    text_of,
)
from scrapy_polite.stores.base import LONGEST_NOTE

NOW = 1_800_000_000.0
RULES = "User-agent: *\nDisallow: /private\n"


@pytest.mark.parametrize(
    ("statuses", "redirects", "expected"),
    [
        ((200, 203, 204, 206, 299), 0, "read"),
        ((200,), HOPS, "read"),
        ((300, 301, 302, 304, 307, 308), HOPS, "none"),
        ((300, 301, 302, 304, 307, 308), HOPS - 1, "unreachable"),
        ((400, 401, 403, 404, 410, 418, 428, 430, 451, 499), 0, "none"),
        ((404,), HOPS, "none"),
        ((429,), 0, "unreachable"),
        ((500, 502, 503, 504, 520, 599, 600, 999), 0, "unreachable"),
        ((100, 199, 0, None), 0, "unreachable"),
    ],
)
def test_what_a_status_means(statuses: tuple[int | None, ...], redirects: int, expected: str) -> None:
    assert {outcome(status, redirects) for status in statuses} == {expected}


@pytest.mark.parametrize(
    ("status", "copy", "age", "expected"),
    [
        # status, the copy before, its age; what is obeyed afterwards
        (200, None, 0, RULES),
        (200, "old", 1, RULES),
        (200, "old", 2 * DAY, RULES),
        (404, None, 0, ""),
        (404, "old", 1, ""),
        (500, None, 0, DISALLOW_ALL),
        (500, "old", 1, "old"),
        (500, "old", DAY - 1, "old"),
        (500, "old", DAY, DISALLOW_ALL),
        (500, "", 1, ""),
        (500, "", DAY, DISALLOW_ALL),
        (None, None, 0, DISALLOW_ALL),
        (None, "old", 1, "old"),
        (None, "old", 30 * DAY, DISALLOW_ALL),
        (429, None, 0, DISALLOW_ALL),
        (429, "old", 1, "old"),
        (500, "old", -SKEW, "old"),
        (500, "old", -SKEW - 1, DISALLOW_ALL),
    ],
)
def test_what_is_obeyed_after_an_answer(status: int | None, copy: str | None, age: float, expected: str) -> None:
    before = None if copy is None else Known(copy, NOW - age)
    known = after(before, outcome(status), RULES, NOW)
    assert obeyed(known, NOW) == expected


def test_a_copy_ends_with_its_day_however_often_it_could_not_be_read_anew() -> None:
    known = Known(RULES, NOW)
    for hours in (23.1, 23.5, 23.9):
        known = after(known, "unreachable", "", NOW + hours * 3600)
        assert obeyed(known, NOW + hours * 3600) == RULES
    assert known.failures == 3
    assert obeyed(known, NOW + DAY - 1) == RULES
    assert obeyed(known, NOW + DAY) == DISALLOW_ALL
    assert after(known, "unreachable", "", NOW + DAY).text is None, "it is of no use any more"
    assert after(known, "none", "", NOW + DAY) == Known("", NOW + DAY)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        (Known(RULES, NOW), REREAD),
        (Known("", NOW - REREAD), 0),
        (Known(RULES, NOW - DAY), 0),
        (Known(RULES, NOW + SKEW), REREAD + SKEW),
        (Known(RULES, NOW + SKEW + 1), 0),
        (Known(None, 0, 1, NOW), AGAIN[0]),
        (Known(None, 0, 2, NOW - 100), AGAIN[1] - 100),
        (Known(RULES, NOW - REREAD, 3, NOW), AGAIN[2]),
        (Known(None, 0, 4, NOW), AGAIN[3]),
        (Known(None, 0, 400, NOW), AGAIN[3]),
        (Known(None, 0, 1, NOW + SKEW + 1), 0),
    ],
)
def test_when_it_is_asked_for_again(known: Known, expected: float) -> None:
    assert asked_in(known, NOW) == pytest.approx(expected)


def test_it_is_read_anew_before_its_day_ends_and_not_known_after() -> None:
    known = Known(RULES, NOW)
    assert asked_in(known, NOW + REREAD) <= 0
    assert obeyed(known, NOW + REREAD) == RULES
    assert obeyed(known, NOW + DAY) is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", ""),
        (RULES.encode(), RULES),
        (b"\xef\xbb\xbf" + RULES.encode(), RULES),
        (b"User-agent: *\r\nDisallow: /caf\xe9\r\n", "User-agent: *\r\nDisallow: /caf\r\n"),
        ("Disallow: /caf\u00e9".encode(), "Disallow: /caf\u00e9"),
        (b"\xff\xfe" + RULES.encode("utf-16-le"), RULES),
        (b"\x89PNG\r\n\x1a\n\0\0", "PNG\r\n\x1a\n"),
        (b"Disallow: /x\n" * 50_000, "Disallow: /x\n" * (MOST // 13)),
        (b"x" * MOST, "x" * MOST),
        (b"x" * (MOST + 1), ""),
        (b"a\r" * MOST, "a\r" * (MOST // 2)),
    ],
)
def test_the_text_that_is_parsed(body: bytes, expected: str) -> None:
    assert text_of(body) == expected


@pytest.mark.parametrize(
    ("delay", "requests", "seconds", "expected"),
    [
        (None, 0, 0, 0.0),
        (10.0, 0, 0, 10.0),
        (0.5, 0, 0, 0.5),
        (0.0, 1, 5, 5.0),
        (None, 1, 5, 5.0),
        (None, 10, 60, 6.0),
        (None, 3, 1, 1 / 3),
        (2.0, 1, 5, 5.0),
        (7.0, 1, 5, 7.0),
        (-1.0, 0, 0, 0.0),
        (math.nan, 0, 0, 0.0),
        (math.inf, 1, 5, 5.0),
        (None, -1, 5, 0.0),
        (None, 1, -5, 0.0),
        (1e300, 0, 0, LONGEST_INTERVAL),
        (None, 1, 10**400, LONGEST_INTERVAL),
        (None, 10**400, 1, 0.0),
    ],
)
def test_the_least_time_between_two_starts(delay: float | None, requests: int, seconds: int, expected: float) -> None:
    assert interval(delay, requests, seconds) == pytest.approx(expected)


@given(
    st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]), max_size=300)),
    st.floats(0, 4e9),
    st.integers(0, 1000),
    st.floats(0, 4e9),
)
def test_what_is_noted_is_read_again(text: str | None, read: float, failures: int, failed: float) -> None:
    known = Known(text, read, failures, failed)
    assert from_notes(known.notes()) == known
    assert all(note.isascii() for note in known.notes())


@pytest.mark.parametrize(
    "note",
    ["", "x", "[]", "{}", "null", "[1, 2, 3, 4]", '["x", 0, 0, 0]', '[null, NaN, 0, 0, 0, ""]', '[null, 0, -1, 0, 0, ""]'],
)
def test_a_note_of_something_else_is_none(note: str) -> None:
    assert from_notes([note]) is None
    assert more_notes(note) == 0


def incompressible(size: int) -> str:
    chance = random.Random(1)
    return "".join(chance.choices(string.ascii_letters + string.digits + "-_", k=size))


def test_a_copy_that_cannot_be_packed_is_kept_in_several_notes_and_only_whole() -> None:
    one, other = Known(incompressible(MOST), NOW), Known(incompressible(MOST)[::-1], NOW)
    notes = one.notes()
    assert 10 < len(notes) == 1 + more_notes(notes[0]) < PARTS
    assert max(map(len, notes)) <= LONGEST_NOTE
    assert from_notes(notes) == one
    assert from_notes(notes[:-1]) is None
    assert from_notes([*notes, ""]) is None
    assert from_notes([*notes[:5], *other.notes()[5:]]) is None
    assert len(Known("Disallow: /x\n" * 30_000, NOW).notes()) == 1


def test_a_note_does_not_unpack_to_more_than_is_parsed() -> None:
    assert from_notes(Known("x" * MOST, NOW).notes()) == Known("x" * MOST, NOW)
    assert from_notes(Known("x" * 20_000_000, NOW).notes()) is None
