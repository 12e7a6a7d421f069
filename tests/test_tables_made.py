"""The makers of the tables, on lists recorded in the forms that providers publish them in; nothing is fetched."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from scrapy_polite.origins.edges import entries_of
from tools import make_edges, make_software
from tools.make_edges import SOURCES, InputError, Source, gathered, made, networks_of

LISTS = Path(__file__).parent / "data" / "edge_lists"
FINGERPRINTS = Path(__file__).parent / "data" / "fingerprints"

SMALL = tuple(replace(source, least=1) for source in SOURCES)
"""The recorded lists are short."""

BY_FILE = {source.file: source for source in SMALL}


def rows(text: str) -> dict[str, list[str]]:
    return {row["source"]: row["networks"] for row in json.loads(text)["rows"]}


def test_the_edges_networks_are_taken_and_nothing_that_is_rented_out() -> None:
    text = made("", "2026-08", gathered(LISTS), SMALL)
    assert rows(text) == {
        "https://www.microsoft.com/download/details.aspx?id=56519": ["13.107.213.0/24", "13.107.246.0/24", "2620:1ec:4e::/48"],
        "https://www.cloudflare.com/ips-v4": ["104.16.0.0/13", "104.24.0.0/14", "173.245.48.0/20"],
        "https://www.cloudflare.com/ips-v6": ["2400:cb00::/32", "2606:4700::/32"],
        "https://ip-ranges.amazonaws.com/ip-ranges.json": ["13.32.0.0/15", "2600:9000::/28"],
        "https://api.fastly.com/public-ip-list": ["23.235.32.0/20", "151.101.0.0/16", "2a04:4e40::/32"],
        "https://api.gcore.com/cdn/public-ip-list": ["92.223.40.4/31", "2a03:90c0::5/128"],
        "https://api.github.com/meta": ["185.199.108.153/32", "2606:50c0:8000::153/128"],
        "https://my.imperva.com/api/integration/v1/ips": ["45.60.0.0/16", "199.83.128.0/21", "2a02:e980::/29"],
    }
    entries = list(entries_of(json.loads(text)["rows"]))
    assert {(entry.row.provider, entry.row.unit, entry.row.dated, entry.row.checked) for entry in entries} >= {
        ("cloudflare", "shared", "2026-08", True),
        ("github", "tenant", "2026-08", True),
    }


def test_the_same_lists_make_the_same_file_whatever_their_order() -> None:
    texts = gathered(LISTS)
    first = made("", "2026-08", texts, SMALL)
    assert made(first, "2026-08", dict(reversed(texts.items())), reversed(SMALL)) == first
    turned = texts | {"cloudflare-v4.txt": "\n".join(reversed(texts["cloudflare-v4.txt"].splitlines()))}
    assert made("", "2026-08", turned, SMALL) == first
    assert all(line.count('"') == 2 for line in first.splitlines() if line.startswith('"1'))  # one network a line


def test_a_list_that_is_missing_keeps_its_row_and_its_date() -> None:
    first = made("", "2026-08", gathered(LISTS), SMALL)
    second = made(first, "2026-11", {"fastly.json": (LISTS / "fastly.json").read_text()}, SMALL)
    assert rows(second) == rows(first)
    dates = {row["provider"]: row["dated"] for row in json.loads(second)["rows"]}
    assert dates.pop("fastly") == "2026-11"
    assert set(dates.values()) == {"2026-08"}


def test_copies_that_others_made_are_marked_and_replaced_by_the_providers_own() -> None:
    texts = {"fastly.json": (LISTS / "fastly.json").read_text()}
    copied = made("", "2026-08", texts, SMALL, via="https://copies.example")
    (row,) = json.loads(copied)["rows"]
    assert row["source"] == "https://api.fastly.com/public-ip-list, as collected by https://copies.example"
    assert row["checked"] is False
    (row,) = json.loads(made(copied, "2026-11", texts, SMALL))["rows"]
    assert (row["source"], row["checked"]) == ("https://api.fastly.com/public-ip-list", True)


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("cloudflare-v4.txt", "", r"has 0 networks, and at least 1"),
        ("cloudflare-v4.txt", "<html>blocked</html>", r"not of the form that https://www\.cloudflare\.com/ips-v4"),
        ("cloudflare-v4.txt", "104.16.0.1/13", r"not of the form.*host bits"),
        ("cloudflare-v4.txt", "10.0.0.0/16", r"10\.0\.0\.0/16, and 10\.0\.0\.0/8 is private use"),
        ("cloudflare-v4.txt", "100.0.0.0/8", r"100\.64\.0\.0/10 is carrier-grade NAT"),
        ("cloudflare-v4.txt", "104.0.0.0/7", r"wider than a /8"),
        ("cloudflare-v4.txt", "34.0.0.0/9\n35.192.0.0/11", r"10,485,760 addresses, as a hosting company has"),
        ("cloudflare-v6.txt", "2001:db8::/32", r"is documentation"),
        ("cloudflare-v6.txt", "2600::/12", r"wider than a /24"),
        ("cloudflare-v6.txt", "fd00::/24", r"is unallocated|unique local|outside global unicast"),
        ("fastly.json", "[]", r"not of the form"),
        ("fastly.json", "{}", r"has 0 networks"),
        ("amazon-ip-ranges.json", '{"prefixes": [{"ip_prefix": "52.16.0.0/15", "service": "EC2"}]}', r"has 0 networks"),
        ("amazon-ip-ranges.json", '{"prefixes": [{"service": "CLOUDFRONT"}]}', r"not of the form"),
        ("azure-service-tags.json", '{"values": [{"name": "AzureCloud", "properties": {}}]}', r"has 0 networks"),
        ("gcore.json", '{"addresses": [null]}', r"not of the form"),
    ],
)
def test_a_list_that_looks_wrong_is_refused(file: str, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        networks_of(BY_FILE[file], text)


def test_googles_whole_list_cannot_be_taken_for_an_edges() -> None:
    google = Source("google", "Google", "cdn", "shared", "https://goog.example", "goog.txt", make_edges.lines, 1)
    with pytest.raises(InputError, match="hosting company"):
        networks_of(google, "34.0.0.0/10\n34.64.0.0/10\n35.184.0.0/13\n104.154.0.0/15\n104.196.0.0/14")


@pytest.mark.parametrize(("now", "fine"), [("104.16.0.0/14", False), ("104.16.0.0/13", True), ("104.0.0.0/12", False)])
def test_half_or_twice_as_many_addresses_as_before_are_refused(now: str, fine: bool) -> None:
    before = made("", "2026-08", {"cloudflare-v4.txt": "104.16.0.0/13"}, SMALL)
    if fine:
        assert rows(made(before, "2026-11", {"cloudflare-v4.txt": now}, SMALL))
    else:
        with pytest.raises(InputError, match=r"and had 524,288 in 2026-08\. If that is so, remove the row"):
            made(before, "2026-11", {"cloudflare-v4.txt": now}, SMALL)


def test_a_short_list_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "networks.json"
    assert make_edges.main(["--dated", "2026-11", "--from", str(LISTS), "--to", str(target)]) == 1
    assert not target.exists()
    assert "refused: azure-service-tags.json has 3 networks, and at least 10 are expected" in capsys.readouterr().err


def test_what_is_missing_is_said_and_the_rest_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lists, target = tmp_path / "lists", tmp_path / "networks.json"
    lists.mkdir()
    (lists / "cloudflare-v6.txt").write_text("2400:cb00::/32\n2606:4700::/32\n2803:f800::/32\n2405:b500::/32\n")
    assert make_edges.main(["--dated", "2026-11", "--from", str(lists), "--to", str(target)]) == 0
    assert list(rows(target.read_text())) == ["https://www.cloudflare.com/ips-v6"]
    said = capsys.readouterr()
    assert "fastly: " in said.err
    assert "its row stays as it was" in said.err


def test_the_file_in_the_package_is_as_the_maker_writes_it() -> None:
    text = make_edges.TARGET.read_text(encoding="utf-8")
    assert make_edges.document(json.loads(text)["rows"]) == text


# Names of software.


def test_names_are_taken_by_whose_they_are() -> None:
    found = make_software.rows(*make_software.read(FINGERPRINTS))
    assert found == [
        ("header", "x-acme-host", "hoster", "Acme Host"),
        ("header", "x-acme-pop", "edge", "Acme CDN"),
        ("header", "x-powered-by", "software", "Acme CMS"),
        ("cookie", "acme_session", "software", "Acme CMS"),
        ("cookie", "asp.net_sessionid", "software", "Acme CMS"),
        ("cookie", "cfid", "software", "Acme CMS"),
        ("cookie", "cftoken", "software", "Acme CMS"),
        ("cookie", "wiki#_session", "software", "Acme CMS"),
        ("value", "acme", "software", "Acme Host"),
        ("value", "acme cms", "software", "Acme CMS"),
    ]
    text = make_software.document(found, "https://list.example", "2026-08", at_least={})
    assert [tuple(row) for row in json.loads(text)["rows"]] == found
    assert make_software.document(found, "https://list.example", "2026-08", at_least={}) == text


def test_a_short_list_of_software_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "software.json"
    told = ["--source", "https://list.example", "--dated", "2026-08", "--to", str(target)]
    assert make_software.main([str(FINGERPRINTS), *told]) == 1
    assert make_software.main([str(tmp_path), *told]) == 1
    assert not target.exists()
    said = capsys.readouterr().err
    assert "only 3 rows of the kind 'header'" in said
    assert "has no categories.json" in said
