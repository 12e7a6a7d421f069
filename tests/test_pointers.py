"""Names of addresses: asked for lazily, a few a second, and remembered."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address
from typing import TYPE_CHECKING

import pytest
from nameserver import Script, name_server

from scrapy_polite.dns import Resolver
from scrapy_polite.dns.answers import Pointer
from scrapy_polite.dns.pointers import FLOOR, INTERVAL, PATIENCE, Pointers
from scrapy_polite.dns.servers import make_stub

if TYPE_CHECKING:
    from collections.abc import Callable

ADDRESS = ip_address("93.184.216.34")
REVERSE = "34.216.184.93.in-addr.arpa"


class Time:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)


def found(script: Callable[[Script], None], address: str = "93.184.216.34") -> tuple[Pointer, Script]:
    async def run() -> tuple[Pointer, Script]:
        async with name_server() as (says, server):
            script(says)
            resolver = Resolver([server], timeout=1.0, clock=Time())
            pointer = await resolver.pointer(ip_address(address))
            await resolver.close()
            return pointer, says

    return asyncio.run(run())


def test_the_names_of_an_address() -> None:
    pointer, says = found(lambda says: says.add(REVERSE, (900, "PTR", "Web7.Host.test.")))
    assert pointer == Pointer(ADDRESS, ("web7.host.test",), "", 1900.0)
    assert says.asked == [(REVERSE, "PTR", "udp")]


def test_the_names_of_an_ipv6_address() -> None:
    reverse = "1." + "0." * 23 + "0.0.8.2.6.0.6.2.ip6.arpa"
    pointer, _ = found(lambda says: says.add(reverse, (900, "PTR", "web.test.")), "2606:2800::1")
    assert pointer.names == ("web.test",)


def test_delegated_zones_are_followed() -> None:
    def script(says: Script) -> None:
        says.add(REVERSE, (900, "CNAME", "34.0-63.216.184.93.in-addr.arpa."))
        says.add("34.0-63.216.184.93.in-addr.arpa", (900, "PTR", "web.test."))

    assert found(script)[0].names == ("web.test",)


def test_an_address_without_a_name_is_remembered_for_minutes() -> None:
    pointer, _ = found(lambda says: None)
    assert pointer == Pointer(ADDRESS, (), "nxdomain", 1000.0 + FLOOR)


@pytest.mark.parametrize(("fault", "reason"), [("SERVFAIL", "servfail"), ("silent", "timeout")])
def test_a_zone_that_is_broken_is_no_error(fault: str, reason: str) -> None:
    pointer, _ = found(lambda says: says.faults.update({REVERSE: fault}))
    assert (pointer.names, pointer.reason) == ((), reason)


def test_names_that_are_no_host_names_are_dropped_and_of_hundreds_some_are_kept() -> None:
    def script(says: Script) -> None:
        says.add(REVERSE, *((900, "PTR", text) for text in (r"a\032b.test.", "127.1.", "good.test.", "169.254.169.254.")))

    assert found(script)[0].names == ("good.test",)
    many, _ = found(lambda says: says.add(REVERSE, *((900, "PTR", f"n{number}.test.") for number in range(300))))
    assert len(many.names) == 8


@pytest.mark.parametrize("address", ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "fd00::1", "64:ff9b::808:808"])
def test_nobody_is_asked_about_addresses_that_are_not_public(address: str) -> None:
    pointer, says = found(lambda says: None, address)
    assert (pointer.reason, says.asked) == ("not_public", [])


def test_one_flight_serves_all_and_the_answer_is_remembered() -> None:
    async def run() -> None:
        async with name_server() as (says, server):
            says.add(REVERSE, (900, "PTR", "web.test."))
            time = Time()
            pointers = Pointers(make_stub([server], 2.0), time, sleep=time.sleep)
            many = await asyncio.gather(*(pointers.pointer(ADDRESS) for _ in range(20)))
            assert all(one is many[0] for one in many)
            assert await pointers.pointer(ADDRESS) is many[0]
            assert len(says.asked) == 1
            time.now += 901
            assert await pointers.pointer(ADDRESS) is not many[0]

    asyncio.run(run())


def test_questions_go_one_after_the_other_and_what_would_wait_too_long_is_not_asked() -> None:
    async def run() -> None:
        async with name_server() as (says, server):
            time = Time()
            pointers = Pointers(make_stub([server], 2.0), time, sleep=time.sleep)
            many = await asyncio.gather(*(pointers.pointer(ip_address(f"93.184.216.{n}")) for n in range(30)))
            asked = round(PATIENCE / INTERVAL) + 1
            assert [one.reason for one in many] == ["nxdomain"] * asked + ["busy"] * (30 - asked)
            assert time.slept == [INTERVAL * n for n in range(1, asked)]
            assert len(says.asked) == asked
            # It is not remembered: when there is time again, it is asked.
            time.now += PATIENCE + INTERVAL
            assert (await pointers.pointer(ip_address("93.184.216.29"))).reason == "nxdomain"

    asyncio.run(run())


def test_closing_gives_up_and_nobody_is_asked_from_then_on() -> None:
    async def run() -> None:
        async with name_server() as (says, server):
            says.faults[REVERSE] = "silent"
            resolver = Resolver([server])
            waiting = asyncio.ensure_future(resolver.pointer(ADDRESS))
            await says.waiting.wait()
            await resolver.close()
            assert (await waiting).reason == "busy"
            assert (await resolver.pointer(ip_address("93.184.216.35"))).reason == "busy"
            assert len(says.asked) == 1

    asyncio.run(run())
