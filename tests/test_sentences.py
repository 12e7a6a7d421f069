"""What an operator reads about each kind of site."""

from __future__ import annotations

import pytest

from scrapy_polite.origins.anchors import Pointing
from scrapy_polite.origins.evidence import Certificate
from scrapy_polite.origins.judge import Judge, Placement, Reason
from scrapy_polite.origins.sentences import sentences, suspicion
from scrapy_polite.origins.suspects import Suspect
from tests.origin_worlds import EDGE_ADDRESS, PLATFORM, Court, seen
from tests.test_judge import LOOKS, hosts


def flat(text: str) -> str:
    """A sentence that is written on several lines."""
    return " ".join(text.split())


@pytest.fixture(scope="module")
def court() -> Court:
    """A platform of 213 sites by CNAME and 128 more at its address, and sites of every other kind."""
    court = Court()
    court.hear(seen(host, ["203.0.113.7"], ["sites.acme.net"], headers=PLATFORM) for host in hosts(213))
    court.hear(seen(host, ["203.0.113.7"], headers=PLATFORM, peer="203.0.113.7") for host in hosts(128, "a"))
    court.hear(
        [
            seen("hidden.com", [EDGE_ADDRESS], headers=PLATFORM),
            seen("silent.com", [EDGE_ADDRESS]),
            seen("own.com", ["198.51.100.1", "2001:db8::7"]),
            seen("balanced.com", ["198.51.100.3"], ["x-1.eu-west-1.elb.amazonaws.com"]),
            seen("tenant.com", ["203.0.113.99"], ["tenant.netlify.app"]),
            seen("named.com", [EDGE_ADDRESS], ["sites.acme.net"]),
            seen("shop.e.com", [EDGE_ADDRESS]),
            seen("www.e.com", ["198.51.100.9"]),
        ]
    )
    return court


@pytest.mark.parametrize(
    ("host", "said"),
    [
        (
            "www.t1.com",
            flat(
                """
www.t1.com is served by origin sites.acme.net: its CNAME is sites.acme.net, as for 213 other sites,
and its address 203.0.113.7 is shared with 340 other sites (confidence 0.99).
"""
            ),
        ),
        (
            "a1.com",
            flat(
                """
a1.com is served by origin sites.acme.net: its address 203.0.113.7 is shared with 340 other sites,
and it answered from there (confidence 0.99).
"""
            ),
        ),
        (
            "hidden.com",
            flat(
                """
hidden.com is behind Cloudflare; its header x-acme-version is found only on sites of origin
sites.acme.net (341 of 341 located), and its pages are set up like most of theirs: so its misses are
charged there (confidence 0.81).
"""
            ),
        ),
        (
            "silent.com",
            flat(
                """
silent.com is behind Cloudflare and shows nothing that tells its servers: its misses are charged to
origin silent.com, with the rest of that domain (confidence 0.50).
"""
            ),
        ),
        (
            "own.com",
            flat(
                """
own.com has servers of its own, as far as anybody has seen: no other known site has its address
198.51.100.1 or its address 2001:db8::7 (confidence 0.99).
"""
            ),
        ),
        (
            "balanced.com",
            flat(
                """
balanced.com has servers of its own, as far as anybody has seen: no other known site has its CNAME
x-1.eu-west-1.elb.amazonaws.com or its address 198.51.100.3 (confidence 0.99).
"""
            ),
        ),
        (
            "tenant.com",
            flat(
                """
tenant.com is a site of the self-service platform Netlify, whose sites have nothing in common but its
front servers: it is charged to origin tenant.com alone (confidence 0.50).
"""
            ),
        ),
        (
            "named.com",
            flat(
                """
named.com is behind Cloudflare; its CNAME is sites.acme.net, as for 213 other sites: its misses are
charged to origin sites.acme.net (confidence 0.97).
"""
            ),
        ),
        (
            "shop.e.com",
            flat(
                """
shop.e.com is behind Cloudflare and shows nothing that tells its servers; the one host of e.com that
can be located is served by origin 198.51.100.9: so its misses are charged there (confidence 0.80).
"""
            ),
        ),
    ],
)
def test_each_kind_of_site_has_a_sentence(court: Court, host: str, said: str) -> None:
    assert sentences(court.judge.explain(host))[0] == said


def test_a_platform_and_a_shared_host_are_told_apart(court: Court) -> None:
    assert sentences(court.judge.explain("a1.com"))[1:] == (
        "Of 64 sites at 203.0.113.7 whose pages were looked at, most look alike: one platform.",
    )
    shared = Court()
    shared.hear(seen(host, ["203.0.113.7"], headers=LOOKS[n % 60]) for n, host in enumerate(hosts(481)))
    assert sentences(shared.judge.explain("www.t1.com")) == (
        "www.t1.com is served by origin 203.0.113.7: its address 203.0.113.7 is shared with 480 other sites (confidence 0.93).",
        "www.t1.com shares 203.0.113.7 with 480 unrelated sites, which look unlike each other: one shared host.",
    )


def test_a_platform_that_is_hidden_as_a_whole() -> None:
    court = Court()
    court.hear(seen(host, [EDGE_ADDRESS], headers=PLATFORM) for host in hosts(9))
    assert sentences(court.judge.explain("www.t1.com")) == (
        flat(
            """
www.t1.com is behind Cloudflare; 9 sites show its header x-acme-version, look alike, and are hidden
like it, so that they are taken as one origin, marker/x-acme-version (confidence 0.81).
"""
        ),
    )


def test_ptr_certificate_and_network() -> None:
    machines = Court()
    for number, host in enumerate(hosts(12)):
        address = f"203.0.{number}.7"
        machines.hear(seen(host, [address], headers=PLATFORM, pointers={address: f"web{number}.acme.net"}))
    assert sentences(machines.judge.explain("www.t1.com")) == (
        flat(
            """
www.t1.com is served by origin 203.0.0.7: its address 203.0.1.7 is shared with no other site, and the
PTR name of its machine is in acme.net, as for 11 other sites, most of which look alike (confidence
0.98).
"""
        ),
    )
    certified = Court()
    shared = Certificate("01", "ab" * 32, tuple(hosts(9)))
    certified.hear(seen(host, [f"203.0.{n}.7"], headers=PLATFORM, certificate=shared) for n, host in enumerate(hosts(9)))
    assert sentences(certified.judge.explain("www.t1.com")) == (
        flat(
            """
www.t1.com is served by origin 203.0.0.7: its address 203.0.1.7 is shared with no other site, and its
certificate and its header x-acme-version are those of 8 other sites, most of which look alike
(confidence 0.98).
"""
        ),
    )
    neighbours = Court()
    neighbours.hear(seen(host, [f"203.0.113.{n}"], headers=PLATFORM) for n, host in enumerate(hosts(9)))
    assert sentences(neighbours.judge.explain("www.t1.com")) == (
        flat(
            """
www.t1.com is served by origin 203.0.113.0: its address 203.0.113.1 is shared with no other site, and
8 other sites in its network 203.0.113.0/24 show its header x-acme-version too (confidence 0.98).
"""
        ),
    )


def test_a_host_of_which_nothing_is_known() -> None:
    judge = Judge()
    judge.learn("www.a.com", Pointing(), {})
    assert sentences(judge.explain("www.a.com")) == (
        "Nothing tells the servers of www.a.com: taken as those of its domain, a.com (confidence 0.50).",
    )


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("join", "a.com was put to origin sites.acme.net by hand (ann: same machine room)."),
        ("split", "a.com was split off by hand: it is an origin of its own, sites.acme.net (ann: same machine room)."),
    ],
)
def test_what_was_done_by_hand(kind: str, said: str) -> None:
    reason = Reason(kind, "ann: same machine room", 1.0, 1)
    assert sentences(Placement("a.com", "origin:sites.acme.net", 1.0, (reason,), None, True)) == (said,)


def test_a_suspected_edge_comes_with_the_line_that_confirms_it() -> None:
    line = 'POLITE_EDGES = {"regiocdn": {"networks": ["203.0.113.1"], "unit": "shared"}}'
    assert suspicion(Suspect(("203.0.113.1",), 160, "x-regiocdn", line)) == (
        flat(
            f"""
160 sites share 1 address (203.0.113.1), look unlike each other and all show header x-regiocdn:
perhaps an edge that no table knows. They stay as they are, which is slow and safe. If it is one:
{line}
"""
        )
    )
