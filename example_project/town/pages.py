"""The HTML of search and listing pages, and robots.txt. Deterministic, rendered on demand in about 0.1 ms."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Final

from town.content import Content, Key, listing_content, search_content
from town.filler import Filler
from town.seeds import seeded
from town.traps import Laid, Trap
from town.world import BUCKET, BUCKET_HOST, BUCKET_PATH_HOST, IMAGE_ACCOUNT, IMAGE_SERVICE_HOST, Listing, Photo, Site

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from town.addresses import Ports
    from town.people import Person

WIDTHS: Final = (320, 640, 960)
SIZES: Final = (
    (0.08, 1_800, 2_500),
    (0.6, 2_000, 18_000),
    (0.25, 18_000, 70_000),
    (0.05, 70_000, 200_000),
    (0.02, 278_000, 286_000),
)
"""Share of pages, and between how many characters of bulk they carry on top of the 3 to 6 KB that say something."""

HEAD_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "google-api-key": (
        '<script async src="https://maps.googleapis.com/maps/api/js?key={v}&amp;libraries=places&amp;callback=initMap"></script>',
        "<script>window.MAPS_KEY='{v}';</script>",
        '<meta name="maps-key" content="{v}">',
    ),
    "mapbox-public": (
        '<script>mapboxgl.accessToken = "{v}";</script>',
        "<script>var m={{token:'{v}',style:'streets-v12'}}</script>",
    ),
    "stripe-publishable": (
        '<script>var stripe = Stripe("{v}");</script>',
        '<script data-key="{v}" src="/static/pay.js"></script>',
    ),
    "stripe-secret": ("<script>/* {v} */</script>", '<script>var pay={{"secret":"{v}"}}</script>'),
    "aws-akid": (
        "<!-- deploy: aws configure set aws_access_key_id {v} -->",
        '<script>AWS.config.update({{accessKeyId:"{v}"}})</script>',
    ),
    "github": (
        "<!-- cloned from https://x-access-token:{v}@github.com/hearth/site -->",
        '<meta name="build-token" content="{v}">',
    ),
    "jwt": (
        "<script>fetch('/api/near',{{headers:{{Authorization:'Bearer {v}'}}}})</script>",
        '<link rel="preload" href="/api/me?token={v}&amp;v=2">',
    ),
}
BODY_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "google-api-key": (
        '<img class="map" alt="map" src="https://maps.googleapis.com/maps/api/staticmap?center=53.8,-1.55&amp;key={v}&amp;size=640x320">',
        '<div class="map" data-config="{{&quot;apiKey&quot;:&quot;{v}&quot;,&quot;zoom&quot;:14}}"></div>',
    ),
    "mapbox-public": (
        '<img class="map" alt="map" src="https://api.mapbox.com/styles/v1/hearth/static/-1.55,53.8,13/640x320?access_token={v}&amp;attribution=false">',
    ),
}


def photo_url(site: Site, photo: Photo, ports: Ports) -> str:
    """Where a page points for a photograph: relative on its own server; the bucket in either spelling."""
    if site.images_on == "bucket":
        key = f"{site.slug}/{photo.file}"
        if int(photo.id, 16) % 2:
            return f"{ports.base(BUCKET_HOST, site.tls)}/{key}"
        return f"{ports.base(BUCKET_PATH_HOST, site.tls)}/{BUCKET}/{key}"
    if site.images_on == "imageservice":
        width = WIDTHS[int(photo.id, 16) % len(WIDTHS)]
        return f"{ports.base(IMAGE_SERVICE_HOST, site.tls)}/{IMAGE_ACCOUNT}/image/upload/w_{width}/{photo.file}"
    return f"/img/{photo.file}"


def robots(site: Site) -> str:
    delay = "Crawl-delay: 2\n" if site.inhabitant == "crawl-delay" else ""
    return f"User-agent: *\n{delay}Disallow: /admin/\nAllow: /\n"


class Pages:
    """Renders every page of a town."""

    def __init__(self, seed: int, ports: Ports, traps: Sequence[Trap], laid: Mapping[tuple[str, int], Laid]) -> None:
        self.seed = seed
        self.ports = ports
        self.traps = traps
        self.laid = laid
        self.filler = Filler(seed)

    def search(self, site: Site, number: int) -> str | None:
        """Search page `number`, from 1; None: there is none."""
        if not 1 <= number <= site.search_pages:
            return None
        content = search_content(self.seed, site)
        random = seeded(self.seed, site.host, "search", number)
        shown = site.listings[(number - 1) * site.per_page : number * site.per_page]
        cards = "".join(
            f'<li class="card"><a class="listing" href="/listing/{listing.id}">{html.escape(listing.title)}</a> '
            f"<b>{listing.price}</b> <p>{listing.bedrooms} bedrooms</p></li>\n"
            for listing in shown
        )
        following = f'<a class="next" href="/search?page={number + 1}">Next page</a>' if number < site.search_pages else ""
        facts: dict[str, object] = {"page": number, "ids": [listing.id for listing in shown]}
        body = (
            f'<h1>Homes from {html.escape(site.name)}</h1><p class="found">{len(site.listings)} homes</p>'
            f"<ul>\n{cards}</ul>{following}\n"
            f'<script id="state" type="application/json">{state(facts, content.keys)}</script>\n'
        )
        return self._page(site, f"Homes from {site.name}", head(content, random), body, random)

    def listing(self, site: Site, listing: Listing) -> str:
        content = listing_content(self.seed, site, listing)
        random = seeded(self.seed, site.host, listing.id, "page")
        laid = self.laid.get((site.host, listing.id), Laid())
        photos = [photo_url(site, photo, self.ports) for photo in listing.photos]
        sources = photos + [f"{self.traps[number].url}.jpg" for number in laid.images]
        images = "".join(f'<img class="photo" alt="" src="{html.escape(source)}">\n' for source in sources)
        links = [f"/listing/{random.choice(site.listings).id}"]
        links += [self.traps[number].url for number in laid.links] + [f"/go/{number}" for number in laid.redirects]
        see_also = "".join(f'<li><a class="see-also" href="{html.escape(link)}">See also</a></li>\n' for link in links)
        maps = "".join(
            random.choice(BODY_PLACES[key.kind]).format(v=key.value) for key in content.keys if key.kind in BODY_PLACES
        )
        agent = listing.agent
        facts: dict[str, object] = {
            "id": listing.id,
            "title": listing.title,
            "price": listing.price,
            "bedrooms": listing.bedrooms,
            "photos": photos,
            "contact": {"name": agent.name, "email": agent.email, "phone": agent.dialled},
            "updated": random.randint(1_700_000_000_000, 1_760_000_000_000),
        }
        body = (
            f'<h1 class="title">{html.escape(listing.title)}</h1>\n<span class="price">{listing.price}</span>\n'
            f'<div class="description"><p>{html.escape(listing.description)}</p>{maps}</div>\n'
            f'<div class="gallery">{images}</div>\n<div class="contact">{contact(agent)}</div>\n<ul>{see_also}</ul>\n'
            f'<script id="state" type="application/json">{state(facts, content.keys)}</script>\n'
        )
        return self._page(site, listing.title, head(content, random) + linked_data(listing), body, random)

    def _page(self, site: Site, title: str, extra: str, body: str, random: Random) -> str:
        ((_, least, most),) = random.choices(SIZES, weights=[share for share, _, _ in SIZES])
        name = html.escape(site.name)
        bulk = self.filler.bulk(random.randint(least, most), random.getrandbits(16))
        return (
            '<!DOCTYPE html>\n<html lang="en-GB">\n<head><meta charset="utf-8">'
            f"<title>{html.escape(title)} | {name}</title>\n"
            f'<meta name="viewport" content="width=device-width, initial-scale=1">{self.filler.head}\n{extra}</head>\n'
            f'<body class="site {site.slug}">\n<header><a href="/search?page=1">{name}</a></header>\n'
            f"<main>\n{body}</main>\n"
            f"{bulk}\n<footer><p>{name}</p><p>{contact(site.office)}</p></footer>\n</body>\n</html>\n"
        )


def contact(person: Person) -> str:
    return (
        f'{html.escape(person.name)}, <a href="tel:{person.dialled}">{person.spoken}</a>, '
        f'<a href="mailto:{html.escape(person.email)}">{html.escape(person.email)}</a>'
    )


def head(content: Content, random: Random) -> str:
    return "".join(random.choice(HEAD_PLACES[key.kind]).format(v=key.value) + "\n" for key in content.keys)


def linked_data(listing: Listing) -> str:
    """What search engines read: https://schema.org/RealEstateListing."""
    agent = {
        "@type": "RealEstateAgent",
        "name": listing.agent.name,
        "email": listing.agent.email,
        "telephone": listing.agent.dialled,
    }
    data = {
        "@context": "https://schema.org",
        "@type": "RealEstateListing",
        "name": listing.title,
        "offers": {"price": listing.price, "seller": agent},
    }
    return f'<script type="application/ld+json">{json.dumps(data, ensure_ascii=False)}</script>\n'


def state(facts: Mapping[str, object], keys: Sequence[Key]) -> str:
    """The page's data as its own script reads it; an ampersand in a URL is escaped, as careful serialisers do."""
    integrations = {key.kind: key.value for key in keys}
    urls = [f"https://api.hearth-platform.example/v1/near?key={key.value}&size=20&lang=en" for key in keys[:2]]
    text = json.dumps({**facts, "integrations": integrations, "near": urls}, separators=(",", ":"), ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c")
