"""At its end a crawl says once how many addresses may be an edge that no table knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from commandline import polite
from loopback import Answer, Arrival, Server, crawl, ports
from nameserver import Script, name_server_in_a_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LETTERS = "abcdefghijkl"
SPIDER = """
class Spider(TestSpider):
    async def start(self):
        for letter in "{letters}":
            yield scrapy.Request(f"http://www.{{letter}}.test:{port}/", self.answered, errback=self.failed)
"""


def branded(arrival: Arrival) -> Answer:
    """Each site is made differently, and all show one brand."""
    letter = arrival.headers["host"].split(".")[1]
    return Answer(headers={"X-Regio": "HIT", f"X-Own-{letter}": "1", "X-Frame-Options": f"ALLOW-{letter}"})


def unbranded(arrival: Arrival) -> Answer:
    return Answer()


@pytest.mark.parametrize(
    ("answer", "store", "said"),
    [
        (
            branded,
            "sqlite",
            "Origins: 1 address may be an edge that no table knows, whose sites share one rate for now: `scrapy",
        ),
        (branded, "memory", "with a store that outlives the crawl (POLITE_STORE) `scrapy polite origins --suspected` shows"),
        (unbranded, "sqlite", None),
    ],
)
def test_addresses_that_may_be_an_edge_are_told_once(
    tmp_path: Path, answer: Callable[[Arrival], Answer], store: str, said: str | None
) -> None:
    script = Script()
    for letter in LETTERS:
        script.add(f"www.{letter}.test", (300, "A", "127.0.0.1"))
    url = "memory:" if store == "memory" else f"sqlite:{tmp_path}/limits.sqlite"
    with Server(answer) as server, name_server_in_a_thread("127.0.0.1", script) as dns:
        found = crawl(
            SPIDER.format(letters=LETTERS, port=server.port),
            tmp_path,
            **ports(server),
            POLITE_DNS_SERVERS=[dns],
            POLITE_STORE=url,
            POLITE_ORIGIN_RATE=100,
            POLITE_SITE_RATE=100,
        )
    assert len(found.urls()) == len(LETTERS), found.log
    assert found.log.count("may be an edge that no table knows") == (said is not None), found.log
    if said is not None:
        assert said in found.log
    if store == "sqlite":
        shown = polite("origins", "--suspected", "-s", f"POLITE_STORE={url}", cwd=tmp_path).stdout
        assert f"Suspected edges: {'none' if said is None else 1}, among 12 hosts" in shown
