"""What is known of origins, over time and in several processes: merges, splits, moves, restarts and rulings, each in real
crawls that see one server by several addresses and names."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from commandline import polite
from loopback import Answer, Arrival, Crawl, Running, Server, crawl, fullest, start
from nameserver import Record, Script, name_server_in_a_thread

from scrapy_polite.stores.base import Cause, Store, open_store
from scrapy_polite.telemetry.ledger import Ledger
from scrapy_polite.telemetry.proof import prove

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from postgres import Database

RATE = 20.0
"""Of an origin, where a page costs 1. A site may have more."""

OBEYED = 2.0
"""Seconds after which a running crawl has noticed what was changed in the store, at the latest."""

ANSWER = 5.0
"""Seconds that a DNS answer is used, at least."""

ONE, OTHER = "127.0.0.1", "127.0.0.2"
"""Two addresses of one server."""

EDGE = "dualstack.tenants.sni.global.fastly.net"

PLATFORM = {
    "X-Acme-Version": "7.1",
    "Set-Cookie": "_acme_session=0123456789abcdef; path=/",
    "Strict-Transport-Security": "max-age=31536000",
    "X-Frame-Options": "SAMEORIGIN",
    "X-Content-Type-Options": "nosniff",
}

SPIDER = """
import time
from scrapy.exceptions import CloseSpider

class Spider(TestSpider):
    begun = set()
    number = 0
    async def start(self):
        for host in {hosts!r}:
            for request in self.begin(host):
                yield request
    def begin(self, host):
        self.begun.add(host)
        return [self.next_of(host) for _ in range({waiting})]
    def next_of(self, host):
        self.number += 1
        return scrapy.Request(f"http://{{host}}:{port}/{{self.number}}", callback=self.answered, errback=self.failed)
    def answered(self, response):
        self.results.append([response.url, response.status, response.meta["polite"]["keys"], time.monotonic()])
        if b"X-Over" in response.headers:
            raise CloseSpider("over")
        yield self.next_of(response.url.split("/")[2].split(":")[0])
        for host in response.headers.get("X-Also", b"").decode().split():
            if host not in self.begun:
                yield from self.begin(host)
"""
"""Asks every host for page after page, until the server says that it is over. ``waiting`` requests of each wait in the queue.
The server also says which hosts to begin with meanwhile."""


class World:
    """One server with many addresses, and a name server. ``records`` are what a host has at the moment; ``also`` what the
    spiders that visit a host are to begin with."""

    def __init__(self, stack: ExitStack, tmp_path: Path, store: str, **settings: object) -> None:
        self.records: dict[str, list[Record]] = {}
        self.also: dict[str, list[str]] = {}
        self.headers: dict[str, str] = {}
        self.over = False
        self.server = stack.enter_context(Server(self._answer, address="0.0.0.0"))
        self.script = Script()
        self.dns = stack.enter_context(name_server_in_a_thread(ONE, self.script))
        self.url = store
        self.store: Store = open_store(store)
        stack.callback(self.store.close)
        self._tmp_path, self._settings, self._stack = tmp_path, settings, stack

    def has(self, host: str, *records: Record) -> str:
        """From now on the host has these records."""
        self.records[host] = list(records)
        self.script.changing[host] = lambda times: self.records[host]
        return host

    def at(self, name: str, many: int, *addresses: str) -> list[str]:
        """So many hosts at these addresses."""
        return [self.has(f"{name}{n}.example", *((1, "A", address) for address in addresses)) for n in range(many)]

    def start(self, hosts: Sequence[str], waiting: int = 3, **settings: object) -> Running:
        """A crawl of these, in a process of its own, with the one store."""
        place = self._tmp_path / f"crawl of {hosts[0]}"
        place.mkdir()
        spider = SPIDER.format(hosts=hosts, waiting=waiting, port=self.server.port)
        return self._stack.enter_context(start(spider, place, **{**self.settings(), **settings}))

    def settings(self) -> dict[str, object]:
        return {
            "POLITE_STORE": self.url,
            "POLITE_DNS_SERVERS": [self.dns],
            "COOKIES_ENABLED": False,  # Scrapy's look-up of public suffixes asks the network once, and logs that in full.
            "POLITE_ALLOW_PORTS": [self.server.port],
            "POLITE_LEDGER": str(self._tmp_path / "ledger.sqlite"),
            "POLITE_COSTS": {"page": 1},
            "POLITE_SITE_RATE": 100.0,
            "POLITE_ORIGIN_RATE": RATE,
            "POLITE_ORIGIN_CONCURRENCY": 32,
            "CONCURRENT_REQUESTS": 64,
            **self._settings,
        }

    def since(self, moment: float, until: float = float("inf")) -> list[Arrival]:
        return [arrival for arrival in list(self.server.arrivals) if moment <= arrival.at < until]

    def rate(self, moment: float, until: float) -> float:
        """Requests a second in a span of time that is over."""
        return len(self.since(moment, until)) / (until - moment)

    def stands(self, name: str) -> str:
        return self.store.standing([name])[name]

    def end(self, *crawls: Running) -> list[Crawl]:
        """Let the spiders close. The ledger of all of them proves that every promise was kept."""
        self.over = True
        ended = [crawl.end(30.0) for crawl in crawls]
        for done in ended:
            assert done.code == 0, done.log
            assert "Traceback" not in done.log, done.log
        proof = prove(Ledger.read(self._tmp_path / "ledger.sqlite"))
        assert proof.passed, proof.violations
        return ended

    def _answer(self, arrival: Arrival) -> Answer:
        also = self.also.get(arrival.headers["host"].partition(":")[0])
        headers = {"X-Over": "1"} if self.over else {"X-Also": " ".join(also)} if also else {}
        return Answer(headers={**self.headers, **headers})


@contextmanager
def world(tmp_path: Path, store: str = "", **settings: object) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(stack, tmp_path, store or f"sqlite:{tmp_path}/limits.sqlite", **settings)


def host_of(url: str) -> str:
    return url.split("/")[2].partition(":")[0]


def origins(crawl: Crawl, since: float = 0.0, until: float = float("inf"), host: str | None = None) -> set[str]:
    """What was charged last of its keys, by all that was answered in that span of time."""
    return {
        keys[-1]
        for url, status, keys, at in (result for result in crawl.results if len(result) == 4)
        if status == 200 and since <= at < until and host in (None, host_of(url))
    }


def wait(running: Sequence[Running], seconds: float) -> float:
    """Let all crawls go on for so long; when that ended."""
    end = time.monotonic() + seconds
    for each in running:
        each.until(lambda: time.monotonic() >= end)
    return end


def both(running: Sequence[Running], come: Callable[[], object], timeout: float = 30.0) -> float:
    """Wait for it while all crawls run; when it had come."""
    running[0].until(lambda: come() or any(each.process.poll() is not None for each in running), timeout)
    for each in running:
        assert each.process.poll() is None, each.log
    return time.monotonic()


# -- one platform, two processes


def halves(tmp_path: Path, url: str) -> None:
    tenants, rate = 60, 40.0
    limits = {"probe:*": {"rate": 60}}
    with world(tmp_path, url, POLITE_ORIGIN_RATE=rate, POLITE_EDGE_RATE=1000.0, POLITE_LIMITS=limits) as here:
        here.script.add(EDGE, (300, "A", ONE))
        here.headers = PLATFORM
        shops = [here.has(f"www.shop{n}.example", (300, "CNAME", f"{EDGE}.")) for n in range(tenants)]
        crawls = [here.start(shops[:30]), here.start(shops[30:])]
        both(crawls, lambda: len({arrival.headers["host"] for arrival in list(here.server.arrivals)}) == tenants)
        known = time.monotonic()
        wait(crawls, 10.5)
        ended = here.end(*crawls)
        names = [origins(done, known + 4.0) for done in ended]
        assert len(names[0]) == 1, names
        assert names[0] == names[1], [
            (at - known, url, keys) for done in ended for url, _, keys, at in done.results if keys[-1].endswith(".example")
        ]
        assert not names[0].pop().endswith(".example")
        seen: set[str] = set()
        later = []
        for arrival in here.server.arrivals:
            if arrival.headers["host"] in seen:
                later.append(arrival)
            seen.add(arrival.headers["host"])
        assert fullest(later, 10.0) <= 1.05 * rate * 10
        assert len(later) >= 0.8 * 0.9 * rate * 10.5, "and they use it: nine tenths of the rate are for misses"


def test_two_processes_find_one_platform_behind_an_edge_and_keep_its_rate_together(tmp_path: Path) -> None:
    halves(tmp_path, "")


def test_two_processes_find_one_platform_with_postgres_between_them(tmp_path: Path, database: Database) -> None:
    halves(tmp_path, database.url)


# -- a merge and a split


def test_a_merge_that_one_process_finds_is_obeyed_by_another_that_does_not_know_of_it(tmp_path: Path) -> None:
    with world(tmp_path) as here:
        at_one, at_other = here.at("one", 8, ONE), here.at("other", 8, OTHER)
        witnesses = here.at("witness", 2, ONE, OTHER)
        crawls = [here.start(at_one), here.start(at_other)]
        both(crawls, lambda: all(any(a.headers["host"].startswith(h) for a in here.since(0)) for h in (*at_one, *at_other)))
        apart = wait(crawls, 1.5)
        here.also = dict.fromkeys(at_one, witnesses)
        names = {f"origin:{ONE}", f"origin:{OTHER}"}
        merged = both(crawls, lambda: len({here.stands(name) for name in names}) == 1)
        end = wait(crawls, 5.0)
        (root,) = {here.stands(name) for name in names}
        one, other = here.end(*crawls)
        assert here.rate(apart - 1.0, apart) >= 1.6 * RATE, "two origins, two rates"
        # From the alias on, and not only when the other process has noticed.
        for seconds in (1.0, 5.0):
            assert fullest(here.since(merged, end), seconds) <= 1.05 * RATE * seconds + 1
        assert len(here.since(merged, end)) >= 0.8 * RATE * (end - merged)
        assert origins(one, merged + OBEYED) == origins(other, merged + OBEYED) == {root}


def test_a_split_gives_both_origins_the_due_time_and_the_hold_that_they_had_as_one(tmp_path: Path) -> None:
    names = [f"origin:{ONE}", f"origin:{OTHER}"]
    with world(tmp_path) as here:
        at_one, at_other = here.at("one", 8, ONE), here.at("other", 8, OTHER)
        witnesses = here.at("witness", 2, ONE, OTHER)
        running = here.start([*at_one, *at_other, *witnesses])
        running.until(lambda: len({here.stands(name) for name in names}) == 1)
        wait([running], 1.0)
        (root,) = {here.stands(name) for name in names}
        for witness in witnesses:
            here.has(witness, (1, "A", ONE))
        asked = [here.script.asked.count((witness, "A", "udp")) for witness in witnesses]
        # One look at what has changed takes nothing apart, also not of all who have witnessed it.
        running.until(lambda: all(here.script.asked.count((w, "A", "udp")) > n for w, n in zip(witnesses, asked, strict=True)))
        wait([running], 0.5)
        assert here.stands(names[1]) == here.stands(names[0])
        here.store.hold(root, ANSWER + 2 * OBEYED, Cause("rate_limited", "429, Retry-After: 9", stated=True))
        held = time.monotonic()
        running.until(lambda: [here.stands(name) for name in names] == names, ANSWER + 2 * OBEYED)
        one, other = (here.store.peek(names)[name] for name in names)
        assert abs(one.hold_in - other.hold_in) < 0.01
        assert one.cause == other.cause == Cause("rate_limited", "429, Retry-After: 9", stated=True)
        assert abs(one.due_in - other.due_in) < 0.01
        over = held + ANSWER + 2 * OBEYED
        assert time.monotonic() + one.hold_in > over - 0.1
        wait([running], over - time.monotonic() + 2.5)
        (done,) = here.end(running)
        assert here.since(held + 0.3, over - 0.05) == []
        assert here.rate(over + 0.5, over + 2.5) >= 1.6 * RATE, "two origins, two rates"
        for hosts in (at_one + witnesses, at_other):
            mine = [a for a in here.since(over) if a.headers["host"].partition(":")[0] in hosts]
            assert fullest(mine, 2.0) <= 1.05 * RATE * 2.0 + 1
        for hosts, name in ((at_one + witnesses, names[0]), (at_other, names[1])):
            assert set().union(*(origins(done, over + 1.0, host=host) for host in hosts)) == {name}


# -- a restart


TWICE = """
class Spider(TestSpider):
    async def start(self):
        for n in range(12):
            yield scrapy.Request(f"http://www.shop{{n}}.example:{port}/", self.answered, errback=self.failed)
    def answered(self, response):
        self.results.append([response.url, response.status, response.meta["polite"]["keys"]])
        if not response.url.endswith("again"):
            yield scrapy.Request(f"{{response.url}}again", self.answered, errback=self.failed)
"""


def test_after_a_restart_a_platform_is_one_origin_from_the_first_request_on_and_has_the_same_name(tmp_path: Path) -> None:
    with world(tmp_path, POLITE_EDGE_RATE=1000.0) as here:
        here.script.add(EDGE, (300, "A", ONE))
        here.headers = PLATFORM
        for n in range(12):
            here.has(f"www.shop{n}.example", (300, "CNAME", f"{EDGE}."))
        found: list[list[list[Any]]] = []
        for _ in range(2):
            done = crawl(TWICE.format(port=here.server.port), tmp_path, **here.settings())
            assert len(done.urls()) == 24, done.log
            found.append([keys for _, _, keys in done.results])
        first, second = found
        assert first[0][2] == "probe:fastly"
        (name,) = {keys[-1] for keys in second}
        assert name == first[-1][-1]
        assert not name.endswith(".example")
        assert all(len(keys) == 3 for keys in second), "nothing but the site, its edge and the origin: no probe"


# -- a move


def test_a_site_that_moves_leaves_its_origin_when_that_is_certain_and_takes_what_waits_along(tmp_path: Path) -> None:
    slow = 8.0
    limits = {f"origin:{ONE}": {"rate": slow, "burst": 0}}
    with world(tmp_path, POLITE_LIMITS=limits) as here:
        stay, there = here.at("stay", 7, ONE), here.at("there", 2, OTHER)
        mover = here.has("mover.example", (1, "A", ONE))
        running = here.start([*stay, mover, *there], waiting=25)

        def visits(since: float, until: float = float("inf")) -> list[Arrival]:
            return [a for a in here.since(since, until) if a.headers["host"].startswith(mover)]

        running.until(lambda: len(visits(0)) > 1)
        here.has(mover, (1, "A", OTHER))
        moving = time.monotonic()
        running.until(lambda: [k.origin for k in here.store.kept([mover]).values()] == [f"origin:{OTHER}"], 20.0)
        moved = time.monotonic()
        end = wait([running], 3.0)
        (done,) = here.end(running)
        assert moved - moving > 1.0
        assert origins(done, moving, moved - 1.0, mover) == {f"origin:{ONE}"}, "not by one answer"
        assert origins(done, moved + 1.0, host=mover) == {f"origin:{OTHER}"}
        assert origins(done, moved + 1.0, host=stay[0]) == {f"origin:{ONE}"}
        # Three sites share the faster rate, eight had the slower one.
        assert len(visits(moved + 0.5, end)) >= 0.7 * RATE / 3 * (end - moved - 0.5)
        assert fullest([a for a in here.since(moved + 0.5) if a.headers["host"].startswith("stay")], 2.0) <= slow * 2 * 1.05 + 1


# -- by hand


def test_join_and_split_on_the_command_line_are_obeyed_by_a_running_crawl_until_they_are_taken_back_or_run_out(
    tmp_path: Path,
) -> None:
    with world(tmp_path) as here:
        one, other = here.at("one", 2, ONE), here.at("other", 2, OTHER)
        where = ("-s", f"POLITE_STORE={here.url}", "-s", f"POLITE_LEDGER={tmp_path}/ledger.sqlite")

        def rule(*arguments: str) -> float:
            done = polite(*arguments, *where, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            return time.monotonic()

        running = here.start([*one, *other])
        running.until(lambda: len(here.store.kept([*one, *other])) == 4 and len(here.server.arrivals) > 40)
        before = time.monotonic()
        joined = rule("join", other[0], f"origin:{ONE}", "--for", "8s")
        (ruling,) = here.store.rulings()
        assert ruling.until is not None
        runs_out = time.monotonic() + ruling.until - time.time()
        split = rule("split", one[0])
        running.until(lambda: time.monotonic() > split + OBEYED + 0.5)
        back = rule("split", one[0], "--remove")
        running.until(lambda: time.monotonic() > max(back, runs_out) + OBEYED + 0.5)
        end = time.monotonic()
        (done,) = here.end(running)
        report = polite("report", *where, cwd=tmp_path)
        assert report.returncode == 0, report.stdout
        assert origins(done, 0, before, other[0]) == {f"origin:{OTHER}"}
        assert origins(done, joined + OBEYED, runs_out - 0.5, other[0]) == {f"origin:{ONE}"}
        assert origins(done, runs_out + OBEYED, end, other[0]) == {f"origin:{OTHER}"}
        assert origins(done, 0, before, one[0]) == {f"origin:{ONE}"}
        assert origins(done, split + OBEYED, back - 0.5, one[0]) == {f"origin:{one[0]}"}
        assert origins(done, back + OBEYED, end, one[0]) == {f"origin:{ONE}"}
        for still, name in ((one[1], ONE), (other[1], OTHER)):
            assert origins(done, host=still) == {f"origin:{name}"}


def test_of_two_origins_that_become_one_in_a_crawl_the_stricter_limit_holds_for_both(tmp_path: Path) -> None:
    strict = 5.0
    with world(tmp_path, POLITE_LIMITS={f"origin:{OTHER}": {"rate": strict, "burst": 0}}) as here:
        at_one, at_other = here.at("one", 7, ONE), here.at("other", 7, OTHER)
        witnesses = here.at("witness", 2, ONE, OTHER)
        running = here.start([*at_one, *at_other])
        names = {f"origin:{ONE}", f"origin:{OTHER}"}
        running.until(lambda: len(here.store.kept([*at_one, *at_other])) == 14)
        apart = wait([running], 1.5)
        here.also = dict.fromkeys([*at_one, *at_other], witnesses)
        running.until(lambda: len({here.stands(name) for name in names}) == 1)
        merged = time.monotonic()
        end = wait([running], OBEYED + 3.0)
        here.end(running)
        assert here.rate(apart - 1.0, apart) >= 0.8 * (RATE + strict)
        assert fullest(here.since(merged + OBEYED, end), 2.0) <= 1.05 * strict * 2.0 + 1
        assert len(here.since(merged, end)) >= 0.7 * strict * (end - merged)
