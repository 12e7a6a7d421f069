"""``scrapy polite``: run as an operator runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from commandline import objects, polite
from loopback import Answer, Server, crawl, limits, ports
from town.client import Town

from scrapy_polite.stores.base import Cause, Kept, Ruling, open_store

if TYPE_CHECKING:
    from pathlib import Path


def test_explain_offline_answers_in_order_from_standard_input(tmp_path: Path) -> None:
    urls = [
        "http://Example.COM/a",
        "http://0x7f.1/",
        "https://photos.s3.eu-west-2.amazonaws.com/1.jpg",
        "http://exa mple/",
        "http://b\u00fccher.example./robots.txt",
        "http://93.184.216.34/",
    ]
    done = polite("explain", "--offline", "--json", "-", cwd=tmp_path, stdin="\n".join(urls))
    found = objects(done)
    assert [one["url"] for one in found] == urls
    assert [one["site"] for one in found] == [
        "site:example.com",
        "site:127.0.0.1",
        "bucket:s3/photos",
        None,
        "site:xn--bcher-kva.example",
        "site:93.184.216.34",
    ]
    assert [one["admitted"] for one in found] == [None, False, None, False, None, True]
    assert found[1]["reason"].startswith("loopback: ")
    assert found[0]["charges"] == [{"key": "site:example.com", "cost": 2.0, "rate": 1.0, "burst": 0.0}]
    assert found[4]["kind"] == "robots"
    assert done.returncode == 1, "some of them are refused"
    assert list(tmp_path.rglob("*.sqlite*")) == [], "explaining makes no store"


@pytest.mark.parametrize(
    ("urls", "code"),
    [
        (["http://a.example/", "http://93.184.216.34/"], 0),
        (["http://a.example/", "http://127.0.0.1/"], 1),
        (["http://exa mple/"], 1),
    ],
)
def test_explain_offline_is_a_success_when_nothing_is_said_against_any_url(tmp_path: Path, urls: list[str], code: int) -> None:
    assert polite("explain", "--offline", *urls, cwd=tmp_path).returncode == code


def test_explain_offline_shows_what_is_opened_for_one_host_on_one_port(tmp_path: Path) -> None:
    opened = 'POLITE_ALLOW_NETWORKS=["10.9.9.9:81=10.9.9.9", "wiki.corp:8443=10.1.2.3"]'
    urls = ["http://10.9.9.9:81/", "http://10.9.9.9/", "https://wiki.corp:8443/", "https://wiki.corp:8444/"]
    found = objects(polite("explain", "-s", opened, "--offline", "--json", *urls, cwd=tmp_path))
    assert [one["admitted"] for one in found] == [True, False, None, False]
    assert [(one["reason"] or ":").partition(":")[0] for one in found] == ["", "private", "", "port"]


def test_explain_asks_dns_and_says_who_shares_servers(tmp_path: Path) -> None:
    with Town(tmp_path / "town", tenants=12, listings=1) as town:
        tenant = next(site for site in town.info["sites"] if site["inhabitant"] == "platform")
        traps = "http://rebind.example/"
        options = ["-s", f"POLITE_DNS_SERVERS={town.info['dns']}", "-s", f"POLITE_ALLOW_NETWORKS={town.info['network']}"]
        ports = f"POLITE_ALLOW_PORTS=80,{town.info['http_port']},{town.info['https_port']}"
        done = polite("explain", *options, "-s", ports, "--json", tenant["start_url"], traps, cwd=tmp_path)
        found, unknown = objects(done)
        assert found["admitted"] is True
        assert found["origin"] == "origin:sites.hearth-platform.example"
        assert set(found["addresses"]) == set(town.info["platform"]["addresses"])
        assert found["pinned"] in found["addresses"]
        assert any("CNAME" in sentence for sentence in found["evidence"])
        assert [charge["key"] for charge in found["charges"]] == [f"site:{tenant['host']}", found["origin"]]
        assert unknown["admitted"] is False
        assert "nxdomain" in unknown["reason"]
        assert town.arrivals() == [], "nothing was sent to the servers"
        text = polite("explain", *options, "-s", ports, tenant["start_url"], cwd=tmp_path).stdout
        assert "origin:sites.hearth-platform.example" in text


def test_settings_may_stand_before_and_behind_the_verb(tmp_path: Path) -> None:
    before = polite("-s", "POLITE_SITE_RATE=3", "explain", "--offline", "--json", "http://a.example/", cwd=tmp_path)
    behind = polite("explain", "-s", "POLITE_SITE_RATE=3", "--offline", "--json", "http://a.example/", cwd=tmp_path)
    assert objects(before)[0]["charges"][0]["rate"] == 3
    assert objects(behind) == objects(before)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("explain", "--offlin3", "http://a.example/"), "--offlin3"),
        (("explain", "-s", "POLITE_SITE_RATE=none", "--offline", "http://a.example/"), "POLITE_SITE_RATE"),
        (("explain", "-s", "POLITE_SIT_RATE=1", "--offline", "http://a.example/"), "POLITE_SITE_RATE"),
        (("status", "--spider", "nobody"), "nobody"),
        ((), "verb"),
        (("dance",), "dance"),
    ],
)
def test_what_cannot_be_understood_is_an_error_with_exit_code_2(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    done = polite(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_status_and_report_say_that_there_is_nothing_and_make_nothing(tmp_path: Path) -> None:
    for verb in ("status", "report"):
        done = polite(verb, cwd=tmp_path)
        assert done.returncode == 1
        assert "here" in done.stderr
    assert not (tmp_path / ".scrapy").exists()


def test_a_store_in_another_process_cannot_be_looked_at(tmp_path: Path) -> None:
    for verb in (("status",), ("origins",), ("join", "a.example", "b.example"), ("split", "a.example")):
        done = polite(*verb, "-s", "POLITE_STORE=memory:", cwd=tmp_path)
        assert done.returncode == 1
        assert "in the crawl's own process" in done.stderr


def test_a_database_that_is_away_is_named_without_its_password(tmp_path: Path) -> None:
    store = "postgresql://crawler:a-password@127.0.0.1:9/crawls"
    done = polite("status", "-s", f"POLITE_STORE={store}", cwd=tmp_path)
    assert done.returncode == 2
    assert store.replace("a-password", "***") in done.stderr
    assert "a-password" not in done.stderr


def test_status_shows_what_is_held_and_why_and_the_largest_origins(tmp_path: Path) -> None:
    store = open_store(f"sqlite:{tmp_path}/limits.sqlite")
    store.hold("site:a.example", 600.0, Cause("rate_limited", "429, Retry-After: 600", True))
    store.keep([Kept(f"{n}.example", f"origin:{n % 12}", 0.9, (), "[]") for n in range(13)])
    store.keep([Kept("13.example", "origin:12", 0.9, (), "[]")])
    store.merge("origin:11", "origin:2")
    store.rule(Ruling("4.example", "join", "origin:3", "ann", "own server", 1.0, None))
    store.close()
    where = ("-s", f"POLITE_STORE=sqlite:{tmp_path}/limits.sqlite")
    held, totals, *origins = objects(polite("status", "--json", *where, cwd=tmp_path))
    assert held["key"] == "site:a.example"
    assert 590 < held["hold"] <= 600
    assert held["reason"] == "429, Retry-After: 600"
    # The origin that the ruling has left without a host is none any more.
    assert totals == {"origins": 11, "hosts": 14, "rulings": 1, "deferred": 0}
    (ruled,) = [one for one in origins if "ruled" in one]
    assert (ruled["ruled"], ruled["verb"], ruled["origin"], ruled["reason"]) == ("4.example", "join", "origin:3", "own server")
    assert origins[:3] == [
        {"origin": "origin:0", "hosts": 2, "aliases": []},
        {"origin": "origin:2", "hosts": 2, "aliases": ["origin:11"]},
        {"origin": "origin:3", "hosts": 2, "aliases": []},
    ]
    text = polite("status", *where, cwd=tmp_path).stdout
    assert "site:a.example" in text
    assert "Ruled by hand: 1\n  4.example belongs to origin:3, by ann at 1970-01-01 00:00 UTC, for good: own server\n" in text
    assert "Origins: 11, of 14 hosts\n" in text
    assert "origin:2  2 hosts, also known as origin:11" in text
    assert "and 1 more: scrapy polite origins" in text


def test_status_shows_where_a_held_key_stands_on_its_ladder_and_what_waits_for_it(tmp_path: Path) -> None:
    """Refused by a real server, as a crawl heard it."""
    spider = """
class Spider(TestSpider):
    async def start(self):
        yield scrapy.Request("{url}/1")
        yield scrapy.Request("{url}/2")
"""
    with Server(lambda arrival: Answer(status=429)) as server:
        options = {"POLITE_LADDERS": {"rate_limited": [0.3, 900, 1800]}, "POLITE_LADDER_JITTER": 0} | limits(20.0)
        done = crawl(spider.replace("{url}", server.url), tmp_path, **options, **ports(server))
    assert "(rate_limited: 429; 1st in a row, rung 1 of 3; parked at the 10th)" in done.log
    assert "(rate_limited: 429; 2nd in a row, rung 2 of 3; parked at the 10th)" in done.log
    where = ("-s", f"POLITE_STORE=sqlite:{tmp_path}/limits.sqlite")
    held = objects(polite("status", "--json", *where, cwd=tmp_path))[0]
    assert (held["key"], held["rung"], held["rungs"], held["refusals"], held["deferred"]) == (
        "site:127.0.0.1",
        *(2, 4, 2, 2),
    )
    text = polite("status", *where, "-s", "POLITE_PARK_AFTER=3", cwd=tmp_path).stdout
    assert "  rate_limited: 429 (2nd in a row, rung 2 of 4; parked at the 3rd); 2 requests put off\n" in text


def test_report_proves_a_crawl_from_its_ledger(tmp_path: Path) -> None:
    spider = """
class Spider(TestSpider):
    async def start(self):
        for n in range(8):
            yield scrapy.Request("{url}/" + str(n))
"""
    with Server() as server:
        options = {"POLITE_COSTS": {"page": 1}, "POLITE_SITE_RATE": 10, "POLITE_ORIGIN_RATE": 10}
        done = crawl(spider.replace("{url}", server.url), tmp_path, **options, POLITE_ALLOW_PORTS=[server.port])
        assert len(done.urls()) == 8, done.log
    report = polite("report", "--json", "-s", f"POLITE_STORE=sqlite:{tmp_path}/limits.sqlite", cwd=tmp_path)
    assert report.returncode == 0, report.stdout + report.stderr
    (proof,) = objects(report)
    assert proof["passed"] is True
    assert proof["requests"] == 8
    assert {key["key"] for key in proof["keys"]} == {"site:127.0.0.1", "origin:127.0.0.1"}
    text = polite("report", "-s", f"POLITE_STORE=sqlite:{tmp_path}/limits.sqlite", cwd=tmp_path).stdout
    assert "PASS" in text
    empty = polite("report", "--run", "nobody", "-s", f"POLITE_STORE=sqlite:{tmp_path}/limits.sqlite", cwd=tmp_path)
    assert empty.returncode == 1
    assert "nothing is proved" in empty.stderr


def test_a_project_without_the_add_on_is_told_that_its_crawls_are_not_held_to_this(tmp_path: Path) -> None:
    off = polite("explain", "--offline", "http://a.example/", cwd=tmp_path)
    assert "the add-on is not on here" in off.stderr
    addons = 'ADDONS={"scrapy_polite.Addon": 300}'
    assert polite("explain", "-s", addons, "--offline", "http://a.example/", cwd=tmp_path).stderr == ""
    disabled = polite("explain", "-s", addons, "-s", "POLITE_ENABLED=False", "--offline", "http://a.example/", cwd=tmp_path)
    assert "the add-on is not on here" in disabled.stderr
    for nothing_of_crawls in (("redact",), ("settings", "redact")):
        assert polite(*nothing_of_crawls, cwd=tmp_path, stdin="a").stderr == ""


def test_explain_shows_the_delay_that_was_taken_over_from_scrapy(tmp_path: Path) -> None:
    (found,) = objects(polite("explain", "--json", "-s", "DOWNLOAD_DELAY=10", "--offline", "http://a.example/", cwd=tmp_path))
    assert found["charges"][0]["least"] == 10
