"""The name that a value stands behind, where a text has names: the nearest key, attribute, parameter or label."""

from __future__ import annotations

import re

from scrapy_polite.redaction.forms import QUOTE

__all__ = ["context"]

# Characters before a value that are looked at.
_SEES = 200

_NAME = re.compile(
    rf"""
    (?<![\\%]) (?<!%[0-9A-Fa-f])  # an escape's letter begins no name
    (?P<name>[A-Za-z_@$][\w.$@-]{{0,63}}) {QUOTE}? \s{{0,3}} (?:[=:]|%3[AaDd]) \s{{0,3}} (?P<open>{QUOTE})?
    """,
    re.VERBOSE,
)
# What ends the value of a name: of one in quotes the next quote, of a bare one anything that separates.
_ENDS_QUOTED = re.compile(rf"[<>{{}}\n]|{QUOTE}", re.VERBOSE)
_ENDS_BARE = re.compile(r"""[\s<>{}\[\](),;&"'`\\]|%2[67]""")


def context(text: str, start: int) -> str:
    """The name whose value text[start:] stands in: `telephone` for `{"telephone": "020 ..."}`, `data-phone="..."` by its
    attribute, `?phone=...`, `Phone: ...`, and `tel` for `tel:020...`; "" in free text.

    200 characters before the value are looked at, and no tag, object or line before its own.
    """
    before = text[max(0, start - _SEES) : start]
    found = ""
    for name in _NAME.finditer(before):
        ends = _ENDS_QUOTED if name["open"] else _ENDS_BARE
        if not ends.search(before, name.end()):
            found = name["name"]
    return found
