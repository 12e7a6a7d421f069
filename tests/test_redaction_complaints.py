"""What people complained of in scanners and redactors, each as a test. The numbers are rows of the list this project keeps."""

from __future__ import annotations

import base64
import json
import random
import re
import string
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

import pytest
from scrapy import Spider
from scrapy.utils.test import get_crawler

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.redacting.recall import everything
from benchmarks.redacting.values import groups, made
from scrapy_polite import pipelines
from scrapy_polite.pipelines import RedactionPipeline
from scrapy_polite.redaction import PRESETS, Redactor, policy_from
from scrapy_polite.redaction.rules import RULES

if TYPE_CHECKING:
    from scrapy_polite.redaction import Result

SECRETS = Redactor(PRESETS["secrets"])
STRICT = Redactor(PRESETS["gdpr-strict"])
ALL = Redactor(everything())
RANDOM = random.Random(8)


def made_up(kind: str) -> str:
    return made(kind, RANDOM).secret


def kinds(result: Result) -> list[str]:
    return [finding.kind for finding in result.findings]


def luhn(digits: str) -> str:
    """The digits and the one that makes their Luhn sum right (ISO/IEC 7812-1)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit) * (2 if place % 2 == 0 else 1)
        total += number - 9 if number > 9 else number
    return digits + str(-total % 10)


def card() -> str:
    return luhn("4" + "".join(RANDOM.choices(string.digits, k=14)))


def untouched(text: str) -> None:
    for by in (SECRETS, STRICT):
        result = by.text(text)
        assert result.text == text, kinds(result)


def test_1_two_values_in_a_query_string_are_found_and_the_rest_of_the_url_stays() -> None:
    # gitleaks PR 1954, PR 1942
    key, token = made_up("google-api-key"), made_up("jwt")
    for amp in ("&", "&amp;", "\\u0026"):
        result = SECRETS.text(f"https://x.example/v1/foo?key={key}{amp}token={token}")
        assert kinds(result) == ["google-api-key", "jwt"]
        assert result.text == f"https://x.example/v1/foo?key=~redacted-google-api-key~{amp}token=~redacted-jwt~"


def test_3_the_names_of_minified_code_are_no_keys_and_a_key_under_its_name_is_one() -> None:
    # gitleaks issue 1837, PR 2136
    untouched("e.unk_token,this.vocab=new Array(")
    key = "".join(RANDOM.choices(string.ascii_letters + string.digits, k=32))
    result = SECRETS.text(f'this.api_key="{key}",this.b=1')
    assert key not in result.text
    assert result.text.startswith('this.api_key="')
    assert result.text.endswith('",this.b=1')


def test_5_an_anchor_inside_a_longer_word_is_no_key() -> None:
    # The false positives that gitleaks lists beside its rule for Google's keys.
    key = made_up("google-api-key")
    for text in (f"QQQ{key}", "AIza" + "a" * 35, key.upper(), f"/9j/4AAQ{key}"):
        untouched(text)


@pytest.mark.parametrize("size", [("sha256", 32), ("sha384", 48), ("sha512", 64)])
def test_7_the_integrity_of_a_script_is_no_key(size: tuple[str, int]) -> None:
    # IBM/detect-secrets issue 146
    for _ in range(200):
        digest = base64.b64encode(RANDOM.randbytes(size[1])).decode()
        untouched(f'<script src="/a.js" integrity="{size[0]}-{digest}" crossorigin="anonymous"></script>')
        untouched(f'"integrity": "{size[0]}-{digest}",')


def test_9_a_long_name_with_a_number_is_no_key() -> None:
    # Yelp/detect-secrets issue 693
    for text in ("recallNoticesRecallBusinessUnits-validation-group-1297083594-1",):
        untouched(text)
        untouched(f'<div id="{text}" class="{text} is-open">')


def test_11_the_constants_of_elliptic_curves_are_no_keys() -> None:
    # zaproxy issue 6071; the prime and the order of secp256k1 (SEC 2, section 2.4.1) and of P-256 (FIPS 186-4, D.1.2.3).
    k1, p256 = 2**256 - 2**32 - 977, 2**256 - 2**224 + 2**192 + 2**96 - 1
    for number in (k1, p256, 2**255 - 19, 2**521 - 1, 2**192 - 2**64 - 1, 2**192 - 2**32 - 4553):
        for text in (f"{number:X}", f"{number:x}"):
            untouched(f'p256:{{p:"{text}",a:"{number - 3:X}"}}')
            untouched(f"new BigInteger('{text}',16)")


def test_13_a_variable_is_no_password_and_a_password_goes_alone() -> None:
    # trufflehog issue 894
    for variable in ("$BASH_VAR", "${PASSWORD}", "{{ password }}", "%PASSWORD%", "<password>"):
        assert SECRETS.text(f"https://user:{variable}@host.example/x").text == f"https://user:{variable}@host.example/x"
    result = SECRETS.text("clone https://user:pa55w0rd@host.example/x?y=1 now")
    assert "pa55w0rd" not in result.text
    url = urlsplit(result.text.split(" ")[1])
    assert (url.scheme, url.hostname, url.path, url.query) == ("https", "host.example", "/x", "y=1")
    assert url.password is not None
    assert url.password.startswith("~redacted-")


def test_15_a_key_of_maps_is_taken_out_though_it_is_there_for_all_to_see() -> None:
    # keyhacks.sh issue 3: such a key may open more than maps.
    key = made_up("google-api-key")
    for preset in PRESETS.values():
        assert key not in Redactor(preset).text(f"https://maps.example/js?key={key}&libraries=places").text


def test_17_words_and_hashes_are_no_driving_licences() -> None:
    # Presidio issue 1063, gram PR 3172
    for text in ("INTRODUCTORY", "H1", "publicly listed H1 A1", "licence: INTRODUCTORY OFFER", "a public H1, A1 and B2"):
        untouched(text)
    untouched("sha512-m2xYzLICmd0pQRSTuvLIC0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ012==")


def test_19_a_time_in_milliseconds_is_no_card() -> None:
    # tinycortex issue 154, pii-shield issue 209
    for _ in range(500):
        stamp = RANDOM.randint(1_262_304_000_000, 1_893_456_000_000)
        untouched(f'"at_millis": {stamp}')
        untouched(f"{stamp} card charged")
    untouched(f'"at_millis": {luhn("154813816070")}')


def test_21_a_run_inside_more_digits_is_no_card() -> None:
    # bettercap issue 220
    number = card()
    assert "payment-card" in kinds(STRICT.text(f"paid with {number} today"))
    for text in (f"0{number}", f"{number}0", f"1234567{number}7654321", f"0.{number}", f"{number}.52"):
        assert STRICT.text(f"<b>{text}</b>").text == f"<b>{text}</b>"


def test_23_an_address_in_the_path_of_a_url_is_one_and_the_url_stays_valid() -> None:
    # emailobfuscator issue 49
    url = "https://outlook.office.com/book/TestingBuchungsseite@anbieter.de/"
    assert SECRETS.text(url).text == url
    result = STRICT.text(f'<a href="{url}">x</a>')
    assert result.text == '<a href="https://outlook.office.com/book/~redacted-email~/">x</a>'
    kept = policy_from({"preset": "gdpr-strict", "fields": {"booking_url": {"email": "keep"}}})
    assert kept is not None
    assert Redactor(kept).text(url, "booking_url").text == url


def test_25_the_number_of_a_version_is_no_address() -> None:
    # zaproxy issue 1673, FACT issue 354
    for text in (
        '"packageVersion":"10.7.31.9"',
        "0.4.1",
        "Version 10.7.31.9",
        "v93.184.216.34",
        "Chrome/93.184.216.34 Safari",
        "1.3.6.1.4.1.311.21.20",
        'version="93.184.216.34"',
    ):
        untouched(text)
    # Made of numbers that no version has, it is one.
    assert "ip-address" in kinds(STRICT.text("from 93.184.216.34 at noon"))


def test_27_the_number_on_the_sample_card_is_nobodys() -> None:
    # Presidio PR 349; https://www.ssa.gov/history/ssn/misused.html
    for text in ("078-05-1120", "SSN: 078-05-1120", "ssn=078-05-1120", "my number is 219-09-9999 (SSN)"):
        untouched(text)
    assert "us-ssn" in kinds(STRICT.text("SSN: 536-22-8714"))


def test_29_json_in_json_is_json_at_every_depth() -> None:
    # lmnr PR 2357
    key = made_up("stripe-secret")
    value: object = {"key": key, "email": "jo@x.example", "text": f'a "{key}"\n\\ \u00e9', "price": 12.5, "none": None}
    depths = 5
    for _ in range(depths):
        value = {"state": json.dumps(value), "n": 1}
    text = json.dumps(value)
    for by in (SECRETS, STRICT):
        redacted = json.loads(by.text(text).text)
        for _ in range(depths):
            assert redacted["n"] == 1
            redacted = json.loads(redacted["state"])
        assert redacted["key"] == "~redacted-stripe-secret~"
        assert redacted["text"] == 'a "~redacted-stripe-secret~"\n\\ \u00e9'
        assert (redacted["price"], redacted["none"]) == (12.5, None)


@pytest.mark.parametrize(
    "repeated", ["a", "A", "0", "f", "_", "-", ".", "/", "+", "=", " ", "%", "\\", "&", "é", "you ", "a.b-", "1 "]
)
def test_31_eight_times_of_one_class_costs_no_more_than_about_eight_times(repeated: str) -> None:
    # DevSkim issue 789, reyn issue 1899, deepsec issue 30
    def cost(text: str) -> float:
        best = 1e9
        for _ in range(3):
            begun = time.process_time()
            STRICT.text(text)
            best = min(best, time.process_time() - begun)
        return best

    short = f"act as if {repeated * (12_500 // len(repeated))}"
    long = f"act as if {repeated * (100_000 // len(repeated))}"
    assert cost(long) < 20 * cost(short) + 0.05


def test_31_no_quantifier_is_without_bound() -> None:
    for rule in RULES:
        for part in (rule.shape, rule.back, rule.left, rule.unless):
            bare = re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", "_", part)
            assert not re.search(r"[*+]|\{\d*,\}", bare), rule.kind


_LONG_TEXT = """
import asyncio
from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy_polite.pipelines import RedactionPipeline

ticks = 0
seen = []

async def clock():
    global ticks
    while True:
        ticks += 1
        await asyncio.sleep(0.002)

class Noted:
    def process_item(self, item):
        seen.append(ticks)
        return item

class Before(Noted): pass
class After(Noted): pass

class One(Spider):
    name = "one"
    async def start(self):
        self.clock = asyncio.ensure_future(clock())
        yield {"text": "Call Jo Bloggs on 020 7946 0958 or write to jo@x.example about the flat in High Street. " * 20_000}

process = AsyncCrawlerProcess({
    "ITEM_PIPELINES": {Before: 699, RedactionPipeline: 700, After: 701}, "LOG_LEVEL": "ERROR", "POLITE_REDACT": "gdpr-strict",
})
crawler = process.create_crawler(One)
process.crawl(crawler)
process.start()
print(seen[1] - seen[0], crawler.stats.get_value("item_scraped_count"))
"""


def test_33_a_long_text_does_not_hold_the_requests_up() -> None:
    # Presidio issues 1461, 1094, 1584: minutes for 7 MB. How many MB a second: docs/benchmarks.md.
    answer = subprocess.run([sys.executable, "-c", _LONG_TEXT], capture_output=True, text=True, check=True, timeout=120)
    ticks, items = map(int, answer.stdout.split())
    assert items == 1
    assert ticks > 5


def test_35_what_is_a_token_already_is_left_alone() -> None:
    # BenchBox issue 1512
    policy = policy_from(
        {
            "preset": "gdpr-strict",
            "kinds": {"personal": "token", "secret": "hash", "publishable": "token", "transient": "mask"},
            "key": "0123456789abcdef0123456789abcdef",
            "key_id": "k1",
        }
    )
    assert policy is not None
    by = Redactor(policy)
    values = [made_up(kind) for kind in ("google-api-key", "stripe-secret", "jwt", "email", "phone")]
    text = " ; ".join([*values, "jo@x.example", "93.184.216.34"])
    once = by.text(text).text
    assert not any(value in once for value in values)
    again = by.text(once)
    assert again.text == once
    assert not again.findings
    # And the same values give the same tokens, so that they can be joined.
    assert by.text(text).text == once


@pytest.mark.parametrize("kind", [kind for of in groups().values() for kind in of])
def test_37_what_was_redacted_is_gone_when_it_is_looked_at_again_and_no_report_has_it(kind: str) -> None:
    # ferret-scan PR 84
    value = made(kind, RANDOM)
    text = f"https://x.example/a?{value.name}={value.text}&b=1"
    if not value.parameter:
        text += f" {value.name}: {value.text}"
    result = ALL.text(text)
    assert value.secret not in result.text
    assert value.secret not in repr(result.findings)
    again = ALL.text(result.text)
    assert (again.text, again.findings) == (result.text, ())


def test_37_the_stats_of_a_crawl_have_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "SECONDS", 1e6)  # It goes to no thread, also where the machine is slow.
    crawler = get_crawler(Spider, {"POLITE_REDACT": "gdpr-strict"})
    values = {kind: made_up(kind) for kind in ("google-api-key", "stripe-secret", "email", "phone")}
    item = RedactionPipeline.from_crawler(crawler).process_item({**values, "all": " ".join(values.values())})
    assert crawler.stats is not None
    told = repr(crawler.stats.get_stats()) + repr(item)
    assert not any(value in told for value in values.values())


def test_39_an_office_may_be_reached_where_a_person_may_not() -> None:
    # jobseek issue 2673: the recruiter's mailbox in the text of an advert.
    policy = policy_from({"preset": "gdpr-strict", "fields": {"apply.*": {"email": "keep", "email-role": "keep"}}})
    assert policy is not None
    by = Redactor(policy)
    text = "<p>Write to <a href='mailto:jo.bloggs@firm.example'>Jo</a></p>"
    assert by.text(text, "apply.email").text == text
    assert by.text(text, "description").text == text.replace("jo.bloggs@firm.example", "~redacted-email~")


def test_41_the_password_of_a_url_is_no_mailbox() -> None:
    # Seen in Presidio: pass@example.com, with a score of 1.0.
    result = STRICT.text("https://user:pass@example.com/x")
    assert not any("email" in kind for kind in kinds(result))
    assert "pass@" not in result.text
    assert urlsplit(result.text).hostname == "example.com"
    assert urlsplit(result.text).path == "/x"


def test_43_a_number_for_drama_is_one_if_it_can_be_dialled() -> None:
    # https://www.ofcom.org.uk: both are set aside for drama; the library of numbers takes only the first for valid.
    assert kinds(STRICT.text("Call 020 7946 0958 now")) == ["phone"]
    untouched("Call 07700 900123 now")


def test_the_parameters_of_a_url_are_the_same_after_every_kind_of_value() -> None:
    for of in groups().values():
        for kind in of:
            value = made(kind, RANDOM)
            if value.parameter or re.search(r"[^\w.~+-]", value.text):
                continue
            url = f"https://x.example/p?a=1&{value.name}={value.text}&z=2#top"
            result = ALL.text(url).text
            assert [name for name, _ in parse_qsl(urlsplit(result).query)] == ["a", value.name, "z"], kind
            assert result.endswith("&z=2#top")
