"""Bugs that other guards had, and their like, each with the input that went through. The number is that of a published report
where there is one."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest

from scrapy_polite.guard import Policy
from scrapy_polite.naming import parse

PLAIN = Policy()


def verdict(url: str, policy: Policy = PLAIN) -> str | None:
    refused = policy.judge_target(parse(url))
    return refused.reason if refused else None


@pytest.mark.parametrize(
    ("case", "url", "reason"),
    [
        ("CVE-2022-29188: brackets round a name skipped the rules for names", "http://[example.com]/", "bad_url"),
        ("CVE-2022-29188: and round an IPv4 address", "http://[127.0.0.1]/", "bad_url"),
        ("CVE-2022-24825: a dot at the end skipped a rule", "http://metadata.google.internal./", "metadata"),
        ("CVE-2022-24825: the same with an address", "http://169.254.169.254./", "metadata"),
        ("two dots at the end", "http://metadata.google.internal../", "trailing_dots"),
        ("NAT64", "http://[64:ff9b::a00:1]/", "private"),
        ("6to4", "http://[2002:a00:1::1]/", "private"),
        ("Teredo, the server", "http://[2001:0:a00:1::1]/", "private"),
        ("Teredo, the client", "http://[2001:0:808:808::f5ff:fffe]/", "private"),
        ("CVE-2023-42282: hexadecimal and short", "http://0x7f.1/", "loopback"),
        ("octal, in one number", "http://017700000001/", "loopback"),
        ("CVE-2021-29921: octal octets, read as decimal by some", "http://012.0.0.1/", "private"),
        ("octal that is no octal", "http://08.0.0.1/", "bad_url"),
        ("an octet too large", "http://127.0.0.256/", "bad_url"),
        ("CVE-2024-4032: shared addresses, neither private nor global to a library", "http://100.64.0.1/", "shared"),
        ("shared, mapped: global to Python 3.10 to 3.13.0", "http://[::ffff:100.64.0.1]/", "shared"),
        ("a cloud's metadata, mapped", "http://[::ffff:100.100.100.200]/", "metadata"),
        ("ranges that came after the table: segment routing", "http://[5f00::1]/", "protocol"),
        ("the dummy prefix", "http://[100:0:0:1::1]/", "discard"),
        ("an anycast address in 2001::/23", "http://[2001:1::3]/", "protocol"),
        ("the second documentation prefix", "http://[3fff::1]/", "documentation"),
        ("IPv4-compatible", "http://[::169.254.169.254]/", "metadata"),
        ("IPv4-compatible, in hexadecimal", "http://[::a9fe:a9fe]/", "metadata"),
        ("IPv4-compatible loopback", "http://[::127.0.0.1]/", "loopback"),
        ("ISATAP on link local", "http://[fe80::5efe:a00:1]/", "link_local"),
        ("ISATAP on a global prefix", "http://[2a00:1450::5efe:a00:1]/", "private"),
        ("ISATAP on link local, to a metadata service", "http://[fe80::5efe:a9fe:a9fe]/", "metadata"),
        ("NAT64 for local use", "http://[64:ff9b:1::a9fe:a9fe]/", "metadata"),
        ("NAT64 for local use, another length", "http://[64:ff9b:1:a9fe:a9:fe00::]/", "metadata"),
        ("NAT64 for local use, at no length that one would expect", "http://[64:ff9b:1:ffff::1]/", "reserved"),
        ("one number, which became 0.0.0.1", "http://1/", "unspecified"),
        ("a number with a zero before it is octal, 0.59.254.143", "http://016777217/", "unspecified"),
        ("loopback in full", "http://[0:0:0:0:0:0:0:1]/", "loopback"),
        ("a zone", "http://[fe80::1%25lo0]/", "bad_url"),
        ("a zero-width space", "http://127.0.0.1\u200b/", "loopback"),
        ("circled digits", "http://①②⑦.⓪.⓪.①/", "loopback"),
        ("a soft hyphen", "http://127\u00ad.0.0.1/", "loopback"),
        ("a long s", "http://localho\u017ft/", "loopback"),
        ("a Kelvin sign", "http://\u212aubernetes.default/", "special_name"),
        ("unique local, link local, compatible: a redirect's", "http://[fc00::1]/", "private"),
        ("the same", "http://[fe80::1]/", "link_local"),
        ("the same", "http://[::10.0.0.1]/", "private"),
        ("multicast", "http://224.0.0.1/", "multicast"),
        ("site local", "http://[fec0::1]/", "private"),
        ("an ordinary address of a cloud's host agent", "http://168.63.129.16/", "metadata"),
        ("the old metadata of a cloud", "http://192.0.0.192/", "metadata"),
        ("an empty host", "ftp:///x", "scheme"),
        ("capitals", "http://METADATA/", "metadata"),
        ("a name of Docker's", "http://host.docker.internal/", "special_name"),
        ("a user name that looks like the host", "http://example.com@10.0.0.1/", "private"),
    ],
)
def test_what_went_through_elsewhere_is_refused_here(case: str, url: str, reason: str) -> None:
    assert verdict(url) == reason, case


def test_an_answer_is_judged_by_its_addresses_whatever_the_name_looks_like() -> None:
    """Deny lists of strings miss every name under which somebody publishes the address."""
    for name in ("10.0.0.1.nip.io", "localtest.me", "a-127-0-0-1.example"):
        assert verdict(f"http://{name}/") is None
    assert PLAIN.judge_answer([ip_address("127.0.0.1")], (), "localtest.me", 80) is not None
    assert PLAIN.judge_answer([ip_address("8.8.8.8"), ip_address("::1")], (), "localtest.me", 80) is not None


def test_a_good_address_beside_a_bad_one_is_not_taken() -> None:
    """Some take the first allowed one; the name still leads into the network."""
    for order in (("8.8.8.8", "10.0.0.1"), ("10.0.0.1", "8.8.8.8")):
        refused = PLAIN.judge_answer([ip_address(one) for one in order], ())
        assert refused is not None
        assert refused.reason == "private"


def test_an_allowed_network_opens_none_of_its_disguises() -> None:
    policy = Policy(allow=(ip_network("10.0.0.0/8"), ip_network("169.254.0.0/16")))
    assert verdict("http://10.0.0.1/", policy) is None
    assert verdict("http://[64:ff9b::a00:1]/", policy) == "embedded"
    assert verdict("http://169.254.169.254/", policy) == "metadata"
    # The mapped form is the IPv4 address itself: the kernel sends IPv4.
    assert verdict("http://[::ffff:10.0.0.1]/", policy) is None
