"""Digits that are none of ASCII, as East Asian pages and other scripts write them, read as those of ASCII: one for one."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["other_digits", "plain_digits"]

# Signs between and around the groups of a number that stand beside full-width digits: those of Unicode's compatibility
# decomposition (https://www.unicode.org/reports/tr15/), and two that are written for a hyphen.
_SIGNS: Final = dict(zip("\uff0b\uff08\uff09\uff0d\uff0e\u3000\u2212\u30fc", "+()-. --", strict=True))

# From there on there are ideographs only.
_LAST: Final = 0x20000


@cache
def other_digits() -> Mapping[str, str]:
    """Every decimal digit beyond ASCII, and which it is."""
    found = (chr(code) for code in range(0x80, _LAST))
    return {sign: str(unicodedata.decimal(sign)) for sign in found if unicodedata.category(sign) == "Nd"}


@cache
def _table() -> dict[int, str]:
    return str.maketrans({**other_digits(), **_SIGNS})


@cache
def _read_otherwise() -> re.Pattern[str]:
    # Beyond the first plane one range for all: `re` tries ranges there one by one.
    near = "".join(sign for sign in (*other_digits(), *_SIGNS) if sign < "\U00010000")
    return re.compile(f"[{near}\U00010000-{chr(_LAST - 1)}]+")


def plain_digits(text: str) -> str:
    """The text with ASCII's digits for all others, as long as before.

    Letters stay what they are: one beside a number is part of a word in a script without blanks, not of the number.
    """
    return _read_otherwise().sub(lambda run: run[0].translate(_table()), text)
