"""Texts with a structure of their own: it stays, and the policy by field goes into it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up_keys import made_up_keys

from scrapy_polite.redaction import Redactor, policy_from
from scrapy_polite.redaction.encodings import Undecodable, redact_bytes
from scrapy_polite.redaction.leaves import LONGEST_PATH, leaves
from scrapy_polite.redaction.structured import StructuredRedactor

KEY = made_up_keys()["stripe-secret"]
GONE = "~redacted-stripe-secret~"
MAIL = "jo@x.example"
NO_MAIL = "~redacted-email~"

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


def redactor(policy: object = "gdpr-strict") -> StructuredRedactor:
    chosen = policy_from(policy)
    assert chosen is not None
    return StructuredRedactor(Redactor(chosen))


STRICT = redactor()
BY_FIELD = redactor(
    {
        "preset": "gdpr-strict",
        "fields": {"*contact.email": {"email": "keep"}, "*.secret": {"personal": "drop"}, "*": {"coordinates": "round"}},
    }
)


def values(value: Any, path: str) -> list[tuple[str, object]]:
    """What json.loads sees, in the order of the text."""
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in values(inner, f"{path}.{key}" if path else key)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in values(inner, path)]
    return [] if value is None or isinstance(value, bool) else [(path, value)]


@given(JSON, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_leaves_are_the_values_that_a_parser_sees(value: Any, indent: Any, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = leaves(text, "page")
    assert found is not None
    assert [(leaf.path, json.loads(text[leaf.start : leaf.end])) for leaf in found] == values(value, "page")


@given(st.text(alphabet='{}[]",:\\ \n01.e-+truefalsn', max_size=40))
def test_what_is_no_json_is_none(text: str) -> None:
    try:
        value = json.loads(text, parse_constant=float)
    except ValueError:
        value = None
    found = leaves(text)
    if value is not None:
        assert found is not None
    elif found is not None:
        # Several values, one a line; or a control character in a string, which json.loads takes for no JSON.
        assert "\n" in text or text.strip() == "null"


def test_lines_of_json_are_read_one_by_one() -> None:
    found = leaves('{"a": 1}\n{"a": 2}\r\n')
    assert found is not None
    assert [(leaf.path, leaf.start) for leaf in found] == [("a", 6), ("a", 15)]
    assert leaves('{"a": 1} {"a": 2}') is None


def test_a_path_is_bounded_and_keeps_its_beginning_and_its_end() -> None:
    value: object = 1
    for _ in range(400):
        value = {"abcdef": value}
    found = leaves(json.dumps({"first": {"x": value, "last": 2}}))
    assert found is not None
    assert len(found[0].path) == LONGEST_PATH
    assert found[0].path.startswith("first.x.abc")
    assert found[1].path == "first.last"


def test_the_policy_goes_by_the_keys_inside() -> None:
    text = json.dumps({"contact": {"email": MAIL}, "other": MAIL, "list": [{"contact": {"email": [MAIL]}}]}, indent=2)
    result = BY_FIELD.text(text, "page")
    assert result.text == text.replace(f'"other": "{MAIL}"', f'"other": "{NO_MAIL}"')
    assert [text[one.start : one.end] for one in result.findings] == [MAIL]


def test_it_goes_into_json_in_json_and_each_level_stays_what_it_was() -> None:
    inner = json.dumps({"contact": {"email": MAIL}, "other": f'"{MAIL}" é </b>', "key": KEY})
    text = json.dumps({"data": json.dumps({"data": inner}), "é": "é"})
    answer = json.loads(BY_FIELD.text(text, "page").text)
    read = json.loads(json.loads(answer["data"])["data"])
    assert read == {"contact": {"email": MAIL}, "other": f'"{NO_MAIL}" é </b>', "key": GONE}
    assert answer["é"] == "é"


def test_numbers_stay_numbers_and_named_ones_are_rounded_or_go() -> None:
    assert leaves('{"id": 0123}') is None
    text = '{"id": 447000000000, "n": [4111111111111111, -1.5e3], "telephone": 447000000000, "latitude": 51.50123}'
    read = json.loads(BY_FIELD.text(text).text)
    assert (read["id"], read["n"], read["telephone"]) == (447000000000, [0, -1500.0], None)
    assert isinstance(read["latitude"], float)
    assert read["latitude"] != 51.50123


def test_a_member_that_the_policy_drops_becomes_null() -> None:
    text = json.dumps({"secret": f"call {MAIL}", "a": 1})
    result = BY_FIELD.text(text, "page")
    assert json.loads(result.text) == {"secret": None, "a": 1}
    assert [(one.kind, one.action, text[one.start : one.end]) for one in result.findings] == [("email", "drop", MAIL)]


@pytest.mark.parametrize(
    "tag",
    [
        '<script type="application/ld+json">',
        "<SCRIPT id=x type='application/json' data-x>",
        '<Script Type="Application/LD+JSON">',
        "<sCRIPT\ntype=application/json>",
        "<script/type=application/json>",
    ],
)
@pytest.mark.parametrize("close", ["</script>", "</SCRIPT>", "</Script\n>"])
def test_json_scripts_of_a_page_are_read_and_the_page_around_them_too(tag: str, close: str) -> None:
    data = json.dumps({"contact": {"email": MAIL}, "b": f"</p> {MAIL}", "id": 447000000000}).replace("</", "<\\/")
    page = f"<p title='{MAIL}'>{tag}{data}{close}<p>{MAIL}<script>var a = '{MAIL}';</script>"
    answer = BY_FIELD.text(page, "page").text
    start = answer.index(tag) + len(tag)
    script = answer[start : answer.index(close, start)]
    assert json.loads(script) == {"contact": {"email": MAIL}, "b": f"</p> {NO_MAIL}", "id": 447000000000}
    around = answer.replace(script, "")
    assert around.count(NO_MAIL) == 3
    assert MAIL not in around


@pytest.mark.parametrize("written", [r"<\u002fscript>", r"\u003c/script>", r"<\/script>"])
def test_what_a_script_had_escaped_stays_escaped(written: str) -> None:
    page = f'<script type="application/json">{{"secret_contact": "{written} {MAIL}"}}</script>'
    by_field = redactor({"preset": "gdpr-strict", "fields": {"*secret_contact": {"email": "replace"}}})
    answer = by_field.text(page).text
    assert answer.count("</script") == 1
    assert (
        json.loads(answer[len('<script type="application/json">') : -len("</script>")])["secret_contact"]
        == f"</script> {NO_MAIL}"
    )


def test_a_script_that_is_no_json_is_read_as_text() -> None:
    page = f'<script type="application/json">{{contact: "{MAIL}",}}</script>'
    assert BY_FIELD.text(page, "page").text == page.replace(MAIL, NO_MAIL)


def test_what_is_found_elsewhere_is_taken_out_inside_and_around() -> None:
    text = json.dumps({"contact": {"email": "Jo Bloggs here"}, "b": 'Al "Bo"', "id": 447000000000, "c": "Jo Bloggs"})
    spans = [("name", at, at + 9) for at in (text.index("Jo Bloggs"), text.rindex("Jo Bloggs"))]
    spans.append(("name", text.index("Al"), text.index("Bo") + 2))
    policy = {"preset": "gdpr-strict", "fields": {"*contact.email": {"email": "keep"}}}
    read = json.loads(redactor(policy).text(text, "page", spans).text)
    assert read["contact"] == {"email": "~redacted-name~ here"}
    assert read["c"] == "~redacted-name~"
    assert read["id"] == 447000000000
    assert "Al" not in read["b"]


@given(JSON, st.lists(st.sampled_from([MAIL, KEY, "contact", "email", "020 7946 0958", '{"a": "jo@x.example"}']), max_size=4))
def test_whatever_the_values_json_stays_json_of_the_same_shape(value: Any, planted: list[str]) -> None:
    text = json.dumps({"a": value, "contact": {"email": planted}, "b": json.dumps({"c": planted, "d": value})})
    result = BY_FIELD.text(text, "page")
    assert result.dropped is None
    read = json.loads(result.text)
    assert len(values(read["a"], "")) <= len(values(value, ""))
    assert KEY not in result.text
    assert json.loads(read["b"]).keys() == {"c", "d"}
    assert BY_FIELD.text(result.text, "page").text == result.text


@pytest.mark.parametrize(
    "unit",
    ['{"a":', "[", '{"a":"', '\\"', '[{"contact":{"email":"x"}},', '<script type="application/json">{', "<script ", '"\\', " "],
)
def test_hostile_texts_take_linear_time(unit: str) -> None:
    def seconds(count: int) -> float:
        text = unit * count
        text = f"{text}]" if text[0] == "[" else f"{text}}}" if text[0] == "{" else text
        began = time.thread_time()
        BY_FIELD.text(text, "page")
        return time.thread_time() - began

    seconds(1000)
    small, large = min(seconds(5_000) for _ in range(3)), seconds(40_000)
    assert large < 8 * 4 * small + 0.2


# -- bytes


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-16", "cp037", "shift_jis", "utf-7"])
def test_bytes_are_read_and_written_back_in_the_encoding_that_is_declared(encoding: str) -> None:
    data = f"k={KEY}, plain".encode(encoding)
    answer = redact_bytes(data, lambda text: text.replace(KEY, "~"), encoding)
    assert answer.decode(encoding) == "k=~, plain"
    same = b"k=1"
    assert redact_bytes(same, lambda text: text, "cp1252") is same


@pytest.mark.parametrize(("data", "encoding"), [(b"\xff", "utf-8"), (b"a", "utf-16"), (b"a", "no-such-encoding")])
def test_bytes_that_are_not_what_they_are_declared_to_be_are_refused(data: bytes, encoding: str) -> None:
    with pytest.raises(Undecodable, match=encoding):
        redact_bytes(data, str, encoding)
