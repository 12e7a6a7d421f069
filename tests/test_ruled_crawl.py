"""A crawl that is under way obeys what people rule about origins, and limits by the names that origins had."""

from __future__ import annotations

import time
from contextlib import ExitStack
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from loopback import Answer, Arrival, Server, crawl, start
from nameserver import Script, name_server_in_a_thread

from scrapy_polite.stores.base import Ruling, open_store
from scrapy_polite.stores.obeying import enact, undo

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

RATE = 20.0
"""Of an origin, where a page costs 1. A site may have more."""

OBEYED = 2.5
"""Seconds after which a running crawl has noticed, at the latest."""

ONE, OTHER = "127.0.0.1", "127.0.0.2"

SPIDER = """
class Spider(TestSpider):
    async def start(self):
        for n in range({pages}):
            for host in {hosts!r}:
                yield scrapy.Request(f"http://{{host}}:{port}/{{n}}", callback=self.answered, errback=self.failed)
"""


def rate_of(arrivals: Sequence[Arrival], since: float, until: float) -> float:
    """Requests a second in a span of time."""
    return sum(since <= arrival.at < until for arrival in arrivals) / (until - since)


def spider(port: int, pages: int, *hosts: str) -> str:
    return SPIDER.format(pages=pages, hosts=hosts, port=port)


def settings(port: int) -> dict[str, object]:
    return {
        "POLITE_COSTS": {"page": 1},
        "POLITE_SITE_RATE": 100.0,
        "POLITE_ORIGIN_RATE": RATE,
        "POLITE_ALLOW_PORTS": [port],
        "CONCURRENT_REQUESTS": 32,
    }


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_two_origins_that_are_one_by_hand_share_a_rate_at_once_and_until_it_runs_out(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = f"sqlite:{tmp_path}/limits.sqlite" if kind == "sqlite" else request.getfixturevalue("database").url
    with ExitStack() as stack:
        one = stack.enter_context(Server(address=ONE))
        other = stack.enter_context(Server(address=OTHER, port=one.port))
        running = stack.enter_context(
            start(spider(one.port, 170, ONE, OTHER), tmp_path, POLITE_STORE=url, **settings(one.port))
        )
        running.until(lambda: len(one.arrivals) > 20 and len(other.arrivals) > 20)
        store = open_store(url)
        stack.callback(store.close)
        now, at = time.time(), time.monotonic()
        ends = now + OBEYED + 3
        ruling = Ruling(f"origin:{OTHER}", "join", f"origin:{ONE}", "ann", "one machine", now, ends)
        enact(store, ruling, f"origin:{OTHER}")
        assert store.standing([f"origin:{OTHER}"])[f"origin:{OTHER}"] == f"origin:{ONE}"
        running.until(lambda: time.time() > ends + OBEYED)
        assert store.standing([f"origin:{OTHER}"])[f"origin:{OTHER}"] == f"origin:{OTHER}", "the crawl has undone it"
        assert store.lapsed() == store.rulings() == []
        running.until(lambda: time.time() > ends + OBEYED + 1.5)
        done = f"origin:{OTHER} joined to origin:{ONE} by ann: one machine\n"
        assert [running.log.count(said + done) for said in ("By hand: ", "No longer in force: ")] == [1, 1]
        arrivals = [*one.arrivals, *other.arrivals]
        # Nobody bursts through the alias in the store, not even before he has noticed.
        assert rate_of(arrivals, at + 0.2, at + OBEYED + 3) <= 1.1 * RATE
        assert rate_of(arrivals, at + OBEYED, at + OBEYED + 3) >= 0.7 * RATE
        assert rate_of(arrivals, at + 2 * OBEYED + 3, at + 2 * OBEYED + 4.5) >= 1.4 * RATE, "two rates again"


def test_a_host_that_is_split_off_by_hand_has_a_rate_of_its_own_and_goes_back(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(Server())
        hosts = (ONE, "localhost.test")
        options = settings(server.port)
        script = spider(server.port, 160, *hosts)
        says = Script()
        says.add("localhost.test", (300, "A", ONE))
        dns = stack.enter_context(name_server_in_a_thread(ONE, says))
        running = stack.enter_context(start(script, tmp_path, POLITE_DNS_SERVERS=[dns], **options))
        running.until(lambda: len(server.arrivals) > 20)
        store = open_store(f"sqlite:{tmp_path}/limits.sqlite")
        stack.callback(store.close)
        before = time.monotonic()
        ruling = Ruling("localhost.test", "split", "origin:localhost.test", "ann", "", time.time(), None)
        enact(store, ruling, f"origin:{ONE}")
        running.until(lambda: time.monotonic() > before + OBEYED + 2)
        split = rate_of(server.arrivals, before + OBEYED, before + OBEYED + 2)
        undo(store, ruling)
        back = time.monotonic()
        running.until(lambda: time.monotonic() > back + OBEYED + 1)
        assert rate_of(server.arrivals, before - 0.8, before) <= 1.2 * RATE, "one origin, one rate"
        assert split >= 1.4 * RATE, "two origins"
        assert rate_of(server.arrivals, back + OBEYED, back + OBEYED + 1) <= 1.2 * RATE, "one again"


def test_the_limit_of_a_name_that_is_an_alias_holds_for_the_origin_from_the_first_request_on(tmp_path: Path) -> None:
    """The servers of the one name bear 4 a second, says the setting; that they have another name as well changes nothing."""
    store = open_store(f"sqlite:{tmp_path}/limits.sqlite")
    store.merge(f"origin:{OTHER}", f"origin:{ONE}")
    store.close()
    with Server(address=ONE) as server:
        limits = {f"origin:{OTHER}": {"rate": 4.0, "burst": 0}}
        done = crawl(spider(server.port, 12, ONE), tmp_path, **settings(server.port), POLITE_LIMITS=limits)
        assert len(done.urls()) == 12, done.log
        gaps = server.gaps()
        assert min(gaps) >= 0.25 - 0.05 - 0.03, gaps


def test_the_cap_of_a_name_that_becomes_an_alias_holds_for_a_crawl_that_is_under_way(tmp_path: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(Server(lambda arrival: Answer(wait=0.2), address=ONE))
        options = settings(server.port) | {
            "POLITE_ORIGIN_RATE": 100.0,
            "POLITE_LIMITS": {f"origin:{OTHER}": {"concurrency": 1}},
        }
        running = stack.enter_context(start(spider(server.port, 400, ONE), tmp_path, **options))
        running.until(lambda: len(server.arrivals) > 30)
        store = open_store(f"sqlite:{tmp_path}/limits.sqlite")
        stack.callback(store.close)
        at = time.monotonic()
        store.merge(f"origin:{OTHER}", f"origin:{ONE}")
        running.until(lambda: time.monotonic() > at + OBEYED + 1.5)
        assert rate_of(server.arrivals, at - 0.5, at) > 12, "several at once"
        one_by_one = [arrival.at for arrival in server.arrivals if arrival.at > at + OBEYED]
        assert len(one_by_one) >= 4
        assert min(later - earlier for earlier, later in pairwise(one_by_one)) > 0.19
