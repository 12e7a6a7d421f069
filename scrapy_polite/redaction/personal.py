"""What is looked for of a person, beside mailboxes and phone numbers: all the forms of numbers, in one place."""

from __future__ import annotations

from scrapy_polite.redaction.addresses import ADDRESSES
from scrapy_polite.redaction.numbers import NUMBERS
from scrapy_polite.redaction.places import PLACES

__all__ = ["FORMS", "REACH"]

FORMS = (*NUMBERS, *ADDRESSES, *PLACES)

# Characters on either side of a value in which another one can be that it hid: the longest one, with every gap an escape,
# and what a form sees before it.
REACH = 300
