"""Learned costs in a crawl: what it hears on loopback, what it charges then, and what it leaves alone."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from commandline import objects, polite
from loopback import SETTINGS, Answer, Arrival, Proxy, Server, crawl, ports, start
from scrapy import Request
from scrapy.settings import Settings

from scrapy_polite.config import Config
from scrapy_polite.origins.costs import ENOUGH, Sample
from scrapy_polite.origins.notes import COST, NotedCost
from scrapy_polite.planning import Planner
from scrapy_polite.stores.base import open_store
from scrapy_polite.telemetry.events import Sent
from scrapy_polite.telemetry.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

    from postgres import Database


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


def auto_or_not(auto: bool) -> dict[str, object]:
    return {} if auto else {"POLITE_COSTS": {"search": 4}}


def explained(tmp_path: Path, url: str, chosen: dict[str, object], *arguments: str) -> CompletedProcess[str]:
    """``explain`` in a process of its own, with the settings of a crawl."""
    every = {name: value for name, value in (SETTINGS | chosen).items() if name.startswith("POLITE_")}
    given = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in every.items()]
    return polite("explain", *arguments, *(word for one in given for word in ("-s", one)), url, cwd=tmp_path)


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


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_what_one_crawl_has_learned_the_next_one_charges_and_explain_tells(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    database: Database | None = request.getfixturevalue("database") if kind == "postgres" else None
    url = database.url if database is not None else f"sqlite:{tmp_path}/limits.sqlite"
    with Server(slow) as server:
        spider = SPIDER.format(count=ENOUGH + 8, url=server.url, meta={})
        chosen = settings(server, POLITE_STORE=url, **ledger(tmp_path))
        first = crawl(spider, tmp_path, **chosen)
        before = len(charged(tmp_path, "search"))
        second = crawl(spider, tmp_path, **chosen)
        assert first.stats["polite/costs/search"] == 4.5, first.log
        assert set(charged(tmp_path, "search")[before:]) == {4.5}, second.log
        # It learns the same, but the last step is not ten minutes ago.
        assert second.stats["polite/costs/search"] == 4.5
        assert "Cost of a search" not in second.log
        found = {
            auto: explained(tmp_path, f"{server.url}/?s=1", chosen | auto_or_not(auto), "--json") for auto in (True, False)
        }
        text = explained(tmp_path, f"{server.url}/?s=1", chosen)
    (learned,) = objects(found[True])
    assert learned["cost"] == 4.5
    assert [charge["cost"] for charge in learned["charges"]] == [4.5, 4.5]
    (one,) = learned["learned"]
    assert (one["kind"], one["cost"], one["default"]) == ("search", 4.5, 4)
    assert one["samples"] >= ENOUGH <= one["pages"]
    assert abs(one["at"] - time.time()) < 600
    assert one["because"].startswith("the server takes ")
    assert f"  learned    a search costs 4.5 here, and 4 elsewhere; learned from {one['samples']} answers and " in text.stdout
    assert f" UTC: {one['because']}\n" in text.stdout
    (stated,) = objects(found[False])
    assert (stated["cost"], stated["learned"]) == (4.0, [])


def test_crawls_at_once_make_one_step_in_ten_minutes_between_them(tmp_path: Path) -> None:
    store = f"sqlite:{tmp_path}/limits.sqlite"
    with Server(slow) as server:
        spider = SPIDER.format(count=ENOUGH + 8, url=server.url, meta={})
        crawls = []
        for name in ("a", "b", "c"):
            (tmp_path / name).mkdir()
            crawls.append(start(spider, tmp_path / name, **settings(server, POLITE_STORE=store)))
        ended = [one.end() for one in crawls]
    logs = "".join(one.log for one in ended)
    # Two that read the notes in the same moment may both say it: then it is the same step.
    assert logs.count("Cost of a search at origin:127.0.0.1: ") in (1, 2), logs
    assert logs.count(": from 4 to 4.5, ") == logs.count("Cost of a search at "), logs
    opened = open_store(store)
    (note,) = opened.notes(["origin:127.0.0.1"])["origin:127.0.0.1"].values()
    opened.close()
    found = NotedCost.from_text(note)
    assert found is not None
    assert found.cost == 4.5


def test_a_note_that_is_broken_is_as_if_there_were_none(tmp_path: Path) -> None:
    store = open_store(f"sqlite:{tmp_path}/limits.sqlite")
    for kind, text in (("search", "{"), ("page", '{"v": 1}'), ("image", json.dumps([1]))):
        store.note("origin:127.0.0.1", COST + kind, text)
    with Server(slow) as server:
        spider = SPIDER.format(count=ENOUGH + 2, url=server.url, meta={})
        found = crawl(spider, tmp_path, **settings(server, **ledger(tmp_path)))
    assert charged(tmp_path, "search")[0] == 4.0
    assert found.stats["polite/costs/search"] == 4.5, found.log
    noted = NotedCost.from_text(store.notes(["origin:127.0.0.1"])["origin:127.0.0.1"][COST + "search"])
    store.close()
    assert noted is not None
    assert noted.cost == 4.5


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
    assert plans.costs.step(keys[-1], "search", float(ENOUGH), 0.0) is not None
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
