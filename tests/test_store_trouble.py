"""The store dies, hangs, is locked or lost in the middle of a crawl, or its disk is full: nothing is sent meanwhile, the log
says so once, the crawl goes on by itself, and every page is fetched once.

Whether something was sent is told by the web server, in this process; the crawl runs in another.
"""

from __future__ import annotations

import re
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from loopback import Answer, Arrival, Crawl, Running, Server, crawl, slots_kept, start
from postgres import PASSWORD
from relay import Relay

from scrapy_polite.stores.base import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from postgres import Database
    from postgres import Server as Postgres

INTERVAL = 0.2
WIDTH = 0.05
SLACK = 0.3
"""Between the flush and the stamp of a thread that this machine may let wait."""

RESPONSIVE = 1.5
"""Seconds. A loop that waited for the store would stand still for two at least; on a quiet machine it is a tenth."""

UNDER_WAY = 0.3
"""Seconds after which whatever was booked before the trouble has arrived."""

RATES = {"POLITE_COSTS": {"page": 1}, "POLITE_SITE_RATE": 1 / INTERVAL, "POLITE_ORIGIN_RATE": 1 / INTERVAL}
PAGES = 30

# Watches how long its event loop is kept from going round.
FETCH = """
import time
from twisted.internet.task import LoopingCall
class Spider(TestSpider):
    async def start(self):
        self.longest, self.last = 0.0, time.monotonic()
        self.watch = LoopingCall(self.look)
        self.watch.start(0.01)
        for n in range({pages}):
            yield scrapy.Request("{url}/" + str(n), callback=self.answered, errback=self.failed)
    def look(self):
        now = time.monotonic()
        self.longest, self.last = max(self.longest, now - self.last), now
    def closed(self, reason):
        self.watch.stop()
        self.crawler.stats.set_value("longest", self.longest)
"""

# Meets another site when a file is there.
MEETS = """
import asyncio, os
class Spider(TestSpider):
    async def start(self):
        yield scrapy.Request("{url}/0", callback=self.answered)
        while not os.path.exists("go"):
            await asyncio.sleep(0.05)
        for n in range(3):
            yield scrapy.Request("{other}/" + str(n), callback=self.answered, errback=self.failed)
"""

LOST = "The store cannot answer, nothing is sent until it does"
BACK = "The store answers again: requests go on"


def begin(server: Server, tmp_path: Path, **settings: object) -> Running:
    source = FETCH.format(url=server.url, pages=PAGES)
    options = {"POLITE_ALLOW_PORTS": [server.port], "POLITE_LEDGER": str(tmp_path / "ledger.sqlite"), **RATES}
    return start(source, tmp_path, **options, **settings)


def came_through(done: Crawl, server: Server, tmp_path: Path, trouble: list[tuple[float, float]], *, errors: int = 1) -> None:
    """Every page was fetched once and in its time, and none between the two times of a ``trouble``; it was said once."""
    assert done.stats.get("finish_reason") == "finished", done.log
    assert Counter(arrival.path for arrival in server.arrivals) == {f"/{n}": 1 for n in range(PAGES)}, done.log
    assert len(done.urls()) == PAGES
    for began, ended in trouble:
        assert [arrival.at for arrival in server.arrivals if began + UNDER_WAY < arrival.at < ended] == [], done.log
    slots_kept(tmp_path / "ledger.sqlite", INTERVAL, WIDTH)
    # A stamp may come late, so two of them may be close; a burst they cannot hide.
    times = [arrival.at for arrival in server.arrivals]
    assert all(times[n + 10] - times[n] >= 10 * INTERVAL - WIDTH - SLACK for n in range(PAGES - 10)), done.log
    assert done.log.count(LOST) == done.log.count(BACK) == len(trouble), done.log
    # Of the log's lines these are all that tell of trouble.
    assert len(re.findall(r"^\S+ \S+ \[\S+\] (?:ERROR|CRITICAL)", done.log, re.MULTILINE)) == errors * len(trouble), done.log
    assert "Traceback" not in done.log


def fetched(server: Server, running: Running, pages: int) -> None:
    running.until(lambda: len(server.arrivals) >= pages)


class TestPostgres:
    @pytest.mark.parametrize("how", [signal.SIGQUIT, signal.SIGINT, signal.SIGKILL], ids=["immediate", "fast", "killed"])
    def test_a_server_that_stops_and_is_started_again(self, own_server: Postgres, tmp_path: Path, how: int) -> None:
        with Server() as server, begin(server, tmp_path, POLITE_STORE=own_server.database().url) as running:
            fetched(server, running, 10)
            own_server.stop(how)
            stopped = time.monotonic()
            time.sleep(3)
            began = time.monotonic()
            own_server.start()
            done = running.end()
            came_through(done, server, tmp_path, [(stopped, began)])
            assert server.arrivals[-1].at - began < PAGES * INTERVAL + 5

    def test_a_server_that_stops_twice_is_said_twice(self, own_server: Postgres, tmp_path: Path) -> None:
        with Server() as server, begin(server, tmp_path, POLITE_STORE=own_server.database().url) as running:
            trouble = []
            for pages in (10, 20):
                fetched(server, running, pages)
                own_server.stop(signal.SIGQUIT)
                stopped = time.monotonic()
                time.sleep(2)
                trouble.append((stopped, time.monotonic()))
                own_server.start()
            came_through(running.end(), server, tmp_path, trouble)

    def test_a_server_that_hangs_keeps_the_event_loop_free(self, own_server: Postgres, tmp_path: Path) -> None:
        with Server() as server, begin(server, tmp_path, POLITE_STORE=own_server.database().url) as running:
            fetched(server, running, 10)
            own_server.signal_all(signal.SIGSTOP)
            stopped = time.monotonic()
            # The store gives a server up after five seconds; then there is a new connection that nobody answers.
            time.sleep(8)
            went_on = time.monotonic()
            own_server.signal_all(signal.SIGCONT)
            done = running.end()
            came_through(done, server, tmp_path, [(stopped, went_on)])
            assert done.stats["longest"] < RESPONSIVE

    def test_a_hang_that_is_short_is_waited_out(self, own_server: Postgres, tmp_path: Path) -> None:
        with Server() as server, begin(server, tmp_path, POLITE_STORE=own_server.database().url) as running:
            fetched(server, running, 10)
            own_server.signal_all(signal.SIGSTOP)
            stopped = time.monotonic()
            time.sleep(2)
            went_on = time.monotonic()
            own_server.signal_all(signal.SIGCONT)
            done = running.end()
            came_through(done, server, tmp_path, [])
            assert [arrival for arrival in server.arrivals if stopped + UNDER_WAY < arrival.at < went_on] == []
            assert done.stats["longest"] < RESPONSIVE

    def test_a_network_that_is_slow_for_a_while_misses_slots_and_sends_nothing_outside_of_one(
        self, own_server: Postgres, tmp_path: Path
    ) -> None:
        name = own_server.database().url.partition("?")[0].rpartition("/")[2]
        with Server() as server, Relay(own_server.port) as relay:
            url = own_server.url(name, password=PASSWORD).replace(f":{own_server.port}/", f":{relay.port}/")
            with begin(server, tmp_path, POLITE_STORE=url) as running:
                fetched(server, running, 10)
                relay.delay = 3 * WIDTH
                slow = time.monotonic()
                time.sleep(2)
                quick = time.monotonic()
                relay.delay = 0.0
                done = running.end()
        came_through(done, server, tmp_path, [])
        assert [arrival for arrival in server.arrivals if slow + UNDER_WAY < arrival.at < quick] == []
        assert done.stats["polite/slots/missed"] >= 1
        assert done.stats["polite/slots/booked"] == PAGES

    def test_a_site_that_is_met_while_the_server_is_away_is_charged_to_its_origin_afterwards(
        self, own_server: Postgres, tmp_path: Path
    ) -> None:
        """The store alone knows which origin that is; by itself the crawl would have given it another name, and a rate."""
        database = own_server.database()
        store = open_store(database.url)
        store.merge("origin:127.0.0.2", "origin:platform")
        store.close()
        with Server() as server, Server(address="127.0.0.2") as other:
            source = MEETS.format(url=server.url, other=other.url.replace("127.0.0.1", "127.0.0.2"))
            ports = [server.port, other.port]
            with start(source, tmp_path, POLITE_ALLOW_PORTS=ports, POLITE_STORE=database.url, **RATES) as running:
                running.until(lambda: server.arrivals)
                own_server.stop(signal.SIGQUIT)
                (tmp_path / "go").touch()
                time.sleep(3)
                assert other.arrivals == []
                own_server.start()
                done = running.end()
            assert sorted(arrival.path for arrival in other.arrivals) == ["/0", "/1", "/2"], done.log
            assert done.log.count(LOST) == done.log.count(BACK) == 1
        booked = {key for (key,) in database.execute("SELECT key FROM polite.slot WHERE last > 0")}
        assert {"site:127.0.0.2", "origin:platform"} <= booked
        assert "origin:127.0.0.2" not in booked

    def test_a_hold_that_is_stated_while_the_server_is_away_is_kept(self, own_server: Postgres, tmp_path: Path) -> None:
        url = own_server.database().url
        stated: list[float] = []

        def answer(arrival: Arrival) -> Answer:
            if len(server.arrivals) != 10:
                return Answer()
            own_server.stop(signal.SIGQUIT)
            stated.append(time.monotonic())
            return Answer(status=429, headers={"Retry-After": "4"})

        with Server(answer) as server, begin(server, tmp_path, POLITE_STORE=url) as running:
            fetched(server, running, 10)
            running.until(lambda: LOST in running.log)
            own_server.start()
            done = running.end()
            after = [arrival.at for arrival in server.arrivals[10:]]
            assert min(after) >= stated[0] + 4
            assert len(done.urls()) == PAGES
            assert len(server.arrivals) == PAGES + 1
            store = open_store(url)
            assert store.peek(["site:127.0.0.1"])["site:127.0.0.1"].cause is None, "it is over"
            store.close()

    @pytest.mark.parametrize("how", [signal.SIGSTOP, signal.SIGQUIT], ids=["hangs", "is away"])
    def test_a_spider_that_is_stopped_while_the_server_is_not_there_ends_and_loses_nothing(
        self, own_server: Postgres, tmp_path: Path, how: int
    ) -> None:
        options = {"POLITE_STORE": own_server.database().url, "JOBDIR": str(tmp_path / "job")}
        with Server() as server:
            with begin(server, tmp_path, **options) as running:
                fetched(server, running, 10)
                if how == signal.SIGSTOP:
                    own_server.signal_all(how)
                else:
                    own_server.stop(how)
                running.until(lambda: LOST in running.log)
                running.process.send_signal(signal.SIGTERM)
                asked = time.monotonic()
                done = running.end(60)
                # A call that is under way is given up after five seconds, and what is owed is tried once more.
                assert time.monotonic() - asked < 20
                assert done.stats["finish_reason"] == "shutdown"
                assert "Traceback" not in done.log
            if how == signal.SIGSTOP:
                own_server.signal_all(signal.SIGCONT)
            else:
                own_server.start()
            again = FETCH.format(url=server.url, pages=0)
            crawl(again, tmp_path, POLITE_ALLOW_PORTS=[server.port], **RATES, **options)
            assert Counter(arrival.path for arrival in server.arrivals) == {f"/{n}": 1 for n in range(PAGES)}

    def test_a_lock_that_another_session_keeps(self, database: Database, tmp_path: Path) -> None:
        with Server() as server, begin(server, tmp_path, POLITE_STORE=database.url) as running:
            fetched(server, running, 10)
            with database.connect() as db:
                db.execute("BEGIN")
                db.execute("LOCK TABLE polite.slot IN ACCESS EXCLUSIVE MODE")
                locked = time.monotonic()
                time.sleep(6)
                released = time.monotonic()
                db.execute("ROLLBACK")
            done = running.end()
            came_through(done, server, tmp_path, [(locked, released)])
            assert done.stats["longest"] < RESPONSIVE

    def test_a_session_that_the_administrator_ends(self, database: Database, tmp_path: Path) -> None:
        with Server() as server, begin(server, tmp_path, POLITE_STORE=database.url) as running:
            fetched(server, running, 10)
            database.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'scrapy_polite'")
            ended = time.monotonic()
            came_through(running.end(), server, tmp_path, [(ended, ended)])


class TestSQLite:
    def test_a_full_disk(self, tmp_path: Path) -> None:
        with Server() as server, begin(server, tmp_path) as running:
            fetched(server, running, 10)
            with running.full_disk():
                filled = time.monotonic()
                time.sleep(3)
                emptied = time.monotonic()
            done = running.end()
            # The ledger has the same disk, and says for itself that it cannot write.
            came_through(done, server, tmp_path, [(filled, emptied)], errors=2)
            assert done.stats["longest"] < RESPONSIVE

    def test_a_lock_that_another_program_keeps(self, tmp_path: Path) -> None:
        """The sqlite3 shell with a transaction open."""
        with Server() as server, begin(server, tmp_path) as running:
            fetched(server, running, 10)
            with closing(sqlite3.connect(tmp_path / "limits.sqlite-slots", isolation_level=None)) as shell:
                shell.execute("BEGIN IMMEDIATE")
                locked = time.monotonic()
                time.sleep(4)
                released = time.monotonic()
                shell.execute("ROLLBACK")
            came_through(running.end(), server, tmp_path, [(locked, released)])

    def test_a_file_that_is_taken_away_and_put_back(self, tmp_path: Path) -> None:
        file = tmp_path / "limits.sqlite"
        with Server() as server, begin(server, tmp_path) as running:
            fetched(server, running, 10)
            file.rename(tmp_path / "elsewhere")
            gone = time.monotonic()
            time.sleep(2)
            back = time.monotonic()
            (tmp_path / "elsewhere").rename(file)
            done = running.end()
            came_through(done, server, tmp_path, [(gone, back)])
            assert f"{file} was deleted while it was in use" in done.log

    @pytest.mark.parametrize("again", [False, True], ids=["deleted", "replaced"])
    def test_a_file_that_is_deleted_stops_the_crawl_until_it_is_started_again(self, tmp_path: Path, again: bool) -> None:
        """Whoever made a new one would forget the holds that the old one had."""
        file, job = tmp_path / "limits.sqlite", {"JOBDIR": str(tmp_path / "job")}
        with Server() as server:
            with begin(server, tmp_path, **job) as running:
                fetched(server, running, 10)
                file.unlink()
                if again:
                    file.touch()
                gone = time.monotonic()
                time.sleep(3)
                assert [arrival.at for arrival in server.arrivals if arrival.at > gone + UNDER_WAY] == []
                running.process.send_signal(signal.SIGTERM)
                done = running.end(20)
                assert done.log.count(LOST) == 1
                assert "start the crawl again" in done.log
                assert "Traceback" not in done.log
            for left in tmp_path.glob("limits.sqlite*"):
                left.unlink()
            assert (
                crawl(FETCH.format(url=server.url, pages=0), tmp_path, POLITE_ALLOW_PORTS=[server.port], **RATES, **job).code
                == 0
            )
            assert Counter(arrival.path for arrival in server.arrivals) == {f"/{n}": 1 for n in range(PAGES)}
