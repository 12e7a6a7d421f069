"""Slots are kept where it counts: at the server, on plain and TLS connections, new and pooled, with a busy reactor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from loopback import FETCH, SLACK, WIDTH, Answer, Arrival, Proxy, Server, crawl, kept, limits, ports
from twisted.internet.protocol import Factory
from twisted.protocols.tls import BufferingTLSTransport, TLSMemoryBIOProtocol
from twisted.web._newclient import HTTP11ClientProtocol
from twisted.web.client import HTTPConnectionPool

if TYPE_CHECKING:
    import ssl
    from pathlib import Path

BUSY = """
import asyncio, time
class Spider(TestSpider):
    async def start(self):
        self.busy = asyncio.create_task(self.work())
        for n in range({count}):
            yield scrapy.Request("{url}/" + str(n), callback=self.answered, errback=self.failed, dont_filter=True)
    async def work(self):
        while True:
            end = time.perf_counter() + 0.06
            while time.perf_counter() < end:
                pass
            await asyncio.sleep(0.04)
"""


def test_plain_connections_keep_the_interval_and_the_rate(tmp_path: Path) -> None:
    with Server() as server:
        done = crawl(FETCH.format(count=20, url=server.url), tmp_path, **limits(5), **ports(server))
        assert len(done.urls()) == 20, done.log
        kept(server, 0.2)
        span = server.arrivals[-1].at - server.arrivals[0].at
        assert span >= 19 * 0.2 - WIDTH - SLACK
        assert done.stats["polite/slots/booked"] == 20
        assert server.connections <= 10


def test_tls_connections_keep_the_interval(tmp_path: Path, tls: ssl.SSLContext) -> None:
    with Server(tls=tls) as server:
        done = crawl(FETCH.format(count=15, url=server.url), tmp_path, **limits(5), **ports(server))
        assert len(done.urls()) == 15, done.log
        kept(server, 0.2)


def test_new_connections_for_every_request_keep_the_interval(tmp_path: Path, tls: ssl.SSLContext) -> None:
    with Server(lambda arrival: Answer(close=True, headers={"Connection": "close"}), tls=tls) as server:
        done = crawl(FETCH.format(count=10, url=server.url), tmp_path, **limits(5), **ports(server))
        assert len(done.urls()) == 10, done.log
        assert server.connections == 10
        kept(server, 0.2)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_busy_reactor_delays_but_never_bunches(tmp_path: Path, tls: ssl.SSLContext, scheme: str) -> None:
    with Server(tls=tls if scheme == "https" else None) as server:
        done = crawl(BUSY.format(count=20, url=server.url), tmp_path, **limits(5), **ports(server))
        assert len(done.urls()) == 20, done.log
        kept(server, 0.2)


def test_a_connection_that_died_while_it_waited_is_replaced_and_charged_once(tmp_path: Path) -> None:
    # The server closes idle connections after 0.15 s, and slots are 0.4 s apart: every pooled one is dead in its slot.
    with Server(idle=0.15) as server:
        done = crawl(FETCH.format(count=6, url=server.url), tmp_path, **limits(2.5), **ports(server))
        assert len(done.urls()) == 6, done.log
        assert len(server.arrivals) == 6
        assert done.stats["polite/slots/booked"] == 6
        kept(server, 0.4)


def test_a_handshake_that_fails_books_nothing(tmp_path: Path) -> None:
    with Server(idle=0.3) as server:
        url = server.url.replace("http:", "https:")
        done = crawl(FETCH.format(count=2, url=url), tmp_path, **limits(50), **ports(server), RETRY_ENABLED=False)
        assert [result[1] for result in done.results] == ["DownloadFailedError"] * 2, done.log
        assert "polite/slots/booked" not in done.stats


def test_a_body_leaves_with_its_request(tmp_path: Path) -> None:
    spider = """
class Spider(TestSpider):
    async def start(self):
        for n in range(6):
            yield scrapy.Request("{url}/" + str(n), method="POST", body=b"x" * 300_000, callback=self.answered,
                                 errback=self.failed, dont_filter=True)
"""
    with Server() as server:
        done = crawl(spider.replace("{url}", server.url), tmp_path, **limits(5), **ports(server))
        assert len(done.urls()) == 6, done.log
        assert {arrival.body for arrival in server.arrivals} == {300_000}
        kept(server, 0.2)


def test_latency_is_that_of_the_server_and_not_of_the_wait(tmp_path: Path) -> None:
    with Server() as server:
        done = crawl(FETCH.format(count=6, url=server.url), tmp_path, **limits(2), **ports(server))
        latencies = [result[2] for result in done.results]
        assert len(latencies) == 6
        # Slots are 0.5 s apart, so requests waited up to so long at the wire; the server answers at once.
        assert sorted(latencies)[3] < 0.25


def test_a_wait_beyond_the_maximum_goes_back_to_the_scheduler_and_nothing_is_lost(tmp_path: Path) -> None:
    with Server() as server:
        done = crawl(FETCH.format(count=4, url=server.url), tmp_path, **limits(2), **ports(server), POLITE_MAX_WAIT=0.05)
        assert len(done.urls()) == 4, done.log
        kept(server, 0.5)


def test_a_cached_answer_is_not_slowed_and_slows_nothing(tmp_path: Path) -> None:
    with Server() as server:
        cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
        first = crawl(FETCH.format(count=5, url=server.url), tmp_path, **limits(20), **ports(server), **cache)
        assert len(first.urls()) == 5
        # At one in 5 s the second crawl would take 20 s and more if its answers had to wait.
        again = crawl(FETCH.format(count=5, url=server.url), tmp_path, **limits(0.2), **ports(server), **cache)
        assert len(again.urls()) == 5
        assert len(server.arrivals) == 5
        assert again.stats["elapsed_time_seconds"] < 15


def test_the_private_parts_of_twisted_that_the_wire_uses_are_there() -> None:
    from twisted.internet import reactor

    pool = HTTPConnectionPool(reactor, persistent=False)
    for name in ("_factory", "_connections", "_timeouts", "_newConnection", "_putConnection", "_removeConnection", "_reactor"):
        assert hasattr(pool, name)
    protocol = HTTP11ClientProtocol()
    assert protocol.state == "QUIESCENT"
    assert issubclass(pool._factory, Factory)
    for name in ("_aborted", "_lostTLSConnection", "_handshakeDone", "_flushSendBIO"):
        assert hasattr(TLSMemoryBIOProtocol, name)
    assert issubclass(BufferingTLSTransport, TLSMemoryBIOProtocol)


def hold_once(arrival: Arrival, seen: list[float], retry_after: str) -> Answer:
    if not seen:
        seen.append(arrival.at)
        return Answer(status=429, headers={"Retry-After": retry_after})
    return Answer()


def test_retry_after_is_kept_to_the_full_and_the_request_served_afterwards(tmp_path: Path) -> None:
    seen: list[float] = []
    with Server(lambda arrival: hold_once(arrival, seen, "2")) as server:
        done = crawl(FETCH.format(count=5, url=server.url), tmp_path, **limits(20), **ports(server))
        assert sorted(done.urls()) == sorted(f"{server.url}/{n}" for n in range(5)), done.log
        # What was on the wire already when the answer came may arrive; nothing else before the hold has ended.
        in_flight = [arrival for arrival in server.arrivals[1:] if arrival.at < seen[0] + 0.3]
        later = [arrival.at for arrival in server.arrivals[1:] if arrival not in in_flight]
        assert min(later) >= seen[0] + 2.0
        assert "retry/count" not in done.stats
        assert done.stats["polite/backoff/rate_limited"] == 1


def test_the_download_timeout_counts_from_the_slot_and_not_from_the_wait_for_it(tmp_path: Path) -> None:
    # Slots are 1.5 s apart and a request may wait that long at the wire; each answer takes 0.2 s, and 1 s is allowed.
    slow = Answer(wait=0.2)
    with Server(lambda arrival: slow) as server:
        options = {"DOWNLOAD_TIMEOUT": 1, "RETRY_ENABLED": False}
        done = crawl(FETCH.format(count=4, url=server.url), tmp_path, **limits(1 / 1.5), **ports(server), **options)
        assert len(done.urls()) == 4, done.log


def test_an_answer_that_does_not_come_is_a_timeout(tmp_path: Path) -> None:
    with Server(lambda arrival: Answer(wait=4)) as server:
        options = {"DOWNLOAD_TIMEOUT": 1, "RETRY_ENABLED": False}
        done = crawl(FETCH.format(count=1, url=server.url), tmp_path, **limits(10), **ports(server), **options)
        assert [result[1] for result in done.results] == ["DownloadTimeoutError"], done.log
        assert "1.0 seconds" in done.results[0][2]
        assert done.stats["elapsed_time_seconds"] < 4


PROXIED = """
class Spider(TestSpider):
    async def start(self):
        for n in range(8):
            yield scrapy.Request("{url}/" + str(n), meta={{"proxy": "{proxy}"}}, callback=self.answered,
                                 errback=self.failed, dont_filter=True)
"""


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("setting", ["POLITE_PROXIES", "POLITE_TRUSTED_PROXIES"])
def test_through_a_proxy_and_through_its_tunnel_the_interval_is_kept(
    tmp_path: Path, tls: ssl.SSLContext, scheme: str, setting: str
) -> None:
    with Proxy() as proxy, Server(tls=tls if scheme == "https" else None) as server:
        source = PROXIED.format(url=server.url, proxy=proxy.url)
        done = crawl(source, tmp_path, **limits(5), **ports(server), **{setting: [proxy.url]})
        assert len(done.urls()) == 8, done.log
        kept(server, 0.2)
        by_name_in_the_clear = (scheme, setting) == ("http", "POLITE_TRUSTED_PROXIES")
        assert proxy.lines[0].startswith("GET http://" if by_name_in_the_clear else "CONNECT ")
        assert done.stats["polite/slots/booked"] == 8


def test_a_proxy_that_is_not_trusted_is_not_used(tmp_path: Path) -> None:
    with Proxy() as proxy, Server() as server:
        done = crawl(PROXIED.format(url=server.url, proxy=proxy.url), tmp_path, **limits(50), **ports(server))
        assert {result[1] for result in done.results} == {"RequestRefused"}, done.log
        assert done.stats["polite/refused/proxy"] == 8
        assert proxy.lines == []
        assert server.arrivals == []


def test_through_a_trusted_proxy_too_a_target_inside_is_refused(tmp_path: Path) -> None:
    with Proxy() as proxy, Server() as server:
        source = PROXIED.format(url=server.url.replace("127.0.0.1", "2130706433"), proxy=proxy.url)
        options = {"POLITE_TRUSTED_PROXIES": [proxy.url], "POLITE_ALLOW_NETWORKS": []}
        done = crawl(source, tmp_path, **limits(50), **ports(server), **options)
        assert {result[1] for result in done.results} == {"RequestRefused"}, done.log
        assert proxy.lines == []
