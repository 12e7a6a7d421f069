"""Proxies of the operator's: by address or by name, credentials for nobody else, and none that nobody has asked for."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Answer, Arrival, Proxy, Server, crawl, limits, ports
from trapped_world import GOOD, SCRAPY_CRAWL, World, project, run
from trapped_world import crawl as guarded_crawl

from scrapy_polite.config import Config

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "a-word-that-is-nobodys-business"
SHOWN = base64.b64encode(f"user:{SECRET}".encode()).decode()

SPIDER = """
class Spider(TestSpider):
    async def start(self):
        for proxy, path in {asked}:
            meta = dict(proxy=proxy) if proxy else dict()
            yield scrapy.Request("{url}/" + path, meta=meta, callback=self.answered, errback=self.failed, dont_filter=True)
"""


def with_user(proxy: Proxy, user: str = "user") -> str:
    return proxy.url.replace("//", f"//{user}:{SECRET}@")


@pytest.mark.parametrize("setting", ["POLITE_PROXIES", "POLITE_TRUSTED_PROXIES"])
def test_credentials_reach_the_proxy_and_nobody_else(tmp_path: Path, setting: str) -> None:
    seen: list[str] = []

    def answer(arrival: Arrival) -> Answer:
        seen.append(arrival.path)
        first = arrival.path == "/page" and seen.count("/page") == 1
        return Answer(status=418 if first else 200, close=True)

    with Server(answer) as server, Proxy() as proxy:
        source = SPIDER.format(asked=[(with_user(proxy), "page"), (None, "direct")], url=server.url)
        # The direct one carries the header by mistake.
        source = source.replace("dont_filter=True", 'dont_filter=True, headers={"Proxy-Authorization": "Basic ' + SHOWN + '"}')
        options = {setting: [proxy.url], "LOG_LEVEL": "DEBUG", "RETRY_HTTP_CODES": [418]}
        done = crawl(source, tmp_path, **limits(50), **ports(server), **options)
        assert done.code == 0
        assert sorted(seen) == ["/direct", "/page", "/page"], done.log
        # What is sent in the clear by name is a request to the proxy, which takes the header off.
        through = [head for head in proxy.heads if SHOWN.encode() in head]
        assert len(through) == len(proxy.heads) >= 1
        if setting == "POLITE_PROXIES":
            assert all("proxy-authorization" not in arrival.headers for arrival in server.arrivals)
            assert {arrival.headers["host"] for arrival in server.arrivals} == {f"127.0.0.1:{server.port}"}
        assert SECRET not in done.log
        assert SHOWN not in done.log
        for path in tmp_path.rglob("*"):
            if path.is_file() and path.name != "crawl.py":
                assert SECRET.encode() not in path.read_bytes(), path
                assert SHOWN.encode() not in path.read_bytes(), path


def test_a_tunnel_is_shared_by_those_who_would_have_asked_for_the_same_one(tmp_path: Path) -> None:
    with Server() as server, Proxy() as proxy, Proxy() as second:
        ways = [None, proxy.url, with_user(proxy), with_user(proxy, "other"), second.url]
        asked = [(way, str(n)) for n, way in enumerate([*ways, *ways])]
        source = SPIDER.format(asked=asked, url=server.url)
        done = crawl(source, tmp_path, **limits(5), **ports(server), POLITE_PROXIES=[proxy.url, second.url])
        assert len(done.urls()) == 10, done.log
        assert (len(proxy.lines), len(second.lines)) == (3, 1), "one for each way to ask for it"
        assert server.connections == 5
        assert len({arrival.connection for arrival in server.arrivals}) == 5


@pytest.mark.parametrize("said", [b"HTTP/1.1 502 Bad Gateway\r\n\r\n", b""])
def test_where_the_proxy_cannot_reach_an_address_it_is_asked_for_the_next(tmp_path: Path, said: bytes) -> None:
    with World() as world:
        world.script.add("two.example", (60, "A", "127.30.0.9"), (60, "A", GOOD))
        with Proxy(answers={f"127.30.0.9:{world.port}": said}) as proxy:
            settings = world.settings(
                POLITE_PROXIES=[proxy.url], ROBOTSTXT_OBEY=False, DOWNLOADER_MIDDLEWARES={"own_parts.SaysPinned": 995}
            )
            requests = [{"url": world.url(f"/{n}", "two.example"), "meta": {"proxy": proxy.url}} for n in range(3)]
            outcome = guarded_crawl(tmp_path, settings, requests)
            assert len(outcome.pages) == 3, outcome.said
            assert {page["pinned"] for page in outcome.result["pages"]} == {GOOD}
            assert {line.split()[1] for line in proxy.lines} == {f"127.30.0.9:{world.port}", f"{GOOD}:{world.port}"}
            assert all(host.startswith("two.example") for host, _ in world.arrivals)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "status 407"),
        (b"HTTP/1.1 200" + b" " * 20_000, "more than 16384 bytes"),
        (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 301 Moved\r\nLocation: http://169.254.169.254/\r\n\r\n", "status 301"),
        (b"", "closed the connection"),
    ],
)
def test_a_proxy_that_opens_no_way_fails_the_request_and_is_named(tmp_path: Path, said: bytes, told: str) -> None:
    with Server() as server, Proxy(answers={f"127.0.0.1:{server.port}": said}) as proxy:
        source = SPIDER.format(asked=[(with_user(proxy), "page")], url=server.url)
        done = crawl(source, tmp_path, **limits(50), **ports(server), POLITE_PROXIES=[proxy.url], RETRY_ENABLED=False)
        ((_, _, why),) = done.results
        assert proxy.url in why, done.log
        assert told in why
        assert SECRET not in done.log
        assert server.arrivals == []
        assert "polite/slots/booked" not in done.stats


def test_a_proxy_that_says_nothing_is_given_up_in_time(tmp_path: Path) -> None:
    def silence(arrival: Arrival) -> Answer:
        return Answer(wait=5)

    # A web server that thinks about CONNECT.
    with Server(silence) as slow, Server() as server:
        proxy = f"http://127.0.0.1:{slow.port}"
        source = SPIDER.format(asked=[(proxy, "page")], url=server.url)
        options = {"POLITE_PROXIES": [proxy], "RETRY_ENABLED": False, "DOWNLOAD_TIMEOUT": 1, "POLITE_MAX_WAIT": 0.5}
        done = crawl(source, tmp_path, **limits(50), **ports(server), **options)
        assert [result[1] for result in done.results] != [200], done.log
        assert done.stats["elapsed_time_seconds"] < 4
        assert server.arrivals == []


@pytest.mark.parametrize("setting", ["POLITE_PROXIES", "POLITE_TRUSTED_PROXIES"])
def test_a_metadata_service_is_no_proxy_even_where_it_is_named(tmp_path: Path, setting: str) -> None:
    with World() as world:
        named = "http://metadata.example:3128"
        settings = world.settings(**{setting: [named]}, ROBOTSTXT_OBEY=False)
        outcome = guarded_crawl(tmp_path, settings, [{"url": world.url(), "meta": {"proxy": named}}])
        assert outcome.result["stats"]["polite/refused/metadata"] == 1, outcome.said
        assert (outcome.pages, world.arrivals) == ([], [])


@pytest.mark.parametrize("wished", [False, True])
def test_a_proxy_of_the_environment_is_used_only_where_the_project_says_so(tmp_path: Path, wished: bool) -> None:
    with World() as world, Proxy() as proxy:
        settings = world.settings(POLITE_PROXIES=[proxy.url], ROBOTSTXT_OBEY=False)
        if wished:
            settings["HTTPPROXY_ENABLED"] = True
        project(tmp_path, settings)
        outcome = run(tmp_path, SCRAPY_CRAWL, URLS=world.url("/page"), http_proxy=proxy.url, HTTP_PROXY=proxy.url)
        assert outcome.pages == [world.url("/page")], outcome.said
        assert proxy.lines == ([f"CONNECT {GOOD}:{world.port} HTTP/1.1"] if wished else [])


def test_a_proxy_of_the_environment_that_is_not_named_is_refused_where_it_is_wished_for(tmp_path: Path) -> None:
    with World() as world, Proxy() as proxy:
        project(tmp_path, world.settings(HTTPPROXY_ENABLED=True, ROBOTSTXT_OBEY=False))
        outcome = run(tmp_path, SCRAPY_CRAWL, URLS=world.url("/page"), http_proxy=with_user(proxy))
        assert outcome.result["stats"]["polite/refused/proxy"] == 1
        assert f"go through {proxy.url}, which" in outcome.said
        assert SECRET not in outcome.said
        assert proxy.lines == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"POLITE_PROXIES": ["https://proxy.example:3128"]},
            "POLITE_PROXIES = .*is not the URL of a proxy with the scheme http",
        ),
        ({"POLITE_PROXIES": ["socks5://10.0.0.5:1080"]}, "POLITE_PROXIES = "),
        ({"POLITE_PROXIES": ["10.0.0.5:3128"]}, "POLITE_PROXIES = "),
        ({"POLITE_TRUSTED_PROXIES": ["ftp://10.0.0.5"]}, "POLITE_TRUSTED_PROXIES = .*scheme http or https"),
        ({"POLITE_PROXIES": ["http://p:1"], "POLITE_TRUSTED_PROXIES": ["http://P:1/"]}, "both name http://p:1: .*Remove it"),
        ({"POLITE_PROXIES": [f"http://user:{SECRET}@10.0.0.5:3128"]}, "without user and password, and the 1. of the list"),
        ({"POLITE_PROXIES": [f"socks5://user:{SECRET}@10.0.0.5:3128"]}, "without user and password"),
    ],
)
def test_a_proxy_that_cannot_be_meant_is_an_error_that_shows_no_password(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said) as error:
        Config.from_settings(given)
    assert SECRET not in str(error.value)


def test_one_proxy_has_one_spelling() -> None:
    config = Config.from_settings({"POLITE_PROXIES": ["http://Proxy.Example.:3128/", "http://0x7f.1:80", "http://[::1]:3128"]})
    assert config.proxies == {"http://proxy.example:3128", "http://127.0.0.1:80", "http://[::1]:3128"}
