"""Image services, which resize on the fly: the account that a URL is charged to.

A service has a key only where its host says so. A resizer on a site's own host (`/_next/image`, `/cdn-cgi/image/`, thumbor,
imgproxy) works on the site's servers or in front of them, and is charged to the site; what image it makes smaller is told by
`imagesources`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scrapy_polite.naming.buckets import same_path
from scrapy_polite.naming.objectstores import compiled, domain_of

if TYPE_CHECKING:
    from scrapy_polite.naming.hosts import Target

__all__ = ["SERVICES", "Service", "has_services", "image_service_key", "service_of"]


@dataclass(frozen=True, slots=True)
class Service:
    """One form of address of one service.

    Args:
        provider: the first part of the key.
        domains: the last two labels that its hosts may have.
        host: pattern of a whole canonical host; group ``account`` where the host names it.
        source: where the form is documented, and when that was read.
        path: pattern of the path; group ``account`` where the path names it. A path that does not match is no image's.
        account: where neither names one, so that all that is asked of the host is one account.
        folds: accounts in upper and in lower case are one.
    """

    provider: str
    domains: tuple[str, ...]
    host: str
    source: str
    path: str | None = None
    account: str | None = None
    folds: bool = True


#: No service has longer names; what is longer shall not become a key.
MAX_ACCOUNT: Final = 255

_FIRST: Final = r"/(?P<account>[A-Za-z0-9_-]+)/"
_CLOUDINARY: Final = "cloudinary.com/documentation/advanced_url_delivery_options, 2026-11"
_UNPIC: Final = "unpic, data/domains.json and data/subdomains.json, 2026-11"

SERVICES: Final = (
    # Behind res-1 to res-5 is the same as behind res: browsers once opened few connections per host.
    Service("cloudinary", ("cloudinary.com",), r"res(?:-[1-5])?\.cloudinary\.com", _CLOUDINARY, _FIRST),
    Service("cloudinary", ("cloudinary.com",), r"(?P<account>[a-z0-9_-]+?)-res(?:-[1-5])?\.cloudinary\.com", _CLOUDINARY),
    Service("imgix", ("imgix.net",), r"(?P<account>[a-z0-9_-]+)\.imgix\.net", "docs.imgix.com, creating sources, 2026-11"),
    # Customers of imgix on hosts of their own.
    Service("imgix", ("unsplash.com",), r"images\.unsplash\.com", _UNPIC, account="images.unsplash.com"),
    Service("prismic", ("prismic.io",), r"images\.prismic\.io", _UNPIC, _FIRST),
    Service("datocms", ("datocms-assets.com",), r"www\.datocms-assets\.com", _UNPIC, _FIRST),
    Service(
        "sanity",
        ("sanity.io",),
        r"cdn\.sanity\.io",
        _UNPIC,
        r"/(?:images|files)/(?P<account>[A-Za-z0-9_-]+)/",
    ),
    Service(
        "cloudflare",
        ("imagedelivery.net",),
        r"imagedelivery\.net",
        "developers.cloudflare.com/images, serve uploaded images, 2026-11",
        _FIRST,
        folds=False,
    ),
    Service("imagekit", ("imagekit.io",), r"ik\.imagekit\.io", "imagekit.io/docs/transformations, 2026-11", _FIRST),
    Service("sirv", ("sirv.com",), r"(?P<account>[a-z0-9-]+)\.sirv\.com", _UNPIC),
    Service("gumlet", ("gumlet.io",), r"(?P<account>[a-z0-9-]+)\.gumlet\.io", _UNPIC),
    Service("cloudimg", ("cloudimg.io",), r"(?P<account>[a-z0-9-]+)\.cloudimg\.io", _UNPIC),
    Service(
        "uploadcare",
        ("ucarecdn.com",),
        r"ucarecdn\.com",
        "uploadcare.com/docs/cdn-operations, 2026-11",
        account="ucarecdn.com",
    ),
    # A free service that a few people run, without accounts: all that is asked of it is one.
    Service("weserv", ("wsrv.nl", "weserv.nl"), r"(?:wsrv|images\.weserv)\.nl", "wsrv.nl/docs, 2026-11", account="wsrv.nl"),
    # i0 to i3 are one; the path names the site whose images they are.
    Service(
        "photon",
        ("wp.com",),
        r"i[0-3]\.wp\.com",
        "developer.wordpress.com/docs/photon, 2026-11",
        r"/(?P<account>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)/",
    ),
    Service(
        "statically",
        ("statically.io",),
        r"cdn\.statically\.io",
        _UNPIC,
        r"/img/(?P<account>[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)/",
    ),
    Service(
        "shopify",
        ("shopify.com",),
        r"cdn\.shopify\.com",
        "shopify.dev/docs/api/liquid/filters/image_url, 2026-11",
        r"/s/files/1/(?P<account>[0-9]{1,4}/[0-9]{1,4}(?:/[0-9]{1,4})?)/",
    ),
    # A file's name begins with its owner's number.
    Service("wix", ("wixstatic.com",), r"static\.wixstatic\.com", _UNPIC, r"/media/(?P<account>[A-Za-z0-9]+)_"),
    Service(
        "squarespace",
        ("squarespace-cdn.com",),
        r"images\.squarespace-cdn\.com",
        "developers.squarespace.com, image loader, 2026-11",
        r"/content/(?:v1/)?(?P<account>[0-9a-f]{24})/",
    ),
    Service("contentful", ("ctfassets.net",), r"images\.ctfassets\.net", _UNPIC, _FIRST),
    Service(
        "storyblok",
        ("storyblok.com",),
        r"a(?:-[a-z]{2})?\.storyblok\.com",
        _UNPIC,
        r"/f/(?P<account>[0-9]+)/",
    ),
    Service(
        "scene7",
        ("scene7.com",),
        r"s[0-9]+d[0-9]+\.scene7\.com",
        _UNPIC,
        r"/is/image/(?P<account>[A-Za-z0-9_]+)/",
    ),
    Service(
        "contentstack",
        ("contentstack.io", "contentstack.com"),
        r"(?:[a-z-]+-)?images\.contentstack\.(?:io|com)",
        _UNPIC,
        r"/v3/assets/(?P<account>[A-Za-z0-9_]+)/",
    ),
)
"""Every form; the first one that fits host and path is the one."""

_BY_DOMAIN: Final = {
    domain: tuple(service for service in SERVICES if domain in service.domains)
    for domain in {domain for service in SERVICES for domain in service.domains}
}


def image_service_key(target: Target) -> str | None:
    """``imageservice:<provider>/<account>`` of the image service that a URL asks; None where it asks none."""
    found = service_of(target.host, target.path)
    return f"imageservice:{found[0].provider}/{found[1]}" if found is not None else None


def has_services(host: str) -> bool:
    """Whether some service has hosts that end as this one."""
    return domain_of(host) in _BY_DOMAIN


def service_of(host: str, path: str | None) -> tuple[Service, str] | None:
    """The service at a canonical host, and the account that host and path name; without a path, the host alone must."""
    for service in _BY_DOMAIN.get(domain_of(host), ()):
        named = compiled(service.host).fullmatch(host)
        if named is None:
            continue
        account = named.groupdict().get("account") or service.account
        if service.path is not None:
            in_path = compiled(service.path).match(same_path(path)) if path is not None else None
            account = in_path["account"] if in_path is not None else None
        if account is not None and len(account) <= MAX_ACCOUNT:
            # One level below the provider: the parts of a number are one name.
            account = account.replace("/", "-")
            return service, account.lower() if service.folds else account
    return None
