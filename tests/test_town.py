"""The town keeps its promises: judged from outside, by plain clients, over loopback."""

from __future__ import annotations

import base64
import contextlib
import html
import http.client
import io
import json
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from town.capacity import QUEUE, Overloaded, Served, Servers
from town.client import Town, TownError
from town.ports import listen
from town.traps import FOREIGN
from town.world import build

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = Path(__file__).resolve().parents[1] / "example_project"


class Reply(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


def ask(town: Town, name: str, kind: str = "A", *, tcp: bool = False, **options: Any) -> dns.message.Message:
    host, _, port = town.info["dns"].rpartition(":")
    query = dns.message.make_query(name, kind, **options)
    return (dns.query.tcp if tcp else dns.query.udp)(query, host, port=int(port), timeout=5)


def values(message: dns.message.Message, kind: str = "A") -> list[str]:
    wanted = dns.rdatatype.from_text(kind)
    return [item.to_text().rstrip(".") for rrset in message.answer if rrset.rdtype == wanted for item in rrset]


def get(town: Town, url: str, address: str | None = None, headers: dict[str, str] | None = None) -> Reply:
    """One GET on a connection of its own, the host resolved by the town unless `address` says where to go."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or 0
    address = address or values(ask(town, host))[0]
    raw = socket.create_connection((address, port), timeout=10)
    if parts.scheme == "https":
        raw = ssl.create_default_context(cafile=town.info["ca"]).wrap_socket(raw, server_hostname=host)
    connection = http.client.HTTPConnection(host, port)
    connection.sock = raw
    with contextlib.closing(connection):
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", path, headers={"User-Agent": "test", **(headers or {})})
        response = connection.getresponse()
        return Reply(response.status, response.headers, response.read())


def until_ok(town: Town, url: str) -> Reply:
    """Comes again, as a visitor who is told to, until the page is there."""
    for _ in range(100):
        reply = get(town, url)
        if reply.status not in (403, 429, 503):
            return reply
        time.sleep(0.1)
    raise AssertionError(f"{url} never came: {reply.status}")


def site_of(town: Town, inhabitant: str) -> dict[str, Any]:
    return next(site for site in town.info["sites"] if site["inhabitant"] == inhabitant)


def find(pattern: str, text: str) -> list[str]:
    return [html.unescape(found) for found in re.findall(pattern, text)]


def links(text: str, name: str) -> list[str]:
    return find(rf'<a class="{name}" href="([^"]*)"', text)


def photos(text: str) -> list[str]:
    return find(r'<img class="photo" alt="" src="([^"]*)"', text)


def base(site: dict[str, Any]) -> str:
    return str(site["start_url"]).removesuffix("/search?page=1")


def crawl(town: Town, site: dict[str, Any]) -> dict[str, str]:
    """All pages of a site by its own links: URL -> HTML."""
    pages: dict[str, str] = {}
    waiting = [site["start_url"]]
    while waiting:
        url = waiting.pop()
        reply = until_ok(town, url)
        assert reply.status == 200
        pages[url] = reply.text
        found = [base(site) + link for name in ("listing", "next") for link in links(reply.text, name)]
        waiting += [link for link in found if link not in pages and link not in waiting]
    return pages


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    # Twenty tenants have all that the platform has to show; patience below 1 keeps every wait near a second.
    with Town(tmp_path_factory.mktemp("town"), tenants=20, traps="all", patience=0.25, capacity=5000) as running:
        yield running
        assert (running.directory / "town.err").read_text() == ""


# The model of the platform's capacity.

steps = st.lists(st.tuples(st.floats(0.0, 0.5), st.sampled_from([1.0, 2.0, 4.0])), min_size=1, max_size=60)


@settings(deadline=None)
@given(steps=steps, extra=st.lists(st.integers(0, 59), max_size=5))
def test_more_work_never_makes_the_platform_faster(steps: list[tuple[float, float]], extra: list[int]) -> None:
    calm, busy, now = Servers(10_000.0), Servers(10_000.0), 0.0
    for number, (pause, cost) in enumerate(steps):
        now += pause
        for _ in range(extra.count(number)):
            busy.arrive(now, 4.0)
        first, second = calm.arrive(now, cost), busy.arrive(now, cost)
        assert second.latency >= first.latency


@settings(deadline=None, max_examples=50)
@given(capacity=st.floats(5.0, 500.0), shares=st.tuples(st.floats(0.05, 0.95), st.floats(0.05, 0.95)))
def test_latency_rises_with_the_rate_and_nothing_is_refused_below_capacity(
    capacity: float, shares: tuple[float, float]
) -> None:
    settled = []
    for share in sorted(shares):
        servers, gap = Servers(capacity), 1.0 / (share * capacity)
        answers = [servers.arrive(number * gap, 1.0) for number in range(300)]
        assert all(isinstance(answer, Served) for answer in answers)
        settled.append(answers[-1].latency)
    assert settled[0] <= settled[1] + 1e-9


@settings(deadline=None, max_examples=50)
@given(capacity=st.floats(5.0, 200.0), share=st.floats(1.3, 10.0))
def test_past_capacity_there_are_503s_and_never_more_work_than_stated(capacity: float, share: float) -> None:
    servers, seconds = Servers(capacity), 10.0
    gap = 1.0 / (share * capacity)
    answers = [servers.arrive(number * gap, 1.0) for number in range(int(seconds / gap))]
    taken = sum(isinstance(answer, Served) for answer in answers)
    assert any(isinstance(answer, Overloaded) for answer in answers)
    assert capacity * seconds * 0.8 <= taken <= capacity * (seconds + QUEUE) + 1
    assert max(answer.latency for answer in answers) < 3.0


def test_an_idle_platform_recovers() -> None:
    servers = Servers(10.0)
    while isinstance(servers.arrive(0.0, 4.0), Served):
        pass
    assert isinstance(servers.arrive(60.0, 4.0), Served)
    assert servers.load(120.0) < 0.01


def test_capacity_must_be_positive() -> None:
    with pytest.raises(ValueError, match="capacity is 0"):
        Servers(0)


# Who lives there.


def test_equal_seeds_make_equal_towns() -> None:
    assert build(7, 5, 3) == build(7, 5, 3)
    assert build(7, 5, 3) != build(8, 5, 3)


def test_a_town_has_every_kind_of_inhabitant_and_up_to_hundreds_of_tenants() -> None:
    world = build(1, 300, 2)
    assert len({site.host for site in world.sites}) == 314
    assert {site.inhabitant for site in world.sites} == {
        "platform", "lone", "crawl-delay", "busy-seconds", "busy-date", "down", "challenge", "knee", "slow", "cdn"
    }  # fmt: skip
    tenants = world.sites[:300]
    assert sum(site.tls for site in tenants) == 100
    assert sum(not site.host.startswith("www.") for site in tenants) == 30
    assert {site.images_on for site in tenants} == {"platform", "bucket", "imageservice"}


# The DNS.


@pytest.mark.parametrize("tcp", [False, True])
def test_a_tenant_is_an_alias_of_the_platform(town: Town, tcp: bool) -> None:
    answer = ask(town, site_of(town, "platform")["host"], tcp=tcp)
    assert values(answer, "CNAME") == [town.info["platform"]["cname"]]
    assert sorted(values(answer)) == town.info["platform"]["addresses"]
    assert {rrset.ttl for rrset in answer.answer} == {300}
    assert town.queries()[-1]["transport"] == ("tcp" if tcp else "udp")


def test_an_apex_has_plain_addresses(town: Town) -> None:
    host = next(site["host"] for site in town.info["sites"] if not site["host"].startswith("www."))
    answer = ask(town, host)
    assert not values(answer, "CNAME")
    assert sorted(values(answer)) == town.info["platform"]["addresses"]


def test_no_ipv6_is_no_error_and_an_unknown_name_is_none_at_all(town: Town) -> None:
    answer = ask(town, site_of(town, "lone")["host"], "AAAA")
    assert (answer.rcode(), answer.answer) == (dns.rcode.NOERROR, [])
    assert answer.authority
    assert ask(town, "nobody.example").rcode() == dns.rcode.NXDOMAIN
    assert ask(town, "example").rcode() == dns.rcode.NOERROR


def test_what_does_not_fit_a_datagram_comes_by_tcp(town: Town) -> None:
    short = ask(town, "wide.odd.example", use_edns=False)
    assert short.flags & dns.flags.TC
    assert len(values(ask(town, "wide.odd.example", tcp=True))) == 120


def test_a_rebinding_name_is_good_once(town: Town) -> None:
    # Its IPv6 question must not use the first look up.
    assert values(ask(town, "rebind-3.traps.example", "AAAA"), "AAAA") == []
    looks = [ask(town, "rebind-3.traps.example") for _ in range(3)]
    assert [values(look) for look in looks] == [["127.20.6.1"], ["127.0.0.1"], ["127.0.0.1"]]
    assert looks[0].answer[0].ttl == 0


def test_odd_names_answer_oddly(town: Town) -> None:
    assert ask(town, "servfail.odd.example").rcode() == dns.rcode.SERVFAIL
    assert values(ask(town, "circle-1.odd.example"), "CNAME")
    nowhere = ask(town, "nowhere.odd.example")
    assert (nowhere.rcode(), values(nowhere, "CNAME")) == (dns.rcode.NXDOMAIN, ["missing.odd.example"])


# HTTP and HTTPS.


def test_every_arrival_is_logged_with_all_that_a_judge_needs(town: Town) -> None:
    site = site_of(town, "crawl-delay")
    before = time.monotonic()
    reply = get(town, f"{base(site)}/robots.txt?logged", headers={"User-Agent": "judge/1"})
    after = time.monotonic()
    assert reply.status == 200
    assert "Crawl-delay: 2" in reply.text
    (entry,) = [entry for entry in town.arrivals() if entry["path"] == "/robots.txt?logged"]
    assert before <= entry.pop("t") <= after
    assert 0 < entry.pop("latency") < 5
    assert entry == {
        "server": "crawl-delay", "address": "127.20.1.2", "port": town.info["http_port"], "host": site["host"],
        "path": "/robots.txt?logged", "kind": "robots", "cost": 1, "status": 200, "hold_until": None,
        "agent": "judge/1", "tls": False,
    }  # fmt: skip


def test_stamps_are_taken_when_the_bytes_arrive_and_not_when_they_are_read(town: Town) -> None:
    site = site_of(town, "lone")
    address = values(ask(town, site["host"]))[0]
    spans = []
    with socket.create_connection((address, town.info["http_port"])) as connection:
        for number in range(20):
            before = time.monotonic()
            connection.sendall(f"GET /stamp/{number} HTTP/1.1\r\nHost: {site['host']}\r\n\r\n".encode())
            spans.append((before, time.monotonic()))
            while not connection.recv(65536).endswith(b"Nothing here.\n"):
                pass
    stamps = [entry["t"] for entry in town.arrivals() if entry["path"].startswith("/stamp/")]
    # Over loopback the kernel takes bytes in within the sender's call; the rest: two clocks are read in turn.
    assert all(before - 0.002 <= at <= after + 0.002 for (before, after), at in zip(spans, stamps, strict=True))


def test_https_has_the_towns_own_authority(town: Town) -> None:
    site = next(site for site in town.info["sites"] if site["start_url"].startswith("https://www."))
    assert get(town, site["start_url"]).status == 200
    assert town.arrivals()[-1]["tls"] is True
    with pytest.raises(ssl.SSLCertVerificationError):
        get(town, f"https://www.other.example:{town.info['https_port']}/", address="127.20.0.1")


def test_a_connection_serves_many_requests(town: Town) -> None:
    site = site_of(town, "lone")
    connection = http.client.HTTPConnection("127.20.1.1", town.info["http_port"], timeout=5)
    with contextlib.closing(connection):
        for method in ("GET", "HEAD", "GET"):
            connection.request(method, "/search?page=1", headers={"Host": site["host"]})
            response = connection.getresponse()
            assert response.status == 200
            assert bool(response.read()) is (method == "GET")
        connection.request("POST", "/search", body=b"x", headers={"Host": site["host"]})
        assert connection.getresponse().status == 405


def test_a_page_that_is_not_there_is_404(town: Town) -> None:
    start = base(site_of(town, "lone"))
    for path in ("/search?page=99", "/search?page=x", "/listing/1", "/img/ffffffffffff.jpg", "/go/9999", "/nothing"):
        assert get(town, start + path).status == 404
    assert get(town, f"http://mixed.traps.example:{town.info['http_port']}/", address="127.20.1.1").status == 404


# Inhabitants of special manners.


def test_retry_after_in_seconds_is_kept_and_not_extended(town: Town) -> None:
    site = site_of(town, "busy-seconds")
    assert get(town, f"{base(site)}/robots.txt").status == 200
    first, again = get(town, site["start_url"]), get(town, site["start_url"])
    assert (first.status, first.headers["Retry-After"], again.status) == (429, "1", 429)
    mine = [entry for entry in town.arrivals() if entry["server"] == "busy-seconds"]
    robots, one, two = mine[-3:]
    assert robots["hold_until"] is None
    assert one["hold_until"] == two["hold_until"] == pytest.approx(one["t"] + 1, abs=0.001)
    time.sleep(max(0.0, one["t"] + int(first.headers["Retry-After"]) - time.monotonic()))
    assert get(town, site["start_url"]).status == 200


def test_retry_after_as_a_date_is_kept(town: Town) -> None:
    site = site_of(town, "busy-date")
    reply = get(town, site["start_url"])
    assert reply.status == 429
    date = parsedate_to_datetime(reply.headers["Retry-After"]).timestamp()
    held = next(entry for entry in town.arrivals() if entry["status"] == 429 and entry["server"] == "busy-date")
    assert held["hold_until"] == pytest.approx(time.monotonic() + date - time.time(), abs=0.05)
    time.sleep(max(0.0, date - time.time()))
    assert get(town, site["start_url"]).status == 200


def test_one_is_down_for_a_while(town: Town) -> None:
    site = site_of(town, "down")
    assert get(town, f"{base(site)}/robots.txt").status == 200
    reply = get(town, site["start_url"])
    assert (reply.status, reply.headers["Retry-After"]) == (503, None)
    started = time.monotonic()
    assert until_ok(town, site["start_url"]).status == 200
    assert time.monotonic() - started > 0.5


def test_one_shows_a_challenge_for_a_while(town: Town) -> None:
    site = site_of(town, "challenge")
    assert get(town, f"{base(site)}/robots.txt").status == 200
    reply = get(town, site["start_url"])
    assert (reply.status, reply.headers["cf-mitigated"]) == (403, "challenge")
    assert "challenge-form" in reply.text
    assert until_ok(town, site["start_url"]).status == 200


def test_the_platform_gives_503_past_its_capacity_and_slows_down_before(tmp_path: Path) -> None:
    with Town(tmp_path, tenants=3, listings=1, capacity=20) as town:
        site = site_of(town, "platform")
        with ThreadPoolExecutor(12) as threads:
            replies = list(threads.map(lambda _: get(town, site["start_url"], "127.20.0.1"), range(24)))
        statuses = [reply.status for reply in replies]
        assert set(statuses) == {200, 503}
        assert all(reply.headers["Retry-After"] is None for reply in replies)
        served = [entry["latency"] for entry in town.arrivals() if entry["status"] == 200]
        assert served[-1] > 5 * served[0]


def test_the_small_host_serves_as_many_as_have_a_place_and_refuses_the_others(tmp_path: Path) -> None:
    with Town(tmp_path, tenants=0, listings=1) as town:
        sites = [site for site in town.info["sites"] if site["inhabitant"] == "knee"]
        assert {value for site in sites for value in values(ask(town, site["host"]), "CNAME")} == {town.info["knee"]["cname"]}
        urls = [f"{base(site)}/listing/1000" for site in sites]
        address = town.info["knee"]["addresses"][0]
        with ThreadPoolExecutor(24) as threads:
            replies = list(threads.map(lambda number: get(town, urls[number % len(urls)], address), range(24)))
        statuses = sorted(reply.status for reply in replies)
        assert set(statuses) == {200, 503}
        # Ten have a place at once; a busy machine brings the last ones when the first have left.
        assert statuses.count(200) >= 10
        log = [entry for entry in town.arrivals() if entry["server"] == "knee"]
        assert sorted(entry["status"] for entry in log) == statuses
        assert all(reply.headers["Retry-After"] is None for reply in replies)
        served = [entry["latency"] for entry in log if entry["status"] == 200]
        # Two units a page, two workers: half a second for those who come first, five times as long for the last in the queue.
        assert max(served) > 3 * served[0]


def test_one_takes_its_time_and_refuses_nobody(tmp_path: Path) -> None:
    with Town(tmp_path, tenants=0, listings=1) as town:
        url = f"{base(site_of(town, 'slow'))}/listing/1000"
        began = time.monotonic()
        with ThreadPoolExecutor(8) as threads:
            replies = list(threads.map(lambda _: get(town, url), range(8)))
        assert time.monotonic() - began > 1.5
        assert {reply.status for reply in replies} == {200}
        # Nobody waits for another.
        assert all(1.5 <= entry["latency"] < 2.5 for entry in town.arrivals())


# Edges and stores.


def test_the_cdn_tells_hit_from_miss_and_the_origin_sees_misses_only(tmp_path: Path) -> None:
    with Town(tmp_path, tenants=0) as town:
        site = site_of(town, "cdn")
        assert values(ask(town, site["host"]), "CNAME") == ["harbour-lets.b-cdn.net"]
        first, second = get(town, site["start_url"]), get(town, site["start_url"])
        assert (first.headers["X-Cache"], second.headers["X-Cache"]) == ("MISS", "HIT")
        assert "fwd=miss" in first.headers["Cache-Status"]
        assert "; hit" in second.headers["Cache-Status"]
        assert first.body == second.body
        pictures = [f"{base(site)}{source}" for page in crawl(town, site).values() for source in photos(page)]
        told = [get(town, url).headers["X-Cache"] for url in pictures]
        assert {"HIT", "MISS"} == set(told)
        by_server: dict[str, list[str]] = {"cdn": [], "cdn-origin": []}
        for entry in town.arrivals():
            by_server[entry["server"]].append(entry["path"])
        assert len(by_server["cdn-origin"]) == len(set(by_server["cdn-origin"]))
        assert set(by_server["cdn-origin"]) < set(by_server["cdn"])
        missed = {url.removeprefix(base(site)) for url, how in zip(pictures, told, strict=True) if how == "MISS"}
        assert missed <= set(by_server["cdn-origin"])


def test_those_who_ask_the_cdn_at_once_cost_the_origin_one_request(tmp_path: Path) -> None:
    with Town(tmp_path, tenants=0) as town:
        url = f"{base(site_of(town, 'cdn'))}/listing/1000"
        with ThreadPoolExecutor(8) as threads:
            replies = list(threads.map(lambda _: get(town, url, "127.20.3.1"), range(8)))
        assert {reply.status for reply in replies} == {200}
        assert sum(entry["server"] == "cdn-origin" for entry in town.arrivals()) == 1


def test_the_bucket_answers_in_both_spellings(town: Town) -> None:
    sources = [
        source
        for site in town.info["sites"]
        if site["images_on"] == "bucket"
        for page in crawl(town, site).values()
        for source in photos(page)
        if "amazonaws.com" in source
    ]
    hosts = {urlsplit(source).hostname for source in sources}
    assert hosts == {"hearth-photos.s3.eu-west-2.amazonaws.com", "s3.eu-west-2.amazonaws.com"}
    for source in sources:
        reply = get(town, source)
        assert (reply.status, reply.headers["Server"]) == (200, "AmazonS3")
        parts = urlsplit(source)
        scheme, port = parts.scheme, parts.port
        key = parts.path.removeprefix("/hearth-photos")
        for other in (
            f"{scheme}://hearth-photos.s3.eu-west-2.amazonaws.com:{port}{key}",
            f"{scheme}://s3.eu-west-2.amazonaws.com:{port}/hearth-photos{key}",
        ):
            assert get(town, other).body == reply.body
    missing = get(town, f"http://s3.eu-west-2.amazonaws.com:{town.info['http_port']}/hearth-photos/none.jpg")
    assert missing.status == 404
    assert "NoSuchKey" in missing.text


def test_the_image_service_resizes_on_the_fly(town: Town) -> None:
    site = next(site for site in town.info["sites"] if site["images_on"] == "imageservice")
    source = next(source for page in crawl(town, site).values() for source in photos(page) if "cloudinary" in source)
    start, _, file = source.rpartition("/")
    start = start.rpartition("/")[0]
    for width in (64, 320, 640):
        with Image.open(io.BytesIO(get(town, f"{start}/w_{width}/{file}").body)) as picture:
            assert picture.width == min(width, 280 if file.endswith("png") else width)
    assert get(town, f"{start}/w_640,c_limit/{file}").status == 200
    assert get(town, f"{start}/w_99999/{file}").status == 400
    assert get(town, f"{start}/w_640/000000000000.jpg").status == 404


def test_photographs_are_of_a_photographs_size_and_all_different(town: Town) -> None:
    seen: dict[bytes, str] = {}
    modes = set()
    for site in town.info["sites"]:
        if site["images_on"] != "platform":
            continue
        for page in crawl(town, site).values():
            for source in (source for source in photos(page) if source.startswith("/")):
                reply = get(town, base(site) + source)
                assert reply.status == 200
                assert 20_000 <= len(reply.body) <= 80_000
                assert seen.setdefault(reply.body, source) == source
                with Image.open(io.BytesIO(reply.body)) as picture:
                    picture.load()
                    modes.add(picture.mode)
    assert {"RGB"} <= modes <= {"RGB", "RGBA"}


# Pages and the ground truth.

KEYS = {
    "google-api-key": r"AIza[\w-]{35}(?![\w-])",
    "mapbox-public": r"pk\.eyJ[\w-]{20,}\.[\w-]{20,}",
    "stripe-publishable": r"pk_live_[A-Za-z0-9]{10,}",
    "stripe-secret": r"sk_live_[A-Za-z0-9]{10,}",
    "aws-akid": r"\bAKIA[A-Z2-7]{16}\b",
    "github": r"ghp_[A-Za-z0-9]{36,}",
    "jwt": r"(?<![\w.-])eyJ[\w-]{12,}\.eyJ[\w-]{12,}\.[\w-]{12,}",
}
EMAIL = r"[A-Za-z0-9._+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}"
PHONE = r"(?<![\w.,#-])(?:\+44 \d{2,3} [\d ]{8,9}|\+44\d{10}|\(0\d{2,3}\) [\d ]{8,9}|0\d{2,3} [\d ]{8,9}|0\d{10})(?![\w.])"


def test_the_ground_truth_is_exactly_what_the_pages_contain(town: Town) -> None:
    truth = town.ground_truth()
    urls = set()
    for site in town.info["sites"]:
        pages = crawl(town, site)
        assert len(pages) == site["pages"]
        urls |= set(pages)
        for url, text in pages.items():
            assert 3_000 <= len(text.encode()) <= 300_000
            keys = {(kind, value) for kind, pattern in KEYS.items() for value in re.findall(pattern, text)}
            assert keys == {(entry["kind"], entry["value"]) for entry in truth["keys"] if entry["url"] == url}
            # A link is no e-mail address and bulk is no telephone number, whatever they look like.
            read = re.sub(r'(?s)"https?:[^"]*"|data:image[^"]*|<style>.*?</style>|<svg.*?</svg>|@github\.com', "", text)
            personal = {("email", value) for value in re.findall(EMAIL, read)}
            personal |= {("phone", value.strip()) for value in re.findall(PHONE, read)}
            assert personal == {(entry["kind"], entry["value"]) for entry in truth["personal"] if entry["url"] == url}
    assert {entry["url"] for entry in truth["keys"] + truth["personal"]} == urls
    assert {entry["kind"] for entry in truth["keys"]} == set(KEYS)


def unpadded(text: str) -> Any:
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def test_keys_have_valid_checksums_and_numbers_are_valid(town: Town) -> None:
    import phonenumbers

    truth = town.ground_truth()
    alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    for entry in truth["keys"]:
        value = entry["value"]
        if entry["kind"] == "github":
            total = 0
            for digit in value[-6:]:
                total = total * 62 + alphabet.index(digit)
            assert total == zlib.crc32(value[4:34].encode())
        elif entry["kind"] == "jwt":
            assert unpadded(value.split(".")[0]) == {"alg": "HS256", "typ": "JWT"}
            assert unpadded(value.split(".")[1])["aud"] == "listings"
        elif entry["kind"] == "mapbox-public":
            assert set(unpadded(value.split(".")[1])) == {"u", "a"}
    for entry in truth["personal"]:
        if entry["kind"] == "phone":
            assert phonenumbers.is_valid_number(phonenumbers.parse(entry["value"], "GB")), entry["value"]


def test_pages_have_the_markup_that_a_spider_reads(town: Town) -> None:
    site = next(site for site in town.info["sites"] if site["pages"] > site["listings"] + 1)
    pages = crawl(town, site)
    assert len(links(pages[site["start_url"]], "next")) == 1
    images = 0
    for url, text in pages.items():
        (state,) = re.findall(r'<script id="state" type="application/json">(.*?)</script>', text)
        facts = json.loads(state)
        if "/listing/" in url:
            assert find(r'<h1 class="title">([^<]*)</h1>', text) == [facts["title"]]
            assert find(r'<span class="price">([^<]*)</span>', text) == [facts["price"]]
            assert len(re.findall('<div class="description">', text)) == 1
            (linked,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', text)
            assert json.loads(linked)["offers"]["seller"]["email"] == facts["contact"]["email"]
            assert set(facts["photos"]) <= set(photos(text))
            images += len(facts["photos"])
    assert images == site["images"]


# Traps.


def test_traps_are_on_the_pages_in_every_spelling(town: Town) -> None:
    urls = {trap["url"] for trap in town.info["traps"]}
    pages = crawl(town, site_of(town, "lone"))
    linked = {link for text in pages.values() for link in links(text, "see-also")}
    shown = {source for text in pages.values() for source in photos(text)}
    assert urls <= linked
    assert {f"{url}.jpg" for url in urls} <= shown
    redirected = [link for link in linked if link.startswith("/go/")]
    assert redirected
    for link in redirected:
        reply = get(town, base(site_of(town, "lone")) + link)
        assert reply.status in (301, 302, 303, 307, 308)
        location = reply.headers["Location"].encode("latin-1").decode()
        assert location.removesuffix("?from=go") in urls


def test_whatever_touches_a_trap_is_logged(tmp_path: Path) -> None:
    with Town(tmp_path, tenants=0) as town:
        plain, secure = town.info["http_port"], town.info["https_port"]
        assert get(town, f"http://2130706433:{plain}/trap/1", address="127.0.0.1").status == 200
        assert get(town, f"https://localhost:{secure}/trap/2", address="127.0.0.1").status == 200
        with pytest.raises(ssl.SSLCertVerificationError):
            get(town, f"https://www.lantern-and-key.example:{secure}/trap/3", address="127.99.13.37")
        socket.create_connection(("127.99.0.1", plain)).close()
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline and len({entry["address"] for entry in town.arrivals()}) < 3:
            time.sleep(0.02)
        entries = town.arrivals()
        assert {entry["server"] for entry in entries} == {"trap"}
        assert {entry["address"] for entry in entries} == {"127.0.0.1", "127.99.0.1", "127.99.13.37"}
        assert {"/trap/1", "/trap/2", ""} == {entry["path"] for entry in entries}


def test_traps_can_be_kept_on_this_machine(tmp_path: Path) -> None:
    with Town(tmp_path, tenants=0, traps="loopback") as town:
        pages = "".join(crawl(town, site_of(town, "lone")).values())
        assert town.info["traps"]
        assert not [start for start, _ in FOREIGN if start in pages]


# The process.


def test_two_towns_live_at_once_and_ports_of_others_do_not_matter(tmp_path: Path) -> None:
    taken = [listen(("127.20.0.1", "127.99.0.1"))[1] for _ in range(5)]
    with Town(tmp_path / "one", tenants=1, listings=1) as one, Town(tmp_path / "two", tenants=1, listings=1) as two:
        assert one.info["http_port"] != two.info["http_port"]
        for town in (one, two):
            assert get(town, site_of(town, "platform")["start_url"]).status == 200
            assert len(town.arrivals()) == 1
    for socks in taken:
        for sock in socks:
            sock.close()


def test_only_loopback_addresses_are_listened_on(town: Town) -> None:
    assert town.process is not None
    inodes = {str(link.readlink()) for link in Path(f"/proc/{town.process.pid}/fd").iterdir()}
    local = []
    for table in ("tcp", "tcp6", "udp", "udp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if f"socket:[{fields[9]}]" in inodes and fields[3] in ("0A", "07"):
                local.append(fields[1].rpartition(":")[0])
    assert len(local) > 20
    # Addresses are in the machine's byte order: the last two digits are the first byte.
    assert all(address.endswith("7F") if len(address) == 8 else address == "0" * 24 + "01000000" for address in local)


def test_the_process_ends_when_its_parent_goes(tmp_path: Path) -> None:
    script = (
        "import os, sys, time\nfrom town.client import Town\n"
        f"town = Town({str(tmp_path)!r}, tenants=1, listings=1)\ntown.start()\n"
        "print(town.process.pid, flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], cwd=EXAMPLE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 10
    while running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not running(pid)


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def run(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "town", *arguments]
    return subprocess.Popen(
        command, cwd=EXAMPLE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_it_ends_by_itself_when_its_time_is_up(tmp_path: Path) -> None:
    with run("--dir", str(tmp_path), "--tenants", "1", "--seconds", "0.2") as process:
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, f"ready {tmp_path / 'town.json'}\n", "")


def test_it_ends_cleanly_when_told_to_even_with_connections_open(tmp_path: Path) -> None:
    with run("--dir", str(tmp_path), "--tenants", "1") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready ")
        info = json.loads((tmp_path / "town.json").read_text())
        with socket.create_connection(("127.20.1.1", info["http_port"])):
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--capacity", "0"], "capacity is 0.0"),
        (["--patience", "-1"], "patience is -1.0"),
        (["--tenants", "100000"], "tenants is 100000"),
        (["--listings", "0"], "listings is 0"),
    ],
)
def test_a_wrong_option_is_named(tmp_path: Path, options: list[str], said: str) -> None:
    with run("--dir", str(tmp_path / "town"), *options) as process:
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (2, "")
    assert said in err
    assert "Traceback" not in err
    assert not (tmp_path / "town" / "town.json").exists()


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with run("--dir", str(tmp_path / "file" / "town")) as process:
        _, err = process.communicate(timeout=30)
    assert process.returncode == 2
    assert str(tmp_path / "file") in err


def test_the_client_says_why_a_town_did_not_start(tmp_path: Path) -> None:
    with pytest.raises(TownError, match="tenants is -1"):
        Town(tmp_path, tenants=-1).start()
