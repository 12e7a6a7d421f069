"""The machine's own addresses, asked of the kernel."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address
from typing import TYPE_CHECKING

import pytest

from scrapy_polite.config import Config
from scrapy_polite.dns import Answer, Resolver
from scrapy_polite.dns.own import KEPT, OwnAddresses, is_own
from scrapy_polite.guard import Refused
from scrapy_polite.politeness import Politeness
from scrapy_polite.stores.base import open_store

if TYPE_CHECKING:
    from scrapy_polite.naming.hosts import IPAddress


def outward() -> list[str]:
    """The addresses from which this machine would speak to the world, as far as it has a way there."""
    found = []
    for family, somewhere in ((socket.AF_INET, "198.51.100.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as sock:
                sock.connect((somewhere, 9))
                found.append(sock.getsockname()[0])
        except OSError:
            continue
    return found


@pytest.mark.parametrize("address", ["127.0.0.1", *outward()])
def test_an_address_of_an_interface_is_own(address: str) -> None:
    assert is_own(ip_address(address))


@pytest.mark.parametrize("address", ["198.51.100.7", "8.8.8.8", "2001:db8::7", "2606:4700::1111", "fe80::1", "255.255.255.255"])
def test_what_is_elsewhere_or_nowhere_is_not_own(address: str) -> None:
    assert not is_own(ip_address(address))


class Interfaces:
    """A machine whose addresses change, and how often it was asked."""

    def __init__(self, *own: str) -> None:
        self.own = {ip_address(one) for one in own}
        self.asked: list[IPAddress] = []

    def __call__(self, address: IPAddress) -> bool:
        self.asked.append(address)
        return address in self.own


def answer(*addresses: str, host: str = "a.test") -> Answer:
    return Answer(host, tuple(map(ip_address, addresses)), (), 1e9)


def test_an_address_that_comes_later_is_seen_soon() -> None:
    now, machine = [1000.0], Interfaces()
    own = OwnAddresses(lambda: now[0], machine)
    found = answer("93.184.216.34", "8.8.8.8")
    assert own.among(found) == frozenset()
    machine.own.add(ip_address("8.8.8.8"))
    now[0] += KEPT - 0.1
    assert own.among(found) == frozenset()
    assert len(machine.asked) == 2
    now[0] += 0.2
    assert own.among(found) == {ip_address("8.8.8.8")}


def test_a_new_answer_is_asked_about_at_once() -> None:
    own = OwnAddresses(lambda: 0.0, Interfaces("8.8.8.8"))
    assert own.among(answer("93.184.216.34")) == frozenset()
    assert own.among(answer("8.8.8.8")) == {ip_address("8.8.8.8")}
    assert own.among(answer("93.184.216.34", host="b.test")) == frozenset()


def test_what_an_address_carries_is_asked_about_too() -> None:
    machine = Interfaces("8.8.8.8")
    assert OwnAddresses(lambda: 0.0, machine).among(answer("64:ff9b::808:808")) == {ip_address("8.8.8.8")}


def test_a_name_that_leads_to_the_machine_itself_by_a_public_address_is_refused() -> None:
    """The own machine is this one, of which one address is put in the way of the kernel's answer: tests have no public one."""

    async def run() -> None:
        for settings, reason in (({}, "own_interface"), ({"POLITE_ALLOW_NETWORKS": ["8.8.8.8"]}, None)):
            politeness = Politeness(
                Config.from_settings(settings), open_store("memory:"), Resolver(["127.0.0.1:9"]), None, None
            )  # type: ignore[arg-type]
            politeness._own = OwnAddresses(lambda: 0.0, Interfaces("8.8.8.8"))
            found = await politeness.admit("http://8.8.8.8/")
            assert (found.reason if isinstance(found, Refused) else None) == reason
            assert not isinstance(await politeness.admit("http://8.8.4.4/"), Refused)
            await politeness.close()

    asyncio.run(run())
