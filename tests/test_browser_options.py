"""What a browser is started with: its only way is our proxy, whatever a project has set; or the crawl does not start."""

from __future__ import annotations

from typing import Any

import pytest

from scrapy_polite.browser.options import (
    SWITCHES,
    Way,
    in_context,
    launched,
    objection,
    objection_to_context,
    objection_to_launch,
    unguarded,
)

WAY = Way("http://127.0.0.1:4000", "user", "secret")
OURS = {"server": "http://127.0.0.1:4000", "username": "user", "password": "secret", "bypass": "<-loopback>"}
TRUSTED = frozenset({"http://proxy.example:3128"})
THEIRS = {"server": "http://proxy.example:3128", "username": "me", "password": "mine"}


def test_a_browser_is_launched_with_our_proxy_and_no_other_way() -> None:
    found = launched({}, WAY)
    assert found["proxy"] == OURS
    assert found["args"] == [*SWITCHES, "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"]


def test_what_a_project_has_set_besides_is_kept() -> None:
    given = {"executable_path": "/usr/bin/chromium", "args": ["--lang=de", "--disable-quic"], "headless": False}
    found = launched(given, WAY)
    assert (found["executable_path"], found["headless"]) == ("/usr/bin/chromium", False)
    assert found["args"][:2] == ["--lang=de", SWITCHES[0]]  # type: ignore[index]
    assert given["args"] == ["--lang=de", "--disable-quic"]


def test_a_context_gets_the_proxy_and_no_service_workers() -> None:
    assert in_context({}, WAY) == {"proxy": OURS, "service_workers": "block"}
    assert in_context({"locale": "de"}, WAY) == {"locale": "de", "proxy": OURS, "service_workers": "block"}


def test_a_persistent_context_is_launched_so_it_gets_the_switches_too() -> None:
    found = in_context({"user_data_dir": "/tmp/profile", "args": ["--lang=de"]}, WAY)
    assert found == {**launched({"user_data_dir": "/tmp/profile", "args": ["--lang=de"]}, WAY), "service_workers": "block"}
    assert SWITCHES[1] in found["args"]  # type: ignore[operator]


def test_a_proxy_that_the_operator_trusts_stays_and_nothing_passes_it_by() -> None:
    way = Way("http://127.0.0.1:4000", "user", "secret", TRUSTED)
    assert objection_to_launch({"proxy": THEIRS}, TRUSTED) is None
    assert launched({"proxy": THEIRS}, way)["proxy"] == {**THEIRS, "bypass": "<-loopback>"}
    assert in_context({"proxy": THEIRS}, way)["proxy"] == {**THEIRS, "bypass": "<-loopback>"}
    assert in_context({}, way)["proxy"] == OURS
    assert way.switches[-1].endswith("EXCLUDE 127.0.0.1 , EXCLUDE proxy.example")


def test_the_credential_is_not_shown() -> None:
    assert "secret" not in repr(WAY)


LETTING_OUT = [
    "--proxy-server=http://evil.example:3128",
    "-proxy-server=evil",
    "--PROXY-SERVER=evil",
    "--proxy-pac-url=data:,",
    "--proxy-auto-detect",
    "--proxy-bypass-list=*",
    "--no-proxy-server",
    "--winhttp-proxy-resolver",
    "--host-resolver-rules=MAP * 127.0.0.1",
    "--host-rules=MAP * 127.0.0.1",
    "--enable-quic",
    "--origin-to-force-quic-on=*",
    "--webrtc-ip-handling-policy=default",
    "--force-webrtc-ip-handling-policy=default",
    "--ignore-certificate-errors",
    "--ignore-certificate-errors-spki-list=x",
    "--ignore-urlfetcher-cert-requests",
    "--allow-insecure-localhost",
    "--",
    " --proxy-server=evil",
]


@pytest.mark.parametrize("arg", LETTING_OUT)
def test_a_switch_that_would_let_pages_out_is_refused_by_name(arg: str) -> None:
    found = objection_to_launch({"args": ["--lang=de", arg]}, frozenset())
    assert found is not None
    assert f"['args'] has {arg!r}" in found
    assert objection_to_context({"user_data_dir": "/tmp/x", "args": [arg]}, frozenset()) == found
    left_out = objection_to_launch({"ignore_default_args": [arg]}, frozenset())
    assert left_out is not None


@pytest.mark.parametrize("arg", ["--lang=de", "--disable-gpu", "--window-size=800,600", "--no-sandbox", *SWITCHES])
def test_other_switches_pass(arg: str) -> None:
    assert objection_to_launch({"args": [arg]}, frozenset()) is None


def test_what_keeps_pages_inside_is_not_left_out() -> None:
    for left_out in (True, [SWITCHES[0]], ["--proxy-bypass-list=<-loopback>"]):
        assert objection_to_launch({"ignore_default_args": left_out}, frozenset()) is not None
    assert objection_to_launch({"ignore_default_args": ["--mute-audio"]}, frozenset()) is None
    assert objection_to_launch({"ignore_default_args": False}, frozenset()) is None


@pytest.mark.parametrize(
    "proxy",
    [
        {"server": "http://other.example:3128"},
        {"server": "other.example:3128"},
        {"server": "socks5://proxy.example:3128"},
        {"server": "http://proxy.example:3129"},
        {"server": "per-context"},
        {"server": ""},
        {"username": "me"},
        "http://proxy.example:3128",
        {**THEIRS, "bypass": "localhost"},
        {**THEIRS, "bypass": "<-loopback>,localhost"},
    ],
)
def test_a_proxy_that_nobody_vouches_for_is_refused_wherever_it_stands(proxy: Any) -> None:
    for found in (
        objection({"PLAYWRIGHT_LAUNCH_OPTIONS": {"proxy": proxy}}, TRUSTED),
        objection({"PLAYWRIGHT_CONTEXTS": {"one": {}, "two": {"proxy": proxy}}}, TRUSTED),
        objection_to_context({"user_data_dir": "/tmp/x", "proxy": proxy}, TRUSTED),
    ):
        assert found is not None
        assert "['proxy']" in found


def test_an_objection_names_the_setting_and_shows_no_password() -> None:
    proxy = {"server": "http://me:mine@other.example:3128"}
    found = objection({"PLAYWRIGHT_CONTEXTS": {"two": {"proxy": proxy}}}, TRUSTED)
    assert found is not None
    assert found.startswith("PLAYWRIGHT_CONTEXTS['two']['proxy'] = 'http://other.example:3128'")
    assert "mine" not in found


@pytest.mark.parametrize("kwargs", [{"service_workers": "allow"}, {"client_certificates": [{"origin": "https://a.example"}]}])
def test_a_context_may_not_have_ways_of_its_own(kwargs: dict[str, Any]) -> None:
    assert objection_to_context(kwargs, frozenset()) is not None
    assert objection({"PLAYWRIGHT_CONTEXTS": {"a": kwargs}}, frozenset()) is not None


def test_ordinary_settings_have_no_objection() -> None:
    settings = {
        "PLAYWRIGHT_LAUNCH_OPTIONS": {"headless": True, "args": ["--lang=de"], "proxy": None},
        "PLAYWRIGHT_CONTEXTS": {"a": {"locale": "de", "service_workers": "block"}, "b": {"user_data_dir": "/tmp/b"}},
    }
    assert objection(settings, frozenset()) is None
    assert objection({}, frozenset()) is None


@pytest.mark.parametrize(
    "settings",
    [
        {"PLAYWRIGHT_CDP_URL": "http://localhost:9222"},
        {"PLAYWRIGHT_CONNECT_URL": "ws://browsers.example:3000"},
        {"PLAYWRIGHT_BROWSER_TYPE": "firefox"},
        {"PLAYWRIGHT_BROWSER_TYPE": "webkit"},
        {"PLAYWRIGHT_BROWSER_PROVIDER": "my.Provider"},
    ],
)
def test_a_browser_with_a_network_of_its_own_is_told_by_the_setting(settings: dict[str, Any]) -> None:
    found = unguarded(settings)
    assert found is not None
    assert found.startswith(next(iter(settings)))


def test_a_chromium_that_playwright_starts_here_is_guarded() -> None:
    assert unguarded({}) is None
    assert unguarded({"PLAYWRIGHT_BROWSER_TYPE": "chromium"}) is None
    assert unguarded({"PLAYWRIGHT_BROWSER_PROVIDER": "scrapy_playwright.provider.PlaywrightBrowserProvider"}) is None
