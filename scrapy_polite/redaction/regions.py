"""Whose phone numbers are known without the code of their country: the regions of a policy."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["REGIONS_FORM", "wrong_region"]

REGIONS_FORM: Final = "a list of codes of two capital letters (ISO 3166-1), as ['GB', 'IE']"

# What people write who mean another code: those that the EU writes for two countries
# (https://style-guide.europa.eu/en/content/-/isg/topic?identifier=7.1-countries), and the code of a language.
_MEANT: Final = {"UK": "GB", "EN": "GB", "EL": "GR"}


def wrong_region(region: object) -> str | None:
    """What is wrong with this code of a region, and which is meant; None if nothing.

    Codes are those that libphonenumber knows. Without the extra `[phone]` any two capital letters are one: no number is
    looked for then.
    """
    known = _known()
    if isinstance(region, str) and (region in known if known else re.fullmatch("[A-Z]{2}", region)):
        return None
    written = region.strip().upper() if isinstance(region, str) else ""
    meant = _MEANT.get(written, written)
    near = [meant] if meant in known else difflib.get_close_matches(written, sorted(known), cutoff=0.5)
    like = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"{region!r}, which is no region that libphonenumber knows{like}" if known else f"{region!r}, no two capital letters"


def _known() -> Collection[str]:
    try:
        import phonenumbers
    except ImportError:
        return ()
    return frozenset(phonenumbers.SUPPORTED_REGIONS)
