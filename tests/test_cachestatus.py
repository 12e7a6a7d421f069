"""What an edge says of its cache, in the dialect of the provider in front; and what others say, which is not believed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_polite.backoff.structured import items
from scrapy_polite.origins.cachestatus import DIALECTS, cache_status
from scrapy_polite.origins.edges import known_entries

Headers = dict[str, list[str]]
AKAMAI = "from a1-2-3-4.deploy.akamaitechnologies.com (AkamaiGHost/11.1) (-)"


def x_cache(*values: str) -> Headers:
    return {"x-cache": list(values)}


def rfc(*values: str) -> Headers:
    return {"cache-status": list(values)}


def fastly(words: str, hits: str | None = None, served: str | None = None) -> Headers:
    found = x_cache(words)
    if hits is not None:
        found["x-cache-hits"] = [hits]
    if served is not None:
        found["x-served-by"] = [served]
    return found


TWO = "cache-sea1927-SEA, cache-ams4133-AMS"


@pytest.mark.parametrize(
    ("provider", "headers", "verdict"),
    [
        # Cloudflare
        ("cloudflare", {"cf-cache-status": ["HIT"]}, "hit"),
        ("cloudflare", {"cf-cache-status": ["hit"]}, "hit"),
        ("cloudflare", {"cf-cache-status": ["STALE"]}, "touched"),
        ("cloudflare", {"cf-cache-status": ["UPDATING"]}, "touched"),
        ("cloudflare", {"cf-cache-status": ["MISS"]}, "touched"),
        ("cloudflare", {"cf-cache-status": ["EXPIRED"]}, "touched"),
        ("cloudflare", {"cf-cache-status": ["REVALIDATED"]}, "touched"),
        ("cloudflare", {"cf-cache-status": ["DYNAMIC"]}, "touched"),
        ("cloudflare", {"cf-cache-status": ["BYPASS"]}, "touched"),
        ("cloudflare", {"cf-cache-status": ["NONE/UNKNOWN"]}, "touched"),
        ("cloudflare", {"cf-cache-status": ["UNKNOWN"]}, None),
        ("cloudflare", {"cf-cache-status": [""]}, None),
        ("cloudflare", {"cf-cache-status": ["NEWWORD"]}, "touched"),
        ("cloudflare", {}, None),
        ("shopify", {"cf-cache-status": ["DYNAMIC"]}, "touched"),
        # Fastly: a member by each of its caches, aligned from the right.
        ("fastly", fastly("HIT", "1", "cache-lhr6324-LHR"), "hit"),
        ("fastly", fastly("HIT", "0", "cache-lhr6324-LHR"), "touched"),
        ("fastly", fastly("HIT"), "hit"),
        ("fastly", fastly("MISS", "0"), "touched"),
        ("fastly", fastly("MISS, HIT", "0, 7", TWO), "hit"),
        ("fastly", fastly("HIT, MISS", "3, 0", TWO), "hit"),
        ("fastly", fastly("MISS, MISS", "0, 0", TWO), "touched"),
        ("fastly", fastly("MISS, HIT, HIT", "3, 16", TWO), "hit"),
        ("fastly", fastly("MISS, MISS, MISS", "0, 0", TWO), "touched"),
        ("fastly", fastly("HIT, MISS", "0", "cache-lhr6324-LHR"), "touched"),  # the origin's own cache said the first
        ("fastly", fastly("HIT, MISS", "9, 0", "varnish-1.a.test, cache-lhr6324-LHR"), "touched"),
        ("fastly", fastly("HIT, MISS", "9, 0"), "touched"),
        ("fastly", fastly("HIT, MISS, MISS", "4, 0, 0", TWO), "touched"),
        ("fastly", fastly("HIT, HIT", "0, x", TWO), "touched"),
        ("fastly", {"x-cache": ["MISS", "HIT"], "x-cache-hits": ["0", "2"], "x-served-by": [TWO]}, "hit"),
        ("fastly", {"x-cache-hits": ["3"]}, None),
        ("fastly", x_cache(",,"), None),
        ("github", fastly("HIT", "2", "cache-ams21-AMS"), "hit"),
        # CloudFront
        ("cloudfront", x_cache("Hit from cloudfront"), "hit"),
        ("cloudfront", x_cache("Miss from cloudfront"), "touched"),
        ("cloudfront", x_cache("RefreshHit from cloudfront"), "touched"),
        ("cloudfront", x_cache("Error from cloudfront"), "touched"),
        ("cloudfront", x_cache("LambdaGeneratedResponse from cloudfront"), "touched"),
        ("cloudfront", x_cache("HIT"), None),
        ("cloudfront", x_cache("HIT, Miss from cloudfront"), "touched"),
        ("cloudfront", {"server-timing": ["cdn-cache-hit,cdn-pop;desc=LHR"]}, "hit"),
        ("cloudfront", {"server-timing": ["cdn-upstream-layer;desc=EDGE, cdn-cache-miss"]}, "touched"),
        ("cloudfront", {"server-timing": ["cdn-cache-refresh"]}, "touched"),
        ("cloudfront", {"server-timing": ["db;dur=3"]}, None),
        ("cloudfront", {**x_cache("Hit from cloudfront"), "server-timing": ["cdn-cache-refresh"]}, "touched"),
        # Akamai: both headers, the behaviour's, and Server-Timing
        ("akamai", x_cache(f"TCP_HIT {AKAMAI}"), "hit"),
        ("akamai", x_cache(f"TCP_MEM_HIT {AKAMAI}"), "hit"),
        ("akamai", x_cache(f"TCP_IMS_HIT {AKAMAI}"), "hit"),
        ("akamai", x_cache(f"TCP_NEGATIVE_HIT {AKAMAI}"), "hit"),
        ("akamai", x_cache(f"TCP_MISS {AKAMAI}"), "touched"),
        ("akamai", x_cache(f"TCP_REFRESH_HIT {AKAMAI}"), "touched"),
        ("akamai", x_cache(f"TCP_REFRESH_MISS {AKAMAI}"), "touched"),
        ("akamai", x_cache(f"TCP_REFRESH_FAIL_HIT {AKAMAI}"), "touched"),
        ("akamai", {**x_cache(f"TCP_MISS {AKAMAI}"), "x-cache-remote": [f"TCP_HIT {AKAMAI}"]}, "hit"),
        ("akamai", {**x_cache(f"TCP_MISS {AKAMAI}"), "x-cache-remote": [f"TCP_MISS {AKAMAI}"]}, "touched"),
        ("akamai", x_cache("HIT"), None),
        ("akamai", x_cache("TCP_HIT from squid.a.test"), None),
        ("akamai", {"akamai-cache-status": ["Hit from child"]}, "hit"),
        ("akamai", {"akamai-cache-status": ["Miss from child, Hit from parent"]}, "hit"),
        ("akamai", {"akamai-cache-status": ["Miss from child, Miss from parent"]}, "touched"),
        ("akamai", {"akamai-cache-status": ["HitStale from child"]}, "touched"),
        ("akamai", {"akamai-cache-status": ["RefreshHit from child"]}, "touched"),
        ("akamai", {"akamai-cache-status": ["NotCacheable from child"]}, "touched"),
        ("akamai", {"akamai-cache-status": ["what is this"]}, None),
        ("akamai", {"server-timing": ["cdn-cache; desc=HIT", "edge; dur=1"]}, "hit"),
        ("akamai", {"server-timing": ["cdn-cache; desc=MISS, edge; dur=12, origin; dur=80"]}, "touched"),
        ("akamai", {"server-timing": ["cdn-cache; desc=REVALIDATE"]}, "touched"),
        # Azure, Edgio
        ("azure", x_cache("TCP_HIT"), "hit"),
        ("azure", x_cache("TCP_REMOTE_HIT"), "hit"),
        ("azure", x_cache("TCP_MISS"), "touched"),
        ("azure", x_cache("PRIVATE_NOSTORE"), "touched"),
        ("azure", x_cache("CONFIG_NOCACHE"), "touched"),
        ("azure", x_cache("N/A"), None),
        ("azure", x_cache("HIT"), "touched"),
        ("edgio", x_cache("TCP_EXPIRED_HIT"), "touched"),
        ("edgio", x_cache("TCP_CLIENT_REFRESH_MISS"), "touched"),
        ("edgio", x_cache("NONE"), None),
        ("edgio", x_cache("TCP_HIT"), "hit"),
        # Vercel, and the app behind it
        ("vercel", {"x-vercel-cache": ["HIT"]}, "hit"),
        ("vercel", {"x-vercel-cache": ["STALE"]}, "touched"),
        ("vercel", {"x-vercel-cache": ["PRERENDER"]}, "hit"),
        ("vercel", {"x-vercel-cache": ["REVALIDATED"]}, "touched"),
        ("vercel", {"x-vercel-cache": ["BYPASS"]}, "touched"),
        ("vercel", {"x-vercel-cache": ["MISS"], "x-nextjs-cache": ["HIT"]}, "touched"),
        ("vercel", {"x-nextjs-cache": ["HIT"]}, None),
        (None, {"x-nextjs-cache": ["HIT"]}, None),
        # Netlify, with the app's own member before its own
        ("netlify", rfc('"Next.js"; hit, "Netlify Durable"; fwd=miss; stored, "Netlify Edge"; fwd=miss'), "touched"),
        ("netlify", rfc('"Netlify Durable"; hit; ttl=9, "Netlify Edge"; fwd=miss'), "hit"),
        ("netlify", rfc('"Netlify Edge"; hit'), "hit"),
        ("netlify", rfc("nginx; hit"), None),
        # bunny.net
        ("bunny", {"cdn-cache": ["HIT"]}, "hit"),
        ("bunny", {"cdn-cache": ["STALE"]}, "touched"),
        ("bunny", {"cdn-cache": ["EXPIRED"]}, "touched"),
        ("bunny", {"cdn-cache": ["BYPASS"]}, "touched"),
        ("bunny", {**rfc("b-cdn; hit; ttl=300"), "x-cache": ["HIT"]}, "hit"),
        ("bunny", rfc("b-cdn; fwd=miss; fwd-status=200; stored"), "touched"),
        ("bunny", rfc("b-cdn; fwd=miss; fwd-status=200; collapsed"), "touched"),
        # Others by their own words
        ("cdn77", {"x-77-cache": ["HIT"], "x-cache": ["HIT"]}, "hit"),
        ("cdn77", {"x-77-cache": ["MISS"], "x-cache": ["HIT"]}, "touched"),
        ("keycdn", x_cache("EXPIRED"), "touched"),
        ("sucuri", {"x-sucuri-cache": ["HIT"]}, "hit"),
        ("fly", {"fly-cache-status": ["HIT"]}, "hit"),
        ("fly", {"fly-cache-status": ["MISS"]}, "touched"),
        ("fly", {"fly-cache-status": ["STALE"]}, "touched"),
        ("sucuri", {"x-sucuri-cache": ["STALE"]}, "touched"),
        # Google: an age, and nobody else on the way
        ("google", {"age": ["31"], "via": ["1.1 google"]}, "hit"),
        ("google", {"age": ["0"], "via": ["1.1 google"]}, None),
        ("google", {"age": ["31"], "via": ["1.1 varnish, 1.1 google"]}, None),
        ("google", {"age": ["31"]}, None),
        ("google", {"age": ["-3"], "via": ["1.1 google"]}, None),
        ("google", {"age": ["31", "7"], "via": ["1.1 google"]}, None),
        ("google", {"via": ["1.1 google"]}, None),
        # An operator's own edge, or one that nobody has named: the standard, X-Cache and nginx, the last member of each
        (None, {}, None),
        (None, {"server": ["nginx"], "age": ["500"]}, None),
        ("ours", x_cache("HIT"), "hit"),
        ("ours", x_cache("MISS, HIT"), "hit"),
        ("ours", x_cache("HIT, MISS"), "touched"),
        ("ours", x_cache("MISS", "HIT"), "hit"),
        ("ours", x_cache("TCP_MEM_HIT from squid.test"), "hit"),
        ("ours", x_cache("TCP_REFRESH_HIT"), "touched"),
        ("ours", x_cache("WHATEVER"), "touched"),
        ("ours", x_cache("N/A"), None),
        ("ours", {"x-cache-status": ["STALE"]}, "touched"),
        ("ours", {"x-cache-status": ["REVALIDATED"]}, "touched"),
        ("ours", {"x-proxy-cache": ["UPDATING"]}, "hit"),
        ("ours", {"x-cache-status": ["HIT"], "x-cache": ["MISS"]}, "touched"),
        ("ours", {"cf-cache-status": ["HIT"]}, None),
        (None, rfc("ExampleCache; hit"), "hit"),
        (None, rfc("ExampleCache; hit; ttl=-412"), "touched"),
        (None, rfc("ExampleCache; hit; ttl=0"), "hit"),
        (None, rfc("ExampleCache;hit=?1"), "hit"),
        (None, rfc("ExampleCache;hit=?0"), "touched"),
        (None, rfc("ExampleCache;hit=yes"), "touched"),
        (None, rfc("ExampleCache; hit; fwd=miss"), "touched"),
        (None, rfc("ExampleCache; fwd=uri-miss; stored"), "touched"),
        (None, rfc("ExampleCache; fwd=stale; fwd-status=304"), "touched"),
        (None, rfc("OriginCache; hit; ttl=1100, CDN; fwd=uri-miss"), "touched"),
        (None, rfc("OriginCache; fwd=miss", "CDN; hit"), "hit"),
        (None, rfc('"a; hit, b"; fwd=miss; detail="x, y; hit"'), "touched"),
        (None, rfc('"unfinished; hit'), None),
        (None, rfc("OriginCache; hit", '"unfinished'), None),
        (None, rfc("ExampleCache"), None),
        (None, rfc("hit"), None),
    ],
)
def test_dialects_of_caches(provider: str | None, headers: Headers, verdict: str | None) -> None:
    assert cache_status(headers, provider).verdict == verdict


FORGED = {
    "x-cache": ["HIT"],
    "x-cache-hits": ["12"],
    "cache-status": ["varnish; hit"],
    "x-cache-status": ["HIT"],
    "x-proxy-cache": ["HIT"],
    "x-nextjs-cache": ["HIT"],
    "x-varnish": ["32770 3"],
    "age": ["300"],
    "via": ["1.1 varnish"],
    "server-timing": ["cache;desc=HIT"],
}
SPEAKS_X_CACHE = {"cachefly", "cdn77", "edgecast", "edgio", "fastly", "github", "keycdn", "medianova"}


@pytest.mark.parametrize("provider", sorted(set(DIALECTS) - SPEAKS_X_CACHE))
def test_a_hit_of_the_origins_own_varnish_is_no_hit(provider: str) -> None:
    assert cache_status(FORGED, provider).verdict != "hit"


@pytest.mark.parametrize("provider", sorted({entry.row.provider for entry in known_entries()} - set(DIALECTS)))
def test_of_an_edge_whose_dialect_nobody_has_stated_nothing_is_believed(provider: str) -> None:
    assert cache_status(FORGED, provider).verdict is None


def test_people_are_told_which_header_said_what() -> None:
    assert cache_status({"cf-cache-status": ["HIT"]}, "cloudflare").because == "CF-Cache-Status: HIT"
    assert cache_status(rfc("b-cdn; fwd=miss"), "bunny").because == "Cache-Status: b-cdn fwd=miss"
    assert cache_status({}, "bunny").because == "nothing tells whether it came from a cache"
    assert len(cache_status({"cf-cache-status": ["x" * 5_000]}, "cloudflare").because) < 120


HEADERS = st.sampled_from(
    (
        *("x-cache", "cache-status", "cf-cache-status", "server-timing", "x-cache-hits", "x-served-by"),
        *("akamai-cache-status", "age", "via", "x-cache-remote", "cdn-cache"),
    )
)


@given(st.dictionaries(HEADERS, st.lists(st.text(max_size=40))), st.sampled_from([None, "ours", *DIALECTS]))
@settings(deadline=None)
def test_no_header_breaks_the_reading(headers: Headers, provider: str | None) -> None:
    assert cache_status(headers, provider).verdict in {"hit", "touched", None}


@pytest.mark.parametrize(
    "value", ['"' + "\\" * 60_000, '"a' * 30_000 + "; hit", "a;" * 40_000, "a;b=1" * 20_000, ", " * 40_000, "1" * 60_000]
)
def test_a_long_header_is_read_in_linear_time(value: str) -> None:
    assert cache_status(rfc(value), None).verdict is None


@pytest.mark.parametrize(
    ("field", "found"),
    [
        ("", []),
        ("a", [("a", {})]),
        ("a, b;hit", [("a", {}), ("b", {"hit": True})]),
        ('"a \\"b\\"";x="y, z"', [('a "b"', {"x": "y, z"})]),
        ("a;ttl=-3;r=0.5;b=?0;k=:aGk=:;*x=*t/u", [("a", {"ttl": -3, "r": 0.5, "b": False, "k": ":aGk=:", "*x": "*t/u"})]),
        ("a;x=1;x=2", [("a", {"x": 2})]),
        ("a\t,\tb", [("a", {}), ("b", {})]),
        ("a,", []),
        ("a b", []),
        ("a;X=1", []),
        ("a;x=", []),
        ('"é"', []),
        ("(a b);x", []),
        ("?2", []),
    ],
)
def test_structured_fields_are_read_as_strictly_as_the_standard_has_it(field: str, found: object) -> None:
    assert items(field) == found
