"""Fields that are of a kind as a whole, told by their names."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_policies import POLICIES, redactor

from scrapy_polite.redaction import GONE, PRESETS, Gone, Redactor, kind_of
from scrapy_polite.redaction.fieldnames import FIELD_KINDS

if TYPE_CHECKING:
    from collections.abc import Mapping

_WHOLES = st.sampled_from(
    ["Jo Bloggs", "Bjørn", "1 High St, London", "1980-05-12", "51.507351", "51.5,-0.12", "GB82WEST", "-", " "]
)


@settings(deadline=None, max_examples=60)
@given(POLICIES, st.sampled_from(FIELD_KINDS), _WHOLES | st.text(max_size=8) | st.floats() | st.integers())
def test_a_whole_field_is_as_it_is_after_a_second_pass(parts: Mapping[str, object], kind: str, value: str | float) -> None:
    redactor_ = redactor(**parts)
    once = redactor_.whole(kind, value, "page")
    if isinstance(once, Gone):
        return
    assert isinstance(once, str) == isinstance(value, str)
    again = redactor_.whole(kind, once, "page")
    assert again == once or (again != again and once != once)
    if isinstance(once, str) and once != value:
        assert redactor_.text(once, "page").text == once


def test_numbers_stay_numbers_or_the_field_goes() -> None:
    strict = Redactor(PRESETS["gdpr-strict"])
    assert strict.whole("coordinates", 51.507351, "lat") == 51.507
    assert strict.whole("coordinates", "51.507351", "lat") == "51.507"
    assert strict.whole("coordinates", "51.507351, -0.127758", "lat_lng") == "51.507, -0.128"
    assert strict.whole("phone", 442079460958, "phone") is GONE
    assert strict.whole("uk-nhs", 9434765919, "nhs_number") is GONE
    assert strict.whole("uk-nhs", "943 476 5919", "nhs_number") == "~redacted-uk-nhs~"
    assert strict.whole("uk-nhs", "not known", "nhs_number") == "not known"
    assert strict.whole("phone", "020 7946 0958 (office)", "phone") == "020 7946 0958 (office)"
    assert strict.whole("name", "Jo Bloggs", "author") == "~redacted-name~"
    assert strict.whole("name", True, "author") is True
    assert Redactor(PRESETS["secrets"]).whole("name", "Jo Bloggs", "author") == "Jo Bloggs"
    assert redactor(kinds={"name": "drop"}).whole("name", "Jo Bloggs", "author") is GONE


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ("agent.name agents.0.fullName author author.name reviewer_name reviews.0.author first-name Surname posted_by", "name"),
        ("address streetAddress address1 address_line_2 author.address.street agent.homeAddress", "postal-address"),
        ("dob agent.dateOfBirth birth_date birthday", "birth-date"),
        ("geo.lat latitude lng map.longitude latLng coordinates", "coordinates"),
        ("phone agent.telephone mobileNumber fax", "phone"),
        ("card_number creditCard", "payment-card"),
        ("iban account.iban", "iban"),
        ("nhs_number nhsNo", "uk-nhs"),
        ("nino ni_number nationalInsuranceNumber", "uk-nino"),
        ("ssn social_security_number", "us-ssn"),
        ("name product.name title company_name agent.branchName fileName className hostname user_name agent x 1", None),
        ("ip_address emailAddress macAddress web_address authorId author_url posterImage category.name price hotel flat", None),
    ],
)
def test_a_field_is_what_its_name_says(fields: str, kind: str | None) -> None:
    assert {field: kind_of(field) for field in fields.split()} == dict.fromkeys(fields.split(), kind)


def test_the_name_of_a_field_may_be_anything() -> None:
    assert kind_of("") is None
    started = time.process_time()
    assert kind_of("a_name." * 50_000) == "name" or kind_of("a_name." * 50_000) is None
    assert time.process_time() - started < 1
