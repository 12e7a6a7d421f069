"""``explain`` tells what robots.txt says of a URL, by the copy in the store."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from nameserver import name_server
from scrapy.settings import Settings

from scrapy_polite.backoff.robotstxt import DAY, Known
from scrapy_polite.commands.explaintext import as_text
from scrapy_polite.commands.explanation import Explainer
from scrapy_polite.commands.proxies import EnvironmentProxies
from scrapy_polite.commands.robotsrules import RulesOf
from scrapy_polite.config import Config
from scrapy_polite.stores import robotsnotes
from scrapy_polite.stores.base import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy_polite.commands.fields import Explanation
    from scrapy_polite.stores.base import Store

HOST = "https://www.shop.test"
TEXT = "User-agent: *\nDisallow: /private\nCrawl-delay: 5\nRequest-rate: 1/8\n\nUser-agent: mybot\nDisallow: /no\n"


def explained(store: Store, path: str, **options: object) -> Explanation:
    async def run() -> Explanation:
        async with name_server() as (says, server):
            says.add("www.shop.test", (60, "A", "93.184.215.14"))
            settings = Settings({"POLITE_DNS_SERVERS": [server], **options})
            config = Config.from_settings(settings)
            explainer = Explainer(config, EnvironmentProxies(settings, ()), store, RulesOf(settings))
            found = await explainer.online(HOST + path, pointers=False)
            await explainer.close()
            return found

    return asyncio.run(run())


def line(found: Explanation) -> str:
    (one,) = [line for line in as_text(found).splitlines() if line.startswith("  robots.txt")]
    return one.removeprefix("  robots.txt").strip()


@pytest.mark.parametrize(
    ("known", "path", "options", "allowed", "says"),
    [
        (None, "/", {}, None, f"not known here: a crawl reads {HOST}/robots.txt before anything else"),
        (Known(TEXT, 7200), "/", {}, True, "allowed by {file}, read 2 h ago, Crawl-delay: 5.0, Request-rate: 1/8"),
        (Known(TEXT, 3600), "/private/1", {}, False, "forbidden by {file}, read 1 h ago, Crawl-delay: 5.0, Request-rate: 1/8"),
        (
            Known(TEXT, 3600),
            "/private/1",
            {"USER_AGENT": "MyBot/1 (+https://a.example)"},
            True,
            "allowed by {file}, read 1 h ago",
        ),
        (Known(TEXT, 3600), "/no", {"ROBOTSTXT_USER_AGENT": "mybot"}, False, "forbidden by {file}, read 1 h ago"),
        (Known("", 3600), "/private/1", {}, True, "allowed by {file}, read 1 h ago"),
        (
            Known(TEXT, 3600),
            "/private/1",
            {"ROBOTSTXT_OBEY": False},
            False,
            "forbidden by {file}, read 1 h ago, Crawl-delay: 5.0, Request-rate: 1/8; not obeyed, since ROBOTSTXT_OBEY is off",
        ),
        (
            Known(TEXT, DAY - 600, 2, 30),
            "/",
            {},
            True,
            (
                "allowed by {file}, read 23 h 50 min ago (it could not be read since, in 2 tries), "
                "Crawl-delay: 5.0, Request-rate: 1/8"
            ),
        ),
        (
            Known(None, 0, 1, 0),
            "/",
            {},
            False,
            "forbidden: {file} could not be read in 1 try, and may be asked for again in 5 min",
        ),
        (Known(TEXT, DAY + 5), "/", {}, None, "not known here: a crawl reads {file} before anything else"),
    ],
)
def test_what_the_copy_says_of_a_url(
    tmp_path: Path, known: Known | None, path: str, options: dict[str, object], allowed: bool | None, says: str
) -> None:
    """The times of ``known`` are seconds ago."""
    store = open_store(f"sqlite:{tmp_path}/limits.sqlite")
    now = time.time()
    if known is not None:
        copy = Known(known.text, now - known.read + 0.5, known.failures, now - known.failed + 0.5 if known.failures else 0.0)
        robotsnotes.keep(store, HOST, copy)
    found = explained(store, path, **options)
    assert found["robots"] is not None
    assert found["robots"]["allowed"] is allowed
    assert line(found) == says.format(file=f"{HOST}/robots.txt")


def test_a_delay_is_shown_where_it_is_charged_and_only_if_it_is_obeyed(tmp_path: Path) -> None:
    def least(**options: object) -> list[Any]:
        store = open_store(f"sqlite:{tmp_path}/limits.sqlite")
        robotsnotes.keep(store, HOST, Known(TEXT, time.time()))
        found = explained(store, "/", **options)
        assert found["robots"] is not None
        assert found["robots"]["least"] == 8.0
        return [charge.get("least") for charge in found["charges"]]

    assert least() == [8.0, None]
    assert least(POLITE_MAX_CRAWL_DELAY=3) == [3.0, None]
    assert least(ROBOTSTXT_OBEY=False) == [None, None]


def test_what_has_no_robots_txt_has_no_rules(tmp_path: Path) -> None:
    store = open_store(f"sqlite:{tmp_path}/limits.sqlite")
    settings = Settings()
    explainer = Explainer(Config.from_settings(settings), EnvironmentProxies(settings, ()), store, RulesOf(settings))
    for url in ("ftp://www.shop.test/", "no URL"):
        assert asyncio.run(explainer.online(url))["robots"] is None
    assert explainer.offline(f"{HOST}/")["robots"] is None
    asyncio.run(explainer.close())


def test_a_url_that_is_forbidden_is_no_success(tmp_path: Path) -> None:
    place = f"sqlite:{tmp_path}/limits.sqlite"
    store = open_store(place)
    robotsnotes.keep(store, "http://127.0.0.1", Known(TEXT, time.time()))
    store.close()

    def run(path: str, *options: str) -> tuple[int, Any]:
        settings = ("ADDONS={}", f"POLITE_STORE={place}", "POLITE_ALLOW_NETWORKS=127.0.0.0/8", *options)
        command = [sys.executable, "-m", "scrapy", "polite", "explain", "--json", f"http://127.0.0.1{path}"]
        command += [part for setting in settings for part in ("-s", setting)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
        return done.returncode, json.loads(done.stdout)["robots"]["allowed"]

    assert run("/") == (0, True)
    assert run("/private") == (1, False)
    assert run("/private", "ROBOTSTXT_OBEY=False") == (0, False)
