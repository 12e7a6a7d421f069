"""The resolver against a scripted name server on loopback, over real sockets."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from typing import TYPE_CHECKING

import pytest
from nameserver import Script, name_server

from scrapy_polite.dns import Answer, NoAnswer, Resolver
from scrapy_polite.dns.servers import make_stub, parse_server

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def ask(host: str, prepare: Callable[[Script], object] = id, timeout: float = 5.0) -> tuple[Answer | NoAnswer, Script]:
    """One look-up with a clock that stands at 1000."""

    async def run() -> tuple[Answer | NoAnswer, Script]:
        async with name_server() as (script, server):
            prepare(script)
            resolver = Resolver([server], timeout, Clock())
            found = await resolver.resolve(host)
            await resolver.close()
            return found, script

    return asyncio.run(run())


def refusal(host: str, prepare: Callable[[Script], object] = id, timeout: float = 5.0) -> NoAnswer:
    found, _ = ask(host, prepare, timeout)
    assert isinstance(found, NoAnswer), found
    assert found.host == host
    return found


def test_a_and_aaaa_are_asked_together_and_joined() -> None:
    def prepare(script: Script) -> None:
        script.add("a.test", (300, "A", "127.20.0.1"), (300, "A", "127.20.0.2"), (200, "AAAA", "2001:db8::1"))

    found, script = ask("a.test", prepare)
    assert isinstance(found, Answer)
    assert (found.chain, found.expires) == ((), 1200.0)
    assert set(map(str, found.addresses[:2])) == {"127.20.0.1", "127.20.0.2"}  # in the server's order, which it may turn
    assert str(found.addresses[2]) == "2001:db8::1"
    assert len(found.addresses) == 3
    assert sorted(script.asked) == [("a.test", "A", "udp"), ("a.test", "AAAA", "udp")]


def test_the_chain_is_told_in_order_and_in_canonical_form() -> None:
    def prepare(script: Script) -> None:
        script.add("www.a.test", (300, "CNAME", "WWW.a.edge.test."))
        script.add("www.a.edge.test", (60, "CNAME", "Pop7.edge.test."))
        script.add("pop7.edge.test", (900, "A", "127.20.0.1"))

    found, _ = ask("www.a.test", prepare)
    assert found == Answer("www.a.test", (ip_address("127.20.0.1"),), ("www.a.edge.test", "pop7.edge.test"), 1060.0)


def test_chains_that_differ_by_type_are_both_told() -> None:
    async def run() -> None:
        async with name_server() as (script, server):
            script.add("v4.test", (300, "A", "127.20.0.1"))
            script.add("v6.test", (300, "AAAA", "2001:db8::1"))
            resolver = Resolver([server])
            script.by_type["a.test"] = {"A": (300, "CNAME", "v4.test."), "AAAA": (300, "CNAME", "v6.test.")}
            found = await resolver.resolve("a.test")
            assert isinstance(found, Answer)
            assert found.chain == ("v6.test", "v4.test")
            assert len(found.addresses) == 2

    asyncio.run(run())


@pytest.mark.parametrize(("ttl", "expires"), [(0, 1005.0), (4, 1005.0), (5, 1005.0), (3600, 4600.0), (86400, 4600.0)])
def test_an_answer_lives_between_floor_and_ceiling(ttl: int, expires: float) -> None:
    found, _ = ask("a.test", lambda script: script.add("a.test", (ttl, "A", "127.20.0.1")))
    assert found.expires == expires


def test_the_cache_answers_until_the_ttl_is_over() -> None:
    async def run() -> None:
        async with name_server() as (script, server):
            clock = Clock()
            script.add("a.test", (60, "A", "127.20.0.1"))
            resolver = Resolver([server], clock=clock)
            assert resolver.cached("a.test") is None
            first = await resolver.resolve("a.test")
            script.records["a.test"] = [(60, "A", "127.0.0.1")]  # rebinding
            clock.now += 59.9
            assert await resolver.resolve("a.test") is first
            assert resolver.cached("a.test") is first
            assert len(script.asked) == 2
            clock.now += 0.1
            assert resolver.cached("a.test") is None
            second = await resolver.resolve("a.test")
            assert isinstance(second, Answer)
            assert second.addresses == (ip_address("127.0.0.1"),)

    asyncio.run(run())


def test_the_cache_is_bounded_and_drops_what_is_least_used() -> None:
    async def run() -> None:
        async with name_server() as (script, server):
            resolver = Resolver([server], capacity=2)
            for host in ("a.test", "b.test", "c.test"):
                script.add(host, (60, "A", "127.20.0.1"))
            await resolver.resolve("a.test")
            await resolver.resolve("b.test")
            await resolver.resolve("a.test")
            await resolver.resolve("c.test")
            assert [bool(resolver.cached(host)) for host in ("a.test", "b.test", "c.test")] == [True, False, True]

    asyncio.run(run())


def test_one_flight_serves_all_who_ask_at_the_same_time() -> None:
    async def run() -> None:
        async with name_server() as (script, server):
            script.add("a.test", (60, "A", "127.20.0.1"))
            script.go_on.clear()
            resolver = Resolver([server])
            askers = [asyncio.ensure_future(resolver.resolve("a.test")) for _ in range(50)]
            await script.waiting.wait()
            askers[0].cancel()  # the one that started it: the others still get their answer
            script.go_on.set()
            found = await asyncio.gather(*askers, return_exceptions=True)
            assert isinstance(found[0], asyncio.CancelledError)
            assert isinstance(found[1], Answer)
            assert all(one is found[1] for one in found[1:])
            assert len(script.asked) == 2

    asyncio.run(run())


def test_a_slow_name_does_not_hold_up_another() -> None:
    async def run() -> None:
        async with name_server() as (script, server):
            script.add("fast.test", (60, "A", "127.20.0.1"))
            script.faults["slow.test"] = "silent"
            resolver = Resolver([server])
            slow = asyncio.ensure_future(resolver.resolve("slow.test"))
            await script.waiting.wait()
            assert isinstance(await resolver.resolve("fast.test"), Answer)
            assert not slow.done()
            await resolver.close()
            assert (await slow) == NoAnswer("slow.test", "unreachable", "The resolver was closed.", (await slow).expires)

    asyncio.run(run())


def test_hundreds_of_names_at_once() -> None:
    async def run() -> None:
        async with name_server() as (script, server):
            hosts = [f"h{number}.test" for number in range(300)]
            for number, host in enumerate(hosts):
                script.add(host, (60, "A", f"127.20.{number % 250}.1"))
            resolver = Resolver([server])
            found = await asyncio.gather(*map(resolver.resolve, hosts))
            assert [one.host for one in found if isinstance(one, Answer)] == hosts

    asyncio.run(run())


def test_a_name_that_does_not_exist() -> None:
    found = refusal("no.test")
    assert found == NoAnswer("no.test", "nxdomain", "no.test does not exist.", 1020.0)


@pytest.mark.parametrize(("ttl", "expires"), [(0, 1005.0), (17, 1017.0), (3600, 1030.0)])
def test_a_failure_lives_between_5_and_30_seconds(ttl: int, expires: float) -> None:
    def prepare(script: Script) -> None:
        script.negative_ttl = ttl

    assert refusal("no.test", prepare).expires == expires


def test_failures_are_cached() -> None:
    async def run() -> None:
        async with name_server() as (script, server):
            clock = Clock()
            resolver = Resolver([server], clock=clock)
            first = await resolver.resolve("no.test")
            assert await resolver.resolve("no.test") is first
            assert len(script.asked) == 2
            clock.now += 20
            assert resolver.cached("no.test") is None

    asyncio.run(run())


def test_a_name_without_addresses() -> None:
    found = refusal("a.test", lambda script: script.add("a.test", (60, "TXT", '"hello"')))
    assert (found.reason, found.expires) == ("no_addresses", 1020.0)


def test_a_chain_to_nowhere_does_not_exist() -> None:
    assert refusal("a.test", lambda script: script.add("a.test", (60, "CNAME", "gone.test."))).reason == "nxdomain"


@pytest.mark.parametrize("rcode", ["SERVFAIL", "REFUSED", "NOTIMP"])
def test_a_server_that_refuses(rcode: str) -> None:
    found = refusal("a.test", lambda script: script.faults.update({"a.test": rcode}))
    assert found.reason == "servfail"
    assert rcode in found.detail
    assert "127.0.0.1" in found.detail
    assert found.expires == 1005.0


def test_a_server_that_says_nothing_is_given_up_after_the_timeout() -> None:
    found = refusal("a.test", lambda script: script.faults.update({"a.test": "silent"}), timeout=0.3)
    assert (found.reason, found.detail) == ("timeout", "No name server answered for a.test within 0.3 s.")


def test_a_lost_packet_is_sent_again() -> None:
    def prepare(script: Script) -> None:
        script.add("a.test", (60, "A", "127.20.0.1"))
        script.faults["a.test"] = "lossy"

    found, script = ask("a.test", prepare, timeout=2.0)
    assert isinstance(found, Answer)
    assert script.asked.count(("a.test", "A", "udp")) == 2


def test_an_answer_that_cannot_be_read_is_no_answer() -> None:
    found = refusal("a.test", lambda script: script.faults.update({"a.test": "garbage"}), timeout=0.4)
    assert found.reason in {"malformed", "timeout"}  # garbage may come from anybody: waiting for the real one is right


@pytest.mark.parametrize("loop", [["a.test."], ["b.test.", "a.test."], ["b.test.", "c.test.", "b.test."]])
def test_a_chain_without_end(loop: list[str]) -> None:
    def prepare(script: Script) -> None:
        for name, target in zip(["a.test", *(name.rstrip(".") for name in loop)], loop, strict=False):
            script.add(name, (60, "CNAME", target))

    assert refusal("a.test", prepare).reason == "loop"


def test_no_server_at_the_address() -> None:
    async def run() -> NoAnswer:
        async with name_server() as (_, server):
            pass
        found = await Resolver([server], 0.5).resolve("a.test")
        assert isinstance(found, NoAnswer)
        return found

    assert asyncio.run(run()).reason in {"unreachable", "timeout"}  # whether the kernel tells depends on the system


def test_a_second_server_is_asked_when_the_first_fails() -> None:
    async def run() -> None:
        async with name_server() as (bad, first), name_server() as (good, second):
            bad.faults["a.test"] = "SERVFAIL"
            good.add("a.test", (60, "A", "127.20.0.1"))
            assert isinstance(await Resolver([first, second]).resolve("a.test"), Answer)

    asyncio.run(run())


def test_300_addresses_come_over_tcp() -> None:
    addresses = [f"127.20.{number // 250}.{number % 250}" for number in range(300)]

    def prepare(script: Script) -> None:
        script.add("a.test", *((60, "A", address) for address in addresses))

    found, script = ask("a.test", prepare)
    assert isinstance(found, Answer)
    assert sorted(found.addresses, key=int) == [ip_address(address) for address in addresses]
    assert ("a.test", "A", "udp") in script.asked
    assert ("a.test", "A", "tcp") in script.asked
    assert ("a.test", "AAAA", "tcp") not in script.asked


@pytest.mark.parametrize(("fault", "timeout"), [("SERVFAIL", 5.0), ("NXDOMAIN", 5.0), ("NOTIMP", 5.0), ("silent", 0.8)])
@pytest.mark.parametrize(("broken", "kept"), [("AAAA", "127.20.0.1"), ("A", "2001:db8::1")])
def test_one_type_that_fails_does_not_fail_the_host(fault: str, timeout: float, broken: str, kept: str) -> None:
    def prepare(script: Script) -> None:
        script.add("a.test", (60, "A", "127.20.0.1"), (60, "AAAA", "2001:db8::1"))
        script.faults["a.test", broken] = fault

    found, _ = ask("a.test", prepare, timeout)
    assert isinstance(found, Answer)
    assert found.addresses == (ip_address(kept),)


def test_of_two_failures_the_one_about_the_name_counts() -> None:
    def prepare(script: Script) -> None:
        script.faults["no.test", "A"] = "SERVFAIL"

    assert refusal("no.test", prepare).reason == "nxdomain"

    def without_a(script: Script) -> None:
        script.add("a.test", (60, "TXT", '"x"'))
        script.faults["a.test", "A"] = "SERVFAIL"

    assert refusal("a.test", without_a).reason == "servfail"


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("localhost", "127.0.0.1"), ("a.localhost", "127.0.0.1")],
)
def test_literals_and_localhost_are_answered_without_dns(host: str, address: str) -> None:
    found, script = ask(host)
    assert found == Answer(host, (ip_address(address),), (), 4600.0)
    assert script.asked == []


@pytest.mark.parametrize("host", ["", "A.test", "a.test.", "a..test", "127.1", "1.2.3.4.5", "[::1]", "a b", "a" * 64])
def test_only_canonical_hosts_are_asked_for(host: str) -> None:
    found, script = ask(host)
    assert isinstance(found, NoAnswer)
    assert found.reason == "malformed"
    assert script.asked == []


def test_names_with_underscores_are_asked_for() -> None:
    found, _ = ask("_a_b.test", lambda script: script.add("_a_b.test", (60, "A", "127.20.0.1")))
    assert isinstance(found, Answer)


def test_a_closed_resolver_asks_nobody() -> None:
    async def run() -> None:
        async with name_server() as (script, server):
            script.add("a.test", (60, "A", "127.20.0.1"))
            resolver = Resolver([server])
            await resolver.close()
            found = await resolver.resolve("a.test")
            assert isinstance(found, NoAnswer)
            assert found.reason == "unreachable"
            assert script.asked == []

    asyncio.run(run())


def test_resolvers_do_not_share_anything() -> None:
    async def run() -> None:
        async with name_server() as (one, first), name_server() as (two, second):
            one.add("a.test", (60, "A", "127.20.0.1"))
            two.add("a.test", (60, "A", "127.20.0.2"))
            found = [await Resolver([server]).resolve("a.test") for server in (first, second)]
            assert [one.addresses[0] for one in found if isinstance(one, Answer)] == [
                ip_address("127.20.0.1"),
                ip_address("127.20.0.2"),
            ]

    asyncio.run(run())


def test_a_server_on_ipv6_loopback() -> None:
    async def run() -> None:
        try:
            async with name_server("::1") as (script, server):
                script.add("a.test", (60, "A", "127.20.0.1"))
                assert isinstance(await Resolver([server]).resolve("a.test"), Answer)
        except OSError:
            pytest.skip("no IPv6 loopback here")

    asyncio.run(run())


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("127.0.0.1", ("127.0.0.1", 53)),
        (" 127.0.0.1:5300 ", ("127.0.0.1", 5300)),
        ("::1", ("::1", 53)),
        ("[::1]", ("::1", 53)),
        ("[::1]:5300", ("::1", 5300)),
    ],
)
def test_forms_of_a_name_server(text: str, server: tuple[str, int]) -> None:
    assert parse_server(text) == server


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dns.example",
        "127.0.0.1:",
        "127.0.0.1:x",
        "127.0.0.1:0",
        "127.0.0.1:65536",
        "[::1",
        "[::1]53",
        "127.1",
        "127.0.0.1:٣",
    ],
)
def test_a_wrong_name_server_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="POLITE_DNS_SERVERS") as error:
        Resolver([text])
    assert repr(text) in str(error.value)


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ValueError, match="POLITE_DNS_SERVERS"):
        Resolver([])
    with pytest.raises(ValueError, match="POLITE_DNS_SERVERS"):
        Resolver("127.0.0.1")
    with pytest.raises(ValueError, match="POLITE_DNS_TIMEOUT"):
        Resolver(["127.0.0.1"], timeout=0)


def test_the_systems_servers_are_the_default() -> None:
    assert make_stub(None, 5.0).nameservers
