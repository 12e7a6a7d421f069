"""Several hosts of one origin: what their images are charged, and how many requests are in flight at its server."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from loopback import Answer, Arrival, Server, crawl, ports
from nameserver import Script, name_server_in_a_thread

from scrapy_polite.telemetry.events import Sent
from scrapy_polite.telemetry.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c63f8cfc0f01f00050001ff89993d1d0000000049454e44ae426082"
)
"""A PNG of one pixel."""

WITH_IMAGES = """
class Spider(TestSpider):
    async def start(self):
        yield scrapy.Request("http://shop.test:{port}/", self.page, errback=self.failed)
    def page(self, response):
        self.answered(response)
        hosts = ("shop.test", "img.shop.test", "photos.test")
        yield {{"image_urls": [f"http://{{host}}:{port}/{{n}}.png" for host in hosts for n in range(2)]}}
"""

SITES = 6
MANY_SITES = """
class Spider(TestSpider):
    async def start(self):
        for n in range({pages}):
            for site in range({sites}):
                yield scrapy.Request(f"http://s{{site}}.test:{port}/{{n}}", self.answered, errback=self.failed)
"""


@contextmanager
def named(*hosts: str) -> Iterator[str]:
    """A name server that says of all of them that they are here."""
    script = Script()
    for host in hosts:
        script.add(host, (60, "A", "127.0.0.1"))
    with name_server_in_a_thread("127.0.0.1", script) as server:
        yield server


def test_images_of_the_same_servers_are_charged_to_their_origin_as_images(tmp_path: Path) -> None:
    def answer(arrival: Arrival) -> Answer:
        return Answer(PIXEL, headers={"Content-Type": "image/png"}) if arrival.path.endswith(".png") else Answer()

    ledger = tmp_path / "ledger.sqlite"
    with Server(answer) as server, named("shop.test", "img.shop.test", "photos.test") as dns:
        found = crawl(
            WITH_IMAGES.format(port=server.port),
            tmp_path,
            **ports(server),
            POLITE_DNS_SERVERS=[dns],
            POLITE_SITE_RATE=1000,
            POLITE_ORIGIN_RATE=10,
            POLITE_LEDGER=str(ledger),
            IMAGES_STORE=str(tmp_path / "images"),
            ITEM_PIPELINES={"scrapy.pipelines.images.ImagesPipeline": 1},
        )
    assert found.code == 0, found.log
    sent = [event for event in Ledger.read(ledger) if isinstance(event, Sent)]
    assert [event.kind for event in sent] == ["page"] + ["image"] * 6
    assert {event.site for event in sent} == {"site:shop.test", "site:img.shop.test", "site:photos.test"}
    origins = {charge.key for event in sent for charge in event.charges if charge.key.startswith("origin:")}
    assert len(origins) == 1
    for event in sent:
        cost = {"page": 2.0, "image": 1.0}[event.kind]
        assert [(charge.key, charge.cost) for charge in event.charges] == [(event.site, cost), (*origins, cost)]
    # The page pays for 0.2 s, and each image, whatever its host, for 0.1 s.
    assert sent[-1].slot - sent[0].slot >= 200_000 + 5 * 100_000 - 6 * 50_000


@pytest.mark.parametrize("most", [1, 3])
def test_no_more_requests_are_in_flight_at_an_origin_than_its_sites_may_have_together(tmp_path: Path, most: int) -> None:
    turn, inside, seen = threading.Lock(), 0, []

    def answer(arrival: Arrival) -> Answer:
        nonlocal inside
        with turn:
            inside += 1
            seen.append(inside)
        time.sleep(0.1)
        with turn:
            inside -= 1
        return Answer(b"", headers={"Content-Type": "text/plain"})

    hosts = [f"s{site}.test" for site in range(SITES)]
    with Server(answer) as server, named(*hosts) as dns:
        found = crawl(
            MANY_SITES.format(port=server.port, sites=SITES, pages=3),
            tmp_path,
            **ports(server),
            POLITE_DNS_SERVERS=[dns],
            POLITE_SITE_RATE=1000,
            POLITE_ORIGIN_RATE=1000,
            POLITE_ORIGIN_CONCURRENCY=most,
            ROBOTSTXT_OBEY=True,
        )
    assert found.code == 0, found.log
    assert len(found.urls()) == 3 * SITES
    assert len(seen) == 4 * SITES, "a robots.txt for each site"
    assert max(seen) == most
