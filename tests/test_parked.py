"""What waits for a key that is parked waits in the store, where a kill does not take it; and is taken up once."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from loopback import Answer, Arrival, Running, Server, limits, ports, start

from scrapy_polite.stores.base import Cause, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy_polite.stores.base import Store

PARKED, FREE = "127.0.0.1", "127.0.0.2"
DAY = 86_400.0

# As long as there is a file that says so, the crawl stays open.
SPIDER = """
import os
from scrapy import signals
from scrapy.exceptions import DontCloseSpider
class Spider(TestSpider):
    @classmethod
    def from_crawler(cls, crawler):
        spider = super().from_crawler(crawler)
        crawler.signals.connect(spider.idle, signals.spider_idle)
        return spider
    def idle(self):
        if os.path.exists("stay"):
            raise DontCloseSpider
    async def start(self):
        for n in {parked}:
            yield scrapy.Request("{url}/" + str(n), self.answered, errback=self.failed, priority=n, dont_filter=True)
        for n in range({free}):
            yield scrapy.Request("{other}/" + str(n), self.answered, errback=self.failed)
"""


@pytest.fixture
def kept(place: str) -> Iterator[Store]:
    with closing(open_store(place)) as store:
        yield store


def spider(server: Server, parked: list[int], free: int) -> str:
    urls = {"url": f"http://{PARKED}:{server.port}", "other": f"http://{FREE}:{server.port}"}
    return SPIDER.format(parked=parked, free=free, **urls)


def run(server: Server, tmp_path: Path, place: str, parked: list[int], free: int, **more: object) -> Running:
    return start(spider(server, parked, free), tmp_path, **limits(10.0), **ports(server), POLITE_STORE=place, **more)


def asked(server: Server, host: str) -> Counter[str]:
    return Counter(arrival.path for arrival in server.pages() if arrival.headers["host"].startswith(f"{host}:"))


def test_a_kill_takes_nothing_of_what_waits_for_a_parked_key_and_the_next_run_makes_each_once(
    place: str, kept: Store, tmp_path: Path
) -> None:
    kept.hold(f"site:{PARKED}", DAY, Cause("parked", "by ann"))
    with Server(address="0.0.0.0") as server:
        # Twice the same is two requests.
        with run(server, tmp_path, place, [0, 1, 2, 3, 3], 1000) as running:
            running.until(lambda: len(kept.deferred()) == 5)
            assert asked(server, FREE).total() < 900, "the crawl is under way"
            running.process.kill()
            running.end(20)
        assert {row.key for row in kept.deferred()} == {f"site:{PARKED}"}
        assert not asked(server, PARKED)
        kept.release(f"site:{PARKED}")
        kept.hasten_deferred(f"site:{PARKED}")
        with run(server, tmp_path, place, [], 0) as running:
            done = running.end(60)
    assert done.stats["finish_reason"] == "finished", done.log
    assert asked(server, PARKED) == Counter({"/0": 1, "/1": 1, "/2": 1, "/3": 2})
    assert kept.deferred() == []


def test_what_is_released_is_taken_up_by_the_crawl_that_goes_on_and_made_once(place: str, kept: Store, tmp_path: Path) -> None:
    stay = tmp_path / "stay"
    stay.touch()
    with Server(address="0.0.0.0") as server, run(server, tmp_path, place, list(range(60)), 1) as running:
        running.until(lambda: asked(server, PARKED).total() >= 5)
        kept.hold(f"site:{PARKED}", DAY, Cause("parked", "by ann"))
        running.until(lambda: len(kept.deferred()) > 30)
        before = asked(server, PARKED).total()
        kept.release(f"site:{PARKED}")
        time.sleep(1.2)  # The crawl has heard of it, and finds nothing that is free.
        freed = time.monotonic()
        kept.hasten_deferred(f"site:{PARKED}")
        running.until(lambda: asked(server, PARKED).total() > before + 5)
        assert time.monotonic() - freed < 12, "it looks again soon"
        kept.hold(f"site:{PARKED}", DAY, Cause("parked", "by ann"))  # And once more.
        running.until(lambda: asked(server, PARKED).total() + sum(not row.run for row in kept.deferred()) >= 60)
        kept.release(f"site:{PARKED}")
        kept.hasten_deferred(f"site:{PARKED}")
        running.until(lambda: asked(server, PARKED).total() >= 60 and not kept.deferred())
        stay.unlink()
        done = running.end(60)
    assert done.stats["finish_reason"] == "finished", done.log
    assert asked(server, PARKED) == Counter(f"/{n}" for n in range(60))
    assert done.stats["polite/deferred/taken_up"] > 30
    assert "polite/deferred" not in done.stats, "nothing is left"
    assert kept.deferred() == []


def test_all_sites_of_a_parked_origin_are_put_off_and_the_end_says_how_many(tmp_path: Path) -> None:
    """Two ports of one address; the other site ends by itself."""
    place = f"sqlite:{tmp_path}/limits.sqlite"
    with closing(open_store(place)) as kept, Server(address="0.0.0.0") as server:
        kept.hold(f"origin:{PARKED}", DAY, Cause("parked", "by ann"))
        with run(server, tmp_path, place, list(range(7)), 40) as running:
            running.until(lambda: len(kept.deferred()) == 7)
            assert asked(server, FREE).total() < 40
            done = running.end(60)
        assert done.stats["finish_reason"] == "polite_deferred", done.log
        assert done.stats["polite/deferred"] == 7
        assert "Put off: 7 requests (held: 7 parked)" in done.log
        assert len(done.urls()) == 40
        assert {row.key for row in kept.deferred()} == {f"origin:{PARKED}"}


def test_what_does_not_fit_stays_in_memory_until_the_end_and_its_errback_is_told(tmp_path: Path) -> None:
    place = f"sqlite:{tmp_path}/limits.sqlite"
    source = """
class Spider(TestSpider):
    async def start(self):
        for callback in (self.answered, lambda response: None):
            yield scrapy.Request("{url}/", callback, errback=self.failed, dont_filter=True)
        for n in range(25):
            yield scrapy.Request("{other}/" + str(n), self.answered, errback=self.failed)
"""
    with closing(open_store(place)) as kept, Server(address="0.0.0.0") as server:
        kept.hold(f"site:{PARKED}", DAY, Cause("parked", "by ann"))
        urls = {"url": f"http://{PARKED}:{server.port}", "other": f"http://{FREE}:{server.port}"}
        with start(source.format(**urls), tmp_path, **limits(10.0), **ports(server)) as running:
            running.until(lambda: len(kept.deferred()) == 1)
            done = running.end(60)
        assert done.stats["polite/deferred"] == 1, done.log
        assert [result[1] for result in done.results if result[1] != 200] == ["NotNow"]
        assert done.log.count("Cannot be put off") == 2


def test_while_the_store_is_away_it_stays_in_memory(tmp_path: Path) -> None:
    place, file, aside = f"sqlite:{tmp_path}/limits.sqlite", tmp_path / "limits.sqlite", tmp_path / "aside"

    def refuse(arrival: Arrival) -> Answer:
        return Answer(status=429) if arrival.headers["host"].startswith(PARKED) else Answer()

    with closing(open_store(place)) as kept, Server(refuse, address="0.0.0.0") as server:
        options = {"POLITE_PARK_AFTER": 2, "POLITE_LADDERS": {"rate_limited": [0.3]}, "POLITE_LADDER_JITTER": 0}
        with run(server, tmp_path, place, list(range(9)), 60, **options) as running:
            running.until(lambda: asked(server, PARKED))
            file.rename(aside)
            running.until(lambda: "The store cannot answer" in running.log)
            aside.rename(file)
            running.until(lambda: len(kept.deferred()) == 9)
            done = running.end(60)
    assert done.stats["polite/deferred"] == 9, done.log
    assert len(done.urls()) == 60
