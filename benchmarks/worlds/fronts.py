"""What stands in front: edges that a table knows, one that none knows, and self-service platforms with common front servers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.worlds.building import HOUR, Draft
from benchmarks.worlds.software import AKAMAI, AZURE, BUNNY, CLOUDFLARE, CLOUDFRONT, FASTLY, Front, Look, stack

if TYPE_CHECKING:
    from benchmarks.worlds.building import Builder, Shared

FRONTS: Final = {front.name: front for front in (CLOUDFLARE, FASTLY, CLOUDFRONT, AKAMAI, AZURE, BUNNY)}

#: How many sites share an edge address, about: ten and more strangers on each.
POOL: Final = 40


def edge_addresses(b: Builder, provider: str) -> tuple[str, ...]:
    """The addresses that one customer's name gets: a few of a pool that all customers share, as each provider answers."""
    at = b.random.randrange(POOL)
    match provider:
        case "cloudflare":
            pair = (f"104.21.{at}.{7 + 3 * at}", f"172.67.{130 + at}.{11 + 5 * at}")
            return (*pair, f"2606:4700:3030::6815:{at + 1:x}", f"2606:4700:3030::ac43:{at + 130:x}") if at % 2 else pair
        case "fastly":
            return tuple(f"151.101.{quarter}.{130 + at % 8 * 8}" for quarter in (2, 66, 130, 194))
        case "cloudfront":
            return tuple(f"13.224.{at}.{part}" for part in (11, 45, 92, 120))
        case "akamai":
            return (f"23.45.{at % 6}.{20 + at % 6}", f"23.45.{at % 6}.{60 + at % 6}")
        case "azure":
            return (f"13.107.246.{40 + at % 4}",)
        case _:
            return (f"185.93.1.{240 + at % 4}",)


def edge_name(b: Builder, provider: str, host: str) -> tuple[str, ...]:
    """The chain of a customer who has come alone: a name of his own at the edge, or none."""
    random, code = b.random, f"{b.random.getrandbits(56):014x}"
    match provider:
        case "cloudflare":
            return (f"{host}.cdn.cloudflare.net",) if random.random() < 0.08 else ()
        case "fastly":
            return (f"dualstack.{random.choice('jknt')}.sni.global.fastly.net",) if host.startswith("www.") else ()
        case "cloudfront":
            # At an apex Route 53 answers with the addresses alone.
            return (f"d{code}.cloudfront.net",) if host.startswith("www.") else ()
        case "akamai":
            return (f"{host}.edgekey.net", f"e{random.randrange(1000, 99999)}.dscb.akamaiedge.net")
        case "azure":
            return (f"{host.replace('.', '-')}.azurefd.net", "shed.dual-low.part-0017.t-0009.t-msedge.net")
        case _:
            return (f"{host.replace('.', '-')}.b-cdn.net",)


def in_front(b: Builder, draft: Draft, provider: str) -> None:
    """Put an edge in front of a site: its addresses, its headers, and often a certificate that it shares with strangers."""
    draft.front = FRONTS[provider]
    draft.addresses = edge_addresses(b, provider)
    draft.chain = edge_name(b, provider, draft.host)
    draft.ttl = 300.0
    draft.peer, draft.history = "", None
    if provider in ("fastly", "akamai") and b.random.random() < 0.6:
        draft.certificate = _pooled(b, provider, draft.host)


def _pooled(b: Builder, provider: str, host: str) -> Shared:
    """A certificate in which a CDN has put strangers together: the same serial and fingerprint for up to 80 of them."""
    pool = b.pools.get(provider)
    if pool is None or len(pool.names) >= 80:
        pool = b.pools[provider] = b.certificate(())
    pool.names.append(host)
    return pool


def independent(b: Builder, size: int) -> None:
    """Sites of strangers behind edges, ten and more on one address; some with a second host, usually on the same server."""
    for _ in range(size):
        unit = f"alone/{b.domain()}"
        host = unit.partition("/")[2]
        look = b.stack()
        provider = b.random.choices(tuple(FRONTS), (60, 12, 14, 8, 3, 3))[0]
        first = b.add(Draft(("www." if b.random.random() < 0.65 else "") + host, "edge_independent", unit, (), look))
        in_front(b, first, provider)
        if b.random.random() < 0.15:
            there = b.random.random() < 0.75
            second = b.add(
                Draft(
                    f"{b.random.choice(('img', 'static', 'shop', 'blog'))}.{host}",
                    "edge_independent",
                    unit if there else f"{unit}/2",
                    (),
                    look if there else b.stack(),
                )
            )
            in_front(b, second, provider)


def unknown_cdn(b: Builder, size: int) -> None:
    """A CDN that no table knows: strangers on four addresses, one brand in all their headers."""
    network = b.network()
    b.unknown_edge = tuple(b.address(network, [f"edge{number}.regiocdn.net"]) for number in range(4))
    front = Front("regiocdn", "regiocdn", (("x-regiocdn-cache", "MISS"), ("x-regiocdn-pop", "fra2")), ("x-regiocdn-id",))
    for _ in range(size):
        host = b.host()
        draft = b.add(
            Draft(host, "unknown_cdn", f"alone/{host}", tuple(b.random.sample(b.unknown_edge, 2)), b.stack(), ttl=300.0)
        )
        draft.front = front


ROUTERS: Final = (
    # Platform, its name for a tenant, its addresses for an apex. Each tenant stands for itself behind common routers.
    ("heroku", "{slug}-{code}.herokudns.com", ()),
    ("netlify", "{slug}.netlify.app", ("75.2.60.5",)),
    ("vercel", "{code}.vercel-dns-017.com", ("76.76.21.21",)),
    ("github", "{slug}.github.io", ("185.199.108.153", "185.199.109.153", "185.199.110.153", "185.199.111.153")),
    ("squarespace", "ext-cust.squarespace.com", ("198.185.159.144", "198.185.159.145", "198.49.23.144", "198.49.23.145")),
    ("wix", "www{digit}.wixdns.net", ()),
    ("webflow", "proxy-ssl.webflow.com", ("75.2.70.75", "99.83.190.102")),
    (
        "azure",
        "{slug}.azurewebsites.net waws-prod-am2-{digit}.sip.azurewebsites.windows.net waws-prod-am2-{digit}.cloudapp.net",
        (),
    ),
)

LOOKS: Final = {
    "heroku": (Look("", (("via", "1.1 vegur"),)), True),
    "netlify": (Look("Netlify", (), varying=("x-nf-request-id",)), False),
    "vercel": (Look("Vercel", (("x-vercel-cache", "HIT"),), varying=("x-vercel-id",)), False),
    "github": (Look("GitHub.com", (("x-github-request-id", "1"), ("x-proxy-cache", "MISS"))), False),
    "squarespace": (Look("Squarespace", (), ("crumb",), varying=("x-contextid",)), False),
    "wix": (
        Look(
            "Pepyaka", (("x-wix-renderer-server", "r1"), ("x-content-type-options", "nosniff")), varying=("x-wix-request-id",)
        ),
        False,
    ),
    "webflow": (Look("", (("x-lambda-id", "1"), ("x-wf-region", "us-east-1"))), False),
    "azure": (Look("", (), ("ARRAffinity", "ARRAffinitySameSite")), True),
}


def routers(b: Builder, size: int) -> None:
    """Tenants of self-service platforms, by a name that the table knows, or at the apex by addresses that it may not know."""
    learned = {name: tuple(b.address(names=()) for _ in range(3)) for name, _, _ in ROUTERS}
    for _ in range(size):
        platform, pattern, apex = b.random.choice(ROUTERS)
        host = b.host()
        domain = host.removeprefix("www.")
        look, own_software = LOOKS[platform]
        if own_software:
            mine = stack(b.random)
            look = Look(
                mine.server, (*mine.product, *look.product), (*mine.cookies, *look.cookies), mine.security, mine.varying
            )
        slug, code = domain.partition(".")[0], f"{b.random.getrandbits(48):012x}"
        addresses = apex or learned[platform]
        if host != domain or (not apex and b.random.random() < 0.5):
            chain = tuple(pattern.format(slug=slug, code=code, digit=b.random.randrange(1, 25)).split())
            # The name's addresses are the routers', which rotate.
            addresses = tuple(b.random.sample(addresses, max(1, len(addresses) - 1))) if not apex else learned[platform][:2]
            b.add(Draft(host, "self_service", f"{platform}/{domain}", addresses, look, chain, 300.0))
        else:
            b.add(Draft(host, "self_service", f"{platform}/{domain}", addresses, look, (), HOUR))


def mega_platform(b: Builder, size: int) -> None:
    """A platform with more tenants here than anybody else, each for itself: shops, some of them behind a CDN of their own."""
    look = Look(
        "",
        (
            ("powered-by", "Shopify"),
            ("x-shopify-stage", "production"),
            ("x-dc", "gcp-europe-west1"),
            ("x-sorting-hat-podid", "12"),
        ),
        ("_shopify_y", "_shopify_s"),
        (("x-content-type-options", "nosniff"), ("x-frame-options", "DENY"), ("strict-transport-security", "max-age=7889238")),
        ("x-request-id",),
    )
    for _ in range(size):
        host = b.host()
        shard = (("x-shopid", f"{b.random.randrange(10**7, 10**8)}"), ("x-shardid", f"{b.random.randrange(300)}"))
        mine = Look(look.server, (*look.product, *shard), look.cookies, look.security, look.varying)
        www = host.startswith("www.")
        draft = b.add(
            Draft(
                host,
                "mega_platform",
                f"shop/{host}",
                ("23.227.38.74",) if www else ("23.227.38.65",),
                mine,
                ("shops.myshopify.com",) if www else (),
                HOUR,
                CLOUDFLARE,
            )
        )
        if b.random.random() < 0.08:
            in_front(b, draft, "cloudflare")
