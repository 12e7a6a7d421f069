"""Whether a response came from an edge's cache or touched the origin, said by the edge that stands in front and by nobody else.

Headers of others pass through an edge: an origin's own Varnish may say ``X-Cache: HIT`` behind Cloudflare, and that hit is
work of the origin's server. So only the dialect of the provider in front is read. Cautious in what it believes: a hit is where
a word says that the origin was left alone; what was revalidated, expired or refreshed touched it, and so did every word that
nobody knows. A stale response is no hit: it was served after the origin was asked in vain, or while it is asked behind our
back; when an origin can no more, that is said of every request. Where two headers of one edge disagree, it was touched.
``Age`` alone is nobody's word: an origin's own cache counts, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

from scrapy_polite.backoff.structured import items
from scrapy_polite.origins.edges import known_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["DIALECTS", "CacheStatus", "Verdict", "cache_status"]

Verdict = Literal["hit", "touched"]


@dataclass(frozen=True, slots=True)
class CacheStatus:
    """``verdict``: whether the origin was left alone or touched; None: nothing was said, which is to be taken as touched.
    ``because``: which header said what, for people."""

    verdict: Verdict | None
    because: str


SILENT: Final = CacheStatus(None, "nothing tells whether it came from a cache")


def cache_status(headers: Mapping[str, Sequence[str]], provider: str | None) -> CacheStatus:
    """What the edge in front says of its cache.

    ``headers`` maps lower-case names to the values in order. ``provider`` is the word in edge keys. For one of `DIALECTS` its
    own headers are believed and no others; for one of the table of edges that is not in it, none are: what it lets pass may be
    the word of the origin's own cache. For None, and for an edge that an operator has named, these are: the last member of
    ``Cache-Status`` (RFC 9211) and of ``X-Cache``, which is what the cache nearest to us has added, and nginx's
    ``X-Cache-Status`` and ``X-Proxy-Cache``; if several speak, all of them must say hit.
    """
    said = [found for read in _dialect(provider) if (found := read(headers)).verdict is not None]
    touched = next((found for found in said if found.verdict == "touched"), None)
    return touched or (said[0] if said else SILENT)


@cache
def _dialect(provider: str | None) -> Sequence[Callable[[Mapping[str, Sequence[str]]], CacheStatus]]:
    known = DIALECTS.get(provider or "")
    if known is not None:
        return known
    return () if any(entry.row.provider == provider for entry in known_entries()) else _ANYBODY


def _members(headers: Mapping[str, Sequence[str]], name: str) -> list[str]:
    """The members of a header that is a list, in order; without empty ones."""
    return [member for value in headers.get(name, ()) for part in value.split(",") if (member := part.strip())]


# Words that only say that no cache was looked at or named.
_NOTHING: Final = frozenset({"N/A", "NONE", "UNKNOWN", "-"})


def _judged(name: str, member: str, hits: frozenset[str]) -> CacheStatus:
    word = member.split(maxsplit=1)[0].upper()
    if word in _NOTHING:
        return SILENT
    return CacheStatus("hit" if word in hits else "touched", f"{name}: {member[:_SHOWN]}")


_SHOWN: Final = 80
"""Characters of a member that are shown: a server may send any number."""


def _word(name: str, *hits: str) -> Callable[[Mapping[str, Sequence[str]]], CacheStatus]:
    """A header whose last member is one word, or begins with one."""
    known = frozenset(hits)
    lower = name.lower()

    def read(headers: Mapping[str, Sequence[str]]) -> CacheStatus:
        members = _members(headers, lower)
        return _judged(name, members[-1], known) if members else SILENT

    return read


def _rfc9211(*names: str) -> Callable[[Mapping[str, Sequence[str]]], CacheStatus]:
    """``Cache-Status``, RFC 9211 section 2: the first member is of the cache nearest to the origin, the last of the one nearest
    to us. ``names``: of the edge's own caches; the others are somebody else's. Without any, the last member's is the edge's.

    ``hit`` says that the request was not forwarded; where the response was stale (``ttl`` below 0), another one was, to renew
    it. ``fwd`` says that it was, also where it was collapsed into another, which may not be ours. A request that one cache
    forwarded and the next one answered did not reach the origin.
    """

    def read(headers: Mapping[str, Sequence[str]]) -> CacheStatus:
        # One list, over however many lines (RFC 9110 section 5.3): what cannot be read in one says that of all.
        caches = items(", ".join(headers.get("cache-status", ())))
        if not names:
            caches = caches[-1:]
        ours = [(name, parameters) for name, parameters in caches if not names or name.lower() in names]
        verdict: Verdict | None = None
        because = ""
        for name, parameters in ours:
            if parameters.get("hit") is True and "fwd" not in parameters and not _is_stale(parameters.get("ttl")):
                return CacheStatus("hit", f"Cache-Status: {name[:_SHOWN]} hit")
            if "fwd" in parameters:
                verdict, because = "touched", f"Cache-Status: {name[:_SHOWN]} fwd={str(parameters['fwd'])[:_SHOWN]}"
            elif "hit" in parameters:
                verdict, because = "touched", f"Cache-Status: {name[:_SHOWN]} hit={parameters['hit']}"
        return CacheStatus(verdict, because) if verdict else SILENT

    return read


def _is_stale(ttl: object) -> bool:
    return isinstance(ttl, int | float) and ttl < 0


def _fastly(headers: Mapping[str, Sequence[str]]) -> CacheStatus:
    """Fastly's ``X-Cache``: a member is appended by each of its caches, the shield's before the edge's, behind what the origin
    has said itself. ``X-Served-By`` has one name for each (``cache-ams4133-AMS``) and ``X-Cache-Hits`` one number; what
    belongs together is found from the right. ``HIT`` and a number above 0 in one of its layers: the request went no further.

    https://www.fastly.com/documentation/reference/http/http-headers/X-Cache
    https://www.fastly.com/documentation/reference/http/http-headers/X-Cache-Hits
    """
    words = _members(headers, "x-cache")
    layers = 0
    for name in reversed(_members(headers, "x-served-by")):
        if not name.lower().startswith("cache-"):
            break
        layers += 1
    words = words[-max(1, layers) :]
    if not words:
        return SILENT
    hits = _members(headers, "x-cache-hits")[-len(words) :]
    for place, word in enumerate(reversed(words), 1):
        counted = place > len(hits) or (hits[-place].isdecimal() and hits[-place].strip("0"))
        if word.upper() == "HIT" and counted:
            return CacheStatus("hit", f"X-Cache: {', '.join(words)[:_SHOWN]}")
    return CacheStatus("touched", f"X-Cache: {', '.join(words)[:_SHOWN]}")


def _cloudfront(headers: Mapping[str, Sequence[str]]) -> CacheStatus:
    """CloudFront signs what it says: ``Hit from cloudfront``. ``RefreshHit`` was revalidated; what a function or an error made
    is no hit.

    https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/understanding-response-headers-policies.html
    """
    own = [member for member in _members(headers, "x-cache") if member.lower().endswith(" from cloudfront")]
    return _judged("X-Cache", own[-1], frozenset({"HIT"})) if own else SILENT


def _timing(*metrics: str, described: str = "") -> Callable[[Mapping[str, Sequence[str]]], CacheStatus]:
    """``Server-Timing``: CloudFront has a metric per word (``cdn-cache-hit``), Akamai one with a description
    (``cdn-cache; desc=HIT``). Others may put metrics of theirs beside it."""

    def read(headers: Mapping[str, Sequence[str]]) -> CacheStatus:
        for member in reversed(_members(headers, "server-timing")):
            name, *parameters = (part.strip() for part in member.lower().split(";"))
            if name == described and (found := [part[5:].strip('"') for part in parameters if part.startswith("desc=")]):
                return CacheStatus("hit" if found[0] == "hit" else "touched", f"Server-Timing: {member[:_SHOWN]}")
            if name in metrics:
                return CacheStatus("hit" if name.endswith("-hit") else "touched", f"Server-Timing: {member[:_SHOWN]}")
        return SILENT

    return read


# TCP_REFRESH_FAIL_HIT is left out: it is stale, and was served after the origin was asked in vain.
_AKAMAI_HITS: Final = frozenset({"TCP_HIT", "TCP_MEM_HIT", "TCP_IMS_HIT", "TCP_NEGATIVE_HIT"})


def _akamai(headers: Mapping[str, Sequence[str]]) -> CacheStatus:
    """Akamai's ``X-Cache`` and, of its parent, ``X-Cache-Remote``: ``TCP_HIT from a1-2-3-4.deploy.akamaitechnologies.com
    (AkamaiGHost/11.1)``. They are sent where the property says so; anybody else's ``X-Cache`` passes through, so a server of
    Akamai's must be named. A hit of either did not reach the origin."""
    said = SILENT
    for name in ("X-Cache", "X-Cache-Remote"):
        own = [member for member in _members(headers, name.lower()) if "akamai" in member.lower()]
        found = _judged(name, own[-1], _AKAMAI_HITS) if own else SILENT
        if found.verdict == "hit":
            return found
        said = found if said.verdict is None else said
    return said


_FROM: Final = re.compile(r"(\w+) from (?:child|parent)")


def _akamai_status(headers: Mapping[str, Sequence[str]]) -> CacheStatus:
    """The header of Akamai's behaviour *Return Cache Status*, by the name that it has unless somebody changes it: ``Miss from
    child, Hit from parent``, the edge first. ``HitStale``, as TCP_REFRESH_FAIL_HIT, is no hit.

    https://techdocs.akamai.com/property-mgr/docs/return-cache-status
    """
    value = ", ".join(_members(headers, "akamai-cache-status"))
    words = [found.lower() for found in _FROM.findall(value)]
    if not words:
        return SILENT
    hit = "hit" in words
    return CacheStatus("hit" if hit else "touched", f"Akamai-Cache-Status: {value[:_SHOWN]}")


def _google(headers: Mapping[str, Sequence[str]]) -> CacheStatus:
    """Google Cloud CDN says nothing by default. ``Age`` above 0 says that some cache has answered, and where ``Via`` names
    nobody but Google it was Google's (RFC 9111 section 5.1, RFC 9110 section 7.6.3)."""
    via, age = _members(headers, "via"), _members(headers, "age")
    if not via or any(member.lower().split()[-1] != "google" for member in via) or len(age) != 1 or not age[0].isdecimal():
        return SILENT
    return CacheStatus("hit", f"Age: {age[0]}, Via: {via[-1]}") if age[0].strip("0") else SILENT


# $upstream_cache_status: https://nginx.org/en/docs/http/ngx_http_upstream_module.html. STALE is said of the request for which
# the origin was asked, and UPDATING of others that came meanwhile.
_NGINX: Final = ("HIT", "UPDATING")
_SQUID_AND_OTHERS: Final = ("TCP_HIT", "TCP_MEM_HIT", "TCP_IMS_HIT", "TCP_NEGATIVE_HIT", "TCP_REMOTE_HIT")

_ANYBODY: Final = (
    _rfc9211(),
    _word("X-Cache", *_NGINX, *_SQUID_AND_OTHERS),
    _word("X-Cache-Status", *_NGINX),
    _word("X-Proxy-Cache", *_NGINX),
)

# https://developers.cloudflare.com/cache/concepts/cache-responses/. STALE: the origin could not be reached. UPDATING: since
# 2026-02 also of the request that makes Cloudflare ask the origin (github.com/cloudflare/cloudflare-docs/pull/28613).
_CLOUDFLARE: Final = (_word("CF-Cache-Status", "HIT"),)

DIALECTS: Final[Mapping[str, Sequence[Callable[[Mapping[str, Sequence[str]]], CacheStatus]]]] = {
    "akamai": (_akamai, _akamai_status, _timing(described="cdn-cache")),
    # https://learn.microsoft.com/en-us/azure/frontdoor/front-door-caching
    "azure": (_word("X-Cache", "TCP_HIT", "TCP_REMOTE_HIT"),),
    "bunny": (_word("CDN-Cache", *_NGINX), _rfc9211("b-cdn", "bunnycdn")),
    "cachefly": (_word("X-Cache", "HIT"),),
    # https://client.cdn77.com/support/knowledgebase/caching-http-headers/headers-added-by-cdn77
    "cdn77": (_word("X-77-Cache", *_NGINX), _word("X-Cache", *_NGINX)),
    "cloudflare": _CLOUDFLARE,
    "cloudfront": (_cloudfront, _timing("cdn-cache-hit", "cdn-cache-miss", "cdn-cache-refresh")),
    "edgecast": (_word("X-Cache", "HIT", "TCP_HIT"),),
    "edgio": (_word("X-Cache", "HIT", "TCP_HIT"),),
    "fastly": (_fastly,),
    "fly": (_word("Fly-Cache-Status", "HIT"),),
    "github": (_fastly,),
    "google": (_google,),
    "heroku": (),  # Its router keeps nothing; whoever says hit is an app.
    "imperva": (),
    "keycdn": (_word("X-Cache", *_NGINX),),
    "medianova": (_word("X-Cache", *_NGINX),),
    # Its caches are named in the standard's header; "Next.js" before them is the app, and a hit of the app is work of it.
    "netlify": (_rfc9211("netlify edge", "netlify durable"),),
    "shopify": _CLOUDFLARE,
    "squarespace": (),
    "sucuri": (_word("X-Sucuri-Cache", *_NGINX),),
    # https://vercel.com/docs/headers/response-headers: with STALE the origin is asked in the background. X-Nextjs-Cache beside
    # it is the app's, as above.
    "vercel": (_word("X-Vercel-Cache", "HIT", "PRERENDER"),),
    "wix": (),
}
"""The word in edge keys -> what is read of that provider; nothing where it says nothing that could be relied on."""
