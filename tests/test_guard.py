from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.guard import Policy, Refused
from scrapy_polite.guard.metadata import METADATA_ADDRESSES, METADATA_NAMES
from scrapy_polite.guard.names import SPECIAL_SUFFIXES
from scrapy_polite.guard.ranges import IPV4_ROWS, IPV6_ROWS
from scrapy_polite.naming import parse

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

EVERYTHING = (IPv4Network("0.0.0.0/0"), IPv6Network("::/0"))
PLAIN = Policy()


def verdict(url: str, policy: Policy = PLAIN) -> str | None:
    refused = policy.judge_target(parse(url))
    return refused.reason if refused else None


def judged(address: str, policy: Policy = PLAIN) -> str | None:
    refused = policy.judge_address(ip_address(address))
    return refused.reason if refused else None


def allowing(*networks: str) -> Policy:
    return Policy(allow=tuple(ip_network(network) for network in networks))


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://a.example/", None),
        ("https://a.test:8443/x", None),
        ("http://8.8.8.8/", None),
        ("https://[2606:4700::1111]/", None),
        ("ftp://a.example/", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("data:,x", "scheme"),
        ("s3://bucket/key", "scheme"),
        ("http://a.example:22/", "port"),
        ("http://a.example:0/", "port"),
        ("http://u:p@a.example/", "userinfo"),
        ("http://:p@a.example/", "userinfo"),
        ("http://a.example../", "trailing_dots"),
        ("http://a!b.example/", "bad_host"),
        ("http://[fe80::1%25eth0]/", "bad_url"),
        ("nonsense", "bad_url"),
        ("http:///etc", "special_name"),
        ("http://intranet/", "special_name"),
        ("http://printer.local/", "special_name"),
        ("http://printer.LOCAL./", "special_name"),
        ("http://x.onion/", "special_name"),
        ("http://nas.home.arpa/", "special_name"),
        ("http://api.svc.cluster.local/", "special_name"),
        ("http://kubernetes.default.svc/", "special_name"),
        ("http://host.docker.internal/", "special_name"),
        ("http://internal.example/", None),
        ("http://mylocal/", "special_name"),
        ("http://notlocal.example/", None),
        ("http://metadata/", "metadata"),
        ("http://METADATA.google.internal./computeMetadata/v1/", "metadata"),
        ("http://x.metadata.goog/", "metadata"),
        ("http://metadata.example/", None),
    ],
)
def test_targets_are_judged_before_dns(url: str, reason: str | None) -> None:
    assert verdict(url) == reason


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://017700000001/",
        "http://127.1/",
        "http://0x7f.1/",
        "http://[::1]/",
        "http://[0:0:0:0:0:0:0:1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://localho\u017ft/",
        "http://a.b.localhost/",
        "http://127.0.0.1./",
        "http://a.example@127.0.0.1/",
        "http://１２７.0.0.1/",
        "http://①②⑦.0.0.1/",
        "http://%31%32%37.0.0.1/",
        "http://127.0.0.1\\@a.example/",
        "http:127.0.0.1/",
        "http://127.0.0.1\u200b/",
    ],
)
def test_no_spelling_reaches_the_machine_itself(url: str) -> None:
    assert verdict(url) == "loopback"


def test_zero_is_the_machine_itself_too() -> None:
    assert verdict("http://0/") == "unspecified"
    assert verdict("http://0x0/") == "unspecified"
    assert verdict("http://[::]/") == "unspecified"


def test_the_most_telling_rule_is_named() -> None:
    assert verdict("http://u:p@169.254.169.254:99/") == "metadata"
    refused = PLAIN.judge_target(parse("http://10.0.0.1/"))
    assert refused == Refused("private", "10.0.0.1 is in 10.0.0.0/8: private use (RFC 1918).")
    port = PLAIN.judge_target(parse("http://a.example:22/"))
    assert port is not None
    assert "POLITE_ALLOW_PORTS (80, 443, 8080, 8443)" in port.detail


def test_the_operators_ports_replace_the_defaults() -> None:
    policy = Policy(ports=frozenset({9000}))
    assert verdict("http://a.example:9000/", policy) is None
    assert verdict("http://a.example/", policy) == "port"


@pytest.mark.parametrize("address", METADATA_ADDRESSES, ids=str)
def test_metadata_is_refused_whatever_is_allowed(address: IPv4Address | IPv6Address) -> None:
    policy = Policy(allow=EVERYTHING)
    assert judged(str(address), policy) == "metadata"
    if address.version == 4:
        for form in ("::ffff:{}", "::{}", "::ffff:0:{}", "64:ff9b::{}", "64:ff9b:1::{}", "2a00::5efe:{}"):
            assert judged(form.format(address), policy) == "metadata", form
            assert judged(form.format(address)) == "metadata", form


@pytest.mark.parametrize("name", METADATA_NAMES)
def test_metadata_names_are_refused_whatever_is_allowed(name: str) -> None:
    assert verdict(f"http://{name}/", Policy(allow=EVERYTHING)) == "metadata"
    assert verdict(f"http://x.{name}/", Policy(allow=EVERYTHING)) == "metadata"


@pytest.mark.parametrize("suffix", SPECIAL_SUFFIXES)
def test_special_names_say_why(suffix: str) -> None:
    refused = PLAIN.judge_target(parse(f"http://a.{suffix}/"))
    assert refused is not None
    assert refused.reason == "special_name"
    assert SPECIAL_SUFFIXES[suffix] in refused.detail


@pytest.mark.parametrize(
    "address",
    [
        "0.1.2.3 10.0.0.1 100.64.0.1 127.1.2.3 169.254.1.1 172.31.255.255 192.0.0.8 192.0.0.9 192.0.0.170 192.0.2.1",
        "192.31.196.1 192.52.193.1 192.88.99.2 192.168.1.1 192.175.48.1 198.18.0.1 198.51.100.1 203.0.113.1",
        "224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255",
        ":: ::1 ::2 ::8.8.8.8 ::ffff:8.8.8.8 ::ffff:0:8.8.8.8 64:ff9b::808:808 64:ff9b:1:808:8:800:: 64:ff9b:1:ffff::1",
        "100::1 100:0:0:1::1 2001::1 2001:1::1 2001:1::2 2001:1::3 2001:2::1 2001:3::1 2001:4:112::1 2001:10::1",
        "2001:20::1 2001:30::1 2001:db8::1 2002:808:808::1 2620:4f:8000::1 3fff::1 5f00::1 fc00::1 fd12::1 fe80::1",
        "fec0::1 ff02::1 4000::1 2a00:1450::5efe:808:808 2a00:1450::200:5efe:808:808 200::1 e000::1 1fff:ffff::1",
    ],
)
def test_nothing_but_public_addresses_is_dialled(address: str) -> None:
    for one in address.split():
        assert judged(one) is not None, one


def test_zone_ids_are_refused() -> None:
    assert judged("2a00:1450::1%eth0") == "zone_id"
    assert judged("fe80::a9fe:a9fe%eth0") == "metadata"


def test_order_of_precedence() -> None:
    both = Policy(allow=(IPv4Network("10.0.0.0/8"),), deny=(IPv4Network("10.1.0.0/16"), IPv4Network("8.8.8.0/24")))
    assert judged("10.0.0.1", both) is None  # allow beats the table
    assert judged("10.1.0.1", both) == "operator_deny"  # deny beats allow
    assert judged("8.8.8.8", both) == "operator_deny"
    assert judged("8.8.4.4", both) is None
    assert judged("192.168.0.1", both) == "private"


def test_an_allowed_ipv4_network_does_not_open_its_disguises() -> None:
    policy = allowing("10.0.0.0/8")
    for disguise in ("64:ff9b::a00:1", "::ffff:a00:1", "::a00:1", "2002:a00:1::1", "fe80::5efe:a00:1"):
        assert judged(disguise, policy) is not None, disguise


def test_a_network_with_dns64_may_be_allowed_for_public_addresses() -> None:
    policy = allowing("64:ff9b::/96")
    assert judged("64:ff9b::808:808", policy) is None
    assert judged("64:ff9b::a00:1", policy) == "private"
    assert judged("64:ff9b::7f00:1", policy) == "loopback"
    denying = Policy(allow=policy.allow, deny=(IPv4Network("8.8.8.0/24"),))
    assert judged("64:ff9b::808:808", denying) == "operator_deny"


def test_localhost_is_a_question_about_addresses() -> None:
    policy = allowing("127.0.0.0/8")
    assert verdict("http://localhost:8080/", policy) is None
    assert verdict("http://x.localhost/", policy) is None
    assert verdict("http://intranet/", policy) == "special_name"
    assert verdict("http://localhost/", allowing("127.20.0.0/16")) == "loopback"


@pytest.mark.parametrize(
    ("addresses", "chain", "reason"),
    [
        (["8.8.8.8", "2606:4700::1"], ["www.cdn.example"], None),
        (["8.8.8.8", "127.0.0.1"], [], "loopback"),
        (["10.0.0.5", "8.8.8.8"], [], "private"),
        (["8.8.8.8", "::ffff:8.8.4.4"], [], "embedded"),
        (["169.254.169.254"], [], "metadata"),
        (["8.8.8.8"], ["metadata.google.internal"], "metadata"),
        (["8.8.8.8"], ["a.example", "printer.local"], "special_name"),
        (["8.8.8.8"], ["localhost"], "loopback"),
        (["8.8.8.8"], ["a b.example"], "bad_host"),
        (["8.8.8.8"], ["127.1"], "bad_host"),
        (["8.8.8.8"], ["127.0.0.1"], "bad_host"),
        (["8.8.8.8"], ["A.example"], "bad_host"),
        ([], [], "no_addresses"),
    ],
)
def test_one_bad_address_or_name_refuses_the_answer(addresses: list[str], chain: list[str], reason: str | None) -> None:
    refused = PLAIN.judge_answer([ip_address(address) for address in addresses], chain)
    assert (refused.reason if refused else None) == reason


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
@settings(deadline=None, max_examples=300)
def test_the_judgement_agrees_with_the_tables(address: IPv4Address | IPv6Address) -> None:
    in_table = any(address in row.network for row in IPV4_ROWS + IPV6_ROWS if row.network.version == address.version)
    isatap = address.version == 6 and address.packed[8:12] in (bytes.fromhex("00005efe"), bytes.fromhex("02005efe"))
    assert (PLAIN.judge_address(address) is not None) == (in_table or isatap)


def test_policies_are_values() -> None:
    assert allowing("10.0.0.0/8") == allowing("10.0.0.0/8")
    assert hash(allowing("10.0.0.0/8")) == hash(allowing("10.0.0.0/8"))
    assert allowing("10.0.0.0/8") != PLAIN
