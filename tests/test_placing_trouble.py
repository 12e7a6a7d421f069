"""Placing where something goes wrong: clocks that jump, a store that fails between two steps, crowds that somebody made up."""

from __future__ import annotations

import asyncio
import threading
import time
from ipaddress import ip_address
from typing import TYPE_CHECKING

import pytest
from scrapy.settings import Settings

from scrapy_polite import admission, crowds
from scrapy_polite.booker import Booker
from scrapy_polite.config import Config
from scrapy_polite.crowds import CROWD, NEIGHBOURS
from scrapy_polite.dns.resolver import Answer, Resolver
from scrapy_polite.limits.plan import Limits
from scrapy_polite.naming.hosts import Invalid, parse
from scrapy_polite.origins.anchors import pointing
from scrapy_polite.origins.edges import KNOWN
from scrapy_polite.origins.evidence import Evidence, Lookup, Reply, looked_up
from scrapy_polite.placing import Placing
from scrapy_polite.politeness import Politeness
from scrapy_polite.stores.base import Cause, Kept, News, StoreError
from scrapy_polite.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DAY = 86_400.0
SHARED = "203.0.113.5"
OTHER = "203.0.113.9"


class Wall:
    """Unix seconds, moved by hand."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.5

    def __call__(self) -> float:
        return self.now


class Failing(MemoryStore):
    """Fails at one of its methods, as long as it is told to."""

    at = ""

    def ages(self, anchors: Iterable[str], *, allot: bool = True) -> dict[str, int]:
        self._fail("ages")
        return super().ages(anchors, allot=allot)

    def keep(self, hosts: Sequence[Kept]) -> int:
        self._fail("keep")
        return super().keep(hosts)

    def _fail(self, at: str) -> None:
        if self.at == at:
            raise StoreError("the disk is full")


class World:
    """One crawl's placing, on a store in memory."""

    def __init__(self, store: MemoryStore | None = None, wall: Wall | None = None) -> None:
        self.wall = wall or Wall()
        self.store = store or MemoryStore(wall=self.wall)
        self.booker = Booker(self.store, 50_000)
        # Nobody is asked: names of addresses for documentation are not.
        self.placing = Placing(self.booker, Resolver(["127.0.0.1:9"], 1.0), KNOWN, 0.8, Limits(), None, self.wall)

    async def place(self, host: str, *addresses: str, chain: tuple[str, ...] = ()) -> str:
        answer = Answer(host, tuple(map(ip_address, addresses)), chain, time.monotonic() + 300)
        return (await self.placing.place(host, answer)).origin

    def kept(self, host: str, *addresses: str) -> Kept:
        """As another process has written it."""
        evidence = looked_up(Evidence(host), Lookup((), addresses, 300.0, self.wall()))
        points = pointing(evidence, self.wall())
        return Kept(host, f"origin:{addresses[0]}", 0.93, (*points.strong, *points.weak), evidence.as_json())


TENANTS = [f"www.tenant{n}.test" for n in range(30)]


@pytest.mark.parametrize("jump", [DAY, 400 * DAY])
def test_while_the_machine_sleeps_evidence_runs_out_and_nobody_gets_a_rate_of_his_own(jump: float) -> None:
    async def run() -> None:
        world = World()
        before = {await world.place(host, SHARED) for host in TENANTS}
        world.wall.now += jump
        await world.placing.look_around()
        await world.placing.heard(TENANTS[0], Reply(None, 200, "page", {"x-some": ["1"]}, None, world.wall()))
        assert {world.placing.of(host).origin for host in TENANTS} == before == {f"origin:{SHARED}"}
        # Asked again DNS says what is so now, of those that have moved and of those that have not.
        assert await world.place(TENANTS[0], OTHER) == f"origin:{OTHER}"
        assert {await world.place(host, SHARED) for host in TENANTS[1:]} == before
        assert world.store.standing([f"origin:{SHARED}"]) == {f"origin:{SHARED}": f"origin:{SHARED}"}

    asyncio.run(run())


def test_a_clock_that_was_wrong_once_does_not_hold_a_site_where_it_was() -> None:
    async def run() -> None:
        world = World()
        world.wall.now += 365 * DAY
        await world.place("www.moved.test", SHARED)
        world.wall.now -= 365 * DAY
        await world.place("www.moved.test", OTHER)
        world.wall.now += 3 * DAY
        assert await world.place("www.moved.test", OTHER) == f"origin:{OTHER}"

    asyncio.run(run())


def test_what_runs_out_is_noted_once_however_long_the_crawl() -> None:
    async def run() -> None:
        world = World()
        for _ in range(200):
            await world.place("www.a.test", SHARED)
            world.wall.now += 1801
            await world.placing.look_around()
        assert len(world.placing._expiring) <= 2

    asyncio.run(run())


def test_a_merge_is_told_although_the_store_could_not_keep_what_it_follows_from() -> None:
    async def run() -> None:
        store = Failing()
        world = World(store)
        await world.place("www.b.test", OTHER)
        await world.place("www.a.test", SHARED)
        store.at = "keep"
        await world.placing.heard("www.a.test", Reply(OTHER, 200, "page", {}, None, world.wall() + 1))
        store.at = ""
        world.booker.pay()
        into = world.placing.of("www.a.test").origin
        assert into == f"origin:{OTHER}"
        assert store.standing([f"origin:{SHARED}"]) == {f"origin:{SHARED}": into}, "before anything is booked under that name"

    asyncio.run(run())


def test_a_page_of_a_host_that_is_still_being_placed_tells_nothing_yet() -> None:
    async def run() -> None:
        store = Failing()
        world = World(store)
        await world.place("x.b-cdn.net", "203.0.113.77")
        store.at = "ages"
        under_way = asyncio.ensure_future(world.place("www.a.test", SHARED))
        await asyncio.sleep(0)
        world.placing.referred("x.b-cdn.net", "http://www.a.test/page", "www.a.test")
        assert not under_way.done()
        world.placing.closing = True
        await asyncio.wait([under_way])

    asyncio.run(run())


def test_neighbours_that_name_many_crowds_are_loaded_within_bounds() -> None:
    async def run() -> None:
        world = World()
        rows = []
        for n in range(100):
            own = [f"198.18.{n}.{k}" for k in range(7)]
            rows.append(world.kept(f"www.bridge{n}.test", SHARED, *own))
            rows += (world.kept(f"www.crowd{n}-{k}-{i}.test", own[k]) for k in range(7) for i in range(15))
        world.store.keep(rows)
        await world.place("www.new.test", SHARED)
        assert NEIGHBOURS < len(rows) < 2 * NEIGHBOURS + 1000
        assert len(world.placing._judge) <= NEIGHBOURS + CROWD

    asyncio.run(run())


def test_the_loop_goes_round_while_the_news_of_others_are_read() -> None:
    async def run() -> None:
        world = World()
        await world.place("www.a.test", SHARED)
        rows = [world.kept(f"www.stranger{n}.test", f"198.18.{n // 250}.{n % 250}") for n in range(5_000)]
        world.store.keep(rows)
        rounds = 0

        async def count() -> None:
            nonlocal rounds
            while True:
                await asyncio.sleep(0)
                rounds += 1

        counting = asyncio.ensure_future(count())
        await world.placing.look_around()
        counting.cancel()
        assert rounds >= 5
        assert len(world.placing._judge) == 1, "strangers are nobody's matter here"

    asyncio.run(run())


class Slow(MemoryStore):
    """A store across a network, which answers one question when it is let."""

    blocking = True

    def __init__(self, wall: Wall) -> None:
        super().__init__(wall=wall)
        self.let = threading.Event()
        self.let.set()
        self.asked = threading.Event()

    def standing(self, names: Iterable[str]) -> dict[str, str]:
        self.asked.set()
        self.let.wait(10.0)
        return super().standing(names)


def test_a_host_that_is_written_down_while_the_store_is_asked_about_it_ends_nothing() -> None:
    async def run() -> None:
        wall = Wall()
        store = Slow(wall)
        world = World(store, wall)
        await world.place("www.a.test", SHARED)
        known = world.placing._hosts["www.a.test"]
        world.placing._strayed.add("www.a.test")
        store.let.clear()
        store.asked.clear()
        writing = asyncio.ensure_future(world.placing._write_strayed())
        while not store.asked.is_set():
            await asyncio.sleep(0)
        known.kept = "origin:elsewhere"
        store.let.set()
        await writing
        world.booker.close()

    asyncio.run(run())


def test_a_host_whose_addresses_change_with_every_answer_is_no_matter_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "MOST_ANCHORS", 50)

    async def run() -> None:
        world = World()
        await world.place("www.a.test", SHARED)
        for n in range(300):
            await world.place("www.flux.test", f"198.18.{n // 250}.{n % 250}")
            world.wall.now += 3601
        assert len(world.placing._judge._anchors) <= 60
        assert world.placing.of("www.a.test").origin == f"origin:{SHARED}", "its last placement stands"
        assert await world.place("www.a.test", SHARED) == f"origin:{SHARED}"

    asyncio.run(run())


class Broken(MemoryStore):
    """Fails once in a way that nobody has foreseen."""

    asked = 0

    def news(self, since: int, most: int = 1000) -> News:
        self.asked += 1
        if self.asked == 1:
            raise LookupError("not foreseen")
        return super().news(since, most)


def test_what_nobody_has_foreseen_does_not_end_the_following_of_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(admission, "LOOK_AROUND", 0.0)

    async def run() -> None:
        store = Broken()
        politeness = Politeness(Config.from_settings(Settings()), store, Resolver(["127.0.0.1:9"], 1.0), None, None)
        await politeness.watch()
        end = time.monotonic() + 10
        while store.asked < 2 and time.monotonic() < end:
            await asyncio.sleep(0)
        await politeness.close()
        assert store.asked >= 2
        assert "LookupError: not foreseen" in caplog.text

    asyncio.run(run())


def test_first_requests_to_a_platform_that_was_long_not_met_go_one_by_one_again() -> None:
    async def run() -> None:
        world = World()
        await world.place("www.a.test", "104.16.0.1")
        assert not world.placing.has_answered("www.a.test")
        await world.placing.heard("www.a.test", Reply("104.16.0.1", 200, "page", {}, None, world.wall()))
        assert world.placing.has_answered("www.a.test")
        world.wall.now += 8 * DAY
        await world.place("www.a.test", "104.16.0.1")
        assert not world.placing.has_answered("www.a.test"), "what it told has run out, and so has what others told"

    asyncio.run(run())


def test_names_at_an_edge_that_lead_to_a_strangers_address_do_not_take_its_crowd_apart() -> None:
    async def run() -> None:
        world = World()
        for host in TENANTS:
            await world.place(host, SHARED)
        for n in range(20):
            await world.place(f"www{n}.evil.test", SHARED, chain=(f"www{n}.evil.test.cdn.cloudflare.net",))
        assert {world.placing.of(host).origin for host in TENANTS} == {f"origin:{SHARED}"}

    asyncio.run(run())


def test_a_site_that_was_met_first_of_very_many_can_still_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "MOST", 20)
    monkeypatch.setattr(admission, "REMEMBERED", 15)

    async def run() -> None:
        politeness = Politeness(Config.from_settings(Settings()), MemoryStore(), Resolver(["127.0.0.1:9"], 1.0), None, None)

        async def reach(host: str, address: str) -> str | None:
            # As `admit` does, with an answer that is alive.
            site = f"site:{host}"
            found = politeness._placed.get(site)
            if found is None:
                answer = Answer(host, (ip_address(address),), (), time.monotonic() + 300)
                target = parse(f"http://{host}/")
                assert not isinstance(target, Invalid)
                found = politeness._placed[site] = await politeness._place(target, answer)
            return (await politeness._moved(site, found)).origin

        for n in range(60):
            assert await reach("www.first.test", SHARED) == f"origin:{SHARED}"
            await reach(f"www.later{n}.test", f"198.18.0.{n}")
        await politeness.close()

    asyncio.run(run())


def test_what_leaves_an_origin_under_a_name_that_nobody_had_keeps_its_hold() -> None:
    async def run() -> None:
        world = World()
        for host in TENANTS:
            await world.place(host, SHARED, OTHER)
        assert {world.placing.of(host).origin for host in TENANTS} == {f"origin:{SHARED}"}
        world.store.hold(f"origin:{SHARED}", 600.0, Cause("throttled", "status 429", True))
        for _ in range(3):
            world.wall.now += 400
            for n, host in enumerate(TENANTS):
                await world.place(host, (SHARED, OTHER)[n % 2])
            await world.placing.look_around()
        parts = {world.placing.of(host).origin for host in TENANTS}
        assert parts == {f"origin:{SHARED}", f"origin:{OTHER}"}
        assert all(peek.hold_in > 500 for peek in world.store.peek(parts).values())
        assert world.store.standing(parts) == {part: part for part in parts}, "they are two"

    asyncio.run(run())
