from __future__ import annotations

import pytest

from scrapy_polite.origins.headers import MOST_MARKERS, told_by
from scrapy_polite.origins.pointers import operator_domain, spells


@pytest.mark.parametrize(
    ("name", "address", "domain"),
    [
        ("web07.acme.net", "203.0.113.7", "acme.net"),
        ("WEB07.ACME.NET.", "203.0.113.7", "acme.net"),
        ("web07.acme.co.uk", "203.0.113.7", "acme.co.uk"),
        ("vm113.acme.net", "203.0.113.7", "acme.net"),
        ("node-a.acme.net", "2001:db8:12:34::7", "acme.net"),
        ("static.7.113.0.203.clients.your-server.de", "203.0.113.7", None),
        ("static.7.113.0.203.clients.hoster.net", "203.0.113.7", None),
        ("ip203-0-113-7.hoster.net", "203.0.113.7", None),
        ("203-000-113-007.hoster.net", "203.0.113.7", None),
        ("203000113007.hoster.net", "203.0.113.7", None),
        ("7-113-203.hoster.net", "203.0.113.7", None),
        ("cb007107.hoster.net", "203.0.113.7", None),
        ("host3405803783.hoster.net", "203.0.113.7", None),
        ("ec2-52-1-2-3.compute-1.amazonaws.com", "52.1.2.3", None),
        ("1.2.0.192.bc.googleusercontent.com", "192.0.2.1", None),
        ("2001-db8-12-34--7.hoster.net", "2001:db8:12:34::7", None),
        ("20010db8001200340000000000000007.hoster.net", "2001:db8:12:34::7", None),
        ("7.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.4.3.0.0.2.1.0.0.8.b.d.0.1.0.0.2.hoster.net", "2001:db8:12:34::7", None),
        ("www.a.com", "203.0.113.7", None),
        ("localhost", "203.0.113.7", None),
    ],
)
def test_a_ptr_name_tells_the_operator_unless_it_tells_the_address(name: str, address: str, domain: str | None) -> None:
    assert operator_domain(name, address, "a.com") == domain


def test_numbers_of_an_address_count_as_often_as_it_has_them() -> None:
    assert not spells("rack1.web2.acme.net", "1.1.1.1")
    assert not spells("r1.acme.net", "1.1.1.1")
    assert spells("1-1-1-1.acme.net", "1.1.1.1")


def test_known_software_edges_and_hosters_are_no_markers() -> None:
    told = told_by(
        {
            "server": ["nginx"],
            "cf-ray": ["1"],
            "x-cache": ["HIT"],
            "x-powered-by": ["PHP/8.2.1"],
            "x-generator": ["Drupal 10 (https://www.drupal.org)"],
            "x-pingback": ["https://a.com/xmlrpc.php"],
            "x-shopify-stage": ["production"],
            "set-cookie": ["PHPSESSID=1; path=/", "__cf_bm=2", "wordpress_test_cookie=3"],
            "content-type": ["text/html"],
        }
    )
    assert told.markers == ()
    assert told.tells == 0


def test_what_no_list_knows_is_a_marker_without_its_numbers() -> None:
    told = told_by(
        {
            "x-acme-node-17": ["web3"],
            "x-powered-by": ["AcmeSites 4.1"],
            "set-cookie": ["acme_seat_8f3a91bc=1; path=/", "77=1", "Cafe_Session=1"],
        }
    )
    assert told.markers == ("cookie:acme_seat_#", "cookie:cafe_session", "x-acme-node-#", "x-powered-by=acmesites")
    assert told.tells == 12


def test_the_look_depends_on_what_is_set_and_not_on_what_varies() -> None:
    one = told_by({"x-frame-options": ["DENY"], "date": ["a"], "x-acme": ["1"], "server": ["nginx"], "etag": ["x"]})
    same = told_by({"x-acme": ["2"], "server": ["cloudflare"], "x-frame-options": ["deny"], "cf-ray": ["1"], "date": ["b"]})
    assert one == same
    other = told_by({"x-frame-options": ["SAMEORIGIN"], "x-acme": ["1"]})
    assert other.configuration != one.configuration
    assert other.product == one.product


def test_nothing_unprintable_and_not_too_much_is_kept() -> None:
    told = told_by({"set-cookie": ["\x1b[31mred=1", "ü=1", "k" * 5000], **{f"x-{'a' * n}": ["1"] for n in range(1, 99)}})
    assert len(told.markers) == MOST_MARKERS
    assert all(marker.isascii() and marker.isprintable() and len(marker) <= 64 for marker in told.markers)
