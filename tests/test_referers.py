"""Who learns from Referer where a crawl has been."""

from __future__ import annotations

import math
from ipaddress import ip_address

import pytest
from scrapy import Request

from scrapy_polite.config import Config
from scrapy_polite.dns.answers import Answer
from scrapy_polite.dns.resolver import Resolver
from scrapy_polite.naming.hosts import Target, parse
from scrapy_polite.politeness import Placed, Politeness
from scrapy_polite.referers import keep_quiet
from scrapy_polite.stores.base import scratch_store

MET = {"outside.example": "93.184.216.34", "also.example": "93.184.216.35", "inside.example": "10.1.2.3"}


def kept(referer: str, url: str, *allowed: str, playwright: bool = False) -> bool:
    config = Config.from_settings({"POLITE_ALLOW_NETWORKS": list(allowed), "POLITE_STORE": "memory:"})
    politeness = Politeness(config, scratch_store(), Resolver(["127.0.0.1:9"]), None, None)
    for host, address in MET.items():
        target = parse(f"http://{host}/")
        assert isinstance(target, Target)
        answer = Answer(host, (ip_address(address),), (), math.inf)
        politeness._placed[target.site] = Placed(answer, answer.addresses[0], (target.site,), None, (), 1.0)
    request = Request(url, headers={"Referer": referer}, meta={"playwright": playwright})
    keep_quiet(request, politeness)
    return "Referer" in request.headers


@pytest.mark.parametrize(
    ("referer", "url", "expected"),
    [
        ("http://outside.example/1", "http://also.example/", True),
        ("http://outside.example/1", "http://inside.example/", True),
        ("http://outside.example/1", "http://new.example/", True),
        ("http://93.184.216.34/1", "http://outside.example/", True),
        ("http://inside.example/1", "http://inside.example/2", True),
        ("http://inside.example/1", "http://10.1.2.3/", True),
        ("http://wiki.corp/1", "http://inside.example/", True),
        ("http://inside.example/secret", "http://outside.example/", False),
        ("http://INSIDE.example.:80/secret", "http://outside.example/", False),
        ("http://10.1.2.3/secret", "http://outside.example/", False),
        ("http://[::ffff:10.1.2.3]/secret", "http://outside.example/", False),
        ("http://wiki.corp/secret", "http://outside.example/", False),
        ("http://localhost/secret", "http://outside.example/", False),
        ("http://new.example/secret", "http://outside.example/", False),
        ("http://inside.example/secret", "http://new.example/", False),
        ("no URL at all", "http://outside.example/", False),
    ],
)
def test_a_page_inside_is_not_named_to_the_outside(referer: str, url: str, expected: bool) -> None:
    assert kept(referer, url, "10.0.0.0/8") is expected
    assert kept(referer, url, "inside.example=10.1.2.3/32") is expected


def test_a_crawl_that_can_reach_nothing_inside_has_nothing_to_hide() -> None:
    assert kept("http://new.example/", "http://outside.example/")


def test_a_browser_is_not_told_of_a_page_inside_at_all_since_it_takes_it_along_to_redirects() -> None:
    assert not kept("http://inside.example/1", "http://inside.example/2", "10.0.0.0/8", playwright=True)
    assert kept("http://outside.example/1", "http://inside.example/2", "10.0.0.0/8", playwright=True)
