"""Whose a name at an edge is, by the pages that refer to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopback import Server, crawl
from nameserver import Script, name_server_in_a_thread
from placed_alone import place

from scrapy_polite.origins.referrers import PAGES, Referrers
from scrapy_polite.origins.sentences import sentences

if TYPE_CHECKING:
    from pathlib import Path

HOST = "static7.b-cdn.net"
HIDDEN = place(HOST, [], ["203.0.113.9"])


def told(*origins: str) -> Referrers:
    referrers = Referrers()
    for number, origin in enumerate(origins):
        referrers.heard(HOST, f"http://www.acme.example/{number}", origin)
    return referrers


def test_three_pages_of_one_origin_tell_whose_it_is() -> None:
    assert told("origin:acme", "origin:acme").over(HIDDEN) == HIDDEN
    placed = told(*["origin:acme"] * 3).over(HIDDEN)
    assert (placed.origin, placed.located) == ("origin:acme", True)
    assert placed.edge == HIDDEN.edge
    (sentence,) = sentences(placed)
    assert sentence == (
        "static7.b-cdn.net is a name of bunny.net; all 3 pages that refer to it are served by origin acme: so its misses are "
        "charged there (confidence 0.85)."
    )


def test_one_page_that_refers_often_is_one_page() -> None:
    referrers = Referrers()
    for _ in range(5):
        referrers.heard(HOST, "http://www.acme.example/", "origin:acme")
    assert referrers.over(HIDDEN) == HIDDEN


def test_pages_of_two_origins_tell_nothing() -> None:
    assert told(*["origin:acme"] * 8, "origin:other", "origin:other").over(HIDDEN) == HIDDEN
    assert told(*["origin:acme"] * 9, "origin:other").over(HIDDEN).origin == "origin:acme"


def test_a_host_that_changes_hands_is_believed() -> None:
    referrers = told(*["origin:acme"] * PAGES, *["origin:new"] * PAGES)
    assert referrers.over(HIDDEN).origin == "origin:new"


def test_what_evidence_places_stays_there() -> None:
    behind = place("www.b.example", ["sites.other.example", "x.cdn.cloudflare.net"], ["104.16.0.1"])
    direct = place("www.b.example", [], ["203.0.113.9"])
    assert behind.edge is not None
    referrers = Referrers()
    for number in range(3):
        referrers.heard("www.b.example", str(number), "origin:acme")
    assert referrers.over(behind) == behind
    assert referrers.over(direct) == direct


def test_it_says_when_it_says_something_else() -> None:
    referrers = told("origin:acme", "origin:acme")
    assert referrers.generation == 0
    referrers.heard(HOST, "http://www.acme.example/2", "origin:acme")
    assert referrers.generation == 1
    referrers.heard(HOST, "http://www.acme.example/3", "origin:acme")
    assert referrers.generation == 1


def test_many_hosts_are_bounded() -> None:
    referrers = Referrers(most=2)
    for host in "abc":
        for number in range(3):
            referrers.heard(f"{host}.b-cdn.net", str(number), "origin:acme")
    hidden = [place(f"{host}.b-cdn.net", [], ["203.0.113.9"]) for host in "abc"]
    assert [referrers.over(one).located for one in hidden] == [False, True, True]


SPIDER = """
class Spider(TestSpider):
    async def start(self):
        for n in range(6):
            yield scrapy.Request(f"http://www.acme.example:{port}/{{n}}", callback=self.page, errback=self.failed)
    def page(self, response):
        n = response.url.rpartition("/")[2]
        yield scrapy.Request(f"http://static7.b-cdn.net:{port}/{{n}}.png", callback=self.answered, errback=self.failed)
    def answered(self, response):
        self.results.append([response.url, response.status, response.meta["polite"]["keys"]])
"""


def test_images_at_a_name_of_an_edge_are_charged_to_the_origin_of_the_pages_that_show_them(tmp_path: Path) -> None:
    script = Script()
    script.add("www.acme.example", (300, "A", "127.0.0.1"))
    script.add(HOST, (300, "A", "127.0.0.2"))
    with Server(address="0.0.0.0") as server, name_server_in_a_thread("127.0.0.1", script) as dns:
        done = crawl(
            SPIDER.format(port=server.port),
            tmp_path,
            POLITE_DNS_SERVERS=[dns],
            POLITE_ALLOW_PORTS=[server.port],
            POLITE_SITE_RATE=20.0,
            POLITE_ORIGIN_RATE=8.0,
        )
    keys = [result[2] for result in done.results]
    assert len(keys) == 6, done.log
    assert keys[0][-1] == "origin:static7.b-cdn.net"
    assert keys[-1] == [f"site:{HOST}", f"edge:bunny/{HOST}", "origin:127.0.0.1"], done.log
