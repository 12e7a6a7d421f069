"""A real edge (nginx with a cache) in front of real origins, crawled by Scrapy with the add-on: what the origins see.

Everything is on loopback. The names are of customers of bunny.net's, by a name server of the test's own; nginx says of its
cache what bunny.net says, and the origin says of every page that it is a hit, which nginx passes on, and which is not to be
believed.
"""

from __future__ import annotations

import http.client
import time
from typing import TYPE_CHECKING, Any

import pytest
from loopback import Answer, Arrival, Server, start
from nameserver import Script, name_server_in_a_thread
from nginx import Nginx

from scrapy_polite.origins.cachestatus import cache_status
from scrapy_polite.telemetry.events import Refunded, Sent
from scrapy_polite.telemetry.ledger import Ledger
from scrapy_polite.telemetry.proof import prove

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.nginx

RATE = 2.0
EDGE_RATE = 10 * RATE
FORGED = {"X-Cache": "HIT", "Cache-Status": "varnish; hit", "Age": "77", "X-Cache-Status": "HIT"}
LATENCY = 0.1


def page(arrival: Arrival) -> Answer:
    return Answer(headers={**FORGED, "Cache-Control": "max-age=600"}, wait=LATENCY)


def warm(arrival: Arrival) -> Answer:
    return Answer(headers={**FORGED, "Cache-Control": "max-age=600"})


def worst(arrivals: Sequence[float], seconds: float = 10.0) -> int:
    """The most in [t, t + seconds)."""
    ordered = sorted(arrivals)
    return max((sum(1 for at in ordered[first:] if at - ordered[first] < seconds) for first in range(len(ordered))), default=0)


def names(hosts: Sequence[str]) -> Script:
    script = Script()
    for number, host in enumerate(hosts):
        script.add(host, (300, "CNAME", f"customer{number}.b-cdn.net."))
        script.add(f"customer{number}.b-cdn.net", (300, "A", "127.0.0.1"))
    return script


def settings(dns: str, port: int, **more: Any) -> dict[str, Any]:
    return {
        "POLITE_DNS_SERVERS": [dns],
        "POLITE_ALLOW_PORTS": [port],
        "POLITE_COSTS": {"page": 1},
        "POLITE_SITE_RATE": RATE,
        "POLITE_ORIGIN_RATE": RATE,
        "POLITE_EDGE_RATE": EDGE_RATE,
        "CONCURRENT_REQUESTS": 64,
        "RETRY_ENABLED": False,
        **more,
    }


IN_ORDER = """
class Spider(TestSpider):
    async def start(self):
        for number, url in enumerate({urls!r}):
            yield scrapy.Request(url, callback=self.answered, errback=self.failed, priority=-number, dont_filter=True)
"""


def mixed(host: str, port: int, count: int, hits: float) -> tuple[list[str], list[str]]:
    """URLs in a fixed and even mixture, and the paths of those that are to be in the cache."""
    paths, warm, owed = [], [], 0.0
    for number in range(count):
        owed += hits
        kind = "cached" if owed >= 1 - 1e-9 else "new"
        owed -= kind == "cached"
        paths.append(f"/{kind}/{number}")
        warm += paths[-1:] if kind == "cached" else []
    return [f"http://{host}:{port}{path}" for path in paths], warm


SECONDS = 14
HIT_RATES = {"www.never.test": 0.0, "www.half.test": 0.5, "www.mostly.test": 0.9, "www.always.test": 0.99}


def test_origins_see_their_rate_at_any_hit_rate_and_the_crawl_is_faster_the_more_is_cached(tmp_path: Path) -> None:
    counts = dict(zip(HIT_RATES, (60, 100, 400, 400), strict=True))
    hosts = list(HIT_RATES)
    origins = [Server(page) for _ in hosts]
    script = names(hosts)
    ports = {host: origin.port for host, origin in zip(hosts, origins, strict=True)}
    with origins[0], origins[1], origins[2], origins[3], Nginx(tmp_path, ports) as edge:
        urls: list[list[str]] = []
        for host, origin in zip(hosts, origins, strict=True):
            found, cached = mixed(host, edge.port, counts[host], HIT_RATES[host])
            urls.append(found)
            origin._answer = warm
            edge.warm(host, cached)
            origin._answer = page
            origin.arrivals.clear()
        in_turn = [url for group in zip(*(_stretched(one, 400) for one in urls), strict=True) for url in group if url]
        with name_server_in_a_thread("127.0.0.1", script) as dns:
            options = settings(dns, edge.port, CLOSESPIDER_TIMEOUT=SECONDS)
            opened = time.time()
            with start(IN_ORDER.format(urls=in_turn), tmp_path, **options) as running:
                done = running.end()
        seen = edge.seen(since=opened)
    assert done.code == 0, done.log
    assert done.stats["polite/edge/hit"] > 100, done.log
    began = min(one.at for one in seen)
    answered = {host: sum(1 for one in seen if one.host == host and one.at - began < SECONDS - 2) for host in hosts}
    assert list(answered.values()) == sorted(answered.values()), answered
    for host, origin in zip(hosts, origins, strict=True):
        assert worst([arrival.at for arrival in origin.arrivals]) <= 1.05 * RATE * 10, host
        could = min(EDGE_RATE, RATE / (1 - HIT_RATES[host])) * (SECONDS - 2)
        assert answered[host] >= 0.6 * min(could, counts[host]), answered
    proof = prove(Ledger.read(tmp_path / "limits.ledger.sqlite"))
    assert proof.passed, proof.violations
    by_key = {key.key: key for key in proof.keys}
    for number, (host, origin) in enumerate(zip(hosts, origins, strict=True)):
        key = by_key[f"origin:customer{number}.b-cdn.net"]
        assert key.requests - key.refunded == pytest.approx(len(origin.arrivals), abs=8), "but for what was out at the end"
        assert by_key[f"edge:bunny/{host}"].refunded == 0


def _stretched(urls: list[str], length: int) -> list[str | None]:
    """The same evenly spread over so many places."""
    places: list[str | None] = [None] * length
    for number, url in enumerate(urls):
        places[number * length // len(urls)] = url
    return places


HOST = "www.falls.test"


def test_when_the_hit_rate_falls_to_nothing_and_when_the_headers_vanish_the_origin_sees_its_rate(tmp_path: Path) -> None:
    fast, fallen, silent = 60, 14, 16
    with Server(page) as origin, Nginx(tmp_path, {HOST: origin.port}) as edge:
        urls, cached = mixed(HOST, edge.port, fast, 0.9)
        later = [f"/cached/later{number}" for number in range(fallen + silent)]
        origin._answer = warm
        edge.warm(HOST, [*cached, *later])
        origin._answer = page
        origin.arrivals.clear()
        everything = [*urls, *(f"http://{HOST}:{edge.port}{path}" for path in later)]
        with name_server_in_a_thread("127.0.0.1", names([HOST])) as dns:
            ledger, opened = tmp_path / "limits.ledger.sqlite", time.time()
            with start(IN_ORDER.format(urls=everything), tmp_path, **settings(dns, edge.port)) as running:
                running.until(lambda: len(edge.seen(since=opened)) >= fast - 10)
                edge.purge()
                purged = time.monotonic()
                running.until(lambda: len(edge.seen(since=opened)) >= fast + fallen)
                edge.fall_silent()
                done = running.end()
        seen = edge.seen(since=opened)
        assert done.code == 0, done.log
        assert len(done.urls()) == len(everything), done.log
        arrivals = [arrival.at for arrival in origin.arrivals]
    assert worst(arrivals) <= 1.05 * RATE * 10
    assert sum(1 for at in arrivals if at > purged) >= fallen, "the cache was empty"
    quick = [one.at for one in seen[: fast - 10]]
    assert len(quick) / (quick[-1] - quick[0]) > 2 * RATE, "most of it came out of the cache"
    # Whatever is cached or not when nothing is said any more: all of it is charged as if the origin had answered.
    events = list(Ledger.read(ledger))
    sent = [event for event in events if isinstance(event, Sent)]
    refunded = {event.slot for event in events if isinstance(event, Refunded)}
    assert not any(event.slot in refunded for event in sent[-silent + 6 :])
    assert worst([event.at / 1e6 for event in sent[-silent + 6 :]]) <= 1.05 * RATE * 10
    proof = prove(events)
    assert proof.passed, proof.violations


@pytest.mark.parametrize("also", ["", "proxy_cache_background_update on;"])
def test_an_edge_that_serves_stale_pages_asks_the_origin_for_each_and_so_none_is_a_hit(tmp_path: Path, also: str) -> None:
    def fails(arrival: Arrival) -> Answer:
        short = {"Cache-Control": "max-age=1"}
        return Answer(headers=short) if len(origin.arrivals) == 1 else Answer(status=503)

    with (
        Server(fails) as origin,
        Nginx(tmp_path, {HOST: origin.port}, f"proxy_cache_use_stale http_503 updating; {also}") as edge,
    ):
        said: list[str] = []
        end = time.monotonic() + 20
        while said.count("STALE") < 5 and time.monotonic() < end:
            connection = http.client.HTTPConnection("127.0.0.1", edge.port, timeout=20)
            connection.request("GET", "/page", headers={"Host": HOST})
            answer = connection.getresponse()
            answer.read()
            connection.close()
            assert answer.status == 200
            said.append(answer.headers["CDN-Cache"])
            assert (cache_status({"cdn-cache": [said[-1]]}, "bunny").verdict == "hit") == (said[-1] in ("HIT", "UPDATING"))
            time.sleep(0.05)
    assert said.count("STALE") >= 5
    assert len(origin.arrivals) == said.count("MISS") + said.count("STALE"), said
