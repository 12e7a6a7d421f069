"""Where a host is placed by what DNS says about it alone: before its first request."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

from hypothesis import given, settings
from hypothesis import strategies as st
from placed_alone import place, points

from scrapy_polite.origins.anchors import MOST_ADDRESSES
from scrapy_polite.origins.sentences import sentences


def addresses(*texts: str) -> list[IPv4Address | IPv6Address]:
    return [ip_address(text) for text in texts]


def test_a_tenant_by_cname_is_placed_before_its_first_request() -> None:
    chain, found = ["sites.platform.test"], addresses("127.20.0.2", "127.20.0.1")
    placed = place("www.a.test", chain, found)
    assert placed.origin == "origin:sites.platform.test"
    assert points("www.a.test", chain, found).strong[0] == "cname:sites.platform.test"
    assert placed.edge is None
    assert placed.confidence >= 0.97


def test_a_tenant_by_address_shares_anchors_with_tenants_by_cname() -> None:
    by_name = points("www.a.test", ["sites.platform.test"], addresses("127.20.0.2", "127.20.0.1"))
    apex = points("c.test", [], addresses("127.20.0.1", "127.20.0.2"))
    assert set(apex.strong) == {"address:127.20.0.1", "address:127.20.0.2"} < set(by_name.strong)


def test_behind_an_edge_addresses_are_nobodys() -> None:
    placed = place("www.harbour-lets.example", ["harbour-lets.b-cdn.net"], addresses("127.20.3.1"))
    assert placed.edge is not None
    assert placed.edge.provider == "bunny"
    assert not any("127.20.3.1" in reason.value for reason in placed.because)


def test_a_platforms_own_name_places_through_an_edge() -> None:
    placed = place("shop.a.test", ["service.saas.test", "x.cdn.cloudflare.net"], addresses("104.16.0.1"))
    assert placed.edge is not None
    assert placed.edge.provider == "cloudflare"
    assert placed.origin == "origin:service.saas.test"


def test_unrelated_sites_on_one_edge_address_stay_apart() -> None:
    placed = [place(f"www.a{number}.test", [], addresses("104.16.1.1")) for number in range(10)]
    assert {one.origin for one in placed} == {f"origin:a{number}.test" for number in range(10)}
    assert not any(one.located for one in placed)


def test_www_and_img_of_one_domain_behind_an_edge_share_an_origin() -> None:
    names = {place(host, [], addresses("104.16.1.1")).origin for host in ("www.a.co.uk", "img.a.co.uk", "a.co.uk")}
    assert names == {"origin:a.co.uk"}


def test_shops_of_one_platform_stay_apart() -> None:
    placed = [place(f"www.{shop}.test", ["shops.myshopify.com"], addresses("23.227.38.74")) for shop in "ab"]
    assert [one.origin for one in placed] == ["origin:a.test", "origin:b.test"]


def test_a_name_at_the_edge_itself() -> None:
    placed = place("d111111abcdef8.cloudfront.net", [], addresses("203.0.113.7"))
    assert placed.edge is not None
    assert placed.edge.provider == "cloudfront"


def test_names_that_an_edge_gives_to_its_customers_share_nothing() -> None:
    placed = [place(f"zone{number}.b-cdn.net", [], addresses("203.0.113.9")) for number in range(2)]
    assert [one.origin for one in placed] == ["origin:zone0.b-cdn.net", "origin:zone1.b-cdn.net"]


def test_an_address_literal_is_its_own_origin() -> None:
    assert place("203.0.113.7", [], addresses("203.0.113.7")).origin == "origin:203.0.113.7"
    assert place("2001:db8::1", [], addresses("2001:db8::1")).origin == "origin:2001:db8::1"


def test_a_host_with_hundreds_of_addresses_is_bounded() -> None:
    found = points("a.test", [], [IPv4Address(f"198.51.{n // 250}.{n % 250}") for n in range(300)])
    assert len(found.strong) == MOST_ADDRESSES


HOSTS = st.sampled_from(["www.a.test", "a.b-cdn.net", "sites.platform.test", "x.edgekey.net", "a.co.uk", "localhost"])


@given(
    HOSTS,
    st.lists(HOSTS, max_size=4),
    st.lists(st.one_of(st.ip_addresses(), st.just(IPv4Address("104.16.0.1"))), min_size=1, max_size=6),
)
@settings(deadline=None)
def test_placing_depends_on_no_order_of_addresses(host: str, chain: list[str], found: list[IPv4Address | IPv6Address]) -> None:
    placed = place(host, chain, found)
    again = place(host, chain, [*found[1:], *found[:1], *found])
    assert again == placed
    assert placed.origin.startswith("origin:")
    assert 0 < placed.confidence <= 1
    assert sentences(placed)
