from __future__ import annotations

import json
import socket
from collections import Counter
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.naming import (
    Invalid,
    Target,
    canonical_host,
    display_host,
    parse,
    registrable_domain,
    sites,
)
from scrapy_polite.naming.keys import own_key
from scrapy_polite.naming.sites import Sites

LONG_LABEL = "a" * 63
LONG_NAME = ".".join([LONG_LABEL] * 3 + ["a" * 61])  # 253 octets


def target(url: str) -> Target:
    found = parse(url)
    assert isinstance(found, Target), found
    return found


def reason(url: str) -> str:
    found = parse(url)
    assert isinstance(found, Invalid), found
    return found.reason


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://EXAMPLE.com/", "example.com"),
        ("http://example.com./", "example.com"),
        ("http://bücher.example/", "xn--bcher-kva.example"),
        ("http://faß.de/", "xn--fa-hia.de"),  # non-transitional, as browsers
        ("http://example。com/", "example.com"),
        ("http://ｅｘａｍｐｌｅ.com/", "example.com"),
        ("http://exa\u00admple.com/", "example.com"),
        ("http://127.0.0.1\u200b/", "127.0.0.1"),
        ("http://localho\u017ft/", "localhost"),
        ("http://xn--a/", "xn--a"),
        ("http://0177.0.0.1/", "127.0.0.1"),
        ("http://017700000001/", "127.0.0.1"),
        ("http://0x7f.0.0.1/", "127.0.0.1"),
        ("http://0x7f000001/", "127.0.0.1"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://127.1/", "127.0.0.1"),
        ("http://127.0.1/", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://0/", "0.0.0.0"),
        ("http://1/", "0.0.0.1"),
        ("http://0251.00376.000251.0000376/", "169.254.169.254"),
        ("http://127.0.0.1./", "127.0.0.1"),
        ("http://１２７.0.0.1/", "127.0.0.1"),
        ("http://①②⑦.0.0.1/", "127.0.0.1"),
        ("http://%31%32%37.0.0.1/", "127.0.0.1"),
        ("http://%65xample.com/", "example.com"),
        ("http://[0:0:0:0:0:0:0:1]/", "::1"),
        ("http://[2001:0DB8::0001]/", "2001:db8::1"),
        ("http://[::FFFF:127.0.0.1]/", "127.0.0.1"),
        ("http://foo@127.0.0.1/", "127.0.0.1"),
        ("http://1.1.1.1\\@2.2.2.2/", "1.1.1.1"),
        ("http://1.1.1.1 &@2.2.2.2# @3.3.3.3/", "2.2.2.2"),
        ("http:127.0.0.1/", "127.0.0.1"),
        ("http:/127.0.0.1/", "127.0.0.1"),
        ("http://exa\tmple.com/", "example.com"),
        ("  \x01http://example.com/", "example.com"),
        ("http:///x", "x"),
        ("http://a_b.example/", "a_b.example"),
        ("http://-a-.example/", "-a-.example"),
        (f"http://{LONG_LABEL}.example/", f"{LONG_LABEL}.example"),
        (f"http://{LONG_NAME}/", LONG_NAME),
        (f"http://{LONG_NAME}./", LONG_NAME),
    ],
)
def test_every_spelling_of_a_host_has_one_form(url: str, host: str) -> None:
    assert target(url).host == host


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://example.com../", "trailing_dots"),
        ("http://127.0.0.1../", "trailing_dots"),
        ("http://a..example/", "empty_label"),
        ("http://.example/", "empty_label"),
        ("http://./", "empty_host"),
        ("http://exa\u200cmple.com/", "bad_url"),
        ("http://xn--a.ß/", "bad_url"),
        ("http://7147006462/", "bad_url"),
        ("http://256.1.1.1/", "bad_url"),
        ("http://1.2.3.4.5/", "bad_url"),
        ("http://0o177.0.0.1/", "bad_url"),
        ("http://exa%00mple.com/", "bad_url"),
        ("http://foo%2Fcom/", "bad_url"),
        ("http://[fe80::1%25eth0]/", "bad_url"),
        ("http://[fe80::1%eth0]/", "bad_url"),
        ("http://[example.com]/", "bad_url"),
        ("http://\udc80/", "bad_url"),
        ("http://a!b/", "bad_host"),
        ("http://*.example/", "bad_host"),
        ("/relative", "bad_url"),
        ("", "bad_url"),
        ("http://", "bad_url"),
        ("mailto:a@b.example", "scheme"),
        ("data:,x", "scheme"),
        ("file:///etc/passwd", "scheme"),
        (f"http://a{LONG_LABEL}.example/", "label_too_long"),
        (f"http://a.{LONG_NAME}/", "name_too_long"),
        ("http://a.example/" + "a" * 70_000, "bad_url"),
    ],
)
def test_what_has_no_canonical_form_says_why(url: str, why: str) -> None:
    assert reason(url) == why


def test_hosts_of_the_web_platform_tests() -> None:
    """All of them, each by name of what happens to it; the numbers are those of the file."""
    cases = json.loads((Path(__file__).parent / "data" / "wpt_hosts.json").read_text(encoding="utf-8"))["cases"]
    outcomes: Counter[str] = Counter()
    by_rule: dict[str, set[str]] = {}
    for url, hostname, *rest in cases:
        found = parse(url)
        if hostname is None:
            assert isinstance(found, Invalid), url
            outcomes[f"invalid to both: {found.reason}"] += 1
            continue
        if isinstance(found, Invalid):
            outcomes[f"refused by our rule: {found.reason}"] += 1
            by_rule.setdefault(found.reason, set()).add(hostname)
            continue
        port, href = rest
        assert str(found.port) == (port or {"http": "80", "https": "443"}[found.scheme]), url
        assert (found.written, found.url) == (hostname, href), url
        outcomes["the same host and URL"] += 1
    assert outcomes == {
        "invalid to both: bad_url": 147,
        "the same host and URL": 129,
        "refused by our rule: empty_host": 1,
        "refused by our rule: trailing_dots": 2,
        "refused by our rule: bad_host": 1,
    }
    assert sum(outcomes.values()) == len(cases) == 280
    # What the Standard allows and our closed grammar does not: nothing else.
    assert by_rule == {
        "empty_host": {"."},
        "trailing_dots": {"..", "foo.09.."},
        "bad_host": {"!\"$&'()*+,-.;=_`{}~"},
    }


def test_the_url_that_is_sent_has_the_canonical_host() -> None:
    assert target("http://u:p@EXAMPLE.com.:8080/a?b#c").url == "http://u:p@example.com:8080/a?b#c"
    assert target("https://[::ffff:1.2.3.4]:8443/x").url == "https://1.2.3.4:8443/x"
    assert target("http://[2001:DB8:0::1]/").url == "http://[2001:db8::1]/"


@pytest.mark.parametrize(
    ("url", "port"),
    [
        ("http://a.example", 80),
        ("https://a.example", 443),
        ("https://a.example:443", 443),
        ("http://a.example:0", 0),
        ("http://a.example:443", 443),
        ("http://a.example:", 80),
        ("foo://a.example", 0),
        ("foo://a.example:7", 7),
    ],
)
def test_the_port_is_the_one_that_would_be_dialled(url: str, port: int) -> None:
    assert target(url).port == port


def test_addresses_userinfo_and_site() -> None:
    assert target("http://0x7f.1/").address == IPv4Address("127.0.0.1")
    assert target("http://[::1]/").address == IPv6Address("::1")
    assert target("http://a.example/").address is None
    assert target("http://u@a.example/").userinfo
    assert target("http://:p@a.example/").userinfo
    assert not target("http://:@a.example/").userinfo
    assert target("http://A.example/").site == "site:a.example"
    assert target("http://[::1]/").site == "site:::1"


def test_other_schemes_get_the_same_host_form() -> None:
    assert target("S3://Bücher.Example./k").host == "xn--bcher-kva.example"
    assert target("foo://0x7f.1/").url == "foo://127.0.0.1/"
    assert target("foo://[::ffff:1.2.3.4]:3/").url == "foo://1.2.3.4:3/"
    assert reason("foo://a..b/") == "empty_label"


def test_messages_are_short_and_printable() -> None:
    found = parse("http://a!" + "é" * 5000 + "\n/")
    assert isinstance(found, Invalid)
    assert len(found.detail) < 1000
    assert found.detail.isascii()
    assert found.detail.isprintable()


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("Example.COM.", "example.com"),
        (" a.example ", "a.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("127.1", "127.0.0.1"),
        ("::1", "::1"),
        ("[0::1]", "::1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
    ],
)
def test_an_operator_may_spell_a_host_as_he_likes(text: str, host: str) -> None:
    assert canonical_host(text) == host


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a:80",
        "http://a/",
        "a/b",
        "u@a",
        "a?b",
        "a#b",
        "a b",
        "a\tb",
        "[a]",
        "[::1]:80",
        "fe80::1%eth0",
        "a..b",
    ],
)
def test_what_is_not_a_bare_host_is_refused(text: str) -> None:
    assert isinstance(canonical_host(text), Invalid)


def test_hosts_are_shown_in_their_own_script() -> None:
    assert display_host("xn--bcher-kva.example") == "bücher.example"
    assert display_host("xn--99999999.example") == "xn--99999999.example"
    assert display_host("a.example") == "a.example"
    assert display_host("127.0.0.1") == "127.0.0.1"


LABELS = st.text(st.sampled_from("0123456789abcdefxXoO-_.%:[]@\\/?# \t８①。ß"), max_size=24)


@given(st.one_of(st.text(max_size=60), LABELS))
@settings(deadline=None, max_examples=400)
def test_parsing_never_raises_and_its_result_is_a_fixed_point(text: str) -> None:
    for url in (text, f"http://{text}/", f"foo://{text}/"):
        found = parse(url)
        if isinstance(found, Target):
            again = target(found.url)
            assert (again.url, again.host, again.address) == (found.url, found.host, found.address)
            assert canonical_host(found.host) == found.host


@given(LABELS)
@settings(deadline=None, max_examples=400)
def test_no_name_is_an_address_to_the_c_library(text: str) -> None:
    found = parse(f"http://{text}/")
    if isinstance(found, Target) and found.address is None:
        with pytest.raises(OSError, match="illegal IP address"):
            socket.inet_aton(found.host)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["{:d}", "0x{:x}", "0{:o}"]))
@settings(deadline=None)
def test_numbers_are_addresses_in_every_radix(number: int, spelling: str) -> None:
    assert target(f"http://{spelling.format(number)}/").address == IPv4Address(number)


@given(st.ip_addresses(v=6))
@settings(deadline=None)
def test_ipv6_literals_are_the_address_or_what_it_maps_to(address: IPv6Address) -> None:
    found = target(f"http://[{address.exploded}]/")
    assert found.address == ip_address(found.host) == (address.ipv4_mapped or address)


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.shop.example.co.uk", "example.co.uk"),
        ("example.com", "example.com"),
        ("a.b.github.io", "b.github.io"),
        ("github.io", "github.io"),
        ("co.uk", "co.uk"),
        ("x.herokuapp.com", "x.herokuapp.com"),
        ("www.a.example", "a.example"),  # a suffix that the list does not know
        ("localhost", "localhost"),
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8::1", "2001:db8::1"),
    ],
)
def test_registrable_domains_need_no_network(host: str, domain: str) -> None:
    assert registrable_domain(host) == domain


BEGINNINGS = (
    *("http://a.example", "https://a.example", "http://a.example:8080", "http://a.example:99999", "http://A.example"),
    *("http://127.1", "http://0x7f.1", "http://1.2.3.4.5", "http://xn--a", "http://a..example", "http://a.example."),
    *("http://user@a.example", "http://[::1]", "ftp://a.example", "http://" + "a" * 64, "http:a.example"),
    *("https://s3.amazonaws.com", "https://photos.s3.amazonaws.com", "https://res.cloudinary.com", "https://x.imgix.net"),
)
ENDS = ("", "/", "/one/two", "/robots.txt", "//", "/../x", "\\\\evil.example/", "/@b.example/", "?q=http://b.example/", "#/")
PATHS = ("/ü", "/\ud800", "/\t\n", "/%", "/" + "x" * (1 << 16))


@given(st.lists(st.tuples(st.sampled_from(BEGINNINGS), st.sampled_from(ENDS + PATHS) | st.text(max_size=9)), min_size=2))
def test_a_remembered_site_is_what_the_parser_says(parts: list[tuple[str, str]]) -> None:
    remembering = Sites()
    for beginning, end in parts * 2:
        found = parse(beginning + end)
        expected = "" if isinstance(found, Invalid) else own_key(found) or found.site
        assert remembering.of(beginning + end) == expected


def test_sites_are_forgotten_rather_than_kept_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites, "REMEMBERED", 10)
    remembering = Sites()
    for number in range(25):
        assert remembering.of(f"http://{number}.example/") == f"site:{number}.example"
    assert len(remembering._known) <= 10
