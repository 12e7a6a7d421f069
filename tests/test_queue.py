"""The scheduler's queue over one agenda: nothing is lost or doubled, whoever wrote the JOBDIR, and closing is quick."""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import scrapy
from loopback import Answer, Server, crawl
from scrapy.pqueues import ScrapyPriorityQueue
from scrapy.squeues import MarshalFifoDiskQueue, PickleFifoDiskQueue, PickleLifoDiskQueue

from scrapy_polite.diskqueue import DiskQueue
from scrapy_polite.takeover import Left, path_safe

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


@pytest.mark.parametrize("theirs", ["ScrapyPriorityQueue", "DownloaderAwarePriorityQueue"])
def test_scrapys_own_queue_does_not_start_on_what_this_one_wrote_and_harms_nothing(tmp_path: Path, theirs: str) -> None:
    """It would take the job for finished."""
    jobdir = {"JOBDIR": str(tmp_path / "job"), **FAST}
    with Server() as server:
        source = FETCH.format(url=server.url)
        ports = {"POLITE_ALLOW_PORTS": [server.port]}
        first = crawl(source, tmp_path, **jobdir, **ports, CLOSESPIDER_PAGECOUNT=10)
        assert 10 <= len(first.urls()) < 40, first.log
        other = crawl(source, tmp_path, **jobdir, **ports, SCHEDULER_PRIORITY_QUEUE=f"scrapy.pqueues.{theirs}")
        assert other.urls() == []
        assert "Error" in other.log
        crawl(source, tmp_path, **jobdir, **ports)
        paths = Counter(arrival.path for arrival in server.arrivals)
        assert sorted(paths) == sorted(f"/{n}" for n in range(40))
        assert set(paths.values()) == {1}


@pytest.mark.parametrize("classes", [(PickleLifoDiskQueue, PickleFifoDiskQueue), (MarshalFifoDiskQueue, None)])
@pytest.mark.parametrize("by_site", [True, False])
def test_what_is_taken_over_keeps_its_order_and_stays_until_it_is_safe(
    tmp_path: Path, classes: tuple[type, type | None], by_site: bool
) -> None:
    spider = scrapy.Spider("test")
    crawler: Any = SimpleNamespace(spider=spider)
    state: dict[str, list[int]] | list[int] = {}
    sites = ["site:a.example", "b.example:8080"] if by_site else [""]
    written = []
    for site in sites:
        key = str(tmp_path / path_safe(site)) if by_site else str(tmp_path)

        def open_queue(priorities: list[int], key: str = key) -> ScrapyPriorityQueue:
            return ScrapyPriorityQueue(crawler, classes[0], key, priorities, start_queue_cls=classes[1])

        queue = open_queue([])
        for n in range(12):
            meta = {"is_start_request": n % 4 == 0}
            queue.push(scrapy.Request(f"https://a.example/{site}/{n}", priority=n % 3, meta=meta))
        priorities = queue.close()
        copy = tmp_path.with_name("copy")
        shutil.copytree(tmp_path, copy)
        served = ScrapyPriorityQueue(
            crawler, classes[0], key.replace(str(tmp_path), str(copy)), priorities, start_queue_cls=classes[1]
        )
        written += [served.pop() for _ in range(12)]
        shutil.rmtree(copy)
        state = {**state, site: priorities} if isinstance(state, dict) and by_site else priorities
    (tmp_path / "active.json").write_text(json.dumps(state))
    before = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    for _ in range(2):  # A kill on the way: nothing has happened.
        left = Left(crawler, tmp_path, state, *classes)
        assert [request.url for request in left.requests()] == [request.url for request in written if request is not None]
        assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == before
    left.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["active.json"]
    assert left.mark == Left(crawler, tmp_path, state, *classes).mark


def test_a_kill_after_the_taking_over_does_not_take_over_twice(tmp_path: Path) -> None:
    jobdir = {"JOBDIR": str(tmp_path / "job"), **FAST}
    with Server() as server:
        source = FETCH.format(url=server.url)
        ports = {"POLITE_ALLOW_PORTS": [server.port]}
        theirs = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"}
        crawl(source, tmp_path, **jobdir, **theirs, **ports, CLOSESPIDER_PAGECOUNT=10)
        kept = shutil.copytree(tmp_path / "job" / "requests.queue", tmp_path / "kept")
        crawl(source, tmp_path, **jobdir, **ports, CLOSESPIDER_PAGECOUNT=10)
        # As if it had been killed before the originals were removed, and before its own state was written.
        shutil.copytree(kept, tmp_path / "job" / "requests.queue", dirs_exist_ok=True, copy_function=shutil.copy2)
        last = crawl(source, tmp_path, **jobdir, **ports)
        paths = Counter(arrival.path for arrival in server.arrivals)
        assert sorted(paths) == sorted(f"/{n}" for n in range(40)), last.log
        assert set(paths.values()) == {1}


def test_two_crawls_cannot_have_one_jobdir(tmp_path: Path) -> None:
    queue = DiskQueue(tmp_path / "job" / "requests.queue")
    with Server() as server:
        done = crawl(FETCH.format(url=server.url), tmp_path, JOBDIR=str(tmp_path / "job"), POLITE_ALLOW_PORTS=[server.port])
        assert "The crawl does not start: JOBDIR:" in done.log
        assert "is used by another crawl that is running" in done.log
        assert server.arrivals == []
    queue.close()


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
        first = crawl(HELD.replace("{url}", server.url), tmp_path, **jobdir)
        assert first.stats["finish_reason"] == "polite_deferred", first.log
        assert "In the JOBDIR: 1001 requests of 1 sites wait for the next run" in first.log
        assert time.monotonic() - started < 30
        assert first.results == []
        assert len(server.arrivals) <= 10
        # The hold is in the store: the next run of the spider asks nothing either.
        before = len(server.arrivals)
        second = crawl(HELD.replace("{url}", server.url), tmp_path, **jobdir)
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


CLOSING = """
import time
class Spider(TestSpider):
    custom_settings = {{"ITEM_PIPELINES": {{}}}}
    async def start(self):
        for n in range({count}):
            yield scrapy.Request("{url}/" + str(n), errback=self.failed)
        yield scrapy.Request("{url}/end?", errback=self.failed)
        import asyncio
        asyncio.get_running_loop().call_later(1, lambda: asyncio.ensure_future(self.end()))
    async def end(self):
        # Processor time: what other work on the machine takes is none of ours.
        started, began = time.thread_time(), time.monotonic()
        await self.crawler.engine.close_spider_async(reason="enough")
        self.results.append(["closed", time.monotonic() - began, time.thread_time() - started])
"""


def test_a_spider_closes_within_a_second_with_ten_thousand_waiting_on_disk(tmp_path: Path) -> None:
    """Pages, and sites whose robots.txt waits."""
    with Server(lambda arrival: Answer(status=429, headers={"Retry-After": "3600"})) as server:
        source = CLOSING.format(url=server.url, count=10_000)
        job = tmp_path / "job"
        # Held for long, it would close by itself.
        settings = FAST | {"POLITE_DEFER_AFTER": 7200, "ROBOTSTXT_OBEY": True, "POLITE_ALLOW_PORTS": [server.port]}
        done = crawl(source, tmp_path, JOBDIR=str(job), **settings)
        (closed,) = [result for result in done.results if result[0] == "closed"]
        assert closed[2] < 1.0
        assert closed[1] < 10.0
        queue = DiskQueue(job / "requests.queue")
        assert len(queue) == done.stats["scheduler/enqueued/disk"] - done.stats.get("scheduler/dequeued/disk", 0)
        assert len(queue) >= 10_000
        queue.close()


PAUSED = """
import asyncio, time
class Spider(TestSpider):
    async def start(self):
        for n in range(30):
            yield scrapy.Request("{url}/" + str(n))
    def parse(self, response):
        self.answered(response)
        if len(self.results) == 10:
            self.crawler.engine.pause()
            asyncio.get_running_loop().call_later(2, self.crawler.engine.unpause)
"""


def test_a_paused_engine_asks_for_nothing_and_goes_on_afterwards(tmp_path: Path) -> None:
    with Server() as server:
        fast = FAST | {"POLITE_SITE_RATE": 20, "POLITE_ORIGIN_RATE": 20}
        done = crawl(PAUSED.format(url=server.url), tmp_path, POLITE_ALLOW_PORTS=[server.port], **fast)
        assert len(done.urls()) == 30, done.log
        gaps = sorted(server.gaps())
        assert gaps[-1] > 1.0
        assert gaps[-2] < 1.0


START = """
import asyncio, gc, time
class Spider(TestSpider):
    async def start(self):
        gc.disable()  # Its own pause, with 20,000 requests in memory, is no business of the middleware's.
        self.longest = 0.0
        watch = asyncio.get_running_loop().create_task(self.watch())
        for n in range(20000):
            yield scrapy.Request("{url}/" + str(n))
        await asyncio.sleep(0)
        watch.cancel()
        self.results.append(["longest", self.longest, None])
        asyncio.ensure_future(self.crawler.engine.close_spider_async(reason="enough"))
    async def watch(self):
        # Processor time: what other work on the machine takes is no gap of ours.
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            self.longest, last = max(self.longest, now - last), now
"""


FROZEN = """
import atexit, gc, sys
class Spider(TestSpider):
    async def start(self):
        self.results.append(["frozen", gc.get_freeze_count(), None])
        atexit.register(lambda: print("frozen in the end:", gc.get_freeze_count(), file=sys.stderr))
        return
        yield
"""


def test_the_garbage_collector_passes_over_what_was_there_before_the_crawl_until_it_ends(tmp_path: Path) -> None:
    done = crawl(FROZEN, tmp_path)
    ((_, frozen, _),) = done.results
    assert frozen > 50_000
    assert "frozen in the end: 0" in done.log


def test_twenty_thousand_requests_from_start_leave_the_loop_free(tmp_path: Path) -> None:
    """Against a start() without the middleware: the engine takes all of it in one go."""
    longest = {}
    with Server(lambda arrival: Answer(wait=0.5)) as server:
        for name, place in (("with", 10), ("without", None)):
            middlewares = {"scrapy_polite.breathing.BreathingMiddleware": place}
            done = crawl(
                START.format(url=server.url),
                tmp_path,
                POLITE_ALLOW_PORTS=[server.port],
                CONCURRENT_REQUESTS=1,
                SPIDER_MIDDLEWARES=middlewares,
            )
            (longest[name],) = [result[1] for result in done.results if result[0] == "longest"]
            assert done.stats["scheduler/enqueued"] >= 20_000
    assert longest["with"] < 0.1, longest
    assert longest["without"] > 3 * longest["with"], longest
