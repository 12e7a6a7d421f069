"""When a refusal rises from the sites that gave it to their origin."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.backoff.raising import KEPT, MANY_SITES, MOST_KINDS, Begun, Memory, Raised, as_text, from_text, heard


def begun(site: str, at: float, kind: str = "rate_limited", until: float | None = None, partition: str = "") -> Begun:
    return Begun(f"site:{site}", kind, at, at + 120 if until is None else until, f"429 of {site}", partition)


def told(*holds: Begun, sites: int = 10, weak: bool = False) -> list[Raised | None]:
    memory: Memory = ()
    answers = []
    for hold in holds:
        memory, raised = heard(memory, hold, sites=sites, weak=weak)
        answers.append(raised)
    return answers


def raises(*holds: Begun, sites: int = 10, weak: bool = False) -> list[bool]:
    return [raised is not None for raised in told(*holds, sites=sites, weak=weak)]


def test_one_site_that_refuses_is_one_site() -> None:
    assert raises(begun("a", 0), begun("a", 10), begun("a", 20), begun("a", 30)) == [False] * 4


@pytest.mark.parametrize(("later", "rises"), [(0, True), (59.9, True), (60, True), (60.1, False), (61, False)])
def test_two_sites_within_a_minute_are_the_origin(later: float, rises: bool) -> None:
    assert raises(begun("a", 0), begun("b", later)) == [False, rises]


@pytest.mark.parametrize(("last", "rises"), [(300, True), (301, False)])
def test_three_sites_within_five_minutes_are_the_origin(last: float, rises: bool) -> None:
    assert raises(begun("a", 0), begun("b", 150), begun("c", last)) == [False, False, rises]


def test_a_site_that_refuses_again_counts_once_beside_the_two_others() -> None:
    assert raises(begun("a", 0), begun("b", 100), begun("c", 200), begun("c", 210)) == [False, False, True, True]


def test_different_kinds_are_different_stories() -> None:
    assert raises(begun("a", 0), begun("b", 1, "denied"), begun("c", 2, "error")) == [False] * 3


@pytest.mark.parametrize(("sites", "weak"), [(MANY_SITES, False), (2, True)])
def test_an_origin_of_many_sites_or_weak_evidence_takes_three_within_a_minute(sites: int, weak: bool) -> None:
    assert raises(begun("a", 0), begun("b", 1), begun("c", 60), sites=sites, weak=weak) == [False, False, True]
    assert raises(begun("a", 0), begun("b", 1), begun("c", 61), sites=sites, weak=weak) == [False, False, False]


def test_two_sites_that_are_told_of_one_quota_are_the_origin_and_one_alone_never_is() -> None:
    told_a, told_b = begun("a", 0, partition="shops"), begun("b", 299, partition="shops")
    first, second = told(told_a, told_b, sites=500, weak=True)
    assert first is None
    assert second is not None
    assert (second.sites, second.why) == (("site:a", "site:b"), "2 of its sites were told of one quota within 300 s")
    assert raises(told_a, told_b._replace(at=301)) == [False, False]
    assert raises(told_a, begun("b", 1, partition="mine"), begun("c", 2)) == [False] * 3


def test_one_site_alone_does_not_have_its_origin_held_for_ever() -> None:
    _, raised = told(begun("a", 0, until=1e9), begun("b", 30, until=150))
    assert raised is not None
    assert raised.until == 150 + 3_600


def test_the_later_end_and_the_first_cause_are_raised() -> None:
    _, raised = told(begun("a", 0, until=500), begun("b", 30, until=90))
    assert raised == Raised(
        "rate_limited", "429 of a", 500, ("site:a", "site:b"), True, "2 of its sites were refused within 60 s"
    )


def test_what_still_holds_the_origin_is_told_once() -> None:
    answers = told(*(begun(site, 40.0 * number, until=40.0 * number + 100) for number, site in enumerate("abcdef")))
    assert [raised and raised.news for raised in answers] == [None, True, False, False, False, False]
    # The hold that b raised has ended when d refuses.
    answers = told(begun("a", 0, until=50), begun("b", 10, until=60), begun("c", 200, until=260), begun("d", 210, until=300))
    assert [raised and raised.news for raised in answers] == [None, True, True, False]


def test_buckets_and_image_services_share_no_origin_with_sites() -> None:
    hold = begun("a", 0)._replace(site="bucket:s3/photos")
    assert heard((), hold, sites=5) == ((), None)


def test_the_line_for_the_log_names_the_rule_the_sites_and_the_cause() -> None:
    _, raised = told(begun("a.test", 0), begun("b.test", 30))
    assert raised is not None
    assert raised.sentence("origin:203.0.113.7", "2 min") == (
        "Hold: origin:203.0.113.7 for 2 min (rate_limited: 429 of a.test), raised from site:a.test, site:b.test: 2 of its "
        "sites were refused within 60 s. To release the origin leaves the sites' own holds"
    )


holds = st.lists(
    st.builds(
        begun,
        st.sampled_from("abcdefgh"),
        st.integers(0, 2000).map(float),
        st.sampled_from(["rate_limited", "denied", "error"]),
    ),
    max_size=40,
)


@settings(deadline=None)
@given(holds, st.sampled_from([(10, False), (60, False), (10, True)]))
def test_the_rule_is_what_its_words_say_though_little_is_remembered(heard_holds: list[Begun], kind: tuple[int, bool]) -> None:
    sites, weak = kind
    memory: Memory = ()
    past: list[Begun] = []
    for hold in sorted(heard_holds, key=lambda hold: hold.at):
        memory, raised = heard(memory, hold, sites=sites, weak=weak)
        past.append(hold)

        def different(within: float, hold: Begun = hold) -> int:
            return len({p.site for p in past if p.kind == hold.kind and hold.at - p.at <= within})

        if sites >= MANY_SITES or weak:
            assert (raised is not None) == (different(60) >= 3)
        else:
            assert (raised is not None) == (different(60) >= 2 or different(300) >= 3)
        if raised is not None:
            assert hold.site in raised.sites
            assert len(set(raised.sites)) == len(raised.sites)
            assert raised.until >= hold.until


@settings(deadline=None)
@given(st.lists(st.builds(begun, st.text(max_size=2), st.floats(0, 1e6), st.text(max_size=2)), max_size=200))
def test_what_is_remembered_has_a_bound(heard_holds: list[Begun]) -> None:
    memory: Memory = ()
    for hold in heard_holds:
        memory, _ = heard(memory, hold, sites=3)
        assert hold in {past._replace(raised=False) for past in memory} or len(memory) >= KEPT
    assert len(memory) <= KEPT * MOST_KINDS


def test_what_is_remembered_is_the_same_after_a_store_has_kept_it() -> None:
    memory, _ = heard((), Begun("site:a", "error", 1.5, 31.5, 'a "reason"', ":AA==:"), sites=2)
    memory, _ = heard(memory, Begun("site:b", "error", 2.0, 32.0, "é"), sites=2)
    assert len(memory) == 2
    assert from_text(as_text(memory)) == memory


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        '{"version": 1}',
        '{"version": 2, "begun": [7, [], ["site:a", "error", "soon", 1, "", "", false]]}',
        '{"version": 2, "begun": [["site:a", "error", 1, NaN, "", "", false]]}',
        '{"version": 2, "begun": [["site:a", "error", 1, 2, "", false, false]]}',
        '{"version": 1, "begun": [["site:a", "error", 1, 2, "", "", false]]}',
    ],
)
def test_what_was_damaged_in_a_store_is_not_remembered(text: str) -> None:
    assert from_text(text) == ()
