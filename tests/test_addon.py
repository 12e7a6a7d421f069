"""What the add-on does to a project's settings: this and nothing else, and what a user has set stays."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Spider
from scrapy.addons import AddonManager
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.pipelines.images import ImagesPipeline
from scrapy.settings import BaseSettings, Settings

from scrapy_polite import Addon
from scrapy_polite.config import Config
from scrapy_polite.extensions import PoliteExtension, set_attributes_aside
from scrapy_polite.handlers import PoliteHttpHandler, PoliteHttpsHandler
from scrapy_polite.media import PoliteImagesPipeline
from scrapy_polite.middleware import ListenerMiddleware
from scrapy_polite.pipelines import RedactionPipeline
from scrapy_polite.queue import OriginQueue
from scrapy_polite.resolver import PinningResolver
from scrapy_polite.robots import PoliteRobotsTxtMiddleware
from scrapy_polite.settings import FALLBACK_HANDLERS, TAKEN_OVER

if TYPE_CHECKING:
    from pathlib import Path

OWN_HANDLER = "own_parts.OwnHandler"
HTTP11 = "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"

DIFFERENCE: dict[str, tuple[Any, Any]] = {
    "ADDONS": ({}, {"scrapy_polite.Addon": 300}),
    "CONCURRENT_REQUESTS": (16, 64),
    "CONCURRENT_REQUESTS_PER_DOMAIN": (8, 1000),
    "DOWNLOADER_MIDDLEWARES": (
        {},
        {
            "scrapy.downloadermiddlewares.httpproxy.HttpProxyMiddleware": None,
            "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
            "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
            "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
            "scrapy_polite.middleware.ListenerMiddleware": 990,
            "scrapy_polite.proxies.PoliteHttpProxyMiddleware": 750,
            "scrapy_polite.redirects.PoliteMetaRefreshMiddleware": 580,
            "scrapy_polite.redirects.PoliteRedirectMiddleware": 600,
            "scrapy_polite.robots.PoliteRobotsTxtMiddleware": 100,
        },
    ),
    "DOWNLOAD_HANDLERS": (
        {},
        {
            "file": None,
            "ftp": None,
            "http": "scrapy_polite.handlers.PoliteHttpHandler",
            "https": "scrapy_polite.handlers.PoliteHttpsHandler",
            "s3": None,
        },
    ),
    "EXTENSIONS": ({}, {"scrapy_polite.extensions.PoliteExtension": -10, "scrapy_polite.logs.LogRedaction": -20}),
    "SPIDER_MIDDLEWARES": (
        {},
        {"scrapy_polite.breathing.BreathingMiddleware": 10, "scrapy_polite.takeup.TakeUpMiddleware": 15},
    ),
    "HTTPPROXY_ENABLED": (True, False),
    "ITEM_PIPELINES": ({}, {"scrapy_polite.pipelines.RedactionPipeline": 700}),
    "POLITE_FALLBACK_HANDLERS": (None, {"http": HTTP11, "https": HTTP11}),
    "ROBOTSTXT_OBEY": (False, True),
    "SCHEDULER_PRIORITY_QUEUE": ("scrapy.pqueues.DownloaderAwarePriorityQueue", "scrapy_polite.queue.OriginQueue"),
    "SCRAPER_SLOT_MAX_ACTIVE_SIZE": (5_000_000, 100_000_000),
    "TWISTED_DNS_RESOLVER": ("scrapy.resolver.CachingThreadedResolver", "scrapy_polite.resolver.PinningResolver"),
}


class Walker(Spider):
    name = "walker"


def crawler_with(given: dict[str, Any], spider: type[Spider] = Walker, *, addon: bool = True) -> Crawler:
    """A crawler as a Scrapy process makes it, up to where the add-ons have been."""
    settings = Settings()
    settings.setdict({**given, **({"ADDONS": {"scrapy_polite.Addon": 300}} if addon else {})}, priority="project")
    AddonManager.load_pre_crawler_settings(settings)
    crawler = Crawler(spider, settings)
    crawler.addons.load_settings(crawler.settings)
    return crawler


def settings_with(given: dict[str, Any], spider: type[Spider] = Walker) -> Settings:
    return crawler_with(given, spider).settings


def plain(value: Any) -> Any:
    """Settings as text and numbers: classes by their path."""
    if isinstance(value, (BaseSettings, dict)):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return f"{value.__module__}.{value.__qualname__}" if isinstance(value, type) else value


def difference(before: Settings, after: Settings) -> dict[str, tuple[Any, Any]]:
    one, other = plain(before), plain(after)
    names = sorted(one.keys() | other.keys())
    return {name: (one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)}


def test_the_difference_that_the_add_on_makes_is_exactly_this() -> None:
    before = crawler_with({}, addon=False).settings
    assert difference(before, settings_with({})) == DIFFERENCE


def test_images_are_added_where_there_is_a_place_for_them() -> None:
    images = {"POLITE_IMAGES": {"sizes": {"small": {"width": 320, "height": 240, "format": "webp"}}}}
    assert PoliteImagesPipeline not in settings_with(images)["ITEM_PIPELINES"]
    assert settings_with({"IMAGES_STORE": "images"})["ITEM_PIPELINES"][PoliteImagesPipeline] == 200
    there = settings_with({"IMAGES_STORE": "images", **images})
    without = crawler_with({"IMAGES_STORE": "images", **images}, addon=False).settings
    pipelines = {"scrapy_polite.media.pipeline.PoliteImagesPipeline": 200, "scrapy_polite.pipelines.RedactionPipeline": 700}
    assert difference(without, there) == {**DIFFERENCE, "ITEM_PIPELINES": ({}, pipelines)}


class OwnImages(ImagesPipeline):
    """A user's own."""


def test_an_images_pipeline_of_the_users_is_the_only_one(caplog: pytest.LogCaptureFixture) -> None:
    for own, warned in ((ImagesPipeline, 1), (path_of(ImagesPipeline), 1), (OwnImages, 1), (OwnPoliteImages, 0)):
        caplog.clear()
        pipelines = settings_with({"IMAGES_STORE": "images", "ITEM_PIPELINES": {own: 1}})["ITEM_PIPELINES"]
        assert dict(pipelines) == {own: 1, RedactionPipeline: 700}
        assert caplog.text.count("POLITE_IMAGES does nothing") == warned
        # It says what to do: without a class of one's own there is nothing to derive.
        assert ("scrapy_polite.media.PoliteImagesPipeline as its base class" in caplog.text) == (own is OwnImages)


class OwnPoliteImages(PoliteImagesPipeline):
    """One derived from ours."""


def test_applying_it_twice_changes_nothing_more() -> None:
    crawler = crawler_with({"DOWNLOAD_HANDLERS": {"http": OWN_HANDLER}, "DOWNLOAD_DELAY": 3})
    before = plain(crawler.settings)
    Addon.from_crawler(crawler).update_settings(crawler.settings)
    assert plain(crawler.settings) == before


@pytest.mark.parametrize("off", [False, "False", "0", 0])
def test_switched_off_it_leaves_everything_as_it_was(off: object) -> None:
    given = {"POLITE_ENABLED": off, "DOWNLOAD_DELAY": 2, "DOWNLOAD_HANDLERS": {"http": OWN_HANDLER}}
    before = crawler_with(given, addon=False).settings
    after = settings_with(given)
    assert difference(before, after) == {"ADDONS": ({}, {"scrapy_polite.Addon": 300})}
    assert {name: before.getpriority(name) for name in before} == {
        name: after.getpriority(name) for name in after if name != "ADDONS"
    } | {"ADDONS": before.getpriority("ADDONS")}


def test_redaction_set_to_none_is_not_there() -> None:
    assert RedactionPipeline not in settings_with({"POLITE_REDACT": None})["ITEM_PIPELINES"]
    assert RedactionPipeline in settings_with({})["ITEM_PIPELINES"]


# What a user has set.

COMPONENTS = [
    ("EXTENSIONS", PoliteExtension),
    ("DOWNLOADER_MIDDLEWARES", ListenerMiddleware),
    ("ITEM_PIPELINES", RedactionPipeline),
]


def path_of(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


@pytest.mark.parametrize(("setting", "cls"), COMPONENTS, ids=[setting for setting, _ in COMPONENTS])
@pytest.mark.parametrize("spelled", ["class", "path"])
def test_a_number_of_the_users_reorders(setting: str, cls: type, spelled: str) -> None:
    key = cls if spelled == "class" else path_of(cls)
    assert dict(settings_with({setting: {key: 123}})[setting]).get(key) == 123
    assert [plain(name) for name in settings_with({setting: {key: 123}})[setting]].count(path_of(cls)) == 1


@pytest.mark.parametrize(("setting", "cls"), COMPONENTS[1:], ids=[setting for setting, _ in COMPONENTS[1:]])
@pytest.mark.parametrize("spelled", ["class", "path"])
def test_none_of_the_users_disables(setting: str, cls: type, spelled: str) -> None:
    key = cls if spelled == "class" else path_of(cls)
    entries = settings_with({setting: {key: None}})[setting]
    assert [value for name, value in entries.items() if plain(name) == path_of(cls)] == [None]


@pytest.mark.parametrize("key", [PoliteExtension, path_of(PoliteExtension)])
def test_the_extension_that_holds_the_layers_cannot_be_disabled(key: object) -> None:
    with pytest.raises(ValueError, match=r"EXTENSIONS.*PoliteExtension.*POLITE_ENABLED = False"):
        settings_with({"EXTENSIONS": {key: None}})


@pytest.mark.parametrize("key", [RobotsTxtMiddleware, path_of(RobotsTxtMiddleware)])
@pytest.mark.parametrize("place", [50, None])
def test_a_robots_middleware_that_the_user_has_named_is_left_alone(
    key: object, place: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    middlewares = settings_with({"DOWNLOADER_MIDDLEWARES": {key: place}})["DOWNLOADER_MIDDLEWARES"]
    assert middlewares[key] == place
    assert PoliteRobotsTxtMiddleware not in middlewares
    assert "left as it is" in caplog.text


def test_our_robots_middleware_may_be_moved_or_disabled() -> None:
    for place in (150, None):
        given = {"DOWNLOADER_MIDDLEWARES": {path_of(PoliteRobotsTxtMiddleware): place}}
        others = {key: value for key, value in DIFFERENCE["DOWNLOADER_MIDDLEWARES"][1].items() if "robots" not in key}
        expected = {**others, path_of(PoliteRobotsTxtMiddleware): place}
        assert plain(settings_with(given)["DOWNLOADER_MIDDLEWARES"]) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SCHEDULER_PRIORITY_QUEUE", "own_parts.OwnQueue"),
        ("ROBOTSTXT_OBEY", False),
        ("CONCURRENT_REQUESTS", 4),
        ("SCRAPER_SLOT_MAX_ACTIVE_SIZE", 1_000_000),
        ("HTTPPROXY_ENABLED", True),
    ],
)
def test_other_settings_of_the_users_win(name: str, value: object) -> None:
    assert settings_with({name: value})[name] == value


def test_a_queue_of_the_users_is_said_to_cost_places(caplog: pytest.LogCaptureFixture) -> None:
    settings_with({"SCHEDULER_PRIORITY_QUEUE": "own_parts.OwnQueue"})
    assert "own_parts.OwnQueue" in caplog.text
    caplog.clear()
    settings_with({"SCHEDULER_PRIORITY_QUEUE": path_of(OriginQueue)})
    assert "SCHEDULER_PRIORITY_QUEUE" not in caplog.text


# The first exception: the guard's layers stay.


def own_handler() -> type:
    import own_parts

    return own_parts.OwnHandler


@pytest.mark.parametrize("spelled", ["class", "path"])
@pytest.mark.parametrize("where", ["settings.py", "custom_settings"])
def test_a_handler_of_the_users_is_kept_inside_ours(spelled: str, where: str) -> None:
    handler = own_handler() if spelled == "class" else OWN_HANDLER
    given: dict[str, Any] = {"DOWNLOAD_HANDLERS": {"http": handler}}
    if where == "settings.py":
        settings = settings_with(given)
    else:
        settings = settings_with({}, type("Own", (Walker,), {"custom_settings": given}))
    assert settings.getwithbase("DOWNLOAD_HANDLERS")["http"] is PoliteHttpHandler
    assert settings.getwithbase("DOWNLOAD_HANDLERS")["https"] is PoliteHttpsHandler
    assert settings[FALLBACK_HANDLERS] == {"http": handler, "https": HTTP11}


def test_a_scheme_that_the_user_has_taken_away_stays_away() -> None:
    settings = settings_with({"DOWNLOAD_HANDLERS": {"https": None}})
    assert settings.getwithbase("DOWNLOAD_HANDLERS")["https"] is None
    assert settings[FALLBACK_HANDLERS] == {"http": HTTP11}


def test_schemes_that_the_guard_does_not_know_have_no_handler() -> None:
    settings = settings_with({"DOWNLOAD_HANDLERS": {"gopher": OWN_HANDLER, "ftp": OWN_HANDLER}})
    kept = {scheme for scheme, handler in settings.getwithbase("DOWNLOAD_HANDLERS").items() if handler is not None}
    assert kept == {"http", "https", "data"}


@pytest.mark.parametrize("name", ["TWISTED_DNS_RESOLVER", "DNS_RESOLVER"])
@pytest.mark.parametrize("where", ["settings.py", "custom_settings"])
@pytest.mark.filterwarnings("ignore:The DNS_RESOLVER setting is deprecated")
def test_a_resolver_of_the_users_is_set_aside_and_the_log_says_so(
    name: str, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    given: dict[str, Any] = {name: "own_parts.OwnResolver"}
    if where == "settings.py":
        settings = settings_with(given)
    else:
        settings = settings_with({}, type("Own", (Walker,), {"custom_settings": given}))
    assert settings[name] is PinningResolver
    assert settings["TWISTED_DNS_RESOLVER"] is PinningResolver
    assert caplog.text.count(f"{name} = 'own_parts.OwnResolver' is set aside") == 1


def test_the_resolver_is_there_before_any_crawler() -> None:
    settings = Settings({"ADDONS": {"scrapy_polite.Addon": 300}})
    AddonManager.load_pre_crawler_settings(settings)
    assert settings["TWISTED_DNS_RESOLVER"] is PinningResolver


# The second exception: Scrapy's own throttling is taken over.

SET_ASIDE = {
    "AUTOTHROTTLE_ENABLED": False,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1000,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOAD_SLOTS": {},
}


def set_aside(settings: Settings) -> dict[str, Any]:
    # DOWNLOAD_SLOTS has no default before Scrapy 2.17.
    return {name: plain(settings.get(name, {})) for name in SET_ASIDE}


def test_the_values_of_startproject_become_limits_of_each_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    command = [sys.executable, "-m", "scrapy", "startproject", "fresh_project", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    with (tmp_path / "fresh_project" / "settings.py").open("a") as file:
        file.write('\nADDONS = {"scrapy_polite.Addon": 300}\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    settings = Settings()
    settings.setmodule("fresh_project.settings", priority="project")
    written = {name: settings[name] for name in ("DOWNLOAD_DELAY", "CONCURRENT_REQUESTS_PER_DOMAIN")}
    assert written == {"DOWNLOAD_DELAY": 1, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
    AddonManager.load_pre_crawler_settings(settings)
    crawler = Crawler(Walker, settings)
    with caplog.at_level(logging.INFO):
        crawler.addons.load_settings(crawler.settings)
    assert set_aside(crawler.settings) == SET_ASIDE
    assert crawler.settings[TAKEN_OVER] == written
    config = Config.from_settings(crawler.settings)
    assert config.least_of("site:any.example") == 1.0
    assert config.cap_of("site:any.example") == 1
    said = [record.getMessage() for record in caplog.records if "Taken over" in record.getMessage()]
    assert len(said) == 1
    assert all(f"'{name}': 1" in said[0] for name in written)


def test_slots_become_limits_of_their_sites() -> None:
    slots = {"slow.example": {"delay": 7, "concurrency": 2}, "fast.example": {"delay": 0.5}}
    settings = settings_with({"DOWNLOAD_SLOTS": slots, "DOWNLOAD_DELAY": 3})
    assert set_aside(settings) == SET_ASIDE
    config = Config.from_settings(settings)
    assert [config.least_of(f"site:{name}.example") for name in ("slow", "fast", "any")] == [7, 0.5, 3]
    assert [config.cap_of(f"site:{name}.example") for name in ("slow", "fast", "any")] == [2, None, None]


def test_custom_settings_of_a_spider_are_taken_over() -> None:
    class Slow(Walker):
        custom_settings = {"DOWNLOAD_DELAY": 4, "CONCURRENT_REQUESTS_PER_DOMAIN": 2, "AUTOTHROTTLE_ENABLED": True}  # noqa: RUF012

    settings = settings_with({"DOWNLOAD_DELAY": 1}, Slow)
    assert set_aside(settings) == SET_ASIDE
    config = Config.from_settings(settings)
    assert (config.least_of("site:any.example"), config.cap_of("site:any.example")) == (4, 2)


@pytest.mark.parametrize("given", [{}, {"DOWNLOAD_DELAY": 1, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}], ids=["bare", "template"])
def test_attributes_of_a_spider_are_taken_over(given: dict[str, Any]) -> None:
    class Old(Walker):
        download_delay = 5
        max_concurrent_requests = 3

    crawler = crawler_with(given, Old)
    if hasattr(crawler, "_apply_deprecated_spider_attr"):  # 2.18 and newer: it would set them after the add-ons.
        for attribute, name in (
            ("download_delay", "DOWNLOAD_DELAY"),
            ("max_concurrent_requests", "CONCURRENT_REQUESTS_PER_DOMAIN"),
        ):
            with pytest.warns(ScrapyDeprecationWarning):
                crawler._apply_deprecated_spider_attr(attribute, name)
    assert set_aside(crawler.settings) == SET_ASIDE
    config = Config.from_settings(crawler.settings)
    assert (config.least_of("site:any.example"), config.cap_of("site:any.example")) == (5, 3)


def test_custom_settings_win_over_attributes_as_in_scrapy() -> None:
    class Both(Walker):
        download_delay = 5
        custom_settings = {"DOWNLOAD_DELAY": 2}  # noqa: RUF012

    assert Config.from_settings(settings_with({}, Both)).least_of("site:any.example") == 2


def test_an_attribute_that_an_instance_has_is_taken_over() -> None:
    crawler = Crawler(Walker, Settings({"ADDONS": {"scrapy_polite.Addon": 300}}))
    crawler.spider = Walker()
    crawler.spider.download_delay = 6
    crawler.addons.load_settings(crawler.settings)
    assert Config.from_settings(crawler.settings).least_of("site:any.example") == 6


def test_an_older_scrapy_finds_nothing_to_throttle_by_on_the_spider() -> None:
    spider = Walker()
    set_attributes_aside(spider)
    assert not hasattr(spider, "download_delay")
    spider.download_delay, spider.max_concurrent_requests = 5, 1
    set_attributes_aside(spider)
    assert (spider.download_delay, spider.max_concurrent_requests) == (0, 1000)


def test_scrapys_defaults_are_nobodys_wish() -> None:
    settings = settings_with({})
    assert set_aside(settings) == SET_ASIDE
    assert TAKEN_OVER not in settings
    assert Config.from_settings(settings).least_of("site:any.example") == 0


# What cannot be.


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"TWISTED_REACTOR_ENABLED": False}, r"TWISTED_REACTOR_ENABLED = False.*POLITE_ENABLED = False"),
        ({"DOWNLOAD_HANDLERS": {"http": "scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler"}}, "http.*reactor"),
        ({"DOWNLOAD_HANDLERS": {"https": "own_parts.OwnAiohttpHandler"}}, "https.*OwnAiohttpHandler.*reactor"),
        ({"POLITE_SITE_RATE": -1}, "POLITE_SITE_RATE = -1: accepted is"),
        ({"POLITE_RATE": 1}, "POLITE_RATE is not a setting"),
        ({"POLITE_ENABLED": "perhaps"}, "POLITE_ENABLED = 'perhaps': accepted is True or False"),
    ],
)
def test_what_would_leave_a_crawl_unprotected_is_an_error_at_start(given: dict[str, Any], said: str) -> None:
    pytest.importorskip("scrapy.core.downloader.handlers._aiohttp")
    with pytest.raises(ValueError, match=said):
        settings_with(given)
