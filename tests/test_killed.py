"""A crawl with a JOBDIR that is killed, again and again: every request is made in the end, and after clean stops once."""

from __future__ import annotations

import io
import json
import random
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from loopback import Answer, Arrival, Server, crawl, start
from PIL import Image

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

PAGES = 240

# A tree: each page of /1, /2, ... leads to three more, and to its parent, which was seen.
TREE = """
class Spider(TestSpider):
    async def start(self):
        for n in range(1, 4):
            yield scrapy.Request("{url}/" + str(n))
    def parse(self, response):
        n = int(response.url.rpartition("/")[2])
        yield {{"page": n}}
        for child in range(3 * n + 1, 3 * n + 4):
            if child <= {pages}:
                yield response.follow("/" + str(child), priority=child % 5)
        if n > 3:
            yield response.follow("/" + str((n - 1) // 3))
    def closed(self, reason):
        with open("ends.txt", "a") as file:
            file.write(reason + chr(10))
"""

FAST = {"POLITE_COSTS": {"page": 1}, "POLITE_SITE_RATE": 200, "POLITE_ORIGIN_RATE": 200}


def stop(process: subprocess.Popen[str], how: str, wait: float) -> None:
    """``how``: the signals, one after the other."""
    time.sleep(wait)
    for name in how.split():
        if process.poll() is None:
            process.send_signal(signal.Signals[name])
            time.sleep(0.02)
    process.wait(30)


def crawl_to_the_end(server: Server, directory: Path, ways: list[str], chance: random.Random, **settings: object) -> int:
    """Start the crawl, and stop it after some pages in one of the ``ways``, until it ends by itself. Answers the stops."""
    source = TREE.format(url=server.url, pages=PAGES)
    for stops in range(40):
        enough = len(server.arrivals) + chance.randint(5, 60)
        options = {"JOBDIR": str(directory / "job"), "POLITE_ALLOW_PORTS": [server.port], **FAST, **settings}
        with start(source, directory, **options) as running:
            process = running.process
            end = time.monotonic() + 60
            while len(server.arrivals) < enough and process.poll() is None and time.monotonic() < end:
                time.sleep(0.002)
            if process.poll() is not None:
                assert process.returncode == 0, running.log[-4000:]
                return stops
            stop(process, ways[stops % len(ways)], chance.random() / 10)
    raise AssertionError("the crawl never ends")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nothing_is_lost_however_often_the_crawl_is_killed(tmp_path: Path, seed: int) -> None:
    ways = ["SIGKILL", "SIGTERM", "SIGTERM SIGTERM", "SIGKILL"]
    with Server() as server:
        stops = crawl_to_the_end(server, tmp_path, ways, random.Random(seed))
        paths = Counter(arrival.path for arrival in server.arrivals)
        assert {f"/{n}" for n in range(1, PAGES + 1)} == set(paths)
        assert stops >= 3
        # What was on its way is made again, and nothing else: one more for each place in the downloader and each stop.
        assert paths.total() <= PAGES + stops * 64


def test_after_clean_stops_each_request_was_made_once(tmp_path: Path) -> None:
    with Server() as server:
        stops = crawl_to_the_end(server, tmp_path, ["SIGTERM"], random.Random(4))
        paths = Counter(arrival.path for arrival in server.arrivals)
        assert sorted(paths) == sorted(f"/{n}" for n in range(1, PAGES + 1))
        assert set(paths.values()) == {1}
        assert stops >= 3


IMAGES = """
import asyncio
class Spider(TestSpider):
    async def start(self):
        yield scrapy.Request("{url}/page")
        asyncio.get_running_loop().call_later({seconds}, self.end)
    def parse(self, response):
        for n in range(3):
            yield {{"n": n, "image_urls": ["{url}/" + str(10 * n + m) + ".png" for m in range(10)]}}
    def end(self):
        asyncio.ensure_future(self.crawler.engine.close_spider_async(reason="enough"))
"""


@pytest.mark.parametrize("job", [True, False])
def test_images_that_wait_when_the_spider_closes_are_fetched_by_the_next_run(job: bool, tmp_path: Path) -> None:
    picture = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(picture, "PNG")

    def answer(arrival: Arrival) -> Answer:
        return Answer(picture.getvalue(), headers={"Content-Type": "image/png"}) if "png" in arrival.path else Answer()

    with Server(answer) as server:
        settings = {
            "JOBDIR": str(tmp_path / "job") if job else None,
            "IMAGES_STORE": str(tmp_path / "images"),
            "POLITE_ALLOW_PORTS": [server.port],
            "POLITE_SITE_RATE": 10,
            "POLITE_ORIGIN_RATE": 10,
            "FEEDS": {str(tmp_path / "items.json"): {"format": "jsonlines"}},
        }
        first = crawl(IMAGES.format(url=server.url, seconds=1.5), tmp_path, **settings)
        items = [json.loads(line) for line in (tmp_path / "items.json").read_text().splitlines()]
        images = [image for item in items for image in item["images"]]
        deferred = [image["path"] for image in images if image["status"] == "deferred"]
        assert len(items) == 3, first.log
        assert len(images) == 30
        assert 0 < len(deferred) < 30
        assert not any((tmp_path / "images" / path).exists() for path in deferred)
        second = crawl(IMAGES.format(url=server.url, seconds=1), tmp_path, **settings)
        assert f"Fetching {len(deferred)} images that the last run has put off" in second.log
        crawl(IMAGES.format(url=server.url, seconds=60), tmp_path, **settings)
        assert all((tmp_path / "images" / image["path"]).exists() for image in images)
        paths = Counter(arrival.path for arrival in server.arrivals if "png" in arrival.path)
        assert len(paths) == 30
        assert set(paths.values()) == {1}
