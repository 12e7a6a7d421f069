"""Crawls with a real Chromium: a page is planned like any request, and what it loads is judged, or is not loaded."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
import trustme
from browsing import HANDLER, INSIDE, VECTORS, Outward, Udp, attacking, page, settings, slow, whole, world_of
from loopback import Answer, Proxy, Server, slots_kept
from trapped_world import GOOD, OTHER, REBINDS, Outcome, World, crawl, crawls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.chromium


@pytest.fixture
def world() -> Iterator[World]:
    with World() as world:
        yield world


def page_of(outcome: Outcome, url: str) -> dict[str, Any]:
    found = [one for one in outcome.result["pages"] if one["url"] == url]
    assert len(found) == 1, outcome.said
    return found[0]


def failed(outcome: Outcome) -> dict[str, str]:
    return {one["url"]: one["error"] for one in outcome.result["failed"]}


# -- the page itself


def test_a_page_is_rendered_and_planned_like_any_request(world: World, tmp_path: Path) -> None:
    script = "<html><head><title>raw</title></head><body><script>document.title = 'rendered'</script></body></html>"
    world.served["/page"] = whole(script)
    outcome = crawl(tmp_path, settings(world), [page(world.url("/page")), world.url("/plain")])
    found = page_of(outcome, world.url("/page"))
    assert (found["title"], found["flags"], found["status"]) == ("rendered", ["playwright"], 200)
    assert found["polite"]["site"] == "site:good.example"
    assert found["polite"]["pinned"] == GOOD
    assert found["polite"]["waited"] >= 0
    assert page_of(outcome, world.url("/plain"))["flags"] == []
    stats = outcome.result["stats"]
    assert stats["polite/requests/page"] == 2
    assert stats["polite/slots/booked"] == 3
    assert stats["polite/requests/robots"] == 1
    assert world.arrivals[0] == ("good.example", "/robots.txt")
    assert world.reached == {("good.example", GOOD)}
    assert "Traceback" not in outcome.said


def test_robots_txt_is_obeyed_for_a_page(world: World, tmp_path: Path) -> None:
    world.served["/robots.txt"] = whole("User-agent: *\nDisallow: /private\n")
    outcome = crawl(tmp_path, settings(world), [page(world.url("/private")), page(world.url("/public"))])
    assert failed(outcome) == {world.url("/private"): "IgnoreRequest"}
    assert [path for _, path in world.arrivals] == ["/robots.txt", "/public"]


def test_pages_keep_the_rate_and_their_slots_are_in_the_ledger(world: World, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    paced = settings(world, POLITE_SITE_RATE=2, POLITE_COSTS={"page": 1, "robots": 1}, POLITE_LEDGER=str(ledger))
    outcome = crawl(tmp_path / "crawl", paced, [page(world.url(f"/{n}")) for n in range(4)])
    assert len(outcome.pages) == 4, outcome.said
    slots_kept(ledger, 0.5, 0.05)


def test_a_page_that_is_refused_with_retry_after_holds_its_site_and_is_opened_again(world: World, tmp_path: Path) -> None:
    asked: list[int] = []

    def busy(request: Any) -> None:
        asked.append(1)
        if len(asked) == 1:
            request.answer(429, "", **{"Retry-After": "2"})
        else:
            request.answer(200, "<html><title>served</title></html>")

    world.served["/busy"] = busy
    outcome = crawl(tmp_path, settings(world, POLITE_MAX_WAIT=0.5), [page(world.url("/busy"))])
    assert page_of(outcome, world.url("/busy"))["title"] == "served"
    assert outcome.result["stats"]["polite/backoff/rate_limited"] == 1
    assert "Traceback" not in outcome.said


def test_a_page_of_an_inside_host_is_refused_before_a_browser_is_asked(world: World, tmp_path: Path) -> None:
    urls = [world.url("/secret", host) for host in ("bad.example", "127.0.0.1", "localhost", "10.211.37.1")]
    outcome = crawl(tmp_path, settings(world), [page(world.url("/good")), *map(page, urls)])
    assert outcome.pages == [world.url("/good")]
    assert failed(outcome) == dict.fromkeys(urls, "RequestRefused")
    assert world.hits == []


def test_a_server_that_is_not_there_is_no_refusal(world: World, tmp_path: Path) -> None:
    url = world.url("/", "127.30.0.77")
    outcome = crawl(tmp_path, settings(world) | {"POLITE_DEFER_AFTER": 5}, [page(url)])
    assert outcome.result["failed"] == [], "its robots.txt cannot be read, so it is held, and put off"
    assert "Put off: 1 request" in outcome.said
    assert not [stat for stat in outcome.result["stats"] if stat.startswith("polite/refused")]


# -- what it loads


def targets_of(world: World) -> list[str]:
    hosts = (
        "127.0.0.1",
        "[::1]",
        "localhost",
        "127.1",
        "[::ffff:127.0.0.1]",
        "bad.example",
        "mixed.example",
        "metadata.example",
    )
    return [f"{host}:{world.port}" for host in (*hosts, *INSIDE)]


def arrived(world: World) -> set[str]:
    """What was asked of the host that may be reached, in every way that there is."""
    return {path for host, path in world.arrivals if host == "more.example"}


SECURE = "--unsafely-treat-insecure-origin-as-secure=http://good.example:{port}"
"""So that the page has all that a page over https has."""


def test_nothing_that_a_page_loads_reaches_an_address_that_was_refused(tmp_path: Path) -> None:
    with world_of({}) as world, Udp() as udp, Outward() as outward:
        targets = [f"more.example:{world.port}", *targets_of(world)]
        world.served.update(attacking(targets, udp.port, world.own_port, lambda: arrived(world) >= VECTORS))
        outcome = crawl(tmp_path, settings(world, SECURE.format(port=world.port)), [page(world.url("/attack"))])
        assert page_of(outcome, world.url("/attack"))["title"] == "attack", outcome.said
        assert world.hits == []
        assert world.trapped == []
        assert udp.packets == []
        assert outward.packets == []
        stats = outcome.result["stats"]
        # Every way was tried: at the one host that may be reached, all of them arrived, at the address that was judged.
        assert arrived(world) >= VECTORS
        assert world.reached == {("good.example", GOOD), ("more.example", GOOD)}
        assert stats["polite/refused/loopback"] >= 6 * len(VECTORS) * 0.8
        assert stats["polite/refused/metadata"] >= 2 * len(VECTORS) * 0.8
        assert stats["polite/refused/private"] >= len(VECTORS) * 0.8


def test_the_same_page_without_the_add_on_reaches_the_traps(tmp_path: Path) -> None:
    """So the traps are where they would be hit, and the page does what it is there for."""
    with world_of({}) as world, Udp() as udp:
        targets = [f"127.0.0.1:{world.port}", f"bad.example:{world.port}"]
        surely = VECTORS - {"/events", "/worker"}  # These two come late here, and not every time.
        world.served.update(attacking(targets, udp.port, world.own_port, lambda: set(world.trapped) >= surely))
        names = f"--host-resolver-rules=MAP good.example {GOOD}, MAP bad.example 127.0.0.1"
        args = (SECURE.format(port=world.port), names)
        unguarded = settings(world, *args, POLITE_ENABLED=False, ROBOTSTXT_OBEY=False)
        crawl(tmp_path, unguarded, [page(world.url("/attack"))])
        assert set(world.trapped) >= surely, surely - set(world.trapped)
        assert "/socket" in world.trapped
        assert len(udp.packets) >= 1


def test_a_redirect_to_the_inside_ends_as_a_refusal(world: World, tmp_path: Path) -> None:
    hosts = ("127.0.0.1", "[::1]", "bad.example", "10.211.37.1", "169.254.169.254", "metadata.example")
    urls = [world.url(f"/go?to=http://{quote(host)}:{world.port}/secret") for host in hosts]
    urls.append(world.url(f"/go?to=https://127.0.0.1:{world.port}/secret"))
    urls.append(world.url(f"/go?to=/go?to=http://127.0.0.1:{world.port}/secret"))
    with Outward() as outward:
        outcome = crawl(tmp_path, settings(world), list(map(page, urls)))
    assert failed(outcome) == dict.fromkeys(urls, "RequestRefused")
    assert outcome.pages == []
    assert world.hits == []
    assert outward.packets == []
    stats = outcome.result["stats"]
    assert stats["polite/refused/loopback"] == 5
    assert stats["polite/refused/metadata"] == 2
    assert stats.get("retry/count") is None
    assert "Traceback" not in outcome.said


def test_a_name_that_rebinds_while_its_page_is_open_is_not_reached_again(world: World, tmp_path: Path) -> None:
    again = f"""<html><head><title>first</title></head><body><script>
    setTimeout(() => fetch("http://{REBINDS}:{world.port}/again").then(() => document.title = "reached",
                                                                     () => document.title = "refused"), 6000)
    </script><img src="http://good.example:{world.port}/slow"></body></html>"""
    world.served["/page"] = whole(again)
    world.served["/slow"] = slow(8)
    outcome = crawl(tmp_path, settings(world), [page(world.url("/page", REBINDS))])
    assert page_of(outcome, world.url("/page", REBINDS))["title"] == "refused", outcome.said
    assert world.hits == []
    assert outcome.result["stats"]["polite/refused/loopback"] >= 1
    assert world.reached == {(REBINDS, GOOD), ("good.example", GOOD)}


def test_a_web_socket_to_a_good_host_works(world: World, tmp_path: Path) -> None:
    def socket_of(request: Any) -> None:
        import base64
        import hashlib

        key = request.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode(), usedforsecurity=False).digest()).decode()
        request.send_response(101)
        for name, value in {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(b"\x81\x05hello")
        request.wfile.flush()
        request.rfile.read(1)

    world.served["/socket"] = socket_of
    world.served["/page"] = whole(
        "<html><head><title>none</title></head><body><script>"
        f"const socket = new WebSocket('ws://more.example:{world.port}/socket');"
        "socket.onmessage = (event) => { document.title = event.data }</script><img src=/slow></body></html>"
    )
    world.served["/slow"] = slow(1.5)
    outcome = crawl(tmp_path, settings(world), [page(world.url("/page"))])
    assert page_of(outcome, world.url("/page"))["title"] == "hello"
    assert ("more.example", GOOD) in world.reached


def test_a_download_comes_whole_and_one_of_the_inside_does_not(world: World, tmp_path: Path) -> None:
    def download(request: Any) -> None:
        request.answer(200, "<title>a file</title>", **{"Content-Disposition": "attachment; filename=a.html"})

    world.served["/file"] = download
    leads_inside = world.url(f"/go?to=http://bad.example:{world.port}/file")
    outcome = crawl(tmp_path, settings(world), [page(world.url("/file")), page(leads_inside)])
    assert page_of(outcome, world.url("/file"))["title"] == "a file"
    assert failed(outcome) == {leads_inside: "RequestRefused"}
    assert world.hits == []


def test_through_a_tunnel_host_and_server_name_are_those_of_the_page(world: World, tmp_path: Path) -> None:
    names: list[str | None] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("good.example", "more.example").configure_cert(context)
    context.sni_callback = lambda _, name, __: names.append(name)
    text = b"<html><title>over tls</title><img src='https://more.example:%d/img'><img src='https://127.0.0.1:%d/img'></html>"

    def answer(arrival: Any) -> Answer:
        return Answer(status=404) if arrival.path == "/robots.txt" else Answer(text % (server.port, world.own_port))

    with Server(answer, tls=context, address=GOOD) as server:
        url = f"https://good.example:{server.port}/page"
        more = {"PLAYWRIGHT_CONTEXTS": {"default": {"ignore_https_errors": True}}}
        ports = [server.port, world.port, world.own_port]
        outcome = crawl(tmp_path, settings(world, POLITE_ALLOW_PORTS=ports, **more), [page(url)])
        found = page_of(outcome, url)
        assert (found["title"], found["polite"]["pinned"]) == ("over tls", GOOD)
        hosts = [arrival.headers["host"] for arrival in server.arrivals]
        assert set(hosts) == {f"good.example:{server.port}", f"more.example:{server.port}"}
    assert set(names) == {"good.example", "more.example"}
    assert world.hits == []


def test_what_playwright_itself_asks_for_is_judged(world: World, tmp_path: Path) -> None:
    asked = [f"http://{host}:{world.port}/asked" for host in ("127.0.0.1", "localhost", "bad.example", "more.example")]
    request = page(world.url("/page"), playwright_page_init_callback="own_parts.ask_by_the_page", asked=asked)
    outcome = crawl(tmp_path, settings(world), [request])
    assert outcome.pages == [world.url("/page")], outcome.said
    assert ("more.example", "/asked") in world.arrivals
    assert outcome.result["stats"]["polite/refused/loopback"] == 3
    assert world.hits == []


def test_a_server_that_keeps_its_connections_is_asked_anew_for_each_request(world: World, tmp_path: Path) -> None:
    """Over plain HTTP, where a connection that was kept could be taken by another host."""
    images = "".join(f"<img src='/{n}'>" for n in range(5)).encode()

    def answer(arrival: Any) -> Answer:
        return Answer(status=404) if arrival.path == "/robots.txt" else Answer(b"<html><title>kept</title>" + images)

    with Server(answer, address=GOOD) as server:
        url = f"http://good.example:{server.port}/page"
        outcome = crawl(tmp_path, settings(world, POLITE_ALLOW_PORTS=[server.port]), [page(url)])
        assert page_of(outcome, url)["title"] == "kept"
        rendered = server.pages()
        assert {arrival.path for arrival in rendered} >= {"/page", *(f"/{n}" for n in range(5))}
        assert len({arrival.connection for arrival in rendered}) == len(rendered)
        assert not [name for arrival in rendered for name in arrival.headers if name.startswith("proxy")]


def test_two_crawlers_in_one_process_keep_their_own_policies_and_credentials(world: World, tmp_path: Path) -> None:
    hosts = ("good.example", "other.example")
    images = "".join(f"<img src='http://{host}:{world.port}/img'>" for host in hosts)
    world.served["/page"] = whole(f"<html><title>a page</title>{images}</html>")
    jobs = [
        {
            "name": name,
            "settings": settings(world),
            "custom_settings": {"POLITE_ALLOW_NETWORKS": [network]},
            "requests": [page(world.url("/page", host))],
        }
        for name, host, network in (("one", hosts[0], "127.30.0.0/16"), ("two", hosts[1], "127.31.0.0/16"))
    ]
    outcome = crawls(tmp_path, "AsyncCrawlerProcess", *jobs)
    for name, host in (("one", hosts[0]), ("two", hosts[1])):
        assert [found["url"] for found in outcome.results[name]["pages"]] == [world.url("/page", host)], outcome.said
        assert outcome.results[name]["stats"]["polite/refused/loopback"] == 1
    assert world.reached == {("good.example", GOOD), ("other.example", OTHER)}
    assert sorted(one for one in world.arrivals if one[1] == "/img") == [("good.example", "/img"), ("other.example", "/img")]


# -- every context


def test_every_context_is_guarded(world: World, tmp_path: Path) -> None:
    targets = [f"127.0.0.1:{world.port}", f"bad.example:{world.port}", f"more.example:{world.port}"]
    images = "".join(f'<img src="http://{target}/img">' for target in targets)
    world.served["/page"] = whole(f"<html><title>a page</title>{images}</html>")
    contexts = {
        "named": {"locale": "de"},
        "persistent": {
            "user_data_dir": str(tmp_path / "one"),
            "executable_path": settings(world)["PLAYWRIGHT_LAUNCH_OPTIONS"]["executable_path"],
        },
    }
    described = {**contexts["persistent"], "user_data_dir": str(tmp_path / "two")}
    metas: list[dict[str, Any]] = [
        {},
        {"playwright_context": "named"},
        {"playwright_context": "persistent"},
        {"playwright_context": "described", "playwright_context_kwargs": {"locale": "fr"}},
        {"playwright_context": "described and persistent", "playwright_context_kwargs": described},
    ]
    urls = [world.url(f"/page?{n}") for n in range(len(metas))]
    requests = [page(url, **meta) for url, meta in zip(urls, metas, strict=True)]
    # With one handler: two browsers cannot share a profile.
    more = {"PLAYWRIGHT_CONTEXTS": contexts, "DOWNLOAD_HANDLERS": {"http": HANDLER}}
    outcome = crawl(tmp_path / "crawl", settings(world, **more), requests)
    assert sorted(outcome.pages) == sorted(urls), outcome.said
    stats = outcome.result["stats"]
    assert stats["playwright/context_count"] == len(metas)
    assert stats["polite/refused/loopback"] == 2 * len(metas)
    assert world.arrivals.count(("more.example", "/img")) == len(metas)
    assert world.hits == []


def test_a_context_of_a_request_that_has_another_proxy_is_refused(world: World, tmp_path: Path) -> None:
    kwargs = {"proxy": {"server": f"http://127.0.0.1:{world.own_port}"}}
    url = world.url("/page")
    request = page(url, playwright_context="mine", playwright_context_kwargs=kwargs)
    outcome = crawl(tmp_path, settings(world), [request])
    assert failed(outcome) == {url: "RequestRefused"}
    assert outcome.result["stats"]["polite/refused/browser"] == 1
    assert world.hits == []


def test_a_page_with_a_proxy_of_scrapys_is_refused_rather_than_opened_without_it(world: World, tmp_path: Path) -> None:
    with Proxy() as proxy:
        urls = [world.url("/listed"), world.url("/by-address"), world.url("/foreign")]
        by_address, foreign = "http://127.0.0.1:9", "http://127.0.0.1:10"
        requests = [page(url, proxy=way) for url, way in zip(urls, (proxy.url, by_address, foreign), strict=True)]
        more = {"POLITE_TRUSTED_PROXIES": [proxy.url], "POLITE_PROXIES": [by_address], "ROBOTSTXT_OBEY": False}
        outcome = crawl(tmp_path, settings(world, **more), requests)
        assert failed(outcome) == dict.fromkeys(urls, "RequestRefused")
        assert proxy.lines == []


def test_a_proxy_that_is_asked_by_address_is_none_for_a_browser(world: World, tmp_path: Path) -> None:
    with Proxy() as proxy:
        url = world.url("/page")
        kwargs = {"proxy": {"server": proxy.url}}
        request = page(url, playwright_context="mine", playwright_context_kwargs=kwargs)
        outcome = crawl(tmp_path, settings(world, POLITE_PROXIES=[proxy.url]), [request])
        assert failed(outcome) == {url: "RequestRefused"}
        assert proxy.lines == []


def test_a_proxy_that_the_operator_trusts_is_used_and_nothing_passes_it_by(world: World, tmp_path: Path) -> None:
    world.served["/page"] = whole(f"<html><title>a page</title><img src='http://localhost:{world.port}/img'></html>")
    with Proxy() as proxy:
        launch = {**settings(world)["PLAYWRIGHT_LAUNCH_OPTIONS"], "proxy": {"server": proxy.url}}
        url = world.url("/page", GOOD)
        more = {"PLAYWRIGHT_LAUNCH_OPTIONS": launch, "POLITE_TRUSTED_PROXIES": [proxy.url], "ROBOTSTXT_OBEY": False}
        outcome = crawl(
            tmp_path, settings(world, **more), [page(url, playwright_context_kwargs={"proxy": {"server": proxy.url}})]
        )
        assert page_of(outcome, url)["title"] == "a page"
        assert any(f"//localhost:{world.port}/img" in line for line in proxy.lines)


# -- what cannot be guarded does not start


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"PLAYWRIGHT_CDP_URL": "http://127.0.0.1:9222"}, "PLAYWRIGHT_CDP_URL"),
        ({"PLAYWRIGHT_CONNECT_URL": "ws://127.0.0.1:9222"}, "PLAYWRIGHT_CONNECT_URL"),
        ({"PLAYWRIGHT_BROWSER_TYPE": "firefox"}, "PLAYWRIGHT_BROWSER_TYPE"),
        ({"PLAYWRIGHT_LAUNCH_OPTIONS": {"args": ["--proxy-server=x"]}}, "--proxy-server=x"),
        ({"PLAYWRIGHT_LAUNCH_OPTIONS": {"proxy": {"server": "http://proxy.example:3128"}}}, "POLITE_TRUSTED_PROXIES"),
        ({"PLAYWRIGHT_CONTEXTS": {"a": {"service_workers": "allow"}}}, "PLAYWRIGHT_CONTEXTS['a']['service_workers']"),
    ],
)
def test_a_browser_that_could_go_round_the_guard_stops_the_crawl_at_its_start(
    world: World, tmp_path: Path, more: dict[str, Any], said: str
) -> None:
    outcome = crawl(tmp_path, settings(world, **more), [page(world.url("/page")), world.url("/plain")])
    assert outcome.status != 0
    assert said in outcome.said
    assert outcome.pages == []
    assert world.arrivals == []


def test_a_remote_browser_that_the_operator_vouches_for_is_used_and_said(world: World, tmp_path: Path) -> None:
    more = {"PLAYWRIGHT_CDP_URL": "http://127.0.0.1:1", "POLITE_TRUSTED_BROWSER": True}
    outcome = crawl(tmp_path, settings(world, **more), [page(world.url("/page")), world.url("/plain")])
    assert outcome.pages == [world.url("/plain")]  # There is no browser at that port.
    assert "POLITE_TRUSTED_BROWSER is set" in outcome.said


def test_a_project_without_pages_starts_no_browser_and_no_proxy(world: World, tmp_path: Path) -> None:
    outcome = crawl(tmp_path, settings(world), [world.url("/plain")])
    assert outcome.pages == [world.url("/plain")]
    assert "playwright/browser_count" not in outcome.result["stats"]
