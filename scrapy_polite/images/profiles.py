"""Colour profiles, judged before they are applied. Pure.

A profile may say its conversion as a list of elements (type `mpet`), of any number, and each of them the same bytes: littleCMS
took 13 s for 30 000 times one matrix, which are a few kilobytes in a PNG.

Source: ICC.1:2022 sections 7.3 (the table of tags) and 10.16 (multiProcessElementsType).
"""

from __future__ import annotations

_MOST_TAGS = 1000
"""Profiles have 10 to 30. One of more than 100 littleCMS does not read."""
_MOST_ELEMENTS = 8
"""Curves, a matrix, a table and curves again are four."""
_LONGEST_LISTED = 128 * 1024
"""Bytes of a profile with such lists, since curves in them may have a segment for each 28."""


def heavy(profile: bytes) -> bool:
    """Whether to apply this colour profile may take longer than to decode the picture."""
    tags = min(int.from_bytes(profile[128:132], "big"), _MOST_TAGS)
    for at in range(132, 132 + 12 * tags, 12):
        start = int.from_bytes(profile[at + 4 : at + 8], "big")
        if profile[start : start + 4] == b"mpet":
            elements = int.from_bytes(profile[start + 12 : start + 16], "big")
            if elements > _MOST_ELEMENTS or len(profile) > _LONGEST_LISTED:
                return True
    return False
