"""The Base64 of pictures, fonts, sound and films in `data:` URLs: nobody's key is in there, though anything may look so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy_polite.redaction.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MEDIA", "end_of_media", "outside"]

# RFC 2397. A text in one (text/html, application/json) is searched as any other, and so is an SVG as text.
_HEAD = re.compile(r"data:(?:image|font|audio|video|application)\\{0,8}/[\w.+-]{1,60}(?:;[\w.=-]{1,60}){0,4};base64,", re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9+=]*(?:\\{0,8}/[A-Za-z0-9+=]*)*")
_SHORTEST = 64

MEDIA = Rule(
    "media",
    "any",
    "identifier",
    (
        *("data:image/", "data:font/", "data:audio/", "data:video/"),
        *("data:application/font", "data:application/x-font", "data:application/octet-stream", "data:application/vnd.ms-font"),
    ),
    "data:",
    "https://www.rfc-editor.org/rfc/rfc2397",
)


def end_of_media(text: str, at: int) -> int:
    """Where the Base64 of the data URL at `at` ends; `at` if it is none."""
    head = _HEAD.match(text, at)
    body = _BASE64.match(text, head.end()) if head else None
    return body.end() if body and len(body[0]) >= _SHORTEST else at


def outside(spans: Sequence[tuple[int, int]], media: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """What is left of these spans without those of media; all are in order, and none overlap."""
    left: list[tuple[int, int]] = []
    first = 0
    for start, end in spans:
        while first < len(media) and media[first][1] <= start:
            first += 1
        number = first
        while number < len(media) and media[number][0] < end:
            if start < media[number][0]:
                left.append((start, media[number][0]))
            start = media[number][1]
            number += 1
        if start < end:
            left.append((start, end))
    return left
