"""Launch options and contexts of a browser whose only way to the network is our proxy.

Pure: what a project has set, in; what the browser is started with, or an objection, out. An objection is the rest of a sentence
that begins with the name of the setting.

Chromium has more ways to the network than its proxy setting says. ``localhost`` and link-local addresses pass a proxy by,
unless ``<-loopback>`` is on its bypass list (net/docs/proxy.md). QUIC and WebRTC use UDP, which a proxy of HTTP does not carry.
``<link rel=dns-prefetch>`` asks the system's resolver. Each has a switch here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from scrapy_polite.naming.hosts import Invalid, Target, parse

__all__ = ["Way", "in_context", "launched", "objection", "objection_to_context", "objection_to_launch", "unguarded"]

Options = Mapping[str, object]

BYPASS: Final = "<-loopback>"
"""Of a bypass list: takes back Chromium's implicit rules. Anything beside it would be a way round the proxy."""

SWITCHES: Final = (
    "--disable-quic",
    # Chrome and Chromium read the first (chrome/browser/prefs/chrome_command_line_pref_store.cc), the headless shell the second
    # (headless/lib/browser/headless_web_contents_impl.cc).
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)

FORBIDDEN: Final = (
    "proxy",  # --proxy-server, --proxy-pac-url, --proxy-auto-detect, --proxy-bypass-list, --no-proxy-server
    "host-resolver-rules",
    "host-rules",
    "quic",
    "webrtc-ip-handling-policy",
    "ignore-certificate-errors",
    "ignore-urlfetcher-cert-requests",
    "allow-insecure-localhost",
)
"""A switch whose name has one of these in it would open a way round the proxy, or trust whoever stands in it."""

PERSISTENT: Final = "user_data_dir"
"""In a context's arguments: it has a browser of its own, which sees no launch options but those among these arguments."""

DEFAULT_PROVIDER: Final = "scrapy_playwright.provider.PlaywrightBrowserProvider"


@dataclass(frozen=True, slots=True)
class Way:
    """How a browser gets to the network. ``trusted``: proxies as ``scheme://host:port`` that the operator has named, and that a
    project may send its browser through instead."""

    server: str
    username: str
    password: str = field(repr=False)
    trusted: frozenset[str] = frozenset()

    @property
    def proxy(self) -> dict[str, str]:
        return {"server": self.server, "username": self.username, "password": self.password, "bypass": BYPASS}

    @property
    def switches(self) -> list[str]:
        """The browser itself resolves nothing but the host of a proxy: what is not asked of the proxy is not found."""
        proxies = map(parse, (self.server, *sorted(self.trusted)))
        hosts = dict.fromkeys(target.written for target in proxies if isinstance(target, Target))
        rules = ["MAP * ~NOTFOUND", *(f"EXCLUDE {host}" for host in hosts)]
        return [*SWITCHES, f"--host-resolver-rules={' , '.join(rules)}"]


def launched(options: Options, way: Way) -> dict[str, object]:
    """What the browser is launched with."""
    args = [arg for arg in _texts(options.get("args")) if arg not in SWITCHES]
    return {**options, "args": [*args, *way.switches], "proxy": _proxy(options, way)}


def in_context(kwargs: Options, way: Way) -> dict[str, object]:
    """What a context is made with; a persistent one is launched with it."""
    whole = launched(kwargs, way) if kwargs.get(PERSISTENT) else {**kwargs, "proxy": _proxy(kwargs, way)}
    return {**whole, "service_workers": "block"}


def _proxy(options: Options, way: Way) -> dict[str, object]:
    theirs = options.get("proxy")
    return {**theirs, "bypass": BYPASS} if isinstance(theirs, Mapping) and theirs else dict(way.proxy)


# -- what cannot be guarded


def objection(settings: Options, trusted: frozenset[str]) -> str | None:
    """What is wrong with ``PLAYWRIGHT_LAUNCH_OPTIONS`` or with an entry of ``PLAYWRIGHT_CONTEXTS``; a whole sentence."""
    launch = settings.get("PLAYWRIGHT_LAUNCH_OPTIONS")
    if launch and isinstance(launch, Mapping) and (found := objection_to_launch(launch, trusted)):
        return f"PLAYWRIGHT_LAUNCH_OPTIONS{found}"
    contexts = settings.get("PLAYWRIGHT_CONTEXTS")
    for name, kwargs in contexts.items() if isinstance(contexts, Mapping) else ():
        if isinstance(kwargs, Mapping) and (found := objection_to_context(kwargs, trusted)):
            return f"PLAYWRIGHT_CONTEXTS[{name!r}]{found}"
    return None


def unguarded(settings: Options) -> str | None:
    """Why the browser could not be held to the proxy at all; None for a Chromium that is started here by Playwright."""
    for name in ("PLAYWRIGHT_CDP_URL", "PLAYWRIGHT_CONNECT_URL"):
        if settings.get(name):
            return f"{name}: a browser that runs elsewhere has a network of its own"
    kind = settings.get("PLAYWRIGHT_BROWSER_TYPE") or "chromium"
    if kind != "chromium":
        return f"PLAYWRIGHT_BROWSER_TYPE = {kind!r}: only chromium is known to keep to its proxy"
    provider = settings.get("PLAYWRIGHT_BROWSER_PROVIDER")
    if provider and provider != DEFAULT_PROVIDER and getattr(provider, "__name__", "") != DEFAULT_PROVIDER.rpartition(".")[2]:
        return f"PLAYWRIGHT_BROWSER_PROVIDER = {provider!r}: who starts the browser is not known"
    return None


def objection_to_launch(options: Options, trusted: frozenset[str]) -> str | None:
    """Which of the launch options would let the browser out."""
    if (found := _objection_to_proxy(options.get("proxy"), trusted)) is not None:
        return found
    for arg in _texts(options.get("args")):
        if _lets_out(arg):
            return (
                f"['args'] has {arg!r}, which would let pages pass the guard by. Remove it; accepted are switches that "
                "concern neither the proxy, nor name resolution, QUIC, WebRTC, nor certificates"
            )
    left_out = options.get("ignore_default_args")
    if left_out is True:
        return "['ignore_default_args'] = True would drop the browser's proxy. Name single switches in a list instead"
    for arg in _texts(left_out):
        if arg in SWITCHES or _lets_out(arg):
            return f"['ignore_default_args'] has {arg!r}, which keeps pages inside the guard. Remove it"
    return None


def objection_to_context(kwargs: Options, trusted: frozenset[str]) -> str | None:
    """Which of a context's arguments would let its pages out."""
    found = (
        objection_to_launch(kwargs, trusted) if kwargs.get(PERSISTENT) else _objection_to_proxy(kwargs.get("proxy"), trusted)
    )
    if found is not None:
        return found
    if kwargs.get("service_workers") not in (None, "block"):
        return f"['service_workers'] = {kwargs['service_workers']!r}: accepted is 'block', or nothing"
    if kwargs.get("client_certificates"):
        return "['client_certificates']: Playwright would put a proxy of its own in the place of the guard's. Remove it"
    return None


def _objection_to_proxy(proxy: object, trusted: frozenset[str]) -> str | None:
    if not proxy:
        return None
    server = proxy.get("server") if isinstance(proxy, Mapping) else proxy
    text = str(server)
    target = parse(text if "//" in text else f"http://{text}")
    shown = "?" if isinstance(target, Invalid) else f"{target.scheme}://{target.host}:{target.port}"  # Without a password.
    if shown not in trusted or not isinstance(proxy, Mapping):
        return (
            f"['proxy'] = {shown!r}: what pages load would not be judged. Remove it, or name the proxy in "
            "POLITE_TRUSTED_PROXIES if you trust it to judge"
        )
    if proxy.get("bypass") not in (None, "", BYPASS):
        return f"['proxy']['bypass'] = {proxy['bypass']!r}: what passes the proxy by would not be judged. Remove it"
    return None


def _lets_out(arg: str) -> bool:
    """Chromium takes one dash for two, and on some systems capitals for small letters; after two dashes alone it reads no more
    switches (base/command_line.cc)."""
    name = arg.strip().lstrip("-").partition("=")[0].lower()
    return arg not in SWITCHES and (not name or any(part in name for part in FORBIDDEN))


def _texts(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping) else []
