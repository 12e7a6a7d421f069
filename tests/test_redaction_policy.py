from __future__ import annotations

import ast
import hashlib
import hmac
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_keys import made_up_keys
from made_up_people import made_up_people
from made_up_policies import KEY, OTHER_KEY, POLICIES, redactor

from scrapy_polite.redaction import PRESETS, Choice, Policy, Redactor, policy_from
from scrapy_polite.redaction.contexts import context
from scrapy_polite.redaction.policy import KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping

# ---- random policies and texts: a second pass changes nothing, whatever the policy

_PEOPLE = st.integers(0, 50).flatmap(lambda seed: st.sampled_from(sorted(made_up_people(seed).values())))
_PIECES = st.one_of(
    _PEOPLE,
    st.integers(0, 20).flatmap(lambda seed: st.sampled_from(sorted(made_up_keys(seed).values()))),
    st.sampled_from(["NHS ", "nhs_number=", "SSN: ", "DOB ", "born on ", "lat=", '"lng":', "ll=", "/@", "card ", "NI number "]),
    st.sampled_from(["Phone: ", "version ", "id=", "tel:"]),
    st.sampled_from(["~redacted-email~", "~email.k1.x" + "0" * 20 + "~", "~~~~0958~", "~x~", "~"]),
    st.sampled_from(["-", ".", ",", " ", "/", ":", "=", "&", '"', "<b>", "\n", "%20", "\\n", "\\u0020", "&nbsp;", "+", "°N"]),
    st.sampled_from(["4111111111111111", "8.8.8.8", "2001:4860:4860::8888", "51.507351,-0.127758", "[1, 4111111111111111]"]),
    st.sampled_from(
        ["０２０－７９４６－０９５８", "４１１１", "１", "١٢٣", "gb82west12345698765432", "lat=51\\u{2e}507351", "\\u{2f}"]
    ),
    st.text("0123456789.- :~", max_size=6),
)
PAGE = (Path(__file__).resolve().parents[1] / "docs" / "personal-data.md").read_text()
_TEXTS = st.lists(_PIECES, max_size=10).map("".join)


@settings(deadline=None, max_examples=60)
@given(POLICIES, _TEXTS)
def test_a_second_pass_changes_nothing_whatever_the_policy(parts: Mapping[str, object], text: str) -> None:
    redactor_ = redactor(**parts)
    for field in ("page", "agent.phone", ""):
        once = redactor_.text(text, field)
        assert once.dropped is None
        again = redactor_.text(once.text, field)
        assert again.text == once.text
        assert not again.findings
        assert all(0 <= finding.start < finding.end <= len(text) for finding in once.findings)


# ---- what is put in


def test_equal_values_have_equal_tokens_however_they_are_written() -> None:
    tokens = redactor(preset="gdpr-strict", kinds={"personal": "token"}, key=KEY, key_id="2026")
    for spellings in (
        ["020 7946 0958", "+44 20 7946 0958", "+442079460958", "(020)&nbsp;7946&nbsp;0958", "020%207946%200958"],
        ["Mobile: 07700 900123", "Mobile: +44 7700 900123", "Mobile: (07700)&nbsp;900-123"],
        ["jo@X.example", "jo@x.EXAMPLE", "jo&#64;x.example", "jo%40x.example"],
        ["GB82 WEST 1234 5698 7654 32", "GB82WEST12345698765432", "GB82&nbsp;WEST&nbsp;1234&nbsp;5698&nbsp;7654&nbsp;32"],
        ["4111 1111 1111 1111", "4111-1111-1111-1111", "4111111111111111"],
        ["00:1A:2B:3C:4D:5E", "00-1a-2b-3c-4d-5e"],
        ["2001:4860:4860::8888", "2001:4860:4860:0:0:0:0:8888", "2001%3A4860%3A4860%3A%3A8888"],
        ["AB 12 34 56 C", "AB-12-34-56-C"],
    ):
        found = {tokens.text(f'"{spelled}"').text.strip('"').removeprefix("Mobile: ") for spelled in spellings}
        assert len(found) == 1, found
        assert re.fullmatch(r"~[a-z-]+\.2026\.x[0-9a-f]{20}~", found.pop())
    # Only the part after the @ is the same in small letters.
    assert tokens.text("Jo@x.example").text != tokens.text("jo@x.example").text


def test_tokens_differ_by_kind_key_key_id_and_group() -> None:
    def token(field: str = "", **parts: object) -> str:
        return redactor(**{"kinds": {"email": "token"}, "key": KEY, **parts}).text("jo@x.example", field).text

    group = {"reviews.*": {"email": {"action": "token", "group": "reviews"}}}
    assert token() == token(field="a.b") == token(field="agent.mail", fields=group)
    assert token() != token(key=OTHER_KEY)
    assert token(key_id="k2").replace("k2", "k1") == token()
    assert token(field="reviews.mail", fields=group) != token()


def test_the_token_is_an_hmac_that_others_can_compute() -> None:
    message = b"email\0\0jo@x.example"
    expected = hmac.new(KEY.encode(), message, hashlib.sha256).hexdigest()
    assert redactor(kinds={"email": "token"}, key=KEY).text("jo@x.example").text == f"~email.k1.x{expected[:20]}~"
    assert redactor(kinds={"email": "hash"}, key=KEY).text("jo@x.example").text == f"~x{expected[:32]}~"


def test_a_token_of_an_older_key_stays_when_the_key_is_another() -> None:
    old = redactor(kinds={"email": "token"}, fields={"author": {"name": "token"}}, key=OTHER_KEY, key_id="k1")
    new = redactor(kinds={"email": "token"}, fields={"author": {"name": "token"}}, key=KEY, key_id="k2")
    text = old.text("write to jo@x.example").text
    assert new.text(text).text == text
    name = old.whole("name", "Jo Bloggs", "author")
    assert new.whole("name", name, "author") == name


def test_masks_show_the_end_of_what_is_long() -> None:
    masks = redactor(kinds={"*": "mask"})
    assert masks.text("4111 1111 1111 1111").text == "~~~~~~~~~~~~~~1111~"
    assert masks.text("020 7946 0958").text == "~~~~~~~~0958~"
    assert masks.text("jo@x.example").text == "~~~~~~~mple~"
    assert masks.text("a@x.uk.").text == "~~~~~~."
    assert masks.text("DOB 1980-05-12").text == "DOB ~~~~~~~~~~"
    assert masks.text("from 81.2.69.160").text == "from ~81.2.x~"
    assert masks.text("from 2001:4860:4860::8888").text == "from ~2001.4860.x~"
    key = made_up_keys()["github-token"]
    assert masks.text(key).text == "~" * 19 + key[-4:] + "~"


def test_rounding_leaves_numbers_where_there_are_any() -> None:
    rounded = redactor(preset="gdpr-strict", kinds={"birth-date": "round", "email": "round"})
    assert rounded.text("?ll=51.507351,-0.127758&z=1").text == "?ll=51.507,-0.128&z=1"
    assert rounded.text('{"lat": 51.507351, "lng": -0.00012}').text == '{"lat": 51.507, "lng": -0.000}'
    assert rounded.text("born on 5 May 1980").text == "born on ~1980~"
    assert rounded.text("jo@x.example").text == "~redacted-email~"
    one = redactor(kinds={"coordinates": {"action": "round", "places": 1}})
    assert one.text("lat=51.557351").text == "lat=51.6"


def test_a_replacement_may_say_something_else() -> None:
    assert redactor(kinds={"email": {"action": "replace", "text": "removed"}}).text("a jo@x.example").text == "a ~removed~"


def test_what_was_rounded_is_read_again_with_what_stands_beside_it() -> None:
    # Without its last digits the word comes so near to the date that a second pass would take it for its own.
    text = f"DOB lat=51.5073511234567890 {'x' * 25} 1980-05-12"
    result = Redactor(PRESETS["gdpr-strict"]).text(text)
    assert result.text == f"DOB lat=51.507 {'x' * 25} ~redacted-birth-date~"
    assert [text[finding.start : finding.end] for finding in result.findings] == ["51.5073511234567890", "1980-05-12"]


# ---- choices


def test_choices_come_first_and_the_first_that_fits_counts() -> None:
    policy = policy_from(
        {
            "preset": "gdpr-strict",
            "choices": [
                {"fields": "page", "kinds": "phone", "context": "tel", "action": "keep"},
                {"fields": "page", "kinds": "phone", "context": "", "action": "mask"},
            ],
            "fields": {"page": {"phone": "drop"}},
        }
    )
    assert policy is not None
    page = Redactor(policy)
    assert page.text('<a href="tel:+442079460958">call</a>', "page").text == '<a href="tel:+442079460958">call</a>'
    assert page.text("<p>020 7946 0958</p>", "page").text == "<p>~~~~~~~~0958~</p>"
    assert page.text('<i data-phone="020 7946 0958">', "page").dropped == "policy"
    assert page.text("020 7946 0958", "other").text == "~redacted-phone~"


def test_the_policy_of_the_documentation_is_one() -> None:
    written = re.findall(r"POLITE_REDACT = (\{.*?\n\})", PAGE, re.DOTALL)
    policy, own = (policy_from(ast.literal_eval(one), {"REDACTION_KEY": KEY}) for one in written)
    assert policy is not None
    assert policy.action("page_html", "phone", "tel") == "keep"
    assert policy.choice("reviews.0.text", "email").group == "reviews"
    assert {kind for kind in KINDS if KINDS[kind] == "personal"} <= set(re.findall(r"`([a-z-]+)`", PAGE))
    assert own is not None
    text = '12345678, BDG-123456, {"clientNo": "12345678"}'
    assert Redactor(own).text(text).text == '12345678, ~~~~~~~56~, {"clientNo": "~redacted-client-number~"}'


def test_the_code_of_the_documentation_does_what_it_says() -> None:
    written = re.search(r"### In your own code\n\n```python\n(.*?)\n```", PAGE, re.DOTALL)
    assert written is not None
    names: dict[str, object] = {}
    exec(written[1], names)
    said = re.findall(r"^(re\w+\.?\w*\(.*\))  # (.+)$", written[1], re.MULTILINE)
    assert [eval(call, names) for call, _ in said] == [ast.literal_eval(answer) for _, answer in said]
    assert len(said) == 3


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"telephone": "V"}', "telephone"),
        ('{"a": {"telephone":"Call V"}}', "telephone"),
        ('{\\"telephone\\":\\"V\\"}', "telephone"),
        ("<i data-phone='V'>", "data-phone"),
        ("<i title=V>", "title"),
        ('<a href="tel:V">', "tel"),
        ("?phone=V&x=1", "phone"),
        ("?a=1&phone=V", "phone"),
        ("%3Fphone%3DV", "phone"),
        ("&quot;phone&quot;:&quot;V", "phone"),
        ("Phone: V", "Phone"),
        ("phone = 'V'", "phone"),
        ('<i data-phone="1">V</i>', ""),
        ('{"a": "x", "b": {"V', ""),
        ("call V", ""),
        ("Hours: nine to five, V", ""),
        ('"phone": "x" V', ""),
        ("phone:" + " " * 300 + "V", ""),
    ],
)
def test_the_name_that_a_value_stands_behind(text: str, name: str) -> None:
    assert context(text, text.index("V")) == name


def test_a_business_is_kept_and_who_wrote_about_it_is_not() -> None:
    listing = Redactor(PRESETS["listing"])
    text = "info@a.example jo@a.example 020 7946 0958"
    assert listing.text(text, "agent.phone").text == "info@a.example ~redacted-email~ 020 7946 0958"
    assert listing.text(text, "reviews.text").text == "info@a.example ~~~~~~~mple~ ~~~~~~~~0958~"
    assert listing.text(text, "author.phone").text == "info@a.example ~~~~~~~mple~ ~~~~~~~~0958~"
    assert listing.whole("postal-address", "1 High Street", "address") == "1 High Street"
    assert listing.whole("coordinates", 51.507351, "latitude") == 51.507351
    assert listing.whole("name", "Jo Bloggs", "reviewer_name") == "~J.B.~"
    assert listing.whole("name", "Jo Bloggs", "agent.full_name") == "~redacted-name~"


def test_overlapping_values_go_by_the_strictest_action() -> None:
    key = made_up_keys()["github-token"]
    policy = redactor(preset="gdpr-strict", kinds={"email": "mask", "github-token": "replace"})
    assert policy.text(f"<{key}@mail.example>").text in ("<~redacted-email~>", "<~redacted-github-token~>")


def test_a_policy_that_needs_a_key_says_so_and_none_is_made() -> None:
    for action in ("token", "hash"):
        with pytest.raises(ValueError, match=rf"POLITE_REDACT: the action '{action}' for 'email' needs 'key'") as refusal:
            policy_from({"kinds": {"email": action}})
        assert "secrets.token_hex" in str(refusal.value)
    with pytest.raises(ValueError, match="needs 'key'"):
        Policy((Choice("email", "token"),))


def test_the_key_may_be_in_the_environment() -> None:
    parts = {"kinds": {"email": "token"}, "key": "env:REDACTION_KEY"}
    policy = policy_from(parts, {"REDACTION_KEY": KEY})
    assert policy is not None
    assert policy == policy_from({**parts, "key": KEY})
    with pytest.raises(ValueError, match=r"'REDACTION_KEY'.*is not set: set it.*Make one once, with python"):
        policy_from(parts, {})


def test_no_message_quotes_the_key() -> None:
    for wrong in ({"key": "short-secret"}, {"key": KEY, "kinds": {"email": "hide"}}, {"key": KEY, "key_id": "no id"}):
        with pytest.raises(ValueError, match="POLITE_REDACT") as refusal:
            policy_from(wrong)
        assert "short-secret" not in str(refusal.value)
        assert KEY not in str(refusal.value)
    policy = policy_from({"key": KEY})
    assert KEY not in repr(policy)


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ({"choices": {"kinds": "email"}}, "'choices'"),
        ({"choices": [{"kinds": "email"}]}, "no dict with an 'action'"),
        ({"choices": [{"kind": "email", "action": "keep"}]}, "'kind'"),
        ({"choices": [{"kinds": "e-mail", "action": "keep"}]}, "'e-mail'; did you mean 'email' or 'email-role'?; accepted"),
        ({"choices": [{"kinds": ["email"], "action": "keep"}]}, "['email'] is no kind; a row of 'choices' has one"),
        ({"fields": {"a.*": {"email": "delete"}}}, "'delete' (for kinds 'email', in fields 'a.*'); accepted is one of"),
        ({"choices": [{"fields": 1, "action": "keep"}]}, "'fields' is 1"),
        ({"kinds": {"email": {"action": "replace", "with": "x"}}}, "no action"),
        ({"kinds": {"email": {"action": "replace", "text": "Not this"}}}, "'Not this'"),
        ({"kinds": {"coordinates": {"action": "round", "places": 9}}}, "'places' is 9"),
        ({"kinds": {"coordinates": {"action": "round", "places": True}}}, "'places' is True"),
        ({"kinds": {"email": {"action": "token", "group": 1}}}, "'group' is 1"),
        ({"key": 1}, "'key' is a int"),
        ({"key": "x" * 31}, "31 characters"),
        ({"key": KEY, "key_id": "2 a"}, "'2 a'"),
        ({"key_id": 1}, "'key_id' is 1"),
        ({"rules": "x"}, "rules"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_accepted(value: Mapping[str, object], names: str) -> None:
    with pytest.raises(ValueError, match="POLITE_REDACT") as refusal:
        policy_from(value)
    assert names in str(refusal.value)


@pytest.mark.parametrize(
    ("regions", "says"),
    [
        (["XX"], "'regions' has 'XX', which is no region that libphonenumber knows; did you mean"),
        (["GB", "UK"], "'UK', which is no region that libphonenumber knows; did you mean 'GB'?"),
        (["gb"], "'gb', which is no region that libphonenumber knows; did you mean 'GB'?"),
        (["DEU"], "did you mean 'DE'?"),
        (["EL"], "did you mean 'GR'?"),
        ([44], "'regions' has 44, which is no region that libphonenumber knows; accepted"),
        ([""], "'regions' has '', which"),
        ([["GB"]], "'regions' has ['GB'], which"),
        ("GB", "'regions' is 'GB'; accepted"),
        ([], "'regions' is a list; accepted"),
        (None, "'regions' is None; accepted"),
    ],
)
def test_a_region_that_is_none_is_refused_and_the_nearest_named(regions: object, says: str) -> None:
    with pytest.raises(ValueError, match="POLITE_REDACT: 'regions'") as refusal:
        policy_from({"regions": regions})
    assert says in str(refusal.value)
    assert str(refusal.value).endswith("accepted is a list of codes of two capital letters (ISO 3166-1), as ['GB', 'IE']")


def test_a_fingerprint_says_that_two_values_are_one_and_needs_a_key() -> None:
    keyed, other = redactor(key=KEY), redactor(key=OTHER_KEY)
    assert keyed.fingerprint("jo") == keyed.fingerprint("jo") != keyed.fingerprint("joe")
    assert keyed.fingerprint("jo") != other.fingerprint("jo")
    assert len(keyed.fingerprint("jo") or "") == 12
    assert Redactor(PRESETS["secrets"]).fingerprint("jo") is None


def test_a_users_own_rule_is_used_whatever_the_preset() -> None:
    rule = {"kind": "member-number", "exposure": "personal", "anchors": ["MEM-"], "shape": "MEM-[0-9]{8}", "source": ""}
    own = redactor(rules=[rule])
    assert own.text("a MEM-12345678 b").text == "a ~redacted-member-number~ b"
    assert redactor(rules=[rule], kinds={"member-*": "mask"}).text("MEM-12345678").text == "~~~~~~~5678~"
    assert redactor(rules=[rule], kinds={"member-number": "keep"}).text("MEM-12345678").text == "MEM-12345678"
