"""Whether a USER_AGENT says whom to write to, and that the crawl says so at its start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from loopback import FETCH, Server, crawl, ports

from scrapy_polite.extensions import names_contact

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "agent",
    ["shopbot/1.0 (+https://shop.example/bot)", "shopbot (bot@shop.example)", "shopbot http://shop.example", "b +shop.example"],
)
def test_a_page_or_an_address_is_a_contact(agent: str) -> None:
    assert names_contact(agent)


@pytest.mark.parametrize(
    "agent",
    [
        "shopbot/1.0",
        "Mozilla/5.0 (X11; Linux x86_64)",
        "",
        None,
        "Scrapy/2.19.0 (+https://scrapy.org)",
        "x (+http://www.yourdomain.com)",
    ],
)
def test_a_bare_name_and_a_page_of_somebody_elses_are_none(agent: str | None) -> None:
    assert not names_contact(agent)


@pytest.mark.parametrize(("agent", "said"), [("shopbot/1.0", 1), ("shopbot/1.0 (+https://shop.example/bot)", 0)])
def test_a_crawl_that_names_nobody_says_so_once(tmp_path: Path, agent: str, said: int) -> None:
    with Server() as server:
        done = crawl(FETCH.format(count=1, url=server.url), tmp_path, **ports(server), USER_AGENT=agent)
    assert done.log.count("names nobody") == said
    assert len(done.urls()) == 1
