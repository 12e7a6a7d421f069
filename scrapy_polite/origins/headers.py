"""What a response's headers tell about who runs the servers: markers, configuration and product. Pure.

Values of headers that nobody has described hold ids of requests and of people: of those only the names are kept.
``server`` tells nothing here: edges replace it, and everybody has it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Told", "told_by"]

#: Names read at most of one response, and markers that one may tell: whatever a server sends.
MOST_NAMES: Final = 128
MOST_MARKERS: Final = 12
LONGEST_MARKER: Final = 64

#: How much a look says: a security header that somebody has set is one, a name that no list knows is three. (A bare
#: Apache with PHP says nothing, and is alike everywhere.)
TELLS_BY_SETTING: Final = 1
TELLS_BY_MARKER: Final = 3

_UNPRINTABLE: Final = re.compile(r"[^!-~]")
_RUNS: Final = re.compile(r"(?=[a-f]*[0-9])[0-9a-f]{4,}|[0-9]+")
_VERSION: Final = re.compile(r"[\s/(;,\[-]+v?[0-9].*|[/(;,\[].*", re.DOTALL)

_KINDS: Final = {
    "configuration": "referrer-policy strict-transport-security x-content-type-options x-frame-options x-xss-protection",
    "value": "x-generator x-powered-by",
    "software": "x-aspnet-version x-aspnetmvc-version x-drupal-cache x-litespeed-cache x-magento-tags "
    "x-nextjs-cache x-pingback",
    "edge": "cf-cache-status cf-ray x-amz-cf-id x-amz-cf-pop x-cache x-cache-hits x-served-by x-timer",
    "volatile": "accept-ranges access-control-allow-origin age alt-svc cache-control connection content-encoding "
    "content-language content-length content-security-policy content-type date etag expires keep-alive last-modified link "
    "location nel permissions-policy pragma report-to retry-after server server-timing set-cookie transfer-encoding vary via "
    "x-request-id x-robots-tag x-runtime",
}
_KIND_OF: Final = {name: kind for kind, names in _KINDS.items() for name in names.split()}
_COOKIES: Final = frozenset(
    ("phpsessid", "jsessionid", "sessionid", "laravel_session", "xsrf-token", "csrftoken", "connect.sid", "awsalb", "__cf_bm")
)
_PRODUCTS: Final = frozenset(("asp.net", "express", "next.js", "php", "servlet"))


class Told(NamedTuple):
    """`markers` are names that no list of software, hosters or edges has. `configuration` and `product` are hashes, in
    hex, of what the owner has set and of what the software shows; `tells` is how much the two say together."""

    markers: tuple[str, ...]
    configuration: str
    product: str
    tells: int


def header_kind(name: str) -> str | None:
    return _KIND_OF.get(name)


def cookie_shape(name: str) -> str:
    return _RUNS.sub("#", name.strip().lower())


def value_shape(value: str) -> str:
    return _VERSION.sub("", value.strip().lower())


def is_software_cookie(name: str) -> bool:
    return cookie_shape(name) in _COOKIES


def is_software_value(value: str) -> bool:
    return value in _PRODUCTS


def told_by(headers: Mapping[str, Sequence[str]]) -> Told:
    """What these headers tell; names are lower-case, values in order."""
    markers: set[str] = set()
    settings: list[str] = []
    shows: list[str] = []
    for name in list(headers)[:MOST_NAMES]:
        kind = header_kind(name)
        if kind is None:
            shape = cookie_shape(name)
            markers.add(shape)
            shows.append(shape)
        elif kind == "configuration":
            settings.append(f"{name}={','.join(headers[name]).lower()}")
        elif kind == "value":
            for value in headers[name][:2]:
                product = value_shape(value[:LONGEST_MARKER])
                shows.append(f"{name}={product}")
                if product and not is_software_value(product):
                    markers.add(f"{name}={product}")
        elif kind in ("software", "hoster"):
            shows.append(name)
    for value in headers.get("set-cookie", ())[:MOST_NAMES]:
        cookie = value[: LONGEST_MARKER * 2].partition("=")[0]
        if not is_software_cookie(cookie):
            shape = cookie_shape(cookie)
            if shape.strip("#-_."):
                markers.add(f"cookie:{shape}")
    settings.sort()
    shows.sort()
    return Told(
        tuple(sorted(_UNPRINTABLE.sub("?", marker)[:LONGEST_MARKER] for marker in markers)[:MOST_MARKERS]),
        f"{crc32('|'.join(settings).encode()):08x}",
        f"{crc32('|'.join(shows).encode()):08x}",
        TELLS_BY_SETTING * len(settings) + TELLS_BY_MARKER * len(markers),
    )
