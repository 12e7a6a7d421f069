"""What is looked for of a person, beside mailboxes and phone numbers: all the forms of numbers, in one place."""

from __future__ import annotations

from scrapy_polite.redaction.addresses import ADDRESSES
from scrapy_polite.redaction.numbers import NUMBERS
from scrapy_polite.redaction.places import PLACES

__all__ = ["FORMS"]

FORMS = (*NUMBERS, *ADDRESSES, *PLACES)
