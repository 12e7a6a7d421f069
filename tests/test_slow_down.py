"""A bucket has a burst and a key of its own: when it says "503 Slow Down" it is left alone, and no other is."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from loopback import Answer, Arrival, Server, crawl
from nameserver import Script, name_server_in_a_thread

from scrapy_polite.telemetry.events import HeldEvent
from scrapy_polite.telemetry.ledger import Ledger
from scrapy_polite.telemetry.proof import prove

if TYPE_CHECKING:
    from pathlib import Path

SLOW_DOWN = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
"""https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html; there is no Retry-After."""
HOLD = 2.0

SPIDER = """
class Spider(TestSpider):
    async def start(self):
        for n in range(20):
            for bucket in ("busy", "idle"):
                url = f"http://store.test:{port}/{{bucket}}/{{n}}.jpg"
                yield scrapy.Request(url, callback=self.answered, errback=self.failed)
"""


class Store:
    """Two buckets; the busy one has had enough after its fifth request, once."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, arrival: Arrival) -> Answer:
        if arrival.path.startswith("/busy/"):
            self.asked += 1
            if self.asked == 5:
                return Answer(SLOW_DOWN, 503, {"Content-Type": "application/xml"}, wait=0.3)
        return Answer(wait=0.02)


def test_a_bucket_that_says_slow_down_is_held_and_the_one_beside_it_is_not(tmp_path: Path) -> None:
    script = Script()
    script.add("store.test", (300, "A", "127.0.0.1"))
    with Server(Store()) as server, name_server_in_a_thread("127.0.0.1", script) as dns:
        done = crawl(
            SPIDER.format(port=server.port),
            tmp_path,
            POLITE_DNS_SERVERS=[dns],
            POLITE_ALLOW_PORTS=[server.port],
            POLITE_BUCKET_HOSTS={"store.test": "path"},
            POLITE_BUCKET_RATE=10,
            POLITE_BUCKET_BURST=40,
            POLITE_COSTS={"image": 1},
            POLITE_LADDERS={"rate_limited": [HOLD]},
            POLITE_LADDER_JITTER=0,
        )
    assert done.code == 0, done.log
    assert len(done.urls()) == 40, done.log
    busy = [arrival.at for arrival in server.arrivals if arrival.path.startswith("/busy/")]
    idle = [arrival.at for arrival in server.arrivals if arrival.path.startswith("/idle/")]
    assert (len(busy), len(idle)) == (21, 20)
    assert idle[-1] - idle[0] < 1.0, "a burst of its own, and nobody's hold"
    assert max(later - earlier for earlier, later in itertools.pairwise(busy)) >= HOLD - 0.1
    events = list(Ledger.read(tmp_path / "limits.ledger.sqlite"))
    assert {event.key for event in events if isinstance(event, HeldEvent)} == {"bucket:listed/store.test/busy"}
    proof = prove(events)
    assert proof.passed, proof.violations
