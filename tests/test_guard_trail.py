"""Every rule that was looked at, the range that a refusal rests on, and the setting that would admit what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.guard import Policy
from scrapy_polite.guard.allowing import allowed_from
from scrapy_polite.guard.ranges import IPV4_ROWS, IPV6_ROWS
from scrapy_polite.guard.remedies import FINAL, UNKNOWN, Remedy, remedy
from scrapy_polite.guard.trail import OPENED, answer_checks, found_by, target_checks
from scrapy_polite.naming import Target, parse

PLAIN = Policy()


def target_of(url: str) -> Target:
    target = parse(url)
    assert isinstance(target, Target)
    return target


def policy_with(*allow: str, deny: tuple[str, ...] = (), ports: frozenset[int] = PLAIN.ports) -> Policy:
    allowed = allowed_from(allow)
    return Policy(allow=allowed.networks, rules=allowed.rules, deny=tuple(map(ip_network, deny)), ports=ports)


def after(policy: Policy, line: str) -> Policy:
    """The policy of a project that has put the line into its settings."""
    name, _, value = line.partition(" = ")
    if name == "POLITE_ALLOW_PORTS":
        return replace(policy, ports=frozenset(json.loads(value)))
    assert name == "POLITE_ALLOW_NETWORKS"
    allowed = allowed_from(json.loads(value))
    return Policy(allow=allowed.networks, rules=allowed.rules, deny=policy.deny, ports=policy.ports)


# -- what was looked at


def test_a_plain_url_is_held_against_four_rules_and_none_says_anything() -> None:
    checks = target_checks(PLAIN, target_of("https://www.shop.example/a?b"))
    assert [(check["check"], check["of"]) for check in checks] == [
        ("scheme", "https"),
        ("name", "www.shop.example"),
        ("userinfo", "none"),
        ("port", "443"),
    ]
    assert all(check["passes"] and check["rule"] is check["range"] is check["why"] is None for check in checks)


def test_all_rules_are_asked_though_the_judgement_stops_at_the_first() -> None:
    checks = target_checks(PLAIN, target_of("ftp://u:p@10.1.2.3:2121/"))
    assert [check["rule"] for check in checks] == ["scheme", "private", "userinfo", "port"]


@pytest.mark.parametrize(
    ("url", "rule", "covers"),
    [
        ("http://10.1.2.3/", "private", "10.0.0.0/8"),
        ("http://0x7f.1/", "loopback", "127.0.0.0/8"),
        ("http://localhost/", "loopback", "127.0.0.0/8"),
        ("http://169.254.169.254/", "metadata", "169.254.169.254"),
        ("http://169.254.1.1/", "link_local", "169.254.0.0/16"),
        ("http://[fd00::1]/", "private", "fc00::/7"),
        ("http://[4000::1]/", "unallocated", "4000::/2"),
        ("http://[2001:1::1]/", "protocol", "2001:1::1/128"),
        ("http://[64:ff9b::a00:1]/", "private", "10.0.0.0/8"),
        ("http://[64:ff9b::a9fe:a9fe]/", "metadata", "169.254.169.254"),
        ("http://[64:ff9b::808:808]/", "embedded", "64:ff9b::/96"),
        ("http://[2606:2800::5efe:808:808]/", "embedded", None),
        ("http://metadata.google.internal/", "metadata", "metadata.google.internal"),
        ("http://wiki.corp/", "special_name", "corp"),
        ("http://a.b.svc/", "special_name", "svc"),
        ("http://wiki/", "special_name", None),
        ("http://203.0.114.9/", "operator_deny", "203.0.114.0/24"),
        ("http://[::ffff:203.0.114.9]/", "operator_deny", "203.0.114.0/24"),
        ("http://[2002:cb00:7209::]/", "operator_deny", "203.0.114.0/24"),
    ],
)
def test_the_range_that_a_refusal_rests_on(url: str, rule: str, covers: str | None) -> None:
    policy, target = policy_with(deny=("203.0.114.0/24",)), target_of(url)
    refused = policy.judge_target(target)
    assert refused is not None
    check = found_by(target_checks(policy, target), refused)
    assert check is not None
    assert (check["rule"], check["range"], check["why"]) == (rule, covers, refused.detail)


@pytest.mark.parametrize(
    ("url", "opened"),
    [
        ("http://10.1.2.3/", "10.1.0.0/16"),
        ("http://10.9.9.9:81/", "10.9.9.9:81=10.9.9.9/32"),
        ("http://[fd00::1]:82/", "[fd00::1]:82=fd00::1/128"),
        ("http://wiki.corp:8443/", "wiki.corp:8443=10.1.2.3/32"),
    ],
)
def test_what_an_operator_has_opened_is_named_as_he_wrote_it(url: str, opened: str) -> None:
    policy = policy_with("10.1.0.0/16", "10.9.9.9:81=10.9.9.9", "[fd00::1]:82=fd00::1", "wiki.corp:8443=10.1.2.3")
    checks = target_checks(policy, target_of(url))
    assert all(check["passes"] for check in checks)
    assert [(check["rule"], check["range"]) for check in checks if check["rule"]] == [(OPENED, opened)]


def test_every_name_and_every_address_of_an_answer_has_its_verdict() -> None:
    own, prefix = ip_address("93.184.216.36"), ip_network("2a00:64::/96")
    answer = [ip_address(text) for text in ("93.184.216.34", "10.0.0.1", "2a00:64::a00:2", "93.184.216.36")]
    chain = ("www.cdn.example", "inside.corp", "localhost", "not..canonical")
    checks = answer_checks(PLAIN, target_of("http://shop.example/"), answer, chain, (own,), (prefix,))  # type: ignore[arg-type]
    assert [(check["check"], check["rule"], check["range"]) for check in checks] == [
        ("cname", None, None),
        ("cname", "special_name", "corp"),
        ("cname", "loopback", "127.0.0.0/8"),
        ("cname", "bad_host", None),
        ("address", None, None),
        ("address", "private", "10.0.0.0/8"),
        ("address", "private", "10.0.0.0/8"),
        ("address", "own_interface", None),
    ]


ADDRESSES = st.one_of(
    st.sampled_from([row.network for row in (*IPV4_ROWS, *IPV6_ROWS)]).flatmap(
        lambda network: st.integers(0, network.num_addresses - 1).map(lambda at: network[at])
    ),
    st.integers(0, 2**32 - 1).map(IPv4Address),
    st.integers(2**125, 2**125 + 2**124).map(IPv6Address),
    st.sampled_from(["64:ff9b::a00:1", "2002:a00:1::1", "::ffff:0:10.0.0.1", "2001:0:808:808::f5ff:fffe"]).map(ip_address),
)
POLICIES = st.sampled_from(
    [
        PLAIN,
        policy_with("10.0.0.0/9", "shop.example=10.200.0.0/16", "shop.example:81=10.201.0.0/16"),
        policy_with("64:ff9b::/96", deny=("100.64.0.0/10", "2a00::/16")),
        policy_with(ports=frozenset({443})),
    ]
)
PORTS = st.sampled_from([80, 443, 81, 9000, 65535])


def verdict(policy: Policy, target: Target, *answer: object) -> str | None:
    refused = policy.judge_target(target)
    if refused is None and answer:
        refused = policy.judge_answer(answer[0], answer[1], target.host, target.port, *answer[2:])  # type: ignore[arg-type]
    return refused and refused.reason


@settings(deadline=None, max_examples=400)
@given(address=ADDRESSES, port=PORTS, policy=POLICIES, scheme=st.sampled_from(["http", "https", "ftp"]), user=st.booleans())
def test_the_first_rule_that_refuses_is_the_judgement(
    address: IPv4Address | IPv6Address, port: int, policy: Policy, scheme: str, user: bool
) -> None:
    host = f"[{address}]" if address.version == 6 else address
    target = target_of(f"{scheme}://{'me@' * user}{host}:{port}/")
    refused = policy.judge_target(target)
    failed = [check for check in target_checks(policy, target) if not check["passes"]]
    assert (
        (refused and (refused.reason, refused.detail)) == (failed[0]["rule"], failed[0]["why"]) if failed else refused is None
    )


# -- what would admit it


@pytest.mark.parametrize(
    ("url", "line", "note"),
    [
        ("http://10.1.2.3/", 'POLITE_ALLOW_NETWORKS = ["10.1.2.3:80=10.1.2.3/32"]', None),
        ("https://10.1.2.3:9000/", 'POLITE_ALLOW_NETWORKS = ["10.1.2.3:9000=10.1.2.3/32"]', None),
        ("http://8.8.8.8:9000/", 'POLITE_ALLOW_NETWORKS = ["8.8.8.8:9000=8.8.8.8/32"]', None),
        ("http://[fd00::1]/", 'POLITE_ALLOW_NETWORKS = ["[fd00::1]:80=fd00::1/128"]', None),
        (
            "http://[64:ff9b::a00:1]/",
            'POLITE_ALLOW_NETWORKS = ["[64:ff9b::a00:1]:80=64:ff9b::a00:1/128", "[64:ff9b::a00:1]:80=10.0.0.1/32"]',
            None,
        ),
        ("http://localhost:8080/", 'POLITE_ALLOW_NETWORKS = ["localhost:8080=127.0.0.1/32"]', None),
        ("http://shop.example:9000/", "POLITE_ALLOW_PORTS = [80, 443, 8080, 8443, 9000]", None),
        ("http://wiki.corp:9000/", 'POLITE_ALLOW_NETWORKS = ["wiki.corp:9000=ADDRESS"]', "Put its address"),
        ("http://me@10.1.2.3/", 'POLITE_ALLOW_NETWORKS = ["10.1.2.3:80=10.1.2.3/32"]', "Leave user name"),
        ("http://me@shop.example/", None, "Leave user name"),
        ("http://169.254.169.254/", None, "No setting opens a metadata service."),
        ("http://metadata.goog/", None, "No setting opens a metadata service."),
        ("http://a.onion/", None, "No setting opens it: .onion is a Tor service"),
        ("ftp://shop.example/", None, "No setting opens another scheme."),
        ("http://shop.example:0/", None, "No setting opens port 0."),
    ],
)
def test_the_line_that_would_admit_a_url(url: str, line: str | None, note: str | None) -> None:
    target = target_of(url)
    found = remedy(PLAIN, target, target_checks(PLAIN, target))
    assert found.line == line
    assert (found.note or "").startswith(note or "")
    assert (found.note is None) == (note is None)


def test_what_is_set_already_stays_in_the_line() -> None:
    policy = policy_with("10.8.0.0/16", "wiki.corp=10.1.2.0/24", "[fd00::1]:9000=fd00::1")
    target = target_of("http://10.1.2.3/")
    assert remedy(policy, target, target_checks(policy, target)) == Remedy(
        'POLITE_ALLOW_NETWORKS = ["10.8.0.0/16", "wiki.corp=10.1.2.0/24", "[fd00::1]:9000=fd00::1/128", '
        '"10.1.2.3:80=10.1.2.3/32"]',
        None,
    )


def test_another_port_of_a_host_that_is_named_is_opened_for_that_host_alone() -> None:
    policy, target = policy_with("wiki.corp:8443=10.1.2.3"), target_of("http://wiki.corp:9000/")
    assert remedy(policy, target, target_checks(policy, target)) == Remedy(
        'POLITE_ALLOW_NETWORKS = ["wiki.corp:8443=10.1.2.3/32", "wiki.corp:9000=10.1.2.3/32"]', None
    )


def test_a_denied_network_is_named_since_nothing_else_helps() -> None:
    policy, target = policy_with("10.0.0.0/8", deny=("10.1.0.0/16",)), target_of("http://10.1.2.3/")
    line, note = remedy(policy, target, target_checks(policy, target))
    assert line is None
    assert note == "Take 10.1.0.0/16 out of POLITE_DENY_NETWORKS, which wins over all that is allowed."


@settings(deadline=None, max_examples=600)
@given(address=ADDRESSES, port=PORTS, policy=POLICIES)
def test_the_line_admits_the_address_that_was_refused(address: IPv4Address | IPv6Address, port: int, policy: Policy) -> None:
    target = target_of(f"http://{f'[{address}]' if address.version == 6 else address}:{port}/")
    checks = target_checks(policy, target)
    if policy.judge_target(target) is None:
        return
    assert target.address is not None
    line, note = remedy(policy, target, checks, (target.address,))
    if line is None:
        assert note is not None
        assert {check["rule"] for check in checks} & {*FINAL, "operator_deny"}
    else:
        assert verdict(after(policy, line), target, (target.address,), ()) is None


@settings(deadline=None, max_examples=600)
@given(
    addresses=st.lists(ADDRESSES, min_size=1, max_size=4, unique=True),
    chain=st.lists(st.sampled_from(["cdn.example", "x.corp", "y.internal", "localhost", "z.onion"]), max_size=2),
    port=PORTS,
    policy=POLICIES,
    own=st.booleans(),
    nat64=st.booleans(),
    host=st.sampled_from(["shop.example", "wiki.corp", "localhost"]),
)
def test_the_line_admits_a_host_whose_answer_was_refused(
    addresses: list[IPv4Address | IPv6Address],
    chain: list[str],
    port: int,
    policy: Policy,
    own: bool,
    nat64: bool,
    host: str,
) -> None:
    target = target_of(f"http://{host}:{port}/")
    mine = (addresses[-1],) if own else ()
    prefixes = (ip_network("2000::/32"), ip_network("2a00:64::/96")) if nat64 else ()
    rest = (addresses, chain, mine, prefixes)
    checks = [*target_checks(policy, target), *answer_checks(policy, target, addresses, chain, mine, prefixes)]  # type: ignore[arg-type]
    if all(check["passes"] for check in checks):
        assert verdict(policy, target, *rest) is None
        return
    line, note = remedy(policy, target, checks, addresses, mine, prefixes)  # type: ignore[arg-type]
    if line is None:
        assert note is not None
        assert {check["rule"] for check in checks} & {*FINAL, "operator_deny"} or "z.onion" in chain
        return
    admitted = after(policy, line.replace(UNKNOWN, "10.1.2.3"))
    if line.startswith("POLITE_ALLOW_PORTS"):
        assert admitted.judge_target(target) is None
    else:
        assert verdict(admitted, target, *rest) is None
