"""Platforms: one company's servers behind the names of many customers, as DNS, PTR names, certificates or headers show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.worlds.building import DAY, HOUR, Draft
from benchmarks.worlds.fronts import edge_addresses, in_front
from benchmarks.worlds.software import platform, toggled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.worlds.building import Builder
    from benchmarks.worlds.software import Look

TOGGLING = 0.06
"""Tenants that choose other security headers than their platform's default."""


def operator(b: Builder) -> tuple[str, str]:
    """A platform's brand, and the domain of the company that runs it."""
    brand = b.brand()
    return brand, f"{brand}{b.random.choice(('', 'hq', '-cloud', 'sites'))}.{b.random.choice(('com', 'net', 'io', 'co.uk'))}"


def software(b: Builder, brand: str) -> Look:
    """Most platforms have marks of their own; a third is a common framework and nothing else."""
    return platform(b.random, brand, b.random.choice((0, 1, 1, 2, 2, 3)))


def marked(b: Builder, brand: str) -> Look:
    return platform(b.random, brand, b.random.choice((1, 2, 2, 3)))


def tenant(
    b: Builder, kind: str, unit: str, addresses: Sequence[str], look: Look, ttl: float, chain: Sequence[str] = ()
) -> Draft:
    host = b.host()
    if b.random.random() < TOGGLING:
        look = toggled(b.random, look)
    return b.add(Draft(host, kind, unit, tuple(addresses), look, tuple(chain), ttl))


def machines(b: Builder, domain: str, count: int) -> list[str]:
    """Addresses of one company's servers: named by it, or by whoever it rents them from."""
    if b.random.random() < 0.4:
        word, network = b.random.choice(("web", "lb", "node", "app")), b.network()
        return [b.address(network, [f"{word}{number:02d}.{domain}"]) for number in range(1, count + 1)]
    return [b.address() for _ in range(count)]


def by_cname(b: Builder, size: int) -> None:
    """www is an alias of the platform's name; the apex, where none may stand, has the address itself."""
    brand, domain = operator(b)
    look, ttl = software(b, brand), b.ttl()
    addresses = machines(b, domain, b.random.choice((1, 1, 2, 3)))
    name = f"{b.random.choice(('sites', 'tenants', 'cname', 'hosting', 'proxy'))}.{domain}"
    chain = (name, f"lb1.{b.random.choice(('eu', 'uk'))}.{domain}") if b.random.random() < 0.3 else (name,)
    for _ in range(size):
        apex = b.random.random() < 0.3
        draft = tenant(b, "cname_platform", domain, addresses, look, ttl, () if apex else chain)
        own_edge(b, draft, 0.06)


def by_tenant_cname(b: Builder, pods: int, size: int) -> None:
    """Each tenant has a name of its own, which leads to one of several pods; marks are the same on all of them."""
    brand, domain = operator(b)
    look, shows_pod = software(b, brand), b.random.random() < 0.5
    for pod in range(pods):
        address, unit = b.address(), f"{domain}/pod{pod}"
        for _ in range(b.size(max(4, size // 2), 2 * size)):
            draft = tenant(b, "cname_per_tenant", unit, (address,), look, 300.0)
            slug = draft.host.removeprefix("www.").partition(".")[0]
            draft.chain = (f"{slug}.sites.{domain}", f"pod{pod}.{domain}") if shows_pod else (f"{slug}.sites.{domain}",)


def by_address(b: Builder, size: int) -> None:
    """Customers were told to enter one or two addresses."""
    brand, domain = operator(b)
    look, ttl, addresses = software(b, brand), b.ttl(), machines(b, domain, b.random.choice((1, 1, 2)))
    six = b.address6() if b.random.random() < 0.3 else None
    for _ in range(size):
        mine = addresses if b.random.random() < 0.8 else addresses[:1]
        own_edge(b, tenant(b, "address_platform", domain, [*mine, *([six] if six else [])], look, ttl), 0.1)


def by_pointer(b: Builder, size: int) -> None:
    """One company's machines with an address for each few sites; only the PTR names tell that they are one's."""
    brand, domain = operator(b)
    look, networks, left = marked(b, brand), [b.network() for _ in range(b.random.choice((1, 2)))], size
    if b.random.random() < 0.3:
        look = look.with_security(
            (("x-frame-options", "SAMEORIGIN"), ("x-content-type-options", "nosniff"), ("referrer-policy", "same-origin"))
        )
    number = 0
    while left > 0:
        number += 1
        address = b.address(b.random.choice(networks), [f"c{number // 16}-{number % 16}.{domain}"])
        for _ in range(b.random.choice((1, 1, 2, 3))):
            own_edge(b, tenant(b, "pointer_platform", domain, (address,), look, DAY), 0.04)
            left -= 1


def balanced(b: Builder, size: int) -> None:
    """Three to eight addresses, of which each answer has two to four."""
    brand, domain = operator(b)
    look, ttl = software(b, brand), b.random.choice((60.0, 300.0, 300.0))
    addresses = machines(b, domain, b.random.randrange(3, 9))
    for _ in range(size):
        tenant(b, "load_balanced", domain, b.random.sample(addresses, min(len(addresses), b.random.randrange(2, 5))), look, ttl)


def white_label(b: Builder, size: int) -> None:
    """One service in several rented networks under its customers' names; certificates are shared across them."""
    brand, domain = operator(b)
    look, ttl = marked(b, brand), b.ttl()
    addresses = [b.address() for _ in range(b.random.randrange(3, 6))]
    drafts = [tenant(b, "white_label", domain, (b.random.choice(addresses),), look, ttl) for _ in range(size)]
    for at in range(0, size, 40):
        some = drafts[at : at + 40]
        certificate = b.certificate([f"*.{domain}", *(draft.host for draft in some)])
        for draft in some:
            draft.certificate = certificate


def twin_machines(b: Builder, count: int) -> None:
    """Machines that are apart but look alike by all that can be seen: pods in one company's rack, a hoster's managed images."""
    brand, domain = operator(b)
    look, network = marked(b, brand), b.network()
    for number in range(count):
        address = b.address(network, [f"pod{number + 1}.{domain}"])
        for _ in range(b.size(3, 12)):
            tenant(b, "twin_machines", f"{domain}/{number}", (address,), look, HOUR)


def cloud_balancers(b: Builder, count: int) -> None:
    """Rented load balancers: a name for each customer, nodes that come and go, and come back as another customer's."""
    random, span = b.random, 2 * DAY
    nodes: list[list[tuple[str, float, float]]] = [[] for _ in range(count)]
    turns = [
        (random.expovariate(1 / (9 * HOUR)), balancer) for balancer in range(count) for _ in range(random.choice((2, 2, 3)))
    ]
    free: list[tuple[float, str]] = []
    since = [0.0] * len(turns)
    held = [_rented(b) for _ in turns]
    # Slots of nodes, each replaced from time to time; what is given back may be rented by anybody half an hour later.
    events = sorted((time, slot) for slot, (time, _) in enumerate(turns))
    while events and events[0][0] < span:
        time, slot = events.pop(0)
        balancer = turns[slot][1]
        nodes[balancer].append((held[slot], since[slot], time))
        free.append((time + 0.5 * HOUR + random.expovariate(1 / (6 * HOUR)), held[slot]))
        ready = [entry for entry in free if entry[0] <= time]
        if ready and random.random() < 0.6:
            free.remove(ready[0])
            held[slot] = ready[0][1]
        else:
            held[slot] = _rented(b)
        since[slot] = time
        events.append((time + random.expovariate(1 / (9 * HOUR)), slot))
        events.sort()
    for slot, (_, balancer) in enumerate(turns):
        nodes[balancer].append((held[slot], since[slot], span))
    for balancer in range(count):
        brand, _ = operator(b)
        name = f"{brand}-prod-{random.randrange(10**8, 10**10)}.eu-west-1.elb.amazonaws.com"
        look = software(b, brand) if random.random() < 0.5 else b.stack()
        if random.random() < 0.4:
            look = type(look)(look.server, look.product, (*look.cookies, "AWSALB", "AWSALBCORS"), look.security, look.varying)
        history = _history(nodes[balancer], span)
        for _ in range(b.size(1, 60, 0.7)):
            # An apex has an alias record of Route 53: addresses, and no name to be seen.
            chain = () if random.random() < 0.25 else (name,)
            draft = tenant(b, "cloud_balancer", name, history(0.0), look, 60.0, chain)
            draft.history, draft.asked = history, random.uniform(1.0, 0.9 * HOUR)


def _history(nodes: list[tuple[str, float, float]], span: float) -> Callable[[float], tuple[str, ...]]:
    def at(age: float) -> tuple[str, ...]:
        time = max(0.0, span - age - 1e-6)
        return tuple(address for address, begin, end in nodes if begin <= time < end)

    return at


def _rented(b: Builder) -> str:
    address = b.address(names=())
    b.names[address] = (f"ec2-{address.replace('.', '-')}.eu-west-1.compute.amazonaws.com",)
    return address


def own_edge(b: Builder, draft: Draft, share: float) -> None:
    """Some tenants put a CDN's account of their own in front of the platform."""
    if b.random.random() < share:
        draft.kind = "own_edge_tenant"
        draft.chain = ()
        in_front(b, draft, "cloudflare")


def behind_two_edges(b: Builder, size: int, kind: str, marks: bool) -> None:
    """All tenants stand behind one of two CDNs, under accounts that nothing joins; with marks in the headers, or with none."""
    brand, domain = operator(b)
    look = marked(b, brand) if marks else b.stack().with_security(())
    for _ in range(size):
        draft = tenant(b, kind, domain, (), look if marks else b.stack(), 300.0)
        in_front(b, draft, b.random.choice(("cloudflare", "cloudflare", "fastly")))


def by_edge_name(b: Builder, size: int) -> None:
    """The platform's own name stands before an edge: a customer's name at the CDN, or the platform's zone on it."""
    brand, domain = operator(b)
    look, way = software(b, brand), b.random.choice(("saas", "saas", "cloudfront", "fastly", "azure", "akamai", "long"))
    own = b.domain().partition(".")[0]
    code = f"{b.random.getrandbits(56):014x}"
    chains = {
        "saas": (f"customers.{domain}",),
        "cloudfront": (f"d{code}.cloudfront.net",),
        "fastly": (f"{brand}.map.fastly.net",),
        "azure": (f"{brand}-{own}.azurefd.net",),
        # A name for each tenant, one for all of them, the customer's at the edge, and a map of the edge's.
        "long": (
            f"website-cdn.{domain}",
            f"website-cdn.{domain}.mdc.edgesuite.net",
            f"a{b.random.randrange(99, 2000)}.b.akamai.net",
        ),
        "akamai": (f"sites.{domain}.edgekey.net", f"e{b.random.randrange(1000, 99999)}.dscb.akamaiedge.net"),
    }
    provider = {"saas": "cloudflare", "long": "akamai"}.get(way, way)
    addresses = edge_addresses(b, provider)
    for _ in range(size):
        draft = tenant(b, "edge_name", domain, (), look, 300.0)
        in_front(b, draft, provider)
        draft.chain = (f"{draft.host}.hosting.{domain}", *chains[way]) if way == "long" else chains[way]
        if b.random.random() < 0.5:
            draft.addresses = addresses
