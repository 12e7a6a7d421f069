"""What kind of thing a URL is, and what a request for that kind costs a server."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DEFAULT_COSTS: dict[str, float] = {"search": 4, "page": 2, "image": 1, "robots": 1}
"""Default of POLITE_COSTS, in units. A search page makes the server's database work; an image is a file."""

IMAGE_SUFFIXES = (
    *("apng", "avif", "bmp", "gif", "heic", "heif", "ico", "jfif", "jpe"),
    *("jpeg", "jpg", "jxl", "png", "svg", "tif", "tiff", "webp"),
)
"""Ends of paths that are images: file extensions of the image/* registrations (IANA media types) that are met on the
web, with the usual short spellings."""

_PATH = re.compile(r"[a-z][a-z0-9+.-]*://[^/?#\\]*(?P<path>[^?#]*)", re.IGNORECASE)
_IMAGE = re.compile(rf"\.(?:{'|'.join(IMAGE_SUFFIXES)})\Z", re.IGNORECASE)


class Kinds:
    """Kind and cost of a URL, from POLITE_KINDS and POLITE_COSTS.

    Args:
        rules: (kind, regular expression) pairs; the first whose expression is found anywhere in the URL wins, and every
            rule wins over what the path says.
        costs: units by kind, over the defaults. A kind that is not in it costs what a page costs.

    Wrong rules and costs are `ValueError`s that name the setting, the value and the accepted form.
    """

    def __init__(self, rules: Iterable[tuple[str, str]] = (), costs: Mapping[str, float] | None = None) -> None:
        self._rules = [_compiled(rule) for rule in rules]
        self._costs = DEFAULT_COSTS | {kind: _checked_cost(kind, cost) for kind, cost in (costs or {}).items()}

    def of(self, url: str, otherwise: str = "page") -> str:
        """The kind of `url`: by the user's rules, else "robots" for /robots.txt, "image" by suffix, else as the caller says."""
        for kind, pattern in self._rules:
            if pattern.search(url):
                return kind
        match = _PATH.match(url)
        path = match["path"] if match else url
        if path == "/robots.txt":
            return "robots"
        return "image" if _IMAGE.search(path) else otherwise

    def cost(self, kind: str) -> float:
        """Units that a request of this kind costs; a kind without a cost of its own costs what a page costs."""
        return self._costs.get(kind, self._costs["page"])


def _wrong_rule(rule: object) -> str:
    return (
        f"POLITE_KINDS: {rule!r} is no rule. Give a list of pairs (kind, regular expression on the URL), "
        'e.g. [("search", r"/search\\?")]'
    )


def _compiled(rule: object) -> tuple[str, re.Pattern[str]]:
    if not isinstance(rule, tuple | list) or len(rule) != 2:
        raise ValueError(_wrong_rule(rule))
    kind, pattern = rule
    if not isinstance(kind, str) or not kind or not isinstance(pattern, str):
        raise ValueError(_wrong_rule(rule))
    try:
        return kind, re.compile(pattern)
    except re.error as error:
        raise ValueError(
            f"POLITE_KINDS: the expression {pattern!r} of the kind {kind!r} does not compile: {error}. "
            "Give a regular expression as Python's re module takes it"
        ) from error


def _checked_cost(kind: object, cost: object) -> float:
    number = isinstance(cost, int | float) and not isinstance(cost, bool)
    if not isinstance(kind, str) or not isinstance(cost, int | float) or not number or not 0 < cost < math.inf:
        raise ValueError(
            f'POLITE_COSTS: {kind!r}: {cost!r} is no cost. Give units by kind, numbers above 0, e.g. {{"search": 4, "page": 2}}'
        )
    return cost
