"""A crawl that is not protected does not run.

Each crawl is a process of its own. It can reach a good server, and there is a trap that it must not reach; whatever connects
to the trap is a hit. Either the layers are in place: what is allowed is fetched, and the trap has no hit. Or the crawl stops
with a reason, and the trap has no hit. That the trap would be hit without the add-on is shown, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from trapped_world import GOOD, OTHER, REBINDS, SCRAPY_CRAWL, Outcome, World, crawl, crawls, project, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROCESSES = ("AsyncCrawlerProcess", "CrawlerProcess")
RUNNERS = ("AsyncCrawlerRunner", "CrawlerRunner")
UNPROTECTED = "polite_unprotected"


@pytest.fixture
def world() -> Iterator[World]:
    with World() as world:
        yield world


def guarded(world: World, outcome: Outcome) -> None:
    """The crawl ran with its layers in place: the good page came, the one that leads to the trap was refused."""
    assert outcome.status == 0, outcome.said
    assert world.url("/allowed") in outcome.pages, outcome.said
    secret = [(one["error"], one["why"]) for one in outcome.result["failed"] if one["url"].endswith("/secret")]
    assert secret == [("RequestRefused", "refused by the guard (loopback)")], "the address is for the log alone"
    assert "refused (loopback): <" in outcome.said
    assert "127.0.0.1 is in 127.0.0.0/8" in outcome.said
    assert outcome.result["stats"]["polite/refused/loopback"] >= 1
    assert outcome.result["stats"]["polite/requests/page"] >= 1
    assert outcome.result["reason"] == "finished"
    assert world.hits == []


def stopped(world: World, outcome: Outcome, *said: str) -> None:
    """The crawl did not start, and says why. Nobody was asked for anything."""
    assert outcome.status != 0, outcome.said
    for words in said:
        assert words in outcome.said
    assert outcome.pages == []
    assert world.arrivals == []
    assert world.hits == []


def both(world: World) -> list[str]:
    return [world.url("/allowed"), world.url("/secret", "bad.example")]


# How a crawl is started.


@pytest.mark.parametrize("how", PROCESSES + RUNNERS)
def test_however_a_crawl_is_started_the_layers_are_in_place(world: World, tmp_path: Path, how: str) -> None:
    guarded(world, crawl(tmp_path, world.settings(), both(world), how))
    assert [path for _, path in world.arrivals] == ["/robots.txt", "/allowed"]


@pytest.mark.parametrize("how", PROCESSES + RUNNERS)
def test_the_add_on_may_stand_in_custom_settings(world: World, tmp_path: Path, how: str) -> None:
    settings = world.settings()
    custom = {"ADDONS": settings.pop("ADDONS")}
    guarded(world, crawl(tmp_path, settings, both(world), how, custom_settings=custom))


@pytest.mark.parametrize("how", PROCESSES)
def test_two_crawlers_in_one_process_keep_their_own_policies(world: World, tmp_path: Path, how: str) -> None:
    requests = [{"url": world.url("/one")}, {"url": world.url("/one", "other.example")}, {"url": both(world)[1]}]
    networks = {"first": "127.30.0.0/16", "second": "127.31.0.0/16"}
    jobs = [
        {
            "name": name,
            "settings": world.settings(),
            "custom_settings": {"POLITE_ALLOW_NETWORKS": [network]},
            "requests": requests,
        }
        for name, network in networks.items()
    ]
    outcome = crawls(tmp_path, how, *jobs)
    assert outcome.status == 0, outcome.said
    pages = {name: [page["url"] for page in result["pages"]] for name, result in outcome.results.items()}
    assert pages == {"first": [world.url("/one")], "second": [world.url("/one", "other.example")]}
    assert world.hits == []


# A user's own handler.

HANDLERS = ["own_parts.OwnHandler", "class:own_parts.OwnHandler"]


@pytest.mark.parametrize("handler", HANDLERS, ids=["path", "class"])
@pytest.mark.parametrize("where", ["settings.py", "custom_settings"])
def test_a_handler_of_the_users_works_inside_ours(world: World, tmp_path: Path, handler: str, where: str) -> None:
    own = {"DOWNLOAD_HANDLERS": {"http": handler, "https": handler}}
    if where == "settings.py":
        outcome = crawl(tmp_path, world.settings(**own), both(world))
    else:
        outcome = crawl(tmp_path, world.settings(), both(world), custom_settings=own)
    guarded(world, outcome)
    assert outcome.result["pages"][0]["flags"] == ["own"]


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        ("own_parts.BrokenHandler", "my handler is broken"),
        ("own_parts.UnconfiguredHandler", "my handler lacks a setting"),
        ("own_parts.BlockingHandler", "BlockingHandler has no connection pool of Twisted's"),
        ("own_parts.NoSuchHandler", "NoSuchHandler"),
        ("scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler", "does not use Twisted's reactor"),
        ("scrapy.core.downloader.handlers._httpx.HttpxDownloadHandler", "Httpx"),
        ("own_parts.OwnAiohttpHandler", "does not use Twisted's reactor"),
    ],
)
def test_a_handler_that_cannot_be_guarded_stops_the_crawl(world: World, tmp_path: Path, handler: str, said: str) -> None:
    if "_aiohttp" in handler or "Aiohttp" in handler or "_httpx" in handler:
        pytest.importorskip("scrapy.core.downloader.handlers._aiohttp")
    own = {"DOWNLOAD_HANDLERS": {"http": handler}}
    stopped(world, crawl(tmp_path, world.settings(**own), both(world)), said)


@pytest.mark.parametrize("how", RUNNERS)
def test_a_broken_handler_stops_a_runners_crawl_too(world: World, tmp_path: Path, how: str) -> None:
    own = {"DOWNLOAD_HANDLERS": {"http": "own_parts.BrokenHandler"}}
    stopped(world, crawl(tmp_path, world.settings(**own), both(world), how), "my handler is broken")


def test_an_add_on_after_ours_that_takes_the_handler_away_stops_the_crawl(world: World, tmp_path: Path) -> None:
    settings = world.settings(ADDONS={"scrapy_polite.Addon": 300, "own_parts.LaterAddon": 400})
    stopped(world, crawl(tmp_path, settings, both(world)), "set after the add-on")


@pytest.mark.parametrize("addons", [{}, {"own_parts.LaterAddon": 400}], ids=["broken", "replaced"])
def test_it_stops_also_where_the_user_has_disabled_our_middleware(world: World, tmp_path: Path, addons: dict[str, int]) -> None:
    settings = world.settings(
        ADDONS={"scrapy_polite.Addon": 300, **addons},
        DOWNLOADER_MIDDLEWARES={"scrapy_polite.middleware.ListenerMiddleware": None},
        DOWNLOAD_HANDLERS={} if addons else {"http": "own_parts.BrokenHandler"},
    )
    outcome = crawl(tmp_path, settings, both(world))
    assert outcome.result["reason"] == UNPROTECTED
    assert "The crawl is not protected and stops: the download handler for http is not the guard's" in outcome.said
    assert (outcome.pages, world.arrivals, world.hits) == ([], [], [])


# A user's own resolver, reactor, extensions.


@pytest.mark.parametrize("name", ["TWISTED_DNS_RESOLVER", "DNS_RESOLVER"])
@pytest.mark.parametrize("how", PROCESSES)
def test_a_resolver_of_the_users_is_not_asked(world: World, tmp_path: Path, how: str, name: str) -> None:
    outcome = crawl(tmp_path, world.settings(**{name: "own_parts.OwnResolver"}), both(world), how)
    guarded(world, outcome)
    assert "is set aside" in outcome.said


def test_a_resolver_in_custom_settings_is_not_asked(world: World, tmp_path: Path) -> None:
    custom = {"TWISTED_DNS_RESOLVER": "own_parts.OwnResolver"}
    guarded(world, crawl(tmp_path, world.settings(), both(world), custom_settings=custom))


@pytest.mark.parametrize("how", ["CrawlerProcess", "CrawlerRunner"])
def test_another_reactor_stops_the_crawl(world: World, tmp_path: Path, how: str) -> None:
    settings = world.settings(TWISTED_REACTOR="twisted.internet.selectreactor.SelectReactor")
    stopped(world, crawl(tmp_path, settings, both(world), how), "TWISTED_REACTOR = ", "AsyncioSelectorReactor")


def test_no_reactor_stops_the_crawl(world: World, tmp_path: Path) -> None:
    pytest.importorskip("scrapy.core.downloader.handlers._aiohttp")
    stopped(world, crawl(tmp_path, world.settings(TWISTED_REACTOR_ENABLED=False), both(world)), "TWISTED_REACTOR_ENABLED")


def test_the_extension_disabled_stops_the_crawl(world: World, tmp_path: Path) -> None:
    settings = world.settings(EXTENSIONS={"scrapy_polite.extensions.PoliteExtension": None})
    stopped(world, crawl(tmp_path, settings, both(world)), "EXTENSIONS = {'scrapy_polite.extensions.PoliteExtension': None}")


@pytest.mark.parametrize(
    "component", ["scrapy_polite.middleware.ListenerMiddleware", "scrapy_polite.robots.PoliteRobotsTxtMiddleware"]
)
def test_the_guard_stands_without_our_middlewares(world: World, tmp_path: Path, component: str) -> None:
    settings = world.settings(DOWNLOADER_MIDDLEWARES={component: None})
    outcome = crawl(tmp_path, settings, [*both(world), *other_schemes(world)])
    guarded(world, outcome)
    assert len(outcome.result["failed"]) == 5
    assert outcome.pages == [world.url("/allowed")]


def test_a_queue_of_the_users_waits_without_spinning(world: World, tmp_path: Path) -> None:
    settings = world.settings(SCHEDULER_PRIORITY_QUEUE="own_parts.OwnQueue", POLITE_SITE_RATE=0.5, POLITE_MAX_WAIT=0.1)
    outcome = crawl(tmp_path, settings, [*both(world), world.url("/later")])
    guarded(world, outcome)
    assert world.url("/later") in outcome.pages
    assert outcome.result["stats"]["scheduler/dequeued"] < 50


# In the middle of a crawl.


@pytest.mark.parametrize("meddle", ["resolver", "connect", "connect, wrapped"])
def test_a_layer_that_is_taken_away_ends_the_crawl(world: World, tmp_path: Path, meddle: str) -> None:
    urls = [world.url("/first"), *(world.url(f"/{n}", "more.example") for n in range(5)), world.url("/again")]
    outcome = crawl(tmp_path, world.settings(), urls, meddle=meddle)
    assert outcome.pages == [world.url("/first")]
    assert outcome.result["reason"] == UNPROTECTED
    assert "is not the guard's any more" in outcome.said
    assert {one["error"] for one in outcome.result["failed"]} <= {"Unprotected"}
    assert {path for _, path in world.arrivals} == {"/robots.txt", "/first"}
    assert world.hits == []


# Requests of every kind.


def other_schemes(world: World) -> list[str]:
    return [f"ftp://127.0.0.1:{world.own_port}/x", "file:///etc/hostname", "s3://bucket/key", "gopher://127.0.0.1/"][:4]


def test_other_schemes_are_refused(world: World, tmp_path: Path) -> None:
    outcome = crawl(tmp_path, world.settings(), [*both(world), *other_schemes(world)])
    guarded(world, outcome)
    assert outcome.result["stats"]["polite/refused/scheme"] == 4
    assert outcome.pages == [world.url("/allowed")]


@pytest.mark.parametrize("proxy", ["trap", "name"])
@pytest.mark.parametrize("enabled", [False, True])
def test_a_request_through_a_proxy_is_refused(world: World, tmp_path: Path, proxy: str, enabled: bool) -> None:
    where = f"http://127.0.0.1:{world.own_port}" if proxy == "trap" else world.url("", "bad.example")
    requests = [
        *both(world),
        *(
            {"url": f"{scheme}://good.example:{world.port}/x", "meta": {"proxy": where, "dont_obey_robotstxt": True}}
            for scheme in ("http", "https")
        ),
    ]
    outcome = crawl(tmp_path, world.settings(HTTPPROXY_ENABLED=enabled), requests)
    guarded(world, outcome)
    assert outcome.result["stats"]["polite/refused/proxy"] == 2
    assert outcome.pages == [world.url("/allowed")]


@pytest.mark.parametrize("name", ["mixed.example", "metadata.example", "localhost", "intranet", "db.internal"])
def test_names_that_lead_astray_are_refused(world: World, tmp_path: Path, name: str) -> None:
    outcome = crawl(tmp_path, world.settings(), [*both(world), world.url("/x", name)])
    guarded(world, outcome)
    assert outcome.pages == [world.url("/allowed")]
    assert sum(count for stat, count in outcome.result["stats"].items() if stat.startswith("polite/refused/")) == 2


def test_a_name_that_changes_its_answer_is_reached_where_it_was_judged_or_not_at_all(world: World, tmp_path: Path) -> None:
    outcome = crawl(tmp_path, world.settings(), [*both(world), *(world.url(f"/{n}", REBINDS) for n in range(5))])
    guarded(world, outcome)
    rebinding = [page for page in outcome.pages if REBINDS in page]
    assert rebinding, "its first answer was good"
    assert all(page["body"].startswith("<html><body>the good server") for page in outcome.result["pages"])


def test_an_address_that_is_opened_for_one_host_on_one_port_is_reached_by_that_host_alone(world: World, tmp_path: Path) -> None:
    world.script.add("wiki.corp", (60, "A", GOOD))
    settings = world.settings(POLITE_ALLOW_NETWORKS=[f"wiki.corp:{world.port}={GOOD}/32"], POLITE_ALLOW_PORTS=[80])
    urls = [world.url("/wiki", "wiki.corp"), world.url("/same", "good.example"), "http://good.example/", "http://wiki.corp/"]
    outcome = crawl(tmp_path, settings, urls)
    assert outcome.pages == [world.url("/wiki", "wiki.corp")], outcome.said
    refused = {one["url"]: one["why"].split("(")[1].split(")")[0] for one in outcome.result["failed"]}
    assert refused == {urls[1]: "port", urls[2]: "loopback", urls[3]: "loopback"}
    assert {host for host, _ in world.arrivals} == {"wiki.corp"}
    assert world.hits == []


def test_report_only_mode_counts_and_lets_through_all_but_metadata_services(world: World, tmp_path: Path) -> None:
    world.script.add("half.example", (60, "A", "127.0.0.1"), (60, "A", "169.254.169.254"))
    urls = [
        *both(world),
        world.url("/x", "metadata.example"),
        world.url("/x", "half.example"),
        world.url("/x", "169.254.169.254"),
        world.url("/x", "metadata.google.internal"),
    ]
    outcome = crawl(tmp_path, world.settings(POLITE_GUARD="report", ROBOTSTXT_OBEY=False), urls)
    assert sorted(outcome.pages) == sorted(both(world)), outcome.result
    assert [one["error"] for one in outcome.result["failed"]] == ["RequestRefused"] * 4
    stats = outcome.result["stats"]
    assert stats["polite/refused/metadata"] == 4
    assert stats["polite/refused/loopback"] >= 1
    _, bad = both(world)
    assert f"Guard (report only) would refuse (loopback): <{bad}>: 127.0.0.1 is in 127.0.0.0/8" in outcome.said
    assert world.hits, "what would be refused is reached: that is what the mode is for"


LOOPBACK = [
    "127.0.0.1",
    "127.0.0.1.",
    "0177.0.0.1",
    "017700000001",
    "0x7f.0.0.1",
    "0x7F000001",
    "2130706433",
    "127.1",
    "127.0.1",
    "0x7f.1",
    "0",
    "0.0.0.0",
    "127.0.0.1\u200b",
    "１２７.0.0.1",
    "①②⑦.0.0.1",
    "127。0。0。1",
    "%31%32%37.0.0.1",
    "127.0.\t0.1",
    "127\xad.0.0.1",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::]",
    "[::FFFF:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "foo@127.0.0.1",
    "good.example@127.0.0.1",
    "good.example:80@127.0.0.1",
    "good.example%40127.0.0.1",
    "localhost",
    "LOCALHOST.",
    "ｌｏｃａｌｈｏｓｔ",
    "local\xadhost",
    "any.localhost",
    "bad.example",
    "BAD.example.",
    "mixed.example",
]
"""The authorities of `notes` on host spellings that some parser takes for this machine."""

STARTS = ["http:", "http:/", "http:///", "http:\\\\", "  http://", "\x01http://", "HTTP://", "//"]
"""What else may stand before an authority."""

CONFUSED = ["http://127.0.0.1:{port}\\@good.example:{port}/x", "http://127.0.0.1:{port}#@good.example/x"]


def spellings(world: World) -> list[str]:
    plain = [f"http://{host}:{world.port}/x" for host in LOOPBACK]
    odd = [f"{start}127.0.0.1:{world.port}/x" for start in STARTS]
    return plain + odd + [url.format(port=world.port) for url in CONFUSED]


GOOD_SPELLINGS = ["127.30.0.1", "0177.30.1", "2132672513", "GOOD.example.", "ｇｏｏｄ.example", "[::ffff:127.30.0.1]"]


def good_spellings(world: World) -> list[str]:
    return [f"http://{host}:{world.port}/good/{n}" for n, host in enumerate(GOOD_SPELLINGS)]


def spelled(world: World, how: str) -> list[Any]:
    """Requests that lead to every spelling."""
    every = spellings(world) + good_spellings(world)
    if how == "links":
        world.links.extend(every)
        return [world.url("/links")]
    if how == "redirects":
        return [world.url(f"/go?to={quoted(url)}") for url in every]
    return every


def quoted(url: str) -> str:
    from urllib.parse import quote

    return quote(url, safe="")


@pytest.mark.parametrize("how", ["requests", "links", "redirects"])
def test_no_spelling_of_loopback_is_reached_and_every_spelling_of_what_is_allowed(
    world: World, tmp_path: Path, how: str
) -> None:
    outcome = crawl(tmp_path, world.settings(), [*both(world), *spelled(world, how)])
    guarded(world, outcome)
    arrived = {path for _, path in world.arrivals}
    assert {f"/good/{n}" for n in range(len(GOOD_SPELLINGS))} <= arrived, outcome.result["failed"]
    assert outcome.result["stats"]["polite/refused/loopback"] > 10
    assert not any("trap" in page["body"] for page in outcome.result["pages"])


# The control: without the add-on the same crawls fall into the trap.


@pytest.mark.parametrize("how", ["requests", "links", "redirects"])
def test_without_the_add_on_spellings_lead_to_the_trap(world: World, tmp_path: Path, how: str) -> None:
    settings = world.settings(POLITE_ENABLED=False)
    first = f"http://{GOOD}:{world.port}/allowed"
    # Scrapy alone asks the system's name servers: only what needs none.
    urls = [str(url).replace("good.example", GOOD, 1) if how != "requests" else url for url in spelled(world, how)]
    outcome = crawl(tmp_path, settings, [first, *urls])
    assert outcome.status == 0, outcome.said
    assert len(world.hits) > 5


@pytest.mark.parametrize("meddle", ["resolver", "connect"])
def test_without_the_add_on_a_meddled_reactor_leads_to_the_trap(world: World, tmp_path: Path, meddle: str) -> None:
    settings = world.settings(POLITE_ENABLED=False)
    outcome = crawl(tmp_path, settings, [f"http://{GOOD}:{world.port}/1", f"http://{OTHER}:{world.port}/2"], meddle=meddle)
    assert world.hits, outcome.said


def test_without_the_add_on_a_resolver_of_the_users_leads_to_the_trap(world: World, tmp_path: Path) -> None:
    settings = world.settings(POLITE_ENABLED=False, TWISTED_DNS_RESOLVER="own_parts.OwnResolver")
    outcome = crawl(tmp_path, settings, [world.url("/1")])
    assert world.hits, outcome.said


def test_without_the_add_on_ftp_and_proxies_lead_to_the_trap(world: World, tmp_path: Path) -> None:
    settings = world.settings(POLITE_ENABLED=False, DOWNLOAD_TIMEOUT=2)
    proxied = {"url": world.url("/x"), "meta": {"proxy": f"http://127.0.0.1:{world.own_port}"}}
    outcome = crawl(tmp_path, settings, [proxied])
    assert len(world.hits) == 1, outcome.said
    crawl(tmp_path / "ftp", settings, [other_schemes(world)[0]])
    assert len(world.hits) == 2


# A project, as `scrapy crawl` runs it.


def test_scrapy_crawl_in_a_project(world: World, tmp_path: Path) -> None:
    settings = world.settings(DOWNLOAD_HANDLERS={"http": "own_parts.OwnHandler"})
    del settings["POLITE_STORE"]
    project(tmp_path, settings)
    outcome = run(tmp_path, SCRAPY_CRAWL, URLS=" ".join(both(world)))
    guarded(world, outcome)
    assert outcome.result["pages"][0]["flags"] == ["own"]
    assert f"Store: sqlite:{tmp_path}/.scrapy/polite/limits.sqlite" in outcome.said


@pytest.mark.parametrize("where", ["file", "read-only"])
def test_a_data_directory_that_cannot_be_written_stops_the_crawl(world: World, tmp_path: Path, where: str) -> None:
    settings = world.settings()
    del settings["POLITE_STORE"]
    project(tmp_path / "project", settings)
    directory = "/proc/sys"
    if where == "file":
        (tmp_path / "file").touch()
        directory = str(tmp_path / "file" / "data")
    with (tmp_path / "project" / "scrapy.cfg").open("a") as file:
        file.write(f"[datadir]\ndefault = {directory}\n")
    before = set(tmp_path.rglob("*"))
    outcome = run(tmp_path / "project", SCRAPY_CRAWL, URLS=" ".join(both(world)))
    stopped(world, outcome, "POLITE_STORE", directory)
    assert {path for path in set(tmp_path.rglob("*")) - before if "__pycache__" not in path.parts} == set()


def test_where_scrapy_finds_no_project_as_in_an_egg_the_working_directory_counts(world: World, tmp_path: Path) -> None:
    settings = world.settings()
    del settings["POLITE_STORE"]
    project(tmp_path / "project", settings)
    (tmp_path / "project" / "scrapy.cfg").unlink()
    code = tmp_path / "project"
    environment = {
        "SCRAPY_SETTINGS_MODULE": "own_project.settings",
        "URLS": " ".join(both(world)),
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    outcome = run(elsewhere, SCRAPY_CRAWL, on_path=code, **environment)
    guarded(world, outcome)
    assert f"Store: sqlite:{elsewhere}/.scrapy/polite/limits.sqlite" in outcome.said
    world.arrivals.clear()
    stopped(world, run("/proc", SCRAPY_CRAWL, on_path=code, **environment), "POLITE_STORE", "/proc/.scrapy")
