"""Redaction changes values and nothing else: 500 made-up pages, with every kind of value in every sort of place, stay what they
were."""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qsl, quote, urlsplit

import ada_url
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html as lxml_html

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.redacting.pages import with_values
from benchmarks.redacting.placements import PLACEMENTS, placed
from benchmarks.redacting.recall import everything, gone, plain
from benchmarks.redacting.values import groups, made
from scrapy_polite.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterator

STRICT = Redactor(everything())
PAGES, AT_ONCE = 500, 100
KINDS = [kind for of in groups().values() for kind in of]
# What is put in the place of a value; of a number in JSON, which stays one; and of a coordinate, which is rounded.
PUT_IN = re.compile(r"~redacted-[a-z0-9-]+~|(?<=[\[:, ])0(?=[\]}, ])|(?<![\d.])-?\d{1,3}\.\d{3}(?!\d)")


def same_but_for_values(old: str, new: str) -> bool:
    """True if the new text is the old one with values replaced, each of something by something."""
    if old == new:
        return True
    kept = PUT_IN.split(new)
    return len(kept) > 1 and re.fullmatch(".+?".join(map(re.escape, kept)), old, re.DOTALL) is not None


def parts(tree: lxml_html.HtmlElement) -> Iterator[tuple[str, str]]:
    """Everything in a parsed page, in order: tags, names and values of attributes, texts."""
    for node in tree.iter():
        yield "tag", str(node.tag)
        yield "text", node.text or ""
        yield "text", node.tail or ""
        if isinstance(node.tag, str):
            for name, value in node.attrib.items():
                yield "name", name
                yield "value", value


def urls(tree: lxml_html.HtmlElement) -> Iterator[str]:
    for name, value in parts(tree):
        if name in ("value", "text"):
            yield from re.findall(r"https?://[^\s\"'<>`)\\,|]+", value)


def split(url: str) -> tuple[str, str | None, int | None, list[str], bool] | None:
    """What of a URL does not depend on its values; None if it is none: shapes allow ports and hosts that nobody has."""
    try:
        found: SplitResult = urlsplit(url)
        names = [name for name, _ in parse_qsl(found.query, keep_blank_values=True)]
        return found.scheme, found.hostname, found.port, names, bool(found.fragment)
    except ValueError:
        return None


@pytest.mark.parametrize("start", range(0, PAGES, AT_ONCE))
def test_a_page_is_the_same_but_for_the_values(start: int) -> None:
    for seed in range(start, start + AT_ONCE):
        source = random.Random(seed)
        values = [made(KINDS[(seed * 12 + number) % len(KINDS)], source) for number in range(12)]
        page = with_values(source, values)
        result = STRICT.text(page)
        assert result.dropped is None
        old, new = lxml_html.document_fromstring(page), lxml_html.document_fromstring(result.text)
        for (name, before), (_, after) in zip(parts(old), parts(new), strict=True):
            if name in ("tag", "name"):
                assert before == after
            else:
                assert same_but_for_values(before, after), (before[:400], after[:400])
        for before, after in zip(urls(old), urls(new), strict=True):
            assert split(before) in (None, split(after))
        for script in new.xpath("//script[contains(@type, 'json')]/text()"):
            json.loads(script)
        for props in new.xpath("//@data-props"):
            json.loads(props)
        assert STRICT.text(result.text).text == result.text


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(KINDS),
    st.sampled_from(list(PLACEMENTS)),
    st.integers(0, 2**32),
    st.text("aZ09 .,;:!?-_()[]\n\u00e9\u4e2d", max_size=30),
)
def test_of_a_piece_of_a_page_all_stays_but_one_stretch(kind: str, placement: str, seed: int, around: str) -> None:
    text = f"{around} <p>{placed(placement, made(kind, random.Random(seed)))}</p> {around}"
    result = STRICT.text(text)
    assert result.dropped is None
    assert same_but_for_values(text, result.text)
    assert STRICT.text(result.text).text == result.text


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def without_texts(value: object) -> object:
    if isinstance(value, dict):
        return [without_texts(inner) for inner in value.values()]
    if isinstance(value, list):
        return [without_texts(inner) for inner in value]
    return "text" if isinstance(value, str) else value


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(KINDS), st.integers(0, 2**32), _JSON, st.integers(1, 4), st.booleans())
def test_json_at_any_depth_loads_and_has_the_same_form(kind: str, seed: int, beside: object, depth: int, ascii_: bool) -> None:
    value = made(kind, random.Random(seed))
    url = f"https://x.example/a?b=1&{value.name}={value.text}&z=2"
    whole: object = {"a": beside, value.name: value.text, "list": [url, f"{value.name}: {value.text}"], "z": 1.50}
    for _ in range(depth):
        whole = {"inner": json.dumps(whole, ensure_ascii=ascii_), "n": 1}
    text = json.dumps(whole, ensure_ascii=ascii_)
    redacted = json.loads(STRICT.text(text).text)
    was = json.loads(text)
    for _ in range(depth):
        redacted, was = json.loads(redacted["inner"]), json.loads(was["inner"])
    assert without_texts(redacted) == without_texts(was)
    assert gone(value.secret, json.dumps(redacted["list"][0]))


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(KINDS), st.integers(0, 2**32), st.sampled_from(["&", "#", ""]), st.integers(0, 3))
def test_a_url_splits_to_the_same_parts(kind: str, seed: int, after: str, before: int) -> None:
    value = made(kind, random.Random(seed))
    query = "".join(f"p{number}={number}&" for number in range(before))
    tail = {"&": "&z=2", "#": "#top", "": ""}[after]
    url = f"https://x.example/p/q?{query}{value.name}={quote(value.text, safe='')}{tail}"
    new = STRICT.text(url).text
    assert ada_url.check_url(new)
    assert split(url) == split(new)
    assert urlsplit(new).path == "/p/q"
    assert new.endswith(tail)
    assert gone(value.secret, new)


def test_what_tells_whether_a_value_is_gone_sees_through_escapes() -> None:
    secret = "Ab3-Zz/9+xYq=Ab3-Zz"
    for place, write in PLACEMENTS.items():
        assert not gone(secret, write("ref", secret)), place
    assert gone(secret, "<p>~redacted-x~</p>")
    assert plain("a\\u0026b%26c&amp;d") == "a&b&c&d"
