"""Which picture a URL shows, and how large: two URLs of an image service may show one picture in two sizes.

Only what is known to be a size, a way to fit it, a quality, a format or a signature is looked past. Whatever else a URL asks
for (a part of the picture, an overlay, a variant that has a name) makes another picture of it: to fetch that one as well costs
a request, and to take it for the same would lose it.

Of what a URL says about its source only its own house is believed: what a resizer shows of another host is its own picture, so
that no page can put what it likes in the place of somebody else's.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote

from scrapy_polite.naming.hosts import Target, parse
from scrapy_polite.naming.imageservices import service_of
from scrapy_polite.naming.imagesources import canonical_source

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Shown", "shown_by"]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a URL shows: `picture`, a text that URLs share which show the same; at most width x height pixels (infinite: no
    bound). `cut`: "" for all of the picture, else how much of it and which part."""

    picture: str
    width: float = math.inf
    height: float = math.inf
    cut: str = ""

    def covers(self, other: Shown) -> bool:
        """Whether all that the other shows is here, and no smaller."""
        if self.picture != other.picture or (self.cut and self.cut != other.cut):
            return False
        return self.width >= other.width and self.height >= other.height

    @property
    def rank(self) -> tuple[bool, float, float]:
        """Larger for more: all of a picture before a part, then by pixels."""
        return not self.cut, self.width, self.height


def shown_by(target: Target) -> Shown:
    """What the URL shows, as far as it tells. A URL of no service that is known shows itself, in full."""
    url = target.url.partition("#")[0]
    source = canonical_source(target)
    found = parse(source) if source is not None else None
    if source is None or not isinstance(found, Target):
        return Shown(f"\n{url}")
    service = service_of(target.host, target.path)
    theirs, ours = ((one.scheme, one.host, one.port) for one in (found, target))
    house = "" if theirs == ours and not _anybodys(target) else target.url.removesuffix(target.path)
    if service is not None:
        house = f"{service[0].provider}/{service[1]}"
    asked = _Asked()
    for option in _options(target, source, service[0].provider if service is not None else None):
        asked.take(option)
    return asked.shown(f"{house}\n{source}")


def _anybodys(target: Target) -> bool:
    """Whether a path looks like a resizer's that begins with a signature: on a host of many tenants (a store of buckets) it may
    be the name of one of them, who could then speak for the others."""
    return bool(_SIGNED.match(target.path[1:].partition("/")[0]))


class _Asked:
    """The options of one URL, read one by one."""

    def __init__(self) -> None:
        self._width = self._height = math.inf
        self._ratio = 1.0
        self._inside = False
        self._modes: list[str] = []
        self._others: list[str] = []

    def take(self, option: str) -> None:
        if sized := _size_of(option):
            self._width, self._height = min(self._width, sized[0]), min(self._height, sized[1])
        elif ratio := _RATIO.fullmatch(option):
            self._ratio = max(1.0, float(ratio[1]))
        elif _LOOKED_PAST.fullmatch(option):
            return
        elif option not in _PARTS and _MODE.fullmatch(option):
            self._modes.append(option)
        else:
            self._others.append(option)
            return
        self._inside = self._inside or bool(_INSIDE.match(option))

    def shown(self, source: str) -> Shown:
        picture = "\n".join([source, *sorted(self._others)])
        width, height = self._width * self._ratio, self._height * self._ratio
        cut = ""
        if math.isfinite(width) and math.isfinite(height) and not self._inside:
            # Of the ways to fit both sides most cut something off, or stretch.
            cut = f"{width / height:.2f} {' '.join(sorted(self._modes))}"
        return Shown(picture, width, height, cut)


# -- the parts of a URL that its source does not have

_RESIZER: Final = re.compile(
    r"/(?:cdn-cgi/(?:image|imagedelivery)|_next/image|_vercel/image|_image|\.netlify/images|_ipx|img|v7"
    r"|storage/v1/(?:render/image|object))(?=/|\Z)"
)
_SIGNED: Final = re.compile(r"(?:[\w-]{10,}=?|unsafe|insecure|_)\Z", re.ASCII)
_SIGNED_BY_S: Final = ("imgix", "prismic", "datocms", "gumlet")
_STRUCTURE: Final = frozenset({"", "-", "m", "plain"})
_SHOPIFY: Final = re.compile(
    r"_(?:(?P<name>pico|icon|thumb|small|compact|medium|large|grande|original|master)|(?P<box>[0-9]+x[0-9]*|x[0-9]+))"
    r"(?P<crop>_crop_[a-z]+)?(?:@(?P<ratio>[0-9])x)?(?:\.progressive)?(?=\.[A-Za-z0-9]+\Z)"
)
#: Pixels of the sizes that have names (of Shopify's filter img_url, which it has given up). What "original" is has changed.
_SHOPIFY_NAMES: Final = {
    name: side
    for side, name in (
        *((16, "pico"), (32, "icon"), (50, "thumb"), (100, "small")),
        *((160, "compact"), (240, "medium"), (480, "large"), (600, "grande")),
    )
}


def _options(target: Target, source: str, provider: str | None) -> Iterator[str]:
    path, _, query = target.path.partition("#")[0].partition("?")
    left = Counter(unquote(part) for part in source.split("/"))
    for place, escaped in enumerate(_RESIZER.sub("", path, count=1).split("/")[1:]):
        part = unquote(escaped)
        # imgproxy's `@png` behind a source asks for a format.
        known = part if part in left else part.rpartition("@")[0] or part
        if left[known] > 0:
            left[known] -= 1
        elif provider == "shopify" and (sized := _SHOPIFY.search(part)):
            yield from _shopify(sized)
        elif not (place == 0 and provider is None and _SIGNED.match(part)) and part != source:
            yield from _pieces(part)
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key in ("url", "href") and value and source.endswith(value.removeprefix("ssl:").lstrip("/")):
            continue
        if key == "s" and provider in _SIGNED_BY_S:
            continue
        if key == "tr":
            yield from _pieces(value)
        else:
            yield f"{key}={value}"


def _pieces(part: str) -> Iterator[str]:
    """The options of one part of a path: `w_300,h_200`, `tr:w-300:rt-90`, `filters:quality(80):format(webp)`, `rs:fit:3:2`."""
    for prefix in ("tr:", "filters:"):
        if part.startswith(prefix):
            yield from _pieces(part.removeprefix(prefix).replace(":", ","))
            return
    yield from (piece for piece in re.split(r"[,&]", part) if piece not in _STRUCTURE)


def _shopify(sized: re.Match[str]) -> Iterator[str]:
    if (side := _SHOPIFY_NAMES.get(sized["name"])) is not None:
        yield f"fit-in/{side}x{side}"
    elif sized["name"] == "original":
        yield sized["name"]
    elif sized["box"]:
        # Without a crop the box is a bound.
        yield sized["box"] if sized["crop"] else f"fit-in/{sized['box']}"
    if sized["crop"]:
        yield sized["crop"].lstrip("_")
    if sized["ratio"]:
        yield f"dpr={sized['ratio']}"


# -- what an option means (the references of the services named in `imageservices` and `imagesources`, 2026-11)

_WIDTH: Final = re.compile(r"(?:w|width|wid|imwidth)[=_:-]([0-9]+)(?:px)?|format=([0-9]+)w", re.ASCII)
_HEIGHT: Final = re.compile(r"(?:h|height|hei)[=_:-]([0-9]+)(?:px)?", re.ASCII)
_BOXES: Final = re.compile(
    r"(?:s_|size=|fit-in/)?(?P<w1>[0-9]*)x(?P<h1>[0-9]*)"
    r"|(?:rs|resize):[a-z-]+:(?P<w2>[0-9]*)(?::(?P<h2>[0-9]*)(?::[01f]?)*)?"
    r"|(?:s|size):(?P<w3>[0-9]*)(?::(?P<h3>[0-9]*)(?::[01f]?)*)?"
    r"|(?:resize|fit)=(?P<w4>[0-9]+),(?P<h4>[0-9]+)",
    re.ASCII,
)
_RATIO: Final = re.compile(r"dpr[=_:-]([0-9]+(?:\.[0-9]+)?)", re.ASCII)
_LOOKED_PAST: Final = re.compile(
    r"(?:q|quality|qlt|fm|f|format|fmt|output|enc)[=_:-][\w.:-]*"
    r"|auto[=_:-](?:format|compress|webp|avif|true|,)*"
    r"|fl_(?:progressive|lossy)(?:[.:]\w+)*|usm_[0-9._]+|pr-true|progressive=\w*|lossless=\w*|strip=\w*"
    r"|(?:quality|format|strip_exif|strip_icc|strip_metadata|no_upscale)\([\w-]*\)"
    r"|(?:ik-s|ik-t|ik-sdk-version|ixid|ixlib)=.*|s--[\w-]+--",
    re.ASCII,
)
_MODE: Final = re.compile(
    r"(?:c|fit|crop|mode|resizing_type|rt|g|gravity|position|al|fo|cm|enlarge|el)[=_:-][A-Za-z][A-Za-z_,.-]*"
    r"|(?:adaptive-|full-)*fit-in|smart|left|right|center|top|bottom|middle|fill|fit|preview|resize|scale_crop|crop_[a-z]+",
    re.ASCII,
)
#: Modes that cut out a part of the picture at a scale of their own.
_PARTS: Final = frozenset({"c_crop", "c_thumb", "c_auto", "c_imagga_crop", "fit=facearea", "cm-extract", "crop=focalpoint"})
_INSIDE: Final = re.compile(
    r"fit[=_:-](?:clip|max|inside|contain|scale-down|bounds|[0-9])|c_(?:limit|fit)\Z|c-at_max\Z|mode[=_:](?:max|contain)\Z"
    r"|(?:adaptive-|full-)*fit-in|fit\Z|preview\Z|(?:rs|resize|rt|resizing_type):fit\b",
    re.ASCII,
)


def _size_of(option: str) -> tuple[float, float] | None:
    if found := _WIDTH.fullmatch(option):
        return _pixels(found[1] or found[2]), math.inf
    if found := _HEIGHT.fullmatch(option):
        return math.inf, _pixels(found[1])
    found = _BOXES.fullmatch(option)
    if found is None:
        return None
    sides = [(found[f"w{n}"], found[f"h{n}"]) for n in range(1, 5)]
    width, height = next((pair for pair in sides if pair != (None, None)), (None, None))
    if not width and not height:
        return None
    return _pixels(width), _pixels(height)


def _pixels(text: str | None) -> float:
    """Nothing and 0 are no bound."""
    return float(text) if text and len(text) < 10 and int(text) else math.inf
