"""What once made a crawl hang, spin, leak, or go where it must not: each stays mended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from loopback import ROOT, Answer, Arrival, Server, crawl
from PIL import Image

if TYPE_CHECKING:
    from pathlib import Path

OPEN = {"POLITE_SITE_RATE": 100, "POLITE_ORIGIN_RATE": 100}
NO_ROBOTS = Answer(status=404)


def test_an_item_with_files_on_more_new_sites_than_there_is_room_does_not_stop_the_crawl(tmp_path: Path) -> None:
    source = """
class Spider(TestSpider):
    start_urls = ["{page}/"]
    def parse(self, response):
        yield {{"file_urls": {files}}}
"""

    def answer(arrival: Arrival) -> Answer:
        return NO_ROBOTS if arrival.path == "/robots.txt" else Answer()

    with ExitStack() as stack:
        servers = [stack.enter_context(Server(answer, address=f"127.0.3.{n}")) for n in range(1, 13)]
        urls = [server.url.replace("127.0.0.1", f"127.0.3.{n}") for n, server in enumerate(servers, 1)]
        done = crawl(
            source.format(page=urls[0], files=[f"{url}/file" for url in urls]),
            tmp_path,
            timeout=60,
            **OPEN,
            ROBOTSTXT_OBEY=True,
            CONCURRENT_REQUESTS=4,
            ITEM_PIPELINES={"scrapy.pipelines.files.FilesPipeline": 1},
            FILES_STORE=str(tmp_path / "files"),
            POLITE_ALLOW_PORTS=[server.port for server in servers],
        )
        assert done.stats["file_count"] == 12, done.log
        assert done.stats["finish_reason"] == "finished"


def test_hosts_whose_robots_txt_is_held_for_years_keep_no_other_host_from_being_opened(tmp_path: Path) -> None:
    source = """
class Spider(TestSpider):
    async def start(self):
        for url in {held}:
            yield scrapy.Request(url, errback=self.failed)
        yield scrapy.Request("{good}/")
    def parse(self, response):
        self.answered(response)
        raise scrapy.exceptions.CloseSpider("done")
"""
    years = Answer(status=429, headers={"Retry-After": "999999999"})
    with ExitStack() as stack:
        held = [stack.enter_context(Server(lambda arrival: years, address=f"127.0.4.{n}")) for n in range(1, 19)]
        good = stack.enter_context(Server(lambda arrival: NO_ROBOTS if arrival.path == "/robots.txt" else Answer()))
        urls = [server.url.replace("127.0.0.1", f"127.0.4.{n}") for n, server in enumerate(held, 1)]
        done = crawl(
            source.format(held=urls, good=good.url),
            tmp_path,
            timeout=60,
            **OPEN,
            ROBOTSTXT_OBEY=True,
            POLITE_ALLOW_PORTS=[good.port, *(server.port for server in held)],
        )
        assert done.urls() == [f"{good.url}/"], done.log
        assert all([arrival.path for arrival in server.arrivals] == ["/robots.txt"] for server in held)


def test_one_place_in_the_downloader_and_two_ports_of_one_host_are_enough(tmp_path: Path) -> None:
    source = """
class Spider(TestSpider):
    start_urls = ["{one}/", "{two}/"]
    def parse(self, response):
        self.answered(response)
"""
    with Server(lambda arrival: Answer()) as one, Server(lambda arrival: Answer()) as two:
        done = crawl(
            source.format(one=one.url, two=two.url),
            tmp_path,
            timeout=60,
            **OPEN,
            ROBOTSTXT_OBEY=True,
            CONCURRENT_REQUESTS=1,
            POLITE_ALLOW_PORTS=[one.port, two.port],
        )
        assert len(done.urls()) == 2, done.log


def test_a_download_past_the_scheduler_waits_for_the_end_of_a_hold_without_spinning(tmp_path: Path) -> None:
    source = """
import time
class Spider(TestSpider):
    start_urls = ["{url}/start"]
    async def parse(self, response):
        began, cpu = time.monotonic(), time.process_time()
        answer = await self.crawler.engine.download_async(scrapy.Request("{url}/direct"))
        self.results.append([answer.url, answer.status, time.monotonic() - began, time.process_time() - cpu])
"""
    held: list[float] = []

    def answer(arrival: Arrival) -> Answer:
        if arrival.path == "/direct" and not held:
            held.append(arrival.at)
            return Answer(status=429, headers={"Retry-After": "3"})
        return Answer()

    with Server(answer) as server:
        options = {**OPEN, "POLITE_MAX_WAIT": 0.5}
        done = crawl(source.replace("{url}", server.url), tmp_path, timeout=60, **options, POLITE_ALLOW_PORTS=[server.port])
        (result,) = done.results
        assert result[1] == 200, done.log
        assert server.arrivals[-1].at >= held[0] + 3
        assert len(server.arrivals) == 3
        assert result[3] < result[2] / 2, "it slept through the hold"


def test_requests_are_forgotten_when_they_are_done(tmp_path: Path) -> None:
    source = """
import gc
class Spider(TestSpider):
    async def start(self):
        for n in range(600):
            yield scrapy.Request("{url}/" + str(n))
    def closed(self, reason):
        gc.collect()
        alive = sum(isinstance(thing, scrapy.Request) for thing in gc.get_objects())
        self.results.append(["alive", 0, alive])
    def parse(self, response):
        pass
"""
    with Server() as server:
        rates = {"POLITE_SITE_RATE": 5000, "POLITE_ORIGIN_RATE": 5000}
        done = crawl(source.replace("{url}", server.url), tmp_path, **rates, POLITE_ALLOW_PORTS=[server.port])
        assert done.stats["polite/requests/page"] == 600, done.log
        assert done.results[-1][2] < 50


@pytest.mark.parametrize("cost", [0, -5, '"dear"', 'float("nan")', "[1]"])
def test_a_cost_that_is_none_is_told_and_the_kinds_own_is_charged(tmp_path: Path, cost: object) -> None:
    source = """
class Spider(TestSpider):
    async def start(self):
        for n in range(5):
            yield scrapy.Request("{url}/" + str(n), meta={"polite_cost": COST}, callback=self.answered, errback=self.failed)
"""
    with Server() as server:
        source = source.replace("{url}", server.url).replace("COST", str(cost))
        rates = {"POLITE_SITE_RATE": 10, "POLITE_ORIGIN_RATE": 10}
        done = crawl(source, tmp_path, **rates, POLITE_ALLOW_PORTS=[server.port])
        assert len(done.urls()) == 5, done.log
        assert min(server.gaps()) >= 0.1, "a page costs 2 at 10 a second: 0.2 s, less the width and what a stamp may be late"
        assert done.log.count("is not a number above 0") == 1


@pytest.mark.parametrize(("status", "fetched"), [(301, ["/old", "/new"]), (404, ["/old"])])
def test_an_answer_with_a_retry_after_is_passed_on_and_its_site_held(tmp_path: Path, status: int, fetched: list[str]) -> None:
    source = """
class Spider(TestSpider):
    handle_httpstatus_list = [404]
    start_urls = ["{url}/old"]
    def parse(self, response):
        self.answered(response)
"""

    def answer(arrival: Arrival) -> Answer:
        if arrival.path == "/old":
            return Answer(status=status, headers={"Retry-After": "2", "Location": "/new"})
        return Answer()

    with Server(answer) as server:
        done = crawl(source.replace("{url}", server.url), tmp_path, timeout=60, **OPEN, POLITE_ALLOW_PORTS=[server.port])
        assert [arrival.path for arrival in server.arrivals] == fetched, done.log
        assert len(done.results) == 1
        if status == 301:
            assert server.gaps()[0] >= 2


def test_a_robots_txt_that_leads_inside_is_asked_for_once_and_nothing_is_fetched(tmp_path: Path) -> None:
    source = """
class Spider(TestSpider):
    async def start(self):
        for n in range(5):
            yield scrapy.Request("{url}/" + str(n), errback=self.failed)
"""
    inside = Answer(status=302, headers={"Location": "http://169.254.169.254/robots.txt"})
    with Server(lambda arrival: inside if arrival.path == "/robots.txt" else Answer()) as server:
        options = {**OPEN, "ROBOTSTXT_OBEY": True, "POLITE_DEFER_AFTER": 5}
        done = crawl(source.replace("{url}", server.url), tmp_path, **options, POLITE_ALLOW_PORTS=[server.port])
        assert [arrival.path for arrival in server.arrivals] == ["/robots.txt"], done.log
        assert done.results == []
        assert done.stats["polite/deferred"] == 5


def test_what_waits_for_its_robots_txt_is_not_sent_at_shutdown(tmp_path: Path) -> None:
    (tmp_path / "spider.py").write_text(
        """
import scrapy
class Spider(scrapy.Spider):
    name = "files"
    async def start(self):
        yield scrapy.Request("URL/page", meta={"dont_obey_robotstxt": True})
    def parse(self, response):
        yield {"file_urls": [f"URL/file/{n}" for n in range(20)]}
""",
        encoding="utf-8",
    )

    def answer(arrival: Arrival) -> Answer:
        if arrival.path == "/robots.txt":
            return Answer(status=429, headers={"Retry-After": "600"})
        return Answer()

    with Server(answer) as server:
        source = (tmp_path / "spider.py").read_text().replace("URL", server.url)
        (tmp_path / "spider.py").write_text(source, encoding="utf-8")
        options = {
            "POLITE_ALLOW_PORTS": str(server.port),
            "POLITE_ALLOW_NETWORKS": "127.0.0.0/8",
            "POLITE_STORE": f"sqlite:{tmp_path}/limits.sqlite",
            "ADDONS": '{"scrapy_polite.Addon": 300}',
            "ITEM_PIPELINES": '{"scrapy.pipelines.files.FilesPipeline": 1}',
            "FILES_STORE": str(tmp_path / "files"),
            "TELNETCONSOLE_ENABLED": "False",
        }
        settings = [part for name, value in options.items() for part in ("-s", f"{name}={value}")]
        with (tmp_path / "log").open("w") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "scrapy", "runspider", "spider.py", *settings],
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stderr=log,
            )
            try:
                end = time.monotonic() + 60
                while not any(arrival.path == "/robots.txt" for arrival in server.arrivals) and time.monotonic() < end:
                    time.sleep(0.05)
                time.sleep(0.5)
                process.send_signal(signal.SIGTERM)
                process.wait(30)
            finally:
                process.kill()
                process.wait()
        assert {arrival.path for arrival in server.arrivals} == {"/page", "/robots.txt"}, (tmp_path / "log").read_text()


def test_an_image_that_redirects_to_a_held_host_waits_for_that_host(tmp_path: Path) -> None:
    source = """
class Spider(TestSpider):
    start_urls = ["{here}/"]
    def parse(self, response):
        yield {{"image_urls": ["{here}/picture.png"]}}
"""
    picture = BytesIO()
    Image.new("RGB", (64, 48), "white").save(picture, "PNG")
    refused: list[float] = []

    def there_answers(arrival: Arrival) -> Answer:
        if not refused:
            refused.append(arrival.at)
            return Answer(status=429, headers={"Retry-After": "3"})
        return Answer(picture.getvalue())

    with Server(there_answers, address="127.0.5.1") as there:
        elsewhere = Answer(status=302, headers={"Location": there.url.replace("127.0.0.1", "127.0.5.1") + "/picture.png"})
        with Server(lambda arrival: elsewhere if arrival.path == "/picture.png" else Answer()) as here:
            done = crawl(
                source.format(here=here.url),
                tmp_path,
                timeout=60,
                **OPEN,
                IMAGES_STORE=str(tmp_path / "images"),
                MEDIA_ALLOW_REDIRECTS=True,
                POLITE_MAX_WAIT=0.5,
                POLITE_ALLOW_PORTS=[here.port, there.port],
            )
            assert done.stats["polite/images/ok"] == 1, done.log
            assert there.arrivals[-1].at >= refused[0] + 3
            assert sum(arrival.path == "/picture.png" for arrival in here.arrivals) <= 3
