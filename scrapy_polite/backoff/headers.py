"""The headers of an answer, in whichever of the usual forms they come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

HeaderValue = str | bytes | Sequence[str] | Sequence[bytes]
Headers = Mapping[str, HeaderValue] | Mapping[bytes, HeaderValue]
"""Names in lower case (or a mapping that does not care), all text or all bytes; values one by one or as lists."""

SHOWN = 80
"""Characters of a header's value that are shown to people."""


def values(headers: Headers, name: str) -> list[str]:
    """The values of the header `name` (lower case), as text, without the blanks around them; [] if there is none."""
    mapping = cast("Mapping[object, object]", headers)
    found = mapping.get(name)
    if found is None:
        found = mapping.get(name.encode("ascii"))
        if found is None:  # As for nearly all that is asked for.
            return []
    lines = [found] if isinstance(found, str | bytes) else found if isinstance(found, Sequence) else []
    return [(line.decode("latin-1") if isinstance(line, bytes) else str(line)).strip(" \t") for line in lines]


def printable(value: str) -> str:
    """A header's value, fit for a line in a log."""
    return "".join(mark if mark.isprintable() else "?" for mark in value.strip(" \t")[:SHOWN])
