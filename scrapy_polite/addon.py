"""The add-on: one line in ``ADDONS`` puts every part in its place, and nothing of the user's is lost.

A user's own settings win, with two exceptions. The guard's layers stay: a download handler of the user's is kept, but inside
ours; a resolver of the user's is set aside, since only what the guard has resolved and judged is dialled. And Scrapy's own
throttling is taken over, not added up: its values become limits of sites, and Scrapy's are set aside at the user's own
priority, which one line in the log says.

Errors here are ``ValueError``: ``NotConfigured`` would mean "go on without the add-on", and that is the one thing that must
not happen.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.pipelines.images import ImagesPipeline
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from scrapy.utils.misc import load_object

from scrapy_polite.breathing import BreathingMiddleware
from scrapy_polite.config import Config
from scrapy_polite.errors import said_at_start
from scrapy_polite.extensions import HIGH, PoliteExtension
from scrapy_polite.feeduris import redact_feed_uris
from scrapy_polite.handlers import HANDLERS
from scrapy_polite.logs import LogRedaction
from scrapy_polite.media import PoliteImagesPipeline
from scrapy_polite.middleware import ListenerMiddleware
from scrapy_polite.pipelines import RedactionPipeline
from scrapy_polite.proxies import PoliteHttpProxyMiddleware
from scrapy_polite.queue import OriginQueue
from scrapy_polite.redirects import REPLACED
from scrapy_polite.resolver import PinningResolver
from scrapy_polite.robots import PoliteRobotsTxtMiddleware
from scrapy_polite.settings import FALLBACK_HANDLERS, TAKEN_OVER
from scrapy_polite.takeup import TakeUpMiddleware

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

__all__ = ["Addon"]

logger = logging.getLogger(__name__)

ADDON: Final = SETTINGS_PRIORITIES["addon"]

OUTSIDE_THE_REACTOR: Final = ("scrapy.core.downloader.handlers._aiohttp", "scrapy.core.downloader.handlers._httpx")
"""Handlers with a network of their own: no resolver and no ``connectTCP`` that could be guarded."""

SPIDER_ATTRIBUTES: Final = {
    "download_delay": "DOWNLOAD_DELAY",
    "max_concurrent_requests": "CONCURRENT_REQUESTS_PER_DOMAIN",
}
"""Attributes of spiders, deprecated and still obeyed, that throttle."""

NOT_FETCHED: Final = ("data",)
"""Schemes besides http and https whose handler stays: nothing is fetched for them."""

ACTIVE_SIZE: Final = 100_000_000
"""Bytes of pages in the scraper before the engine takes no more requests. Scrapy's 5 MB stop the pages of a crawl whose items
wait for their images: 200 pages took 14.7 s instead of 0.46 s."""

AT_ONCE: Final = 64
"""Requests in the downloader: those that wait for their slot at the wire are among them, so Scrapy's 16 would be few."""


class Addon:
    """``ADDONS = {"scrapy_polite.Addon": 300}``."""

    def __init__(self, crawler: Crawler | None = None) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Addon:
        return cls(crawler)

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        """The reactor's resolver is chosen before any crawler is made."""
        if is_enabled(settings):
            _put_resolver(settings)

    def update_settings(self, settings: BaseSettings) -> None:
        """Put the parts in their places. Raises ``ValueError`` for a wrong setting, and for a project in which the guard
        could not stand."""
        with said_at_start():
            self._update(settings)

    def _update(self, settings: BaseSettings) -> None:
        config = Config.from_settings(settings)
        if not config.enabled:
            return
        if not settings.getbool("TWISTED_REACTOR_ENABLED", True):
            raise ValueError(
                "TWISTED_REACTOR_ENABLED = False: the guard stands in Twisted's reactor, and without one nothing would be "
                "guarded. Remove the setting, or set POLITE_ENABLED = False to crawl without protection."
            )
        _require_extension(settings)
        _put_resolver(settings)
        _wrap_handlers(settings)
        # In a crawl the spider is there before the add-ons; its attributes may be its own, or its class's.
        take_throttling_over(settings, getattr(self._crawler, "spider", None) or getattr(self._crawler, "spidercls", None))
        for name, value in {
            "SCHEDULER_PRIORITY_QUEUE": OriginQueue,
            "ROBOTSTXT_OBEY": True,
            "CONCURRENT_REQUESTS": AT_ONCE,
            "SCRAPER_SLOT_MAX_ACTIVE_SIZE": ACTIVE_SIZE,
            "HTTPPROXY_ENABLED": bool(config.proxies or config.trusted_proxies),
        }.items():
            settings.set(name, value, priority="addon")
        if load_object(settings["SCHEDULER_PRIORITY_QUEUE"]) is not OriginQueue:
            logger.warning(
                "SCHEDULER_PRIORITY_QUEUE = %r is not scrapy_polite.queue.OriginQueue: requests wait in the downloader, "
                "where each takes a place of CONCURRENT_REQUESTS",
                settings["SCHEDULER_PRIORITY_QUEUE"],
            )
        # Before Scrapy's own, which stand at 0: one of them makes JOBDIR, and a crawl that cannot start leaves nothing behind.
        settings.setdefault_in_component_priority_dict("EXTENSIONS", PoliteExtension, -10)
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", ListenerMiddleware, 990)
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", BreathingMiddleware, 10)
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", TakeUpMiddleware, 15)
        _replace_builtin(settings, "DOWNLOADER_MIDDLEWARES", RobotsTxtMiddleware, PoliteRobotsTxtMiddleware)
        _replace_builtin(settings, "DOWNLOADER_MIDDLEWARES", HttpProxyMiddleware, PoliteHttpProxyMiddleware)
        for builtin, ours in REPLACED.items():
            _replace_builtin(settings, "DOWNLOADER_MIDDLEWARES", builtin, ours)
        if config.log_redaction is not None:
            settings.setdefault_in_component_priority_dict("EXTENSIONS", LogRedaction, -20)
            redact_feed_uris(settings, config.log_redaction)
        if config.redaction is not None:
            settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", RedactionPipeline, 700)
        if config.images is not None and settings.get("IMAGES_STORE") and not _has_images_pipeline(settings):
            settings.setdefault_in_component_priority_dict("ITEM_PIPELINES", PoliteImagesPipeline, 200)


def is_on(settings: BaseSettings) -> bool:
    """Whether a crawl with these settings has the add-on."""
    named = (load_object(key) for key, place in settings["ADDONS"].items() if place is not None)
    return is_enabled(settings) and any(isinstance(cls, type) and issubclass(cls, Addon) for cls in named)


def is_enabled(settings: BaseSettings) -> bool:
    """Asked before the settings are checked; a value that is no truth value counts as on, and is an error afterwards."""
    return str(settings.get("POLITE_ENABLED", True)).strip().lower() not in ("false", "0")


def _put_resolver(settings: BaseSettings) -> None:
    """The guard's resolver, at the user's own priority, also under the name that Scrapy has deprecated but obeys."""
    for name in ("TWISTED_DNS_RESOLVER", "DNS_RESOLVER"):
        priority = settings.getpriority(name) or 0
        if name == "DNS_RESOLVER" and not priority:
            continue
        if priority and settings[name] is not PinningResolver:
            logger.warning(
                "%s = %r is set aside: names are resolved by the guard, with the servers of POLITE_DNS_SERVERS",
                name,
                settings[name],
            )
        settings.set(name, PinningResolver, priority=max(ADDON, priority))


def _require_extension(settings: BaseSettings) -> None:
    """The extension is what sees to it that the layers stand; without it a crawl could run unprotected."""
    own: BaseSettings = settings["EXTENSIONS"]
    for key, place in own.items():
        if place is None and load_object(key) is PoliteExtension:
            raise ValueError(
                f"EXTENSIONS = {{{key!r}: None}}: this extension puts the guard's layers in place, and they stay. Remove the "
                "entry, or set POLITE_ENABLED = False to crawl without protection."
            )


def _wrap_handlers(settings: BaseSettings) -> None:
    """Ours for http and https, around whatever was there. None at all for schemes that the guard does not know: the
    listener refuses their requests, and where that is disabled there must be nobody who would make them."""
    known = settings.getwithbase("DOWNLOAD_HANDLERS")
    own: BaseSettings = settings["DOWNLOAD_HANDLERS"]
    inside = dict(settings.get(FALLBACK_HANDLERS) or {})
    for scheme, ours in HANDLERS.items():
        theirs = known.get(scheme)
        if theirs is None or theirs is ours:
            continue
        ancestors = getattr(load_object(theirs), "__mro__", ())
        if any(ancestor.__module__.startswith(OUTSIDE_THE_REACTOR) for ancestor in ancestors):
            raise ValueError(
                f"DOWNLOAD_HANDLERS[{scheme!r}] = {theirs!r}: this handler does not use Twisted's reactor, so the guard "
                "has no layer in it. Accepted are handlers on the reactor, such as Scrapy's HTTP11DownloadHandler."
            )
        inside[scheme] = theirs
        own.set(scheme, ours, priority=max(ADDON, own.getpriority(scheme) or 0))
    for scheme, theirs in known.items():
        if theirs is not None and scheme not in HANDLERS and scheme not in NOT_FETCHED:
            own.set(scheme, None, priority=max(ADDON, own.getpriority(scheme) or 0))
    settings.set(FALLBACK_HANDLERS, inside, priority="addon")


def _has_images_pipeline(settings: BaseSettings) -> bool:
    """Whether the user lists a pipeline for images: two would fetch each image twice."""
    for key, place in settings["ITEM_PIPELINES"].items():
        cls = load_object(key)
        if place is not None and isinstance(cls, type) and issubclass(cls, ImagesPipeline):
            if not issubclass(cls, PoliteImagesPipeline):
                logger.warning(
                    "ITEM_PIPELINES names %s: it is left as it is, decodes with Pillow, and POLITE_IMAGES does nothing. %s",
                    cls.__name__,
                    "Remove the entry, and the add-on puts its own pipeline there"
                    if cls is ImagesPipeline
                    else "Give it scrapy_polite.media.PoliteImagesPipeline as its base class in place of Scrapy's",
                )
            return True
    return False


def take_throttling_over(settings: BaseSettings, spider: Any) -> None:
    """Scrapy's own throttling becomes limits of sites; two throttles would add up."""
    taken: dict[str, Any] = {}
    for name, value in {
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS_PER_DOMAIN": HIGH,
        "AUTOTHROTTLE_ENABLED": False,
        "DOWNLOAD_SLOTS": {},
        "CONCURRENT_REQUESTS_PER_IP": 0,
    }.items():
        if name not in settings:
            continue  # Another version of Scrapy's.
        priority = settings.getpriority(name) or 0
        if priority > ADDON and settings[name]:
            taken[name] = settings[name]
        settings.set(name, value, priority=max(ADDON, priority))
    # Scrapy applies these attributes after the add-ons, and at a higher priority; unless the setting's is not lower.
    for attribute, name in SPIDER_ATTRIBUTES.items():
        value = getattr(spider, attribute, None)
        priority = settings.getpriority(name) or 0
        if value is not None and priority < SETTINGS_PRIORITIES["spider"]:
            taken[name] = value
            settings.set(name, settings[name], priority="spider")
    if taken.pop("AUTOTHROTTLE_ENABLED", None):
        logger.info("AutoThrottle is switched off: it would throttle a second time")
    taken.pop("CONCURRENT_REQUESTS_PER_IP", None)
    if taken:
        settings.set(TAKEN_OVER, taken, priority="addon")
        logger.info("Taken over as limits of each site, and set aside in Scrapy: %s", taken)


def _replace_builtin(settings: BaseSettings, name: str, builtin: type, ours: type) -> None:
    """Ours at the place of a component of Scrapy's, unless the user has moved, replaced or disabled it."""
    own: BaseSettings = settings[name]
    named = {load_object(key) for key in own}
    if builtin in named or ours in named:
        if builtin in named:
            logger.warning("%s names %s: left as it is, and not replaced by %s", name, builtin.__name__, ours.__name__)
        return
    places = (place for key, place in settings[f"{name}_BASE"].items() if load_object(key) is builtin)
    position = next(places, None)
    if position is None:
        return
    settings.set_in_component_priority_dict(name, builtin, None)
    settings.set_in_component_priority_dict(name, ours, position)
