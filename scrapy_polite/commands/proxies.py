"""Which proxy a request would go through that names none itself: the environment's, as Scrapy chooses it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.request import getproxies, proxy_bypass

from scrapy.settings import SETTINGS_PRIORITIES

from scrapy_polite.naming.hosts import Invalid, parse

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from scrapy_polite.naming.hosts import Target

__all__ = ["EnvironmentProxies"]


class EnvironmentProxies:
    """``http_proxy``, ``https_proxy`` and ``no_proxy``, where a crawl heeds them: with the add-on that is where the project
    says HTTPPROXY_ENABLED = True. ``listed``: the proxies that POLITE_PROXIES and POLITE_TRUSTED_PROXIES name."""

    def __init__(self, settings: BaseSettings, listed: frozenset[str]) -> None:
        decided = (settings.getpriority("HTTPPROXY_ENABLED") or 0) > SETTINGS_PRIORITIES["addon"]
        heeded = decided and settings.getbool("HTTPPROXY_ENABLED")
        self._by_scheme = {scheme: url for scheme, url in getproxies().items() if url} if heeded else {}
        self.listed = listed

    def of(self, target: Target) -> str | None:
        """The proxy of a target, as ``scheme://host:port`` without user name and password; None where it is asked directly."""
        proxy = self._by_scheme.get(target.scheme)
        if proxy is None or proxy_bypass(target.host):
            return None
        through = parse(proxy if "//" in proxy else f"http://{proxy}")
        return "a proxy that is no URL" if isinstance(through, Invalid) else f"{through.scheme}://{through.host}:{through.port}"
