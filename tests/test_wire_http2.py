"""Slots are kept at an HTTP/2 server, too: as its HEADERS arrive, on connections that carry many requests."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import RequestReceived
from loopback import FETCH, SLACK, WIDTH, Answer, Arrival, Crawl, Server, crawl, kept, limits, ports
from loopback_http2 import HANDLER, Http2Server
from scrapy import Request, Spider, version_info
from scrapy.settings import Settings
from trapped_world import GOOD, MOVED, MOVES, World
from trapped_world import crawl as guarded_crawl
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.web.client import URI

from scrapy_polite.standing import Lines
from scrapy_polite.ticket import Ticket
from scrapy_polite.wire_http2 import PoliteHttp2Pool

if TYPE_CHECKING:
    import ssl
    from pathlib import Path

OVER_HTTP2 = {"DOWNLOAD_HANDLERS": {"https": HANDLER}}


def fetch(server: Server, tmp_path: Path, count: int, per_second: float, **settings: object) -> Crawl:
    source = FETCH.format(count=count, url=server.url)
    return crawl(source, tmp_path, **{**OVER_HTTP2, **limits(per_second), **ports(server), **settings})


def test_one_connection_carries_all_and_keeps_the_interval_and_the_rate(tmp_path: Path, tls_h2: ssl.SSLContext) -> None:
    # Each answer takes longer than two intervals: requests overlap.
    with Http2Server(lambda arrival: Answer(wait=0.5), tls=tls_h2) as server:
        done = fetch(server, tmp_path, 20, 5)
        assert len(done.urls()) == 20, done.log
        assert server.connections == 1
        assert server.most >= 2
        kept(server, 0.2)
        span = server.arrivals[-1].at - server.arrivals[0].at
        assert 19 * 0.2 - WIDTH - SLACK <= span < 19 * 0.2 + 2
        assert done.stats["polite/slots/booked"] == 20
        assert "polite/slots/missed" not in done.stats


def test_a_busy_reactor_delays_but_never_bunches(tmp_path: Path, tls_h2: ssl.SSLContext) -> None:
    busy = """
import asyncio, time
class Spider(TestSpider):
    async def start(self):
        self.busy = asyncio.create_task(self.work())
        for n in range(20):
            yield scrapy.Request("{url}/" + str(n), callback=self.answered, errback=self.failed, dont_filter=True)
    async def work(self):
        while True:
            end = time.perf_counter() + 0.06
            while time.perf_counter() < end:
                pass
            await asyncio.sleep(0.04)
"""
    with Http2Server(tls=tls_h2) as server:
        done = crawl(busy.replace("{url}", server.url), tmp_path, **OVER_HTTP2, **limits(5), **ports(server))
        assert len(done.urls()) == 20, done.log
        kept(server, 0.2)


@pytest.mark.parametrize("slow", ["hello", "settings"])
def test_no_slot_is_booked_before_the_connection_is_there(tmp_path: Path, tls_h2: ssl.SSLContext, slow: str) -> None:
    # Two servers at one address share its rate. While one of them still shakes hands the other is served in every slot; had
    # the slow one taken a slot beforehand, it would come in the middle between two of the other's.
    with Http2Server(tls=tls_h2, **{slow: 1.25}) as late, Http2Server(tls=tls_h2) as server:
        source = """
class Spider(TestSpider):
    async def start(self):
        for n in range(8):
            for url in ("{late}", "{url}"):
                if n < 2 or url == "{url}":
                    yield scrapy.Request(url + "/" + str(n), callback=self.answered, errback=self.failed, dont_filter=True)
"""
        source = source.replace("{late}", late.url).replace("{url}", server.url)
        done = crawl(source, tmp_path, **OVER_HTTP2, **limits(2), **ports(late, server))
        assert len(done.urls()) == 10, done.log
        times = sorted(arrival.at for arrival in [*late.arrivals, *server.arrivals])
        assert min(b - a for a, b in itertools.pairwise(times)) >= 0.5 - WIDTH - SLACK
        assert late.arrivals[0].at >= late.ready[0]
        assert sum(arrival.at < late.ready[0] for arrival in server.arrivals) >= 2
        assert "polite/slots/missed" not in done.stats


@pytest.mark.parametrize("courteous", [True, False])
def test_a_connection_that_died_while_it_was_waited_on_is_replaced_and_charged_once(
    tmp_path: Path, tls_h2: ssl.SSLContext, courteous: bool
) -> None:
    # The server closes idle connections after 0.15 s, and slots are 0.4 s apart: every one is dead in the next slot.
    with Http2Server(tls=tls_h2, idle=0.15, courteous=courteous) as server:
        done = fetch(server, tmp_path, 6, 2.5)
        assert len(done.urls()) == 6, done.log
        assert len(server.arrivals) == 6
        assert server.connections == 6
        assert done.stats["polite/slots/booked"] == 6
        assert "retry/count" not in done.stats
        kept(server, 0.4)


def test_a_server_that_closes_after_every_answer_is_given_a_new_connection_each_time(
    tmp_path: Path, tls_h2: ssl.SSLContext
) -> None:
    with Http2Server(lambda arrival: Answer(close=True), tls=tls_h2) as server:
        done = fetch(server, tmp_path, 6, 5)
        assert len(done.urls()) == 6, done.log
        assert server.connections == 6
        assert done.stats["polite/slots/booked"] == 6
        kept(server, 0.2)


def test_no_more_streams_than_the_server_allows_and_who_waits_for_one_has_no_slot(
    tmp_path: Path, tls_h2: ssl.SSLContext
) -> None:
    with Http2Server(lambda arrival: Answer(wait=0.4), tls=tls_h2, streams=2) as server:
        done = fetch(server, tmp_path, 8, 20)
        assert len(done.urls()) == 8, done.log
        assert (server.most, server.connections) == (2, 1)
        assert done.stats["polite/slots/booked"] == 8
        assert "polite/slots/missed" not in done.stats
        # Two at a time, each of 0.4 s: who waited for a stream took its slot when it had one.
        assert server.arrivals[-1].at - server.arrivals[0].at >= 3 * 0.4 - SLACK
        assert max(result[2] for result in done.results) < 0.4 + SLACK + 0.2


def test_a_handshake_that_fails_books_nothing(tmp_path: Path) -> None:
    with Server(idle=0.3) as server:
        server_url = server.url.replace("http:", "https:")
        source = FETCH.format(count=2, url=server_url)
        done = crawl(source, tmp_path, **OVER_HTTP2, **limits(50), **ports(server), RETRY_ENABLED=False)
        assert [result[1] for result in done.results] == ["DownloadFailedError"] * 2, done.log
        assert "polite/slots/booked" not in done.stats


def test_where_nobody_listens_requests_fail_at_once_and_nothing_is_booked(tmp_path: Path, tls_h2: ssl.SSLContext) -> None:
    with Http2Server(tls=tls_h2) as server:
        pass
    # A third would be a run of failures, and its site held.
    done = fetch(server, tmp_path, 2, 50, RETRY_ENABLED=False)
    assert [result[1] for result in done.results] == ["DownloadConnectionRefusedError"] * 2, done.log
    assert "polite/slots/booked" not in done.stats
    assert done.stats["elapsed_time_seconds"] < 5


def test_a_server_without_http2_is_told_nothing_and_nothing_is_booked(tmp_path: Path, tls: ssl.SSLContext) -> None:
    with Server(tls=tls) as server:
        done = fetch(server, tmp_path, 2, 50, RETRY_ENABLED=False)
        assert [result[1] for result in done.results] == ["DownloadFailedError"] * 2, done.log
        assert "ALPN" in done.results[0][2]
        assert server.arrivals == []
        assert "polite/slots/booked" not in done.stats


def test_a_body_leaves_with_its_request(tmp_path: Path, tls_h2: ssl.SSLContext) -> None:
    spider = """
class Spider(TestSpider):
    async def start(self):
        for n in range(6):
            yield scrapy.Request("{url}/" + str(n), method="POST", body=b"x" * 300_000, callback=self.answered,
                                 errback=self.failed, dont_filter=True)
"""
    with Http2Server(tls=tls_h2) as server:
        done = crawl(spider.replace("{url}", server.url), tmp_path, **OVER_HTTP2, **limits(5), **ports(server))
        assert len(done.urls()) == 6, done.log
        assert server.bodies == [300_000] * 6
        kept(server, 0.2)


def test_latency_is_that_of_the_first_byte_and_not_of_the_wait_or_of_the_body(tmp_path: Path, tls_h2: ssl.SSLContext) -> None:
    with Http2Server(tls=tls_h2, pause=0.4) as server:
        done = fetch(server, tmp_path, 6, 2)
        latencies = [result[2] for result in done.results]
        assert len(latencies) == 6
        assert sorted(latencies)[3] < 0.25


def test_the_download_timeout_counts_from_the_slot_and_not_from_the_wait_for_it(tmp_path: Path, tls_h2: ssl.SSLContext) -> None:
    # Slots are 1.5 s apart and a request may wait that long at the wire; each answer takes 0.2 s, and 1 s is allowed.
    with Http2Server(lambda arrival: Answer(wait=0.2), tls=tls_h2) as server:
        done = fetch(server, tmp_path, 4, 1 / 1.5, DOWNLOAD_TIMEOUT=1, RETRY_ENABLED=False)
        assert len(done.urls()) == 4, done.log


def test_a_timeout_ends_one_stream_and_not_the_others_of_its_connection(tmp_path: Path, tls_h2: ssl.SSLContext) -> None:
    # The one that is never answered is given up after 1 s, while others are under way and the crawl goes on.
    with Http2Server(lambda arrival: Answer(wait=60 if arrival.path == "/1" else 0.7), tls=tls_h2) as server:
        done = fetch(server, tmp_path, 12, 5, DOWNLOAD_TIMEOUT=1, RETRY_ENABLED=False)
        assert len(done.urls()) == 11, done.log
        (failed,) = (result for result in done.results if result[1] != 200)
        assert failed[1] == "DownloadTimeoutError"
        assert "1.0 seconds" in failed[2]
        assert server.resets == ["/1"]
        assert server.connections == 1
        kept(server, 0.2)


def test_a_timeout_on_a_connection_that_takes_no_more_frames_ends_it(tmp_path: Path, tls_h2: ssl.SSLContext) -> None:
    # It says GOAWAY with its first answer, owes the second, and never closes.
    def answer(arrival: Arrival) -> Answer:
        return Answer(wait=0.5, close=True) if arrival.path == "/0" else Answer(wait=60 if arrival.path == "/1" else 0)

    with Http2Server(answer, tls=tls_h2, lingers=True) as server:
        done = fetch(server, tmp_path, 6, 5, DOWNLOAD_TIMEOUT=1, RETRY_ENABLED=False)
        failed = {result[0]: result[1] for result in done.results if result[1] != 200}
        assert failed.get(f"{server.url}/1") == "DownloadTimeoutError", (done.results, done.log)
        assert len(done.urls()) == 6 - len(failed)
        assert server.connections == 2
        assert "Unhandled" not in done.log
        assert done.stats["elapsed_time_seconds"] < 5


def test_a_wait_beyond_the_maximum_goes_back_to_the_scheduler_and_nothing_is_lost(
    tmp_path: Path, tls_h2: ssl.SSLContext
) -> None:
    with Http2Server(tls=tls_h2) as server:
        done = fetch(server, tmp_path, 4, 2, POLITE_MAX_WAIT=0.05)
        assert len(done.urls()) == 4, done.log
        assert server.connections == 1
        kept(server, 0.5)


CLOSED_EARLY = """
import asyncio, time
class Spider(TestSpider):
    async def start(self):
        self.ending = asyncio.create_task(self.end())
        for n in range(20):
            yield scrapy.Request("{url}/" + str(n), callback=self.answered, errback=self.failed, dont_filter=True)
    async def end(self):
        await asyncio.sleep(1.5)
        self.asked = time.monotonic()
        await self.crawler.engine.close_spider_async(reason="enough")
    def closed(self, reason):
        self.crawler.stats.set_value("closing", time.monotonic() - self.asked)
"""


@pytest.mark.parametrize(
    ("how", "sent"),
    [({}, 1), ({"streams": 0}, 0), ({"settings": 60}, 0)],
    ids=["for a slot", "for a stream", "for the connection"],
)
def test_requests_that_wait_do_not_keep_the_spider_from_closing(
    tmp_path: Path, tls_h2: ssl.SSLContext, how: dict[str, float], sent: int
) -> None:
    with Http2Server(tls=tls_h2, **how) as server:
        job = {"JOBDIR": str(tmp_path / "job")}
        done = crawl(CLOSED_EARLY.replace("{url}", server.url), tmp_path, **OVER_HTTP2, **limits(0.2), **ports(server), **job)
        assert done.stats["closing"] < 1, done.log
        assert len(server.arrivals) == sent
        assert done.stats.get("polite/slots/booked", 0) == sent
        assert "Unhandled" not in done.log
        if not how:
            rest = crawl(FETCH.format(count=0, url=""), tmp_path, **OVER_HTTP2, **limits(50), **ports(server), **job)
            assert len(done.urls() + rest.urls()) == 20, rest.log


def test_a_header_that_http2_forbids_fails_its_request_and_no_other(tmp_path: Path, tls_h2: ssl.SSLContext) -> None:
    spider = """
class Spider(TestSpider):
    async def start(self):
        for n in range(6):
            headers = {"TE": "gzip"} if n == 2 else {}
            yield scrapy.Request("{url}/" + str(n), headers=headers, callback=self.answered, errback=self.failed,
                                 dont_filter=True)
"""
    with Http2Server(lambda arrival: Answer(wait=0.3), tls=tls_h2) as server:
        done = crawl(spider.replace("{url}", server.url), tmp_path, **OVER_HTTP2, **limits(5), **ports(server))
        assert len(done.urls()) == 5, done.log
        assert [result[1] for result in done.results if result[1] != 200] == ["ProtocolError"]
        assert done.stats["polite/slots/booked"] == 5
        assert done.stats["polite/slots/missed"] == 1
        kept(server, 0.2)


ELSEWHERE = """
from twisted.internet.asyncioreactor import AsyncioSelectorReactor
connect = AsyncioSelectorReactor.connectTCP
AsyncioSelectorReactor.connectTCP = lambda self, host, *args, **kwargs: connect(self, "127.0.0.2", *args, **kwargs)
"""


@pytest.mark.parametrize("version", ["http/1.1", "https/1.1", "https/2"])
def test_who_is_connected_to_another_address_than_was_judged_is_not_spoken_to(
    tmp_path: Path, tls: ssl.SSLContext, tls_h2: ssl.SSLContext, version: str
) -> None:
    kinds = {
        "http/1.1": lambda: Server(address="127.0.0.2"),
        "https/1.1": lambda: Server(tls=tls, address="127.0.0.2"),
        "https/2": lambda: Http2Server(tls=tls_h2, address="127.0.0.2"),
    }
    with kinds[version]() as server:
        source = ELSEWHERE + FETCH.format(count=3, url=server.url)
        chosen = OVER_HTTP2 if version == "https/2" else {}
        done = crawl(source, tmp_path, **chosen, **limits(50), **ports(server))
        assert {result[1] for result in done.results} == {"RequestRefused"}, done.log
        assert done.stats["polite/refused/wrong_peer"] == 3
        assert server.connections >= 1
        assert server.arrivals == []
        assert "polite/slots/booked" not in done.stats


def test_a_name_that_leads_inside_is_refused_and_others_keep_their_name(tmp_path: Path, tls_h2: ssl.SSLContext) -> None:
    with World() as world, Http2Server(tls=tls_h2, address=GOOD) as server:
        settings = world.settings(**OVER_HTTP2, POLITE_ALLOW_PORTS=[server.port, world.port], ROBOTSTXT_OBEY=False)
        good = f"https://good.example:{server.port}/page"
        bad = [f"https://{host}:{world.port}/" for host in ("bad.example", "mixed.example", "127.0.0.1")]
        outcome = guarded_crawl(tmp_path, settings, [good, *bad])
        assert outcome.pages == [good], outcome.said
        assert {failed["error"] for failed in outcome.result["failed"]} == {"RequestRefused"}
        assert world.hits == []
        assert [arrival.headers[":authority"] for arrival in server.arrivals] == [f"good.example:{server.port}"]


def test_a_whole_crawl_with_robots_txt_and_a_redirect(tmp_path: Path, tls_h2: ssl.SSLContext) -> None:
    def answer(arrival: Arrival) -> Answer:
        path = arrival.path
        if path == "/robots.txt":
            return Answer(body=b"User-agent: *\nDisallow: /closed\n", headers={"content-type": "text/plain"})
        if path == "/2":
            return Answer(status=302, headers={"location": "/closed"})
        if path == "/3":
            return Answer(status=302, headers={"location": "/there"})
        return Answer()

    with Http2Server(answer, tls=tls_h2) as server:
        done = fetch(server, tmp_path, 5, 5, ROBOTSTXT_OBEY=True)
        assert sorted(done.urls()) == sorted(f"{server.url}/{path}" for path in ("0", "1", "4", "there")), done.log
        paths = [arrival.path for arrival in server.arrivals]
        assert sorted(paths) == ["/0", "/1", "/2", "/3", "/4", "/robots.txt", "/there"]
        assert paths[0] == "/robots.txt"
        assert done.stats["polite/slots/booked"] == 7
        kept(server, 0.2)


@pytest.mark.parametrize("version", ["1.1", "2"])
def test_a_host_that_has_moved_is_followed_though_a_connection_to_where_it_was_is_open(
    tmp_path: Path, tls: ssl.SSLContext, tls_h2: ssl.SSLContext, version: str
) -> None:
    def server(address: str, port: int = 0) -> Server:
        if version == "2":
            return Http2Server(tls=tls_h2, address=address, port=port)
        return Server(tls=tls, address=address, port=port)

    # An answer of the DNS is kept for 5 s, and the second request comes after 6.
    with World() as world, server(GOOD) as before, server(MOVED, before.port) as after:
        chosen = OVER_HTTP2 if version == "2" else {}
        settings = world.settings(**chosen, **limits(1 / 6), **ports(before), ROBOTSTXT_OBEY=False)
        urls = [f"https://{MOVES}:{before.port}/{n}" for n in range(2)]
        outcome = guarded_crawl(tmp_path, settings, urls)
        assert outcome.pages == urls, outcome.said
        assert [arrival.path for arrival in before.arrivals] == ["/0"]
        assert [arrival.path for arrival in after.arrivals] == ["/1"]


@pytest.mark.parametrize("version", ["1.1", "2"])
def test_the_address_that_is_reported_is_the_one_that_was_connected_to(
    tmp_path: Path, tls: ssl.SSLContext, tls_h2: ssl.SSLContext, version: str
) -> None:
    """Also on a kept connection, of which the host's first address is another by now; and where the first does not answer."""
    with World() as world, Http2Server(tls=tls_h2, address=GOOD) if version == "2" else Server(tls=tls, address=GOOD) as server:
        turns = ([(0, "A", GOOD), (0, "A", MOVED)], [(0, "A", MOVED), (0, "A", GOOD)])
        world.script.changing["turns.example"] = lambda before: turns[min(before, 1)]
        world.script.add("second.example", (60, "A", MOVED), (60, "A", GOOD))
        chosen = OVER_HTTP2 if version == "2" else {}
        settings = world.settings(**chosen, **ports(server), ROBOTSTXT_OBEY=False)
        urls = [f"https://{host}:{server.port}/{n}" for n in range(2) for host in ("turns.example", "second.example")]
        later = [{"url": f"https://turns.example:{server.port}/{n}", "after": 5.5} for n in range(2, 4)]
        outcome = guarded_crawl(tmp_path, settings, [*urls, *later])
        assert len(outcome.pages) == 6, outcome.said
        assert [page["pinned"] for page in outcome.result["pages"]] == [GOOD] * 6


class _Transport(StringTransport):
    def getPeerCertificate(self) -> None:
        """A connection of the tests has none."""


def test_another_spelling_of_the_host_is_sent_on_the_same_connection() -> None:
    from scrapy.core.downloader.handlers.http2 import H2ConnectionPool

    class Crawler:
        """The part of a crawler that Scrapy's pool and protocol know."""

        settings = Settings()
        spider = Spider("test")

    old = H2ConnectionPool(*([Crawler] if version_info >= (2, 18) else [None, Crawler.settings]))
    pool = PoliteHttp2Pool(old, Lines.__new__(Lines))
    connection = pool._factory(URI.fromBytes(b"https://a.example/"), pool._whose, Deferred()).buildProtocol(None)
    transport = _Transport(peerAddress=IPv4Address("TCP", "127.0.0.1", 443))
    connection.makeConnection(transport)
    server = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
    server.initiate_connection()
    server.receive_data(transport.value())
    assert not connection.polite_up()
    connection.dataReceived(server.data_to_send())
    assert connection.polite_up()
    transport.clear()
    ticket = Ticket.__new__(Ticket)
    for url in ("https://a.example/1", "https://a.example:443/2"):
        connection.polite_send(ticket, Request(url), Crawler.spider)
    events = server.receive_data(transport.value())
    asked = [dict(event.headers)[":authority"] for event in events if isinstance(event, RequestReceived)]
    assert asked == ["a.example", "a.example:443"]
    connection.connectionLost(Failure(ConnectionDone()))
