"""Which sites the judge puts together, which not, what it says of it, and what happens when they move."""

from __future__ import annotations

import ast
from random import Random

import pytest

from scrapy_polite.origins.anchors import Pointing, pointing
from scrapy_polite.origins.edges import KNOWN
from scrapy_polite.origins.evidence import Certificate, Evidence, Lookup, Reply, looked_up, replied
from scrapy_polite.origins.judge import Judge
from scrapy_polite.origins.ownedges import own_edges
from tests.origin_worlds import EDGE_ADDRESS, NOW, OTHER_EDGE_ADDRESS, PLATFORM, TTL, Court, seen

LOOKS = [
    {"x-frame-options": f"ALLOW-FROM {n}", f"x-made-by-{chr(97 + n % 26)}": "1", "referrer-policy": str(n)} for n in range(60)
]
"""Headers of sites that are each made by somebody else."""


def hosts(count: int, prefix: str = "www.t") -> list[str]:
    return [f"{prefix}{number}.com" for number in range(count)]


def test_tenants_of_one_cname_are_one_origin_before_any_request() -> None:
    court = Court()
    court.hear(seen(host, [f"203.0.113.{n % 200}"], ["sites.acme.net"]) for n, host in enumerate(hosts(300)))
    assert court.origins(hosts(300)) == {"origin:sites.acme.net"}
    assert min(court.place(host).confidence for host in hosts(300)) >= 0.97


def test_sites_at_one_address_are_one_origin_before_any_request() -> None:
    court = Court()
    court.hear(seen(host, ["203.0.113.7"]) for host in hosts(300))
    assert court.origins(hosts(300)) == {"origin:203.0.113.7"}


def test_a_cname_in_the_hosts_own_domain_says_nothing() -> None:
    court = Court()
    court.hear(seen("www.a.com", ["203.0.113.7"], ["web.a.com"]))
    assert court.place("www.a.com").origin == "origin:203.0.113.7"


def test_a_platform_behind_two_edges_is_known_by_its_marker_from_the_third_response_on() -> None:
    court = Court()
    everybody = hosts(300)
    for number, host in enumerate(everybody):
        edge = EDGE_ADDRESS if number % 2 else OTHER_EDGE_ADDRESS
        headers = {**PLATFORM, "set-cookie": "acme_seat=1", "server": "cloudflare" if number % 2 else "Varnish"}
        court.hear(seen(host, [edge], headers=headers, peer=edge))
        assert court.place(host).located == (number >= 2)
    assert len(court.origins(everybody)) == 1
    assert all(court.place(host).edge is not None for host in everybody)


def test_unrelated_sites_at_one_edge_address_share_nothing() -> None:
    court = Court()
    court.hear(seen(host, [EDGE_ADDRESS], headers=LOOKS[n], peer=EDGE_ADDRESS) for n, host in enumerate(hosts(10)))
    assert len(court.origins(hosts(10))) == 10
    assert not any(court.place(host).located for host in hosts(10))


def test_two_crowds_are_not_welded_by_one_site_with_both_addresses() -> None:
    court = Court()
    court.hear(seen(host, ["203.0.113.1"]) for host in hosts(50, "a"))
    court.hear(seen(host, ["203.0.113.2"]) for host in hosts(50, "b"))
    for peer in ("203.0.113.1", "203.0.113.2"):
        court.hear(seen(f"{peer}.both.com", ["203.0.113.1", "203.0.113.2"], peer=peer))
        assert court.place(f"{peer}.both.com").origin == f"origin:{peer}"
    assert court.origins(hosts(50, "a")) == {"origin:203.0.113.1"}
    assert court.origins(hosts(50, "b")) == {"origin:203.0.113.2"}


def test_crowds_with_a_fifth_in_common_are_one_origin_until_it_is_taken_away() -> None:
    court = Court()
    both = [seen(host, ["203.0.113.1", "203.0.113.2"]) for host in hosts(10, "a")]
    court.hear(both)
    court.hear(seen(host, ["203.0.113.1"]) for host in hosts(50, "a")[10:])
    court.hear(seen(host, ["203.0.113.2"]) for host in hosts(40, "b"))
    everybody = hosts(50, "a") + hosts(40, "b")
    assert court.origins(everybody) == {"origin:203.0.113.1"}
    assert court.changes() == []  # the other name was never given to anybody

    court.hear(seen(host, ["203.0.113.1"]) for host in hosts(9, "a"))
    assert court.origins(hosts(40, "b")) == {"origin:203.0.113.2"}
    assert court.origins(hosts(50, "a")) == {"origin:203.0.113.1"}
    assert court.changes() == [("part", "origin:203.0.113.2", "origin:203.0.113.1")]

    court.hear(both)
    assert court.origins(everybody) == {"origin:203.0.113.1"}
    assert court.changes() == [("merge", "origin:203.0.113.2", "origin:203.0.113.1")]
    court.hear(seen(host, ["203.0.113.1"]) for host in hosts(9, "a"))
    assert court.changes() == [("split", "origin:203.0.113.2", "origin:203.0.113.1")]
    assert court.changes() == []


@pytest.mark.parametrize("order", range(5))
def test_a_balancer_with_more_addresses_than_an_answer_has_is_one_origin_in_any_order(order: int) -> None:
    fixed = Random(7)
    answers = {host: fixed.sample([f"203.0.113.{n}" for n in range(8)], 2) for host in hosts(25)}
    shuffled = hosts(25)
    Random(order).shuffle(shuffled)
    court = Court()
    court.hear(seen(host, answers[host]) for host in shuffled)
    assert len(court.origins(hosts(25))) == 1


def test_a_second_process_and_a_restart_give_the_same_names() -> None:
    ages: dict[str, int] = {}
    evidence = [
        seen(host, [f"203.0.113.{n % 7}", f"203.0.113.{(n + 1) % 7}"], headers=PLATFORM) for n, host in enumerate(hosts(70))
    ]
    evidence += [seen(host, [EDGE_ADDRESS], headers=PLATFORM) for host in hosts(10, "e")]
    one, two = Court(ages), Court(ages)
    one.hear(evidence)
    two.hear(reversed(evidence))
    for host in hosts(70) + hosts(10, "e"):
        assert one.place(host) == two.place(host)
    ages["address:198.51.100.1"] = 0  # older than all, but nobody points at it
    assert one.origins(hosts(70)) == two.origins(hosts(70)) == {"origin:203.0.113.0"}


def test_names_are_those_of_the_oldest_anchor_whatever_comes_first() -> None:
    court = Court({"address:203.0.113.9": 1, "address:203.0.113.1": 2, "cname:sites.acme.net": 3})
    court.hear(seen(host, ["203.0.113.1"], ["sites.acme.net"]) for host in hosts(5))
    assert court.origins(hosts(5)) == {"origin:203.0.113.1"}
    court.hear(seen(host, ["203.0.113.1", "203.0.113.9"]) for host in hosts(5, "b"))
    assert court.origins(hosts(5) + hosts(5, "b")) == {"origin:203.0.113.9"}
    assert court.changes() == [("merge", "origin:203.0.113.1", "origin:203.0.113.9")]


def test_a_name_whose_anchor_dies_is_handed_to_the_next_oldest_and_back_when_it_lives_again() -> None:
    court = Court()
    pair = ["203.0.113.1", "203.0.113.2"]
    court.hear(seen(host, pair) for host in hosts(4))
    assert court.origins(hosts(4)) == {"origin:203.0.113.1"}
    court.hear(seen(host, pair[1:]) for host in hosts(4))
    assert court.origins(hosts(4)) == {"origin:203.0.113.2"}
    assert court.changes() == [("merge", "origin:203.0.113.1", "origin:203.0.113.2")]
    court.hear(seen(host, pair) for host in hosts(4))
    assert court.origins(hosts(4)) == {"origin:203.0.113.1"}
    assert court.changes() == [
        ("split", "origin:203.0.113.1", "origin:203.0.113.2"),
        ("merge", "origin:203.0.113.2", "origin:203.0.113.1"),
    ]


def test_what_the_store_has_already_is_no_change() -> None:
    court = Court()
    court.judge.stand({"origin:203.0.113.2": "origin:203.0.113.1", "origin:203.0.113.3": "origin:203.0.113.3"})
    court.hear(seen(host, ["203.0.113.1", "203.0.113.2", "203.0.113.3"]) for host in hosts(4))
    assert court.origins(hosts(4)) == {"origin:203.0.113.1"}
    assert court.changes() == [("merge", "origin:203.0.113.3", "origin:203.0.113.1")]


def test_a_cloud_balancer_is_its_name_and_its_old_addresses_are_nobodys() -> None:
    court = Court()
    name = "shop-123.eu-west-1.elb.amazonaws.com"
    old = seen("www.shop.com", ["198.51.100.1", "198.51.100.2"], [name], ttl=60)
    court.hear(old)
    later = NOW + 2 * 3600
    fresh = seen("www.shop.com", ["198.51.100.3", "198.51.100.4"], [name], ttl=60, at=later, known=old)
    court.hear(fresh, later)
    court.hear(seen("m.shop.org", ["198.51.100.4", "198.51.100.5"], [name], ttl=60, at=later), later)
    court.hear(seen("www.stranger.com", ["198.51.100.1"], ttl=60, at=later), later)
    assert court.origins(["www.shop.com", "m.shop.org"]) == {f"origin:{name}"}
    assert court.place("www.stranger.com").origin == "origin:198.51.100.1"
    assert court.place("www.shop.com").edge is None


def test_a_certificate_alone_joins_nobody_and_none_behind_an_edge() -> None:
    court = Court()
    everybody = hosts(100)
    pooled = Certificate("01", "ab" * 32, tuple(everybody))
    for number, host in enumerate(everybody[:50]):
        court.hear(seen(host, [EDGE_ADDRESS], headers=LOOKS[number], certificate=pooled))
    for number, host in enumerate(everybody[50:]):
        court.hear(seen(host, [f"203.0.{number}.7"], headers=LOOKS[number], certificate=pooled))
    assert len(court.origins(everybody)) == 100


def test_a_certificate_and_a_marker_in_common_join_over_networks() -> None:
    court = Court()
    shared = Certificate("01", "ab" * 32, tuple(hosts(9)))
    court.hear(seen(host, [f"203.0.{n}.7"], headers=PLATFORM, certificate=shared) for n, host in enumerate(hosts(9)))
    assert len(court.origins(hosts(9))) == 1


def test_machines_named_in_one_domain_are_one_origin_if_their_sites_look_alike() -> None:
    court = Court()
    for number, host in enumerate(hosts(12)):
        address = f"203.0.{number}.7"
        court.hear(seen(host, [address], headers=PLATFORM, pointers={address: f"web{number:02}.acme.net"}))
    assert court.origins(hosts(12)) == {"origin:203.0.0.7"}


@pytest.mark.parametrize("headers", [LOOKS, [{"server": "Apache"}] * 60], ids=["made differently", "bare"])
def test_rented_machines_of_one_hoster_are_not_joined_by_their_names(headers: list[dict[str, str]]) -> None:
    court = Court()
    for number, host in enumerate(hosts(25)):
        address = f"203.0.{number}.7"
        court.hear(seen(host, [address], headers=headers[number], pointers={address: f"srv{number:03}.hoster.net"}))
    assert len(court.origins(hosts(25))) == 25


def test_finished_images_that_look_alike_are_not_joined() -> None:
    court = Court()
    appliance = {"x-appliance": "1", "x-frame-options": "DENY", "strict-transport-security": "max-age=1"}
    court.hear(seen(host, [f"203.0.{n}.7"], headers=appliance) for n, host in enumerate(hosts(10)))
    court.hear(seen(host, [EDGE_ADDRESS], headers=appliance) for host in hosts(6, "e"))
    assert len(court.origins(hosts(10) + hosts(6, "e"))) == 16


def test_neighbours_in_a_network_are_joined_by_a_marker_in_common_and_not_without() -> None:
    court = Court()
    court.hear(seen(host, [f"203.0.113.{n}"], headers=PLATFORM) for n, host in enumerate(hosts(9)))
    court.hear(seen(host, [f"2001:db8:0:1::{n + 1:x}"], headers=PLATFORM) for n, host in enumerate(hosts(9, "v6-")))
    court.hear(seen(host, [f"198.51.100.{n}"], headers={"server": "nginx"}) for n, host in enumerate(hosts(9, "n")))
    assert len(court.origins(hosts(9))) == len(court.origins(hosts(9, "v6-"))) == 1
    assert len(court.origins(hosts(9, "n"))) == 9


def test_sites_with_an_ipv6_address_each_and_one_ipv4_address_for_all_are_one_origin() -> None:
    court = Court()
    for number, host in enumerate(hosts(40)):
        own = f"2001:db8::{number + 1:x}"
        court.hear(seen(host, [own, "203.0.113.7"], headers=LOOKS[number], peer=own if number % 2 else "203.0.113.7"))
    assert court.origins(hosts(40)) == {"origin:203.0.113.7"}


@pytest.mark.parametrize(("after", "origin"), [(TTL, "origin:203.0.113.7"), (TTL + 1, "origin:198.51.100.1")])
def test_a_site_that_has_left_a_crowd_is_where_it_answers_once_the_old_answer_is_past_its_ttl(
    after: float, origin: str
) -> None:
    court = Court()
    court.hear(seen(host, ["203.0.113.7"]) for host in hosts(40))
    moved = replied(seen("moved.com", ["203.0.113.7"]), Reply("198.51.100.1", 200, "page", {}, None, NOW + after))
    court.hear(moved, NOW + after)
    assert court.place("moved.com").origin == origin


def test_a_tenant_that_puts_an_edge_in_front_stays_with_its_platform_while_its_markers_show() -> None:
    court = Court()
    court.hear(seen(host, ["203.0.113.7"], ["sites.acme.net"], headers=PLATFORM) for host in hosts(20))
    hidden = seen("www.hidden.com", [EDGE_ADDRESS], headers=PLATFORM, peer=EDGE_ADDRESS)
    court.hear(hidden)
    placement = court.place("www.hidden.com")
    assert placement.origin == "origin:sites.acme.net"
    assert placement.edge is not None
    assert ("control", "20 of 20") in [(reason.kind, reason.value) for reason in placement.because]
    for number in range(1, 9):
        hidden = replied(hidden, Reply(EDGE_ADDRESS, 200, "page", {}, None, NOW + number))
    court.hear(hidden)
    assert court.place("www.hidden.com").origin == "origin:hidden.com"
    assert not court.place("www.hidden.com").located


def test_a_name_at_an_edge_that_nobody_else_has_gives_way_to_the_home_of_a_marker() -> None:
    court = Court()
    court.hear(seen(host, ["203.0.113.7"], headers=PLATFORM) for host in hosts(20))
    own, also = "www.shop.com", "www.other.com"
    name = f"{own}.cdn.cloudflare.net"
    court.hear(seen(own, [EDGE_ADDRESS], [name], headers=PLATFORM, peer=EDGE_ADDRESS))
    placement = court.place(own)
    assert placement.origin == "origin:203.0.113.7"
    assert placement.edge is not None
    assert ("control", "20 of 20") in [(reason.kind, reason.value) for reason in placement.because]
    assert own in court.judge.hosts_of("origin:203.0.113.7")

    before = court.judge.generation
    court.hear(seen(also, [EDGE_ADDRESS], [name], headers=PLATFORM, peer=EDGE_ADDRESS))
    assert court.judge.generation > before  # the first of the two is placed elsewhere now
    assert court.origins([own, also]) == {f"origin:{name}"}
    before = court.judge.generation
    court.judge.forget(also)
    assert court.judge.generation > before
    assert court.place(own).origin == "origin:203.0.113.7"
    court.hear(seen(own, [EDGE_ADDRESS], [name], peer=EDGE_ADDRESS))
    assert court.place(own).origin == f"origin:{name}"


def test_a_marker_that_located_sites_show_everywhere_is_software() -> None:
    court = Court()
    court.hear(seen(host, [f"203.0.{n}.7"], headers=PLATFORM) for n, host in enumerate(hosts(30)))
    court.hear(seen(host, [EDGE_ADDRESS], headers=PLATFORM) for host in hosts(30, "e"))
    assert len(court.origins(hosts(30, "e"))) == 30


@pytest.mark.parametrize("others", [0, 1200])
def test_the_share_that_a_platform_has_of_the_crawl_does_not_matter(others: int) -> None:
    court = Court()
    court.hear(seen(host, ["203.0.113.7"], headers=PLATFORM) for host in hosts(60))
    court.hear(seen(host, [EDGE_ADDRESS], headers=PLATFORM) for host in hosts(240, "e"))
    court.hear(seen(host, [f"198.18.{n // 250}.{n % 250}"], headers=LOOKS[n % 60]) for n, host in enumerate(hosts(others, "o")))
    assert court.origins(hosts(60) + hosts(240, "e")) == {"origin:203.0.113.7"}


def test_names_given_by_a_marker_become_aliases_once_its_servers_are_found() -> None:
    court = Court()
    court.hear(seen(host, [EDGE_ADDRESS], headers=PLATFORM) for host in hosts(5))
    assert court.origins(hosts(5)) == {"origin:marker/x-acme-version"}
    court.hear(seen(host, ["203.0.113.7"], headers=PLATFORM) for host in hosts(3, "d"))
    assert court.origins(hosts(5)) == {"origin:203.0.113.7"}
    assert court.changes() == [("merge", "origin:marker/x-acme-version", "origin:203.0.113.7")]
    assert court.judge.hosts_of("origin:203.0.113.7") == sorted(hosts(5) + hosts(3, "d"))
    assert court.judge.hosts_of("origin:marker/x-acme-version") == sorted(hosts(5) + hosts(3, "d"))


def test_a_platforms_own_name_places_although_an_edge_answers() -> None:
    court = Court()
    court.hear(seen(host, [EDGE_ADDRESS], ["service.saas.net"]) for host in hosts(5))
    assert court.origins(hosts(5)) == {"origin:service.saas.net"}
    assert court.place("www.t0.com").edge is not None


def test_tenants_of_a_self_service_platform_share_nothing_and_neither_do_those_at_its_addresses() -> None:
    court = Court()
    fronts = ["203.0.113.1", "203.0.113.2"]
    apex = [seen(host, fronts, headers={"x-tenancy": "1", "referrer-policy": "a"}) for host in hosts(5, "apex")]
    tenants = [
        seen(host, fronts, [f"{host}.herokudns.com"], headers={"x-tenancy": "1", "referrer-policy": "a"}) for host in hosts(5)
    ]
    for order in (apex + tenants, tenants + apex):
        court = Court()
        court.hear(order)
        assert len(court.origins(hosts(5) + hosts(5, "apex"))) == 10
        assert not any(court.place(host).located for host in hosts(5) + hosts(5, "apex"))
    for host in hosts(3):
        court.judge.forget(host)
    assert court.origins(hosts(5, "apex")) == {"origin:203.0.113.1"}


def test_addresses_behind_an_edges_name_are_the_edges_though_it_publishes_none() -> None:
    court = Court()
    fronts = ["203.0.113.1"]
    for number, host in enumerate(hosts(5)):
        court.hear(seen(host, fronts, [f"{host}.edgekey.net"], headers=LOOKS[number]))
    assert len(court.origins(hosts(5))) == 5


def test_a_few_sites_that_an_edge_serves_from_a_shared_host_do_not_make_it_an_edge() -> None:
    court = Court()
    court.hear(seen(host, ["203.0.113.1"]) for host in hosts(100))
    court.hear(seen(host, ["203.0.113.1"], [f"{host}.b-cdn.net"]) for host in hosts(5, "e"))
    assert court.origins(hosts(100)) == {"origin:203.0.113.1"}


def test_the_misses_of_a_host_go_where_the_rest_of_its_domain_is_if_that_is_one_place() -> None:
    court = Court()
    court.hear(seen("www.a.com", [EDGE_ADDRESS]))
    assert court.place("www.a.com").origin == "origin:a.com"
    court.hear(seen("shop.a.com", ["203.0.113.7"]))
    placement = court.place("www.a.com")
    assert (placement.origin, placement.located) == ("origin:203.0.113.7", True)
    court.hear(seen("mail.a.com", ["198.51.100.1"]))
    assert court.place("www.a.com").origin == "origin:a.com"


def test_two_hosts_of_one_domain_behind_an_edge_share_their_domains_origin() -> None:
    court = Court()
    court.hear([seen("www.a.com", [EDGE_ADDRESS]), seen("img.a.com", [OTHER_EDGE_ADDRESS])])
    court.hear([seen("a.github.io", ["185.199.108.153"]), seen("b.github.io", ["185.199.108.153"])])
    assert court.origins(["www.a.com", "img.a.com"]) == {"origin:a.com"}
    assert court.origins(["a.github.io", "b.github.io"]) == {"origin:a.github.io", "origin:b.github.io"}


@pytest.mark.parametrize(("threshold", "located"), [(0.8, True), (0.81, True), (0.9, False)])
def test_below_the_threshold_a_host_is_its_domains(threshold: float, located: bool) -> None:
    judge = Judge(threshold)
    ages: dict[str, int] = {}
    for host in hosts(5):
        points = pointing(seen(host, [EDGE_ADDRESS], headers=PLATFORM), NOW)
        for anchor in points.weak:
            ages.setdefault(anchor, len(ages))
        judge.learn(host, points, ages)
    placement = judge.place("www.t0.com")
    assert placement.located is located
    assert placement.confidence == (0.81 if located else 0.5)


def test_a_host_that_moves_takes_its_own_time_and_nobody_with_it() -> None:
    court = Court()
    court.hear(seen(host, ["203.0.113.1"]) for host in hosts(20))
    moving = seen("www.moves.com", ["203.0.113.1"])
    court.hear(moving)
    moving = looked_up(moving, Lookup((), ("198.51.100.1",), TTL, NOW + 10))
    court.hear(moving, NOW + 10)
    assert court.place("www.moves.com").origin == "origin:203.0.113.1"
    court.hear(moving, NOW + 11 + TTL)
    assert court.place("www.moves.com").origin == "origin:198.51.100.1"
    assert court.origins(hosts(20)) == {"origin:203.0.113.1"}


def test_hosts_that_were_not_learned_are_not_placed() -> None:
    judge = Judge()
    assert not judge.knows("a.com")
    judge.forget("a.com")
    with pytest.raises(KeyError):
        judge.place("a.com")


def test_a_host_without_any_evidence_is_its_domains() -> None:
    judge = Judge()
    judge.learn("www.a.com", Pointing(), {})
    assert judge.place("www.a.com").origin == "origin:a.com"
    assert judge.hosts_of("origin:a.com") == ["www.a.com"]


def test_an_unknown_edge_is_suspected_and_changes_nothing_until_it_is_confirmed() -> None:
    court = Court()
    fronts = [f"203.0.113.{n}" for n in range(4)]
    evidence = [
        seen(host, [fronts[n % 4], fronts[(n + 1) % 4]], headers={**LOOKS[n % 60], "x-regiocdn": "1"})
        for n, host in enumerate(hosts(120))
    ]
    court.hear(evidence)
    assert len(court.origins(hosts(120))) == 1
    (suspect,) = court.judge.suspected_edges()
    assert (suspect.addresses, suspect.sites, suspect.brand) == (tuple(fronts), 120, "x-regiocdn")
    name, _, value = suspect.line.partition(" = ")
    assert name == "POLITE_EDGES"
    table = KNOWN.with_rows(own_edges(ast.literal_eval(value)))
    confirmed = [pointing(each, NOW, table) for each in evidence]
    assert not any(points.strong for points in confirmed)
    assert all(points.edge is not None and points.edge.provider == "regiocdn" for points in confirmed)


def test_a_platform_on_one_address_is_no_suspect() -> None:
    court = Court()
    court.hear(seen(host, ["203.0.113.7"], headers=PLATFORM) for host in hosts(50))
    assert court.judge.suspected_edges() == []


@pytest.mark.parametrize("entry", [e for e in KNOWN.entries() if e.network is not None][::7], ids=str)
def test_no_published_address_of_an_edge_is_an_anchor(entry: object) -> None:
    network = entry.network  # type: ignore[attr-defined]
    for address in (network[0], network[-1]):
        points = pointing(looked_up(Evidence("www.a.com"), Lookup((), (str(address),), TTL, NOW)), NOW)
        assert points.strong == ()
        assert points.edge is not None


@pytest.mark.parametrize(
    ("address", "chain"),
    [("34.102.136.180", ()), ("35.190.0.1", ()), ("52.1.2.3", ("x-1.us-east-1.elb.amazonaws.com",)), ("93.184.216.34", ())],
)
def test_rented_machines_and_balancers_are_no_edge(address: str, chain: tuple[str, ...]) -> None:
    points = pointing(looked_up(Evidence("www.a.com"), Lookup(chain, (address,), TTL, NOW)), NOW)
    assert points.edge is None
    assert points.strong == (*(f"cname:{name}" for name in chain), f"address:{address}")


def test_crowds_that_shrink_towards_what_they_have_in_common_become_one_origin() -> None:
    court = Court()
    both = hosts(2, "both")
    court.hear(seen(host, ["203.0.113.1", "203.0.113.2"]) for host in both)
    for address, prefix in (("203.0.113.1", "a"), ("203.0.113.2", "b")):
        court.hear(seen(host, [address]) for host in hosts(28, prefix))
    assert len(court.origins(hosts(28, "a") + hosts(28, "b"))) == 2
    for host in hosts(28, "a")[20:]:
        court.judge.forget(host)
    assert len(court.origins(hosts(20, "a") + hosts(28, "b"))) == 2
    for host in hosts(28, "a")[18:20]:
        court.judge.forget(host)
    assert len(court.origins(hosts(18, "a") + hosts(28, "b"))) == 1


def test_a_marker_gathers_what_customers_have_at_an_edge_until_its_servers_are_found() -> None:
    court = Court()
    court.hear(seen(host, ["13.224.0.1"], [f"d{n}abc.cloudfront.net"], headers=PLATFORM) for n, host in enumerate(hosts(6)))
    assert len(court.origins(hosts(6))) == 1
    court.hear(seen(host, [f"198.51.{n}.7"], headers=PLATFORM) for n, host in enumerate(hosts(3, "d")))
    assert len(court.origins(hosts(6))) == 6


def test_an_anchor_that_lives_again_alone_has_its_name_back() -> None:
    court = Court()
    court.hear(seen("a.com", ["203.0.113.1", "203.0.113.2"]))
    assert court.origins(["a.com"]) == {"origin:203.0.113.1"}
    court.hear(seen("a.com", ["203.0.113.2"]))
    assert court.changes() == [("merge", "origin:203.0.113.1", "origin:203.0.113.2")]
    court.hear(seen("b.com", ["203.0.113.1"]))
    assert court.changes() == [("split", "origin:203.0.113.1", "origin:203.0.113.2")]
    assert court.origins(["a.com", "b.com"]) == {"origin:203.0.113.1", "origin:203.0.113.2"}


def test_what_lies_behind_a_self_service_name_is_how_the_platform_is_made() -> None:
    court = Court()
    front = "waws-prod-am2-21.sip.azurewebsites.windows.net"
    court.hear(seen(host, ["203.0.113.5"], [f"{host[4:6]}.azurewebsites.net", front]) for host in hosts(5))
    assert len(court.origins(hosts(5))) == 5


def test_a_site_is_located_where_it_answered() -> None:
    court = Court()
    for number, host in enumerate(hosts(9)):
        court.hear(seen(host, [f"198.51.{number}.7", "203.0.113.7"], headers=PLATFORM, peer="203.0.113.7"))
    court.hear(seen("hidden.com", [EDGE_ADDRESS], headers=PLATFORM))
    assert court.place("hidden.com").origin == "origin:203.0.113.7"
