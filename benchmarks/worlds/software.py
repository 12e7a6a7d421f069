"""Headers: what site software, platforms and edges put on their responses, and what an edge leaves of it.

The software is that of the web at large, with the headers that published fingerprint lists know it by. Platforms are made up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from benchmarks.worlds.words import BRAND_SYLLABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

Headers = dict[str, tuple[str, ...]]
Pairs = tuple[tuple[str, str], ...]


SECURITY = {
    # Header -> what owners write, the most common first.
    "strict-transport-security": (
        "max-age=31536000",
        "max-age=31536000; includeSubDomains",
        "max-age=63072000; includeSubDomains; preload",
        "max-age=15552000",
    ),
    "x-frame-options": ("SAMEORIGIN", "SAMEORIGIN", "DENY"),
    "x-content-type-options": ("nosniff",),
    "referrer-policy": ("strict-origin-when-cross-origin", "no-referrer-when-downgrade", "same-origin"),
    "x-xss-protection": ("1; mode=block", "0", "1"),
}
COMMON = {
    "strict-transport-security": 0.25,
    "x-frame-options": 0.30,
    "x-content-type-options": 0.30,
    "referrer-policy": 0.15,
    "x-xss-protection": 0.15,
}
"""How many sites send it at all."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the software of a site says: of itself (`product`), by its cookies, and by its owner's choice (`security`)."""

    server: str
    product: Pairs = ()
    cookies: tuple[str, ...] = ()
    """Names; `#` stands for what differs from visit to visit."""
    security: Pairs = ()
    varying: tuple[str, ...] = ()
    """Headers with a new value in each response."""
    searched: Pairs = ()
    """What only pages of search results carry."""
    proxied: bool = False
    """robots.txt and images come from the application as well, with all its headers."""

    def headers(self, random: Random, kind: str, status: int) -> Headers:
        found: Headers = {
            "date": ("Fri, 15 Jan 2027 08:00:00 GMT",),
            "content-type": (_TYPES[kind],),
        }
        if self.server:
            found["server"] = (self.server,)
        if status >= 300:
            # An error page or a redirect is the web server's, not the application's.
            if status < 400:
                found["location"] = ("https://elsewhere.example/",)
            elif random.random() < 0.3:
                found.update((name, (value,)) for name, value in self.security)
            return found
        found.update((name, (value,)) for name, value in self.security)
        if kind in ("robots", "image") and not self.proxied:
            found["last-modified"] = ("Mon, 04 Jan 2027 10:00:00 GMT",)
            found["etag"] = (f'"{random.getrandbits(40):x}"',)
            found["accept-ranges"] = ("bytes",)
            return found
        found.update((name, (value,)) for name, value in self.product)
        if kind == "search":
            found.update((name, (value,)) for name, value in self.searched)
        found.update((name, (f"{random.getrandbits(64):016x}",)) for name in self.varying)
        found["vary"] = ("Accept-Encoding",)
        if random.random() < 0.5:
            found["cache-control"] = (random.choice(("no-cache", "max-age=0, private", "max-age=600")),)
        if self.cookies and kind != "robots":
            found["set-cookie"] = tuple(
                f"{name.replace('#', f'{random.getrandbits(32):08x}')}={random.getrandbits(80):x}; path=/; HttpOnly"
                for name in self.cookies
            )
        return found

    def with_security(self, security: Pairs) -> Look:
        return replace(self, security=security)


_TYPES = {
    "page": "text/html; charset=utf-8",
    "search": "text/html; charset=utf-8",
    "robots": "text/plain",
    "image": "image/jpeg",
    "nothing": "",
}


def chosen_security(random: Random, more: float = 1.0) -> Pairs:
    """What an owner has set: usually nothing or little."""
    return tuple((name, random.choice(values)) for name, values in SECURITY.items() if random.random() < COMMON[name] * more)


def stack(random: Random) -> Look:
    """The software of a site that somebody runs alone, as common as it is on the web."""
    make = random.choices(tuple(_COMMON), tuple(_COMMON.values()))[0]
    return make(random).with_security(chosen_security(random))


def _server(random: Random) -> str:
    return random.choice(
        (
            "nginx",
            "nginx",
            "Apache",
            "Apache",
            "nginx/1.18.0 (Ubuntu)",
            "nginx/1.24.0",
            "Apache/2.4.57 (Debian)",
            "LiteSpeed",
            "openresty",
            "",
        )
    )


def _php(random: Random) -> Pairs:
    version = random.choice(("7.4.33", "8.0.30", "8.1.27", "8.2.15", "8.3.2"))
    return (("x-powered-by", f"PHP/{version}"),) if random.random() < 0.4 else ()


def _some(random: Random, chances: Sequence[tuple[float, str, str]]) -> Pairs:
    return tuple((name, value) for chance, name, value in chances if random.random() < chance)


def wordpress(random: Random) -> Look:
    product = _php(random) + _some(
        random,
        (
            (0.8, "link", '<https://site.example/wp-json/>; rel="https://api.w.org/"'),
            (0.2, "x-pingback", "https://site.example/xmlrpc.php"),
            (0.12, "x-litespeed-cache", "hit"),
            (0.1, "x-redirect-by", "WordPress"),
            (0.06, "x-cache-enabled", "True"),
            (0.05, "x-httpd", "1"),
            (0.05, "x-proxy-cache", "MISS"),
            (0.04, "x-cache-handler", "cache-enabler-engine"),
            (0.03, "x-wp-cf-super-cache", "cache"),
        ),
    )
    cookies = tuple(
        name
        for chance, name in (
            (0.12, "PHPSESSID"),
            (0.08, "wp_woocommerce_session_#"),
            (0.04, "pll_language"),
            (0.03, "cookielawinfo-checkbox-necessary"),
        )
        if random.random() < chance
    )
    return Look(_server(random), product, cookies)


def _joomla(random: Random) -> Look:
    return Look(_server(random), _php(random), (f"{random.getrandbits(128):032x}",))


def _drupal(random: Random) -> Look:
    version = random.choice(("9", "10", "10", "11"))
    return Look(
        _server(random),
        (
            ("x-generator", f"Drupal {version} (https://www.drupal.org)"),
            ("x-drupal-cache", "HIT"),
            *_some(random, ((0.5, "x-drupal-dynamic-cache", "MISS"),)),
        ),
    )


def _typo3(random: Random) -> Look:
    return Look(_server(random), _php(random), ("fe_typo_user",) if random.random() < 0.5 else ())


def _magento(random: Random) -> Look:
    return Look(
        _server(random),
        _some(random, ((0.4, "x-magento-cache-debug", "HIT"), (0.3, "x-magento-tags", "FPC"))),
        ("PHPSESSID", "form_key"),
    )


def _prestashop(random: Random) -> Look:
    return Look(_server(random), (("powered-by", "PrestaShop"), *_php(random)), (f"PrestaShop-{random.getrandbits(128):032x}",))


def _laravel(random: Random) -> Look:
    # The session cookie is named after the application: `Acme Lets` -> acme_lets_session.
    own = "laravel" if random.random() < 0.5 else "".join(random.sample(BRAND_SYLLABLES, 2))
    return Look(_server(random), _php(random), ("XSRF-TOKEN", f"{own}_session"))


def _django(random: Random) -> Look:
    return Look(
        random.choice(("nginx", "gunicorn", "")),
        _some(random, ((0.5, "cross-origin-opener-policy", "same-origin"),)),
        ("csrftoken",) if random.random() < 0.5 else (),
    )


def _rails(random: Random) -> Look:
    own = "".join(random.sample(BRAND_SYLLABLES, 2))
    return Look(
        "nginx",
        _some(random, ((0.4, "x-download-options", "noopen"), (0.4, "x-permitted-cross-domain-policies", "none"))),
        (f"_{own}_session",),
        varying=("x-request-id", "x-runtime"),
    )


def _express(random: Random) -> Look:
    return Look(random.choice(("nginx", "")), (("x-powered-by", "Express"),), ("connect.sid",) if random.random() < 0.4 else ())


def _next(random: Random) -> Look:
    return Look(random.choice(("nginx", "")), (("x-powered-by", "Next.js"), *_some(random, ((0.6, "x-nextjs-cache", "HIT"),))))


def _aspnet(random: Random) -> Look:
    return Look(
        "Microsoft-IIS/10.0",
        (
            ("x-powered-by", "ASP.NET"),
            *_some(random, ((0.5, "x-aspnet-version", "4.0.30319"), (0.2, "x-aspnetmvc-version", "5.2"))),
        ),
        ("ASP.NET_SessionId",) if random.random() < 0.6 else (),
    )


def _plain(random: Random) -> Look:
    return Look(_server(random))


def _homemade(random: Random) -> Look:
    own = "".join(random.sample(BRAND_SYLLABLES, 2))
    return Look(
        _server(random),
        _php(random) + _some(random, ((0.5, f"x-{own}", "1"), (0.3, f"x-{own}-build", f"{random.randrange(900)}"))),
        (f"{own}_sid",) if random.random() < 0.5 else (),
    )


_COMMON: Final[dict[Callable[[Random], Look], int]] = {
    wordpress: 42,
    _joomla: 4,
    _drupal: 4,
    _typo3: 2,
    _magento: 2,
    _prestashop: 2,
    _laravel: 5,
    _django: 3,
    _rails: 2,
    _express: 3,
    _next: 4,
    _aspnet: 6,
    _plain: 17,
    _homemade: 4,
}
"""In percent, about."""


def platform(random: Random, brand: str, marks: int) -> Look:
    """The software of a platform: `marks` names that nobody else has, in headers or cookies, over a common framework."""
    names = [
        ("product", f"x-{brand}-version", f"{random.randrange(2, 9)}.{random.randrange(20)}"),
        ("product", f"x-{brand}", "1"),
        ("product", "x-powered-by", f"{brand.title()} {random.randrange(2, 9)}.{random.randrange(9)}"),
        ("product", "x-generator", f"{brand.title()} Sites"),
        ("varying", f"x-{brand}-node", ""),
        ("varying", f"{brand}-request-id", ""),
        ("cookie", f"_{brand}_session", ""),
        ("cookie", f"{brand}_cart_#", ""),
        ("cookie", f"{brand}sid", ""),
    ]
    mine = random.sample(names, marks)
    base = random.choice((_rails, _aspnet, _django, _plain, _plain))(random)
    generic = tuple(name for name in base.cookies if not name.endswith("_session"))
    return Look(
        base.server,
        tuple(pair for pair in base.product if pair[0] not in {name for _, name, _ in mine})
        + tuple((name, value) for what, name, value in mine if what == "product"),
        generic + tuple(name for what, name, _ in mine if what == "cookie"),
        chosen_security(random, 2.5),
        base.varying + tuple(name for what, name, _ in mine if what == "varying"),
        ((f"x-{brand}-took", "12"),) if marks and random.random() < 0.3 else (),
        proxied=random.random() < 0.4,
    )


def toggled(random: Random, look: Look) -> Look:
    """A tenant's own choice of security headers: HSTS switched, sometimes a frame rule."""
    kept = tuple(pair for pair in look.security if pair[0] != "strict-transport-security")
    if len(kept) == len(look.security):
        kept = (("strict-transport-security", random.choice(SECURITY["strict-transport-security"])), *kept)
    if random.random() < 0.2:
        kept = tuple(pair for pair in kept if pair[0] != "x-frame-options")
    return look.with_security(kept)


@dataclass(frozen=True, slots=True)
class Front:
    """An edge: the headers that it adds, and those that it replaces."""

    name: str
    server: str
    """Replaces the server's own; "" leaves it."""
    adds: Pairs = ()
    varying: tuple[str, ...] = ()
    cookie: str = ""

    def passed(self, random: Random, headers: Headers, status: int) -> Headers:
        found = dict(headers)
        if self.server:
            found["server"] = (self.server,)
        found.update((name, (value,)) for name, value in self.adds)
        found.update((name, (f"{random.getrandbits(64):016x}",)) for name in self.varying)
        if self.cookie and random.random() < 0.2:
            found["set-cookie"] = (*found.get("set-cookie", ()), f"{self.cookie}={random.getrandbits(80):x}; path=/")
        if status in (301, 403):
            # The edge has answered itself.
            own = {"date", "content-type", "server", "location", "set-cookie", *self.varying, *(name for name, _ in self.adds)}
            found = {name: values for name, values in found.items() if name in own}
        return found


CLOUDFLARE = Front(
    "cloudflare",
    "cloudflare",
    (
        ("cf-cache-status", "DYNAMIC"),
        ("alt-svc", 'h3=":443"; ma=86400'),
        ("nel", '{"max_age":604800}'),
        ("report-to", '{"group":"cf-nel"}'),
    ),
    ("cf-ray",),
    "__cf_bm",
)
FASTLY = Front(
    "fastly",
    "",
    (
        ("via", "1.1 varnish"),
        ("x-cache", "MISS"),
        ("x-cache-hits", "0"),
        ("x-served-by", "cache-fra-etou8220021-FRA"),
        ("accept-ranges", "bytes"),
    ),
    ("x-timer",),
)
CLOUDFRONT = Front(
    "cloudfront",
    "",
    (("via", "1.1 8f2e.cloudfront.net (CloudFront)"), ("x-cache", "Miss from cloudfront"), ("x-amz-cf-pop", "FRA56-P8")),
    ("x-amz-cf-id",),
)
AKAMAI = Front("akamai", "", (("x-akamai-transformed", "9 - 0 pmb=mRUM,1"),), ("akamai-grn",), "ak_bmsc")
AZURE = Front("azure", "", (("x-cache", "TCP_MISS"),), ("x-azure-ref",))
BUNNY = Front(
    "bunny",
    "BunnyCDN-DE1-1047",
    (("cdn-cache", "MISS"), ("cdn-pullzone", "48211"), ("cdn-requestcountrycode", "DE")),
    ("cdn-requestid",),
)
