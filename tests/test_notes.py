"""What is learned and outlives the process: its text, how it is taken up, and what of it counts in another process."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_polite.limits.kinds import Kinds
from scrapy_polite.origins.costs import ENOUGH, KINDS, PATIENCE, Costs, Sample
from scrapy_polite.origins.notes import LONGEST, NotedCost, NotedPart
from scrapy_polite.origins.watching import ENOUGH as ENOUGH_OF_AN_ACCOUNT
from scrapy_polite.origins.watching import FOLDERS, LATELY, Part, Sign, Watching
from scrapy_polite.stores.base import LONGEST_NOTE

ORIGIN = "origin:a.test"
ACCOUNT = "imageservice:imgix/hearth"
STEP = NotedCost(4.5, 1_000_000.0, 24, 40, "the server takes 400 ms")
BUCKET = Sign("bucket", "x-amz-request-id")
NOTHING = Sign("unknown")


# -- the text


@pytest.mark.parametrize(
    "noted",
    [STEP, NotedPart("bucket", 1.5, 'it "is"\n\u2028 one'), NotedPart("unknown", 1.0, "")],
)
def test_what_was_written_is_read(noted: NotedCost | NotedPart) -> None:
    assert type(noted).from_text(noted.as_text()) == noted


def test_a_note_is_never_too_long_for_a_store() -> None:
    noted = NotedPart("edge", 1.0, "\U0001f600" * LONGEST_NOTE)
    assert len(noted.as_text()) <= LONGEST_NOTE
    found = NotedPart.from_text(noted.as_text())
    assert found is not None
    assert len(found.because) == LONGEST


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "null",
        "[" * 30_000,
        "9" * 5_000,
        *(
            json.dumps({"v": 1, "cost": 4.5, "at": 1.0, "samples": 1, "pages": 1, "because": "", **wrong})
            for wrong in (
                {"v": 2},
                {"v": None},
                {"cost": "4.5"},
                {"cost": True},
                {"cost": float("nan")},
                {"cost": float("inf")},
                {"cost": -1},
                {"at": 1e300},
                {"samples": None},
                {"pages": []},
                {"because": 1},
            )
        ),
    ],
)
def test_broken_text_and_that_of_another_version_count_as_nothing(broken: str) -> None:
    assert NotedCost.from_text(broken) is None
    assert NotedPart.from_text(broken) is None


@pytest.mark.parametrize("wrong", [{"behaviour": "cdn"}, {"behaviour": None}, {"behaviour": ["edge"]}, {"at": "now"}])
def test_a_behaviour_that_nobody_knows_counts_as_nothing(wrong: dict[str, object]) -> None:
    right = {"v": 1, "behaviour": "edge", "at": 1.0, "because": ""}
    assert NotedPart.from_text(json.dumps(right)) == NotedPart("edge", 1.0, "")
    assert NotedPart.from_text(json.dumps(right | wrong)) is None


@given(st.text())
def test_no_text_is_an_error(text: str) -> None:
    NotedCost.from_text(text)
    NotedPart.from_text(text)


# -- costs


def told(costs: Costs, now: float, work: float = 0.9) -> bool:
    """Enough answers of pages and of searches that take so much longer; whether there is enough for a step."""
    costs.connected("203.0.113.7", 0.0)
    enough = [
        costs.heard(Sample(ORIGIN, "site:a.test", kind, "203.0.113.7", seconds, 200, None, False, True), now)
        for kind, seconds in (("page", 0.1), ("search", work))
        for _ in range(ENOUGH)
    ]
    return enough[-1]


def test_a_cost_that_was_noted_is_charged_from_the_first_request_on() -> None:
    costs = Costs(Kinds().cost)
    costs.recall(ORIGIN, "search", STEP, 50.0, STEP.at)
    assert costs.knows(ORIGIN)
    assert costs.cost(ORIGIN, "search") == 4.5
    (learned,) = costs.learned(ORIGIN)
    assert (learned.noted, learned.because, learned.default) == (STEP, STEP.because, 4)


@pytest.mark.parametrize(("noted", "charged"), [(1e9, 8), (0.0, 2), (2.0, 2), (8.0, 8)])
def test_whatever_was_noted_a_cost_keeps_its_bounds(noted: float, charged: float) -> None:
    costs = Costs(Kinds().cost)
    costs.recall(ORIGIN, "search", NotedCost(noted, 1.0, 1, 1, ""), 0.0, 1.0)
    assert costs.cost(ORIGIN, "search") == charged


def test_a_page_is_what_the_others_are_weighed_against_whatever_was_noted() -> None:
    costs = Costs(Kinds().cost)
    costs.recall(ORIGIN, "page", STEP, 0.0, STEP.at)
    assert costs.cost(ORIGIN, "page") == 2
    assert not costs.knows(ORIGIN)


def test_of_all_processes_one_makes_a_step_in_ten_minutes() -> None:
    """Three processes, each with a clock of its own, whose kind costs more: the note of one is the start of the next."""
    wall, noted, steps = 1_000_000.0, None, list[tuple[float, float]]()
    processes = [(Costs(Kinds().cost), started) for started in (0.0, 5_000.0, 70_000.0)]
    for _ in range(180):
        for costs, started in processes:
            now = started + wall
            assert told(costs, now)
            if noted is not None:
                costs.recall(ORIGIN, "search", noted, now, wall)
            step = costs.step(ORIGIN, "search", now, wall)
            if step is not None:
                noted = step.noted
                steps.append((wall, step.cost))
            wall += 6.0
    assert [cost for _, cost in steps] == [4.5, 5.0, 5.5, 6.0, 6.5, 7.0]
    assert min(later - earlier for (earlier, _), (later, _) in itertools.pairwise(steps)) >= PATIENCE


def test_a_note_from_the_future_keeps_nobody_from_learning_for_longer() -> None:
    costs = Costs(Kinds().cost)
    ahead = NotedCost(5.0, 9e9, 20, 20, "")
    costs.recall(ORIGIN, "search", ahead, 0.0, 1_000.0)
    told(costs, 10.0)
    assert costs.step(ORIGIN, "search", 10.0, 1_010.0) is None
    told(costs, PATIENCE)
    costs.recall(ORIGIN, "search", ahead, PATIENCE, 1_000.0 + PATIENCE)
    step = costs.step(ORIGIN, "search", PATIENCE, 1_000.0 + PATIENCE)
    assert step is not None
    assert step.cost == 5.5


def test_notes_of_an_origin_are_bounded() -> None:
    costs = Costs(Kinds().cost)
    for number in range(KINDS + 5):
        costs.recall(ORIGIN, f"kind{number}", STEP, 0.0, STEP.at)
    assert len(costs.learned(ORIGIN)) == KINDS


# -- accounts of image services


def noted(**parts: NotedPart) -> Watching:
    watching = Watching()
    watching.recall(ACCOUNT, {"" if folder == "whole" else folder: part for folder, part in parts.items()})
    return watching


def test_an_account_has_its_name_from_the_first_answer_on() -> None:
    watching = noted(whole=NotedPart("bucket", 7.0, "so it was"), photos=NotedPart("edge", 8.0, "but not here"))
    assert watching.behaviour(ACCOUNT) == watching.behaviour(ACCOUNT, "other") == "bucket"
    assert watching.behaviour(ACCOUNT, "photos") == "edge"
    assert watching.sentences(ACCOUNT) == ("so it was", "but not here")
    assert watching.parts(ACCOUNT) == (Part("", "bucket", "so it was", 7.0), Part("photos", "edge", "but not here", 8.0))
    assert watching.some_bucket(ACCOUNT)
    assert not watching.all_bucket(ACCOUNT)
    assert watching.source(ACCOUNT, "site:first.test") == "site:first.test"


def test_it_loses_its_name_as_soon_as_it_would_where_it_was_given() -> None:
    watching = noted(whole=NotedPart("bucket", 7.0, "so it was"))
    for _ in range(LATELY // 2):
        assert watching.heard(ACCOUNT, "", NOTHING) == ()
    assert watching.behaviour(ACCOUNT) == "bucket"
    (switch,) = watching.heard(ACCOUNT, "", NOTHING)
    assert switch.because.startswith(f"{ACCOUNT} no longer behaves as a bucket: of its last 6 answers only 0 showed it;")
    # Also for whoever comes next.
    assert watching.parts(ACCOUNT) == (Part("", "unknown", switch.because, 0.0),)


def test_answers_that_go_on_to_agree_change_nothing() -> None:
    watching = noted(whole=NotedPart("bucket", 7.0, "so it was"))
    for _ in range(3 * ENOUGH_OF_AN_ACCOUNT):
        assert watching.heard(ACCOUNT, "", BUCKET) == ()
    assert watching.parts(ACCOUNT)[0] == Part("", "bucket", "so it was", 7.0)


def test_a_folder_that_never_agreed_with_itself_is_no_bucket_in_the_next_process() -> None:
    first = Watching()
    for number in range(10 * ENOUGH_OF_AN_ACCOUNT):
        first.heard(ACCOUNT, "a", BUCKET)
        if not number % 10:
            first.heard(ACCOUNT, "b", BUCKET if number % 20 else NOTHING)
    parts = first.parts(ACCOUNT)
    assert Part("b", "unknown", "", 0.0) in parts
    second = Watching()
    second.recall(ACCOUNT, {part.folder: NotedPart(part.behaviour, 9.0, part.because) for part in parts})
    for folder in ("", "a", "b"):
        assert second.behaviour(ACCOUNT, folder) == first.behaviour(ACCOUNT, folder)
    assert second.behaviour(ACCOUNT, "b") == "unknown"


def test_what_is_known_is_not_overwritten_by_what_was_noted() -> None:
    watching = Watching()
    watching.heard(ACCOUNT, "", NOTHING)
    watching.recall(ACCOUNT, {"": NotedPart("bucket", 7.0, "so it was")})
    assert watching.behaviour(ACCOUNT) == "unknown"
    watching.recall("imageservice:imgix/other", {})
    assert not watching.knows("imageservice:imgix/other")


def test_folders_that_are_noted_are_bounded() -> None:
    watching = noted(
        **{f"f{number}": NotedPart("bucket", 7.0, "so") for number in range(50)}, whole=NotedPart("edge", 7.0, "it")
    )
    assert len(watching.parts(ACCOUNT)) == FOLDERS + 1
    assert watching.behaviour(ACCOUNT) == "edge"
