"""Edges: content delivery networks and self-service platforms, known by the names and networks they answer from.

Behind an edge an address says nothing about the servers of a site, so none of it may join two hosts to one origin. Only
what is certain stands here: an unknown edge makes strangers share a limit, which is slow but safe; a wrong row takes
the protection of a shared server away. So hosting companies (``amazonaws.com``, Google's ranges) are not edges.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_network
from typing import TYPE_CHECKING, Final, NamedTuple

from scrapy_polite.guard.ranges import Network, Spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_polite.naming.hosts import IPAddress

__all__ = ["EDGE_NETWORKS", "EDGE_SUFFIXES", "Edge", "NetworkRow", "SuffixRow", "edge_of"]


class SuffixRow(NamedTuple):
    """Names at or below `suffix` belong to `provider`.

    `unit` says what one such name stands for: ``customer`` (a name per customer), ``shared`` (a name for many), or
    ``tenant`` (a platform on which every site is one tenant behind common front servers).
    """

    provider: str
    label: str
    suffix: str
    unit: str
    source: str
    dated: str


class NetworkRow(NamedTuple):
    """Addresses that `provider` publishes as those of its edge."""

    provider: str
    label: str
    networks: tuple[Network, ...]
    source: str
    dated: str


@dataclass(frozen=True, slots=True)
class Edge:
    """The edge in front of a host: `provider` is the word in keys, `label` its name for people, `because` the evidence."""

    provider: str
    label: str
    because: str


_CDNFINDER: Final = "https://github.com/turbobytes/cdnfinder, https://github.com/projectdiscovery/cdncheck"
_PSL: Final = "https://publicsuffix.org/list/ (private section)"

EDGE_SUFFIXES: Final = tuple(
    SuffixRow(*row)
    for row in (
        ("akamai", "Akamai", "akamaiedge.net", "customer", _CDNFINDER, "2026-08"),
        ("akamai", "Akamai", "akamai.net", "customer", _CDNFINDER, "2026-08"),
        ("akamai", "Akamai", "akamaihd.net", "customer", _CDNFINDER, "2026-08"),
        ("akamai", "Akamai", "akamaized.net", "customer", _PSL, "2026-08"),
        ("akamai", "Akamai", "edgekey.net", "customer", _CDNFINDER, "2026-08"),
        ("akamai", "Akamai", "edgesuite.net", "customer", _CDNFINDER, "2026-08"),
        ("azure", "Azure Front Door", "azureedge.net", "customer", _PSL, "2026-08"),
        ("azure", "Azure Front Door", "azurefd.net", "customer", _PSL, "2026-08"),
        ("bunny", "bunny.net", "b-cdn.net", "customer", _CDNFINDER, "2026-08"),
        ("cachefly", "CacheFly", "cachefly.net", "customer", _CDNFINDER, "2026-08"),
        ("cdn77", "CDN77", "cdn77.net", "customer", _CDNFINDER, "2026-08"),
        ("cdn77", "CDN77", "cdn77.org", "customer", _CDNFINDER, "2026-08"),
        ("cloudflare", "Cloudflare", "cdn.cloudflare.net", "customer", _CDNFINDER, "2026-08"),
        ("cloudfront", "Amazon CloudFront", "cloudfront.net", "customer", _CDNFINDER, "2026-08"),
        ("fastly", "Fastly", "fastly.net", "shared", _CDNFINDER, "2026-08"),
        ("fastly", "Fastly", "fastlylb.net", "shared", _CDNFINDER, "2026-08"),
        ("imperva", "Imperva", "impervadns.net", "customer", _CDNFINDER, "2026-08"),
        ("imperva", "Imperva", "incapdns.net", "customer", _CDNFINDER, "2026-08"),
        ("keycdn", "KeyCDN", "kxcdn.com", "customer", _CDNFINDER, "2026-08"),
        ("medianova", "Medianova", "mncdn.com", "customer", _CDNFINDER, "2026-08"),
        ("sucuri", "Sucuri", "sucuri.net", "shared", _CDNFINDER, "2026-08"),
        # Platforms: without these rows every shop of one platform would share one small limit.
        ("github", "GitHub Pages", "github.io", "tenant", "https://docs.github.com/en/pages", "2026-08"),
        ("heroku", "Heroku", "herokudns.com", "tenant", "https://devcenter.heroku.com/articles/custom-domains", "2026-08"),
        ("netlify", "Netlify", "netlify.app", "tenant", _PSL, "2026-08"),
        ("shopify", "Shopify", "myshopify.com", "tenant", "https://help.shopify.com/en/manual/domains", "2026-08"),
        ("squarespace", "Squarespace", "ext-cust.squarespace.com", "tenant", "https://support.squarespace.com/", "2026-08"),
        ("squarespace", "Squarespace", "ext-sq.squarespace.com", "tenant", "https://support.squarespace.com/", "2026-11"),
        ("vercel", "Vercel", "vercel-dns.com", "tenant", "https://vercel.com/docs/domains", "2026-02"),
        ("vercel", "Vercel", "vercel.app", "tenant", _PSL, "2026-08"),
        ("wix", "Wix", "wixdns.net", "tenant", "https://support.wix.com/", "2026-08"),
    )
)


def _row(provider: str, label: str, source: str, dated: str, networks: str) -> NetworkRow:
    return NetworkRow(provider, label, tuple(ip_network(network) for network in networks.split()), source, dated)


EDGE_NETWORKS: Final = (
    _row(
        "cloudflare",
        "Cloudflare",
        "https://www.cloudflare.com/ips-v4, https://www.cloudflare.com/ips-v6",
        "2026-08",
        "173.245.48.0/20 103.21.244.0/22 103.22.200.0/22 103.31.4.0/22 141.101.64.0/18 108.162.192.0/18 190.93.240.0/20 "
        "188.114.96.0/20 197.234.240.0/22 198.41.128.0/17 162.158.0.0/15 104.16.0.0/13 104.24.0.0/14 172.64.0.0/13 "
        "131.0.72.0/22 2400:cb00::/32 2606:4700::/32 2803:f800::/32 2405:b500::/32 2405:8100::/32 2a06:98c0::/29 "
        "2c0f:f248::/32",
    ),
    _row(
        "fastly",
        "Fastly",
        "https://api.fastly.com/public-ip-list",
        "2026-08",
        "23.235.32.0/20 43.249.72.0/22 103.244.50.0/24 103.245.222.0/23 103.245.224.0/24 104.156.80.0/20 "
        "140.248.64.0/18 140.248.128.0/17 146.75.0.0/17 151.101.0.0/16 157.52.64.0/18 167.82.0.0/17 167.82.128.0/20 "
        "167.82.160.0/20 167.82.224.0/20 172.111.64.0/18 185.31.16.0/22 199.27.72.0/21 199.232.0.0/16 2a04:4e40::/32 "
        "2a04:4e42::/32",
    ),
    _row(
        "github",
        "GitHub Pages",
        "https://docs.github.com/en/pages/configuring-a-custom-domain-for-your-github-pages-site",
        "2026-08",
        "185.199.108.0/22 2606:50c0:8000::/46",
    ),
    # The addresses that platforms have their customers put at the apex, where no CNAME may stand: as many public
    # repositories with such zones repeat them in November 2026; the providers' pages are named for whoever checks.
    _row("netlify", "Netlify", "https://docs.netlify.com/domains/configure-domains/", "2026-11", "75.2.60.5"),
    _row(
        "shopify",
        "Shopify",
        "https://help.shopify.com/en/manual/domains/add-a-domain/connecting-domains",
        "2026-11",
        "23.227.38.32 23.227.38.65",
    ),
    _row(
        "squarespace",
        "Squarespace",
        "https://support.squarespace.com/hc/en-us/articles/360035485391",
        "2026-11",
        "198.185.159.144 198.185.159.145 198.49.23.144 198.49.23.145",
    ),
    _row("vercel", "Vercel", "https://vercel.com/docs/domains", "2026-11", "76.76.21.21"),
)

# Vercel gives each project a name in one of many numbered zones: `<hash>.vercel-dns-017.com`.
_VERCEL_PROJECT: Final = re.compile(r"\bvercel-dns-[0-9]+\.com\Z")
_BY_SUFFIX: Final = {row.suffix: row for row in EDGE_SUFFIXES}
_SPANS: Final = tuple(
    (row, {version: Spans(net for net in row.networks if net.version == version) for version in (4, 6)})
    for row in EDGE_NETWORKS
)


def edge_of(host: str, chain: Sequence[str], addresses: Sequence[IPAddress] = ()) -> Edge | None:
    """The edge that answers for a host, from its own name, its CNAME targets, or all of its addresses; None if it
    answers for itself as far as anyone knows.

    The last edge of a chain counts: it is the one that is dialled.
    """
    for name in (*reversed(chain), host):
        row = suffix_row(name)
        if row is not None:
            because = f"{host} is a name of" if name == host else f"{host} is a CNAME for {name}, which belongs to"
            return Edge(row.provider, row.label, f"{because} {row.label}")
    for published, spans in _SPANS:
        # All of them: a host with one foot elsewhere is not hidden by the edge.
        if addresses and all(int(address) in spans[address.version] for address in addresses):
            because = f"{host} has the address {addresses[0]}, which belongs to {published.label}"
            return Edge(published.provider, published.label, because)
    return None


def suffix_row(name: str) -> SuffixRow | None:
    """The row of the table that a canonical name falls under."""
    labels = _VERCEL_PROJECT.sub("vercel-dns.com", name).split(".")
    found = (_BY_SUFFIX.get(".".join(labels[place:])) for place in range(len(labels)))
    return next((row for row in found if row is not None), None)
