"""The attack bench: every attack by every path, each path in one crawl.

A recorder below all libraries writes down every address that a socket of the crawl's process is connected to. What has to come
of it is one column, the same for every path: hosts that lead inside are refused by the rule that is named, and nobody connects
to them; hosts that are served are dialled at the address that was judged and pinned, and nowhere else, and see their own name
in Host and in TLS.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from attack_bench import (
    ATTACKS,
    BROKEN,
    ELSEWHERE,
    EXPECTED,
    FLIP,
    FLIPPED,
    HOMES,
    LITERALS,
    LOOPBACK,
    SERVED,
    TRAPS,
    Bench,
    host_of,
)
from loopback import Proxy
from trapped_world import Outcome, crawl, crawls

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator
    from pathlib import Path

FIRST = [*(attack.host for attack in ATTACKS), FLIP.host, *LITERALS]
"""Who is asked for at the start; FLIP is asked again when its answer has changed."""


@dataclass(frozen=True)
class Way:
    """How the hosts of the bench are asked for. ``speaks``: what the servers speak. ``proxy``: the setting that names it."""

    speaks: str = "http"
    proxy: str = ""
    by: str = ""
    """What leads there."""


DIRECT = {
    "http/1.1": Way(),
    "https with http/1.1": Way("https"),
    "http/2": Way("h2"),
    "redirect by 302": Way(by="go"),
    "redirect by 302, https": Way("https", by="go"),
    "redirect by a meta element": Way(by="refresh"),
}
PROXIED = {
    "http through a proxy, by address": Way(proxy="POLITE_PROXIES"),
    "https through CONNECT, by address": Way("https", proxy="POLITE_PROXIES"),
    "http/2 through CONNECT, by address": Way("h2", proxy="POLITE_PROXIES"),
    "redirect through a proxy, by address": Way(proxy="POLITE_PROXIES", by="go"),
    "http through a trusted proxy": Way(proxy="POLITE_TRUSTED_PROXIES"),
    "https through CONNECT of a trusted proxy": Way("https", proxy="POLITE_TRUSTED_PROXIES"),
}


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def context(tls: ssl.SSLContext, tls_h2: ssl.SSLContext) -> dict[str, ssl.SSLContext | None]:
    return {"http": None, "https": tls, "h2": tls_h2}


def asked(bench: Bench, way: Way, proxy: Proxy | None = None) -> list[dict[str, Any]]:
    """All requests of a crawl."""

    def request(host: str, path: str, **more: Any) -> dict[str, Any]:
        url = bench.by(way.by, host, path) if way.by else bench.url(host, path)
        return {"url": url, "meta": {"proxy": proxy.url} if proxy is not None else {}, **more}

    return [*(request(host, "/x") for host in FIRST), request(FLIP.host, "/again-asked", after=FLIPPED)]


def led_nowhere(bench: Bench, outcome: Outcome, *proxies: Proxy) -> None:
    """No socket was connected to where it must not be, and nobody has met a trap."""
    allowed = {(proxy_address, port) for proxy_address, port in (("127.0.0.1", proxy.port) for proxy in proxies)}
    if not proxies:
        allowed = {(home, bench.port) for home in HOMES.values() if home != ELSEWHERE}
    assert bench.connected(outcome) <= allowed
    assert bench.connected(outcome), "the recorder has seen what was allowed"
    assert bench.hits() == []


def kept_its_name(bench: Bench, outcome: Outcome) -> None:
    """Each host was met at its own address, which is the one that was said to be pinned; TLS named no other."""
    arrived = bench.arrived()
    assert arrived == {host: {HOMES[host]} for host in arrived}
    assert pinned(outcome.result) == {host: HOMES[host] for host in pinned(outcome.result)}
    if bench.scheme == "https":
        assert set(bench.names) == set(arrived)


def pinned(result: dict[str, Any]) -> dict[str, str]:
    """The address that each page says to come from, by its host."""
    return {urlsplit(page["url"]).netloc.rpartition(":")[0]: page["pinned"] for page in result["pages"]}


@pytest.mark.parametrize("path", DIRECT)
def test_every_attack(path: str, tmp_path: Path, opened: ExitStack, context: dict[str, Any]) -> None:
    way = DIRECT[path]
    bench = opened.enter_context(Bench(way.speaks, context[way.speaks]))
    header = {"url": bench.url("plain.example", "/refresh-header?to=/not-followed")}
    outcome = crawl(tmp_path, bench.settings(), [header, *asked(bench, way)])
    assert bench.verdicts(outcome) == EXPECTED, outcome.said
    led_nowhere(bench, outcome)
    kept_its_name(bench, outcome)
    paths = {arrival.path for server in bench.servers.values() for arrival in server.arrivals}
    assert "/not-followed" not in paths, "a Refresh header is not followed"
    assert "/again-asked" not in paths


@pytest.mark.parametrize("path", PROXIED)
def test_every_attack_through_a_proxy(path: str, tmp_path: Path, opened: ExitStack, context: dict[str, Any]) -> None:
    way = PROXIED[path]
    by_address = way.proxy == "POLITE_PROXIES"
    # The proxy of the tests reads one request of a connection; by name they would share one.
    bench = opened.enter_context(Bench(way.speaks, context[way.speaks], once=not by_address and way.speaks == "http"))
    proxy = opened.enter_context(Proxy(HOMES))
    outcome = crawl(tmp_path, bench.settings(**{way.proxy: [proxy.url]}), asked(bench, way, proxy))
    assert bench.verdicts(outcome) == EXPECTED, outcome.said
    led_nowhere(bench, outcome, proxy)
    kept_its_name(bench, outcome)
    served = [host for host, verdict in EXPECTED.items() if verdict.startswith(SERVED)]
    if by_address:
        assert set(proxy.lines) == {f"CONNECT {HOMES[host]}:{bench.port} HTTP/1.1" for host in served}
    else:
        start = "CONNECT " if way.speaks == "https" else "GET http://"
        assert all(any(line.startswith(f"{start}{host}:{bench.port}") for host in served) for line in proxy.lines)


def test_every_attack_by_robots_txt(tmp_path: Path, opened: ExitStack) -> None:
    bench = opened.enter_context(Bench())
    hosts = [attack.host for attack in ATTACKS] + [FLIP.host]
    sites = {host: f"of-{host}" for host in hosts}
    again = f"of-{FLIP.host.removesuffix('.example')}-2.example"
    for site in (*sites.values(), again):
        bench.script.add(site, (60, "A", HOMES["plain.example"]))
    requests = [{"url": bench.url(site, "/page")} for site in sites.values()]
    outcome = crawl(
        tmp_path,
        bench.settings(ROBOTSTXT_OBEY=True, POLITE_DEFER_AFTER=5),  # Whose rules cannot be read is held.
        [*requests, {"url": bench.url(again, "/page"), "later": 2 * FLIPPED}],
    )
    assert bench.verdicts(outcome, hosts) == {host: EXPECTED[host] for host in hosts}, outcome.said
    led_nowhere(bench, outcome)
    # Whose rules cannot be read, of that nothing is fetched; a page cannot tell why.
    served = {site for host, site in sites.items() if EXPECTED[host].startswith(SERVED)}
    arrivals = bench.servers[HOMES["plain.example"]].arrivals
    assert {host_of(arrival) for arrival in arrivals if arrival.path == "/page"} == served


def test_every_attack_by_media_pipelines(tmp_path: Path, opened: ExitStack) -> None:
    bench = opened.enter_context(Bench())
    first, second = bench.url("plain.example", "/gallery"), bench.url("plain.example", "/gallery2")
    items = {
        page: {field: [bench.url(host, f"/{path}.png") for host in hosts] for field in ("image_urls", "file_urls")}
        for page, path, hosts in ((first, "a", FIRST), (second, "b", [FLIP.host]))
    }
    settings = bench.settings(
        IMAGES_STORE=str(tmp_path / "images"),
        FILES_STORE=str(tmp_path / "files"),
        ITEM_PIPELINES={"scrapy_polite.media.PoliteImagesPipeline": 1, "scrapy.pipelines.files.FilesPipeline": 2},
        POLITE_IMAGES={"sizes": {"small": {"width": 32, "height": 24, "fit": "inside", "format": "webp"}}},
    )
    outcome = crawl(tmp_path, settings, [{"url": first}, {"url": second, "after": FLIPPED}], items=items)
    assert bench.verdicts(outcome) == EXPECTED, outcome.said
    led_nowhere(bench, outcome)
    kept_its_name(bench, outcome)
    served = sum(verdict.startswith(SERVED) for verdict in EXPECTED.values())
    assert outcome.result["stats"]["polite/images/ok"] == served
    assert outcome.result["stats"]["file_count"] == 2 * served


def test_every_attack_by_a_retry(tmp_path: Path, opened: ExitStack) -> None:
    """Each host is good at first, and asks to be asked again; by then it leads astray."""
    bench = opened.enter_context(Bench(turning=True))
    hosts = [attack.host for attack in ATTACKS if not attack.port]
    requests = [{"url": bench.url(host, "/again")} for host in hosts]
    retry = {"RETRY_ENABLED": True, "RETRY_HTTP_CODES": [418], "RETRY_TIMES": 1}
    outcome = crawl(tmp_path, bench.settings(**retry), requests)
    turned = {host: EXPECTED[host] for host in hosts if EXPECTED[host] not in (SERVED, BROKEN)}
    expected = {host: f"{SERVED}, {turned[host]}" if host in turned else SERVED for host in hosts}
    assert bench.verdicts(outcome, list(expected)) == expected, outcome.said
    led_nowhere(bench, outcome)


def test_every_attack_by_two_crawlers_in_one_process(tmp_path: Path, opened: ExitStack) -> None:
    """What the one may reach is refused to the other, on the same reactor, at the same time."""
    bench = opened.enter_context(Bench())
    networks = {"first": "127.30.0.0/16", "second": "127.31.0.0/16"}
    jobs = [
        {
            "name": name,
            "settings": bench.settings(),
            "custom_settings": {"POLITE_ALLOW_NETWORKS": [network]},
            # Whose name answers otherwise the second time is asked for by one alone.
            "requests": [one for one in asked(bench, Way()) if name == "first" or FLIP.host not in one["url"]],
        }
        for name, network in networks.items()
    ]
    outcome = crawls(tmp_path, "AsyncCrawlerProcess", *jobs)
    assert {name: pinned(result) for name, result in outcome.results.items()} == {
        "first": {host: HOMES[host] for host, verdict in EXPECTED.items() if verdict.startswith(SERVED)},
        "second": {"other.example": ELSEWHERE},
    }, outcome.said
    refused = outcome.results["second"]["failed"]
    assert len(refused) == len(FIRST) - 2, "all but the one, and the one that is not asked for"
    allowed = {(home, bench.port) for home in HOMES.values()}
    assert bench.connected(outcome) <= allowed
    assert bench.hits() == []
    arrived = bench.arrived()
    assert arrived == {host: {HOMES[host]} for host in arrived}


@pytest.mark.parametrize("put_back", [False, True])
def test_every_attack_by_ftp(tmp_path: Path, opened: ExitStack, put_back: bool) -> None:
    """The scheme is refused, and has no handler; where somebody puts one back, and takes away what refuses it, the layers in
    the reactor are left: no name is resolved, and no address dialled, that is not a judged request's."""
    bench = opened.enter_context(Bench())
    settings = bench.settings(POLITE_ALLOW_NETWORKS=[], FTP_USER="a", FTP_PASSWORD="b", DOWNLOAD_TIMEOUT=3)
    if put_back:
        settings["ADDONS"] = {**settings["ADDONS"], "own_parts.FtpAddon": 400}
        settings["DOWNLOADER_MIDDLEWARES"] = {"scrapy_polite.middleware.ListenerMiddleware": None}
    outcome = crawl(tmp_path, settings, [f"ftp://{host}:{bench.port}/x" for host in FIRST])
    assert len(outcome.result["failed"]) == len(FIRST), outcome.said
    assert outcome.pages == []
    assert bench.connected(outcome) == set()
    assert (bench.hits(), bench.arrived()) == ([], {})
    if not put_back:
        assert outcome.result["stats"]["polite/refused/scheme"] == len(FIRST)


def test_who_dials_by_himself_inside_a_request_reaches_its_pinned_address_only(tmp_path: Path, opened: ExitStack) -> None:
    """A handler of the project's that opens connections past the resolver: to literals, to '', to names."""
    bench = opened.enter_context(Bench())
    settings = bench.settings(DOWNLOAD_HANDLERS={"http": "own_parts.StrayHandler"})
    outcome = crawl(tmp_path, settings, [bench.url("plain.example"), bench.url("many.example")])
    assert outcome.said.count("STRAYED") == 0
    assert outcome.said.count("STOPPED") >= 10, outcome.said
    assert bench.connected(outcome) <= {(HOMES[host], bench.port) for host in ("plain.example", "many.example")}
    assert bench.hits() == []


def test_without_the_add_on_the_same_attacks_meet_the_trap_and_the_recorder_sees_it(tmp_path: Path, opened: ExitStack) -> None:
    """Those that need no name server, since Scrapy asks the system's."""
    bench = opened.enter_context(Bench())
    inside = [host for host, verdict in LITERALS.items() if verdict == LOOPBACK]
    outcome = crawl(tmp_path, bench.settings(POLITE_ENABLED=False), [bench.url(host) for host in inside])
    assert {(address, bench.port) for address in TRAPS[:1]} <= bench.connected(outcome)
    assert len(bench.hits()) >= len(inside) - 1
