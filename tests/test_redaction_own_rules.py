"""A user's own rules, rules that need a word nearby, and values that were found elsewhere."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_up_policies import KEY
from made_up_policies import redactor as policy_redactor

from scrapy_polite.redaction import PRESETS, Policy, Redactor
from scrapy_polite.redaction.rules import user_rules

BADGE = {"kind": "staff-badge", "anchors": "BDG-", "shape": r"BDG-[0-9]{6}"}
HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
NEARBY = {"kind": "acme-key", "words": "acme|maps_key", "shape": "[0-9a-f]{32}", "validator": "random"}


def redactor(*rows: object) -> Redactor:
    return Redactor(replace(PRESETS["secrets"], rules=user_rules(list(rows))))


def test_a_rule_of_ones_own_is_found_like_any_other() -> None:
    own = redactor(BADGE)
    assert own.text("a BDG-123456, BDG-1234567 b").text == "a ~redacted-staff-badge~, BDG-1234567 b"
    assert own.text("?b=BDG%2D123456&x").text == "?b=~redacted-staff-badge~&x"


@pytest.mark.parametrize(
    "text",
    [
        f"acme('{HEX}')",
        f'{{"acmeKey":"{HEX}"}}',
        f"ACME_TOKEN={HEX}",
        f'<meta name="maps-key" content="{HEX}">',
        f"mapsKey: `{HEX}`",
        f"{{&quot;Maps_Key&quot;:&quot;{HEX}&quot;}}",
        f"%22mapsKey%22%3A%22{HEX}%22",
        f'\\"acme\\":\\"{HEX}\\"',
    ],
)
def test_a_value_is_found_near_its_words_however_they_are_written(text: str) -> None:
    result = redactor(NEARBY).text(text)
    assert result.text == text.replace(HEX, "~redacted-acme-key~")
    assert [finding.confidence for finding in result.findings] == ["doubtful"]


@pytest.mark.parametrize(
    "text",
    [
        f"key: {HEX}",
        f"acme{' ' * 60}{HEX}",
        f"{HEX} acme",
        f"acme: {HEX}0",
        f"acme: {'0' * 32}",
        f"acme ~redacted-jwt~ {HEX}",
    ],
)
def test_without_its_words_right_before_it_a_value_is_left_alone(text: str) -> None:
    assert redactor(NEARBY).text(text).text == text


def test_all_values_within_reach_of_a_word_are_found() -> None:
    text = f"acme({{a:'{HEX}', b:'{HEX[::-1]}'}})"
    assert redactor({**NEARBY, "window": 80}).text(text).text.count("~redacted-acme-key~") == 2


def test_an_anchor_may_need_a_word_too() -> None:
    both = redactor({**BADGE, "words": "badge"})
    assert both.text("badge: BDG-123456").text == "badge: ~redacted-staff-badge~"
    assert both.text("x: BDG-123456").text == "x: BDG-123456"
    assert both.text("badge&#58; BDG&#45;123456").text == "badge&#58; ~redacted-staff-badge~"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("BDG-", "is a str"),
        ({"kind": "x"}, "no 'shape'"),
        ({**BADGE, "sape": "x"}, "'sape'"),
        ({**BADGE, "shape": 5}, "'shape' is 5"),
        ({**BADGE, "anchors": 5}, "'anchors' is 5"),
        ({**BADGE, "anchors": []}, "values begin with `anchors`, or stand behind `words`"),
        ({**BADGE, "anchors": "XDG-"}, "never found"),
        ({**BADGE, "exposure": "public"}, "'public'"),
        ({**BADGE, "validator": "luhn"}, "'luhn'"),
        ({**BADGE, "window": 5000}, "'window'"),
        ({**BADGE, "words": "a"}, "three characters"),
        ({**BADGE, "kind": "Badge"}, "small letters"),
        ({**BADGE, "kind": "phone"}, "taken: give it another name"),
        ({**BADGE, "kind": "secret"}, "taken"),
        ({**BADGE, "shape": "BDG-[0-9]+"}, "no upper bound: write {1,40} for +"),
        ({**BADGE, "shape": "BDG-(?:[0-9]{1,9}){1,9}"}, "inside a repetition"),
        ({**BADGE, "shape": "BDG-(?:a|a?b){1,30}c"}, "inside a repetition"),
        ({**BADGE, "shape": "BDG-(?:ab|ac){1,30}d"}, "begin alike"),
        ({**BADGE, "shape": r"BDG-\w{0,50}\w{0,50}\w{0,50}x"}, "ways"),
        ({**BADGE, "shape": "BDG-[0-9]{6000}"}, "4096"),
        ({**BADGE, "shape": "BDG-.{6}"}, "hold a page together"),
        ({**BADGE, "shape": r"BDG-\S{6}"}, "hold a page together"),
        ({**BADGE, "shape": r"BDG-([0-9])\1"}, "not understood"),
        ({**BADGE, "shape": "BDG-(?=.{1,9}x)[0-9]{6}"}, "ahead"),
        ({**BADGE, "right": "(?!x{1,9})"}, "single characters"),
        ({**BADGE, "shape": "BDG-[0-9"}, "its shape is no regular expression (unterminated character set at position 4)"),
        ({**BADGE, "right": "(?![0-9)"}, "its right is no regular expression"),
        ({"kind": "short", "words": "acme", "shape": "[0-9]{2}"}, "shorter than 4"),
    ],
)
def test_a_rule_that_could_do_harm_is_refused_with_its_row_and_the_reason(row: object, reason: str) -> None:
    with pytest.raises(ValueError, match=r"row 1 of 'rules'") as refusal:
        user_rules([NEARBY, row])
    assert reason in str(refusal.value)


@pytest.mark.parametrize("rows", [BADGE, "x", 5])
def test_rules_are_a_list(rows: object) -> None:
    with pytest.raises(ValueError, match="list of rows"):
        user_rules(rows)


OWN = {
    "redacted": {"anchors": "redacted", "shape": "redacted-[a-z]{4,30}"},
    "a word that is chosen": {"anchors": "removed", "shape": "removed-[a-z]{3,30}"},
    "a kind": {"anchors": ["email", "phone"], "shape": "(?:email|phone)[a-z0-9.-]{3,40}", "left": "", "right": ""},
    "a digest": {"anchors": [f"x{digit}" for digit in "0123456789abcdef"], "shape": "x[0-9a-f]{20,32}"},
    "its own kind": {"anchors": "staff-", "shape": "staff-[a-z]{4,30}"},
    "words": {"words": "redacted|email|phone", "shape": "[a-z0-9]{4,40}"},
    "the end of a mask": {"anchors": "mple", "shape": "[a-z]{4,30}", "left": ""},
}


@pytest.mark.parametrize("action", ["replace", "token", "hash", "mask", {"action": "replace", "text": "removed-now"}])
@pytest.mark.parametrize("own", OWN.values(), ids=OWN)
def test_no_rule_of_ones_own_finds_what_was_put_in(own: dict[str, object], action: object) -> None:
    rule = {"kind": "staff-badge", **own}
    acting = policy_redactor(preset="gdpr-strict", kinds={"personal": action}, rules=[rule], key=KEY)
    for text in ("to jo@x.example, 020 7946 0958.", "~redacted-text~ jo@x.example staff-abcde removed-one redacted-abcd"):
        once = acting.text(text)
        again = acting.text(once.text)
        assert (again.text, again.findings) == (once.text, ())
    assert "~redacted-email~" in policy_redactor(preset="gdpr-strict", rules=[rule]).text("jo@x.example").text


def test_what_only_looks_like_something_that_was_put_in_is_found() -> None:
    own = redactor({"kind": "staff-badge", "anchors": "redacted", "shape": "redacted-[a-z]{4,30}"})
    for text in ("redacted-abcde", "~redacted-abcde~", "~redacted-jwt-x~ redacted-jwtx"):
        assert "~redacted-staff-badge~" in own.text(text).text


def test_a_kind_that_is_taken_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'jwt'.*taken"):
        user_rules([{**BADGE, "kind": "jwt"}], taken=["jwt"])


def test_what_was_found_elsewhere_is_dealt_with_as_if_it_had_been_found_here() -> None:
    strict = Redactor(PRESETS["gdpr-strict"])
    assert strict.text("Jo", found=[("phone", 0, 2)]).text == "~redacted-phone~"
    assert strict.text("Jo at jo@x.example", found=[("phone", 0, 2)]).text == "~redacted-phone~ at ~redacted-email~"
    assert strict.text("a Jo@x.example", found=[("phone", 2, 4)]).text == "a ~redacted-email~"
    assert strict.text("J&#246;rg!", found=[("phone", 0, 3)]).text == "~redacted-phone~rg!"
    assert Redactor(Policy(())).text("Jo", found=[("phone", 0, 2)]).text == "Jo"
    for start, end in ((-1, 1), (0, 3), (1, 1), (2, 1)):
        with pytest.raises(ValueError, match="found has 'phone'"):
            strict.text("Jo", found=[("phone", start, end)])
