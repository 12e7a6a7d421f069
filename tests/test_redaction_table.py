"""The table of kinds: its rows, what proves a key, what only looks like one, and what is skipped."""

from __future__ import annotations

import base64
import json
import random
import string
import time
from dataclasses import replace
from urllib.parse import quote

import pytest
from made_up_keys import ANCHORED, KEY_RULES, made_up_keys, secret_part

from scrapy_polite.redaction import PRESETS, Choice, Policy, Redactor, checksums
from scrapy_polite.redaction.rules import RULES, Rule, check, regexes, words
from scrapy_polite.redaction.validators import Verdict

EVERYTHING = Redactor(Policy((Choice("identifier", "replace"), *PRESETS["secrets"].choices)))
HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"


@pytest.mark.parametrize("rule", KEY_RULES, ids=lambda rule: rule.kind)
def test_every_row_can_be_found_by_its_anchors(rule: Rule) -> None:
    shape = regexes.parse(rule.shape)
    assert regexes.width(shape)[1] is not None
    if rule.anchors:
        assert any(regexes.begins(shape, anchor) for anchor in rule.anchors) or "(?i:" in rule.shape
    else:
        assert words.readable(rule.words)


CHECKED = {
    "github-token": checksums.github_token,
    "npm-token": checksums.github_token,
    "atlassian-token": checksums.crc_in_hex,
    "bitbucket-app-password": checksums.crc_in_hex,
    "grafana-service-account": checksums.grafana_token,
    "pypi-token": checksums.pypi_token,
}


@pytest.mark.parametrize("kind", CHECKED)
def test_a_right_checksum_makes_a_key_certain_and_a_wrong_one_doubtful_and_both_go(kind: str) -> None:
    for seed in range(5):
        key = made_up_keys(seed)[kind]
        assert CHECKED[kind](key) is Verdict.CERTAIN
        at = 12
        damaged = key[:at] + ("a" if key[at] != "a" else "b") + key[at + 1 :]
        assert CHECKED[kind](damaged) is Verdict.DOUBTFUL
        for text, confidence in ((key, "certain"), (damaged, "doubtful")):
            (finding,) = EVERYTHING.text(f"a {text} b").findings
            assert (finding.kind, finding.confidence) == (kind, confidence)


def test_a_routable_token_of_gitlab_has_its_checksum_in_base_36() -> None:
    body = "glpat-" + base64.urlsafe_b64encode(random.Random(3).randbytes(16) + b"o:1\nu:2x\x07").decode().rstrip("=")
    body += ".01." + "0z"
    token = body + checksums.base36_checksum(body)
    assert checksums.gitlab_token(token) is Verdict.CERTAIN
    assert checksums.gitlab_token(token[:-1] + "_") is Verdict.DOUBTFUL
    assert checksums.gitlab_token("glpat-" + HEX[:20]) is Verdict.LIKELY


@pytest.mark.parametrize(
    "text",
    [
        # Words, files, hashes and numbers that begin like keys.
        "CONFIG-STATISTICS G-STATISTICS GTM-container UA-Compatible G-XXXXXXXXXX",
        "keyframeAnimation sk_buff pk_table test_integration_of_everything live_" + "a" * 30,
        "patterns path patient/pathological.html",
        "resend re_exchange_rate_table_lookup_value_now",
        f'integrity="sha384-{"oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K" * 2}"',
        f'<link href="/static/app.{HEX}.css"><img src="/i/{HEX}.png">',
        "algolia search, powered by algolia and docsearch, version 3.6.0",
        "AKIA" + "IOSFODNN7EXAMPLE",
        "api_key: your_api_key_goes_here, password: changeme, secret=xxxxxxxxxxxxxxxx1",
        "this.api_key=config.apiKeyNumber2.value;password=getPassword1(x)",
        "https://user:$BASH_VAR1@host.example/ https://user:%s@host.example",
        "//cdn.example.com:8080/npm/vue@3.2.1/dist.js logo@2x.png https://cdn.example/pkg@1.0/x",
        "Basic authentication, Bearer tokens, Basic 12345678",
        "-----BEGIN PRIVATE KEY-----\nyour key here\n-----END PRIVATE KEY-----",
        "6Labcdef-AAAAB-not-a-site-key-at-all-really-not",
        "exp=1700000000~acl=/*~hmac=not-hexadecimal",
        "hjid:1,hjsv:6 fbq('track','PageView') heap.loaded",
        '"csrf": "std-setting-CSRF_COOKIE_HTTPONLY", "using-csrf-in-jinja2-templates", "django-1-8-16-csrf-release-notes"',
        "session_id: convertPrintParameterToInches2, connect.sid=s:short.value",
        '<a href="#x.HTTPPasswordMgr">HTTPPasswordMgrWithPriorAuth</a>',
        "eyJpdiI6I is how a cookie of Laravel begins, wordpress_logged_in_hash=user|time|token",
        "session identifiers and csrf tokens are explained in chapter_1234567890_of_this_book"[:60],
    ],
)
def test_what_only_looks_like_a_key_is_left_alone(text: str) -> None:
    assert EVERYTHING.text(text).text == text


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("https://user:pa55w0rd@host.example/x", "https://user:~redacted-url-password~@host.example/x"),
        ('{"u":"https:\\/\\/user:pa55w0rd@host.example"}', '{"u":"https:\\/\\/user:~redacted-url-password~@host.example"}'),
        ("to=https%3A%2F%2Fuser%3Apa55w0rd%40host.example", "to=https%3A%2F%2Fuser%3A~redacted-url-password~%40host.example"),
        (f"https://{HEX}@o1.ingest.sentry.io/42", "https://~redacted-sentry-dsn~@o1.ingest.sentry.io/42"),
        (f"https://{HEX}:{HEX}@sentry.agency.example/7", "https://~redacted-sentry-dsn~@sentry.agency.example/7"),
        ('this.api_key="q7Rk29dLw0Zx4"', 'this.api_key="~redacted-api-key~"'),
        ("<password>q7Rk29dL</password>", "<password>~redacted-password~</password>"),
        ("/t?csrf=1&sessId=Qi2vv6iz8hmFFxyX-j59cqbzj&z=2", "/t?csrf=1&sessId=~redacted-csrf-token~&z=2"),
        ("init('client_secret', 'q7Rk29dLw0Zx4')", "init('client_secret', '~redacted-client-secret~')"),
    ],
)
def test_of_a_url_or_an_assignment_only_the_value_goes(text: str, redacted: str) -> None:
    assert EVERYTHING.text(text).text == redacted
    assert EVERYTHING.text(redacted).text == redacted


def _cookies() -> dict[str, tuple[str, str]]:
    """Name and value of cookies of sessions as servers write them."""
    rng = random.Random(4)

    def some(count: int, alphabet: str = string.ascii_letters + string.digits) -> str:
        return "".join(rng.choices(alphabet, k=count))

    sealed = {name: base64.b64encode(rng.randbytes(size)).decode() for name, size in (("iv", 16), ("value", 96), ("mac", 48))}
    laravel = base64.b64encode(json.dumps(sealed, separators=(",", ":")).encode()).decode()
    return {
        "express-session": ("connect.sid", f"s:{some(32)}.{some(20)}+{some(10)}/{some(11)}"),
        "laravel-session": ("laravel_session", laravel),
        "wordpress-session": (
            f"wordpress_logged_in_{some(32, '0123456789abcdef')}",
            f"ann|1790000000|{some(43)}|{some(64, '0123456789abcdef')}",
        ),
        "session-id": ("ci_session", some(40, "0123456789abcdef")),
    }


@pytest.mark.parametrize("kind", _cookies())
def test_the_cookie_of_a_session_is_found_as_it_is_and_escaped(kind: str) -> None:
    name, value = _cookies()[kind]
    for page in ("Cookie: {}={}; theme=dark", "Set-Cookie: {}={}; Path=/; HttpOnly", "<!-- {}: {} -->", '{{"{}": "{}"}}'):
        for written in (value, quote(value, safe="")):
            assert EVERYTHING.text(page.format(name, written)).text == page.format(name, f"~redacted-{kind}~")


def _picture(size: int) -> str:
    return base64.b64encode(random.Random(1).randbytes(size)).decode()


@pytest.mark.parametrize(
    "head", ["data:image/png;base64,", "data:font/woff2;charset=utf-8;base64,", "data:image\\/png;base64,"]
)
def test_the_base64_of_a_picture_is_skipped_and_what_follows_it_is_not(head: str) -> None:
    key = made_up_keys()["aws-access-key-id"]
    picture = f"{_picture(90)}/{key}/{_picture(90)}"
    page = f'<img src="{head}{picture}"> {key}'
    assert EVERYTHING.text(page).text == f'<img src="{head}{picture}"> ~redacted-aws-access-key-id~'


@pytest.mark.parametrize("head", ["data:text/html,", "data:application/json,", "data:image/svg+xml,", "data:image/png;base64,"])
def test_a_text_in_a_data_url_is_searched_and_so_is_what_is_no_picture(head: str) -> None:
    key = made_up_keys()["aws-access-key-id"]
    assert key not in EVERYTHING.text(f'<a href="{head}<b>{key}</b>">').text


def test_megabytes_of_pictures_cost_next_to_nothing() -> None:
    page = "".join(f'<img src="data:image/png;base64,{_picture(30_000)}">' for _ in range(25))
    started = time.process_time()
    assert EVERYTHING.text(page).findings == ()
    assert time.process_time() - started < 1  # some 5 ms


@pytest.mark.parametrize("kind", ["square-application-id", "gitlab-token", "jwt", "private-key", "csrf-token", "sentry-dsn"])
def test_anchors_in_a_row_stay_linear(kind: str) -> None:
    rule = next(rule for rule in RULES if rule.kind == kind)
    anchor = (rule.anchors or words.literals(rule.words))[0]

    def cost(size: int) -> float:
        text = anchor * (size // len(anchor))
        started = time.process_time()
        EVERYTHING.text(text)
        return time.process_time() - started

    assert cost(80_000) < 30 * cost(10_000) + 0.3


def test_a_key_glued_to_a_key_is_found_too() -> None:
    for kind in ANCHORED[::20]:
        key = made_up_keys()[kind]
        result = EVERYTHING.text(f"{key} {key}")
        assert result.text.count(secret_part(key)) == 0


def test_two_kinds_of_one_span_go_under_the_surer_name() -> None:
    key = made_up_keys()["google-api-key"]
    (finding,) = EVERYTHING.text(f"apiKey={key}&x").findings
    assert (finding.kind, finding.confidence) == ("google-api-key", "likely")


def test_a_rule_with_a_gap_has_words_and_no_group() -> None:
    given = next(rule for rule in RULES if rule.gap)
    for wrong in (replace(given, anchors=("abcd",)), replace(given, shape="(?P<value>[a-z]{8})")):
        with pytest.raises(ValueError, match="gap"):
            check([wrong])
