"""A crawl with a JOBDIR that is killed, again and again: every request is made in the end, and after clean stops once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from loopback import ROOT, SCRIPT, SETTINGS, Server

if TYPE_CHECKING:
    from collections.abc import Callable
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


def start(source: str, directory: Path, **settings: object) -> subprocess.Popen[str]:
    chosen = {**SETTINGS, "POLITE_STORE": f"sqlite:{directory}/limits.sqlite", **settings}
    script = directory / "crawl.py"
    script.write_text(SCRIPT.format(spider=source, settings=json.dumps(chosen)), encoding="utf-8")
    with (directory / "log.txt").open("a") as log:
        return subprocess.Popen(
            [sys.executable, str(script)],
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=log,
            text=True,
        )


def until(condition: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)


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
        before = len(server.arrivals)
        enough = before + chance.randint(5, 60)
        process = start(source, directory, JOBDIR=str(directory / "job"), POLITE_ALLOW_PORTS=[server.port], **FAST, **settings)
        try:
            until(lambda: len(server.arrivals) >= enough, process)
            if process.poll() is not None:
                assert process.returncode == 0, (directory / "log.txt").read_text()[-4000:]
                return stops
            stop(process, ways[stops % len(ways)], chance.random() / 10)
        finally:
            process.kill()
            process.wait(10)
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
