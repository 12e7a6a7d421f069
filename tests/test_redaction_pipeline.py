from __future__ import annotations

import datetime
import logging
import re
import subprocess
import sys
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import PurePosixPath
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import pytest
from made_up_keys import made_up_keys
from scrapy import Field, Item, Spider
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.utils.test import get_crawler

from scrapy_polite import pipelines
from scrapy_polite.itemredactor import ItemRedactor
from scrapy_polite.pipelines import RedactionPipeline
from scrapy_polite.redaction import PRESETS, Budget, Redactor
from scrapy_polite.redaction.structured import StructuredRedactor

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

KEY = made_up_keys()["stripe-secret"]
GONE = "~redacted-stripe-secret~"


@pytest.fixture(autouse=True)
def _all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What these tests are about does not go to a thread, also where the machine is slow."""
    monkeypatch.setattr(pipelines, "SECONDS", 1e6)


def pipeline(**settings: object) -> tuple[RedactionPipeline, Crawler]:
    crawler = get_crawler(Spider, settings)
    crawler.stats = crawler.stats or SimpleNamespace()
    return RedactionPipeline.from_crawler(crawler), crawler


def redacted(item: object, **settings: object) -> Any:
    return pipeline(**settings)[0].process_item(item)


class Home(Item):
    name = Field()
    parts = Field()


@dataclass
class Flat:
    name: str
    parts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    name: str
    parts: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class Slotted:
    name: str
    parts: tuple[object, ...] = ()


@attrs.define
class Attrs:
    name: str
    parts: list[str] = attrs.field(factory=list)


@attrs.frozen
class FrozenAttrs:
    name: str
    parts: tuple[object, ...] = ()


@attrs.define
class Picky:
    name: str = attrs.field(validator=attrs.validators.matches_re("k=sk_.*"))
    parts: tuple[object, ...] = ()


class Pair(NamedTuple):
    left: str
    right: int


@pytest.mark.parametrize("kind", [dict, Home, Flat, Attrs])
def test_an_item_that_can_be_changed_is_changed(kind: type) -> None:
    item = kind(name=f"k={KEY}", parts=["a", KEY])
    answer = redacted(item)
    assert answer is item
    assert answer == kind(name=f"k={GONE}", parts=["a", GONE])


@pytest.mark.parametrize("kind", [Frozen, Slotted, FrozenAttrs, Picky])
def test_a_frozen_item_is_replaced(kind: type) -> None:
    item = kind(name=f"k={KEY}", parts=("a", Frozen(KEY)))
    answer = redacted(item)
    assert type(answer) is kind
    assert (answer.name, answer.parts) == (f"k={GONE}", ("a", Frozen(GONE)))
    assert item.name == f"k={KEY}"


def test_containers_of_every_sort_keep_their_type_and_the_originals_their_contents() -> None:
    shared = [KEY]
    value = {
        "list": [shared, {"deep": (KEY, 1)}],
        "tuple": (KEY, 2.5, None),
        "named": Pair(KEY, 3),
        "set": {KEY},
        "frozen": frozenset({KEY}),
        "deque": deque([KEY], maxlen=4),
        "ordered": OrderedDict(a=1, b=KEY),
        "proxy": MappingProxyType({"a": KEY}),
        "item": Home(name=KEY),
        "flat": Flat(KEY),
        "bytes": b"\xff" + KEY.encode(),
        "array": bytearray(KEY.encode()),
        "path": PurePosixPath("/a") / KEY,
    }
    answer = redacted({"value": value})["value"]
    assert answer == {
        "list": [[GONE], {"deep": (GONE, 1)}],
        "tuple": (GONE, 2.5, None),
        "named": Pair(GONE, 3),
        "set": {GONE},
        "frozen": frozenset({GONE}),
        "deque": deque([GONE], maxlen=4),
        "ordered": OrderedDict(a=1, b=GONE),
        "proxy": {"a": GONE},
        "item": Home(name=GONE),
        "flat": Flat(GONE),
        "bytes": b"\xff" + GONE.encode(),
        "array": bytearray(GONE.encode()),
        "path": PurePosixPath("/a") / GONE,
    }
    assert {name: type(part) for name, part in answer.items() if name != "proxy"} == {
        name: type(part) for name, part in value.items() if name != "proxy"
    }
    assert answer["deque"].maxlen == 4
    assert shared == [KEY]
    assert value["item"] == Home(name=KEY)
    assert value["flat"] == Flat(KEY)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("text", ["k={} jo@x.example", "Größe “{}”, jörg@bücher.example", "ключ: {} для jo@x.example"])
def test_wide_encodings_are_read_and_written_back(encoding: str, text: str) -> None:
    answer = redacted({"a": text.format(KEY).encode(encoding)}, POLITE_REDACT="gdpr-strict")["a"]
    assert answer.decode(encoding) == re.sub(r"\w+@\w+\.example", "~redacted-email~", text).format(GONE)
    assert answer[:4] == text.format(KEY).encode(encoding)[:4]


@pytest.mark.parametrize(
    "value",
    [
        f"k={KEY}".encode("utf-16")[:-1],
        b"\xff\xfe" + b"abc",
        b"x" + f"k={KEY}".encode("utf-16-le"),
        b"plain text: " + f"k={KEY}".encode("utf-16-le") + b"!",
        f"k={KEY}".encode("utf-32-be") + b"\xff\xff\xff\xff",
        f"k={KEY}".encode("utf-16-le").decode("latin-1"),
        "\0".join("jo@x.example"),
    ],
)
def test_what_is_neither_one_encoding_nor_the_other_is_dropped_and_counted(value: object) -> None:
    part, crawler = pipeline(POLITE_REDACT="gdpr-strict")
    assert part.process_item({"a": value, "b": 1}) == {"b": 1}
    assert crawler.stats is not None
    assert crawler.stats.get_value("polite/redacted/dropped_fields") == 1


def test_bytes_that_are_no_text_stay_as_they_are() -> None:
    picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 9
    assert redacted({"a": picture, "b": b"\0" * 99}, POLITE_REDACT="gdpr-strict") == {"a": picture, "b": b"\0" * 99}
    assert redacted({"a": picture + KEY.encode()}) == {"a": picture + GONE.encode()}


def test_what_has_no_text_in_it_stays_as_it_is() -> None:
    item = {
        "price": 447000000000,
        "area": 4.5,
        "rent": Decimal("1200.50"),
        "sold": False,
        "none": None,
        "seen": datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc),
        "level": logging.INFO,
        "text": "nothing",
    }
    before = dict(item)
    assert redacted(item, POLITE_REDACT="gdpr-strict") == before
    assert {name: type(value) for name, value in item.items()} == {name: type(value) for name, value in before.items()}


def test_an_untouched_container_is_the_same_object() -> None:
    parts = [("a", {"b": 1})]
    assert redacted({"parts": parts})["parts"] is parts


def test_keys_of_nested_dicts_are_redacted_and_none_is_lost() -> None:
    item = {"by_mail": {"jo@x.example": 1, "al@x.example": 2, "plain": 3}}
    answer = redacted(item, POLITE_REDACT="gdpr-strict")
    assert answer == {"by_mail": {"~redacted-email~": 1, "~redacted-email~.2": 2, "plain": 3}}


def test_values_are_counted_by_kind() -> None:
    part, crawler = pipeline(POLITE_REDACT="gdpr-strict")
    part.process_item({"a": f"{KEY} jo@x.example", "b": ["020 7946 0958", "al@x.example"]})
    part.process_item({"a": KEY})
    assert crawler.stats is not None
    assert crawler.stats.get_stats() == {
        "polite/redacted/stripe-secret": 2,
        "polite/redacted/email": 2,
        "polite/redacted/phone": 1,
        "polite/redacted/action/replace": 5,
        "polite/redacted/field/a": 3,
        "polite/redacted/field/b": 2,
    }


def test_a_field_that_cannot_be_searched_is_dropped_and_counted_and_the_rest_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    part, crawler = pipeline()
    nested: list[object] = [1]
    for _ in range(60):
        nested = [nested]
    item = {"page": object(), "deep": {"x": [SimpleNamespace(key=KEY)], "y": 1}, "nested": nested, "name": f"k={KEY}"}
    assert part.process_item(item) == {"deep": {"y": 1}, "name": f"k={GONE}"}
    assert crawler.stats is not None
    assert crawler.stats.get_value("polite/redacted/dropped_fields") == 3
    assert "SimpleNamespace" in caplog.text
    assert KEY not in caplog.text


def test_loops_and_shared_parts_end() -> None:
    loop: dict[str, object] = {}
    loop["a"] = loop["b"] = loop
    shared: list[object] = [1]
    for _ in range(40):
        shared = [shared, shared]
    work = ItemRedactor(StructuredRedactor(Redactor(PRESETS["secrets"])))
    assert work.item({"name": KEY, "loop": loop, "shared": shared}) == {"name": GONE}
    assert [name for name, _ in work.dropped] == ["loop", "shared"]


def test_a_field_over_budget_is_dropped() -> None:
    work = ItemRedactor(StructuredRedactor(Redactor(PRESETS["gdpr-strict"], Budget(base=500, per_character=0))))
    assert work.item({"a": " a@b.example" * 99, "b": "short"}) == {"b": "short"}
    assert work.dropped == [("a", "checking it would take too long")]


def test_a_failure_drops_the_field_and_says_only_of_what_kind_it_was(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(dict):  # type: ignore[type-arg]
        def items(self) -> Any:
            raise RuntimeError(KEY)

    part, crawler = pipeline()
    assert part.process_item({"a": Broken(x=1), "b": 1}) == {"b": 1}
    part.process_item({"a": Broken(x=1), "b": 1})
    assert crawler.stats is not None
    assert crawler.stats.get_value("polite/redacted/dropped_fields") == 2
    assert caplog.text.count("RuntimeError") == 1
    assert KEY not in caplog.text


def test_a_field_is_dropped_by_policy_from_every_sort_of_item() -> None:
    policy = {"kinds": {"stripe-secret": "drop"}}
    assert redacted({"name": KEY, "parts": 1}, POLITE_REDACT=policy) == {"parts": 1}
    assert dict(redacted(Home(name=KEY, parts=1), POLITE_REDACT=policy)) == {"parts": 1}
    for kind in (Flat, Frozen, Slotted, Attrs, FrozenAttrs):
        answer = redacted(kind(name=KEY), POLITE_REDACT=policy)
        assert not hasattr(answer, "name")
        assert KEY not in repr(answer.parts)


def test_the_policy_goes_by_field() -> None:
    item = {"agent": {"email": "jo@x.example"}, "text": "jo@x.example"}
    answer = redacted(item, POLITE_REDACT={"preset": "gdpr-strict", "fields": {"agent.email": "keep"}})
    assert answer == {"agent": {"email": "jo@x.example"}, "text": "~redacted-email~"}


def test_much_text_is_redacted_in_a_thread_while_the_crawl_goes_on() -> None:
    program = """
import sys, threading
from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess
import scrapy_polite.pipelines as pipelines

threads = []
changes = pipelines.ItemRedactor.item
def item(self, it, *seconds):
    threads.append(threading.current_thread() is threading.main_thread())
    return changes(self, it, *seconds)
pipelines.ItemRedactor.item = item

class One(Spider):
    name = "one"
    async def start(self):
        yield {"page": "x " * 200_000 + sys.argv[1]}
        yield {"page": sys.argv[1]}

process = AsyncCrawlerProcess({"ITEM_PIPELINES": {pipelines.RedactionPipeline: 700}, "LOG_LEVEL": "ERROR"})
crawler = process.create_crawler(One)
process.crawl(crawler)
process.start()
print(sorted(threads), crawler.stats.get_value("polite/redacted/stripe-secret"), crawler.stats.get_value("item_scraped_count"))
"""
    answer = subprocess.run([sys.executable, "-c", program, KEY], capture_output=True, text=True, check=True, timeout=60)
    assert answer.stdout.split("\n")[0] == "[False, True] 2 2", answer.stderr


def test_what_is_no_item_is_dropped_and_not_passed_on() -> None:
    with pytest.raises(DropItem, match="str"):
        redacted(KEY)


def test_keys_are_redacted_by_default_and_people_are_not() -> None:
    assert redacted({"a": f"{KEY} jo@x.example"}) == {"a": f"{GONE} jo@x.example"}


def test_a_policy_from_the_command_line_is_json() -> None:
    assert redacted({"a": "jo@x.example"}, POLITE_REDACT='{"kinds": {"email": "replace"}}') == {"a": "~redacted-email~"}


def test_none_switches_it_off() -> None:
    with pytest.raises(NotConfigured, match="POLITE_REDACT"):
        pipeline(POLITE_REDACT=None)


def test_a_wrong_policy_stops_the_crawl_by_name() -> None:
    with pytest.raises(ValueError, match=r"POLITE_REDACT.*'everything'"):
        pipeline(POLITE_REDACT="everything")
