"""``scrapy polite origins``, ``join`` and ``split``, on a store that a crawl has left behind: SQLite and Postgres."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from commandline import objects, polite
from scrapy.settings import Settings

from scrapy_polite.commands import module
from scrapy_polite.origins.evidence import Evidence, Fact
from scrapy_polite.stores.base import Cause, Kept, Ruling, Store, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLATFORM = "origin:sites.platform.test"
SHARED = "origin:203.0.113.7"


def host(name: str, origin: str, *chain: str, address: str = "198.51.100.1", markers: tuple[str, ...] = ()) -> Kept:
    """A host as a crawl has just left it."""
    now = float(int(time.time()))
    facts = [Fact("address", address, now, 300.0, "dns"), *(Fact("cname", target, now, 300.0, "dns") for target in chain)]
    facts += (Fact("marker", marker, now, 172_800.0, "response") for marker in markers)
    if markers:
        facts += [Fact("product", f"{crc32(name.encode()):08x}", now, 172_800.0, "response")]
        facts += [Fact("configuration", f"{crc32(name.encode()):08x}", now, 172_800.0, "response")]
        facts += [Fact("tells", "9", now, 172_800.0, "response")]
    anchors = [*(f"cname:{target}" for target in chain), f"address:{address}"]
    return Kept(name, origin, 0.98, tuple(anchors), Evidence(name, tuple(facts)).as_json())


class Hand:
    """Runs a verb in this process, on one store."""

    def __init__(self, url: str, output: pytest.CaptureFixture[str]) -> None:
        self.url = url
        self._output = output
        self.store: Store = open_store(url)
        self.store.ages(["cname:sites.platform.test"])  # The oldest anchor gives the name.
        platform = [host(f"www.shop{n}.test", PLATFORM, "sites.platform.test") for n in range(3)]
        shared = [host(f"www.small{n}.test", SHARED, address="203.0.113.7") for n in range(2)]
        self.store.keep([*platform, *shared])

    def run(self, verb: str, *arguments: str, **settings: object) -> tuple[int, str, str]:
        parser = argparse.ArgumentParser(verb)
        parser.add_argument("--json", action="store_true")
        module(verb).add_options(parser)
        options = parser.parse_args(arguments)
        code = module(verb).run(Settings({"POLITE_STORE": self.url, **settings}), options)
        said = self._output.readouterr()
        return code, said.out, said.err

    def says(self, verb: str, *arguments: str, **settings: object) -> str:
        code, said, wrong = self.run(verb, *arguments, **settings)
        assert (code, wrong) == (0, "")
        return said

    def tells(self, verb: str, *arguments: str, **settings: object) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.says(verb, *arguments, "--json", **settings).splitlines()]

    def refuses(self, verb: str, *arguments: str) -> str:
        with pytest.raises(ValueError, match=r".") as error:
            self.run(verb, *arguments)
        return str(error.value)


@pytest.fixture(params=["sqlite", "postgres"])
def hand(request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Hand]:
    on_disk = request.param == "sqlite"
    made = Hand(f"sqlite:{tmp_path}/limits.sqlite" if on_disk else request.getfixturevalue("database").url, capsys)
    yield made
    made.store.close()


# -- origins


def test_all_origins_are_shown_with_most_hosts_first(hand: Hand) -> None:
    hand.store.merge("origin:old.test", PLATFORM)
    hand.store.hold(SHARED, 60.0, Cause("rate_limited", "429, Retry-After: 60", stated=True))
    total, platform, shared = hand.tells("origins", POLITE_LIMITS={PLATFORM: {"rate": 5, "burst": 2, "concurrency": 3}})
    assert total == {"origins": 2, "hosts": 5, "shown": 2}
    assert platform == {
        "origin": PLATFORM,
        "hosts": 3,
        "rate": 5,
        "burst": 2,
        "concurrency": 3,
        "due_in": 0,
        "hold_in": 0,
        "kind": None,
        "reason": None,
        "aliases": ["origin:old.test"],
        "rulings": [],
    }
    assert (shared["origin"], shared["hosts"], shared["kind"]) == (SHARED, 2, "rate_limited")
    text = hand.says("origins")
    assert text.startswith("Origins: 2, of 5 hosts\n")
    assert f"  {PLATFORM}  3 hosts, 2 units a second; due now\n      also known as origin:old.test\n" in text
    assert f"  {SHARED}  2 hosts, 2 units a second; held for " in text
    assert "(rate_limited: 429, Retry-After: 60)" in text
    assert "of which 1 are shown" in hand.says("origins", "--most", "1")


def test_one_origin_is_shown_with_its_hosts_and_why_each_is_there(hand: Hand) -> None:
    (found,) = hand.tells("origins", PLATFORM)
    assert [placed["host"] for placed in found["placed"]] == [f"www.shop{n}.test" for n in range(3)]
    (sentence,) = found["placed"][0]["evidence"]
    assert sentence == (
        "www.shop0.test is served by origin sites.platform.test: its CNAME is sites.platform.test, as for 2 other sites, and "
        "its address 198.51.100.1 is shared with 2 other sites (confidence 0.99)."
    )
    text = hand.says("origins", PLATFORM, "--most", "2")
    assert "and 1 host more: --most 3 shows all" in text
    assert text.count("is served by origin sites.platform.test") == 2


def test_one_host_is_shown_with_every_fact_and_what_would_change_it(hand: Hand) -> None:
    hand.store.keep([host("www.marked.test", SHARED, address="203.0.113.7", markers=("x-acme",))])
    (found,) = hand.tells("origins", "http://www.MARKED.test:8080/a")
    assert (found["host"], found["origin"], found["ruling"]) == ("www.marked.test", SHARED, None)
    facts = {fact["kind"]: (fact["value"], fact["source"], fact["ttl"]) for fact in found["facts"]}
    assert facts["address"] == ("203.0.113.7", "dns", 300)
    assert facts["marker"] == ("x-acme", "response", 172_800)
    assert all(fact["counts"] and fact["seen"] > time.time() - 600 for fact in found["facts"])
    assert found["expires"] > time.time()
    text = hand.says("origins", "www.marked.test")
    assert "  known      address 203.0.113.7: from DNS at " in text
    assert "  changes    when what is known is not seen again: the first of it runs out at " in text
    assert "scrapy polite split www.marked.test" in text
    assert "             product as a hash " in text
    # What was looked for and not found is no news to a person; a program may have it.
    now = float(int(time.time()))
    silent = [Fact(kind, zeros, now, 60.0, "response") for kind, zeros in (("configuration", "00000000"), ("tells", "0"))]
    hand.store.keep([Kept("www.plain.test", SHARED, 0.98, (), Evidence("www.plain.test", tuple(silent)).as_json())])
    text = hand.says("origins", "www.plain.test")
    assert "hash" not in text
    assert len(hand.tells("origins", "www.plain.test")[0]["facts"]) == 2


def test_looking_at_origins_writes_nothing(hand: Hand) -> None:
    before = (hand.store.news(0), hand.store.ages(["cname:new.test"], allot=False))
    for arguments in ((), (PLATFORM,), ("www.shop0.test",), ("--suspected",)):
        hand.says("origins", *arguments)
    assert (hand.store.news(0), hand.store.ages(["cname:new.test"], allot=False)) == before


def test_what_nobody_knows_is_an_error_with_the_nearest_names(hand: Hand) -> None:
    assert "did you mean www.shop0.test" in hand.refuses("origins", "ww.shop0.test")
    assert "nothing that is known is written alike" in hand.refuses("origins", "zzzz.example")
    assert f"did you mean {PLATFORM}" in hand.refuses("origins", "origin:sites.platfrm.test")
    assert "--most 0" in hand.refuses("origins", "--most", "0")


def test_an_edge_that_no_table_knows_is_suspected_with_the_line_that_confirms_it(hand: Hand) -> None:
    crowd = [f"www.{letter}.test" for letter in "abcdefghijkl"]
    hand.store.keep([host(name, "origin:203.0.113.99", address="203.0.113.99", markers=("x-regio",)) for name in crowd])
    (found,) = hand.tells("origins", "--suspected")
    assert found["hosts"] == 17
    (sentence,) = found["suspected"]
    assert sentence.startswith("12 sites share 1 address (203.0.113.99), look unlike each other and all show header x-regio")
    line = sentence.rpartition("POLITE_EDGES = ")[2]
    edges = json.loads(line)
    assert hand.tells("origins", "--suspected", POLITE_EDGES=edges) == [{"hosts": 17, "suspected": []}], "the line is accepted"
    assert "Suspected edges: 1, among 17 hosts" in hand.says("origins", "--suspected")


# -- join and split


def test_a_host_is_joined_by_hand_and_goes_back(hand: Hand) -> None:
    said = hand.says("join", "http://www.small0.test/x", PLATFORM, "--for", "7d", "--reason", "same company", "--author", "ann")
    assert said.startswith(f"www.small0.test belongs to {PLATFORM}, by ann at ")
    assert ": same company. Before it was origin:203.0.113.7." in said
    (ruling,) = hand.store.rulings()
    assert (ruling.subject, ruling.verb, ruling.origin) == ("www.small0.test", "join", PLATFORM)
    assert ruling.until == pytest.approx(time.time() + 7 * 86_400, abs=60)

    _, platform, shared = hand.tells("origins")
    assert (platform["hosts"], shared["hosts"]) == (4, 1)
    assert [one["subject"] for one in platform["rulings"]] == ["www.small0.test"]
    (found,) = hand.tells("origins", "www.small0.test")
    assert (found["origin"], found["confidence"]) == (PLATFORM, 1)
    first, second = found["evidence"]
    assert first == "www.small0.test was put to origin sites.platform.test by hand (ann: same company)."
    assert second == (
        "Without the ruling: www.small0.test is served by origin 203.0.113.7: its address 203.0.113.7 is shared with 1 other "
        "site (confidence 0.93)."
    )
    assert "when the ruling is taken back (scrapy polite join www.small0.test --remove)" in hand.says(
        "origins", "www.small0.test"
    )
    assert hand.tells("origins", PLATFORM)[0]["placed"][0]["host"] == "www.small0.test", "the ruled ones come first"

    said = hand.says("join", "www.small0.test", "--remove")
    assert f"The join of www.small0.test by ann is taken back: it belongs to {SHARED} now." in said
    assert hand.store.rulings() == []
    assert hand.tells("origins")[2]["hosts"] == 2


def test_an_origin_may_be_named_by_a_host_of_its(hand: Hand) -> None:
    (done,) = hand.tells("join", "www.small0.test", "www.shop1.test")
    assert (done["origin"], done["was"], done["removed"], done["until"]) == (PLATFORM, SHARED, False, None)


def test_two_origins_are_one_by_hand_until_that_is_taken_back(hand: Hand) -> None:
    hand.store.hold(SHARED, 600.0, Cause("rate_limited", "429"))
    said = hand.says("join", SHARED, PLATFORM, "--author", "ann")
    assert said.startswith(f"{SHARED} and {PLATFORM} are one origin, by ann at ")
    assert hand.store.standing([SHARED]) == {SHARED: PLATFORM}
    assert hand.store.peek([PLATFORM])[PLATFORM].hold_in > 590
    _, platform = hand.tells("origins")
    assert (platform["hosts"], platform["aliases"]) == (5, [SHARED])
    (found,) = hand.tells("origins", "www.small0.test")
    assert (found["origin"], found["ruling"]["subject"]) == (PLATFORM, SHARED)
    assert "are one origin already" in hand.refuses("join", PLATFORM, SHARED)
    assert "it stands by itself now" in hand.says("join", SHARED, "--remove")
    assert hand.store.standing([SHARED]) == {SHARED: SHARED}
    assert hand.store.peek([SHARED])[SHARED].hold_in > 590


def test_an_alias_that_is_joined_by_hand_takes_what_it_stands_for_along(hand: Hand) -> None:
    hand.store.merge("origin:old.test", SHARED)
    (done,) = hand.tells("join", "origin:old.test", PLATFORM)
    assert done["subject"] == SHARED
    assert hand.store.standing(["origin:old.test", SHARED]) == {"origin:old.test": PLATFORM, SHARED: PLATFORM}


def test_a_host_is_split_off_by_hand_and_goes_back(hand: Hand) -> None:
    hand.store.hold(PLATFORM, 600.0, Cause("rate_limited", "429"))
    said = hand.says("split", "www.shop0.test", "--until", "2999-12-31", "--reason", "moved out")
    assert said.startswith("www.shop0.test has an origin of its own, origin:www.shop0.test, by ")
    assert "until 3000-01-01 00:00 UTC: moved out." in said
    own = "origin:www.shop0.test"
    assert hand.store.peek([own])[own].hold_in > 590, "it starts from the hold of what it leaves"
    assert {one["origin"]: one["hosts"] for one in hand.tells("origins")[1:]} == {PLATFORM: 2, SHARED: 2, own: 1}
    assert hand.tells("split", "www.shop0.test")[0]["origin"] == own, "again, for good"
    assert f"it belongs to {PLATFORM} now" in hand.says("split", "www.shop0.test", "--remove")
    assert hand.store.standing([own]) == {own: PLATFORM}


def test_a_later_ruling_takes_the_place_of_an_earlier_one_and_of_what_that_did(hand: Hand) -> None:
    hand.store.keep([host("www.third.test", "origin:203.0.113.9", address="203.0.113.9")])
    hand.says("join", SHARED, PLATFORM)
    hand.says("join", SHARED, "www.third.test")
    names = hand.store.standing([SHARED, PLATFORM])
    assert names == {SHARED: "origin:203.0.113.9", PLATFORM: PLATFORM}
    hand.says("split", "www.shop0.test")
    hand.says("join", "www.shop0.test", SHARED)
    (ruling,) = [one for one in hand.store.rulings() if one.subject == "www.shop0.test"]
    assert (ruling.verb, ruling.origin) == ("join", "origin:203.0.113.9")
    assert hand.store.standing(["origin:www.shop0.test"]) == {"origin:www.shop0.test": PLATFORM}


def test_a_ruling_that_ran_out_is_shown_and_undone_by_the_next_one(hand: Hand) -> None:
    past = time.time() - 5
    hand.store.rule(Ruling(SHARED, "join", PLATFORM, "ann", "for a day", past - 86_400, past))
    hand.store.merge(SHARED, PLATFORM)
    said = hand.says("origins")
    assert "Ran out, to be undone by the next crawl, join or split: origin:203.0.113.7 and" in said
    assert "ran out at" in said
    assert hand.store.standing([SHARED]) == {SHARED: PLATFORM}, "looking changes nothing"
    hand.says("split", "www.shop0.test")
    assert hand.store.standing([SHARED]) == {SHARED: SHARED}
    assert hand.store.lapsed() == []


def test_a_host_that_no_crawl_has_met_is_ruled_on_only_if_that_is_meant(hand: Hand) -> None:
    wrong = hand.refuses("join", "www.shop9.test", PLATFORM)
    assert "no crawl with this store has met www.shop9.test; did you mean www.shop" in wrong
    assert "--unseen" in wrong
    hand.says("join", "www.shop9.test", PLATFORM, "--unseen")
    hand.says("split", "www.shop8.test", "--unseen")
    (found,) = hand.tells("origins", "www.shop9.test")
    assert (found["origin"], found["seen"], found["facts"]) == (PLATFORM, None, [])
    assert {one["origin"]: one["hosts"] for one in hand.tells("origins")[1:]} == {
        PLATFORM: 3,
        SHARED: 2,
        "origin:www.shop8.test": 0,
    }
    assert "no crawl has met it" in hand.says("join", "www.shop9.test", "--remove")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("join", "www.small0.test"), "join needs two"),
        (("join", "www.small0.test", "origin:sites.platfrm.test"), f"did you mean {PLATFORM}"),
        (("join", "www.small0.test", "www.shop.test"), "did you mean www.shop"),
        (("join", PLATFORM, PLATFORM), "are one origin already"),
        (("join", "a b", PLATFORM), "Give a URL, a host, or an origin's name"),
        (("join", "www.small0.test", PLATFORM, "--for", "7"), "--for 7: give a number above 0"),
        (("join", "www.small0.test", PLATFORM, "--until", "2020-01-01"), "over already"),
        (("join", "www.small0.test", "--remove"), "no join of it is in force"),
        (("split", PLATFORM), "split takes hosts"),
        (("split", "www.small0.test", "--remove"), "no split of it is in force"),
    ],
)
def test_what_cannot_be_ruled_is_an_error_that_says_what_to_do(hand: Hand, arguments: tuple[str, ...], says: str) -> None:
    assert says in hand.refuses(*arguments)
    assert hand.store.rulings() == []


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_no_text_of_somebody_else_moves_a_cursor(hand: Hand, options: tuple[str, ...]) -> None:
    said = hand.says(
        "join", "www.small0.test", PLATFORM, "--author", "ann\x1b[2J", "--reason", "\x9b2J\u202e\u2028\r", *options
    )
    for text in (said, hand.says("origins", *options), hand.says("origins", "www.small0.test", *options)):
        assert text.replace("\n", "").isprintable()


def test_a_ruling_by_another_verb_is_taken_back_with_that_verb(hand: Hand) -> None:
    hand.says("split", "www.shop0.test")
    assert "a split is: `scrapy polite split www.shop0.test --remove`" in hand.refuses("join", "www.shop0.test", "--remove")


def test_the_verbs_are_there_for_an_operator(tmp_path: Path) -> None:
    """The whole command line, once."""
    url = f"sqlite:{tmp_path}/limits.sqlite"
    store = open_store(url)
    store.keep([host("www.shop0.test", PLATFORM, "sites.platform.test")])
    store.close()
    where = ("-s", f"POLITE_STORE={url}")
    (done,) = objects(polite("split", "www.shop0.test", "--for", "1h", "--json", *where, cwd=tmp_path))
    assert done["origin"] == "origin:www.shop0.test"
    text = polite("origins", *where, cwd=tmp_path)
    assert text.returncode == 0
    assert "ruled: www.shop0.test has an origin of its own" in text.stdout
    wrong = polite("join", "www.shop0.test", "origin:nobody", *where, cwd=tmp_path)
    assert wrong.returncode == 2
    assert "no origin is called so" in wrong.stderr
    assert "Traceback" not in wrong.stderr
