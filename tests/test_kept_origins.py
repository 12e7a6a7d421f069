"""What a crawl keeps of where hosts are: by the evidence alone, and still right when what others show has moved them."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from nameserver import Script, name_server
from scrapy.settings import Settings

from scrapy_polite.backoff.pace import first, held
from scrapy_polite.config import Config
from scrapy_polite.dns.resolver import Resolver
from scrapy_polite.origins.evidence import Reply
from scrapy_polite.politeness import Politeness
from scrapy_polite.stores.base import Ruling
from scrapy_polite.stores.memory import MemoryStore
from scrapy_polite.stores.paces import change, paces

if TYPE_CHECKING:
    from collections.abc import Callable

SHOWN = {"x-brand": ["1"], "x-frame-options": ["DENY"], "referrer-policy": ["origin"]}
HOSTS = ("www.one.test", "www.two.test", "www.three.test")


def visited(store: MemoryStore, address: Callable[[int], str]) -> None:
    """A page of each host, and then a look around, as a crawl takes one every second."""

    async def run() -> None:
        script = Script()
        for number, host in enumerate(HOSTS):
            script.add(host, (300, "A", address(number)))
        async with name_server(script=script) as (_, server):
            config = Config.from_settings(Settings({"POLITE_DNS_SERVERS": [server]}))
            politeness = Politeness(config, store, Resolver(config.dns_servers, config.dns_timeout), None, None)
            for host in HOSTS:
                _, placed = await politeness.admit(f"http://{host}/")  # type: ignore[misc]
                await politeness.learned(placed.keys[0], Reply(str(placed.pinned), 200, "page", SHOWN, None, time.time()))
            for host in HOSTS:
                await politeness.admit(f"http://{host}/")
            await politeness.placing.look_around()
            await politeness.close()

    asyncio.run(run())


def kept(store: MemoryStore) -> dict[str, str]:
    return {row.host: row.origin for row in store.kept(HOSTS).values()}


def test_hosts_that_a_third_one_has_moved_are_kept_where_they_are_now() -> None:
    store = MemoryStore()
    visited(store.opened_again(), lambda number: f"104.16.1.{number + 1}")
    assert kept(store) == dict.fromkeys(HOSTS, "origin:marker/x-brand")


def test_a_ruling_is_not_kept_as_if_it_were_evidence() -> None:
    store = MemoryStore()
    store.rule(Ruling("www.one.test", "join", "origin:somewhere.test", "ann", "", time.time(), None))
    visited(store.opened_again(), lambda number: "93.184.216.34")
    assert kept(store) == dict.fromkeys(HOSTS, "origin:93.184.216.34")


def test_names_that_nobody_was_told_do_not_become_aliases() -> None:
    store = MemoryStore()
    for _ in range(2):  # The second crawl begins with what the first one has kept.
        visited(store.opened_again(), lambda number: f"93.184.216.{number % 2 + 1}")
    names = store.aliases_of(["origin:93.184.216.1"])
    assert not [name for name in names.get("origin:93.184.216.1", []) if "/" in name]


def test_origins_that_turn_out_to_be_one_go_on_at_the_more_careful_pace() -> None:
    store = MemoryStore()
    slow = held(first(1), 1)

    async def run() -> None:
        script = Script()
        for host, addresses in zip(HOSTS, (["93.184.216.1"], ["93.184.216.2"], ["93.184.216.1", "93.184.216.2"]), strict=True):
            script.add(host, *((300, "A", address) for address in addresses))
        async with name_server(script=script) as (_, server):
            config = Config.from_settings(Settings({"POLITE_DNS_SERVERS": [server]}))
            view = store.opened_again()
            politeness = Politeness(config, view, Resolver(config.dns_servers, config.dns_timeout), None, None)
            for host in HOSTS[:2]:
                await politeness.admit(f"http://{host}/")
            change(view, "origin:93.184.216.2", "page", lambda _: slow)
            _, placed = await politeness.admit(f"http://{HOSTS[2]}/")  # type: ignore[misc]
            assert placed.origin == "origin:93.184.216.1"
            await politeness.close()

    asyncio.run(run())
    names = ["origin:93.184.216.1", "origin:93.184.216.2"]
    assert store.standing(names) == dict.fromkeys(names, names[0])
    assert paces(store, names) == {names[0]: {"page": slow}}
