"""Hostile texts: twice as long costs twice as much, and what would cost more than its budget is dropped.

Sizes are compared by processor time, eight times the text against once: a square would be 64 times.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.redacting.recall import everything
from benchmarks.redacting.values import groups, made
from scrapy_polite.redaction import Budget, Redactor
from scrapy_polite.redaction.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Callable

STRICT = Redactor(everything())
SIZE, TIMES = 4_000, 8


def cost(text: str) -> float:
    begun = time.process_time()
    STRICT.text(text)
    return time.process_time() - begun


def stays_linear(text: Callable[[int], str], size: int = SIZE) -> None:
    """The text of a length, and eight times that: it may cost three times what is due, or next to nothing."""
    long = cost(text(size * TIMES))
    if long > 0.05:
        short = min(cost(text(size)) for _ in range(3))
        assert min(long, cost(text(size * TIMES))) < 3 * TIMES * short + 0.05


def run_of(unit: str) -> Callable[[int], str]:
    return lambda size: unit * (size // len(unit))


def percent_nested(size: int) -> str:
    text = "?to=jo@x.example&k=1"
    while len(text) < size:
        text = quote(text, safe="") if len(text) < 200 else text + text
    return text[:size]


def json_nested(size: int) -> str:
    text: str = json.dumps({"mail": "jo@x.example", "k": "a=b&c"})
    while len(text) < size:
        text = json.dumps({"s": text})
    return text[:size]


def deep(size: int) -> str:
    return '{"a":[' * (size // 12) + '"jo@x.example"' + "]}" * (size // 12)


NESTED: dict[str, Callable[[int], str]] = {
    "percent signs escaped again and again": percent_nested,
    "%2525...": lambda size: "%" + "25" * (size // 2) + "40",
    "%25 over and over": run_of("%2540x"),
    "entities escaped again and again": lambda size: "jo&" + "amp;" * (size // 4) + "#64;x.example",
    "entities with zeros": run_of("&#000000000000000000000064;"),
    "entities without end": run_of("&#64"),
    "JSON in JSON in JSON": json_nested,
    "deep JSON": deep,
    "backslashes": run_of("\\"),
    "backslashes before every letter": run_of("\\\\\\\\u0040"),
    "eyJ": run_of("eyJ"),
    "eyJ as words": run_of("eyJ "),
    "eyJ with full stops": run_of("eyJhbGciOiJIUzI1NiJ9."),
    "headers of tokens": run_of("eyJhbGciOiJIUzI1NiJ9.eyJhbGciOiJIUzI1NiJ9."),
    "what was put in": run_of("~redacted-email~"),
    "what was put in, with addresses": run_of("~redacted-email~jo@x.example"),
    "addresses without a break": run_of("jo@x.example,"),
    "numbers without a break": run_of("02079460958,"),
    "digits and spaces": run_of("4111 1111 1111 1111 "),
    "digits and full stops": run_of("93.184.216.34."),
    "hex and colons": run_of("00:1b:63:84:45:e6:"),
    "images": run_of("data:image/png;base64,"),
    "an image without end": lambda size: "data:image/png;base64," + "A" * size,
    "users and hosts": run_of("https://a:b@"),
    "quotes": run_of("\"'`"),
    "names without values": run_of('api_key="" secret: password='),
}


@pytest.mark.parametrize("attack", NESTED)
def test_nested_and_repeated_texts_stay_linear(attack: str) -> None:
    stays_linear(NESTED[attack])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
def test_the_anchors_of_a_rule_over_and_over_stay_linear(rule: object) -> None:
    assert isinstance(rule, type(RULES[0]))
    anchor = rule.anchors[0] if rule.anchors else getattr(rule, "words", "").split("|")[0]
    stays_linear(run_of(anchor))
    stays_linear(run_of(f" {anchor}"))
    stays_linear(lambda size: anchor + "a0" * (size // 2))


@pytest.mark.parametrize("kind", [kind for of in groups().values() for kind in of])
def test_values_side_by_side_stay_linear_and_none_is_left(kind: str) -> None:
    value = made(kind, random.Random(3))
    piece = f"{value.name}={value.text}"
    stays_linear(run_of(piece + " "))
    assert value.secret not in STRICT.text((piece + "&") * 20).text


def test_megabytes_of_the_beginning_of_a_token_are_read_within_the_budget() -> None:
    for unit in ("eyJ", "eyJ.", "eyJhbGciOiJIUzI1NiJ9.", '"eyJ":"eyJ",'):
        stays_linear(run_of(unit), 125_000)


def test_the_more_is_tried_the_sooner_a_text_without_budget_is_dropped() -> None:
    # All work is counted: what a budget of next to nothing lets through is what has next to nothing to try.
    poor = Redactor(everything(), Budget(base=2_000, per_character=0))
    assert poor.text("A page about nothing. " * 5_000).dropped is None
    for kind in (kind for of in groups().values() for kind in of):
        value = made(kind, random.Random(4))
        result = poor.text(f"{value.name}={value.text} " * 2_000)
        assert (result.text, result.dropped) == ("", "over_budget"), kind
