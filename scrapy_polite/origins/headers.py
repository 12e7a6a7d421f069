"""What a response's headers tell about who runs the servers: markers, configuration and product. Pure.

Values of headers that nobody has described hold ids of requests and of people: of those only the names are kept.
``server`` tells nothing here: edges replace it, and everybody has it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

from scrapy_polite.origins.known import cookie_shape, header_kind, is_software_cookie, is_software_value, value_shape

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


class Told(NamedTuple):
    """`markers` are names that no list of software, hosters or edges has. `configuration` and `product` are hashes, in
    hex, of what the owner has set and of what the software shows; `tells` is how much the two say together."""

    markers: tuple[str, ...]
    configuration: str
    product: str
    tells: int


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
