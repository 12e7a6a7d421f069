"""Which fields hold a person's data as a whole, told by their names: what no rule can find in the text itself.

A name or an address looks like any other words, and a number in an item has no text at all. The field that holds it
says what it is: `agent.name`, `reviewAuthor`, `geo.latitude`.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["FIELD_KINDS", "kind_of"]

# Every kind that `kind_of` answers.
FIELD_KINDS = (
    "name", "postal-address", "birth-date", "coordinates", "phone", "payment-card", "iban", "uk-nhs", "uk-nino", "us-ssn",
)  # fmt: skip

_PUT_IN = re.compile(r"~[A-Za-z0-9_.-]{1,200}~")

# Where a field's name goes apart into words: at a change of case, and at what is no letter.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

# Fields that are a person, or hold one's parts. The names of schema.org (https://schema.org/Person, its properties in
# https://schema.org/Review, https://schema.org/CreativeWork) and those that sites use.
_PERSONS = (
    "agent", "applicant", "assignee", "attendee", "author", "borrower", "broker", "buyer", "candidate", "commenter",
    "contact", "contributor", "creator", "customer", "editor", "employee", "founder", "guest", "host", "instructor",
    "landlord", "lecturer", "manager", "member", "negotiator", "occupant", "owner", "participant", "patient", "person",
    "poster", "realtor", "recipient", "recruiter", "resident", "reviewer", "seller", "speaker", "student", "teacher",
    "tenant", "translator", "user", "vendor", "visitor", "writer",
)  # fmt: skip
# Those of them that are a name where they hold nothing but text: "author": "Jo Bloggs".
_NAMED_ALONE = (
    "author", "commenter", "contributor", "creator", "editor", "founder", "landlord", "lecturer", "negotiator", "realtor",
    "recruiter", "reviewer", "teacher", "tenant", "translator", "writer",
)  # fmt: skip

# The last words of a field's path, joined by "_", by kind: the first kind whose expression is at the end is the one.
_ENDS: tuple[tuple[str, str], ...] = (
    # Not a person's: the name of a file of theirs, of their firm, of what they are called in a table.
    ("", r"(?:user|screen|domain|host|file|class|company|firm|organi[sz]ation|branch|business|brand|shop|store)_name"),
    ("", r"(?:e_?mail|ip|mac|web|site|network|memory|bitcoin|wallet|return|remote|local|source|target)_address(?:es)?"),
    ("birth-date", r"birth_?dates?|dates?_of_birth|dob|birth_?days?|geburtsdatum|date_naissance"),
    (
        "name",
        (
            r"(?:full|first|last|middle|given|family|additional|maiden|christian|birth|real)_?names?|surnames?"
            r"|fore_?names?|person_?names?|contact_persons?|vorname|nachname"
            rf"|(?:{'|'.join(_PERSONS)})s?(?:_(?:full|first|last))?_names?"
            rf"|(?:{'|'.join(_NAMED_ALONE)})s?|(?:posted|written|reviewed|authored)_by"
        ),
    ),
    (
        "postal-address",
        (
            r"(?:street|postal|mailing|home|billing|shipping|delivery|residential|correspondence|full|formatted|display)"
            r"_address(?:es)?|addr|address(?:es)?|address_?(?:lines?|street)"
        ),
    ),
    ("coordinates", r"lat|lats|latitudes?|lng|lngs|lon|lons|longitudes?|lat_?l(?:ng|on)g?|coordinates|coords|geo_?point"),
    ("phone", r"(?:tele)?phones?(?:_?(?:numbers?|nos?))?|mobiles?(?:_?(?:numbers?|nos?|phones?))?|fax(?:_?numbers?)?|tel"),
    ("payment-card", r"(?:credit|debit|payment|bank)_?cards?(?:_?(?:numbers?|nos?))?|cards?_?(?:numbers?|nos?)"),
    ("iban", r"ibans?"),
    ("uk-nhs", r"nhs(?:_?(?:numbers?|nos?))?"),
    ("uk-nino", r"ninos?|ni_?numbers?|national_insurance(?:_?(?:numbers?|nos?))?"),
    ("us-ssn", r"ssns?|social_security(?:_?(?:numbers?|nos?))?"),
)
_KIND_AT_END = tuple((kind, re.compile(rf"(?:.*_)?(?:{words})\Z")) for kind, words in _ENDS)


@lru_cache(maxsize=4096)
def kind_of(field: str) -> str | None:
    """The personal kind that the whole value of a field is, by the last names of its dotted path; None if it is none.

    Capitals, digits, and how words are joined do not count: `agent.fullName`, `agents.0.full_name` and `Agent-Full-Name`
    are alike. Of a very long path only the end is read.
    """
    # A key that was found in a page and replaced (`~redacted-phone~`) names nothing.
    words = "_".join(_WORD.findall(_PUT_IN.sub("x", field[-200:]))).lower()
    return next((kind or None for kind, at_end in _KIND_AT_END if at_end.match(words)), None)
