"""The canonical source of a resized image: the URL of the image behind the URL of an image service.

Services of three kinds: on hosts of their own with the image in path (the source is the same URL without what asks for a
size), proxies that name a foreign URL, and resizers of a site that work on any host (told by their paths). A foreign URL is
data until somebody asks for it; whoever does sends it through the guard like every other.
"""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote, urlencode

from scrapy_polite.naming.hosts import Target, parse
from scrapy_polite.naming.imageservices import service_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["canonical_source"]

_FETCHED: Final = ("http", "https")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A URL in the parts that sources are made of: `base` up to the path, `path` with its slash, `query` without mark."""

    base: str
    path: str
    query: str

    def value(self, name: str) -> str | None:
        """The first value of a parameter."""
        return next((value for key, value in parse_qsl(self.query) if key == name), None)


def canonical_source(target: Target) -> str | None:
    """The canonical URL of the image that is resized; the URL itself where it asks for no size. None where the URL is of no
    service that is known, or where the source cannot be told (encrypted, a file of the server, another scheme)."""
    if target.scheme not in _FETCHED:
        return None
    whole = target.path
    path, _, query = whole.partition("#")[0].partition("?")
    asked = _Asked(target.url[: len(target.url) - len(whole)], path, query)
    service = service_of(target.host, whole)
    found = _BY_PROVIDER[service[0].provider](asked) if service is not None else _by_path(asked)
    if found is None:
        return None
    source = parse(found)
    return source.url if isinstance(source, Target) and source.scheme in _FETCHED else None


# -- services with hosts of their own


def _without_query(asked: _Asked) -> str | None:
    # A path that is a whole URL is the source itself (imgix calls it a web proxy).
    return _absolute(asked.path[1:]) or asked.base + asked.path


_VERSION: Final = re.compile(r"v[0-9]+\Z")
_SIGNATURE: Final = re.compile(r"s--[\w-]+--\Z")
# Parameters of cloudinary.com/documentation/transformation_reference, 2026-11.
_TRANSFORMATION: Final = re.compile(
    r"(?:ac|af|ar|a|bo|br|b|co|cs|c|dl|dn|dpr|du|d|eo|e|fl|fn|fps|f|g|h|if|ki|l|o|pg|p|q|r|so|sp|t|u|vc|vs|w|x|y|z)_[^,/]+"
    r"|\$\w+"
)
_PRIVATE: Final = re.compile(r"https?://([a-z0-9_-]+?)-res(?:-[1-5])?\.cloudinary\.com")
_TAIL: Final = re.compile(r"/(?P<source>https?(?::|%3a)(?:/|%2f).+)", re.IGNORECASE | re.ASCII)


def _is_asked(part: str) -> bool:
    """Whether a part of a path is a signature or transformations, and not of the image's id."""
    return bool(_SIGNATURE.match(part)) or all(map(_TRANSFORMATION.match, unquote(part).split(",")))


def _cloudinary(asked: _Asked) -> str | None:
    """cloud, type, delivery and id, without signature, transformations and version; of a fetched image the URL in the tail."""
    parts = asked.path.split("/")[1:]
    private = _PRIVATE.match(asked.base)
    cloud = private[1] if private else parts.pop(0)
    if len(parts) < 3:
        return None
    kind, delivery, *rest = parts
    if (fetched := _TAIL.search("/".join(["", *rest]))) and (url := _absolute(fetched["source"])):
        return url
    start = next((place + 1 for place, part in enumerate(rest[:-1]) if _VERSION.match(part)), None)
    if start is None:
        start = next((place for place, part in enumerate(rest[:-1]) if not _is_asked(part)), len(rest) - 1)
    rest = rest[start:]
    return f"https://res.cloudinary.com/{cloud.lower()}/{kind}/{delivery}/{'/'.join(rest)}"


def _cloudflare_hosted(asked: _Asked) -> str | None:
    parts = asked.path.removeprefix("/cdn-cgi/imagedelivery").split("/")[1:]
    # An id may hold slashes; the last part is the variant.
    return f"https://imagedelivery.net/{'/'.join(parts[:-1])}" if len(parts) > 2 else None


def _imagekit(asked: _Asked) -> str | None:
    parts = [part for part in asked.path.split("/") if not unquote(part).startswith("tr:")]
    return _without_query(_Asked(asked.base, "/".join(parts), ""))


def _cloudimg(asked: _Asked) -> str | None:
    return _absolute(re.sub(r"^/(?:v7/)?", "", asked.path))


def _uploadcare(asked: _Asked) -> str | None:
    first = asked.path.split("/")[1]
    return f"{asked.base}/{first.lower()}/" if first else None


def _weserv(asked: _Asked) -> str | None:
    url = asked.value("url") or ""
    if url.startswith("ssl:"):  # its older way to say https
        return f"https://{url.removeprefix('ssl:').lstrip('/')}"
    return url if _ABSOLUTE.match(url) else f"http://{url.lstrip('/')}" if url else None


def _photon(asked: _Asked) -> str | None:
    return f"{'https' if asked.value('ssl') else 'http'}:/{asked.path}"


def _statically(asked: _Asked) -> str | None:
    parts = asked.path.removeprefix("/img/").split("/")
    # Options stand between the host and the path: `/img/HOST/f=auto,w=600/PATH`.
    if len(parts) > 2 and re.match(r"[a-z]+=", unquote(parts[1])):
        del parts[1]
    return f"https://{'/'.join(parts)}"


_SHOPIFY_SIZE: Final = re.compile(
    r"_(?:pico|icon|thumb|small|compact|medium|large|grande|original|master|[0-9]+x[0-9]*|x[0-9]+)"
    r"(?:_crop_[a-z]+)?(?:@[0-9]x)?(?:\.progressive)?(?=\.[A-Za-z0-9]+\Z)"
)


def _shopify(asked: _Asked) -> str | None:
    return asked.base + _SHOPIFY_SIZE.sub("", asked.path)


def _wix(asked: _Asked) -> str | None:
    return asked.base + "/".join(asked.path.split("/")[:3])


def _storyblok(asked: _Asked) -> str | None:
    return asked.base + asked.path.partition("/m/")[0]


_BY_PROVIDER: Final[dict[str, Callable[[_Asked], str | None]]] = {
    "cloudinary": _cloudinary,
    "cloudflare": _cloudflare_hosted,
    "imagekit": _imagekit,
    "cloudimg": _cloudimg,
    "uploadcare": _uploadcare,
    "weserv": _weserv,
    "photon": _photon,
    "statically": _statically,
    "shopify": _shopify,
    "wix": _wix,
    "storyblok": _storyblok,
    **dict.fromkeys(
        ("imgix", "prismic", "datocms", "sanity", "sirv", "gumlet", "squarespace", "contentful", "scene7", "contentstack"),
        _without_query,
    ),
}


# -- resizers of a site, on any host

#: Path -> the parameter that names the source (docs of Next.js, Vercel, Astro and Netlify, 2026-11).
_IN_PARAMETER: Final = {"/_next/image": "url", "/_vercel/image": "url", "/_image": "href", "/.netlify/images": "url"}
_AFTER_OPTIONS: Final = re.compile(r"/(?:cdn-cgi/image|_ipx)/[^/]+/(?P<source>.+)\Z")
_SUPABASE: Final = re.compile(r"(/storage/v1)/render/image((?:/public|/sign|/authenticated)/.+)\Z")


def _by_path(asked: _Asked) -> str | None:
    if (name := _IN_PARAMETER.get(asked.path.rstrip("/"))) is not None:
        return _on(asked.base, asked.value(name))
    if after := _AFTER_OPTIONS.match(asked.path):
        return _on(asked.base, after["source"])
    if asked.path.startswith("/cdn-cgi/imagedelivery/"):
        return _cloudflare_hosted(asked)
    if rendered := _SUPABASE.match(asked.path):
        kept = urlencode([(key, value) for key, value in parse_qsl(asked.query) if key == "token"])
        return f"{asked.base}{rendered[1]}/object{rendered[2]}" + (f"?{kept}" if kept else "")
    return _imgproxy(asked) or _thumbor(asked)


def _on(base: str, source: str | None) -> str | None:
    """A source as a resizer of a site names it: absolute, or a path of the same host."""
    if not source:
        return None
    return _absolute(source) or (None if _SCHEME.match(source) else f"{base}/{source.lstrip('/')}")


_OPTION: Final = re.compile(r"[a-z_]+:")


def _imgproxy(asked: _Asked) -> str | None:
    """`/SIGNATURE/OPTION:ARGS/.../plain/ESCAPED@EXT` or base64, split by slashes (docs.imgproxy.net, 2026-11). Options end at
    the first part without a colon. An encrypted source stays closed."""
    signature, *rest = asked.path.split("/")[1:]
    if len(rest) < 2 or not re.match(r"(?:[\w-]{10,}|unsafe|insecure|_)\Z", signature, re.ASCII):
        return None
    start = next((place for place, part in enumerate(rest) if not _OPTION.match(unquote(part))), None)
    if start is None:
        return None
    rest = rest[start:]
    if rest[0] == "plain":
        return _absolute("/".join(rest[1:]).partition("@")[0])
    text = "".join(rest).partition(".")[0]
    try:
        return _absolute(urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode())
    except (binascii.Error, UnicodeDecodeError):
        return None


# thumbor docs/usage.rst, 2026-11: everything up to here is optional, and comes in this order.
_THUMBOR: Final = re.compile(
    r"""/(?:unsafe|[\w-]{27}=)
        (?:/meta)? (?:/trim(?::[\w-]+)*)? (?:/\d+x\d+:\d+x\d+)? (?:/(?:adaptive-)?(?:full-)?fit-in)?
        (?:/-?(?:\d+|orig)?x-?(?:\d+|orig)?)? (?:/(?:left|right|center))? (?:/(?:top|bottom|middle))? (?:/smart)?
        (?:/filters:(?:\w+\([^()]*\):?)+)?
        /(?P<source>.+)\Z""",
    re.VERBOSE | re.ASCII,
)
_HOST_FIRST: Final = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+/", re.IGNORECASE | re.ASCII)


def _thumbor(asked: _Asked) -> str | None:
    found = _THUMBOR.match(asked.path)
    if found is None:
        return None
    source = unquote(found["source"])
    if _SCHEME.match(source):
        return _absolute(source)
    # Without a scheme thumbor asks by http; what names no host is a file of the server's.
    return f"http://{source}" if _HOST_FIRST.match(source) else None


_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE | re.ASCII)
_ABSOLUTE: Final = re.compile(r"(?P<scheme>https?):/{1,2}(?=[^/])", re.IGNORECASE | re.ASCII)


def _absolute(text: str) -> str | None:
    """The http(s) URL that a text is, plain or escaped; with one slash, too, as servers fold two of them."""
    for candidate in (text, unquote(text)):
        if found := _ABSOLUTE.match(candidate):
            return f"{found['scheme']}://{candidate[found.end() :]}"
    return None
