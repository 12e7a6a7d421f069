"""Three hundred tenants of one server, crawled in a process of its own: found by their CNAME, by their address alone, and,
behind an edge, by their headers alone. What the server sees stays within the rate of one origin. Strangers behind one edge do
not slow each other down."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from loopback import Answer, Arrival, Server, crawl, fullest
from nameserver import Record, Script, name_server_in_a_thread

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TENANTS = 300
RATE = 120
"""Units a second of the origin: the whole crawl takes a quarter of a minute."""

EDGE = "dualstack.tenants.sni.global.fastly.net"
"""A name that many customers of an edge share: it tells nothing about any of them."""

COSTS = {"/robots.txt": 1}
PAGE = 2

SPIDER = """
class Spider(TestSpider):
    async def start(self):
        for page in range({pages}):
            for n in range({hosts}):
                url = f"http://www.shop{{n}}.example:{port}/{{page}}"
                yield scrapy.Request(url, callback=self.answered, errback=self.failed)
    def answered(self, response):
        self.results.append([response.url, response.status, response.meta["polite"]["keys"]])
"""


def units_in_ten_seconds(arrivals: list[Arrival]) -> float:
    """Of the fullest half-open span of ten seconds."""
    return fullest(arrivals, 10.0, lambda arrival: COSTS.get(arrival.path, PAGE))


@contextmanager
def zone(records: list[Record], hosts: int = TENANTS) -> Iterator[str]:
    """A name server that answers so for every shop."""
    script = Script()
    script.add("sites.acme.example", (300, "A", "127.0.0.1"))
    script.add(EDGE, (300, "A", "127.0.0.1"))
    for number in range(hosts):
        script.add(f"www.shop{number}.example", *records)
    with name_server_in_a_thread("127.0.0.1", script) as dns:
        yield dns


def visit(tmp_path: Path, server: Server, dns: str, pages: int = 2, hosts: int = TENANTS, **settings: object) -> dict[str, Any]:
    """Every shop's pages; by host the keys of its last page."""
    done = crawl(
        SPIDER.format(pages=pages, hosts=hosts, port=server.port),
        tmp_path,
        POLITE_DNS_SERVERS=[dns],
        POLITE_ALLOW_PORTS=[server.port],
        ROBOTSTXT_OBEY=True,
        CONCURRENT_REQUESTS=64,
        **{"POLITE_ORIGIN_RATE": RATE, "POLITE_SITE_RATE": 20.0, "POLITE_ORIGIN_CONCURRENCY": 32, **settings},
    )
    assert done.code == 0, done.log
    assert len(done.urls()) == pages * hosts, json.dumps(done.stats) + done.log[-3000:]
    return {result[0].split(":")[1].strip("/"): result[2] for result in done.results}


def test_tenants_of_one_cname_are_one_origin_from_the_first_request_on(tmp_path: Path) -> None:
    with Server() as server, zone([(300, "CNAME", "sites.acme.example.")]) as dns:
        keys = visit(tmp_path, server, dns)
    assert {found[-1] for found in keys.values()} == {"origin:sites.acme.example"}
    assert units_in_ten_seconds(server.arrivals) <= 1.05 * RATE * 10


def test_tenants_of_one_address_are_one_origin_from_the_first_request_on(tmp_path: Path) -> None:
    with Server() as server, zone([(300, "A", "127.0.0.1")]) as dns:
        keys = visit(tmp_path, server, dns)
    assert {found[-1] for found in keys.values()} == {"origin:127.0.0.1"}
    assert units_in_ten_seconds(server.arrivals) <= 1.05 * RATE * 10


def test_tenants_behind_an_edge_found_by_headers_alone_are_one_origin_from_their_second_request_on(
    tmp_path: Path,
) -> None:
    """Their first requests pass one by one, as those of all whom nothing places behind this edge."""
    headers = {
        "X-Acme-Version": "7.1",
        "Set-Cookie": "_acme_session=0123456789abcdef; path=/",
        "Strict-Transport-Security": "max-age=31536000",
        "X-Frame-Options": "SAMEORIGIN",
        "X-Content-Type-Options": "nosniff",
    }
    with Server(lambda arrival: Answer(headers=headers)) as server, zone([(300, "CNAME", f"{EDGE}.")]) as dns:
        keys = visit(tmp_path, server, dns, POLITE_LIMITS={"probe:*": {"rate": 60}}, POLITE_EDGE_RATE=1000.0)
    origins = {found[-1] for found in keys.values()}
    assert len(origins) == 1, origins
    assert not any(origin.endswith(".example") for origin in origins)
    seen: set[str] = set()
    later = []
    for arrival in server.arrivals:
        if arrival.headers["host"] in seen:
            later.append(arrival)
        seen.add(arrival.headers["host"])
    assert len(later) >= 2 * TENANTS
    assert units_in_ten_seconds(later) <= 1.05 * RATE * 10


def test_strangers_behind_one_edge_share_no_key_and_do_not_slow_each_other(tmp_path: Path) -> None:
    with Server() as server, zone([(300, "CNAME", f"{EDGE}.")], hosts=10) as dns:
        keys = visit(tmp_path, server, dns, pages=6, hosts=10, POLITE_ORIGIN_RATE=4.0, POLITE_SITE_RATE=4.0)
    owners: dict[str, set[str]] = {}
    for host, found in keys.items():
        for key in found:
            owners.setdefault(key, set()).add(host)
    assert all(len(hosts) == 1 for hosts in owners.values()), owners
    pages = sorted(arrival.at for arrival in server.pages())
    # Alone, a shop's six pages take five times half a second, a tenth more for its miss budget, and no burst makes up for it.
    assert pages[-1] - pages[0] <= 1.5 * 5 * PAGE / 4.0 / 0.9
