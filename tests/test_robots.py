"""robots.txt by RFC 9309, end to end on loopback."""

from __future__ import annotations

import base64
import gzip
import itertools
import random
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from loopback import FETCH, WIDTH, Answer, Arrival, Crawl, Server, crawl, start
from loopback_http2 import HANDLER, Http2Server
from scrapy.settings import Settings

from scrapy_polite.backoff.robotstxt import AGAIN, DAY, REREAD, Known
from scrapy_polite.config import Config
from scrapy_polite.limits.gcra import Demand
from scrapy_polite.planning import Planner
from scrapy_polite.remembering import Remembering
from scrapy_polite.stores import robotsnotes
from scrapy_polite.stores.base import open_store

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from pathlib import Path

    from postgres import Database

    from scrapy_polite.stores.base import Store

FAST: dict[str, object] = {
    "ROBOTSTXT_OBEY": True,
    "POLITE_SITE_RATE": 100,
    "POLITE_ORIGIN_RATE": 100,
    "RETRY_TIMES": 0,
    # A file that cannot be read is asked for again after five minutes: no test waits for that.
    "POLITE_DEFER_AFTER": 60,
}
HIDDEN = b"User-agent: *\nDisallow: /1\n"
"""Of the pages /0, /1 and /2 one is forbidden."""


def answers(robots: Callable[[Arrival], Answer] | Answer) -> Callable[[Arrival], Answer]:
    def answer(arrival: Arrival) -> Answer:
        if arrival.path != "/robots.txt":
            return Answer()
        return robots if isinstance(robots, Answer) else robots(arrival)

    return answer


def fetch(server: Server, tmp_path: Path, count: int = 3, **settings: Any) -> Crawl:
    options = {**FAST, "POLITE_ALLOW_PORTS": [server.port], **settings}
    return crawl(FETCH.format(count=count, url=server.url), tmp_path, timeout=60, **options)


def pages(server: Server) -> list[str]:
    return sorted(arrival.path for arrival in server.pages())


def asked(server: Server) -> int:
    return sum(arrival.path == "/robots.txt" for arrival in server.arrivals)


def store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:{tmp_path}/limits.sqlite")


def noted(server: Server, tmp_path: Path, known: Known) -> None:
    """As another process has left it."""
    kept = store(tmp_path)
    robotsnotes.keep(kept, server.url, known)
    kept.close()


def note_of(server: Server, tmp_path: Path) -> Known:
    kept = store(tmp_path)
    found = robotsnotes.known(kept, server.url)
    kept.close()
    assert found is not None
    return found


def assert_held(done: Crawl, tmp_path: Path, *urls: str, seconds: float = AGAIN[0]) -> None:
    """The site waits for its robots.txt: nothing was forbidden, and what was to be fetched is kept for the next run."""
    assert done.stats["finish_reason"] == "polite_deferred", done.log
    assert "robotstxt/forbidden" not in done.stats
    assert done.results == []
    kept = store(tmp_path)
    rows, (held,) = kept.deferred(), kept.held()
    kept.close()
    assert sorted(row.url for row in rows) == sorted(urls)
    assert {(row.kind, row.key) for row in rows} == {("robots", held.key)}
    assert held.cause.kind == "robots"
    assert "/robots.txt cannot be read (" in held.cause.reason
    assert seconds - 30 < held.seconds <= seconds


def let_go(tmp_path: Path, site: str) -> None:
    """As a person does."""
    kept = store(tmp_path)
    assert kept.release(site)
    kept.hasten_deferred(site)
    kept.close()


def urls_of(server: Server, count: int = 3) -> list[str]:
    return [f"{server.url}/{number}" for number in range(count)]


@pytest.mark.parametrize(
    ("status", "fetched"),
    [(200, ["/0", "/2"]), (203, ["/0", "/2"]), (204, ["/0", "/1", "/2"])]
    + [(status, ["/0", "/1", "/2"]) for status in (401, 403, 404, 410, 451)],
)
def test_what_a_status_allows(tmp_path: Path, status: int, fetched: list[str]) -> None:
    with Server(answers(Answer(b"" if status == 204 else HIDDEN, status=status))) as server:
        done = fetch(server, tmp_path)
        assert pages(server) == fetched, done.log
        assert asked(server) == 1
        assert done.stats["finish_reason"] == "finished"
        assert done.stats.get("robotstxt/forbidden", 0) == 3 - len(fetched)
        assert done.stats["robotstxt/request_count"] == 1
        assert done.stats[f"robotstxt/response_status_count/{status}"] == 1
        forbidden = [result[1:] for result in done.results if result[1] != 200]
        assert forbidden == [["IgnoreRequest", "Forbidden by robots.txt"]] * (3 - len(fetched))
        assert "nothing of the site is fetched" not in done.log
        assert "Traceback" not in done.log


@pytest.mark.parametrize("status", [500, 502, 503, 599])
def test_one_that_cannot_be_read_holds_the_site_and_the_next_run_takes_up_what_waits(tmp_path: Path, status: int) -> None:
    broken = [True]

    def robots(arrival: Arrival) -> Answer:
        return Answer(b"", status=status) if broken[0] else Answer(HIDDEN)

    with Server(answers(robots)) as server:
        done = fetch(server, tmp_path)
        assert pages(server) == [], done.log
        assert asked(server) == 1
        assert done.stats["robotstxt/request_count"] == 1
        assert done.stats[f"robotstxt/response_status_count/{status}"] == 1
        assert_held(done, tmp_path, *urls_of(server))
        assert f"(status {status}): nothing of the site is fetched until it can be" in done.log
        assert done.log.count("nothing of the site is fetched") == 1
        assert "Traceback" not in done.log

        # Within the hold nobody asks, and nothing is lost or there twice.
        done = fetch(server, tmp_path)
        assert asked(server) == 1
        assert_held(done, tmp_path, *urls_of(server))

        # It is over, and the file cannot be read still: its wait is the next of the ladder.
        let_go(tmp_path, "site:127.0.0.1")
        done = fetch(server, tmp_path)
        assert asked(server) == 2
        assert_held(done, tmp_path, *urls_of(server), seconds=AGAIN[1])

        broken[0] = False
        let_go(tmp_path, "site:127.0.0.1")
        done = fetch(server, tmp_path)
        assert pages(server) == ["/0", "/2"], done.log
        assert asked(server) == 3
        assert done.stats["finish_reason"] == "finished"
        assert store(tmp_path).deferred() == []


def test_a_site_that_refuses_the_connection_at_first_contact_loses_nothing(tmp_path: Path) -> None:
    with Server(answers(Answer(HIDDEN))) as server:
        url, port = server.url, server.port
    done = crawl(FETCH.format(count=3, url=url), tmp_path, timeout=60, **FAST, POLITE_ALLOW_PORTS=[port])
    assert_held(done, tmp_path, *(f"{url}/{number}" for number in range(3)))


def test_when_its_hold_ends_in_the_middle_of_a_crawl_it_is_read_and_all_is_fetched(tmp_path: Path) -> None:
    broken = [True]

    def robots(arrival: Arrival) -> Answer:
        return Answer(b"", status=500) if broken[0] else Answer(HIDDEN)

    with Server(answers(robots)) as server:
        options = {**FAST, "POLITE_ALLOW_PORTS": [server.port], "POLITE_DEFER_AFTER": 1000}
        with start(FETCH.format(count=3, url=server.url), tmp_path, **options) as running:
            running.until(lambda: "Hold: site:127.0.0.1" in running.log)
            broken[0] = False
            let_go(tmp_path, "site:127.0.0.1")
            done = running.end(60)
        assert pages(server) == ["/0", "/2"], done.log
        assert asked(server) == 2
        assert done.stats["finish_reason"] == "finished"
        assert done.log.count("can be read again") == 1


def test_a_second_address_of_a_site_that_nobody_can_reach_does_not_hold_the_first(tmp_path: Path) -> None:
    """Such as https, where a page links to it and nobody listens there: what leads there is forbidden, as RFC 9309 has it."""
    source = """
class Spider(TestSpider):
    async def start(self):
        yield scrapy.Request("{url}/0", callback=self.then, errback=self.failed)
    def then(self, response):
        self.answered(response)
        yield scrapy.Request("{other}/0", callback=self.answered, errback=self.failed)
        for n in (2, 3):
            yield scrapy.Request("{url}/" + str(n), callback=self.answered, errback=self.failed)
"""
    with Server(answers(Answer(HIDDEN))) as server:
        with Server() as gone:
            other = gone.url
        options = {**FAST, "POLITE_ALLOW_PORTS": [server.port, gone.port]}
        done = crawl(source.format(url=server.url, other=other), tmp_path, timeout=60, **options)
        assert pages(server) == ["/0", "/2", "/3"], done.log
        assert [result[1:] for result in done.results if result[1] != 200] == [["IgnoreRequest", "Forbidden by robots.txt"]]
        assert done.stats["finish_reason"] == "finished"


def test_a_robots_txt_that_breaks_off_cannot_be_read_and_that_is_said_once(tmp_path: Path) -> None:
    def cut(arrival: Arrival) -> Answer:
        return Answer(b"", headers={"Content-Length": "50"}, close=True)

    with Server(answers(cut)) as server:
        done = fetch(server, tmp_path, count=5)
        assert pages(server) == []
        assert_held(done, tmp_path, *urls_of(server, 5))
        assert done.log.count("nothing of the site is fetched") == 1
        assert note_of(server, tmp_path).failures == 1


def test_429_is_waited_out_and_asked_again(tmp_path: Path) -> None:
    refused: list[float] = []

    def robots(arrival: Arrival) -> Answer:
        if len(refused) < 2:
            refused.append(arrival.at)
            return Answer(status=429, headers={"Retry-After": "2"})
        return Answer(HIDDEN)

    with Server(answers(robots)) as server:
        done = fetch(server, tmp_path)
        assert pages(server) == ["/0", "/2"], done.log
        times = [arrival.at for arrival in server.arrivals[:3]]
        assert asked(server) == 3
        assert all(two - one >= 2 for one, two in itertools.pairwise(times))
        assert "retry/count" not in done.stats


def test_503_that_says_when_is_asked_again_then_and_not_for_ever(tmp_path: Path) -> None:
    with Server(answers(Answer(status=503, headers={"Retry-After": "1"}))) as server:
        done = fetch(server, tmp_path)
        assert pages(server) == []
        assert asked(server) == 3
        assert min(server.gaps()) >= 1
        assert_held(done, tmp_path, *urls_of(server))


def test_a_run_of_errors_is_not_asked_again_and_again(tmp_path: Path) -> None:
    with Server(answers(Answer(status=500))) as server:
        done = fetch(server, tmp_path, RETRY_TIMES=5, POLITE_LADDERS={"error": [2]})
        assert pages(server) == []
        assert 1 <= asked(server) <= 6, done.log
        assert_held(done, tmp_path, *urls_of(server))


@pytest.mark.parametrize(("hops", "fetched"), [(1, ["/0", "/2"]), (5, ["/0", "/2"]), (6, ["/0", "/1", "/2"])])
@pytest.mark.parametrize("settings", [{}, {"REDIRECT_ENABLED": False}, {"REDIRECT_MAX_TIMES": 1}])
def test_redirects_are_followed_across_hosts(
    tmp_path: Path, hops: int, fetched: list[str], settings: dict[str, object]
) -> None:
    with ExitStack() as stack:
        other = stack.enter_context(Server(lambda arrival: next_hop(arrival, server), address="127.0.6.1"))
        there = other.url.replace("127.0.0.1", "127.0.6.1")

        def next_hop(arrival: Arrival, to: Server) -> Answer:
            number = int(arrival.path.partition("hop")[2] or 0)
            if number == hops:
                return Answer(HIDDEN)
            base = to.url if number % 2 else there
            return Answer(status=(301, 302, 303, 307, 308)[number % 5], headers={"Location": f"{base}/hop{number + 1}"})

        def here(arrival: Arrival) -> Answer:
            return next_hop(arrival, server) if arrival.path.startswith(("/robots", "/hop")) else Answer()

        server = stack.enter_context(Server(here))
        done = fetch(server, tmp_path, POLITE_ALLOW_PORTS=[server.port, other.port], **settings)
        assert [path for path in pages(server) if "hop" not in path] == fetched, done.log
        assert len(server.arrivals) + len(other.arrivals) - len(fetched) == min(hops, 5) + 1
        assert done.stats["polite/requests/robots"] == min(hops, 5) + 1, "each has a slot"
        assert done.stats["robotstxt/request_count"] == 1


@pytest.mark.parametrize("hop", [1, 3, 5])
def test_each_redirect_is_judged_and_one_that_leads_inside_cannot_be_read(tmp_path: Path, hop: int) -> None:
    """By hosts that may be reached, to one that may not, which hears nothing."""
    with ExitStack() as stack:
        inside = stack.enter_context(Server(answers(Answer(b"")), address="127.0.9.1"))
        servers: list[Server] = []

        def leads(number: int) -> Callable[[Arrival], Answer]:
            def answer(arrival: Arrival) -> Answer:
                there = f"http://127.0.9.1:{inside.port}"
                if number < hop - 1:
                    there = f"http://127.0.8.{number + 2}:{servers[number + 1].port}"
                return Answer(status=302, headers={"Location": f"{there}/robots.txt"})

            return answer

        for number in range(hop):
            server = Server(answers(leads(number)), address=f"127.0.8.{number + 1}")
            servers.append(stack.enter_context(server))
        done = crawl(
            FETCH.format(count=2, url=f"http://127.0.8.1:{servers[0].port}"),
            tmp_path,
            timeout=60,
            **FAST,
            POLITE_ALLOW_NETWORKS=["127.0.8.0/24"],
            POLITE_ALLOW_PORTS=[server.port for server in [inside, *servers]],
        )
        assert [len(server.arrivals) for server in servers] == [1] * hop, done.log
        assert (inside.connections, inside.arrivals) == (0, [])
        assert_held(done, tmp_path, *(f"http://127.0.8.1:{servers[0].port}/{number}" for number in range(2)))


def test_a_redirect_to_a_site_whose_own_robots_txt_leads_back_is_no_deadlock(tmp_path: Path) -> None:
    source = """
class Spider(TestSpider):
    async def start(self):
        for url in {urls}:
            yield scrapy.Request(url, callback=self.answered, errback=self.failed)
"""
    with ExitStack() as stack:
        addresses = ("127.0.7.1", "127.0.7.2")
        urls: list[str] = []

        def answer(number: int) -> Callable[[Arrival], Answer]:
            def of(arrival: Arrival) -> Answer:
                if arrival.path == "/robots.txt":
                    return Answer(status=301, headers={"Location": f"{urls[1 - number]}/rules"})
                return Answer(HIDDEN if arrival.path == "/rules" else b"page")

            return of

        servers = [stack.enter_context(Server(answer(n), address=address)) for n, address in enumerate(addresses)]
        urls += [server.url.replace("127.0.0.1", address) for server, address in zip(servers, addresses, strict=True)]
        done = crawl(
            source.format(urls=[f"{url}/{n}" for url in urls for n in range(2)]),
            tmp_path,
            timeout=60,
            **FAST,
            CONCURRENT_REQUESTS=1,
            POLITE_ORIGIN_CONCURRENCY=1,
            POLITE_ALLOW_PORTS=[server.port for server in servers],
        )
        assert sorted(done.urls()) == sorted(f"{url}/0" for url in urls), done.log
        assert done.stats["robotstxt/forbidden"] == 2


@pytest.mark.parametrize("location", ["ftp://127.0.0.1/robots.txt", "data:,", "http://[::1/", None])
def test_a_redirect_that_leads_nowhere_cannot_be_read(tmp_path: Path, location: str | None) -> None:
    headers = {} if location is None else {"Location": location}
    with Server(answers(Answer(b"", status=302, headers=headers))) as server:
        done = fetch(server, tmp_path)
        assert pages(server) == [], done.log
        assert asked(server) == 1
        assert_held(done, tmp_path, *urls_of(server))
        assert "could not be asked for" not in done.log


def test_no_more_is_downloaded_than_is_parsed(tmp_path: Path) -> None:
    body = HIDDEN + b"# " + b"x" * 97 + b"\n"
    body += (b"# " + b"x" * 97 + b"\n") * 300_000 + b"Disallow: /\n"
    with Server(answers(Answer(body))) as server:
        done = fetch(server, tmp_path, DOWNLOAD_MAXSIZE=1000)
        assert pages(server) == ["/0", "/2"], done.log
        assert done.stats["downloader/response_bytes"] < 2_000_000
        assert len((note_of(server, tmp_path).text or "").encode()) <= 500 * 1024


def test_no_more_is_downloaded_over_http2_either(tmp_path: Path, tls_h2: ssl.SSLContext) -> None:
    """The stream is reset, and the connection goes on."""
    line = b"# " + b"x" * 97 + b"\n"
    body = HIDDEN + line * 40_000 + b"Disallow: /\n"
    with Http2Server(answers(Answer(body)), tls=tls_h2) as server:
        options = {"DOWNLOAD_HANDLERS": {"https": HANDLER}, "DOWNLOAD_MAXSIZE": 1000}
        done = fetch(server, tmp_path, **options)
        assert pages(server) == ["/0", "/2"], done.log
        assert asked(server) == 1
        assert server.resets == ["/robots.txt"]
        assert server.connections == 1
        assert done.stats["downloader/response_bytes"] < 1_000_000
        assert 499 * 1024 < len((note_of(server, tmp_path).text or "").encode()) <= 500 * 1024


@pytest.mark.parametrize(
    ("body", "headers", "fetched"),
    [
        (b"\xef\xbb\xbf" + HIDDEN, {}, ["/0", "/2"]),
        (HIDDEN, {"Content-Type": "image/png"}, ["/0", "/2"]),
        (b"\x89PNG\r\n\x1a\n\0\0\xff\xfe" * 100, {}, ["/0", "/1", "/2"]),
        (b"\xff\xfe\n" + HIDDEN, {}, ["/0", "/2"]),
        (b"<html><body>Disallow: /</body></html>", {}, ["/0", "/1", "/2"]),
        (HIDDEN.replace(b"\n", b"\r"), {}, ["/0", "/2"]),
    ],
)
def test_what_is_no_text_is_tolerated(tmp_path: Path, body: bytes, headers: dict[str, str], fetched: list[str]) -> None:
    with Server(answers(Answer(body, headers=headers))) as server:
        done = fetch(server, tmp_path)
        assert pages(server) == fetched, done.log
        assert "Traceback" not in done.log


def test_one_that_never_ends_when_it_is_unpacked_forbids_everything(tmp_path: Path) -> None:
    body = gzip.compress(HIDDEN + b"# " + b"x" * 40_000_000)
    with Server(answers(Answer(body, headers={"Content-Encoding": "gzip"}))) as server:
        done = fetch(server, tmp_path)
        assert pages(server) == [], done.log
        assert done.log.count("nothing of the site is fetched") == 1


def test_what_is_kept_in_memory_of_many_has_a_bound_in_characters_and_not_only_in_files() -> None:
    kept: Remembering[str] = Remembering(4, 100, len)
    for name in "abcdefgh":
        kept[name] = "x" * 30
    assert list(kept) == ["f", "g", "h"]
    kept["g"] = "x"  # In place of the longer one, which counts no more.
    kept["i"] = "x" * 39
    assert list(kept) == ["f", "g", "h", "i"]
    kept["j"] = "x"
    assert list(kept) == ["g", "h", "i", "j"]
    kept["k"] = "x" * 500
    assert list(kept) == ["k"]


def test_a_delay_takes_the_place_of_what_the_same_file_asked_for_before() -> None:
    planner = Planner(Config.from_settings(Settings({"POLITE_SITE_RATE": 1, "POLITE_MAX_CRAWL_DELAY": 20})), 10)

    def least() -> float:
        (charge,) = planner.charges("site:a.test", ("site:a.test",), "robots")
        return charge.least

    assert planner.obey_delay("site:a.test", 0.0, "http") == 0
    assert least() == 0
    assert planner.obey_delay("site:a.test", 0.25, "http") == 0, "the rate of the site is slower"
    assert planner.obey_delay("site:a.test", 5.5, "http") > 4_000_000
    assert planner.obey_delay("site:a.test", 3.0, "https") == 0
    assert least() == 5.5, "the longest of all its files"
    assert planner.obey_delay("site:a.test", 1.5, "http") == 0
    assert least() == 3.0
    assert planner.obey_delay("site:a.test", 0.0, "https") == 0
    assert least() == 1.5
    assert planner.obey_delay("site:a.test", 1e300, "https") > 0
    assert least() == 20


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        ("Crawl-delay: 1", 1.0),
        ("Crawl-delay: 0.7", 0.7),
        ("Request-rate: 1/1", 1.0),
        ("Request-rate: 60/1m 0400-0845", 1.0),
        ("Crawl-delay: 0.2\nRequest-rate: 3/3s", 1.0),
        ("Crawl-delay: 99999999999", 1.5),
        ("Request-rate: 1/99h", 1.5),
        ("Crawl-delay: -5", 0.0),
        ("Crawl-delay: soon\nRequest-rate: 1/0", 0.0),
    ],
)
def test_delays_that_are_asked_for(tmp_path: Path, lines: str, seconds: float) -> None:
    with Server(answers(Answer(f"User-agent: *\n{lines}\n".encode()))) as server:
        done = fetch(server, tmp_path, POLITE_MAX_CRAWL_DELAY=1.5)
        assert pages(server) == ["/0", "/1", "/2"], done.log
        gaps = server.gaps()
        assert min(gaps) >= seconds - WIDTH
        assert max(gaps) <= seconds + 1
        assert done.log.count("obeyed up to POLITE_MAX_CRAWL_DELAY = 1.5 s") == (seconds == 1.5)
        assert done.log.count("Request-rate is obeyed at all times") == lines.count("0400")


def at_once(processes: int, server: Server, tmp_path: Path, url: str) -> list[Crawl]:
    options = {**FAST, "POLITE_ALLOW_PORTS": [server.port], "POLITE_STORE": url}
    with ExitStack() as stack:
        running = []
        for number in range(processes):
            place = tmp_path / str(number)
            place.mkdir()
            running.append(stack.enter_context(start(FETCH.format(count=3, url=server.url), place, **options)))
        return [crawling.end(60) for crawling in running]


def test_it_is_fetched_once_by_two_processes_at_once_and_by_later_ones(tmp_path: Path) -> None:
    with Server(answers(Answer(HIDDEN + b"Crawl-delay: 0.3\n", wait=1.0))) as server:
        done = at_once(2, server, tmp_path, f"sqlite:{tmp_path}/limits.sqlite")
        assert asked(server) == 1, done[0].log + done[1].log
        assert pages(server) == ["/0", "/0", "/2", "/2"]
        assert sum(found.stats.get("robotstxt/request_count", 0) for found in done) == 1
        assert [found.stats["robotstxt/forbidden"] for found in done] == [1, 1]
        later = fetch(server, tmp_path)
        assert asked(server) == 1, later.log
        assert later.stats["robotstxt/forbidden"] == 1
        times = [arrival.at for arrival in server.pages()]
        assert min(two - one for one, two in itertools.pairwise(times)) >= 0.3 - WIDTH


def test_a_long_one_is_fetched_once_by_eight_processes(tmp_path: Path) -> None:
    """Of 100 KB that cannot be packed."""
    long = HIDDEN + b"# " + base64.b64encode(random.Random(1).randbytes(75_000)) + b"\n"
    with Server(answers(Answer(long, wait=0.5))) as server:
        done = at_once(8, server, tmp_path, f"sqlite:{tmp_path}/limits.sqlite")
        assert asked(server) == 1, "".join(found.log for found in done)
        assert [found.stats["robotstxt/forbidden"] for found in done] == [1] * 8
        assert (note_of(server, tmp_path).text or "").encode() == long


def test_it_is_fetched_once_with_a_store_in_postgres(tmp_path: Path, database: Database) -> None:
    with Server(answers(Answer(HIDDEN, wait=1.0))) as server:
        done = at_once(2, server, tmp_path, database.url)
        assert asked(server) == 1, done[0].log + done[1].log
        assert pages(server) == ["/0", "/0", "/2", "/2"]
        later = fetch(server, tmp_path, POLITE_STORE=database.url)
        assert asked(server) == 1, later.log
        assert later.stats["robotstxt/forbidden"] == 1


def test_after_a_hold_one_of_those_who_waited_asks_again(tmp_path: Path) -> None:
    first: list[float] = []

    def robots(arrival: Arrival) -> Answer:
        if not first:
            first.append(arrival.at)
            return Answer(status=429, headers={"Retry-After": "4"}, wait=1.0)
        return Answer(HIDDEN)

    with Server(answers(robots)) as server:
        done = at_once(3, server, tmp_path, f"sqlite:{tmp_path}/limits.sqlite")
        assert asked(server) == 2, "".join(found.log for found in done)
        assert server.arrivals[1].at - first[0] >= 5
        assert pages(server) == sorted(["/0", "/2"] * 3)


def test_who_was_killed_while_asking_keeps_the_next_one_waiting_no_longer_than_its_lease(tmp_path: Path) -> None:
    kept = store(tmp_path)
    with Server(answers(Answer(HIDDEN))) as server:
        kept.book([(Demand(f"robots:{server.url}", 9_000_000, 0),)])
        kept.close()
        began = time.monotonic()
        done = fetch(server, tmp_path)
        assert pages(server) == ["/0", "/2"], done.log
        assert server.arrivals[0].at - began >= 8


def test_a_copy_of_yesterday_is_not_obeyed(tmp_path: Path) -> None:
    with Server(answers(Answer(HIDDEN))) as server:
        noted(server, tmp_path, Known("User-agent: *\nDisallow: /0\n", time.time() - DAY))
        done = fetch(server, tmp_path)
        assert pages(server) == ["/0", "/2"], done.log
        assert asked(server) == 1


@pytest.mark.parametrize(("age", "fetched"), [(REREAD + 1, ["/1", "/2"]), (DAY, [])])
def test_the_last_good_copy_is_obeyed_within_its_day_where_it_cannot_be_read_anew(
    tmp_path: Path, age: float, fetched: list[str]
) -> None:
    with Server(answers(Answer(status=500))) as server:
        noted(server, tmp_path, Known("User-agent: *\nDisallow: /0\n", time.time() - age))
        done = fetch(server, tmp_path)
        assert pages(server) == fetched, done.log
        assert asked(server) == 1
        assert done.log.count("its last copy is obeyed") == bool(fetched)
        assert done.log.count("nothing of the site is fetched") == (not fetched)
        assert note_of(server, tmp_path).failures == 1
        if not fetched:
            assert_held(done, tmp_path, *urls_of(server))


def test_it_is_read_anew_in_the_middle_of_a_crawl_and_others_go_on_meanwhile(tmp_path: Path) -> None:
    # The copy's time comes some seconds after the crawl has begun.
    source = """
import time
from scrapy_polite.backoff.robotstxt import REREAD, Known
from scrapy_polite.stores import robotsnotes
from scrapy_polite.stores.base import open_store
class Spider(TestSpider):
    async def start(self):
        kept = open_store(self.settings["POLITE_STORE"])
        robotsnotes.keep(kept, "{here}", Known("", time.time() - REREAD + 3))
        kept.close()
        for n in range(80):
            yield scrapy.Request("{here}/" + str(n), callback=self.answered, errback=self.failed)
            yield scrapy.Request("{there}/" + str(n), callback=self.answered, errback=self.failed)
"""
    with ExitStack() as stack:
        here = stack.enter_context(Server(answers(Answer(b"User-agent: *\nDisallow: /7\n", wait=1.5)), address="127.0.8.1"))
        there = stack.enter_context(Server(answers(Answer(status=404)), address="127.0.8.2"))
        urls = [server.url.replace("127.0.0.1", f"127.0.8.{n}") for n, server in enumerate((here, there), 1)]
        done = crawl(
            source.format(here=urls[0], there=urls[1]),
            tmp_path,
            timeout=60,
            **{**FAST, "POLITE_SITE_RATE": 20, "POLITE_ORIGIN_RATE": 1000, "POLITE_ORIGIN_CONCURRENCY": 1},
            CONCURRENT_REQUESTS=2,
            POLITE_ALLOW_PORTS=[here.port, there.port],
        )
        paths = [arrival.path for arrival in here.arrivals]
        assert paths.count("/robots.txt") == 1, done.log
        at = paths.index("/robots.txt")
        assert 0 < at < len(paths) - 1, "not before its time, and not at the end"
        assert done.stats["robotstxt/forbidden"] > 0, "the new rules are obeyed"
        assert not [path for path in paths[at:] if path.startswith("/7")]
        began = here.arrivals[at].at
        assert here.arrivals[at + 1].at >= began + 1.5, "the site is gated meanwhile"
        assert sum(began < arrival.at < began + 1.5 for arrival in there.arrivals) >= 8, "the other is not"
        assert len(there.pages()) == 80
        assert done.stats["finish_reason"] == "finished"


def test_a_page_that_comes_before_its_robots_txt_keeps_it_from_no_place(tmp_path: Path) -> None:
    """Another port of a host: what is on disk of one site is looked at one by one."""
    source = """
import asyncio
import gzip
class Spider(TestSpider):
    async def start(self):
        for n in range(2):
            for url in {urls}:
                yield scrapy.Request(url + str(n), callback=self.answered, errback=self.failed)
        if {urls}:
            self.closing = asyncio.ensure_future(self.crawler.engine.close_spider_async(reason="enough"))
"""
    with Server(answers(Answer(HIDDEN))) as one, Server(answers(Answer(HIDDEN))) as two:
        options: dict[str, Any] = {
            **FAST,
            "JOBDIR": str(tmp_path / "job"),
            "CONCURRENT_REQUESTS": 1,
            "POLITE_ORIGIN_CONCURRENCY": 1,
            "POLITE_ALLOW_PORTS": [one.port, two.port],
        }
        urls = [f"{one.url}/", f"{two.url}/"]
        crawl(source.format(urls=urls), tmp_path, timeout=60, **{**options, "POLITE_SITE_RATE": 0.01})
        assert pages(one) == pages(two) == []
        anew = {**options, "POLITE_STORE": f"sqlite:{tmp_path}/anew.sqlite"}
        done = crawl(source.format(urls=[]), tmp_path, timeout=60, **anew)
        assert done.stats["finish_reason"] == "finished", done.log
        assert pages(one) == pages(two) == ["/0"]
        assert asked(one) <= 2
        assert asked(two) <= 2


@pytest.mark.parametrize(
    ("parser", "fetched"),
    [("scrapy.robotstxt.PythonRobotParser", ["/0", "/2"]), ("parsers.BreaksAtRobots", [])],
)
def test_another_parser_judges_pages_and_one_that_breaks_forbids_them(tmp_path: Path, parser: str, fetched: list[str]) -> None:
    (tmp_path / "parsers.py").write_text(
        """
class BreaksAtRobots:
    @classmethod
    def from_crawler(cls, crawler, robotstxt_body):
        if b"/1" in robotstxt_body:
            raise RuntimeError("no parser")
        return cls()
    def allowed(self, url, user_agent):
        return False
""",
        encoding="utf-8",
    )
    with Server(answers(Answer(HIDDEN + b"Crawl-delay: 0.5\n"))) as server:
        done = fetch(server, tmp_path, ROBOTSTXT_PARSER=parser)
        assert pages(server) == fetched, done.log
        assert asked(server) == 1
        assert done.stats["robotstxt/forbidden"] == 3 - len(fetched)
        assert not server.gaps() or min(server.gaps()) >= 0.5 - WIDTH
        assert done.log.count("cannot be parsed") == (not fetched)


def test_whose_rules_and_delays_are_obeyed(tmp_path: Path) -> None:
    rules = (
        b"User-agent: *\nDisallow: /\n\nUser-agent: mybot\nDisallow: /1\nCrawl-delay: 0.4\n\nUser-agent: other\nDisallow: /2\n"
    )
    with Server(answers(Answer(rules))) as server:
        done = fetch(server, tmp_path, USER_AGENT="MyBot/1.0 (+https://bot.example)")
        assert pages(server) == ["/0", "/2"], done.log
        assert min(server.gaps()) >= 0.4 - WIDTH
        assert {arrival.headers["user-agent"] for arrival in server.arrivals} == {"MyBot/1.0 (+https://bot.example)"}
        done = fetch(server, tmp_path, USER_AGENT="MyBot/1.0", ROBOTSTXT_USER_AGENT="other")
        assert pages(server) == ["/0", "/0", "/1", "/2"], done.log
