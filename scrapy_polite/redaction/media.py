"""The Base64 of pictures, fonts, sound and films in `data:` URLs: nobody's key is in there, though anything may look so."""

from __future__ import annotations

import re

from scrapy_polite.redaction.rules.rule import Rule

__all__ = ["MEDIA", "end_of_media"]

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
