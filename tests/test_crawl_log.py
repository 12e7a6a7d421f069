"""What the log of a running crawl says to whoever watches it: one line an event, and one a minute while all waits."""

from __future__ import annotations

import logging
import re
from contextlib import closing
from typing import TYPE_CHECKING

from commandline import polite
from loopback import Answer, Arrival, Server, crawl, limits, ports, start
from scrapy.settings import Settings

from scrapy_polite.config import Config
from scrapy_polite.origins.rulings import Ruling, Rulings
from scrapy_polite.planning import Planner
from scrapy_polite.stores.base import Cause, open_store

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SITE = "site:127.0.0.1"

WAITS = """
import scrapy_polite.holdwatch
scrapy_polite.holdwatch.SAY_EVERY = 1.5  # And not a minute.
class Spider(TestSpider):
    async def start(self):
        for n in range(2):
            yield scrapy.Request(f"{url}/{{n}}", callback=self.answered, errback=self.failed)
"""


def said(log: str, beginning: str) -> list[str]:
    """The messages of the log that begin so."""
    return re.findall(rf"(?:INFO|WARNING|ERROR): ({beginning}.*)", log)


def test_a_crawl_that_waits_says_for_what_and_since_whom_and_who_has_ended_it(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/limits.sqlite"
    with closing(open_store(url)) as store, Server() as server:
        store.hold(SITE, 100, Cause("denied", "403"))

        def by_hand(*arguments: str) -> None:
            done = polite(*arguments, SITE, "--author", "ann", "-s", f"POLITE_STORE={url}", cwd=tmp_path)
            assert done.returncode == 0, done.stderr

        with start(WAITS.format(url=server.url), tmp_path, **ports(server), **limits(20.0), POLITE_STORE=url) as running:
            running.until(lambda: len(said(running.log, "Waiting:")) > 1)
            by_hand("park", "--for", "4m", "--reason", "ticket 12")
            running.until(lambda: "ticket 12" in running.log)
            by_hand("release", "--reason", "they called")
            done = running.end(20)
    assert len(done.urls()) == 2
    first, parked = said(done.log, "Already held:")
    assert re.fullmatch(rf"Already held: {SITE} for 1 min \d+ s more \(denied: 403\)", first)
    assert re.fullmatch(
        rf"Already held: {SITE} for (4 min|3 min \d+ s) more \(parked: by ann: ticket 12 \(over denied: 403.*", parked
    )
    waiting = said(done.log, "Waiting:")
    line = rf"Waiting: 2 requests of 1 site; next {SITE} in 1 min \d+ s, at \d\d:\d\d:\d\d \(denied: 403\)"
    assert re.fullmatch(line, waiting[0])
    assert len(waiting) < 10
    (ended,) = [*said(done.log, "By hand:"), *said(done.log, "Hold ended by hand")]
    assert ended.startswith(f"By hand: {SITE} released by ann: they called (was parked: by ann: ticket 12")


def test_a_crawl_of_which_everything_was_refused_ends_with_a_warning_and_what_to_ask(tmp_path: Path) -> None:
    with Server() as server:
        done = crawl(WAITS.format(url=server.url), tmp_path, POLITE_ALLOW_NETWORKS=[])
        assert server.arrivals == []
        (line,) = said(done.log, "Guard: nothing was fetched")
        assert f"<{server.url}/" in line
        assert ". `scrapy polite explain URL`" in line
        assert ".." not in line.replace("...", "")
        (tmp_path / "allowed").mkdir()
        assert not said(crawl(WAITS.format(url=server.url), tmp_path / "allowed", **ports(server)).log, "Guard: nothing")


def test_a_site_that_asks_for_a_delay_is_told_once(tmp_path: Path) -> None:
    robots = b"User-agent: *\nCrawl-delay: 0.3\n"

    def answer(arrival: Arrival) -> Answer:
        return Answer(robots if arrival.path == "/robots.txt" else b"page")

    with Server(answer) as server:
        done = crawl(WAITS.format(url=server.url), tmp_path, **ports(server), **limits(20.0), ROBOTSTXT_OBEY=True)
    line = f"Delay: {SITE}: at least 0.3 s between two requests (the delay that {server.url}/robots.txt asks for)"
    assert said(done.log, "Delay:") == [line]


def test_a_delay_that_moves_a_little_with_each_answer_is_told_at_each_doubling(caplog: pytest.LogCaptureFixture) -> None:
    planner = Planner(Config.from_settings(Settings()), 10)
    with caplog.at_level(logging.INFO):
        for seconds in range(10, 50):
            planner.obey_delay(SITE, float(seconds), "RateLimit")
    assert [record.getMessage().split("least ")[1].split(" between")[0] for record in caplog.records] == [
        "10 s",
        "20 s",
        "40 s",
    ]


def test_what_is_ruled_is_told_as_what_was_done_by_whom_and_why() -> None:
    split = Ruling("www.gamma.example", "split", "origin:www.gamma.example", "root@vm", "own server", 1.0)
    join = Ruling("origin:a", "join", "origin:b", "ann", "", 1.0)
    assert split.act == "www.gamma.example split off by root@vm: own server"
    assert join.act == "origin:a joined to origin:b by ann"
    rulings = Rulings()
    assert rulings.replace([split]) == ([split], [])
    assert rulings.replace([split, join]) == ([join], [])
    assert rulings.replace([join]) == ([], [split])
