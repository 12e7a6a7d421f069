"""Networks with a NAT64 prefix of their own: it is recognised, and what lies behind it is judged."""

from __future__ import annotations

import asyncio
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nameserver import name_server

from scrapy_polite.config import Config
from scrapy_polite.dns import Resolver
from scrapy_polite.dns.answers import CEILING, REFUSAL_FLOOR
from scrapy_polite.dns.resolver import NAT64_FLOOR
from scrapy_polite.guard import Policy, Refused
from scrapy_polite.guard.nat64 import IPV4_ONLY, behind, prefixes_in
from scrapy_polite.politeness import Politeness
from scrapy_polite.stores.base import open_store

# RFC 6052 section 2.4: 192.0.2.33 behind a prefix of each length.
EXAMPLES = [
    ("2001:db8::/32", "2001:db8:c000:221::"),
    ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
    ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"),
    ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
    ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"),
    ("2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"),
]


@pytest.mark.parametrize(("prefix", "address"), EXAMPLES)
def test_what_lies_behind_a_prefix_of_each_length(prefix: str, address: str) -> None:
    assert behind(ip_address(address), [IPv6Network(prefix)]) == [IPv4Address("192.0.2.33")]
    assert behind(ip_address("2a00:1450::1"), [IPv6Network(prefix)]) == []
    assert behind(ip_address("192.0.2.33"), [IPv6Network(prefix)]) == []


def made_up(prefix: IPv6Network, inner: IPv4Address) -> IPv6Address:
    """As a DNS64 resolver does it: RFC 6052 section 2.2, by octets."""
    octets = bytearray(prefix.network_address.packed)
    place = prefix.prefixlen // 8
    for octet in inner.packed:
        place += place == 8
        octets[place] = octet
        place += 1
    return IPv6Address(bytes(octets))


PREFIXES = st.builds(
    lambda number, length: IPv6Network((0x2600 << 112 | number, length), strict=False),
    st.integers(0, 2**112 - 1),
    st.sampled_from([32, 40, 48, 56, 64, 96]),
)


@given(PREFIXES, st.ip_addresses(v=4))
@settings(deadline=None)
def test_a_prefix_is_read_off_the_two_addresses_that_are_known(prefix: IPv6Network, inner: IPv4Address) -> None:
    if prefix.prefixlen == 96:
        prefix = IPv6Network((int(prefix[0]) & ~(0xFF << 56), 96))  # octet 8 is to be zero
    found = prefixes_in([made_up(prefix, IPv4Address(f"192.0.0.{last}")) for last in (170, 171)])
    assert prefix in found
    assert inner in behind(made_up(prefix, inner), found)


def test_addresses_of_any_other_kind_give_no_prefix() -> None:
    assert prefixes_in([ip_address("192.0.0.170"), ip_address("192.0.0.171"), ip_address("2606:4700::1")]) == ()


def test_an_address_that_leads_into_the_network_by_its_translator_is_refused() -> None:
    nat64 = (IPv6Network("2600:64::/96"),)
    for inner, reason in (("10.0.0.1", "private"), ("169.254.169.254", "metadata"), ("8.8.8.8", None)):
        address = IPv6Address(int(nat64[0][0]) | int(IPv4Address(inner)))
        assert Policy().judge_answer([address], ()) is None, "nobody has said that there is a translator"
        refused = Policy().judge_answer([address], (), nat64=nat64)
        assert (refused.reason if refused else None) == reason
    # Also where the prefix is a private one, which the operator has allowed.
    private = (IPv6Network("fd64::/96"),)
    assert Policy(allow=private).judge_answer([ip_address("fd64::a00:1")], (), nat64=private) is not None
    assert Policy(allow=private).judge_answer([ip_address("fd64::808:808")], (), nat64=private) is None


def test_the_prefix_is_asked_for_once_in_a_while_and_only_when_an_ipv6_address_is_to_be_dialled() -> None:
    async def run() -> None:
        async with name_server() as (says, server):
            says.add(IPV4_ONLY, (86400, "AAAA", "2600:64::192.0.0.170"), (86400, "AAAA", "2600:64::192.0.0.171"))
            says.add("four.test", (60, "A", "93.184.216.34"))
            says.add("six.test", (60, "AAAA", "2600:64::93.184.216.34"))
            says.add("inside.test", (60, "AAAA", "2600:64::10.0.0.1"))
            politeness = Politeness(Config.from_settings({}), open_store("memory:"), Resolver([server]), None, None)  # type: ignore[arg-type]
            assert not isinstance(await politeness.admit("http://four.test/"), Refused)
            assert IPV4_ONLY not in {name for name, _, _ in says.asked}
            assert not isinstance(await politeness.admit("http://six.test/"), Refused)
            for url in ("http://inside.test/", "http://[2600:64::a00:1]/"):
                refused = await politeness.admit(url)
                assert isinstance(refused, Refused)
                assert refused.reason == "private"
                assert "10.0.0.1" in refused.detail
            assert [name for name, _, _ in says.asked].count(IPV4_ONLY) == 2  # A and AAAA
            await politeness.close()

    asyncio.run(run())


def test_a_network_without_nat64_is_not_asked_again_for_minutes() -> None:
    async def run() -> None:
        async with name_server() as (says, server):
            now = [1000.0]
            resolver = Resolver([server], clock=lambda: now[0])
            for _ in range(3):
                assert await resolver.nat64_prefixes() == ()
                now[0] += NAT64_FLOOR / 3
            assert len(says.asked) == 2
            says.add(IPV4_ONLY, (60, "AAAA", "2600:64::192.0.0.170"))
            assert await resolver.nat64_prefixes() == (IPv6Network("2600:64::/96"),)

    asyncio.run(run())


def test_a_metadata_service_behind_nat64_is_refused_in_report_only_mode_whatever_else_is_wrong() -> None:
    """A prefix may be private itself, and an answer may have a private address besides."""

    async def run() -> None:
        async with name_server() as (says, server):
            says.add(IPV4_ONLY, (60, "AAAA", "fd00:64::192.0.0.170"), (60, "AAAA", "2600:64::192.0.0.170"))
            says.add("private-prefix.test", (60, "AAAA", "fd00:64::169.254.169.254"))
            says.add("mixed.test", (60, "A", "10.0.0.1"), (60, "AAAA", "2600:64::169.254.169.254"))
            says.add("inside.test", (60, "AAAA", "fd00:64::10.0.0.1"))
            config = Config.from_settings({"POLITE_GUARD": "report"})
            politeness = Politeness(config, open_store("memory:"), Resolver([server]), None, None)  # type: ignore[arg-type]
            for url in ("http://private-prefix.test/", "http://mixed.test/", "http://[fd00:64::a9fe:a9fe]/"):
                refused = await politeness.admit(url)
                assert isinstance(refused, Refused), url
                assert refused.reason == "metadata"
            assert not isinstance(await politeness.admit("http://inside.test/"), Refused)
            await politeness.close()

    asyncio.run(run())


@pytest.mark.parametrize("at_first", [True, False])
def test_a_name_server_that_fails_does_not_hide_the_prefix_of_the_network(at_first: bool) -> None:
    """Its IPv4 addresses come, and only the question for the IPv6 ones is lost."""

    async def run() -> None:
        async with name_server() as (says, server):
            says.add(IPV4_ONLY, (60, "A", "192.0.0.170"), (60, "AAAA", "2600:64::192.0.0.170"))
            now = [1000.0]
            resolver = Resolver([server], clock=lambda: now[0])
            prefix = (IPv6Network("2600:64::/96"),)
            if not at_first:
                assert await resolver.nat64_prefixes() == prefix
                now[0] += CEILING
            says.faults[IPV4_ONLY, "AAAA"] = "SERVFAIL"
            assert await resolver.nat64_prefixes() == (() if at_first else prefix)
            del says.faults[IPV4_ONLY, "AAAA"]
            now[0] += REFUSAL_FLOOR
            assert await resolver.nat64_prefixes() == prefix

    asyncio.run(run())
