"""Bad input: a clear message, an exit status, and nothing half-written."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from town.client import Town
from trapped_world import HERE, SCRAPY_CRAWL, Outcome, World, project, run, taken

from scrapy_polite.stores.base import open_store
from scrapy_polite.stores.pgschema import VERSION as POSTGRES_VERSION
from scrapy_polite.stores.schema import VERSION as SQLITE_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from postgres import Database


@pytest.fixture
def world() -> Iterator[World]:
    with World() as world:
        yield world


@pytest.fixture
def home(world: World, tmp_path: Path) -> Path:
    """A project of a user's."""
    project(tmp_path / "home", world.settings())
    return tmp_path / "home"


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file and directory in it, as it is."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if "__pycache__" not in path.parts
    }


def scrapy_crawl(home: Path, world: World, *options: str) -> Outcome:
    """What would also write a feed and a JOBDIR, if it ran."""
    return run(home, [*SCRAPY_CRAWL, "-O", "items.jsonl", "-s", "JOBDIR=job", *options], URLS=world.url("/page"))


def refused(home: Path, world: World, options: list[str], *said: str) -> None:
    """The crawl does not start: exit status, one line that says why, nobody asked for anything, nothing written."""
    before = contents(home)
    outcome = scrapy_crawl(home, world, *options)
    assert outcome.status == 1, outcome.said
    (line,) = [line for line in outcome.said.splitlines() if "CRITICAL: The crawl does not start: " in line]
    for words in said:
        assert words in line
    assert contents(home) == before
    assert (world.arrivals, world.questions, world.hits) == ([], [], [])


def test_with_nothing_wrong_the_same_crawl_runs(home: Path, world: World) -> None:
    outcome = scrapy_crawl(home, world)
    assert outcome.status == 0, outcome.said
    assert outcome.pages == [world.url("/page")]
    assert "CRITICAL" not in outcome.said
    assert (home / "job").is_dir()


# Settings.


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("POLITE_SITE_RATE", "fast", "a number from 0.000001, in cost units per second"),
        ("POLITE_ENABLED", "perhaps", "True or False"),
        ("POLITE_GUARD", "off", "`enforce` or `report`"),
        ("POLITE_ALLOW_NETWORKS", "10.0.0.1/8", "a list of networks in CIDR form"),
        ("POLITE_DNS_SERVERS", "dns.example", "a list of addresses with optional ports"),
        ("POLITE_LIMITS", '{"origin:a": ', "not valid JSON"),
        ("POLITE_REDACT", "everything", "secrets"),
        ("POLITE_STORE", "redis://localhost", "sqlite:"),
    ],
)
def test_a_wrong_setting(home: Path, world: World, name: str, value: str, accepted: str) -> None:
    refused(home, world, ["-s", f"{name}={value}"], name, value, accepted)


@pytest.mark.parametrize(("name", "meant"), [("POLITE_SITE_RATES", "POLITE_SITE_RATE"), ("POLITE_STOER", "POLITE_STORE")])
def test_an_unknown_setting(home: Path, world: World, name: str, meant: str) -> None:
    refused(home, world, ["-s", f"{name}=1"], f"{name} is not a setting of scrapy_polite", f"did you mean {meant}?")


def test_a_wrong_setting_is_said_also_where_scrapy_logs_hardly_anything(home: Path, world: World) -> None:
    refused(home, world, ["-s", "POLITE_SITE_RATE=0", "-L", "CRITICAL"], "POLITE_SITE_RATE = '0'")


@pytest.mark.parametrize("process", ["0", "1"])
def test_the_exit_status_is_that_of_both_processes(home: Path, world: World, process: str) -> None:
    refused(home, world, ["-s", "POLITE_SITE_RATE=0", "-s", f"FORCE_CRAWLER_PROCESS={process}"], "POLITE_SITE_RATE")


def test_runspider_says_so_too(home: Path, world: World) -> None:
    command = [sys.executable, "-m", "scrapy", "runspider", str(home / "own_project" / "spider.py"), "-s", "POLITE_SITE_RATE=0"]
    outcome = run(home, command, URLS=world.url("/page"))
    assert outcome.status == 1
    assert "The crawl does not start: POLITE_SITE_RATE = '0'" in outcome.said
    assert world.arrivals == []


# The store.


def test_a_store_whose_directory_is_missing(home: Path, world: World) -> None:
    path = home / "missing" / "limits.sqlite"
    refused(home, world, ["-s", f"POLITE_STORE=sqlite:{path}"], "POLITE_STORE", str(path), "does not exist", "mkdir -p")


def test_a_store_where_nothing_may_be_written(home: Path, world: World) -> None:
    # Also for root, as which containers run.
    refused(home, world, ["-s", "POLITE_STORE=sqlite:/proc/sys/limits.sqlite"], "POLITE_STORE", "/proc/sys/limits.sqlite")


def test_a_store_under_a_file(home: Path, world: World) -> None:
    (home / "file").touch()
    path = home / "file" / "limits.sqlite"
    refused(home, world, ["-s", f"POLITE_STORE=sqlite:{path}"], "POLITE_STORE", str(path))


def test_a_store_that_is_a_directory(home: Path, world: World) -> None:
    refused(home, world, ["-s", f"POLITE_STORE=sqlite:{home}"], "POLITE_STORE", str(home), "it is a directory")


def test_a_store_that_is_somebody_elses_text(home: Path, world: World) -> None:
    path = home / "notes.txt"
    path.write_text("remember the milk\n" * 100)
    refused(home, world, ["-s", f"POLITE_STORE=sqlite:{path}"], "POLITE_STORE", str(path))


def test_a_store_that_is_somebody_elses_database(home: Path, world: World) -> None:
    path = home / "other.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE customers (name)")
    db.close()
    refused(home, world, ["-s", f"POLITE_STORE=sqlite:{path}"], "POLITE_STORE", str(path))


def test_a_store_of_a_newer_version(home: Path, world: World) -> None:
    path = home / "newer.sqlite"
    open_store(f"sqlite:{path}").close()
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {SQLITE_VERSION + 1}")
    db.close()
    said = f"its version is {SQLITE_VERSION + 1}, this one knows {SQLITE_VERSION}. Update the package"
    refused(home, world, ["-s", f"POLITE_STORE=sqlite:{path}"], "POLITE_STORE", str(path), said)


def test_a_postgres_store_of_a_newer_version(home: Path, world: World, database: Database) -> None:
    open_store(database.url).close()
    database.execute(f"UPDATE polite.meta SET version = {POSTGRES_VERSION + 1}")
    said = f"its version is {POSTGRES_VERSION + 1}, this one knows {POSTGRES_VERSION}. Update the package"
    refused(home, world, ["-s", f"POLITE_STORE={database.url}"], "POLITE_STORE", said)
    assert database.execute("SELECT version FROM polite.meta") == [(POSTGRES_VERSION + 1,)]


def test_a_ledger_where_none_can_be_written(home: Path, world: World) -> None:
    refused(home, world, ["-s", "POLITE_LEDGER=/no/such/directory/ledger.sqlite"], "POLITE_LEDGER", "/no/such/directory")


# Names.


def unanswered(home: Path, world: World, host: str, *options: str) -> tuple[Outcome, str]:
    """The page cannot be fetched, its errback is told, the log has one line about it; the outcome and that line."""
    outcome = run(
        home, [*SCRAPY_CRAWL, "-s", "POLITE_DNS_TIMEOUT=0.4", *options], URLS=f"{world.url('/1', host)} {world.url('/2', host)}"
    )
    assert outcome.status == 0, "a crawl whose requests fail is a crawl to Scrapy"
    assert outcome.pages == []
    assert [one["error"] for one in outcome.result["failed"]] == ["CannotResolveHostError"] * 2
    assert all(host in one["why"] for one in outcome.result["failed"])
    assert (world.arrivals, world.hits) == ([], [])
    (line,) = [line for line in outcome.said.splitlines() if "No DNS answer" in line]
    assert f"no request to {host}" in line
    return outcome, line


def test_a_name_that_does_not_exist(home: Path, world: World) -> None:
    _, line = unanswered(home, world, "nobody.example")
    assert "(nxdomain)" in line


# What has to be looked up waits for so long, while no name server answers for any name.
IMPATIENT = ("-s", "POLITE_DEFER_AFTER=0.1")


def test_a_name_server_that_does_not_answer(home: Path, world: World) -> None:
    world.silence_names()
    outcome, line = unanswered(home, world, "good.example", *IMPATIENT)
    assert "No name server answered for good.example within 0.4 s" in line
    assert "good.example" in world.questions
    assert "Traceback" not in outcome.said


def test_a_name_server_that_is_not_there(home: Path, world: World) -> None:
    with World() as gone:
        address = gone.dns
    _, line = unanswered(home, world, "good.example", "-s", f"POLITE_DNS_SERVERS={address}", *IMPATIENT)
    assert "No name server answered" in line or "unreachable" in line


def test_the_systems_name_servers_are_not_asked_instead(home: Path, world: World) -> None:
    world.silence_names()
    unanswered(home, world, "localhost.example", *IMPATIENT)


# Ports of the town.


def test_a_town_lives_beside_ports_that_others_hold(tmp_path: Path) -> None:
    with taken(100) as ports, Town(tmp_path, tenants=1, listings=1, seconds=60) as town:
        mine = {town.info["http_port"], town.info["https_port"], int(town.info["dns"].rpartition(":")[2])}
        assert not mine & set(ports)


EXHAUSTED = """
import socket, subprocess, sys
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    for port in (40000, 40001):
        sock = socket.socket(socket.AF_INET, kind)
        sock.bind(("0.0.0.0", port))
        if kind == socket.SOCK_STREAM:
            sock.listen()
        globals().setdefault("kept", []).append(sock)
sys.exit(subprocess.run([sys.executable, "-m", "town", "--dir", sys.argv[1], "--tenants", "1", "--seconds", "20"]).returncode)
"""


def test_a_town_without_any_port_says_so_and_ends(tmp_path: Path) -> None:
    """In a network of its own, where there are two ports and somebody has both."""
    unshare = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c"]
    prepare = "ip link set lo up && echo 40000 40001 > /proc/sys/net/ipv4/ip_local_port_range"
    if subprocess.run([*unshare, prepare], capture_output=True, check=False).returncode:
        pytest.skip("no network of its own can be made here: unshare, ip, or the right to use them is missing")
    script = tmp_path / "exhausted.py"
    script.write_text(EXHAUSTED)
    command = f'{prepare} && exec "$0" "$@"'
    outcome = run(
        tmp_path,
        [*unshare, command, sys.executable, str(script), str(tmp_path / "town")],
        on_path=HERE.parent / "example_project",
    )
    assert outcome.status not in (0, None), outcome.said
    assert "no port was free" in outcome.said or "Address already in use" in outcome.said
    assert "Traceback" not in outcome.said
    assert "ready" not in outcome.said
    assert not (tmp_path / "town" / "town.json").exists()
