"""What an operator opens: networks for every host, and addresses for one host on one port."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from scrapy.settings import Settings

from scrapy_polite.config import Config
from scrapy_polite.guard import Policy
from scrapy_polite.guard.allowing import Allowed, HostRule, allowed_from
from scrapy_polite.naming import parse


def policy(*items: str, ports: tuple[int, ...] = (80, 443), deny: tuple[str, ...] = ()) -> Policy:
    allowed = allowed_from(items)
    return Policy(
        allow=allowed.networks, rules=allowed.rules, ports=frozenset(ports), deny=tuple(ip_network(net) for net in deny)
    )


def verdict(policy: Policy, url: str, *addresses: str, chain: tuple[str, ...] = ()) -> str | None:
    """The reason with which the URL is refused, when its host has these addresses."""
    target = parse(url)
    refused = policy.judge_target(target)
    if refused is None and addresses:
        refused = policy.judge_answer([ip_address(one) for one in addresses], chain, target.host, target.port)  # type: ignore[union-attr]
    return refused.reason if refused else None


@pytest.mark.parametrize(
    ("item", "meant"),
    [
        ("10.0.0.0/8", ip_network("10.0.0.0/8")),
        (" fd00::/8 ", ip_network("fd00::/8")),
        ("10.1.2.3", ip_network("10.1.2.3/32")),
        ("intranet.example=10.1.2.3/32", HostRule("intranet.example", 0, ip_network("10.1.2.3/32"))),
        ("intranet.example:8443=10.1.2.3/32", HostRule("intranet.example", 8443, ip_network("10.1.2.3/32"))),
        (" Intranet.Example. = 10.1.2.0/24 ", HostRule("intranet.example", 0, ip_network("10.1.2.0/24"))),
        ("bücher.example=10.0.0.1", HostRule("xn--bcher-kva.example", 0, ip_network("10.0.0.1/32"))),
        ("wiki=10.0.0.1", HostRule("wiki", 0, ip_network("10.0.0.1/32"))),
        ("10.1.2.3:9000=10.1.2.3/32", HostRule("10.1.2.3", 9000, ip_network("10.1.2.3/32"))),
        ("[fd00::1]:9000=fd00::1/128", HostRule("fd00::1", 9000, ip_network("fd00::1/128"))),
        ("[fd00::1]=fd00::1", HostRule("fd00::1", 0, ip_network("fd00::1/128"))),
        ("fd00::1=fd00::1", HostRule("fd00::1", 0, ip_network("fd00::1/128"))),
        ("localhost:9000=127.0.0.1", HostRule("localhost", 9000, ip_network("127.0.0.1/32"))),
    ],
)
def test_forms_of_what_is_opened(item: str, meant: object) -> None:
    networks, rules = allowed_from([item])
    assert (*networks, *rules) == (meant,)


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ("", "''"),
        ("10.0.0.1/8", "has host bits set"),
        ("intranet.example", "does not appear to be an IPv4 or IPv6 network"),
        ("intranet.example=", "does not appear to be an IPv4 or IPv6 network"),
        ("=10.0.0.0/8", "The host is empty"),
        (":8443=10.0.0.0/8", "The host is empty"),
        ("intranet.example:=10.0.0.0/8", "neither HOST nor HOST:PORT"),
        ("[fd00::1]9000=fd00::1", "neither HOST nor HOST:PORT"),
        ("[fd00::1]:=fd00::1", "neither HOST nor HOST:PORT"),
        ("[fd00::1=fd00::1", "more than an IPv6 address in brackets"),
        ("intranet.example:0=10.0.0.0/8", "'0' is no port"),
        ("intranet.example:65536=10.0.0.0/8", "'65536' is no port"),
        ("intranet.example:http=10.0.0.0/8", "'http' is no port"),
        ("http://intranet.example=10.0.0.0/8", "not a bare host"),
        ("u@intranet.example=10.0.0.0/8", "not a bare host"),
        ("*.example=10.0.0.0/8", "characters other than"),
        ("a..example=10.0.0.0/8", "two dots in a row"),
        ("169.254.169.254/32", "no setting opens"),
        ("fd00:ec2::254", "no setting opens"),
        ("imds.example=169.254.169.254", "no setting opens"),
        ("metadata.google.internal=10.0.0.1", "no setting opens"),
        ("x.onion=10.0.0.1", ".onion is a Tor service"),
    ],
)
def test_a_wrong_item_is_named_with_what_is_wrong(item: str, why: str) -> None:
    with pytest.raises(ValueError, match="POLITE_ALLOW_NETWORKS") as error:
        Config.from_settings(Settings({"POLITE_ALLOW_NETWORKS": ["10.0.0.0/8", item]}))
    assert repr(item) in str(error.value)
    assert why in str(error.value)
    assert "HOST:PORT=" in str(error.value)


def test_the_setting_takes_both_forms_also_on_the_command_line() -> None:
    for given in (["10.0.0.0/8", "a.example:81=192.168.0.1"], '["10.0.0.0/8", "a.example:81=192.168.0.1"]'):
        found = Config.from_settings(Settings({"POLITE_ALLOW_NETWORKS": given})).policy
        assert Allowed(found.allow, found.rules) == allowed_from(["10.0.0.0/8", "a.example:81=192.168.0.1"])


INTRANET = policy("intranet.example:8443=10.1.2.3/32")


@pytest.mark.parametrize(
    ("url", "address", "reason"),
    [
        ("https://intranet.example:8443/", "10.1.2.3", None),
        ("https://INTRANET.example.:8443/", "10.1.2.3", None),
        ("https://intranet.example:8443/", "10.1.2.4", "private"),
        ("https://intranet.example/", "10.1.2.3", "private"),
        ("https://intranet.example:8444/", "10.1.2.3", "port"),
        ("https://other.example:8443/", "10.1.2.3", "port"),
        ("https://sub.intranet.example:8443/", "10.1.2.3", "port"),
        ("https://other.example/", "10.1.2.3", "private"),
        ("https://10.1.2.3:8443/", "10.1.2.3", "private"),
        # The port is open for the network that was named with it, not for wherever the name may lead.
        ("https://intranet.example:8443/", "8.8.8.8", "port"),
        ("https://intranet.example/", "8.8.8.8", None),
    ],
)
def test_an_address_may_be_opened_for_one_host_on_one_port(url: str, address: str, reason: str | None) -> None:
    assert verdict(INTRANET, url, address) == reason


def test_a_rule_without_a_port_holds_on_the_ports_that_are_open_to_all() -> None:
    found = policy("intranet.example=10.0.0.0/8")
    assert verdict(found, "http://intranet.example/", "10.1.2.3") is None
    assert verdict(found, "https://intranet.example/", "10.1.2.3") is None
    assert verdict(found, "https://intranet.example:8443/", "10.1.2.3") == "port"


def test_rules_for_one_host_add_up() -> None:
    found = policy("a.example=10.0.0.0/24", "a.example:81=10.0.1.0/24", "a.example:82=10.0.2.0/24", "b.example=10.0.3.0/24")
    assert verdict(found, "http://a.example:81/", "10.0.1.1") is None
    assert verdict(found, "http://a.example:81/", "10.0.1.1", "10.0.0.1") == "port"
    assert verdict(found, "http://a.example:82/", "10.0.1.1") == "private"
    assert verdict(found, "http://a.example/", "10.0.3.1") == "private"
    assert verdict(found, "http://b.example/", "10.0.3.1") is None


def test_one_address_outside_of_the_rule_refuses_the_host() -> None:
    assert verdict(INTRANET, "https://intranet.example:8443/", "10.1.2.3", "10.9.9.9") == "private"


def test_a_rule_opens_the_name_that_it_names() -> None:
    found = policy("wiki=10.0.0.1", "db.corp=10.0.0.2")
    assert verdict(found, "http://wiki/", "10.0.0.1") is None
    assert verdict(found, "http://db.corp/", "10.0.0.2") is None
    assert verdict(found, "http://other/") == "special_name"
    assert verdict(found, "http://other.corp/") == "special_name"
    assert verdict(found, "http://sub.wiki.corp/") == "special_name"


def test_a_name_that_is_opened_may_stand_in_a_chain_and_opens_no_address_by_that() -> None:
    found = policy("intranet.example=10.0.0.2", "web.corp=10.0.0.2")
    assert verdict(found, "http://intranet.example/", "10.0.0.2", chain=("web.corp",)) is None
    assert verdict(found, "http://stranger.example/", "10.0.0.2", chain=("web.corp",)) == "private"
    assert verdict(policy("intranet.example=10.0.0.2"), "http://intranet.example/", "10.0.0.2", chain=("web.corp",)) == (
        "special_name"
    )


def test_a_literal_and_localhost_may_be_opened_on_one_port() -> None:
    found = policy("10.1.2.3:9000=10.1.2.3/32", "localhost:9001=127.0.0.1", "[fd00::1]:9002=fd00::1")
    assert verdict(found, "http://10.1.2.3:9000/", "10.1.2.3") is None
    assert verdict(found, "http://10.1.2.3/") == "private"
    assert verdict(found, "http://0x0a010203:9000/", "10.1.2.3") is None
    assert verdict(found, "http://localhost:9001/", "127.0.0.1") is None
    assert verdict(found, "http://localhost/") == "loopback"
    assert verdict(found, "http://127.0.0.1:9001/") == "loopback"
    assert verdict(found, "http://[FD00::1]:9002/", "fd00::1") is None
    assert verdict(found, "http://[fd00::1]/") == "private"


def test_metadata_and_the_operators_deny_come_before_a_rule() -> None:
    found = policy("a.example:81=0.0.0.0/0", "a.example:81=::/0", deny=("10.9.0.0/16",))
    url = "http://a.example:81/"
    assert verdict(found, url, "10.1.0.1") is None
    assert verdict(found, url, "10.9.0.1") == "operator_deny"
    assert verdict(found, url, "169.254.169.254") == "metadata"
    assert verdict(found, url, "fd00:ec2::254") == "metadata"
    assert verdict(found, url, "::ffff:169.254.169.254") == "metadata"
    assert verdict(found, url, "64:ff9b::a09:1") == "operator_deny"
    assert verdict(found, url, "10.1.0.1", chain=("metadata.google.internal",)) == "metadata"


def test_a_rule_for_an_ipv4_network_does_not_open_its_disguises() -> None:
    found = policy("a.example=10.0.0.0/8")
    for disguise in ("64:ff9b::a00:1", "::ffff:a00:1", "::a00:1", "2002:a00:1::1", "fe80::5efe:a00:1"):
        assert verdict(found, "http://a.example/", disguise) is not None, disguise


def test_without_a_target_no_rule_has_a_say() -> None:
    assert INTRANET.judge_address(ip_address("10.1.2.3")) is not None
    assert INTRANET.judge_address(ip_address("10.1.2.3"), "intranet.example", 8443) is None


OWN = ip_address("93.184.216.34")


def test_a_public_address_of_this_machine_is_refused_unless_it_is_opened() -> None:
    def judged(found: Policy, port: int = 80) -> str | None:
        refused = found.judge_answer([ip_address("8.8.8.8"), OWN], (), "a.example", port, own={OWN})
        return refused.reason if refused else None

    assert judged(Policy()) == "own_interface"
    assert judged(policy("93.184.216.0/24")) is None
    assert judged(policy("a.example=93.184.216.34")) is None
    assert judged(policy("b.example=93.184.216.34")) == "own_interface"
    assert judged(policy("a.example:81=93.184.216.34")) == "own_interface"
    assert Policy().judge_answer([ip_address("8.8.8.8")], (), "a.example", 80, own={OWN}) is None


def test_an_address_of_this_machine_is_seen_also_inside_another() -> None:
    behind = ip_address("64:ff9b::93.184.216.34")
    refused = policy("64:ff9b::/96").judge_answer([behind], (), "a.example", 80, own={OWN})
    assert refused is not None
    assert (refused.reason, refused.detail) == ("own_interface", f"{OWN} is an address of this machine.")
    assert policy("64:ff9b::/96").judge_answer([behind], (), "a.example", 80) is None


def test_of_several_refusals_a_metadata_service_is_named() -> None:
    """Report-only mode lets the others through, and what is let through is dialled."""
    addresses = [ip_address(one) for one in ("10.0.0.1", "8.8.8.8", "169.254.169.254")]
    for chain in ((), ("printer.local",), ("a b",)):
        refused = Policy().judge_answer(addresses, chain)
        assert refused is not None
        assert refused.reason == "metadata"
