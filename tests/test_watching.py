"""Image services, watched: when an account is called an edge or a bucket, and what takes the name away again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.origins.watching import (
    ACCOUNTS,
    BUCKET_MARKS,
    ENOUGH,
    FOLDERS,
    LATELY,
    OBJECTING,
    REMEMBERED,
    Sign,
    Switch,
    Watching,
    folder_of,
    sign_of,
)

ACCOUNT = "imageservice:imgix/hearth"
HIT = Sign("edge", "x-cache", hit=True)
MISS = Sign("edge", "x-cache")
BUCKET = Sign("bucket", "x-amz-request-id")
NOTHING = Sign("unknown")


def hear(watching: Watching, *signs: Sign, folder: str = "", source: str = "") -> list[Switch]:
    return [switch for sign in signs for switch in watching.heard(ACCOUNT, folder, sign, source)]


# -- signs


@pytest.mark.parametrize(
    ("names", "hit", "sign"),
    [
        ((), None, NOTHING),
        (("server", "x-amz-cf-id", "x-amzn-requestid", "x-ms-request-id"), None, NOTHING),
        (("x-amz-request-id", "x-amz-id-2"), None, BUCKET),
        (("x-goog-generation",), None, Sign("bucket", "x-goog-generation")),
        (("x-ms-blob-type",), None, Sign("bucket", "x-ms-blob-type")),
        ((), True, HIT),
        ((), False, MISS),
        # An edge with a bucket behind it shows both.
        (("x-amz-request-id",), True, HIT),
        (("x-amz-request-id",), False, MISS),
    ],
)
def test_what_one_answer_shows(names: tuple[str, ...], hit: bool | None, sign: Sign) -> None:
    assert sign_of(names, hit, "x-cache") == sign


def test_marks_of_buckets_are_lower_case_and_once() -> None:
    assert len(set(BUCKET_MARKS)) == len(BUCKET_MARKS)
    assert all(mark == mark.lower() for mark in BUCKET_MARKS)


@pytest.mark.parametrize(
    ("account", "path", "folder"),
    [
        ("imageservice:imgix/hearth", "/photos/1.jpg?w=6", "photos"),
        ("imageservice:imgix/hearth", "/1.jpg", ""),
        ("imageservice:imgix/hearth", "/1.jpg?a=/b/c", ""),
        ("imageservice:imgix/hearth", "/", ""),
        ("imageservice:imgix/hearth", "", ""),
        ("imageservice:imgix/hearth", f"/{'x' * 65}/1.jpg", ""),
        ("imageservice:imgix/hearth", "/https%3A%2F%2Fshop.example%2Fa%2F1.jpg", ""),
        ("imageservice:cloudinary/hearth", "/Hearth/image/upload/1.jpg", "image"),
        ("imageservice:cloudinary/hearth", "/image/upload/1.jpg", "image"),
        ("imageservice:photon/shop.example", "/shop.example/uploads/1.jpg", "uploads"),
    ],
)
def test_the_folder_of_an_image(account: str, path: str, folder: str) -> None:
    assert folder_of(account, path) == folder


# -- names


@pytest.mark.parametrize(("sign", "behaviour"), [(HIT, "edge"), (MISS, "edge"), (BUCKET, "bucket")])
def test_enough_answers_that_agree_give_the_name(sign: Sign, behaviour: str) -> None:
    watching = Watching()
    assert watching.behaviour(ACCOUNT) == "unknown"
    assert hear(watching, *[sign] * (ENOUGH - 1)) == []
    assert watching.behaviour(ACCOUNT) == "unknown"
    (switch,) = hear(watching, sign)
    assert (switch.account, switch.folder, switch.before, switch.now) == (ACCOUNT, "", "unknown", behaviour)
    assert watching.behaviour(ACCOUNT) == behaviour
    assert watching.behaviour("imageservice:imgix/other") == "unknown"


def test_answers_that_show_nothing_or_do_not_agree_give_none() -> None:
    for signs in ([NOTHING] * 200, [BUCKET, HIT] * 100, ([BUCKET] * 8 + [NOTHING] * 2) * 20):
        watching = Watching()
        assert hear(watching, *signs) == []
        assert watching.behaviour(ACCOUNT) == "unknown"


def test_a_few_answers_that_show_nothing_do_not_matter() -> None:
    watching = Watching()
    hear(watching, *[BUCKET] * 9, NOTHING, *[BUCKET] * 9, NOTHING)
    assert watching.behaviour(ACCOUNT) == "bucket"


def test_a_bucket_that_begins_to_speak_of_a_cache_is_unknown_at_once_and_an_edge_later() -> None:
    watching = Watching()
    hear(watching, *[BUCKET] * 500)
    switches = []
    heard = 0
    while not switches:
        switches = hear(watching, MISS)
        heard += 1
    assert heard == LATELY // 2 + 1
    assert [(switch.before, switch.now) for switch in switches] == [("bucket", "unknown")]
    switches = hear(watching, *[MISS] * REMEMBERED)
    assert [(switch.before, switch.now) for switch in switches] == [("unknown", "edge")]


def test_an_account_on_the_border_does_not_change_its_name_all_the_time() -> None:
    """Of ten answers, one to four speak for something else, in turn."""
    watching = Watching()
    hear(watching, *[BUCKET] * ENOUGH)
    for other in (1, 2, 3, 4, 3, 2, 1) * 20:
        assert hear(watching, *[NOTHING] * other, *[BUCKET] * (10 - other)) == []
    assert watching.behaviour(ACCOUNT) == "bucket"


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([HIT, MISS, BUCKET, NOTHING]), st.sampled_from(["", "a", "b"])), max_size=150))
def test_a_bucket_is_only_what_has_shown_it_and_goes_on_to(heard: list[tuple[Sign, str]]) -> None:
    watching, said = Watching(), []
    for sign, folder in heard:
        hear(watching, sign, folder=folder)
        said.append(sign.of)
        if watching.behaviour(ACCOUNT) == "bucket":
            assert said[-LATELY:].count("bucket") >= LATELY // 2
            assert said.count("bucket") >= ENOUGH * 0.9
    assert all(sentence.startswith(ACCOUNT) for sentence in watching.sentences(ACCOUNT))


# -- folders


def test_a_folder_has_its_own_say_where_it_differs() -> None:
    watching = Watching()
    for _ in range(ENOUGH):
        hear(watching, *[BUCKET] * 19, folder="stored")
        hear(watching, MISS, folder="fetched")
    assert watching.behaviour(ACCOUNT, "stored") == "bucket"
    assert watching.behaviour(ACCOUNT, "fetched") == "edge"
    assert watching.behaviour(ACCOUNT, "never seen") == watching.behaviour(ACCOUNT) == "bucket"
    assert not watching.all_bucket(ACCOUNT)
    assert len(watching.sentences(ACCOUNT)) == 3


def test_a_folder_that_shows_nothing_is_no_bucket_though_the_account_is() -> None:
    watching = Watching()
    hear(watching, *[BUCKET] * REMEMBERED, folder="stored")
    hear(watching, *[NOTHING] * (OBJECTING - 1), folder="fetched")
    assert watching.behaviour(ACCOUNT, "fetched") == "bucket"
    hear(watching, *[BUCKET] * REMEMBERED, folder="stored")
    hear(watching, NOTHING, folder="fetched")
    assert watching.behaviour(ACCOUNT) == "bucket"
    assert watching.behaviour(ACCOUNT, "fetched") == "unknown"
    assert not watching.all_bucket(ACCOUNT)


def test_a_folder_that_does_not_agree_with_itself_is_no_bucket_though_the_account_is() -> None:
    watching = Watching()
    hear(watching, *([BUCKET] * 7 + [NOTHING] * 3) * 2, folder="mixed")
    hear(watching, *[BUCKET] * REMEMBERED, folder="stored")
    assert watching.behaviour(ACCOUNT) == "bucket"
    assert watching.behaviour(ACCOUNT, "mixed") == "unknown"


def test_an_account_of_one_sort_is_all_bucket() -> None:
    watching = Watching()
    assert not watching.all_bucket(ACCOUNT)
    for folder in ("a", "b", ""):
        hear(watching, *[BUCKET] * ENOUGH, folder=folder)
    assert watching.all_bucket(ACCOUNT)


# -- whose images


def test_whose_images_they_are_is_known_while_nearly_all_are_somebodys() -> None:
    watching = Watching()
    assert watching.source(ACCOUNT) == ""
    assert watching.source(ACCOUNT, "site:shop.example") == "site:shop.example"
    hear(watching, *[MISS] * 19, source="site:shop.example")
    assert watching.source(ACCOUNT, "site:other.example") == "site:shop.example"
    hear(watching, MISS, source="site:other.example")
    assert watching.source(ACCOUNT) == "site:shop.example"
    hear(watching, *[MISS] * 2, source="")
    assert watching.source(ACCOUNT) == ""


# -- sentences and memory


def test_every_switch_is_a_sentence() -> None:
    watching = Watching()
    (told,) = watching.sentences(ACCOUNT)
    assert told == f"{ACCOUNT} is watched, and taken as an edge whose answers are all misses until they tell more"
    (bucket,) = hear(watching, *[BUCKET] * 18, NOTHING, Sign("bucket", "x-goog-generation"))
    assert bucket.because == (
        f"{ACCOUNT} behaves as a bucket: 19 of its last 20 answers had the mark of an object store "
        "(x-amz-request-id, x-goog-generation), and no word of a cache"
    )
    (unknown,) = hear(watching, *[MISS] * 6)
    assert unknown.because == (
        f"{ACCOUNT} no longer behaves as a bucket: of its last 10 answers only 4 showed it, and x-cache instead; until they "
        "agree again it is taken as an edge whose answers are all misses"
    )
    (edge,) = hear(watching, *[HIT] * 30)
    assert edge.because == (
        f"{ACCOUNT} behaves as an edge: 36 of its last 40 answers said by x-cache what a cache did, 30 of them a hit"
    )
    assert watching.sentences(ACCOUNT) == (edge.because,)
    other = Watching()
    in_folder = [switch for switch in hear(other, *[BUCKET] * ENOUGH, folder="stored") if switch.folder]
    assert in_folder[0].because.startswith(f"{ACCOUNT} in /stored/ behaves as a bucket: 20 of its last 20 answers")


def test_what_is_watched_is_bounded() -> None:
    watching = Watching()
    hear(watching, *[BUCKET] * ENOUGH)
    for number in range(ACCOUNTS):
        watching.heard(f"imageservice:imgix/{number}", "", NOTHING)
    assert watching.behaviour(ACCOUNT) == "unknown"
    for number in range(50):
        hear(watching, *[BUCKET] * ENOUGH, folder=f"folder{number}")
    assert len(watching.sentences(ACCOUNT)) == FOLDERS + 1
