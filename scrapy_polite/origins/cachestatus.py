"""Whether a response came from an edge's cache or touched the origin, in the dialects that edges say it in.

Cautious by design: a hit is believed only where a word says that the origin was left alone; what was revalidated,
expired or refreshed touched it; and where two dialects disagree, it was touched.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Verdict", "hit_or_miss"]

Verdict = Literal["hit", "miss"]

# Words that say the origin was not asked for this response. `STALE` and `UPDATING` are served from the cache.
# https://developers.cloudflare.com/cache/concepts/cache-responses/
_CLOUDFLARE: Final = frozenset({"HIT", "STALE", "UPDATING"})
# $upstream_cache_status: https://nginx.org/en/docs/http/ngx_http_upstream_module.html
_NGINX: Final = frozenset({"HIT", "STALE", "UPDATING"})
# https://vercel.com/docs/headers/response-headers
_VERCEL: Final = frozenset({"HIT", "STALE", "PRERENDER"})
_BUNNY: Final = frozenset({"HIT"})
# X-Cache is spoken by Fastly, CloudFront, Akamai, Azure, Squid and Varnish, each with words of its own.
_X_CACHE: Final = frozenset(
    {
        "HIT",
        "HITSTALE",
        "TCP_HIT",
        "TCP_MEM_HIT",
        "TCP_IMS_HIT",
        "TCP_NEGATIVE_HIT",
        "TCP_REMOTE_HIT",
    }
)

#: Header -> the words that mean a hit there. Only the first word of each member counts: "Hit from cloudfront".
_DIALECTS: Final = {
    "cf-cache-status": _CLOUDFLARE,
    "x-cache": _X_CACHE,
    "x-cache-status": _NGINX,
    "x-vercel-cache": _VERCEL,
    "cdn-cache": _BUNNY,
}

# Words that only say that no cache was looked at or named.
_SILENT: Final = frozenset({"", "N/A", "NONE", "UNKNOWN", "-"})

# A quoted string (RFC 8941 section 3.3.3), or one that the header ends inside of. It matches at every quote, so that
# reading is linear in the length, whatever a server sends.
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*(?:"|(?P<open>\\?\Z))', re.DOTALL)


def hit_or_miss(headers: Mapping[str, Sequence[str]]) -> Verdict | None:
    """``hit`` if the origin was left alone, ``miss`` if it was touched, None if nothing is said (to be taken as a miss).

    `headers` maps names, in any case, to the values in order. In a list of several layers (``X-Cache: MISS, HIT``) one
    hit is enough, whichever end the origin is at: the request did not get past it.
    """
    verdicts = set()
    for name, values in headers.items():
        lowered = name.lower()
        if lowered == "cache-status":
            verdicts.add(_rfc9211(values))
        elif lowered in _DIALECTS:
            verdicts.add(_words(values, _DIALECTS[lowered]))
    if "miss" in verdicts:
        return "miss"
    return "hit" if "hit" in verdicts else None


def _words(values: Iterable[str], hits: frozenset[str]) -> Verdict | None:
    words = [member.split(maxsplit=1)[0].upper() for value in values for member in value.split(",") if member.strip()]
    if any(word in hits for word in words):
        return "hit"
    return "miss" if any(word not in _SILENT for word in words) else None


def _rfc9211(values: Iterable[str]) -> Verdict | None:
    """Cache-Status, RFC 9211 section 2: each cache adds a member, with `hit` or with `fwd` and a reason."""
    said: set[str] = set()
    for value in values:
        # Names and details are strings of the cache's choice, in which anything may stand: only parameters count.
        if any(quoted["open"] is not None for quoted in _QUOTED.finditer(value)):
            continue  # RFC 8941 section 4.2: a field that cannot be read is left out
        for member in _QUOTED.sub('""', value).split(","):
            said.update(parameter.strip().lower() for parameter in member.split(";")[1:])
    if said & {"hit", "hit=?1"}:
        return "hit"
    return "miss" if any(parameter.startswith("fwd=") for parameter in said) else None
