"""Name servers that answer for no name: this machine's trouble, and no site's."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from loopback import Server, crawl, limits, ports, start
from nameserver import Script, name_server, name_server_in_a_thread

from scrapy_polite.dns.resolver import Resolver
from scrapy_polite.stores.base import open_store

if TYPE_CHECKING:
    from pathlib import Path

HOSTS = ("one.example", "two.example")

SPIDER = """
class Spider(TestSpider):
    async def start(self):
        for host in {hosts}:
            for n in range(4):
                yield scrapy.Request("http://%s:{port}/%d" % (host, n), self.answered, errback=self.failed)
"""


def mute() -> Script:
    script = Script()
    script.faults["*"] = "silent"
    for number, host in enumerate(HOSTS, 1):
        script.add(host, (60, "A", f"127.0.31.{number}"))
    return script


def test_one_answer_for_any_name_shows_that_there_are_name_servers() -> None:
    async def silences() -> list[float]:
        script = mute()
        async with name_server("127.0.0.1", script) as (_, server):
            resolver = Resolver([server], 0.3)
            found = [resolver.silent_for]
            for faults, host in (("*", "one.example"), ("one.example", "nobody.example"), ("two.example", "two.example")):
                script.faults = {faults: "silent"}
                await resolver.resolve(host)
                found.append(resolver.silent_for)
            await resolver.close()
        return found

    before, silent, exists_not, after = asyncio.run(silences())
    assert before == 0
    assert silent > 0.2
    assert exists_not == 0, "that a name does not exist is an answer"
    assert after > 0.2


def test_while_none_answers_no_site_is_held_and_nothing_is_lost(tmp_path: Path) -> None:
    script = mute()
    with name_server_in_a_thread("127.0.0.1", script) as dns, Server(address="0.0.0.0") as server:
        settings = limits(20.0) | ports(server) | {"POLITE_DNS_SERVERS": [dns], "POLITE_DNS_TIMEOUT": 0.5, "RETRY_TIMES": 0}
        with start(SPIDER.format(hosts=HOSTS, port=server.port), tmp_path, **settings) as running:
            running.until(lambda: "This machine's name servers do not answer, for any name since" in running.log, 60)
            script.faults.clear()
            done = running.end(90)
    assert len(done.urls()) == 8, done.log
    assert done.stats["finish_reason"] == "finished"
    assert "Hold: " not in done.log
    assert "retry/count" not in done.stats
    assert done.log.count("name servers do not answer") == 1


def test_where_that_lasts_it_is_put_off_and_the_reason_says_what_failed(tmp_path: Path) -> None:
    with name_server_in_a_thread("127.0.0.1", mute()) as dns, Server(address="0.0.0.0") as server:
        more = {"POLITE_DNS_SERVERS": [dns], "POLITE_DNS_TIMEOUT": 0.3, "POLITE_DEFER_AFTER": 0.2, "RETRY_TIMES": 9}
        settings = limits(20.0) | ports(server) | more
        done = crawl(SPIDER.format(hosts=HOSTS[:1], port=server.port), tmp_path, **settings)
    assert done.stats["finish_reason"] == "polite_deferred", done.log
    assert done.stats["polite/deferred"] == 4
    store = open_store(f"sqlite:{tmp_path}/limits.sqlite")
    (held,) = store.held()
    store.close()
    assert held.cause.kind == "dns"
    assert "its name could not be looked up (timeout: No name server answered for one.example within" in held.cause.reason
