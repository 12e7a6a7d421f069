"""What a crawl puts off, and what the next one makes of it."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING

from loopback import Answer, Arrival, Crawl, Server, crawl, limits, ports, start

from scrapy_polite.deferring import LEASE
from scrapy_polite.puttingoff import steps_of
from scrapy_polite.stores.base import Cause, open_store
from scrapy_polite.stores.deferring import Deferred

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_polite.stores.base import Store

HELD_URL = "http://127.0.0.1:{held}/{n}"

# Of two sites one is held: 127.0.0.1 and 127.0.0.2 are two origins.
TWO_SITES = """
class Spider(TestSpider):
    async def start(self):
        for n in range({count}):
            options = dict(method="POST", body=b"\\xff" + bytes([n]), cb_kwargs=dict(pair=(n, b"x")), priority=n)
            yield scrapy.Request("{held}/" + str(n), self.answered, errback=self.failed, **options)
        for n in range({count}):
            yield scrapy.Request("{free}/" + str(n), self.answered, errback=self.failed)
    def answered(self, response, pair=None):
        assert pair is None or type(pair) is tuple
        self.results.append([response.url, response.status, response.request.meta.get("retry_times")])
"""


def holding(seconds: int, until: float = 1e12) -> object:
    """One who says 429 with that Retry-After until then (monotonic), and then answers."""

    def answer(arrival: Arrival) -> Answer:
        if time.monotonic() < until:
            return Answer(status=429, headers={"Retry-After": str(seconds)})
        return Answer()

    return answer


def store_of(tmp_path: Path) -> Store:
    return open_store(f"sqlite:{tmp_path}/limits.sqlite")


def at(server: Server, host: str) -> str:
    return f"http://{host}:{server.port}"


def paths(server: Server) -> Counter[str]:
    return Counter(arrival.path for arrival in server.pages())


def test_a_site_that_holds_for_an_hour_is_put_off_and_the_next_run_takes_it_up_first_and_once(tmp_path: Path) -> None:
    allow = [True, False]

    def answer(arrival: Arrival) -> Answer:
        return Answer(status=429, headers={"Retry-After": "3600"}) if allow[0] else Answer()

    with Server(answer, address="0.0.0.0") as held, Server(address="0.0.0.0") as free:
        spider = TWO_SITES.format(count=6, held=at(held, "127.0.0.1"), free=at(free, "127.0.0.2"))
        settings = limits(20.0) | ports(held, free)
        began = time.monotonic()
        first = crawl(spider, tmp_path, **settings)
        took = time.monotonic() - began
        assert len(first.urls()) == 6, first.log
        assert first.stats["finish_reason"] == "polite_deferred"
        assert first.stats["polite/deferred"] == 6
        assert "Put off: 6 requests (held: 6 rate_limited)" in first.log
        assert took < 20
        store = store_of(tmp_path)
        rows = store.deferred()
        assert [(row.owner, row.key, row.kind, row.method, row.callback) for row in rows] == [
            ("scrapybot/test", "site:127.0.0.1", "rate_limited", "POST", "answered")
        ] * 6
        assert sorted(row.priority for row in rows) == list(range(6))
        assert all(3500 < row.not_before - time.time() < 4200 for row in rows)

        # Held as before: nothing of it is asked, nothing is lost, and nothing is there twice.
        sent = len(held.arrivals)
        again = crawl(spider, tmp_path, **settings)
        assert again.stats["finish_reason"] == "polite_deferred", again.log
        assert len(held.arrivals) == sent
        assert len(store.deferred()) == 6

        allow[0] = False
        store.release("site:127.0.0.1")
        store.hasten_deferred("site:127.0.0.1")
        held.arrivals.clear()
        free.arrivals.clear()
        last = crawl(spider, tmp_path, **settings)
        assert last.stats["finish_reason"] == "finished", last.log
        assert last.stats["polite/deferred/taken_up"] == 6
        assert paths(held) == Counter({f"/{n}": 1 for n in range(6)})
        # By priority; two of them may come to the server the other way round.
        assert {arrival.path for arrival in held.pages()[:3]} == {"/5", "/4", "/3"}
        assert [arrival.body for arrival in held.pages()] == [2] * 6
        assert {tuple(result[1:]) for result in last.results} == {(200, None)}
        assert store.deferred() == []
        store.close()


BROAD = """
class Spider(TestSpider):
    async def start(self):
        for n in range({count}):
            for url in {urls}:
                yield scrapy.Request(url + "/" + str(n), self.answered, errback=self.failed)
"""


def test_one_site_that_holds_for_an_hour_delays_no_other_and_the_spider_closes_at_once(tmp_path: Path) -> None:
    """Five sites, and one more that refuses its first request."""
    hosts = [f"127.0.0.{n}" for n in range(2, 7)]

    def crawl_of(name: str, server: Server, urls: list[str]) -> tuple[Crawl, float]:
        folder = tmp_path / name
        folder.mkdir()
        done = crawl(BROAD.format(count=10, urls=urls), folder, **limits(4.0), **ports(server, held))
        pages = [arrival.at for arrival in server.pages()]
        server.arrivals.clear()
        return done, max(pages) - min(pages)

    with Server(address="0.0.0.0") as free, Server(holding(3600), address="0.0.0.0") as held:
        others = [at(free, host) for host in hosts]
        alone, took_alone = crawl_of("alone", free, others)
        beside, took_beside = crawl_of("beside", free, [at(held, "127.0.0.1"), *others])
    assert len(alone.urls()) == len(beside.urls()) == 50, beside.log
    assert len(held.pages()) <= 2
    assert beside.stats["polite/deferred"] == 10
    assert beside.stats["finish_reason"] == "polite_deferred"
    assert took_beside <= took_alone * 1.1
    assert beside.stats["elapsed_time_seconds"] - alone.stats["elapsed_time_seconds"] < 5.0


def test_a_key_that_refuses_for_ever_is_parked_and_the_crawl_ends_and_says_what_it_left(tmp_path: Path) -> None:
    def refuse(arrival: Arrival) -> Answer:
        return Answer(status=429)

    settings = limits(20.0) | {"POLITE_PARK_AFTER": 3, "POLITE_LADDERS": {"rate_limited": [0.3]}, "POLITE_LADDER_JITTER": 0}
    with Server(refuse) as server:
        done = crawl(BROAD.format(count=5, urls=[server.url]), tmp_path, **settings, **ports(server))
    assert done.stats["finish_reason"] == "polite_deferred", done.log
    assert "Put off: 5 requests (held: 5 parked)" in done.log
    assert done.stats["polite/backoff/parked"] == 1
    assert done.stats.get("retry/count") is None
    assert 3 <= len(server.arrivals) <= 6
    store = store_of(tmp_path)
    (held,) = store.held()
    assert (held.key, held.cause.kind) == ("site:127.0.0.1", "parked")
    assert 6.9 * 86_400 < held.seconds <= 7 * 86_400
    assert {row.kind for row in store.deferred()} == {"parked"}
    store.close()


def test_a_server_that_asks_for_little_time_each_time_is_left_alone_for_longer_before_it_is_parked(tmp_path: Path) -> None:
    began: list[float] = []

    def restarts(arrival: Arrival) -> Answer:
        began.append(time.monotonic())
        return Answer(status=503, headers={"Retry-After": "0.2"}) if began[-1] < began[0] + 1 else Answer()

    settings = limits(20.0) | {"POLITE_PARK_AFTER": 2, "POLITE_LADDERS": {"error": [2.0]}, "POLITE_LADDER_JITTER": 0}
    with Server(restarts) as server:
        done = crawl(BROAD.format(count=5, urls=[server.url]), tmp_path, **settings, **ports(server))
    assert done.stats["finish_reason"] == "finished", done.log
    assert len(done.urls()) == 5

    with Server(lambda arrival: Answer(status=503, headers={"Retry-After": "0.2"})) as server:
        done = crawl(BROAD.format(count=5, urls=[server.url]), tmp_path, **settings, **ports(server))
        assert done.stats["polite/backoff/parked"] == 1, done.log
        assert server.arrivals[-1].at - server.arrivals[0].at > 4.0


STOPPED = """
import asyncio
class Spider(TestSpider):
    async def start(self):
        for n in range(20):
            yield scrapy.Request("{url}/" + str(n), self.answered, errback=self.failed)
        yield scrapy.Request("{url}/unfit", lambda response: None, errback=self.failed)
    def answered(self, response):
        super().answered(response)
        if len(self.results) == 3 and {why!r}:
            asyncio.ensure_future(self.crawler.engine.close_spider_async(reason={why!r}))
"""


def test_a_spider_that_is_stopped_puts_off_all_and_one_with_enough_only_what_is_held(tmp_path: Path) -> None:
    with Server() as server:
        settings = limits(5.0) | ports(server)
        enough = crawl(STOPPED.format(url=server.url, why="enough"), tmp_path, **settings)
        assert "polite/deferred" not in enough.stats, enough.log
        assert "nothing held them: " in enough.log
        server.arrivals.clear()
        first = crawl(STOPPED.format(url=server.url, why="shutdown"), tmp_path, **settings)
        done = {arrival.path for arrival in server.pages()} - {"/unfit"}
        unfit = [result for result in first.results if result[1] == "NotNow"]
        assert [result[0] for result in unfit] == [f"{server.url}/unfit"]
        assert first.stats["polite/deferred/failed"] == 1
        assert first.stats["polite/deferred"] == 20 - len(done)
        assert f"Put off: {20 - len(done)} requests ({20 - len(done)} were only not reached); the next run" in first.log
        server.arrivals.clear()
        second = crawl(BROAD.format(count=0, urls=[]), tmp_path, **settings)
    assert {arrival.path for arrival in server.pages()} == {f"/{n}" for n in range(20)} - done
    assert second.stats["polite/deferred/taken_up"] == 20 - len(done)
    assert second.stats["finish_reason"] == "finished"


def test_what_waits_behind_requests_that_cannot_be_read_is_taken_up(tmp_path: Path) -> None:
    """A callback of that name is no more."""
    with Server() as server:
        store = store_of(tmp_path)

        def row(name: str, callback: str, priority: int) -> Deferred:
            url = f"{server.url}/{name}"
            text = json.dumps({"url": url, "callback": callback})
            why = ("error", "503", priority, 0.0, 1.0, text)
            return Deferred("scrapybot/test", name, "site:127.0.0.1", url, "GET", callback, "", *why)

        store.defer([row(str(number), "gone", 9) for number in range(600)])
        store.defer([row("late", "answered", 0)])
        done = crawl(BROAD.format(count=0, urls=[]), tmp_path, **limits(20.0) | ports(server))
        assert list(paths(server)) == ["/late"], done.log
        assert len(store.deferred()) == 600
        store.close()


def test_requests_that_carry_whole_pages_are_written_in_more_steps() -> None:
    def row(letters: int) -> Deferred:
        return Deferred("a/b", "1", "site:a", "http://a/", "GET", "", "", "error", "503", 0, 0.0, 1.0, "x" * letters)

    def steps(rows: list[Deferred]) -> list[tuple[int, int]]:
        return [(start, len(some)) for start, some in steps_of(rows)]

    mega, small = row(1024 * 1024), row(9)
    assert steps([]) == []
    assert steps([small] * 1_001) == [(0, 500), (500, 500), (1_000, 1)]
    assert steps([mega] * 70) == [(0, 32), (32, 32), (64, 6)]
    assert steps([small, row(40 * 1024 * 1024), small]) == [(0, 1), (1, 1), (2, 1)]


ODD_ONES = """
class Numbered(scrapy.Request):
    def __init__(self, number, **more):
        more.pop("url", None)
        super().__init__("{url}/numbered/" + str(number), **more)
class Spider(TestSpider):
    async def start(self):
        yield scrapy.Request("{url}/0", self.answered, errback=self.failed)
        yield Numbered(7, callback=self.answered, errback=self.failed)
        yield scrapy.Request("{url}/method", self.answered, errback=self.failed, method="G\\udc80T")
        yield scrapy.Request("{url}/first", self.answered, errback=self.failed, priority=10**30)
        yield scrapy.Request("{url}/last", self.answered, errback=self.failed, priority=-10**30)
"""


def test_what_does_not_fit_into_a_store_is_told_its_errback_and_costs_no_other_request(tmp_path: Path) -> None:
    with Server() as server:
        store = store_of(tmp_path)
        store.hold("site:127.0.0.1", 3600, Cause("error", "a test says so"))
        done = crawl(ODD_ONES.format(url=server.url), tmp_path, **limits(5.0) | ports(server))
        assert done.stats["finish_reason"] == "polite_deferred", done.log
        assert sorted(result[:2] for result in done.results) == [
            [f"{server.url}/method", "NotNow"],
            [f"{server.url}/numbered/7", "NotNow"],
        ]
        assert {row.url for row in store.deferred()} == {f"{server.url}/{name}" for name in ("0", "first", "last")}
        rows = store.take_deferred("scrapybot/test", "run", 9, 60, 1e6)
        assert [row.url.rpartition("/")[2] for row in rows] == ["first", "0", "last"]
        store.close()


def test_what_a_killed_run_had_taken_is_said_and_waited_for(tmp_path: Path) -> None:
    """Its lease ends here as soon as that is said, and not after a minute."""
    allow = [False]

    def answer(arrival: Arrival) -> Answer:
        return Answer() if allow[0] else Answer(status=429, headers={"Retry-After": "3600"})

    with Server(answer) as server:
        settings = limits(20.0) | ports(server)
        crawl(BROAD.format(count=5, urls=[server.url]), tmp_path, **settings)
        store = store_of(tmp_path)
        store.release("site:127.0.0.1")
        store.hasten_deferred("site:127.0.0.1")
        assert len(store.take_deferred("scrapybot/test", "gone.1", 10, LEASE)) == 5
        allow[0] = True
        server.arrivals.clear()
        with start(BROAD.format(count=0, urls=[]), tmp_path, **settings) as running:
            running.until(
                lambda: "Not taken up: 5 requests, still marked as taken by a run that was last heard " in running.log
            )
            store.renew_deferred("gone.1", 3.0)
            done = running.end(60)
        assert paths(server) == Counter({f"/{n}": 1 for n in range(5)}), done.log
        assert done.stats["finish_reason"] == "finished"
        assert store.deferred() == []
        store.close()


def test_a_run_that_lives_is_not_waited_for(tmp_path: Path) -> None:
    with Server(holding(3600)) as server:
        settings = limits(20.0) | ports(server)
        crawl(BROAD.format(count=5, urls=[server.url]), tmp_path, **settings)
        store = store_of(tmp_path)
        store.hasten_deferred("site:127.0.0.1")
        store.take_deferred("scrapybot/test", "lives.1", 10, LEASE - 5)
        with start(BROAD.format(count=0, urls=[]), tmp_path, **settings) as running:
            running.until(lambda: "Not taken up: 5 requests" in running.log)
            assert store.renew_deferred("lives.1", LEASE) == 5
            done = running.end(60)
        assert done.stats["finish_reason"] == "finished"
        assert done.stats["elapsed_time_seconds"] < LEASE - 10
        assert [row.run for row in store.deferred()] == ["lives.1"] * 5
        store.close()


FOLLOWED = """
class Spider(TestSpider):
    async def start(self):
        for path in {starts}:
            yield scrapy.Request("{url}" + path, self.answered, errback=self.failed, dont_filter=True)
        yield scrapy.Request("{url}/b", self.other, errback=self.failed, dont_filter=True)
    def other(self, response):
        self.answered(response)
    def answered(self, response):
        super().answered(response)
        if response.url.endswith("/a"):
            yield response.follow("/b", self.answered, errback=self.failed)
"""


def test_a_followed_link_that_was_put_off_is_not_made_again_as_a_start_request(tmp_path: Path) -> None:
    """It has a referrer and a depth, which a start request has not; one to another callback is another request."""
    allow = [False]

    def answer(arrival: Arrival) -> Answer:
        if arrival.path == "/b" and not allow[0]:
            return Answer(status=429, headers={"Retry-After": "3600"})
        return Answer()

    with Server(answer) as server:
        settings = limits(20.0) | ports(server)
        first = crawl(FOLLOWED.format(url=server.url, starts=["/a"]), tmp_path, **settings)
        assert first.stats["polite/deferred"] == 2, first.log
        store = store_of(tmp_path)
        store.release("site:127.0.0.1")
        store.hasten_deferred("site:127.0.0.1")
        allow[0] = True
        server.arrivals.clear()
        done = crawl(FOLLOWED.format(url=server.url, starts=["/b", "/c"]), tmp_path, **settings)
        assert paths(server) == Counter({"/b": 2, "/c": 1}), done.log
        server.arrivals.clear()
        crawl(FOLLOWED.format(url=server.url, starts=["/b", "/b"]), tmp_path, **settings)
        assert paths(server) == Counter({"/b": 3}), "of a run that takes up nothing no request is missing"
        assert store.deferred() == []
        store.close()


WANTS_TO_STAY = """
from scrapy import signals
from scrapy.exceptions import DontCloseSpider
class Spider(TestSpider):
    asked = 0
    @classmethod
    def from_crawler(cls, crawler):
        spider = super().from_crawler(crawler)
        crawler.signals.connect(spider.idle, signals.spider_idle)
        return spider
    async def start(self):
        yield scrapy.Request("{url}/1", self.answered, errback=self.failed)
    def idle(self):
        self.asked += 1
        if self.asked == 1:
            raise DontCloseSpider
"""


def test_who_wants_the_spider_open_is_asked_and_obeyed(tmp_path: Path) -> None:
    with Server(holding(3600)) as server:
        done = crawl(WANTS_TO_STAY.format(url=server.url), tmp_path, **limits(20.0), **ports(server))
    assert done.stats["finish_reason"] == "polite_deferred"
    assert 9 < done.stats["elapsed_time_seconds"] < 25


def test_a_rate_that_is_slow_is_no_hold(tmp_path: Path) -> None:
    with Server() as server:
        settings = limits(0.25) | ports(server) | {"POLITE_DEFER_AFTER": 0.5, "POLITE_MAX_WAIT": 0.2}
        done = crawl(BROAD.format(count=3, urls=[server.url]), tmp_path, **settings)
    assert done.stats["finish_reason"] == "finished"
    assert len(done.urls()) == 3


IMAGES = """
class Spider(TestSpider):
    async def start(self):
        yield scrapy.Request("{free}/page")
    def parse(self, response):
        yield {{"image_urls": ["{held}/" + str(n) + ".png" for n in range(3)]}}
"""


def test_images_of_a_site_that_holds_for_an_hour_are_put_off_and_their_item_goes_on(tmp_path: Path) -> None:
    with Server(holding(3600), address="0.0.0.0") as held, Server(address="0.0.0.0") as free:
        spider = IMAGES.format(held=at(held, "127.0.0.1"), free=at(free, "127.0.0.2"))
        more = {"IMAGES_STORE": str(tmp_path / "images"), "FEEDS": {str(tmp_path / "items.json"): {"format": "jsonlines"}}}
        settings = limits(20.0) | ports(held, free) | {"POLITE_IMAGES": {"sizes": {}}} | more
        for run in range(2):
            done = crawl(spider, tmp_path, **settings)
            assert done.stats["finish_reason"] == "polite_deferred", done.log
            items = [json.loads(line) for line in (tmp_path / "items.json").read_text().splitlines()]
            assert [[image["status"] for image in item["images"]] for item in items] == [["deferred"] * 3] * (run + 1)
        store = store_of(tmp_path)
        assert {(row.owner, row.kind) for row in store.deferred()} == {("scrapybot/test images", "rate_limited")}
        assert sorted(row.url for row in store.deferred()) == [f"{at(held, '127.0.0.1')}/{n}.png" for n in range(3)]
        store.close()
