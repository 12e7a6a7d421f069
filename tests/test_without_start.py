"""Scrapy's tools for the hand: `shell`, `fetch` and `parse` have no start() and no crawl, and are polite all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from loopback import ROOT, SETTINGS, Server

if TYPE_CHECKING:
    from pathlib import Path

SPIDER = """
import scrapy

class Spider(scrapy.Spider):
    name = "hand"
    def parse(self, response):
        yield {"title": "of " + response.url.rpartition("/")[2]}
        yield response.follow("/next", callback=self.parse_next)
    def parse_next(self, response):
        yield {"title": "next"}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = hand.settings\n")
    (tmp_path / "hand").mkdir()
    (tmp_path / "hand" / "__init__.py").write_text("")
    (tmp_path / "hand" / "spiders.py").write_text(SPIDER)
    settings = {
        **SETTINGS,
        "SPIDER_MODULES": ["hand.spiders"],
        "ROBOTSTXT_OBEY": True,
        "POLITE_STORE": f"sqlite:{tmp_path}/limits.sqlite",
        "POLITE_SITE_RATE": 5,
        "POLITE_ORIGIN_RATE": 5,
    }
    (tmp_path / "hand" / "settings.py").write_text("".join(f"{name} = {value!r}\n" for name, value in settings.items()))
    return tmp_path


def scrapy(project: Path, server: Server, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-W",
        "error::ResourceWarning",
        "-m",
        "scrapy",
        *arguments,
        "-s",
        f"POLITE_ALLOW_PORTS={server.port}",
    ]
    done = subprocess.run(
        command,
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_the_shell_fetches_once_and_again(project: Path) -> None:
    with Server() as server:
        code = f"(response.status, fetch('{server.url}/again'), response.url, crawler.stats.get_value('polite/slots/booked'))"
        done = scrapy(project, server, "shell", "-c", code, f"{server.url}/first")
        assert [arrival.path for arrival in server.arrivals] == ["/robots.txt", "/first", "/again"]
        assert "(200, None, " in done.stdout
        assert done.stdout.rstrip().endswith("3)")
        assert min(server.gaps()) > 0.1, "the limits of the site hold here, too"


def test_the_shell_says_what_the_guard_refuses(project: Path) -> None:
    with Server() as server:
        done = scrapy(project, server, "shell", "-c", "'nothing: ' + repr(response)", "http://169.254.169.254/latest")
        assert "nothing: None" in done.stdout
        assert "refused (metadata)" in done.stderr
        assert server.arrivals == []


def test_the_shell_starts_without_an_address(project: Path) -> None:
    with Server() as server:
        assert (
            "DefaultSpider"
            in scrapy(project, server, "shell", "-c", "type(crawler.spidercls).__name__ + ' DefaultSpider'").stdout
        )


def test_fetch_prints_the_page(project: Path) -> None:
    with Server() as server:
        assert "a page" in scrapy(project, server, "fetch", f"{server.url}/one").stdout
        assert [arrival.path for arrival in server.arrivals] == ["/robots.txt", "/one"]


def test_parse_follows_to_its_depth(project: Path) -> None:
    with Server() as server:
        done = scrapy(project, server, "parse", "--spider", "hand", "--depth", "2", "--nocolour", f"{server.url}/one")
        assert "of one" in done.stdout
        assert "next" in done.stdout
        assert [arrival.path for arrival in server.arrivals] == ["/robots.txt", "/one", "/next"]
