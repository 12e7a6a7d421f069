"""The demo's proof says PASS only for a crawl that kept every promise: each criterion is shown a log that breaks it."""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from compare import row, table
from crawling import new_directory
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import checks
from judging.arrivals import Arrival, Gap, arrivals_from, holds, stretches, tightest_gap, unfinished, worst_window
from judging.harvest import images_of, left_in, missing_listings
from judging.table import aligned, markdown
from proof import Evidence, judge

from scrapy_polite.limits.plan import Charge
from scrapy_polite.telemetry.events import HeldEvent, Sent

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLE = Path(__file__).resolve().parents[1] / "example_project"
RATE = 20.0
KEY = "origin:sites.hearth-platform.example"
TENANTS = 30
COSTS = {"robots": 1, "search": 4, "page": 2, "image": 1}
WORK = ("robots", "search", *("page", "image") * 4)
"""What a tenant's site is asked for, in order."""


def arrival(t: float, host: str = "a.example", kind: str = "page", path: str = "", **more: Any) -> Arrival:
    values: dict[str, Any] = {"server": "platform", "cost": COSTS.get(kind, 1), "path": path or f"/{kind}/{t}", **more}
    return Arrival(t=t, host=host, kind=kind, **values)


def crawled(tenants: int = TENANTS, rate: float = RATE, start: float = 100.0) -> list[Arrival]:
    """The log of a platform whose sites are crawled at just its rate and theirs: one unit a second each."""
    due = {f"www.{number}.example": start for number in range(tenants)}
    left = dict.fromkeys(due, 0)
    free, log = start, []
    while due:
        host = min(due, key=lambda host: (due[host], host))
        at, kind = max(free, due[host]), WORK[left[host]]
        log.append(arrival(at, host, kind, f"/{kind}/{left[host]}{'.jpg' if kind == 'image' else ''}"))
        free, due[host] = at + COSTS[kind] / rate, at + COSTS[kind]
        left[host] += 1
        if left[host] == len(WORK):
            del due[host]
    return log


def sent_for(arrivals: Sequence[Arrival]) -> list[Sent]:
    return [
        Sent(
            at=round(one.t * 1e6),
            slot=round(one.t * 1e6) - 300,
            width=50_000,
            site=f"site:{one.host}",
            kind=one.kind,
            url=f"http://{one.host}:8000{one.path}",
            charges=(Charge(f"site:{one.host}", one.cost, 1.0), Charge(KEY, one.cost, RATE)),
        )
        for one in arrivals
    ]


def evidence(log: Sequence[Arrival] | None = None, tenants: int = TENANTS, **more: Any) -> Evidence:
    """A crawl that kept every promise, but for what is changed in it."""
    log = crawled(tenants) if log is None else log
    sites = [{"host": f"www.{n}.example", "pages": 5, "listings": 4, "images": 4} for n in range(tenants)]
    items = [
        {
            "url": f"http://{one.host}:8000{one.path}",
            "title": "2 bedroom flat",
            "images": [{"path": f"full/{one.host.replace('.', '_')}-{one.path[6:]}.jpg"}],
        }
        for one in log
        if one.kind == "page"
    ]
    stems = [item["images"][0]["path"][5:-4] for item in items]  # type: ignore[index]
    stored = {f"full/{stem}.jpg": 9000 for stem in stems}
    stored |= {f"thumbs/small/{stem}.webp": 900 for stem in stems} | {f"thumbs/thumb/{stem}.jpg": 300 for stem in stems}
    values: dict[str, Any] = {
        "facts": {"platform": {"capacity": 30.0}, "knee": {"capacity": 8.0}, "sites": sites},
        "truth": {
            "keys": [{"value": "AIzaSyMadeUpMadeUpMadeUpMadeUpMadeUp123", "kind": "google-api-key", "url": "http://x"}],
            "personal": [{"value": "jo.o'hara@a.example", "kind": "email", "url": "http://x"}],
        },
        "arrivals": log,
        "events": sent_for(log),
        "tripwire": [],
        "items": items,
        "stored": stored,
    }
    return Evidence(**{**values, **more})


def failed(shown: Evidence) -> set[str]:
    return {check.name for check in judge(shown).checks if not check.passed}


def moved(log: Sequence[Arrival], after: float, by: float) -> list[Arrival]:
    return [dataclasses.replace(one, t=one.t + by) if one.t > after else one for one in log]


# -- the whole proof


def test_a_crawl_that_keeps_every_promise_passes() -> None:
    report = judge(evidence())
    assert report.passed, report.as_text()
    assert report.as_text().endswith("\nPASS")
    assert json.loads(json.dumps(report.as_json()))["passed"] is True
    (platform,) = report.origins
    assert (platform.key, platform.sites, platform.allowed) == (KEY, TENANTS, RATE)
    assert platform.ledger is not None
    assert platform.ledger.requests == platform.town.requests == TENANTS * len(WORK)
    assert platform.ledger.worst_10 == pytest.approx(platform.town.worst_10, abs=4)


def test_what_failed_is_named_at_the_end() -> None:
    report = judge(evidence(ended="stopped", tripwire=[{"address": "10.0.0.5", "port": 80}]))
    assert report.as_text().endswith("\nFAIL: the crawl ended by itself, trap hits")
    assert not report.passed
    assert report.as_json()["passed"] is False


def test_a_crawl_of_nothing_fails() -> None:
    assert failed(evidence(log=[])) >= {"sites crawled to their end", "images made", "the platform's sites share one key"}


def test_a_page_that_never_came_fails() -> None:
    log = [one for one in crawled() if (one.host, one.path) != ("www.7.example", "/page/4")]
    assert "sites crawled to their end" in failed(evidence(log))


def test_a_page_that_was_refused_to_the_end_fails() -> None:
    log = [
        dataclasses.replace(one, status=503) if one.path == "/page/4" and one.host == "www.7.example" else one
        for one in crawled()
    ]
    assert failed(evidence(log)) == {"sites crawled to their end", "503s caused at the platform"}


def test_a_listing_that_became_no_item_fails() -> None:
    good = evidence()
    assert failed(dataclasses.replace(good, items=good.items[1:])) == {"sites crawled to their end", "images made"}


def test_a_visit_to_a_trap_fails() -> None:
    log = [*crawled(), arrival(120.0, "127.0.0.1", "other", "/trap/3", server="trap")]
    assert failed(evidence(log, events=sent_for(log[:-1]))) == {"trap hits"}


def test_a_try_that_no_trap_can_see_fails() -> None:
    assert failed(evidence(tripwire=[{"address": "169.254.169.254", "port": 80, "event": "socket.connect"}])) == {"trap hits"}


def test_a_request_inside_a_hold_that_the_town_stated_fails() -> None:
    busy = [
        arrival(100.0, "www.busy.example", "search", server="busy", status=429, hold_until=103.0),
        arrival(101.5, "www.busy.example", "search", server="busy", status=429, hold_until=103.0),
        arrival(103.1, "www.busy.example", "search", server="busy"),
    ]
    good = evidence()
    assert failed(dataclasses.replace(good, arrivals=[*good.arrivals, *busy], events=[*good.events, *sent_for(busy)])) >= {
        "requests inside a hold"
    }


def test_a_request_inside_a_hold_of_the_crawlers_own_fails() -> None:
    good = evidence()
    held = HeldEvent(110_000_000, "site:www.3.example", 119_000_000, "challenge", "403")
    assert failed(dataclasses.replace(good, events=[*good.events, held])) == {
        "requests inside a hold",
        "promises broken by the ledger",
    }


def test_a_burst_at_the_platform_fails() -> None:
    """Twelve search pages come 8 s early."""
    log = crawled()
    early = [one for one in log if one.kind == "page" and 119 < one.t < 121][:12]
    assert len(early) == 12
    log = sorted((dataclasses.replace(one, t=one.t - 8) if one in early else one for one in log), key=lambda one: one.t)
    assert {"worst 10 s at the platform", "smallest gap at the platform"} <= failed(evidence(log))


@pytest.mark.parametrize("status", [200, 503])
def test_a_503_of_the_server_with_a_knee_is_the_crawls_fault(status: int) -> None:
    check = checks.not_driven_over([arrival(1.0, server="knee"), arrival(2.0, server="knee", status=status)], 8)
    assert check.passed == (status == 200)
    assert check.said.startswith(f"{int(status == 503)} of 2")


@pytest.mark.parametrize(("apart", "kept"), [(2.0, True), (2.5, False)])
def test_a_slow_server_that_is_asked_less_than_it_may_be_is_told(apart: float, kept: bool) -> None:
    """Two units a page, one unit a second: a page in two seconds, however long its answer takes."""
    pages = [arrival(apart * number, server="slow", latency=1.5) for number in range(8)]
    assert checks.not_slowed(pages, 1.0).passed == kept


def test_a_pause_while_there_was_work_fails() -> None:
    log = moved(crawled(), after=110.0, by=3.0)
    assert failed(evidence(log)) == {"rate kept at the platform"}


def test_a_key_or_an_address_that_is_left_fails() -> None:
    good = evidence()
    for text in (
        "<!-- AIzaSyMadeUpMadeUpMadeUpMadeUpMadeUp123 -->",
        "write to jo.o&#x27;hara@a.example",
        "?to=jo.o%27hara%40a.example",
    ):
        items = [{**good.items[0], "state": {"deep": [text]}}, *good.items[1:]]
        assert failed(dataclasses.replace(good, items=items)) == {"left in items"}, text


def test_an_image_without_one_of_its_sizes_fails() -> None:
    good = evidence()
    for gone in (
        next(path for path in good.stored if path.startswith(start)) for start in ("full/", "thumbs/small/", "thumbs/thumb/")
    ):
        assert failed(dataclasses.replace(good, stored={p: size for p, size in good.stored.items() if p != gone})) == {
            "images made"
        }
        assert failed(dataclasses.replace(good, stored={**good.stored, gone: 0})) == {"images made"}


def test_a_request_that_the_ledger_does_not_know_fails() -> None:
    good = evidence()
    assert failed(dataclasses.replace(good, events=good.events[:-1])) == {
        "arrived without a slot",
        "the platform's sites share one key",
    }


def test_sites_of_the_platform_under_keys_of_their_own_fail() -> None:
    events = [
        dataclasses.replace(one, charges=(one.charges[0], Charge(f"origin:{one.site}", one.charges[0].cost, RATE)))
        for one in sent_for(crawled())
    ]
    assert "the platform's sites share one key" in failed(evidence(events=events))


# -- its parts


def test_windows_are_half_open() -> None:
    log = [arrival(t / 10, kind="page") for t in range(0, 31, 10)]
    assert worst_window(log, 1) == 2
    assert worst_window(log, 1.01) == 4
    assert worst_window([], 1) == 0


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(1, 4)), max_size=30), st.integers(1, 50))
@settings(deadline=None)
def test_the_worst_window_is_the_worst_of_all_that_start_at_a_request(steps: list[tuple[int, int]], length: int) -> None:
    log = sorted((arrival(float(t), cost=cost) for t, cost in steps), key=lambda one: one.t)
    every = [sum(one.cost for one in log if start.t <= one.t < start.t + length) for start in log]
    assert worst_window(log, length) == max(every, default=0)


def test_the_gap_that_counts_is_the_one_closest_to_its_own_floor() -> None:
    log = [arrival(0.0, kind="search"), arrival(0.19, kind="image"), arrival(0.245)]
    gap = tightest_gap(log, RATE)
    assert gap is not None
    assert (gap.seconds, gap.floor) == (pytest.approx(0.19), pytest.approx(0.2))
    assert gap.slack < 0
    assert tightest_gap(log[:1], RATE) is None
    assert tightest_gap(log, RATE, least=2.0) == Gap(pytest.approx(0.055), 2.0)


def test_a_gap_may_be_short_of_its_floor_by_a_slot_and_what_a_stamp_is_late_by() -> None:
    def two(seconds: float) -> list[Arrival]:
        return [arrival(10.0, kind="search"), arrival(10.0 + seconds)]

    assert checks.floor_kept(two(0.2 - 0.05 - 0.0049), RATE, 0.05).passed
    assert not checks.floor_kept(two(0.2 - 0.05 - 0.0051), RATE, 0.05).passed
    assert checks.floor_kept([], RATE, 0.05).passed


def test_a_window_may_hold_five_percent_more_than_is_allowed() -> None:
    assert checks.window_kept([arrival(t / 1000, kind="image") for t in range(210)], RATE).passed
    assert not checks.window_kept([arrival(t / 1000, kind="image") for t in range(211)], RATE).passed


def test_what_was_on_its_way_when_the_answer_left_is_not_inside_the_hold() -> None:
    log = [
        arrival(0.0, status=429, latency=0.1, hold_until=3.0),
        arrival(0.05, status=429, latency=0.1, hold_until=3.0),
        arrival(0.11),
        arrival(0.2),
        arrival(3.0),
    ]
    (hold,) = holds(log)
    assert (hold.since, hold.until, hold.inside) == (0.1, 3.0, 1)


def test_holds_one_after_the_other_are_two() -> None:
    log = [arrival(0.0, hold_until=2.0), arrival(2.5, hold_until=4.0), arrival(3.0)]
    assert [(hold.until, hold.inside) for hold in holds(log)] == [(2.0, 0), (4.0, 1)]


def test_a_log_at_the_full_rate_keeps_all_of_it() -> None:
    log = crawled()
    longest = max(stretches(log, RATE, 1.0), key=lambda stretch: stretch.seconds)
    assert longest.seconds > 20
    assert longest.kept == pytest.approx(1.0, abs=0.01)


def test_sites_that_want_less_than_the_rate_are_nobodys_fault() -> None:
    """Five sites at one unit a second cannot use up twenty: there is no long stretch, and none of it is lost."""
    log = crawled(tenants=5)
    found = stretches(log, RATE, 1.0)
    assert sum(stretch.earned for stretch in found) / sum(stretch.seconds for stretch in found) > 0.99
    verdict = checks.rate_kept(log, RATE, 1.0)
    assert verdict.passed
    assert verdict.said.startswith("not judged")


def test_a_crawl_that_dawdles_has_work_all_the_time() -> None:
    log = crawled(rate=RATE * 0.9)
    verdict = checks.rate_kept(log, RATE, 1.0)
    assert not verdict.passed
    assert verdict.said.startswith("9")


def test_sites_wait_for_their_first_request_from_the_beginning() -> None:
    """A platform's sites that are taken one after the other have been waiting all the while."""
    log = [arrival(100.0 + 12 * number, f"www.{number}.example") for number in range(4)]
    (stretch,) = stretches(log, RATE, 1.0)
    assert stretch.seconds == pytest.approx(36 + 0.1)
    assert not checks.rate_kept(log, RATE, 1.0).passed


def test_a_hold_is_no_time_with_work() -> None:
    log = [arrival(0.0, status=429, hold_until=30.0), arrival(30.0), arrival(32.0)]
    assert sum(stretch.seconds for stretch in stretches(log, 1.0, 1.0)) == pytest.approx(6.0, abs=0.02)


@given(st.integers(1, 40), st.integers(0, 2**32))
@settings(deadline=None, max_examples=30)
def test_stretches_hold_every_request_once_and_do_not_overlap(tenants: int, seed: int) -> None:
    late = random.Random(seed)
    log = sorted((dataclasses.replace(one, t=one.t + late.random()) for one in crawled(tenants)), key=lambda one: one.t)
    found = stretches(log, RATE, 1.0)
    assert sum(stretch.units for stretch in found) == sum(one.cost for one in log)
    assert all(before.until < after.since for before, after in pairwise(found))


def test_pages_count_once_however_often_they_were_fetched_and_only_when_they_came() -> None:
    sites = [{"host": "a.example", "pages": 2}, {"host": "b.example", "pages": 1}]
    log = [arrival(1, path="/x"), arrival(2, path="/x"), arrival(3, path="/y", status=503), arrival(4, "b.example")]
    assert unfinished(log, sites) == {"a.example": 1}
    assert unfinished([arrival(1, "b.example", server="cdn-origin")], sites) == {"a.example": 2, "b.example": 1}


def test_items_count_once_by_their_url() -> None:
    items = [{"url": "http://a.example:8000/listing/1"}, {"url": "http://a.example:8000/listing/1"}]
    assert missing_listings(items, [{"host": "a.example", "listings": 2}]) == {"a.example": 1}


def test_values_are_found_in_every_corner_of_an_item() -> None:
    items = [{"a": {"b": [["x", {"c": "-key1-"}]]}, "key2": 5}, {"d": "a&amp;b", "e": "k%C3%A9y", "f": "say \\u0026now"}]
    assert left_in(items, ["key1", "key2", "a&b", "kéy", "&now", "absent"]) == ["&now", "a&b", "key1", "key2", "kéy"]


def test_images_that_no_item_names_are_not_counted() -> None:
    stored = {"full/1.jpg": 1, "thumbs/small/1.webp": 1, "thumbs/thumb/1.jpg": 1}
    assert images_of([], stored, [{"images": 1}]).made == 0
    assert images_of([{"images": [{"path": "full/1.jpg"}]}], stored, [{"images": 1}]).made == 1


def test_the_towns_log_is_read_in_order() -> None:
    lines = [
        {"t": t, "server": "lone", "host": "a", "path": "/", "kind": "other", "cost": 1, "status": 200, "latency": 0.1,
         "hold_until": None, "agent": "x", "tls": False, "address": "127.20.1.1", "port": 1}
        for t in (2.0, 1.0)
    ]  # fmt: skip
    assert [one.t for one in arrivals_from(lines)] == [1.0, 2.0]


@pytest.mark.parametrize(("ended", "told"), [("finished", "26 s"), ("stopped", "26 s (stopped)")])
def test_the_comparison_tells_a_crawl_that_was_stopped(ended: str, told: str) -> None:
    knee = [arrival(126.0, "www.grist-mill.example", server="knee", status=status) for status in (200, 503)]
    found = row("stock Scrapy", 26.0, evidence([*crawled(), *knee], ended=ended))
    lines = dict(table([found]))
    assert lines["duration"] == told
    assert lines["503s at the server with a knee"] == "1"


def test_tables_line_up() -> None:
    assert aligned([("a", "bb"), ("ccc", "1")]) == ["a    bb", "-------", "ccc   1"]
    assert markdown([("", "x"), ("y", "1")]) == ["|  | x |", "|---|--:|", "| y | 1 |"]


# -- the tripwire and the directories

TRIPPED = """
import socket, sys
from ipaddress import ip_network
from agents.tripwire import watch
watch(sys.argv[1], ip_network("127.20.0.0/16"), {"127.0.0.1:5300"}, {"/etc/hostname"})
def connect(address, family=socket.AF_INET):
    with socket.socket(family) as one:
        one.settimeout(1)
        return one.connect_ex(address)
connect(("127.20.0.1", 9))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
    one.sendto(b"x", ("127.0.0.1", 5300))
connect(("127.0.0.1", 9))
for address in ("10.0.0.5", "169.254.169.254"):
    try:
        connect((address, 80))
    except OSError as error:
        print(error.errno)
try:
    socket.getaddrinfo("metadata.google.internal", 80)
except OSError as error:
    print(error.errno)
open("/etc/hostname", "rb").close()
"""


def test_the_tripwire_sees_every_try_and_lets_none_out(tmp_path: Path) -> None:
    log = tmp_path / "tripwire.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", TRIPPED, str(log)], cwd=EXAMPLE, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["101"] * 3
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["event"], line["address"]) for line in lines] == [
        ("socket.connect", "127.0.0.1"),
        ("socket.connect", "10.0.0.5"),
        ("socket.connect", "169.254.169.254"),
        ("socket.getaddrinfo", "metadata.google.internal"),
        ("open", "/etc/hostname"),
    ]


def test_every_run_has_a_directory_of_its_own(tmp_path: Path) -> None:
    first, second = new_directory("demo", tmp_path), new_directory("demo", tmp_path)
    assert first != second
    assert first.is_dir()
    assert second.is_dir()
