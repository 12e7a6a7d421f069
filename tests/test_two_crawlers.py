"""Two crawlers in one process: to a server they are one, and each keeps its own settings."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from loopback import Arrival, Server
from trapped_world import Outcome, crawls

from scrapy_polite.telemetry.events import Sent
from scrapy_polite.telemetry.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path

    from postgres import Database

WIDTH = 0.05
SLACK = 0.03
"""How much later than its slot a stamp of the ledger may be, of a clock that is known from answers alone."""
SHORT, LONG = 6, 16
QUICK, SLOW = 0.2, 0.3
"""Seconds between two requests, by the settings of the short crawl and by those of the long one."""

HOW = ("AsyncCrawlerProcess", "CrawlerProcess", "AsyncCrawlerRunner", "CrawlerRunner")


def both(server: Server, tmp_path: Path, how: str, store: str) -> Outcome:
    settings = {
        "ADDONS": {"scrapy_polite.Addon": 300},
        "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
        "TELNETCONSOLE_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
        "POLITE_STORE": store,
        "POLITE_LEDGER": "ledger.sqlite",
        "POLITE_ALLOW_NETWORKS": ["127.0.0.0/8"],
        "POLITE_ALLOW_PORTS": [server.port],
        "POLITE_COSTS": {"page": 1},
        "POLITE_PACE": False,
    }
    jobs = [
        {
            "name": name,
            "settings": settings,
            "custom_settings": {"USER_AGENT": name, "POLITE_SITE_RATE": 1 / interval, "POLITE_ORIGIN_RATE": 1 / interval},
            "requests": [{"url": f"{server.url}/{name}/{n}"} for n in range(pages)],
        }
        for name, pages, interval in (("short", SHORT, QUICK), ("long", LONG, SLOW))
    ]
    return crawls(tmp_path, how, *jobs)


def keep_one_rate(server: Server, outcome: Outcome, ledger: Path) -> None:
    assert outcome.status == 0, outcome.said
    assert "Traceback" not in outcome.said, outcome.said
    for name, pages in (("short", SHORT), ("long", LONG)):
        assert outcome.results[name]["reason"] == "finished"
        assert len(outcome.results[name]["pages"]) == pages
        assert outcome.results[name]["stats"]["polite/slots/booked"] == pages, "each counts its own"
    assert set(Counter(arrival.path for arrival in server.arrivals).values()) == {1}
    assert {(arrival.path.split("/")[1], arrival.headers["user-agent"]) for arrival in server.arrivals} == {
        ("short", "short"),
        ("long", "long"),
    }
    # Whoever comes after a request waits for as long as that one costs.
    sent = [event for event in Ledger.read(ledger) if isinstance(event, Sent)]
    assert len(sent) == SHORT + LONG
    for one, two in itertools.pairwise(sent):
        interval = QUICK if "/short/" in one.url else SLOW
        assert (two.at - one.at) / 1e6 >= interval - WIDTH - SLACK, outcome.said
    # They took turns, and when one had ended the other went on.
    last = max(number for number, arrival in enumerate(server.arrivals) if is_short(arrival))
    assert SHORT <= last < SHORT + LONG - 4


def is_short(arrival: Arrival) -> bool:
    return arrival.path.startswith("/short/")


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("store", ["sqlite:limits.sqlite", "memory:"])
def test_one_rate_for_both(tmp_path: Path, how: str, store: str) -> None:
    with Server() as server:
        keep_one_rate(server, both(server, tmp_path, how, store), tmp_path / "ledger.sqlite")


def test_one_rate_for_both_in_postgres(tmp_path: Path, database: Database) -> None:
    with Server() as server:
        keep_one_rate(server, both(server, tmp_path, "AsyncCrawlerProcess", database.url), tmp_path / "ledger.sqlite")
