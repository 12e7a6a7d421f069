"""Every setting is checked at start, and the error says what to do."""

from __future__ import annotations

import pytest
from scrapy.settings import Settings

from scrapy_polite.config import Config
from scrapy_polite.settings import SETTINGS


def config(**given: object) -> Config:
    return Config.from_settings(Settings(given))


def test_the_defaults_are_accepted() -> None:
    found = config()
    assert found.enabled
    assert found.limits.of("origin:a").rate == 2.0
    assert found.width == 50_000


def test_defaults_given_as_text_as_on_the_command_line_are_accepted() -> None:
    for setting in SETTINGS:
        if isinstance(setting.default, (bool, int, float, str)):
            setting.read(str(setting.default))


WRONG = [
    ("POLITE_ENABLED", "maybe"),
    ("POLITE_PARK_AFTER", 0),
    ("POLITE_DEFER_AFTER", 0),
    ("POLITE_STORE", ""),
    ("POLITE_STORE", 5),
    ("POLITE_SITE_RATE", 0),
    ("POLITE_SITE_RATE", "fast"),
    ("POLITE_SITE_RATE", float("nan")),
    ("POLITE_SITE_RATE", True),
    ("POLITE_ORIGIN_RATE", -1),
    ("POLITE_EDGE_RATE", None),
    ("POLITE_BUCKET_RATE", []),
    ("POLITE_BUCKET_BURST", -0.1),
    ("POLITE_BUCKET_HOSTS", ["https://minio.example/"]),
    ("POLITE_BUCKET_HOSTS", ["minio.example:9000"]),
    ("POLITE_BUCKET_HOSTS", {"minio.example": "query"}),
    ("POLITE_BUCKET_HOSTS", '{"minio.example"'),
    ("POLITE_EDGES", ["203.0.113.1/24"]),
    ("POLITE_EDGES", {"regiocdn": {"unit": "shared"}}),
    ("POLITE_EDGES", {"cloudfare": None}),
    ("POLITE_EDGES", '{"regiocdn": '),
    ("POLITE_ORIGIN_CONFIDENCE", 1.5),
    ("POLITE_ORIGIN_CONCURRENCY", 0),
    ("POLITE_ORIGIN_CONCURRENCY", 1.5),
    ("POLITE_LIMITS", [1]),
    ("POLITE_LIMITS", {"origin:a": {"speed": 1}}),
    ("POLITE_LIMITS", {"origin:a": {"rate": 0}}),
    ("POLITE_LIMITS", '{"origin:a": '),
    ("POLITE_COSTS", {"page": 0}),
    ("POLITE_COSTS", {"page": "dear"}),
    ("POLITE_KINDS", [("search",)]),
    ("POLITE_KINDS", [("search", "(")]),
    ("POLITE_SLOT_WIDTH", 0),
    ("POLITE_SLOT_WIDTH", 1.5),
    ("POLITE_MAX_WAIT", 0),
    ("POLITE_MAX_CRAWL_DELAY", -3),
    ("POLITE_DNS_SERVERS", ["dns.example"]),
    ("POLITE_DNS_SERVERS", ["127.0.0.1:99999"]),
    ("POLITE_DNS_TIMEOUT", 0),
    ("POLITE_ALLOW_NETWORKS", ["10.0.0.1/8"]),
    ("POLITE_DENY_NETWORKS", ["everything"]),
    ("POLITE_ALLOW_PORTS", []),
    ("POLITE_ALLOW_PORTS", [70000]),
    ("POLITE_TRUSTED_PROXIES", ["not a proxy"]),
    ("POLITE_PROXIES", ["not a proxy"]),
    ("POLITE_TRUSTED_PROXIES", ["socks5://127.0.0.1:1080"]),
    ("POLITE_PROXIES", ["socks5://127.0.0.1:1080"]),
    ("POLITE_TRUSTED_BROWSER", "http://127.0.0.1:9222"),
    ("POLITE_PACE", "slow"),
    ("POLITE_GUARD", "off"),
    ("POLITE_LADDERS", {"error": []}),
    ("POLITE_LADDERS", {"error": [30, 10]}),
    ("POLITE_LADDERS", {"denid": [30]}),
    ("POLITE_LADDER_JITTER", 2),
    ("POLITE_REDACT", "everything"),
    ("POLITE_NER", {"model": "m", "processes": 0}),
    ("POLITE_NER", {"model": "m", "speed": 9}),
    ("POLITE_NER", {"language": "en"}),
    ("POLITE_REDACT_LOGS", "everything"),
    ("POLITE_IMAGES", {"sizes": {"small": {"width": -1}}}),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=[f"{name}={value!r}" for name, value in WRONG])
def test_a_wrong_value_is_an_error_that_names_the_setting(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=name):
        config(**{name: value})


def test_every_setting_has_a_wrong_value_here() -> None:
    assert {name for name, _ in WRONG} >= {setting.name for setting in SETTINGS} - {"POLITE_LEDGER"}


def test_an_unknown_setting_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"POLITE_SITE_RATES.*POLITE_SITE_RATE"):
        config(POLITE_SITE_RATES=2)


def test_lists_and_dicts_may_be_json_as_on_the_command_line() -> None:
    found = config(
        POLITE_LIMITS='{"origin:a": {"rate": 5}}', POLITE_ALLOW_PORTS="80,8081", POLITE_ALLOW_NETWORKS='["127.20.0.0/16"]'
    )
    assert found.limits.of("origin:a").rate == 5
    assert found.policy.ports == {80, 8081}
    assert str(found.policy.allow[0]) == "127.20.0.0/16"


def test_none_switches_redaction_off_also_on_the_command_line() -> None:
    assert config(POLITE_REDACT=None).redaction is None
    assert config(POLITE_REDACT="None").redaction is None
    assert config().redaction is not None


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("DOWNLOAD_DELAY", {"DOWNLOAD_DELAY": float("inf")}),
        ("CONCURRENT_REQUESTS_PER_DOMAIN", {"CONCURRENT_REQUESTS_PER_DOMAIN": -3}),
        (r"DOWNLOAD_SLOTS\['h'\]", {"DOWNLOAD_SLOTS": {"h": 3}}),
        (r"DOWNLOAD_SLOTS\['h'\]\['delay'\]", {"DOWNLOAD_SLOTS": {"h": {"delay": "x"}}}),
    ],
)
def test_what_is_taken_over_from_scrapy_is_checked_too(name: str, taken: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=name):
        config(POLITE_TAKEN_OVER=taken)
