"""The table of edges and platforms: what is in it, what must never be, and what an operator says over it."""

from __future__ import annotations

import json
import subprocess
import sys
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from placed_alone import points
from scrapy.settings import BaseSettings

from scrapy_polite.config import Config
from scrapy_polite.guard.ranges import builtin_row
from scrapy_polite.naming import canonical_host
from scrapy_polite.naming.domains import is_registry_suffix
from scrapy_polite.origins import edge_of
from scrapy_polite.origins.edges import KNOWN, UNITS, EdgeTable, Entry, OwnEdges, Row
from scrapy_polite.origins.ownedges import own_edges

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "scrapy_polite" / "origins" / "data"
ENTRIES = list(KNOWN.entries())
SUFFIXES = [entry for entry in ENTRIES if entry.suffix is not None]
NETWORKS = [entry for entry in ENTRIES if entry.network is not None]


def addresses(*texts: str) -> list[IPv4Address | IPv6Address]:
    return [ip_address(text) for text in texts]


def test_every_row_says_what_it_is_and_where_it_is_from() -> None:
    for row, suffix, network in ENTRIES:
        assert (suffix is None) != (network is None)
        assert row.provider.replace("-", "").isalnum()
        assert row.provider == row.provider.lower()
        assert row.provider.isascii()
        assert row.label
        assert row.kind in {"cdn", "waf", "platform"}
        assert row.unit in UNITS
        assert (row.unit == "tenant") == (row.kind == "platform")
        assert row.source
        assert row.source.startswith("https://") or not row.checked or "many public repositories" in row.source
        year, _, month = row.dated.partition("-")
        assert 2026 <= int(year) < 2100
        assert 1 <= int(month) <= 12


def test_a_provider_has_one_word_in_keys_and_few_labels() -> None:
    words: dict[str, set[str]] = {}
    for row, _, _ in ENTRIES:
        words.setdefault(row.label, set()).add(row.provider)
    assert {label: found for label, found in words.items() if len(found) > 1} == {}


@pytest.mark.parametrize("entry", SUFFIXES, ids=lambda entry: entry.suffix)
def test_every_suffix_is_found_below_itself(entry: Entry) -> None:
    assert entry.suffix is not None
    suffix = entry.suffix.replace("#", "017")
    edge = edge_of("www.a.test", [f"www.a.{suffix}"])
    assert edge is not None
    assert (edge.provider, edge.label) == (entry.row.provider, entry.row.label)
    assert KNOWN.row_of_name(suffix) == entry.row
    assert KNOWN.row_of_name(f"not{suffix}") != entry.row
    assert edge_of("www.a.test", [f"{suffix}.test"]) is None
    assert canonical_host(suffix) == suffix
    assert not is_registry_suffix(suffix)


def test_the_table_names_every_suffix_once() -> None:
    assert len({entry.suffix for entry in SUFFIXES}) == len(SUFFIXES)


def test_the_longest_suffix_speaks() -> None:
    shared, own = KNOWN.row_of_name("j.sni.global.fastly.net"), KNOWN.row_of_name("acme.map.fastly.net")
    assert shared is not None
    assert own is not None
    assert (shared.unit, own.unit) == ("shared", "customer")


def test_every_edge_address_of_the_table_is_refused_as_an_anchor() -> None:
    assert len(NETWORKS) > 1000
    for row, _, network in NETWORKS:
        assert network is not None
        for address in (network[0], network[-1]):
            found = points("www.a.test", [], [address])
            assert found.edge is not None
            assert found.edge.provider == row.provider, network
            assert found.strong == (), network
            assert builtin_row(address) is None, network  # a public one


def test_no_network_is_wider_than_an_edge_has() -> None:
    for _, _, network in NETWORKS:
        assert network is not None
        assert network.prefixlen >= (9 if network.version == 4 else 24), network


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("lb-1234.eu-west-1.elb.amazonaws.com", "52.16.0.1"),
        ("ec2-52-16-0-1.eu-west-1.compute.amazonaws.com", "52.16.0.1"),
        ("my-env.eu-west-1.elasticbeanstalk.com", "52.16.0.1"),
        ("a1b2c3d4.awsglobalaccelerator.com", "75.2.60.6"),
        ("shop.trafficmanager.net", "20.50.2.1"),  # DNS alone: the answer is the customer's own server
        ("shop.westeurope.cloudapp.azure.com", "20.50.2.1"),
        ("www.shop.test.akadns.net", "203.0.113.7"),
        ("ghs.googlehosted.com", "34.102.136.180"),  # a customer's load balancer in Google's ranges
        ("4.3.2.1.bc.googleusercontent.com", "34.102.136.180"),
        ("a.clients.your-server.de", "1.1.1.1"),  # a resolver, no web edge
        ("a1-2-3-4.deploy.akamaitechnologies.com", "203.0.113.7"),
        ("sites.platform.test", "203.0.113.7"),
    ],
)
def test_rented_machines_are_no_edges(name: str, address: str) -> None:
    assert KNOWN.row_of_name(name) is None
    assert KNOWN.row_of_address(address) is None
    assert edge_of("a.test", [name], addresses(address)) is None
    assert edge_of(name, [], addresses(address)) is None


def test_a_host_with_one_foot_outside_is_not_behind_the_edge() -> None:
    assert edge_of("a.test", [], addresses("104.16.0.1", "203.0.113.7")) is None
    assert edge_of("a.test", [], addresses("203.0.113.7", "104.16.0.1")) is None
    assert edge_of("a.test", [], addresses("104.16.0.1", "2606:4700::1")) is not None
    assert edge_of("a.test", [], addresses("104.16.0.1", "151.101.0.1")) is None


def test_the_last_edge_of_the_chain_counts() -> None:
    edge = edge_of("a.test", ["a.b-cdn.net", "a.edgekey.net", "x.test"])
    assert edge is not None
    assert edge.provider == "akamai"
    assert edge.because == "a.test is a CNAME for a.edgekey.net, which belongs to Akamai"


def test_numbered_zones_of_a_platform_are_known() -> None:
    edge = edge_of("www.a.test", ["0a1b2c3d.vercel-dns-017.com"])
    assert edge is not None
    assert edge.provider == "vercel"
    for name in ("vercel-dns-x.com", "vercel-dns-.com", "myvercel-dns-1.com", "vercel-dns-1.com.test"):
        assert KNOWN.row_of_name(name) is None


def test_addresses_may_be_texts() -> None:
    assert KNOWN.row_of_address("104.16.0.1") == KNOWN.row_of_address(IPv4Address("104.16.0.1")) is not None
    assert KNOWN.row_of_address("2606:4700::1") is not None
    assert KNOWN.edge_of("a.test", [], ["104.16.0.1", "2606:4700::1"]) is not None


@pytest.mark.parametrize(
    "text", ["a.example", "a.b.c.d", "104.16.0", "104.16.0.256", "104.16.0.1.5", "104.16.0.-1", "2606:4700:::1", ""]
)
def test_what_is_no_address_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (whose words they are does not matter)
        KNOWN.row_of_address(text)


@given(st.ip_addresses())
@settings(deadline=None)
def test_the_index_answers_as_a_walk_through_all_networks_does(address: IPv4Address | IPv6Address) -> None:
    around = [entry for entry in NETWORKS if entry.network is not None and address in entry.network]
    narrowest = max((entry.network.prefixlen for entry in around if entry.network is not None), default=None)
    found = KNOWN.row_of_address(address)
    assert KNOWN.row_of_address(str(address)) == found
    assert found in [entry.row for entry in around if entry.network is not None and entry.network.prefixlen == narrowest] or (
        found is None and not around
    )


def test_the_data_is_read_when_a_host_is_looked_up_and_not_at_import() -> None:
    code = (
        "from scrapy_polite.origins import edges; from scrapy_polite import settings\n"
        "assert edges.known_entries.cache_info().currsize == 0\n"
        "assert edges.KNOWN.row_of_name('x.b-cdn.net')\n"
        "assert edges.known_entries.cache_info().currsize == 1\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_the_page_says_how_many_rows_there_are() -> None:
    page = (ROOT / "docs" / "edges.md").read_text(encoding="utf-8")
    rows = list(json.loads((DATA / "edges.json").read_text(encoding="utf-8"))["rows"])
    platforms = sum("suffix" in row and row["kind"] == "platform" for row in rows)
    others = sum("suffix" in row and row["kind"] != "platform" for row in rows)
    assert f"has {others} suffixes of content delivery networks and firewalls, {platforms} of platforms" in page
    assert f"of {len(rows)} rows by hand {sum(row['checked'] for row in rows)} are `checked`" in page
    software = [row[0] for row in json.loads((DATA / "software.json").read_text(encoding="utf-8"))["rows"]]
    counted = [software.count(of) for of in ("header", "cookie", "value")]
    assert "has {} headers, {} cookies and {} products".format(*counted) in page
    assert f"{len({row['provider'] for row in rows})} providers" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_a_row_by_hand_is_one_line_and_they_are_sorted() -> None:
    text = (DATA / "edges.json").read_text(encoding="utf-8")
    rows = json.loads(text)["rows"]
    assert rows == sorted(rows, key=lambda row: (row["provider"], "networks" in row, row.get("suffix") or row["networks"]))
    assert sum(line.startswith('{"provider": ') for line in text.splitlines()) == len(rows)
    assert all(json.loads(line.rstrip(",")) in rows for line in text.splitlines() if line.startswith('{"provider": '))


# What an operator says.


def test_a_list_is_one_edge_without_a_name() -> None:
    table = KNOWN.with_rows(own_edges(["203.0.113.0/24", "cdn.regio.example", "2001:db8::7"]))
    edge = table.edge_of("www.a.test", ["www-a.cdn.regio.example"])
    assert edge is not None
    assert edge.provider == "own"
    assert edge.because == ("www.a.test is a CNAME for www-a.cdn.regio.example, which belongs to an edge of POLITE_EDGES")
    assert table.edge_of("www.a.test", [], ["203.0.113.7", "2001:db8::7"]) is not None
    assert table.row_of_address("203.0.114.7") is None
    assert KNOWN.row_of_address("203.0.113.7") is None
    assert table.row_of_name("x.b-cdn.net") == KNOWN.row_of_name("x.b-cdn.net")


def test_an_operators_rows_beat_the_table() -> None:
    told = {"acme": {"suffixes": ["fastly.net"], "networks": ["104.0.0.0/8"], "unit": "customer", "label": "Acme"}}
    table = KNOWN.with_rows(own_edges(told))
    expected = Row("acme", "Acme", "cdn", "customer", "POLITE_EDGES", "")
    assert table.row_of_name("x.map.fastly.net") == expected  # a longer suffix of the table does not win
    assert table.row_of_address("104.16.0.1") == expected  # nor a narrower network


def test_a_provider_can_be_left_out() -> None:
    table = KNOWN.with_rows(own_edges({"cloudflare": None}))
    assert table.row_of_address("104.16.0.1") is None
    assert table.row_of_name("x.cdn.cloudflare.net") is None
    assert table.row_of_name("x.b-cdn.net") is not None
    assert points("a.test", [], addresses("104.16.0.1"), table).strong == ("address:104.16.0.1",)


def test_rows_add_up_the_last_given_first() -> None:
    table = KNOWN.with_rows(own_edges({"first": {"suffixes": ["a.example"]}, "cloudflare": None}))
    table = table.with_rows(own_edges({"second": {"suffixes": ["a.example"]}}))
    row = table.row_of_name("x.a.example")
    assert row is not None
    assert row.provider == "second"
    assert table.row_of_address("104.16.0.1") is None


def test_nothing_said_changes_nothing() -> None:
    assert own_edges([]) == own_edges({}) == OwnEdges()
    assert KNOWN.with_rows(own_edges([])) is KNOWN
    assert list(EdgeTable().entries()) == ENTRIES


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([5], r"5 is not"),
        (["203.0.113.1/24"], r"203\.0\.113\.1/24.*host bits"),
        (["203.0.113"], r"not a network"),
        (["0.0.0.0/0"], r"wider than a /8"),
        (["2000::/3"], r"wider than a /16"),
        (["com"], r"'com' would make an edge of everything below it"),
        (["co.uk"], r"'co\.uk' would make an edge of everything"),
        (["localhost"], r"'localhost' would make an edge of everything"),
        (["https://cdn.regio.example"], r"https"),
        (["cdn regio.example"], r"cdn regio"),
        ([""], r"'' is not the end of a host's name"),
        ({"Regio CDN": {"suffixes": ["a.example"]}}, r"'Regio CDN' is no name of a provider.*small letters"),
        ({"a/b": None}, r"no name of a provider"),
        ({5: None}, r"5 is no name of a provider"),
        ({"cloudfare": None}, r"'cloudfare' cannot be left out.*Did you mean 'cloudflare'\?"),
        ({"zzzzzzzz": None}, r"Known are akamai, "),
        ({"regio": ["a.example"]}, r"'regio' is \['a\.example'\], and not a dict"),
        ({"regio": {}}, r"neither networks nor suffixes"),
        ({"regio": {"suffixes": []}}, r"neither networks nor suffixes"),
        ({"regio": {"suffixes": "a.example"}}, r"suffixes of 'regio' is 'a\.example', and not a list"),
        ({"regio": {"suffix": ["a.example"]}}, r"'regio' has suffix: accepted are networks, suffixes, unit, label"),
        ({"regio": {"suffixes": ["a.example"], "unit": "mine"}}, r"unit 'mine': accepted are customer, shared, tenant"),
        ({"regio": {"suffixes": ["a.example"], "label": " "}}, r"label"),
        ({"regio": {"networks": ["a.example"]}}, r"'a\.example' is not a network"),
        ({"regio": {"networks": [134744072]}}, r"134744072 is not a network"),
    ],
)
def test_a_wrong_row_is_an_error_that_says_what_is_wrong(value: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        own_edges(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [["203.0.113.0/24", "cdn.regio.example"], "203.0.113.0/24, cdn.regio.example", '["203.0.113.0/24", "cdn.regio.example"]'],
)
def test_the_setting_is_read_in_every_form(given: object) -> None:
    table = Config.from_settings(BaseSettings({"POLITE_EDGES": given})).edges
    assert table.row_of_address("203.0.113.7") is not None
    assert table.row_of_name("x.cdn.regio.example") is not None


def test_a_wrong_setting_names_itself_the_value_and_the_form() -> None:
    with pytest.raises(
        ValueError, match=r"POLITE_EDGES = \{'cloudfare': None\}: accepted is a list of .* Did you mean 'cloudflare'\?"
    ):
        Config.from_settings(BaseSettings({"POLITE_EDGES": {"cloudfare": None}}))


def test_a_platform_of_the_operators_is_one_tenant_each() -> None:
    table = KNOWN.with_rows(own_edges({"shopsy": {"suffixes": ["*.shopsy.example"], "unit": "tenant"}}))
    row = table.row_of_name("shops.shopsy.example")
    assert row is not None
    assert (row.unit, row.kind) == ("tenant", "platform")
