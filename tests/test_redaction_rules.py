from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_keys import ALPHANUMERIC, ANCHORED, CONTEXTUAL, made_up_keys, raw_samples, secret_part

from scrapy_polite.redaction import PRESETS, Redactor, policy_from
from scrapy_polite.redaction.checksums import github_checksum, github_token, jwt, mapbox_token
from scrapy_polite.redaction.policy import KINDS
from scrapy_polite.redaction.rules import RULES, Rule, check, regexes
from scrapy_polite.redaction.rules.checking import HOLD_A_PAGE_TOGETHER
from scrapy_polite.redaction.validators import Verdict, varied

SECRETS = Redactor(PRESETS["secrets"])
GOOD = next(rule for rule in RULES if rule.kind == "google-oauth-secret")


def _everything() -> Redactor:
    policy = policy_from({"kinds": {"identifier": "replace"}})
    assert policy is not None
    return Redactor(policy)


EVERYTHING = _everything()

# Told by words only, these go under the name of another where the words, or the shape, are that one's too.
_SHARED = {"aws-secret-key", "client-secret", "api-key", "access-token"}


@pytest.mark.parametrize("seed", range(5))
def test_every_kind_of_key_is_found_whole_and_named(seed: int) -> None:
    for kind, key in made_up_keys(seed).items():
        result = EVERYTHING.text(f"a {key} b")
        named = [finding.kind for finding in result.findings]
        assert named == [kind] or (kind in _SHARED and len(named) == 1)
        assert result.text == f"a {key}".replace(secret_part(key), f"~redacted-{named[0]}~") + " b", kind


def test_there_are_160_kinds_of_keys_and_more() -> None:
    assert len(ANCHORED) + len(CONTEXTUAL) >= 160
    assert len({rule.provider for rule in RULES}) >= 100


@pytest.mark.parametrize(("kinds", "least"), [(ANCHORED, 0.99), (CONTEXTUAL, 0.9)], ids=["anchored", "contextual"])
def test_no_validator_rejects_more_random_values_than_it_may(kinds: tuple[str, ...], least: float) -> None:
    for kind in kinds:
        samples = raw_samples(kind, 200)
        found = sum(value not in EVERYTHING.text(f"a {text} b").text for text, value in samples)
        assert found >= least * len(samples), (kind, found)


def test_identifiers_that_open_nothing_are_kept_unless_a_policy_says_otherwise() -> None:
    keys = made_up_keys()
    identifiers = [rule.kind for rule in RULES if rule.exposure == "identifier"]
    assert "google-tag-manager-id" in identifiers
    for kind in identifiers:
        for preset in ("secrets", "gdpr-strict", "listing"):
            assert not PRESETS[preset].wants(kind)
        assert SECRETS.text(f"a {keys[kind]} b").text == f"a {keys[kind]} b"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
def test_no_value_contains_what_holds_a_page_together(rule: Rule) -> None:
    if "@" not in rule.anchors:  # the letters of every alphabet, by an expression of its own
        held = regexes.alphabet(regexes.parse(rule.shape)) & HOLD_A_PAGE_TOGETHER
        allowed = set("\n\r \t\v\f") if rule.blanks else {"~"} if rule.kind == "azure-client-secret" else set()
        assert not held - allowed


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (replace(GOOD, kind="Google Key"), "small letters"),
        (replace(GOOD, anchors=()), "no anchor"),
        (replace(GOOD, anchors=("",)), "anchor"),
        (replace(GOOD, anchors=("a",)), "anchor"),
        (replace(GOOD, anchors=("schlüssel",)), "anchor"),
        (replace(GOOD, shape=r"GOCSPX-[\w-]+"), "upper bound"),
        (replace(GOOD, shape=r"GOCSPX-[\w-]{28,}"), "upper bound"),
        (replace(GOOD, shape=r"GOCSPX-(.*)"), "upper bound"),
        (replace(GOOD, shape=r"GOCSPX-(\w{28}"), "no regular expression"),
        (replace(GOOD, back=r"x\Z"), "need each other"),
        (replace(GOOD, source="somebody said so"), "no source"),
    ],
)
def test_a_rule_that_cannot_work_is_refused_by_name(row: object, problem: str) -> None:
    assert isinstance(row, type(GOOD))
    with pytest.raises(ValueError, match=problem) as refusal:
        check([row])
    assert repr(row.kind) in str(refusal.value)


def test_two_rules_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        check([GOOD, GOOD])


def test_bounded_quantifiers_and_literal_stars_are_accepted() -> None:
    check([replace(GOOD, shape=r"GOCSPX-[*+{]\*\+{2}a{1,3}b{,4}")])


def test_the_checksum_of_github_is_the_published_one() -> None:
    # The example of the announcement's readers: https://gist.github.com/coolaj86/ (a token that was never valid).
    assert github_checksum("zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ") == "0mLq17"


@settings(deadline=None)
@given(st.text(ALPHANUMERIC, min_size=30, max_size=30), st.integers(0, 35))
def test_a_damaged_token_is_doubtful_and_still_redacted(entropy: str, at: int) -> None:
    token = "ghp_" + entropy + github_checksum(entropy)
    assert github_token(token) is Verdict.CERTAIN
    damaged = token[: 4 + at] + ("a" if token[4 + at] != "a" else "b") + token[5 + at :]
    assert github_token(damaged) is Verdict.DOUBTFUL
    assert damaged not in SECRETS.text(f"token={damaged}").text


def test_a_token_is_certain_only_if_its_parts_decode() -> None:
    keys = made_up_keys()
    assert jwt(keys["jwt"]) is Verdict.CERTAIN
    assert jwt("eyJhbGciOi__________.eyJ.x") is Verdict.REJECT
    assert jwt("W10.e30.x") is Verdict.REJECT
    assert mapbox_token(keys["mapbox-public"]) is Verdict.CERTAIN
    assert mapbox_token("pk.eyJxxxxxxxxxxxxxxxxxxxxxx.aaaaaaaaaaaaaaaaaaaaaa") is Verdict.LIKELY


def test_a_header_nested_without_end_is_no_token_and_no_crash() -> None:
    assert jwt("W1tb" * 4000 + ".e30.x") is Verdict.REJECT


def test_fillers_are_no_keys() -> None:
    assert varied("AIza" + "a" * 35) is Verdict.REJECT
    assert varied("AIzaSy" + "X" * 33) is Verdict.REJECT


@pytest.mark.parametrize("value", ["secrets", "gdpr-strict", "listing"])
def test_a_preset_is_taken_by_its_name(value: str) -> None:
    assert policy_from(value) is PRESETS[value]


def test_nothing_means_off() -> None:
    assert policy_from(None) is None
    assert policy_from("") is None


def test_fields_come_before_kinds_and_kinds_before_the_preset() -> None:
    policy = policy_from(
        {
            "preset": "gdpr-strict",
            "kinds": {"google-*": "keep", "publishable": "drop"},
            "fields": {"agent.*": {"email": "keep"}, "map": "keep"},
            "regions": ["IE", "GB"],
        }
    )
    assert policy is not None
    assert policy.action("map", "stripe-secret") == "keep"
    assert policy.action("Agent.Mail", "email") == "keep"
    assert policy.action("agent.mail", "phone") == "replace"
    assert policy.action("page", "google-api-key") == "keep"
    assert policy.action("page", "mapbox-public") == "drop"
    assert policy.action("page", "email") == "replace"
    assert policy.regions == ("IE", "GB")


def test_what_is_kept_everywhere_is_not_looked_for() -> None:
    assert not PRESETS["secrets"].wants("email")
    assert not PRESETS["listing"].wants("email-role")
    assert PRESETS["listing"].wants("phone")
    assert all(PRESETS["gdpr-strict"].wants(kind) for kind, exposure in KINDS.items() if exposure != "identifier")


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("secret", "no preset 'secret'"),
        (True, "it is True"),
        (["secrets"], "list"),
        ({"presett": "secrets"}, "'presett'"),
        ({"preset": "strict"}, "'strict'"),
        ({"kinds": ["email"]}, "'kinds'"),
        ({"kinds": {"e-mail": "keep"}}, "'e-mail'"),
        ({"kinds": {"email": "hide"}}, "'hide'"),
        ({"fields": {"agent": "remove"}}, "'remove'"),
        ({"fields": {"agent": {"email": 1}}}, "action 1"),
        ({"regions": "GB"}, "'GB'"),
        ({"regions": []}, "regions"),
        ({"regions": ["gb"]}, "'gb'"),
    ],
)
def test_a_wrong_policy_is_named_with_what_is_accepted(value: object, names: str) -> None:
    with pytest.raises(ValueError, match="POLITE_REDACT") as refusal:
        policy_from(value)
    assert names in str(refusal.value)
    assert "; accepted is " in str(refusal.value)
