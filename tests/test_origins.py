from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.origins import place
from scrapy_polite.origins.placing import MOST_ADDRESSES


def addresses(*texts: str) -> list[IPv4Address | IPv6Address]:
    return [ip_address(text) for text in texts]


def test_tenants_by_cname_share_an_origin_before_the_first_request() -> None:
    first = place("www.a.test", ["sites.platform.test"], addresses("127.20.0.2", "127.20.0.1"))
    second = place("www.b.test", ["sites.platform.test"], addresses("127.20.0.1", "127.20.0.2"))
    assert first.name == second.name == "origin:sites.platform.test"
    assert first.anchors == ("cname:sites.platform.test", "address:127.20.0.1", "address:127.20.0.2")
    assert first.anchors == second.anchors
    assert first.edge is None
    assert first.evidence == (
        "www.a.test is a CNAME for sites.platform.test",
        "www.a.test has the addresses 127.20.0.1, 127.20.0.2",
    )
    assert first.confidence >= 0.99


def test_tenants_by_address_share_anchors_with_tenants_by_cname() -> None:
    apex = place("c.test", [], addresses("127.20.0.2", "127.20.0.1"))
    assert apex.name == "origin:127.20.0.1"
    assert apex.anchors == ("address:127.20.0.1", "address:127.20.0.2")
    assert apex.confidence == 0.93


def test_the_last_name_of_a_chain_places() -> None:
    assert place("a.test", ["a.saas.test", "pod7.saas.test"], addresses("127.20.0.1")).name == "origin:pod7.saas.test"


def test_behind_an_edge_addresses_are_nobodys() -> None:
    found = place("www.harbour-lets.example", ["harbour-lets.b-cdn.net"], addresses("127.20.3.1"))
    assert found.edge == "edge:bunny/www.harbour-lets.example"
    assert found.anchors == ()
    assert found.name == "origin:harbour-lets.example"
    assert found.evidence == (
        "www.harbour-lets.example is a CNAME for harbour-lets.b-cdn.net, which belongs to bunny.net",
        "nothing tells the servers of www.harbour-lets.example: taken as those of harbour-lets.example",
    )
    assert found.confidence == 0.5


def test_a_platforms_own_name_places_through_an_edge() -> None:
    found = place("shop.a.test", ["service.saas.test", "x.cdn.cloudflare.net"], addresses("104.16.0.1"))
    assert found.edge == "edge:cloudflare/shop.a.test"
    assert found.anchors == ("cname:service.saas.test",)
    assert found.name == "origin:service.saas.test"
    assert found.confidence == 0.97


def test_unrelated_sites_on_one_edge_address_stay_apart() -> None:
    placed = [place(f"www.a{number}.test", [], addresses("104.16.1.1")) for number in range(10)]
    assert len({one.name for one in placed}) == 10
    assert not any(one.anchors for one in placed)
    assert {one.edge for one in placed} == {f"edge:cloudflare/www.a{number}.test" for number in range(10)}


def test_www_and_img_of_one_domain_behind_an_edge_share_an_origin() -> None:
    names = {place(host, [], addresses("104.16.1.1")).name for host in ("www.a.co.uk", "img.a.co.uk", "a.co.uk")}
    assert names == {"origin:a.co.uk"}


def test_shops_of_one_platform_stay_apart() -> None:
    placed = [place(f"www.{shop}.test", ["shops.myshopify.com"], addresses("23.227.38.74")) for shop in "ab"]
    assert [one.name for one in placed] == ["origin:a.test", "origin:b.test"]
    assert [one.anchors for one in placed] == [(), ()]


def test_a_name_at_the_edge_itself() -> None:
    found = place("d111111abcdef8.cloudfront.net", [], addresses("203.0.113.7"))
    assert found.edge == "edge:cloudfront/d111111abcdef8.cloudfront.net"
    assert found.evidence[0] == "d111111abcdef8.cloudfront.net is a name of Amazon CloudFront"


def test_an_address_literal_is_its_own_origin() -> None:
    found = place("203.0.113.7", [], addresses("203.0.113.7"))
    assert found.name == "origin:203.0.113.7"
    assert found.anchors == ("address:203.0.113.7",)
    assert found.evidence == ("203.0.113.7 is an address",)
    assert place("2001:db8::1", [], addresses("2001:db8::1")).name == "origin:2001:db8::1"


def test_a_host_with_hundreds_of_addresses_is_bounded() -> None:
    found = place("a.test", [], [IPv4Address(f"198.51.{n // 250}.{n % 250}") for n in range(300)])
    assert len(found.anchors) == MOST_ADDRESSES
    assert found.evidence == ("a.test has the addresses 198.51.0.0, 198.51.0.1, 198.51.0.2, 198.51.0.3 and 296 more",)


HOSTS = st.sampled_from(["www.a.test", "a.b-cdn.net", "sites.platform.test", "x.edgekey.net", "a.co.uk", "localhost"])


@given(
    HOSTS,
    st.lists(HOSTS, max_size=4),
    st.lists(st.one_of(st.ip_addresses(), st.just(IPv4Address("104.16.0.1"))), max_size=6),
    st.randoms(),
)
@settings(deadline=None)
def test_placing_depends_on_no_order_of_addresses(
    host: str, chain: list[str], found: list[IPv4Address | IPv6Address], random: object
) -> None:
    placed = place(host, chain, found)
    again = place(host, chain, [*found[1:], *found[:1], *found])
    assert (again.edge, again.anchors, again.name) == (placed.edge, placed.anchors, placed.name)
    assert placed.name.startswith("origin:")
    assert 0 < placed.confidence <= 1
    assert placed.evidence
    if placed.edge:
        assert not any(anchor.startswith("address:") for anchor in placed.anchors)
