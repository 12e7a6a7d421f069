"""Which of a host's addresses is dialled, and what happens when it does not answer: crawls over real sockets."""

from __future__ import annotations

import contextlib
import socket
import threading
from ipaddress import ip_address
from typing import TYPE_CHECKING

import pytest
from trapped_world import GOOD, OTHER, World, crawl

from scrapy_polite.dialling import ATTEMPTS, in_turn
from scrapy_polite.hop import Hop
from scrapy_polite.resolver import Visit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOBODY = "127.30.0.9"
"""Allowed, and nothing listens there: a connection is refused at once."""

ALSO_NOBODY = "127.30.0.10"


@pytest.fixture
def world() -> Iterator[World]:
    with World() as world:
        yield world


def turns(*addresses: str) -> list[str]:
    found = tuple(map(ip_address, addresses))
    return [str(one) for one in in_turn(found[0], found)]


def test_the_pinned_address_is_first_and_then_the_families_by_turns() -> None:
    assert turns("1.0.0.1") == ["1.0.0.1"]
    assert turns("1.0.0.1", "2000::1") == ["1.0.0.1", "2000::1"]
    assert turns("1.0.0.1", "1.0.0.2", "1.0.0.3", "2000::1", "2000::2") == ["1.0.0.1", "2000::1", "1.0.0.2", "2000::2"]
    assert turns("2000::1", "1.0.0.1", "1.0.0.2") == ["2000::1", "1.0.0.1", "1.0.0.2"]


def test_a_host_with_hundreds_of_addresses_is_not_dialled_hundreds_of_times() -> None:
    assert len(turns(*(f"1.0.{n // 250}.{n % 250}" for n in range(300)))) == ATTEMPTS


def test_the_pinned_address_need_not_be_the_first() -> None:
    found = tuple(map(ip_address, ("1.0.0.1", "1.0.0.2", "1.0.0.3")))
    assert [str(one) for one in in_turn(found[1], found)] == ["1.0.0.2", "1.0.0.1", "1.0.0.3"]


def test_a_connection_to_an_address_that_was_not_judged_is_refused() -> None:
    one, two, three = (ip_address(f"1.0.0.{n}") for n in (1, 2, 3))
    visit = Visit("a.test", one, (one, two))
    assert visit.check_peer(str(two))
    assert (visit.peer, visit.pinned) == (two, two)
    assert not visit.leads_to(str(three))
    assert visit.refusal is None
    assert not visit.check_peer(str(three))
    assert visit.refusal is not None
    assert visit.refusal.reason == "wrong_peer"
    assert (visit.peer, visit.pinned) == (two, two)
    assert not visit.check_peer("no address")


def test_a_tunnel_leads_where_it_leads_and_not_to_the_proxy() -> None:
    one, two, proxy = (ip_address(f"1.0.0.{n}") for n in (1, 2, 9))
    through = Visit("a.test", one, (one, two), Hop("http://proxy:1", (proxy,), 1))
    assert through.check_peer("1.0.0.9", "1.0.0.2")
    assert (through.peer, through.pinned) == (two, two)
    direct = Visit("a.test", one, (one, two, proxy))
    for visit, peer, target in (
        (through, "1.0.0.2", None),  # a connection that does not go through the proxy
        (through, "1.0.0.9", None),
        (through, "1.0.0.9", "1.0.0.3"),
        (through, "1.0.0.8", "1.0.0.1"),
        (direct, "1.0.0.9", "1.0.0.1"),  # a tunnel, for somebody who asks for none
    ):
        assert not visit.leads_to(peer, target)
        assert not visit.check_peer(peer, target)
        assert visit.refusal is not None
        assert visit.refusal.reason == "wrong_peer"


def test_only_the_pinned_address_begins_a_dialling() -> None:
    one, two = ip_address("1.0.0.1"), ip_address("1.0.0.2")
    visit = Visit("a.test", one, (one, two))
    assert visit.may_dial("1.0.0.1")
    visit.dial(two)
    assert visit.may_dial("1.0.0.2")
    for other in ("1.0.0.1", "1.0.0.3", "", "a.test"):
        assert not visit.may_dial(other)


@contextlib.contextmanager
def web_server(address: str, port: int) -> Iterator[list[str]]:
    """A server on one address; answers what has connected."""
    paths: list[str] = []
    listening = socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection, contextlib.suppress(OSError):
                    connection.settimeout(5)
                    head = connection.recv(65536)
                    paths.append(head.split()[1].decode())
                    body = b"" if b"/robots.txt" in head else b"<html>the good server</html>"
                    connection.sendall(
                        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
                        % len(body)
                        + body
                    )

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield paths
    finally:
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(10)


@contextlib.contextmanager
def never_answers(address: str, port: int) -> Iterator[None]:
    """A backlog that is full: it drops every SYN, as a firewall does."""
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind((address, port))
        full.listen(0)
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex((address, port))
        yield


@pytest.fixture
def port() -> int:
    """Free on ::1, where no server of the world's is."""
    with socket.socket(socket.AF_INET6) as sock:
        sock.bind(("::1", 0))
        found: int = sock.getsockname()[1]
        return found


TWO_FAMILIES = {"POLITE_ALLOW_NETWORKS": ["127.30.0.0/16", "::1/128"]}


def dialled(said: str) -> list[str]:
    """The addresses that did not answer, in the order of the log."""
    return [line.split(" port ")[0].split()[-1] for line in said.splitlines() if "the next address is dialled" in line]


def test_where_an_address_refuses_the_next_one_of_the_other_family_is_dialled_and_kept(
    world: World, tmp_path: Path, port: int
) -> None:
    world.script.add("two.example", (60, "A", NOBODY), (60, "AAAA", "::1"))
    urls = [f"http://two.example:{port}/{n}" for n in range(4)]
    with web_server("::1", port) as paths:
        outcome = crawl(tmp_path, world.settings(**TWO_FAMILIES, POLITE_ALLOW_PORTS=[port]), urls)
    assert sorted(outcome.pages) == urls, outcome.said
    assert sorted(paths) == ["/0", "/1", "/2", "/3", "/robots.txt"]
    # The one that has answered is dialled first from then on, though every connection was a new one.
    assert dialled(outcome.said) == [NOBODY]


def test_what_was_dialled_is_recorded_as_the_pinned_one(world: World, tmp_path: Path) -> None:
    world.script.add("some.example", *((60, "A", address) for address in (NOBODY, ALSO_NOBODY, GOOD)))
    outcome = crawl(
        tmp_path,
        world.settings(DOWNLOADER_MIDDLEWARES={"own_parts.SaysPinned": 995}),
        [world.url(f"/{n}", "some.example") for n in range(3)],
    )
    assert len(outcome.pages) == 3, outcome.said
    assert {line.split()[-1] for line in outcome.said.splitlines() if "PINNED" in line} == {GOOD}
    assert len(dialled(outcome.said)) <= 2
    assert world.hits == []


def test_where_no_address_answers_the_request_fails_and_each_was_tried_once(world: World, tmp_path: Path) -> None:
    world.script.add("down.example", (60, "A", NOBODY), (60, "A", ALSO_NOBODY))
    outcome = crawl(tmp_path, world.settings(ROBOTSTXT_OBEY=False), [world.url("/x", "down.example")])
    assert outcome.pages == []
    (failed,) = outcome.result["failed"]
    assert failed["error"] == "DownloadConnectionRefusedError", outcome.said
    assert len(dialled(outcome.said)) == 1


def test_an_address_that_never_answers_has_its_share_of_the_time_only(world: World, tmp_path: Path, port: int) -> None:
    world.script.add("slow.example", (60, "A", NOBODY), (60, "AAAA", "::1"))
    url = f"http://slow.example:{port}/x"
    settings = world.settings(
        **TWO_FAMILIES, POLITE_ALLOW_PORTS=[port], ROBOTSTXT_OBEY=False, DOWNLOAD_TIMEOUT=3, POLITE_MAX_WAIT=1
    )
    with web_server("::1", port), never_answers(NOBODY, port):
        outcome = crawl(tmp_path, settings, [url])
    assert outcome.pages == [url], outcome.said
    assert dialled(outcome.said) == [NOBODY]


def test_a_host_that_moves_is_followed_when_its_ttl_is_over_and_no_kept_connection_outlives_it(
    world: World, tmp_path: Path
) -> None:
    """The old connection is still open, and leads to an address that the new answer does not have."""
    world.script.changing["moves.example"] = lambda before: [(0, "A", OTHER if before else GOOD)]
    settings = world.settings(
        POLITE_ALLOW_NETWORKS=["127.30.0.0/16", "127.31.0.0/16"],
        ROBOTSTXT_OBEY=False,
        DOWNLOADER_MIDDLEWARES={"own_parts.SaysPinned": 995},
        POLITE_SITE_RATE=2 / 3,
    )
    urls = [world.url(f"/{n}", "moves.example") for n in range(4)]
    outcome = crawl(tmp_path, settings, urls)
    assert sorted(outcome.pages) == urls, outcome.result["failed"]
    pinned = [line.split()[-1] for line in outcome.said.splitlines() if "PINNED" in line]
    assert pinned == sorted(pinned)
    assert set(pinned) == {GOOD, OTHER}
    assert "polite/refused/wrong_peer" not in outcome.result["stats"]


def test_a_host_that_moves_out_of_what_is_allowed_is_refused_when_its_ttl_is_over(world: World, tmp_path: Path) -> None:
    world.script.changing["moves.example"] = lambda before: [(0, "A", "127.0.0.1" if before else GOOD)]
    settings = world.settings(ROBOTSTXT_OBEY=False, POLITE_SITE_RATE=2 / 3)
    outcome = crawl(tmp_path, settings, [world.url(f"/{n}", "moves.example") for n in range(4)])
    assert 1 <= len(outcome.pages) <= 3
    assert {one["error"] for one in outcome.result["failed"]} == {"RequestRefused"}
    assert len(outcome.pages) + len(outcome.result["failed"]) == 4
    assert world.hits == []
