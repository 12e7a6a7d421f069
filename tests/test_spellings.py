"""Any two spellings of one host or of one bucket give one key; and what is sent goes where it was judged to go."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scrapy import Request
from spellings import Read, read_by_others, spelt_ipv4, spelt_ipv6, spelt_name, spelt_path, spelt_url
from test_buckets import SPELLINGS

from scrapy_polite.handlers import canonical
from scrapy_polite.naming import Invalid, Target, as_sent, bucket_key, image_service_key, own_key, parse

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

PICK = st.randoms(use_true_random=False)
LABEL = st.from_regex(r"[a-z0-9_]([a-z0-9_-]{0,14}[a-z0-9_])?", fullmatch=True).filter(lambda label: "--" not in label)
NAMES = st.lists(LABEL, min_size=1, max_size=4).map(lambda labels: ".".join([*labels, "example"]))
BUCKETS = st.from_regex(r"[a-z][a-z0-9-]{1,20}[a-z0-9]", fullmatch=True).filter(lambda name: "--" not in name)
SOME = settings(deadline=None, max_examples=150)
MANY = settings(deadline=None, max_examples=600)
"""Many more are tried by `make fuzz`."""


def target(url: str) -> Target:
    found = parse(url)
    assert isinstance(found, Target), (url, found)
    return found


@given(NAMES, PICK)
@SOME
def test_two_spellings_of_a_name_have_one_key(name: str, pick: random.Random) -> None:
    found = target(spelt_url(spelt_name(name, pick), "/a", pick))
    assert found.site == f"site:{name}"
    assert found == target(f"http://{name}/a")


@given(st.ip_addresses(v=4), PICK)
@SOME
def test_two_spellings_of_an_ipv4_address_have_one_key(address: IPv4Address, pick: random.Random) -> None:
    found = target(spelt_url(spelt_ipv4(address, pick), "/a", pick))
    assert found.site == f"site:{address}"
    assert found == target(f"http://{address}/a")


@given(st.ip_addresses(v=6) | st.integers(0, 2**64 - 1).map(lambda n: IPv6Address(n << 16)), PICK)
@SOME
def test_two_spellings_of_an_ipv6_address_have_one_key(address: IPv6Address, pick: random.Random) -> None:
    found = target(spelt_url(spelt_ipv6(address, pick), "/a", pick))
    assert found.site == f"site:{address.ipv4_mapped or address}"
    assert found == target(f"http://[{address}]/a")


@given(st.ip_addresses(v=4), PICK)
@SOME
def test_a_mapped_address_and_the_ipv4_address_have_one_key(address: IPv4Address, pick: random.Random) -> None:
    mapped = IPv6Address(f"::ffff:{address}")
    assert target(spelt_url(spelt_ipv6(mapped, pick), "/", pick)) == target(spelt_url(spelt_ipv4(address, pick), "/", pick))


SHAPES: dict[str, list[tuple[str, str]]] = {
    "s3": [
        ("{b}.s3.amazonaws.com", "/k"),
        ("{b}.s3.eu-west-2.amazonaws.com", "/k"),
        ("{b}.s3-eu-west-2.amazonaws.com", "/k"),
        ("{b}.s3-accelerate.dualstack.amazonaws.com", "/k"),
        ("{b}.s3-website-us-east-1.amazonaws.com", "/k"),
        ("s3.dualstack.eu-west-2.amazonaws.com", "/{b}/k"),
        ("s3.amazonaws.com", "/{b}"),
    ],
    "gcs": [
        ("{b}.storage.googleapis.com", "/k"),
        ("storage.googleapis.com", "/{b}/k"),
        ("storage.googleapis.com", "/storage/v1/b/{b}/o/k"),
        ("storage.googleapis.com", "/download/storage/v1/b/{b}/o/k"),
        ("firebasestorage.googleapis.com", "/v0/b/{b}/o/k"),
    ],
    "b2": [
        ("f002.backblazeb2.com", "/file/{b}/k"),
        ("{b}.s3.us-west-004.backblazeb2.com", "/k"),
        ("s3.us-west-004.backblazeb2.com", "/{b}/k"),
    ],
    "digitalocean": [("{b}.nyc3.cdn.digitaloceanspaces.com", "/k"), ("nyc3.digitaloceanspaces.com", "/{b}/k")],
    "oracle/space": [
        ("objectstorage.eu-frankfurt-1.oraclecloud.com", "/n/space/b/{b}/o/k"),
        ("space.compat.objectstorage.eu-frankfurt-1.oci.customer-oci.com", "/{b}/k"),
    ],
}


@pytest.mark.parametrize("provider", SHAPES)
@given(BUCKETS, PICK)
@SOME
def test_two_shapes_of_a_bucket_in_any_spelling_have_one_key(provider: str, bucket: str, pick: random.Random) -> None:
    host, path = pick.choice(SHAPES[provider])
    url = spelt_url(
        spelt_name(host.format(b=bucket), pick),
        spelt_path(path.format(b=bucket), pick),
        pick,
        scheme=pick.choice(("http", "https")),
    )
    assert bucket_key(target(url)) == f"bucket:{provider}/{bucket}", url


@given(st.sampled_from([(key, url) for key, urls in SPELLINGS.items() for url in urls]), PICK)
@SOME
def test_every_listed_address_of_a_bucket_may_be_spelt_differently(listed: tuple[str, str], pick: random.Random) -> None:
    key, url = listed
    found = target(url)
    again = spelt_url(spelt_name(found.host, pick), spelt_path(found.path, pick), pick, scheme=found.scheme)
    assert bucket_key(target(again)) == key, again


# -- parse and as_sent on anything

PATHS = st.lists(
    st.sampled_from(
        [
            "/",
            "/",
            "/",
            "\\",
            ".",
            "..",
            "%2e",
            "%2E",
            "a",
            "%5c",
            ";",
            "?",
            "#",
            "\t",
            "\u0130",
            "\u017f",
            "\u212a",
            "\x7f",
            " ",
        ]
    ),
    max_size=8,
).map("".join)
PIECES = st.text(
    st.sampled_from("abz019xX.-_%:[]@\\/?#;&=+|{}^ \t\r\n\x00\x7f\u00df\u3002\uff0e\uff11\u2460\u200b\u0130\u212a"), max_size=30
)
ANYTHING = st.one_of(
    st.text(max_size=80),
    PIECES,
    st.tuples(
        st.sampled_from(["http:", "https:", "HTTP:", "http:/", "http://", "https://", "https:\\\\", "http:////"]),
        PIECES,
        PIECES,
    ).map("".join),
    st.tuples(
        st.sampled_from(
            ["http://a.example", "https://1.1.1.1", "http://[::1]", "http://u:p@b.example", "https://s3.amazonaws.com"]
        ),
        st.sampled_from(
            ["", ":", ":80", ":443", ":8080", ":080", ":99999", "\\@c.example", "@c.example", "#@c.example", "?@c.example"]
        ),
        PIECES,
    ).map("".join),
    st.tuples(st.sampled_from(["http://a.example/", "https://s3.amazonaws.com/b/"]), PATHS).map("".join),
)


@given(ANYTHING)
@MANY
def test_parsing_what_was_parsed_changes_nothing(url: str) -> None:
    found = parse(url)
    if isinstance(found, Target) and not found.userinfo:
        again = target(found.url)
        assert again == found
        assert (own_key(again), image_service_key(again)) == (own_key(found), image_service_key(found))


def judge_agrees(url: str) -> None:
    """Wherever the request for a URL goes, its host and port are the ones that were judged, and its keys too."""
    found = parse(url)
    if isinstance(found, Invalid) or found.scheme not in ("http", "https") or found.port == 0:
        return
    sent = as_sent(url, found)
    assert sent.isascii()
    for read in read_by_others(sent, found.scheme):
        assert read == Read(read.reader, found.host, found.port), (url, sent)
    # A server may take the path as it stands: no detours, and no slash that is none to it.
    path = urlsplit(sent).path
    assert "\\" not in path, (url, sent)
    assert not {".", ".."} & set(map(unquote, path.split("/"))), (url, sent)
    for text in (sent, Request(sent).url):
        again = target(text)
        assert (again.host, again.port, again.scheme, again.userinfo) == (found.host, found.port, found.scheme, False), (
            url,
            text,
        )
        assert own_key(again) == own_key(found), (url, text)
        assert as_sent(text, again) == text


@given(ANYTHING)
@MANY
def test_the_host_that_is_sent_to_is_the_host_that_was_judged(url: str) -> None:
    judge_agrees(url)
    try:
        made = Request(url).url
    except (ValueError, UnicodeError):
        return  # Scrapy makes no request of it.
    judge_agrees(made)


@given(st.sampled_from([url for urls in SPELLINGS.values() for url in urls]), PICK)
@SOME
def test_the_bucket_that_is_sent_to_is_the_bucket_that_was_judged(url: str, pick: random.Random) -> None:
    found = target(url)
    judge_agrees(spelt_url(spelt_name(found.host, pick), spelt_path(found.path, pick), pick, scheme=found.scheme))


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        # As it was written, where there is nothing to misread.
        ("http://a.example", None),
        ("http://a.example/", None),
        ("http://a.example/a//b;c/..d/.e/f..?x=../..\\y#z", None),
        ("http://a.example:80/", None),
        ("https://a.example:8443/x", None),
        ("http://[::1]:8080/x", None),
        ("http://127.0.0.1/x", None),
        ("http://xn--bcher-kva.example/%2f%5c%41", None),
        # Rewritten: hosts.
        ("http://1.1.1.1\\@2.2.2.2/", "http://1.1.1.1/@2.2.2.2/"),
        ("http://A.example/", "http://a.example/"),
        ("http://a.example./x", "http://a.example/x"),
        ("http:a.example/x", "http://a.example/x"),
        ("http:/a.example/x", "http://a.example/x"),
        ("http:\\\\a.example\\x", "http://a.example/x"),
        ("http:////a.example/x", "http://a.example/x"),
        ("HTTP://a.example/x", "http://a.example/x"),
        ("http://0x7f.1/x", "http://127.0.0.1/x"),
        ("http://2130706433", "http://127.0.0.1/"),
        ("http://[::ffff:1.2.3.4]/x", "http://1.2.3.4/x"),
        ("http://[0:0::1]/x", "http://[::1]/x"),
        ("http://bücher.example/x", "http://xn--bcher-kva.example/x"),
        ("http://a%2Eexample/x", "http://a.example/x"),
        ("http://a.exa\tmple/x", "http://a.example/x"),
        (" http://a.example/x", "http://a.example/x"),
        ("http://user@a.example/x", "http://a.example/x"),
        ("http://user:pass@a.example:81/x", "http://a.example:81/x"),
        ("http://@a.example/x", "http://a.example/x"),
        ("http://a.example@b.example/x", "http://b.example/x"),
        ("http://a.example#@b.example/x", "http://a.example/#@b.example/x"),
        ("http://a.example?@b.example/x", "http://a.example/?@b.example/x"),
        # Rewritten: ports.
        ("http://a.example:/x", "http://a.example/x"),
        ("http://a.example:080/x", "http://a.example/x"),
        ("http://a.example:0081/x", "http://a.example:81/x"),
        # Rewritten: paths, of which a server might read another bucket than was judged.
        ("http://a.example/a/../b", "http://a.example/b"),
        ("http://a.example/a/%2e%2E/b", "http://a.example/b"),
        ("http://a.example/a/.%2e", "http://a.example/"),
        ("http://a.example/./b", "http://a.example/b"),
        ("http://a.example/a/..", "http://a.example/"),
        ("http://a.example/a/..?x", "http://a.example/?x"),
        ("http://a.example/a\\..\\b", "http://a.example/b"),
        ("http://a.example/a/.\t./b", "http://a.example/b"),
        ("http://a.example/ä", "http://a.example/%C3%A4"),
        ("http://a.example/\u0130", "http://a.example/%C4%B0"),  # of one case with i,
        ("http://a.example/\u017f", "http://a.example/%C5%BF"),  # with s,
        ("http://a.example/\u212a", "http://a.example/%E2%84%AA"),  # and with k
        ("http://a.example/a b", "http://a.example/a%20b"),
        ("http://a.example/a\x7fb", "http://a.example/a%7Fb"),
    ],
)
def test_what_could_be_read_differently_is_rewritten(url: str, sent: str | None) -> None:
    assert as_sent(url, target(url)) == (url if sent is None else sent)
    judge_agrees(url)


@pytest.mark.parametrize(
    ("url", "misread"),
    [
        ("http://1.1.1.1\\@2.2.2.2/", lambda url: urlsplit(url).hostname == "2.2.2.2"),
        ("http://user@a.example/", lambda url: read_by_others(url, "http")[-1].host == "user@a.example"),
        ("http://0x7f.1/", lambda url: urlsplit(url).hostname == "0x7f.1"),
    ],
)
def test_others_do_misread_what_is_rewritten(url: str, misread: Callable[[str], bool]) -> None:
    """Without this the tests above would show nothing."""
    assert misread(url)


@pytest.mark.parametrize("meta", [{}, {"verbatim_url": True}])
@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("http://a.example/a/../b", "http://a.example/b"),
        ("http://0x7f.1/b", "http://127.0.0.1/b"),
        ("http://1.1.1.1\\@2.2.2.2/", "http://1.1.1.1/@2.2.2.2/"),
        ("http://a.example/b", "http://a.example/b"),
    ],
)
def test_the_handlers_request_has_the_url_that_was_judged_and_is_otherwise_the_same(
    url: str, sent: str, meta: dict[str, bool]
) -> None:
    request = Request(url, method="POST", body=b"x", headers={"A": "b"}, meta={**meta, "polite": {}}, dont_filter=True)
    changed = canonical(request, target(request.url))
    assert changed.url == sent
    assert (changed.method, changed.body, changed.headers, changed.dont_filter) == ("POST", b"x", request.headers, True)
    assert changed.meta["polite"] is request.meta["polite"]
    assert (changed is request) == (request.url == sent)


def test_a_target_of_another_url_never_lets_a_url_through() -> None:
    assert as_sent("http://a.example:81/", target("http://a.example:8/")) == "http://a.example:8/"
    assert as_sent("http://a.example:81/", target("http://a.example/")) == "http://a.example/"
    assert as_sent("http://a.example/", target("http://a.example:81/")) == "http://a.example:81/"
    assert as_sent("https://a.example/", target("http://a.example/")) == "http://a.example/"
    assert as_sent("http://a.example.evil.example/", target("http://a.example/")) == "http://a.example/"


def test_names_that_every_reader_takes_are_sent_unchanged() -> None:
    path = "/" + quote("ü/b c")
    assert as_sent(f"https://a.example{path}", target(f"https://a.example{path}")) == f"https://a.example{path}"
