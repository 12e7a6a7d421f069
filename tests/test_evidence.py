from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_polite.origins.anchors import pointing
from scrapy_polite.origins.evidence import (
    ADDRESS_LIVES_LEAST,
    LONGEST_VALUE,
    MOST,
    MOST_FACTS,
    NAME_LIVES_LEAST,
    REPLY_LIVES,
    Certificate,
    Evidence,
    Fact,
    Lookup,
    Reply,
    joined,
    looked_up,
    moving,
    pointed,
    replied,
    standing,
)
from tests.origin_worlds import NOW, PLATFORM, TTL, seen

HOST = "www.a.com"


def values(evidence: Evidence, kind: str) -> list[str]:
    return [fact.value for fact in evidence.facts if fact.kind == kind]


def counting(evidence: Evidence, kind: str, now: float) -> list[str]:
    return [fact.value for fact in standing(evidence.facts, now)[0] if fact.kind == kind]


def lookup(*addresses: str, at: float, chain: tuple[str, ...] = (), ttl: float = TTL) -> Lookup:
    return Lookup(chain, addresses, ttl, at)


def reply(headers: dict[str, list[str]], *, status: int = 200, kind: str = "page", at: float = NOW) -> Reply:
    return Reply("203.0.113.7", status, kind, headers, None, at)


def test_an_address_that_one_answer_leaves_out_still_counts() -> None:
    known = looked_up(Evidence(HOST), lookup("203.0.113.7", "203.0.113.8", at=NOW))
    known = looked_up(known, lookup("203.0.113.8", at=NOW + 10))
    assert counting(known, "address", NOW + 11) == ["203.0.113.7", "203.0.113.8"]


def test_a_response_from_a_new_address_is_worth_reading_until_the_one_that_was_left_is_gone() -> None:
    old, new = "203.0.113.7", "203.0.113.8"
    known = replied(looked_up(Evidence(HOST), lookup(old, at=NOW)), reply({}))
    assert not moving(known, old)
    assert not moving(known, new), "DNS has said nothing of it: a proxy, or an answer that is old"
    known = looked_up(known, lookup(new, at=NOW + 10))
    assert not moving(known, old)
    for seconds in (11, 12):
        assert moving(known, new)
        known = replied(known, replace(reply({}, at=NOW + seconds), peer=new))
    assert values(known, "peer") == [new]
    assert not moving(known, new)


def test_responses_of_a_site_with_two_addresses_are_no_move() -> None:
    known = looked_up(Evidence(HOST), lookup("203.0.113.7", "203.0.113.8", at=NOW))
    known = replied(known, reply({}))
    assert not moving(known, "203.0.113.8")


def test_an_address_that_two_answers_leave_out_is_gone() -> None:
    known = looked_up(Evidence(HOST), lookup("203.0.113.7", at=NOW))
    for seconds in (10, 20):
        known = looked_up(known, lookup("203.0.113.8", at=NOW + seconds))
    assert values(known, "address") == ["203.0.113.8"]


def test_an_address_is_gone_when_its_absence_has_stood_for_a_ttl() -> None:
    known = looked_up(Evidence(HOST), lookup("203.0.113.7", at=NOW))
    known = looked_up(known, lookup("203.0.113.8", at=NOW + 10))
    assert counting(known, "address", NOW + 10 + TTL) == ["203.0.113.7", "203.0.113.8"]
    assert counting(known, "address", NOW + 11 + TTL) == ["203.0.113.8"]
    assert pointing(known, NOW + 11).expires == NOW + 10 + TTL


def test_round_robin_answers_keep_what_they_show_in_turn() -> None:
    known = Evidence(HOST)
    for number in range(10):
        known = looked_up(known, lookup(f"203.0.113.{number % 2}", at=NOW + number))
        if number:
            assert counting(known, "address", NOW + number) == ["203.0.113.0", "203.0.113.1"]


def test_an_address_that_comes_back_is_as_good_as_new() -> None:
    known = looked_up(Evidence(HOST), lookup("203.0.113.7", at=NOW))
    known = looked_up(known, lookup("203.0.113.8", at=NOW + 1))
    known = looked_up(known, lookup("203.0.113.7", "203.0.113.8", at=NOW + 2))
    assert [fact.absent for fact in known.facts] == [0, 0]


@pytest.mark.parametrize(
    ("ttl", "lives"), [(1.0, 3600.0), (60.0, 3600.0), (300.0, 6000.0), (86400.0, 7 * 86400.0), (0.0, 3600.0), (-5.0, 3600.0)]
)
def test_an_address_counts_for_twenty_ttls_within_bounds_and_then_not_a_little_less(ttl: float, lives: float) -> None:
    known = looked_up(Evidence(HOST), lookup("203.0.113.7", at=NOW, ttl=ttl))
    assert counting(known, "address", NOW + lives) == ["203.0.113.7"]
    assert counting(known, "address", NOW + lives + 1) == []


def test_a_cname_outlives_the_addresses_behind_it() -> None:
    known = looked_up(Evidence(HOST), lookup("203.0.113.7", at=NOW, chain=("sites.acme.com",), ttl=60))
    later = NOW + ADDRESS_LIVES_LEAST + 1
    assert (counting(known, "address", later), counting(known, "cname", later)) == ([], ["sites.acme.com"])
    assert counting(known, "cname", NOW + NAME_LIVES_LEAST + 1) == []


def test_the_peer_of_a_fresh_response_outlives_stale_dns() -> None:
    known = looked_up(Evidence(HOST), lookup("203.0.113.7", at=NOW, ttl=60))
    known = replied(known, replace(reply({}, at=NOW + 7000), peer="203.0.113.9"))
    points = pointing(known, NOW + 7001)
    assert points.strong == ("address:203.0.113.9",)
    assert points.peer == "address:203.0.113.9"


def test_an_answer_past_its_ttl_gives_way_to_an_address_that_it_does_not_have() -> None:
    known = looked_up(Evidence(HOST), lookup("203.0.113.7", "2001:db8::7", at=NOW, ttl=60))

    def count(peer: str, after: float) -> list[str]:
        heard = replied(known, replace(reply({}, at=NOW + after), peer=peer))
        return counting(heard, "address", NOW + after)

    both = ["2001:db8::7", "203.0.113.7"]
    assert count("203.0.113.9", 61) == []
    assert count("203.0.113.9", 60) == both  # it could be out of another answer of that time
    assert count("203.0.113.7", 61) == both
    assert count("2001:db8::7", 61) == both
    moved = replied(known, replace(reply({}, at=NOW + 61), peer="203.0.113.9"))
    again = looked_up(moved, lookup("203.0.113.7", at=NOW + 62, ttl=60))
    assert counting(again, "address", NOW + 62) == ["203.0.113.7"]


def test_the_peer_that_has_answered_for_long_stands_until_it_was_missed_twice() -> None:
    known = replied(Evidence(HOST), replace(reply({}), peer="203.0.113.9"))
    known = replied(known, replace(reply({}, at=NOW + 1), peer="203.0.113.1"))
    assert pointing(known, NOW + 1).peer == "address:203.0.113.9"
    known = replied(known, replace(reply({}, at=NOW + 2), peer="203.0.113.9"))
    known = replied(known, replace(reply({}, at=NOW + 3), peer="203.0.113.1"))
    assert pointing(known, NOW + 3).peer == "address:203.0.113.9"
    known = replied(known, replace(reply({}, at=NOW + 4), peer="203.0.113.1"))
    assert pointing(known, NOW + 4).peer == "address:203.0.113.1"


def test_the_chain_keeps_its_order() -> None:
    known = looked_up(Evidence(HOST), lookup("203.0.113.7", at=NOW, chain=("z.acme.com", "b.acme.com", "m.acme.com")))
    assert values(known, "cname") == ["z.acme.com", "b.acme.com", "m.acme.com"]
    known = looked_up(known, lookup("203.0.113.7", at=NOW + 1, chain=("m.acme.com", "z.acme.com")))
    assert values(known, "cname") == ["m.acme.com", "z.acme.com", "b.acme.com"]
    assert Evidence.from_json(HOST, known.as_json()) == known


def test_an_answer_without_addresses_is_no_observation() -> None:
    known = looked_up(Evidence(HOST), lookup("203.0.113.7", at=NOW))
    assert looked_up(known, lookup(at=NOW + 5)) == known


def test_an_answer_that_comes_late_changes_nothing() -> None:
    known = looked_up(Evidence(HOST), lookup("203.0.113.7", at=NOW))
    assert looked_up(known, lookup("203.0.113.8", at=NOW - 5)) == known


@pytest.mark.parametrize("status", [301, 302, 304, 401, 403, 404, 429, 500, 503, 202, 206])
def test_headers_of_what_is_no_page_of_the_site_tell_nothing(status: int) -> None:
    known = replied(Evidence(HOST), reply({"x-acme": ["1"], "x-frame-options": ["DENY"]}, status=status))
    assert [fact.kind for fact in known.facts] == ["peer"]


def test_a_challenge_tells_nothing_though_its_status_is_200() -> None:
    known = replied(Evidence(HOST), reply({"cf-mitigated": ["challenge"], "x-acme": ["1"]}))
    assert values(known, "marker") == []


def test_an_error_is_no_evidence_against() -> None:
    known = seen(HOST, ["203.0.113.7"], headers=PLATFORM)
    for number in range(20):
        known = replied(known, reply({"x-wall": ["1"]}, status=503, at=NOW + number))
    assert values(known, "marker") == ["x-acme-version"]


def test_markers_are_what_the_last_pages_show_together() -> None:
    known = replied(Evidence(HOST), reply({"x-acme": ["1"], "set-cookie": ["acme_seat=7; path=/"]}))
    for number in range(1, 8):
        known = replied(known, reply({"x-acme": ["1"]}, at=NOW + number))
        assert values(known, "marker") == ["cookie:acme_seat", "x-acme"]
    known = replied(known, reply({"x-acme": ["1"]}, at=NOW + 8))
    assert values(known, "marker") == ["x-acme"]


def test_robots_txt_adds_markers_and_takes_none_away() -> None:
    known = replied(Evidence(HOST), reply({"x-acme": ["1"]}))
    for number in range(1, 20):
        known = replied(known, reply({"x-static": ["1"]}, kind="robots", at=NOW + number))
    assert values(known, "marker") == ["x-acme", "x-static"]


def test_robots_txt_gives_the_look_only_until_a_page_does() -> None:
    bare = replied(Evidence(HOST), reply({"x-frame-options": ["DENY"]}, kind="robots"))
    page = replied(bare, reply({"x-frame-options": ["SAMEORIGIN"]}, at=NOW + 1))
    again = replied(page, reply({"x-frame-options": ["DENY"]}, kind="robots", at=NOW + 2))
    assert len(values(bare, "configuration")) == 1
    assert values(page, "configuration") != values(bare, "configuration")
    assert values(again, "configuration") == values(page, "configuration")


def test_a_page_that_is_too_long_ago_gives_way_to_robots_txt() -> None:
    page = replied(Evidence(HOST), reply({"x-frame-options": ["SAMEORIGIN"]}))
    later = replied(page, reply({"x-frame-options": ["DENY"]}, kind="robots", at=NOW + REPLY_LIVES + 1))
    assert len(values(later, "configuration")) == 1
    assert values(later, "configuration") != values(page, "configuration")


def test_values_of_unknown_headers_and_cookies_are_not_kept() -> None:
    headers = {"x-account": ["jane@example.com"], "set-cookie": ["sid_77ab12=secret; path=/"], "x-frame-options": ["DENY-7"]}
    text = replied(Evidence(HOST), reply(headers)).as_json()
    for secret in ("jane", "secret", "77ab12", "DENY-7"):
        assert secret not in text


def test_a_certificate_counts_that_covers_the_host_only() -> None:
    names = ("www.a.com", "www.b.com", "*.c.com")
    for host, others in (("www.a.com", "2"), ("x.c.com", "3"), ("x.y.c.com", None), ("d.com", None)):
        answer = Reply(None, 503, "page", {}, Certificate("0A", "AB:CD", names), NOW)
        found = values(replied(Evidence(host), answer), "certificate")
        assert found == ([f"abcd {others} 0a"] if others else [])


def test_ptr_names_replace_those_of_the_same_address_only() -> None:
    known = pointed(Evidence(HOST), "203.0.113.7", ["web1.acme.net"], NOW, 3600)
    known = pointed(known, "203.0.113.8", ["web2.acme.net"], NOW, 3600)
    for seconds in (1, 2):
        known = pointed(known, "203.0.113.7", ["web1.other.net"], NOW + seconds, 3600)
    assert values(known, "pointer") == ["203.0.113.7 web1.other.net", "203.0.113.8 web2.acme.net"]
    for seconds in (3, 4):
        known = pointed(known, "203.0.113.7", [], NOW + seconds, 3600)
    assert values(known, "pointer") == ["203.0.113.8 web2.acme.net"]


def test_whatever_a_server_sends_the_evidence_stays_small() -> None:
    known = Evidence(HOST)
    for number in range(60):
        chain = tuple(f"c{number}-{i}.acme.com" for i in range(30))
        known = looked_up(known, Lookup(chain, tuple(f"10.{number}.{i}.1" for i in range(255)), TTL, NOW + number))
        headers = {f"x-{chr(97 + number % 26)}{'y' * i}": ["v" * 9000] for i in range(300)}
        headers["set-cookie"] = [f"{'c' * 5000}{i}=1" for i in range(300)]
        names = tuple(f"n{i}.com" for i in range(5000))
        certificate = Certificate("9" * 5000, f"{number:x}" * 5000, (HOST, *names))
        known = replied(known, Reply(f"10.9.9.{number}", 200, "page", headers, certificate, NOW + number))
        known = pointed(known, "10.0.0.1", [f"{'p' * 400}{i}.net" for i in range(99)], NOW + number, 60)
    assert len(known.facts) <= MOST_FACTS
    assert max(len(fact.value) for fact in known.facts) <= LONGEST_VALUE
    for kind, most in MOST.items():
        assert len(values(known, kind)) <= most
    assert len(known.as_json()) < 8000


def test_a_server_that_makes_markers_up_does_not_push_the_old_ones_out() -> None:
    known = replied(Evidence(HOST), reply({f"x-acme-{name}": ["1"] for name in "abcdefghijkl"}))
    before = values(known, "marker")
    known = replied(known, reply({"x-acme-a": ["1"], **{f"x-{name}": ["1"] for name in "nopqrstuvw"}}, at=NOW + 1))
    assert "x-acme-a" in values(known, "marker")
    assert len(values(known, "marker")) == len(before) == MOST["marker"]


def test_the_written_form_is_short() -> None:
    known = seen(HOST, ["203.0.113.7"], ["sites.acme.com"], headers=PLATFORM, peer="203.0.113.7")
    assert len(known.as_json()) < 280
    assert Evidence.from_json(HOST, known.as_json()) == known


def test_kinds_of_a_newer_version_are_kept() -> None:
    fact = Fact("asn", "64500", NOW, 60.0, "whois", 0)
    known = Evidence.from_json(HOST, Evidence(HOST, (fact,)).as_json())
    known = looked_up(known, lookup("203.0.113.7", at=NOW))
    assert fact in Evidence.from_json(HOST, known.as_json()).facts


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "[[]]",
        "null",
        "[[],[1]]",
        '[[["d",1,1]],["a",7,0,"x"]]',
        '[[["d",null,1]],["a",0,0,"x"]]',
        '[[["d",1,1]],["a",0,0,5]]',
        '[[["d",1,1]],["a",0,0,"no address"],["p",0,0,"203.0.113"]]',
        "[" * 100_000,
    ],
)
def test_of_a_text_that_is_none_there_is_no_evidence(text: str) -> None:
    assert Evidence.from_json(HOST, text) == Evidence(HOST)


ADDRESSES = st.lists(st.sampled_from([f"203.0.113.{n}" for n in range(5)]), min_size=1, max_size=3, unique=True)
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("look"), ADDRESSES, st.sampled_from([(), ("a.acme.com",), ("b.acme.com", "a.acme.com")])),
        st.tuples(st.just("page"), st.sampled_from([f"203.0.113.{n}" for n in range(3)]), st.sampled_from(["x-a", "x-b"])),
        st.tuples(st.just("robots"), st.sampled_from([f"203.0.113.{n}" for n in range(3)]), st.sampled_from(["x-a", "x-c"])),
    ),
    max_size=8,
)


def lived(events: list[tuple[str, object, object]], start: float) -> Evidence:
    known = Evidence(HOST)
    for number, (kind, what, more) in enumerate(events):
        if kind == "look":
            assert isinstance(what, list)
            assert isinstance(more, tuple)
            known = looked_up(known, Lookup(more, tuple(what), TTL, start + 2 * number))
        else:
            known = replied(known, Reply(str(what), 200, kind, {str(more): ["1"]}, None, start + 2 * number))
    return known


@given(EVENTS, EVENTS)
def test_what_two_processes_have_seen_is_joined_in_either_order(
    one: list[tuple[str, object, object]], other: list[tuple[str, object, object]]
) -> None:
    mine, theirs = lived(one, NOW), lived(other, NOW + 1)
    both = joined(mine, theirs)
    assert both == joined(theirs, mine)
    assert joined(both, both) == both
    assert joined(mine, mine) == mine
    assert Evidence.from_json(HOST, both.as_json()) == both
    newest = {(fact.kind, fact.value): fact.seen for fact in (*mine.facts, *theirs.facts)}
    for fact in both.facts:
        assert fact.seen == max(f.seen for f in (*mine.facts, *theirs.facts) if (f.kind, f.value) == (fact.kind, fact.value))
        assert (fact.kind, fact.value) in newest
    for kind in ("configuration", "product", "tells"):
        assert len(values(both, kind)) <= 1


def test_what_one_process_saw_go_is_doubted_by_both() -> None:
    old = looked_up(Evidence(HOST), lookup("203.0.113.7", at=NOW))
    new = looked_up(Evidence(HOST), lookup("203.0.113.8", at=NOW + 10))
    both = joined(old, new)
    assert counting(both, "address", NOW + 11) == ["203.0.113.7", "203.0.113.8"]
    assert counting(both, "address", NOW + 11 + TTL) == ["203.0.113.8"]
