"""Long texts in pieces: what one search of the whole text finds is found."""

from __future__ import annotations

import random

import pytest
from made_up_keys import made_up_keys

from scrapy_polite.redaction import Budget, Redactor, pieces, policy_from
from scrapy_polite.redaction.pieces import redacted_pieces, redacted_text

KINDS = ("stripe-secret", "google-api-key", "github-token", "aws-signature", "mapbox-public", "aws-session-token")
KEYS = [made_up_keys()[kind] for kind in KINDS]
PLANTED = [
    *KEYS,
    *["jo@x.example", "020 7946 0958", "jo&#64;x.example", "AIza", "a=b&c"] * 3,
    *["lorem ipsum dolor sit amet"] * 60,
]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a text of a test has many pieces."""
    monkeypatch.setattr(pieces, "PIECE", 6_000)


def redactor(preset: str = "gdpr-strict") -> Redactor:
    policy = policy_from(preset)
    assert policy is not None
    return Redactor(policy)


@pytest.mark.parametrize("preset", ["secrets", "gdpr-strict"])
@pytest.mark.parametrize("between", [" ", "<p>", "\n", ", ", '":"'])
def test_pieces_find_what_the_whole_finds_wherever_they_meet(preset: str, between: str) -> None:
    chance = random.Random(between)
    text = "".join(f"{chance.choice(PLANTED)}{between * chance.randint(1, 3)}" for _ in range(3_000))
    whole = redactor(preset).text(text)
    assert redacted_text(redactor(preset), text) == whole
    assert len(list(redacted_pieces(redactor(preset), [text]))) > 5
    assert len(whole.findings) > 150


def test_a_stream_may_come_in_chunks_of_any_length() -> None:
    text = "".join(f"<p>{n} jo{n}@x.example</p>" for n in range(2_000))
    for size in (1, 1_000, 10**9):
        chunks = (text[at : at + size] for at in range(0, len(text), size))
        results = list(redacted_pieces(redactor(), chunks))
        assert "".join(result.text for result in results) == redactor().text(text).text
        found = [one for result in results for one in result.findings]
        assert [text[one.start : one.end] for one in found] == [f"jo{n}@x.example" for n in range(2_000)]
    assert list(redacted_pieces(redactor(), [])) == []


def test_a_text_without_a_place_to_cut_is_searched_as_a_whole() -> None:
    text = f"{'x' * 50_000}jo@x.example{'y' * 50_000}"
    assert redacted_text(redactor(), text) == redactor().text(text)


def test_what_was_found_elsewhere_is_not_cut() -> None:
    text = "Jo Bloggs and Al " * 3_000
    spans = [("name", at, at + 9) for at in range(0, len(text), 17)]
    result = redacted_text(redactor(), text, "", spans)
    assert result.text == "~redacted-name~ and Al " * 3_000
    assert [(one.start, one.end) for one in result.findings] == [(start, end) for _, start, end in spans]


def test_a_piece_that_is_too_much_work_is_left_out_of_a_stream_and_the_rest_goes_on() -> None:
    plain, costly = "plain text, " * 4_000, "jo&#64;x.example, " * 2_000
    budgets = (Budget(base=5_000 * 2**step, per_character=0) for step in range(20))
    small = next(some for some in map(redactor().within, budgets) if not some.text(plain[: 6_000 + pieces.BEHIND]).dropped)
    text = f"{plain}{costly}{plain}"
    results = list(redacted_pieces(small, [text]))
    assert {result.dropped for result in results} == {None, "over_budget"}
    assert "@" not in "".join(result.text for result in results)
    assert results[-1].text.endswith("plain text, ")
    assert redacted_text(small, text).dropped == "over_budget"
