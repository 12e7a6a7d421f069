"""What response headers, cookies and PTR names are known to be somebody else's than a platform's: the stop lists of the judge.

A header that hundreds of unrelated sites show because they run the same software, rent from the same hoster or stand behind
the same edge says nothing about whose servers they share. ``data/software.json`` holds the names that published fingerprint
lists know (made by ``tools/make_software.py``), ``data/stop.json`` those that no such list has, kept by hand; both with
their sources.

Ask the functions at the end, or the sets: headers by their names in lower case, cookies by their *shape*
(:func:`cookie_shape`), products by theirs (:func:`value_shape`).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypedDict, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "CONFIGURATION_HEADERS",
    "EDGE_HEADERS",
    "GENERIC_POINTERS",
    "HOSTER_HEADERS",
    "SOFTWARE_COOKIES",
    "SOFTWARE_HEADERS",
    "SOFTWARE_VALUES",
    "VALUE_HEADERS",
    "VOLATILE_HEADERS",
    "HeaderKind",
    "cookie_shape",
    "header_kind",
    "is_generic_pointer",
    "is_software_cookie",
    "is_software_value",
    "value_shape",
]

HeaderKind = Literal["volatile", "configuration", "value", "edge", "hoster", "software"]

_RUNS: Final = re.compile(r"(?=[a-f]*[0-9])[0-9a-f]{4,}|[0-9]+")
_VERSION: Final = re.compile(r"\s*(?:[/(;,\[].*|(?:\s|[-_])v?[0-9].*)\Z", re.DOTALL)
_LEFT_OVER: Final = re.compile(r"(?:\sv\.?|[\s_.-])+\Z")
_LONGEST: Final = 200
"""No name is longer; what a server makes up beyond it costs nothing to read."""

# Names that end in what a site or a visitor has of his own: longer ones are known by their beginning.
_VOLATILE_BEGINNINGS: Final = (
    *("access-control-", "ratelimit", "sec-", "x-amz-meta-", "x-b3-", "x-goog-", "x-ms-", "x-rate-limit-", "x-ratelimit-"),
)
_COOKIE_BEGINNINGS: Final = (
    *(".aspnetcore.", "__host-next-auth.", "__secure-next-auth.", "__utm", "_ga_", "_gac_", "_gat_", "_hj", "_pk_"),
    *("_shopify_", "aspsessionid", "bigipserver", "cookielawinfo-", "incap_ses_", "joomla_", "nlbi_", "phpbb", "prestashop-"),
    *("sess#", "ssess#", "visid_incap_", "wordpress_", "wp-settings-", "wp_woocommerce_session_"),
)


def cookie_shape(name: str) -> str:
    """A cookie's name in lower case, with every run of digits, and of four or more hex digits with a decimal one among them,
    as ``#``: ``wp-settings-7`` and ``wp-settings-12`` are one name."""
    return _RUNS.sub("#", name[:_LONGEST].strip().lower())


def value_shape(value: str) -> str:
    """A product's name in lower case without its version and remarks: ``PHP/8.1.2`` is ``php``, ``Drupal 10 (https://...)``
    is ``drupal``. Of a list it is the first."""
    return _LEFT_OVER.sub("", _VERSION.sub("", value[:_LONGEST].strip().lower()))


class _Group(TypedDict):
    of: str
    whose: str
    names: list[str]


def _facts() -> Iterator[tuple[str, str, str]]:
    """(what it is a name of, whose it is, the name)."""
    data = Path(__file__).parent / "data"
    for of, name, whose, _ in cast("list[list[str]]", json.loads((data / "software.json").read_bytes())["rows"]):
        yield of, whose, name
    for group in cast("list[_Group]", json.loads((data / "stop.json").read_bytes())["groups"]):
        for name in group["names"]:
            yield group["of"], group["whose"], name


def _names() -> dict[tuple[str, str], set[str]]:
    names: dict[tuple[str, str], set[str]] = {}
    for of, whose, name in _facts():
        names.setdefault((of, whose), set()).add(name)
    return names


_NAMES: Final = _names()

CONFIGURATION_HEADERS: Final = frozenset(
    {"referrer-policy", "strict-transport-security", "x-content-type-options", "x-frame-options", "x-xss-protection"}
)
"""What a server's owner has set, and seldom per site: their values tell."""

VALUE_HEADERS: Final = frozenset({"x-generator", "x-powered-by"})
"""Headers that everybody has: not the name but the product in the value tells."""

# Every header is of one kind: the one that says least.
VOLATILE_HEADERS: Final = frozenset(_NAMES["header", "volatile"])
"""What HTTP, a cache or one request puts in: neither the name nor the value tells anything."""
_SPOKEN_FOR: Final = VOLATILE_HEADERS | CONFIGURATION_HEADERS | VALUE_HEADERS
EDGE_HEADERS: Final = frozenset(_NAMES["header", "edge"] - _SPOKEN_FOR)
"""What an edge adds, whoever stands behind it."""
HOSTER_HEADERS: Final = frozenset(_NAMES["header", "hoster"] - _SPOKEN_FOR - EDGE_HEADERS)
"""What a hoster adds to the pages of all its customers."""
SOFTWARE_HEADERS: Final = frozenset(_NAMES["header", "software"] - _SPOKEN_FOR - EDGE_HEADERS - HOSTER_HEADERS)
"""What software adds that anybody installs, or a service that anybody subscribes to."""
SOFTWARE_COOKIES: Final = frozenset(_NAMES["cookie", "software"])
"""Cookies of software and services, by their shape."""
SOFTWARE_VALUES: Final = frozenset(_NAMES["value", "software"])
"""Products that ``X-Powered-By`` and ``X-Generator`` name, by their shape."""
GENERIC_POINTERS: Final = frozenset(_NAMES["pointer", "hoster"])
"""Domains in which hosters name the addresses of customers who have set no PTR name of their own."""

_KINDS: Final[tuple[tuple[HeaderKind, frozenset[str]], ...]] = (
    ("volatile", VOLATILE_HEADERS),
    ("configuration", CONFIGURATION_HEADERS),
    ("value", VALUE_HEADERS),
    ("edge", EDGE_HEADERS),
    ("hoster", HOSTER_HEADERS),
    ("software", SOFTWARE_HEADERS),
)
_KIND_OF: Final = {name: kind for kind, names in _KINDS for name in names}


def header_kind(name: str) -> HeaderKind | None:
    """What a header's name is known as; None if no list knows it, so that it may be a platform's own."""
    lowered = name.strip().lower()
    known = _KIND_OF.get(lowered)
    return "volatile" if known is None and lowered.startswith(_VOLATILE_BEGINNINGS) else known


def is_software_cookie(name: str) -> bool:
    """Whether a cookie of this name is set by software or a service that anybody may use."""
    shape = cookie_shape(name)
    return shape in SOFTWARE_COOKIES or shape.startswith(_COOKIE_BEGINNINGS)


def is_software_value(value: str) -> bool:
    """Whether ``X-Powered-By`` or ``X-Generator`` names software that anybody may use, or nothing at all."""
    shape = value_shape(value)
    return not shape or shape in SOFTWARE_VALUES


def is_generic_pointer(name: str) -> bool:
    """Whether a PTR name, or its domain, lies in a domain in which a hoster names all its addresses."""
    rest = name.lower().rstrip(".")
    while "." in rest:
        if rest in GENERIC_POINTERS:
            return True
        rest = rest.partition(".")[2]
    return False
