"""The scheduler's queue over one agenda: nothing is lost or doubled, whoever wrote the JOBDIR, and closing is quick."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from loopback import Answer, Server, crawl

if TYPE_CHECKING:
    from pathlib import Path

FETCH = """
class Spider(TestSpider):
    async def start(self):
        for n in range(40):
            yield scrapy.Request("{url}/" + str(n), errback=self.failed)
    def parse(self, response):
        self.answered(response)
"""

FAST = {"POLITE_COSTS": {"page": 1}, "POLITE_SITE_RATE": 50, "POLITE_ORIGIN_RATE": 50}


@pytest.mark.parametrize("queue", ["scrapy.pqueues.ScrapyPriorityQueue", "scrapy.pqueues.DownloaderAwarePriorityQueue", "ours"])
def test_a_jobdir_is_taken_over_whoever_wrote_it(tmp_path: Path, queue: str) -> None:
    jobdir = {"JOBDIR": str(tmp_path / "job"), **FAST}
    theirs = {} if queue == "ours" else {"SCHEDULER_PRIORITY_QUEUE": queue}
    with Server() as server:
        source = FETCH.format(url=server.url)
        ports = {"POLITE_ALLOW_PORTS": [server.port]}
        first = crawl(source, tmp_path, **jobdir, **theirs, **ports, CLOSESPIDER_PAGECOUNT=10)
        assert 10 <= len(first.urls()) < 40, first.log
        second = crawl(source, tmp_path, **jobdir, **ports)
        paths = Counter(arrival.path for arrival in server.arrivals)
        assert sorted(paths) == sorted(f"/{n}" for n in range(40)), second.log
        assert set(paths.values()) == {1}


def test_what_this_queue_wrote_scrapys_own_takes_over(tmp_path: Path) -> None:
    jobdir = {"JOBDIR": str(tmp_path / "job"), **FAST}
    with Server() as server:
        source = FETCH.format(url=server.url)
        ports = {"POLITE_ALLOW_PORTS": [server.port]}
        first = crawl(source, tmp_path, **jobdir, **ports, CLOSESPIDER_PAGECOUNT=10)
        assert 10 <= len(first.urls()) < 40, first.log
        queue = "scrapy.pqueues.DownloaderAwarePriorityQueue"
        second = crawl(source, tmp_path, **jobdir, **ports, SCHEDULER_PRIORITY_QUEUE=queue)
        paths = Counter(arrival.path for arrival in server.arrivals)
        assert sorted(paths) == sorted(f"/{n}" for n in range(40)), second.log


def test_requests_that_no_disk_queue_takes_wait_in_memory_and_take_turns_with_those_on_disk(tmp_path: Path) -> None:
    source = """
class Spider(TestSpider):
    async def start(self):
        for n in range(6):
            yield scrapy.Request("{url}/disk/" + str(n))
            yield scrapy.Request("{url}/memory/" + str(n), meta={{"odd": lambda: None}})
""".format(url="{url}")
    with Server() as server:
        done = crawl(
            source.replace("{url}", server.url),
            tmp_path,
            JOBDIR=str(tmp_path / "job"),
            POLITE_ALLOW_PORTS=[server.port],
            **(FAST | {"POLITE_SITE_RATE": 10}),
        )
        assert len(done.urls()) == 12, done.log
        kinds = [arrival.path.split("/")[1] for arrival in server.arrivals]
        assert kinds[:6].count("disk") == 3


def test_priorities_are_kept_inside_a_site(tmp_path: Path) -> None:
    source = """
class Spider(TestSpider):
    async def start(self):
        yield scrapy.Request("{url}/first", callback=self.many)
    def many(self, response):
        for n in range(12):
            yield scrapy.Request("{url}/" + str(n), priority=n)
"""
    with Server() as server:
        done = crawl(
            source.replace("{url}", server.url),
            tmp_path,
            POLITE_ALLOW_PORTS=[server.port],
            **(FAST | {"POLITE_SITE_RATE": 10}),
        )
        order = [int(arrival.path[1:]) for arrival in server.arrivals[1:]]
        assert sorted(order) == list(range(12)), done.log
        # Five may be on their way to the wire before the last has been pushed; after that the highest goes first.
        assert order[5:] == sorted(order[5:], reverse=True)


HELD = """
class Spider(TestSpider):
    async def start(self):
        yield scrapy.Request("{url}/refused", errback=self.failed)
        for n in range(1000):
            yield scrapy.Request("{url}/" + str(n), errback=self.failed)
"""


def test_a_spider_with_a_thousand_held_requests_closes_at_once_and_keeps_them(tmp_path: Path) -> None:
    with Server(lambda arrival: Answer(status=429, headers={"Retry-After": "3600"})) as server:
        jobdir = {"JOBDIR": str(tmp_path / "job"), "POLITE_ALLOW_PORTS": [server.port], **FAST}
        started = time.monotonic()
        first = crawl(HELD.replace("{url}", server.url), tmp_path, **jobdir, CLOSESPIDER_TIMEOUT=5)
        assert first.stats["finish_reason"] == "closespider_timeout", first.log
        assert time.monotonic() - started < 30
        assert first.results == []
        assert len(server.arrivals) <= 10
        # The hold is in the store: the next run of the spider asks nothing either.
        before = len(server.arrivals)
        second = crawl(HELD.replace("{url}", server.url), tmp_path, **jobdir, CLOSESPIDER_TIMEOUT=3)
        assert len(server.arrivals) == before, second.log
        assert "Resuming crawl (1001 requests scheduled)" in second.log


def test_a_hold_of_one_site_does_not_hold_up_another(tmp_path: Path) -> None:
    source = """
class Spider(TestSpider):
    custom_settings = {{"CLOSESPIDER_TIMEOUT": 20}}
    async def start(self):
        for n in range(30):
            yield scrapy.Request("{held}/" + str(n), errback=self.failed)
            yield scrapy.Request("{free}/" + str(n), errback=self.failed)
    def parse(self, response):
        self.answered(response)
        if len(self.urls()) == 30:
            raise scrapy.exceptions.CloseSpider("done")
    def urls(self):
        return [result for result in self.results if result[1] == 200]
"""
    refuse = Server(lambda arrival: Answer(status=429, headers={"Retry-After": "600"}))
    with refuse as held, Server(address="127.0.0.2") as free:
        free_url = free.url.replace("127.0.0.1", "127.0.0.2")
        done = crawl(source.format(held=held.url, free=free_url), tmp_path, POLITE_ALLOW_PORTS=[held.port, free.port], **FAST)
        assert done.stats["finish_reason"] == "done", done.log
        assert len(done.urls()) == 30
        assert len(held.arrivals) < 30
