"""The action `drop`: what goes with a value that has to go as a whole, by kind, wherever it stands."""

from __future__ import annotations

import json
from typing import Any

import pytest
from made_up_keys import made_up_keys

from scrapy_polite.itemredactor import ItemRedactor
from scrapy_polite.redaction import Redactor, Result, policy_from
from scrapy_polite.redaction.structured import StructuredRedactor

KEY = made_up_keys()["stripe-secret"]
MAIL = "jo@x.example"
CARD = 4111111111111111
NAMED = "q8Zr7Lw2Xk9Vb4Nm1Ty6Pd3Hs5"  # a secret by the name before it alone

DROPS: tuple[dict[str, Any], ...] = (
    {"kinds": {"email": "drop", "secret": "drop", "payment-card": "drop"}},
    {"preset": "gdpr-strict", "kinds": {"email": "drop", "secret": "drop", "payment-card": "drop"}},
)


def redactor(policy: object) -> StructuredRedactor:
    chosen = policy_from(policy)
    assert chosen is not None
    return StructuredRedactor(Redactor(chosen))


def read(result: Result) -> Any:
    assert result.dropped is None
    return json.loads(result.text)


@pytest.mark.parametrize("policy", DROPS)
@pytest.mark.parametrize("indent", [None, 2])
def test_of_json_the_values_go_and_the_rest_stays(policy: object, indent: int | None) -> None:
    data = {"a": [f"to {MAIL}", "b", {"card": CARD, "key": KEY}], "apiSecret": NAMED, "c": "", "n": 1.5}
    text = json.dumps(data, indent=indent)
    result = redactor(policy).text(text, "page")
    assert read(result) == {"a": [None, "b", {"card": None, "key": None}], "apiSecret": None, "c": "", "n": 1.5}
    seen = [(one.action, text[one.start : one.end]) for one in result.findings]
    assert seen == [("drop", part) for part in (MAIL, str(CARD), KEY, NAMED)]


@pytest.mark.parametrize("policy", DROPS)
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_of_json_in_json_the_innermost_value_goes(policy: object, separators: tuple[str, str]) -> None:
    inner = json.dumps({"m": MAIL, "z": "kept"}, separators=separators)
    text = json.dumps({"outer": json.dumps({"inner": inner}, separators=separators)}, separators=separators)
    outer = read(redactor(policy).text(text))
    assert json.loads(json.loads(outer["outer"])["inner"]) == {"m": None, "z": "kept"}


@pytest.mark.parametrize("policy", DROPS)
def test_of_a_page_the_values_of_its_json_go_and_the_page_only_for_its_text(policy: object) -> None:
    page = '<p>{}</p><script type="application/ld+json">{}</script><b>x</b>'
    linked = json.dumps({"@type": "Person", "email": MAIL})
    result = redactor(policy).text(page.format("a", linked))
    assert result.text == page.format("a", linked.replace(f'"{MAIL}"', "null"))
    for whole in (page.format(MAIL, linked), f"to {MAIL}", json.dumps({MAIL: 1}), json.dumps([{"a": MAIL, f"to {MAIL}": 1}])):
        assert redactor(policy).text(whole).dropped == "policy"


def test_lines_of_json_lose_their_values_one_by_one() -> None:
    text = "".join(json.dumps({"i": i, "m": MAIL if i % 2 else "none"}) + "\n" for i in range(6))
    lines = [json.loads(line) for line in redactor(DROPS[0]).text(text).text.splitlines()]
    assert lines == [{"i": i, "m": None if i % 2 else "none"} for i in range(6)]


def test_a_long_text_loses_all_of_them_however_many_pieces_it_has() -> None:
    text = json.dumps([{"i": i, "text": "lorem ipsum " * 50, "m": MAIL} for i in range(3000)])
    result = redactor(DROPS[0]).text(text)
    assert all(row["m"] is None for row in read(result))
    assert len(result.findings) == 3000


@pytest.mark.parametrize("kind", ["client-secret", "secret", "*"])
def test_a_value_that_only_its_name_gives_away_takes_its_field_with_it(kind: str) -> None:
    work = ItemRedactor(redactor({"kinds": {kind: "drop"}}))
    assert work.item({"apiSecret": NAMED, "in": {"apiSecret": f" {NAMED} ", "a": 1}, "b": 2}) == {"in": {"a": 1}, "b": 2}
    assert work.actions == {"drop": 2}


@pytest.mark.parametrize("value", [f"'{NAMED}'", f'"{NAMED}"', f" '{NAMED}' ", f"{NAMED}\\", f"{NAMED}&quot;"])
def test_quotes_around_such_a_value_hide_it_in_no_field(value: str) -> None:
    for action, wanted in (("drop", {}), ("replace", {"apiSecret": value.replace(NAMED, "~redacted-client-secret~")})):
        assert ItemRedactor(redactor({"kinds": {"secret": action}})).item({"apiSecret": value}) == wanted


def test_compact_json_in_a_field_is_read_by_its_keys() -> None:
    strict = ItemRedactor(redactor("gdpr-strict"))
    answer = strict.item({"raw": '{"author":"Jane","m":"jo@x.example"}'})
    assert answer == {"raw": '{"author":"~redacted-name~","m":"~redacted-email~"}'}
