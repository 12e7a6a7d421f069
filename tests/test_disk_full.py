"""The disk of a JOBDIR is full in the middle of a crawl: no request is lost, and the log says so once.

The limits are in memory, so it is the queue alone that stops the crawl: what is on its way ends, what is new is kept in memory,
and when there is room again all goes on.
"""

from __future__ import annotations

import resource
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from loopback import Crawl, Running, Server, start
from test_killed import TREE

from scrapy_polite.seen import SeenFile
from scrapy_polite.takeover import forget_half_written

if TYPE_CHECKING:
    from pathlib import Path

PAGES = 900
RATE = 200
FAST = {"POLITE_COSTS": {"page": 1}, "POLITE_SITE_RATE": RATE, "POLITE_ORIGIN_RATE": RATE, "POLITE_STORE": "memory:"}

FULL = "The queue on disk cannot be written"
ROOM = "The queue on disk can be written again"


def begin(server: Server, tmp_path: Path) -> Running:
    source = TREE.format(url=server.url, pages=PAGES)
    return start(source, tmp_path, JOBDIR=str(tmp_path / "job"), POLITE_ALLOW_PORTS=[server.port], **FAST)


def every_page(server: Server) -> Counter[str]:
    paths = Counter(arrival.path for arrival in server.arrivals)
    assert set(paths) == {f"/{n}" for n in range(1, PAGES + 1)}
    return paths


def said_once(done: Crawl) -> None:
    assert done.log.count(FULL) == 1, done.log[-4000:]
    assert "Traceback" not in done.log, done.log[-4000:]


def test_the_crawl_waits_for_room_and_every_page_is_fetched_once(tmp_path: Path) -> None:
    with Server() as server, begin(server, tmp_path) as running:
        running.until(lambda: len(server.arrivals) > 100)
        with running.full_disk():
            time.sleep(1)
            before = len(server.arrivals)
            time.sleep(2)
            assert len(server.arrivals) == before
        done = running.end()
        said_once(done)
        assert done.log.count(ROOM) == 1
        assert done.stats["finish_reason"] == "finished"
        assert set(every_page(server).values()) == {1}


@pytest.mark.parametrize("wait", [0.0, 1.5], ids=["at once", "when there is room"])
def test_a_stop_in_between_or_afterwards_loses_nothing(tmp_path: Path, wait: float) -> None:
    with Server() as server:
        with begin(server, tmp_path) as running:
            running.until(lambda: len(server.arrivals) > 100)
            with running.full_disk():
                time.sleep(1)
                if not wait:
                    running.process.send_signal(signal.SIGTERM)
                    time.sleep(1)
            if wait:
                time.sleep(wait)
                running.process.send_signal(signal.SIGTERM)
            done = running.end(30)
            assert done.log.count(FULL) == 1
            assert done.log.count("The end of this run is not on disk") == (not wait)
        assert len(server.arrivals) < PAGES
        with begin(server, tmp_path) as running:
            assert running.end().stats["finish_reason"] == "finished"
        every_page(server)


@pytest.mark.parametrize("wait", [0.0, 1.5], ids=["while full", "when there is room"])
def test_a_kill_in_between_or_afterwards_loses_nothing(tmp_path: Path, wait: float) -> None:
    with Server() as server:
        with begin(server, tmp_path) as running:
            running.until(lambda: len(server.arrivals) > 100)
            with running.full_disk():
                time.sleep(1)
                if not wait:
                    running.process.kill()
                    running.process.wait()
            time.sleep(wait)
        assert len(server.arrivals) < PAGES
        with begin(server, tmp_path) as running:
            assert running.end().stats["finish_reason"] == "finished"
        every_page(server)


def test_what_the_duplicate_filter_writes_waits_for_room_and_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "requests.seen"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with path.open("a+b") as file:
        seen = SeenFile(file)
        assert seen.write(b"one") == 3
        seen.flush()
        resource.setrlimit(resource.RLIMIT_FSIZE, (5, before[1]))
        try:
            assert seen.write("zwei") == 4
            for _ in range(2):
                with pytest.raises(OSError, match="too large"):
                    seen.flush()
            assert path.read_bytes() == b"one"
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        seen.write(b"three")
        seen.close()
        assert seen.closed
    assert path.read_bytes() == b"onezweithree"


def test_a_half_written_state_is_forgotten_where_our_own_file_says_what_waits(tmp_path: Path) -> None:
    active = tmp_path / "active.json"
    active.touch()
    forget_half_written(tmp_path)
    assert active.exists(), "Scrapy's own queues have nothing else"
    (tmp_path / "requests.sqlite").touch()
    forget_half_written(tmp_path)
    assert not active.exists()
    active.write_text("[]")
    forget_half_written(tmp_path)
    assert active.read_text() == "[]"


def test_a_jobdir_without_room_is_an_error_at_start(tmp_path: Path) -> None:
    with Server() as server:
        with begin(server, tmp_path) as running:
            running.until(lambda: len(server.arrivals) > 20)
            running.process.kill()
            running.process.wait()
        before = len(server.arrivals)
        with begin(server, tmp_path) as running, running.full_disk():
            done = running.end(30)
        assert done.log.count(f"The crawl does not start: JOBDIR: '{tmp_path}/job' cannot be used: ") == 1, done.log
        assert len(server.arrivals) == before
        with begin(server, tmp_path) as running:
            running.end()
        every_page(server)
