"""What a number that was put in makes of its neighbours: found at once, as a second pass over the whole text would find it."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
from made_up_keys import made_up_keys
from made_up_people import made_up_people
from made_up_policies import redactor

from scrapy_polite.redaction import PRESETS, Budget, Choice, Policy, Redactor
from scrapy_polite.redaction.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

OWN = {"kind": "grid", "exposure": "personal", "anchors": ["52,"], "shape": "52,[a-z]{8}", "source": ""}
UUID = "5fb7e5fd-d14f-4bdd-8f48-1949951c285d"


def rounding(places: int, **parts: object) -> dict[str, object]:
    return {"preset": "gdpr-strict", "kinds": {"coordinates": {"action": "round", "places": places}}, **parts}


@pytest.mark.parametrize(
    ("parts", "text", "redacted"),
    [
        # With fewer decimals it is in groups as a phone number is, and a device's address begins where it ends.
        (rounding(0, regions=["US", "GB"]), "/@+25.66326099 51.507351", "/@~redacted-phone~"),
        (rounding(2), "ll=-0.12775800:1A:2B:3C:4D:5E", "ll=-0.~redacted-mac-address~"),
        # The word that names a value comes so near that it counts.
        (rounding(2), f"DOB lat=51.5073511234567890 {'x' * 25} 1980-05-12", f"DOB lat=51.51 {'x' * 25} ~redacted-birth-date~"),
        (
            rounding(2),
            f"heroku lat=51.5073511234567890 {'x' * 20} {UUID}",
            f"heroku lat=51.51 {'x' * 20} ~redacted-heroku-key~",
        ),
        # The number is part of an anchor.
        (rounding(0, rules=[OWN]), "lat=51.9999,abcdefgh", "lat=~redacted-grid~"),
    ],
)
def test_what_comes_into_being_beside_a_rounded_number_goes_too(parts: Mapping[str, object], text: str, redacted: str) -> None:
    by = redactor(**parts)
    assert by.text(text).text == redacted
    assert not by.text(redacted).findings


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            Rule("far", "", "personal", ("route:",), r"route:[a-z]{60}/lat=[0-9.]{5}", right=r"(?![0-9.])"),
            f"route:{'x' * 60}/lat=51.50735",
        ),
        (
            Rule("far", "", "personal", (".grid",), r"\.grid", left="", back=r"lat=[0-9.]{5}/[a-z]{60}", before=80),
            f"lat=51.50735/{'x' * 60}.grid",
        ),
    ],
)
def test_the_anchor_of_a_value_may_be_far_from_the_number(rule: Rule, text: str) -> None:
    choices = (Choice("coordinates", "round", places=2), Choice("personal", "replace"))
    by = Redactor(Policy(choices, rules=(rule,)))
    assert by.text(text).text == "~redacted-far~"


def test_a_number_that_was_put_to_0_is_read_again_too() -> None:
    by = redactor(preset="gdpr-strict", kinds={"coordinates": "replace"})
    text = f'{{"heroku": [51.5073511234567890,-0.12775812345678], "{"x" * 10}": "{UUID}"}}'
    assert by.text(text).text == f'{{"heroku": [51.5073511234567890,-0.12775812345678], "{"x" * 10}": "{UUID}"}}'
    text = text.replace("[", '"position":[')
    assert by.text(text).text == f'{{"heroku": "position":[0,0], "{"x" * 10}": "~redacted-heroku-key~"}}'


def test_a_phone_number_in_a_row_of_numbers_is_found_when_the_next_one_is_gone() -> None:
    by = Redactor(PRESETS["gdpr-strict"])
    once = by.text("[1,+40.299019674, 4111111111111111]").text
    assert once == "[1,~redacted-phone~, 0]"
    assert by.text(once).text == once


# ---- at random: a second pass finds nothing, so the first one found all that its numbers made

POLICIES: tuple[dict[str, object], ...] = (
    {"preset": "gdpr-strict"},
    rounding(0, regions=["US", "GB"]),
    {"preset": "gdpr-strict", "kinds": {"coordinates": "replace", "personal": "mask"}},
    rounding(1, regions=["ZA", "DE"]),
    {"preset": "listing", "fields": {"page": {"coordinates": {"action": "round", "places": 2}, "phone": "mask"}}},
    rounding(5),
)
NAMES = ("lat=", "?ll=", "/@", "geo:", '"lat":', '"position":[', "latitude is ", "/lat/", "lat%3D", 'lat\\":', "[1,", '"card":')
WORDS = ("DOB ", "NHS ", "SSN:", "NI number ", "card ", "tel:", "version ", "api_key=", "Bearer ", "heroku ", "id=", " \u00b0N")
SIGNS = (
    " ",
    ",",
    "-",
    ".",
    "/",
    "\\n",
    "\\u0026",
    "%3D",
    "%20",
    "&amp;",
    "&quot;",
    "+",
    "~",
    '"',
    "]",
    ":",
    "=",
    "@",
    "\n",
    "\u00e9",
    "\0",
    "0",
)
PARTS = (
    "1980-05-12",
    "x.example",
    ".8.8.8",
    "4860:4860::8888",
    "219-09-1234",
    "20 7946 0958",
    "+44",
    "4111111111111111",
    ":1A:2B:3C:4D:5E",
    UUID,
)


def number(source: random.Random) -> str:
    digits = f"{source.randrange(200)}.{source.randrange(10**9):09}"[: source.randint(6, 14)]
    return source.choice(NAMES) + source.choice(("", "-", "+")) + digits


def texts(source: random.Random, count: int) -> list[str]:
    values = [value for seed in range(4) for made in (made_up_keys(seed), made_up_people(seed)) for value in made.values()]
    pieces: list[Callable[[], str]] = [
        *[lambda: number(source)] * 4,
        *[lambda: source.choice(SIGNS)] * 3,
        lambda: source.choice(WORDS),
        lambda: source.choice(PARTS),
        lambda: source.choice(values)[: source.randint(1, 60)],
        lambda: source.choice(values)[-source.randint(1, 60) :],
        lambda: "x" * source.randint(1, 60),
    ]
    return ["".join(source.choice(pieces)() for _ in range(source.randint(2, 14))) for _ in range(count)]


@pytest.mark.parametrize("parts", POLICIES)
def test_a_second_pass_finds_nothing_beside_numbers(parts: dict[str, object]) -> None:
    by = redactor(**parts)
    numbers = 0
    for text in texts(random.Random(7), 200):
        once = by.text(text, "page")
        numbers += any(finding.kind == "coordinates" for finding in once.findings)
        again = by.text(once.text, "page")
        assert (again.text, again.findings, again.dropped) == (once.text, (), None), text
    assert numbers > 30 or parts["preset"] == "listing"


# ---- texts that are nothing but codes


@pytest.mark.parametrize("first", [0x0410, 0x0627, 0x0B85, 0x4E00, 0xAC00])
def test_a_text_whose_letters_are_written_by_their_codes_costs_little(first: int) -> None:
    source = random.Random(first)
    words = ["".join(chr(first + source.randrange(40)) for _ in range(6)) for _ in range(2000)]
    said, addresses = " ".join(words), ["81.2.69.160", "2001:4860:4860::8888"]
    text = json.dumps([said, *addresses])
    # What it may cost for its length, without the base that a short text has.
    result = Redactor(PRESETS["gdpr-strict"]).within(Budget(base=20_000)).text(text)
    assert [finding.kind for finding in result.findings] == ["ip-address", "ip-address"]
    escaped = [address.replace(":", "\\u003a").replace(".", "\\u002e") for address in addresses]
    hidden = text.replace(addresses[0], escaped[0]).replace(addresses[1], escaped[1])
    assert Redactor(PRESETS["gdpr-strict"]).text(hidden).text == result.text
