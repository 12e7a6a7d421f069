"""Image services in a crawl: what is charged for an account depends on what its answers show, and follows them.

The services are on loopback, under their own names.
"""

from __future__ import annotations

import itertools
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from commandline import objects, polite
from loopback import Answer, Arrival, Crawl, Server, crawl, ports
from nameserver import Script, name_server_in_a_thread

from scrapy_polite.limits.plan import MISS_BURST, MISS_RATE
from scrapy_polite.telemetry.events import HeldEvent, Sent
from scrapy_polite.telemetry.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from scrapy_polite.limits.plan import Charge

SPIDER = """
class Spider(TestSpider):
    async def start(self):
        for url in {urls!r}:
            yield scrapy.Request(url.replace("PORT", "{port}"), self.answered, errback=self.failed)
"""

ACCOUNT = "imageservice:imgix/hearth"
OWN = "origin:imgix/hearth"
EDGE_RATE, ORIGIN_RATE, BUCKET_RATE, BUCKET_BURST = 200.0, 25.0, 500.0, 50.0

SLOWLY = (60 - 1 - MISS_BURST * ORIGIN_RATE) / (MISS_RATE * ORIGIN_RATE) - 0.05
"""Seconds that 60 images take at least where each is a miss."""

UNDER_WAY = 16
"""Requests in the downloader (CONCURRENT_REQUESTS), which are charged as was planned before something else was heard."""


def hits(arrival: Arrival) -> Answer:
    return Answer(b"", headers={"X-Cache": "HIT"})


def stored(arrival: Arrival) -> Answer:
    return Answer(b"", headers={"x-amz-request-id": "4442587FB7D0A2F9", "x-amz-id-2": "a"})


def images(count: int, where: str = "http://hearth.imgix.net:PORT/photos") -> list[str]:
    return [f"{where}/{n}.jpg?w=640" for n in range(count)]


@contextmanager
def named(*hosts: str) -> Iterator[str]:
    script = Script()
    for host in hosts:
        script.add(host, (60, "A", "127.0.0.1"))
    with name_server_in_a_thread("127.0.0.1", script) as server:
        yield server


def fetched(
    tmp_path: Path, answer: Callable[[Arrival], Answer], urls: list[str], *hosts: str, **settings: object
) -> tuple[Crawl, list[tuple[Charge, ...]], float]:
    """The crawl, what each request was charged, and the seconds from the first to the last."""
    ledger = tmp_path / "ledger.sqlite"
    with Server(answer) as server, named("hearth.imgix.net", *hosts) as dns:
        found = crawl(
            SPIDER.format(urls=urls, port=server.port),
            tmp_path,
            **ports(server),
            POLITE_DNS_SERVERS=[dns],
            **{
                "POLITE_EDGE_RATE": EDGE_RATE,
                "POLITE_ORIGIN_RATE": ORIGIN_RATE,
                "POLITE_BUCKET_RATE": BUCKET_RATE,
                "POLITE_BUCKET_BURST": BUCKET_BURST,
                "POLITE_LEDGER": str(ledger),
                **settings,
            },
        )
    assert found.code == 0, found.log
    assert len(found.urls()) == len(urls), found.log
    events = sent(tmp_path)
    return found, [event.charges for event in events], (events[-1].slot - events[0].slot) / 1e6


def sent(tmp_path: Path) -> list[Sent]:
    return [event for event in Ledger.read(tmp_path / "ledger.sqlite") if isinstance(event, Sent)]


def keys(charges: tuple[Charge, ...]) -> list[str]:
    return [charge.key for charge in charges]


def test_a_service_that_shows_a_cache_is_an_edge_whose_misses_are_somebodys(tmp_path: Path) -> None:
    found, charges, seconds = fetched(tmp_path, hits, images(60), POLITE_ORIGIN_RATE=5)
    assert f"Image service: {ACCOUNT} behaves as an edge: 20 of its last 20 answers said" in found.log
    assert f"Image service: {ACCOUNT} in /photos/ behaves as an edge" in found.log
    assert all(keys(one) == [ACCOUNT, OWN] for one in charges)
    assert {(one[0].rate, one[0].refundable, one[1].refundable) for one in charges} == {(EDGE_RATE, False, True)}
    assert found.stats["polite/edge/hit"] == 60
    assert seconds < 6, "misses would take twelve seconds"


def test_a_service_that_shows_nothing_is_asked_no_faster_than_an_origin(tmp_path: Path) -> None:
    found, charges, seconds = fetched(tmp_path, lambda arrival: Answer(b""), images(60))
    assert "behaves as" not in found.log
    assert all(keys(one) == [ACCOUNT, OWN] for one in charges)
    assert seconds >= SLOWLY


def test_a_service_that_shows_a_store_is_a_bucket_and_costs_nobody_else_anything(tmp_path: Path) -> None:
    found, charges, _ = fetched(tmp_path, stored, images(60))
    assert (
        f"{ACCOUNT} behaves as a bucket: 20 of its last 20 answers had the mark of an object store (x-amz-request-id)"
        in found.log
    )
    assert all(keys(one) == [ACCOUNT, OWN] for one in charges[:20])
    alone = [one for one in charges if keys(one) == [ACCOUNT]]
    assert len(alone) >= 60 - 20 - UNDER_WAY
    assert {(one[0].rate, one[0].burst) for one in alone} == {(BUCKET_RATE, BUCKET_BURST)}


def test_what_one_crawl_has_seen_of_a_service_the_next_one_goes_by_and_explain_tells(tmp_path: Path) -> None:
    first, _, _ = fetched(tmp_path, stored, images(30))
    before = len(sent(tmp_path))
    second, charges, _ = fetched(tmp_path, stored, images(30))
    assert "behaves as a bucket" in first.log
    assert "behaves as" not in second.log
    assert {tuple(keys(one)) for one in charges[before:]} == {(ACCOUNT,)}

    (told,), text = explained(tmp_path)
    assert [(charge["key"], charge["rate"], charge["burst"]) for charge in told["charges"]] == [
        (ACCOUNT, BUCKET_RATE, BUCKET_BURST)
    ]
    sentence = f"{ACCOUNT} in /photos/ behaves as a bucket: 20 of its last 20 answers had the mark of an object store"
    behaviour = told["behaviour"]
    assert (behaviour["key"], behaviour["folder"], behaviour["behaviour"]) == (ACCOUNT, "photos", "bucket")
    assert behaviour["because"].startswith(sentence)
    assert abs(behaviour["at"] - time.time()) < 600
    assert behaviour["because"] in told["evidence"]
    assert "  behaves    as a bucket, which costs nobody else anything, since 20" in text

    # What it has lost in one crawl it has not in the next.
    changed, charges, _ = fetched(tmp_path, hits, images(12))
    assert f"{ACCOUNT} no longer behaves as a bucket: of its last 6 answers only 0 showed it" in changed.log
    _, charges, _ = fetched(tmp_path, hits, images(2))
    assert [keys(one) for one in charges[-2:]] == [[ACCOUNT, OWN]] * 2
    (told,), text = explained(tmp_path)
    assert told["behaviour"]["behaviour"] == "unknown"
    assert "no longer behaves as a bucket" in told["behaviour"]["because"]
    assert "  behaves    as nothing known: taken as an edge whose answers are all misses, since 20" in text


def test_an_account_that_nobody_has_met_is_explained_as_unknown(tmp_path: Path) -> None:
    (told,), text = explained(tmp_path)
    assert told["behaviour"] == {"key": ACCOUNT, "folder": "photos", "behaviour": "unknown", "because": None, "at": None}
    assert "  behaves    as nothing known: taken as an edge whose answers are all misses\n" in text


def explained(tmp_path: Path) -> tuple[list[dict[str, Any]], str]:
    """What ``explain`` says of an image of the account: as objects and as text."""
    given = [f"POLITE_STORE=sqlite:{tmp_path}/limits.sqlite", "POLITE_ALLOW_NETWORKS=127.0.0.0/8"]
    given += [f"POLITE_BUCKET_RATE={BUCKET_RATE}", f"POLITE_BUCKET_BURST={BUCKET_BURST}"]
    url = "http://hearth.imgix.net/photos/1.jpg?w=640"
    with named("hearth.imgix.net") as dns:
        words = [word for one in (*given, f"POLITE_DNS_SERVERS={dns}") for word in ("-s", one)]
        return objects(polite("explain", "--json", *words, url, cwd=tmp_path)), polite(
            "explain", *words, url, cwd=tmp_path
        ).stdout


def test_a_bucket_of_a_service_may_be_asked_many_at_once(tmp_path: Path) -> None:
    fetched(tmp_path, stored, images(60), POLITE_BUCKET_RATE=5, POLITE_BUCKET_BURST=100)
    alone = [event.slot for event in sent(tmp_path) if keys(event.charges) == [ACCOUNT]]
    assert len(alone) >= 60 - 20 - UNDER_WAY
    assert alone[-1] - alone[0] < 3_000_000, "one after the other they would take five seconds at least"


def test_a_service_that_no_longer_shows_its_store_has_an_origin_again(tmp_path: Path) -> None:
    count = itertools.count()

    def switches(arrival: Arrival) -> Answer:
        return stored(arrival) if next(count) < 40 else Answer(b"", headers={"X-Cache": "MISS"})

    # So slowly that what was answered is heard before the next one is sent.
    found, charges, _ = fetched(tmp_path, switches, images(100), POLITE_BUCKET_RATE=100.0, POLITE_BUCKET_BURST=0)
    assert f"{ACCOUNT} no longer behaves as a bucket: of its last 10 answers only 4 showed it" in found.log
    assert f"{ACCOUNT} behaves as an edge: 36 of its last 40 answers said" in found.log
    alone = [place for place, one in enumerate(charges) if keys(one) == [ACCOUNT]]
    # Twenty more showed it, six were contrary, and a few were on the wire. What stood in line for it was planned anew.
    assert 0 < len(alone) <= 20 + 6 + 6, alone


def test_a_folder_that_differs_is_charged_for_itself(tmp_path: Path) -> None:
    def answer(arrival: Arrival) -> Answer:
        return stored(arrival) if arrival.path.startswith("/stored/") else Answer(b"")

    where = "http://hearth.imgix.net:PORT"
    urls = [url for pair in zip(images(60, f"{where}/stored"), images(60, f"{where}/fetched"), strict=True) for url in pair]
    found, charges, _ = fetched(tmp_path, answer, urls)
    assert f"{ACCOUNT} in /stored/ behaves as a bucket" in found.log
    assert f"{ACCOUNT} behaves as" not in found.log
    late = charges[60:]
    assert [ACCOUNT] in map(keys, late)
    assert [ACCOUNT, OWN] in map(keys, late)


@pytest.mark.parametrize(
    ("where", "account"),
    [
        ("http://i0.wp.com:PORT/shop.test/uploads", "imageservice:photon/shop.test"),
        ("http://hearth.imgix.net:PORT/http%3A%2F%2Fshop.test%2Fuploads", ACCOUNT),
    ],
)
def test_what_a_service_fetches_from_a_site_is_charged_to_the_origin_of_that_site(
    tmp_path: Path, where: str, account: str
) -> None:
    urls = ["http://shop.test:PORT/", *images(5, where)]
    _, charges, _ = fetched(tmp_path, lambda arrival: Answer(b""), urls, "shop.test", "i0.wp.com")
    by_first = {one[0].key: keys(one) for one in charges}
    site, origin = by_first["site:shop.test"]
    assert site == "site:shop.test"
    assert by_first[account] == [account, origin]


def test_a_service_that_turns_out_to_fetch_from_many_has_a_key_of_its_own(tmp_path: Path) -> None:
    where = "http://hearth.imgix.net:PORT/http%3A%2F%2F{}%2Fuploads"
    urls = [*images(3, where.format("shop.test")), *images(60, where.format("other.test"))]
    _, charges, _ = fetched(tmp_path, lambda arrival: Answer(b""), urls, "shop.test", "other.test")
    assert keys(charges[0]) == [ACCOUNT, "origin:127.0.0.1"]
    assert [ACCOUNT, OWN] in map(keys, charges), "while they are of two"
    assert [ACCOUNT, "origin:127.0.0.1"] in map(keys, charges[20:]), "when nearly all of the last are of one"


def test_a_service_that_is_busy_is_held_and_not_the_bucket_that_it_fetches_from(tmp_path: Path) -> None:
    where = "http://hearth.imgix.net:PORT/https%3A%2F%2Fphotos.s3.eu-west-1.amazonaws.com"
    count = itertools.count()

    def busy(arrival: Arrival) -> Answer:
        return Answer(b"") if next(count) else Answer(b"", 503, {"Retry-After": "1"})

    _, charges, _ = fetched(tmp_path, busy, images(3, where))
    assert keys(charges[0]) == [ACCOUNT, "bucket:s3/photos"]
    held = {event.key for event in Ledger.read(tmp_path / "ledger.sqlite") if isinstance(event, HeldEvent)}
    assert held == {ACCOUNT}
