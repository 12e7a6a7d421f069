"""Numbers of people and their accounts, however a page writes their digits and letters, and whatever stands before them."""

from __future__ import annotations

import base64
import random
import re
import subprocess
import sys
import time

import pytest
from made_up_people import WORDS, made_up_people
from made_up_policies import KEY, redactor

from scrapy_polite.redaction import PRESETS, Redactor

STRICT = Redactor(PRESETS["gdpr-strict"])
CARD = "4111111111111111"

ASCII = "0123456789"
OTHERS = {
    "full-width": "".join(chr(0xFF10 + digit) for digit in range(10)),
    "Arabic": "".join(chr(0x660 + digit) for digit in range(10)),
    "Devanagari": "".join(chr(0x966 + digit) for digit in range(10)),
    "mathematical": "".join(chr(0x1D7CE + digit) for digit in range(10)),
}
NUMBERS = ("phone", "payment-card", "iban", "uk-nino", "us-ssn", "uk-nhs", "birth-date", "ip-address")


def kinds(text: str) -> list[str]:
    return [finding.kind for finding in STRICT.text(text).findings]


# ---- digits that are none of ASCII


@pytest.mark.parametrize("digits", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("kind", NUMBERS)
def test_digits_of_another_script_are_read_as_digits(kind: str, digits: str) -> None:
    table = str.maketrans(ASCII, digits)
    for seed in range(5):
        value = made_up_people(seed)[kind].translate(table)
        text = f"a {WORDS.get(kind, '')}{value}, <b>{WORDS.get(kind, '')}{value}</b>"
        assert STRICT.text(text).text == text.replace(value, f"~redacted-{kind}~")


def test_the_signs_that_stand_between_full_width_digits_are_read_too() -> None:
    wide = str.maketrans(f"{ASCII}+-() ", f"{OTHERS['full-width']}＋－（）\u3000")
    for written in ("020-7946-0958", "+44 20 7946 0958", "(020)7946-0958", "0044 20 7946 0958"):
        assert STRICT.text(f"ＴＥＬ{written.translate(wide)}。").text == "ＴＥＬ~redacted-phone~。"
    assert STRICT.text("電話０２０ー７９４６ー０９５８").text == "電話~redacted-phone~"
    assert STRICT.text("4111 1111 1111 1111".translate(wide)).text == "~redacted-payment-card~"


def test_a_digit_of_another_script_hides_no_number_beside_it() -> None:
    assert STRICT.text(f"１{CARD} ２").text == "１~redacted-payment-card~ ２"
    assert STRICT.text("jo@x.example２ 020 7946 ０９５８").text == "~redacted-email~２ ~redacted-phone~"


@pytest.mark.parametrize("kind", NUMBERS)
def test_one_digit_of_another_script_anywhere_in_a_number_is_enough(kind: str) -> None:
    value = made_up_people(3)[kind]
    for at in (at for at, sign in enumerate(value) if sign.isdigit()):
        written = f"{value[:at]}{OTHERS['full-width'][int(value[at])]}{value[at + 1 :]}"
        far = " lorem ipsum" * 200
        text = f"１{far} {WORDS.get(kind, '')}{written},{far}１"
        assert STRICT.text(text).text == text.replace(written, f"~redacted-{kind}~"), written


def test_digits_of_another_script_cost_what_is_near_them() -> None:
    page = "".join(f"<p>Friday {number}: 'Vendredi', 'É'</p>" for number in range(4_000))

    def seconds(text: str) -> float:
        started = time.thread_time()
        STRICT.text(text)
        return time.thread_time() - started

    assert min(seconds(f"{page}１") for _ in range(5)) < 2 * min(seconds(page) for _ in range(5))


def test_equal_numbers_have_equal_tokens_and_masks_in_every_script() -> None:
    for kind in ("phone", "payment-card", "iban", "us-ssn", "ip-address"):
        value = made_up_people(2)[kind]
        written = [value, *(value.translate(str.maketrans(ASCII, digits)) for digits in OTHERS.values())]
        for action in ("token", "mask"):
            acting = redactor(preset="gdpr-strict", kinds={"personal": action}, key=KEY)
            assert len({acting.text(one).text for one in written}) == 1


def test_prices_and_years_in_other_scripts_stay() -> None:
    text = "価格：１２，８００円（２０２６年１１月３０日） السعر ١٢٨٠٠ मूल्य १२,८०० １２３－４５６７"
    assert STRICT.text(text).text == text


def test_many_digits_of_another_script_take_linear_time() -> None:
    for unit in ("１", "１ ", "٠٢٠ ", "０２０－", "４１１１ "):
        seconds = []
        for length in (25_000, 100_000):
            text = unit * (length // len(unit))
            started = time.thread_time()
            STRICT.text(text)
            seconds.append(time.thread_time() - started)
        assert seconds[1] < 12 * seconds[0] + 0.05, unit


def test_no_digits_are_looked_for_where_only_keys_are() -> None:
    program = (
        "from scrapy_polite.redaction import redact, digits; redact('x' * 99);"
        "assert not digits.other_digits.cache_info().currsize; redact('x' * 99, 'gdpr-strict');"
        "assert digits.other_digits.cache_info().currsize"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("stop", [".", "\\u002e", "\\u{2e}", "\\x2E", "%2E", "%252e", "&#46;", "&#x2e;", "&period;"])
def test_coordinates_are_rounded_however_they_are_written(stop: str) -> None:
    wide = str.maketrans(ASCII, OTHERS["full-width"])
    assert STRICT.text(f"lat=51{stop}507351&x").text == "lat=51.507&x"
    assert STRICT.text(f"?ll=51{stop}507351%2C-0{stop}127758&x").text == "?ll=51.507%2C-0.128&x"
    assert STRICT.text(f"lat=51{stop}507351, lng={'51.507351'.translate(wide)}").text == "lat=51.507, lng=51.507"
    years = redactor(preset="gdpr-strict", kinds={"birth-date": "round"})
    assert years.text("DOB: 12/03/1980 DOB: 12/03/1980".translate(wide)).text.count("~1980~") == 2


@pytest.mark.parametrize("sign", [" ", "-", "\u00a0"])
@pytest.mark.parametrize("form", ["\\u{0:04x}", "\\u{{{0:x}}}", "\\u{{{0:X}}}"])
def test_signs_between_digits_may_be_written_as_javascript_does(sign: str, form: str) -> None:
    escape = form.format(ord(sign))
    written = ["4111 1111 1111 1111", "020 7946 0958", "GB82 WEST 1234 5698 7654 32", "AB 12 34 56 C", "+44 20 7946 0958"]
    for value in (*written, *(["536 90 4399"] if sign == "-" else [])):
        text = f"a = '{value.replace(' ', escape)}';"
        assert re.fullmatch("a = '~redacted-[a-z-]+~';", STRICT.text(text).text), text
    assert STRICT.text(f"'{form.format(ord('+'))}44 20 7946 0958'").text == "'~redacted-phone~'"
    assert STRICT.text("'81.2.69.160'".replace(".", form.format(ord(".")))).text == "'~redacted-ip-address~'"


# ---- small letters


@pytest.mark.parametrize(
    "before", ["", "a ", "iban:", "?iban=", "%20", "%3a", "%3D", "\\n", "\\t", "&#32;", "&nbsp;", "end.", '"']
)
@pytest.mark.parametrize(
    "iban", ["gb82west12345698765432", "gb82 west 1234 5698 7654 32", "De89370400440532013000", "de89-3704-0044-0532-0130-00"]
)
def test_an_account_is_found_in_small_letters_as_in_capitals(before: str, iban: str) -> None:
    for written in (iban, iban.upper()):
        assert STRICT.text(f"{before}{written}. x").text == f"{before}~redacted-iban~. x"


def test_accounts_in_small_letters_and_in_capitals_have_one_token() -> None:
    tokens = redactor(kinds={"iban": "token"}, key=KEY)
    assert len({tokens.text(t).text for t in ("gb82west12345698765432", "GB82 WEST 1234 5698 7654 32")}) == 1


@pytest.mark.parametrize(
    "text",
    [
        "gb82west12345698765433",
        "xgb82west12345698765432",
        "gb82west12345698765432x",
        "1gb82west12345698765432",
        # Words, in groups of any length, of which one in 97 has the check digits.
        "gb82 we st1 2345 6987 65432",
        "gb82 west12345698765432",
        "gb82-west 1234-5698 7654-32",
    ],
)
def test_what_is_no_account_in_small_letters_stays(text: str) -> None:
    assert kinds(text) == []


def test_words_with_a_number_are_no_accounts() -> None:
    source = random.Random(5)
    words = [source.choice(["de", "es", "be", "at", "no", "it"]) + str(source.randrange(10, 99)) for _ in range(300)]
    for word in words:
        text = " ".join([word, *("".join(source.choices("abcdefgh", k=source.randint(2, 7))) for _ in range(12))])
        assert kinds(text) == []


# ---- what stands before a card's number


@pytest.mark.parametrize(
    "before",
    [
        "paid ",
        "paid: ",
        "Paid: ",
        "PREPAID#",
        '"unpaid":"',
        "valid=",
        "void: ",
        "said: ",
        "id 7: ",
        "id: 12345 ",
        "12 ",
        "1234 ",
        "order 12345, card ",
        "card_id: ",
        "cardId=",
        '"card_number":"',
        "card-",
        "/card/",
        "Visa-",
        "cc-",
    ],
)
def test_no_word_before_a_card_hides_it_but_the_name_of_something_else(before: str) -> None:
    assert STRICT.text(f"{before}{CARD} x").text == f"{before}~redacted-payment-card~ x"


@pytest.mark.parametrize("before", ["card no.", "99.", "7/", "12-", "4111-", "INV-", "id: "])
def test_a_card_in_groups_is_found_behind_anything(before: str) -> None:
    for written in ("4111 1111 1111 1111", "4111-1111-1111-1111"):
        assert STRICT.text(f"{before}{written} x").text == f"{before}~redacted-payment-card~ x"


@pytest.mark.parametrize(
    "before",
    ["pid: ", "uuid=", "userid:", "bid: ", "ca-pub-", "ORD-", "12-", "/", "0.", '"card","id":"', "card, ref: ", "discard-"],
)
def test_a_long_number_that_is_named_as_something_else_stays(before: str) -> None:
    assert kinds(f"{before}{CARD} x") == []


# ---- numbers in pictures


def picture(size: int) -> str:
    return base64.b64encode(random.Random(1).randbytes(size)).decode()


def test_numbers_are_not_looked_for_in_a_picture_but_right_beside_it() -> None:
    iban, card = "GB82WEST12345698765432", "4111111111111111"
    media = f"data:image/png;base64,{picture(90)}/{iban}/{picture(90)}/{card}/{picture(30)}"
    for between in ('"', " ", ")"):
        page = f"{iban}{between}{media}{between}{card}{between}{media}{between}{iban}"
        expected = page.replace(f"{iban}{between}", f"~redacted-iban~{between}", 1)
        expected = expected.replace(f"{between}{card}{between}", f"{between}~redacted-payment-card~{between}")
        assert STRICT.text(page).text == expected[: -len(iban)] + "~redacted-iban~"
