from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.guard.embedded import embedded_ipv4, is_isatap
from scrapy_polite.guard.ranges import IPV4_ROWS, IPV6_ROWS, Row, RowIndex, Spans, builtin_row

ROWS = IPV4_ROWS + IPV6_ROWS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.network))
def test_every_row_has_a_reason_a_name_and_a_source(row: Row) -> None:
    assert row.reason.replace("_", "").isalpha()
    assert row.reason == row.reason.lower()
    assert row.name
    assert row.source


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.network))
def test_first_and_last_address_of_every_row_are_refused(row: Row) -> None:
    for address in (row.network.network_address, row.network.broadcast_address):
        found = builtin_row(address)
        assert found is not None
        assert found.network.subnet_of(row.network)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "address",
    [
        "1.0.0.0 1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0",
        "168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0",
        "192.0.3.0 192.31.195.255 192.31.197.0 192.52.192.255 192.52.194.0 192.88.98.255 192.88.100.0 192.167.255.255",
        "192.169.0.0 192.175.47.255 192.175.49.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255",
        "203.0.114.0 223.255.255.255 104.16.1.1 151.101.1.140 185.199.108.153 76.76.21.21",
        "2000:: 2000::1 2001:200:: 2001:4860:4860::8888 2001:db7:ffff:ffff:ffff:ffff:ffff:ffff 2001:db9:: 2003::",
        "2600:: 2606:4700::6810:1 2620:4f:7fff:ffff:: 2620:4f:8001:: 2a00:1450:4001::1 3ffe:: 3fff:1000::",
        "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    ],
)
def test_neighbours_of_the_rows_and_real_servers_are_not_refused(address: str) -> None:
    for one in address.split():
        assert builtin_row(ip_address(one)) is None, one


@pytest.mark.parametrize(
    ("address", "reason", "network"),
    [
        ("0.0.0.0", "unspecified", "0.0.0.0/8"),
        ("127.255.255.255", "loopback", "127.0.0.0/8"),
        ("255.255.255.255", "reserved", "240.0.0.0/4"),
        ("::", "unspecified", "::/128"),
        ("::1", "loopback", "::1/128"),
        ("::2", "embedded", "::/96"),
        ("::1:0:0:0", "unallocated", "::/3"),
        ("64:ff9b::1", "embedded", "64:ff9b::/96"),
        ("64:ff9b:2::1", "unallocated", "::/3"),
        ("2001::1", "embedded", "2001::/32"),
        ("2001:1::1", "protocol", "2001:1::1/128"),
        ("2001:1::4", "protocol", "2001::/23"),
        ("2001:2:1::", "protocol", "2001::/23"),
        ("4000::1", "unallocated", "4000::/2"),
        ("5f00::1", "protocol", "5f00::/16"),
        ("5f01::1", "unallocated", "4000::/2"),
        ("fbff::1", "unallocated", "8000::/1"),
        ("fd00::1", "private", "fc00::/7"),
        ("fe7f::1", "unallocated", "8000::/1"),
        ("ff02::1", "multicast", "ff00::/8"),
    ],
)
def test_the_narrowest_row_speaks(address: str, reason: str, network: str) -> None:
    row = builtin_row(ip_address(address))
    assert row is not None
    assert (row.reason, str(row.network)) == (reason, network)


@given(st.ip_addresses(v=6))
@settings(deadline=None)
def test_no_ipv6_address_outside_global_unicast_passes(address: IPv6Address) -> None:
    if address not in IPv6Network("2000::/3"):
        assert builtin_row(address) is not None


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6), st.sampled_from(ROWS).map(lambda r: r.network[0])))
@settings(deadline=None, max_examples=300)
def test_the_index_agrees_with_looking_at_every_row(address: IPv4Address | IPv6Address) -> None:
    around = [row for row in ROWS if row.network.version == address.version and address in row.network]
    assert builtin_row(address) == max(around, key=lambda row: row.network.prefixlen, default=None)


NETWORKS = st.builds(
    lambda number, length: IPv4Network((number & ~((1 << (32 - length)) - 1), length)),
    st.integers(0, 2**32 - 1),
    st.integers(0, 32),
)


@given(st.lists(NETWORKS, max_size=12), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=300)
def test_spans_and_index_of_any_networks_agree_with_ipaddress(networks: list[IPv4Network], number: int) -> None:
    rows = [Row(net, "x", str(net), "test") for net in dict.fromkeys(networks)]
    for probe in {number, *(int(n[0]) for n in networks), *(min(int(n[-1]) + 1, 2**32 - 1) for n in networks)}:
        around = [row for row in rows if IPv4Address(probe) in row.network]
        assert (probe in Spans(networks)) == bool(around)
        assert RowIndex(rows).find(probe) == max(around, key=lambda row: row.network.prefixlen, default=None)


@pytest.mark.parametrize(
    ("address", "carried"),
    [
        ("::ffff:10.0.0.1", ["10.0.0.1"]),
        ("::10.0.0.1", ["10.0.0.1"]),
        ("::2", ["0.0.0.2"]),
        ("::ffff:0:10.0.0.1", ["10.0.0.1"]),
        ("64:ff9b::a00:1", ["10.0.0.1"]),
        ("64:ff9b:1:a00:0:100::", ["10.0.0.1", "0.0.1.0", "0.1.0.0", "0.0.0.0"]),
        ("64:ff9b:1::a00:1", ["0.0.0.0", "0.0.0.0", "0.0.0.10", "10.0.0.1"]),
        ("2002:a00:1::1", ["10.0.0.1"]),
        ("2002:808:808::5efe:a00:1", ["8.8.8.8", "10.0.0.1"]),
        ("2001:0:a00:1::f5ff:fffe", ["10.0.0.1", "10.0.0.1"]),
        ("2001:0:808:808::5601:5601", ["8.8.8.8", "169.254.169.254"]),
        ("fe80::5efe:a00:1", ["10.0.0.1"]),
        ("2a00:1450::200:5efe:a00:1", ["10.0.0.1"]),
        ("::", []),
        ("::1", []),
        ("2606:4700::a00:1", []),
        ("2a00:1450::5eff:a00:1", []),
        ("2a00:1450::300:5efe:a00:1", []),
    ],
)
def test_unwrapping_every_form(address: str, carried: list[str]) -> None:
    assert [str(one) for one in embedded_ipv4(IPv6Address(address))] == carried


@given(st.ip_addresses(v=4), st.integers(0, 255))
@settings(deadline=None)
def test_local_use_nat64_is_read_at_every_length_whatever_the_u_octet(inner: IPv4Address, u: int) -> None:
    # RFC 6052 section 2.2: prefix, then the address around octet 8.
    for before in (2, 1, 0):
        middle = bytes(2 - before) + inner.packed[:before] + bytes([u]) + inner.packed[before:]
        packed = (bytes.fromhex("0064ff9b0001") + middle).ljust(16, b"\0")
        assert inner in embedded_ipv4(IPv6Address(packed))


@given(st.integers(0, 2**64 - 1), st.ip_addresses(v=4), st.sampled_from([0x00005EFE, 0x02005EFE]))
@settings(deadline=None)
def test_isatap_is_seen_under_any_prefix(prefix: int, inner: IPv4Address, half: int) -> None:
    assert is_isatap(prefix << 64 | half << 32 | int(inner))
    assert not is_isatap(prefix << 64 | (half ^ 1) << 32 | int(inner))
