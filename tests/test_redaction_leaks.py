"""Values are planted wherever a crawl meets one; then everything that the crawl has written is read."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import pytest
from loopback import Server, crawl, ports
from made_up_keys import made_up_keys
from scrapy import Spider
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from scrapy_polite import logs
from scrapy_polite.feeduris import redact_feed_uris, written_into_paths
from scrapy_polite.logs import LogFilter, LogRedaction
from scrapy_polite.redaction import PRESETS, Redactor
from scrapy_polite.redaction.structured import StructuredRedactor
from scrapy_polite.written import LONGEST, written

if TYPE_CHECKING:
    from pathlib import Path

KEY = made_up_keys()["stripe-secret"]
OTHER = made_up_keys()["google-api-key"]
MAIL = "jo.planted@x.example"
GONE = "~redacted-stripe-secret~"

PLANTED = """
class Spider(TestSpider):
    token = "{key}"
    custom_settings = {{"ITEM_PIPELINES": {{"__main__.Failing": 100, "__main__.Dropping": 200}}}}
    async def start(self):
        for page in ("fine", "breaks", "items"):
            url = "{url}/" + page + "?key={key}"
            yield scrapy.Request(url, callback=getattr(self, page), errback=self.failed, headers={{"Referer": url}})
    def fine(self, response):
        self.crawler.stats.inc_value("seen/" + response.url)
        self.crawler.stats.inc_value("seen/" + response.url + "/too")
        self.logger.warning("Found %s in %s", "{key}", response)
        self.logger.info("stack", stack_info=True)
        yield {{"name": "kept", "key": "{key}", "mail": "{mail}", "nested": [{{"{mail}": ("{other}",)}}], "{mail}": 1,
                "json": json.dumps({{"a": "{key}", "b": json.dumps({{"c": "{mail}"}})}})}}
    def breaks(self, response):
        try:
            raise ValueError("broken by {key}")
        except ValueError as error:
            raise RuntimeError("and {other}") from error
    def items(self, response):
        yield {{"name": "fails", "mail": "{mail}", "key": "{key}"}}
        yield {{"name": "drops", "mail": "{mail}", "key": "{key}"}}

class Failing:
    def process_item(self, item):
        if item["name"] == "fails":
            raise ValueError("failed")
        return item

class Dropping:
    def process_item(self, item):
        if item["name"] == "drops":
            raise scrapy.exceptions.DropItem("dropped")
        return item

import scrapy.exceptions
"""


def test_a_crawl_writes_none_of_the_values_that_it_met(tmp_path: Path) -> None:
    with Server() as server:
        done = crawl(
            PLANTED.format(key=KEY, other=OTHER, mail=MAIL, url=server.url),
            tmp_path,
            **ports(server),
            POLITE_SITE_RATE=50,
            POLITE_ORIGIN_RATE=50,
            POLITE_REDACT="gdpr-strict",
            LOG_LEVEL="DEBUG",
            FEEDS={"out/%(token)s-%(name)s.json": {"format": "json"}, "out/all.csv": {"format": "csv"}},
            # One of Scrapy's own that it shows when it starts.
            AWS_ACCESS_KEY_ID=KEY,
        )
    assert done.code == 0, done.log
    assert done.stats["item_scraped_count"] == 1
    # The servers are asked for what the spider asked for.
    assert sorted(arrival.path for arrival in server.pages()) == [f"/{page}?key={KEY}" for page in ("breaks", "fine", "items")]
    written_by_it = {"log": done.log, "stats": json.dumps(done.stats)}
    for path in tmp_path.rglob("*"):
        written_by_it[f"name of {path.name}"] = str(path.relative_to(tmp_path))
        if path.is_file() and path.name != "crawl.py":
            written_by_it[path.name] = path.read_bytes().decode("latin-1")
    assert {"all.csv", f"{GONE}-test.json", "limits.sqlite"} <= set(written_by_it)
    for value in (KEY, OTHER, MAIL):
        assert [where for where, text in written_by_it.items() if value in text] == []
    assert f"/fine?key={GONE}> (referer: " in done.log
    assert f"broken by {GONE}" in done.log
    assert f"Found {GONE} in <200 " in done.log
    assert "%(token)s looks like a key" in done.log
    assert done.stats[f"seen/{server.url}/fine?key={GONE}"] == 1
    assert done.stats["polite/redacted/field/json"] == 2
    assert done.stats["polite/redacted/field/other"] == 1


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(message)s"))
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@pytest.fixture
def log() -> tuple[logging.Logger, Kept]:
    logger, kept = logging.Logger("redacted"), Kept()
    kept.addFilter(LogFilter(written(PRESETS["secrets"]), StructuredRedactor(Redactor(PRESETS["gdpr-strict"]))))
    logger.addHandler(kept)
    return logger, kept


def test_a_record_without_a_value_stays_as_it_was(log: tuple[logging.Logger, Kept]) -> None:
    logger, kept = log
    records: list[logging.LogRecord] = []
    kept.emit = records.append  # type: ignore[method-assign]
    try:
        raise ValueError("x")
    except ValueError:
        logger.exception("%d of %s", 3, "5")
    (record,) = records
    assert (record.msg, record.args, record.exc_text) == ("%d of %s", (3, "5"), None)
    assert record.exc_info is not None


def test_a_percent_sign_in_a_redacted_message_is_no_placeholder(log: tuple[logging.Logger, Kept]) -> None:
    log[0].error("100%% of %s, %s", KEY, "%s%d")
    assert log[1].lines == [f"100% of {GONE}, %s%d"]


def test_a_message_that_cannot_be_put_together_is_not_written(
    log: tuple[logging.Logger, Kept], capsys: pytest.CaptureFixture[str]
) -> None:
    log[0].error("%d of it", KEY)
    assert log[1].lines == ["(a message that could not be checked for keys: TypeError)"]
    assert KEY not in capsys.readouterr().err


def test_of_a_long_message_the_beginning_is_written(log: tuple[logging.Logger, Kept]) -> None:
    log[0].error("%s%s%s", "x " * (LONGEST // 2 - 5), KEY, " y" * 100_000)
    (line,) = log[1].lines
    assert line.endswith(" characters in all)")
    assert len(line) < LONGEST + 100
    assert KEY[:12] not in line


def test_an_item_that_did_not_come_to_the_pipeline_is_redacted_in_an_error(
    log: tuple[logging.Logger, Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "SECONDS", 1e6)  # Also where the machine is slow.
    item = {"mail": MAIL, "n": 5}
    log[0].warning("Dropped: %(exception)s\n%(item)s", {"exception": "no", "item": item})
    assert log[1].lines == ["Dropped: no\n{'mail': '~redacted-email~', 'n': 5}"]
    assert item == {"mail": MAIL, "n": 5}


def test_the_filter_goes_with_the_crawl() -> None:
    crawler = get_crawler(Spider)
    before = [list(handler.filters) for handler in logging.root.handlers]
    part = LogRedaction.from_crawler(crawler)
    assert all(any(isinstance(one, LogFilter) for one in handler.filters) for handler in logging.root.handlers)
    part.engine_stopped()
    assert [list(handler.filters) for handler in logging.root.handlers] == before


# -- URIs of feeds


def test_credentials_of_a_store_stay_and_what_is_written_into_its_paths_does_not() -> None:
    assert written_into_paths(["s3://%(user)s:%(password)s@bucket/%(token)s/%(time)s.json", "a/%(name)s"]) == {
        "token",
        "time",
        "name",
    }
    feeds = {
        "s3://%(user)s:%(password)s@bucket/%(token)s.json": {"format": "json"},
        "own/%(token)s-%(more)s.json": {"format": "json", "uri_params": lambda params, spider: {**params, "more": KEY}},
    }
    settings = Settings({"FEEDS": feeds})
    redact_feed_uris(settings, PRESETS["secrets"])
    spider = Spider.from_crawler(get_crawler(Spider, {"FEEDS": feeds}), "test")
    given = {"user": "me", "password": KEY, "token": OTHER, "time": "2026"}
    common = settings["FEED_URI_PARAMS"](given, spider)
    assert common == {"user": "me", "password": KEY, "token": "~redacted-google-api-key~", "time": "2026"}
    own = settings.getdict("FEEDS")["own/%(token)s-%(more)s.json"]["uri_params"](given, spider)
    assert own["more"] == GONE


def test_feeds_without_parameters_are_left_alone() -> None:
    settings = Settings({"FEEDS": {"all.json": {"format": "json"}}})
    redact_feed_uris(settings, PRESETS["secrets"])
    assert settings["FEED_URI_PARAMS"] is None
