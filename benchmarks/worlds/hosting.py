"""Sites on rented and own servers: alone, in crowds of strangers, in families, on two servers, and all looking the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.worlds.building import DAY, HOUR, Draft
from benchmarks.worlds.fronts import in_front
from benchmarks.worlds.software import Look, stack, wordpress

if TYPE_CHECKING:
    from benchmarks.worlds.building import Builder


def shared_host(b: Builder, size: int) -> list[Draft]:
    """Hundreds to thousands of strangers on one server: one true origin, looking as diverse as the web."""
    hoster = b.brand()
    address = b.address(names=[f"srv{b.random.randrange(10, 99)}.{hoster}.net"])
    branded = b.random.random() < 0.5
    prefix = b.address6().rpartition("::")[0] if b.random.random() < 0.5 else None
    found = []
    for _ in range(size):
        look = b.stack()
        if branded:
            look = Look(
                look.server,
                (*look.product, ("x-hosted-by", hoster.title()), (f"x-{hoster}-node", "n4")),
                look.cookies,
                look.security,
                look.varying,
            )
        # Some hosters give each site an IPv6 address of its own, all in one /64.
        six = (b.address6(prefix),) if prefix else ()
        found.append(
            b.add(
                Draft(
                    b.host(),
                    "shared_host",
                    f"{hoster}/{address}",
                    (address, *six),
                    look,
                    ttl=b.random.choice((HOUR, 4 * HOUR, DAY)),
                )
            )
        )
    return found


def hoster(b: Builder, machines: int) -> None:
    """A hoster with a machine for each customer, named by the hoster: the customers have nothing to do with each other."""
    brand = b.brand()
    networks = [b.network() for _ in range(2)]
    pattern = b.random.choice(("srv{:03d}.{}.com", "vps{:04d}.{}.net", "h{:03d}.server.{}.de", "kvm-{:03d}.{}.cloud"))
    branded = b.random.random() < 0.4
    for number in range(machines):
        address = b.address(b.random.choice(networks), [pattern.format(number + 1, brand)])
        look = b.stack()
        for _ in range(b.size(1, 6, 1.3)):
            mine = look if b.random.random() < 0.5 else b.stack()
            if branded:
                mine = Look(
                    mine.server, (*mine.product, ("x-hosted-by", brand.title())), mine.cookies, mine.security, mine.varying
                )
            b.add(Draft(b.host(), "hoster_machine", f"{brand}/{number}", (address,), mine, ttl=b.ttl()))


def own_server(b: Builder) -> None:
    """A server of somebody's, with one to three sites of his, over IPv4 and often IPv6; some behind a balancer of their own."""
    domain = b.domain()
    names = None
    if b.random.random() < 0.15:
        names = [f"{b.random.choice(('server', 'www', 'mail', 'host'))}.{domain}"]
    address = b.address(names=names)
    if b.random.random() < 0.04:
        # One customer's anycast address at a cloud, which lies among those of rented machines.
        address = f"34.{b.random.randrange(96, 128)}.{b.random.randrange(256)}.{b.random.randrange(1, 255)}"
    addresses = (address, b.address6()) if b.random.random() < 0.45 else (address,)
    look, ttl = b.stack(), b.ttl()
    hosts = [("www." if b.random.random() < 0.65 else "") + domain]
    while len(hosts) < 3 and b.random.random() < 0.25:
        hosts.append(
            f"{b.random.choice(('shop', 'blog', 'img', 'jobs'))}{len(hosts)}.{domain}" if b.random.random() < 0.5 else b.host()
        )
    for host in hosts:
        b.add(Draft(host, "own_server", f"own/{domain}", addresses, look, ttl=ttl))


def family(b: Builder, size: int) -> None:
    """A web agency or a company with many brands: a few to dozens of sites on one server, each made as it came."""
    domain = b.domain()
    address = b.address(names=[f"web.{domain}"] if b.random.random() < 0.3 else None)
    six = (b.address6(),) if b.random.random() < 0.3 else ()
    alias = (f"server.{domain}",) if b.random.random() < 0.15 else ()
    look = b.stack()
    for _ in range(size):
        host = b.host()
        chain = alias if host.startswith("www.") else ()
        b.add(
            Draft(
                host,
                "family",
                f"family/{domain}",
                (address, *six),
                look if b.random.random() < 0.4 else b.stack(),
                chain,
                b.random.choice((HOUR, DAY)),
            )
        )


def parked(b: Builder, size: int) -> None:
    """Domains for sale, all answered by one server with one page."""
    brand = b.brand()
    addresses = tuple(b.address(names=()) for _ in range(b.random.choice((1, 1, 2))))
    look = Look(
        b.random.choice(("nginx", "openresty", "Parking/1.0")),
        (("x-buckets", "bucket011"), ("accept-ch", "viewport-width")) if b.random.random() < 0.5 else (),
    )
    for _ in range(size):
        b.add(Draft(b.domain(), "parked", f"parked/{brand}", addresses, look, ttl=b.random.choice((600.0, DAY))))


def failing_over(b: Builder, size: int) -> None:
    """Sites with a second address in another crowd, for the day when the first does not answer."""
    crowds = [
        draft
        for draft in b.drafts
        if draft.kind in ("shared_host", "address_platform", "parked", "family", "hoster_machine") and draft.addresses
    ]
    for _ in range(size):
        first, second = b.random.sample(crowds, 2)
        if first.unit == second.unit:
            continue
        addresses = (first.addresses[0], second.addresses[0])
        b.add(Draft(b.host(), "two_homes", first.unit, addresses, b.stack(), ttl=300.0, peer=addresses[0]))


def appliances(b: Builder, size: int) -> None:
    """A finished image that people install: the same headers on servers that have nothing to do with each other."""
    brand = b.brand()
    look = Look(
        "nginx",
        ((f"x-{brand}-appliance", "3.1"),),
        (f"{brand}_sid",),
        (("x-frame-options", "DENY"), ("x-content-type-options", "nosniff"), ("referrer-policy", "same-origin")),
    )
    for number in range(size):
        host = b.host()
        draft = b.add(Draft(host, "appliance", f"alone/{host}", (b.address(),), look, ttl=b.ttl()))
        if number % 8 < 3:
            in_front(b, draft, "cloudflare")


def rare_software(b: Builder, size: int) -> None:
    """A product that few install and no list knows: its marks stand on own servers, in shared crowds and behind edges."""
    brand = b.brand()
    crowds = [draft for draft in b.drafts if draft.kind == "shared_host"]
    default = (("x-frame-options", "SAMEORIGIN"), ("x-content-type-options", "nosniff"))
    for number in range(size):
        base = wordpress(b.random) if number % 5 == 0 else stack(b.random)
        look = Look(
            base.server,
            (*base.product, (f"x-{brand}", "on")),
            (*base.cookies, f"{brand}_visit"),
            default if b.random.random() < 0.6 else base.security,
        )
        host = b.host()
        if number % 4 == 0 and crowds:
            home = b.random.choice(crowds)
            b.add(Draft(host, "rare_software", home.unit, home.addresses[:1], look, ttl=HOUR))
            continue
        draft = b.add(Draft(host, "rare_software", f"alone/{host}", (b.address(),), look, ttl=b.ttl()))
        if number % 4 == 1:
            in_front(b, draft, "cloudflare")
