"""Every request of a crawl is accounted for: done, failed to its errback, or put off; whatever happens on the way."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from loopback import Answer, Arrival, Running, Server, limits, ports, start

from scrapy_polite.stores.base import Cause, open_store

if TYPE_CHECKING:
    from pathlib import Path

SITES = {
    "127.0.0.2": "answers",
    "127.0.0.3": "answers",
    "127.0.0.4": "holds for an hour",
    "127.0.0.5": "is parked by a person",
    "127.0.0.6": "is not there",
    "127.0.0.7": "says 404",
}

# Appended to a file at once: of a process that is killed nothing else is left.
ACCOUNTED = """
import os
class Spider(TestSpider):
    custom_settings = dict(RETRY_ENABLED=False, HTTPERROR_ALLOW_ALL=True)
    async def start(self):
        for n in range({count}):
            for url in {urls}:
                yield scrapy.Request(url + "/" + str(n), self.answered, errback=self.failed, dont_filter=False)
        self.note("started", "all")
    def note(self, what, url):
        handle = os.open({path!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, (what + " " + url + "\\n").encode())
        os.close(handle)
    def answered(self, response):
        self.note("done", response.url)
    def failed(self, failure):
        self.note("failed", failure.request.url)
"""


def answer(arrival: Arrival) -> Answer:
    kind = SITES[arrival.headers["host"].partition(":")[0]]
    if kind == "holds for an hour":
        return Answer(status=429, headers={"Retry-After": "3600"})
    if kind == "is not there":
        return Answer(close=True, status=0, headers={"Content-Length": "none"})
    return Answer(status=404 if kind == "says 404" else 200)


class World:
    """A crawl of all of them, which may be run several times, and the accounts that it leaves."""

    def __init__(self, server: Server, folder: Path, count: int, **settings: object) -> None:
        self.folder, self.notes = folder, folder / "accounts"
        self.urls = {f"http://{host}:{server.port}/{n}" for host in SITES for n in range(count)}
        hosts = [f"http://{host}:{server.port}" for host in SITES]
        self.spider = ACCOUNTED.format(count=count, urls=hosts, path=str(self.notes))
        self.settings = limits(8.0) | ports(server) | settings
        store = open_store(f"sqlite:{folder}/limits.sqlite")
        store.hold("site:127.0.0.5", 1e6, Cause("parked", "by ann"))
        store.close()

    def start(self) -> Running:
        return start(self.spider, self.folder, **self.settings)

    def ended(self) -> Counter[str]:
        """How often each URL has come to an end."""
        return Counter(line.partition(" ")[2] for line in self._lines() if not line.startswith("started"))

    def started(self) -> bool:
        """Whether all requests were made."""
        return any(line.startswith("started") for line in self._lines())

    def _lines(self) -> list[str]:
        return self.notes.read_text().splitlines() if self.notes.exists() else []

    def put_off(self) -> list[str]:
        store = open_store(f"sqlite:{self.folder}/limits.sqlite")
        with closing(store):
            return [row.url for row in store.deferred()]

    def in_the_queue(self) -> list[str]:
        """What waits in the JOBDIR."""
        import json

        with closing(sqlite3.connect(self.folder / "job" / "requests.queue" / "requests.sqlite")) as database:
            return [json.loads(data)["url"] for (data,) in database.execute("SELECT data FROM request")]


def test_the_sum_is_right_after_a_restart_with_holds_and_a_store_that_is_away(tmp_path: Path) -> None:
    """Without a JOBDIR: what waits is in the store."""
    with Server(answer, address="0.0.0.0") as server:
        world = World(server, tmp_path, 12)
        store, aside = tmp_path / "limits.sqlite", tmp_path / "aside"
        with world.start() as running:
            running.until(lambda: len(world.ended()) >= 8)
            store.rename(aside)
            running.until(lambda: "The store cannot answer" in running.log)
            before = len(server.arrivals)
            time.sleep(1.0)
            assert len(server.arrivals) <= before + 1
            aside.rename(store)
            running.until(lambda: "The store answers again" in running.log)
            running.until(lambda: world.started() and len(world.ended()) >= 14)
            running.process.send_signal(signal.SIGTERM)
            first = running.end(60)
        assert first.stats["finish_reason"] == "shutdown", first.log
        ended, waiting = world.ended(), world.put_off()
        assert set(ended.values()) == {1}
        assert sorted([*ended, *waiting]) == sorted(world.urls), first.log
        with world.start() as running:
            last = running.end(120)
        assert last.stats["finish_reason"] == "polite_deferred", last.log
        assert last.stats["polite/deferred/taken_up"] >= 1
        held = {url for url in world.urls if SITES[url.split("/")[2].partition(":")[0]].endswith(("hour", "person"))}
        assert sorted(world.put_off()) == sorted(held)
        assert set(world.ended()) == world.urls - held
        # The start requests of the second run ask again for what the first had done; nothing else is made twice.
        assert all(times == 1 + (url in ended) for url, times in world.ended().items())


@pytest.mark.parametrize("seed", [1])
def test_the_sum_is_right_after_kills_at_random_moments(seed: int, tmp_path: Path) -> None:
    """With a JOBDIR: what waits is in the queue on disk."""
    chance = random.Random(seed)
    with Server(answer, address="0.0.0.0") as server:
        world = World(server, tmp_path, 12, JOBDIR=str(tmp_path / "job"))
        for _ in range(3):
            with world.start() as running:
                count = len(world.ended()) + chance.randrange(3, 10)
                running.until(lambda count=count: len(world.ended()) >= count)
                os.kill(running.process.pid, signal.SIGKILL)
                running.end(20)
        with world.start() as running:
            last = running.end(120)
        assert last.stats["finish_reason"] == "polite_deferred", last.log
        ended, waiting = world.ended(), world.in_the_queue()
        assert set(ended) | set(waiting) == world.urls
        assert set(ended).isdisjoint(waiting)
        assert len(waiting) == len(set(waiting)) == 24
        assert "In the JOBDIR: 24 requests of 2 sites wait for the next run" in last.log
        assert world.put_off() == []
        # A kill takes back at most what was under way.
        assert sum(ended.values()) - len(ended) <= 3 * 16


def test_what_a_killed_run_had_taken_up_is_taken_up_again(tmp_path: Path) -> None:
    with Server(answer, address="0.0.0.0") as server:
        world = World(server, tmp_path, 12)
        with world.start() as running:
            running.until(lambda: world.started() and len(world.ended()) >= 4)
            running.process.send_signal(signal.SIGTERM)
            running.end(60)
        waiting = world.put_off()
        assert len(waiting) > 24
        with world.start() as running:
            running.until(lambda: "Taken up" in running.log)
            running.process.kill()
            running.end(20)
        # Nothing is gone but what had come to its end.
        assert set(waiting) - set(world.put_off()) <= set(world.ended())
        with closing(sqlite3.connect(tmp_path / "limits.sqlite")) as database:
            assert database.execute("SELECT count(*) FROM deferred WHERE run <> ''").fetchone()[0] > 0
            database.execute("UPDATE deferred SET until = 1.0")  # A minute later.
            database.commit()
        with world.start() as running:
            last = running.end(120)
        assert last.stats["polite/deferred/taken_up"] > 0
        assert set(world.ended()) | set(world.put_off()) == world.urls
        assert set(world.ended()).isdisjoint(world.put_off())
