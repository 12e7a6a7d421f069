"""What ``explain`` says of each kind of site, with what crawls have left in the store: as an engineer would write it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from nameserver import Script, name_server
from scrapy.settings import Settings

from scrapy_polite.commands.explaintext import as_text
from scrapy_polite.commands.explanation import Explainer
from scrapy_polite.commands.proxies import EnvironmentProxies
from scrapy_polite.config import Config
from scrapy_polite.dns.resolver import Resolver
from scrapy_polite.origins.evidence import Certificate, Reply
from scrapy_polite.politeness import Politeness
from scrapy_polite.stores.base import Ruling, open_store
from scrapy_polite.stores.obeying import enact

if TYPE_CHECKING:
    from scrapy_polite.commands.fields import Explanation
    from scrapy_polite.stores.base import Store

CLOUDFLARE = "104.16.1.{}"
LETTERS = "abcdefghijkl"
LOOK = {"x-frame-options": ["DENY"], "referrer-policy": ["origin"], "x-content-type-options": ["nosniff"]}


def reverse(address: str) -> str:
    return ".".join(reversed(address.split("."))) + ".in-addr.arpa"


def world(says: Script) -> dict[str, dict[str, list[str]]]:
    """Hosts, and the headers of each; also hosts that no crawl has met."""
    headers: dict[str, dict[str, list[str]]] = {}

    def site(name: str, shows: dict[str, list[str]], *addresses: str) -> None:
        says.add(name, *((300, "A", address) for address in addresses))
        headers[name] = shows

    says.add("sites.platform.test", (300, "A", "93.184.216.10"))
    for n, letter in enumerate(LETTERS[:4]):
        says.add(f"www.tenant-{letter}.test", (300, "CNAME", "sites.platform.test."))
        headers[f"www.tenant-{letter}.test"] = LOOK
        site(f"www.mill-{letter}.test", LOOK | {"x-mill": ["1"]}, f"93.184.{220 + n}.7")
        says.add(reverse(f"93.184.{220 + n}.7"), (300, "PTR", f"web{n}.mill.test."))
        site(f"www.white-{letter}.test", LOOK | {"x-label": ["1"]}, f"93.185.{n}.7")
        site(f"www.pool-{letter}.test", LOOK, *(f"93.186.1.{(n + k) % 4 + 1}" for k in range(3)))
        site(f"www.direct-{letter}.test", LOOK | {"x-acme-version": ["3"]}, "93.189.1.1")
        site(f"www.hidden-{letter}.test", LOOK | {"x-acme-version": ["3"]}, CLOUDFLARE.format(n + 1))
    for letter in LETTERS:
        own = {f"x-own-{letter}": [""], "x-frame-options": [f"ALLOW-{letter}"]}
        site(f"www.hosted-{letter}.test", own, "93.187.1.1")
        site(f"www.regio-{letter}.test", own | {"x-regio": ["HIT"]}, "93.191.1.1")
    site("www.own.test", {}, "93.188.1.1")
    site("www.plain.test", {}, CLOUDFLARE.format(99))
    says.add("www.shop.test", (300, "CNAME", "shops.myshopify.com."))
    says.add("shops.myshopify.com", (300, "A", "23.227.38.65"))
    says.add("img.photos.test", (60, "CNAME", "photos.s3.eu-west-2.amazonaws.com."))
    says.add("photos.s3.eu-west-2.amazonaws.com", (60, "A", "93.190.1.1"))
    says.add("res.cloudinary.com", (60, "A", "93.192.1.1"))
    return headers


async def crawl(store: Store, server: str, headers: dict[str, dict[str, list[str]]]) -> None:
    """What a crawl asks and hears: one page of each host."""
    config = Config.from_settings(Settings({"POLITE_DNS_SERVERS": [server]}))
    politeness = Politeness(config, store, Resolver(config.dns_servers, config.dns_timeout), None, None)
    label = Certificate("01", "ab" * 16, tuple(f"www.white-{letter}.test" for letter in LETTERS[:4]))
    for host, shown in headers.items():
        _, placed = await politeness.admit(f"http://{host}/")  # type: ignore[misc]
        certificate = label if "white" in host else None
        if "mill" in host:
            await politeness.placing.asked()
        await politeness.learned(placed.keys[0], Reply(str(placed.pinned), 200, "page", shown, certificate, time.time()))
    await politeness.placing.look_around()
    await politeness.placing.close()
    await politeness.resolver.close()


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Explanation]:
    """Every kind of site, explained on one store, which is read only by that."""
    path = tmp_path_factory.mktemp("explained") / "limits.sqlite"

    async def run() -> dict[str, Explanation]:
        script = Script()
        headers = world(script)
        async with name_server(script=script) as (_, server):
            store = open_store(f"sqlite:{path}")
            await crawl(store, server, headers)
            now = time.time()
            enact(
                store, Ruling("www.tenant-d.test", "split", "origin:www.tenant-d.test", "ann", "moved out", now, None), TENANTS
            )
            enact(store, Ruling("origin:93.188.1.1", "join", TENANTS, "ann", "", now, now + 86_400), "origin:93.188.1.1")
            before = (store.news(0), store.rulings(), store.origins())
            settings = Settings({"POLITE_DNS_SERVERS": [server]})
            asked = Explainer(
                Config.from_settings(settings), EnvironmentProxies(settings, frozenset()), open_store(f"sqlite:{path}")
            )
            urls = [*(f"http://{host}/" for host in (*headers, "www.shop.test", "img.photos.test", "nobody.test")), CLOUDINARY]
            kinds = [url for url in urls if "-a." in url or "-" not in url or "tenant-d" in url]
            found = {url: await asked.online(url, pointers="mill" in url or "regio" in url) for url in kinds}
            await asked.close()
            assert (store.news(0), store.rulings(), store.origins()) == before, "explaining writes nothing"
            store.close()
            return found

    return asyncio.run(run())


TENANTS = "origin:sites.platform.test"
CLOUDINARY = "https://res.cloudinary.com/hearth/image/upload/1.jpg"


@pytest.mark.parametrize(
    ("url", "origin", "sentences"),
    [
        (
            "http://www.tenant-a.test/",
            TENANTS,
            """
            www.tenant-a.test is served by origin sites.platform.test: its CNAME is sites.platform.test, as for 3 other
            sites, and its address 93.184.216.10 is shared with 3 other sites, and it answered from there (confidence
            0.99). Of 4 sites at 93.184.216.10 whose pages were looked at, most look alike: one platform.
            """,
        ),
        (
            "http://www.white-a.test/",
            "origin:93.185.0.7",
            """
            www.white-a.test is served by origin 93.185.0.7: its address 93.185.0.7 is shared with no other site, and it
            answered from there, and its certificate and its header x-label are those of 3 other sites, most of which
            look alike (confidence 0.99).
            """,
        ),
        (
            "http://www.hosted-a.test/",
            "origin:93.187.1.1",
            """
            www.hosted-a.test is served by origin 93.187.1.1: its address 93.187.1.1 is shared with 11 other sites, and
            it answered from there (confidence 0.98). www.hosted-a.test shares 93.187.1.1 with 11 unrelated sites, which
            look unlike each other: one shared host.
            """,
        ),
        (
            "http://www.hidden-a.test/",
            "origin:93.189.1.1",
            """
            www.hidden-a.test is behind Cloudflare; its header x-acme-version is found only on sites of origin
            93.189.1.1 (4 of 4 located), and its pages are set up like most of theirs: so its misses are charged there
            (confidence 0.81).
            """,
        ),
        (
            "http://www.plain.test/",
            "origin:plain.test",
            """
            www.plain.test is behind Cloudflare and shows nothing that tells its servers: its misses are charged to
            origin plain.test, with the rest of that domain (confidence 0.50).
            """,
        ),
        (
            "http://www.shop.test/",
            "origin:shop.test",
            """
            www.shop.test is a site of the self-service platform Shopify, whose sites have nothing in common but its
            front servers: it is charged to origin shop.test alone (confidence 0.50).
            """,
        ),
        (
            "http://www.tenant-d.test/",
            "origin:www.tenant-d.test",
            """
            www.tenant-d.test was split off by hand: it is an origin of its own, www.tenant-d.test (ann: moved out).
            Without the ruling: www.tenant-d.test is served by origin sites.platform.test: its CNAME is
            sites.platform.test, as for 3 other sites, and its address 93.184.216.10 is shared with 3 other sites, and
            it answered from there (confidence 0.99). Of 4 sites at 93.184.216.10 whose pages were looked at, most look
            alike: one platform.
            """,
        ),
        (
            "http://www.own.test/",
            TENANTS,
            """
            www.own.test was put to origin sites.platform.test by hand (ann, with all of origin:93.188.1.1). Without the
            ruling: www.own.test has servers of its own, as far as anybody has seen: no other known site has its address
            93.188.1.1 (confidence 0.98).
            """,
        ),
        (
            "http://img.photos.test/",
            None,
            """
            img.photos.test is a custom domain of bucket:s3/photos
            """,
        ),
        (
            "http://nobody.test/",
            None,
            "",
        ),
    ],
)
def test_each_kind_of_site_is_explained(
    explained: dict[str, Explanation], url: str, origin: str | None, sentences: str
) -> None:
    found = explained[url]
    assert (found["origin"], " ".join(found["evidence"])) == (origin, " ".join(sentences.split()))


def test_machines_of_one_operator_and_a_pool_of_addresses_are_one_origin(explained: dict[str, Explanation]) -> None:
    (mill, *_) = explained["http://www.mill-a.test/"]["evidence"]
    assert "the PTR name of its machine is in mill.test" in mill
    (pool, *_) = explained["http://www.pool-a.test/"]["evidence"]
    assert pool.startswith(
        "www.pool-a.test is served by origin 93.186.1.1: its address 93.186.1.1 is shared with 2 other sites, "
    )


def test_a_suspected_edge_is_said_to_be_one_with_the_line_that_confirms_it(explained: dict[str, Explanation]) -> None:
    *_, suspected = explained["http://www.regio-a.test/"]["evidence"]
    assert "12 sites share 1 address (93.191.1.1)" in suspected
    assert suspected.endswith('POLITE_EDGES = {"regio": {"networks": ["93.191.1.1"], "unit": "shared"}}')


def test_what_an_edge_may_give_back_is_told(explained: dict[str, Explanation]) -> None:
    found = explained["http://www.hidden-a.test/"]
    assert found["edge"] is not None
    assert (found["edge"]["provider"], found["edge"]["label"]) == ("cloudflare", "Cloudflare")
    refundable = {charge["key"]: charge.get("refundable", False) for charge in found["charges"]}
    assert refundable["edge:cloudflare/www.hidden-a.test"] is False
    assert refundable["origin:93.189.1.1"] is True
    text = as_text(found)
    assert "  edge       Cloudflare: www.hidden-a.test has the address 104.16.1.1, which belongs to Cloudflare" in text
    assert "to origin:93.189.1.1, whose misses may take 1.8 units a second, burst 1.6; given back on a proven hit" in text
    assert explained["http://www.tenant-a.test/"]["edge"] is None


def test_other_names_and_rulings_are_told(explained: dict[str, Explanation]) -> None:
    white = explained["http://www.white-a.test/"]
    assert white["aliases"] == [f"origin:93.185.{n}.7" for n in (1, 2, 3)]
    assert "  also       origin:93.185.1.7, origin:93.185.2.7, origin:93.185.3.7" in as_text(white)
    own: Any = explained["http://www.own.test/"]
    assert (own["ruling"]["subject"], own["ruling"]["verb"], own["ruling"]["author"]) == ("origin:93.188.1.1", "join", "ann")
    assert f"  ruled      origin:93.188.1.1 and {TENANTS} are one origin, by ann at " in as_text(own)
    assert white["ruling"] is None


def test_the_origin_is_known_before_the_first_request_by_what_others_have_left(explained: dict[str, Explanation]) -> None:
    assert explained["http://www.hidden-a.test/"]["confidence"] == pytest.approx(0.81)
    assert "imageservice:cloudinary/hearth" in explained[CLOUDINARY]["evidence"][0]
