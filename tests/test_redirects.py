"""What a redirect takes along to another origin: no credentials, by whatever it is redirected and whatever it fetches."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from loopback import Answer, Arrival, Server, crawl, limits, ports
from scrapy import Request
from scrapy.http import Response

from scrapy_polite.redirects import discreet

if TYPE_CHECKING:
    import ssl
    from pathlib import Path

GIVEN = {"Authorization": "Bearer key", "Cookie": "session=1", "Host": "a.example", "Accept": "text/html"}
ALL = set(GIVEN)


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("https://a.example/1", "https://a.example/2", ALL),
        ("https://a.example/1", "https://A.EXAMPLE.:443/2", ALL),
        ("http://a.example/", "https://a.example/", {"Cookie", "Accept"}),
        ("https://a.example/", "http://a.example/", {"Accept"}),
        ("https://a.example/", "https://a.example:8443/", {"Accept"}),
        ("http://a.example:8080/", "https://a.example/", {"Accept"}),
        ("https://a.example/", "https://b.a.example/", {"Accept"}),
        ("https://b.a.example/", "https://a.example/", {"Accept"}),
        ("http://127.0.0.1/", "http://127.1/", ALL),
        ("https://a.example/", "https://user@b.example/", {"Accept"}),
        ("https://a.example/", "https://a.example@b.example/", {"Accept"}),
        ("https://a.example/", "https://exa mple/", {"Accept"}),
    ],
)
def test_what_is_taken_along(before: str, after: str, kept: set[str]) -> None:
    request = Request(before, headers=GIVEN, meta={"http_user": "user", "http_pass": "word"})
    redirected = discreet(request.replace(url=after), request)
    assert {name.decode() for name in redirected.headers} == kept
    assert ("http_user" in redirected.meta, "http_pass" in redirected.meta) == ((kept == ALL),) * 2
    assert request.headers["Authorization"] == b"Bearer key", "the one that was sent is as it was"


def test_a_user_who_is_given_for_a_domain_stays_with_it() -> None:
    request = Request("https://a.example/", meta={"http_user": "user", "http_pass": "word", "http_auth_domain": "a.example"})
    assert discreet(request.replace(url="https://b.example/"), request).meta == request.meta


def test_an_answer_is_nobodys_redirect() -> None:
    answer = Response("https://b.example/")
    assert discreet(answer, Request("https://a.example/")) is answer


SPIDER = """
from scrapy.pipelines.files import FilesPipeline

SECRETS = {{"Authorization": "Bearer key", "Cookie": "session=1"}}

class Keyed(FilesPipeline):
    def get_media_requests(self, item, info):
        return [scrapy.Request(url, headers=SECRETS) for url in item["file_urls"]]

class Spider(TestSpider):
    async def start(self):
        for url in {urls}:
            yield scrapy.Request(url, headers=SECRETS, callback=self.met, errback=self.failed, dont_filter=True)
    def met(self, response):
        self.answered(response)
        if response.url == "{first}":
            yield {{"file_urls": {files}}}
"""


def test_by_302_by_a_meta_element_and_for_a_file(tmp_path: Path, tls: ssl.SSLContext) -> None:
    def answer(arrival: Arrival) -> Answer:
        way, _, to = arrival.path.partition("?to=")
        if way == "/go":
            return Answer(status=302, headers={"Location": to})
        if way == "/refresh":
            return Answer(f'<html><head><meta http-equiv="refresh" content="0; url={to}"></head></html>'.encode())
        return Answer()

    with ExitStack() as stack:
        plain, secure = stack.enter_context(Server(answer)), stack.enter_context(Server(answer, tls=tls))
        port, host = stack.enter_context(Server()), stack.enter_context(Server(address="127.0.0.3"))
        elsewhere = [f"{port.url}/port", f"http://127.0.0.3:{host.port}/host"]
        ways = [f"{plain.url}/{way}?to={to}" for way in ("go", "refresh") for to in (*elsewhere, f"{plain.url}/same")]
        ways += [f"{secure.url}/{way}?to={plain.url}/downgraded" for way in ("go", "refresh")]
        files = [f"{plain.url}/go?to={to}/file" for to in (*elsewhere, f"{plain.url}/same")]
        first = f"{plain.url}/first"
        source = SPIDER.format(urls=[first, *ways], first=first, files=files)
        done = crawl(
            source,
            tmp_path,
            **limits(100),
            **ports(plain, secure, port, host),
            COOKIES_ENABLED=False,
            MEDIA_ALLOW_REDIRECTS=True,
            ITEM_PIPELINES={"__main__.Keyed": 1},
            FILES_STORE=str(tmp_path / "files"),
        )
        arrivals = [arrival for server in (plain, secure, port, host) for arrival in server.arrivals]
        carried = {
            arrival.path: {name for name in ("authorization", "cookie") if name in arrival.headers}
            for arrival in arrivals
            if not arrival.path.startswith(("/go", "/refresh"))
        }
        both = {"authorization", "cookie"}
        assert carried == {
            "/first": both,
            "/same": both,
            "/same/file": both,
            "/port": set(),
            "/host": set(),
            "/downgraded": set(),
            "/port/file": set(),
            "/host/file": set(),
        }, done.log
        assert all(both <= set(arrival.headers) for arrival in arrivals if arrival.path.startswith(("/go", "/refresh")))
        assert len(arrivals) == 1 + 2 * len(ways) + 2 * len(files)
