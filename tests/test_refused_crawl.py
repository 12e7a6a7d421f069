"""Refusals on crawls of loopback servers: held in every process, lost nothing, and cleared by success."""

from __future__ import annotations

import gzip
import re
import time
from email.utils import formatdate
from typing import TYPE_CHECKING

import pytest
from loopback import FETCH, Answer, Arrival, Server, crawl, limits, ports, start
from nameserver import Script, name_server_in_a_thread

from scrapy_polite.stores.base import open_store
from scrapy_polite.telemetry.events import HeldEvent
from scrapy_polite.telemetry.ledger import Ledger
from scrapy_polite.telemetry.proof import prove

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STATED = 5
SLACK = 0.3
"""Seconds after an answer in which whatever was on the wire already has arrived."""

LINKS = "".join(f'<a href="/{number}">a page</a> ' for number in range(20))
CAPTCHA = f'<html><title>Are you a robot?</title>{LINKS}<div class="g-recaptcha"></div></html>'.encode()


def ladders(**rungs: list[float]) -> dict[str, object]:
    """Short ones, and no jitter: a test waits for them."""
    return {"POLITE_LADDERS": rungs, "POLITE_LADDER_JITTER": 0}


def held(ledger: Path) -> list[HeldEvent]:
    return [event for event in Ledger.read(ledger) if isinstance(event, HeldEvent)]


def seconds(event: HeldEvent) -> float:
    return (event.until - event.at) / 1e6


def stated_in_seconds() -> dict[str, str]:
    return {"Retry-After": str(STATED)}


def stated_as_a_date() -> dict[str, str]:
    # By a clock that is two hours fast: what counts is the date of the answer.
    now = int(time.time()) + 7_200
    return {"Retry-After": formatdate(now + STATED, usegmt=True), "Date": formatdate(now, usegmt=True)}


@pytest.mark.parametrize("stated", [stated_in_seconds, stated_as_a_date])
def test_a_stated_time_is_kept_by_two_processes(tmp_path: Path, stated: Callable[[], dict[str, str]]) -> None:
    refused: list[float] = []

    def answer(arrival: Arrival) -> Answer:
        if len(server.arrivals) == 8:
            refused.append(arrival.at)
            return Answer(status=429, headers=stated())
        return Answer()

    store = {"POLITE_STORE": f"sqlite:{tmp_path}/limits.sqlite"}
    for name in "ab":
        (tmp_path / name).mkdir()
    with Server(answer) as server:
        source = FETCH.format(count=10, url=server.url)
        options = {**limits(10), **ports(server), **store}
        with start(source, tmp_path / "a", **options) as one, start(source, tmp_path / "b", **options) as other:
            ends = [one.end(), other.end()]
    assert [sorted(end.urls()) for end in ends] == [sorted(f"{server.url}/{n}" for n in range(10))] * 2
    inside = [arrival for arrival in server.arrivals if refused[0] + SLACK < arrival.at < refused[0] + STATED]
    assert inside == []
    assert len(server.arrivals) == 21
    assert sum(end.stats.get("polite/backoff/rate_limited", 0) for end in ends) == 1
    assert all("retry/count" not in end.stats for end in ends)


def test_a_longer_time_stands_and_the_first_cause_is_kept(tmp_path: Path) -> None:
    def answer(arrival: Arrival) -> Answer:
        number = len(server.arrivals)
        return Answer(status=429, headers={"Retry-After": "3600" if number == 1 else "2"}, wait=1.0 if number == 1 else 1.5)

    with Server(answer) as server:
        with start(FETCH.format(count=3, url=server.url), tmp_path, **limits(10), **ports(server)) as running:
            running.until(lambda: len(server.arrivals) >= 2)
            time.sleep(2.5)  # Until both answers were heard: of the second nobody says anything.
        store = open_store(f"sqlite:{tmp_path}/limits.sqlite")
        try:
            (found,) = store.held()
        finally:
            store.close()
    assert found.key == "site:127.0.0.1"
    assert 3500 < found.seconds < 4200
    assert found.cause.reason == "429, Retry-After: 3600"
    assert found.cause.stated


@pytest.mark.parametrize("packed", [False, True])
def test_a_captcha_with_status_200_on_two_urls_is_a_challenge(tmp_path: Path, packed: bool) -> None:
    body = gzip.compress(CAPTCHA) if packed else CAPTCHA

    def answer(arrival: Arrival) -> Answer:
        if len(server.arrivals) in (2, 3):
            return Answer(body, headers={"Content-Encoding": "gzip"} if packed else {})
        return Answer()

    with Server(answer) as server:
        done = crawl(FETCH.format(count=5, url=server.url), tmp_path, **limits(5), **ports(server), **ladders(challenge=[2]))
    assert done.code == 0, done.log
    assert len(done.urls()) == 5
    assert done.stats["polite/backoff/challenge"] == 1
    assert "200, CAPTCHA page" in done.log
    # The second of the two was no page of the site's, and was asked for again after the hold.
    assert len(server.arrivals) == 6
    assert server.gaps()[2] >= 2 - 0.1


def test_three_timeouts_in_a_row_hold_the_site_and_no_retry_is_used_up_for_it(tmp_path: Path) -> None:
    def answer(arrival: Arrival) -> Answer:
        return Answer(wait=2 if len(server.arrivals) <= 3 else 0)

    with Server(answer) as server:
        done = crawl(
            FETCH.format(count=3, url=server.url),
            tmp_path,
            **limits(10),
            **ports(server),
            **ladders(timeout=[2]),
            DOWNLOAD_TIMEOUT=1,
            CONCURRENT_REQUESTS_PER_DOMAIN=1,
        )
    assert done.code == 0, done.log
    assert len(done.urls()) == 3, done.log
    assert done.stats["polite/backoff/timeout"] == 1
    assert done.stats["retry/count"] == 2
    assert server.gaps()[2] >= 2


def test_a_server_that_is_down_for_a_while_loses_no_request(tmp_path: Path) -> None:
    with Server() as server:
        pass
    source = FETCH.format(count=6, url=server.url)
    options = {**limits(10), **ports(server), **ladders(connect=[1.5])}
    with start(source, tmp_path, RETRY_ENABLED=False, **options) as running:
        running.until(lambda: "Hold: site:127.0.0.1" in running.log)
        with Server(port=server.port) as again:
            done = running.end()
    assert len(done.urls()) == 4, done.log
    # Two were their own errors before it was a run.
    assert [result[1] for result in done.results if result[1] != 200] == ["DownloadConnectionRefusedError"] * 2
    assert done.stats["polite/backoff/connect"] >= 1
    assert len(again.arrivals) == 4


def test_a_good_answer_clears_the_ladder(tmp_path: Path) -> None:
    def answer(arrival: Arrival) -> Answer:
        return Answer(status=429 if len(server.arrivals) in (1, 3) else 200)

    with Server(answer) as server:
        done = crawl(
            FETCH.format(count=3, url=server.url),
            tmp_path,
            **limits(5),
            **ports(server),
            **ladders(rate_limited=[1, 60]),
            CONCURRENT_REQUESTS_PER_DOMAIN=1,
        )
    assert len(done.urls()) == 3, done.log
    assert [round(seconds(event)) for event in held(tmp_path / "limits.ledger.sqlite")] == [1, 1]


THREE_SITES = """
class Spider(TestSpider):
    async def start(self):
        for n in range(6):
            for site in "abc":
                yield scrapy.Request(f"http://{{site}}.test:{port}/{{n}}", self.answered, errback=self.failed)
"""


def test_the_refusal_of_a_second_site_is_the_origins_and_its_other_sites_wait_too(tmp_path: Path) -> None:
    refused: dict[str, float] = {}

    def answer(arrival: Arrival) -> Answer:
        site = arrival.headers["host"].partition(":")[0]
        if site != "c.test" and site not in refused and arrival.path != "/0":
            refused[site] = arrival.at
            return Answer(status=429)
        return Answer()

    script = Script()
    for site in "abc":
        script.add(f"{site}.test", (60, "A", "127.0.0.1"))
    with Server(answer) as server, name_server_in_a_thread("127.0.0.1", script) as dns:
        done = crawl(
            THREE_SITES.format(port=server.port),
            tmp_path,
            **ports(server),
            **ladders(rate_limited=[3]),
            POLITE_DNS_SERVERS=[dns],
            POLITE_COSTS={"page": 1},
            POLITE_SITE_RATE=4,
            POLITE_ORIGIN_RATE=12,
        )
    assert done.code == 0, done.log
    assert len(done.urls()) == 18
    assert done.stats["polite/raised/rate_limited"] == 1
    assert done.stats["polite/backoff/rate_limited"] == 2
    events = list(Ledger.read(tmp_path / "limits.ledger.sqlite"))
    keys = {event.key: event for event in events if isinstance(event, HeldEvent)}
    (origin,) = (key for key in keys if key.startswith("origin:"))
    assert set(keys) == {"site:a.test", "site:b.test", origin}
    assert keys[origin].reason.startswith("429; raised from site:")
    assert keys[origin].until == max(event.until for event in keys.values())
    assert re.search(rf"Hold: {re.escape(origin)} for [^(]+\(rate_limited: 429[^)]*\), raised from site:", done.log)
    second = max(refused.values())
    assert [arrival for arrival in server.arrivals if second + SLACK < arrival.at < second + 3] == []
    proof = prove(events)
    assert proof.passed, proof.violations


def test_a_name_that_cannot_be_looked_up_for_a_while_loses_no_request(tmp_path: Path) -> None:
    script = Script()
    script.faults["a.test"] = "SERVFAIL"
    script.add("a.test", (60, "A", "127.0.0.1"))
    with Server() as server, name_server_in_a_thread("127.0.0.1", script) as dns:
        options = {**limits(10), **ports(server), **ladders(dns=[6]), "POLITE_DNS_SERVERS": [dns], "RETRY_ENABLED": False}
        with start(FETCH.format(count=5, url=f"http://a.test:{server.port}"), tmp_path, **options) as running:
            running.until(lambda: "Hold: site:a.test" in running.log)
            del script.faults["a.test"]
            done = running.end()
    assert len(done.urls()) == 3, done.log
    assert [result[1] for result in done.results if result[1] != 200] == ["CannotResolveHostError"] * 2
    assert done.stats["polite/backoff/dns"] == 3
    assert "dns: its name could not be looked up" in done.log


def test_a_name_that_does_not_exist_holds_nothing_and_ends_at_its_errback(tmp_path: Path) -> None:
    with name_server_in_a_thread("127.0.0.1", Script()) as dns:
        source = FETCH.format(count=5, url="http://nobody.test")
        done = crawl(source, tmp_path, **limits(10), POLITE_DNS_SERVERS=[dns], RETRY_ENABLED=False)
    assert [result[1] for result in done.results] == ["CannotResolveHostError"] * 5, done.log
    assert "polite/backoff/dns" not in done.stats
