"""Learned costs in a crawl: what it hears on loopback, what it charges then, and what it leaves alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loopback import Answer, Arrival, Proxy, Server, crawl, ports
from scrapy import Request
from scrapy.settings import Settings

from scrapy_polite.config import Config
from scrapy_polite.origins.costs import ENOUGH, Sample
from scrapy_polite.planning import Planner
from scrapy_polite.telemetry.events import Sent
from scrapy_polite.telemetry.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path


SPIDER = """
class Spider(TestSpider):
    async def start(self):
        for n in range({count}):
            for kind in ("", "?s="):
                yield scrapy.Request("{url}/" + kind + str(n), self.answered, errback=self.failed, meta={meta})
"""


def slow(arrival: Arrival) -> Answer:
    return Answer(wait=0.1 if "?s=" in arrival.path else 0.02)


def settings(server: Server, **more: object) -> dict[str, object]:
    return {
        **ports(server),
        "POLITE_COSTS": "auto",
        "POLITE_KINDS": [["search", r"\?s="]],
        "POLITE_SITE_RATE": 1000,
        "POLITE_ORIGIN_RATE": 1000,
        "POLITE_ORIGIN_CONCURRENCY": 1,
        **more,
    }


def charged(tmp_path: Path, kind: str) -> list[float]:
    sent = [event for event in Ledger.read(tmp_path / "limits.ledger.sqlite") if isinstance(event, Sent)]
    return [event.charges[-1].cost for event in sent if event.kind == kind]


def ledger(tmp_path: Path) -> dict[str, object]:
    return {"POLITE_LEDGER": str(tmp_path / "limits.ledger.sqlite")}


def test_a_kind_that_takes_the_server_longer_costs_more_from_then_on(tmp_path: Path) -> None:
    with Server(slow) as server:
        spider = SPIDER.format(count=ENOUGH + 8, url=server.url, meta={})
        found = crawl(spider, tmp_path, **settings(server, **ledger(tmp_path)))
    assert found.code == 0, found.log
    assert found.stats["polite/costs/search"] == 4.5
    assert "polite/costs/page" not in found.stats
    assert "Cost of a search at origin:127.0.0.1: the server takes " in found.log
    costs = charged(tmp_path, "search")
    assert costs[:ENOUGH] == [4.0] * ENOUGH
    assert costs[-4:] == [4.5] * 4
    assert set(charged(tmp_path, "page")) == {2.0}


def test_requests_side_by_side_teach_nothing(tmp_path: Path) -> None:
    with Server(slow) as server:
        spider = SPIDER.format(count=ENOUGH + 8, url=server.url, meta={})
        found = crawl(spider, tmp_path, **settings(server, POLITE_ORIGIN_CONCURRENCY=8))
    assert len(found.urls()) == 2 * (ENOUGH + 8)
    assert not [stat for stat in found.stats if stat.startswith("polite/costs/")]


def test_a_cost_that_is_stated_is_charged_and_teaches_nothing(tmp_path: Path) -> None:
    with Server(slow) as server:
        spider = SPIDER.format(count=ENOUGH + 2, url=server.url, meta={"polite_cost": 3})
        found = crawl(spider, tmp_path, **settings(server, **ledger(tmp_path)))
    assert set(charged(tmp_path, "search")) == {3.0}
    assert not [stat for stat in found.stats if stat.startswith("polite/costs/")]


def test_what_comes_through_a_proxy_teaches_nothing(tmp_path: Path) -> None:
    with Server(slow) as server, Proxy() as proxy:
        spider = SPIDER.format(count=ENOUGH + 2, url=server.url, meta={"proxy": proxy.url})
        found = crawl(spider, tmp_path, **settings(server, POLITE_PROXIES=[proxy.url]))
    assert len(found.urls()) == 2 * (ENOUGH + 2)
    assert not [stat for stat in found.stats if stat.startswith("polite/costs/")]


def test_without_auto_nothing_is_learned(tmp_path: Path) -> None:
    with Server(slow) as server:
        spider = SPIDER.format(count=ENOUGH + 2, url=server.url, meta={})
        found = crawl(spider, tmp_path, **settings(server, POLITE_COSTS={"search": 3}, **ledger(tmp_path)))
    assert set(charged(tmp_path, "search")) == {3.0}
    assert not [stat for stat in found.stats if stat.startswith("polite/costs/")]


def planner(**given: object) -> Planner:
    return Planner(Config.from_settings(Settings({"POLITE_COSTS": "auto", **given})), 10)


def test_a_plan_has_the_cost_of_its_origin_and_meta_wins() -> None:
    plans = planner(POLITE_KINDS=[("search", r"/s\?")])
    keys = ("site:a.test", "origin:a.test")
    request = Request("http://a.test/s?q=1")
    assert plans.sort_of(request, keys)[:2] == ("search", 4)
    assert plans.costs is not None
    for kind, seconds in (("page", 0.1), ("search", 0.9)):
        for _ in range(ENOUGH):
            plans.costs.heard(Sample(keys[-1], keys[0], kind, "203.0.113.7", seconds, 200, None, False, True), 0.0)
    plans.costs.connected("203.0.113.7", 0.01)
    for number in range(ENOUGH):
        plans.costs.heard(Sample(keys[-1], keys[0], "search", "203.0.113.7", 0.9, 200, None, False, True), float(number))
    # What is remembered of it, such as the queue's estimate, goes by this: an old cost is not found again.
    assert plans.sort_of(request, keys)[:2] == ("search", 4.5)
    assert [charge.cost for charge in plans.plan(request, keys[0], keys)[1]] == [4.5, 4.5]
    assert plans.sort_of(request, ("site:b.test", "origin:b.test"))[:2] == ("search", 4)
    assert plans.sort_of(Request(request.url, meta={"polite_cost": 9}), keys)[:2] == ("search", 9)
    assert plans.sort_of(Request(request.url, meta={"polite_kind": "image"}), keys)[:2] == ("image", 1)
    assert [one.kind for one in plans.learned("origin:a.test")] == ["page", "search"]


def test_costs_are_learned_for_origins_and_not_for_buckets() -> None:
    assert planner().cost("image", ("bucket:s3/photos",)) == 1


def test_a_crawl_that_learns_nothing_has_nothing_to_tell() -> None:
    config = Config.from_settings(Settings({}))
    assert Planner(config, 10).learned("origin:a.test") == ()
    assert not config.learns_costs
