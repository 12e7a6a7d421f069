"""What got through when somebody tried, and does no longer."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from functools import cached_property

import pydantic
import pytest
from made_up_keys import made_up_keys
from made_up_policies import KEY as SECRET
from made_up_policies import redactor
from scrapy import Field, Item
from scrapy.settings import Settings

from scrapy_polite.itemredactor import ItemRedactor
from scrapy_polite.logs import LogFilter
from scrapy_polite.redaction import PRESETS, Choice, Policy, Redactor, policy_from
from scrapy_polite.redaction.encodings import Undecodable, redact_bytes
from scrapy_polite.redaction.pieces import BEHIND, PIECE, redacted_pieces
from scrapy_polite.redaction.policy import KINDS
from scrapy_polite.redaction.structured import StructuredRedactor
from scrapy_polite.settings import BY_NAME
from scrapy_polite.written import LONGEST, written

KEY = made_up_keys()["stripe-secret"]
GONE = "~redacted-stripe-secret~"
SECRETS = StructuredRedactor(Redactor(PRESETS["secrets"]))
STRICT = StructuredRedactor(Redactor(PRESETS["gdpr-strict"]))
MAIL = "jo@x.example"


def item(item: object, by: StructuredRedactor = STRICT) -> object:
    return ItemRedactor(by).item(item)


class Page(Item):
    mail = Field()


def test_an_item_that_is_logged_stays_as_it_was() -> None:
    page = Page(mail=MAIL)
    record = logging.LogRecord("x", logging.WARNING, __file__, 1, "Dropped %(item)s", ({"item": page},), None)
    LogFilter(written(PRESETS["secrets"]), STRICT).filter(record)
    assert MAIL not in record.getMessage()
    assert page["mail"] == MAIL


def test_what_a_long_message_is_cut_in_is_not_written_however_much_shorter_the_rest_became() -> None:
    state = "".join(f"Qx{number * 7919 % 99991:05d}Ab" for number in range(3_400))
    page, key = f'__VIEWSTATE" value="{state}" ', made_up_keys()["google-api-key"]
    for seen in (len(key) - 1, len(key) - 10):
        text = f"{page}{'.' * (LONGEST + BEHIND - seen - len(page) - 1)} {key} and more"
        assert key[:12] not in written(PRESETS["secrets"]).text(text)


def test_of_two_keys_that_become_the_same_none_is_lost_whichever_comes_first() -> None:
    gone = "~redacted-email~"
    assert item({"mails": {MAIL: 1, gone: 2}}) == {"mails": {gone: 1, f"{gone}.2": 2}}
    assert item({"mails": {gone: 2, MAIL: 1}}) == {"mails": {gone: 2, f"{gone}.2": 1}}


@pytest.mark.parametrize("by", [SECRETS, STRICT])
@pytest.mark.parametrize("around", ["%s", "%s\n", " %s", "\u00a0%s\t "])
def test_blanks_around_a_value_that_its_name_gives_away_hide_nothing(by: StructuredRedactor, around: str) -> None:
    value = around % "x9Kq7Lm2Np4Rt6Vw8Yz1Bc5D"
    assert item({"apiSecret": value}, by) == {"apiSecret": around % "~redacted-client-secret~"}
    found = by.named("apiSecret", value).findings
    assert [value[one.start : one.end] for one in found] == [value.strip()]


def test_bytes_in_two_encodings_have_no_value_in_either() -> None:
    wide, big, narrow = KEY.encode("utf-16-le"), KEY.encode("utf-16-be"), f" {KEY} ".encode()
    for data in (
        wide + big,
        f"{KEY} ".encode("utf-32-le") + wide,
        wide + narrow * 2,
        b"\xff\xfe" + narrow * 2,
        "page ".encode("utf-16") + narrow * 2,
    ):
        left = item({"body": data}).get("body", b"")  # type: ignore[attr-defined]
        assert KEY.encode() not in left.replace(b"\0", b"")
    with pytest.raises(Undecodable, match="goes on as something else"):
        redact_bytes("page ".encode("utf-16") + narrow * 2, lambda text: text.replace(KEY, "~"))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_json_as_python_writes_it_is_json(number: str) -> None:
    assert STRICT.text(f'{{"score": {number}, "author": "Jo Bloggs"}}').text == (
        f'{{"score": {number}, "author": "~redacted-name~"}}'
    )


def test_json_behind_a_byte_order_mark_is_json() -> None:
    text = '\ufeff{"author": "Jo Bloggs"}'
    assert STRICT.text(text).text == '\ufeff{"author": "~redacted-name~"}'
    for encoding in ("utf-8", "utf-16-be"):
        assert item({"body": text.encode(encoding)}) == {"body": '\ufeff{"author": "~redacted-name~"}'.encode(encoding)}


def test_half_a_pair_stays_an_escape() -> None:
    text = '{"contact": {"phone": "\u00e9 \\ud83d 020 7946 0958 \\ud83d\\ude00"}}'
    new = STRICT.text(text).text
    assert new.encode() == '{"contact": {"phone": "\u00e9 \\ud83d ~redacted-phone~ \U0001f600"}}'.encode()
    assert json.loads(new)["contact"]["phone"] == "\u00e9 \ud83d ~redacted-phone~ \U0001f600"


@pytest.mark.parametrize(
    "value",
    [
        "51,507351",
        "51\u00b030'26.41\"N",
        "N 51\u00b0 30.4412",
        "51&deg; 30.4412",
        "51 30 26.41",
        "51:30:26.41",
        f"51.507351 {MAIL}",
        "a house at 51.507351",
        "1.2.3.4567",
    ],
)
def test_coordinates_whose_decimals_are_no_degrees_are_replaced(value: str) -> None:
    assert item({"lat": value}) == {"lat": "~redacted-coordinates~"}


def test_coordinates_in_degrees_stay_numbers() -> None:
    for value, rounded in {
        "51.507351": "51.507",
        "51.507351,-0.127758": "51.507,-0.128",
        "51.507351\u00b0 N, 0.127758\u00b0 W": "51.507\u00b0 N, 0.128\u00b0 W",
        "POINT(-0.127758 51.507351)": "POINT(-0.128 51.507)",
        "lat:51.507351 lng:-0.127758": "lat:51.507 lng:-0.128",
        "51": "51",
        "51,-0": "51,-0",
    }.items():
        assert item({"coordinates": value}) == {"coordinates": rounded}


@pytest.mark.parametrize("name", ["\u00dfeta M\u00fcller", "\ufb01ona Smith", "Jo Bloggs", "\u0149 x"])
def test_initials_have_initials_of_their_own(name: str) -> None:
    masks = StructuredRedactor(redactor(kinds={"name": "mask"}))
    once = item({"author": name}, masks)
    assert item(dict(once), masks) == once  # type: ignore[call-overload]


def test_an_empty_key_is_none() -> None:
    with pytest.raises(ValueError, match="needs 'key'"):
        Policy((Choice("email", "hash"),), key=b"")
    assert Redactor(Policy((Choice("email", "replace"),), key=b"")).fingerprint(MAIL) is None


@pytest.mark.parametrize("setting", ["POLITE_REDACT", "POLITE_REDACT_LOGS"])
@pytest.mark.parametrize(
    "wrong",
    [
        f'{{"preset": "gdpr-strict", "key": "{SECRET}"',
        [{"key": SECRET}],
        ("gdpr-strict", SECRET),
        {"preset": {"key": SECRET}},
        {"choices": {"key": SECRET}},
        {"choices": [{"key": SECRET}]},
        {"kinds": [SECRET]},
        {"kinds": {"email": {"action": "token", "key": SECRET}}},
    ],
)
def test_no_message_quotes_a_key_that_stands_in_a_wrong_place(setting: str, wrong: object) -> None:
    with pytest.raises(ValueError, match=f"{setting}.*accepted") as refusal:
        BY_NAME[setting].value(Settings({setting: wrong}))
    assert SECRET not in str(refusal.value)


def test_the_word_of_a_policy_is_still_shown() -> None:
    for wrong, said in ({"preset": "gpdr"}, "'gpdr'"), ("gpdr", "'gpdr'"), ({"kinds": 3}, "'kinds' is 3"):
        with pytest.raises(ValueError, match=said):
            policy_from(wrong)


@pytest.mark.parametrize("sign", ["\\\\u{0:04x}", "\\\\u{0:04X}", "&amp;#x{0:x};", "&amp;#x{0:X};"])
def test_signs_of_an_anchor_that_were_escaped_twice_are_read(sign: str) -> None:
    for kind in ("azure-sas-signature", "aws-session-token", "stripe-secret", "google-refresh-token"):
        value = made_up_keys()[kind]
        page = "".join(c if c.isalnum() else sign.format(ord(c)) for c in value)
        assert SECRETS.text(f"a {page} b").text.endswith("~ b"), page


def test_a_key_that_was_replaced_says_nothing_of_its_value() -> None:
    for key, gone in ("020 7946 0958", "phone"), ("DE89370400440532013000", "iban"), ("4111 1111 1111 1111", "payment-card"):
        assert item({"calls": {key: 12}}) == {"calls": {f"~redacted-{gone}~": 12}}
        once = STRICT.text(json.dumps({key: ["word", 12]})).text
        assert STRICT.text(once).text == once == json.dumps({f"~redacted-{gone}~": ["word", 12]})
    assert item({"phone": {MAIL: 12}}) == {"phone": {"~redacted-email~": 12}}


def test_coordinates_in_a_parameter_are_rounded_with_their_comma_escaped() -> None:
    assert STRICT.text("?ll=51.507351%2C-0.127758").text == "?ll=51.507%2C-0.128"


@pytest.mark.parametrize("key_id", ["k1", "prod_2026-key-of-the-crawl-9f3a1c"])
def test_no_token_is_found_again_whatever_its_kind(key_id: str) -> None:
    for number, kind in enumerate(KINDS):
        token = f"~{kind}.{key_id[:32]}.x{number * 0x9E3779B97F4A7C15 % 2**80:020x}~"
        for text in (token, f"csrf {token}", f'password="{token}"', f'{{"session_id": "{token}"}}', f"a {token} viewstate b"):
            assert STRICT.text(text).text == text
    assert STRICT.text(f"~a.b.{KEY}~").text == f"~a.b.{GONE}~"


@pytest.mark.parametrize("action", ["replace", "mask", "token", "hash", "round"])
def test_a_number_stays_one_whatever_is_done_with_it(action: str) -> None:
    by = StructuredRedactor(redactor(kinds={"payment-card": action}, key=SECRET))
    assert by.text('{"used": 4111111111111111, "by": [4111111111111111]}').text == '{"used": 0, "by": [0]}'


@pytest.mark.parametrize("frozen", [True, False])
def test_what_an_item_has_computed_of_its_fields_is_computed_anew(frozen: bool) -> None:
    class Model(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(frozen=frozen)
        mail: str

        @pydantic.computed_field  # type: ignore[prop-decorator]
        @cached_property
        def link(self) -> str:
            return f"mailto:{self.mail}"

    @dataclass(frozen=frozen)
    class Data:
        mail: str

        @cached_property
        def link(self) -> str:
            return f"mailto:{self.mail}"

    for page in Model(mail=MAIL), Data(MAIL):
        assert page.link == f"mailto:{MAIL}"
        assert item({"page": page})["page"].link == "mailto:~redacted-email~"  # type: ignore[index]
        assert item(page).link == "mailto:~redacted-email~"  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", ["//os+2_3:ZCowm@n7", "ExpoPushToken[5IHrNmBdrlZNp43dVkz_Ad]"])
def test_no_piece_ends_between_a_value_and_what_it_must_stand_before(value: str) -> None:
    gone = SECRETS.text(value).text
    assert gone != value
    for before in range(0, 4_000, 500):
        text = "x" * (PIECE - before) + f" {value}" + "x" * 4_000 + " " + "y" * BEHIND
        pieces = [one.text for one in redacted_pieces(SECRETS.redactor, iter([text]))]
        assert len(pieces) > 1
        assert "".join(pieces) == text.replace(value, gone)


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("\n<!-- ", " -->\n"),
        ("//<![CDATA[\n", "\n//]]>"),
        ("/*<![CDATA[*/", "/*]]>*/"),
        ("<!--//--><![CDATA[//><!--\n", "\n//--><!]]>"),
        (" ", " ; "),
    ],
)
def test_json_of_a_script_is_read_in_what_it_is_wrapped_in(before: str, behind: str) -> None:
    for inside, gone in ('{"author": "Jo"}', '{"author": "~redacted-name~"}'), ('[{"a": [["b"]]}]', '[{"a": [["b"]]}]'):
        page = '<p>x</p><script type="application/ld+json">' + before + "%s" + behind + "</script>"
        assert STRICT.text(page % inside).text == page % gone


def test_json_in_json_is_read_four_levels_deep() -> None:
    text = json.dumps({"author": "Jo Bloggs"})
    for _ in range(4):
        text = json.dumps({"page": text})
    assert "Bloggs" not in STRICT.text(text).text


def test_numbers_of_any_length_are_rounded_or_go() -> None:
    digits = "1234567890" * 300
    assert STRICT.text(f'{{"lng": -0.{digits}, "phone": {digits}, "lat": 1e400}}').text == (
        '{"lng": -0.123, "phone": null, "lat": 1e400}'
    )


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u2007", "\u202f"])
def test_phone_numbers_are_found_with_every_hard_blank(blank: str) -> None:
    by = redactor(preset="gdpr-strict", kinds={"phone": "token"}, key=SECRET)
    for number in ("020 7946 0958", "+33 1 99 00 12 34"):
        text = f"a {number.replace(' ', blank)} b"
        assert by.text(text).text == by.text(f"a {number} b").text != text
