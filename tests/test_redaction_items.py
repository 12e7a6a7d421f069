"""Items of every type that Scrapy takes: pydantic models too, bytes in a declared encoding, and fields that say what they
hold."""

from __future__ import annotations

import datetime
import json
from collections import deque
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import attrs
import pydantic
import pytest
from made_up_keys import made_up_keys
from scrapy import Field, Item

from scrapy_polite.itemparts import is_heavy, texts_of
from scrapy_polite.itemredactor import ItemRedactor, TooLong
from scrapy_polite.redaction import Budget, Redactor, policy_from
from scrapy_polite.redaction.structured import StructuredRedactor

KEY = made_up_keys()["stripe-secret"]
GONE = "~redacted-stripe-secret~"
MAIL = "jo@x.example"


def work(policy: object = "gdpr-strict", budget: Budget | None = None) -> ItemRedactor:
    chosen = policy_from(policy)
    assert chosen is not None
    return ItemRedactor(StructuredRedactor(Redactor(chosen, budget)))


def redacted(item: object, policy: object = "gdpr-strict") -> Any:
    return work(policy).item(item)


class Model(pydantic.BaseModel):
    title: str
    parts: list[Any] = []
    seen: set[str] = set()


class Frozen(Model, frozen=True):
    pass


class Checked(Model, validate_assignment=True):
    title: str = pydantic.Field(pattern="^k=sk_")


@pytest.mark.parametrize("kind", [Model, Frozen, Checked])
def test_pydantic_models_keep_their_class_whatever_they_check(kind: type[Model]) -> None:
    item = kind(title=f"k={KEY}", parts=[{"a": (MAIL, Frozen(title=KEY))}], seen={MAIL})
    answer = redacted(item)
    assert type(answer) is kind
    assert (answer is item) == (kind is Model)
    assert answer.title == f"k={GONE}"
    assert answer.parts == [{"a": ("~redacted-email~", Frozen(title=GONE))}]
    assert answer.seen == {"~redacted-email~"}
    assert answer.model_dump()["title"] == f"k={GONE}"


class Open(pydantic.BaseModel, extra="allow"):
    title: str


def test_what_a_pydantic_model_has_beyond_its_fields_is_redacted_too() -> None:
    answer = redacted({"page": Open(title="a", more=[MAIL], key=KEY)})["page"]
    assert answer.model_dump() == {"title": "a", "more": ["~redacted-email~"], "key": GONE}
    plain = Open(title="a", more=1)
    assert redacted(plain) is plain
    assert redacted(Open(title="a", more=object(), n=1)).model_dump() == {"title": "a", "n": 1}


def test_a_field_of_a_pydantic_model_is_dropped_by_policy() -> None:
    answer = redacted(Frozen(title=KEY, parts=[1]), {"kinds": {"stripe-secret": "drop"}})
    assert not hasattr(answer, "title")
    assert answer.parts == [1]


# -- declared encodings


class ScrapyPage(Item):
    body = Field(encoding="cp037")


@dataclass
class DataPage:
    body: bytes = field(metadata={"encoding": "cp037"})


@attrs.define
class AttrsPage:
    body: bytes = attrs.field(metadata={"encoding": "cp037"})


class ModelPage(pydantic.BaseModel):
    body: bytes = pydantic.Field(json_schema_extra={"encoding": "cp037"})


@pytest.mark.parametrize("kind", [ScrapyPage, DataPage, AttrsPage, ModelPage])
def test_the_encoding_of_bytes_may_be_declared_by_their_field(kind: Any) -> None:
    answer = redacted({"page": kind(body=f"k={KEY}".encode("cp037"))})["page"]
    assert (answer["body"] if isinstance(answer, Item) else answer.body) == f"k={GONE}".encode("cp037")


@pytest.mark.parametrize("kind", [ScrapyPage, DataPage, AttrsPage, ModelPage])
def test_what_a_field_declares_is_true_of_all_bytes_in_it(kind: Any) -> None:
    own, gone = f"k={KEY}".encode("cp037"), f"k={GONE}".encode("cp037")

    @dataclass
    class Part:
        data: bytes
        other: bytes = field(default=b"", metadata={"encoding": "latin-1"})

    def body(data: bytes, other: str) -> Any:
        return {
            "list": [data, (data, b"")],
            "set": {data},
            "deque": deque([bytearray(data)]),
            data: 1,
            "part": Part(data, f"{other} é".encode("latin-1")),
        }

    build = kind.model_construct if kind is ModelPage else kind
    answer = redacted({"page": [build(body=body(own, KEY))]})["page"][0]
    assert (answer["body"] if isinstance(answer, Item) else answer.body) == body(gone, GONE)


def test_bytes_that_are_not_what_the_field_around_says_take_it_with_them() -> None:
    class Wrong(Item):
        body = Field(encoding="utf-8")

    task = work()
    answer = task.item(Wrong(body=[b"a", {"in": b"\xff" + KEY.encode(), "b": 1}]))
    assert dict(answer) == {"body": [b"a", {"b": 1}]}  # type: ignore[call-overload]
    assert task.dropped == [("body", "a part of it: it is not utf-8, as which it is declared")]


def test_bytes_that_are_not_what_their_field_says_are_dropped() -> None:
    class Wrong(Item):
        body = Field(encoding="utf-8")

    task = work()
    assert dict(task.item(Wrong(body=b"\xff" + KEY.encode()))) == {}  # type: ignore[call-overload]
    assert task.dropped == [("body", "it is not utf-8, as which it is declared")]


# -- fields that say what they hold


def test_numbers_and_dates_in_fields_that_are_a_persons_have_the_policys_form() -> None:
    item = {"latitude": 51.50123, "longitude": Decimal("-0.12345"), "price": 51.50123, "sold": True, "id": 447000000000}
    answer = redacted(item, {"preset": "gdpr-strict", "kinds": {"coordinates": "round"}})
    assert isinstance(answer["latitude"], float)
    assert isinstance(answer["longitude"], Decimal)
    assert answer["latitude"] != 51.50123
    assert answer["longitude"] != Decimal("-0.12345")
    assert (answer["price"], answer["sold"], answer["id"]) == (51.50123, True, 447000000000)


def test_a_date_that_the_policy_does_not_keep_goes_and_another_stays() -> None:
    day = datetime.date(1980, 5, 17)
    task = work()
    assert task.item({"birth_date": day, "listed": day}) == {"listed": day}
    assert [name for name, _ in task.dropped] == ["birth_date"]
    assert task.found["birth-date"] == 1
    assert redacted({"birth_date": day}, "secrets") == {"birth_date": day}


def test_what_a_name_says_of_values_is_not_said_of_keys() -> None:
    answer = redacted({"agent": {"name": {"first_name": "Jo", "last_name": "Bloggs"}}})
    assert list(answer["agent"]["name"]) == ["first_name", "last_name"]
    assert "Bloggs" not in str(answer)


def test_keys_of_the_item_itself_are_redacted_too() -> None:
    item = {MAIL: 1, "a": 2}
    assert redacted(item) is item
    assert item == {"~redacted-email~": 1, "a": 2}


def test_policy_and_counts_are_the_same_for_what_was_parsed_and_what_was_not() -> None:
    policy = {"preset": "gdpr-strict", "fields": {"*.contact.email": {"email": "keep"}}}
    data = {"contact": {"email": MAIL}, "other": [MAIL, {"key": KEY}]}
    expected = {"contact": {"email": MAIL}, "other": ["~redacted-email~", {"key": GONE}]}
    parsed, text = work(policy), work(policy)
    assert parsed.item({"page": data}) == {"page": expected}
    assert json.loads(text.item({"page": json.dumps(data)})["page"]) == expected  # type: ignore[index]
    for one in (parsed, text):
        assert one.found == {"email": 1, "stripe-secret": 1}
        assert one.actions == {"replace": 2}
        assert one.fields == {"page": 2}


def test_a_value_that_only_its_name_gives_away_is_found_where_the_name_is_a_field() -> None:
    hidden = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    rule = {"kind": "acme-key", "words": "acme|maps_key", "shape": "[0-9a-f]{32}", "validator": "random"}
    policy = {"rules": [rule], "fields": {"*.kept": "keep"}}
    data = {"mapsKey": hidden, "sku": hidden, "inner": {"acme": [hidden, f"{hidden} "], "kept": {"mapsKey": hidden}}}
    gone = "~redacted-acme-key~"
    answer = redacted({"page": data, "text": json.dumps(data)}, policy)
    expected = {**data, "mapsKey": gone, "inner": {"acme": [gone, f"{gone} "], "kept": {"mapsKey": gone}}}
    assert answer["page"] == expected
    assert json.loads(answer["text"])["mapsKey"] == gone
    assert json.loads(answer["text"])["sku"] == hidden


# -- how much is done at once


def test_an_item_that_takes_too_long_is_left_as_it_was() -> None:
    item = {"a": [KEY] * 3, "b": KEY}
    with pytest.raises(TooLong):
        work().item(item, seconds=-1)
    assert item == {"a": [KEY] * 3, "b": KEY}
    hostile = {"a": " a@b.example" * 99}
    with pytest.raises(TooLong):
        work(budget=Budget(base=500, per_character=0)).item(hostile, seconds=1e6)
    assert hostile == {"a": " a@b.example" * 99}


def test_what_is_heavy_is_told_without_looking_at_all_of_it() -> None:
    assert not is_heavy({"a": "x" * 10, "b": [1, 2]}, 10, 10)
    assert is_heavy({"a": "x" * 11}, 10, 10)
    assert is_heavy({"a": Model(title="x" * 11)}, 10, 10)
    assert is_heavy([b"x" * 6, memoryview(b"x" * 6)], 10, 10)
    assert is_heavy([1] * 10**7, 10, 10)
    loop: list[object] = []
    loop.append(loop)
    assert is_heavy(loop, 10, 10)


def test_texts_are_listed_with_their_fields_and_loops_end() -> None:
    loop: list[object] = ["x"]
    item = {"a": "1", "b": [("2", {"c": Model(title="3")})], "n": 4, "bytes": b"5"}
    assert sorted(texts_of(item)) == [("1", "a"), ("2", "b"), ("3", "b.c.title")]
    loop.append(loop)
    assert set(texts_of(loop)) == {("x", "")}
