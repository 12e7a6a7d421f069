"""Names of headers, cookies, products and PTR domains that tell nothing of whose servers a site has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_polite.origins import known
from scrapy_polite.origins.known import (
    cookie_shape,
    header_kind,
    is_generic_pointer,
    is_software_cookie,
    is_software_value,
    value_shape,
)

HEADERS = {
    "volatile": known.VOLATILE_HEADERS,
    "configuration": known.CONFIGURATION_HEADERS,
    "value": known.VALUE_HEADERS,
    "edge": known.EDGE_HEADERS,
    "hoster": known.HOSTER_HEADERS,
    "software": known.SOFTWARE_HEADERS,
}


def test_every_header_is_of_one_kind_and_written_as_it_is_looked_up() -> None:
    seen: set[str] = set()
    for kind, names in HEADERS.items():
        assert not names & seen
        seen |= names
        for name in names:
            assert name == name.strip().lower()
            assert header_kind(name.title()) == kind


def test_the_lists_hold_hundreds_of_names() -> None:
    assert {kind: len(names) >= 100 for kind, names in HEADERS.items() if len(names) > 5} == dict.fromkeys(
        ["volatile", "edge", "hoster", "software"], True
    )
    assert len(known.SOFTWARE_COOKIES) > 500
    assert len(known.SOFTWARE_VALUES) > 300
    assert len(known.GENERIC_POINTERS) > 80


def test_cookies_and_products_stand_in_their_shape() -> None:
    assert {name for name in known.SOFTWARE_COOKIES if cookie_shape(name) != name} == set()
    assert {name for name in known.SOFTWARE_VALUES if value_shape(name) != name} == set()


@given(st.text(max_size=40))
def test_a_shape_has_one_shape(text: str) -> None:
    assert cookie_shape(cookie_shape(text)) == cookie_shape(text)
    assert value_shape(value_shape(text)) == value_shape(text)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Date", "volatile"),
        ("X-RateLimit-Reset-After", "volatile"),
        ("X-Request-Id", "volatile"),
        ("Content-Security-Policy", "volatile"),
        ("Strict-Transport-Security", "configuration"),
        ("X-Powered-By", "value"),
        ("CF-Ray", "edge"),
        ("X-Amz-Cf-Pop", "edge"),
        ("X-Sucuri-ID", "edge"),
        ("X-Kinsta-Cache", "hoster"),
        ("Platform", "hoster"),  # of Hostinger
        ("X-Provided-By", "edge"),  # of StackCDN
        ("Host-Header", "hoster"),
        ("X-Drupal-Cache", "software"),
        ("X-ShopId", "software"),
        ("X-Pingback", "software"),
        ("X-Acme-Version", None),
        ("Sites-Build", None),
    ],
)
def test_headers_are_known(name: str, kind: str | None) -> None:
    assert header_kind(name) == kind


@pytest.mark.parametrize(
    "name",
    [
        *("PHPSESSID", "connect.sid", "ASP.NET_SessionId", "wp-settings-12", "wp-settings-time-7", "_ga_4Z0KXB2M9P", "__cf_bm"),
        *("_ga", "_gat", "_gat_UA-1234-5", "_gac_UA-1234-5", f"PrestaShop-{'0a' * 16}"),
        *("JSESSIONID", "incap_ses_1234_56789", "wordpress_logged_in_0123456789abcdef0123456789abcdef", "_shopify_y", "AWSALB"),
        *("ASPSESSIONIDQACBDRTS", "phpbb3_a1b2c_sid", "laravel_session", "SESS0123456789abcdef0123456789abcdef"),
    ],
)
def test_cookies_of_software_are_known(name: str) -> None:
    assert is_software_cookie(name)


@pytest.mark.parametrize("name", ["_acme_session", "acme_tenant", "ACMESESSID", "_galmav_session", "_gather_sid"])
def test_a_platforms_own_cookie_is_not(name: str) -> None:
    assert not is_software_cookie(name)


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ("PHP/8.1.2", "php"),
        ("PHP/7.4, ASP.NET", "php"),
        ("ASP.NET", "asp.net"),
        ("W3 Total Cache/0.9.2.4", "w3 total cache"),
        ("Drupal 10 (https://www.drupal.org)", "drupal"),
        ("Phusion Passenger(R) 6.0.1", "phusion passenger"),
        ("Next.js 14.2", "next.js"),
        ("Jekyll v4.2.1", "jekyll"),
        ("Express", "express"),
        ("3dcart", "3dcart"),
        ("", ""),
    ],
)
def test_products_are_known_whatever_their_version(value: str, shape: str) -> None:
    assert value_shape(value) == shape
    assert is_software_value(value)


def test_a_long_value_costs_nothing() -> None:
    assert value_shape("acme" + " " * 60_000 + "x") == "acme"
    assert len(cookie_shape("a" * 60_000)) <= 200


def test_a_platforms_own_product_is_not_software() -> None:
    assert value_shape("Acme Sites v4.2.1") == "acme sites"
    assert not is_software_value("Acme Sites v4.2.1")


@pytest.mark.parametrize(
    "name",
    ["static.4.3.2.1.clients.your-server.de", "ec2-1-2-3-4.eu-west-1.compute.amazonaws.com", "vps-1a2b3c4d.vps.ovh.net.",
     "li12-34.members.linode.com", "4.3.2.1.bc.googleusercontent.com", "contaboserver.net", "VMI123.ContaboServer.net"],
)  # fmt: skip
def test_names_that_hosters_give_are_generic(name: str) -> None:
    assert is_generic_pointer(name)


@pytest.mark.parametrize("name", ["web01.acme.net", "notovh.net", "net", "", "acme.your-server.de.example"])
def test_an_operators_own_name_is_not(name: str) -> None:
    assert not is_generic_pointer(name)
