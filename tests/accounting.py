"""A crawl of sites that answer, hold, are parked, fail and are not there, which may end in any way and as often as one likes;
and the accounts that it leaves: of each request, whether it has come to its end, or where it waits."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections import Counter
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Final

from loopback import Answer, Arrival, Running, Server, limits, ports, start

from scrapy_polite.stores.base import Cause, open_store

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

    from postgres import Server as PostgresServer

SITES: Final = {
    "127.0.0.2": "answers",
    "127.0.0.3": "answers",
    "127.0.0.4": "holds for an hour",
    "127.0.0.5": "is parked by a person",
    "127.0.0.6": "is not there",
    "127.0.0.7": "says 404",
}

IN_FLIGHT: Final = 16
"""Requests that a kill may take back, and that are made again: more are not under way at a time."""

LEASE: Final = "UPDATE {table} SET until = 1.0"

# Appended to a file at once: of a process that is killed nothing else is left.
ACCOUNTED: Final = """
import os
from scrapy_polite import puttingoff
puttingoff.PATIENCE = {patience}
class Spider(TestSpider):
    custom_settings = dict(RETRY_ENABLED=False, HTTPERROR_ALLOW_ALL=True)
    async def start(self):
        for n in range({count}):
            for url in {urls}:
                yield scrapy.Request(url + "/" + str(n), self.answered, errback=self.failed, dont_filter=False)
        self.note("started", "all")
    def note(self, what, url):
        handle = os.open({path!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, (what + " " + url + "\\n").encode())
        os.close(handle)
    def answered(self, response):
        self.note("done", response.url)
    def failed(self, failure):
        self.note("failed", failure.request.url)
"""


def answer(arrival: Arrival) -> Answer:
    kind = SITES[arrival.headers["host"].partition(":")[0]]
    if kind == "holds for an hour":
        return Answer(status=429, headers={"Retry-After": "3600"})
    if kind == "is not there":
        return Answer(close=True, status=0, headers={"Content-Length": "none"})
    return Answer(status=404 if kind == "says 404" else 200)


def kind_of(url: str) -> str:
    return SITES[url.split("/")[2].partition(":")[0]]


class World:
    """``count``: requests of each site, at ``rate`` a second. ``postgres``: a server of its own for the store, else that is a
    file."""

    def __init__(
        self,
        server: Server,
        folder: Path,
        count: int,
        rate: float = 8.0,
        *,
        postgres: PostgresServer | None = None,
        job: bool = False,
    ) -> None:
        self._folder, self._notes, self._job, self._postgres = folder, folder / "accounts", job, postgres
        self._file = folder / "limits.sqlite"
        self._database = postgres.database() if postgres is not None else None
        self._place = self._database.url if self._database is not None else f"sqlite:{self._file}"
        self._hosts = [f"http://{host}:{server.port}" for host in SITES]
        self._count = count
        self._settings = limits(rate) | ports(server) | {"POLITE_STORE": self._place}
        if job:
            self._settings["JOBDIR"] = str(folder / "job")
        self.urls = {f"{host}/{n}" for host in self._hosts for n in range(count)}
        self.held = {url for url in self.urls if kind_of(url).endswith(("hour", "person"))}
        with closing(open_store(self._place)) as store:
            store.hold("site:127.0.0.5", 1e6, Cause("parked", "by ann"))

    def start(self, *, anew: bool = True, name: str = "one", patience: float = 30.0) -> Running:
        """Not ``anew``: without start requests, so that what is lost does not come again."""
        place = self._folder / name
        place.mkdir(exist_ok=True)
        count = self._count if anew else 0
        source = ACCOUNTED.format(count=count, urls=self._hosts, path=str(self._notes), patience=patience)
        return start(source, place, **self._settings)

    # -- the accounts

    def ended(self) -> Counter[str]:
        """How often each URL has come to an end."""
        return self._noted("done") + self._noted("failed")

    def failed(self) -> Counter[str]:
        return self._noted("failed")

    def started(self) -> bool:
        """Whether all requests were made."""
        return bool(self._noted("started"))

    def put_off(self) -> list[str]:
        with closing(open_store(self._place)) as store:
            return [row.url for row in store.deferred()]

    def in_the_queue(self) -> list[str]:
        """What waits in the JOBDIR, or was under way when a run died."""
        with closing(sqlite3.connect(self._folder / "job" / "requests.queue" / "requests.sqlite")) as database:
            return [json.loads(data)["url"] for (data,) in database.execute("SELECT data FROM request")]

    def waiting(self) -> list[str]:
        return [*self.put_off(), *(self.in_the_queue() if self._job else ())]

    def lost(self) -> set[str]:
        return self.urls - set(self.ended()) - set(self.waiting())

    def _noted(self, what: str) -> Counter[str]:
        lines = self._notes.read_text().splitlines() if self._notes.exists() else []
        return Counter(line.partition(" ")[2] for line in lines if line.startswith(f"{what} "))

    # -- what happens to it

    def take_the_store_away(self) -> None:
        if self._postgres is not None:
            self._postgres.stop(signal.SIGKILL)
        else:
            self._file.rename(self._folder / "aside")

    def bring_the_store_back(self) -> None:
        if self._postgres is not None:
            self._postgres.start()
        else:
            (self._folder / "aside").rename(self._file)

    def a_minute_passes(self) -> None:
        """What runs that died had taken is free again."""
        if self._database is not None:
            self._database.execute(LEASE.format(table="polite.deferred"))
            return
        with closing(sqlite3.connect(self._file)) as database:
            database.execute(LEASE.format(table="deferred"))
            database.commit()

    def ends_at_random(self, chance: random.Random, runs: int, *, anew: bool, processes: int = 1) -> Iterator[str]:
        """So many runs one after the other, each of some processes, that are ended by a signal at a random moment; in some
        the store is away for a while. Tells of each what was done."""
        for number in range(runs):
            told = []
            with ExitStack() as stack:
                names = [f"process{n}" for n in range(chance.randint(1, processes))]
                running = [stack.enter_context(self.start(anew=anew, name=name)) for name in names]
                if chance.random() < 0.8:
                    _until(running, self.ended().total() + chance.randint(1, 12), self)
                time.sleep(chance.random() / 2)
                away = chance.random() < 0.4 and all("Spider opened" in one.log for one in running)
                if away:
                    self.take_the_store_away()
                    time.sleep(chance.random())
                    told.append("the store away")
                late = away and chance.random() < 0.5
                if away and not late:
                    self.bring_the_store_back()
                    time.sleep(chance.random())
                for one in running:
                    signal_ = chance.choice([signal.SIGKILL, signal.SIGTERM])
                    told.append(signal_.name)
                    if one.process.poll() is None:
                        os.kill(one.process.pid, signal_)
                    time.sleep(chance.random() / 4)
                if late:
                    self.bring_the_store_back()
                for one in running:
                    one.end(60)
            yield f"run {number}: {', '.join(told)}; {self.ended().total()} ends of {len(self.ended())} requests"


def _until(running: list[Running], ends: int, world: World) -> None:
    """So many have come to an end, or nothing goes on."""
    end = time.monotonic() + 20
    while world.ended().total() < ends and any(one.process.poll() is None for one in running) and time.monotonic() < end:
        time.sleep(0.005)
