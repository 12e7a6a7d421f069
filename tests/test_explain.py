"""What ``explain`` finds out: by the name alone, and with DNS, the store and the environment."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from nameserver import Script, name_server
from scrapy.settings import Settings

from scrapy_polite.commands import explainjson, explanation
from scrapy_polite.commands.explainjson import OfflineLines, as_json
from scrapy_polite.commands.explaintext import as_text
from scrapy_polite.commands.explanation import Explainer
from scrapy_polite.commands.fields import Explanation
from scrapy_polite.commands.proxies import EnvironmentProxies
from scrapy_polite.config import Config
from scrapy_polite.stores.base import Cause, Ruling, StoreError, open_store
from scrapy_polite.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from postgres import Database

    from scrapy_polite.stores.base import Store

PUBLIC = "93.184.216.34"
REVERSE = "34.216.184.93.in-addr.arpa"


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def explainer(kept: Store | None = None, **options: object) -> Explainer:
    settings = Settings(options)
    config = Config.from_settings(settings)
    return Explainer(config, EnvironmentProxies(settings, config.proxies | config.trusted_proxies), kept)


def offline(url: str, **options: object) -> Explanation:
    return explainer(**options).offline(url)


def online(url: str, script: Callable[[Script], None], kept: Store | None = None, **options: object) -> Explanation:
    async def run() -> Explanation:
        async with name_server() as (says, server):
            script(says)
            asked = explainer(kept, POLITE_DNS_SERVERS=[server], **options)
            found = await asked.online(url)
            await asked.close()
            return found

    return asyncio.run(run())


def picked(found: Explanation, *names: str) -> tuple[Any, ...]:
    return tuple(found[name] for name in names)  # type: ignore[literal-required]


# -- by the name alone


@pytest.mark.parametrize("url", ["http://a.example/", "http://10.0.0.1/", "no URL", "ftp://a.example/", "mailto:a@b.example"])
def test_every_answer_has_every_field(url: str) -> None:
    found = offline(url)
    assert list(found) == list(Explanation.__annotations__)
    assert found["url"] == url


def test_lines_of_a_list_are_the_same_as_single_answers() -> None:
    asked = explainer(POLITE_ALLOW_NETWORKS=["10.0.0.1/32"])
    fast = OfflineLines(asked)
    paths = ("", "/", "/1.jpg", "/robots.txt", "/a/../b?q=\u00fc", "/\u2028\x85", "/_next/image?url=%2F1.jpg")
    hosts = (
        "a.example",
        "b\u00fccher.example",
        "10.0.0.1",
        "10.0.0.2:81",
        "me@a.example",
        "a.example:81",
        "a..example",
        "[::1]",
    )
    buckets = (
        "photos.s3.amazonaws.com",
        "s3.amazonaws.com/one",
        "s3.amazonaws.com/two",
        "res.cloudinary.com/hearth/image/upload",
    )
    for url in (f"{scheme}://{host}{path}" for host in hosts + buckets for scheme in ("http", "ftp") for path in paths * 2):
        found = asked.offline(url)
        assert fast.line(url) == (as_json(found), found["admitted"] is False)


def test_a_list_of_many_hosts_takes_no_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explainjson, "REMEMBERED", 3)
    fast = OfflineLines(explainer())
    lines = [fast.line(f"http://{name}.example/")[0] for name in "abcdefa"]
    assert lines[0] == lines[-1]
    assert len(fast._judged) <= 3
    assert len(fast._planned) <= 3


def test_no_answer_has_what_ends_a_line_to_some_readers() -> None:
    line = as_json(offline("http://a.example/\u2028\u0085\u202e"))
    assert line.isascii()
    assert json.loads(line)["url"] == "http://a.example/\u2028\u0085\u202e"
    assert "b\u00fccher.example" in as_json(offline("http://b\u00fccher.example/"))


def test_a_host_in_its_own_letters_and_as_keys_hold_it() -> None:
    found = offline("HTTP://www.B\u00fccher.co.uk.:8080/a/../b")
    assert picked(found, "canonical", "sent") == ("http://www.xn--bcher-kva.co.uk:8080/b",) * 2
    assert picked(found, "host", "shown", "port") == ("www.xn--bcher-kva.co.uk", "www.b\u00fccher.co.uk", 8080)
    assert picked(found, "domain", "site") == ("xn--bcher-kva.co.uk", "site:www.xn--bcher-kva.co.uk")
    assert picked(found, "kind", "cost", "admitted") == ("page", 2, None)


def test_what_is_sent_is_the_url_itself_where_nothing_can_be_read_differently() -> None:
    assert offline("http://a.example:80/x#y")["sent"] == "http://a.example:80/x#y"
    assert picked(offline("http://me:word@a.example/"), "sent", "rule") == ("http://a.example/", "userinfo")


def test_a_bucket_an_image_service_and_the_image_behind_them() -> None:
    bucket = offline("https://photos.s3.eu-west-2.amazonaws.com/1.jpg")
    assert picked(bucket, "site", "bucket", "image_service", "source") == ("bucket:s3/photos", "bucket:s3/photos", None, None)
    service = offline("https://res.cloudinary.com/hearth/image/upload/w_640/1.jpg")
    assert picked(service, "site", "bucket", "image_service") == (
        "imageservice:cloudinary/hearth",
        None,
        "imageservice:cloudinary/hearth",
    )
    assert service["source"] == "https://res.cloudinary.com/hearth/image/upload/1.jpg"
    assert [charge["key"] for charge in service["charges"]] == ["imageservice:cloudinary/hearth"]
    own = offline("https://a.example/_next/image?url=%2F1.jpg&w=640")
    assert picked(own, "site", "source") == ("site:a.example", "https://a.example/1.jpg")


def test_a_refusal_names_its_rule_its_range_and_the_line_that_would_allow_it() -> None:
    found = offline("http://0x0a010203:9000/")
    assert picked(found, "admitted", "rule", "range") == (False, "private", "10.0.0.0/8")
    assert found["reason"] == "private: 10.1.2.3 is in 10.0.0.0/8: private use (RFC 1918)."
    assert found["allow"] == 'POLITE_ALLOW_NETWORKS = ["10.1.2.3:9000=10.1.2.3/32"]'
    assert [check["rule"] for check in found["checks"]] == [None, "private", None, "port"]
    assert picked(found, "addresses", "pinned") == (["10.1.2.3"], None)
    opened = offline("http://10.1.2.3:9000/", POLITE_ALLOW_NETWORKS=["10.1.2.3:9000=10.1.2.3/32"])
    assert picked(opened, "admitted", "rule", "addresses", "pinned") == (True, None, ["10.1.2.3"], "10.1.2.3")


def test_what_is_no_url_has_a_reason_and_no_site() -> None:
    found = offline("http://a..example/")
    assert picked(found, "admitted", "rule", "site", "host", "checks") == (False, "empty_label", None, None, [])


@pytest.mark.parametrize(
    ("url", "admitted", "let_through"),
    [
        ("http://10.1.2.3/", True, True),
        ("http://wiki.corp/", None, True),
        ("http://169.254.169.254/", False, False),
        ("ftp://a.example/", False, False),
        ("http://a.example/", None, False),
    ],
)
def test_in_report_only_mode_it_says_what_would_be_refused_and_is_not(
    url: str, admitted: bool | None, let_through: bool
) -> None:
    found = offline(url, POLITE_GUARD="report")
    assert picked(found, "admitted", "let_through") == (admitted, let_through)
    assert (found["reason"] is not None) == (admitted is False or let_through)


def test_the_environments_proxy_is_shown_where_a_crawl_would_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://me:word@10.0.0.5:3128")
    monkeypatch.setenv("no_proxy", "direct.example")
    assert picked(offline("http://a.example/"), "proxy", "admitted") == (None, None)
    heeded: dict[str, object] = {"HTTPPROXY_ENABLED": True}
    trusted: dict[str, object] = {"POLITE_TRUSTED_PROXIES": ["http://10.0.0.5:3128"], **heeded}
    assert picked(offline("http://a.example/", **trusted), "proxy", "admitted") == ("http://10.0.0.5:3128", None)
    assert picked(offline("http://direct.example/", **trusted), "proxy", "admitted") == (None, None)
    assert picked(offline("https://a.example/", **trusted), "proxy", "admitted") == (None, None)
    by_address = offline("http://a.example/", POLITE_PROXIES=["http://10.0.0.5:3128"], **heeded)
    assert picked(by_address, "proxy", "admitted") == ("http://10.0.0.5:3128", None)
    for off in ({"HTTPPROXY_ENABLED": False}, {}):
        found = offline("http://a.example/", POLITE_TRUSTED_PROXIES=["http://10.0.0.5:3128"], **off)
        assert picked(found, "proxy", "admitted") == (None, None)
    foreign = offline("http://a.example/", POLITE_TRUSTED_PROXIES=["http://10.0.0.6:3128"], **heeded)
    assert picked(foreign, "proxy", "admitted", "rule") == ("http://10.0.0.5:3128", False, "proxy")
    assert "word" not in str(foreign)
    reported = offline("http://a.example:81/", POLITE_GUARD="report", POLITE_TRUSTED_PROXIES=["http://10.0.0.6:3128"], **heeded)
    assert picked(reported, "admitted", "rule", "let_through", "allow") == (False, "proxy", False, None)


# -- with DNS


def test_with_dns_it_tells_chain_time_addresses_their_names_and_the_origin() -> None:
    def script(says: Script) -> None:
        says.add("www.shop.test", (600, "CNAME", "shops.platform.test."))
        says.add("shops.platform.test", (90, "A", PUBLIC))
        says.add(REVERSE, (900, "PTR", "web7.platform.test."))

    found = online("https://www.shop.test/", script)
    assert picked(found, "admitted", "chain", "addresses", "pinned") == (True, ["shops.platform.test"], [PUBLIC], PUBLIC)
    assert found["ttl"] is not None
    assert 80 < found["ttl"] <= 90
    assert found["pointers"] == [{"address": PUBLIC, "names": ["web7.platform.test"], "reason": None}]
    assert [(check["check"], check["of"]) for check in found["checks"][4:]] == [
        ("cname", "shops.platform.test"),
        ("address", PUBLIC),
    ]
    assert found["origin"] == "origin:shops.platform.test"
    assert found["confidence"] == pytest.approx(0.9979)
    (sentence,) = found["evidence"]
    assert sentence == (
        "www.shop.test has servers of its own, as far as anybody has seen: no other known site has its CNAME "
        f"shops.platform.test or its address {PUBLIC} (confidence 0.99)."
    )
    assert [charge["key"] for charge in found["charges"]] == ["site:www.shop.test", "origin:shops.platform.test"]


def test_each_address_of_a_mixed_answer_has_its_verdict_and_private_ones_are_asked_for_no_name() -> None:
    def script(says: Script) -> None:
        says.add("mixed.test", (60, "A", PUBLIC), (60, "A", "10.0.0.1"))

    found = online("http://mixed.test/", script)
    assert picked(found, "admitted", "rule", "range") == (False, "private", "10.0.0.0/8")
    assert {check["of"]: check["rule"] for check in found["checks"][4:]} == {PUBLIC: None, "10.0.0.1": "private"}
    assert found["allow"] == 'POLITE_ALLOW_NETWORKS = ["mixed.test:80=10.0.0.1/32"]'
    assert {pointer["address"]: pointer["reason"] for pointer in found["pointers"]} == {
        PUBLIC: "nxdomain",
        "10.0.0.1": "not_public",
    }
    assert picked(found, "pinned", "origin") == (None, None)
    opened = online("http://mixed.test/", script, POLITE_ALLOW_NETWORKS=["mixed.test:80=10.0.0.1/32"])
    assert picked(opened, "admitted", "rule") == (True, None)
    reported = online("http://mixed.test/", script, POLITE_GUARD="report")
    assert picked(reported, "admitted", "let_through", "rule") == (True, True, "private")
    assert reported["pinned"] in (PUBLIC, "10.0.0.1")


def test_without_an_address_it_would_not_be_fetched() -> None:
    found = online("http://nobody.test/", lambda says: None)
    assert picked(found, "admitted", "rule") == (False, "nxdomain")
    assert found["reason"] == "no DNS answer: nxdomain: nobody.test does not exist."


def test_dns_is_not_asked_about_what_its_name_refuses() -> None:
    asked: list[Script] = []
    online("http://wiki.corp/", asked.append)
    online("http://shop.test:9000/", asked.append)
    assert [says.asked for says in asked] == [[], []]


def test_a_custom_domain_is_charged_to_the_bucket_behind_it() -> None:
    def script(says: Script) -> None:
        says.add("photos.test", (60, "CNAME", "photos.s3.eu-west-2.amazonaws.com."))
        says.add("photos.s3.eu-west-2.amazonaws.com", (60, "A", PUBLIC))

    found = online("http://photos.test/1.jpg", script)
    assert picked(found, "site", "bucket") == ("site:photos.test", "bucket:s3/photos")


def test_slow_zones_of_addresses_take_no_longer_than_a_look_up() -> None:
    scripts: list[Script] = []

    def script(says: Script) -> None:
        scripts.append(says)
        says.add("slow.test", (60, "A", PUBLIC), (60, "A", "93.184.216.35"))
        says.faults[REVERSE] = "silent"
        says.faults["35.216.184.93.in-addr.arpa"] = "silent"

    found = online("http://slow.test/", script, POLITE_DNS_TIMEOUT=0.3)
    assert found["admitted"] is True
    assert [pointer["reason"] for pointer in found["pointers"]] == ["timeout", "timeout"]
    assert len({name for name, kind, _ in scripts[0].asked if kind == "PTR"}) == 1, "the second one's turn never came"


def test_every_key_is_shown_with_what_the_store_knows_of_it(tmp_path: Path) -> None:
    store = open_store(f"sqlite:{tmp_path}/limits.sqlite")
    store.hold("origin:shop.test", 600.0, Cause("rate_limited", "429, Retry-After: 600", True))
    store.merge(f"origin:{PUBLIC}", "origin:shop.test")
    found = online("http://www.shop.test/", lambda says: says.add("www.shop.test", (60, "A", PUBLIC)), store)
    site, origin = found["keys"]
    assert site == {"key": "site:www.shop.test", "due_in": 0, "hold_in": 0, "kind": None, "reason": None}
    assert 590 < origin["hold_in"] <= 600
    assert (origin["key"], origin["kind"], origin["reason"]) == (f"origin:{PUBLIC}", "rate_limited", "429, Retry-After: 600")
    assert (found["origin"], found["aliases"]) == ("origin:shop.test", [f"origin:{PUBLIC}"]), "an alias is followed"
    assert found["hold"] == {
        "key": f"origin:{PUBLIC}",
        "seconds": origin["hold_in"],
        "kind": "rate_limited",
        "reason": "429, Retry-After: 600",
    }
    assert found["due_in"] == origin["hold_in"]


def test_a_store_in_a_database_is_looked_at_as_a_file_is(database: Database) -> None:
    store = open_store(database.url)
    store.hold("origin:shop.test", 600.0, Cause("rate_limited", "429, Retry-After: 600", True))
    store.merge(f"origin:{PUBLIC}", "origin:shop.test")
    store.rule(Ruling("www.shop.test", "join", f"origin:{PUBLIC}", "ann", "as they say", time.time(), None))
    before = store.news(0)
    kept = open_store(database.url)
    found = online("http://www.shop.test/", lambda says: says.add("www.shop.test", (60, "A", PUBLIC)), kept)
    assert (found["origin"], found["aliases"]) == ("origin:shop.test", [f"origin:{PUBLIC}"])
    assert found["ruling"] is not None
    assert found["ruling"]["reason"] == "as they say"
    assert found["hold"] is not None
    assert store.news(0) == before
    assert store.ages([f"address:{PUBLIC}"], allot=False) == {}, "explaining writes nothing"
    store.close()


def test_a_store_that_fails_on_the_way_is_done_without(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(explanation, "PATIENCE", 0.3)
    kept = MemoryStore()

    def away(*_: object) -> NoReturn:
        raise StoreError("the disk is gone")

    monkeypatch.setattr(kept, "kept", away)
    found = online("http://www.shop.test/", lambda says: says.add("www.shop.test", (60, "A", PUBLIC)), kept)
    assert (found["admitted"], found["origin"], found["keys"]) == (True, f"origin:{PUBLIC}", [])
    assert "The store cannot be read" in capsys.readouterr().err


# -- for people


def everything(says: Script) -> None:
    says.add("www.b\u00fccher.test".encode("idna").decode(), (600, "CNAME", "a-rather-long-name-of-shops.platform.test."))
    says.add("a-rather-long-name-of-shops.platform.test", (90, "A", PUBLIC), (90, "A", "10.0.0.1"))


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_terminal_but_those_that_cannot_be_broken(width: int) -> None:
    text = as_text(online("http://www.b\u00fccher.test/search?page=1", everything), width)
    wide = [line for line in text.splitlines() if len(line) > width]
    assert all("POLITE_ALLOW_NETWORKS = " in line for line in wide)
    assert "www.b\u00fccher.test, in keys www.xn--bcher-kva.test" in text
    assert "  to allow   POLITE_ALLOW_NETWORKS = [" in text


def test_all_addresses_that_are_refused_are_shown_and_of_the_others_some() -> None:
    def script(says: Script) -> None:
        says.add("pool.test", *((60, "A", f"93.184.217.{n}") for n in range(100)), (60, "A", "10.0.0.1"))

    text = as_text(online("http://pool.test/", script))
    assert "and 84 more that pass" in text
    assert "10.0.0.1: refused (private, 10.0.0.0/8)" in text


def test_what_a_terminal_would_obey_is_escaped() -> None:
    text = as_text(offline("http://a.example/\x1b[2J\u202e\x85"))
    assert text.replace("\n", "").isprintable()
    assert "\\x1b[2J\\u202e\\x85" in text
