"""Where each range begins and ends, and that no form of an address is a way round its refusal."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.guard import Policy
from scrapy_polite.guard.metadata import METADATA_ADDRESSES
from scrapy_polite.naming import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_polite.guard.ranges import Network

IPV4 = """0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"""
IPV6 = """::/128 ::1/128 ::/96 ::ffff:0:0/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23
2001::/32 2001:1::1/128 2001:1::2/128 2001:1::3/128 2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28
2001:30::/28 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8"""
# Written down a second time, from the registries: a slip in the table is not repeated in its test.
REFUSED = [ip_network(text) for text in (IPV4 + " " + IPV6).split()]
GLOBAL_UNICAST = IPv6Network("2000::/3")
PLAIN = Policy()
OPEN_OUTSIDE = Policy(allow=(IPv6Network("::/0"),))


def expected(address: IPv4Address | IPv6Address) -> bool:
    """Whether it is to be refused, by looking at every network."""
    if any(address in network for network in REFUSED if network.version == address.version):
        return True
    return address.version == 6 and address not in GLOBAL_UNICAST


def edges(network: Network) -> Iterator[tuple[str, IPv4Address | IPv6Address]]:
    kind = IPv4Address if network.version == 4 else IPv6Address
    first, last = int(network.network_address), int(network.broadcast_address)
    if first:
        yield "before", kind(first - 1)
    yield "first", kind(first)
    yield "last", kind(last)
    if last < 2**network.max_prefixlen - 1:
        yield "behind", kind(last + 1)


EDGES = [(network, place, address) for network in [*REFUSED, GLOBAL_UNICAST] for place, address in edges(network)]


@pytest.mark.parametrize(("network", "place", "address"), EDGES, ids=[f"{net} {place}" for net, place, _ in EDGES])
def test_a_range_begins_and_ends_where_it_should(network: Network, place: str, address: IPv4Address | IPv6Address) -> None:
    refused = PLAIN.judge_address(address)
    assert (refused is not None) == expected(address)
    if network != GLOBAL_UNICAST and place in ("first", "last"):
        assert refused is not None


def test_ranges_with_public_neighbours_are_exact() -> None:
    """Both neighbours of most rows are public: a row that is one bit too wide or too narrow is seen."""
    public = [address for _, place, address in EDGES if place in ("before", "behind") and not expected(address)]
    assert len(public) >= 40
    assert [address for address in public if PLAIN.judge_address(address) is not None] == []


# -- every form in which an IPv4 address may lie inside an IPv6 one

ANY64 = st.integers(0, 2**64 - 1)


@st.composite
def carrying(draw: st.DrawFn, inner: IPv4Address) -> IPv6Address:
    """An IPv6 address that some host, router or translator would take for `inner`."""
    number, form = int(inner), draw(st.sampled_from(FORMS))
    if form in (0xFFFF, 0xFFFF << 16, 0x64FF9B << 64):  # mapped, translated, NAT64
        return IPv6Address(form << 32 | number)
    if form == "compatible":
        return IPv6Address(max(number, 2))
    if form == "6to4":
        return IPv6Address(0x2002 << 112 | number << 80 | draw(st.integers(0, 2**80 - 1)))
    if form == "teredo server":
        return IPv6Address(0x20010000 << 96 | number << 64 | draw(ANY64))
    if form == "teredo client":
        return IPv6Address(0x20010000 << 96 | draw(st.integers(0, 2**64 - 1)) << 32 | number ^ 0xFFFFFFFF)
    if form == "isatap":
        return IPv6Address(draw(ANY64) << 64 | draw(st.sampled_from([0x5EFE, 0x200_5EFE])) << 32 | number)
    # NAT64 for local use: the prefix is 48, 56, 64 or 96 long, octet 8 stands in between and may be anything.
    octets = bytearray(draw(st.binary(min_size=16, max_size=16)))
    octets[:6] = bytes.fromhex("0064ff9b0001")
    for place, octet in zip(form, inner.packed, strict=True):
        octets[place] = octet
    return IPv6Address(bytes(octets))


FORMS: list[object] = [0xFFFF, 0xFFFF << 16, 0x64FF9B << 64]
FORMS += ["compatible", "6to4", "teredo server", "teredo client", "isatap"]
FORMS += [(6, 7, 9, 10), (7, 9, 10, 11), (9, 10, 11, 12), (12, 13, 14, 15)]


@st.composite
def refused_ipv4(draw: st.DrawFn) -> IPv4Address:
    network = draw(st.sampled_from([network for network in REFUSED if network.version == 4]))
    return IPv4Address(draw(st.integers(int(network[0]), int(network[-1]))))


@given(st.data())
@settings(deadline=None, max_examples=800)
def test_an_address_that_is_refused_is_refused_in_every_embedded_form(data: st.DataObject) -> None:
    inner = data.draw(refused_ipv4())
    outer = data.draw(carrying(inner))
    assert PLAIN.judge_address(inner) is not None
    assert PLAIN.judge_address(outer) is not None
    # Not only because the form is refused as such: also where an operator has opened all of IPv6.
    if int(inner) > 2:
        assert OPEN_OUTSIDE.judge_address(outer) is not None


@given(st.data(), st.ip_addresses(v=4))
@settings(deadline=None, max_examples=400)
def test_no_embedded_form_at_all_is_dialled(data: st.DataObject, inner: IPv4Address) -> None:
    assert PLAIN.judge_address(data.draw(carrying(inner))) is not None


@pytest.mark.parametrize("inner", [a for a in METADATA_ADDRESSES if a.version == 4], ids=str)
@given(data=st.data())
@settings(deadline=None, max_examples=20)
def test_a_metadata_service_is_named_in_every_embedded_form(inner: IPv4Address, data: st.DataObject) -> None:
    outer = data.draw(carrying(inner))
    for policy in (PLAIN, OPEN_OUTSIDE):
        refused = policy.judge_address(outer)
        assert refused is not None
        assert refused.reason == "metadata"


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_what_is_refused_as_an_address_is_refused_as_a_url(data: st.DataObject) -> None:
    inner = data.draw(refused_ipv4())
    number, octets = int(inner), inner.packed
    spellings = [
        str(inner),
        f"{inner}.",
        str(number),
        hex(number),
        f"0{number:o}",
        ".".join(f"{octet:#x}" for octet in octets),
        ".".join(f"0{octet:o}" for octet in octets),
        f"{octets[0]}.{number & 0xFFFFFF}",
        f"{octets[0]}.{octets[1]}.{number & 0xFFFF}",
        str(inner).translate({ord(digit): 0xFF10 + int(digit) for digit in "0123456789"}),
        "".join(f"%{ord(character):02x}" for character in str(inner)),
        f"[{data.draw(carrying(inner))}]",
        f"[{data.draw(carrying(inner)).exploded.upper()}]",
    ]
    for spelling, start in product(spellings, ("http://", "https:\\\\")):
        assert PLAIN.judge_target(parse(f"{start}{spelling}/")) is not None, spelling


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
@settings(deadline=None, max_examples=400)
def test_any_address_is_judged_as_the_registries_say(address: IPv4Address | IPv6Address) -> None:
    isatap = address.version == 6 and address.packed[8:12] in (bytes.fromhex("00005efe"), bytes.fromhex("02005efe"))
    assert (PLAIN.judge_address(address) is not None) == (expected(address) or isatap)


def test_a_dns64_network_may_be_opened_for_public_addresses_and_the_local_use_one_for_none() -> None:
    dns64 = Policy(allow=(IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48")))
    assert dns64.judge_address(ip_address("64:ff9b::808:808")) is None
    # Whatever length the network uses, some other reading of it is a refused address.
    assert dns64.judge_address(ip_address("64:ff9b:1:808:8:800::")) is not None
    assert dns64.judge_address(ip_address("64:ff9b:1::808:808")) is not None
